"""Each official rule by hand: one plan that passes, one change at a time. The loopholes are part of
the rules and are pinned here."""

from typing import Any

import pytest

from tests.domains.travelplanner.rules.conftest import asking, changed, stated
from tripwright.domains.travelplanner.rules.evaluate import RULES, Rules, judge
from tripwright.domains.travelplanner.rules.facts import (
    COMMONSENSE_NAMES,
    HARD_NAMES,
    applicable_hard,
    plan_verdict,
)
from tripwright.domains.travelplanner.scoring.score import score_line
from tripwright.errors import UserError
from tripwright.verdict import Verdict


def problems(verdict: Verdict) -> dict[str, str | None]:
    facts = {**(verdict.group("commonsense").facts or {}), **(verdict.group("hard").facts or {})}
    return {name: fact.message for name, fact in facts.items() if fact.passed is False}


# (day, kind, what, dollars, count)
FLOWN = (
    (1, "flight", "F1 from Homer to Aston", 100, 3),
    (3, "flight", "F2 from Aston to Homer", 120, 3),
)
DRIVEN = (
    (1, "self-driving", "from Homer to Aston", 54, 1),
    (3, "self-driving", "from Aston to Homer", 55, 1),
)


@pytest.mark.parametrize(
    ("rules", "rides"),
    [("official", FLOWN), ("star", FLOWN), *((rules, DRIVEN) for rules in RULES)],
)
def test_the_plan_passes_and_its_costs_add_up(query, plan, driven, world, rules, rides):
    verdict = judge(query, driven if rides is DRIVEN else plan, world, rules)
    assert problems(verdict) == {} and verdict.final
    assert (verdict.rules, verdict.delivered, verdict.error) == (rules, True, None)
    assert tuple(verdict.group("commonsense").facts or {}) == COMMONSENSE_NAMES
    assert tuple(verdict.group("hard").facts or {}) == HARD_NAMES
    costs, total_usd = verdict.details["costs"], verdict.details["total_cost"]
    # rides, meals (4 × 10 + 20.5) a head, 2 nights in 2 rooms for 3 people at 2 to a room
    rides_usd = sum(usd * count for *_, usd, count in rides)
    assert total_usd == rides_usd + 3 * 60.5 + 2 * 2 * 100 == sum(c["total_usd"] for c in costs)
    there, back = rides
    assert [(c["day"], c["kind"], c["what"], c["unit_usd"], c["count"]) for c in costs] == [
        there,
        (1, "dinner", "Grill A", 10, 3),
        (1, "accommodation", "Inn by the lake", 100, 2),
        (2, "breakfast", "Grill B", 10, 3),
        (2, "lunch", "Dal Palace", 20.5, 3),
        (2, "dinner", "Grill C", 10, 3),
        (2, "accommodation", "Inn by the lake", 100, 2),
        back,
        (3, "breakfast", "Grill D", 10, 3),
    ]


@pytest.mark.parametrize("rules", ["official", "star"])
def test_budget_is_inclusive_and_has_no_message(query, plan, world, rules):
    cost = judge(query, plan, world, rules).details["total_cost"]
    assert judge(query.model_copy(update={"budget": cost}), plan, world, rules).final
    poor = judge(query.model_copy(update={"budget": (cost or 0) - 1}), plan, world, rules)
    assert problems(poor) == {"valid_cost": None} and not poor.final
    assert poor.details["total_cost"] == cost


def elsewhere(day: int, field: str) -> dict[str, str]:
    message = f"The {field} in day {day} is invalid city choice."
    return {"is_valid_information_in_current_city": message}


def made_up(day: int, what: str) -> dict[str, str]:
    return {
        "is_valid_information_in_sandbox": f"The {what} in day {day} is invalid in the sandbox."
    }


def again(said: str) -> dict[str, str]:
    return {"is_valid_restaurants": f"The restaurant in day 2 {said} is repeated."}


def route(message: str) -> dict[str, str]:
    return {"is_reasonable_visiting_city": message}


def absent(message: str) -> dict[str, str]:
    return {"is_not_absent": message}


COUNT = absent("Invalid City Number")
CONFLICT = {"is_valid_transportation": "The transportation is conflicting."}
NO_TRANSPORT = {"is_valid_transportation": "The transportation in day 1 should not be empty."}
SHORT = "The accommodation Inn by the lake, Aston do not obey the minumum nights rule."
STAY = {"is_valid_accommodation": SHORT}
NOT_IN_HOMER = STAY | elsewhere(1, "accommodation") | made_up(1, "accommodation")
NOT_HOME = route("The first day's city should be Homer.") | elsewhere(1, "transportation") | COUNT
NO_SUCH_CITY = route("The city sequence is invalid.") | elsewhere(2, "accommodation") | COUNT
TWICE = {"is_valid_attractions": "The attraction 'Lake, Aston' in day 2 is repeated."}
WALK = {"current_city": "from Aston to Aston", "transportation": "Walk from Aston to Aston"}
FULL_DAY = {"lunch": "Grill E, Aston", "dinner": "Grill F, Aston", "attraction": "Lake"}
COMMONSENSE_CASES: list[tuple[int, dict[str, Any], dict[str, str]]] = [
    (1, {"current_city": "from Far to Aston"}, NOT_HOME),
    (3, {"current_city": "Aston"} | FULL_DAY, route("The trip should be a closed circle.")),
    (2, WALK | {"lunch": "-", "attraction": "-"}, {}),
    (2, {"current_city": "Gotham"}, NO_SUCH_CITY),
    (2, {"dinner": "Grill A, Aston"}, again("dinner")),
    (2, {"lunch": "Grill A, Aston"}, again("lunch Grill A, Aston")),
    (2, {"dinner": "Grill A,Aston"}, {}),
    (2, {"attraction": "Lake, Aston;Museum, Aston;"}, TWICE),
    (2, {"attraction": "Lake, Aston"}, {}),
    (2, {"accommodation": "Barn, Aston"}, STAY),
    (3, {"transportation": "Self-driving, from Aston to Homer"}, CONFLICT),
    (3, {"transportation": "Taxi, from Aston to Homer"}, {}),
    (3, {"transportation": "Bus, from Aston to Homer"}, {}),
    (1, {"transportation": None}, NO_TRANSPORT),
    (1, {"dinner": "Home Cooking, Far"}, elsewhere(1, "dinner") | made_up(1, "dinner")),
    (2, {"dinner": "Home Cooking, Homer"}, {}),
    (2, {"transportation": "Taxi"}, elsewhere(2, "transportation") | made_up(2, "taxi")),
    (1, {"accommodation": "Inn by the lake, Homer"}, NOT_IN_HOMER),
    (1, {"transportation": "Flight Number: F2, from Homer to Aston"}, made_up(1, "flight number")),
    (1, {"attraction": "Eiffel Tower, Aston;"}, made_up(1, "attraction Eiffel Tower, Aston")),
    (1, {"attraction": "Eiffel Tower, Aston"}, {}),
    (2, {"attraction": ""}, absent("No attaction in day 2 is not allowed.")),
    (2, {"attraction": None}, {}),
    (2, {"lunch": "-"}, absent("No meal in day 2 is not allowed.")),
    (2, {"lunch": []}, {}),
    (3, {"transportation": "-"}, absent("No transportation in day 3 is not allowed.")),
    (3, {"transportation": None}, {}),
    (1, {"accommodation": "-"}, STAY | absent("No accommodation in day 1 is not allowed.")),
]


@pytest.mark.parametrize(("day", "change", "expected"), COMMONSENSE_CASES)
def test_commonsense(query, plan, world, day, change, expected):
    assert problems(judge(query, changed(plan, day, **change), world)) == expected


def test_completeness_counts_days_keys_and_filled_values(query, plan, world):
    assert problems(judge(query, plan[:2], world))["is_not_absent"] == "Invalid Days"
    without = [{key: value for key, value in day.items() if key != "dinner"} for day in plan]
    assert problems(judge(query, without, world))["is_not_absent"] == "No Dinner Info."
    nothing = dict.fromkeys(("breakfast", "lunch", "dinner", "attraction"))
    sparse = [day | nothing for day in plan]
    # None counts as given, and keys that are always filled help to reach a half
    assert judge(query, sparse, world).final
    bare = [day | {"days": None, "accommodation": None} for day in sparse]
    bare[2]["accommodation"] = "-"
    assert judge(query, bare, world).error == "TypeError"  # a night at None
    # days beyond the query are not looked at
    assert judge(query, [*plan, {}, {"days": "nonsense"}], world).final


@pytest.mark.parametrize("rules", ["official", "star"])
def test_destination_state_is_checked_from_five_days_only(query, plan, world, rules):
    assert judge(query.model_copy(update={"dest": "Far"}), plan, world, rules).final
    stay = {**plan[1], "breakfast": None, "lunch": None, "dinner": None, "attraction": None}
    longer = [plan[0], plan[1], stay, stay, plan[2]]
    five = query.model_copy(update={"days": 5, "dest": "Westland"})
    assert judge(five, longer, world, rules).final
    elsewhere = judge(five.model_copy(update={"dest": "Eastland"}), longer, world, rules)
    assert list(problems(elsewhere)) == ["is_reasonable_visiting_city"]


def test_roads_use_the_first_row_and_need_a_day_at_most(query, plan, world):
    drive = changed(plan, 1, transportation="Self-driving, from Homer to Aston")
    drive = changed(drive, 3, transportation="Self-driving, from Aston to Homer")
    flying_usd = judge(query, plan, world).details["total_cost"] or 0
    assert judge(query, drive, world).details["total_cost"] == flying_usd - 660 + 54 + 55
    six = query.model_copy(update={"people_number": 6, "budget": 10_000})
    taxi = changed(plan, 3, transportation="Taxi, from Aston to Homer")
    assert (
        judge(six, taxi, world).details["total_cost"] == 6 * 100 + 2 * 1100 + 6 * 60.5 + 2 * 3 * 100
    )
    for origin, destination in (("Aston", "Brook"), ("Brook", "Aston"), ("Brook", "Homer")):
        nowhere = changed(plan, 1, transportation=f"Taxi, from {origin} to {destination}")
        found = problems(judge(query, nowhere, world))
        assert found.items() >= made_up(1, "taxi").items()


ROOM = "The room type should be"
CUISINE = {"valid_cuisine": "The cuisine French is not satisfied."}
NO_FLIGHT = {"valid_transportation": "The transportation should not be no flight."}


@pytest.mark.parametrize(
    ("wishes", "broken"),
    [
        ({"cuisine": ["Indian", "American"]}, {}),
        ({"cuisine": ["American", "French", "Thai"]}, CUISINE),
        ({"cuisine": []}, {}),
        ({"house rule": "smoking"}, {"valid_room_rule": "The house rule should be smoking."}),
        ({"house rule": "pets"}, {}),
        ({"house rule": "drums"}, {}),
        ({"transportation": "no flight"}, NO_FLIGHT),
        ({"transportation": "no self-driving"}, {}),
        ({"room type": "entire room"}, {}),
        ({"room type": "not shared room"}, {}),
        ({"room type": "private room"}, {"valid_room_type": f"{ROOM} private room."}),
        ({"room type": "shared room"}, {"valid_room_type": f"{ROOM} shared room."}),
        ({"room type": "castle"}, {}),
    ],
)
def test_hard_wishes(query, plan, world, wishes, broken):
    verdict = judge(asking(query, **wishes), plan, world)
    assert problems(verdict) == broken and verdict.final == (not broken)
    assert tuple(stated(verdict)) == applicable_hard(asking(query, **wishes))


def test_a_meal_at_home_ends_the_day_for_cuisines(query, plan, world):
    wanting = asking(query, cuisine=["Indian"])
    at_home_first = changed(plan, 2, breakfast="Home Cooking, Homer")
    assert problems(judge(wanting, at_home_first, world)) == {
        "valid_cuisine": "The cuisine Indian is not satisfied."
    }


def test_names_match_by_substring_and_first_row(query, plan, world):
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
    query, plan, world, day, change, kind
):
    verdict = judge(query, changed(plan, day, **change), world)
    assert verdict.error == kind
    if kind:
        assert (verdict.delivered, verdict.final) == (True, False)
        assert verdict.group("commonsense").facts is None is verdict.group("hard").facts


def test_half_a_surrogate_pair_is_merely_not_found(query, plan, world):
    verdict = judge(query, changed(plan, 2, dinner="Grill, \ud800"), world)
    assert problems(verdict) == elsewhere(2, "dinner") | made_up(2, "dinner")
    flight = changed(plan, 1, transportation="Flight Number: \ud800, from Homer to Aston")
    assert problems(judge(query, flight, world)) == made_up(1, "flight number")


def test_a_crash_at_the_hard_stage_keeps_the_commonsense_facts(query, plan, world):
    cases: list[tuple[str, Rules]] = [
        *(("budget", "official"), ("people_number", "official")),
        *(("budget", "star"), ("people_number", "star")),
    ]
    for lacking, rules in cases:
        verdict = judge(query.model_copy(update={lacking: None}), plan, world, rules)
        assert (verdict.error, verdict.group("hard").facts, verdict.final) == (
            "TypeError",
            None,
            False,
        )
        assert verdict.group("commonsense").facts is not None
    assert judge(asking(query, cuisine=["Indian", "Indian"]), plan, world).error == "TypeError"


@pytest.mark.parametrize("rules", RULES)
def test_hard_is_not_evaluated_behind_a_shut_gate(query, driven, world, rules):
    for dinner in ("Nowhere, Aston", "-"):
        verdict = judge(query, changed(driven, 2, dinner=dinner), world, rules)
        assert (verdict.group("hard").facts, verdict.details["total_cost"]) == (None, None)
    again = judge(query, changed(driven, 2, dinner="Grill A, Aston"), world, rules)
    assert again.group("hard").facts is not None


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("nothing", [None, []])
def test_no_plan_is_not_delivered(query, world, nothing, rules):
    assert judge(query, nothing, world, rules) == plan_verdict(
        rules, applicable_hard(query), delivered=False
    )


def test_other_rules_are_refused(query, plan, world):
    with pytest.raises(UserError, match="Unknown rules 'mine'. Available: strict, star, official."):
        judge(query, plan, world, "mine")


FAR = "Home Cooking, Far"
EVIDENCE: list[tuple[int, dict[str, Any], str, str, str]] = [
    (2, {"dinner": "Grill A, Aston"}, "restaurants", "Grill A, Aston", "a restaurant not yet"),
    (
        2,
        {"accommodation": "Barn, Aston"},
        "accommodation",
        "1 in Inn by the lake, Aston",
        "2 night",
    ),
    (1, {"dinner": FAR}, "information_in_current_city", FAR, "something in Homer or Aston"),
]


@pytest.mark.parametrize(("day", "change", "constraint", "found", "needed"), EVIDENCE)
def test_a_failed_fact_says_where_and_why(
    query, plan, world, day, change, constraint, found, needed
):
    verdict = judge(query, changed(plan, day, **change), world)
    (evidence,) = verdict.facts[f"is_valid_{constraint}"].evidence
    assert evidence.found == found and needed in (evidence.needed or "")
    if constraint != "accommodation":
        assert (evidence.day, evidence.field) == (day, next(iter(change)))


def test_every_failed_fact_has_evidence(query, plan, world):
    for day, change, _ in COMMONSENSE_CASES:
        verdict = judge(query, changed(plan, day, **change), world)
        for fact in verdict.facts.values():
            assert bool(fact.evidence) == (fact.passed is False)
            assert all(each.found and each.needed for each in fact.evidence)


def test_the_contract_object(query, plan, world):
    record = score_line(4, judge(query, plan, world))
    keys = "line final delivered commonsense hard total_cost error costs"
    assert list(record) == keys.split()
    cost = {"day": 1, "kind": "flight", "what": "F1 from Homer to Aston"}
    assert record["costs"][0] == cost | {"unit_usd": 100.0, "count": 3, "total_usd": 300.0}
    passed, not_asked = record["hard"]["valid_cost"], record["hard"]["valid_cuisine"]
    assert passed == {"passed": True, "state": "passed", "message": None}
    assert not_asked == {"passed": None, "state": "not_applicable", "message": None}
    repeated = judge(query, changed(plan, 2, dinner="Grill A, Aston"), world)
    evidence = score_line(1, repeated)["commonsense"]["is_valid_restaurants"]["evidence"]
    found = {"day": 2, "field": "dinner", "found": "Grill A, Aston"}
    assert evidence == [found | {"needed": "a restaurant not yet visited"}]
