"""The strict rules where they differ from the official ones in what they *accept*, and what their
verdicts say."""

from typing import Any

import pytest

from tests.domains.travelplanner.rules.conftest import asking, changed
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.rules.strict_reading import minutes
from tripwright.verdict import State, Verdict

Plan = list[dict[str, Any]]


@pytest.fixture
def plan(driven: Plan) -> Plan:
    return driven


def failed(verdict: Verdict) -> set[str]:
    return {
        name
        for facts in (verdict.group("commonsense").facts, verdict.group("hard").facts)
        for name, fact in (facts or {}).items()
        if fact.passed is False
    }


def test_a_meal_at_home_does_not_end_the_day_for_cuisines(query, plan, world):
    """The official `continue` skips the later meals of such a day."""
    at_home = changed(
        changed(plan, 2, lunch="Grill E, Aston"),
        3,
        breakfast="Home Cooking, Homer",
        lunch="Dal Palace, Aston",
    )
    wanting = asking(query, cuisine=["Indian"])
    assert failed(judge(wanting, at_home, world)) == {"valid_cuisine"}
    assert judge(wanting, at_home, world, "strict").final
    # home does not count
    assert failed(judge(asking(query, cuisine=["French"]), at_home, world, "strict")) == {
        "valid_cuisine"
    }


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [
        ({"cuisine": ["Indian", "American"]}, set()),
        ({"cuisine": []}, set()),
        ({"cuisine": ["Indian", "Indian"]}, set()),
        ({"cuisine": ["Thai"]}, {"valid_cuisine"}),
        ({"house rule": "pets"}, set()),
        ({"house rule": "smoking"}, {"valid_room_rule"}),
        ({"room type": "entire room"}, set()),
        ({"room type": "not shared room"}, set()),
        ({"room type": "private room"}, {"valid_room_type"}),
        ({"room type": "shared room"}, {"valid_room_type"}),
        ({"transportation": "no flight"}, set()),
        ({"transportation": "no self-driving"}, {"valid_transportation"}),
    ],
)
def test_hard_wishes(query, plan, world, wishes, expected):
    verdict = judge(asking(query, **wishes), plan, world, "strict")
    assert failed(verdict) == expected
    assert verdict.final == (not expected)


def test_the_budget_is_inclusive(query, plan, world):
    cost = judge(query, plan, world, "strict").details["total_cost"] or 0
    assert judge(query.model_copy(update={"budget": cost}), plan, world, "strict").final
    poor = judge(query.model_copy(update={"budget": cost - 1}), plan, world, "strict")
    assert failed(poor) == {"valid_cost"}
    assert poor.facts["valid_cost"].evidence[0].found == f"${cost:,.2f} for the whole party"


def test_one_stay_in_two_spellings_is_one_stay(query, plan, world):
    respelt = changed(plan, 2, accommodation="Inn by the lake,Aston(Westland)")
    assert failed(judge(query, respelt, world)) == {"is_valid_accommodation"}
    assert judge(query, respelt, world, "strict").final


def test_all_that_is_wrong_is_told(query, plan, world):
    wrong = changed(
        changed(plan, 1, dinner="Nowhere, Aston"), 2, lunch="Neverland, Aston", dinner="-"
    )
    facts = judge(query, wrong, world, "strict").group("commonsense").facts or {}
    assert [
        (each.day, each.field, each.found)
        for each in facts["is_valid_information_in_sandbox"].evidence
    ] == [(1, "dinner", "Nowhere, Aston"), (2, "lunch", "Neverland, Aston")]
    found = facts["is_not_absent"].message
    assert found == "day 2, dinner: found nothing; needed three meals on a day without travel."
    assert facts["is_valid_restaurants"].state is State.PASSED


def test_too_few_days_and_a_trip_that_stays_away(query, plan, world):
    facts = judge(query, plan[:2], world, "strict").group("commonsense").facts or {}
    assert facts["is_not_absent"].evidence[0].found == "2 days"
    assert facts["is_reasonable_visiting_city"].evidence[0].needed == "a return to Homer on day 3"


def test_longer_trips_visit_new_cities_of_the_state(query, plan, world):
    dates = [f"2022-03-0{day}" for day in range(1, 6)]
    five = query.model_copy(update={"days": 5, "dest": "Westland", "date": dates})

    def route(*cities: str) -> list[tuple[int | None, str | None]]:
        days = [{**plan[0], "current_city": city} for city in cities]
        facts = judge(five, days, world, "strict").group("commonsense").facts or {}
        evidence = facts["is_reasonable_visiting_city"].evidence
        return [(each.day, each.needed) for each in evidence]

    out, on, back = "from Homer to Aston", "from Aston to Brook", "from Brook to Homer"
    home = "from Aston to Homer"
    assert route(out, "Aston", on, "Brook", back) == []
    there_and_back = route(out, on, "from Brook to Aston", "Aston", home)
    assert there_and_back == [(3, "a city not visited before")]
    early = "a return to Homer on the last day, and not before"
    assert route(out, home, "from Homer to Brook", "Brook", back) == [(2, early)]
    elsewhere = "a city in Westland (Far is in Eastland)"
    far = route("from Homer to Far", "Far", "from Far to Aston", "Aston", home)
    assert far == [(1, elsewhere), (2, elsewhere)]
    assert route("from Homer to Aston", "Aston", "from Brook to Homer", "Homer", "Homer")[:1] == [
        (3, "a day that starts in Aston")
    ]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("2 hours 5 mins", 125),
        ("1 day 2 hours", 1560),
        ("1 hour 1 min", 61),
        ("45 minutes", 45),
        ("", None),
        ("hours", None),
        ("5 parsecs", None),
    ],
)
def test_durations(said, expected):
    assert minutes(said) == expected
