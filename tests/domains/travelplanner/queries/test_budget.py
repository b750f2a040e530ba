"""The official budget, against figures worked out by hand from the sampler's formulas, and the
drafts that it turns down."""

from typing import Any

import pytest

from tripwright.domains.travelplanner.queries.sample import (
    Rejected,
    official_budget,
    price_statistics,
)
from tripwright.domains.travelplanner.query import Query
from tripwright.world.records import WorldTables
from tripwright.world.store import World

ANY = "No rules"


def hotel(name: str, room: str, usd: int, rules: str, people: int, city: str) -> tuple[str, ...]:
    return (name, room, str(usd), "1", "4", rules, str(people), city)


@pytest.fixture(scope="module")
def world() -> World:
    """Home, and a state of two cities. To Aston $100 on the 1st, $200 and $300 on the 9th; to Brook
    $400 on the 1st."""
    flights = [("F1", "100", "1"), ("F2", "200", "9"), ("F3", "300", "9")]
    return World.in_memory(
        WorldTables(
            cities=[("Home", "Farland"), ("Aston", "Westland"), ("Brook", "Westland")],
            flights=[
                (n, usd, "08:00", "09:00", "1 hours", f"2022-03-0{day}", "Home", "Aston", "500")
                for n, usd, day in flights
            ]
            + [("F4", "400", "08:00", "09:00", "1 hours", "2022-03-01", "Home", "Brook", "900")],
            grounds=[],
            restaurants=[
                (name, city, cuisines, str(usd), "4.0")
                for name, city, cuisines, usd in (
                    ("R1", "Aston", "Indian, Tea", 10),
                    ("R2", "Aston", "French", 20),
                    ("R3", "Brook", "Cafe", 60),
                )
            ],
            attractions=[],
            accommodations=[
                hotel("H1", "Private room", 50, "No parties", 1, "Aston"),
                hotel("H2", "Entire home/apt", 100, ANY, 2, "Aston"),
                hotel("H3", "Entire home/apt", 150, "No pets", 4, "Aston"),
                hotel("H4", "Entire home/apt", 300, ANY, 4, "Brook"),
            ],
        )
    )


def request(level: str, days: int = 3, people: int = 1, **wishes: Any) -> Query:
    return Query.model_validate(
        {
            "org": "Home",
            "dest": "Aston" if days == 3 else "Westland",
            "days": days,
            "visiting_city_number": (days - 1) // 2,
            "date": [f"2022-03-0{day}" for day in range(1, days + 1)],
            "people_number": people,
            "local_constraint": {kind.replace("_", " "): wish for kind, wish in wishes.items()},
            "budget": 0,
            "query": "",
            "level": level,
        }
    )


def test_city_trips_take_flights_of_any_day(world):
    # 2 flights of 100/200/300, 3 nights of 50/100/150, 9 meals of 10/15/20
    assert price_statistics(request("easy"), world) == (
        200 + 150 + 90,
        400 + 300 + 135,
        600 + 450 + 180,
    )
    assert official_budget(request("easy"), world) == 600  # half of 440 + 835 is 637.5


def test_a_party_counts_and_medium_wishes_do_not(world):
    # Hotels for two: 100/125/150. (200+300+90 + 400+375+135) / 2 = 750, for two at three quarters
    for wishes in ({}, {"room_type": "private room"}):
        assert official_budget(request("medium", people=2, **wishes), world) == 1100  # 1,125


def test_state_trips_take_the_days_flights_to_every_city(world):
    # 3 flights of 100/250/400 (the 9th is no day of the trip), 5 nights of 50/150/300, 15 meals of
    # 10/30/60
    assert price_statistics(request("easy", 5), world) == (
        300 + 250 + 150,
        750 + 750 + 450,
        1200 + 1500 + 900,
    )
    assert official_budget(request("easy", 5), world) == 2000  # 1,950
    # 4 × 250/400, 7 × 150/300, 21 × 30/60: half of 2,680 + 4,960 is 3,820
    assert official_budget(request("easy", 7), world) == 3800
    assert (
        official_budget(request("medium", 7, people=2), world) == 5800
    )  # hotels 100/183/300: 3,936.67, so 3,900 × 1.5, and halves go to even


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
