"""What a run's live tools answer from: a world, services, a recorded day; what an agent is shown
does not depend on which of them it is."""

from pathlib import Path

import pytest

from tripwright.domains import face_named
from tripwright.domains.deeptravel.place import LiveSource, live_source
from tripwright.domains.deeptravel.sandbox.sandbox import NotRecorded
from tripwright.domains.deeptravel.tools.answers import RECORDS, ProviderAnswer
from tripwright.domains.deeptravel.tools.live_tools import LiveToolBox
from tripwright.domains.place import PlaceOptions
from tripwright.errors import UserError
from tripwright.world.generator import build_tables
from tripwright.world.store import World, write_world

DAY = "2022-03-01"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("w") / "nano"
    write_world(folder, build_tables("nano", 7))
    return folder


def a_flight(world: Path) -> dict[str, str]:
    cities = World.open(world).cities
    names = list(cities)
    return {"depart_city_name": names[0], "arrival_city_name": names[1], "depart_date": DAY}


def ask(source: LiveSource, tool: str, **arguments: str) -> ProviderAnswer | None:
    try:
        return source.ask.ask(tool, arguments)
    except NotRecorded:
        return None


def box_of(source: LiveSource) -> LiveToolBox:
    return LiveToolBox(source.ask, face_named("deeptravel"))


def test_a_recorded_day_answers_as_the_world_did(world, tmp_path):
    flight, store = a_flight(world), str(tmp_path / "live.sqlite")
    with (
        live_source(PlaceOptions(world)) as direct,
        live_source(PlaceOptions(world, store=store)) as recording,
    ):
        box = box_of(direct)
        said, schemas = box.call("flight_search", flight).text, box.schemas
        assert box_of(recording).call("flight_search", flight).text == said
        assert recording.identity["mode"] == "record"
        assert recording.identity["snapshot"] == World.open(world).dates[0]
    day = World.open(world).dates[0]
    with live_source(PlaceOptions(store=store, snapshot=day, replay=True)) as replaying:
        box = box_of(replaying)
        assert box.call("flight_search", flight).text == said
        # tools that nobody was asked for are shown all the same: the prompt is the same
        assert box.schemas == schemas
        assert replaying.ask.tools == RECORDS.keys()
        assert "not recorded" in box.call("web_search", {"query": "museums"}).text
        sandbox = replaying.sandbox
        assert sandbox is not None and sandbox.counts.as_dict()["total"]["missed"] == 1
        assert ask(replaying, "web_search", query="museums") is None
    # of a world: its first day
    with live_source(PlaceOptions(world, store=store, replay=True)) as replaying:
        assert box_of(replaying).call("flight_search", flight).text == said


def test_a_services_file_says_which_tools_a_replay_shows(world, tmp_path, monkeypatch):
    """No key is needed to replay, and none is looked for."""
    monkeypatch.delenv("TAVILY_API_KEY", raising=False)
    store, services = str(tmp_path / "live.sqlite"), tmp_path / "live.toml"
    tavily = Path(__file__).parents[2] / "examples" / "vendors" / "tavily.py"
    services.write_text(
        '[tools]\nflight_search = "world"\nweb_search = "python"\n'
        f'[vendors.world]\nfolder = "{world}"\n'
        f'[vendors.python]\nfunction = "{tavily}:search_web"\n'
    )
    with live_source(PlaceOptions(world, store=store)) as recording:
        ask(recording, "flight_search", **a_flight(world))
    day = World.open(world).dates[0]
    with live_source(
        PlaceOptions(services=services, store=store, snapshot=day, replay=True)
    ) as replaying:
        assert replaying.ask.tools == {"flight_search", "web_search"}
    other = tmp_path / "other.sqlite"
    with (
        pytest.raises(UserError, match="TAVILY_API_KEY"),
        live_source(PlaceOptions(services=services, store=str(other))),
    ):
        pass
    assert not other.exists(), "a store is made where there is something to record alone"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (PlaceOptions(), "found none"),
        (PlaceOptions(Path("w"), Path("s.toml")), "found both"),
        (PlaceOptions(Path("w"), replay=True), "give --store as well"),
        (PlaceOptions(Path("w"), snapshot=DAY), "give --store as well"),
        (PlaceOptions(services=Path("none.toml")), "cannot be read"),
    ],
)
def test_options_that_do_not_go_together(options, said):
    with pytest.raises(UserError, match=said), live_source(options):
        pass


def test_a_replay_needs_a_store_that_is_there_and_a_day_that_it_has(world, tmp_path):
    store = str(tmp_path / "live.sqlite")

    def refused(said: str, *where: Path, **options: str) -> None:
        asked = PlaceOptions(*where, store=store, replay=True, **options)
        with pytest.raises(UserError, match=said), live_source(asked):
            pass

    refused(r"live\.sqlite", world)
    with live_source(PlaceOptions(world, store=store)) as recording:
        ask(recording, "flight_search", **a_flight(world))
    refused("Which day is replayed")
    refused("no snapshot of 2031-01-01", snapshot="2031-01-01")
