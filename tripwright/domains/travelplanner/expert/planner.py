"""What a careful expert plans with: what answers have shown so far, what each part of a trip costs
by that, and which lines of thought are still possible.

The answers of an episode are the only facts that it decides from. A part of a trip (a leg, the
nights in a city, its meals, its sights) is known (it has a cost), unknown (a search would tell), or
dead (all that there is was seen, and nothing fits), with the reason. A line of thought is an order
of cities, the nights in each and a way of travelling; only cities under consideration are combined.
What is not known yet counts as nothing for the question whether the budget can be kept, and as the
average of what was seen for the question what to follow next: so nothing possible is thrown away,
and unlikely ways come late.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar

from tripwright.domains.travelplanner.oracle.options import night_splits
from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.official import (
    FORBIDDING_RULE,
    REQUIRED_ROOM,
    SEATS,
    is_wanted_room,
)
from tripwright.domains.wording import listed
from tripwright.errors import counted
from tripwright.transcript import Rows

P = ParamSpec("P")
R = TypeVar("R")
Row = Mapping[str, Any]  # by the names of the records' fields; only those that the face shows
CITY = "city"  # the field of the rows of get_cities
# problems that say that there is nothing; others say that the tool cannot tell
NOTHING = (
    *("no_flights", "no_accommodations", "no_restaurants", "no_attractions"),
    *("no_road", "no_road_data", "road_over_a_day"),
)
ROAD, SIGHTS = "search_ground_transportation", "search_attractions"
WITHOUT_PAGES = ("get_cities", ROAD)
MAY_REPEAT = ("get_cities", "search_flights")  # the same answer to another search
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
    """`paged`: a first page that came broken can be asked for once more, by its number."""

    def __init__(self, paged: bool):
        self.paged = paged
        # grows with every answer: what was thought of the earlier ones is stale then
        self.version = 0
        self._results: dict[Search, SearchResult] = {}
        self._earlier: dict[str, list[tuple[Search, int, Rows]]] = {}

    def of(self, search: Search) -> SearchResult:
        return self._results.get(search, UNASKED)

    def is_asked(self, search: Search) -> bool:
        return search in self._results

    def all(self) -> Iterator[tuple[Search, SearchResult]]:
        return iter(self._results.items())

    @property
    def anything_lost(self) -> bool:
        return any(result.lost for result in self._results.values())

    @property
    def anything_unknown(self) -> bool:
        return any(not result.is_known for result in self._results.values())

    def add(self, search: Search, page: int, by_number: bool, rows: Rows) -> bool:
        """Whether the answer looks whole. One that speaks of another city, day, route or page than
        was asked counts as broken; so does one that was given before to another question, but
        nobody sees that by looking at it. `by_number`: the call named its page."""
        self.version += 1
        result = self._results.setdefault(search, SearchResult())
        result.answered = True
        if not _is_about(search, page, rows):
            rows = rows.cut(0)
        looks_whole = rows.is_whole
        if rows.values and self._is_of_another(search, page, rows):
            rows = rows.cut(0)
        result.is_known = result.is_known and (rows.problem is None or rows.problem in NOTHING)
        result.rows += [row for row in rows.records() if row not in result.rows]
        if rows.pages is not None:
            result.next_page = page + 1 if page < rows.pages else None
        elif self.paged and page == 1 and not by_number and search.tool not in WITHOUT_PAGES:
            result.next_page = 1
        else:
            result.next_page, result.lost = None, True
        return looks_whole

    def add_failure(self, search: Search) -> None:
        """All tries went unanswered."""
        self.version += 1
        result = self._results.setdefault(search, SearchResult())
        result.failures += 1
        if result.failures >= MOST_BROKEN:
            result.next_page, result.lost = None, True

    def _is_of_another(self, search: Search, page: int, rows: Rows) -> bool:
        """Faces whose rows do not say where they are may show an earlier answer again: two cities
        never have one and the same table.

        A road may be as long back as there, and flights may be the same on two days.
        """
        if search.tool in MAY_REPEAT:
            return False
        earlier = self._earlier.setdefault(search.tool, [])
        ends = set(search.arguments.values())
        is_road = search.tool == ROAD
        repeated = any(
            answer == rows
            and (before, then) != (search, page)
            and not (is_road and set(before.arguments.values()) == ends)
            for before, then, answer in earlier
        )
        earlier.append((search, page, rows))
        return repeated


def _is_about(search: Search, page: int, rows: Rows) -> bool:
    """As far as the answer says what it is about; which page it is, it says where there are
    several."""
    records = (rows.about, *rows.records())
    is_page = rows.pages in (None, 1) or rows.page == page
    return is_page and all(
        each.get(name, value) == value for name, value in search.pairs for each in records
    )


# ---- what parts and trips are

MealRows = tuple[Row, ...]
# cuisines served, as bits → (cost per person, restaurants)
Menus = dict[int, tuple[float, MealRows]]
Family = Literal["driving", "flying"]  # by own car all the way, or by plane and taxi


class TripPart(NamedTuple):
    """Costs are in US dollars for the whole party; `lower_usd` is what it may fall to if `better`
    were asked."""

    cost_usd: float = 0.0
    lower_usd: float = 0.0
    unknown: Search | None = None
    better: Search | None = None
    dead: str | None = None
    row: Row | None = None
    mode: str = ""


class TripRoute(NamedTuple):
    cities: tuple[str, ...]
    nights: tuple[int, ...]
    family: Family

    def is_like(self, other: TripRoute) -> bool:
        """But for the nights."""
        return (self.cities, self.family) == (other.cities, other.family)


@dataclass(frozen=True)
class Outlook:
    """A route as far as it is known: `unknown` must be asked, `better` might make it cheaper."""

    route: TripRoute
    cost_usd: float
    lower_usd: float
    unknown: tuple[Search, ...]
    better: tuple[Search, ...]
    dead: str | None = None


@dataclass(frozen=True)
class Trip:
    """A route whose every part was seen. The first 3 × (nights − 1) meals of a city are for its
    full days, the rest for the arrival."""

    route: TripRoute
    cost_usd: float
    legs: tuple[TripPart, ...]
    stays: tuple[Row, ...]
    meals: tuple[MealRows, ...]
    sights: tuple[tuple[str, ...], ...]


class Glance(NamedTuple):
    """Of one part or of a whole route. `likely_usd` counts what is unknown at its usual cost;
    `doubts` are legs that hardly exist."""

    likely_usd: float = 0.0
    cost_usd: float = 0.0
    lower_usd: float = 0.0
    unknown: int = 0
    doubts: int = 0


class SurveyResult(NamedTuple):
    """The best trip among the routes that are wholly known; without one, the route to follow, and
    whether it is likely to become one."""

    trip: Trip | None = None
    hope: Outlook | None = None
    is_likely: bool = False


def remembered(
    method: Callable[Concatenate[CarefulPlanner, P], R],
) -> Callable[Concatenate[CarefulPlanner, P], R]:
    """Computed once for the same arguments, until an answer comes."""

    @wraps(method)
    def once(planner: CarefulPlanner, /, *arguments: P.args, **named: P.kwargs) -> R:
        if planner.version != planner.observations.version:
            planner.version, planner.remembered = planner.observations.version, {}
        key = (method.__name__, *arguments)
        if key not in planner.remembered:
            planner.remembered[key] = method(planner, *arguments, **named)
        found: R = planner.remembered[key]
        return found

    return once


class CarefulPlanner:
    """What the parts of trips cost, which lines of thought are possible, and which to follow, by
    what was observed. Findings are kept until the next answer."""

    def __init__(self, query: Query, observations: Observations):
        self.query, self.observations = query, observations
        self.wanted = tuple(dict.fromkeys(query.local_constraint.cuisine or ()))
        is_driven = query.local_constraint.transportation != "no self-driving"
        self.families: tuple[Family, ...] = ("driving", "flying") if is_driven else ("flying",)
        self.version = -1
        self.remembered: dict[Hashable, Any] = {}

    # ---- the parts of a trip

    @remembered
    def menus(self, city: str, nights: int) -> Menus:
        least = len(MEALS) * (nights - 1)
        most = least + (len(MEALS) if self.wanted else 0)
        return menus(self.restaurants(city), self.wanted, least, most)

    def restaurants(self, city: str) -> list[Row]:
        return usable(self.observations.of(Search.of("search_restaurants", city=city)).rows)

    def sight_names(self, city: str) -> list[str]:
        rows = self.observations.of(Search.of(SIGHTS, city=city)).rows
        return [row["name"] for row in _distinct(rows) if ";" not in row["name"]]

    @remembered
    def leg(self, origin: str, destination: str, date: str, family: Family) -> TripPart:
        if family == "driving":
            return self._road(origin, destination, "self-driving")
        taxi = self._road(origin, destination, "taxi")
        if self.query.local_constraint.transportation == "no flight":
            return taxi
        search = Search.of("search_flights", origin=origin, destination=destination, date=date)
        result = self.observations.of(search)
        fares = [row for row in result.rows if row["number"].strip()]
        if not fares:
            leg = f"from {origin} to {destination} on {date}"
            flight = self._missing(search, f"the flights {leg}", f"there is no flight {leg}")
            if flight.dead and taxi.dead:
                return TripPart(dead=f"{flight.dead}, and {taxi.dead}")
            return taxi if flight.dead else flight
        cheapest = min(fares, key=lambda row: float(row["price_usd"]))
        cost = cheapest["price_usd"] * self.query.party_size
        if taxi.row is not None and taxi.cost_usd < cost:
            return taxi
        better = search if result.is_open else taxi.unknown
        return TripPart(cost, 0.0 if better else cost, better=better, row=cheapest, mode="flight")

    def _road(
        self, origin: str, destination: str, mode: Literal["self-driving", "taxi"]
    ) -> TripPart:
        search = Search.of(ROAD, origin=origin, destination=destination, mode=mode)
        for row in self.observations.of(search).rows[:1]:
            cost = self.road_usd(row, mode)
            return TripPart(cost, cost, row=row, mode=mode)
        way = "drive" if mode == "self-driving" else "take a taxi"
        leg = f"{way} from {origin} to {destination}"
        return self._missing(search, f"the ways to {leg}", f"one cannot {leg}")

    def _missing(self, search: Search, what: str, fact: str) -> TripPart:
        """A search that has not shown what is needed. `fact` holds only where the tool has told
        all that it has: what it cannot tell, or what came broken, is not known."""
        result = self.observations.of(search)
        if result.is_open:
            return TripPart(unknown=search)
        if result.lost:
            return TripPart(dead=f"I could not read {what}")
        return TripPart(dead=fact if result.is_known else f"{what} are not known")

    def _priced(self, search: Search, cost_usd: float, row: Row | None = None) -> TripPart:
        """Rows that come still may be cheaper."""
        if self.observations.of(search).is_open:
            return TripPart(cost_usd, better=search, row=row)
        return TripPart(cost_usd, cost_usd, row=row)

    def road_usd(self, row: Row, mode: str) -> float:
        return float(row["cost_usd"] * math.ceil(self.query.party_size / SEATS[mode]))

    @remembered
    def stay(self, city: str, nights: int) -> TripPart:
        search = Search.of("search_accommodations", city=city)
        rows = usable(self.observations.of(search).rows)
        fitting = [row for row in rows if self.fits(row)]
        long_enough = [row for row in fitting if row["minimum_nights"] <= nights]
        if not long_enough:
            why = self._no_stay(city, nights, fitting)
            return self._missing(search, f"all places to stay in {city}", why)
        best = min(long_enough, key=self.night_usd)
        return self._priced(search, nights * self.night_usd(best), best)

    def fits(self, row: Row) -> bool:
        """The wishes for a room; one that no table knows is kept by none."""
        rule, room = self.query.local_constraint.house_rule, self.query.local_constraint.room_type
        if rule is not None and (
            rule not in FORBIDDING_RULE or FORBIDDING_RULE[rule] in row["house_rules"]
        ):
            return False
        is_known = room is None or room in REQUIRED_ROOM or room == "not shared room"
        return (
            is_known
            and (room is None or is_wanted_room(room, row["room_type"]))
            and row["maximum_occupancy"] > 0
        )

    def rooms(self, row: Row) -> int:
        return math.ceil(self.query.party_size / int(row["maximum_occupancy"]))

    def night_usd(self, row: Row) -> float:
        return float(row["price_usd"]) * self.rooms(row)

    def _no_stay(self, city: str, nights: int, fitting: Sequence[Row]) -> str:
        if fitting:
            least = min(row["minimum_nights"] for row in fitting)
            return (
                f"what would suit in {city} is let for {least:g} nights or more, and the plan has"
                f" {counted(nights, 'night')} there"
            )
        room, rule = self.query.local_constraint.room_type, self.query.local_constraint.house_rule
        thing = {"not shared room": "room that is not shared", None: "place to stay"}.get(
            room, room
        )
        return f"no {thing} in {city} allows {rule}" if rule else f"there is no {thing} in {city}"

    @remembered
    def meals(self, city: str, nights: int) -> TripPart:
        least = len(MEALS) * (nights - 1)
        if not least and not self.wanted:
            return TripPart()
        search, rows = Search.of("search_restaurants", city=city), self.restaurants(city)
        if not self.observations.is_asked(search):
            return TripPart(unknown=search)
        if len(rows) < least:
            fact = (
                f"{city} has {len(rows)} restaurants to choose from, too few for {least} different"
                " meals"
            )
            return self._missing(search, f"all restaurants of {city}", fact)
        costs = sorted(float(row["average_cost_usd"]) for row in rows)
        return self._priced(search, sum(costs[:least]) * self.query.party_size)

    @remembered
    def sights(self, city: str, nights: int) -> TripPart:
        if len(self.sight_names(city)) >= nights - 1:
            return TripPart()
        days = "its full day" if nights == 2 else f"its {nights - 1} full days"
        fact = f"{city} has too few sights for {days}"
        return self._missing(Search.of(SIGHTS, city=city), f"all sights of {city}", fact)

    # ---- lines of thought

    def routes(self, cities: Iterable[str]) -> Iterator[TripRoute]:
        """All over these cities."""
        for order in itertools.permutations(cities, self.query.visiting_city_number):
            for nights in route_splits(self.query):
                for family in self.families:
                    yield TripRoute(order, nights, family)

    def leg_searches(self, route: TripRoute) -> Iterator[tuple[str, str, str]]:
        """(origin, destination, date) of each leg"""
        stops = (self.query.org, *route.cities, self.query.org)
        days = (0, *itertools.accumulate(route.nights))
        for origin, destination, day in zip(stops[:-1], stops[1:], days, strict=True):
            yield origin, destination, self.query.date[day]

    def outlook(self, route: TripRoute) -> Outlook:
        """In the order in which a traveller would ask: what does not depend on the day comes before
        the flights that do."""
        together: list[TripPart] = []
        dead: str | None = None
        for part in self._parts(route):
            together.append(part)
            if part.dead:
                dead = part.dead
                break
        cost, lower = (sum(each) for each in zip(*(part[:2] for part in together), strict=True))
        if dead is None and lower > self.query.budget:
            dead = (
                f"the trip comes to at least ${lower:,.0f}, and the budget is"
                f" ${self.query.budget:,}"
            )
        unknown = tuple(dict.fromkeys(part.unknown for part in together if part.unknown))
        better = tuple(dict.fromkeys(part.better for part in together if part.better))
        return Outlook(route, cost, lower, unknown, better, dead)

    def _parts(self, route: TripRoute) -> Iterator[TripPart]:
        places = list(zip(route.cities, route.nights, strict=True))
        first, *onward = self.leg_searches(route)
        yield self.leg(*first, route.family)
        for part in (self.stay, self.meals):
            for city, nights in places:
                yield part(city, nights)
        for leg in onward:
            yield self.leg(*leg, route.family)
        for city, nights in places:
            yield self.sights(city, nights)

    def trip(self, outlook: Outlook, at_any_cost: bool = False) -> Trip | str:
        """The trip that a route without unknowns is; in words, why it is none."""
        route = outlook.route
        places = list(zip(route.cities, route.nights, strict=True))
        meals = cheapest_together([self.menus(*place) for place in places], self.wanted)
        if meals is None:
            return f"the restaurants there do not serve {listed(self.wanted)} between them"
        legs = tuple(self.leg(*leg, route.family) for leg in self.leg_searches(route))
        stays = [self.stay(*place) for place in places]
        fixed = sum(part.cost_usd for part in (*legs, *stays))
        cost = fixed + meals[0] * self.query.party_size
        if cost > self.query.budget and not at_any_cost:
            return f"the trip comes to ${cost:,.0f}, and the budget is ${self.query.budget:,}"
        sights = tuple(tuple(self.sight_names(city)[: nights - 1]) for city, nights in places)
        rooms = tuple(stay.row for stay in stays if stay.row is not None)
        return Trip(route, cost, legs, rooms, meals[1], sights)

    def likely_usd(self, outlook: Outlook) -> float:
        """With the usual cost of what is not known yet."""
        return outlook.cost_usd + sum(map(self._usual_usd, outlook.unknown))

    def _usual_usd(self, search: Search) -> float:
        return self.usual_costs().get(kind(search), 0.0)

    @remembered
    def usual_costs(self) -> dict[str, float]:
        """Kind of search → the mean cost of what such searches have shown, for the party: a leg,
        the nights in a city, its meals."""
        query = self.query
        nights = max(1, (query.days - 1) // query.visiting_city_number)
        costs: dict[str, list[float]] = {}
        for search, result in self.observations.all():
            prices: list[float] = []
            if search.tool == "search_flights":
                prices = [float(row["price_usd"]) * query.party_size for row in result.rows]
            elif search.tool == ROAD:
                prices = [self.road_usd(row, search.arguments["mode"]) for row in result.rows]
            elif search.tool in ("search_accommodations", "search_restaurants"):
                part_of = self.stay if search.tool == "search_accommodations" else self.meals
                part = part_of(search.arguments["city"], nights)
                prices = [part.cost_usd] if part.dead is None and part.unknown is None else []
            if prices:
                costs.setdefault(kind(search), []).append(min(prices))
        return {each: sum(prices) / len(prices) for each, prices in costs.items()}

    # ---- which line of thought to follow

    def look(self, cities: Sequence[str], pursued: TripRoute | None) -> SurveyResult:
        trips: list[tuple[Glance, TripRoute]] = []
        hopes: list[tuple[Glance, TripRoute]] = []
        for glance, route in self._alive(cities):
            (hopes if glance.unknown else trips).append((glance, route))
        for glance, route in sorted(trips, key=lambda each: (imbalance(each[1]), each[0].cost_usd)):
            outlook = self.outlook(route)
            trip = self.trip(outlook)
            if isinstance(trip, Trip):
                return SurveyResult(trip)
            if outlook.better:
                hopes.append((glance, route))
        if not hopes:
            return SurveyResult()
        glance, route = min(hopes, key=lambda each: self._unlikely(each[0], each[1], pursued))
        is_likely = not glance.doubts and glance.likely_usd <= self.query.budget
        return SurveyResult(None, self.outlook(route), is_likely)

    def rival(self, cities: Sequence[str], trip: Trip, most: int) -> Outlook | None:
        """The route that promises the cheapest trip: cheaper than this one by what such parts have
        cost so far, with nights no less even, and settled by `most` further searches. None where
        there is no such route."""
        rivals = [
            (glance.likely_usd, route)
            for glance, route in self._alive(cities)
            if glance.unknown
            and not glance.doubts
            and glance.likely_usd < trip.cost_usd
            and imbalance(route) <= imbalance(trip.route)
        ]
        for _, route in sorted(rivals):
            outlook = self.outlook(route)
            if len(outlook.unknown) <= most and all(
                kind(search) in self.usual_costs() or search.tool == SIGHTS
                for search in outlook.unknown
            ):
                return outlook
        return None

    def cheaper_parts(self, trip: Trip) -> list[Search]:
        """Searches that could make this very trip cheaper: a taxi instead of a flight, the next
        page of a list."""
        dearest = max((leg.cost_usd for leg in trip.legs if leg.mode == "flight"), default=0.0)
        return [
            search
            for search in self.outlook(trip.route).better
            if not self.is_doubtful(search)
            and (search.tool != ROAD or self._usual_usd(search) < dearest)
        ]

    def is_doubtful(self, search: Search) -> bool:
        """Whether the same kind of search has found nothing between the same two cities already, on
        another day or the other way."""
        return _between(search) in self._refused()

    def _unlikely(
        self, glance: Glance, route: TripRoute, pursued: TripRoute | None
    ) -> tuple[float, ...]:
        """Smallest first: keeps the budget as far as one can tell; needs no way that seems not to
        exist; goes on with what was begun; lacks little; even nights; cheap."""
        over = max(0.0, glance.likely_usd - self.query.budget)
        is_new = pursued is not None and not pursued.is_like(route)
        return over, glance.doubts, is_new, glance.unknown, imbalance(route), glance.cost_usd

    def _alive(self, cities: Sequence[str]) -> Iterable[tuple[Glance, TripRoute]]:
        """Those that are not dead."""
        for route in self.routes(cities):
            places = [self._place(*place) for place in zip(route.cities, route.nights, strict=True)]
            if None in places:
                continue
            legs = [self._leg_glance(*leg, route.family) for leg in self.leg_searches(route)]
            together = [part for part in (*places, *legs) if part is not None]
            if len(together) == len(places) + len(legs):
                glance = _sum(together)
                if glance.lower_usd <= self.query.budget:
                    yield glance, route

    @remembered
    def _refused(self) -> set[tuple[str, frozenset[str]]]:
        return {
            _between(search)
            for search, result in self.observations.all()
            if not result.rows and not result.is_open
        }

    @remembered
    def _leg_glance(
        self, origin: str, destination: str, date: str, family: Family
    ) -> Glance | None:
        return self._glance(self.leg(origin, destination, date, family))

    @remembered
    def _place(self, city: str, nights: int) -> Glance | None:
        parts = (self.stay(city, nights), self.meals(city, nights), self.sights(city, nights))
        glances = [glance for part in parts if (glance := self._glance(part)) is not None]
        return _sum(glances) if len(glances) == len(parts) else None

    def _glance(self, part: TripPart) -> Glance | None:
        if part.dead:
            return None
        if part.unknown is None:
            return Glance(part.cost_usd, part.cost_usd, part.lower_usd)
        is_doubtful = self.is_doubtful(part.unknown)
        return Glance(self._usual_usd(part.unknown), unknown=1, doubts=int(is_doubtful))


def menus(rows: Sequence[Row], cuisines: Sequence[str], least: int, most: int) -> Menus:
    """For every set of wanted cuisines, the cheapest `least` to `most` of these restaurants that
    serve it."""
    cheapest = sorted(rows, key=_cost)
    masks = [
        sum(1 << i for i, cuisine in enumerate(cuisines) if cuisine in row["cuisines"])
        for row in cheapest
    ]
    best: dict[tuple[int, int], tuple[float, MealRows]] = {(0, 0): (0.0, ())}
    for index, row in enumerate(cheapest):
        # of those that serve nothing wanted, only the cheapest can matter
        if index >= most and not masks[index]:
            continue
        for (count, served), (cost, meals) in list(best.items()):
            key, total = (count + 1, served | masks[index]), cost + _cost(row)
            if count < most and (key not in best or total < best[key][0]):
                best[key] = total, (*meals, row)
    menus_by_mask: Menus = {}
    for (count, served), (cost, meals) in best.items():
        if count >= least and (served not in menus_by_mask or cost < menus_by_mask[served][0]):
            menus_by_mask[served] = cost, meals
    return menus_by_mask


def cheapest_together(
    cities: Sequence[Menus], cuisines: Sequence[str]
) -> tuple[float, tuple[MealRows, ...]] | None:
    """One menu a city that serve everything wanted between them, with the cost per person; None
    where that cannot be."""
    together: dict[int, tuple[float, tuple[MealRows, ...]]] = {0: (0.0, ())}
    for menu in cities:
        merged: dict[int, tuple[float, tuple[MealRows, ...]]] = {}
        for (served, (cost, meals)), (here, (more, row)) in itertools.product(
            together.items(), menu.items()
        ):
            key, total = served | here, cost + more
            if key not in merged or total < merged[key][0]:
                merged[key] = total, (*meals, row)
        together = merged
    return together.get((1 << len(cuisines)) - 1)


def _cost(row: Row) -> float:
    return float(row["average_cost_usd"])


def usable(rows: Sequence[Row]) -> list[Row]:
    """Those whose name means one row alone, also to who looks names up by a part of them."""
    return [
        row
        for row in _distinct(rows)
        if sum(row["name"].strip() in other["name"] for other in rows) == 1
    ]


def _distinct(rows: Sequence[Row]) -> list[Row]:
    """One row for each name, however it is spelt, that can stand in a plan."""
    row_of_name: dict[str, Row] = {}
    for row in rows:
        name = row["name"].strip()
        if name not in ("", "-") and "\n" not in name and "\r" not in name:
            row_of_name.setdefault(" ".join(name.split()).casefold(), row)
    return list(row_of_name.values())


def kind(search: Search) -> str:
    """Tool, and way of travelling where it has several."""
    return search.tool + search.arguments.get("mode", "")


def imbalance(route: TripRoute) -> int:
    return max(route.nights) - min(route.nights)


def route_splits(query: Query) -> tuple[tuple[int, ...], ...]:
    """All ways to spend the nights of a trip in its cities, at least one in each; none where they
    do not suffice."""
    cities = query.visiting_city_number
    return night_splits(query.days - 1, cities) if cities <= query.days - 1 else ()


def _sum(parts: Iterable[Glance]) -> Glance:
    likely, cost, lower, unknown, doubts = map(sum, zip(*parts, strict=True))
    return Glance(likely, cost, lower, int(unknown), int(doubts))


def _between(search: Search) -> tuple[str, frozenset[str]]:
    """The same for both ways and for every day; a search in a city is no way at all."""
    return search.tool, frozenset(
        search.arguments.get(end, str(search)) for end in ("origin", "destination")
    )
