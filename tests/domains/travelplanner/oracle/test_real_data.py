"""The official tables and training queries: the oracle meets them all, and the expert passes them
through the real tools."""

from pathlib import Path

import pytest

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.expert import ExpertPolicy
from tripwright.domains.travelplanner.oracle.planner import k_best, solve
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query, read_queries
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import play


@pytest.fixture(scope="session")
def training_queries(travelplanner: Path) -> list[Query]:
    return read_queries(travelplanner / "queries" / "train.jsonl")


def test_the_expert_passes_every_training_query(real_world, training_queries):
    tasks = [TripTask(str(n), query, real_world) for n, query in enumerate(training_queries)]
    played = list(play(ExpertPolicy(), tasks, dialect_named("planner_r1")))
    assert sum(episode.passed for episode in played) == len(tasks) == 45


def test_no_annotated_plan_is_cheaper_than_the_oracle(real_world, training_queries):
    """One annotated plan fails the strict rules: it is no plan of the oracle's."""
    accepted = 0
    for query in training_queries:
        annotated = [day for day in (query.model_extra or {})["annotated_plan"] if day]
        verdict = judge(query, annotated, real_world, "strict")
        cheapest_usd = solve(query, real_world).cost_usd
        if verdict.final:
            assert cheapest_usd <= (verdict.details["total_cost"] or 0) <= query.budget, query.query
            accepted += 1
    assert accepted == 44


def test_both_rule_sets_pass_what_is_planned_in_the_real_tables(real_world, passes_at_its_cost):
    mix = Mix(days=(3, 5, 7), levels=(1, 2, 3), cuisines=(2, 4))
    for query in make_queries(real_world, 18, 5, mix):
        comfortable = solve(query, real_world, comfortable=True)
        for solution in (comfortable, *k_best(query, real_world, 3)):
            passes_at_its_cost(query, solution, real_world)
