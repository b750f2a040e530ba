"""A function of the user's own behind a live tool: the example of docs/live-tools.md as written,
and what is said of functions that cannot be one."""

import json
import re
import shlex
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.domains.deeptravel.place import live_source
from tripwright.domains.deeptravel.sandbox.provider import load_services
from tripwright.domains.deeptravel.sandbox.sandbox import Sandbox
from tripwright.domains.deeptravel.sandbox.store import Store
from tripwright.domains.deeptravel.tools.answers import FlightOffer, Money
from tripwright.domains.place import PlaceOptions
from tripwright.errors import UserError
from tripwright.llm.http import ProviderFault
from tripwright.runs import episodes, transcripts_in
from tripwright.transcript import Rows

ROOT = Path(__file__).parents[5]
PAGE = (ROOT / "docs" / "live-tools.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Your own tools\n")[2].partition("\n## ")[0]
COMMANDS = [
    line.replace("\\\n", " ")
    for block in re.findall(r"^```sh\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)
    for line in re.split(r"(?<!\\)\n", block)
    if line.startswith("tripwright ")
]
WAY = {"depart_city_name": "Rome", "arrival_city_name": "Oslo", "depart_date": "2026-07-01"}
CALL = {**WAY, "depart_poi": "", "arrival_poi": ""}
ROW = (
    '{"number": "A7", "departs_at": "2026-07-01T09:00", "arrives_at": "2026-07-01T12:00",'
    ' "minutes": 180}'
)


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Any]:
    """made(text of the file, tool, further options) → its provider."""

    def made(text: str, tool: str = "flight_search", options: str = "") -> Any:
        (tmp_path / "mine.py").write_text(text)
        (tmp_path / "services.toml").write_text(
            f'[tools]\n{tool} = "python"\n[vendors.python]\nfunction = "mine.py:search"\n{options}'
        )
        return load_services(tmp_path / "services.toml")[tool]

    return made


def answering(rows: str) -> str:
    return f"def search(depart_city_name, arrival_city_name, depart_date):\n    return {rows}\n"


# ---- the example


@pytest.fixture
def at_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where the page's commands run: with examples/, and what they write goes there."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_example_runs_as_written_and_its_rows_reach_the_transcripts(at_the_root, typed):
    here = [each for each in COMMANDS if not re.search(" (serve|sft|train) |--server", each)]
    assert [each.split()[1] for each in here] == ["world", "tool", "request", "run"]
    printed = {}
    for command in here:
        printed[command.split()[1]] = typed(shlex.split(command)[1:]).out
    assert json.loads(printed["tool"])["rows"][0]["number"] == "OWN 1"
    played = list(episodes(transcripts_in(at_the_root / "runs" / "own_expert")))
    flights = [
        Rows.from_json(segment["call"]["rows"]).records()
        for episode in played
        for segment in episode["transcript"]["segments"]
        if segment["call"] and segment["call"]["name"] == "flight_search"
    ]
    assert {row["number"] for rows in flights for row in rows} == {"OWN 1", "OWN 2", "OWN 3"}
    assert all(episode["verdict"]["final"] for episode in played)


def test_training_asks_the_function_and_replays_it(at_the_root):
    pytest.importorskip("torch")
    from tripwright.domains import domain_named
    from tripwright.training.data_source import RL, trips_of
    from tripwright.training.recipe import load_recipe
    from tripwright.training.trips import expert_session

    for command in COMMANDS:
        if command.split()[1] in ("world", "request"):
            assert main(shlex.split(command)[1:]) == 0
    recipe = load_recipe("examples/own_flights_training.toml")
    trips, domain = trips_of(recipe, RL), domain_named("deeptravel")
    for number in range(min(4, trips.per_epoch or 0)):
        request, place = trips.request_at(number)
        session = expert_session(request, place, recipe.dialect.dialect(), None)
        assert domain.expert.keeps(session)
    store = Store("runs/own_flights.sqlite", create=False)
    asked = {(tool, name) for day in store.days() for tool, name, _ in store.vendors(day)}
    assert {("flight_search", "python"), ("hotel_search", "world")} <= asked


def test_the_travellers_page_plans_with_it(at_the_root):
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from tripwright.server.agency import TripServer, open_agency
    from tripwright.server.trips import make_app

    assert main(shlex.split(COMMANDS[0])[1:]) == 0
    services = Path("examples/own_flights.toml")
    served = TripServer(state=at_the_root / "trips.sqlite", services=services)
    wish = {"origin": "Ashelmont", "destination": "Orford", "transport": "flight"}
    days = {"depart_date": "2022-03-04", "return_date": "2022-03-06", "party_size": 2}
    with ExitStack() as resources:
        app = make_app(open_agency(served, resources), served)
        with TestClient(app, "http://127.0.0.1") as client:
            asked = {"values": {**wish, **days}, "wait": True}
            trip = client.post("/v1/trips", json=asked).json()
    there, stay, back = trip["view"]["parts"]
    assert trip["view"]["passed"] and stay["items"][0]["evidence"] == [3, 2]
    assert {item["text"][:3] for part in (there, back) for item in part["items"]} == {"OWN"}


# ---- answers


def test_a_row_becomes_a_record_with_the_cities_of_the_call(made):
    provider = made(answering(f"[{ROW[:-1]}, 'price': 90.5, 'currency': 'eur'}}]"))
    (record,) = provider.ask("flight_search", CALL).records
    assert record == FlightOffer(
        *("A7", "", "Rome", "", "Oslo", "", "2026-07-01T09:00", "2026-07-01T12:00", 180),
        price=Money(90.5, "EUR"),
    )


def test_no_rows_are_an_answer_and_a_value_error_is_a_refusal(made):
    assert made(answering("[]")).ask("flight_search", CALL).note == "Nothing was found."
    refusing = "def search(**call):\n    raise ValueError('Not from ' + call['depart_city_name'])\n"
    answer = made(refusing).ask("flight_search", CALL)
    assert answer.refused and answer.note == "Not from Rome"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("None", "answered NoneType: expected a list"),
        ("['A7']", "answered row 1 as str: expected a dict"),
        (f"[{ROW}, {{}}]", "row 2 without 'number'"),
        (f"[{ROW[:-1]}, 'prise': 9}}]", "row 1 with 'prise', which flight_search does not know"),
        (f"[{ROW[:-1]}, 'price': 9}}]", "'price' that is no amount with a currency"),
        (f"[{ROW[:-1]}, 'price': '9,50', 'currency': 'EUR'}}]", "'price' that is no amount"),
        (f"[{ROW[:-1]}, 'stops': 0.5}}]", "'stops' that is no whole number: found 0.5."),
        (f"[{ROW[:-1]}, 'stops': float('nan')}}]", "'stops' that is no whole number: found NaN."),
        (f"[{ROW[:-1]}, 'carrier': 5.5}}]", "'carrier' that is no text: found 5.5."),
        (f"[{ROW.replace('T09:00', '')}]", "'departs_at' that is no time"),
        (f"[{ROW}] * 10_001", "answered 10,001 rows"),
    ],
)
def test_a_bad_row_is_a_fault_that_names_function_row_and_field(made, rows, said):
    with pytest.raises(ProviderFault) as fault:
        made(answering(rows)).ask("flight_search", CALL)
    assert fault.value.kind == "bad_response"
    assert str(fault.value).startswith("mine.py:search answered ") and said in str(fault.value)


@pytest.mark.parametrize(
    ("raised", "kind", "wait_s"),
    [
        ("KeyError('fare')", "bad_response", None),
        ("TimeoutError()", "timeout", None),
        ("ConnectionResetError('gone')", "connection", None),
        ("SystemExit(3)", "bad_response", None),
        ("UnicodeError('x')", "bad_response", None),  # a ValueError of a library
        ("answer(401)", "unauthorized", None),
        ("answer(404)", "bad_response", None),
        ("answer(429, {'retry-after': '7'})", "rate_limit", 7.0),
        ("answer(503, {'retry-after': '30'})", "server_error", 30.0),
        ("httpx2.ReadTimeout('late')", "timeout", None),
        ("httpx2.ConnectError('nobody there')", "connection", None),
    ],
)
def test_an_exception_is_a_fault_of_our_side(made, raised, kind, wait_s):
    """Python's own and httpx2's; said with the function and the line that raised it."""
    provider = made(
        "import httpx2\nasked = httpx2.Request('GET', 'https://x.example')\n"
        "def answer(status, headers=None):\n"
        "    response = httpx2.Response(status, headers=headers, request=asked)\n"
        "    return httpx2.HTTPStatusError('no', request=asked, response=response)\n"
        f"def search(**call):\n    raise {raised}\n"
    )
    with pytest.raises(ProviderFault) as fault:
        provider.ask("flight_search", CALL)
    assert (fault.value.kind, fault.value.retry_after_s) == (kind, wait_s)
    assert "mine.py:search" in str(fault.value)


def test_no_key_is_repeated(made, monkeypatch):
    monkeypatch.setenv("OWN_API_KEY", "s3cret-of-mine")
    provider = made("def search(**call):\n    raise RuntimeError('?key=s3cret-of-mine')\n")
    with pytest.raises(ProviderFault) as fault:
        provider.ask("flight_search", CALL)
    assert "s3cret" not in str(fault.value) and "key=***" in str(fault.value)


# ---- what cannot be such a function


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("search = 5\n", "'mine.py' has no function 'search'"),
        ("1/0\n", "mine.py:search cannot be loaded: ZeroDivisionError: division by zero"),
        ("def search(:\n", "mine.py:search cannot be loaded: SyntaxError"),
        ("async def search(**call): ...\n", "mine.py:search is async or yields"),
        ("def search(**call): yield {}\n", "mine.py:search is async or yields"),
        ("def search(depart_city_name): ...\n", "does not take 'arrival_city_name'"),
        ("def search(a, **call): ...\n", "'a', which no call has: flight_search has depart_"),
    ],
)
def test_a_function_that_cannot_answer_is_refused_before_any_call(made, text, said):
    with pytest.raises(UserError) as error:
        made(text)
    assert said in str(error.value) and "services.toml: " in str(error.value)


OWN = 'flight_search = "python"\n[vendors.python]\n'


@pytest.mark.parametrize(
    ("services", "said"),
    [
        ('flight_search = "python"', "vendors.python.function"),
        (f'{OWN}function = "mine.search"', "a file and a"),
        (f'{OWN}function = "none.py:search"', "none.py' cannot be read: No such file"),
        (f'train_search = "python"\n{OWN}function = "a.py:b"', "one function, for one tool: found"),
    ],
)
def test_tables_that_name_no_function(services, said, tmp_path):
    (tmp_path / "services.toml").write_text(f"[tools]\n{services}\n")
    with pytest.raises(UserError, match=re.escape(said)):
        load_services(tmp_path / "services.toml")


# ---- memory


def test_a_changed_file_is_another_key_and_a_replay_runs_nothing(made, tmp_path):
    provider = made(answering(f"[{ROW}]"))
    store = Store(str(tmp_path / "day.sqlite"))
    sandbox = Sandbox({"flight_search": provider}, store, "2026-06-20")
    assert sandbox.ask("flight_search", CALL) == sandbox.ask("flight_search", CALL)
    store.close()
    assert made(answering("[]")).version != provider.version
    assert made(answering(f"[{ROW}]"), options='version = "2"').version != provider.version
    (tmp_path / "mine.py").write_text("raise SystemExit\n")
    stored = {"store": str(tmp_path / "day.sqlite"), "snapshot": "2026-06-20", "replay": True}
    with live_source(PlaceOptions(services=tmp_path / "services.toml", **stored)) as source:
        answer: Any = source.ask.ask("flight_search", CALL)
    assert answer.records[0].number == "A7"


def test_several_functions_answer_several_tools(tmp_path):
    (tmp_path / "mine.py").write_text(
        "def fly(**call):\n    return []\n"
        "def look(query, city_name):\n    return [{'name': query}]\n"
    )
    (tmp_path / "services.toml").write_text(
        '[tools]\nflight_search = "python"\npoi_search = "python-places"\n'
        '[vendors.python]\nfunction = "mine.py:fly"\nrequests_per_second = 5\n'
        '[vendors.python-places]\nfunction = "mine.py:look"\nmay_store = false\n'
    )
    services = load_services(tmp_path / "services.toml")
    found = services["poi_search"].ask("poi_search", {"query": "Zoo", "city_name": "Rome"})
    assert found.records[0].name == "Zoo" and not found.source.may_store
    assert services["flight_search"].terms.requests_per_second == 5
