"""The days of an itinerary, as read, → the official format.

What the text leaves unsaid is filled only by what it says elsewhere: a day without a journey is
spent where the last one ended; a guest who checked in stays until leaving; a place without a city
lies in the city of arrival if its line follows the day's journey, in the city of departure if it
precedes it. A world, if given, is asked first, in that order; a name it does not know stays as
written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tripwright.domains.travelplanner.plan.itinerary.headings import Heading
from tripwright.domains.travelplanner.plan.itinerary.lines import ItineraryLine, Kind
from tripwright.domains.travelplanner.plan.itinerary.names import Name
from tripwright.domains.travelplanner.plan.itinerary.travel import UnreadableItinerary, read_route
from tripwright.domains.travelplanner.plan.plan import CityOf, PlaceKind, bare_city

SHOWN = 100  # characters of a quoted line


@dataclass
class ItineraryDay:
    number: int
    heading: Heading
    line: str  # the heading as written, to quote
    items: list[tuple[str, ItineraryLine]] = field(
        default_factory=list
    )  # (line as written, what it says)

    def only(self, kind: Kind) -> tuple[int, ItineraryLine] | None:
        """(position, item) of this kind; lines that say the same twice count once."""
        matches = [
            (position, item) for position, (_, item) in enumerate(self.items) if item.kind == kind
        ]
        if len({(item.names, item.journey, item.exact) for _, item in matches}) > 1:
            raise quoting(
                f"day {self.number} has a second line for {kind}", self.items[matches[-1][0]][0]
            )
        return matches[0] if matches else None


@dataclass(frozen=True)
class _Stay:
    text: str
    city: str
    nights_left: int | None  # None: until the traveller leaves


def quoting(problem: str, line: str) -> UnreadableItinerary:
    line_text = " ".join(line.split())
    if not line_text.isprintable():
        line_text = ascii(line_text)[1:-1]
    return UnreadableItinerary(
        f"{problem}: '{line_text if len(line_text) <= SHOWN else line_text[: SHOWN - 1] + '…'}'"
    )


def official_plan(
    days: Sequence[ItineraryDay], home: str | None, city_of: CityOf | None
) -> list[dict[str, Any]]:
    here, stay = home, None
    plan: list[dict[str, Any]] = []
    for day in days:
        city, cities = _where(day, here)
        places = _Places(day, cities, city_of)
        here, stay = cities[0], _stay(day, cities, stay, places, day is days[-1])
        plan.append(
            {
                "days": day.number,
                "current_city": city,
                "transportation": _transport(day),
                "breakfast": places.one("breakfast"),
                "attraction": places.sights(),
                "lunch": places.one("lunch"),
                "dinner": places.one("dinner"),
                "accommodation": stay.text if stay else "-",
            }
        )
    return plan


def _where(day: ItineraryDay, here: str | None) -> tuple[str, list[str]]:
    """(the official text of the day's city, its cities: where the day ends first)."""
    heading, travel, city_line = day.heading, day.only("travel"), day.only("city")
    exact = (
        heading.exact if heading.exact is not None else city_line[1].exact if city_line else None
    )
    if exact is not None:
        route = (
            read_route(exact)
            if exact.lower().startswith("from ") or "→" in exact or "->" in exact
            else None
        )
        return (
            (f"from {route[0]} to {route[1]}", [route[1], route[0]]) if route else (exact, [exact])
        )
    journey = travel[1].journey if travel else None
    route = heading.route or ((journey.origin, journey.destination) if journey else None)
    if route:
        title_city = heading.to or heading.city
        if title_city and bare_city(title_city) not in (
            bare_city(route[0]),
            bare_city(route[1]),
        ):
            raise quoting(
                f"day {day.number} travels to {route[1]}, not to {title_city} as its heading says",
                day.line,
            )
        return f"from {route[0]} to {route[1]}", [route[1], route[0]]
    title_city = heading.to or heading.city
    if title_city and (here is None or bare_city(title_city) != bare_city(here)):
        if not heading.to:
            return title_city, [title_city]
        if here is None:
            raise quoting(f"day {day.number} does not say where it starts", day.line)
        return f"from {here} to {title_city}", [title_city, here]
    if here is None:
        raise quoting(f"day {day.number} does not say in which city it is spent", day.line)
    return here, [here]


def _transport(day: ItineraryDay) -> str:
    line = day.only("travel")
    if not line:
        return "-"
    item = line[1]
    return item.journey.text if item.journey else item.exact or ""


@dataclass(frozen=True)
class _Places:
    """The places of one day as 'Name, City'. `cities`: where the day ends first."""

    day: ItineraryDay
    cities: Sequence[str]
    city_of: CityOf | None

    def one(self, kind: Literal["breakfast", "lunch", "dinner", "accommodation"]) -> str:
        line = self.day.only(kind)
        return self._texts(*line)[0] if line else "-"

    def sights(self) -> str:
        lines = [
            (position, item)
            for position, (_, item) in enumerate(self.day.items)
            if item.kind == "attraction"
        ]
        exact = [item.exact for _, item in lines if item.exact is not None]
        if exact and len(lines) > 1:
            raise quoting(
                f"day {self.day.number} has a second line for attraction",
                self.day.items[lines[-1][0]][0],
            )
        if exact:
            return exact[0]
        return "".join(f"{sight};" for each in lines for sight in self._texts(*each)) or "-"

    def _texts(self, position: int, item: ItineraryLine) -> list[str]:
        if item.exact is not None:
            return [item.exact]
        kind: PlaceKind = (
            item.kind if item.kind == "attraction" or item.kind == "accommodation" else "restaurant"
        )
        travel = self.day.only("travel")
        before_leaving = travel is not None and position < travel[0] and kind != "accommodation"
        return [
            self._placed(kind, name, self.cities[::-1] if before_leaving else self.cities)
            for name in item.names
        ]

    def _placed(self, kind: PlaceKind, name: Name, cities: Sequence[str]) -> str:
        city = (
            name.city
            or (self.city_of(kind, name.text, cities) if self.city_of else None)
            or cities[0]
        )
        return f"{name.text}, {city}"


def _stay(
    day: ItineraryDay, cities: Sequence[str], earlier: _Stay | None, places: _Places, last: bool
) -> _Stay | None:
    """Tonight's stay: the one the day names, else the earlier one while it lasts and the trip stays
    in its city."""
    if line := day.only("accommodation"):
        nights = line[1].nights
        return _Stay(places.one("accommodation"), cities[0], None if nights is None else nights - 1)
    if (
        earlier is None
        or last
        or len(cities) > 1
        or cities[0] != earlier.city
        or earlier.nights_left == 0
        or day.only("check out")
    ):
        return None
    return replace(
        earlier, nights_left=None if earlier.nights_left is None else earlier.nights_left - 1
    )
