import csv
import errno
import gc
import itertools
import json
import os
import random
import shutil
import sys
import tracemalloc
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

import tripwright.world.importer as importer
from tests.world.stored_texts import city_texts, flight_texts, ground_texts
from tripwright.errors import UserError
from tripwright.world.importer import SOURCES, import_world
from tripwright.world.records import MISSING
from tripwright.world.store import verify


def table(*rows: str) -> list[list[str]]:
    return [row.split("|") for row in rows]


ROWS = {
    "cities.csv": table("city|state", "Aston|Westland", "Brook|Eastland"),
    "flights.csv": table(
        "|".join(SOURCES[1].columns),
        "F1|100|08:00|09:00|1 hours 0 minutes|2022-03-01|Aston|Brook|106.0",
        "F2||08:00|09:00|1 hours 0 minutes|2022-03-01|Aston|Brook|106.0",
    ),
    "distances.csv": table(
        "origin|destination|cost|duration|distance",
        "Aston|Brook||2 hours|1,200 km",
        "Brook|Aston|||",
    ),
    "restaurants.csv": table(
        "|Name|City|Cuisines|Average Cost|Aggregate Rating",
        "0|Dal, Palace|Brook|Indian, Tea|46|4.8",
        "1|None|Brook|Tea|46|4.8",
    ),
    "attractions.csv": table(
        "Name|Latitude|Longitude|Address|Phone|Website|City", "Old Tower|1.50|2.0|1 Hill|1|x|Brook"
    ),
    "accommodations.csv": table(
        "|".join(("", *SOURCES[5].columns)),
        "0|Two-line\nname|Private room|131.0|1.0|2.0|No smoking|1|Brook",
        "1|No rules|Private room|131.0|1.0|2.0||1|Brook",
    ),
}
OFFICIAL_NAMES = {
    "cities.csv": "background/citySet_with_states.txt",
    "flights.csv": "flights/clean_Flights_2022.csv",
    "distances.csv": "googleDistanceMatrix/distance.csv",
    "restaurants.csv": "restaurants/clean_restaurant_2022.csv",
    "attractions.csv": "attractions/attractions.csv",
    "accommodations.csv": "accommodations/clean_accommodations_2022.csv",
}


def write(table: Path, rows: Iterable[Sequence[str]]) -> None:
    with table.open("w", newline="", encoding="utf-8") as text:
        csv.writer(text).writerows(rows)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    for name, rows in ROWS.items():
        write(folder / name, rows)
    return folder


def test_rows_keep_their_values_and_incomplete_ones_are_left_out_and_counted(source, tmp_path):
    world = import_world(source, tmp_path / "world")
    lacking = {"flights", "restaurants", "accommodations"}  # 'None' is missing, as in pandas
    counts = {source.name: int(source.name in lacking) for source in SOURCES}
    assert world.manifest["incomplete_rows"] == counts
    assert [row.name for row in world.restaurants("Brook")] == ["Dal, Palace"]
    assert [row.name for row in world.accommodations("Brook")] == ["Two-line\nname"]
    assert world.attractions("Brook")[0].latitude == "1.50"
    assert world.cities == {"Aston": "Westland", "Brook": "Eastland"}
    road = world.ground("Brook", "Aston")
    assert road.duration == ""  # distances are kept whole


def test_without_coverage_every_flight_search_is_known(source, tmp_path):
    world = import_world(source, tmp_path / "world")
    (flight,) = world.flights("Aston", "Brook", "2022-03-01") or []
    assert flight.number == "F1"
    assert world.flights("Aston", "Brook", "2022-03-02") == []


def test_with_coverage_other_searches_are_unknown(source, tmp_path):
    (source / "flights_coverage.json").write_text(
        json.dumps([["Aston", "Brook", "2022-03-01", 1], ["Brook", "Aston", "2022-03-01", 0]])
    )
    world = import_world(source, tmp_path / "world")
    assert world.flights("Brook", "Aston", "2022-03-01") == []
    assert world.flights("Aston", "Brook", "2022-03-02") is None


def test_official_names_and_folders_give_the_same_world(source, tmp_path):
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


def test_a_missing_file_or_folder_is_named(source, tmp_path):
    with pytest.raises(UserError, match="No folder"):
        import_world(tmp_path / "nowhere", tmp_path / "world")
    (source / "attractions.csv").unlink()
    with pytest.raises(UserError, match=r"'.*source'\. .* attractions\.csv"):
        import_world(source, tmp_path / "world")
    assert not (tmp_path / "world").exists()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("attractions.csv", b"", "is empty"),
        ("restaurants.csv", b"Name,Town\n", "no column 'City'"),
        ("attractions.csv", b"Name,\xff\xfe\n", "not a CSV file in UTF-8"),
        (
            "accommodations.csv",
            (
                b"NAME,room type,price,minimum nights,review rate number,house_rules,maximum"
                b" occupancy,city\na,b,cheap,1,1,x,1,c\n"
            ),
            "accommodations.csv:2: column 'price' holds 'cheap'",
        ),
        ("flights_coverage.json", b"[1]", "not a coverage list"),
        ("flights_coverage.json", b'[["Aston", "Brook", "2022-3-1x", 1]]', "'2022-3-1x'"),
        ("flights_coverage.json", b'[["Aston", "Brook", "2022-02-30", 1]]', "'2022-02-30'"),
    ],
)
def test_unreadable_files_are_one_clear_line(source, tmp_path, name, content, expected):
    (source / name).write_bytes(content)
    with pytest.raises(UserError, match=expected) as problem:
        import_world(source, tmp_path / "world")
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("accommodations.csv", "maximum occupancy", "inf"),
        *(
            ("restaurants.csv", "Average Cost", value)
            for value in ("-Infinity", "nan ", "1_000", "1e999", "١٢")
        ),
        *(
            ("flights.csv", "FlightDate", value)
            for value in ("3/1/2022", "2022-3-1", "20220301", "2022-02-29")
        ),
    ],
)
def test_a_number_is_one_that_json_has_and_a_date_is_a_day(source, tmp_path, table, column, value):
    rows = [list(each) for each in ROWS[table]]
    rows[1][rows[0].index(column)] = value
    write(source / table, rows)
    with pytest.raises(UserError, match=rf"{table}:[0-9]+: column '{column}' holds {value!r}"):
        import_world(source, tmp_path / "world")


def test_a_row_with_an_empty_value_in_any_column_is_left_out_as_pandas_does(source, tmp_path):
    rows = ROWS["attractions.csv"]
    wider = [
        [*rows[0], "Opened"],
        [*rows[1], "1900"],
        ["New Tower", *rows[1][1:], ""],
        ["Short row", *rows[1][1:]],
    ]
    write(source / "attractions.csv", wider)
    mayors = table("city|state|mayor", "Aston|Westland|", "Brook|Eastland|Ann")
    write(source / "cities.csv", mayors)
    world = import_world(source, tmp_path / "world")
    assert [row.name for row in world.attractions("Brook")] == ["Old Tower"]
    assert world.manifest["incomplete_rows"]["attractions"] == 2
    # the official list of cities is read without pandas
    assert list(world.cities) == ["Aston", "Brook"]


def test_a_distance_keeps_the_word_that_the_source_has_for_missing(source, tmp_path):
    write(source / "distances.csv", [*ROWS["distances.csv"][:2], *table("Brook|Aston||N/A|None")])
    world = import_world(source, tmp_path / "world")
    assert ground_texts(world, "Brook", "Aston") == [("Brook", "Aston", "N/A", "None")]
    assert world.ground("Brook", "Aston") == ("Brook", "Aston", "", "")


def test_a_table_that_cannot_be_read_is_not_taken_for_a_full_disk(source, tmp_path, monkeypatch):
    broken, opened = source / "restaurants.csv", importer.open_file

    def failing(path: Path, *args: object, **options: object):
        return nullcontext(broken_lines()) if path == broken else opened(path, *args, **options)

    monkeypatch.setattr(importer, "open_file", failing)
    with pytest.raises(UserError, match=r"restaurants\.csv' cannot be read: Input/output error\.$"):
        import_world(source, tmp_path / "world")
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def broken_lines() -> Iterator[str]:
    """The first line can be read, and then the disk fails."""
    yield "|Name|City|Cuisines|Average Cost|Aggregate Rating\n".replace("|", ",")
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_memory_does_not_grow_with_the_rows(source, tmp_path):
    """What Python holds at the peak: with eight times the rows the difference is less than a tenth
    of what those rows weigh."""

    def peak_bytes(rows: int) -> int:
        for table in ("flights.csv", "restaurants.csv", "accommodations.csv", "attractions.csv"):
            header, row, *_ = ROWS[table]
            numbered = ([f"{row[0]}{n}", *row[1:]] for n in range(rows))
            write(source / table, itertools.chain([header], numbered))
        gc.collect()
        tracemalloc.start()
        import_world(source, tmp_path / f"world{rows}")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    peak_bytes(10)  # what the first import sets up
    few, many = 2_500, 6_000  # the content hash reads batches of 2,000
    row_bytes = sum(sys.getsizeof(value) for value in ROWS["flights.csv"][1])
    assert peak_bytes(many) - peak_bytes(few) < (many - few) * 4 * row_bytes / 10


@pytest.fixture
def real_tables(travelplanner: Path) -> Path:
    return travelplanner / "database"


def test_the_real_tables_have_the_published_numbers_of_usable_rows(real_world):
    world = real_world
    counts = {"city": 312, "flight": 1_485, "ground": 17_602, "covered": 512}
    counts |= {"restaurant": 9_551, "attraction": 5_302, "accommodation": 4_285}
    assert {name: world.manifest["rows"][name] for name in counts} == counts
    assert world.manifest["incomplete_rows"]["accommodations"] == 5_047 - 4_285
    assert len(world.states) in (63, 64)
    assert not world.flights_complete
    assert {source.name for source in SOURCES} == set(world.manifest["incomplete_rows"])
    assert len(set(verify(world))) == 1


def test_a_thousand_real_look_ups_equal_a_scan_of_the_files_text_for_text(real_world, real_tables):
    """The scan is of the files' own text, by Python's csv reader alone; the empty result is asked
    for, too."""

    def grouped(
        name: str, keys: tuple[str, ...], columns: Sequence[str], whole: bool = False
    ) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
        found = defaultdict(list)
        with (real_tables / f"{name}.csv").open(newline="", encoding="utf-8") as text:
            for row in csv.DictReader(text):
                if not whole or MISSING.isdisjoint(row.values()):
                    found[tuple(row[key] for key in keys)].append(tuple(row[c] for c in columns))
        return found

    rng = random.Random(7)
    search = ("OriginCityName", "DestCityName", "FlightDate")
    flights = grouped("flights", search, SOURCES[1].columns)
    covered = json.loads((real_tables / "flights_coverage.json").read_text())
    for *asked, count in rng.sample(covered, 350):
        expected = flights[tuple(asked)]
        assert flight_texts(real_world, *asked) == expected and len(expected) == count
        assert real_world.flights(*asked) == [
            (row[0], float(row[1]), *row[2:8], float(row[8])) for row in expected
        ]
    roads = grouped("distances", ("origin", "destination"), SOURCES[2].columns)
    pairs = rng.sample(sorted(roads), 200)
    pairs += [tuple(rng.sample(list(real_world.cities), 2)) for _ in range(50)]
    for pair in pairs:
        expected = roads[pair]
        assert ground_texts(real_world, *pair) == expected
        assert real_world.ground(*pair) == (expected[0] if expected else None)
    for kind, city_column in ((SOURCES[3], "City"), (SOURCES[4], "City"), (SOURCES[5], "city")):
        columns = [column for column in kind.columns if column != city_column]
        places = grouped(kind.name, (city_column,), columns, whole=True)
        for city in [*rng.sample(list(real_world.cities), 130), "Nowhere", ""]:
            assert city_texts(real_world, kind.name[:-1], city) == places[(city,)]


@pytest.fixture
def fewer_roads(real_tables: Path, tmp_path: Path) -> Path:
    """The real tables with a fourteenth of the pairs to fill, and those whose flights are known."""
    folder = tmp_path / "fewer"
    folder.mkdir()
    for path in real_tables.iterdir():
        (folder / path.name).symlink_to(path)
    covered = json.loads((real_tables / "flights_coverage.json").read_text())
    kept = {frozenset(search[:2]) for search in covered} | {frozenset(("Boston", "Pellston"))}
    roads = (real_tables / "distances.csv").read_text().splitlines(keepends=True)
    (folder / "distances.csv").unlink()
    with (folder / "distances.csv").open("w") as thinned:
        thinned.write(roads[0])
        for road, row in zip(roads[1:], csv.DictReader(roads), strict=True):
            pair = frozenset((row["origin"], row["destination"]))
            if pair in kept or zlib.crc32("".join(sorted(pair)).encode()) % 14 == 0:
                thinned.write(road)
    return folder


def test_the_real_tables_can_be_filled_and_known_searches_stay(
    real_world, real_tables, fewer_roads, tmp_path
):
    world = import_world(fewer_roads, tmp_path / "filled", fill_seed=0)
    covered = json.loads((real_tables / "flights_coverage.json").read_text())
    for *search, _ in covered:
        assert flight_texts(world, *search) == flight_texts(real_world, *search)
    assert world.flights("Boston", "Pellston", "2022-03-16") is not None
    assert real_world.flights("Boston", "Pellston", "2022-03-16") is None
    assert world.flights("Boston", "Pellston", "2022-04-01") is None
    assert world.manifest["filled"] | {"known_searches": ""} == {
        "seed": 0,
        "from": "2022-03-01",
        "to": "2022-03-31",
        "known_flights": 1485,
        "known_searches": "",
    }
    rng = random.Random(5)
    known_routes = {(a, b) for a, b, *_ in covered}
    routes = itertools.permutations(world.cities, 2)
    pairs = {pair for pair in routes if world.ground(*pair)} - known_routes
    searches = [(*pair, rng.choice(world.dates)) for pair in rng.sample(sorted(pairs), 700)]
    found = [world.flights(*search) or [] for search in searches]
    known = [real_world.flights(*search[:3]) or [] for search in covered]
    assert abs(_share(found) - _share(known)) < 0.05  # of searches without any flight
    ratios = [
        sorted(f.price_usd / f.distance_miles for flights in rows for f in flights)
        for rows in (found, known)
    ]
    for share in (0.05, 0.25, 0.5, 0.75, 0.95):
        new, old = (values[int(len(values) * share)] for values in ratios)
        assert abs(new - old) < 0.02  # dollars per mile


def _share(searches: Sequence[Sequence[object]]) -> float:
    return sum(not flights for flights in searches) / len(searches)


def test_flights_without_coverage_cannot_be_filled(source, tmp_path):
    with pytest.raises(UserError, match="Nothing to fill: '.*' has no flights_coverage.json"):
        import_world(source, tmp_path / "world", fill_seed=0)
    assert not (tmp_path / "world").exists()
