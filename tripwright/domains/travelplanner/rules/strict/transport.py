"""How the strict rules read cities, routes and transport: a closed vocabulary, one route a day, and
the one row of the tables it means.

    from A to B                                                                                  a
    day's cities Flight Number: F123, from A to B[, Departure Time: 08:00][, Arrival Time: 09:15]
    transport Self-driving, from A to B[, duration: 2 hours 5 mins][, distance: 190 km][, cost: 9]
    … or Taxi

A city may carry its state: "A(Ohio)". What else a text claims must be what the row says
(`claims.py`); a piece that claims nothing known makes the whole transport unreadable, for
"Flight …, then taxi from B to C" must not be priced as half of it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from tripwright.domains.travelplanner.rules.facts import shown
from tripwright.domains.travelplanner.rules.lookup import road_cost_usd
from tripwright.domains.travelplanner.rules.strict.claims import ClaimProblem, false_claims
from tripwright.domains.travelplanner.rules.strict.lookup import city_named
from tripwright.world.records import Flight
from tripwright.world.store import World

Mode = Literal["flight", "self-driving", "taxi"]
FLIGHT_LABEL = "Flight Number: "
NEEDED = "'Flight Number: …, from A to B', 'Self-driving, from A to B' or 'Taxi, from A to B'"
_MOST_PIECES = 12


class PlannedRoute(NamedTuple):
    """Cities are None where they are not a city of the world."""

    is_leg: bool  # says 'from … to …', whatever the cities
    origin: str | None
    destination: str | None


class PlannedLeg(NamedTuple):
    """`unit_usd` (per person for a flight, else per vehicle) and `duration` are those of the row,
    and known only for a leg without problems."""

    mode: Mode | None
    route: PlannedRoute
    flight: Flight | None
    unit_usd: float | None
    problems: tuple[ClaimProblem, ...] = ()
    duration: str = ""


def route_of(text: str, world: World) -> PlannedRoute:
    """'from A to B', or 'A' for a day in one place."""
    origin, middle, destination = text.removeprefix("from ").partition(" to ")
    if text.startswith("from ") and middle:
        return PlannedRoute(True, city_named(origin, world), city_named(destination, world))
    city = city_named(text, world)
    return PlannedRoute(False, city, city)


def read_leg(text: str, date: str | None, world: World) -> PlannedLeg:
    head, *rest = text.split(", ", _MOST_PIECES)
    mode = _mode(head)
    route = route_of(rest[0] if rest else "", world)
    if mode is None or (mode == "flight" and not head.startswith(FLIGHT_LABEL)):
        return PlannedLeg(mode, route, None, None, (ClaimProblem(shown(text), NEEDED),))
    if (
        not route.is_leg
        or route.origin is None
        or route.destination is None
        or route.origin == route.destination
    ):
        return PlannedLeg(
            mode,
            route,
            None,
            None,
            (ClaimProblem(shown(text), f"{NEEDED}, between two cities of this world"),),
        )
    if mode == "flight":
        return _fly(head.removeprefix(FLIGHT_LABEL), route, date, rest[1:], world)
    return _drive(mode, route, rest[1:], world)


def _mode(head: str) -> Mode | None:
    """By the first word alone: 'Taxi or self-driving' is no way to travel."""
    lowered = head.lower()
    if lowered.startswith("flight number"):
        return "flight"
    return "self-driving" if lowered == "self-driving" else "taxi" if lowered == "taxi" else None


def _fly(
    number: str, route: PlannedRoute, date: str | None, claims: list[str], world: World
) -> PlannedLeg:
    origin, destination = str(route.origin), str(route.destination)
    rows = world.flights(origin, destination, date) if date is not None and date.isascii() else None
    rows_of_number = [row for row in rows or () if row.number == number]
    wrong: tuple[ClaimProblem, ...] = (
        ClaimProblem(
            f"flight {shown(number)}", _needed_flight(origin, destination, date, rows is not None)
        ),
    )
    for row in rows_of_number:
        facts = {"departure time": row.departure_time, "arrival time": row.arrival_time}
        wrong = false_claims(
            claims, facts, row.duration, f"{row.distance_miles:g} miles", (row.price_usd,)
        )
        if not wrong:
            return PlannedLeg("flight", route, row, row.price_usd, (), row.duration)
    return PlannedLeg("flight", route, None, None, wrong)


def _needed_flight(origin: str, destination: str, date: str | None, are_known: bool) -> str:
    day = f"on {date}" if date is not None else "on this day, for which the request gives no date"
    unknown = (
        ""
        if are_known
        else "; this world does not know which flights there are, so none can be accepted"
    )
    return f"a flight from {origin} to {destination} {day}{unknown}"


def _drive(mode: Mode, route: PlannedRoute, claims: list[str], world: World) -> PlannedLeg:
    origin, destination = str(route.origin), str(route.destination)
    cost_usd = road_cost_usd(world, origin, destination, mode)
    ground = world.ground(origin, destination)
    if cost_usd is None or ground is None:
        problem = ClaimProblem(
            f"{mode} from {origin} to {destination}",
            "a road between the two cities, in less than a day",
        )
        return PlannedLeg(mode, route, None, None, (problem,))
    costs_usd = (
        (cost_usd,)
        if mode == "taxi"
        else (cost_usd, road_cost_usd(world, origin, destination, "taxi") or 0)
    )
    wrong = false_claims(claims, {}, ground.duration, ground.distance, costs_usd) if claims else ()
    if wrong:
        return PlannedLeg(mode, route, None, None, wrong)
    return PlannedLeg(mode, route, None, cost_usd, (), ground.duration)
