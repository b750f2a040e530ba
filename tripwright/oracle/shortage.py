"""What a world offers under some of a request's requirements, in words with places and counts: the half of an explanation one can check.

Three questions, and those that bear on the conflict are answered: which cities have a fitting stay and enough to eat and see for the
nights there are, which wanted cuisines they serve, and how one gets there, about and back.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from tripwright.oracle.options import attractions, flight_leg, night_splits, restaurants, road_km, road_legs, stays
from tripwright.oracle.problem import Problem, city_pool
from tripwright.oracle.requirements import Requirement, other_dates, without_wishes
from tripwright.trip.query import LocalConstraint, Query
from tripwright.world.store import World

MOST_NAMED = 6  # cities of one kind that are listed by name
STAYS = {"room type", "house rule"}


def shortage(query: Query, world: World, kept: Collection[Requirement]) -> str:
    """One line for a conflict without the budget: what is asked for, then what the world offers. `kept` empty: the trip itself."""
    view = _View(query, world, kept)
    said = []
    if view.kinds & STAYS or not view.enough:
        said.append(view.about_stays())
    if "cuisine" in view.kinds:
        said.append(view.about_cuisines())
    if view.kinds & {"transportation", "dates"} or not said:
        said.append(view.about_transport())
    if view.kinds & {"cities"} and view.enough and not view.kinds & {"transportation", "dates", "cuisine"}:
        said.append(view.about_nights())
    head = asked_for(query, kept)
    return f"{head or f'{query.org} to {query.dest}, whatever is asked'}: {'; '.join(part for part in said if part)}."


def asked_for(query: Query, kept: Collection[Requirement]) -> str:
    """The requirements as a phrase: "private room that allows parties, French food, 2 cities in Michigan"."""
    values: dict[str, list[str]] = {}
    for each in kept:
        values.setdefault(each.kind, []).append(each.value)
    said = []
    if STAYS & set(values):
        said.append(stay_phrase(*(values.get(kind, [None])[0] for kind in ("room type", "house rule"))))
    if "cuisine" in values:
        said.append(f"{listed(values['cuisine'])} food")
    said += values.get("transportation", [])
    if "cities" in values:
        said.append(f"{query.visiting_city_number} cities in {query.dest}")
    if "dates" in values:
        said.append(f"{query.date[0]} to {query.date[-1]}")
    return ", ".join(said)


def stay_phrase(room: str | None, rule: str | None) -> str:
    """Without an article: "private room that allows pets"."""
    if room == "not shared room":
        return f"unshared room{f' that allows {rule}' if rule else ''}"
    return (room or "stay") + (f" that allows {rule}" if rule else "")


def listed(names: Sequence[str], word: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return listed(names) if more <= 1 else f"{', '.join(names[:MOST_NAMED])} and {more} more"


@dataclass(frozen=True)
class _City:
    name: str
    nights: tuple[int, ...]  # how many nights can be spent there
    lack: str  # why none can, or ""


class _View:
    """The request with only `kept` of its requirements, and what each city can do for it."""

    def __init__(self, query: Query, world: World, kept: Collection[Requirement]):
        wishes = query.local_constraint
        stated = [("house rule", wishes.house_rule), ("room type", wishes.room_type), ("transportation", wishes.transportation)]
        stated += [("cuisine", name) for name in wishes.cuisine or ()]
        gone = {Requirement(kind, value) for kind, value in stated if value} - set(kept)
        self.query, self.world = without_wishes(query, gone), world
        self.kinds = {each.kind for each in kept}
        self.wishes: LocalConstraint = self.query.local_constraint
        self.asked = query.visiting_city_number if "cities" in self.kinds else 1
        self.problem = Problem(self.query.model_copy(update={"visiting_city_number": self.asked}), world)
        self.cities = [self._city(name) for name in city_pool(query, world)]
        self.fitting = [city for city in self.cities if city.nights]
        self.enough = len(self.fitting) >= self.asked and self.splits_exist(self.fitting)

    # ---- stays, meals and attractions, city by city

    @property
    def longest(self) -> int:
        """Nights in one city, with one in each of the others."""
        return self.query.days - self.asked

    def _city(self, name: str) -> _City:
        few = range(1, self.longest + 1) if self.query.visiting_city_number > 1 else (self.longest,)
        rows = self.world.accommodations(name)
        found = stays(self.query, self.world, name)
        if not found:
            return _City(name, (), f"{counted(len(rows), 'stay')}, {self._none()}" if rows else "no stays at all")
        least = min(stay.accommodation.minimum_nights for stay in found)
        if least > few[-1]:
            those = "the one stay that fits asks" if len(found) == 1 else f"the {len(found)} stays that fit ask"
            return _City(name, (), f"{those} for {least:g} nights or more, at most {_nights(few[-1])} can be spent there")
        meals, sights = len(restaurants(self.world, name)), len(attractions(self.world, name))
        can = tuple(nights for nights in few if self.problem.offer(name, nights) is not None)
        need = max(few[0], int(-(-least // 1)))
        has = f"{counted(meals, 'restaurant')} and {counted(sights, 'attraction')}"
        lack = f"{has}, {_nights(need)} take {3 * (need - 1)} and {need - 1}"
        return _City(name, can, "" if can else lack)

    def _none(self) -> str:
        rule = self.wishes.house_rule
        return f"none that allows {rule}" if rule and not self.wishes.room_type else f"no {stay_phrase(self.wishes.room_type, rule)}"

    def splits_exist(self, cities: Sequence[_City]) -> bool:
        """Whether some of these cities can share the nights of the trip, `asked` of them or (where their number is free) fewer."""
        most = self.query.visiting_city_number
        for count in [self.asked] if "cities" in self.kinds else range(1, most + 1):
            for split in night_splits(self.query.days - 1, count):
                if _shares(split, cities):
                    return True
        return False

    def about_stays(self) -> str:
        if len(self.cities) == 1:
            city = self.cities[0]
            return f"{city.name} has {city.lack}" if city.lack else f"{city.name} can host {_nights(city.nights[0])}"
        few = f"{len(self.fitting)} of" if len(self.fitting) < len(self.cities) else "all"
        count = f"{few} {len(self.cities)} cities of {self.query.dest}"
        names = [city.name for city in self.fitting]
        said = f"only {_some(names)} qualifies" if len(names) == 1 else f"{count} qualify" + (f" ({_some(names)})" if names else "")
        if self.fitting and not self.enough and len(self.fitting) >= self.asked:
            return f"{said}, but {self.about_nights()}"
        return "; ".join([said, *self._lacks()])

    def _lacks(self) -> list[str]:
        """Why the other cities do not qualify: the nearest misses first, those without any fitting stay together."""
        none = [city.name for city in self.cities if city.lack and not stays(self.query, self.world, city.name)]
        near = [city for city in self.cities if city.lack and city.name not in none]
        said = [f"{city.name}: {city.lack}" for city in near[:MOST_NAMED]]
        if len(near) > MOST_NAMED:
            said.append(f"{len(near) - MOST_NAMED} more like these")
        if len(none) <= 3:
            return said + [f"{city.name}: {city.lack}" for city in self.cities if city.name in none]
        return [*said, f"{len(none)} have no {stay_phrase(self.wishes.room_type, self.wishes.house_rule)} ({_some(none)})"]

    def about_nights(self) -> str:
        spans = [f"{city.name} {_span(city.nights)}" for city in self.fitting[:MOST_NAMED]]
        return f"{_nights(self.query.days - 1)} cannot be shared among them as they need ({', '.join(spans)})"

    # ---- cuisines

    def about_cuisines(self) -> str:
        places = self.fitting or self.cities
        said = []
        for cuisine in self.wishes.cuisine or ():
            serving = [city for city in self.cities if self._serves(city, cuisine)]
            names = [city.name for city in serving if city in places]
            where = _some([city.name for city in places]) if len(places) <= MOST_NAMED else f"the {len(places)} cities that qualify"
            said.append(f"{cuisine} is served in {_some(names)}" if names else f"no restaurant in {where} serves {cuisine} food")
            if not names:
                said += [f"{city.name} has {cuisine} food, but cannot host this trip: {city.lack}" for city in serving[:MOST_NAMED]]
        return "; ".join(said)

    def _serves(self, city: _City, cuisine: str) -> bool:
        return any(cuisine in row.cuisines for row in restaurants(self.world, city.name))

    # ---- transport

    def about_transport(self) -> str:
        """From home to each fitting city and back, then between the cities where the trip needs that."""
        wanted = self.wishes.cuisine or ()
        may_do = self.fitting or self.cities
        if self.asked == 1:
            may_do = [city for city in may_do if all(self._serves(city, cuisine) for cuisine in wanted)] or may_do
        places = [city.name for city in may_do]
        out, back = self.query.date[0], self.query.date[-1]
        no_way: dict[str, str] = {}
        for name in places:
            there, home = self._lack(self.query.org, name, out), self._lack(name, self.query.org, back)
            if lack := there or home:
                no_way[name] = f"no way from {self.query.org if there else name} to {name if there else self.query.org} ({lack})"
        if len(no_way) == len(places) > 1:
            said = f"none of {len(places)} cities can be reached from {self.query.org} and left for it again"
            return "; ".join([said, *list(no_way.values())[:3]])
        if no_way:
            others = len(no_way) - MOST_NAMED
            return "; ".join([*list(no_way.values())[:MOST_NAMED], *([f"{others} more like these"] if others > 0 else [])])
        if len(places) == 1 or self.asked == 1:
            return f"no way to {_some(places)} and back that is all by one's own car or all by plane and taxi, which may not be mixed"
        pairs = list(itertools.permutations(places, 2))
        joined = sum(1 for a, b in pairs if any(not self._lack(a, b, date) for date in self.query.date[1:-1]))
        said = f"{joined} of the {len(pairs)} ways between {_some(places)} can be travelled"
        return f"{said}, and no order of {self.asked} cities fits the nights and the way home"

    def _lack(self, origin: str, destination: str, date: str) -> str:
        """What keeps a party from going, or ""."""
        if road_legs(self.query, self.world, origin, destination):
            return ""
        ground = self.world.ground(origin, destination)
        road = "no road" if road_km(ground) is None and not (ground and ground.duration) else "a road that takes a day or more"
        if self.wishes.transportation == "no flight":
            return f"{road}, and no flight wanted"
        dates = [date] if "dates" in self.kinds else [date, *self._same_day_of_other_trips(date)]
        if any(flight_leg(self.query, self.world, origin, destination, day) for day in dates):
            return ""
        if len(dates) > 1:
            return f"{road}, and no flight on any day that is known"
        known = self.world.flights(origin, destination, date) is not None
        return f"{road}, and no flight on {date}" if known else f"{road}, and the flights of {date} are not known"

    def _same_day_of_other_trips(self, date: str) -> Iterable[str]:
        at = list(self.query.date).index(date)
        return (dates[at] for _, dates in other_dates(self.query, self.world))


def _shares(split: Sequence[int], cities: Sequence[_City]) -> bool:
    """Whether each part of the split finds a city of its own (matching by augmenting paths)."""
    taken: dict[str, int] = {}  # city → the part of the split that it has

    def place(part: int, seen: set[str]) -> bool:
        for city in cities:
            if split[part] in city.nights and city.name not in seen:
                seen.add(city.name)
                if city.name not in taken or place(taken[city.name], seen):
                    taken[city.name] = part
                    return True
        return False

    return all(place(part, set()) for part in range(len(split)))


def counted(number: int, thing: str) -> str:
    many = f"{thing[:-1]}ies" if thing.endswith("ty") else f"{thing}s"
    return f"{number} {thing if number == 1 else many}"


def _nights(count: int) -> str:
    return counted(count, "night")


def _span(nights: Sequence[int]) -> str:
    return f"{nights[0]}" if len(nights) == 1 else f"{nights[0]} to {nights[-1]}"
