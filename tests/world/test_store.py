"""The store: three answers to a flight search, many readers at once, and folders that are whole or
not there."""

import multiprocessing
import os
import pickle
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.made import flight, made_tables, meal, stay
from tripwright.errors import UserError
from tripwright.world.generator import build_tables, build_world
from tripwright.world.records import WorldTables
from tripwright.world.store import MANIFEST_FILE, STORE_FILE, World, write_world


def small_tables(covered: list[tuple[str, str, str]] | None = None) -> WorldTables:
    way, back = ("Aston", "Brook"), ("Brook", "Aston")
    tables = made_tables(
        {},
        flights=[flight("F1", *way), flight("F1", "Brook", "Far", 7), flight("F2", *way, 90)],
        roads=[(*way, "2 hours", "1,200 km"), (*way, "9 hours", "9 km"), (*back, "", "")],
        meals=[meal("Grill", "Aston", usd=10.5)],
        stays=[stay("Inn", "Brook", "50.0", nights="3.0", people="2.0")],
        covered_searches=covered,
        about={"name": "small"},
    )
    tables.cities = [("Aston", "Westland"), ("Brook", "Eastland"), ("Aston", "Southland")]
    return tables


@pytest.fixture(scope="module")
def nano(tmp_path_factory: pytest.TempPathFactory) -> World:
    return build_world(tmp_path_factory.mktemp("store") / "nano", "nano", 4)


def test_unknown_is_not_none():
    complete = World.in_memory(small_tables())
    found = complete.flights("Aston", "Brook", "2022-03-01")
    assert [flight.number for flight in found] == ["F1", "F2"]  # file order
    assert complete.flights("Aston", "Brook", "2022-03-02") == []
    assert complete.flights("Atlantis", "Brook", "2022-03-01") == []
    covered = World.in_memory(
        small_tables([("Aston", "Brook", "2022-03-01"), ("Aston", "Brook", "2022-03-02")])
    )
    assert len(covered.flights("Aston", "Brook", "2022-03-01") or []) == 2
    assert covered.flights("Aston", "Brook", "2022-03-02") == []
    assert covered.flights("Aston", "Brook", "2022-03-03") is None
    assert covered.flights("Atlantis", "Brook", "2022-03-01") is None
    assert (complete.flights_complete, covered.flights_complete) == (True, False)


def test_look_ups_keep_the_order_of_the_file():
    world = World.in_memory(small_tables())
    assert [(f.number, f.price_usd, f.origin) for f in world.flights_numbered("F1")] == [
        ("F1", 100.0, "Aston"),
        ("F1", 7.0, "Brook"),
    ]
    road = world.ground("Aston", "Brook")
    assert road is not None and road.distance == "1,200 km"  # the first row of the pair
    assert world.ground("Brook", "Aston") is not None and world.ground("Brook", "Atlantis") is None
    assert world.cities == {"Aston": "Westland", "Brook": "Eastland"}
    assert world.states["Southland"] == ["Aston"]
    assert world.restaurants("Aston")[0].average_cost_usd == 10.5
    assert world.restaurants("Atlantis") == []
    assert world.accommodations("Brook")[0].maximum_occupancy == 2


def _fingerprint(world: World) -> list[object]:
    cities = list(world.cities)
    return [
        *[world.restaurants(city) for city in cities],
        *[world.ground(cities[0], city) for city in cities],
        *[world.flights(cities[0], city, world.dates[0]) for city in cities],
    ]


def test_what_a_caller_does_with_a_list_is_not_remembered(nano):
    city = next(iter(nano.cities))
    for table in ("restaurants", "attractions", "accommodations"):
        before = getattr(nano, table)(city)
        kept = list(before)
        before.clear()
        assert kept and getattr(nano, table)(city) == kept


@pytest.mark.parametrize("stored", [True, False])
def test_threads_read_one_world(nano, stored):
    world = nano if stored else World.in_memory(build_tables("nano", 4))
    expected = _fingerprint(World.open(nano.folder or ""))
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda _: _fingerprint(world), range(32))
        assert all(each == expected for each in found)


def test_a_full_memory_of_rows_starts_anew(nano):
    world = World.open(nano.folder or "")
    for n in range(20_100):
        world.ground("Nowhere", str(n))
    assert _fingerprint(world) == _fingerprint(nano)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_opens_its_own_connection(nano):
    expected = len(_fingerprint(nano))  # the parent's connection is open
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map(_fingerprint, [nano] * 4)
    assert all(len(answers) == expected and answers == _fingerprint(nano) for answers in found)


def test_a_world_travels_as_its_folder(nano):
    copy = pickle.loads(pickle.dumps(nano))
    assert copy.content_hash == nano.content_hash and _fingerprint(copy) == _fingerprint(nano)
    with pytest.raises(TypeError, match="in memory"):
        pickle.dumps(World.in_memory(small_tables()))


def test_the_hash_is_of_the_content(tmp_path):
    written = write_world(tmp_path / "a", small_tables())
    assert written.content_hash == World.in_memory(small_tables()).content_hash
    assert written.content_hash != World.in_memory(small_tables([])).content_hash
    assert written.manifest["rows"]["flight"] == 3


def test_a_folder_is_not_overwritten_and_a_torn_one_is_no_world(tmp_path):
    write_world(tmp_path / "a", small_tables())
    with pytest.raises(UserError, match="not empty"):
        write_world(tmp_path / "a", small_tables())
    (tmp_path / "b.partial").mkdir()  # as a killed write leaves it
    (tmp_path / "b.partial" / STORE_FILE).write_bytes(b"half")
    with pytest.raises(UserError, match="No world at"):
        World.open(tmp_path / "b")
    assert write_world(tmp_path / "b", small_tables()).name == "small"


@pytest.mark.parametrize(
    "damage",
    [
        lambda store: store[: len(store) // 2],
        lambda store: b"",
        lambda store: b"no database " * 500,
        lambda store: store[:40],
    ],
)
def test_a_damaged_store_is_named_when_the_world_is_opened(tmp_path, damage):
    folder = tmp_path / "world"
    write_world(folder, small_tables())
    store = folder / STORE_FILE
    store.write_bytes(damage(store.read_bytes()))
    with pytest.raises(UserError, match=f"{STORE_FILE}' is damaged"):
        World.open(folder)


def test_a_store_without_one_of_its_tables_is_named(tmp_path):
    folder = tmp_path / "world"
    write_world(folder, small_tables())
    db = sqlite3.connect(folder / STORE_FILE)
    db.execute("DROP TABLE restaurant")
    db.close()
    with pytest.raises(UserError, match="damaged"):
        World.open(folder)


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        *(
            (bad, "import the world again")
            for bad in (b"\xff\xfe", b"[]", b'{"schema_version": 2}')
        ),
        (b'{"schema_version": 2, "rows": []}', "import the world again"),
        *((bad, "not the manifest of a world") for bad in (b"{", b"{}")),
        (b'{"schema_version": 99}', "schema version 2"),
    ],
)
def test_an_unusable_manifest_is_named_in_one_line(tmp_path, manifest, told):
    folder = tmp_path / "world"
    write_world(folder, small_tables())
    (folder / MANIFEST_FILE).write_bytes(manifest)
    with pytest.raises(UserError, match=told) as problem:
        World.open(folder)
    assert "\n" not in str(problem.value)
