"""The MCP client against real servers of the official package on this machine, over stdio and over
Streamable HTTP."""

import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tripwright.domains.deeptravel.tools.answers import (
    HotelOffer,
    Money,
    PointOfInterest,
    RouteLeg,
    TrainOffer,
    WebPage,
)
from tripwright.domains.deeptravel.vendors.mcp import (
    McpOptions,
    McpProvider,
    ToolMap,
    kind_of_error,
    mcp_of_options,
)
from tripwright.errors import UserError
from tripwright.llm.http import ProviderFault

pytest.importorskip("mcp")
uvicorn = pytest.importorskip("uvicorn")

from tests.domains.deeptravel.sandbox.vendors import mcp_server

SERVER = mcp_server.__file__
OLD_SERVER = Path(SERVER).with_name("mcp_old_server.py")
ASKED = {"depart_city_name": "origin", "arrival_city_name": "destination", "depart_date": "day"}
TIMES = {"departs_at": "leaves", "arrives_at": "arrives"}
TRAINS = ToolMap(
    tool="trains",
    arguments={**ASKED, "hotel_name": "hotel"},
    constants={"language": "en"},
    rows="journeys[?code != 'no times']",
    fields={"number": "code", "operator": "line.by", "price": "fare[0]", **TIMES},
    currency="CNY",
)
WAY = {"depart_city_name": "Suzhou", "arrival_city_name": "Wuhan", "depart_date": "2026-06-26"}
CALL = {**WAY, "is_transfer": 0, "hotel_name": ""}
MAPS = {"train_search": TRAINS}
TABLE = {"web_search": {"tool": "x"}}
SAYS = {"web_search": ToolMap(tool="says", arguments={"query": "text"})}


def provider_of(**options: Any) -> McpProvider:
    return McpProvider(McpOptions(**options))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        mcp_server.server.streamable_http_app(),
        log_level="critical",
        lifespan="on",
        timeout_graceful_shutdown=1,
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not running.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    running.should_exit = True
    thread.join(5)


@pytest.fixture(scope="module")
def over_http(url: str) -> McpProvider:
    others = {
        "poi_search": ToolMap(tool="fails", arguments={"query": "message"}),
        "hotel_search": ToolMap(tool="crashes"),
        "flight_search": ToolMap(tool="absent"),
        "route_planning": ToolMap(tool="weather", constants={"days": "many"}),
    }
    return provider_of(url=url, maps={**MAPS, **SAYS, **others}, name="trains")


def fault_of(provider: McpProvider, tool: str, arguments: dict[str, Any]) -> ProviderFault:
    with pytest.raises(ProviderFault) as caught:
        provider.ask(tool, arguments)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
    return caught.value


def test_a_mapped_tool_answers_with_the_records_of_the_six(over_http):
    found = over_http.ask("train_search", CALL)
    suzhou_wuhan = ("Suzhou", "", "Wuhan", "")
    assert found.records == (
        TrainOffer(
            *("G 3124", "CR", *suzhou_wuhan, "2026-06-26T06:54", "2026-06-26T11:02", 248),
            price=Money(233.0, "CNY"),
        ),
        TrainOffer("571", "", *suzhou_wuhan, "2026-06-26T09:00", "2026-06-26T10:30", 90),
    )
    assert found.source.provider == "trains" and not found.source.may_store


def test_only_named_arguments_that_say_something_are_sent():
    way = {"origin": "Suzhou", "destination": "Wuhan", "day": "2026-06-26"}
    assert TRAINS.sent(CALL) == {**way, "language": "en"}


def test_nothing_found_is_an_answer_and_another_shape_is_a_fault(over_http):
    nothing = over_http.ask("train_search", CALL | {"depart_city_name": "Nowhere"})
    assert nothing.records == () and nothing.note == "trains found nothing." and not nothing.refused
    for city in ("Broken", "Changed"):
        found = fault_of(over_http, "train_search", CALL | {"depart_city_name": city}).kind
        assert found == "bad_response"


def test_more_rows_than_anybody_reads_are_a_fault(url, monkeypatch):
    monkeypatch.setattr("tripwright.domains.deeptravel.vendors.http.MOST_ROWS", 20)
    tables = {
        tool: ToolMap(
            tool="weather", constants={"city": "Wuhan", "days": days}, fields={"name": "sky"}
        )
        for tool, days in (("poi_search", 20), ("hotel_search", 21))
    }
    provider = provider_of(url=url, maps=tables)
    assert len(provider.ask("poi_search", {}).records) == 20
    fault = fault_of(provider, "hotel_search", {})
    assert fault.kind == "bad_response" and "21 rows" in str(fault)


def test_an_answer_that_is_too_long_is_a_fault_and_the_next_call_gets_through(url):
    provider = provider_of(url=url, max_answer_mb=0.1, maps=SAYS)
    for _ in range(2):
        fault = fault_of(provider, "web_search", {"query": "x" * 200_000})
        assert fault.kind == "bad_response" and "more than 0.1 MB" in str(fault)
        assert provider.ask("web_search", {"query": "again"}).records


def test_a_program_that_loads_services_twice_ends(tmp_path):
    """With its connections open: what asks an event loop to stop must not wait for a thread that
    the interpreter has stopped already."""
    path, mark = tmp_path / "live.toml", tmp_path / "mark"
    mark.touch()
    path.write_text(
        "[tools]\npoi_search = 'mcp'\n[vendors.mcp]\n"
        f"command = {[sys.executable, str(OLD_SERVER), str(mark)]!r}\n"
        "[vendors.mcp.maps.poi_search]\ntool = 'first tool'\nfields = {name = 'city'}\n"
    )
    code = (
        "import sys\n"
        "from tripwright.domains.deeptravel.sandbox.provider import load_services\n"
        "kept = [load_services(sys.argv[1])['poi_search'] for _ in range(2)]\n"
        "print(*[len(each.ask('poi_search', {}).records) for each in kept])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "1 1\n", "")


def test_a_tool_that_is_not_there_or_crashes_or_is_called_otherwise_is_a_fault(over_http):
    assert fault_of(over_http, "flight_search", {}).kind == "bad_response"
    assert fault_of(over_http, "hotel_search", {}).kind == "server_error"


def test_arguments_that_the_tool_does_not_take_are_refused(over_http):
    found = over_http.ask("route_planning", {})
    assert found.refused and "city" in found.note and "\n" not in found.note


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Rate limit exceeded, try again", "rate_limit"),
        ("upstream timed out", "timeout"),
        ("HTTP 503 from upstream", "server_error"),
        ("Invalid API key", "unauthorized"),
        ("no station named 'Atlantis'", None),
        ("the train of 04:29 is full", None),
    ],
)
def test_what_a_tool_reports_is_a_fault_or_a_refusal(over_http, message, kind):
    if kind is None:
        found = over_http.ask("poi_search", {"query": message})
        assert found.refused and message in found.note
    else:
        assert fault_of(over_http, "poi_search", {"query": message}).kind == kind


def test_threads_share_one_connection(over_http):
    with ThreadPoolExecutor(8) as pool:
        asked = [{"query": str(number)} for number in range(24)]
        found = list(pool.map(lambda query: over_http.ask("web_search", query), asked))
    assert [answer.records for answer in found] == [
        (WebPage("", str(number)),) for number in range(24)
    ]


def test_a_late_answer_is_a_timeout_and_the_next_call_gets_through(url):
    maps = {**SAYS, "poi_search": ToolMap(tool="sleeps")}
    provider = provider_of(url=url, timeout_s=1.0, maps=maps)
    assert fault_of(provider, "poi_search", {}).kind == "timeout"
    assert provider.ask("web_search", {"query": "again"}).records


def test_a_command_gets_its_keys_and_no_others_and_no_message_repeats_them(monkeypatch):
    monkeypatch.setenv("TRAINS_KEY", "s3cret-of-mine")
    monkeypatch.setenv("OTHER_KEY", "of-nobody")
    command = [sys.executable, SERVER]
    maps = {**MAPS, "web_search": ToolMap(tool="key")}
    provider = provider_of(command=command, env=["TRAINS_KEY"], maps=maps)
    refused = provider.ask("web_search", {})
    assert refused.note.endswith("bad key *** None")
    assert "s3cret" not in refused.to_json() + provider.version
    assert len(provider.ask("train_search", CALL).records) == 2


def test_an_older_server_that_dies_is_started_again_by_the_next_call(tmp_path):
    command = [sys.executable, str(OLD_SERVER), str(tmp_path / "mark")]
    table = ToolMap(tool="first tool", fields={"name": "city"})
    provider = provider_of(command=command, maps={"poi_search": table})
    assert fault_of(provider, "poi_search", {"city_name": "Wuhan"}).kind == "connection"
    assert provider.ask("poi_search", {"city_name": "Wuhan"}).records == (
        PointOfInterest("Wuhan", "Wuhan"),
    )


@pytest.mark.parametrize(
    ("answer", "kind", "wait_s"),
    [
        (({"message": "no such key"}, 401), "unauthorized", None),
        (({"message": "slow down"}, 429, {"retry-after": "7"}), "rate_limit", 7.0),
        (("<html>oops</html>", 500), "server_error", None),
        (("", 503, {"retry-after": "30"}), "server_error", 30.0),
        (('{"data": [', 200, None, True), "connection", None),
        (("<html>welcome</html>",), "bad_response", None),
        ((b"\xff\xfe\x00{",), "bad_response", None),
        (("[" * 200_000,), "bad_response", None),
        (({"hello": 1},), "bad_response", None),
        ((None,), "bad_response", None),
    ],
)
def test_every_failure_is_its_fault(answer, kind, wait_s, vendor, monkeypatch, caplog):
    monkeypatch.setenv("TRAINS_TOKEN", "s3cret-token")
    vendor.says(*answer)
    url = f"{vendor.base_url}/mcp"
    provider = provider_of(url=url, token_env="TRAINS_TOKEN", timeout_s=5.0, maps=MAPS)
    with caplog.at_level(logging.INFO):
        fault = fault_of(provider, "train_search", CALL)
    assert (fault.kind, fault.retry_after_s) == (kind, wait_s)
    assert vendor.asked[0][1] == "Bearer s3cret-token"
    assert "s3cret-token" not in str(fault) + caplog.text


def test_a_server_that_repeats_the_token_does_not_get_it_into_a_message(vendor, monkeypatch):
    monkeypatch.setenv("TRAINS_TOKEN", "s3cret-token")
    error = {"code": -32602, "message": "token s3cret-token is odd"}
    vendor.says({"jsonrpc": "2.0", "id": None, "error": error}, 400)
    provider = provider_of(url=f"{vendor.base_url}/mcp", token_env="TRAINS_TOKEN", maps=MAPS)
    assert "s3cret-token" not in str(fault_of(provider, "train_search", CALL))


def test_nobody_listening_is_a_connection_fault():
    provider = provider_of(url="http://127.0.0.1:9/mcp", maps=MAPS)
    assert fault_of(provider, "train_search", CALL).kind == "connection"
    missing = provider_of(command=["/no/such/program", "--key=s3cret"], maps=MAPS)
    fault = fault_of(missing, "train_search", CALL)
    assert fault.kind == "connection" and "s3cret" not in str(fault)


def test_records_of_other_tools():
    def read(tool, row, call, **table):
        (record,) = ToolMap(tool="t", **table).records(tool, row, call, "t")
        return record

    stay = {"city_name": "Wuhan", "checkin_date": "2026-06-26", "checkout_date": "2026-06-28"}
    fields = {"price": "p.v", "currency": "p.c", "latitude": "at[0]", "longitude": "at[1]"}
    row = {"name": "Lake", "p": {"v": 80, "c": "usd"}, "at": [30.5, 114.3], "rating": "4.5"}
    lake = read("hotel_search", {**row, "address": None}, stay, fields=fields, price_per="night")
    assert lake == HotelOffer(
        *("Lake", "Wuhan", "2026-06-26", "2026-06-28"),
        price=Money(160.0, "USD"),
        rating=4.5,
        latitude=30.5,
        longitude=114.3,
    )
    with pytest.raises(ProviderFault, match="row 1 without 'name'"):
        read("hotel_search", {"name": ""}, stay)
    way = {"origin_name": "A", "destination_name": "B", "city_name": "Wuhan"}
    driven = {"minutes": 12.5, "distance_km": "3", "mode": "driving"}
    leg = read("route_planning", driven, way)
    assert leg == RouteLeg("A", "B", "Wuhan", "driving", 12.5, 3.0)


def test_the_tables_are_part_of_the_version():
    tables, at = (TRAINS, ToolMap(tool="t")), "http://localhost:1/mcp"
    versions = {
        provider_of(url=at, maps={"train_search": table}, version=version).version
        for table in tables
        for version in ("1", "2")
    }
    assert len(versions) == 4


def test_without_the_package_there_is_one_line(monkeypatch):
    monkeypatch.setattr("tripwright.domains.deeptravel.vendors.mcp.find_spec", lambda name: None)
    with pytest.raises(UserError, match="pip install 'tripwright\\[mcp\\]'"):
        McpProvider(McpOptions(url="http://localhost:1/mcp", maps=MAPS))


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        (-32600, "Session terminated", "connection"),
        (-32000, "Connection closed", "connection"),
        (-32001, "late", "timeout"),
        (-32603, "oops", "server_error"),
        (-32601, "no such method", "bad_response"),
        (-32602, "bad parameters", "bad_response"),
    ],
)
def test_errors_of_the_protocol(code, message, kind):
    assert kind_of_error(code, message) == kind


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"maps": TABLE}, "either a url or a command"),
        ({"url": "ftp://x", "maps": TABLE}, "is no URL"),
        ({"url": "http://x"}, "answers nothing"),
        ({"url": "http://x", "maps": TABLE, "token": "s3cret"}, "vendors.mcp.token"),
        ({"url": "http://x", "maps": TABLE, "token_env": "NO_SUCH_VARIABLE"}, "is not set"),
        ({"url": "http://x", "maps": TABLE, "env": ["HOME"]}, "token_env"),
        ({"url": "http://x", "maps": TABLE, "timeout_s": 0}, "vendors.mcp.timeout_s"),
        ({"url": "http://x", "maps": TABLE, "may_store": "yes"}, "vendors.mcp.may_store"),
        ({"url": "http://x", "maps": {"bus_search": {"tool": "x"}}}, "maps.bus_search"),
        ({"url": "http://x", "maps": {"train_search": {"rows": "x"}}}, "maps.train_search.tool"),
        (
            {"url": "http://x", "maps": {"train_search": {"tool": "x", "fields": {"colour": "c"}}}},
            "maps.train_search.fields.colour",
        ),
        *[
            ({"url": url, "maps": TABLE}, said)
            for url, said in (
                ("https://maps.example/s3cret-of-mine-42/v1", "may be a key"),
                ("https://maps.example/?key=s3cret0123456789", "may be a key"),
                ("https://me:s3cret@maps.example", "a user"),
                ("https://{HOME}/v1", "is no URL"),
                ("https://maps.example/{NO_SUCH_VARIABLE}", "NO_SUCH_VARIABLE, which is not set"),
            )
        ],
    ],
)
def test_a_mistake_in_a_file_is_one_line(options, said):
    with pytest.raises(UserError) as caught:
        mcp_of_options(options)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "s3cret" not in str(caught.value)
