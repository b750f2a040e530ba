import csv
import json
import os
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tripwright.errors import UserError
from tripwright.world.folder import verify
from tripwright.world.importer import MISSING, SOURCES, import_world
from tripwright.world.store import World

ROWS = {
    "cities.csv": [["city", "state"], ["Aston", "Westland"], ["Brook", "Eastland"]],
    "flights.csv": [
        ["Flight Number", "Price", "DepTime", "ArrTime", "ActualElapsedTime", "FlightDate", "OriginCityName", "DestCityName", "Distance"],
        ["F1", "100", "08:00", "09:00", "1 hours 0 minutes", "2022-03-01", "Aston", "Brook", "106.0"],
        ["F2", "", "08:00", "09:00", "1 hours 0 minutes", "2022-03-01", "Aston", "Brook", "106.0"],
    ],
    "distances.csv": [
        ["origin", "destination", "cost", "duration", "distance"],
        ["Aston", "Brook", "", "2 hours", "1,200 km"],
        ["Brook", "Aston", "", "", ""],
    ],
    "restaurants.csv": [
        ["", "Name", "City", "Cuisines", "Average Cost", "Aggregate Rating"],
        ["0", "Dal, Palace", "Brook", "Indian, Tea", "46", "4.8"],
        ["1", "None", "Brook", "Tea", "46", "4.8"],
    ],
    "attractions.csv": [
        ["Name", "Latitude", "Longitude", "Address", "Phone", "Website", "City"],
        ["Old Tower", "1.50", "2.0", "1 Hill", "1", "x", "Brook"],
    ],
    "accommodations.csv": [
        ["", "NAME", "room type", "price", "minimum nights", "review rate number", "house_rules", "maximum occupancy", "city"],
        ["0", "Two-line\nname", "Private room", "131.0", "1.0", "2.0", "No smoking", "1", "Brook"],
        ["1", "No rules", "Private room", "131.0", "1.0", "2.0", "", "1", "Brook"],
    ],
}
OFFICIAL_NAMES = {
    "cities.csv": "background/citySet_with_states.txt",
    "flights.csv": "flights/clean_Flights_2022.csv",
    "distances.csv": "googleDistanceMatrix/distance.csv",
    "restaurants.csv": "restaurants/clean_restaurant_2022.csv",
    "attractions.csv": "attractions/attractions.csv",
    "accommodations.csv": "accommodations/clean_accommodations_2022.csv",
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    for name, rows in ROWS.items():
        with (folder / name).open("w", newline="", encoding="utf-8") as text:
            csv.writer(text).writerows(rows)
    return folder


def test_rows_keep_their_values_and_incomplete_ones_are_left_out_and_counted(source: Path, tmp_path: Path) -> None:
    world = import_world(source, tmp_path / "world")
    assert world.manifest["incomplete_rows"] == {
        "cities": 0,
        "flights": 1,
        "grounds": 0,
        "restaurants": 1,  # 'None' is what pandas reads as missing
        "attractions": 0,
        "accommodations": 1,
    }
    assert [row.name for row in world.restaurants("Brook")] == ["Dal, Palace"]
    assert [row.name for row in world.accommodations("Brook")] == ["Two-line\nname"]
    assert world.attractions("Brook")[0].latitude == "1.50"
    assert world.cities == {"Aston": "Westland", "Brook": "Eastland"}
    road = world.ground("Brook", "Aston")
    assert road is not None
    assert road.duration == ""  # distances are kept whole


def test_without_coverage_every_flight_search_is_known(source: Path, tmp_path: Path) -> None:
    world = import_world(source, tmp_path / "world")
    assert [flight.number for flight in world.flights("Aston", "Brook", "2022-03-01") or []] == ["F1"]
    assert world.flights("Aston", "Brook", "2022-03-02") == []


def test_with_coverage_other_searches_are_unknown(source: Path, tmp_path: Path) -> None:
    (source / "flights_coverage.json").write_text(json.dumps([["Aston", "Brook", "2022-03-01", 1], ["Brook", "Aston", "2022-03-01", 0]]))
    world = import_world(source, tmp_path / "world")
    assert world.flights("Brook", "Aston", "2022-03-01") == []
    assert world.flights("Aston", "Brook", "2022-03-02") is None


def test_official_names_and_folders_give_the_same_world(source: Path, tmp_path: Path) -> None:
    official = tmp_path / "TravelPlanner" / "database"
    for ours, theirs in OFFICIAL_NAMES.items():
        (official / theirs).parent.mkdir(parents=True, exist_ok=True)
        if theirs.endswith(".txt"):
            (official / theirs).write_text("\n".join("\t".join(row) for row in ROWS[ours][1:]))
        else:
            shutil.copy(source / ours, official / theirs)
    flat = import_world(source, tmp_path / "flat")
    assert import_world(official, tmp_path / "nested").content_hash == flat.content_hash
    assert import_world(official.parent, tmp_path / "above").content_hash == flat.content_hash


def test_a_missing_file_is_named_with_where_it_was_expected(source: Path, tmp_path: Path) -> None:
    (source / "attractions.csv").unlink()
    with pytest.raises(UserError, match=r"No table of attractions in '.*source'\. Expected one of: attractions\.csv"):
        import_world(source, tmp_path / "world")
    assert not (tmp_path / "world").exists()


def test_a_missing_folder_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No folder"):
        import_world(tmp_path / "nowhere", tmp_path / "world")


def test_differing_columns_are_named(source: Path, tmp_path: Path) -> None:
    (source / "restaurants.csv").write_text("Name,Town,Cuisines,Average Cost,Aggregate Rating\n")
    with pytest.raises(UserError, match=r"no column 'City'\. Found: 'Name', 'Town'"):
        import_world(source, tmp_path / "world")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("attractions.csv", b"", "is empty"),
        ("attractions.csv", b"Name,\xff\xfe\n", "not a CSV file in UTF-8"),
        ("accommodations.csv", b"NAME,room type,price,minimum nights,review rate number,house_rules,maximum occupancy,city\n"
         b"a,b,cheap,1,1,x,1,c\n",
         "accommodations.csv:2: column 'price' holds 'cheap'"),
        ("flights_coverage.json", b"[1]", "not a coverage list"),
    ],
)  # fmt: skip
def test_unreadable_files_are_one_clear_line(source: Path, tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    (source / name).write_bytes(content)
    with pytest.raises(UserError, match=expected) as problem:
        import_world(source, tmp_path / "world")
    assert "\n" not in str(problem.value)


@pytest.fixture(scope="module")
def real_tables() -> Path:
    folder = Path(os.environ.get("TRIPWRIGHT_TRAVELPLANNER") or Path(__file__).parents[3] / "shared" / "travelplanner") / "database"
    if not folder.is_dir():
        pytest.skip(f"no TravelPlanner tables at {folder}; set TRIPWRIGHT_TRAVELPLANNER")
    return folder


@pytest.fixture(scope="module")
def real(real_tables: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    return import_world(real_tables, tmp_path_factory.mktemp("real") / "world")


def test_the_real_tables_have_the_published_numbers_of_usable_rows(real: World) -> None:
    world = real
    rows = world.manifest["rows"]
    assert {name: rows[name] for name in ("city", "flight", "ground", "restaurant", "attraction", "accommodation", "covered")} == {
        "city": 312,
        "flight": 1_485,
        "ground": 17_602,
        "restaurant": 9_551,
        "attraction": 5_302,
        "accommodation": 4_285,
        "covered": 512,
    }
    assert world.manifest["incomplete_rows"]["accommodations"] == 5_047 - 4_285
    assert len(world.states) in (63, 64)
    assert not world.flights_complete
    assert {source.name for source in SOURCES} == set(world.manifest["incomplete_rows"])
    assert len(set(verify(world))) == 1


def test_a_thousand_real_look_ups_equal_a_scan_of_the_files_text_for_text(real: World, real_tables: Path) -> None:
    """The scan is of the files' own text, by Python's csv reader alone; the empty result is asked for, too."""

    def table(name: str) -> list[dict[str, str]]:
        with (real_tables / f"{name}.csv").open(newline="", encoding="utf-8") as text:
            return list(csv.DictReader(text))

    def scan(rows: list[dict[str, str]], columns: Sequence[str], **equal: str) -> list[tuple[str, ...]]:
        names = {key: {"origin": "OriginCityName", "destination": "DestCityName", "date": "FlightDate"}.get(key, key) for key in equal}
        found = [row for row in rows if all(row.get(names[key], row.get(key)) == value for key, value in equal.items())]
        return [tuple(row[column] for column in columns) for row in found]

    rng = random.Random(7)
    flights, roads = table("flights"), table("distances")
    covered = json.loads((real_tables / "flights_coverage.json").read_text())
    for origin, destination, date, count in rng.sample(covered, 350):
        expected = scan(flights, SOURCES[1].columns, origin=origin, destination=destination, date=date)
        assert real.flight_texts(origin, destination, date) == expected and len(expected) == count
        assert real.flights(origin, destination, date) == [(*row[:1], float(row[1]), *row[2:8], float(row[8])) for row in expected]
    pairs = [(row["origin"], row["destination"]) for row in rng.sample(roads, 200)] + [
        tuple(rng.sample(list(real.cities), 2)) for _ in range(50)
    ]
    for origin, destination in pairs:
        expected = [row for row in scan(roads, SOURCES[2].columns[:2] + ("duration", "distance")) if row[:2] == (origin, destination)]
        assert real.ground_texts(origin, destination) == expected
        assert real.ground(origin, destination) == (expected[0] if expected else None)
    for kind, city_column in ((SOURCES[3], "City"), (SOURCES[4], "City"), (SOURCES[5], "city")):
        rows = [row for row in table(kind.name) if MISSING.isdisjoint(row[column] for column in kind.columns)]
        columns = [column for column in kind.columns if column != city_column]
        for city in [*rng.sample(list(real.cities), 130), "Nowhere", ""]:
            assert real.city_texts(kind.name[:-1], city) == scan(rows, columns, **{city_column: city})


def test_the_real_tables_can_be_filled_and_known_searches_stay(real: World, real_tables: Path, tmp_path: Path) -> None:
    world = import_world(real_tables, tmp_path / "filled", fill_seed=0)
    covered = json.loads((real_tables / "flights_coverage.json").read_text())
    for origin, destination, date, _ in covered:
        assert world.flight_texts(origin, destination, date) == real.flight_texts(origin, destination, date)
    assert world.flights("Boston", "Pellston", "2022-03-16") is not None and real.flights("Boston", "Pellston", "2022-03-16") is None
    assert world.flights("Boston", "Pellston", "2022-04-01") is None
    assert world.manifest["filled"] | {"known_searches": ""} == {
        "seed": 0, "from": "2022-03-01", "to": "2022-03-31", "known_flights": 1485, "known_searches": "",
    }  # fmt: skip
    rng = random.Random(5)
    known_routes = {(a, b) for a, b, *_ in covered}
    pairs = [pair for pair in {(a, b) for a in world.cities for b in world.cities if world.ground(a, b)} if pair not in known_routes]
    searches = [(*pair, rng.choice(world.dates)) for pair in rng.sample(sorted(pairs), 1500)]
    found = [world.flights(*search) or [] for search in searches]
    known = [real.flights(*search[:3]) or [] for search in covered]
    assert abs(_share(found) - _share(known)) < 0.05  # of searches without any flight
    ratios = [sorted(f.price_usd / f.distance_miles for flights in rows for f in flights) for rows in (found, known)]
    for share in (0.05, 0.25, 0.5, 0.75, 0.95):
        new, old = (values[int(len(values) * share)] for values in ratios)
        assert abs(new - old) < 0.02  # dollars per mile


def _share(searches: Sequence[Sequence[object]]) -> float:
    return sum(not flights for flights in searches) / len(searches)


def test_flights_without_coverage_cannot_be_filled(source: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Nothing to fill: '.*' has no flights_coverage.json"):
        import_world(source, tmp_path / "world", fill_seed=0)
    assert not (tmp_path / "world").exists()
