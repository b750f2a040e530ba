"""What a world offers under some of a request's requirements, in words with places and counts: the
half of an explanation one can check.

Three questions, and those that bear on the conflict are answered: which cities have a fitting stay
and enough to eat and see for the nights there are, which wanted cuisines they serve, and how one
gets there, about and back. What is not explained by the cities or by their cuisines is a lack of
transport: there is nothing else that a trip needs.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from tripwright.domains.travelplanner.oracle.options import (
    attractions,
    flight_leg,
    restaurants,
    road_km,
    road_legs,
    stays,
)
from tripwright.domains.travelplanner.oracle.problem import Problem, city_pool, counted, listed
from tripwright.domains.travelplanner.oracle.requirements import (
    Requirement,
    other_dates,
    without_wishes,
)
from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.world.store import World

MOST_NAMED = 6  # cities of one kind that are listed by name
STAYS = {"room type", "house rule"}


def shortage(query: Query, world: World, requirements: Collection[Requirement]) -> str:
    """One line for a conflict without the budget: what is asked for, then what the world offers.
    no `requirements`: the trip itself."""
    view = _View(query, world, requirements)
    parts = []
    if view.kinds & STAYS or not view.enough:
        parts.append(view.about_stays())
    if "cuisine" in view.kinds:
        parts.append(view.about_cuisines())
    if view.enough and view.served:
        parts.append(view.about_transport())
    head = asked_for(query, requirements)
    return f"{head or f'{query.org} to {query.dest}, whatever is asked'}: {'; '.join(parts)}."


def asked_for(query: Query, requirements: Collection[Requirement]) -> str:
    """The requirements as a phrase: "private room that allows parties, French food, 2 cities in
    Michigan"."""
    values: dict[str, list[str]] = {}
    for each in requirements:
        values.setdefault(each.kind, []).append(each.value)
    phrases = []
    if STAYS & set(values):
        phrases.append(
            stay_phrase(*(values.get(kind, [None])[0] for kind in ("room type", "house rule")))
        )
    if "cuisine" in values:
        phrases.append(f"{listed(values['cuisine'])} food")
    phrases += values.get("transportation", [])
    if "cities" in values:
        phrases.append(f"{query.visiting_city_number} cities in {query.dest}")
    if "dates" in values:
        phrases.append(f"{query.date[0]} to {query.date[-1]}")
    return ", ".join(phrases)


def stay_phrase(room: str | None, rule: str | None) -> str:
    """Without an article: "private room that allows pets"."""
    if room == "not shared room":
        return f"unshared room{f' that allows {rule}' if rule else ''}"
    return (room or "stay") + (f" that allows {rule}" if rule else "")


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return listed(names) if more <= 1 else f"{', '.join(names[:MOST_NAMED])} and {more} more"


@dataclass(frozen=True)
class _City:
    name: str
    nights: tuple[int, ...]  # how many nights can be spent there
    lack: str  # why none can, or ""


class _View:
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
        self.asked = query.visiting_city_number if "cities" in self.kinds else 1
        self.problem = Problem(
            self.query.model_copy(update={"visiting_city_number": self.asked}), world
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
        return self.query.days - self.asked

    def _city(self, name: str) -> _City:
        few = range(1, self.longest + 1) if self.query.visiting_city_number > 1 else (self.longest,)
        rows = self.world.accommodations(name)
        fitting = stays(self.query, self.world, name)
        if not fitting:
            return _City(
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
            return _City(name, (), f"{ask}, at most {_nights(few[-1])} can be spent there")
        to_be_had = [nights for nights in few if any(stay.fits(nights) for stay in fitting)]
        if not to_be_had:
            return _City(name, (), f"{those} cannot be had for {_span(few)} nights")
        can = tuple(nights for nights in to_be_had if self.problem.offer(name, nights) is not None)
        return _City(name, can, "" if can else self._too_little(name, to_be_had[0]))

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
            f"{' and '.join(has for has, _ in lacks)} where {_nights(nights)} take"
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
            range(self.asked, self.asked + 1)
            if "cities" in self.kinds
            else range(1, self.query.visiting_city_number + 1)
        )

    def _how_many(self) -> str:
        return _span(self.counts)

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
                else f"{city.name} can host {_nights(city.nights[0])}"
            )
        few = f"{len(self.fitting)} of" if len(self.fitting) < len(self.cities) else "all"
        count = f"{few} {len(self.cities)} cities of {self.query.dest}"
        names = [city.name for city in self.fitting]
        sentence = (
            f"only {names[0]} qualifies"
            if len(names) == 1
            else f"{count} qualify" + (f" ({_some(names)})" if names else "")
        )
        if not self.enough and len(self.fitting) >= self.asked:
            sentence += f", {self._too_short()}"
        return "; ".join([sentence, *self._lacks()])

    def _too_short(self) -> str:
        """Why the cities that qualify cannot share the nights."""
        nights = self.query.days - 1
        if len(self.fitting) == 1:
            return f"for {_span(self.fitting[0].nights)} of the {nights} nights"
        spans = [f"{city.name} {_span(city.nights)}" for city in self.fitting]
        return (
            f"but {_nights(nights)} cannot be shared out among {self._how_many()} of them as they"
            f" need ({_some(spans)})"
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
                f" ({_some(none)})"
            ),
        ]

    # ---- cuisines

    def about_cuisines(self) -> str:
        places = self.fitting or self.cities
        sentences = []
        for cuisine in self.wishes.cuisine or ():
            serving = [city for city in self.cities if self._serves(city, cuisine)]
            names = [city.name for city in serving if city in places]
            where = (
                _some([city.name for city in places])
                if len(places) <= MOST_NAMED
                else f"the {len(places)} cities that qualify"
            )
            sentences.append(
                f"{cuisine} is served in {_some(names)}"
                if names
                else f"no restaurant in {where} serves {cuisine} food"
            )
            if not names:
                sentences += [
                    f"{city.name} has {cuisine} food, but cannot host this trip: {city.lack}"
                    for city in serving[:MOST_NAMED]
                ]
        if not self.served and all(
            any(self._serves(city, cuisine) for city in places)
            for cuisine in self.wishes.cuisine or ()
        ):
            all_of_it = "it" if len(self.problem.wanted) == 1 else "them all"
            sentences.append(
                f"but no {self._how_many()} of the cities can share {_nights(self.query.days - 1)}"
                f" and serve {all_of_it}"
            )
        return "; ".join(sentences)

    def _serves(self, city: _City, cuisine: str) -> bool:
        return any(cuisine in row.cuisines for row in restaurants(self.world, city.name))

    # ---- transport

    def about_transport(self) -> str:
        """From home to each fitting city and back, then between the cities where the trip needs
        that."""
        places = [
            city
            for city in self.fitting
            if self.counts[-1] > 1 or all(self._serves(city, name) for name in self.problem.wanted)
        ]
        names = [city.name for city in places]
        if len(names) == 1 or self.counts[-1] == 1:
            no_way = [self._no_round_trip(name) for name in names]
            if len(no_way) <= MOST_NAMED:
                return "; ".join(no_way)
            return "; ".join(
                [
                    (
                        f"none of {len(names)} cities can be reached from {self.query.org} and left"
                        " for it again"
                    ),
                    *no_way[:3],
                ]
            )
        out = {name: self._no_way(self.query.org, name, 0) for name in names}
        back = {name: self._no_way(name, self.query.org, -1) for name in names}
        for lacks, what in (
            (out, f"can be reached from {self.query.org}"),
            (back, f"can be left for {self.query.org}"),
        ):
            if all(lacks.values()):
                return "; ".join([f"none of {_some(names)} {what}", *_first_lacks(lacks)])
        may_begin, may_end = ([name for name in names if not lacks[name]] for lacks in (out, back))
        sentences = []
        if may_begin == may_end != names:
            sentences = [
                (
                    f"only {_some(may_begin)} can be reached from {self.query.org} and left for it"
                    " again"
                ),
                *_first_lacks(out),
            ]
            if len(may_begin) == 1 and (alone := self._not_alone(may_begin[0])):
                return "; ".join([*sentences, alone])
        else:
            for lacks, can, what in ((out, may_begin, "reached from"), (back, may_end, "left for")):
                if can != names:
                    sentences += [
                        f"only {_some(can)} can be {what} {self.query.org}",
                        *_first_lacks(lacks),
                    ]
        return "; ".join([*sentences, *self._between(names)])

    def _not_alone(self, name: str) -> str:
        """Why one city is not enough where a trip can neither begin nor end with any other; ""
        where it could be."""
        begins = "begins in one of them and ends in another"
        if self.asked > 1:
            return f"a trip to {self.asked} cities {begins}"
        nights = self.query.days - 1
        if any(city.name == name and nights in city.nights for city in self.fitting):
            return ""
        return (
            f"{name} alone cannot have all {nights} nights, and a trip to several cities {begins}"
        )

    def _between(self, names: Sequence[str]) -> list[str]:
        pairs = list(itertools.permutations(names, 2))
        joined = sum(
            1 for a, b in pairs if any(not self._lack(a, b, date) for date in self.query.date[1:-1])
        )
        few = f"{joined} of the" if joined < len(pairs) else "all"
        ways = f"{few} {len(pairs)} ways between {_some(names)} can be travelled"
        food = " and serves every wanted cuisine" if self.problem.wanted else ""
        return [
            ways,
            (
                f"but no route through {self._how_many()} of them fits the nights{food} and has a"
                " way for every leg on its day"
            ),
        ]

    def _no_round_trip(self, name: str) -> str:
        lack = self._no_way(self.query.org, name, 0) or self._no_way(name, self.query.org, -1)
        return (
            lack
            or f"one can go from {self.query.org} to {name} and from {name} to {self.query.org}, but never {self.query.days} days apart"  # noqa: E501
        )

    def _no_way(self, origin: str, destination: str, day: int) -> str:
        lack = self._lack(origin, destination, self.query.date[day])
        return lack and f"no way from {origin} to {destination} ({lack})"

    def _lack(self, origin: str, destination: str, date: str) -> str:
        """What keeps a party from going, or ""."""
        if road_legs(self.query, self.world, origin, destination):
            return ""
        ground = self.world.ground(origin, destination)
        road = (
            "no road"
            if road_km(ground) is None and not (ground and ground.duration)
            else "a road that takes a day or more"
        )
        if self.wishes.transportation == "no flight":
            return f"{road}, and no flight wanted"
        dates = [date] if "dates" in self.kinds else [date, *self._same_day_of_other_trips(date)]
        if any(flight_leg(self.query, self.world, origin, destination, day) for day in dates):
            return ""
        if len(dates) > 1:
            return f"{road}, and no flight on any day that is known"
        covered = self.world.flights(origin, destination, date) is not None
        return (
            f"{road}, and no flight on {date}"
            if covered
            else f"{road}, and the flights of {date} are not known"
        )

    def _same_day_of_other_trips(self, date: str) -> Iterable[str]:
        at = list(self.query.date).index(date)
        return (dates[at] for _, dates in other_dates(self.query, self.world))


def _first_lacks(lacks: dict[str, str]) -> list[str]:
    return [lack for lack in lacks.values() if lack][:3]


def _nights(count: int) -> str:
    return counted(count, "night")


def _span(numbers: Sequence[int]) -> str:
    """ "3", "1 to 3", "1 or 3"."""
    if len(numbers) > 2 and len(numbers) == numbers[-1] - numbers[0] + 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return listed([str(number) for number in numbers], "or")
