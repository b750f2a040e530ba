"""The strict commonsense rules: the official eight without their holes, each yielding evidence for
all that is wrong.

They look only at what `strict_reading` could read as a real thing, so they fail closed: an unknown
word, place or type is a failed fact with evidence, never a skipped check. `docs/judging.md` lists
each hole, with the test that keeps it closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tripwright.domains.travelplanner.query import why_outside
from tripwright.domains.travelplanner.rules.facts import shown
from tripwright.domains.travelplanner.rules.strict.claims import minutes
from tripwright.domains.travelplanner.rules.strict.completeness import is_not_absent
from tripwright.domains.travelplanner.rules.strict.lookup import Key, PlaceMention
from tripwright.domains.travelplanner.rules.strict.plan import StrictPlan
from tripwright.domains.travelplanner.rules.strict.reading import CITY, MOST_SIGHTS, PlannedDay
from tripwright.domains.travelplanner.rules.strict.route import is_reasonable_visiting_city
from tripwright.domains.travelplanner.rules.strict.transport import NEEDED
from tripwright.verdict import Evidence

Check = Callable[[StrictPlan], Iterator[Evidence]]
DAY_MINUTES = 24 * 60
VISIT_MINUTES = 30  # a meal or a sight, at the least


def is_valid_restaurants(plan: StrictPlan) -> Iterator[Evidence]:
    yield from _repeated((day.number, place) for day in plan.days for place in day.meals)


def is_valid_attractions(plan: StrictPlan) -> Iterator[Evidence]:
    """No sight twice, and no more in a day than it has time for."""
    for day in plan.days:
        if day.more_sights:
            yield Evidence(
                day.number,
                "attraction",
                f"more: {shown(day.more_sights)}",
                f"at most {MOST_SIGHTS} attractions in a day",
            )
        yield from _hurried(day)
    yield from _repeated((day.number, place) for day in plan.days for place in day.sights)


def _hurried(day: PlannedDay) -> Iterator[Evidence]:
    """Twenty-four hours hold the leg, the sights and the meals, half an hour for each at the least.
    A day without sights may be all road: one eats on the way."""
    if day.leg is None or not day.sights:
        return
    visits = len(day.sights) + len(day.meals)
    if (minutes(day.leg.duration) or 0) + VISIT_MINUTES * visits > DAY_MINUTES:
        yield Evidence(
            day.number,
            "attraction",
            f"{visits} sights and meals beside {day.leg.duration} of travel",
            f"what a day of 24 hours holds, at {VISIT_MINUTES} minutes each",
        )


def _repeated(places: Iterable[tuple[int, PlaceMention]]) -> Iterator[Evidence]:
    first: dict[Key, int] = {}
    for number, place in places:
        if place.key in first:
            yield Evidence(
                number,
                place.field,
                shown(place.text),
                f"a place not yet visited (day {first[place.key]} has this one)",
            )
        first.setdefault(place.key, number)


def is_valid_accommodation(plan: StrictPlan) -> Iterator[Evidence]:
    """Minimum nights of the very row that the stay is charged by."""
    for first_day, nights, place, row in plan.stays.values():
        if row is None:
            yield Evidence(
                first_day,
                "accommodation",
                shown(place.text),
                "a stay in this world's tables, whose minimum nights are known",
            )
        elif nights < row.minimum_nights:
            requirement = f"at least {row.minimum_nights:g} nights in a row"
            yield Evidence(
                first_day, "accommodation", f"{nights} in a row at {shown(place.text)}", requirement
            )


def is_valid_transportation(plan: StrictPlan) -> Iterator[Evidence]:
    """A known way to travel on every day that travels; and by own car all the way, or not at
    all."""
    driven, other = None, None
    for day in plan.days:
        if day.travels and day.leg is None:
            yield Evidence(
                day.number,
                "transportation",
                "nothing",
                "a way to travel between the day's two cities",
            )
        if day.leg is None:
            continue
        if day.leg.mode is None:
            yield Evidence(day.number, "transportation", shown(day.texts["transportation"]), NEEDED)
        elif day.leg.mode == "self-driving":
            driven = driven or day.number
        else:
            other = other or day.number
        if driven and other:
            conflict = f"self-driving on day {driven}, another way on day {other}"
            yield Evidence(
                day.number, "transportation", conflict, "self-driving all the way, or not at all"
            )
            return


def is_valid_information_in_current_city(plan: StrictPlan) -> Iterator[Evidence]:
    """Everything is where the day is. On a travel day both cities count, except for the night."""
    for day in plan.days:
        if day.leg is not None and not (day.travels and day.leg.route == day.route):
            city = shown(day.texts.get(CITY))
            requirement = (
                f"transport for '{city}'" if day.travels else f"no transport on a day in {city}"
            )
            yield Evidence(
                day.number, "transportation", shown(day.texts["transportation"]), requirement
            )
        for place in day.meals + day.sights:
            if place.city is None or (place.city != day.end and place.city != day.start):
                yield Evidence(
                    day.number, place.field, shown(place.text), f"a place in {_where(day)}"
                )
        if day.stay is not None and (day.stay.city is None or day.stay.city != day.end):
            yield Evidence(
                day.number,
                "accommodation",
                shown(day.stay.text),
                f"a stay in {day.end or _where(day)}, where the day ends",
            )


def _where(day: PlannedDay) -> str:
    return (
        " or ".join(dict.fromkeys(city for city in (day.start, day.end) if city))
        or "a city of this world"
    )


def is_valid_information_in_sandbox(plan: StrictPlan) -> Iterator[Evidence]:
    """Every place and leg is a row of the tables, on days that the tables know, and what the plan
    claims about a leg is what the row says."""
    if (outside := why_outside(plan.query, plan.world)) is not None:
        yield Evidence(None, "date", outside.rstrip("."), "a trip on this world's days")
    for day in plan.days:
        if day.leg is not None:
            for problem in day.leg.problems:
                yield Evidence(day.number, "transportation", problem.claim, problem.requirement)
        for place in day.places():
            if not place.rows:
                yield Evidence(
                    day.number,
                    place.field,
                    shown(place.text),
                    "a place in this world's tables, as 'its whole name, City'",
                )


CHECKS: tuple[tuple[str, Check], ...] = (
    ("is_reasonable_visiting_city", is_reasonable_visiting_city),
    ("is_valid_restaurants", is_valid_restaurants),
    ("is_valid_attractions", is_valid_attractions),
    ("is_valid_accommodation", is_valid_accommodation),
    ("is_valid_transportation", is_valid_transportation),
    ("is_valid_information_in_current_city", is_valid_information_in_current_city),
    ("is_valid_information_in_sandbox", is_valid_information_in_sandbox),
    ("is_not_absent", is_not_absent),
)


def names_nothing(plan: StrictPlan, rule: str) -> bool:
    """Whether the plan says nothing that this rule could look at: an empty plan must not collect
    what nobody broke."""
    return not any(_THINGS[rule](day) for day in plan.days) if rule in _THINGS else False


_THINGS: dict[str, Callable[..., object]] = {
    "is_valid_restaurants": lambda day: day.meals,
    "is_valid_attractions": lambda day: day.sights,
    "is_valid_accommodation": lambda day: day.stay,
    "is_valid_transportation": lambda day: day.leg,
    "is_valid_information_in_current_city": lambda day: day.places() or day.leg,
    "is_valid_information_in_sandbox": lambda day: day.places() or day.leg,
}
