"""Where the cities of imported tables lie: where their sights are, unless roads or flights
contradict it.

The subtle thing: tables mix up cities of one name, and the sights of "Washington" are then in
Seattle. A map distance can hardly exceed the road, nor be a fraction of it, and flights fly great
circles. A city whose sights fail this, and one without any, is put where its roads or flights to
the other cities meet; where these do not meet in one place, its position stays unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median

from tripwright.world.geography import KM_PER_MILE, Position, great_circle_km

MAP_PER_ROAD = (0.5, 1.0)  # of a road that its two ends bear out
# of a city's roads: at most 0.14 in the real tables, but 0.54 to 0.95 where two cities of a name
# are mixed up
MOST_CONTRADICTED = 0.6
AIR_PER_ROAD = 0.84  # where the tables have no road between cities with sights
FLIGHT_TOLERANCE = (60.0, 0.1)  # miles, and share of the length: airports lie outside of cities
MOST_ANCHORS = 40  # the nearest are the surest
FEWEST_ANCHORS = 3  # two circles meet in two places
MISFIT = 0.12  # median relative error at which circles do not meet
STEPS = (4.0, 2.0, 1.0, 0.5, 0.25, 0.12, 0.06, 0.03)  # degrees

Route = tuple[str, str]
Anchors = list[tuple[float, Position]]  # (kilometres as the crow flies, position)


def locate(
    sights: Mapping[str, Position],
    road_km: Mapping[Route, float | None],
    air_miles: Mapping[Route, float],
) -> dict[str, Position]:
    """City → position, for the cities where one can be told. `air_miles`: mean length of known
    flights by route."""
    roads, flights = (
        _ways(road_km),
        _ways({route: miles * KM_PER_MILE for route, miles in air_miles.items()}),
    )
    placed = dict(sights)
    for city in [
        city
        for city in placed
        if _off_the_roads(city, roads[city], sights) and not _borne_out(city, flights[city], sights)
    ]:
        del placed[city]
    astray = _astray(placed, roads, flights)
    for city in astray:
        del placed[city]
    ratio = _air_per_road(placed, roads)
    positions = dict(placed)
    for city in sorted({*roads, *flights}):
        if city in placed:
            continue
        flown = [(km, placed[other]) for other, km in flights[city] if other in placed]
        driven = [(km * ratio, placed[other]) for other, km in roads[city] if other in placed]
        for anchors in (flown, driven):
            if anchors is driven and city in astray:
                continue  # its roads agree with the sights that its flights contradict
            if (place := _meeting_point(anchors)) is not None:
                if not any(
                    _contradicts(place, placed[other], km)
                    for other, km in flights[city]
                    if other in placed
                ):
                    positions[city] = place
                break
    return positions


def _ways(lengths: Mapping[Route, float | None]) -> dict[str, list[tuple[str, float]]]:
    """City → (other city, km), of both directions."""
    neighbours: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for (a, b), km in lengths.items():
        if km and a != b:
            neighbours[a].append((b, km))
            neighbours[b].append((a, km))
    return neighbours


def _off_the_roads(
    city: str, roads: Iterable[tuple[str, float]], sights: Mapping[str, Position]
) -> bool:
    ratios = [
        great_circle_km(sights[city], sights[other]) / km for other, km in roads if other in sights
    ]
    contradicted = sum(not MAP_PER_ROAD[0] <= ratio <= MAP_PER_ROAD[1] for ratio in ratios)
    return contradicted > MOST_CONTRADICTED * len(ratios)


def _borne_out(
    city: str, flights: Iterable[tuple[str, float]], sights: Mapping[str, Position]
) -> bool:
    return any(
        not _contradicts(sights[city], sights[other], km)
        for other, km in flights
        if other in sights
    )


def _astray(
    placed: Mapping[str, Position],
    roads: Mapping[str, list[tuple[str, float]]],
    flights: Mapping[str, list[tuple[str, float]]],
) -> set[str]:
    """The fewest cities without which no known flight contradicts the map; of two that contradict
    each other, the one with fewer roads."""
    removed: set[str] = set()

    def contradicted(city: str) -> tuple[float, int, str]:
        checked = [
            _contradicts(placed[city], placed[other], km)
            for other, km in flights[city]
            if other in placed and other not in removed
        ]
        return sum(checked) / max(1, len(checked)), -len(roads.get(city, ())), city

    while (
        worst := max(
            (contradicted(city) for city in placed if city in flights and city not in removed),
            default=(0.0, 0, ""),
        )
    )[0] > 0:
        removed.add(worst[2])
    return removed


def _contradicts(a: Position, b: Position, km: float) -> bool:
    miles, share = FLIGHT_TOLERANCE
    return abs(great_circle_km(a, b) - km) > miles * KM_PER_MILE + share * km


def _air_per_road(
    placed: Mapping[str, Position], roads: Mapping[str, list[tuple[str, float]]]
) -> float:
    ratios = [
        great_circle_km(place, placed[other]) / km
        for city, place in placed.items()
        for other, km in roads.get(city, ())
        if other in placed
    ]
    return median(ratios) if ratios else AIR_PER_ROAD


def _meeting_point(anchors: Anchors) -> Position | None:
    """Where circles of these radii meet: from the best of their centres, in steps downhill."""
    anchors = sorted(anchors)[:MOST_ANCHORS]
    if len({place for _, place in anchors}) < FEWEST_ANCHORS:
        return None

    def misfit(place: Position) -> float:
        """Sum of relative errors, in which one wrong road counts little."""
        return sum(min(1.0, abs(great_circle_km(place, anchor) / km - 1)) for km, anchor in anchors)

    best, place = min((misfit(anchor), anchor) for _, anchor in anchors)
    for step in STEPS:
        moved = True
        while moved:
            moved = False
            for north, east in ((step, 0.0), (-step, 0.0), (0.0, step), (0.0, -step)):
                candidate = Position(place.latitude + north, place.longitude + east)
                if abs(candidate.latitude) < 90 and (error := misfit(candidate)) < best:
                    place, best, moved = candidate, error, True
    errors = [abs(great_circle_km(place, anchor) / km - 1) for km, anchor in anchors]
    return place if median(errors) <= MISFIT else None
