"""A city of a closed world as a map: where its sights, restaurants, hotels, station and airport
lie, and the ways between them.

Sights lie where the world's table puts them. Of everything else the world has no positions: these
are drawn from the world's content and the place's name, so that they are equal in every process.
Positions are kilometres from the city's middle; degrees are given where the table has sights to
count them from.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from tripwright.domains.deeptravel.tools.answers import PointOfInterest, RouteLeg
from tripwright.world.geography import Position
from tripwright.world.store import World

KM_PER_DEGREE = 111.32
WAY_PER_STRAIGHT = 1.3  # streets, against the crow
FARTHEST_WALK_KM = 4.0
# mode → (minutes before it moves, kilometres an hour)
SPEEDS = {"walking": (0.0, 4.8), "public transport": (8.0, 19.0), "driving": (3.0, 30.0)}
SIGHT, RESTAURANT, HOTEL, STATION, AIRPORT = (
    "attraction",
    "restaurant",
    "hotel",
    "train station",
    "airport",
)
# from the middle
REACH_KM = {RESTAURANT: (0.1, 6.0), HOTEL: (0.2, 9.0), STATION: (0.4, 2.5), AIRPORT: (11.0, 24.0)}
_STREETS = (
    "Main",
    "Station",
    "Mill",
    "Church",
    "Park",
    "Market",
    "River",
    "High",
    "Oak",
    "Bridge",
    "King",
    "Garden",
    "Lake",
    "Hill",
)


@dataclass(frozen=True)
class Spot:
    """A place and where it lies, in km east and north of the middle. `words` is what else it is
    known for (a cuisine)."""

    place: PointOfInterest
    east_km: float
    north_km: float
    words: str = ""


class CityMap:
    """One city, which the world knows. Threads may share one."""

    def __init__(self, world: World, city: str):
        self.world, self.city = world, city
        self.station, self.airport = f"{city} Central Station", f"{city} Airport"

    @cached_property
    def middle(self) -> Position | None:
        """The median of the sights; None where the table has none with a position."""
        positions = [
            at
            for sight in self.world.attractions(self.city)
            if (at := _position(sight.latitude, sight.longitude))
        ]
        return (
            Position(median(p.latitude for p in positions), median(p.longitude for p in positions))
            if positions
            else None
        )

    @cached_property
    def spots(self) -> dict[str, Spot]:
        """Name → spot: of two places of one name the first."""
        spots: dict[str, Spot] = {}
        for spot in self._all():
            spots.setdefault(spot.place.name, spot)
        return spots

    def _all(self) -> Iterator[Spot]:
        for sight in self.world.attractions(self.city):
            at = _position(sight.latitude, sight.longitude)
            if at is None or self.middle is None:
                yield self._drawn(sight.name, SIGHT, REACH_KM[RESTAURANT], sight.address)
                continue
            east = (
                (at.longitude - self.middle.longitude)
                * KM_PER_DEGREE
                * math.cos(math.radians(self.middle.latitude))
            )
            north = (at.latitude - self.middle.latitude) * KM_PER_DEGREE
            yield Spot(
                PointOfInterest(
                    sight.name, self.city, sight.address, SIGHT, at.latitude, at.longitude
                ),
                east,
                north,
            )
        for stay in self.world.accommodations(self.city):
            yield self._drawn(stay.name, HOTEL, REACH_KM[HOTEL], words=stay.room_type)
        for meal in self.world.restaurants(self.city):
            yield self._drawn(meal.name, RESTAURANT, REACH_KM[RESTAURANT], words=meal.cuisines)
        yield self._drawn(self.station, STATION, REACH_KM[STATION])
        yield self._drawn(self.airport, AIRPORT, REACH_KM[AIRPORT])

    def _drawn(
        self,
        name: str,
        category: str,
        reach_km: tuple[float, float],
        address: str = "",
        words: str = "",
    ) -> Spot:
        dice = dice_of(self.world, "place", self.city, category, name)
        nearest, farthest = reach_km
        distance, angle = (
            nearest + (farthest - nearest) * dice.random(),
            dice.random() * 2 * math.pi,
        )
        east, north = distance * math.cos(angle), distance * math.sin(angle)
        address = address or f"{dice.randint(1, 480)} {dice.choice(_STREETS)} St, {self.city}"
        latitude = longitude = None
        if self.middle is not None:
            latitude = round(self.middle.latitude + north / KM_PER_DEGREE, 5)
            longitude = round(
                self.middle.longitude
                + east / (KM_PER_DEGREE * math.cos(math.radians(self.middle.latitude))),
                5,
            )
        return Spot(
            PointOfInterest(name, self.city, address, category, latitude, longitude),
            east,
            north,
            words,
        )

    def named(self, name: str) -> Spot | None:
        """Whatever its capitals."""
        return self.spots.get(name) or self._folded.get(name.casefold().strip())

    @cached_property
    def _folded(self) -> dict[str, Spot]:
        folded: dict[str, Spot] = {}
        for name, spot in self.spots.items():
            folded.setdefault(name.casefold(), spot)
        return folded

    def ways(self, origin: Spot, destination: Spot) -> tuple[RouteLeg, ...]:
        """The fastest first; the same there and back."""
        straight_km = math.hypot(
            origin.east_km - destination.east_km, origin.north_km - destination.north_km
        )
        km = max(0.1, round(WAY_PER_STRAIGHT * straight_km, 1))
        legs = [
            RouteLeg(
                origin.place.name,
                destination.place.name,
                self.city,
                mode,
                float(max(1, round(wait + 60 * km / kmh))),
                km,
            )
            for mode, (wait, kmh) in SPEEDS.items()
            if mode != "walking" or km <= FARTHEST_WALK_KM
        ]
        return tuple(sorted(legs, key=lambda leg: leg.minutes))


def dice_of(world: World, *words: str) -> random.Random:
    """Dice of the world's content and these words: seeded by a hash of the text, so equal in every
    process."""
    return random.Random("/".join((world.content_hash, *words)))


def _position(latitude: str, longitude: str) -> Position | None:
    try:
        position = Position(float(latitude), float(longitude))
    except ValueError:
        return None
    return position if abs(position.latitude) <= 85 and abs(position.longitude) <= 180 else None
