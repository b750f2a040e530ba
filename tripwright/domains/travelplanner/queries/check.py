"""A file of requests proved again: what is wrong with each, by kind.

- `infeasible`: no plan within the budget, proved, and the record does not say so itself.
- `wrong`: the stored proof is not the world's, its plan fails the official or the strict rules, or
  a request labelled infeasible can be met.
- `ambiguous`: the text alone does not give the fields back.
- `duplicate`: an earlier line asks for the same trip (budget and text do not count).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tripwright.domains.travelplanner.oracle.planner import Solution, plan_days, solve
from tripwright.domains.travelplanner.queries.make import (
    Key,
    feasible_cities,
    in_order,
    plan_failure,
    request_key,
    slack,
    why_not,
)
from tripwright.domains.travelplanner.queries.reading import Gazetteer, mismatches
from tripwright.domains.travelplanner.query import Query
from tripwright.world.store import World

KINDS = ("infeasible", "wrong", "ambiguous", "duplicate")


@dataclass(frozen=True)
class QueryProblem:
    kind: str
    text: str


class Checker:
    """Checks any request of one world."""

    def __init__(self, world: World):
        self.world, self.places = world, Gazetteer(world.cities)

    def problems(self, query: Query) -> list[QueryProblem]:
        """Everything wrong with one request by itself; [] where nothing is."""
        world, record = self.world, query.model_extra or {}
        cheapest = solve(query, world)
        why, said_infeasible = why_not(query, cheapest), record.get("feasible") is False
        problems = list[QueryProblem]()
        if why and not said_infeasible:
            problems.append(QueryProblem("infeasible", f"cannot be met: {why}"))
        elif said_infeasible and not why:
            text = f"is labelled infeasible and can be met for ${cheapest.cost_usd:,.2f}"
            problems.append(QueryProblem("wrong", text))
        elif not why and (failure := plan_failure(query, plan_days(query, cheapest), world)):
            text = f"the exact planner's plan does not pass the judge: {failure}"
            problems.append(QueryProblem("wrong", text))
        wrong = _wrong_proof(query, record.get("oracle"), cheapest, world, said_infeasible)
        problems += (QueryProblem("wrong", text) for text in wrong)
        if misread := mismatches(query, query.query, self.places):
            problems.append(QueryProblem("ambiguous", f"its text is not clear: {misread[0]}"))
        return problems


def check_queries(
    queries: Sequence[tuple[int, Query]], world: World, workers: int | None = None
) -> Iterator[tuple[int, list[QueryProblem]]]:
    """(line number, its problems) for every (line number, request), in order. `workers`: processes;
    None: as many as are worth it."""
    first: dict[Key, int] = {}
    requests = [query for _, query in queries]
    answers = in_order(Checker, (world,), Checker.problems, requests, workers)
    for (line, query), problems in zip(queries, answers, strict=True):
        earlier = first.setdefault(request_key(query), line)
        if earlier != line:
            repeat = QueryProblem("duplicate", f"asks for the same trip as line {earlier}")
            problems = [*problems, repeat]
        yield line, problems


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
    true: tuple[tuple[str, str, Callable[[], Any]], ...] = (
        ("cheapest_cost_usd", "cheapest cost", lambda: cheapest.cost_usd),
        (
            "comfortable_cost_usd",
            "comfortable cost",
            lambda: solve(query, world, comfortable=True).cost_usd,
        ),
        ("feasible_cities", "number of feasible cities", lambda: feasible_cities(query, world)),
        ("slack", "slack", lambda: slack(query, cheapest)),
    )
    for field, name, of_world in true:
        if field in proof and proof[field] != (found := of_world()):
            whose = "budget" if field == "slack" else "world"
            yield f"its stored {name} is {proof[field]}, the {whose}'s is {found}"
    if said_infeasible and proof.get("plan") is None:
        return
    failure = plan_failure(query, proof.get("plan"), world)
    if failure:
        yield (
            f"its stored plan {failure}"
            if failure.startswith("cannot")
            else f"its stored plan does not pass the judge: {failure}"
        )
