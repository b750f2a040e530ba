"""Why there is no plan: the smallest conflict, in words that can be checked, on worlds made so that
one thing or two are to blame."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import pytest

from tests.made import DATES, flight, made_world, meal, official, sight, stay, trip
from tripwright.domains.travelplanner.oracle.explanation import (
    Explanation,
    Repair,
    explain,
    repairs,
)
from tripwright.domains.travelplanner.oracle.planner import solve
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.world.store import World

HOMER, CITIES = "Homer", ("Aston", "Brook", "Cove")
ENTIRE, PRIVATE = "Entire home/apt", "Private room"
TEA_HOUSES = "ABCDEFGHIJKLMNOPQR"
EVERY_ROAD = frozenset(itertools.permutations((HOMER, *CITIES), 2))
PLAIN = [("Inn", ENTIRE, 50, 1, "No smoking")]
Stays = list[tuple[str, str, int, int, str]]  # name, room type, price, minimum nights, house rules


def made(
    stays: dict[str, Stays] | None = None,
    french: dict[str, int] | None = None,
    roads: frozenset[tuple[str, str]] | set[tuple[str, str]] = EVERY_ROAD,
    flights: dict[tuple[str, str, int], int] | None = None,
    sights: dict[str, int] | None = None,
) -> World:
    """Three cities of Westland with plain inns, tea houses and sights. `flights`: (from, to, day of
    March) → price; a flight on another route every day makes the world's dates. `french`: city →
    price of its French restaurant."""
    served = {**(flights or {}), **{(HOMER, "Far", day): 9 for day in range(1, 10)}}
    return made_world(
        {HOMER: "Homeland", "Far": "Homeland", **dict.fromkeys(CITIES, "Westland")},
        flights=[
            flight(f"F{i:03}", a, b, price, DATES[day - 1])
            for i, ((a, b, day), price) in enumerate(served.items())
        ],
        roads=[(a, b, "2 hours", "100 km") for a, b in sorted(roads)],
        meals=[
            *(meal(f"Tea {c}", city) for city in CITIES for c in TEA_HOUSES),
            *(meal("Bistro", city, "French", usd) for city, usd in (french or {}).items()),
        ],
        sights=[
            sight(f"Sight {c}", city)
            for city in CITIES
            for c in "ABCDEF"[: (sights or {}).get(city, 6)]
        ],
        stays=[
            stay(name, city, price, room, nights, rules, 4)
            for city in CITIES
            for name, room, price, nights, rules in (stays or {}).get(city, PLAIN)
        ],
    )


def asked(
    days: int = 5, cities: int = 1, budget: float = 5000, start: int = 1, **wishes: Any
) -> Query:
    fields = {"dest": "Aston" if days == 3 else "Westland", "days": days, "budget": budget}
    fields |= {"visiting_city_number": cities, "date": DATES[start - 1 : start - 1 + days]}
    return trip(**fields, local_constraint=wishes)


def kinds(explanation: Explanation | None) -> list[str]:
    return sorted(each.kind for each in explanation.conflict)


def only_here(
    room: str = PRIVATE, rules: str = "No smoking", price: int = 50, nights: int = 1
) -> dict[str, Stays]:
    """Something special in Aston; the two other cities have plain inns."""
    return {"Aston": [("Special", room, price, nights, rules)]}


def reachable(*cities: str) -> set[tuple[str, str]]:
    """Roads from home to these cities and back, and between them."""
    return set(itertools.permutations((HOMER, *cities), 2))


FLY_TO_ASTON = {(HOMER, "Aston", 1): 100, ("Aston", HOMER, 5): 100}
LATER = {(HOMER, "Aston", 3): 100, ("Aston", HOMER, 7): 100}
NO_PETS = {city: [("Inn", ENTIRE, 50, 1, "No pets")] for city in CITIES}
PETS_IN_ASTON = {**NO_PETS, "Aston": PLAIN}
LONG_IN_COVE = {"Cove": [("Inn", ENTIRE, 50, 4, "")]}

SHARED, PRIVATE_ROOM = {"room_type": "shared room"}, {"room_type": "private room"}
PETS, FRENCH = {"house_rule": "pets"}, {"cuisine": ["French"]}
NO_FLIGHT = {"transportation": "no flight"}
ROOM_WITHOUT_PETS = {c: [*PLAIN, ("Room", PRIVATE, 50, 1, "No pets")] for c in CITIES}
THREE_NIGHTS = dict.fromkeys(CITIES, [("Inn", ENTIRE, 50, 3, "")])
DEAR_ZOO = {**NO_PETS, "Aston": [("Zoo", ENTIRE, 900, 1, "")]}
DEAR_BUT_ASTON = {c: [("Inn", ENTIRE, 50 if c == "Aston" else 900, 1, "")] for c in CITIES}
TO_BROOK, TO_ASTON = reachable("Brook"), reachable("Aston")
NO_ROADS = frozenset[tuple[str, str]]()
OVER_BROOK = {(HOMER, "Brook", 1): 9, ("Brook", "Aston", 3): 9}
OVER_BROOK_LATER = {(HOMER, "Brook", 2): 9, ("Brook", "Aston", 4): 9}
DEAR_FLIGHTS = dict.fromkeys(FLY_TO_ASTON, 900) | LATER
IN_ASTON, IN_BROOK, IN_COVE = ({city: 10} for city in CITIES)  # French food
ROOM_BY_CAR, PETS_BY_CAR = PRIVATE_ROOM | NO_FLIGHT, PETS | NO_FLIGHT
TWO_BY_CAR, CHEAPER = {"cities": 2, **NO_FLIGHT}, {"budget": 500}
CHEAPER_RIDE = CHEAPER | {"transportation": "no self-driving"}
FLOWN, FLOWN_LATER = (TO_BROOK, FLY_TO_ASTON), (TO_BROOK, LATER)

CULPRITS: list[tuple[str, World, Query]] = [
    ("room type", made(), asked(**SHARED)),
    ("room type", made(), asked(3, **SHARED)),
    ("room type", made(only_here(nights=7)), asked(**PRIVATE_ROOM)),
    ("house rule", made(NO_PETS), asked(**PETS)),
    ("cuisine", made(), asked(**FRENCH)),
    ("transportation", made(None, None, NO_ROADS, FLY_TO_ASTON), asked(**NO_FLIGHT)),
    ("dates", made(None, None, NO_ROADS, LATER), asked()),
    ("cities", made({"Cove": []}), asked(7, 3)),
    ("cities", made(THREE_NIGHTS), asked(cities=2)),
    ("budget", made(), asked(budget=100)),
    ("house rule, room type", made(ROOM_WITHOUT_PETS), asked(**PRIVATE_ROOM, **PETS)),
    ("cuisine, room type", made(only_here(), IN_BROOK), asked(**PRIVATE_ROOM, **FRENCH)),
    ("room type, transportation", made(only_here(), None, *FLOWN), asked(**ROOM_BY_CAR)),
    ("dates, room type", made(only_here(), None, *FLOWN_LATER), asked(**PRIVATE_ROOM)),
    ("cities, room type", made(only_here()), asked(cities=2, **PRIVATE_ROOM)),
    ("budget, room type", made(only_here(price=900)), asked(**CHEAPER, **PRIVATE_ROOM)),
    ("cuisine, house rule", made(PETS_IN_ASTON, IN_BROOK), asked(**PETS, **FRENCH)),
    ("house rule, transportation", made(PETS_IN_ASTON, None, *FLOWN), asked(**PETS_BY_CAR)),
    ("dates, house rule", made(PETS_IN_ASTON, None, *FLOWN_LATER), asked(**PETS)),
    ("cities, house rule", made(PETS_IN_ASTON), asked(cities=2, **PETS)),
    ("budget, house rule", made(DEAR_ZOO), asked(**CHEAPER, **PETS)),
    ("cuisine, transportation", made(None, IN_ASTON, *FLOWN), asked(**FRENCH, **NO_FLIGHT)),
    ("cuisine, dates", made(None, IN_ASTON, *FLOWN_LATER), asked(**FRENCH)),
    ("cities, cuisine", made(LONG_IN_COVE, IN_COVE), asked(cities=2, **FRENCH)),
    ("budget, cuisine", made(None, {"Aston": 900}), asked(**CHEAPER, **FRENCH)),
    ("cities, transportation", made(None, None, TO_ASTON, OVER_BROOK), asked(**TWO_BY_CAR)),
    ("budget, transportation", made(), asked(**CHEAPER_RIDE)),
    ("cities, dates", made(None, None, TO_ASTON, OVER_BROOK_LATER), asked(cities=2)),
    ("budget, dates", made(None, None, NO_ROADS, DEAR_FLIGHTS), asked(budget=1000)),
    ("budget, cities", made(DEAR_BUT_ASTON), asked(cities=2, budget=600)),
]


IDS = [culprits for culprits, *_ in CULPRITS]


@pytest.mark.parametrize(("culprits", "world", "query"), CULPRITS, ids=IDS)
def test_exactly_what_is_to_blame_is_named(culprits, world, query):
    explanation = explain(query, world)
    assert ", ".join(kinds(explanation)) == culprits
    assert explanation is not None and explanation.also == () and not explanation.malformed
    assert explanation.words.endswith(".") and "\n" not in explanation.words
    assert ("the cheapest plan costs $" in explanation.words) == ("budget" in culprits)
    check_minimal(query, world, explanation)
    check_changes(query, world, repairs(query, world))


def test_the_trip_itself_can_be_what_is_impossible():
    explanation = explain(asked(days=3, room_type="entire room"), made(roads=frozenset()))
    assert explanation is not None and str(explanation.conflict[0]) == "route: Homer to Aston"
    assert "no flight on any day" in explanation.words
    assert repairs(asked(days=3, room_type="entire room"), made(roads=frozenset())) == []
    nothing_to_see = made(sights=dict.fromkeys(CITIES, 0))
    explanation = explain(asked(), nothing_to_see)
    assert kinds(explanation) == ["route"] and explanation is not None
    assert "too few attractions" in explanation.words


def test_prices_of_the_conflict_alone_and_of_the_whole_request_are_told_apart():
    query = asked(days=3, budget=150, room_type="entire room", cuisine=["French"])
    stays = {"Aston": [*PLAIN, ("Room", PRIVATE, 20, 1, "")]}
    explanation = explain(query, made(stays, french={"Aston": 60}))
    assert kinds(explanation) == ["budget", "room type"] and explanation is not None
    assert "within $150: as asked the cheapest plan costs $" in explanation.words
    assert explanation.words.endswith("; with only these kept $170.")


def test_two_conflicts_that_share_nothing_are_both_told():
    query = asked(days=3, room_type="shared room", cuisine=["French"])
    explanation = explain(query, made())
    told = [kinds(each) for each in (explanation, *explanation.also)]
    assert told == [["room type"], ["cuisine"]]
    assert repairs(query, made()) == []  # no single change mends both
    assert explanation.record()["also"][0]["conflict"] == ["cuisine: French"]


def test_what_can_be_met_needs_no_explanation():
    assert explain(asked(), made()) is None and repairs(asked(), made()) == []


def test_flights_that_an_imported_world_does_not_know_are_said_to_be_unknown():
    there, back = (HOMER, "Aston", 9, DATES[1]), ("Aston", HOMER, 9, DATES[3])
    world = made_world(
        {HOMER: "Homeland", "Aston": "Westland"},
        flights=[flight("F1", *there), flight("F2", *back)],
        meals=[meal(f"Tea {c}", "Aston") for c in "ABC"],
        sights=[sight("Lake", "Aston")],
        stays=[stay("Inn", "Aston")],
        covered_searches=[(HOMER, "Aston", DATES[1]), ("Aston", HOMER, DATES[3])],
    )
    explanation = explain(asked(days=3), world)
    assert kinds(explanation) == ["dates"] and explanation is not None
    assert "the flights of 2022-03-01 are not known" in explanation.words
    (change,) = repairs(asked(days=3), world)
    assert change.words == "start on 2022-03-02 instead of 2022-03-01"


THREE_DAYS = {"days": 3, "date": DATES[:3]}
NO_CAMEL = {"local_constraint": {"transportation": "no camel"}}
WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"org": "Homr"}, "origin: Homr", "the nearest name is 'Homer'."),
    ({"dest": "Westlan"}, "destination: Westlan", "world; the nearest name is 'Westland'"),
    ({"dest": "Aston"}, "destination: Aston", "a trip of 5 days goes to a state"),
    (THREE_DAYS, "destination: Westland", "a trip of 3 days goes to a city"),
    (THREE_DAYS | {"org": "Aston", "dest": "Aston"}, "destination: Aston", "starts in Aston"),
    ({"date": DATES[:3]}, f"dates: {', '.join(DATES[:3])}", "gives 3 dates."),
    ({"date": []}, "dates: none", "for 5 days and gives 0 dates."),
    ({"visiting_city_number": 5}, "cities: 5", "takes 6 days or more, the request has 5 days."),
    ({"visiting_city_number": 4}, "cities: 4", "to Westland can visit 3 (Aston, Brook, Cove)."),
    ({"org": "Aston", "visiting_city_number": 3}, "cities: 3", "can visit 2 (Brook, Cove)."),
    (THREE_DAYS | {"dest": "Aston", "visiting_city_number": 2}, "cities: 2", "visit 1 (Aston)."),
    ({"local_constraint": {"room type": "igloo"}}, "room type: igloo", "known are shared room,"),
    ({"local_constraint": {"house rule": "tigers"}}, "house rule: tigers", "unknown house rule"),
    (NO_CAMEL, "transportation: no camel", "known are no flight, no self-driving."),
    ({"local_constraint": {"cuisine": ["Tea", "Tea"]}}, "cuisine: Tea, Tea", "asked for twice"),
]


@pytest.mark.parametrize(("fields", "conflict", "said"), WRONG)
def test_a_request_that_cannot_be_tried_has_words_of_its_own(fields, conflict, said):
    query = Query.model_validate(asked().record() | fields)
    explanation = explain(query, made())
    assert explanation is not None and explanation.malformed
    assert [str(each) for each in explanation.conflict] == [conflict]
    assert said in explanation.words, explanation.words
    found = repairs(query, made())
    check_changes(query, made(), found)
    mends_itself = explanation.conflict[0].kind not in ("origin", "destination") and query.date
    assert bool(found) == bool(mends_itself)


# ---- checks that share no code with what they check


def check_minimal(query: Query, world: World, explanation: Explanation) -> None:
    conflict = [(each.kind, each.value) for each in explanation.conflict]
    assert len(set(conflict)) == len(conflict)
    assert not meets(query, world, conflict), conflict
    if conflict[0][0] != "route":
        for each in conflict:
            others = [other for other in conflict if other != each]
            assert meets(query, world, others), (conflict, each)


def meets(query: Query, world: World, kept: list[tuple[str, str]]) -> bool:
    """Whether any plan keeps `kept`, whatever became of the other requirements."""
    costs = ((solve(each, world).cost_usd, each.budget) for each in relaxed(query, world, kept))
    return any(cost is not None and cost <= budget for cost, budget in costs)


def relaxed(query: Query, world: World, kept: list[tuple[str, str]]) -> Iterator[Query]:
    kinds = [kind for kind, _ in kept]
    wishes = query.local_constraint.model_dump(by_alias=True)
    for kind in ("house rule", "room type", "transportation"):
        wishes[kind] = wishes[kind] if kind in kinds else None
    wishes["cuisine"] = [value for kind, value in kept if kind == "cuisine"] or None
    fields = {"local_constraint": wishes, "budget": query.budget if "budget" in kinds else 10**9}
    days, most = query.days, query.visiting_city_number
    starts = [query.date]
    if "dates" not in kinds:
        starts += [world.dates[i : i + days] for i in range(len(world.dates) - days + 1)]
    for dates in starts:
        for cities in range(most if "cities" in kinds else 1, most + 1):
            changed = {"date": dates, "visiting_city_number": cities}
            yield Query.model_validate(query.record() | fields | changed)


def check_changes(query: Query, world: World, found: list[Repair]) -> None:
    """The plan of every changed request passes the judge, and a dollar less than a raised budget
    buys none."""
    for change in found:
        solution = solve(change.query, world)
        assert solution.cost_usd == change.cost_usd <= change.query.budget
        for rules in ("official", "strict"):
            verdict = judge(change.query, official(change.query, solution, world), world, rules)
            assert verdict.final, (change.words, rules, verdict)
        assert changed_fields(query, change.query) == {FIELDS.get(change.kind, "local_constraint")}
        assert change.words in change.query.query
        if change.kind == "budget":
            assert change.query.budget == math.ceil(change.cost_usd) > query.budget
            poorer = change.query.model_copy(update={"budget": change.query.budget - 1})
            assert explain(poorer, world) is not None
            assert not judge(poorer, official(poorer, solution, world), world).final
    assert len({change.words for change in found}) == len(found)


FIELDS = {"budget": "budget", "dates": "date", "cities": "visiting_city_number"}


def changed_fields(query: Query, changed: Query) -> set[str]:
    """Fields that say something else. A wish that is dropped is None or absent, which is the
    same."""
    both = (query, changed)
    before, after = (each.model_dump(exclude={"query"}, exclude_none=True) for each in both)
    return {name for name in Query.model_fields if before.get(name) != after.get(name)}
