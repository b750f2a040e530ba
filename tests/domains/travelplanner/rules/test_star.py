"""STAR's rules by hand: where they differ from the official ones, and what they leave open as those
do."""

from typing import Any

import pytest

from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.domains.travelplanner.rules.facts import COMMONSENSE_NAMES, HARD_NAMES, PlanVerdict
from tripwright.domains.travelplanner.rules.star import STAR
from tripwright.world.store import World

Plan = list[dict[str, Any]]
DRIVE = {1: "Self-driving, from Homer to Aston", 3: "Self-driving, from Aston to Homer"}


def changed(plan: Plan, day: int, **change: Any) -> Plan:
    return [
        {**each, **change} if number == day else each for number, each in enumerate(plan, start=1)
    ]


def by_road(plan: Plan, words: dict[int, str]) -> Plan:
    for day, said in words.items():
        plan = changed(plan, day, transportation=said)
    return plan


def asking(query: Query, **wishes: Any) -> Query:
    return query.model_copy(update={"local_constraint": LocalConstraint.model_validate(wishes)})


def broken(verdict: PlanVerdict) -> set[tuple[str, int | None, str | None]]:
    """(constraint, day, field) of every failed fact, each of which says what was found and what was
    needed."""
    found = set()
    for fact in {**(verdict.commonsense or {}), **(verdict.hard or {})}.values():
        if fact.passed is False:
            (evidence,) = fact.evidence
            assert evidence.found and evidence.needed
            assert fact.message or fact.name == "valid_cost"
            found.add((fact.name, evidence.day, evidence.field))
    return found


def test_the_plan_passes_and_its_costs_add_up(query: Query, plan: Plan, world: World) -> None:
    verdict = STAR.judge(query, plan, world)
    assert broken(verdict) == set()
    assert verdict.final
    assert (verdict.rules, verdict.delivered, verdict.error) == ("star", True, None)
    assert tuple(verdict.commonsense or {}) == COMMONSENSE_NAMES
    assert tuple(verdict.hard or {}) == HARD_NAMES
    # flights (100 + 120) a head, meals (4 × 10 + 20.5) a head, 2 nights in 2 rooms for 3 people at
    # 2 to a room
    assert verdict.total_cost == 3 * 220 + 3 * 60.5 + 2 * 2 * 100
    assert sum(cost.total_usd for cost in verdict.costs) == verdict.total_cost
    assert [(cost.day, cost.kind, cost.unit_usd, cost.count) for cost in verdict.costs] == [
        (1, "flight", 100.0, 3),
        (1, "dinner", 10.0, 3),
        (1, "accommodation", 100.0, 2),
        (2, "breakfast", 10.0, 3),
        (2, "lunch", 20.5, 3),
        (2, "dinner", 10.0, 3),
        (2, "accommodation", 100.0, 2),
        (3, "flight", 120.0, 3),
        (3, "breakfast", 10.0, 3),
    ]


@pytest.mark.parametrize("word", ["Drive", "Driving", "Bus", "Train", "Car", "Walk"])
def test_any_other_word_means_driving_and_is_paid_for(
    query: Query, plan: Plan, world: World, word: str
) -> None:
    driven = STAR.judge(query, by_road(plan, DRIVE), world)
    assert driven.final
    assert [cost.unit_usd for cost in driven.costs if cost.kind == "self-driving"] == [54, 55]
    worded = STAR.judge(
        query,
        by_road(
            plan, {day: f"{word}, from {said.split(' from ')[1]}" for day, said in DRIVE.items()}
        ),
        world,
    )
    assert worded.final
    assert worded.costs == driven.costs


CASES: list[tuple[int, dict[str, Any], set[tuple[str, int | None, str | None]]]] = [
    # a word that is no mode: a second way to travel, and on a road that is not there
    (
        3,
        {"transportation": "Bus, from Aston to Homer"},
        {("is_valid_transportation", None, "transportation")},
    ),
    (
        1,
        {"transportation": "Taxi, from Homer to Brook"},
        {
            ("is_valid_information_in_sandbox", 1, "transportation"),
            ("is_valid_information_in_current_city", 1, "transportation"),
        },
    ),
    (
        3,
        {"transportation": "Flight, from Aston to Homer"},
        {("is_valid_information_in_sandbox", 3, "transportation")},
    ),
    (
        3,
        {"transportation": "F2, from Aston to Homer"},
        {("is_valid_transportation", None, "transportation")},
    ),
    (
        3,
        {"transportation": "flight number: F2, from Aston to Homer"},
        {("is_valid_information_in_sandbox", 3, "transportation")},
    ),
    (
        3,
        {"transportation": "Flight Number: F1, from Aston to Homer"},
        {("is_valid_information_in_sandbox", 3, "transportation")},
    ),
    (3, {"transportation": "Taxi to the airport, Flight Number: F2, from Aston to Homer"}, set()),
    (3, {"transportation": "Taxi, from Aston to Homer"}, set()),
    # a stay day has one city, not the letters of its name
    (2, {"dinner": "Home Cooking, Homer"}, {("is_valid_information_in_current_city", 2, "dinner")}),
    (2, {"transportation": ""}, {("is_valid_information_in_current_city", 2, "transportation")}),
    (
        2,
        {
            "current_city": "from Aston to Aston",
            "transportation": "Walk from Aston to Aston",
            "lunch": "-",
            "attraction": "-",
        },
        {
            ("is_valid_information_in_sandbox", 2, "transportation"),
            ("is_valid_transportation", None, "transportation"),
        },
    ),
    # a state in parentheses is part of the name
    (
        2,
        {"current_city": "Aston(Westland)", "breakfast": "-", "dinner": "-"},
        {
            ("is_reasonable_visiting_city", None, "current_city"),
            ("is_not_absent", None, "current_city"),
            *(("is_valid_information_in_current_city", 2, field) for field in ["lunch"]),
        },
    ),
    (
        2,
        {"lunch": "Dal Palace, Aston(Westland)"},
        {("is_valid_information_in_sandbox", 2, "lunch")},
    ),
    (
        3,
        {"transportation": "Flight Number: F2, from Aston(Westland) to Homer"},
        {("is_valid_information_in_sandbox", 3, "transportation")},
    ),
    (
        3,
        {"transportation": "Taxi, from Aston(Westland) to Homer"},
        {("is_valid_information_in_sandbox", 3, "transportation")},
    ),
    # as the official rules
    (
        1,
        {"current_city": "from Far to Aston"},
        {
            ("is_reasonable_visiting_city", 1, "current_city"),
            ("is_not_absent", 1, "current_city"),
            ("is_valid_information_in_current_city", 1, "transportation"),
        },
    ),
    (
        2,
        {"current_city": "Gotham"},
        {
            ("is_reasonable_visiting_city", None, "current_city"),
            ("is_not_absent", None, "current_city"),
            ("is_valid_information_in_current_city", 2, "breakfast"),
        },
    ),
    (2, {"dinner": "Grill A, Aston"}, {("is_valid_restaurants", 2, "dinner")}),
    (2, {"attraction": "Lake, Aston;Museum, Aston;"}, {("is_valid_attractions", 2, "attraction")}),
    (
        2,
        {"attraction": "Eiffel Tower, Aston;"},
        {("is_valid_information_in_sandbox", 2, "attraction")},
    ),
    (2, {"accommodation": "Barn, Aston"}, {("is_valid_accommodation", 1, "accommodation")}),
    (
        1,
        {"accommodation": "Nowhere, Aston"},
        {
            ("is_valid_information_in_sandbox", 1, "accommodation"),
            ("is_valid_accommodation", 2, "accommodation"),
        },
    ),
    (
        2,
        {"accommodation": "-"},
        {("is_not_absent", 2, "accommodation"), ("is_valid_accommodation", 1, "accommodation")},
    ),
    (2, {"lunch": "-"}, {("is_not_absent", 2, "lunch")}),
    (2, {"attraction": ""}, {("is_not_absent", 2, "attraction")}),
    (3, {"transportation": "-"}, {("is_not_absent", 3, "transportation")}),
    (
        1,
        {"transportation": "-"},
        {("is_not_absent", 1, "transportation"), ("is_valid_transportation", 1, "transportation")},
    ),
    (
        2,
        {"current_city": ""},
        {("is_not_absent", None, None), ("is_reasonable_visiting_city", None, "current_city")},
    ),
    # left open, as there
    (2, {"breakfast": None, "lunch": [], "dinner": False, "attraction": None}, set()),
    (2, {"dinner": "Grill A,Aston"}, set()),
    (2, {"dinner": ", Aston", "attraction": "Eiffel Tower, Aston"}, set()),
]


@pytest.mark.parametrize(("day", "change", "expected"), CASES)
def test_one_change_at_a_time(
    query: Query,
    plan: Plan,
    world: World,
    day: int,
    change: dict[str, Any],
    expected: set[tuple[str, int | None, str | None]],
) -> None:
    verdict = STAR.judge(query, changed(plan, day, **change), world)
    assert verdict.error is None
    assert broken(verdict) == expected
    assert verdict.final == (not expected)


@pytest.mark.parametrize("key", ["transportation", "breakfast", "lunch", "dinner", "attraction"])
def test_a_field_that_is_not_there_is_absent(
    query: Query, plan: Plan, world: World, key: str
) -> None:
    """On day 2, that is: the code reads the first day's transportation without asking."""
    lacking = [
        {k: v for k, v in day.items() if k != key} if number == 2 else day
        for number, day in enumerate(plan, start=1)
    ]
    assert ("is_not_absent", 2, key) in broken(STAR.judge(query, lacking, world))


def test_too_few_days(query: Query, plan: Plan, world: World) -> None:
    assert ("is_not_absent", None, None) in broken(STAR.judge(query, plan[:2], world))
    # days beyond the query's are ignored
    assert STAR.judge(query, [*plan, {"lunch": 7}, None], world).final


def test_destination_state_is_checked_from_five_days_only(
    query: Query, plan: Plan, world: World
) -> None:
    assert STAR.judge(query.model_copy(update={"dest": "Far"}), plan, world).final
    stay = {**plan[1], "breakfast": None, "lunch": None, "dinner": None, "attraction": None}
    longer = [plan[0], plan[1], stay, stay, plan[2]]
    five = query.model_copy(update={"days": 5, "dest": "Westland"})
    assert STAR.judge(five, longer, world).final
    elsewhere = STAR.judge(five.model_copy(update={"dest": "Eastland"}), longer, world)
    assert broken(elsewhere) == {("is_reasonable_visiting_city", None, "current_city")}


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
def test_wishes(
    query: Query,
    plan: Plan,
    world: World,
    wishes: dict[str, Any],
    expected: set[tuple[str, int | None, str | None]],
) -> None:
    verdict = STAR.judge(asking(query, **wishes), plan, world)
    assert broken(verdict) == expected
    assert verdict.final == (not expected)
    stated = [name for name, fact in (verdict.hard or {}).items() if fact.passed is not None]
    assert stated == [
        name
        for name in HARD_NAMES
        if name == "valid_cost" or (any(wishes.values()) and name == _rule_of(wishes))
    ]


def _rule_of(wishes: dict[str, Any]) -> str:
    (wish,) = wishes
    return {"house rule": "valid_room_rule", "room type": "valid_room_type"}.get(
        wish, f"valid_{wish}"
    )


@pytest.mark.parametrize("word", ["self-driving", "SELF-DRIVING", "Drive", "Bus"])
def test_no_spelling_escapes_the_wish_not_to_drive(
    query: Query, plan: Plan, world: World, word: str
) -> None:
    driven = by_road(
        plan, {day: f"{word}, from {said.split(' from ')[1]}" for day, said in DRIVE.items()}
    )
    assert broken(STAR.judge(asking(query, transportation="no self-driving"), driven, world)) == {
        ("valid_transportation", 1, "transportation")
    }


def test_a_meal_at_home_is_skipped_and_the_next_one_counts(
    query: Query, plan: Plan, world: World
) -> None:
    at_home_first = changed(plan, 3, breakfast="Home Cooking, Homer", lunch="Grill D, Aston")
    assert STAR.judge(asking(query, cuisine=["American", "Indian"]), at_home_first, world).final
    assert not STAR.judge(asking(query, cuisine=["French"]), at_home_first, world).final
    only_there = changed(
        changed(plan, 2, lunch="Grill E, Aston"),
        3,
        breakfast="Home Cooking, Homer",
        lunch="Dal Palace, Aston",
    )
    assert STAR.judge(asking(query, cuisine=["Indian"]), only_there, world).final


def test_budget_is_inclusive(query: Query, plan: Plan, world: World) -> None:
    cost = STAR.judge(query, plan, world).total_cost or 0
    assert STAR.judge(query.model_copy(update={"budget": cost}), plan, world).final
    poor = STAR.judge(query.model_copy(update={"budget": cost - 1}), plan, world)
    assert broken(poor) == {("valid_cost", None, None)}
    assert poor.total_cost == cost


def test_vehicles_by_party_size(query: Query, plan: Plan, world: World) -> None:
    six = query.model_copy(update={"people_number": 6, "budget": 10_000})
    verdict = STAR.judge(six, changed(plan, 3, transportation="Taxi, from Aston to Homer"), world)
    assert [(cost.unit_usd, cost.count) for cost in verdict.costs if cost.kind == "taxi"] == [
        (1100, 2)
    ]
    driven = STAR.judge(six, by_road(plan, DRIVE), world)
    assert [
        (cost.unit_usd, cost.count) for cost in driven.costs if cost.kind == "self-driving"
    ] == [(54, 2), (55, 2)]


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
def test_where_star_crashes_the_verdict_says_how(
    query: Query, plan: Plan, world: World, day: int, change: dict[str, Any], kind: str | None
) -> None:
    verdict = STAR.judge(query, changed(plan, day, **change), world)
    assert verdict.error == kind
    assert verdict.final == (kind is None)
    if kind:
        assert (verdict.delivered, verdict.commonsense, verdict.hard) == (True, None, None)


@pytest.mark.parametrize("plan_", [[None], [{}], ["day"], [3], [[]], [{"current_city": "\ud800"}]])
def test_any_list_gets_a_verdict(query: Query, world: World, plan_: list[Any]) -> None:
    verdict = STAR.judge(query, plan_, world)
    assert verdict.delivered
    assert not verdict.final


def test_half_a_surrogate_pair_is_merely_not_found(query: Query, plan: Plan, world: World) -> None:
    for day, field, said in (
        (2, "dinner", "Grill, \ud800"),
        (1, "transportation", "Flight Number: \ud800, from Homer to Aston"),
        (1, "transportation", "Taxi, from \ud800 to Aston"),
    ):
        assert ("is_valid_information_in_sandbox", day, field) in broken(
            STAR.judge(query, changed(plan, day, **{field: said}), world)
        )


def test_a_crash_at_the_hard_stage_keeps_the_commonsense_facts(
    query: Query, plan: Plan, world: World
) -> None:
    for lacking in ("budget", "people_number"):
        verdict = STAR.judge(query.model_copy(update={lacking: None}), plan, world)
        assert (verdict.error, verdict.hard, verdict.final) == ("TypeError", None, False)
        assert verdict.commonsense is not None


def test_a_budget_that_is_no_number_is_not_kept(query: Query, plan: Plan, world: World) -> None:
    assert not STAR.judge(query.model_copy(update={"budget": float("nan")}), plan, world).final


@pytest.mark.parametrize("nothing", [None, []])
def test_no_plan_is_not_delivered(query: Query, world: World, nothing: Any) -> None:
    assert STAR.judge(query, nothing, world) == PlanVerdict.undelivered("star")
