"""Files of requests: proved, without repeats, the same bytes however the work is shared, cut short
or gone on with."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tripwright.domains.travelplanner.oracle.planner import solve
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.queries.make import (
    QueryBatch,
    QuerySettings,
    excluded_keys,
    feasible_cities,
    make_files,
    official_budget,
    request_key,
)
from tripwright.domains.travelplanner.queries.reading import Gazetteer, mismatches
from tripwright.domains.travelplanner.queries.sample import Mix, draw_fields
from tripwright.domains.travelplanner.query import Query, read_queries
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.errors import UserError
from tripwright.world.generator import build_tables
from tripwright.world.records import WorldTables
from tripwright.world.store import World, write_world

ALL = QuerySettings(seed=3, days=(3, 5, 7), levels=(1, 1, 1))
COUNT = 20


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return write_world(tmp_path_factory.mktemp("worlds") / "w", build_tables("nano", 21))


@pytest.fixture(scope="module")
def made(world: World, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, QueryBatch]:
    out = tmp_path_factory.mktemp("made") / "q.jsonl"
    return out, make_files(world, out, COUNT, ALL, workers=1)


def with_proofs(path: Path) -> list[tuple[Query, dict[str, Any]]]:
    return [(query, (query.model_extra or {})["oracle"]) for query in read_queries(path)]


def test_each_can_be_met_and_its_proof_holds(world: World, made: tuple[Path, QueryBatch]) -> None:
    queries = with_proofs(made[0])
    city_of, places = city_lookup(world), Gazetteer(world.cities)
    for query, proof in queries:
        cheapest = solve(query, world).cost_usd
        comfortable = solve(query, world, comfortable=True).cost_usd
        assert cheapest is not None and comfortable is not None
        assert proof["cheapest_cost_usd"] == cheapest
        assert proof["comfortable_cost_usd"] == proof["plan_cost_usd"] == comfortable
        assert comfortable * 1.05 <= query.budget <= comfortable * 1.3 + 10
        assert query.budget % 10 == 0 and proof["slack"] == round(query.budget / cheapest, 4)
        assert query.visiting_city_number <= proof["feasible_cities"]
        assert proof["rule_set"] == "official+strict"
        plan = to_official(parse_days(proof["plan"]).days or [], city_of)
        assert judge(query, plan, world).final and judge(query, plan, world, "strict").final
        assert mismatches(query, query.query, places) == []
    assert len({request_key(query) for query, _ in queries}) == COUNT
    assert {query.level for query, _ in queries} == {"easy", "medium", "hard"}
    assert {query.days for query, _ in queries} == {3, 5, 7}


def test_two_processes_write_the_same_bytes(
    world: World, made: tuple[Path, QueryBatch], tmp_path: Path
) -> None:
    out = tmp_path / "q.jsonl"
    shared = make_files(world, out, COUNT, ALL, workers=2)
    assert out.read_bytes() == made[0].read_bytes()
    assert shared.rejected == made[1].rejected and shared.records == made[1].records
    assert [path.name for path in tmp_path.iterdir()] == ["q.jsonl"]


def test_the_first_of_many_are_the_first_of_few(
    world: World, made: tuple[Path, QueryBatch], tmp_path: Path
) -> None:
    first, other = tmp_path / "q", tmp_path / "other"
    make_files(world, first, 5, ALL, workers=1)
    assert first.read_text() == "".join(made[0].read_text().splitlines(keepends=True)[:5])
    make_files(world, other, 5, replace(ALL, seed=4), workers=1)
    assert other.read_text() != first.read_text()


class Stopped(Exception):
    pass


def stop_after(count: int) -> Any:
    def report(made: QueryBatch) -> None:
        if len(made.records) == count:
            raise Stopped

    return report


def test_stopped_work_goes_on(world: World, made: tuple[Path, QueryBatch], tmp_path: Path) -> None:
    out = tmp_path / "q.jsonl"
    journal = tmp_path / "q.jsonl.journal"
    with pytest.raises(Stopped):
        make_files(world, out, COUNT, ALL, workers=1, report=stop_after(5))
    assert not out.exists()
    with journal.open("ab") as torn:
        torn.write(b'{"rejected": {}, "record": {"org": "half a li')
    with pytest.raises(Stopped):
        make_files(world, out, COUNT, ALL, workers=2, report=stop_after(12))
    finished = make_files(world, out, COUNT, ALL, workers=1)
    assert finished.resumed == 12 and finished.rejected == made[1].rejected
    assert out.read_bytes() == made[0].read_bytes() and not journal.exists()


def test_other_settings_are_not_mixed_in(
    world: World, made: tuple[Path, QueryBatch], tmp_path: Path
) -> None:
    out, other = tmp_path / "q.jsonl", replace(ALL, seed=8)
    with pytest.raises(Stopped):
        make_files(world, out, COUNT, other, workers=1, report=stop_after(3))
    key = request_key(read_queries(made[0])[0])
    for count, settings, excluded, said in (
        (COUNT, ALL, frozenset(), "seed was 8, now 3"),
        (COUNT, other, frozenset({key}), "excluded was None"),
        (COUNT - 1, other, frozenset(), f"count was {COUNT}, now {COUNT - 1}"),
    ):
        with pytest.raises(UserError, match=f"{said}.*--restart") as refused:
            make_files(world, out, count, settings, excluded=excluded, workers=1)
        assert "\n" not in str(refused.value)
    make_files(world, out, COUNT, ALL, workers=1, restart=True)
    assert out.read_bytes() == made[0].read_bytes()


def test_a_damaged_or_held_journal_is_refused(world: World, tmp_path: Path) -> None:
    out, journal = tmp_path / "q.jsonl", tmp_path / "q.jsonl.journal"
    journal.write_text("[]\nnonsense\n")
    with pytest.raises(UserError, match="--restart"):
        make_files(world, out, 2, ALL, workers=1)
    journal.unlink()

    def again(made: QueryBatch) -> None:
        make_files(world, out, 2, ALL, workers=1)

    with pytest.raises(UserError, match="is in use"):
        make_files(world, out, 2, ALL, workers=1, report=again)


def test_excluded_trips_do_not_come_whatever_their_budget_and_text(
    world: World, made: tuple[Path, QueryBatch], tmp_path: Path
) -> None:
    records = [json.loads(line) for line in made[0].read_text().splitlines()][:12]
    given = tmp_path / "given.jsonl"
    for record in records:
        cuisines = record["local_constraint"]["cuisine"] or []
        record.update(budget=1, query="other words", level=None)
        record["local_constraint"]["cuisine"] = cuisines[::-1] or None
        del record["oracle"]
    given.write_text("".join(json.dumps(record) + "\n" for record in records))
    excluded = excluded_keys([given])
    less = make_files(world, tmp_path / "q.jsonl", COUNT, ALL, excluded=excluded, workers=1)
    keys = {request_key(query) for query in read_queries(tmp_path / "q.jsonl")}
    assert len(excluded) == 12 and not keys & excluded and len(keys) == COUNT
    assert less.rejected["excluded"] >= 12
    (tmp_path / "empty").write_text("\n")
    for name in ("missing", "empty"):
        with pytest.raises(UserError, match=name):
            excluded_keys([tmp_path / name])


def test_repeats_are_replaced(tmp_path: Path) -> None:
    """Few days and one level: draws meet each other, the file has no two alike, and two processes
    still agree."""
    tables = build_tables("nano", 5)
    few = [row for row in tables.flights if row[5] <= "2022-03-03"]
    small = write_world(tmp_path / "w", replace(tables, flights=few))
    easy = QuerySettings(seed=1, levels=(1, 0, 0))
    made = make_files(small, tmp_path / "a", 90, easy, workers=1)
    assert made.rejected["repeats an earlier one"] > 5
    assert len({request_key(query) for query in read_queries(tmp_path / "a")}) == 90
    make_files(small, tmp_path / "b", 90, easy, workers=2)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_infeasible_ones_are_proved_so_and_say_why(world: World, tmp_path: Path) -> None:
    out = tmp_path / "q.jsonl"
    make_files(world, out, 16, replace(ALL, keep="infeasible", slack=(0.6, 0.95)), workers=1)
    kinds: Counter[bool] = Counter()
    for query, proof in with_proofs(out):
        found, extra = solve(query, world), query.model_extra or {}
        assert extra["feasible"] is False
        assert proof["plan"] is None and proof["plan_cost_usd"] is None
        assert proof["cheapest_cost_usd"] == found.cost_usd
        kinds[found.cost_usd is None] += 1
        if found.cost_usd is None:
            assert extra["why"] == found.why
            assert proof["slack"] is None and proof["feasible_cities"] == 0
            no_wishes = query.local_constraint.model_validate({})
            free = query.model_copy(update={"local_constraint": no_wishes})
            without = solve(free, world).cost_usd
            assert without is not None and without < query.budget  # the wishes are the only reason
        else:
            assert query.budget < found.cost_usd and proof["slack"] < 1
            costs = r"the cheapest plan costs \$[\d,.]+, the budget is \$[\d,]+\."
            assert re.fullmatch(costs, extra["why"])
    assert kinds[True] >= 3 and kinds[False] >= 3


def test_official_budgets_are_the_statistics_and_kept_only_where_a_plan_is_proved(
    world: World, tmp_path: Path
) -> None:
    official = replace(ALL, seed=2, elements="official", budget="official", cuisines=(2, 4))
    made = make_files(world, tmp_path / "q", 18, official, workers=1)
    for query, proof in with_proofs(tmp_path / "q"):
        cheapest, comfortable = proof["cheapest_cost_usd"], proof["comfortable_cost_usd"]
        assert query.budget == official_budget(query, world)
        is_kept = comfortable is not None and comfortable <= query.budget
        assert proof["plan_cost_usd"] == (comfortable if is_kept else cheapest) <= query.budget
    assert made.rejected["the cheapest plan is over the official budget"] > 0
    make_files(world, tmp_path / "not", 6, replace(official, keep="infeasible"), workers=1)
    for query in read_queries(tmp_path / "not"):
        cost = solve(query, world).cost_usd
        assert query.budget == official_budget(query, world)
        assert cost is None or cost > query.budget


def test_a_world_that_gives_no_more_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    flights = [
        ("F1", "1", "08:00", "09:00", "1 hours", f"2022-03-0{day}", "Aston", "Brook", "9")
        for day in (1, 2, 3)
    ]
    cities = [("Aston", "Westland"), ("Brook", "Eastland")]
    bare = World.in_memory(WorldTables(cities, flights, [], [], [], []))
    said = r"gave 0 feasible requests; number 1, .*no plan: no stay that fits \(3000\)"
    with pytest.raises(UserError, match=said):
        make_files(bare, tmp_path / "q", 2, QuerySettings(seed=0, levels=(1, 0, 0)), workers=1)
    assert list(tmp_path.iterdir()) == []


def drafts(world: World, count: int, *days: int) -> list[Query]:
    rng = random.Random(8)
    return [
        Query.model_validate(
            {**draw_fields(world, rng, level, length, Mix()), "budget": 0, "query": ""}
        )
        for _ in range(count)
        for level in ("easy", "medium", "hard")
        for length in days
    ]


def test_no_city_is_feasible_exactly_where_there_is_no_plan(world: World) -> None:
    found = Counter[bool]()
    for query in drafts(world, 12, 3, 5, 7):
        is_possible = solve(query, world).cost_usd is not None
        assert (feasible_cities(query, world) > 0) == is_possible, query
        found[is_possible] += 1
    assert min(found[True], found[False]) > 5
    nowhere = query.model_copy(update={"dest": "Nowhere"})
    assert feasible_cities(nowhere, world) == 0


def test_a_city_is_feasible_exactly_if_some_plan_goes_there(world: World) -> None:
    """Proved the long way: every pair of cities on its own, all others made unreachable by having
    nowhere to stay."""
    tables = build_tables("nano", 21)
    tables = replace(tables, flights=list(tables.flights), grounds=list(tables.grounds))
    for query in drafts(world, 1, 5):
        reached = set[str]()
        for pair in combinations(set(world.states[query.dest]) - {query.org}, 2):
            kept = [row for row in tables.accommodations if row[-1] in pair]
            less = World.in_memory(replace(tables, accommodations=kept))
            if solve(query, less).cost_usd is not None:
                reached |= {*pair}
        assert feasible_cities(query, world) == len(reached), query
