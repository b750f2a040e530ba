"""One maker of trip requests: what is asked for is drawn as in the official benchmark, proved by
the oracle and put into words. Trainings and `tripwright query make` draw from it.

The official sampler (row T2, `OFFICIAL_MIX`) draws the origin uniformly; for 3 days a city uniform
over those of other states, for 5 and 7 days the state of a city drawn uniformly among other states
with more than 3 cities, so that large states come more often; a window of days in March 2022; 2
cuisines at level medium and 4 at level hard. Otherwise the world's own days are taken, states with
more cities than the trip visits, and what `Mix` says: levels are drawn 4:3:3, and one or two
cuisines are asked for, because cities of nano worlds have few restaurants. The budget is a slack
factor over the proved cost of a comfortable plan, or goes by the official price statistics.

A request is drawn in attempts, until one can be proved and is new. A training takes the stream of a
seed, in which one generator of random numbers runs through all requests. A file takes numbered
requests: each depends on the seed and its number alone, so that processes can share the work.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge

from tripwright.domains.travelplanner.oracle.explanation import why_not
from tripwright.domains.travelplanner.oracle.options import FORBIDDEN_BY_RULE, ROOM_TYPES
from tripwright.domains.travelplanner.oracle.planner import Solution, plan_days, solve
from tripwright.domains.travelplanner.queries.reading import CITIES_BY_DAYS
from tripwright.domains.travelplanner.queries.wording import TRANSPORTATION, Style, word_query
from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.domains.wording import LEVELS
from tripwright.errors import UserError, counted
from tripwright.world.records import Accommodation, Flight, Restaurant
from tripwright.world.scales import CUISINES
from tripwright.world.store import World

# the official weights for hard queries
KINDS = {"house rule": 0.3, "cuisine": 0.1, "room type": 0.3, "transportation": 0.3}
OFFICIAL_STATE_CITIES = 4  # a state of fewer is never visited
MOST_ATTEMPTS = 3000
# the budget over the cost without wishes, where the wishes are what cannot be met
ROOMY = (1.05, 1.3)
# what the planner says where there is no plan, and how such attempts are counted
LACKS = {
    "has transport": "no transport",
    "every wanted cuisine": "wanted cuisines not served",
    "too few restaurants": "too few restaurants",
    "too few attractions": "too few attractions",
    "no stay in": "no stay that fits",
}

# of the official budget
TIMES = {3: (2, 3, 9), 5: (3, 5, 15), 7: (4, 7, 21)}  # days → flights, hotels, restaurants
SHARE = {"easy": 1.0, "medium": 0.75, "hard": 0.5}  # of the statistics for the whole party
FEWEST_FLIGHTS = {3: 2, 5: 10, 7: 10}  # on the first day, where driving oneself is not wanted
FARTHEST_DRIVE_MILES = 800  # where flying is not wanted

Weight = Annotated[int, Ge(0)]


@dataclass(frozen=True)
class Mix:
    """How requests are drawn. `levels` are weights of easy, medium, hard. `slack` is the range of
    the budget over the cost of the cheapest comfortable plan, of an infeasible one over that of the
    cheapest plan, and below 1."""

    days: tuple[int, ...] = (3,)
    levels: tuple[Weight, Weight, Weight] = (4, 3, 3)
    slack: tuple[float, float] = (1.05, 1.3)
    cuisines: tuple[Weight, Weight] = (1, 2)  # asked for at level medium, hard
    elements: Literal["default", "official"] = "default"  # cities, days, party and wishes
    budget: Literal["slack", "official"] = "slack"
    keep: Literal["feasible", "infeasible"] = "feasible"
    style: Style = "plain"

    def __post_init__(self) -> None:
        if not any(self.levels) or not self.days or not set(self.days) <= CITIES_BY_DAYS.keys():
            lengths = ", ".join(map(str, CITIES_BY_DAYS))
            raise UserError(
                f"a mix needs days out of {lengths} and a level with weight, found days"
                f" {','.join(map(str, self.days))} and levels {':'.join(map(str, self.levels))}."
            )
        low, high = self.slack
        is_feasible = self.keep == "feasible"
        if not (1 <= low <= high < math.inf if is_feasible else 0 < low <= high < 1):
            bounds = (
                "from 1 up, such as 1.05 to 1.3" if is_feasible else "below 1, such as 0.6 to 0.95"
            )
            raise UserError(
                f"slack is a range from low to high, for {self.keep} requests {bounds}; found"
                f" {low} to {high}."
            )


OFFICIAL_MIX = Mix(
    days=(3, 5, 7), levels=(1, 1, 1), cuisines=(2, 4), elements="official", style="rich"
)


def make_queries(world: World, count: int, seed: int, mix: Mix | None = None) -> Iterator[Query]:
    """The first `count` requests of a seed's stream, no two with the same text. Raises Exhausted
    where the world does not give so many."""
    return itertools.islice(Maker(world, mix or Mix()).stream(seed), count)


class Exhausted(UserError):
    """The world gives no further request of the kind that was drawn."""


class Rejected(Exception):
    """This attempt gives no request; the message is the reason that is counted."""


class RequestKind(NamedTuple):
    """What is settled before the attempts, so that what is rejected does not change its share."""

    level: str
    days: int
    by_wishes: bool = False  # of infeasible ones: the wishes cannot be met, whatever the budget


Attempt = tuple[random.Random, RequestKind]
Refused = Callable[[Query], str | None]  # why a request is not wanted


class Maker:
    """Makes requests of one world. Each carries its proof under `oracle`: the cheapest cost, cost
    and plan (in Planner-R1's schema) of the comfortable plan; infeasible ones are labelled so, and
    say why."""

    def __init__(self, world: World, mix: Mix):
        self.world, self.mix = world, mix

    def stream(self, seed: int) -> Iterator[Query]:
        """Endless. The n-th depends on those before it."""
        mix, rng, texts = self.mix, random.Random(f"tripwright-queries-{seed}"), set[str]()
        levels = [
            level for level, weight in zip(LEVELS, mix.levels, strict=True) for _ in range(weight)
        ]

        def taken(query: Query) -> str | None:
            return "repeats an earlier one" if query.query in texts else None

        while True:
            level = rng.choice(levels)
            by_wishes = self._by_wishes(rng, level)
            attempts = (
                (rng, RequestKind(level, rng.choice(mix.days), by_wishes))
                for _ in range(MOST_ATTEMPTS)
            )
            query = self._first(len(texts), attempts, taken, Counter())
            texts.add(query.query)
            yield query

    def numbered(self, seed: int, number: int, refused: Refused, rejected: Counter[str]) -> Query:
        """The request of this number, from 0, of those of a seed. `rejected` counts the attempts
        before it, by reason."""
        mix, name = self.mix, f"tripwright-make-{self.mix.keep}-{seed}-{number}"
        rng = random.Random(name)
        level, days = rng.choices(LEVELS, mix.levels)[0], rng.choice(mix.days)
        kind = RequestKind(level, days, self._by_wishes(rng, level))
        attempts = ((random.Random(f"{name}-{n}"), kind) for n in range(MOST_ATTEMPTS))
        return self._first(number, attempts, refused, rejected)

    def _by_wishes(self, rng: random.Random, level: str) -> bool:
        """Nearly every trip can be given too low a budget; half of those with wishes must fail by
        their wishes, though these are rarer."""
        return (
            self.mix.keep == "infeasible"
            and self.mix.budget == "slack"
            and level != "easy"
            and rng.random() < 0.5
        )

    def _first(
        self, number: int, attempts: Iterable[Attempt], refused: Refused, rejected: Counter[str]
    ) -> Query:
        for rng, kind in attempts:
            try:
                query = self.draw(rng, kind)
            except Rejected as why:
                rejected[str(why)] += 1
                continue
            if (reason := refused(query)) is None:
                return query
            rejected[reason] += 1
        reasons = ", ".join(f"{reason} ({count})" for reason, count in rejected.most_common(3))
        raise Exhausted(
            f"World '{self.world.name}' gave {number} {self.mix.keep} requests; number {number + 1}"
            f" ({kind.level}, {kind.days} days) was not found in {MOST_ATTEMPTS} tries: {reasons}."
            " Ask for fewer, or for other levels, lengths or budgets."
        )

    def draw(self, rng: random.Random, kind: RequestKind) -> Query:
        """One attempt. Raises Rejected where it gives no request."""
        mix, world = self.mix, self.world
        fields = draw_fields(world, rng, kind.level, kind.days, mix)
        draft = Query.model_validate({**fields, "budget": 0, "query": ""})
        budget = official_budget(draft, world) if mix.budget == "official" else None
        if mix.keep == "feasible":
            budget, proof = self._feasible(rng, draft, budget)
        else:
            budget, proof = self._infeasible(rng, draft, budget, kind.by_wishes)
        text = word_query(rng, draft.model_copy(update={"budget": budget}), mix.style)
        return Query.model_validate({**fields, "budget": budget, "query": text, **proof})

    def _feasible(
        self, rng: random.Random, draft: Query, budget: int | None
    ) -> tuple[int, dict[str, Any]]:
        """(budget in US dollars, the record's further fields)."""
        solution = solve(draft, self.world, comfortable=True)
        if budget is None:
            if solution.cost_usd is None:
                raise Rejected(f"no comfortable plan: {_lack(solution)}")
            budget = math.ceil(solution.cost_usd * rng.uniform(*self.mix.slack) / 10) * 10
        cheapest = solve(draft, self.world)
        if cheapest.cost_usd is None:
            raise Rejected(f"no plan: {_lack(cheapest)}")
        if cheapest.cost_usd > budget:
            raise Rejected("the cheapest plan is over the official budget")
        if solution.cost_usd is None or solution.cost_usd > budget:
            solution = cheapest
        costs = {"cheapest_cost_usd": cheapest.cost_usd, "plan_cost_usd": solution.cost_usd}
        return budget, {"oracle": {**costs, "plan": plan_days(draft, solution)}}

    def _infeasible(
        self, rng: random.Random, draft: Query, budget: int | None, by_wishes: bool
    ) -> tuple[int, dict[str, Any]]:
        """(a budget that is too little, or one that would do without the wishes; the record's
        further fields)."""
        cheapest = solve(draft, self.world)
        if cheapest.cost_usd is None:
            if budget is None:
                free = draft.model_copy(
                    update={"local_constraint": LocalConstraint.model_validate({})}
                )
                without = solve(free, self.world).cost_usd
                if without is None:
                    raise Rejected("no plan even without the wishes")
                budget = math.ceil(without * rng.uniform(*ROOMY) / 10) * 10
        elif by_wishes:
            raise Rejected("can be met: no wish in the way")
        else:
            if budget is None:
                budget = math.floor(cheapest.cost_usd * rng.uniform(*self.mix.slack) / 10) * 10
            if not 0 < budget < cheapest.cost_usd:
                raise Rejected("can be met within the budget")
        costs = {"cheapest_cost_usd": cheapest.cost_usd, "plan_cost_usd": None}
        return budget, {
            "feasible": False,
            "why": why_not(cheapest, budget),
            "oracle": {**costs, "plan": None},
        }


def _lack(nothing: Solution) -> str:
    lacks = (lack for said, lack in LACKS.items() if said in str(nothing.why))
    return next(lacks, "the request makes no sense")


# ---- what is asked for


def draw_fields(
    world: World, rng: random.Random, level: str, days: int, mix: Mix
) -> dict[str, Any]:
    """The official fields of one request (row T2), without budget and text. Raises UserError where
    the world has no such trip at all."""
    is_official = mix.elements == "official"
    org, dest = draw_route(world, rng, CITIES_BY_DAYS[days], is_official)
    dates = draw_dates(world, rng, days, is_official)
    party_size = 1
    if level != "easy":  # two in half of the cases, three to eight in the others
        party_size = 2 if rng.random() < 0.5 else rng.randint(3, 8)
    return {
        "org": org,
        "dest": dest,
        "days": days,
        "visiting_city_number": CITIES_BY_DAYS[days],
        "date": dates,
        "people_number": party_size,
        "local_constraint": draw_wishes(rng, level, party_size, mix).model_dump(by_alias=True),
        "level": level,
    }


def draw_route(world: World, rng: random.Random, cities: int, is_official: bool) -> tuple[str, str]:
    """(org, dest): a city, and a city of another state; for several cities another state that has
    more than so many, or as many as the official sampler wants."""
    org = rng.choice(list(world.cities))
    others = [city for city in world.cities if world.cities[city] != world.cities[org]]
    least = OFFICIAL_STATE_CITIES if is_official else cities + 1
    if cities > 1:
        others = [city for city in others if len(world.states[world.cities[city]]) >= least]
    if cities > 1 and is_official:  # "None": the tables' word for places outside any state
        others = [city for city in others if world.cities[city] != "None"]
    if not others:
        place = f"no other state with {least} or more cities" if cities > 1 else "no other state"
        raise UserError(
            f"World '{world.name}' has {place} to travel to from {org}, as trips to"
            f" {counted(cities, 'city')} need."
        )
    dest = rng.choice(others)
    return org, dest if cities == 1 else world.cities[dest]


def draw_dates(world: World, rng: random.Random, days: int, is_official: bool) -> list[str]:
    """A window of the days on which the world has flights: of those in March 2022 for the official
    sampler, where there is such a window."""
    dates = [date for date in world.dates if date.startswith("2022-03-")] if is_official else []
    if len(dates) < days:
        dates = world.dates
    if len(dates) < days:
        raise UserError(
            f"World '{world.name}' has flights on {len(dates)} days; a trip of {days} days"
            " needs as many."
        )
    first = rng.randrange(len(dates) - days + 1)
    return dates[first : first + days]


def draw_wishes(rng: random.Random, level: str, party_size: int, mix: Mix) -> LocalConstraint:
    """Easy: none. Medium: one kind out of three. Hard: three different kinds, one after the other,
    each with its weight of `KINDS` among those left. Values are of the official lists, each
    uniformly; more than two people ask for a private or an entire room only."""
    kinds: list[str] = []
    if level == "medium":
        kinds = [rng.choice(("house rule", "cuisine", "room type"))]
    elif level == "hard":
        weights = dict(KINDS)
        for _ in range(3):
            kinds += rng.choices(list(weights), list(weights.values()))
            del weights[kinds[-1]]
    rooms = ("shared room", "not shared room", "private room", "entire room")
    wish: dict[str, Any] = {}
    if "house rule" in kinds:
        wish["house rule"] = rng.choice(list(FORBIDDEN_BY_RULE))
    if "cuisine" in kinds:
        wish["cuisine"] = rng.sample(CUISINES, mix.cuisines[level == "hard"])
    if "room type" in kinds:
        wish["room type"] = rng.choice(rooms if party_size <= 2 else rooms[2:])
    if "transportation" in kinds:
        wish["transportation"] = rng.choice(list(TRANSPORTATION))
    return LocalConstraint.model_validate(wish)


# ---- the official budget


def official_budget(query: Query, world: World) -> int:
    """US dollars for the whole party, in hundreds: statistics of prices, not the cost of a plan
    (row T2), so that it may be too little for any plan at all. Raises Rejected where the official
    sampler draws again."""
    low, average, high = price_statistics(query, world)
    persons = query.party_size * SHARE[str(query.level)]
    if query.days == 3:
        return _hundreds((average + low) / 2 * persons)
    if query.days == 5:
        return _hundreds(average * persons)
    return _hundreds(_hundreds((average + high) / 2) * persons)


def price_statistics(query: Query, world: World) -> tuple[float, float, float]:
    """(lowest, average, highest) in US dollars for one person: prices of flights, hotels and
    restaurants by `TIMES`. Return flights and legs between cities are not in it. For 3 days the
    flights are those of any day from the origin to the destination; for more, those to any city of
    the state on the trip's days."""
    cities = [query.dest] if query.days == 3 else world.states[query.dest]
    dates = world.dates if query.days == 3 else query.date
    flights = [
        flight
        for city in cities
        for date in dates
        for flight in world.flights(query.org, city, date) or []
    ]
    hotels = [row for city in cities for row in world.accommodations(city)]
    meals = [row for city in cities for row in world.restaurants(city)]
    if query.level != "easy":
        hotels = [row for row in hotels if row.maximum_occupancy >= query.party_size]
    if query.level == "hard":
        _check_flights(query, flights)
        hotels, meals = _wanted_hotels(query, hotels), _wanted_meals(query, meals)
    prices = (
        [flight.price_usd for flight in flights],
        [hotel.price_usd for hotel in hotels],
        [meal.average_cost_usd for meal in meals],
    )
    for rows, what in zip(prices, ("flights", "hotels", "restaurants"), strict=True):
        if not rows:
            raise Rejected(f"official budget: no {what}")
    times = TIMES[query.days]

    def total(each: Sequence[float]) -> float:
        return sum(price * count for price, count in zip(each, times, strict=True))

    return (
        total([min(p) for p in prices]),
        total([sum(p) / len(p) for p in prices]),
        total([max(p) for p in prices]),
    )


def _check_flights(query: Query, flights: list[Flight]) -> None:
    wish, first_day = (
        query.local_constraint.transportation,
        sum(flight.date == query.date[0] for flight in flights),
    )
    if wish == "no self-driving" and first_day < FEWEST_FLIGHTS[query.days]:
        raise Rejected("official budget: too few flights on the first day")
    if wish == "no flight" and (first_day < 2 or flights[0].distance_miles > FARTHEST_DRIVE_MILES):
        raise Rejected("official budget: too far to drive")


def _wanted_hotels(query: Query, hotels: list[Accommodation]) -> list[Accommodation]:
    rule, room = query.local_constraint.house_rule, query.local_constraint.room_type
    if room:
        hotels = [row for row in hotels if row.room_type in ROOM_TYPES[room]]
    if rule:
        hotels = [row for row in hotels if FORBIDDEN_BY_RULE[rule] not in row.house_rules]
    if (room or rule) and len(hotels) < query.days:
        raise Rejected("official budget: too few hotels that fit the wishes")
    return hotels


def _wanted_meals(query: Query, meals: list[Restaurant]) -> list[Restaurant]:
    cuisines = query.local_constraint.cuisine
    if not cuisines:
        return meals
    meals = [row for row in meals if any(cuisine in row.cuisines for cuisine in cuisines)]
    if len(meals) < query.days:
        raise Rejected("official budget: too few restaurants of the wanted cuisines")
    return meals


def _hundreds(amount: float) -> int:
    return round(amount / 100) * 100
