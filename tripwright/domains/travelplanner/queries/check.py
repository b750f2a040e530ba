"""A file of requests proved again: what is wrong with each, by kind.

- `infeasible`: no plan within the budget, proved, and the record does not say so itself.
- `wrong`: the stored proof is not the world's, its plan fails the official or the strict rules, or
  a request labelled infeasible can be met.
- `ambiguous`: the text alone does not give the fields back.
- `duplicate`: an earlier line asks for the same trip (budget and text do not count).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tripwright.domains.travelplanner.oracle.planner import Solution, plan_days, solve
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.queries.make_cities import served_cities
from tripwright.domains.travelplanner.queries.make_pool import in_order, worker_count
from tripwright.domains.travelplanner.queries.reading import Gazetteer
from tripwright.domains.travelplanner.queries.splits import Key, request_key
from tripwright.domains.travelplanner.queries.wording_check import mismatches
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import Rules, judge
from tripwright.domains.travelplanner.rules.facts import PlanVerdict
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.world.store import World

KINDS = ("infeasible", "wrong", "ambiguous", "duplicate")
JUDGED: tuple[Rules, ...] = ("official", "strict")


@dataclass(frozen=True)
class QueryProblem:
    kind: str
    text: str


class Checker:
    """What the checks of all requests share."""

    def __init__(self, world: World):
        self.world, self.places = world, Gazetteer(world.cities)


def check_queries(
    queries: Sequence[tuple[int, Query]], world: World, workers: int | None = None
) -> Iterator[tuple[int, list[QueryProblem]]]:
    """(line number, its problems) for every (line number, request), in order. `workers`: processes;
    None: as many as are worth it."""
    first: dict[Key, int] = {}
    answers = in_order(
        Checker,
        (world,),
        problems_with,
        (query for _, query in queries),
        worker_count(workers, len(queries)),
    )
    for (line, query), problems in zip(queries, answers, strict=True):
        earlier = first.setdefault(request_key(query), line)
        repeated = (
            [QueryProblem("duplicate", f"asks for the same trip as line {earlier}")]
            if earlier != line
            else []
        )
        yield line, [*problems, *repeated]


def problems_with(checker: Checker, query: Query) -> list[QueryProblem]:
    """Everything wrong with one request by itself; [] where nothing is."""
    world = checker.world
    record = query.model_extra or {}
    cheapest = solve(query, world)
    said_infeasible = record.get("feasible") is False
    problems = [
        QueryProblem("wrong", text)
        for text in _wrong_proof(query, record.get("oracle"), cheapest, world, said_infeasible)
    ]
    why = _why_not(query, cheapest)
    if why and not said_infeasible:
        problems.insert(0, QueryProblem("infeasible", f"cannot be met: {why}"))
    elif said_infeasible and not why:
        problems.insert(
            0,
            QueryProblem(
                "wrong", f"is labelled infeasible and can be met for ${cheapest.cost_usd:,.2f}"
            ),
        )
    elif not why and (failure := _failure(query, plan_days(query, cheapest), world)):
        problems.insert(
            0, QueryProblem("wrong", f"the exact planner's plan does not pass the judge: {failure}")
        )
    if misread := mismatches(query, query.query, checker.places):
        problems.append(QueryProblem("ambiguous", f"its text is not clear: {misread[0]}"))
    return problems


def _why_not(query: Query, cheapest: Solution) -> str | None:
    if cheapest.cost_usd is None:
        return cheapest.why or "no plan exists."
    if cheapest.cost_usd > query.budget:
        return (
            f"the cheapest plan costs ${cheapest.cost_usd:,.2f}, the budget is ${query.budget:,}."
        )
    return None


def _wrong_proof(
    query: Query, proof: Any, cheapest: Solution, world: World, said_infeasible: bool
) -> Iterator[str]:
    """What a stored proof says and the world does not. A request without a proof, as the
    benchmark's, is none the worse."""
    if proof is None:
        return
    if not isinstance(proof, dict):
        yield "field 'oracle' is not an object"
        return
    if "cheapest_cost_usd" in proof and proof["cheapest_cost_usd"] != cheapest.cost_usd:
        yield (
            f"its stored cheapest cost is {proof['cheapest_cost_usd']}, the world's is"
            f" {cheapest.cost_usd}"
        )
    if "comfortable_cost_usd" in proof:
        comfortable = solve(query, world, comfortable=True).cost_usd
        if proof["comfortable_cost_usd"] != comfortable:
            yield (
                f"its stored comfortable cost is {proof['comfortable_cost_usd']}, the world's is"
                f" {comfortable}"
            )
    if "feasible_cities" in proof and proof["feasible_cities"] != (
        cities := len(served_cities(query, world).cities)
    ):
        yield (
            f"its stored number of feasible cities is {proof['feasible_cities']}, the world's is"
            f" {cities}"
        )
    if "slack" in proof:
        slack = None if cheapest.cost_usd is None else round(query.budget / cheapest.cost_usd, 4)
        if proof["slack"] != slack:
            yield f"its stored slack is {proof['slack']}, the budget's is {slack}"
    if said_infeasible and proof.get("plan") is None:
        return
    failure = _failure(query, proof.get("plan"), world)
    if failure:
        yield (
            f"its stored plan {failure}"
            if failure.startswith("cannot")
            else f"its stored plan does not pass the judge: {failure}"
        )


def _failure(query: Query, plan: Any, world: World) -> str | None:
    """The first thing that a plan fails under either rule set; None where it passes both."""
    parse = parse_days(plan)
    if parse.days is None:
        return f"cannot be read: {parse.problem}"
    official = to_official(parse.days, city_lookup(world))
    for rules in JUDGED:
        verdict = judge(query, official, world, rules)
        if not verdict.final:
            return f"{_first_failure(verdict)} ({rules} rules)"
    return None


def _first_failure(verdict: PlanVerdict) -> str:
    for facts in (verdict.commonsense, verdict.hard):
        for fact in (facts or {}).values():
            if fact.passed is False:
                return f"{fact.name}{f': {fact.message}' if fact.message else ''}"
    return verdict.error or "not delivered"
