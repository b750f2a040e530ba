"""The strict hard rules: what the traveller asked for, and the budget, on the exact rows that the
plan means.

They are reached only by plans that are complete and found in the world, so every leg has a price
and every place a row. A wish in words that no rule knows fails, and so does a budget that the
request does not give: what cannot be checked is not kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import cast

from tripwright.domains.travelplanner.query import why_no_trip
from tripwright.domains.travelplanner.rules.facts import Cost, CostKind, shown
from tripwright.domains.travelplanner.rules.official.hard import (
    FORBIDDING_RULE,
    REQUIRED_ROOM,
    SEATS,
    total_usd,
)
from tripwright.domains.travelplanner.rules.strict.plan import StrictPlan
from tripwright.domains.travelplanner.rules.strict.stays import allows_rule, is_right_room, rooms
from tripwright.verdict import Evidence
from tripwright.world.records import Accommodation, Restaurant

Wish = Callable[[StrictPlan], Iterator[Evidence]]
FORBIDDEN_MODE = {"no flight": "flight", "no self-driving": "self-driving"}


def valid_cuisine(plan: StrictPlan) -> Iterator[Evidence]:
    """Every wanted cuisine at some meal away from home."""
    cuisines = dict.fromkeys(plan.query.local_constraint.cuisine or ())
    rows = [
        place.rows[0] for day in plan.days for place in day.meals if place.city != plan.query.org
    ]
    lacking = [cuisine for cuisine in cuisines if not any(cuisine in _served(row) for row in rows)]
    for cuisine in lacking:
        yield Evidence(
            None,
            None,
            f"no meal away from home that is {cuisine}",
            f"meals that are {', '.join(cuisines)}",
        )


def _served(row: Restaurant) -> list[str]:
    return [cuisine.strip() for cuisine in row.cuisines.split(",")]


def valid_room_rule(plan: StrictPlan) -> Iterator[Evidence]:
    rule = plan.query.local_constraint.house_rule
    if rule not in FORBIDDING_RULE:
        yield _unknown(rule, FORBIDDING_RULE)
        return
    for number, row in _nights(plan):
        if not allows_rule(plan.query, row):
            yield Evidence(
                number,
                "accommodation",
                f"{row.name}: {row.house_rules}",
                f"a place that allows {rule}",
            )


def valid_transportation(plan: StrictPlan) -> Iterator[Evidence]:
    wish = plan.query.local_constraint.transportation
    if wish not in FORBIDDEN_MODE:
        yield _unknown(wish, FORBIDDEN_MODE)
        return
    for day in plan.days:
        if day.leg is not None and day.leg.mode == FORBIDDEN_MODE[wish]:
            yield Evidence(day.number, "transportation", shown(day.texts["transportation"]), wish)


def valid_room_type(plan: StrictPlan) -> Iterator[Evidence]:
    wish = plan.query.local_constraint.room_type
    if wish is None or (wish != "not shared room" and wish not in REQUIRED_ROOM):
        yield _unknown(wish, ("not shared room", *REQUIRED_ROOM))
        return
    for number, row in _nights(plan):
        if not is_right_room(plan.query, row):
            yield Evidence(number, "accommodation", f"{row.name}: {row.room_type}", wish)


def _unknown(wish: str | None, vocabulary: Iterable[str]) -> Evidence:
    return Evidence(
        None,
        None,
        f"a wish for '{shown(wish)}', which no rule knows",
        f"one of: {', '.join(vocabulary)}",
    )


def _nights(plan: StrictPlan) -> Iterator[tuple[int, Accommodation]]:
    for day in plan.days:
        if day.stay is not None and (row := plan.stays[day.stay.key].row) is not None:
            yield day.number, row


def costs_of(plan: StrictPlan) -> Iterator[Cost]:
    """What the whole party pays, in the order of the plan: seats, vehicles, meals, rooms."""
    party_size = plan.query.people_number
    for day in plan.days:
        leg = day.leg
        if leg is not None and leg.mode is not None and leg.unit_usd is not None:
            count = party_size if leg.mode == "flight" else math.ceil(party_size / SEATS[leg.mode])
            number = f"{leg.flight.number} " if leg.flight else ""
            yield Cost(
                day.number,
                leg.mode,
                f"{number}from {leg.route.origin} to {leg.route.destination}",
                leg.unit_usd,
                count,
            )
        for place in day.meals:
            yield Cost(
                day.number,
                cast(CostKind, place.field),
                place.rows[0].name,
                place.rows[0].average_cost_usd,
                party_size,
            )
        if day.stay is not None and (row := plan.stays[day.stay.key].row) is not None:
            yield Cost(day.number, "accommodation", row.name, row.price_usd, rooms(party_size, row))


def valid_cost(plan: StrictPlan, costs: Sequence[Cost]) -> Iterator[Evidence]:
    budget = plan.query.budget
    if plan.query.people_number is None or budget is None:  # a judged request may lack either
        yield Evidence(
            None,
            None,
            "a request without a budget or a number of people",
            "both, to know what the trip may cost",
        )
    elif (problem := why_no_trip(plan.query)) is not None:
        yield Evidence(None, None, problem, "a request that somebody can pay for and travel by")
    elif total_usd(costs) > budget:
        yield Evidence(
            None, None, f"${total_usd(costs):,.2f} for the whole party", f"at most ${budget:,}"
        )


# The rule, how it reads the plan, and the wish in the request that makes it apply.
WISHES: tuple[tuple[str, Wish, str], ...] = (
    ("valid_cuisine", valid_cuisine, "cuisine"),
    ("valid_room_rule", valid_room_rule, "house_rule"),
    ("valid_transportation", valid_transportation, "transportation"),
    ("valid_room_type", valid_room_type, "room_type"),
)
