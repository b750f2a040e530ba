"""From one TOML file to who answers which tool."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tripwright.domains.deeptravel.sandbox.limits import LocalLimits
from tripwright.domains.deeptravel.sandbox.sandbox import NoRecording, Sandbox
from tripwright.domains.deeptravel.sandbox.services import VENDORS, load_services
from tripwright.domains.deeptravel.sandbox.services_keys import KEY_VARIABLES
from tripwright.domains.deeptravel.sandbox.store import open_store
from tripwright.domains.deeptravel.tools.answers import RECORDS, RouteLeg
from tripwright.domains.deeptravel.tools.live_source import live_source
from tripwright.domains.domain import PlaceOptions
from tripwright.errors import UserError
from tripwright.world.folder import write_world
from tripwright.world.generator import build_tables

TAVILY_KEY = "tvly-dev-4dF7secret0kEy"
DUFFEL_KEY = "duffel_test_s3cret-of-mine"
EXAMPLE = Path(__file__).parents[5] / "docs" / "examples" / "live.toml"
LONDON = {
    "lat": "51.5",
    "lon": "-0.12",
    "display_name": "London, England",
    "category": "place",
    "type": "city",
}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", TAVILY_KEY)
    monkeypatch.setenv("DUFFEL_ACCESS_TOKEN", DUFFEL_KEY)


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Any]:
    def load(text: str, **options: Any) -> Any:
        path = tmp_path / "live.toml"
        path.write_text(text, encoding="utf-8")
        return load_services(path, **options)

    return load


def refused(load: Callable[..., Any], text: str) -> str:
    with pytest.raises(UserError) as error:
        load(text)
    message = str(error.value)
    assert (
        "\n" not in message
        and "live.toml" in message
        and TAVILY_KEY not in message
        and DUFFEL_KEY not in message
    )
    return message


def test_the_example_in_the_docs_works_and_answers_all_six_tools() -> None:
    services = load_services(EXAMPLE)
    assert list(services) == list(RECORDS)
    assert {tool: provider.name for tool, provider in services.items()} == {
        "flight_search": "duffel",
        "train_search": "motis",
        "route_planning": "osrm",
        "hotel_search": "duffel",
        "poi_search": "nominatim",
        "web_search": "searxng",
    }
    assert services["flight_search"] is services["hotel_search"]
    assert all(tool in provider.tools for tool, provider in services.items())


def test_one_client_for_a_vendor_that_answers_and_says_where_places_are(
    load: Callable[..., Any], vendor: Any
) -> None:
    vendor.on("/search", [LONDON])
    vendor.on("/route/v1/foot/*", {"code": "Ok", "routes": [{"distance": 1000, "duration": 600}]})
    services = load(f"""
        contact = "https://example.org"
        [tools]
        poi_search = "nominatim"
        route_planning = "osrm"
        [vendors.nominatim]
        base_url = "{vendor.base_url}"
        requests_per_second = 0
        [vendors.osrm]
        base_url = "{vendor.base_url}"
        places = "nominatim"
        mode = "walking"
        """)
    found = services["route_planning"].ask(
        "route_planning", {"origin_name": "A", "destination_name": "B", "city_name": "London"}
    )
    assert found.records == (RouteLeg("A", "B", "London", "walking", 10.0, 1.0),)
    assert [asked.query.get("q") for asked in vendor.asked] == ["A, London", "B, London", None]
    assert all(
        asked.headers["user-agent"].endswith("(https://example.org)") for asked in vendor.asked
    )
    assert services["poi_search"].terms.requests_per_second is None
    assert (
        f"places=nominatim {services['poi_search'].version}" in services["route_planning"].version
    )


def test_the_turns_of_places_are_taken_from_the_limits_that_are_given(
    load: Callable[..., Any], vendor: Any
) -> None:
    vendor.on("/search", [LONDON])
    vendor.on("/route/*", {"code": "Ok", "routes": [{"distance": 1000, "duration": 600}]})
    asked: list[tuple[str, float]] = []

    class Watched(LocalLimits):
        def reserve(self, vendor: str, requests_per_second: float, burst: int) -> float:
            asked.append((vendor, requests_per_second))
            return 0.0

    text = f"""
        [tools]
        route_planning = "osrm"
        [vendors.nominatim]
        base_url = "{vendor.base_url}"
        [vendors.osrm]
        base_url = "{vendor.base_url}"
        places = "nominatim"
        """
    services = load(text, limits=Watched())
    services["route_planning"].ask(
        "route_planning", {"origin_name": "A", "destination_name": "B", "city_name": "London"}
    )
    assert asked == [("nominatim", 1.0)] * 2


def test_without_a_store_positions_and_calls_of_a_vendor_draw_on_one_budget(
    vendor: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vendor.on("/search", [LONDON])
    vendor.on("/route/*", {"code": "Ok", "routes": [{"distance": 1000, "duration": 600}]})
    made: list[LocalLimits] = []
    asked: list[tuple[int, str]] = []

    class Watched(LocalLimits):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

        def reserve(self, vendor: str, requests_per_second: float, burst: int) -> float:
            asked.append((made.index(self), vendor))
            return 0.0

    for module in (
        "tripwright.domains.deeptravel.tools.live_source",
        "tripwright.domains.deeptravel.sandbox.sandbox",
        "tripwright.domains.deeptravel.sandbox.services",
    ):
        monkeypatch.setattr(f"{module}.LocalLimits", Watched)
    own = f'base_url = "{vendor.base_url}"\n'
    path = tmp_path / "live.toml"
    path.write_text(
        "[tools]\npoi_search = 'nominatim'\nroute_planning ="
        f" 'osrm'\n[vendors.nominatim]\n{own}[vendors.osrm]\nplaces = 'nominatim'\n{own}"
    )
    with live_source(PlaceOptions(services=path)) as live:
        live.ask.ask("poi_search", {"query": "A", "city_name": "London"})
        live.ask.ask(
            "route_planning", {"origin_name": "A", "destination_name": "B", "city_name": "London"}
        )
    assert {limits for limits, _ in asked} == {0}  # one bucket for all of them
    assert [vendor for _, vendor in asked] == ["nominatim", "osrm", "nominatim", "nominatim"]


def test_behind_a_sandbox_what_may_be_kept_is_kept_once_and_no_key_with_it(
    load: Callable[..., Any], vendor: Any, tmp_path: Path
) -> None:
    vendor.on(
        "/search",
        [LONDON],
        {"results": [{"url": "https://example.org", "title": "A", "content": "B"}]},
    )
    vendor.on("/route/*", {"code": "Ok", "routes": [{"distance": 1000, "duration": 600}]})
    own = f'base_url = "{vendor.base_url}"\nrequests_per_second = 0\n'
    text = "[tools]\nroute_planning = 'osrm'\nweb_search = 'tavily'\n"
    text += (
        f"[vendors.nominatim]\n{own}[vendors.osrm]\nplaces ="
        f" 'nominatim'\n{own}[vendors.tavily]\n{own}"
    )
    store = open_store(str(tmp_path / "live.sqlite"))
    services = load(text, limits=store)
    way = {"origin_name": "A", "destination_name": "A", "city_name": "London"}
    recording = Sandbox(services, store, "record", "2026-06-20")
    first = [recording.ask("route_planning", way) for _ in range(2)]
    pages = [recording.ask("web_search", {"query": "A"}) for _ in range(2)]
    replaying = Sandbox(services, store, "replay", "2026-06-20")
    assert [asked.hit for asked in first] == [False, True]
    assert replaying.ask("route_planning", way).answer == first[0].answer
    # may_store is false: asked for each time, never kept
    assert [asked.hit for asked in pages] == [False, False]
    assert isinstance(replaying.ask("web_search", {"query": "A"}).answer, NoRecording)
    assert vendor.paths() == [
        "/search",
        "/route/v1/driving/-0.120000,51.500000;-0.120000,51.500000",
        "/search",
        "/search",
    ]
    store.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("live.sqlite*"))
    assert b"osrm" in kept and TAVILY_KEY.encode() not in kept


def test_terms_of_a_server_of_ones_own(load: Callable[..., Any]) -> None:
    vendors = "requests_per_second = 10\nburst = 4\nmay_store = true"
    tavily = load(
        f'[tools]\nweb_search = "tavily"\n[vendors.tavily]\n{vendors}\ntimeout_s ='
        " 5\nmax_results = 3"
    )["web_search"]
    assert (tavily.terms.requests_per_second, tavily.terms.burst, tavily.terms.may_store) == (
        10.0,
        4,
        True,
    )
    assert tavily.terms.attribution == "Tavily" and "max_results=3" in tavily.version


def test_a_closed_world_answers_everything(load: Callable[..., Any], tmp_path: Path) -> None:
    write_world(tmp_path / "world", build_tables("nano", 7))
    tools = "\n".join(f'{tool} = "world"' for tool in RECORDS)
    services = load(
        f'[tools]\n{tools}\n[vendors.world]\nfolder = "{tmp_path / "world"}"\nday = "2022-03-01"'
    )
    assert len({id(provider) for provider in services.values()}) == 1
    assert services["flight_search"].name == "world"
    assert "vendors.world needs folder" in refused(load, '[tools]\nweb_search = "world"')
    here = f'[tools]\nweb_search = "world"\n[vendors.world]\nfolder = "{tmp_path / "world"}"\n'
    for day in ("2022-03-01", '"2022-03-01"'):
        assert (
            load(f"{here}day = {day}")["web_search"]
            .ask("web_search", {"query": "x"})
            .source.fetched_at
            == "2022-03-01T00:00:00Z"
        )
    for day in ('"tomorrow"', "2022-03-01T10:00:00", "20220301"):
        assert "vendors.world.day is a day like 2022-03-01: found" in refused(
            load, f"{here}day = {day}"
        )
    assert "No world at" in refused(load, here.replace("/world", "/nowhere"))


def test_a_vendor_is_imported_only_when_named_and_its_http_only_when_asked(tmp_path: Path) -> None:
    (tmp_path / "live.toml").write_text('[tools]\nweb_search = "tavily"')
    imported = "from tripwright.domains.deeptravel.sandbox.services import load_services"
    code = f"import sys; {imported}; load_services(sys.argv[1]); print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "live.toml")],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(ran.stdout.split())
    # they share a reader
    assert {name for name, (module, _) in VENDORS.items() if module in loaded} == {
        "tavily",
        "searxng",
    }
    assert not loaded & {
        "httpx2",
        "mcp",
        "psycopg",
        "torch",
        "tripwright.domains.deeptravel.worlds.worlds",
        "tripwright.domains.deeptravel.vendors.mcp",
    }


def test_a_server_of_ones_own_tools_answers_one_of_the_six_and_tools_of_its_own(
    load: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mcp")
    monkeypatch.setenv("RAIL_TOKEN", "s3cret-of-the-rail")
    text = """
        [tools]
        train_search = "mcp-rail"
        weather = "mcp-rail"
        [vendors.mcp-rail]
        command = ["python", "rail_server.py"]
        env = ["RAIL_TOKEN"]
        own = ["weather"]
        [vendors.mcp-rail.maps.train_search]
        tool = "trains"
        arguments = { depart_city_name = "origin", arrival_city_name = "destination", depart_date = "day" }
        fields = { number = "code", departs_at = "departure", arrives_at = "arrival" }
        """  # noqa: E501
    services = load(text)
    assert (
        services["weather"] is services["train_search"] and services["weather"].name == "mcp-rail"
    )
    assert "'mcp-rail' does not answer web_search" in refused(
        load, text.replace("weather = ", "web_search = ")
    )
    assert "'mcp-rail' does not answer storms" in refused(
        load, text.replace("weather = ", "storms = ")
    )


def test_what_the_example_shows_as_a_comment_works_too(
    load: Callable[..., Any], tmp_path: Path
) -> None:
    write_world(tmp_path / "world", build_tables("nano", 7))
    shown = []
    for paragraph in EXAMPLE.read_text(encoding="utf-8").split("\n\n"):
        lines = [
            line.removeprefix("# ") for line in paragraph.splitlines() if line.startswith("# ")
        ]
        tables = "\n".join(
            lines[
                next(
                    (number for number, line in enumerate(lines) if line.startswith("[")),
                    len(lines),
                ) :
            ]
        )
        if "[vendors." not in tables or ("vendors.mcp" in tables and not find_spec("mcp")):
            continue
        named = re.findall(r"\[vendors\.([\w-]+)\]", tables)
        tool = {"overpass": "poi_search", "valhalla": "route_planning", "tavily": "web_search"}.get(
            named[0]
        )
        tools = f'[tools]\n{tool} = "{named[0]}"\n' if tool else ""
        load(tools + tables.replace("worlds/small", str(tmp_path / "world")))
        shown += named
    assert (
        {"overpass", "valhalla", "tavily", "world"}
        <= set(shown)
        <= {"overpass", "valhalla", "tavily", "world", "mcp-rail"}
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "[tools] names no tool: expected lines like poi_search"),
        ("tools = 3", "tools should be a table, found a whole number"),
        (
            "[tools]\nweb_search = 3",
            "tools.web_search should be the name of a vendor, found a whole number",
        ),
        (
            '[tools]\nweb_search = "google"',
            "There is no vendor 'google': expected one of duffel, mcp, motis, nominatim",
        ),
        ('[tools]\nweb_search = "tavily"\n[vendors.google]', "There is no vendor 'google'"),
        (
            '[tools]\nbus_search = "motis"',
            "There is no tool 'bus_search': expected one of flight_search, train_search",
        ),
        (
            '[tools]\ntrain_search = "tavily"',
            "tools.train_search: 'tavily' does not answer train_search, only web_search",
        ),
        (
            '[tools]\nweb_search = "tavily"\n[vendors.tavily]\ndepth = "basic"',
            "There is no option 'vendors.tavily.depth': expected one of",
        ),
        (
            '[tools]\nweb_search = "tavily"\n[vendors.tavily]\nmax_results = "3"',
            "vendors.tavily.max_results should be a whole number, found a text",
        ),
        (
            '[tools]\nweb_search = "tavily"\n[vendors.tavily]\nmax_results = true',
            "should be a whole number, found true or false",
        ),
        (
            '[tools]\nweb_search = "tavily"\n[vendors.tavily]\nmax_results = 99',
            "max_results of 'tavily' is from 1 to 20: found 99",
        ),
        (
            '[tools]\nweb_search = "tavily"\n[vendors.tavily]\nburst = 0',
            "requests_per_second is at least 0 (no limit), and burst at least 1",
        ),
        (
            '[tools]\nweb_search = "tavily"\n[vendors.tavily]\nrequests_per_second = nan',
            "requests_per_second is at least 0",
        ),
        ('[tools]\nweb_search = "tavily"\n[vendors.tavily]\ntimeout_s = 0', "timeout_s"),
        ('[tools]\nweb_search = "searxng"', "vendors.searxng needs base_url"),
        ('[tools]\nroute_planning = "osrm"', "vendors.osrm needs places"),
        ('[tools]\nhotel_search = "duffel"', "vendors.duffel needs places for hotel_search"),
        (
            '[tools]\nroute_planning = "osrm"\n[vendors.osrm]\nplaces = 3',
            "vendors.osrm.places should be a text",
        ),
        (
            '[tools]\nroute_planning = "osrm"\n[vendors.osrm]\nplaces = "tavily"',
            "vendors.osrm.places: 'tavily' does not answer poi_search",
        ),
        (
            '[tools]\nroute_planning = "osrm"\n[vendors.osrm]\nplaces = "here"',
            "There is no vendor 'here'",
        ),
        (
            '[tools]\npoi_search = "overpass"\n[vendors.overpass]\nplaces = "overpass"',
            "'overpass' would ask itself where a place is",
        ),
        ('contact = 3\n[tools]\npoi_search = "nominatim"', "contact should be a text"),
        (
            '[tool]\npoi_search = "nominatim"',
            "There is no option 'tool': expected one of contact, tools, vendors",
        ),
        (
            '[tools]\npoi_search = "nominatim"\n[vendors]\nnominatim = 3',
            "vendors.nominatim should be a table",
        ),
    ],
)
def test_a_mistake_is_said_in_one_line(load: Callable[..., Any], text: str, words: str) -> None:
    assert words in refused(load, text)


@pytest.mark.parametrize(
    ("vendor", "tool"), [("tavily", "web_search"), ("duffel", "flight_search")]
)
def test_a_key_that_is_not_set_is_named(
    load: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, vendor: str, tool: str
) -> None:
    monkeypatch.delenv(KEY_VARIABLES[vendor])
    assert KEY_VARIABLES[vendor] in refused(load, f'[tools]\n{tool} = "{vendor}"')
    # said before a key is asked for
    assert "does not answer train_search" in refused(load, f'[tools]\ntrain_search = "{vendor}"')


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        (f'api_key = "{TAVILY_KEY}"', "vendors.tavily.api_key holds a key"),
        ('api_key = "anything"', "vendors.tavily.api_key holds a key"),
        ('API-KEY = "anything"', "vendors.tavily.API-KEY holds a key"),
        ('token = "anything"', "vendors.tavily.token holds a key"),
        (
            'headers = {Authorization = "Bearer abc"}',
            "vendors.tavily.headers.Authorization holds a key",
        ),
        ('headers = {x = "Bearer abc"}', "vendors.tavily.headers.x holds a key"),
        (f'search_depth = "{TAVILY_KEY}"', "vendors.tavily.search_depth holds a key"),
        (f'search_depth = "{DUFFEL_KEY}"', "vendors.tavily.search_depth holds a key"),
        ('base_url = "https://me:s3cret@example.org"', "vendors.tavily.base_url holds a key"),
        (f'base_url = "https://example.org/{TAVILY_KEY}"', "vendors.tavily.base_url holds a key"),
        ('list = [["tvly-abc"]]', "vendors.tavily.list holds a key"),
    ],
)
def test_a_key_in_the_file_is_refused_and_not_repeated(
    load: Callable[..., Any], lines: str, where: str
) -> None:
    message = refused(load, f'[tools]\nweb_search = "tavily"\n[vendors.tavily]\n{lines}')
    assert where in message and "set the environment variable TAVILY_API_KEY instead" in message
    assert "anything" not in message and "s3cret" not in message


@pytest.mark.parametrize(
    "lines",
    [
        'token_env = "s3cret-of-mine"',
        'env = ["HOME", "s3cret-of-mine"]',
        'key_variable = "ghp_s3cret"',
    ],
)
def test_a_key_in_place_of_its_variable_is_not_repeated(
    load: Callable[..., Any], lines: str
) -> None:
    message = refused(load, f"[tools]\ntrain_search = 'mcp-rail'\n[vendors.mcp-rail]\n{lines}")
    assert "should be the name of an environment variable" in message and "s3cret" not in message


@pytest.mark.parametrize("name", ["token_env", "key_variable", "monkey", "allow_live_token_maybe"])
def test_an_option_that_only_sounds_like_a_key_is_none(load: Callable[..., Any], name: str) -> None:
    assert f"There is no option 'vendors.tavily.{name}'" in refused(
        load, f'[tools]\nweb_search = "tavily"\n[vendors.tavily]\n{name} = "MY_NAME"'
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[tools\n", "is not TOML"),
        (b'[tools]\nweb_search = "tavily\n', "is not TOML at line 2"),
        (b"api_key = tvly-dev-4dF7secret0kEy\n", "is not TOML at line 1"),
        (b"\xff\xfe", "is not text in UTF-8"),
    ],
)
def test_a_file_that_is_no_toml(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "live.toml"
    path.write_bytes(content)
    with pytest.raises(UserError, match=words) as error:
        load_services(path)
    assert "\n" not in str(error.value) and "tvly" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file or directory"):
        load_services(tmp_path / "none.toml")
    with pytest.raises(UserError, match="cannot be read: Is a directory"):
        load_services(tmp_path)
