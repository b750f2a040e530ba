"""The formatter against a real server on this machine: what it copies, what it makes up, and whose
fault a failure is."""

import json
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.conftest import completion
from tests.made import trip
from tests.printed import printed
from tripwright.domains.travelplanner.plan.formatter import (
    EXAMPLE_ANSWER,
    EXAMPLE_TEXT,
    PROMPT,
    format_all,
    format_itinerary,
    in_cities,
    messages,
    read_answer,
)
from tripwright.domains.travelplanner.plan.itinerary import (
    FormattedPlan,
    parse_itinerary,
    render_itinerary,
)
from tripwright.domains.travelplanner.plan.plan import PlaceKind
from tripwright.errors import UserError
from tripwright.llm.client import ChatEndpoint, Completion
from tripwright.llm.endpoint import MOST_FAULTS

QUERY = trip(org="Oldport", dest="Millbrook", date=[], budget=9, query="Go!")
EXAMPLE_PLAN = [{"days": day.pop("day"), **day} for day in json.loads(EXAMPLE_ANSWER)]
GOOD = json.dumps(EXAMPLE_PLAN)


class Server:
    """Answers the n-th request with the n-th reply, the last one for ever: a text to say, or a
    status to fail with."""

    def __init__(self, serve: Callable[..., str]) -> None:
        self.replies: list[str | int] = [GOOD]
        self.requests: list[list[dict[str, str]]] = []
        self.url = serve(self.answer)

    def answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        self.requests.append(request["messages"])
        reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        if isinstance(reply, str):
            return completion(reply)
        said = {"error": {"message": "context length exceeded" if reply == 400 else "boom"}}
        return reply, json.dumps(said).encode(), {}


@pytest.fixture
def server(serve: Callable[..., str]) -> Server:
    return Server(serve)


def at(server: Server, **settings: Any) -> ChatEndpoint:
    quick = {"timeout_s": 5.0, "max_retries": 0, "first_wait_s": 0.001}
    return ChatEndpoint(server.url, "tiny", **quick | settings)


def read(endpoint: ChatEndpoint, text: str = EXAMPLE_TEXT) -> FormattedPlan:
    return format_itinerary(endpoint, QUERY, text, Counter())


def test_the_prompt_is_the_printed_one():
    """STAR, Appendix E, word for word but for what is filled in: marks of the page's layout
    apart."""
    start = "Please assist me in extracting valid information"
    as_printed = printed("star.md", start, "Original user query:")

    def words(of: str) -> str:
        for old, new in (("`", ""), ("\\$", "$"), ("{{ Examples }}", "{examples}")):
            of = of.replace(old, new)
        return "".join(of.split())

    assert words(PROMPT).startswith(words(as_printed))


def test_the_example_in_the_prompt_is_one_that_the_judge_can_read():
    assert parse_itinerary(render_itinerary(QUERY, EXAMPLE_PLAN)).plan == EXAMPLE_PLAN


def test_a_plan_is_read_and_the_itinerary_and_the_request_were_sent(server):
    text = f"<think>Hm.</think><answer>{EXAMPLE_TEXT}</answer>"
    assert read(at(server), text) == FormattedPlan(EXAMPLE_PLAN)
    (sent,) = server.requests
    assert sent == messages(QUERY, EXAMPLE_TEXT) and "Go!" in sent[-1]["content"]
    assert sent[-1]["content"].endswith(EXAMPLE_TEXT)


@pytest.mark.parametrize(
    "said", [f"```json\n{GOOD}\n```", f"<think>[1] first</think>Here it is: {GOOD}"]
)
def test_what_surrounds_the_array_does_not_matter(server, said):
    server.replies = [said]
    assert read(at(server)).plan == EXAMPLE_PLAN


def test_a_dead_service_is_unscored_and_is_not_waited_for_again_and_again(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    dead = ChatEndpoint(f"http://127.0.0.1:{port}/v1", "tiny", timeout_s=1.0, max_retries=0)
    found = dict(
        format_all(dead, ((i, QUERY, EXAMPLE_TEXT) for i in range(3 * MOST_FAULTS)), concurrency=2)
    )
    assert len(found) == 3 * MOST_FAULTS and all(each.unscored for each in found.values())
    assert sum("not asked" in (each.problem or "") for each in found.values()) >= MOST_FAULTS


def changed(**fields: Any) -> str:
    return json.dumps([EXAMPLE_PLAN[0] | fields, *EXAMPLE_PLAN[1:]])


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("[]", "found no day-by-day itinerary"),
        ("I cannot do that.", "other than a JSON array"),
        ("[" * 5000, "other than a JSON array"),
        ('["a"]', "day 1 is no object"),
        (changed(lunch=None), "day 1 has no text for 'lunch'"),
        (changed(attraction=["a"]), "day 1 has no text for 'attraction'"),
        (changed(days=4), "day 1 has another number (4)"),
    ],
)
def test_an_itinerary_that_cannot_be_read_has_failed(server, said, told):
    server.replies = [said]
    formatted = read(at(server))
    assert formatted.plan is None and not formatted.unscored and told in (formatted.problem or "")


def test_an_itinerary_that_is_too_long_has_failed(server):
    server.replies = [400]
    assert "longer than" in (read(at(server)).problem or "")
    cut = read_answer(Completion(GOOD, (), "length", {}))
    assert cut.plan is None and not cut.unscored


def test_no_itinerary_is_not_asked_about(server):
    for text in ("", " \n", "<answer>\n</answer>", "<answer>Day 1"):
        formatted = read(at(server), text)
        assert formatted.plan is None and not formatted.unscored
    assert not server.requests


@pytest.mark.parametrize(
    "invention",
    [
        {"dinner": "The Red Door, Millbrook"},
        {"accommodation": "Loft by the sea, Millbrook"},
        {"attraction": "Clock Museum, X;Opera, X;"},
        {"breakfast": "None"},
        {"lunch": "N/A"},
        {"lunch": "Hotel breakfast"},
    ],
)
def test_a_name_that_the_formatter_made_up_is_pointed_out_once(server, invention):
    server.replies = [changed(**invention), GOOD]
    assert read(at(server)).plan == EXAMPLE_PLAN
    assert "is not in the itinerary" in server.requests[1][-1]["content"]
    server.requests.clear()
    server.replies = [changed(**invention)]
    formatted = read(at(server))
    assert formatted.plan is None and not formatted.unscored and len(server.requests) == 2


def test_a_flight_that_the_formatter_made_up(server):
    server.replies = [GOOD.replace("F7654321", "F1111111")]
    formatted = read(at(server))
    assert formatted.plan is None and not formatted.unscored


@pytest.mark.parametrize(
    ("itinerary", "written", "read_as"),
    [
        ("at **Café Amélie**, then", "Cafe Amelie, Millbrook", "Café Amélie, Millbrook"),
        ("Salt & Pepper.", "Salt and Pepper, Millbrook", "Salt & Pepper, Millbrook"),
        ("Salt and Pepper", "Salt & Pepper, Millbrook", "Salt and Pepper, Millbrook"),
        ("breakfast at the hotel", "Hotel breakfast", "breakfast at the hotel"),
        ("Inn", "Inn, Appleton, Wisconsin", "Inn, Appleton"),
        ("Inn, Appleton, Wisconsin", "Inn, Appleton, Wisconsin", "Inn, Appleton"),
        ("THE GREEN DOOR", "The Green Door, Millbrook", "The Green Door, Millbrook"),
    ],
)
def test_spellings_of_one_name_are_read_as_the_itinerary_has_it(
    server, itinerary, written, read_as
):
    server.replies = [changed(breakfast=written)]
    formatted = read(at(server), f"{EXAMPLE_TEXT} {itinerary}")

    def city_of(kind: PlaceKind, name: str, cities: Sequence[str]) -> str | None:
        return "Appleton" if name == "Inn" and "Appleton" in cities else None

    assert (in_cities(formatted, city_of).plan or [{}])[0]["breakfast"] == read_as


def test_a_place_without_a_city_gets_the_one_where_the_world_has_it(server):
    server.replies = [changed(dinner="The Green Door", accommodation="Loft by the river")]

    def city_of(kind: PlaceKind, name: str, cities: Sequence[str]) -> str | None:
        return cities[0] if name == "The Green Door" else None

    (first, *others) = in_cities(read(at(server)), city_of).plan or []
    assert first["dinner"] == "The Green Door, Millbrook"
    assert first["accommodation"] == "Loft by the river" and others == EXAMPLE_PLAN[1:]


def test_a_wrong_key_stops_all(server):
    server.replies = [401]
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        list(format_all(at(server), [(1, QUERY, EXAMPLE_TEXT)]))
