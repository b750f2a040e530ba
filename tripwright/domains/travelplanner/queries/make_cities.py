"""Which cities could be part of some plan for a request, whatever it costs; and, where no plan
exists, what is missing, in a few words.

Exact, and independent of the planner's search: only the offers of each city and leg are shared
(`oracle.options`). The subtle thing is
cuisines: they are covered by all cities together, so for each city and number of nights every
coverable set of them is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tripwright.domains.travelplanner.oracle.options import (
    MEALS,
    attractions,
    city_pool,
    cuisine_mask,
    flight_leg,
    night_splits,
    restaurants,
    road_legs,
    stays,
    why_unplannable,
)
from tripwright.domains.travelplanner.query import Query
from tripwright.world.store import World

# origin, destination, day of the trip → is there transport?
Connected = Callable[[str, str, int], bool]
# sets of wanted cuisines, each as a bit mask, that the meals in one city can cover
Covers = frozenset[int]


@dataclass(frozen=True)
class VisitableCities:
    """`cities`: part of at least one plan. `lack`: None, or why there is no plan."""

    cities: tuple[str, ...]
    lack: str | None


def served_cities(query: Query, world: World) -> VisitableCities:
    """The destination itself for a city trip; else those cities of the state that some plan
    visits."""
    if why_unplannable(query, world):
        return VisitableCities((), "unknown place, wish or number of days")
    return _Trip(query, world).served()


class _Trip:
    def __init__(self, query: Query, world: World):
        self.query, self.world = query, world
        self.wanted = tuple(query.local_constraint.cuisine or ())
        self.count = query.visiting_city_number
        self.pool = city_pool(query, world)
        self.splits = night_splits(query.days - 1, self.count)
        self.lacking: dict[str, set[str]] = {
            "stay": set(),
            "restaurants": set(),
            "attractions": set(),
        }
        self.offers = {city: self._offers(city) for city in self.pool}
        self.connected = False  # some order of cities with stays has transport
        self._drives: dict[tuple[str, str], bool] = {}
        self._others: dict[tuple[str, str, int], bool] = {}

    def served(self) -> VisitableCities:
        usable = [city for city in self.pool if self.offers[city]]
        cities: set[str] = set()
        for split in self.splits:
            # all legs of a plan are driven, or none is
            for connected in (self._drive, self._other):
                for order in self._orders(usable, split, connected, (), 0):
                    self.connected = True
                    if not cities.issuperset(order) and self._covered(order, split):
                        cities.update(order)
                    if len(cities) == len(usable):
                        return self._served(cities)
        return self._served(cities)

    def _orders(
        self,
        usable: list[str],
        split: tuple[int, ...],
        connected: Connected,
        before: tuple[str, ...],
        day: int,
    ) -> Iterator[tuple[str, ...]]:
        """Every order of cities with stays for this split of nights and transport from the origin
        and back; `before` is its beginning."""
        here = before[-1] if before else self.query.org
        if len(before) == self.count:
            if connected(here, self.query.org, day):
                yield before
            return
        nights = split[len(before)]
        for city in usable:
            if city not in before and nights in self.offers[city] and connected(here, city, day):
                yield from self._orders(usable, split, connected, (*before, city), day + nights)

    def _served(self, cities: set[str]) -> VisitableCities:
        return VisitableCities(
            tuple(city for city in self.pool if city in cities), None if cities else self._missing()
        )

    def _offers(self, city: str) -> dict[int, Covers]:
        """Nights → what the meals can cover, for each number of nights that can be spent there."""
        fitting = stays(self.query, self.world, city)
        rows = restaurants(self.world, city)
        sights = len(attractions(self.world, city))
        fewest = _fewest_meals([cuisine_mask(row, self.wanted) for row in rows])
        offers = {}
        for nights in sorted({nights for split in self.splits for nights in split}):
            required = 3 * (nights - 1)
            lacks = {
                "stay": not any(stay.fits(nights) for stay in fitting),
                "restaurants": len(rows) < required,
                "attractions": sights < nights - 1,
            }
            if any(lacks.values()):
                for what, is_lacking in lacks.items():
                    self.lacking[what] |= {city} if is_lacking else set()
            else:
                offers[nights] = frozenset(
                    mask for mask, meals in fewest.items() if meals <= required + len(MEALS)
                )
        return offers

    def _drive(self, origin: str, there: str, day: int) -> bool:
        if (origin, there) not in self._drives:
            modes = {leg.mode for leg in road_legs(self.query, self.world, origin, there)}
            self._drives[origin, there] = "self-driving" in modes
        return self._drives[origin, there]

    def _other(self, origin: str, there: str, day: int) -> bool:
        """By flight or taxi, which a plan may mix."""
        if (origin, there, day) not in self._others:
            modes = {leg.mode for leg in road_legs(self.query, self.world, origin, there)}
            flies = (
                flight_leg(self.query, self.world, origin, there, self.query.date[day]) is not None
            )
            self._others[origin, there, day] = flies or "taxi" in modes
        return self._others[origin, there, day]

    def _covered(self, order: tuple[str, ...], split: tuple[int, ...]) -> bool:
        masks = {0}
        for city, nights in zip(order, split, strict=True):
            masks = {before | here for before in masks for here in self.offers[city][nights]}
        return (1 << len(self.wanted)) - 1 in masks

    def _missing(self) -> str:
        if self.connected:
            return "wanted cuisines not served"
        if any(self._fits(split) for split in self.splits):
            return "no transport"
        what = max(self.lacking, key=lambda what: len(self.lacking[what]))
        return {
            "stay": "no stay that fits",
            "restaurants": "too few restaurants",
            "attractions": "too few attractions",
        }[what]

    def _fits(self, split: tuple[int, ...]) -> bool:
        """Are there different cities for these nights, transport aside? Their order does not
        matter, nor do the cuisines."""
        return next(self._orders(self.pool, split, lambda *_: True, (), 0), None) is not None


def _fewest_meals(masks: list[int]) -> dict[int, int]:
    """Set of cuisines → the fewest restaurants that serve exactly it together. More restaurants
    only ever add to a set."""
    fewest = {0: 0}
    for mask in sorted(set(masks) - {0}):
        for covered, meals in list(fewest.items()):
            union = covered | mask
            fewest[union] = min(meals + 1, fewest.get(union, meals + 1))
    return fewest
