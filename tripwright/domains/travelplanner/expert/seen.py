"""What a careful expert has seen: the answers to its searches, and the world that they make
together, which the oracle can plan in.

The answers of an episode are the only facts that it decides from. Of a search that can still be
made nothing is known; there a `SeenWorld` can have what the expert hopes for: a flight, a road, a
place to stay, meals, sights, at a price that the expert assumes. The oracle's cheapest plan in such
a world says what to ask next (`hoped_for`), and a plan without hopes is a plan of what was seen.
With hopes that cost nothing (`FREE`), a request without a plan has none in the world outside
either, as far as that has answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from tripwright.domains.travelplanner.oracle.options import (
    MEALS,
    ROOM_TYPES,
    SEATS,
    Leg,
    restaurants,
    stays,
)
from tripwright.domains.travelplanner.oracle.planner import Solution
from tripwright.domains.travelplanner.query import Query
from tripwright.transcript import Rows
from tripwright.world.records import Accommodation, Attraction, Flight, Ground, Restaurant
from tripwright.world.store import World

R = TypeVar("R")
Row = Mapping[str, Any]  # by the names of the records' fields; only those that the face shows
# problems that say that there is nothing; others say that the tool cannot tell
NOTHING = (
    *("no_flights", "no_accommodations", "no_restaurants", "no_attractions"),
    *("no_road", "no_road_data", "road_over_a_day"),
)
CITIES, FLIGHTS, ROAD = "get_cities", "search_flights", "search_ground_transportation"
STAYS, RESTAURANTS, SIGHTS = "search_accommodations", "search_restaurants", "search_attractions"
WITHOUT_PAGES = (CITIES, ROAD)
MOST_BROKEN = 2  # rounds of one search without any answer, after which it is given up


class Search(NamedTuple):
    """A question to a tool, by the core's names. The same search may be made page by page."""

    tool: str
    pairs: tuple[tuple[str, str], ...]  # of argument and value

    @classmethod
    def of(cls, tool: str, **arguments: str) -> Search:
        return cls(tool, tuple(arguments.items()))

    @property
    def arguments(self) -> dict[str, str]:
        return dict(self.pairs)


@dataclass
class SearchResult:
    """What is known of one search. `next_page` is None once nothing more can be asked; `lost` where
    a part could not be read; `answered` where the tool said anything: the same call would then be a
    repeated one; `is_known` is False where the tool said that it cannot tell."""

    rows: list[Row] = field(default_factory=list)
    next_page: int | None = 1
    lost: bool = False
    answered: bool = False
    is_known: bool = True
    failures: int = 0

    @property
    def is_open(self) -> bool:
        return self.next_page is not None


UNASKED = SearchResult()


class Observations:
    """`paged`: a first page that was cut can be asked for once more, by its number."""

    def __init__(self, paged: bool):
        self.paged = paged
        self.results: dict[Search, SearchResult] = {}

    def of(self, search: Search) -> SearchResult:
        return self.results.get(search, UNASKED)

    def of_tool(self, tool: str) -> Iterator[tuple[Search, SearchResult]]:
        return ((search, found) for search, found in self.results.items() if search.tool == tool)

    def add(self, search: Search, page: int, by_number: bool, rows: Rows) -> None:
        """An answer. `by_number`: the call named its page."""
        result = self.results.setdefault(search, SearchResult())
        result.answered = True
        result.is_known = result.is_known and (rows.problem is None or rows.problem in NOTHING)
        result.rows += [row for row in rows.records() if row not in result.rows]
        if rows.pages is not None:
            result.next_page = page + 1 if page < rows.pages else None
        elif self.paged and page == 1 and not by_number and search.tool not in WITHOUT_PAGES:
            result.next_page = 1
        else:
            result.next_page, result.lost = None, True

    def add_failure(self, search: Search) -> None:
        """All tries went unanswered."""
        result = self.results.setdefault(search, SearchResult())
        result.failures += 1
        if result.failures >= MOST_BROKEN:
            result.next_page, result.lost = None, True


# ---- the world that the answers make


HOPED = "(not asked yet)"  # begins the names of what is hoped for


class Hopes(NamedTuple):
    """What is assumed of searches that can still be made: US dollars a seat, a night for the whole
    party and a meal; the length of a road."""

    fare_usd: float
    night_usd: float
    meal_usd: float
    road_km: float


FREE = Hopes(0, 0, 0, 0)
# before anything was seen: by car before by plane, and by plane before by taxi
FARE_USD, ROAD_KM = 100, 1000


class SeenWorld(World):
    """The rows that were shown, in the record types of any world; what a face does not show is
    empty. `hopes` stands beside them where a search can still be made, and never costs less than
    what that search has shown already, unless it is free. A way that did not exist between the same
    two cities on another day or in the other direction is hoped for only where hopes are free."""

    def __init__(
        self, query: Query, cities: Sequence[str], seen: Observations, hopes: Hopes | None = None
    ):
        super().__init__(None, {})
        self.query, self.seen, self.hopes = query, seen, hopes
        self.states = {query.dest: list(cities)}
        self.cities = {query.org: "", **dict.fromkeys(cities, query.dest)}
        self.dates = list(query.date)
        self._refused = {
            (tool, frozenset((search.arguments["origin"], search.arguments["destination"])))
            for tool in (FLIGHTS, ROAD)
            for search, found in seen.of_tool(tool)
            if not found.rows and not found.is_open
        }
        self._first_numbered: dict[str, Flight] = {}

    def flights(self, origin: str, destination: str, date: str) -> list[Flight] | None:
        search = Search.of(FLIGHTS, origin=origin, destination=destination, date=date)
        found, rows = self.seen.of(search), self.seen.of(search).rows
        if self.hopes and found.is_open and not self._is_doubtful(FLIGHTS, origin, destination):
            rows = [*rows, {"number": HOPED, "price_usd": self.hopes.fare_usd}]
        # how far it is stands in the row in the face's own words
        apart = {"distance_miles": 0.0}
        flights = [_record(Flight, {**row, **apart}, **search.arguments) for row in rows]
        for flight in flights:
            self._first_numbered.setdefault(flight.number, flight)
        is_known = found.is_known and not found.lost and not found.is_open
        return flights if flights or is_known else None

    def flights_numbered(self, number: str) -> list[Flight]:
        return [self._first_numbered[number]]

    def ground(self, origin: str, destination: str) -> Ground | None:
        """One road for cars and taxis: what is said of the one holds for the other."""
        found = [
            self.seen.of(Search.of(ROAD, origin=origin, destination=destination, mode=mode))
            for mode in SEATS
        ]
        for row in (row for each in found for row in each.rows):
            return Ground(origin, destination, row["duration"], row["distance"])
        is_open = all(each.is_open for each in found)
        if self.hopes is None or not is_open or self._is_doubtful(ROAD, origin, destination):
            return None
        return Ground(origin, destination, "1 hour", f"{self.hopes.road_km} km")

    def accommodations(self, city: str) -> list[Accommodation]:
        found = self.seen.of(Search.of(STAYS, city=city))
        rows = [_record(Accommodation, row, city=city) for row in found.rows]
        if self.hopes and found.is_open:
            room = ROOM_TYPES.get(self.query.local_constraint.room_type or "", {""})
            usd = self._hoped(self.hopes.night_usd, [row.price_usd for row in rows])
            people = self.query.party_size
            rows.append(Accommodation(HOPED, min(room), usd, 1, 0.0, "", people, city))
        return rows

    def restaurants(self, city: str) -> list[Restaurant]:
        found = self.seen.of(Search.of(RESTAURANTS, city=city))
        rows = [_record(Restaurant, row, city=city) for row in found.rows]
        if self.hopes and found.is_open:
            cuisines = self.query.local_constraint.cuisine or []
            usd = self._hoped(self.hopes.meal_usd, [row.average_cost_usd for row in rows])
            rows += [
                Restaurant(name, city, ", ".join(cuisines), usd, 0.0)
                for name in self._hoped_names(len(MEALS) * self.query.days + len(cuisines))
            ]
        return rows

    def attractions(self, city: str) -> list[Attraction]:
        found = self.seen.of(Search.of(SIGHTS, city=city))
        rows = []
        for row in found.rows:  # where a sight is, as far as that is shown
            spot = (str(row.get(each, "")) for each in ("latitude", "longitude", "address"))
            latitude, longitude, address = spot
            rows.append(Attraction(row["name"], latitude, longitude, address, "", "", city))
        if self.hopes and found.is_open:
            names = self._hoped_names(self.query.days)
            rows += [Attraction(name, "", "", "", "", "", city) for name in names]
        return rows

    def _hoped_names(self, count: int) -> list[str]:
        """None of which is a part of another."""
        return [f"{HOPED} {number:03}" for number in range(count)]

    def _hoped(self, usd: float, seen_usd: Sequence[float]) -> float:
        return usd if self.hopes == FREE else max(usd, *seen_usd, 0.0)

    def _is_doubtful(self, tool: str, *ends: str) -> bool:
        return self.hopes != FREE and (tool, frozenset(ends)) in self._refused


def _record(kind: Callable[..., R], row: Row, **known: str) -> R:
    """A record of this kind from what was shown of it; the rest is empty."""
    fields: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]
    return kind(**{field: known.get(field, row.get(field, "")) for field in fields})


def usual_hopes(query: Query, seen: Observations) -> Hopes:
    """The mean of the best that searches have shown so far."""
    world = SeenWorld(query, (), seen)
    fares = [
        min(row["price_usd"] for row in result.rows)
        for _, result in seen.of_tool(FLIGHTS)
        if result.rows
    ]
    nights, meals = list[float](), list[float]()
    for search, _ in seen.of_tool(STAYS):
        best = stays(query, world, *search.arguments.values())[:1]
        nights += [stay.night_cost_usd for stay in best]
    for search, _ in seen.of_tool(RESTAURANTS):
        rows = restaurants(world, *search.arguments.values())[: len(MEALS) * (query.days - 2)]
        meals += [row.average_cost_usd for row in rows]
    return Hopes(_mean(fares, FARE_USD), _mean(nights), _mean(meals), ROAD_KM)


def _mean(values: Sequence[float], otherwise: float = 0.0) -> float:
    return sum(values) / len(values) if values else otherwise


def hoped_for(seen: Observations, plan: Solution) -> list[Search]:
    """The searches that a plan still needs, in the order in which a traveller would ask: what does
    not depend on the day comes before the flights that do."""
    first, *onward = (_hoped_leg(seen, leg) for leg in plan.legs)
    stays, meals, sights = list[Search](), list[Search](), list[Search]()
    for stop in plan.cities:
        if stop.stay.accommodation.name == HOPED:
            stays.append(Search.of(STAYS, city=stop.city))
        if any(row.name.startswith(HOPED) for row in stop.meals):
            meals.append(Search.of(RESTAURANTS, city=stop.city))
        if any(name.startswith(HOPED) for name in stop.attractions):
            sights.append(Search.of(SIGHTS, city=stop.city))
    searches = [first, *stays, *meals, *onward, *sights]
    return [search for search in searches if search is not None]


def _hoped_leg(seen: Observations, leg: Leg) -> Search | None:
    ends = {"origin": leg.origin, "destination": leg.destination}
    if leg.flight is not None:
        search = Search.of(FLIGHTS, **ends, date=leg.flight.date)
        return search if leg.flight.number == HOPED else None
    search = Search.of(ROAD, **ends, mode=leg.mode)
    return search if seen.of(search).is_open else None
