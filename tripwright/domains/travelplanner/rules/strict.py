"""The strict rules: every known hole of the official ones is closed, and what cannot be checked has
failed. `docs/judging.md` lists each hole, with the test that keeps it closed.

Same names, same stages: eight commonsense rules, then, if the plan is complete and everything it
names exists, the five hard ones. Each rule yields evidence for all that is wrong. They look only at
what `strict_reading` could read as a real thing: an unknown word, place or type is a failed fact
with evidence, never a skipped check. A wish in words that no rule knows fails, and so does a budget
that the request does not give. A plan never crashes the judge. A rule that an empty plan would
"pass" because there is nothing to break is *not evaluated*, and that is no pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, cast

from tripwright.domains.travelplanner.plan.plan import FIELDS_AS_CHECKED, MEALS, NOTHING
from tripwright.domains.travelplanner.query import Query, why_no_days, why_no_trip, why_outside
from tripwright.domains.travelplanner.rules.clock import impossible_hours
from tripwright.domains.travelplanner.rules.facts import (
    LIVABLE_NAMES,
    Cost,
    CostKind,
    applicable_hard,
    opens_hard_gate,
    plan_verdict,
    shown,
    total_usd,
)
from tripwright.domains.travelplanner.rules.livable import unlivable
from tripwright.domains.travelplanner.rules.official import (
    CITY,
    FORBIDDEN_MODE,
    FORBIDDING_RULE,
    ROOMS,
    SEATS,
    UNUSED_DAY,
)
from tripwright.domains.travelplanner.rules.strict_reading import (
    MOST_SIGHTS,
    NEEDED,
    PlaceMention,
    PlannedDay,
    StrictPlan,
    allows_rule,
    city_named,
    is_right_room,
    read_plan,
    rooms,
)
from tripwright.errors import RepeatedKeys, printable
from tripwright.verdict import ALSO_PASSES, Evidence, Fact, Facts, State, Verdict
from tripwright.world.records import Restaurant
from tripwright.world.store import World

# ---- the route


def is_reasonable_visiting_city(plan: StrictPlan) -> Iterator[Evidence]:
    here, visited = plan.query.org, set[str]()
    for day in plan.days:
        requirement = _joins(day, here, visited, plan)
        if requirement:
            yield day.wrong(CITY, shown(day.texts.get(CITY)), requirement)
        if day.end is not None:
            here = day.end
            visited.add(here)
    if len(plan.days) < plan.query.days and here != plan.query.org:
        requirement = f"a return to {plan.query.org} on day {plan.query.days}"
        yield Evidence(None, CITY, f"a trip that ends in {here}", requirement)


def _joins(day: PlannedDay, here: str, visited: set[str], plan: StrictPlan) -> str | None:
    """What this day's cities should have been, None where they go on from `here` as a trip does."""
    org, is_last = plan.query.org, day.number == plan.query.days
    if day.start is None or day.end is None:
        ends = day.texts.get(CITY, "").removeprefix("from ").split(" to ")
        unread = [end.partition("(")[0].strip() for end in ends if not city_named(end, plan.world)]
        states = plan.world.cities
        known = "".join(f", as {city}({states[city]})" for city in unread if city in states)
        return f"a city of this world{known}, or 'from A to B' (a small 'from') with two of them"
    if day.start != here:
        return f"a day that starts in {here}"
    if day.route.is_leg and not day.travels:
        return "just the city's name on a day without travel"
    if day.number == 1 and not day.travels:
        return f"a first day that leaves {org}"
    if is_last and (day.end != org or not day.travels):
        return f"a last day that returns to {org}"
    if day.travels and not is_last and day.end == org:
        return f"a return to {org} on the last day, and not before"
    if day.end == org:
        return None
    if day.travels and day.end in visited:
        return "a city not visited before"
    return _outside_destination(day.end, plan)


def _outside_destination(city: str, plan: StrictPlan) -> str | None:
    """Three days are for one city, more are for a state (row T2)."""
    query = plan.query
    if query.days <= 3:
        return None if city == query.dest else f"{query.dest}, the destination asked for"
    state = plan.world.cities[city]
    return None if state == query.dest else f"a city in {query.dest} ({city} is in {state})"


# ---- completeness


DAY_NUMBERS = ("day", "days")
_PADDING = (*NOTHING, UNUSED_DAY)


def is_not_absent(plan: StrictPlan) -> Iterator[Evidence]:
    """Everything that the trip needs is there, as text, once, and nothing is said beyond it.

    None, [], False and numbers are neither given nor absent: they are wrong. Days after the last
    one must be empty (annotated plans are padded with `{}`), and there is no key that the format
    does not have, whatever its value, and none twice: they would hold what no rule reads. The
    official rule that half of all entries be filled has no counterpart: a plan with all that is
    asked here is above it.
    """
    query = plan.query
    if len(plan.days) != query.days:
        yield Evidence(None, None, f"{len(plan.days)} days", f"{query.days} days")
    for number, day in enumerate(plan.beyond, start=query.days + 1):
        if not _is_padding(day, number):
            yield Evidence(number, None, "another day", f"nothing after day {query.days}")
            break
    visited = plan.cities - {query.org}
    if len(visited) != query.visiting_city_number:
        cities = f"{len(visited)}: {', '.join(sorted(visited))}" if visited else "none"
        yield Evidence(None, CITY, cities, f"{query.visiting_city_number} cities to visit")
    for each in plan.days:
        yield from _malformed(each)
        yield from _missing(each, query.days)


def _is_padding(day: Any, number: int) -> bool:
    if not isinstance(day, dict) or isinstance(day, RepeatedKeys):
        return False
    return all(
        (value in _PADDING or _is_number(value, number))
        if key in DAY_NUMBERS
        else key in FIELDS_AS_CHECKED and value in _PADDING
        for key, value in day.items()
    )


def _is_number(value: Any, number: int) -> bool:
    """3, 3.0 and '3' are all day 3: JSON has one type of number, and a number in quotes misleads
    nobody."""
    return type(value) in (int, float, str) and value in (number, str(number))


_FIELDS = ", ".join(FIELDS_AS_CHECKED)


def _malformed(day: PlannedDay) -> Iterator[Evidence]:
    if day.raw is None:
        yield day.wrong(None, "something that is not a day", f"an object with {_FIELDS}")
        return
    for field in FIELDS_AS_CHECKED:
        if not isinstance(value := day.raw.get(field), str):
            found = shown(value) if field in day.raw else "no entry"
            yield day.wrong(field, found, "text, or '-' for nothing")
    for key, value in day.raw.items():
        if key in DAY_NUMBERS:
            if not _is_number(value, day.number):
                requirement = f"the number {day.number}: days are counted from 1, in order"
                yield day.wrong(key, shown(value), requirement)
        elif key not in FIELDS_AS_CHECKED:
            requirement = f"nothing beside days, {_FIELDS}"
            yield day.wrong(shown(printable(key)), "a key of no plan", requirement)
    for key in day.raw.repeated if isinstance(day.raw, RepeatedKeys) else ():
        yield day.wrong(shown(printable(key)), "the same key again", "each key once in a day")


def _missing(day: PlannedDay, last: int) -> Iterator[Evidence]:
    """On a day with travel: transport. On a day in one place: meals and something to see. Every
    night but the last: a bed."""
    if CITY not in day.texts:
        yield day.lacks(CITY, "a city, or 'from A to B'")
    if day.travels:
        if "transportation" not in day.texts:
            yield day.lacks("transportation", "a way to travel")
    else:
        for meal in MEALS:
            if meal not in day.texts:
                yield day.lacks(meal, "three meals on a day without travel")
        if not day.sights:
            yield day.lacks("attraction", "something to see on a day without travel")
    if day.stay is None and day.number != last:
        yield day.lacks("accommodation", "a place for the night")


# ---- places, nights and transport


Check = Callable[[StrictPlan], Iterator[Evidence]]


def is_valid_restaurants(plan: StrictPlan) -> Iterator[Evidence]:
    yield from _repeated((day, place) for day in plan.days for place in day.meals)


def is_valid_attractions(plan: StrictPlan) -> Iterator[Evidence]:
    """No sight twice, in whichever of two cities' tables its row stands, and no more in a day than
    anybody sees."""
    for day in plan.days:
        if day.more_sights:
            requirement = f"at most {MOST_SIGHTS} attractions in a day"
            yield day.wrong("attraction", f"more: {shown(day.more_sights)}", requirement)
    yield from _repeated((day, place) for day in plan.days for place in day.sights)


def _repeated(places: Iterable[tuple[PlannedDay, PlaceMention]]) -> Iterator[Evidence]:
    first: dict[Any, tuple[int, PlaceMention]] = {}
    for day, place in places:
        known = first.get(place.key)
        for row in place.shared:
            known = known or first.get(row)
            first.setdefault(row, (day.number, place))
        first.setdefault(place.key, (day.number, place))
        if known is not None:
            number, before = known
            name = "this one" if before.rows == place.rows else shown(before.text)
            yield day.misplaced(place, f"a place not yet visited (day {number} has {name})")


def is_valid_accommodation(plan: StrictPlan) -> Iterator[Evidence]:
    """Minimum nights of the very row that the stay is charged by, and no bed at home."""
    for day in plan.days:
        if day.stay is not None and day.stay.city == plan.query.org:
            yield day.misplaced(day.stay, f"no bed in {plan.query.org}, where the trip starts")
    for first_day, nights, place, row in plan.stays.values():
        found = shown(place.text)
        if row is None:
            needed = "a stay in this world's tables, whose minimum nights are known"
            yield Evidence(first_day, "accommodation", found, needed)
        elif nights < row.minimum_nights:
            needed = f"at least {row.minimum_nights:g} nights in a row"
            yield Evidence(first_day, "accommodation", f"{nights} in a row at {found}", needed)


def is_valid_transportation(plan: StrictPlan) -> Iterator[Evidence]:
    """A known way to travel on every day that travels; and by own car all the way, or not at
    all."""
    driven, other = None, None
    for day in plan.days:
        if day.leg is None:
            if day.travels:
                yield day.lacks("transportation", "a way to travel between the day's two cities")
            continue
        if day.leg.mode is None:
            yield day.wrong("transportation", shown(day.texts["transportation"]), NEEDED)
        elif day.leg.mode == "self-driving":
            driven = driven or day.number
        else:
            other = other or day.number
        if driven and other:
            conflict = f"self-driving on day {driven}, another way on day {other}"
            yield day.wrong("transportation", conflict, "self-driving all the way, or not at all")
            return


def is_valid_information_in_current_city(plan: StrictPlan) -> Iterator[Evidence]:
    """Everything is where the day is, and can be: on a travel day both cities count, except for the
    night, each for as long as the traveller is there."""
    for day in plan.days:
        if day.leg is not None and not (day.travels and day.leg.route == day.route):
            city = shown(day.texts.get(CITY))
            needed = (
                f"transport for '{city}'" if day.travels else f"no transport on a day in {city}"
            )
            yield day.wrong("transportation", shown(day.texts["transportation"]), needed)
        for place in day.meals + day.sights:
            if place.city is None or place.city not in (day.start, day.end):
                yield day.misplaced(place, f"a place in {_where(day)}")
        if day.stay is not None and (day.stay.city is None or day.stay.city != day.end):
            needed = f"a stay in {day.end or _where(day)}, where the day ends"
            yield day.misplaced(day.stay, needed)
    yield from impossible_hours(plan)


def _where(day: PlannedDay) -> str:
    cities = dict.fromkeys(city for city in (day.start, day.end) if city)
    return " or ".join(cities) or "a city of this world"


def is_valid_information_in_sandbox(plan: StrictPlan) -> Iterator[Evidence]:
    """Every place and leg is a row of the tables, on days that the tables know, and what the plan
    claims about a leg is what the row says."""
    if (outside := why_outside(plan.query, plan.world)) is not None:
        yield Evidence(None, "date", outside.rstrip("."), "a trip on this world's days")
    if (no_days := why_no_days(plan.query)) is not None:
        yield Evidence(None, "date", no_days, "a request whose dates are its days")
    for day in plan.days:
        for claim, requirement in day.leg.problems if day.leg is not None else ():
            yield day.wrong("transportation", claim, requirement)
        for place in day.places():
            if not place.rows:
                needed = "a place in this world's tables, as 'its whole name, City'"
                needed += f": {' or '.join(map(shown, place.alike))}" if place.alike else ""
                yield day.misplaced(place, needed)


CHECKS = (
    is_reasonable_visiting_city,
    is_valid_restaurants,
    is_valid_attractions,
    is_valid_accommodation,
    is_valid_transportation,
    is_valid_information_in_current_city,
    is_valid_information_in_sandbox,
    is_not_absent,
)


# what each rule looks at: an empty plan must not collect what nobody broke
_THINGS: dict[str, Callable[..., object]] = {
    "is_valid_restaurants": lambda day: day.meals,
    "is_valid_attractions": lambda day: day.sights,
    "is_valid_accommodation": lambda day: day.stay,
    "is_valid_transportation": lambda day: day.leg,
    "is_valid_information_in_current_city": lambda day: day.places() or day.leg,
    "is_valid_information_in_sandbox": lambda day: day.places() or day.leg,
}


# ---- what the traveller asked for, and the budget


def valid_cuisine(plan: StrictPlan) -> Iterator[Evidence]:
    """Every wanted cuisine at some meal away from home."""
    cuisines = dict.fromkeys(plan.query.local_constraint.cuisine or ())
    rows = [
        place.rows[0] for day in plan.days for place in day.meals if place.city != plan.query.org
    ]
    for cuisine in cuisines:
        if not any(cuisine in _served(row) for row in rows):
            found = f"no meal away from home that is {cuisine}"
            yield Evidence(None, None, found, f"meals that are {', '.join(cuisines)}")


def _served(row: Restaurant) -> list[str]:
    return [cuisine.strip() for cuisine in row.cuisines.split(",")]


def valid_room_rule(plan: StrictPlan) -> Iterator[Evidence]:
    rule = plan.query.local_constraint.house_rule
    return _unfit(plan, rule, FORBIDDING_RULE, "house_rules", f"a place that allows {rule}")


def valid_transportation(plan: StrictPlan) -> Iterator[Evidence]:
    wish = plan.query.local_constraint.transportation
    if wish not in FORBIDDEN_MODE:
        yield _unknown(wish, FORBIDDEN_MODE)
        return
    for day in plan.days:
        if day.leg is not None and day.leg.mode == FORBIDDEN_MODE[wish]:
            yield day.wrong("transportation", shown(day.texts["transportation"]), wish)


def valid_room_type(plan: StrictPlan) -> Iterator[Evidence]:
    wish = plan.query.local_constraint.room_type
    return _unfit(plan, wish, ROOMS, "room_type", str(wish))


def _unfit(
    plan: StrictPlan, wish: str | None, vocabulary: Collection[str], field: str, needed: str
) -> Iterator[Evidence]:
    """Each night in a place that does not keep the wish, by this field of its row."""
    keeps = allows_rule if field == "house_rules" else is_right_room
    if wish not in vocabulary:
        yield _unknown(wish, vocabulary)
        return
    for day in plan.days:
        row = None if day.stay is None else plan.stays[day.stay.key].row
        if row is not None and not keeps(plan.query, row):
            found = f"{row.name}: {getattr(row, field)}"
            yield Evidence(day.number, "accommodation", found, needed)


def _unknown(wish: str | None, vocabulary: Iterable[str]) -> Evidence:
    found = f"a wish for '{shown(wish)}', which no rule knows"
    return Evidence(None, None, found, f"one of: {', '.join(vocabulary)}")


def costs_of(plan: StrictPlan) -> Iterator[Cost]:
    """What the whole party pays, in the order of the plan: seats, vehicles, meals, rooms."""
    party_size = plan.query.people_number
    for day in plan.days:
        leg = day.leg
        if leg is not None and leg.mode is not None and leg.unit_usd is not None:
            count = party_size if leg.mode == "flight" else math.ceil(party_size / SEATS[leg.mode])
            route = f"from {leg.route.origin} to {leg.route.destination}"
            what = f"{leg.flight.number} {route}" if leg.flight else route
            yield Cost(day.number, leg.mode, what, leg.unit_usd, count)
        for place in day.meals:
            kind, row = cast(CostKind, place.field), place.rows[0]
            yield Cost(day.number, kind, row.name, row.average_cost_usd, party_size)
        if day.stay is not None and (stay := plan.stays[day.stay.key].row) is not None:
            count = rooms(party_size, stay)
            yield Cost(day.number, "accommodation", stay.name, stay.price_usd, count)


def valid_cost(plan: StrictPlan, costs: Sequence[Cost]) -> Iterator[Evidence]:
    budget = plan.query.budget
    if plan.query.people_number is None or budget is None:  # a judged request may lack either
        found = "a request without a budget or a number of people"
        yield Evidence(None, None, found, "both, to know what the trip may cost")
    elif (problem := why_no_trip(plan.query)) is not None:
        yield Evidence(None, None, problem, "a request that somebody can pay for and travel by")
    elif (total := total_usd(costs)) > budget:
        yield Evidence(None, None, f"${total:,.2f} for the whole party", f"at most ${budget:,}")


WISHES = (valid_cuisine, valid_room_rule, valid_transportation, valid_room_type)


# ---- the verdict


MOST_EVIDENCE = 20  # for one rule; the first is what counts


def judge_strict(query: Query, plan: Any, world: World) -> Verdict:
    """`also_passes` of its details says whether the livable rules would pass the plan, too."""
    strict_plan = read_plan(query, plan, world)
    verdict = _judged(strict_plan, "strict")
    is_livable = verdict.final and not any(unlivable(strict_plan))
    return replace(verdict, details={**verdict.details, ALSO_PASSES: {"livable": is_livable}})


def judge_livable(query: Query, plan: Any, world: World) -> Verdict:
    """The strict facts and a group more, behind the gate of the hard constraints."""
    return _judged(read_plan(query, plan, world), "livable")


def _judged(plan: StrictPlan, rules: str) -> Verdict:
    facts, asked = _commonsense(plan), applicable_hard(plan.query)
    if not opens_hard_gate(facts):
        return plan_verdict(rules, asked, facts)
    costs = tuple(costs_of(plan)) if plan.query.people_number is not None else ()
    hard, days = _hard(plan, asked, costs), {}
    if rules == "livable":
        wrong = list(unlivable(plan))
        days = {
            name: _fact(name, (each for of, each in wrong if of == name)) for name in LIVABLE_NAMES
        }
    return plan_verdict(rules, asked, facts, hard, costs or None, livable=days)


def _commonsense(plan: StrictPlan) -> Facts:
    facts = {check.__name__: _fact(check.__name__, check(plan)) for check in CHECKS}
    if facts["is_not_absent"].state is not State.PASSED:
        for name, fact in facts.items():
            is_kept = fact.state is State.PASSED
            if is_kept and name in _THINGS and not any(map(_THINGS[name], plan.days)):
                facts[name] = Fact(
                    name, State.NOT_EVALUATED, "The plan says nothing that this could be asked of."
                )
    return facts


def _hard(plan: StrictPlan, asked: tuple[str, ...], costs: tuple[Cost, ...]) -> Facts:
    facts = {}
    for check in WISHES:
        name = check.__name__
        is_asked = name in asked
        facts[name] = _fact(name, check(plan)) if is_asked else Fact(name, State.NOT_APPLICABLE)
    facts["valid_cost"] = _fact("valid_cost", valid_cost(plan, costs))
    return facts


def _fact(name: str, check: Iterator[Evidence]) -> Fact:
    evidence = tuple(islice(check, MOST_EVIDENCE))
    if not evidence:
        return Fact(name, State.PASSED)
    return Fact(name, State.FAILED, _sentence(evidence[0]), evidence)


def _sentence(evidence: Evidence) -> str:
    where = ", ".join(
        str(part) for part in (evidence.day and f"day {evidence.day}", evidence.field) if part
    )
    return f"{where + ': ' if where else ''}found {evidence.found}; needed {evidence.needed}."
