"""STAR's rules by hand: where they differ from the official ones, and what they leave open as those
do."""

from typing import Any

import pytest

from tests.domains.travelplanner.rules.conftest import asking, changed, stated
from tripwright.domains.travelplanner.rules.star import STAR
from tripwright.verdict import Verdict

Plan = list[dict[str, Any]]
DRIVE = {1: "Self-driving, from Homer to Aston", 3: "Self-driving, from Aston to Homer"}


def by_road(plan: Plan, words: dict[int, str]) -> Plan:
    for day, said in words.items():
        plan = changed(plan, day, transportation=said)
    return plan


def in_words(word: str) -> dict[int, str]:
    return {day: f"{word}, from {said.split(' from ')[1]}" for day, said in DRIVE.items()}


def paid(verdict: Verdict, kind: str) -> list[tuple[float, int]]:
    costs = verdict.details["costs"]
    return [(cost["unit_usd"], cost["count"]) for cost in costs if cost["kind"] == kind]


def broken(verdict: Verdict) -> set[tuple[str, int | None, str | None]]:
    """(constraint, day, field) of every failed fact, each of which says what was found and what was
    needed."""
    found = set()
    for fact in verdict.facts.values():
        if fact.passed is False:
            (evidence,) = fact.evidence
            assert evidence.found and evidence.needed
            assert fact.message or fact.name == "valid_cost"
            found.add((fact.name, evidence.day, evidence.field))
    return found


@pytest.mark.parametrize("word", ["Drive", "Driving", "Bus", "Train", "Car", "Walk"])
def test_any_other_word_means_driving_and_is_paid_for(query, plan, world, word):
    driven = STAR.judge(query, by_road(plan, DRIVE), world)
    assert driven.final
    assert paid(driven, "self-driving") == [(54, 1), (55, 1)]
    worded = STAR.judge(query, by_road(plan, in_words(word)), world)
    assert worded.final and worded.details["costs"] == driven.details["costs"]


Failures = set[tuple[str, int | None, str | None]]
SANDBOX, ELSEWHERE = "is_valid_information_in_sandbox", "is_valid_information_in_current_city"
ABSENT, ROUTE = "is_not_absent", ("is_reasonable_visiting_city", None, "current_city")
CONFLICT = ("is_valid_transportation", None, "transportation")
CITIES = (ABSENT, None, "current_city")
NIGHTS, LUNCH = ("is_valid_accommodation", 1, "accommodation"), (ELSEWHERE, 2, "lunch")


def on(day: int, *constraints: Any, **change: Any) -> Any:
    """A constraint alone is about the first field that is changed."""
    field = next(iter(change))
    return day, change, {(c, day, field) if isinstance(c, str) else c for c in constraints}


def way(day: int, said: str, *constraints: Any) -> Any:
    return on(day, *constraints, transportation=said)


WALK = {"current_city": "from Aston to Aston", "transportation": "Walk from Aston to Aston"}
CASES: list[tuple[int, dict[str, Any], Failures]] = [
    # a word that is no mode: a second way to travel, and on a road that is not there
    way(3, "Bus, from Aston to Homer", CONFLICT),
    way(1, "Taxi, from Homer to Brook", SANDBOX, ELSEWHERE),
    way(3, "Flight, from Aston to Homer", SANDBOX),
    way(3, "F2, from Aston to Homer", CONFLICT),
    way(3, "flight number: F2, from Aston to Homer", SANDBOX),
    way(3, "Flight Number: F1, from Aston to Homer", SANDBOX),
    way(3, "Taxi to the airport, Flight Number: F2, from Aston to Homer"),
    way(3, "Taxi, from Aston to Homer"),
    # a stay day has one city, not the letters of its name
    on(2, ELSEWHERE, dinner="Home Cooking, Homer"),
    on(2, ELSEWHERE, transportation=""),
    on(2, (SANDBOX, 2, "transportation"), CONFLICT, **WALK, lunch="-", attraction="-"),
    # a state in parentheses is part of the name
    on(2, ROUTE, CITIES, LUNCH, current_city="Aston(Westland)", breakfast="-", dinner="-"),
    on(2, SANDBOX, lunch="Dal Palace, Aston(Westland)"),
    way(3, "Flight Number: F2, from Aston(Westland) to Homer", SANDBOX),
    way(3, "Taxi, from Aston(Westland) to Homer", SANDBOX),
    # as the official rules
    on(1, ROUTE[0], ABSENT, (ELSEWHERE, 1, "transportation"), current_city="from Far to Aston"),
    on(2, ROUTE, CITIES, (ELSEWHERE, 2, "breakfast"), current_city="Gotham"),
    on(2, "is_valid_restaurants", dinner="Grill A, Aston"),
    on(2, "is_valid_attractions", attraction="Lake, Aston;Museum, Aston;"),
    on(2, SANDBOX, attraction="Eiffel Tower, Aston;"),
    on(2, NIGHTS, accommodation="Barn, Aston"),
    on(1, SANDBOX, ("is_valid_accommodation", 2, "accommodation"), accommodation="Nowhere, Aston"),
    on(2, ABSENT, NIGHTS, accommodation="-"),
    on(2, ABSENT, lunch="-"),
    on(2, ABSENT, attraction=""),
    way(3, "-", ABSENT),
    way(1, "-", ABSENT, "is_valid_transportation"),
    on(2, (ABSENT, None, None), ROUTE, current_city=""),
    # left open, as there
    on(2, breakfast=None, lunch=[], dinner=False, attraction=None),
    on(2, dinner="Grill A,Aston"),
    on(2, dinner=", Aston", attraction="Eiffel Tower, Aston"),
]


@pytest.mark.parametrize(("day", "change", "expected"), CASES)
def test_one_change_at_a_time(query, plan, world, day, change, expected):
    verdict = STAR.judge(query, changed(plan, day, **change), world)
    assert verdict.error is None
    assert broken(verdict) == expected
    assert verdict.final == (not expected)


@pytest.mark.parametrize("key", ["transportation", "breakfast", "lunch", "dinner", "attraction"])
def test_a_field_that_is_not_there_is_absent(query, plan, world, key):
    """On day 2, that is: the code reads the first day's transportation without asking."""
    lacking = [
        {k: v for k, v in day.items() if k != key} if number == 2 else day
        for number, day in enumerate(plan, start=1)
    ]
    assert ("is_not_absent", 2, key) in broken(STAR.judge(query, lacking, world))


def test_too_few_days(query, plan, world):
    assert ("is_not_absent", None, None) in broken(STAR.judge(query, plan[:2], world))
    # days beyond the query's are ignored
    assert STAR.judge(query, [*plan, {"lunch": 7}, None], world).final


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [
        ({"cuisine": ["Indian", "American", "Indian"]}, set()),
        ({"cuisine": ["American", "French"]}, {("valid_cuisine", None, None)}),
        ({"cuisine": []}, set()),
        ({"house rule": "smoking"}, {("valid_room_rule", 1, "accommodation")}),
        ({"house rule": "pets"}, set()),
        ({"house rule": ""}, set()),
        ({"house rule": "drums"}, {("valid_room_rule", None, None)}),
        ({"transportation": "no flight"}, {("valid_transportation", 1, "transportation")}),
        ({"transportation": "no self-driving"}, set()),
        ({"transportation": "no boats"}, {("valid_transportation", None, None)}),
        ({"room type": "entire room"}, set()),
        ({"room type": "not shared room"}, set()),
        ({"room type": "private room"}, {("valid_room_type", 1, "accommodation")}),
        ({"room type": "shared room"}, {("valid_room_type", 1, "accommodation")}),
        ({"room type": "castle"}, {("valid_room_type", None, None)}),
    ],
)
def test_wishes(query, plan, world, wishes, expected):
    verdict = STAR.judge(asking(query, **wishes), plan, world)
    assert broken(verdict) == expected
    assert verdict.final == (not expected)
    ((wish, value),) = wishes.items()
    rule = {"house rule": "valid_room_rule", "room type": "valid_room_type"}.get(wish)
    assert stated(verdict) == ([rule or f"valid_{wish}"] if value else []) + ["valid_cost"]


@pytest.mark.parametrize("word", ["self-driving", "SELF-DRIVING", "Drive", "Bus"])
def test_no_spelling_escapes_the_wish_not_to_drive(query, plan, world, word):
    asked = asking(query, transportation="no self-driving")
    verdict = STAR.judge(asked, by_road(plan, in_words(word)), world)
    assert broken(verdict) == {("valid_transportation", 1, "transportation")}


def test_a_meal_at_home_is_skipped_and_the_next_one_counts(query, plan, world):
    at_home_first = changed(plan, 3, breakfast="Home Cooking, Homer", lunch="Grill D, Aston")
    assert STAR.judge(asking(query, cuisine=["American", "Indian"]), at_home_first, world).final
    assert not STAR.judge(asking(query, cuisine=["French"]), at_home_first, world).final
    then = {"breakfast": "Home Cooking, Homer", "lunch": "Dal Palace, Aston"}
    only_there = changed(changed(plan, 2, lunch="Grill E, Aston"), 3, **then)
    assert STAR.judge(asking(query, cuisine=["Indian"]), only_there, world).final


def test_vehicles_by_party_size(query, plan, world):
    six = query.model_copy(update={"people_number": 6, "budget": 10_000})
    verdict = STAR.judge(six, changed(plan, 3, transportation="Taxi, from Aston to Homer"), world)
    assert paid(verdict, "taxi") == [(1100, 2)]
    driven = STAR.judge(six, by_road(plan, DRIVE), world)
    assert paid(driven, "self-driving") == [(54, 2), (55, 2)]


@pytest.mark.parametrize(
    ("day", "change", "kind"),
    [
        (1, {"current_city": "from Homer"}, "TypeError"),
        (2, {"current_city": None}, "TypeError"),
        (2, {"current_city": {"from": "Homer", "to": "Aston"}}, "TypeError"),
        (2, {"attraction": ["Lake, Aston"]}, "AttributeError"),
        (2, {"transportation": None}, "TypeError"),
        (3, {"transportation": True}, "TypeError"),
        (2, {"lunch": 7}, "TypeError"),
        (3, {"accommodation": None}, None),
        (2, {"lunch": {}}, None),
    ],
)
def test_where_star_crashes_the_verdict_says_how(query, plan, world, day, change, kind):
    verdict = STAR.judge(query, changed(plan, day, **change), world)
    assert verdict.error == kind
    assert verdict.final == (kind is None)
    if kind:
        assert (
            verdict.delivered,
            verdict.group("commonsense").facts,
            verdict.group("hard").facts,
        ) == (True, None, None)


def test_a_budget_that_is_no_number_is_not_kept(query, plan, world):
    assert not STAR.judge(query.model_copy(update={"budget": float("nan")}), plan, world).final
