"""The official budget, against figures worked out by hand from the sampler's formulas, and the
drafts that it turns down."""

from typing import Any

import pytest

from tests.made import DATES, flight, made_world, meal, stay, trip
from tripwright.domains.travelplanner.queries.sample import (
    Rejected,
    official_budget,
    price_statistics,
)
from tripwright.domains.travelplanner.query import Query
from tripwright.world.store import World

ANY = "No rules"


@pytest.fixture(scope="module")
def world() -> World:
    """Home, and a state of two cities. To Aston $100 on the 1st, $200 and $300 on the 9th; to Brook
    $400 on the 1st."""
    entire = "Entire home/apt"
    flown = [("Aston", 100, 1), ("Aston", 200, 9), ("Aston", 300, 9), ("Brook", 400, 1)]
    return made_world(
        {"Home": "Farland", "Aston": "Westland", "Brook": "Westland"},
        flights=[
            flight(f"F{i}", "Home", city, usd, DATES[day - 1], miles="500")
            for i, (city, usd, day) in enumerate(flown, 1)
        ],
        meals=[
            meal("R1", "Aston", "Indian, Tea"),
            meal("R2", "Aston", "French", 20),
            meal("R3", "Brook", "Cafe", 60),
        ],
        stays=[
            stay("H1", "Aston", rules="No parties", people=1),
            stay("H2", "Aston", 100, entire, rules=ANY),
            stay("H3", "Aston", 150, entire, people=4),
            stay("H4", "Brook", 300, entire, rules=ANY, people=4),
        ],
    )


def request(level: str, days: int = 3, people: int = 1, **wishes: Any) -> Query:
    where = {"org": "Home", "dest": "Aston" if days == 3 else "Westland", "days": days}
    who = {"people_number": people, "visiting_city_number": (days - 1) // 2, "level": level}
    return trip(**where, **who, local_constraint=wishes)


def test_city_trips_take_flights_of_any_day(world):
    # 2 flights of 100/200/300, 3 nights of 50/100/150, 9 meals of 10/15/20
    prices = (200 + 150 + 90, 400 + 300 + 135, 600 + 450 + 180)
    assert price_statistics(request("easy"), world) == prices
    assert official_budget(request("easy"), world) == 600  # half of 440 + 835 is 637.5


def test_a_party_counts_and_medium_wishes_do_not(world):
    # Hotels for two: 100/125/150. (200+300+90 + 400+375+135) / 2 = 750, for two at three quarters
    for wishes in ({}, {"room_type": "private room"}):
        assert official_budget(request("medium", people=2, **wishes), world) == 1100  # 1,125


def test_state_trips_take_the_days_flights_to_every_city(world):
    # 3 flights of 100/250/400 (the 9th is no day of the trip), 5 nights of 50/150/300, 15 meals of
    # 10/30/60
    prices = (300 + 250 + 150, 750 + 750 + 450, 1200 + 1500 + 900)
    assert price_statistics(request("easy", 5), world) == prices
    assert official_budget(request("easy", 5), world) == 2000  # 1,950
    # 4 × 250/400, 7 × 150/300, 21 × 30/60: half of 2,680 + 4,960 is 3,820
    assert official_budget(request("easy", 7), world) == 3800
    # hotels 100/183/300: 3,936.67, so 3,900 × 1.5, and halves go to even
    assert official_budget(request("medium", 7, people=2), world) == 5800


def test_what_is_turned_down(world):
    for query, reason in (
        (request("hard", room_type="private room"), "too few hotels"),
        (request("hard", house_rule="parties"), "too few hotels"),
        (request("hard", cuisine=["Indian", "Mexican"]), "too few restaurants"),
        (request("hard", transportation="no self-driving"), "too few flights"),
        (request("hard", transportation="no flight"), "too far to drive"),
        (request("medium", people=8), "no hotels"),
        (request("easy").model_copy(update={"org": "Brook"}), "no flights"),
    ):
        with pytest.raises(Rejected, match=reason):
            official_budget(query, world)
