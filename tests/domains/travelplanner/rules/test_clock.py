"""What the clock leaves: days that no choice of hours makes possible fail the strict rules, and
days that nobody would live the livable ones. A, B and C are three cities, home is A."""

from typing import Any

import pytest

from tests.domains.travelplanner.rules.conftest import plan_in
from tests.made import DATES, flight, made_world, meal, sight, stay, trip
from tripwright.domains.travelplanner.planning import solve_query
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.clock import hours_of
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.rules.strict_reading import read_plan
from tripwright.errors import UserError
from tripwright.world.store import World

SIGHTS = "abcdefghijklmnopqrst"


def on(
    number: str, way: str, day: int, leaves: str, lands: str, taken: str, usd: int = 50
) -> tuple[str, ...]:
    times = leaves, lands, taken
    return flight(number, *way.split(">"), usd, DATES[day - 1], times, "300")


@pytest.fixture(scope="module")
def world() -> World:
    return made_world(
        {"A": "Home", "B": "Away", "C": "Away"},
        flights=[
            on("FMORNING", "A>B", 1, "09:00", "11:00", "2 hours 0 minutes"),
            on("FEVENING", "A>B", 1, "17:30", "19:36", "2 hours 6 minutes"),
            on("FNIGHT", "A>B", 1, "22:00", "00:10", "2 hours 10 minutes", 30),
            on("FWEST", "A>B", 1, "12:00", "11:40", "40 minutes"),
            on("FEARLY", "B>C", 2, "00:15", "01:15", "1 hours 0 minutes", 10),
            on("FSLEPT", "B>C", 2, "00:45", "01:45", "1 hours 0 minutes", 12),
            on("FBACK", "B>A", 3, "07:48", "09:00", "1 hours 12 minutes"),
            on("FLATE", "B>A", 3, "19:00", "21:00", "2 hours 0 minutes"),
        ],
        roads=[
            ("A", "B", "23 hours 36 mins", "2,400 km"),
            ("B", "A", "10 hours", "900 km"),
            ("C", "A", "2 hours", "100 km"),
            ("B", "C", "1 hour", "80 km"),
        ],
        meals=[meal(f"{name}{city}", city) for city in "ABC" for name in "abcdefghi"],
        sights=[sight(f"{name}{city}", city) for city in "ABC" for name in SIGHTS],
        stays=[stay("Inn", city, 30, "Entire home/apt", rules="") for city in "ABC"],
    )


ONE_CITY: dict[str, Any] = {"org": "A", "dest": "B", "people_number": 1}
TWO_CITIES = ONE_CITY | {"dest": "Away", "days": 5, "visiting_city_number": 2}
PLAN = """
    from A to B | {} | - | - | - | dB, B | Inn, B
    B | - | aB, B | aB, B; | bB, B | cB, B | Inn, B
    from B to A | {} | eB, B | - | fB, B | - | -
"""
MORNING, EVENING, NIGHT, WEST = (
    f"Flight Number: F{each}, from A to B" for each in ("MORNING", "EVENING", "NIGHT", "WEST")
)
LATE, BACK = (f"Flight Number: F{each}, from B to A" for each in ("LATE", "BACK"))
DRIVEN = ("Self-driving, from A to B", "Self-driving, from B to A")


@pytest.fixture
def query() -> Query:
    return trip(**ONE_CITY)


def plan(there: str = MORNING, back: str = LATE, **days: dict[str, str]) -> list[dict[str, Any]]:
    """`days`: fields of the days "first", "second" and "third"."""
    entries = plan_in(PLAN.format(there, back))
    for entry, name in zip(entries, ("first", "second", "third"), strict=True):
        entry |= days.get(name, {})
    return entries


def broken(
    query: Query, entries: list[dict[str, Any]], world: World, rules: str = "strict"
) -> set[tuple[str, int | None]]:
    failures = judge(query, entries, world, rules).failed
    return {(fact.name, each.day) for fact in failures for each in fact.evidence}


WHERE = "is_valid_information_in_current_city"


def sights(count: int, city: str = "B") -> str:
    return "".join(f"{name}{city}, {city};" for name in SIGHTS[-count:])


@pytest.mark.parametrize(
    ("entries", "day"),
    [
        (plan(), None),
        (plan(first={"attraction": sights(19)}), None),  # from 11:00, and a dinner
        (plan(EVENING, first={"attraction": sights(7)}), None),
        (plan(EVENING, first={"attraction": sights(8)}), 1),
        (plan(first={"attraction": sights(18, "A")}), None),  # before 09:00
        (plan(first={"attraction": sights(19, "A")}), 1),
        (plan(NIGHT, first={"dinner": "-"}), None),
        (plan(NIGHT), 1),  # there is no evening in B
        (plan(WEST, first={"attraction": sights(19)}), None),
        (plan(back=BACK), None),
        (plan(back=BACK, third={"attraction": sights(14)}), 3),
        (plan(*DRIVEN, first={"dinner": "-"}), None),
        (plan(*DRIVEN), 1),
    ],
)  # fmt: skip
def test_a_day_is_possible_if_hours_can_be_given_to_everything_in_it(query, world, entries, day):
    assert broken(query, entries, world) == ({(WHERE, day)} if day else set())


@pytest.mark.parametrize(("number", "is_possible"), [("FEARLY", False), ("FSLEPT", True)])
def test_a_night_needs_half_an_hour(world, number, is_possible):
    query = trip(**TWO_CITIES)
    entries = plan_in(
        f"""
        from A to B | Flight Number: FNIGHT, from A to B | - | - | - | - | Inn, B
        from B to C | Flight Number: {number}, from B to C | - | - | - | - | Inn, C
        C | - | aC, C | aC, C | bC, C | cC, C | Inn, C
        C | - | dC, C | bC, C | eC, C | fC, C | Inn, C
        from C to A | Taxi, from C to A | - | - | - | - | -
        """
    )
    assert broken(query, entries, world) == (set() if is_possible else {(WHERE, 1)})


def test_clocks_of_two_cities_differ(query, world):
    """A flight west lands before it left; one after midnight lands on the next day."""
    landings = [
        next(
            hours_of(read_plan(query, plan(f"Flight Number: {number}, from A to B"), world))
        ).landing
        for number in ("FWEST", "FNIGHT")
    ]
    assert landings == [11 * 60 + 40, 24 * 60 + 10]


MEALS, LENGTH, ROAD, EMPTY = (
    "meals_at_their_hours",
    "no_endless_day",
    "no_long_road",
    "no_empty_day",
)
LIVABLE = {
    "first": {"lunch": "gB, B"},
    "third": {"breakfast": "eB, B", "lunch": "fB, B", "dinner": "hB, B"},
}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (plan(**LIVABLE), set()),
        (plan(), {(MEALS, 1), (MEALS, 3)}),  # no lunch after 11:00, no dinner before 19:00
        (plan(**LIVABLE | {"first": {"lunch": "gB, B", "breakfast": "iB, B"}}), {(MEALS, 1)}),
        (plan(**LIVABLE | {"first": {"lunch": "gB, B", "breakfast": "aA, A"}}), set()),
        (plan(**LIVABLE | {"first": {"lunch": "aA, A"}}), {(MEALS, 1)}),  # A is left at 09:00
        (plan(EVENING, **LIVABLE | {"first": {}}), set()),
        (plan(EVENING, **LIVABLE | {"first": {"lunch": "aA, A"}}), set()),
        (
            plan(EVENING, **LIVABLE | {"first": {"breakfast": "gB, B"}}),
            {(MEALS, 1)},
        ),
        (plan(NIGHT, **LIVABLE | {"first": {"dinner": "-"}}), {(EMPTY, 1)}),
        (plan(*DRIVEN, **LIVABLE | {"first": {"dinner": "-"}}),
         {(MEALS, 3), (LENGTH, 1), (ROAD, 1), (ROAD, 3), (EMPTY, 1)}),
    ],
)  # fmt: skip
def test_livable_asks_for_days_that_somebody_would_live(query, world, entries, expected):
    assert not broken(query, entries, world)
    assert broken(query, entries, world, "livable") == expected
    verdict = judge(query, entries, world, "livable")
    assert verdict.final == (not expected)
    assert judge(query, entries, world, "strict").details["also_passes"] == {
        "livable": verdict.final
    }


def test_who_does_not_fly_may_drive_far(query, world):
    driving = query.model_copy(deep=True)
    driving.local_constraint.transportation = "no flight"
    entries = plan(*DRIVEN, **LIVABLE | {"first": {"dinner": "-"}})
    assert not {name for name, _ in broken(driving, entries, world, "livable")} & {ROAD}


def test_the_planner_plans_livable_days(query, world):
    strict, livable = (
        solve_query(query, world, True, rules=rules) for rules in ("strict", "livable")
    )
    assert judge(query, livable["plan"], world, "livable").final
    assert not judge(query, strict["plan"], world, "livable").final
    assert strict["cost_usd"] < livable["cost_usd"]
    assert len(solve_query(query, world, k=2, rules="livable")["plans"]) >= 1
    with pytest.raises(UserError):
        solve_query(query, world, rules="official")


def test_the_planner_takes_a_dearer_flight_where_the_cheapest_leaves_no_night(world):
    wishes = {"transportation": "no self-driving"}
    query = trip(**TWO_CITIES, local_constraint=wishes)
    solved = solve_query(query, world, cheapest=True)
    ways = [day["transportation"].split(",")[0] for day in solved["plan"]]
    assert ways[:2] == ["Flight Number: FNIGHT", "Flight Number: FSLEPT"]
    assert judge(query, solved["plan"], world, "strict").final


def test_an_undelivered_plan_is_held_to_the_livable_facts_too(query, world):
    group = judge(query, None, world, "livable").group("livable")
    assert (group.facts, len(group.asked)) == (None, 4)
