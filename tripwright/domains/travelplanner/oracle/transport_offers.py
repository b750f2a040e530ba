"""How a world lets one travel to the cities of a request, between them and home again, in words."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from tripwright.domains.travelplanner.oracle.city_offers import CityOffers
from tripwright.domains.travelplanner.oracle.options import flight_leg, road_km, road_legs
from tripwright.domains.travelplanner.oracle.phrases import MOST_NAMED, some_of
from tripwright.domains.travelplanner.oracle.requirements import other_dates


class TransportOffers:
    def __init__(self, cities: CityOffers):
        self.cities, self.query, self.world = cities, cities.query, cities.world

    def describe(self) -> str:
        """From home to each fitting city and back, then between the cities where the trip needs
        that."""
        places = [
            city
            for city in self.cities.fitting
            if self.cities.counts[-1] > 1
            or all(self.cities.serves(city, name) for name in self.cities.problem.wanted)
        ]
        names = [city.name for city in places]
        if len(names) == 1 or self.cities.counts[-1] == 1:
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
                return "; ".join([f"none of {some_of(names)} {what}", *_first_lacks(lacks)])
        may_begin, may_end = ([name for name in names if not lacks[name]] for lacks in (out, back))
        sentences = []
        if may_begin == may_end != names:
            sentences = [
                (
                    f"only {some_of(may_begin)} can be reached from {self.query.org} and left for"
                    " it again"
                ),
                *_first_lacks(out),
            ]
            if len(may_begin) == 1 and (alone := self._not_alone(may_begin[0])):
                return "; ".join([*sentences, alone])
        else:
            for lacks, can, what in ((out, may_begin, "reached from"), (back, may_end, "left for")):
                if can != names:
                    sentences += [
                        f"only {some_of(can)} can be {what} {self.query.org}",
                        *_first_lacks(lacks),
                    ]
        return "; ".join([*sentences, *self._between(names)])

    def _not_alone(self, name: str) -> str:
        """Why one city is not enough where a trip can neither begin nor end with any other; ""
        where it could be."""
        begins = "begins in one of them and ends in another"
        if self.cities.city_count > 1:
            return f"a trip to {self.cities.city_count} cities {begins}"
        nights = self.query.days - 1
        if any(city.name == name and nights in city.nights for city in self.cities.fitting):
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
        ways = f"{few} {len(pairs)} ways between {some_of(names)} can be travelled"
        food = " and serves every wanted cuisine" if self.cities.problem.wanted else ""
        return [
            ways,
            (
                f"but no route through {self.cities.how_many()} of them fits the nights{food} and"
                " has a way for every leg on its day"
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
        if self.cities.wishes.transportation == "no flight":
            return f"{road}, and no flight wanted"
        dates = (
            [date] if "dates" in self.cities.kinds else [date, *self._same_day_of_other_trips(date)]
        )
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
