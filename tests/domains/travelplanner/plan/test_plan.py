import string
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.made import trip
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import (
    FIELDS_AS_CHECKED,
    OFFICIAL_FIELDS,
    PLAN_SCHEMA,
    DayPlan,
    PlaceKind,
    to_official,
)
from tripwright.domains.travelplanner.query import request_line

FLIGHT = {
    "mode": "flight", "from": "Home", "to": "Aston", "duration": "1 hours 0 minutes", "distance": "106 miles", "cost": 100,
    "flight_number": "F1", "departure_time": "08:00", "arrival_time": "09:00",
}  # fmt: skip
DAY = {
    "days": 1, "city": {"from": "Home", "to": "Aston"}, "transportation": FLIGHT, "attraction": ["Old Tower", "Lake"],
    "accommodation": "Inn, the old one", "breakfast": "-", "lunch": "Station Grill", "dinner": "Dal Palace",
}  # fmt: skip
OFFICIAL = {
    "days": 1,
    "current_city": "from Home to Aston",
    "transportation": "Flight Number: F1, from Home to Aston, Departure Time: 08:00, Arrival Time: 09:00"
    ", duration: 1 hours 0 minutes, distance: 106 miles, cost: 100",
    "breakfast": "-",
    "attraction": "Old Tower, Aston;Lake, Aston;",
    "lunch": "Station Grill, Home",
    "dinner": "Dal Palace, Aston",
    "accommodation": "Inn, the old one, Aston",
}


def places(kind: PlaceKind, name: str, cities: Sequence[str]) -> str | None:
    """Station Grill stands in both cities' country only at home; everything else is in Aston."""
    where = {"Station Grill": "Home", "Dal Palace": "Aston"}.get(name)
    return where if where in cities else None


def days(*records: dict[str, Any]) -> list[DayPlan]:
    parsed = parse_days(list(records))
    assert parsed.days is not None, parsed.problem
    return parsed.days


def test_a_travel_day_asks_the_city_of_arrival_first():
    asked = []

    def city_of(kind: PlaceKind, name: str, cities: Sequence[str]) -> str | None:
        asked.append((kind, name, list(cities)))
        return places(kind, name, cities)

    assert to_official(days(DAY), city_of) == [OFFICIAL]
    assert ("restaurant", "Station Grill", ["Aston", "Home"]) in asked
    assert {kind for kind, _, _ in asked} == {"restaurant", "attraction", "accommodation"}


def test_a_day_is_written_in_the_order_of_the_official_fields():
    assert list(to_official(days(DAY))[0]) == ["days", *OFFICIAL_FIELDS]
    assert sorted(FIELDS_AS_CHECKED) == sorted(OFFICIAL_FIELDS)


def test_without_a_world_the_city_of_arrival_is_written():
    assert to_official(days(DAY))[0]["lunch"] == "Station Grill, Aston"


def test_road_and_stay_days():
    road = {"mode": "self-driving", "from": "A", "to": "B"}
    road |= {"duration": "1 hour 2 mins", "distance": "1,070 km", "cost": 53}
    stay = {"days": 2, "city": "B", "transportation": "-", "attraction": "-"}
    driven, stayed = to_official(days(DAY | {"transportation": road}, DAY | stay))
    said = "from A to B, duration: 1 hour 2 mins, distance: 1,070 km, cost: 53"
    assert driven["transportation"] == f"Self-driving, {said}"
    (taken,) = to_official(days(DAY | {"transportation": road | {"mode": "taxi"}}))
    assert taken["transportation"] == f"Taxi, {said}"
    assert stayed["current_city"] == "B"
    assert stayed["attraction"] == stayed["transportation"] == "-"


def test_a_flight_without_a_number_stays_a_flight_that_can_be_looked_up_and_not_found():
    own = ("flight_number", "departure_time", "arrival_time")
    bare = {key: value for key, value in FLIGHT.items() if key not in own}
    (written,) = to_official(days(DAY | {"transportation": bare}))
    assert written["transportation"].startswith("Flight Number: , from Home to Aston, duration:")


def test_blank_names_are_absent():
    """', Aston' would match every row of Aston under the official rules."""
    blank = {"lunch": "", "dinner": "  ", "accommodation": "", "attraction": [" ", "-"]}
    (written,) = to_official(days(DAY | blank))
    assert {written[field] for field in blank} == {"-"}


def test_the_prompt_schema_and_the_models_have_the_same_fields():
    assert set(PLAN_SCHEMA["properties"]) == set(PLAN_SCHEMA["required"])
    assert set(PLAN_SCHEMA["properties"]) == set(DayPlan.model_fields)
    transport = PLAN_SCHEMA["properties"]["transportation"]["oneOf"][1]
    assert set(FLIGHT) == set(transport["properties"])
    for key in transport["required"]:
        lacking = {k: v for k, v in FLIGHT.items() if k != key}
        assert parse_days([DAY | {"transportation": lacking}]).days is None


NAME = st.text(string.ascii_letters + " .&'", min_size=1, max_size=12).filter(
    lambda text: text == text.strip() and "  " not in text
)
CITIES = ["Aston", "Brook", "St. Clare", "Rockford(Illinois)"]
MEAL = st.just("-") | NAME
ROAD = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(["taxi", "self-driving"]),
        "duration": st.integers(1, 20).map(lambda hours: f"{hours} hours"),
        "distance": st.integers(1, 3000).map(lambda km: f"{km:,} km"),
        "cost": st.integers(0, 3000),
    }
)


@st.composite
def p3_day(draw: st.DrawFn) -> dict[str, Any]:
    origin, destination = draw(st.permutations(CITIES))[:2]
    travels = draw(st.booleans())
    return {
        "days": 1,
        "city": {"from": origin, "to": destination} if travels else origin,
        "transportation": draw(ROAD) | {"from": origin, "to": destination} if travels else "-",
        "attraction": draw(st.just("-") | st.lists(NAME, min_size=1, max_size=3)),
        "accommodation": draw(MEAL),
        **{meal: draw(MEAL) for meal in ("breakfast", "lunch", "dinner")},
    }


@settings(max_examples=100, deadline=None)
@given(p3_day())
def test_every_p3_day_has_an_official_text(record):
    (official,) = to_official(days(record))
    assert list(official) == list(OFFICIAL)
    assert all(isinstance(value, str) for key, value in official.items() if key != "days")
    assert official["attraction"] == "-" or official["attraction"].endswith(";")


def test_a_request_in_one_line():
    query = trip(budget=1500, local_constraint={"cuisine": ["Indian"], "house rule": "pets"})
    assert request_line(query) == (
        "Homer to Aston, 3 days, 2022-03-01 to 2022-03-03, 2 people, budget $1,500; pets allowed;"
        " Indian"
    )
