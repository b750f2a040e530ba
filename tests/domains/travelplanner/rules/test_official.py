"""Each official rule by hand: one plan that passes, one change at a time. The loopholes are part of
the rules and are pinned here."""

from typing import Any

import pytest

from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.rules.facts import (
    COMMONSENSE_NAMES,
    HARD_NAMES,
    PlanVerdict,
    applicable_hard,
)
from tripwright.errors import UserError
from tripwright.world.store import World

Plan = list[dict[str, Any]]


def changed(plan: Plan, day: int, **change: Any) -> Plan:
    return [
        {**each, **change} if number == day else each for number, each in enumerate(plan, start=1)
    ]


def asking(query: Query, **wishes: Any) -> Query:
    return query.model_copy(update={"local_constraint": LocalConstraint.model_validate(wishes)})


def problems(verdict: PlanVerdict) -> dict[str, str | None]:
    facts = {**(verdict.commonsense or {}), **(verdict.hard or {})}
    return {name: fact.message for name, fact in facts.items() if fact.passed is False}


def test_the_plan_passes_and_costs_what_it_should(query: Query, plan: Plan, world: World) -> None:
    verdict = judge(query, plan, world)
    assert problems(verdict) == {}
    assert verdict.final
    assert tuple(verdict.commonsense or {}) == COMMONSENSE_NAMES
    assert tuple(verdict.hard or {}) == HARD_NAMES
    # flights (100 + 120) a head, meals (4 × 10 + 20.5) a head, 2 nights in 2 rooms for 3 people at
    # 2 to a room
    assert verdict.total_cost == 3 * 220 + 3 * 60.5 + 2 * 2 * 100


COMMONSENSE_CASES: list[tuple[int, dict[str, Any], dict[str, str]]] = [
    (
        1,
        {"current_city": "from Far to Aston"},
        {
            "is_reasonable_visiting_city": "The first day's city should be Homer.",
            "is_valid_information_in_current_city": (
                "The transportation in day 1 is invalid city choice."
            ),
            "is_not_absent": "Invalid City Number",
        },
    ),
    (
        3,
        {
            "current_city": "Aston",
            "lunch": "Grill E, Aston",
            "dinner": "Grill F, Aston",
            "attraction": "Lake",
        },
        {
            "is_reasonable_visiting_city": "The trip should be a closed circle.",
        },
    ),
    (
        2,
        {
            "current_city": "from Aston to Aston",
            "transportation": "Walk from Aston to Aston",
            "lunch": "-",
            "attraction": "-",
        },
        {},
    ),
    (
        2,
        {"current_city": "Gotham"},
        {
            "is_reasonable_visiting_city": "The city sequence is invalid.",
            "is_valid_information_in_current_city": (
                "The accommodation in day 2 is invalid city choice."
            ),
            "is_not_absent": "Invalid City Number",
        },
    ),
    (
        2,
        {"dinner": "Grill A, Aston"},
        {"is_valid_restaurants": "The restaurant in day 2 dinner is repeated."},
    ),
    (
        2,
        {"lunch": "Grill A, Aston"},
        {"is_valid_restaurants": "The restaurant in day 2 lunch Grill A, Aston is repeated."},
    ),
    (2, {"dinner": "Grill A,Aston"}, {}),
    (
        2,
        {"attraction": "Lake, Aston;Museum, Aston;"},
        {"is_valid_attractions": "The attraction 'Lake, Aston' in day 2 is repeated."},
    ),
    (2, {"attraction": "Lake, Aston"}, {}),
    (
        2,
        {"accommodation": "Barn, Aston"},
        {
            "is_valid_accommodation": (
                "The accommodation Inn by the lake, Aston do not obey the minumum nights rule."
            ),
        },
    ),
    (
        3,
        {"transportation": "Self-driving, from Aston to Homer"},
        {"is_valid_transportation": "The transportation is conflicting."},
    ),
    (3, {"transportation": "Taxi, from Aston to Homer"}, {}),
    (3, {"transportation": "Bus, from Aston to Homer"}, {}),
    (
        1,
        {"transportation": None},
        {"is_valid_transportation": "The transportation in day 1 should not be empty."},
    ),
    (
        1,
        {"dinner": "Home Cooking, Far"},
        {
            "is_valid_information_in_current_city": "The dinner in day 1 is invalid city choice.",
            "is_valid_information_in_sandbox": "The dinner in day 1 is invalid in the sandbox.",
        },
    ),
    (2, {"dinner": "Home Cooking, Homer"}, {}),
    (
        2,
        {"transportation": "Taxi"},
        {
            "is_valid_transportation": "",
            "is_valid_information_in_current_city": (
                "The transportation in day 2 is invalid city choice."
            ),
            "is_valid_information_in_sandbox": "The taxi in day 2 is invalid in the sandbox.",
        },
    ),
    (
        1,
        {"accommodation": "Inn by the lake, Homer"},
        {
            "is_valid_accommodation": "",
            "is_valid_information_in_current_city": (
                "The accommodation in day 1 is invalid city choice."
            ),
            "is_valid_information_in_sandbox": (
                "The accommodation in day 1 is invalid in the sandbox."
            ),
        },
    ),
    (
        1,
        {"transportation": "Flight Number: F2, from Homer to Aston"},
        {
            "is_valid_information_in_sandbox": (
                "The flight number in day 1 is invalid in the sandbox."
            ),
        },
    ),
    (
        1,
        {"attraction": "Eiffel Tower, Aston;"},
        {
            "is_valid_information_in_sandbox": (
                "The attraction Eiffel Tower, Aston in day 1 is invalid in the sandbox."
            ),
        },
    ),
    (1, {"attraction": "Eiffel Tower, Aston"}, {}),
    (2, {"attraction": ""}, {"is_not_absent": "No attaction in day 2 is not allowed."}),
    (2, {"attraction": None}, {}),
    (2, {"lunch": "-"}, {"is_not_absent": "No meal in day 2 is not allowed."}),
    (2, {"lunch": []}, {}),
    (3, {"transportation": "-"}, {"is_not_absent": "No transportation in day 3 is not allowed."}),
    (3, {"transportation": None}, {}),
    (
        1,
        {"accommodation": "-"},
        {
            "is_valid_accommodation": "",
            "is_not_absent": "No accommodation in day 1 is not allowed.",
        },
    ),
]


@pytest.mark.parametrize(("day", "change", "expected"), COMMONSENSE_CASES)
def test_commonsense(
    query: Query,
    plan: Plan,
    world: World,
    day: int,
    change: dict[str, Any],
    expected: dict[str, str],
) -> None:
    """An empty expected message means: whatever this says, it is not what the case is about."""
    found = problems(judge(query, changed(plan, day, **change), world))
    besides = {name for name, message in expected.items() if not message}
    assert {k: v for k, v in found.items() if k not in besides} == {
        k: v for k, v in expected.items() if k not in besides
    }


def test_completeness_counts_days_keys_and_filled_values(
    query: Query, plan: Plan, world: World
) -> None:
    assert problems(judge(query, plan[:2], world))["is_not_absent"] == "Invalid Days"
    without = [{key: value for key, value in day.items() if key != "dinner"} for day in plan]
    assert problems(judge(query, without, world))["is_not_absent"] == "No Dinner Info."
    sparse = [
        {**day, **dict.fromkeys(("breakfast", "lunch", "dinner", "attraction"))} for day in plan
    ]
    # None counts as given, and keys that are always filled help to reach a half
    assert judge(query, sparse, world).final
    bare = [
        {
            **day,
            "days": None,
            **dict.fromkeys(("breakfast", "lunch", "dinner", "attraction", "accommodation")),
        }
        for day in sparse
    ]
    bare[2]["accommodation"] = "-"
    assert judge(query, bare, world).error == "TypeError"  # a night at None
    # days beyond the query are not looked at
    assert judge(query, [*plan, {}, {"days": "nonsense"}], world).final


def test_destination_state_is_checked_from_five_days_only(
    query: Query, plan: Plan, world: World
) -> None:
    assert judge(query.model_copy(update={"dest": "Far"}), plan, world).final
    stay = {**plan[1], "breakfast": None, "lunch": None, "dinner": None, "attraction": None}
    longer = [plan[0], plan[1], stay, stay, plan[2]]
    five = query.model_copy(update={"days": 5, "dest": "Westland"})
    assert judge(five, longer, world).final
    assert problems(judge(five.model_copy(update={"dest": "Eastland"}), longer, world)) == {
        "is_reasonable_visiting_city": "Aston is not in Eastland."
    }


def test_roads_use_the_first_row_and_need_a_day_at_most(
    query: Query, plan: Plan, world: World
) -> None:
    drive = changed(
        changed(plan, 1, transportation="Self-driving, from Homer to Aston"),
        3,
        transportation="Self-driving, from Aston to Homer",
    )
    flying_usd = judge(query, plan, world).total_cost or 0
    assert judge(query, drive, world).total_cost == flying_usd - 660 + 54 + 55
    six = query.model_copy(update={"people_number": 6, "budget": 10_000})
    taxi = changed(plan, 3, transportation="Taxi, from Aston to Homer")
    assert judge(six, taxi, world).total_cost == 6 * 100 + 2 * 1100 + 6 * 60.5 + 2 * 3 * 100
    for origin, destination in (("Aston", "Brook"), ("Brook", "Aston"), ("Brook", "Homer")):
        nowhere = changed(plan, 1, transportation=f"Taxi, from {origin} to {destination}")
        assert (
            problems(judge(query, nowhere, world))["is_valid_information_in_sandbox"]
            == "The taxi in day 1 is invalid in the sandbox."
        )


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [
        ({"cuisine": ["Indian", "American"]}, {}),
        (
            {"cuisine": ["American", "French", "Thai"]},
            {"valid_cuisine": "The cuisine French is not satisfied."},
        ),
        ({"cuisine": []}, {}),
        ({"house rule": "smoking"}, {"valid_room_rule": "The house rule should be smoking."}),
        ({"house rule": "pets"}, {}),
        ({"house rule": "drums"}, {}),
        (
            {"transportation": "no flight"},
            {"valid_transportation": "The transportation should not be no flight."},
        ),
        ({"transportation": "no self-driving"}, {}),
        ({"room type": "entire room"}, {}),
        ({"room type": "not shared room"}, {}),
        (
            {"room type": "private room"},
            {"valid_room_type": "The room type should be private room."},
        ),
        ({"room type": "shared room"}, {"valid_room_type": "The room type should be shared room."}),
        ({"room type": "castle"}, {}),
    ],
)
def test_hard_wishes(
    query: Query, plan: Plan, world: World, wishes: dict[str, Any], expected: dict[str, str]
) -> None:
    verdict = judge(asking(query, **wishes), plan, world)
    assert problems(verdict) == expected
    assert verdict.final == (not expected)
    stated = {name for name, fact in (verdict.hard or {}).items() if fact.passed is not None}
    assert len(stated) == len(applicable_hard(asking(query, **wishes)))


def test_a_meal_at_home_ends_the_day_for_cuisines(query: Query, plan: Plan, world: World) -> None:
    wanting = asking(query, cuisine=["Indian"])
    at_home_first = changed(plan, 2, breakfast="Home Cooking, Homer")
    assert problems(judge(wanting, at_home_first, world)) == {
        "valid_cuisine": "The cuisine Indian is not satisfied."
    }


def test_budget_is_inclusive_and_has_no_message(query: Query, plan: Plan, world: World) -> None:
    cost = judge(query, plan, world).total_cost
    assert judge(query.model_copy(update={"budget": cost}), plan, world).final
    poor = judge(query.model_copy(update={"budget": (cost or 0) - 1}), plan, world)
    assert problems(poor) == {"valid_cost": None}
    assert not poor.final
    assert poor.total_cost == cost


def test_names_match_by_substring_and_first_row(query: Query, plan: Plan, world: World) -> None:
    """'Inn' is two rows: the first one counts, and minimum nights are then not checked."""
    shorter = [
        {**day, "accommodation": "Inn, Aston"} if day["accommodation"] != "-" else day
        for day in plan
    ]
    assert judge(query, shorter, world).final
    anything = changed(plan, 2, dinner=", Aston")
    assert judge(query, anything, world).final


@pytest.mark.parametrize(
    ("day", "change", "kind"),
    [
        (1, {"current_city": "from Homer"}, "TypeError"),
        (2, {"current_city": None}, "TypeError"),
        (2, {"attraction": ["Lake, Aston"]}, "AttributeError"),
        (3, {"accommodation": None}, "TypeError"),
        (3, {"transportation": "flight number: F2, from Aston to Homer"}, "IndexError"),
        (2, {"transportation": "Flight Number: F2"}, "ValueError"),
        (3, {"transportation": True}, "AttributeError"),
        (2, {"lunch": 7}, "TypeError"),
        (2, {"lunch": {}}, None),
    ],
)
def test_where_the_official_code_crashes_the_verdict_says_how(
    query: Query, plan: Plan, world: World, day: int, change: dict[str, Any], kind: str | None
) -> None:
    verdict = judge(query, changed(plan, day, **change), world)
    assert verdict.error == kind
    if kind:
        assert (verdict.delivered, verdict.final, verdict.commonsense, verdict.hard) == (
            True,
            False,
            None,
            None,
        )


@pytest.mark.parametrize("plan_", [[None], [{}], ["day"], [3], [[]], [{"current_city": "\ud800"}]])
def test_any_list_gets_a_verdict(query: Query, world: World, plan_: list[Any]) -> None:
    verdict = judge(query, plan_, world)
    assert verdict.delivered
    assert not verdict.final
    assert verdict.error


def test_half_a_surrogate_pair_is_merely_not_found(query: Query, plan: Plan, world: World) -> None:
    verdict = judge(query, changed(plan, 2, dinner="Grill, \ud800"), world)
    assert (
        problems(verdict)["is_valid_information_in_sandbox"]
        == "The dinner in day 2 is invalid in the sandbox."
    )
    verdict = judge(
        query, changed(plan, 1, transportation="Flight Number: \ud800, from Homer to Aston"), world
    )
    assert "flight number" in (problems(verdict)["is_valid_information_in_sandbox"] or "")


def test_a_crash_at_the_hard_stage_keeps_the_commonsense_facts(
    query: Query, plan: Plan, world: World
) -> None:
    for lacking in ("budget", "people_number"):
        verdict = judge(query.model_copy(update={lacking: None}), plan, world)
        assert (verdict.error, verdict.hard, verdict.final) == ("TypeError", None, False)
        assert verdict.commonsense is not None
    assert judge(asking(query, cuisine=["Indian", "Indian"]), plan, world).error == "TypeError"


def test_hard_is_not_evaluated_behind_a_shut_gate(query: Query, plan: Plan, world: World) -> None:
    assert judge(query, changed(plan, 2, dinner="Nowhere, Aston"), world).hard is None
    assert judge(query, changed(plan, 2, dinner="-"), world).hard is None
    assert judge(query, changed(plan, 2, dinner="Grill A, Aston"), world).hard is not None


@pytest.mark.parametrize("nothing", [None, []])
def test_no_plan_is_not_delivered(query: Query, world: World, nothing: Any) -> None:
    assert judge(query, nothing, world) == PlanVerdict.undelivered("official")


def test_other_rules_are_refused(query: Query, plan: Plan, world: World) -> None:
    with pytest.raises(UserError, match="Unknown rules 'mine'. Available: strict, star, official."):
        judge(query, plan, world, "mine")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("day", "change", "constraint", "found", "needed"),
    [
        (
            2,
            {"dinner": "Grill A, Aston"},
            "is_valid_restaurants",
            "Grill A, Aston",
            "a restaurant not yet visited",
        ),
        (
            2,
            {"accommodation": "Barn, Aston"},
            "is_valid_accommodation",
            "1 in Inn by the lake, Aston",
            "at least 2 nights in a row",
        ),
        (
            1,
            {"dinner": "Home Cooking, Far"},
            "is_valid_information_in_current_city",
            "Home Cooking, Far",
            "something in Homer or Aston",
        ),
        (2, {"lunch": "-"}, "is_not_absent", "nothing", "three meals on a day without travel"),
        (
            3,
            {"current_city": "from Aston to Brook"},
            "is_reasonable_visiting_city",
            "Homer – Aston – Brook",
            "a trip that ends where it began",
        ),
    ],
)
def test_a_failed_fact_says_where_and_why(
    query: Query,
    plan: Plan,
    world: World,
    day: int,
    change: dict[str, Any],
    constraint: str,
    found: str,
    needed: str,
) -> None:
    (evidence,) = (judge(query, changed(plan, day, **change), world).commonsense or {})[
        constraint
    ].evidence
    assert (evidence.found, evidence.needed) == (found, needed)
    if constraint in (
        "is_valid_restaurants",
        "is_not_absent",
        "is_valid_information_in_current_city",
    ):
        assert (evidence.day, evidence.field) == (day, next(iter(change)))


def test_every_failed_fact_has_evidence(query: Query, plan: Plan, world: World) -> None:
    for day, change, _ in COMMONSENSE_CASES:
        verdict = judge(query, changed(plan, day, **change), world)
        for fact in {**(verdict.commonsense or {}), **(verdict.hard or {})}.values():
            assert bool(fact.evidence) == (fact.passed is False)
            assert all(each.found and each.needed for each in fact.evidence)


def test_costs_add_up_per_day_and_kind(query: Query, plan: Plan, world: World) -> None:
    verdict = judge(query, plan, world)
    assert [
        (cost.day, cost.kind, cost.what, cost.unit_usd, cost.count) for cost in verdict.costs
    ] == [
        (1, "flight", "F1 from Homer to Aston", 100, 3),
        (1, "dinner", "Grill A", 10, 3),
        (1, "accommodation", "Inn by the lake", 100, 2),
        (2, "breakfast", "Grill B", 10, 3),
        (2, "lunch", "Dal Palace", 20.5, 3),
        (2, "dinner", "Grill C", 10, 3),
        (2, "accommodation", "Inn by the lake", 100, 2),
        (3, "flight", "F2 from Aston to Homer", 120, 3),
        (3, "breakfast", "Grill D", 10, 3),
    ]
    assert sum(cost.total_usd for cost in verdict.costs) == verdict.total_cost


def test_the_contract_object(query: Query, plan: Plan, world: World) -> None:
    record = judge(query, plan, world).to_contract(4)
    assert list(record) == [
        "line",
        "final",
        "delivered",
        "commonsense",
        "hard",
        "total_cost",
        "error",
        "costs",
    ]
    assert record["costs"][0] == {
        "day": 1,
        "kind": "flight",
        "what": "F1 from Homer to Aston",
        "unit_usd": 100.0,
        "count": 3,
        "total_usd": 300.0,
    }
    assert record["hard"]["valid_cuisine"] == {
        "passed": None,
        "state": "not_applicable",
        "message": None,
    }
    assert record["hard"]["valid_cost"] == {"passed": True, "state": "passed", "message": None}
    repeated = judge(query, changed(plan, 2, dinner="Grill A, Aston"), world)
    assert repeated.to_contract(1)["commonsense"]["is_valid_restaurants"]["evidence"] == [
        {
            "day": 2,
            "field": "dinner",
            "found": "Grill A, Aston",
            "needed": "a restaurant not yet visited",
        }
    ]
