"""The six live tools answered from a closed, generated world, so that everything works offline and
the same everywhere (row D1).

Flights, places to stay, sights and restaurants are the world's own rows. What the world has no
table for (trains, routes in a city, airports, addresses) is made from its content alone: the same
world gives the same answers in every process and on every day.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date as calendar_date
from typing import Any

from tripwright.domains.deeptravel.sandbox.provider import ProviderFault, Terms
from tripwright.domains.deeptravel.sandbox.sandbox import checked_day
from tripwright.domains.deeptravel.tools.answers import (
    HotelOffer,
    Money,
    PointOfInterest,
    Provenance,
    ProviderAnswer,
    RouteLeg,
    WebPage,
)
from tripwright.domains.deeptravel.worlds.city import (
    AIRPORT,
    CURRENCY,
    HOTEL,
    RESTAURANT,
    SIGHT,
    STATION,
    CityMap,
    Spot,
    Ways,
)
from tripwright.errors import counted
from tripwright.world.records import LONGEST_NAME, Accommodation, nearest_name, road_distance_km
from tripwright.world.store import World

VERSION = "2"  # of how answers are made: another one is another key in a sandbox
MOST_HOTELS = 20  # cheapest first
MOST_PLACES = 10
MOST_PAGES = 6
LAST_YEAR = 9998  # a train that arrives on the next day needs one
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

    Raises UserError for a day that is none.
    """

    name = "world"
    terms = Terms()

    def __init__(self, world: World, day: str | None = None):
        self.world = world
        filled = world.filled_dates
        self.day = checked_day(
            day or (world.dates[0] if world.dates else filled[0] if filled else "2022-03-01")
        )
        self._source = Provenance(self.name, self.version, f"{self.day}T00:00:00Z")
        self._ways = Ways(world)
        self._maps: dict[str, CityMap] = {}
        self._answers: dict[str, Callable[..., ProviderAnswer]] = {
            "flight_search": self._flights,
            "train_search": self._trains,
            "route_planning": self._routes,
            "hotel_search": self._hotels,
            "poi_search": self._places,
            "web_search": self._pages,
        }

    @property
    def version(self) -> str:
        return f"{VERSION}-{self.world.content_hash}"

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(self._answers)

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        """Raises ProviderFault for what is none of the six tools, and nothing else."""
        if tool not in self._answers:
            raise ProviderFault(
                "bad_response", f"A closed world answers {', '.join(self._answers)}, not '{tool}'."
            )
        try:
            _check_days(arguments)
            return self._answers[tool](**arguments)
        except WrongCall as wrong:
            return ProviderAnswer((), self._source, str(wrong), refused=True)

    def __getstate__(self) -> dict[str, Any]:
        return {"world": self.world, "day": self.day}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def _found(self, records: list[Any], note: str = "") -> ProviderAnswer:
        return ProviderAnswer(tuple(records), self._source, note)

    def _map(self, city: str) -> CityMap:
        if city not in self.world.cities:
            near = nearest_name(city, tuple(self.world.cities))
            raise WrongCall(
                f"Unknown city {_quoted(city)}.{f' Did you mean {near!r}?' if near else ''}"
            )
        place = self._maps.get(city)
        if place is None:
            if len(self._maps) >= MOST_MAPS:
                self._maps = {}  # other threads may still be reading the old one
            place = self._maps[city] = CityMap(self.world, city)
        return place

    def _spot(self, place: CityMap, name: str) -> Spot:
        spot = place.named(name)
        if spot is None:
            near = nearest_name(name, tuple(place.spots))
            hint = f" Did you mean {near!r}?" if near else " poi_search finds the places of a city."
            raise WrongCall(f"Unknown place {_quoted(name)} in {place.city}.{hint}")
        return spot

    def _flights(
        self,
        depart_city_name: str,
        arrival_city_name: str,
        depart_date: str,
        depart_poi: str = "",
        arrival_poi: str = "",
    ) -> ProviderAnswer:
        origin, destination = self._map(depart_city_name), self._map(arrival_city_name)
        ways = self._feeders(origin, depart_poi, destination, arrival_poi)
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

    def _feeders(
        self, origin: CityMap, depart_poi: str, destination: CityMap, arrival_poi: str
    ) -> list[RouteLeg]:
        """The ways to the airport and from it, where the call says from which place and to which
        (A.2.1)."""
        legs: list[RouteLeg] = []
        if depart_poi:
            legs += origin.ways(self._spot(origin, depart_poi), origin.spots[origin.airport])
        if arrival_poi:
            legs += destination.ways(
                destination.spots[destination.airport], self._spot(destination, arrival_poi)
            )
        return legs

    def _trains(
        self, depart_city_name: str, arrival_city_name: str, depart_date: str, is_transfer: int = 0
    ) -> ProviderAnswer:
        origin, destination = self._map(depart_city_name), self._map(arrival_city_name)
        offers = self._ways.trains(origin, destination, depart_date, transfers=bool(is_transfer))
        if offers:
            return self._found(offers)
        if is_transfer:
            return self._found(
                [], f"No trains from {origin.city} to {destination.city}, with a change or without."
            )
        return self._found([], f"No direct trains from {origin.city} to {destination.city}.")

    def _routes(self, origin_name: str, destination_name: str, city_name: str) -> ProviderAnswer:
        place = self._map(city_name)
        return self._found(
            list(place.ways(self._spot(place, origin_name), self._spot(place, destination_name)))
        )

    def _hotels(
        self, city_name: str, checkin_date: str, checkout_date: str, hotel_name: str = ""
    ) -> ProviderAnswer:
        place = self._map(city_name)
        first, last = map(calendar_date.fromisoformat, (checkin_date, checkout_date))
        nights = (last - first).days
        if nights < 1:
            raise WrongCall(f"Check-out {checkout_date} is not after check-in {checkin_date}.")
        needle = hotel_name.casefold().strip()
        everywhere = self.world.accommodations(city_name)
        stays = [stay for stay in everywhere if needle in stay.name.casefold()]
        if not stays:
            name = f" called {_quoted(hotel_name)}" if needle else ""
            near = nearest_name(hotel_name, tuple(s.name for s in everywhere)) if needle else None
            hint = f" Did you mean {near!r}?" if near else ""
            return self._found([], f"No hotels{name} in {city_name}.{hint}")
        fitting = [stay for stay in stays if stay.minimum_nights <= nights]
        if not fitting:
            least = min(int(stay.minimum_nights) for stay in stays)
            who = f"The hotels in {city_name} that were searched take"
            if len(stays) == 1:
                who = f"{stays[0].name} takes"
            return self._found([], f"{who} guests for {least} nights or more, not for {nights}.")
        fitting.sort(key=lambda stay: (stay.price_usd, stay.name))
        days = (checkin_date, checkout_date, nights)
        return self._found([self._hotel(place, stay, *days) for stay in fitting[:MOST_HOTELS]])

    def _hotel(
        self,
        place: CityMap,
        stay: Accommodation,
        checkin_date: str,
        checkout_date: str,
        nights: int,
    ) -> HotelOffer:
        at, most = place.spots[stay.name].place, int(stay.maximum_occupancy)
        return HotelOffer(
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

    def _places(self, query: str, city_name: str) -> ProviderAnswer:
        place = self._map(city_name)
        places = _matching(place, query)
        note = "" if places else f"Nothing in {place.city} is found for {_quoted(query)}."
        return self._found(list(places), note)

    def _pages(self, query: str) -> ProviderAnswer:
        folded = query.casefold()
        maps = {c: self._map(c) for c in self.world.cities if c.casefold() in folded}
        pages = _pages_for(self.world, self._ways, maps, query)[:MOST_PAGES]
        note = f"No page is found for {_quoted(query)}. A search names a city."
        return self._found(list(pages), "" if pages else note)


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


def _check_days(arguments: Mapping[str, Any]) -> None:
    for name, value in arguments.items():
        if name.endswith("_date"):
            try:
                in_calendar = calendar_date.fromisoformat(value).year <= LAST_YEAR
            except ValueError:
                in_calendar = False
            if not in_calendar:
                raise WrongCall(f"{name} {_quoted(value)} is no day that this world knows.")


def _quoted(text: str) -> str:
    return f"'{text if len(text) <= LONGEST_NAME else text[:LONGEST_NAME] + '…'}'"


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
_ASKED = {word: topic for topic, words in TOPICS.items() for word in words.split()}


def _pages_for(world: World, ways: Ways, maps: Mapping[str, CityMap], query: str) -> list[WebPage]:
    """Pages about the cities that the query names, those first that it asks for; about two cities,
    the way between them before all."""
    cities = _named(world, query)
    topics = {_ASKED[word] for word in re.findall(r"[a-z]+", query.casefold()) if word in _ASKED}
    pages: list[tuple[bool, WebPage]] = []
    if len(cities) > 1:
        pages.append((False, _way(ways, cities[0], cities[1])))
    for city in cities:
        pages += [
            (bool(topics) and topic not in topics, page)
            for topic, page in _about(world, maps[city])
        ]
    return [page for _, page in sorted(pages, key=lambda entry: entry[0])]


def _named(world: World, query: str) -> list[str]:
    """The cities of the world that the query names, in its order; at most two."""
    folded = query.casefold()
    places: list[tuple[int, int, str]] = []
    for city in world.cities:
        if city.casefold() in folded and (
            at := re.search(rf"(?<!\w){re.escape(city.casefold())}(?!\w)", folded)
        ):
            places.append((at.start(), -len(city), city))
    return [city for _, _, city in sorted(places)][:2]


def _about(world: World, place: CityMap) -> Iterator[tuple[str, WebPage]]:
    city, slug = place.city, _slug(place.city)
    sights = [sight.name for sight in world.attractions(city)]
    meals = sorted(world.restaurants(city), key=lambda meal: -meal.rating)
    stays = sorted(world.accommodations(city), key=lambda stay: -stay.rating)
    where = f"{city} lies in {world.cities[city]}."

    def page(topic: str, title: str, text: str) -> tuple[str, WebPage]:
        return topic, WebPage(title, f"{SITE}/{slug}/{topic}", text)

    if sights:
        many = f"Among the {len(sights)} sights" if len(sights) > SHOWN else "The sights"
        text = f"{where} {many} of {city}: {_listed(sights)}."
        yield page("sights", f"What to see in {city}", text)
    if meals:
        text = _listed([f"{meal.name} ({meal.cuisines})" for meal in meals])
        yield page("food", f"Where to eat in {city}", f"Well liked in {city}: {text}.")
    if stays:
        text = f"Guests of {city} rate these best: {_listed([stay.name for stay in stays])}."
        yield page("stay", f"Where to stay in {city}", text)
    text = f"Trains stop at {place.station}. Planes land at {place.airport}, outside the city."
    yield page("arrive", f"How to get to {city}", text)


def _way(ways: Ways, origin: str, destination: str) -> WebPage:
    road, trains = ways.world.ground(origin, destination), ways.timetable(origin, destination)
    km = (road_distance_km(road.distance) if road else None) or ways.road_km(origin, destination)
    road_words = f"By road it is {round(km):,} km from {origin} to {destination}." if km else ""
    rail_words = "No direct train."
    if trains:
        fastest = min(trains, key=lambda run: run.minutes)
        rail_words = (
            f"{len(trains)} direct trains a day; the fastest, {fastest.number}, takes"
            f" {fastest.minutes} minutes."
        )
    return WebPage(
        f"From {origin} to {destination}",
        f"{SITE}/{_slug(origin)}/to/{_slug(destination)}",
        f"{road_words or f'No road joins {origin} and {destination}.'} {rail_words}",
    )


def _listed(names: list[str]) -> str:
    return "; ".join(names[:SHOWN])


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")
