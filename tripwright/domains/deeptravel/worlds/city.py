"""A city of a closed world as a map: where its sights, restaurants, hotels, station and airport
lie, and the ways between them; and flights and trains between cities, by the clock.

Sights lie where the world's table puts them. Of everything else the world has no positions: these
are drawn from the world's content and the place's name, so that they are equal in every process.
Positions are kilometres from the city's middle; degrees are given where the table has sights to
count them from.

Flights are the world's own rows. Trains are drawn for each pair of cities from the world's content
and the length of the road between them, there and back alike: none where there is no road, none
over LONGEST_KM, none faster than FASTEST_KMH. Every day has the same timetable; fares go with the
day.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date as calendar_date
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from statistics import median
from typing import NamedTuple

from tripwright.domains.deeptravel.tools.answers import (
    FlightOffer,
    Money,
    PointOfInterest,
    RouteLeg,
    TrainOffer,
)
from tripwright.world.geography import Position, clock_of, saving_minutes
from tripwright.world.records import Flight, duration_minutes, road_distance_km
from tripwright.world.store import World

KM_PER_DEGREE = 111.32
WAY_PER_STRAIGHT = 1.3  # streets, against the crow
FARTHEST_WALK_KM = 4.0
# mode → (minutes before it moves, kilometres an hour)
SPEEDS = {"walking": (0.0, 4.8), "public transport": (8.0, 19.0), "driving": (3.0, 30.0)}
SIGHT, RESTAURANT, HOTEL = "attraction", "restaurant", "hotel"
STATION, AIRPORT = "train station", "airport"
# from the middle
REACH_KM = {RESTAURANT: (0.1, 6.0), HOTEL: (0.2, 9.0), STATION: (0.4, 2.5), AIRPORT: (11.0, 24.0)}
_STREETS = (
    "Main Station Mill Church Park Market River High Oak Bridge King Garden Lake Hill".split()
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
        sights = self.world.attractions(self.city)
        found = [_position(sight.latitude, sight.longitude) for sight in sights]
        if not (positions := [at for at in found if at is not None]):
            return None
        return Position(
            median(at.latitude for at in positions), median(at.longitude for at in positions)
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
        distance = nearest + (farthest - nearest) * dice.random()
        angle = dice.random() * 2 * math.pi
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
        ends, legs = (origin.place.name, destination.place.name), []
        for mode, (wait, kmh) in SPEEDS.items():
            if mode != "walking" or km <= FARTHEST_WALK_KM:
                minutes = float(max(1, round(wait + 60 * km / kmh)))
                legs.append(RouteLeg(*ends, self.city, mode, minutes, km))
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


# ---- between cities

CURRENCY = "USD"
LONGEST_KM = 1200.0
SLOWEST_KMH, FASTEST_KMH = 85.0, 185.0  # average over the road's length, stops included
DIRECT_SHARE = 0.85  # of the pairs
ALWAYS_DIRECT_KM = 150.0
CHANGE_MINUTES = (15, 180)  # from one train to the next
MOST_DETOUR = 1.3  # of a journey with a change, against the direct way
MOST_CHANGES = 4  # journeys with a change that are offered


class DailyTrain(NamedTuple):
    """A train of the daily timetable. Minutes after midnight, by the clock of where it leaves."""

    number: str
    operator: str
    left: int
    minutes: int
    usd: float  # before the day's factor


class Ways:
    """Between any two cities of one world. Threads may share one."""

    def __init__(self, world: World):
        self.world = world
        self.timetable = lru_cache(4096)(self._timetable)
        self._shift_minutes = lru_cache(4096)(self._clock_shift)
        self._changes_at = lru_cache(1024)(self._places_to_change)

    def flights(self, origin: CityMap, destination: CityMap, date: str) -> list[FlightOffer] | None:
        """By departure; None where the world does not know."""
        rows = self.world.flights(origin.city, destination.city, date)
        if rows is None:
            return None
        offers = [offer for row in rows if (offer := self._flight(row, origin, destination))]
        return sorted(offers, key=lambda offer: (offer.departs_at, offer.number))

    def _flight(self, row: Flight, origin: CityMap, destination: CityMap) -> FlightOffer | None:
        """A row says clock times at both ends and how long it takes: the day of arrival is the one
        that fits. None where the times are none that a clock shows."""
        minutes = duration_minutes(row.duration)
        try:
            departs = datetime.fromisoformat(f"{row.date}T{row.departure_time}")
            arrives = datetime.fromisoformat(f"{row.date}T{row.arrival_time}")
        except ValueError:
            return None
        if minutes is None:
            arrives += timedelta(days=arrives < departs)
            minutes = int((arrives - departs).total_seconds() // 60)
        else:
            due = departs + timedelta(minutes=minutes)
            days = (arrives + timedelta(days=day) for day in (-1, 0, 1))
            arrives = min(days, key=lambda at: abs(at - due))
        ends = sorted((origin.city, destination.city))
        home = dice_of(self.world, "carrier", *ends, row.number).choice((origin, destination))
        return FlightOffer(
            number=row.number,
            carrier=f"{self.world.cities.get(home.city, home.city)} Airlines",
            depart_city=origin.city,
            depart_airport=origin.airport,
            arrive_city=destination.city,
            arrive_airport=destination.airport,
            departs_at=_stamp(departs),
            arrives_at=_stamp(arrives),
            minutes=minutes,
            price=Money(row.price_usd, CURRENCY),
        )

    def trains(
        self, origin: CityMap, destination: CityMap, date: str, transfers: bool
    ) -> list[TrainOffer]:
        """By departure; journeys with a change come among the direct trains, if `transfers`."""
        offers = self._direct(origin, destination, date)
        if transfers:
            offers += self._with_changes(origin, destination, date)
        return sorted(offers, key=lambda offer: (offer.departs_at, offer.minutes, offer.number))

    def road_km(self, origin: str, destination: str) -> float | None:
        """The longer of both directions, so that the way back is as long; None without a road."""
        roads = (self.world.ground(origin, destination), self.world.ground(destination, origin))
        distances = [km for road in roads if road and (km := road_distance_km(road.distance))]
        return max(distances, default=None)

    def _timetable(self, origin: str, destination: str) -> tuple[DailyTrain, ...]:
        km = self.road_km(origin, destination) if origin != destination else None
        if km is None or km > LONGEST_KM:
            return ()
        first, second = sorted((origin, destination))
        line = dice_of(self.world, "line", first, second)  # what both directions share
        if line.random() > DIRECT_SHARE and km > ALWAYS_DIRECT_KM:
            return ()
        operator = f"{self.world.cities.get(line.choice((first, second)), first)} Railways"
        count = max(2, round(line.uniform(5, 8) - 4 * km / LONGEST_KM))
        number = line.randrange(100, 8900, 2) + (origin != first)  # even there, odd back
        speeds = [line.uniform(SLOWEST_KMH, FASTEST_KMH) for _ in range(count)]
        # the fast ones are the dear ones
        fares = [line.uniform(0.9, 1.1) * (6 + km * (0.05 + 0.0006 * kmh)) for kmh in speeds]
        dice = dice_of(self.world, "trains", origin, destination)
        between = (22 * 60 - 330) / count  # from half past five to ten in the evening
        return tuple(
            DailyTrain(
                f"{'EX' if kmh > 150 else 'IC' if kmh > 115 else 'R'} {number + 2 * index}",
                operator,
                int(330 + between * (index + 0.8 * dice.random())),
                max(8, round(60 * km / kmh) + 4),
                usd,
            )
            for index, (kmh, usd) in enumerate(zip(speeds, fares, strict=True))
        )

    def _direct(self, origin: CityMap, destination: CityMap, date: str) -> list[TrainOffer]:
        runs = self.timetable(origin.city, destination.city)
        return [self._train(run, origin, destination, date) for run in runs]

    def _train(
        self, run: DailyTrain, origin: CityMap, destination: CityMap, date: str
    ) -> TrainOffer:
        departs = datetime.fromisoformat(date) + timedelta(minutes=run.left)
        ahead = self._shift_minutes(origin.city, destination.city, date)
        arrives = departs + timedelta(minutes=run.minutes + ahead)
        return TrainOffer(
            number=run.number,
            operator=run.operator,
            depart_city=origin.city,
            depart_station=origin.station,
            arrive_city=destination.city,
            arrive_station=destination.station,
            departs_at=_stamp(departs),
            arrives_at=_stamp(arrives),
            minutes=run.minutes,
            price=Money(float(round(run.usd * _day_factor(date))), CURRENCY),
        )

    def _clock_shift(self, origin: str, destination: str, date: str) -> int:
        """Minutes by which the clock at the destination is ahead; 0 where nothing says where the
        cities lie."""
        here, there = (
            clock_of(self.world.cities.get(city), CityMap(self.world, city).middle)
            for city in (origin, destination)
        )
        if here is None or there is None:
            return 0
        saved = saving_minutes(date) * (there.saves_daylight - here.saves_daylight)
        return there.utc_minutes - here.utc_minutes + saved

    def _with_changes(self, origin: CityMap, destination: CityMap, date: str) -> list[TrainOffer]:
        offers = []
        for city in self._changes_at(origin.city, destination.city):
            between = CityMap(self.world, city)
            seconds = self._direct(between, destination, date)
            for one in self._direct(origin, between, date):
                waits = [(_minutes_between(one.arrives_at, two.departs_at), two) for two in seconds]
                shortest, longest = CHANGE_MINUTES
                fitting = [pair for pair in waits if shortest <= pair[0] <= longest]
                if fitting:
                    offers.append(_joined(one, *min(fitting, key=lambda pair: pair[0])))
        return sorted(offers, key=lambda offer: (offer.minutes, offer.number))[:MOST_CHANGES]

    def _places_to_change(self, origin: str, destination: str) -> tuple[str, ...]:
        """The two cities that are least out of the way, of those with trains to both ends."""
        direct = self.road_km(origin, destination)
        if direct is None or direct > LONGEST_KM or origin == destination:
            return ()
        ways = []
        for city in self.world.cities:
            joins = self.timetable(origin, city) and self.timetable(city, destination)
            if joins and city not in (origin, destination):
                km = (self.road_km(origin, city) or 0.0) + (self.road_km(city, destination) or 0.0)
                if km <= min(MOST_DETOUR * direct, LONGEST_KM):
                    ways.append((km, city))
        return tuple(city for _, city in sorted(ways)[:2])

    def __getstate__(self) -> dict[str, World]:
        return {"world": self.world}

    def __setstate__(self, state: dict[str, World]) -> None:
        self.__init__(state["world"])  # type: ignore[misc]


def _joined(one: TrainOffer, wait: float, two: TrainOffer) -> TrainOffer:
    assert one.price is not None and two.price is not None
    return replace(
        one,
        number=f"{one.number}, {two.number}",
        operator=", ".join(dict.fromkeys((one.operator, two.operator))),
        arrive_city=two.arrive_city,
        arrive_station=two.arrive_station,
        arrives_at=two.arrives_at,
        minutes=one.minutes + int(wait) + two.minutes,
        transfers=1,
        price=Money(one.price.amount + two.price.amount, CURRENCY),
    )


def _day_factor(date: str) -> float:
    """Fridays and Sundays are dear."""
    return (0.95, 0.93, 0.95, 1.0, 1.12, 1.0, 1.1)[calendar_date.fromisoformat(date).weekday()]


def _minutes_between(before: str, after: str) -> float:
    return (datetime.fromisoformat(after) - datetime.fromisoformat(before)).total_seconds() / 60


def _stamp(at: datetime) -> str:
    return at.isoformat(timespec="minutes")
