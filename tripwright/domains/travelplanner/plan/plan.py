"""What is answered: a day-by-day plan, in Planner-R1's JSON schema (row P3) or in the official
TravelPlanner format (row T3).

Models write Planner-R1's schema; the official rules read the official format, so `to_official`
translates. Planner-R1 names restaurants, sights and stays without their city, while the official
format is "Name, City". Whoever knows the world passes a `city_of` callback; on a travel day the
city of arrival is asked first, then the city of departure, and the arrival city is written when
neither has the place (so that an invented name stays an invented name, in a city where it can be
looked for).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Meal = Literal["breakfast", "lunch", "dinner"]
PlaceKind = Literal["restaurant", "attraction", "accommodation"]
# (kind, name, candidate cities in order) → the city that has it
CityOf = Callable[[PlaceKind, str, Sequence[str]], str | None]

MEALS: tuple[Meal, ...] = ("breakfast", "lunch", "dinner")
# The fields of a day in the official format, beside "days": in the order in which a day is written,
# and in that in which rules check it.
OFFICIAL_FIELDS = tuple(
    "current_city transportation breakfast attraction lunch dinner accommodation".split()
)
FIELDS_AS_CHECKED = ("current_city", "transportation", *MEALS, "attraction", "accommodation")


# how people and models write that there is nothing
NOTHING = frozenset(("", "-", "\u2013", "\u2014", "None", "none", "N/A", "n/a"))
END = " ,."  # says nothing behind a name
_TYPED = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014", "''\"\"--")


def typed(name: str) -> str:
    """A name as somebody types it: straight quotes, short dashes, one blank for any, no period."""
    return " ".join(name.translate(_TYPED).split()).rstrip(END)


def _whole_number(value: Any) -> Any:
    """JSON has one number type and its schema calls 70.0 an integer; True is not one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _mode(value: Any) -> Any:
    """'Flight' is a flight."""
    return value.lower() if isinstance(value, str) else value


def _nothing(value: Any) -> Any:
    """An empty list is no sights."""
    return "-" if value == [] or (isinstance(value, str) and value.strip() in NOTHING) else value


Integer = Annotated[int, BeforeValidator(_whole_number)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


class CityLeg(_Strict):
    """A travel day: the trip moves between two cities."""

    origin: str = Field(alias="from")
    destination: str = Field(alias="to")


class Transport(_Strict):
    """`cost` is in US dollars, per person for flights and per vehicle on the road."""

    mode: Annotated[Literal["flight", "taxi", "self-driving"], BeforeValidator(_mode)]
    origin: str = Field(alias="from")
    destination: str = Field(alias="to")
    duration: str
    distance: str
    cost: Integer
    flight_number: str | None = None
    departure_time: str | None = None
    arrival_time: str | None = None


class DayPlan(_Strict):
    """One day in Planner-R1's schema; '-' means none."""

    days: Integer
    city: str | CityLeg
    transportation: Literal["-"] | Transport
    attraction: Annotated[
        Literal["-"] | Annotated[list[str], Field(min_length=1, fail_fast=True)],
        BeforeValidator(_nothing),
    ]
    accommodation: str
    breakfast: str
    lunch: str
    dinner: str

    def record(self) -> dict[str, Any]:
        """The day as JSON data, as the schema spells it."""
        return self.model_dump(by_alias=True, exclude_none=True)


# The schema of one element of the plan array, as printed in Planner-R1, Appendix B.2 (row P3; two
# misprints mended: an unclosed quote, and `additionalProperties` belongs beside `properties`). It
# goes into prompts; the models above are what is enforced.
PLAN_SCHEMA: dict[str, Any] = json.loads("""{
    "type": "object",
    "required": ["days", "city", "transportation", "attraction", "accommodation", "breakfast", "lunch", "dinner"],
    "properties": {
        "days": {"description": "The day number of the plan starting from 1.", "type": "integer"},
        "city": {
            "description": "Can be a city name string if no transfer is needed, or an dict with 'from' and 'to' keys that indicates the origin and destination city.",
            "oneOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "required": ["from", "to"],
                    "properties": {"from": {"type": "string"}, "to": {"type": "string"}},
                    "additionalProperties": false
                }
            ]
        },
        "transportation": {
            "description": "Either '-' if no transportation is needed, or an object describing the transportation details. Instead of total cost, use per person price for flight and per vehicle cost for taxi/self-driving as the cost.",
            "oneOf": [
                {"type": "string", "const": "-"},
                {
                    "type": "object",
                    "required": ["mode", "from", "to", "duration", "distance", "cost"],
                    "properties": {
                        "mode": {"type": "string", "enum": ["flight", "taxi", "self-driving"], "description": "Type of transportation."},
                        "from": {"type": "string", "description": "Origin city"},
                        "to": {"type": "string", "description": "Destination city"},
                        "duration": {"type": "string", "description": "Transportation duration"},
                        "distance": {"type": "string", "description": "Distance of the trip"},
                        "cost": {"type": "integer", "description": "Cost of the transportation"},
                        "flight_number": {"type": "string", "description": "Flight number (for flights only)"},
                        "departure_time": {"type": "string", "description": "Flight departure time"},
                        "arrival_time": {"type": "string", "description": "Flight arrival time"}
                    },
                    "additionalProperties": false
                }
            ]
        },
        "attraction": {
            "description": "A list of attraction names planned for the day, or '-' if no attractions are planned.",
            "oneOf": [
                {"type": "string", "const": "-"},
                {"type": "array", "items": {"type": "string"}, "minItems": 1}
            ]
        },
        "accommodation": {"description": "The name of the accommodation for today. '-' if no accommodation is needed.", "type": "string"},
        "breakfast": {"description": "The name of the breakfast restaurant for today. '-' if no breakfast is planned.", "type": "string"},
        "lunch": {"description": "The name of the lunch restaurant for today. '-' if no lunch is planned.", "type": "string"},
        "dinner": {"description": "The name of the dinner restaurant for today. '-' if no dinner is planned.", "type": "string"}
    },
    "additionalProperties": false
}""")  # noqa: E501


def to_official(days: Sequence[DayPlan], city_of: CityOf | None = None) -> list[dict[str, Any]]:
    """The plan as the official rules read it. Blank names become '-': an empty name would match
    every row of a city there."""
    return [_official_day(day, city_of) for day in days]


def _official_day(day: DayPlan, city_of: CityOf | None) -> dict[str, Any]:
    leg = day.city if isinstance(day.city, CityLeg) else None
    cities = [leg.destination, leg.origin] if leg else [str(day.city)]

    def placed(kind: PlaceKind, name: str) -> str:
        if name.strip() in NOTHING:
            return "-"
        city = city_of(kind, name, cities) if city_of else None
        if city is None and city_of is not None:  # perhaps it says its city, as in "Name, City"
            place, _, tail = name.rpartition(",")
            named = [each for each in cities if _bare(each) == _bare(tail.rstrip(END))]
            if named and city_of(kind, place, named) is not None:
                return f"{place.strip()}, {named[0]}"
        return f"{name}, {city or cities[0]}"

    sights = (
        [] if day.attraction == "-" else [placed("attraction", name) for name in day.attraction]
    )
    return {
        "days": day.days,
        "current_city": f"from {leg.origin} to {leg.destination}" if leg else str(day.city),
        "transportation": _official_transport(day.transportation),
        "breakfast": placed("restaurant", day.breakfast),
        "attraction": "".join(f"{sight};" for sight in sights if sight != "-") or "-",
        "lunch": placed("restaurant", day.lunch),
        "dinner": placed("restaurant", day.dinner),
        "accommodation": placed("accommodation", day.accommodation),
    }


def _bare(city: str) -> str:
    """'Rockford (Illinois)' → 'Rockford'."""
    return city.partition("(")[0].strip()


def _official_transport(transport: Transport | Literal["-"]) -> str:
    """With all that is said of the leg: the official rules read past it, strict ones don't."""
    if transport == "-":
        return "-"
    times = {"Departure Time": transport.departure_time, "Arrival Time": transport.arrival_time}
    figures = {"duration": transport.duration, "distance": transport.distance}
    costs = {"cost": str(transport.cost)}
    if transport.mode == "flight":
        # no number stays a flight, and an invalid one
        way, claims = f"Flight Number: {transport.flight_number or ''}", times | figures | costs
    else:
        # not "Flight Number": the official rules would take it for a flight
        numbers = {"number": transport.flight_number}
        way, claims = transport.mode.capitalize(), figures | costs | numbers | times
    route = f"from {transport.origin} to {transport.destination}"
    # ", " is what separates claims: "2 hours, 24 minutes" is one
    said = [
        f"{label}: {claim.replace(', ', ' ')}"
        for label, claim in claims.items()
        if claim is not None
    ]
    return ", ".join([way, route, *said])
