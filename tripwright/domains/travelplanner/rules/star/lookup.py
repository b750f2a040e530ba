"""How STAR's evaluator reads a plan's text and finds its places: the official way, but for
two things.

A state in parentheses is never dropped, so "Aston(Westland)" is no city of any table. And every
filled transportation has a mode: "flight" wins, then "taxi", and any other word ("Drive", "Bus",
"Walk") means driving, so that no word escapes the road table.
"""

from __future__ import annotations

from typing import Any, Literal

from tripwright.domains.travelplanner.rules.lookup import Lookup, road_cost_usd
from tripwright.domains.travelplanner.rules.text import from_to
from tripwright.world.records import Accommodation, Restaurant

Mode = Literal["flight", "self-driving", "taxi"]
FLIGHT_LABEL = "Flight Number: "


class StarLookup(Lookup):
    """STAR's look-ups for one plan. No table has a city with a parenthesis, so a text with one
    after its last comma finds nothing."""

    def route_of_day(self, current_city: Any) -> list[Any]:
        """[A, B] for 'from A to B' ([None, None] where it cannot be read), else the text as it
        is."""
        if "from" not in current_city:
            return [current_city]
        if current_city not in self._routes:
            origin, destination = from_to(current_city)
            self._routes[current_city] = [origin, destination]
        return self._routes[current_city]

    def stays(self, text: Any) -> list[Accommodation]:
        if text not in self._stays and _is_with_state(text):
            self._stays[text] = []
        return super().stays(text)

    def has_attraction(self, text: Any) -> bool:
        return not _is_with_state(text) and super().has_attraction(text)

    def _restaurant(self, text: Any) -> tuple[str, Restaurant | None]:
        if text not in self._restaurants and _is_with_state(text):
            self._restaurants[text] = text.rpartition(",")[2].strip(), None
        return super()._restaurant(text)

    def vehicle_usd(self, origin: str | None, destination: str | None, mode: Mode) -> int | None:
        """The price per vehicle; None for a road that is not in the table, has no data, or takes
        more than a day."""
        if origin is None or destination is None or "(" in origin + destination:
            return None
        return road_cost_usd(self.world, origin, destination, mode)


def mode_of(text: Any) -> Mode:
    """Of a filled transportation."""
    lowered = text.lower()
    if "flight" in lowered:
        return "flight"
    return "taxi" if "taxi" in lowered else "self-driving"


def flight_number(text: str) -> str | None:
    """Between the exact label and the next comma; None without the label."""
    pieces = text.split(FLIGHT_LABEL)
    return pieces[1].split(",")[0] if len(pieces) > 1 else None


def _is_with_state(text: Any) -> bool:
    if not isinstance(text, str):
        return False
    _, comma, city = text.rpartition(",")
    return bool(comma) and "(" in city
