"""What single change makes an impossible trip possible: which are offered, in what order, and that
they are the least that is needed."""

from typing import Any

import pytest

from tests.made import DATES, flight, made_world, meal, sight, stay, trip
from tripwright.domains.travelplanner.oracle.explanation import other_dates, repairs
from tripwright.domains.travelplanner.oracle.planner import solve
from tripwright.domains.travelplanner.query import Query
from tripwright.world.store import World

ROOMS = (("Inn", "Entire home/apt", 50, "No pets"), ("Villa", "Private room", 80, "No smoking"))
FOOD = {"Tea": "10", "French": "40", "Indian": "90"}


@pytest.fixture(scope="module")
def world() -> World:
    """Aston: an inn for $50 without pets, a villa for $80 with them; tea at $10, French food at
    $40, Indian at $90; a flight for $100 each way on all days but the 5th to 7th, when it costs
    $300; a road from Homer to Aston that takes a day."""
    way, back = ("Homer", "Aston"), ("Aston", "Homer")
    return made_world(
        {"Homer": "Homeland", "Aston": "Westland"},
        flights=[
            flight(f"F{i}{day}", *ends, 300 if 5 <= day <= 7 else 100, DATES[day - 1])
            for i, ends in enumerate((way, back))
            for day in range(1, 15)
        ],
        roads=[(*ends, "1 day 2 hours", "2,000 km") for ends in (way, back)],
        meals=[
            meal(f"{food} {c}", "Aston", food, price) for food, price in FOOD.items() for c in "ABC"
        ],
        sights=[sight("Lake", "Aston")],
        stays=[stay(name, "Aston", price, room, 1, rules) for name, room, price, rules in ROOMS],
    )


def asked(budget: float, start: int = 1, people: int = 2, **wishes: Any) -> Query:
    fields = {"date": DATES[start - 1 : start + 2], "people_number": people, "budget": budget}
    said = {"query": "A trip, please.", "level": "hard", "annotated_plan": [{}], "oracle": {}}
    return trip(**fields, **said, local_constraint=wishes)


ALL_CUISINES = "drop all cuisines"
CASES: list[tuple[Query, list[str]]] = [
    # two flights for two $400, two nights $100, meals $60: $560
    (asked(500), ["budget +$60 to $560"]),
    (asked(559.5), ["budget +$0.50 to $560"]),
    (asked(200), ["budget +$360 to $560"]),
    (asked(400), ["budget +$160 to $560"]),
    (asked(1000, people=9), ["budget +$1,570 to $2,570"]),
    (asked(400, house_rule="pets"), ["budget +$220 to $620"]),
    (asked(0), ["budget +$560 to $560"]),
    (asked(-50), ["budget +$610 to $560"]),
    (asked(600, start=5), ["start on 2022-03-08 instead of 2022-03-05", "budget +$760 to $1,360"]),
    (asked(600, start=4), ["start on 2022-03-02 instead of 2022-03-04", "budget +$360 to $960"]),
    (asked(600, house_rule="pets"), ["budget +$20 to $620", "drop 'pets allowed'"]),
    (asked(560, room_type="private room", house_rule="pets"), ["budget +$60 to $620"]),
    (asked(700, transportation="no flight"), ["drop 'no flight'"]),
    (asked(700, cuisine=["French", "Thai"]), ["drop 'Thai' from the cuisines", ALL_CUISINES]),
    (
        asked(700, cuisine=["French", "Indian"]),
        ["budget +$80 to $780", "drop 'Indian' from the cuisines", ALL_CUISINES],
    ),
    (asked(580, cuisine=["French"]), ["budget +$40 to $620", "drop 'French food'"]),
    # tea is the cheapest food: to drop it, too, saves nothing
    (asked(700, cuisine=["Tea", "Thai"]), ["drop 'Thai' from the cuisines"]),
    (asked(700, cuisine=["Thai", "Greek"]), ["drop all cuisines"]),
    (asked(700, room_type="shared room", transportation="no flight"), []),
]


@pytest.mark.parametrize(("query", "words"), CASES, ids=str)
def test_what_is_offered_and_in_what_order(world, query, words):
    found = repairs(query, world)
    assert [change.words for change in found] == words
    for change in found:
        assert change.cost_usd == solve(change.query, world).cost_usd <= change.query.budget


def test_other_dates_lie_within_the_worlds_days_and_the_nearest_come_first(world):
    found = list(other_dates(asked(100, start=2), world))
    assert [shift for shift, _ in found[:4]] == [1, -1, 2, 3] and len(found) == 11
    for _, dates in found:
        assert len(dates) == 3 and DATES[0] <= dates[0] and dates[-1] <= DATES[-1]
    outside = asked(100).model_copy(update={"date": ["2023-01-01", "2023-01-02", "2023-01-03"]})
    assert next(other_dates(outside, world))[1] == DATES[11:14]
    unread = asked(100).model_copy(update={"date": ["soon", "later", "last"]})
    assert not list(other_dates(unread, world))


def test_the_changed_record_says_so_and_carries_no_proof_of_the_old_request(world):
    query = asked(500)
    (change,) = repairs(query, world)
    assert change.query.query == "A trip, please. (Changed: budget +$60 to $560.)"
    record = change.record()
    assert (record["kind"], record["cost_usd"], record["query"]["budget"]) == ("budget", 560.0, 560)
    assert set(record["query"]) == set(Query.model_fields) - {"besides"}
    assert record["query"]["local_constraint"].keys() == query.record()["local_constraint"].keys()
    assert Query.model_validate(record["query"]) == change.query
