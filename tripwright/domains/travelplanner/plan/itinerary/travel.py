"""A journey in an itinerary ↔ the official transportation text.

Flight [F12] from A to B | Departure: 08:00 | Arrival: 09:00
Flight Number: F12, from A to B, Departure Time: 08:00, Arrival Time: 09:00

Self-driving from A to B | Duration: 5h 40m | Distance: 600 km | Cost: $30
Self-driving, from A to B, duration: 5h 40m, distance: 600 km, cost: 30
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_FLIGHT = re.compile(
    r"Flight Number: ([^,]*), (from .+?)(?:, Departure Time: ([^,]+))?(?:, Arrival Time: ([^,]+))?"
    r"(?:, duration: ([^,]+), distance: ([^|]+?), cost: (\d+))?"
)
_ROAD = re.compile(
    r"([A-Z][\w-]+), (from .+?)(?:, duration: (.+?))?(?:, distance: (.+?))?(?:, cost: (.+))?"
)
_HEAD = re.compile(r"(?:Flight \[([^\[\]]*)\]|([A-Z][\w-]+)) (from .+)")
# what the itinerary calls a detail → what the official format does; the last three of a flight only
# stand together
FLIGHT_DETAILS = {
    "Departure": "Departure Time",
    "Arrival": "Arrival Time",
    "Duration": "duration",
    "Distance": "distance",
    "Fare per person": "cost",
}
ROAD_DETAILS = {"Duration": "duration", "Distance": "distance", "Cost": "cost"}
MONEY = ("Fare per person", "Cost")
JOURNEY = (
    "Flight [F12] from A to B | Departure: 08:00 | Arrival: 09:00, or Taxi from A to B | Cost: $30"
)


def read_route(text: str) -> tuple[str, str] | None:
    """'from A to B', 'A to B' or 'A → B', and nothing else."""
    route = " ".join(text.split())
    match = re.fullmatch(r"(?:from )?(.+?)(?: to | ?(?:→|->|–>) ?)(.+)", route, re.IGNORECASE)
    if not match or re.search(r" to |→|->", match[2]) or re.search(r"[|,;\[\]]", route):
        return None
    return match[1], match[2]


def read_journey(text: str) -> str | None:
    """The official text; None for what is not in this form."""
    head, *segments = text.split(" | ")
    start = _HEAD.fullmatch(head)
    if start is None or read_route(start[3]) is None:
        return None
    names = ROAD_DETAILS if start[1] is None else FLIGHT_DETAILS
    details = dict(segment.split(": ", 1) for segment in segments if ": " in segment)
    if len(details) < len(segments) or list(details) != [name for name in names if name in details]:
        return None
    way = start[2] if start[1] is None else f"Flight Number: {start[1]}"
    claims = [
        f"{names[name]}: {value.removeprefix('$') if name in MONEY else value}"
        for name, value in details.items()
    ]
    return ", ".join([f"{way}, {start[3]}", *claims])


def written_journey(official: str) -> str | None:
    """The other way; None for a text that is not in the official form."""
    if match := _FLIGHT.fullmatch(official):
        number, route, *values = match.groups()
        return _written(f"Flight [{number}] {route}", FLIGHT_DETAILS, values)
    if match := _ROAD.fullmatch(official):
        mode, route, *values = match.groups()
        return _written(f"{mode} {route}", ROAD_DETAILS, values)
    return None


def _written(head: str, names: Mapping[str, str], values: list[str | None]) -> str:
    claims = [
        f"{name}: {'$' if name in MONEY else ''}{value}"
        for name, value in zip(names, values, strict=True)
        if value
    ]
    return " | ".join([head, *claims])
