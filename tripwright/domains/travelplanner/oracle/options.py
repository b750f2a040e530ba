"""What each city and leg offers to one query, and the query in one world as numbers: what each city
costs for so many nights, and each leg on each day.

Written from the benchmark's rules, without looking at the judge's code: tests make the two
agree. The official rules look a name up as a substring and take the first row that has it; the
strict rules take the rows of exactly this name. An option is offered where both charge the same and
accept it, and left out where they do not or where its name would not survive the plan's text: a
plan of these options means the same, and costs the same, under both.

Costs of a `Problem` are whole cents for the whole party. Everything is looked up when it is first
asked for, and kept as long as the problem is. A search takes as long as it needs, unless whoever
asks for strangers sets an end (`at_most`); the long loops look at it.
"""

from __future__ import annotations

import math
import re
import time
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from typing import Literal, NamedTuple

from tripwright.domains.travelplanner.query import Query, why_outside
from tripwright.errors import UserError, counted
from tripwright.world.records import (
    Accommodation,
    Attraction,
    Flight,
    Ground,
    Restaurant,
    duration_minutes,
    nearest_name,
)
from tripwright.world.store import World

# ---- how long a search may take


_UNTIL: ContextVar[float | None] = ContextVar("until", default=None)


class OutOfTime(UserError):
    """The search was not over in time."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """A search inside raises OutOfTime after so long."""
    token = _UNTIL.set(time.monotonic() + seconds)
    try:
        yield
    except OutOfTime:
        raise OutOfTime(
            f"No plan was found or ruled out within {seconds:g} s. Ask for fewer days or cities."
        ) from None
    finally:
        _UNTIL.reset(token)


def check_time() -> None:
    if (until := _UNTIL.get()) is not None and time.monotonic() > until:
        raise OutOfTime


# ---- what each city and leg offers


FORBIDDEN_BY_RULE = {
    "smoking": "No smoking",
    "parties": "No parties",
    "children under 10": "No children under 10",
    "visitors": "No visitors",
    "pets": "No pets",
}
ROOM_TYPES = {
    "shared room": {"Shared room"},
    "private room": {"Private room"},
    "entire room": {"Entire home/apt"},
    "not shared room": {"Private room", "Entire home/apt"},
}
TRANSPORTATION = ("no flight", "no self-driving")
SELF_DRIVING_USD_PER_KM, TAXI_USD_PER_KM = 0.05, 1.0
SEATS = {"self-driving": 5, "taxi": 4}
MEALS = ("breakfast", "lunch", "dinner")
DAY = 24 * 60  # minutes
LONGEST_ROAD = 8 * 60  # minutes, by the livable rules where one can fly
# By the livable rules, minutes after the midnight behind the flight's day: an hour is left for
# breakfast, so every full day has its meals.
LATEST_LANDING = 9 * 60
BEST_RATING = 5.0


@dataclass(frozen=True)
class Leg:
    """One way of getting from one city to the next. `cost_usd` is per person (flight) or per
    vehicle; `party_cost_usd` is for everyone."""

    mode: str
    origin: str
    destination: str
    duration: str
    distance: str
    cost_usd: float
    party_cost_usd: float
    flight: Flight | None = None

    @cached_property
    def hours(self) -> tuple[int | None, int]:
        """(when it leaves, minutes after midnight; minutes from then to the landing, by the clocks
        of the two cities). A road leaves when it suits: None. Hours that cannot be read bind
        nobody."""
        taken = duration_minutes(self.duration) or 0
        if self.flight is None:
            return None, taken
        leaves, lands = _minute(self.flight.departure_time), _minute(self.flight.arrival_time)
        if leaves is None or lands is None:
            return None, 0
        # the clocks of two cities are less than half a day apart
        ways = (lands - leaves + days * DAY for days in (-1, 0, 1, 2))
        return leaves, min(ways, key=lambda way: abs(way - taken))


def _minute(clock: str) -> int | None:
    hour, _, minute = clock.partition(":")
    return 60 * int(hour) + int(minute) if hour.isdecimal() and minute.isdecimal() else None


@dataclass(frozen=True)
class Stay:
    accommodation: Accommodation
    rooms: int
    night_cost_usd: float  # all rooms
    # from this many nights on, the strict rules charge a cheaper row of the same name
    nights_below: float = math.inf

    def fits(self, nights: int) -> bool:
        return self.accommodation.minimum_nights <= nights < self.nights_below


def cents(usd: float) -> int:
    """Sums of whole cents are exact, so that equal plans cost the same in whatever order they are
    added up."""
    return round(100 * usd)


def road_km(ground: Ground | None) -> float | None:
    """Length of a usable road connection; None where there is none, or it takes a day or more (the
    official rule)."""
    if ground is None or not ground.duration or not ground.distance or "day" in ground.duration:
        return None
    return float(re.sub(r"[^\d.]", "", ground.distance.replace("km", "")))


def road_legs(query: Query, world: World, origin: str, destination: str) -> list[Leg]:
    """Self-driving and taxi, as far as the query allows them."""
    ground = world.ground(origin, destination)
    km = road_km(ground)
    if km is None or ground is None:
        return []
    legs = []
    for mode, per_km in (("self-driving", SELF_DRIVING_USD_PER_KM), ("taxi", TAXI_USD_PER_KM)):
        if mode == "self-driving" and query.local_constraint.transportation == "no self-driving":
            continue
        cost = int(km * per_km)
        vehicles = math.ceil(query.party_size / SEATS[mode])
        legs.append(
            Leg(mode, origin, destination, ground.duration, ground.distance, cost, cost * vehicles)
        )
    return legs


def flight_legs(
    query: Query, world: World, origin: str, destination: str, date: str
) -> Iterator[Leg]:
    """All of them, cheapest first."""
    if query.local_constraint.transportation == "no flight":
        return
    flights = world.flights(origin, destination, date) or ()
    for flight in sorted(flights, key=lambda flight: flight.price_usd):
        if not _is_plain(flight.number) or "," in flight.number:
            continue
        # the official price is that of the number's first row
        if world.flights_numbered(flight.number)[0].price_usd == flight.price_usd:
            miles, price = f"{flight.distance_miles:g} miles", flight.price_usd
            way = ("flight", origin, destination, flight.duration, miles)
            yield Leg(*way, price, price * query.party_size, flight)


def stays(query: Query, world: World, city: str) -> list[Stay]:
    """Accommodations that keep every stated preference, cheapest for this party first. Nights are
    left to the planner: see `Stay.fits`."""
    rows = world.accommodations(city)
    options = []
    for name in dict.fromkeys(row.name.strip() for row in rows if _is_plain(row.name)):
        first = next(row for row in rows if name in row.name)
        if not _keeps_wishes(query, first):
            continue
        charged = _night_cost_usd(query, first)
        fitting = [row for row in rows if row.name.strip() == name and _keeps_wishes(query, row)]
        same = [row for row in fitting if _night_cost_usd(query, row) == charged]
        if same:
            row = min(same, key=lambda row: row.minimum_nights)
            cheaper = (each for each in fitting if _night_cost_usd(query, each) < charged)
            below = min((each.minimum_nights for each in cheaper), default=math.inf)
            options.append(Stay(row, _rooms(query, row), charged, below))
    return sorted(options, key=lambda stay: stay.night_cost_usd)


def _keeps_wishes(query: Query, row: Accommodation) -> bool:
    room, forbidden = query.local_constraint.room_type, row.house_rules
    if any(FORBIDDEN_BY_RULE[rule] in forbidden for rule in query.house_rules):
        return False
    if row.name.strip() in query.without:
        return False
    return not room or row.room_type in ROOM_TYPES[room]


def _rooms(query: Query, row: Accommodation) -> int:
    return math.ceil(query.party_size / row.maximum_occupancy)


def _night_cost_usd(query: Query, row: Accommodation) -> float:
    return _rooms(query, row) * row.price_usd


def restaurants(world: World, city: str) -> list[Restaurant]:
    """Restaurants that mean the same under both look-ups, cheapest first."""
    rows = world.restaurants(city)
    options = []
    for name in dict.fromkeys(row.name.strip() for row in rows if _is_plain(row.name)):
        first = next(row for row in rows if name in row.name)
        exact = next(row for row in rows if row.name.strip() == name)
        if (first.average_cost_usd, first.cuisines) == (exact.average_cost_usd, exact.cuisines):
            options.append(exact)
    return sorted(options, key=lambda row: row.average_cost_usd)


Sign = str | tuple[str, str]  # by which sights are one: letters of a name, house, spot
# the rows that a plan can name, with their places in the file
Sight = tuple[list[tuple[int, Attraction]], list[Sign]]


def _is_precise(sight: Attraction) -> bool:
    """To some hundred metres at the least."""
    spot = sight.latitude, sight.longitude
    return all(re.match(r".*\.\d{3}", degrees) for degrees in spot)


def attractions(world: World, city: str) -> list[Attraction]:
    """One row for each sight whose name survives the plan's text, in file order. Names at one house
    number, or at one spot, are one sight, also by way of a third name."""
    sight_with: dict[Sign, Sight] = {}
    for place, row in enumerate(world.attractions(city)):
        signs: list[Sign] = [_letters(row.name)]
        parts = row.address.split(", ")
        houses = (part for part in parts[:-2] or parts[:1] if part[:1].isdigit() and " " in part)
        signs.extend(islice(houses, 1))
        if _is_precise(row):
            signs.append((row.latitude, row.longitude))
        sight: Sight = ([], signs)
        for sign in signs:
            known = sight_with.get(sign, sight)
            if known is not sight:
                sight = (known[0] + sight[0], known[1] + sight[1])
                sight_with.update(dict.fromkeys(sight[1], sight))
        if _is_plain(row.name) and ";" not in row.name:
            sight[0].append((place, row))
        sight_with.update(dict.fromkeys(signs, sight))
    firsts = dict(min(rows) for rows, _ in sight_with.values() if rows)
    return [row for _, row in sorted(firsts.items())]


def _letters(name: str) -> str:
    """The same for names that differ in signs, case or blanks alone: to a traveller, one place."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(c for c in plain if c.isalnum()) or name.strip()


def _is_plain(name: str) -> bool:
    return name.strip() not in ("", "-") and "\n" not in name and "\r" not in name


def cuisine_mask(row: Restaurant, cuisines: tuple[str, ...]) -> int:
    return sum(1 << i for i, cuisine in enumerate(cuisines) if cuisine in row.cuisines)


# cuisine mask → (cents per person, indices of the restaurants)
Meals = dict[int, tuple[int, tuple[int, ...]]]


def cheapest_meals(
    rows: list[Restaurant], prices: list[int], cuisines: tuple[str, ...], most: int
) -> list[Meals]:
    """For each number of meals from 0 to `most`: cuisine mask → the cheapest set of that many
    different restaurants.

    Dynamic programme over places with state (count, mask). A row that serves a wanted cuisine
    matters only as the cheapest of its mask, every other one only as one of the `most` cheapest.
    Rows that are one place to a traveller matter all, and one of them is taken.
    """
    masks = [cuisine_mask(row, cuisines) for row in rows]
    rows_of_place: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        rows_of_place.setdefault(_letters(row.name), []).append(i)
    alone = [i for place in rows_of_place.values() if len(place) == 1 for i in place]
    first_of_mask = {masks[i]: i for i in reversed(alone)}
    kept = {*alone[:most], *(i for mask, i in first_of_mask.items() if mask)}
    best: list[Meals] = [{0: (0, ())}, *({} for _ in range(most))]
    for place in rows_of_place.values():
        check_time()
        if len(place) == 1 and place[0] not in kept:
            continue
        for count in range(most - 1, -1, -1):
            above = best[count + 1]
            for i in place:
                for covered, (cost, indices) in best[count].items():
                    mask, price = covered | masks[i], cost + prices[i]
                    if mask not in above or price < above[mask][0]:
                        above[mask] = price, (*indices, i)
    return best


# ---- one query in one world as numbers


# so many extra meals always find a place on the days of travel: three on each, and one city has two
# of them
MOST_CUISINES = 9


class Unplannable(NamedTuple):
    """What is wrong with a request: its kind as an explanation names it, what it says, and a
    sentence."""

    kind: str
    value: str
    words: str


def unplannable(query: Query, world: World) -> Unplannable | None:
    """Why a request cannot even be tried; words that are not known are refused, never ignored."""
    wishes, dates = query.local_constraint, query.date
    cuisines = wishes.cuisine or []
    days, cities = counted(query.days, "day"), query.visiting_city_number
    if query.org not in world.cities:
        words = f"'{query.org}' is not a city in this world{_near(query.org, world.cities)}."
        return Unplannable("origin", query.org, words)
    if query.days <= cities:
        least = counted(cities + 1, "day")
        words = f"to visit {counted(cities, 'city')} takes {least} or more, the request has {days}."
        return Unplannable("cities", str(cities), words)
    kind, names = ("city", world.cities) if query.days <= 3 else ("state", world.states)
    if query.dest not in names:
        goes = f"a trip of {days} goes to a {kind} of this world"
        words = f"'{query.dest}' is not a destination: {goes}{_near(query.dest, names)}."
        return Unplannable("destination", query.dest, words)
    if query.dest == query.org and query.days <= 3:
        words = f"the trip starts in {query.org} and goes to {query.org}."
        return Unplannable("destination", query.dest, words)
    if len(dates) != query.days:
        words = f"the request is for {days} and gives {counted(len(dates), 'date')}."
        return Unplannable("dates", ", ".join(dates) or "none", words)
    if outside := why_outside(query, world):
        return Unplannable("dates", f"{dates[0]} to {dates[-1]}", outside)
    for kind, wish, vocabulary in (
        ("house rule", wishes.house_rule, FORBIDDEN_BY_RULE),
        ("room type", wishes.room_type, ROOM_TYPES),
        ("transportation", wishes.transportation, TRANSPORTATION),
    ):
        if wish is not None and wish not in vocabulary:
            words = f"unknown {kind} '{wish}'; known are {', '.join(vocabulary)}."
            return Unplannable(kind, wish, words)
    said = ", ".join(cuisines)
    if len(set(cuisines)) < len(cuisines):
        words = f"a cuisine is asked for twice ({said}), which the official rules cannot pass."
        return Unplannable("cuisine", said, words)
    if len(cuisines) > MOST_CUISINES:
        tries = f"the planner tries up to {MOST_CUISINES}."
        return Unplannable("cuisine", said, f"{len(cuisines)} cuisines are asked for; {tries}")
    return None


def _near(name: str, names: Iterable[str]) -> str:
    near = nearest_name(name, tuple(names))
    return f"; the nearest name is '{near}'" if near else ""


def why_unplannable(query: Query, world: World) -> str | None:
    wrong = unplannable(query, world)
    return None if wrong is None else wrong.words


def city_pool(query: Query, world: World) -> list[str]:
    """The cities a plan may visit, in the world's order: one for up to three days, those of a state
    for more (row T2)."""
    if query.days <= 3:
        return [query.dest]
    return [
        city
        for city in world.states[query.dest]
        if city != query.org and world.cities[city] == query.dest and city not in query.without
    ]


@dataclass(frozen=True)
class CityOffer:
    """One city for so many nights. `stays` is cheapest first; `meals` holds no set that a cheaper
    one covers."""

    stays: tuple[Stay, ...]
    stay_cents: tuple[int, ...]  # all nights
    # (cuisine mask, cents, restaurants by index), cheapest first
    meals: tuple[tuple[int, int, tuple[int, ...]], ...]


class Problem:
    """`legs`: those of the whole party from one city to another on the day with this index, by own
    car or else by flight and taxi, cheapest first.

    `comfort_usd`: what a meal with a star less costs each person on top, a night with a star less
    twice, an hour on the way twice, and a meal left out ten times; so the cheapest plan is a
    better one than without.
    `lenient`: livable days but for the length of days and roads (1), and but for their meals (2):
    then something in each of them is all that is left."""

    def __init__(
        self,
        query: Query,
        world: World,
        comfortable: bool = False,
        livable: bool = False,
        comfort_usd: float = 0.0,
        lenient: Literal[0, 1, 2] = 0,
    ):
        self.query, self.world, self.comfortable = query, world, comfortable
        self.livable, self.lenient, self._comfort = livable, lenient, 100 * comfort_usd
        self.wanted = tuple(query.local_constraint.cuisine or ())
        self.visits, self.nights = query.visiting_city_number, query.days - 1
        longest = self.nights - self.visits + 1
        # nights that one city may have
        self.lengths = range(1 if self.visits > 1 else longest, longest + 1)
        self.stays = cache(lambda city: sorted(stays(query, world, city), key=self._night_cents))
        self.meals, self.sights = cache(self._meals), cache(self._sights)
        self._offer, self._road = cache(self._made_offer), cache(self._made_road)
        self.leg, self._livable = cache(self._cheapest), cache(self._livable_legs)

    @cached_property
    def cities(self) -> list[str]:
        """The pool without the cities that fit for no number of nights."""
        pool = city_pool(self.query, self.world)
        return [city for city in pool if any(self.offer(city, some) for some in self.lengths)]

    def offer(self, city: str, nights: int) -> CityOffer | None:
        offer = self._offer(city, nights)
        return None if isinstance(offer, str) else offer

    def why_not(self, city: str, nights: int) -> str | None:
        """Why the city cannot be had for so many nights, in a sentence; None where it can."""
        offer = self._offer(city, nights)
        return offer if isinstance(offer, str) else None

    def _made_offer(self, city: str, nights: int) -> CityOffer | str:
        check_time()
        fitting = tuple(
            stay
            for stay in self.stays(city)
            if stay.fits(nights) and not (self.comfortable and stay.rooms > 1)
        )
        if not fitting:
            kept = f"no stay in {city} keeps the stated preferences"
            return f"{kept} with at most {nights} minimum nights."
        counts = self.meals(city)[1]
        required = len(MEALS) * (nights - 1)
        # Beside the required meals, at most one per wanted cuisine, and no more than its two days
        # of travel have.
        most = max(required, min(len(self.wanted), required + 2 * len(MEALS)))
        sets: dict[int, tuple[int, tuple[int, ...]]] = {}
        for extra, meals in enumerate(counts[required : most + 1]):
            for mask, (full_price, indices) in meals.items():
                price = full_price - extra * self.cents_with_legs(city)
                if mask not in sets or price < sets[mask][0]:
                    sets[mask] = price, indices
        if not sets:
            return f"{city} has too few restaurants for distinct meals."
        if len(self.sights(city)) < nights - 1:
            return f"{city} has too few attractions."
        costs = tuple(self._night_cents(stay) * nights for stay in fitting)
        return CityOffer(fitting, costs, _undominated(sets, self.query.party_size))

    def cents_with_legs(self, city: str) -> int:
        """What of a meal on a day of travel, for one person, is in the least price of a leg: by the
        livable rules that of the cheapest restaurant. No bound may count such a meal twice."""
        rows = self.meals(city)[0] if self.livable else []
        return self._meal_cents(rows[0]) if rows else 0

    def leg_cents(self, leg: Leg) -> int:
        hours = leg.hours[1] / 60
        return cents(leg.party_cost_usd) + self._discomfort(2 * hours * self.query.party_size)

    def _night_cents(self, stay: Stay) -> int:
        price = cents(stay.accommodation.price_usd) * stay.rooms
        return price + self._discomfort(2 * self.query.party_size, stay.accommodation)

    def _meal_cents(self, row: Restaurant) -> int:
        return cents(row.average_cost_usd) + self._discomfort(1, row)

    def missed_cents(self, meals: int) -> int:
        """What so many meals that a day of travel does without are like."""
        return self._discomfort(10 * meals * self.query.party_size)

    def _discomfort(self, much: float, of: Restaurant | Accommodation | None = None) -> int:
        if not self._comfort:  # rows of answers need have no stars
            return 0
        return round(self._comfort * much * (1 if of is None else max(0, BEST_RATING - of.rating)))

    def _meals(self, city: str) -> tuple[list[Restaurant], list[Meals]]:
        rows = sorted(filter(self._is_wanted, restaurants(self.world, city)), key=self._meal_cents)
        prices = [self._meal_cents(row) for row in rows]
        most = max(len(MEALS) * (self.lengths[-1] - 1), len(self.wanted))
        most += 2 * len(MEALS) * self.livable
        return rows, cheapest_meals(rows, prices, self.wanted, most)

    @cached_property
    def _first(self) -> dict[tuple[str, ...], str]:
        """Row of a sight that two cities' tables have → the city for which it is planned."""
        cities = [*city_pool(self.query, self.world), self.query.org]
        rows = ((row, city) for city in cities[::-1] for row in self.world.attractions(city))
        return {row[:-1]: city for row, city in rows if _is_precise(row)}

    def _sights(self, city: str) -> tuple[str, ...]:
        rows = filter(self._is_wanted, attractions(self.world, city))
        return tuple(row.name for row in rows if self._first.get(row[:-1], city) == city)

    def _is_wanted(self, row: Restaurant | Attraction) -> bool:
        return row.name.strip() not in self.query.without

    def legs(self, origin: str, destination: str, day: int, driving: bool) -> Iterator[Leg]:
        """Those of the whole party on the day with this index, by own car or else by flight and
        taxi, cheapest first."""
        if self.livable:
            yield from self._livable(origin, destination, day, driving)
        # by the strict rules the first is nearly always enough
        elif first := self.leg(origin, destination, day, driving):
            yield first
            yield from islice(self._legs(origin, destination, day, driving), 1, None)

    def _cheapest(self, origin: str, destination: str, day: int, driving: bool) -> Leg | None:
        return next(self._legs(origin, destination, day, driving), None)

    def _legs(self, origin: str, destination: str, day: int, driving: bool) -> Iterator[Leg]:
        road = self._road(origin, destination).get("self-driving" if driving else "taxi")
        flies = (self.query, self.world, origin, destination, self.query.date[day])
        for flight in () if driving else flight_legs(*flies):
            if self.comfortable:
                road = None
            elif road and road.party_cost_usd < flight.party_cost_usd:
                yield road
                road = None
            yield flight
        if road:
            yield road

    def _livable_legs(self, origin: str, destination: str, day: int, driving: bool) -> list[Leg]:
        flies = self.query.local_constraint.transportation != "no flight" and bool(
            self.world.flights(origin, destination, self.query.date[day])
        )
        return [
            leg
            for leg in self._legs(origin, destination, day, driving)
            if (
                sum(filter(None, leg.hours)) <= DAY + LATEST_LANDING
                if leg.flight
                else self.lenient or not flies or leg.hours[1] <= LONGEST_ROAD
            )
        ]

    def _made_road(self, origin: str, destination: str) -> dict[str, Leg]:
        return {leg.mode: leg for leg in road_legs(self.query, self.world, origin, destination)}


def _undominated(sets: Meals, party_size: int) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    menus: list[tuple[int, int, tuple[int, ...]]] = []
    for mask, (price, indices) in sorted(
        sets.items(), key=lambda item: (item[1][0], -item[0].bit_count(), item[0])
    ):
        if not any(mask & ~other == 0 for other, _, _ in menus):
            menus.append((mask, price * party_size, indices))
    return tuple(menus)
