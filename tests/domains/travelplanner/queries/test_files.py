"""Files of requests: proved, without repeats, the same bytes however the work is shared, cut short
or gone on with."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.files import read_lines, write_lines
from tripwright.domains.travelplanner.queries.files import (
    QueryBatch,
    excluded_keys,
    make_file,
    request_key,
)
from tripwright.domains.travelplanner.queries.sample import Mix
from tripwright.domains.travelplanner.query import read_queries
from tripwright.errors import UserError
from tripwright.world.generator import build_tables
from tripwright.world.records import WorldTables
from tripwright.world.store import World, write_world

ALL = Mix(days=(3, 5, 7), levels=(1, 1, 1))
SEED = 3
COUNT = 20
NANO, STORED = 21, True  # of `world`


@pytest.fixture(scope="module")
def made(world: World, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, QueryBatch]:
    out = tmp_path_factory.mktemp("made") / "q.jsonl"
    return out, make_file(world, out, COUNT, SEED, ALL, workers=1)


def test_the_first_of_many_are_the_first_of_few(world, made, tmp_path):
    first, other = tmp_path / "q", tmp_path / "other"
    make_file(world, first, 5, SEED, ALL, workers=1)
    assert first.read_text() == "".join(made[0].read_text().splitlines(keepends=True)[:5])
    make_file(world, other, 5, 4, ALL, workers=1)
    assert other.read_text() != first.read_text()


def test_excluded_trips_do_not_come_whatever_their_budget_and_text(world, made, tmp_path):
    records = read_lines(made[0])[:12]
    given = tmp_path / "given.jsonl"
    for record in records:
        cuisines = record["local_constraint"]["cuisine"] or []
        record.update(budget=1, query="other words", level=None)
        record["local_constraint"]["cuisine"] = cuisines[::-1] or None
        del record["oracle"]
    write_lines(given, records)
    excluded = excluded_keys([given])
    less = make_file(world, tmp_path / "q.jsonl", COUNT, SEED, ALL, excluded=excluded, workers=1)
    keys = {request_key(query) for query in read_queries(tmp_path / "q.jsonl")}
    assert len(excluded) == 12 and not keys & excluded and len(keys) == COUNT
    assert less.rejected["excluded"] >= 12
    (tmp_path / "empty").write_text("\n")
    for name in ("missing", "empty"):
        with pytest.raises(UserError, match=name):
            excluded_keys([tmp_path / name])


def test_repeats_are_replaced(tmp_path):
    """Few days and one level: draws meet each other, the file has no two alike, and two processes
    still agree."""
    tables = build_tables("nano", 5)
    few = [row for row in tables.flights if row[5] <= "2022-03-03"]
    small = write_world(tmp_path / "w", replace(tables, flights=few))
    easy = Mix(levels=(1, 0, 0))
    made = make_file(small, tmp_path / "a", 90, 1, easy, workers=1)
    assert made.rejected["repeats an earlier one"] > 5
    assert len({request_key(query) for query in read_queries(tmp_path / "a")}) == 90
    make_file(small, tmp_path / "b", 90, 1, easy, workers=2)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_world_that_gives_no_more_says_so_and_leaves_nothing(tmp_path):
    flights = [
        ("F1", "1", "08:00", "09:00", "1 hours", f"2022-03-0{day}", "Aston", "Brook", "9")
        for day in (1, 2, 3)
    ]
    cities = [("Aston", "Westland"), ("Brook", "Eastland")]
    bare = World.in_memory(WorldTables(cities, flights, [], [], [], []))
    said = r"gave 0 feasible requests; number 1 .*: no stay that fits \(3000\)"
    with pytest.raises(UserError, match=said):
        make_file(bare, tmp_path / "q", 2, 0, Mix(levels=(1, 0, 0)), workers=1)
    assert list(tmp_path.iterdir()) == []
