"""The official tables and training queries: the oracle meets them all, and the expert passes them through the real tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from tripwright.agent.dialect import dialect_named
from tripwright.agent.policies.expert import ExpertPolicy
from tripwright.constraints.evaluate import judge
from tripwright.episode import Task, play
from tripwright.oracle.planner import solve
from tripwright.trip.query import Query, read_queries
from tripwright.world.store import World


@pytest.fixture(scope="session")
def training_queries(travelplanner: Path) -> list[Query]:
    return read_queries(travelplanner / "queries" / "train.jsonl")


def test_the_expert_passes_every_training_query(real_world: World, training_queries: list[Query]) -> None:
    tasks = [Task(str(number), query, real_world) for number, query in enumerate(training_queries)]
    passed = [e.task.id for e in play(ExpertPolicy(), tasks, dialect_named("planner_r1")) if e.verdict is not None and e.verdict.final]
    assert len(passed) == len(tasks) == 45


def test_no_annotated_plan_is_cheaper_than_the_oracle(real_world: World, training_queries: list[Query]) -> None:
    short = [query for query in training_queries if query.days < 7]
    assert len(short) == 30
    for query in short:
        annotated = [day for day in (query.model_extra or {})["annotated_plan"] if day]
        verdict, cheapest_usd = judge(query, annotated, real_world), solve(query, real_world).cost_usd
        assert verdict.final and verdict.total_cost is not None and cheapest_usd is not None
        assert cheapest_usd <= verdict.total_cost <= query.budget, query.query
