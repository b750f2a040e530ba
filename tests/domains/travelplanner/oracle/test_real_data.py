"""The official tables and training queries: the oracle meets them all, and the expert passes them
through the real tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.expert import ExpertPolicy
from tripwright.domains.travelplanner.oracle.planner import Solution, k_best, solve
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query, read_queries
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import play
from tripwright.world.store import World


@pytest.fixture(scope="session")
def training_queries(travelplanner: Path) -> list[Query]:
    return read_queries(travelplanner / "queries" / "train.jsonl")


def test_the_expert_passes_every_training_query(
    real_world: World, training_queries: list[Query]
) -> None:
    tasks = [
        TripTask(str(number), query, real_world) for number, query in enumerate(training_queries)
    ]
    passed = [
        e.task.id
        for e in play(ExpertPolicy(), tasks, dialect_named("planner_r1"))
        if e.verdict is not None and e.verdict.final
    ]
    assert len(passed) == len(tasks) == 45


def test_no_annotated_plan_is_cheaper_than_the_oracle(
    real_world: World, training_queries: list[Query]
) -> None:
    """One annotated plan fails the strict rules: it is no plan of the oracle's."""
    accepted = 0
    for query in training_queries:
        annotated = [day for day in (query.model_extra or {})["annotated_plan"] if day]
        verdict, cheapest_usd = (
            judge(query, annotated, real_world, "strict"),
            solve(query, real_world).cost_usd,
        )
        assert cheapest_usd is not None
        if verdict.final:
            assert (
                verdict.total_cost is not None
                and cheapest_usd <= verdict.total_cost <= query.budget
            ), query.query
            accepted += 1
    assert accepted == 44


def test_both_rule_sets_pass_what_is_planned_in_the_real_tables(
    real_world: World, passes_at_its_cost: Callable[[Query, Solution, World], None]
) -> None:
    for query in make_queries(
        real_world, 36, 5, Mix(days=(3, 5, 7), levels=(1, 2, 3), cuisines=(2, 4))
    ):
        for solution in (
            solve(query, real_world),
            solve(query, real_world, comfortable=True),
            *k_best(query, real_world, 3),
        ):
            passes_at_its_cost(query, solution, real_world)
