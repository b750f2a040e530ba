"""The six live tools answered from a closed, generated world, so that everything works offline and
the same everywhere (row D1).

Flights, places to stay, sights and restaurants are the world's own rows. What the world has no
table for is drawn from the world's content and the names involved: the same world gives the same
answers in every process and on every day. Sights lie where the world's table puts them; everything
else gets a position in kilometres from the city's middle, and degrees where the table has sights to
count them from. Trains are drawn for each pair of cities from the length of the road between them,
there and back alike: none where there is no road, none over LONGEST_KM, none faster than
FASTEST_KMH. Every day has the same timetable; fares go with the day.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date as calendar_date
from datetime import datetime, timedelta
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

from tripwright.domains.deeptravel.sandbox.provider import Terms
from tripwright.domains.deeptravel.sandbox.sandbox import checked_day
from tripwright.domains.deeptravel.tools.answers import (
    RECORDS,
    FlightOffer,
    HotelOffer,
    Money,
    PointOfInterest,
    Provenance,
    ProviderAnswer,
    RouteLeg,
    TrainOffer,
    WebPage,
)
from tripwright.errors import counted
from tripwright.llm.http import ProviderFault
from tripwright.tools.answer import quoted
from tripwright.world.geography import Position, clock_of, middle_of, position_at, saving_minutes
from tripwright.world.records import Flight, did_you_mean, duration_minutes, road_distance_km
from tripwright.world.store import World

# ---- in a city

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
        return middle_of((sight.latitude, sight.longitude) for sight in sights)

    @cached_property
    def spots(self) -> dict[str, Spot]:
        """Name → spot: of two places of one name the first."""
        spots: dict[str, Spot] = {}
        for spot in self._all():
            spots.setdefault(spot.place.name, spot)
        return spots

    @cached_property
    def _degree_east_km(self) -> float:
        latitude = self.middle.latitude if self.middle is not None else 0.0
        return KM_PER_DEGREE * math.cos(math.radians(latitude))

    def _all(self) -> Iterator[Spot]:
        for sight in self.world.attractions(self.city):
            at = position_at(sight.latitude, sight.longitude)
            if at is None or self.middle is None:
                yield self._drawn(sight.name, SIGHT, REACH_KM[RESTAURANT], sight.address)
                continue
            east = (at.longitude - self.middle.longitude) * self._degree_east_km
            north = (at.latitude - self.middle.latitude) * KM_PER_DEGREE
            place = PointOfInterest(sight.name, self.city, sight.address, SIGHT, *at)
            yield Spot(place, east, north)
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
            longitude = round(self.middle.longitude + east / self._degree_east_km, 5)
        place = PointOfInterest(name, self.city, address, category, latitude, longitude)
        return Spot(place, east, north, words)

    def named(self, name: str) -> Spot | None:
        """Whatever its capitals."""
        return self.spots.get(name) or self._folded.get(name.casefold().strip())

    @cached_property
    def _folded(self) -> dict[str, Spot]:
        return {name.casefold(): spot for name, spot in reversed(self.spots.items())}

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


# ---- between cities

CURRENCY = "USD"
LONGEST_KM = 1200.0
SLOWEST_KMH, FASTEST_KMH = 85.0, 185.0  # average over the road's length, stops included
DIRECT_SHARE = 0.85  # of the pairs
ALWAYS_DIRECT_KM = 150.0
CHANGE_MINUTES = (15, 180)  # from one train to the next
MOST_DETOUR = 1.3  # of a journey with a change, against the direct way
MOST_CHANGES = 4  # journeys with a change that are offered
DAY_FACTORS = (0.95, 0.93, 0.95, 1.0, 1.12, 1.0, 1.1)  # of fares: Fridays and Sundays are dear


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
        runs, day = self.timetable(origin.city, destination.city), datetime.fromisoformat(date)
        ahead = self._shift_minutes(origin.city, destination.city, date) if runs else 0
        return [
            TrainOffer(
                number=run.number,
                operator=run.operator,
                depart_city=origin.city,
                depart_station=origin.station,
                arrive_city=destination.city,
                arrive_station=destination.station,
                departs_at=_stamp(day + timedelta(minutes=run.left)),
                arrives_at=_stamp(day + timedelta(minutes=run.left + run.minutes + ahead)),
                minutes=run.minutes,
                price=Money(float(round(run.usd * DAY_FACTORS[day.weekday()])), CURRENCY),
            )
            for run in runs
        ]

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


def _minutes_between(before: str, after: str) -> float:
    return (datetime.fromisoformat(after) - datetime.fromisoformat(before)).total_seconds() / 60


def _stamp(at: datetime) -> str:
    return at.isoformat(timespec="minutes")


# ---- the tools

VERSION = "2"  # of how answers are made: another one is another key in a sandbox
MOST_HOTELS = 20  # cheapest first
MOST_PLACES = 10
MOST_PAGES = 6
MOST_MAPS = 1024  # cities remembered
# What people call a kind of place → the kind.
_KINDS = {
    **dict.fromkeys("attraction sight sightseeing landmark tourist museum".split(), SIGHT),
    **dict.fromkeys("restaurant food eat dining dinner lunch breakfast cafe".split(), RESTAURANT),
    **dict.fromkeys("hotel accommodation lodging stay hostel".split(), HOTEL),
    **dict.fromkeys("station train railway".split(), STATION),
    **dict.fromkeys("airport flight terminal plane".split(), AIRPORT),
}


class WrongCall(Exception):
    """The call itself is wrong; the message says how, in a line."""


class WorldProvider:
    """`day` is today in this world: answers carry it as the day they were fetched on. Without one
    it is the first day with flights.

    Raises UserError for an impossible date.
    """

    name = "world"
    terms = Terms()
    tools = frozenset(RECORDS)  # a method each

    def __init__(self, world: World, day: str | None = None):
        self.world = world
        filled = world.filled_dates
        self.day = checked_day(
            day or (world.dates[0] if world.dates else filled[0] if filled else "2022-03-01")
        )
        self.version = f"{VERSION}-{world.content_hash}"
        self._source = Provenance(self.name, self.version, f"{self.day}T00:00:00Z")
        self._ways = Ways(world)
        self._known_map = lru_cache(MOST_MAPS)(partial(CityMap, world))

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        """Days are of the calendar, and a stay has a night (`LiveTools` sees to it). Raises
        ProviderFault for a tool that is not among the six, and nothing else."""
        if tool not in self.tools:
            raise ProviderFault(
                "bad_response", f"A closed world answers {', '.join(RECORDS)}, not '{tool}'."
            )
        answer: Callable[..., ProviderAnswer] = getattr(self, tool)
        try:
            return answer(**arguments)
        except WrongCall as wrong:
            return ProviderAnswer((), self._source, str(wrong), refused=True)

    def __reduce__(self) -> tuple[type[WorldProvider], tuple[World, str]]:
        return WorldProvider, (self.world, self.day)

    def _found(self, records: list[Any], note: str = "") -> ProviderAnswer:
        return ProviderAnswer(tuple(records), self._source, note)

    def _map(self, city: str) -> CityMap:
        if city not in self.world.cities:
            raise WrongCall(f"Unknown city {quoted(city)}.{did_you_mean(city, self.world.cities)}")
        return self._known_map(city)

    def _spot(self, place: CityMap, name: str) -> Spot:
        spot = place.named(name)
        if spot is None:
            hint = did_you_mean(name, place.spots) or " poi_search finds the places of a city."
            raise WrongCall(f"Unknown place {quoted(name)} in {place.city}.{hint}")
        return spot

    def flight_search(
        self,
        depart_city_name: str,
        arrival_city_name: str,
        depart_date: str,
        depart_poi: str = "",
        arrival_poi: str = "",
    ) -> ProviderAnswer:
        origin, destination = self._map(depart_city_name), self._map(arrival_city_name)
        # first of all: a place that is not known is a wrong call, whether there are flights or not
        ways: list[RouteLeg] = []
        if depart_poi:
            ways += origin.ways(self._spot(origin, depart_poi), origin.spots[origin.airport])
        if arrival_poi:
            end = destination.spots[destination.airport]
            ways += destination.ways(end, self._spot(destination, arrival_poi))
        offers = self._ways.flights(origin, destination, depart_date)
        way = f"from {origin.city} to {destination.city} on {depart_date}"
        if offers is None:
            return self._found(
                [],
                f"Whether there are flights {way} is not in this world's records: unknown, not 'no"
                " flights'.",
            )
        if not offers:
            return self._found([], f"No flights {way}.")
        return self._found([*offers, *ways])

    def train_search(
        self, depart_city_name: str, arrival_city_name: str, depart_date: str, is_transfer: int = 0
    ) -> ProviderAnswer:
        origin, destination = self._map(depart_city_name), self._map(arrival_city_name)
        offers = self._ways.trains(origin, destination, depart_date, transfers=bool(is_transfer))
        way = f"trains from {origin.city} to {destination.city}"
        note = f"No {way}, with a change or without." if is_transfer else f"No direct {way}."
        return self._found(offers, "" if offers else note)

    def route_planning(
        self, origin_name: str, destination_name: str, city_name: str
    ) -> ProviderAnswer:
        place = self._map(city_name)
        return self._found(
            list(place.ways(self._spot(place, origin_name), self._spot(place, destination_name)))
        )

    def hotel_search(
        self, city_name: str, checkin_date: str, checkout_date: str, hotel_name: str = ""
    ) -> ProviderAnswer:
        place = self._map(city_name)
        first, last = map(calendar_date.fromisoformat, (checkin_date, checkout_date))
        nights = (last - first).days
        needle = hotel_name.casefold().strip()
        everywhere = self.world.accommodations(city_name)
        stays = [stay for stay in everywhere if needle in stay.name.casefold()]
        if not stays:
            name = f" called {quoted(hotel_name)}" if needle else ""
            hint = did_you_mean(hotel_name, [each.name for each in everywhere]) if needle else ""
            return self._found([], f"No hotels{name} in {city_name}.{hint}")
        fitting = [stay for stay in stays if stay.minimum_nights <= nights]
        if not fitting:
            least = min(int(stay.minimum_nights) for stay in stays)
            who = f"The hotels in {city_name} that were searched take"
            if len(stays) == 1:
                who = f"{stays[0].name} takes"
            return self._found([], f"{who} guests for {least} nights or more, not for {nights}.")
        fitting.sort(key=lambda stay: (stay.price_usd, stay.name))
        offers = []
        for stay in fitting[:MOST_HOTELS]:
            at, most = place.spots[stay.name].place, int(stay.maximum_occupancy)
            offers.append(
                HotelOffer(
                    name=stay.name,
                    city=place.city,
                    checkin_date=checkin_date,
                    checkout_date=checkout_date,
                    room=f"{stay.room_type}, up to {counted(most, 'guest')}",
                    address=at.address,
                    price=Money(stay.price_usd * nights, CURRENCY),
                    rating=stay.rating,
                    latitude=at.latitude,
                    longitude=at.longitude,
                    guests=most,
                )
            )
        return self._found(offers)

    def poi_search(self, query: str, city_name: str) -> ProviderAnswer:
        place = self._map(city_name)
        places = _matching(place, query)
        note = "" if places else f"Nothing in {place.city} is found for {quoted(query)}."
        return self._found(list(places), note)

    def web_search(self, query: str) -> ProviderAnswer:
        """About the cities that the query names, those pages first that it asks for; about two
        cities, the way between them before all."""
        cities, words = _named(self.world, query), set(re.findall(r"[a-z]+", query.casefold()))
        pages = [page for city in cities for page in _about(self.world, self._map(city))]
        pages.sort(key=lambda page: words.isdisjoint(TOPICS[page.url.rpartition("/")[2]].split()))
        found = [_way(self._ways, *cities), *pages] if len(cities) > 1 else pages
        found = found[:MOST_PAGES]
        note = f"No page is found for {quoted(query)}. A search names a city."
        return self._found(found, "" if found else note)


def _matching(place: CityMap, query: str) -> list[PointOfInterest]:
    """The places that a query means, best first: by their name, else by their kind and what they
    are known for."""
    query_words = query.casefold().strip()
    if (exact := place.named(query)) is not None:
        return [exact.place]
    words = _stems(query) - _EMPTY_STEMS - _stems(place.city)
    kinds = {_KINDS[word] for word in words if word in _KINDS}
    scored = []
    for index, (name, spot) in enumerate(place.spots.items()):
        shared = words & _stems(f"{name} {spot.words}")
        is_named = bool(query_words) and (
            query_words in name.casefold() or name.casefold() in query_words
        )
        # A name says more than what a place is known for, that more than its kind, and least a name
        # that repeats the kind.
        score = (
            8 * is_named
            + 3 * len(shared - _KINDS.keys())
            + 2 * (spot.place.category in kinds)
            + len(shared & _KINDS.keys())
        )
        if score:
            scored.append((-score, index, spot.place))
    return [poi for _, _, poi in sorted(scored, key=lambda entry: entry[:2])[:MOST_PLACES]]


def _stems(text: str) -> set[str]:
    return {word.removesuffix("s") for word in re.findall(r"\w+", text.casefold())}


_EMPTY_STEMS = _stems(
    "a an and at best central city closest for good in me near nearby of place popular some the"
    " things to top"
)


# ---- web pages about a world, made from its facts, so that `web_search` has something true to find

SITE = "https://guide.example"
SHOWN = 5  # names in a snippet
TOPICS = {  # what a page is about → the words that ask for it
    "sights": (
        "sights sight attractions attraction museum museums park visit see do things tourist"
        " itinerary"
    ),
    "food": "food eat restaurant restaurants dinner lunch breakfast cuisine",
    "stay": "stay hotel hotels accommodation accommodations sleep room",
    "arrive": (
        "arrive get reach travel way train trains flight flights airport station road drive"
        " transport"
    ),
}


def _named(world: World, query: str) -> list[str]:
    """The cities of the world that the query names, in its order; at most two."""
    folded = query.casefold()
    places = [
        (at.start(), -len(city), city)
        for city in world.cities
        if (at := re.search(rf"(?<!\w){re.escape(city.casefold())}(?!\w)", folded))
    ]
    return [city for _, _, city in sorted(places)][:2]


def _about(world: World, place: CityMap) -> Iterator[WebPage]:
    city = place.city
    sights = [sight.name for sight in world.attractions(city)]
    meals = sorted(world.restaurants(city), key=lambda meal: -meal.rating)
    stays = sorted(world.accommodations(city), key=lambda stay: -stay.rating)

    def page(topic: str, title: str, text: str) -> WebPage:
        return WebPage(f"{title} {city}", f"{SITE}/{_slug(city)}/{topic}", text)

    if sights:
        many = f"Among the {len(sights)} sights" if len(sights) > SHOWN else "The sights"
        text = f"{city} lies in {world.cities[city]}. {many} of {city}: {_listed(sights)}."
        yield page("sights", "What to see in", text)
    if meals:
        text = _listed([f"{meal.name} ({meal.cuisines})" for meal in meals])
        yield page("food", "Where to eat in", f"Well liked in {city}: {text}.")
    if stays:
        text = f"Guests of {city} rate these best: {_listed([stay.name for stay in stays])}."
        yield page("stay", "Where to stay in", text)
    text = f"Trains stop at {place.station}. Planes land at {place.airport}, outside the city."
    yield page("arrive", "How to get to", text)


def _way(ways: Ways, origin: str, destination: str) -> WebPage:
    road, trains = ways.world.ground(origin, destination), ways.timetable(origin, destination)
    km = (road_distance_km(road.distance) if road else None) or ways.road_km(origin, destination)
    said = [f"No road joins {origin} and {destination}.", "No direct train."]
    if km:
        said[0] = f"By road it is {round(km):,} km from {origin} to {destination}."
    if trains:
        fastest = min(trains, key=lambda run: run.minutes)
        said[1] = (
            f"{len(trains)} direct trains a day; the fastest, {fastest.number}, takes"
            f" {fastest.minutes} minutes."
        )
    url = f"{SITE}/{_slug(origin)}/to/{_slug(destination)}"
    return WebPage(f"From {origin} to {destination}", url, " ".join(said))


def _listed(names: list[str]) -> str:
    return "; ".join(names[:SHOWN])


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")
