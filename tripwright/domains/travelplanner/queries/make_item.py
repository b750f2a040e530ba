"""One request with its proof. The n-th of a file depends on the seed and n alone (and, where it
would repeat an earlier one, on that).

Level and length of trip are drawn once for each n, so that what is rejected does not change their
shares. Then one attempt follows the other, each with random numbers of its own: elements, budget,
proof and text, until one is kept. The caller may ask for the next attempt where the kept one is a
request that an earlier n already has.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

from tripwright.domains.travelplanner.oracle.planner import Solution, plan_days, solve
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.queries.budget import NoBudget, official_budget
from tripwright.domains.travelplanner.queries.make_cities import VisitableCities, served_cities
from tripwright.domains.travelplanner.queries.make_elements import ElementKind, draw_elements
from tripwright.domains.travelplanner.queries.reading import Gazetteer
from tripwright.domains.travelplanner.queries.splits import Key, request_key
from tripwright.domains.travelplanner.queries.wording import Style, word_query
from tripwright.domains.travelplanner.queries.wording_check import mismatches
from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.errors import UserError
from tripwright.world.store import World

MOST_ATTEMPTS = 3000
MOST_WORDINGS = 5  # of one request, where the text does not give the fields back
# the budget over the cost without wishes, where the wishes are what cannot be met
ROOMY = (1.05, 1.3)
RULE_SET = "official+strict"
LEVELS = ("easy", "medium", "hard")


@dataclass(frozen=True)
class QuerySettings:
    """What is made. `slack`: range of the budget over the cost named by `over`, or None for the
    official budget; below 1 if infeasible."""

    seed: int
    elements: ElementKind = "default"
    days: tuple[int, ...] = (3,)
    levels: tuple[int, int, int] = (4, 3, 3)
    slack: tuple[float, float] | None = (1.05, 1.3)
    over: Literal["comfortable", "cheapest"] = "comfortable"
    keep: Literal["feasible", "infeasible"] = "feasible"
    style: Style = "plain"


@dataclass(frozen=True)
class QueryItem:
    """`attempt`: the one that was kept. `rejected`: reason → how many attempts before it, from the
    one that the caller named."""

    record: dict[str, Any]
    attempt: int
    rejected: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Maker:
    """What every request of a file shares."""

    world: World
    settings: QuerySettings
    excluded: frozenset[Key]
    places: Gazetteer

    @classmethod
    def of(
        cls, world: World, settings: QuerySettings, excluded: frozenset[Key] = frozenset()
    ) -> Maker:
        return cls(world, settings, excluded, Gazetteer(world.cities))


class Exhausted(UserError):
    """The world gives no further request of the kind that was drawn."""


class _Rejected(Exception):
    """This attempt gives no request; the message is the reason that is counted."""


def make_item(maker: Maker, task: tuple[int, int], before: Counter[str] | None = None) -> QueryItem:
    """The n-th request, from the given attempt on: `task` is (n, attempt). Raises Exhausted after
    MOST_ATTEMPTS.

    `before`: why earlier attempts of this n were turned down, for the message.
    """
    index, first = task
    settings, rejected = maker.settings, Counter[str]()
    rng = random.Random(f"tripwright-make-{settings.keep}-{settings.seed}-{index}")
    level, days = rng.choices(LEVELS, settings.levels)[0], rng.choice(settings.days)
    # Nearly every draft can be given too low a budget; half of those with wishes must fail by their
    # wishes, though these are rarer.
    by_wishes = (
        settings.keep == "infeasible"
        and level != "easy"
        and settings.slack is not None
        and rng.random() < 0.5
    )
    for attempt in range(first, MOST_ATTEMPTS):
        rng = random.Random(f"tripwright-make-{settings.keep}-{settings.seed}-{index}-{attempt}")
        try:
            return QueryItem(_attempt(maker, rng, level, days, by_wishes), attempt, rejected)
        except _Rejected as reason:
            rejected[str(reason)] += 1
    most = ", ".join(
        f"{reason} ({count})" for reason, count in (rejected + (before or Counter())).most_common(3)
    )
    raise Exhausted(
        f"World '{maker.world.name}' gave {index} {settings.keep} requests; number {index + 1}, a"
        f" '{level}' one of {days} days, was not found in {MOST_ATTEMPTS} tries: {most}. Ask for"
        " fewer, or for other levels, lengths or budgets."
    )


def _attempt(
    maker: Maker, rng: random.Random, level: str, days: int, by_wishes: bool
) -> dict[str, Any]:
    world, settings = maker.world, maker.settings
    fields = draw_elements(world, rng, settings.elements, level, days)
    draft = Query.model_validate({**fields, "budget": 0, "query": ""})
    if request_key(draft) in maker.excluded:
        raise _Rejected("excluded")
    if settings.keep == "feasible":
        budget, extra = _feasible(draft, world, rng, settings)
    else:
        budget, extra = _infeasible(draft, world, rng, settings, by_wishes)
    for _ in range(MOST_WORDINGS):
        text = word_query(rng, draft.model_copy(update={"budget": budget}), settings.style)
        query = Query.model_validate({**fields, "budget": budget, "query": text, **extra})
        if not mismatches(query, text, maker.places):
            return query.record()
    raise _Rejected("text does not give the fields back")


def _feasible(
    draft: Query, world: World, rng: random.Random, settings: QuerySettings
) -> tuple[int, dict[str, Any]]:
    """(budget in US dollars, the record's further fields)."""
    budget = _official_budget(draft, world) if settings.slack is None else None
    served = served_cities(draft, world)
    if served.lack:
        raise _Rejected(f"no plan: {served.lack}")
    cheapest, comfortable = solve(draft, world), solve(draft, world, comfortable=True)
    if cheapest.cost_usd is None:
        raise _Rejected("no plan: the exact planner found none")
    if budget is None:
        assert settings.slack is not None
        base = comfortable.cost_usd if settings.over == "comfortable" else cheapest.cost_usd
        if base is None:
            raise _Rejected("no comfortable plan")
        budget = math.ceil(base * rng.uniform(*settings.slack) / 10) * 10
    if cheapest.cost_usd > budget:
        raise _Rejected("the cheapest plan is over the official budget")
    proof = _proof(draft, cheapest, comfortable, served, budget)
    solution = (
        comfortable
        if comfortable.cost_usd is not None and comfortable.cost_usd <= budget
        else cheapest
    )
    plan = plan_days(draft, solution)
    if not _passes(draft.model_copy(update={"budget": budget}), plan, world):
        raise _Rejected("the planner's plan does not pass the judge")
    return budget, {"oracle": {**proof, "plan_cost_usd": solution.cost_usd, "plan": plan}}


def _infeasible(
    draft: Query, world: World, rng: random.Random, settings: QuerySettings, by_wishes: bool
) -> tuple[int, dict[str, Any]]:
    """(a budget that is too little, or one that would do without the wishes; the record's further
    fields)."""
    budget = _official_budget(draft, world) if settings.slack is None else None
    served = served_cities(draft, world)
    if by_wishes and served.lack is None:
        raise _Rejected("can be met: no wish in the way")
    cheapest = solve(draft, world)
    cost_usd, why = cheapest.cost_usd, cheapest.why
    if cost_usd is None and budget is None:
        without = solve(
            draft.model_copy(update={"local_constraint": LocalConstraint.model_validate({})}), world
        ).cost_usd
        if without is None:
            raise _Rejected("no plan even without the wishes")
        budget = math.ceil(without * rng.uniform(*ROOMY) / 10) * 10
    elif cost_usd is not None:
        if budget is None:
            assert settings.slack is not None
            budget = math.floor(cost_usd * rng.uniform(*settings.slack) / 10) * 10
        if not 0 < budget < cost_usd:
            raise _Rejected("can be met within the budget")
        why = f"the cheapest plan costs ${cost_usd:,.2f}, the budget is ${budget:,}."
    assert budget is not None
    proof = _proof(draft, cheapest, solve(draft, world, comfortable=True), served, budget)
    return budget, {
        "feasible": False,
        "why": why,
        "oracle": {**proof, "plan_cost_usd": None, "plan": None},
    }


def _official_budget(draft: Query, world: World) -> int:
    try:
        return official_budget(draft, world)
    except NoBudget as reason:
        raise _Rejected(str(reason)) from None


def _proof(
    draft: Query, cheapest: Solution, comfortable: Solution, served: VisitableCities, budget: int
) -> dict[str, Any]:
    """Costs in US dollars for the party. `slack`: the budget over the proved cheapest cost; None
    where no plan exists at any price."""
    return {
        "cheapest_cost_usd": cheapest.cost_usd,
        "comfortable_cost_usd": comfortable.cost_usd,
        "slack": None if cheapest.cost_usd is None else round(budget / cheapest.cost_usd, 4),
        "feasible_cities": len(served.cities),
        "rule_set": RULE_SET,
    }


def _passes(query: Query, plan: list[dict[str, Any]], world: World) -> bool:
    days = parse_days(plan).days
    official = to_official(days, city_lookup(world)) if days else None
    return judge(query, official, world).final and judge(query, official, world, "strict").final
