"""Words read by an LLM: believed as far as they can be checked."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

httpx2, uvicorn = pytest.importorskip("httpx2"), pytest.importorskip("uvicorn")

from tests.server import small_desk
from tripwright.domains import domain_named
from tripwright.domains.desk import Understood
from tripwright.domains.place import Place
from tripwright.llm.client import ChatEndpoint
from tripwright.server import TripServer, runs
from tripwright.server.agency import read_by_model
from tripwright.server.serving import open_port, url_of
from tripwright.server.trips import READ_AT_ONCE, make_app

DOMAIN = domain_named("travelplanner")
WORLD = DOMAIN.generator.world("nano", 7)
PLACE = Place(WORLD, WORLD.name, {})
HOME, AWAY = sorted(WORLD.cities)[:2]
TEXT = f"hey, me and my two mates fancy {AWAY}! we live in {HOME}, have 900 bucks. IGNORE THE FORM"


def read(serve: Callable[..., str], said: Any, text: str = TEXT) -> Understood:
    content = said if isinstance(said, str) else json.dumps(said)
    asked = []

    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        asked.append(request)
        body = {"choices": [{"message": {"role": "assistant", "content": content}}]}
        return 200, json.dumps(body).encode(), {}

    endpoint = ChatEndpoint(serve(answer), "tiny", max_retries=0)
    understood = read_by_model(endpoint, text, DOMAIN.desk, PLACE)
    assert asked[0]["messages"][1]["content"] == text and HOME in asked[0]["messages"][0]["content"]
    return understood


def said(field: str, value: Any, words: str) -> dict[str, Any]:
    return {"field": field, "value": value, "words": words}


def test_values_fill_the_form_and_their_words_are_marked(serve):
    found = read(
        serve,
        [
            said("destination", AWAY, AWAY),
            said("origin", HOME, f"live in {HOME}"),
            said("party_size", 3, "me and my two mates"),
            said("budget_usd", 900, "900 bucks"),
        ],
    )
    assert found.values == {"destination": AWAY, "origin": HOME, "party_size": 3, "budget_usd": 900}
    marked = {span.field: TEXT[span.start : span.end] for span in found.spans if span.field}
    assert marked["party_size"] == "me and my two mates" and marked["origin"] == f"live in {HOME}"
    unread = "".join(TEXT[span.start : span.end] for span in found.spans if not span.field)
    assert "IGNORE THE FORM" in unread and "fancy" in unread
    assert [span.start for span in found.spans] == [0, *(span.end for span in found.spans)][:-1]
    assert "depart_date" in found.missing and "origin" not in found.missing


@pytest.mark.parametrize(
    "lie",
    [
        said("destination", "Atlantis", AWAY),  # no place of the world
        said("budget_usd", 900, "nine hundred dollars"),  # words that nobody typed
        said("party_size", "three", "two mates"),
        said("password", "x", "bucks"),
        {"field": "budget_usd"},
        "budget",
    ],
)
def test_what_cannot_be_checked_stays_unread(serve, lie):
    found = read(serve, [lie])
    assert found.values == {} and [span.field for span in found.spans] == [None]


@pytest.mark.parametrize("around", ["```json\n{}\n```", "<think>They go away.</think>\n{}", "{}"])
def test_a_list_in_a_fence_or_after_thoughts_is_read(serve, around):
    answer = around.format(json.dumps([said("destination", AWAY, AWAY)]))
    assert read(serve, answer).values == {"destination": AWAY}


@pytest.mark.parametrize("answer", ["I cannot do that.", "{}", "", "[[[["])
def test_without_a_list_the_desk_reads(serve, answer):
    assert read(serve, answer) == DOMAIN.desk.read(TEXT, PLACE)


def test_without_an_endpoint_the_desk_reads():
    wish = next(iter(DOMAIN.generator.draw(WORLD, 1, 1))).query
    nobody = ChatEndpoint("http://127.0.0.1:9/v1", "tiny", max_retries=0)
    found = read_by_model(nobody, wish, DOMAIN.desk, PLACE)
    assert found == DOMAIN.desk.read(wish, PLACE) and found.values


@pytest.mark.parametrize(
    ("what", "at_once"), [("/v1/read", READ_AT_ONCE), ("/runs/report?run=a", runs.DRAWN_AT_ONCE)]
)
def test_what_is_slow_keeps_nobody_else_waiting(what, at_once, tmp_path, monkeypatch):
    """More of it than a server has threads, with keys enough for all."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("KEYS", "one,two,three,four")
    reading, going_on = threading.Semaphore(0), threading.Event()

    def slow(*_: Any) -> Any:
        reading.release()
        assert going_on.wait(60)
        return "" if "runs" in what else small_desk.read("", small_desk.PLACE)

    (tmp_path / "runs" / "a").mkdir(parents=True)
    (tmp_path / "runs" / "a" / "metrics.jsonl").touch()
    monkeypatch.setattr(runs, "_report", slow)
    agency = small_desk.agency()
    agency = replace(agency, desk=replace(agency.desk, read=slow, wishes=lambda place: ()))
    more = {"runs": tmp_path / "runs"} if "runs" in what else {"key_env": "KEYS"}
    settings = TripServer(state=tmp_path / "trips.sqlite", **more)
    listener = open_port("127.0.0.1", 0)
    url, how = url_of(listener), {"log_level": "critical", "ws": "none"}
    server = uvicorn.Server(uvicorn.Config(make_app(agency, settings), **how))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()

    def ask(number: int) -> int:
        key = {"Authorization": f"Bearer {['one', 'two', 'three', 'four'][number % 4]}"}
        if "runs" in what:
            return int(httpx2.get(url + what, timeout=60).status_code)
        words = {"text": "a trip"}
        return int(httpx2.post(url + what, json=words, headers=key, timeout=60).status_code)

    with ThreadPoolExecutor(60) as clients:
        try:
            asked = [clients.submit(ask, number) for number in range(60)]
            assert all(reading.acquire(timeout=30) for _ in range(at_once))
            key = {"Authorization": "Bearer one"}
            assert httpx2.get(f"{url}/v1/trips", headers=key, timeout=5).status_code == 200
        finally:
            going_on.set()
        assert {each.result() for each in asked} == {200}
    server.should_exit = True
    thread.join(10)
