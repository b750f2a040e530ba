"""Files of requests: proved, without repeats, the same bytes however the work is shared, cut short
or gone on with."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tripwright.domains.travelplanner.oracle.planner import solve
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.queries.budget import official_budget
from tripwright.domains.travelplanner.queries.make_files import QueryBatch, make_files
from tripwright.domains.travelplanner.queries.make_item import QuerySettings
from tripwright.domains.travelplanner.queries.reading import Gazetteer
from tripwright.domains.travelplanner.queries.splits import (
    excluded_keys,
    read_splits,
    request_key,
    split_sizes,
)
from tripwright.domains.travelplanner.queries.wording_check import mismatches
from tripwright.domains.travelplanner.query import Query, read_queries
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.errors import UserError
from tripwright.world.folder import write_world
from tripwright.world.generator import build_tables
from tripwright.world.records import WorldTables
from tripwright.world.store import World

ALL = QuerySettings(seed=3, days=(3, 5, 7), levels=(1, 1, 1))
COUNT = 36


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return write_world(tmp_path_factory.mktemp("worlds") / "w", build_tables("nano", 21))


@pytest.fixture(scope="module")
def made(world: World, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, QueryBatch]:
    out = tmp_path_factory.mktemp("made") / "q.jsonl"
    return out, make_files(world, out, COUNT, ALL, workers=1)


def proofs(queries: list[Query]) -> list[dict[str, Any]]:
    return [(query.model_extra or {})["oracle"] for query in queries]


def test_each_can_be_met_and_its_proof_holds(world: World, made: tuple[Path, QueryBatch]) -> None:
    queries = read_queries(made[0])
    city_of, places = city_lookup(world), Gazetteer(world.cities)
    for query, proof in zip(queries, proofs(queries), strict=True):
        cheapest, comfortable = (
            solve(query, world).cost_usd,
            solve(query, world, comfortable=True).cost_usd,
        )
        assert cheapest is not None and comfortable is not None
        assert (proof["cheapest_cost_usd"], proof["comfortable_cost_usd"]) == (
            cheapest,
            comfortable,
        )
        assert (
            comfortable * 1.05 <= query.budget <= comfortable * 1.3 + 10 and query.budget % 10 == 0
        )
        assert proof["plan_cost_usd"] == comfortable
        assert proof["slack"] == round(query.budget / cheapest, 4)
        assert (
            query.visiting_city_number
            <= proof["feasible_cities"]
            <= (1 if query.days == 3 else len(world.states[query.dest]))
        )
        assert proof["rule_set"] == "official+strict"
        plan = to_official(parse_days(proof["plan"]).days or [], city_of)
        assert judge(query, plan, world).final and judge(query, plan, world, "strict").final
        assert mismatches(query, query.query, places) == []
    assert len({request_key(query) for query in queries}) == COUNT
    assert {query.level for query in queries} == {"easy", "medium", "hard"} and {
        query.days for query in queries
    } == {3, 5, 7}


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
    make_files(world, tmp_path / "q", 5, ALL, workers=1)
    assert (tmp_path / "q").read_text() == "".join(
        made[0].read_text().splitlines(keepends=True)[:5]
    )
    make_files(world, tmp_path / "other", 5, replace(ALL, seed=4), workers=1)
    assert (tmp_path / "other").read_text() != (tmp_path / "q").read_text()


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
        make_files(world, out, COUNT, ALL, workers=1, report=stop_after(9))
    assert not out.exists()
    with journal.open("ab") as torn:
        torn.write(b'{"rejected": {}, "record": {"org": "half a li')
    with pytest.raises(Stopped):
        make_files(world, out, COUNT, ALL, workers=2, report=stop_after(20))
    finished = make_files(world, out, COUNT, ALL, workers=1)
    assert finished.resumed == 20 and finished.rejected == made[1].rejected
    assert out.read_bytes() == made[0].read_bytes() and not journal.exists()


def test_other_settings_are_not_mixed_in(
    world: World, made: tuple[Path, QueryBatch], tmp_path: Path
) -> None:
    out = tmp_path / "q.jsonl"
    with pytest.raises(Stopped):
        make_files(world, out, COUNT, replace(ALL, seed=8), workers=1, report=stop_after(3))
    for settings, excluded, said in (
        (ALL, frozenset(), "seed was 8, now 3"),
        (
            replace(ALL, seed=8),
            frozenset({request_key(read_queries(made[0])[0])}),
            "excluded was None",
        ),
    ):
        with pytest.raises(UserError, match=f"{said}.*--restart") as refused:
            make_files(world, out, COUNT, settings, excluded=excluded, workers=1)
        assert "\n" not in str(refused.value)
    with pytest.raises(UserError, match="count was 36, now 35"):
        make_files(world, out, COUNT - 1, replace(ALL, seed=8), workers=1)
    make_files(world, out, COUNT, ALL, workers=1, restart=True)
    assert out.read_bytes() == made[0].read_bytes()


def test_a_damaged_or_held_journal_is_refused(world: World, tmp_path: Path) -> None:
    out, journal = tmp_path / "q.jsonl", tmp_path / "q.jsonl.journal"
    journal.write_text("[]\nnonsense\n")
    with pytest.raises(UserError, match="is damaged. Start over with --restart"):
        make_files(world, out, 2, ALL, workers=1)
    journal.unlink()

    def again(made: QueryBatch) -> None:
        make_files(world, out, 2, ALL, workers=1)

    with pytest.raises(UserError, match="is in use: another process"):
        make_files(world, out, 2, ALL, workers=1, report=again)


def test_excluded_trips_do_not_come_whatever_their_budget_and_text(
    world: World, made: tuple[Path, QueryBatch], tmp_path: Path
) -> None:
    records = [json.loads(line) for line in made[0].read_text().splitlines()][:20]
    given = tmp_path / "given.jsonl"
    for record in records:
        record.update(budget=1, query="other words", level=None)
        record["local_constraint"]["cuisine"] = (record["local_constraint"]["cuisine"] or [])[
            ::-1
        ] or None
        del record["oracle"]
    given.write_text("".join(json.dumps(record) + "\n" for record in records))
    excluded = excluded_keys([given])
    less = make_files(world, tmp_path / "q.jsonl", COUNT, ALL, excluded=excluded, workers=1)
    keys = {request_key(query) for query in read_queries(tmp_path / "q.jsonl")}
    assert len(excluded) == 20 and not keys & excluded and len(keys) == COUNT
    assert less.rejected["excluded"] >= 20
    with pytest.raises(UserError, match="No query file at"):
        excluded_keys([tmp_path / "missing"])
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(UserError, match="No queries in .*--not-in"):
        excluded_keys([tmp_path / "empty"])


def test_repeats_are_replaced(world: World, tmp_path: Path) -> None:
    """Few days and one level: draws meet each other, the file has no two alike, and two processes
    still agree."""
    tables = build_tables("nano", 5)
    few = [row for row in tables.flights if row[5] <= "2022-03-03"]
    small = write_world(tmp_path / "w", replace(tables, flights=few))
    easy = QuerySettings(seed=1, levels=(1, 0, 0))
    made = make_files(small, tmp_path / "a", 120, easy, workers=1)
    assert made.rejected["repeats an earlier one"] > 5
    assert len({request_key(query) for query in read_queries(tmp_path / "a")}) == 120
    make_files(small, tmp_path / "b", 120, easy, workers=2)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_splits_share_no_trip_and_are_the_whole_file(
    world: World, made: tuple[Path, QueryBatch], tmp_path: Path
) -> None:
    written = make_files(
        world,
        tmp_path / "q",
        COUNT,
        ALL,
        splits=read_splits("train:0.8,validation:0.1,test:0.1"),
        workers=1,
    )
    files = {path.stem: read_queries(path) for path in (tmp_path / "q").iterdir()}
    assert {name: len(queries) for name, queries in files.items()} == {
        "train": 29,
        "validation": 4,
        "test": 3,
    }
    assert {Path(path).stem: size for path, size in written.files.items()} == {
        "train": 29,
        "validation": 4,
        "test": 3,
    }
    assert len({request_key(query) for queries in files.values() for query in queries}) == COUNT
    together = [
        (tmp_path / "q" / f"{name}.jsonl").read_text() for name in ("train", "validation", "test")
    ]
    assert "".join(together) == made[0].read_text()


def test_shares() -> None:
    assert split_sizes(10, {"a": 1, "b": 1, "c": 1}) == {"a": 4, "b": 3, "c": 3}
    assert split_sizes(1000, read_splits("train:0.8, validation:0.1,test:0.1")) == {
        "train": 800,
        "validation": 100,
        "test": 100,
    }
    for text in ("", "train", "train:0", "train:x", "a:1,a:2", "../a:1", "a:inf", "a:-1", "a:nan"):
        with pytest.raises(UserError, match="--splits"):
            read_splits(text)


def test_infeasible_ones_are_proved_so_and_say_why(world: World, tmp_path: Path) -> None:
    out = tmp_path / "q.jsonl"
    make_files(world, out, 24, replace(ALL, keep="infeasible", slack=(0.6, 0.95)), workers=1)
    queries = read_queries(out)
    kinds: Counter[bool] = Counter()
    for query, proof in zip(queries, proofs(queries), strict=True):
        found, extra = solve(query, world), query.model_extra or {}
        assert (
            extra["feasible"] is False and proof["plan"] is None and proof["plan_cost_usd"] is None
        )
        assert proof["cheapest_cost_usd"] == found.cost_usd
        kinds[found.cost_usd is None] += 1
        if found.cost_usd is None:
            assert (
                extra["why"] == found.why
                and proof["slack"] is None
                and proof["feasible_cities"] == 0
            )
            free = query.model_copy(
                update={"local_constraint": query.local_constraint.model_validate({})}
            )
            without = solve(free, world).cost_usd
            assert without is not None and without < query.budget  # the wishes are the only reason
        else:
            assert query.budget < found.cost_usd and proof["slack"] < 1
            assert re.fullmatch(
                r"the cheapest plan costs \$[\d,.]+, the budget is \$[\d,]+\.", extra["why"]
            )
    assert kinds[True] >= 3 and kinds[False] >= 3


def test_official_budgets_are_the_statistics_and_kept_only_where_a_plan_is_proved(
    world: World, tmp_path: Path
) -> None:
    official = QuerySettings(
        seed=2, elements="official", days=(3, 5, 7), levels=(1, 1, 1), slack=None
    )
    made = make_files(world, tmp_path / "q", 18, official, workers=1)
    for query, proof in zip(
        read_queries(tmp_path / "q"), proofs(read_queries(tmp_path / "q")), strict=True
    ):
        assert query.budget == official_budget(query, world)
        assert proof["cheapest_cost_usd"] <= proof["plan_cost_usd"] <= query.budget
        comfortable = proof["comfortable_cost_usd"]
        expected = (
            comfortable
            if comfortable is not None and comfortable <= query.budget
            else proof["cheapest_cost_usd"]
        )
        assert proof["plan_cost_usd"] == expected
    assert made.rejected["the cheapest plan is over the official budget"] > 0
    make_files(world, tmp_path / "not", 6, replace(official, keep="infeasible"), workers=1)
    for query in read_queries(tmp_path / "not"):
        cost = solve(query, world).cost_usd
        assert query.budget == official_budget(query, world) and (
            cost is None or cost > query.budget
        )


def test_slack_over_the_cheapest_cost(world: World, tmp_path: Path) -> None:
    make_files(
        world, tmp_path / "q", 15, replace(ALL, slack=(1.0, 1.1), over="cheapest"), workers=1
    )
    found = proofs(read_queries(tmp_path / "q"))
    assert all(
        proof["slack"] >= 1 and proof["plan_cost_usd"] >= proof["cheapest_cost_usd"]
        for proof in found
    )
    for query, proof in zip(read_queries(tmp_path / "q"), found, strict=True):
        assert proof["cheapest_cost_usd"] <= query.budget <= proof["cheapest_cost_usd"] * 1.1 + 10
    assert any(proof["plan_cost_usd"] != proof["comfortable_cost_usd"] for proof in found)


def test_a_world_that_gives_no_more_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    bare = World.in_memory(
        WorldTables(
            cities=[("Aston", "Westland"), ("Brook", "Eastland")],
            flights=[
                ("F1", "1", "08:00", "09:00", "1 hours", f"2022-03-0{day}", "Aston", "Brook", "9")
                for day in (1, 2, 3)
            ],
            grounds=[],
            restaurants=[],
            attractions=[],
            accommodations=[],
        )
    )
    with pytest.raises(
        UserError,
        match=(
            r"gave 0 feasible requests; number 1, a 'easy' one of 3 days.*no plan: no stay that"
            r" fits \(3000\)"
        ),
    ):
        make_files(bare, tmp_path / "q", 2, QuerySettings(seed=0, levels=(1, 0, 0)), workers=1)
    assert list(tmp_path.iterdir()) == []
