"""What each city of a world offers under some of a request's requirements, in words: a fitting stay
and enough to eat and see for the nights there are, and the wanted cuisines."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tripwright.domains.travelplanner.oracle.options import attractions, restaurants, stays
from tripwright.domains.travelplanner.oracle.phrases import (
    MOST_NAMED,
    nights_phrase,
    some_of,
    span,
    stay_phrase,
)
from tripwright.domains.travelplanner.oracle.problem import Problem, city_pool
from tripwright.domains.travelplanner.oracle.requirements import Requirement, without_wishes
from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.errors import counted
from tripwright.world.store import World


@dataclass(frozen=True)
class HostCity:
    name: str
    nights: tuple[int, ...]  # how many nights can be spent there
    lack: str  # why none can, or ""


class CityOffers:
    """The request with only these of its requirements, and what each city can do for it."""

    def __init__(self, query: Query, world: World, requirements: Collection[Requirement]):
        wishes = query.local_constraint
        wishes_stated = [
            ("house rule", wishes.house_rule),
            ("room type", wishes.room_type),
            ("transportation", wishes.transportation),
        ]
        wishes_stated += [("cuisine", name) for name in wishes.cuisine or ()]
        dropped_wishes = {Requirement(kind, value) for kind, value in wishes_stated if value} - set(
            requirements
        )
        self.query, self.world = without_wishes(query, dropped_wishes), world
        self.kinds = {each.kind for each in requirements}
        self.wishes: LocalConstraint = self.query.local_constraint
        self.city_count = query.visiting_city_number if "cities" in self.kinds else 1
        self.problem = Problem(
            self.query.model_copy(update={"visiting_city_number": self.city_count}), world
        )
        self.cities = [self._city(name) for name in city_pool(query, world)]
        self.fitting = [city for city in self.cities if city.nights]
        every = (1 << len(self.problem.wanted)) - 1
        shared = self._shared()
        self.enough, self.served = bool(shared), every in shared  # without a thought for transport

    # ---- stays, meals and attractions, city by city

    @property
    def longest(self) -> int:
        """Nights in one city, with one in each of the others."""
        return self.query.days - self.city_count

    def _city(self, name: str) -> HostCity:
        few = range(1, self.longest + 1) if self.query.visiting_city_number > 1 else (self.longest,)
        rows = self.world.accommodations(name)
        fitting = stays(self.query, self.world, name)
        if not fitting:
            return HostCity(
                name,
                (),
                f"{counted(len(rows), 'stay')}, {self._none()}" if rows else "no stays at all",
            )
        those = (
            "the one stay that fits" if len(fitting) == 1 else f"the {len(fitting)} stays that fit"
        )
        least = min(stay.accommodation.minimum_nights for stay in fitting)
        if least > few[-1]:
            ask = f"{those} {'asks' if len(fitting) == 1 else 'ask'} for {least:g} nights or more"
            return HostCity(name, (), f"{ask}, at most {nights_phrase(few[-1])} can be spent there")
        to_be_had = [nights for nights in few if any(stay.fits(nights) for stay in fitting)]
        if not to_be_had:
            return HostCity(name, (), f"{those} cannot be had for {span(few)} nights")
        can = tuple(nights for nights in to_be_had if self.problem.offer(name, nights) is not None)
        return HostCity(name, can, "" if can else self._too_little(name, to_be_had[0]))

    def _too_little(self, name: str, nights: int) -> str:
        """What a city lacks for this many nights: three meals and an attraction on each whole
        day."""
        lacks = [
            (counted(has, thing), need)
            for has, thing, need in (
                (len(restaurants(self.world, name)), "restaurant", 3 * (nights - 1)),
                (len(attractions(self.world, name)), "attraction", nights - 1),
            )
            if has < need
        ]
        return (
            f"{' and '.join(has for has, _ in lacks)} where {nights_phrase(nights)} take"
            f" {' and '.join(str(need) for _, need in lacks)}"
        )

    def _none(self) -> str:
        rule = self.wishes.house_rule
        return (
            f"none that allows {rule}"
            if rule and not self.wishes.room_type
            else f"no {stay_phrase(self.wishes.room_type, rule)}"
        )

    @property
    def counts(self) -> range:
        """How many cities a trip may have: as many as asked for, or (where their number is free)
        fewer."""
        return (
            range(self.city_count, self.city_count + 1)
            if "cities" in self.kinds
            else range(1, self.query.visiting_city_number + 1)
        )

    def how_many(self) -> str:
        return span(self.counts)

    def _shared(self) -> set[int]:
        """The sets of wanted cuisines (as masks) that the fitting cities can serve while they share
        the nights of a trip; empty where they cannot even share the nights. City by city: (cities
        so far, nights so far) → masks."""
        coverable: dict[tuple[int, int], set[int]] = {(0, 0): {0}}
        for city in self.fitting:
            served = {
                nights: {mask for mask, _, _ in self._meals(city.name, nights)}
                for nights in city.nights
            }
            for (count, nights_before), masks in list(coverable.items()):
                for nights, more in served.items():
                    if count < self.counts[-1] and nights_before + nights < self.query.days:
                        coverable.setdefault((count + 1, nights_before + nights), set()).update(
                            a | b for a in masks for b in more
                        )
        return {
            mask
            for count in self.counts
            for mask in coverable.get((count, self.query.days - 1), ())
        }

    def _meals(self, name: str, nights: int) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
        offer = self.problem.offer(name, nights)
        return offer.meals if offer else ()

    def about_stays(self) -> str:
        if len(self.cities) == 1:
            city = self.cities[0]
            return (
                f"{city.name}: {city.lack}"
                if city.lack
                else f"{city.name} can host {nights_phrase(city.nights[0])}"
            )
        few = f"{len(self.fitting)} of" if len(self.fitting) < len(self.cities) else "all"
        count = f"{few} {len(self.cities)} cities of {self.query.dest}"
        names = [city.name for city in self.fitting]
        sentence = (
            f"only {names[0]} qualifies"
            if len(names) == 1
            else f"{count} qualify" + (f" ({some_of(names)})" if names else "")
        )
        if not self.enough and len(self.fitting) >= self.city_count:
            sentence += f", {self._too_short()}"
        return "; ".join([sentence, *self._lacks()])

    def _too_short(self) -> str:
        """Why the cities that qualify cannot share the nights."""
        nights = self.query.days - 1
        if len(self.fitting) == 1:
            return f"for {span(self.fitting[0].nights)} of the {nights} nights"
        spans = [f"{city.name} {span(city.nights)}" for city in self.fitting]
        return (
            f"but {nights_phrase(nights)} cannot be shared out among {self.how_many()} of them as"
            f" they need ({some_of(spans)})"
        )

    def _lacks(self) -> list[str]:
        """Why the other cities do not qualify: the nearest misses first, those without any fitting
        stay together."""
        none = [
            city.name
            for city in self.cities
            if city.lack and not stays(self.query, self.world, city.name)
        ]
        near = [city for city in self.cities if city.lack and city.name not in none]
        reasons = [f"{city.name}: {city.lack}" for city in near[:MOST_NAMED]]
        if len(near) > MOST_NAMED:
            reasons.append(f"{len(near) - MOST_NAMED} more like these")
        if len(none) <= 3:
            return reasons + [
                f"{city.name}: {city.lack}" for city in self.cities if city.name in none
            ]
        return [
            *reasons,
            (
                f"{len(none)} have no {stay_phrase(self.wishes.room_type, self.wishes.house_rule)}"
                f" ({some_of(none)})"
            ),
        ]

    # ---- cuisines

    def about_cuisines(self) -> str:
        places = self.fitting or self.cities
        sentences = []
        for cuisine in self.wishes.cuisine or ():
            serving = [city for city in self.cities if self.serves(city, cuisine)]
            names = [city.name for city in serving if city in places]
            where = (
                some_of([city.name for city in places])
                if len(places) <= MOST_NAMED
                else f"the {len(places)} cities that qualify"
            )
            sentences.append(
                f"{cuisine} is served in {some_of(names)}"
                if names
                else f"no restaurant in {where} serves {cuisine} food"
            )
            if not names:
                sentences += [
                    f"{city.name} has {cuisine} food, but cannot host this trip: {city.lack}"
                    for city in serving[:MOST_NAMED]
                ]
        if not self.served and all(
            any(self.serves(city, cuisine) for city in places)
            for cuisine in self.wishes.cuisine or ()
        ):
            all_of_it = "it" if len(self.problem.wanted) == 1 else "them all"
            sentences.append(
                f"but no {self.how_many()} of the cities can share"
                f" {nights_phrase(self.query.days - 1)} and serve {all_of_it}"
            )
        return "; ".join(sentences)

    def serves(self, city: HostCity, cuisine: str) -> bool:
        return any(cuisine in row.cuisines for row in restaurants(self.world, city.name))
