"""Why a request has no plan: a minimal set of requirements that conflict, what the world offers
under them in words, and single changes after which there is a plan.

A request is taken apart into requirements that can be dropped one by one. What a dropped
requirement leaves: no wish of that kind, any budget, at most as many cities, or any dates of the
same length that the world has flights for. Each of them only widens the choice, so what is feasible
stays feasible when more is dropped, and every answer spares others.

The set is found by deletion: each requirement is dropped in turn, and stays dropped if the rest
still cannot be met. What remains cannot be met together, and can be met without any one of them. A
request may hold several conflicts: those that share no requirement with the first come after it in
`also`.

The words of a conflict say which cities of the destination cannot host the trip and why, which of
them serve the wanted cuisines, and between which there is no transport. What is not explained by
the cities or by their cuisines is a lack of transport: there is nothing else that a trip needs.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

from tripwright.domains.travelplanner.oracle.options import (
    Leg,
    Problem,
    Unplannable,
    city_pool,
    flight_legs,
    restaurants,
    road_legs,
    unplannable,
)
from tripwright.domains.travelplanner.oracle.planner import (
    Solution,
    bill,
    has_plan,
    k_cheapest,
    solve,
)
from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.domains.wording import listed
from tripwright.errors import counted
from tripwright.world.store import World

MOST_NAMED = 6  # cities of one kind that are listed by name
SMALL_RISE = 0.25  # of the budget
ALL_CUISINES = "drop all cuisines"


class Requirement(NamedTuple):
    """`kind`: budget, transportation, cuisine, house rule, room type, cities or dates. Each cuisine
    is one requirement."""

    kind: str
    value: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.value}"


@dataclass(frozen=True)
class Explanation:
    """`conflict`: requirements that cannot be met together, each of them needed for that. `words`:
    the same with places and numbers.

    `malformed`: the request could not even be tried (an unknown place or word, too few cities or
        dates); the conflict is what is wrong.
    `also`: further conflicts, once those before are out of the way. Costs in `words` are US dollars
        for the whole party.
    """

    conflict: tuple[Requirement, ...]
    words: str
    malformed: bool = False
    also: tuple[Explanation, ...] = ()

    def record(self) -> dict[str, Any]:
        """Plain JSON: `conflict` (list of "kind: value") and `words`; `malformed` and `also` (list
        of the same) where there is such."""
        conflict, also = [str(each) for each in self.conflict], [e.record() for e in self.also]
        record: dict[str, Any] = {"conflict": conflict, "words": self.words}
        record |= {"malformed": True} if self.malformed else {}
        return record | ({"also": also} if also else {})


def explain(query: Query, world: World) -> Explanation | None:
    """The conflicts of an infeasible query; None where it has a plan within its budget."""
    if problem := malformed(query, world):
        return problem
    relaxed = Relaxations(query, world)
    conflicts: list[Explanation] = []
    without: set[Requirement] = set()
    while not relaxed.feasible(without):
        conflict = relaxed.conflict(without)
        route = Requirement("route", f"{query.org} to {query.dest}")
        conflicts.append(Explanation(conflict or (route,), _words(relaxed, conflict)))
        if not conflict:
            break  # nothing is asked for any more: the trip itself cannot be made
        without |= set(conflict)
    if not conflicts:
        return None
    return Explanation(conflicts[0].conflict, conflicts[0].words, also=tuple(conflicts[1:]))


# ---- a request without some of its requirements


class Relaxations:
    """One query with any of its requirements dropped; answers are remembered. `requirements` are in
    the order in which a search for a minimal conflict should do without them: the dates last, as
    they cost most to free."""

    def __init__(self, query: Query, world: World):
        self.query, self.world = query, world
        count, dates = query.visiting_city_number, query.date
        self.requirements = (
            Requirement("budget", usd(query.budget)),
            *dict.fromkeys(wishes_of(query)),
            *([Requirement("cities", str(count))] if count > 1 else []),
            Requirement("dates", " to ".join((*dates[:1], *dates[-1:]))),
        )
        self._is_well_formed = malformed(query, world) is None
        self._feasible: dict[frozenset[Requirement], bool] = {}

    def without(self, dropped: Set[Requirement]) -> Iterator[Query]:
        """Requests of which at least one has a plan if and only if what is left can be met; those
        that change least come first: the original dates, then the nearest ones, and with each of
        them as many cities as possible."""
        kinds = {each.kind for each in dropped}
        query = without_wishes(self.query, dropped)
        if "budget" in kinds:
            query = query.model_copy(update={"budget": math.inf})
        most = query.visiting_city_number
        starts = [query.date]
        # roads are the same on every day: without flights other dates are of no use
        is_by_road = query.local_constraint.transportation == "no flight"
        if "dates" in kinds and not (is_by_road and self._is_well_formed):
            starts += [dates for _, dates in other_dates(query, self.world)]
        for dates in starts:
            for cities in range(most, 0, -1) if "cities" in kinds else (most,):
                yield query.model_copy(update={"visiting_city_number": cities, "date": dates})

    def feasible(self, dropped: Set[Requirement]) -> bool:
        key = frozenset(dropped)
        for tried_set, answer in self._feasible.items():
            if (answer and tried_set <= key) or (not answer and tried_set >= key):
                return answer
        answer = any(has_plan(query, self.world) for query in self.without(key))
        self._feasible[key] = answer
        return answer

    def conflict(self, outside: Set[Requirement]) -> tuple[Requirement, ...]:
        """Requirements, none of them `outside`, that cannot be met together, though they can
        without any one of them; empty where nothing helps. Needs a query that is infeasible without
        `outside`."""
        without, found = set(outside), list[Requirement]()
        for each in self.requirements:
            if each in without:
                continue
            if self.feasible(without | {each}):
                found.append(each)
            else:
                without.add(each)
        return tuple(found)

    def cheapest(self, dropped: Set[Requirement]) -> Solution | None:
        """The cheapest plan when these are dropped, the budget among them; None where there is
        none."""
        best: Solution | None = None
        for query in self.without(dropped):
            # costs are whole cents
            below = math.inf if best is None else (best.cost_usd or 0) - 0.005
            if has_plan(query.model_copy(update={"budget": below}), self.world):
                best = solve(query, self.world)
        return best


def wishes_of(query: Query) -> list[Requirement]:
    wishes = query.local_constraint
    stated = (
        ("transportation", wishes.transportation),
        *(("cuisine", name) for name in wishes.cuisine or ()),
        ("house rule", wishes.house_rule),
        ("room type", wishes.room_type),
    )
    return [Requirement(kind, value) for kind, value in stated if value is not None]


def without_wishes(query: Query, dropped: Set[Requirement]) -> Query:
    """The query less those wishes of `dropped` that it states."""
    kept = [each for each in wishes_of(query) if each not in dropped]
    wishes: dict[str, Any] = {kind: value for kind, value in kept if kind != "cuisine"}
    wishes["cuisine"] = [value for kind, value in kept if kind == "cuisine"] or None
    return query.model_copy(update={"local_constraint": LocalConstraint.model_validate(wishes)})


def other_dates(query: Query, world: World) -> Iterator[tuple[int, list[str]]]:
    """(days shifted, dates) for every other start within the days that the world has flights for:
    nearest first, later before earlier.

    Dates that are no calendar days, and a world without flights, have no others.
    """
    try:
        start = datetime.date.fromisoformat(query.date[0])
        first, last = (datetime.date.fromisoformat(world.dates[end]) for end in (0, -1))
    except (IndexError, ValueError):
        return
    shifts = range((first - start).days, (last - start).days - query.days + 2)
    for shift in sorted(shifts, key=lambda days: (abs(days), -days)):
        days = range(shift, shift + query.days)
        dates = [(start + datetime.timedelta(days=day)).isoformat() for day in days]
        if dates != list(query.date):
            yield shift, dates


# ---- the words of a conflict


def _words(relaxed: Relaxations, conflict: tuple[Requirement, ...]) -> str:
    query = relaxed.query
    rest = [each for each in conflict if each.kind != "budget"]
    asked = asked_for(query, rest)
    if len(rest) == len(conflict):
        asked = asked or f"{query.org} to {query.dest}, whatever is asked"
        return f"{asked}: {'; '.join(world_offers(query, relaxed.world, conflict))}."
    budget, others = relaxed.requirements[0], {*relaxed.requirements} - {*conflict}
    whole, least = relaxed.cheapest({budget}), relaxed.cheapest({budget, *others})
    assert least is not None  # the conflict can be met without the budget
    least_usd = usd(least.cost_usd or 0)
    bill = f"the cheapest plan costs {_bill(query, whole)}" if whole else "there is no plan"
    is_least = whole is not None and whole.cost_usd == least.cost_usd
    if rest:
        told = bill if is_least else f"as asked {bill}; with only these kept {least_usd}"
        return f"{asked}, within {budget.value}: {told}."
    kinds = {each.kind for each in others}
    freed = ["with no wishes"] if kinds - {"cities", "dates"} else []
    freed += ["to fewer cities"] if "cities" in kinds else []
    more = f"; even {', '.join([*freed, 'on any dates'])}, the cheapest still costs {least_usd}"
    return f"{bill}, the budget is {budget.value}{'' if is_least else more}."


def _bill(query: Query, plan: Solution) -> str:
    party = query.party_size
    legs, nights, meals = bill(query, plan)
    meals_for = f"meals {usd(meals)} for {counted(party, 'person')}"
    parts = f"transport {usd(legs)}, stays {usd(nights)}, {meals_for}"
    return f"{usd(plan.cost_usd or 0)} ({parts})"


def asked_for(query: Query, requirements: Collection[Requirement]) -> str:
    """The requirements as a phrase: "private room that allows parties, French food, 2 cities in
    Michigan"."""
    kept = without_wishes(query, {*wishes_of(query)} - {*requirements}).local_constraint
    values = {each.kind: each.value for each in requirements}
    phrases = [
        stay_phrase(kept) if kept.room_type or kept.house_rule else None,
        f"{listed(kept.cuisine)} food" if kept.cuisine else None,
        kept.transportation,
        f"{values['cities']} cities in {query.dest}" if "cities" in values else None,
        values.get("dates"),
    ]
    return ", ".join(filter(None, phrases))


class FreeRides(Problem):
    """The same trip with a free way from anywhere to anywhere."""

    def _legs(self, origin: str, destination: str, day: int, driving: bool) -> Iterator[Leg]:
        yield Leg("taxi", origin, destination, "", "", 0, 0)


def world_offers(
    query: Query, world: World, requirements: Collection[Requirement]
) -> Iterator[str]:
    """What the world can do for the trip with only these of its requirements, the budget not among
    them: its cities, then their cuisines, then transport, as far as the lack may lie there."""
    kinds, most = {each.kind for each in requirements}, query.visiting_city_number
    query = without_wishes(query, {*wishes_of(query)} - {*requirements})
    # how many cities the trip may have: as many as asked for, or (where that is free) fewer
    counts = range(most if "cities" in kinds else 1, most + 1)
    choice = f"{counts[0]} to {most}" if len(counts) > 1 else f"{most}"
    cuisines = query.local_constraint.cuisine or []
    any_food = without_wishes(query, {each for each in wishes_of(query) if each.kind == "cuisine"})
    is_served = _can_host(query, world, counts)
    is_enough = is_served or _can_host(any_food, world, counts)
    pool, longest = city_pool(query, world), query.days - counts[0]
    lengths = range(1, longest + 1) if most > 1 else (longest,)
    lacks = {city: _host_lack(query, world, city, lengths) for city in pool}
    hosts = [city for city, lack in lacks.items() if not lack]
    lacking = [f"{city}: {lack}" for city, lack in lacks.items() if lack]
    if len(pool) > 1 and (lacking or not is_enough):
        named = f" ({some_of(hosts)})" if hosts else ""
        yield f"{len(hosts)} of {len(pool)} cities of {query.dest} qualify{named}"
    if len(hosts) >= counts[0] and not is_enough:
        nights = counted(query.days - 1, "night")
        yield f"but {nights} cannot be shared out among {choice} of them"
    yield from first_of(lacking)
    places, is_lacking = hosts or pool, False
    for cuisine in cuisines:
        serve = [c for c in places if any(cuisine in r.cuisines for r in restaurants(world, c))]
        is_lacking = is_lacking or not serve
        served = f"{cuisine} is served in {some_of(serve)}"
        yield served if serve else f"no restaurant in {some_of(places)} serves {cuisine} food"
    if not (is_served or is_lacking) and is_enough:
        yield "but no choice of cities for the nights serves every wanted cuisine"
    if is_served:
        yield from _transport_lacks(query, world, hosts, "dates" in kinds)


def _can_host(query: Query, world: World, counts: range) -> bool:
    """Whether one of these numbers of cities can have the nights of the trip among them, and serve
    what is wanted, transport aside."""
    trips = (query.model_copy(update={"visiting_city_number": count}) for count in counts)
    return any(k_cheapest(FreeRides(trip, world), 1) for trip in trips)


def _host_lack(query: Query, world: World, city: str, lengths: Sequence[int]) -> str:
    """Why nobody can stay in a city for any of so many nights, or ""."""
    problem, wishes = Problem(query, world), query.local_constraint
    if any(problem.offer(city, nights) for nights in lengths):
        return ""
    fitting = problem.stays(city)
    if not fitting:
        count = len(world.accommodations(city))
        return f"{counted(count, 'stay')}, " * bool(count) + f"no {stay_phrase(wishes)}"
    least = min(stay.accommodation.minimum_nights for stay in fitting)
    if least > lengths[-1]:
        some = f"the {len(fitting)} stays that fit ask"
        ask = some if len(fitting) > 1 else "the one stay that fits asks"
        most = f"at most {counted(lengths[-1], 'night')} can be spent there"
        return f"{ask} for {least:g} nights or more, {most}"
    nights = next((n for n in lengths if any(stay.fits(n) for stay in fitting)), lengths[-1])
    return (problem.why_not(city, nights) or "").removeprefix(f"{city} has ").removesuffix(".")


def _transport_lacks(
    query: Query, world: World, cities: Sequence[str], is_dated: bool
) -> Iterator[str]:
    """From home to each city and back."""
    out = [_no_way(query, world, query.org, city, 0, is_dated) for city in cities]
    back = [_no_way(query, world, city, query.org, -1, is_dated) for city in cities]
    lacks = (there or again for there, again in zip(out, back, strict=True))
    yield from first_of(list(filter(None, lacks)))
    if not (all(out) or all(back)):
        yield f"but no route through {some_of(cities)} has a way for every leg on its day"


def _no_way(
    query: Query, world: World, origin: str, destination: str, at: int, is_dated: bool
) -> str:
    """What keeps a party from going on the day `at` of the trip, or unless it `is_dated` of any
    trip; or ""."""
    others = [] if is_dated else [dates for _, dates in other_dates(query, world)]
    days = [dates[at] for dates in (query.date, *others)]
    is_flown = any(any(flight_legs(query, world, origin, destination, day)) for day in days)
    if is_flown or road_legs(query, world, origin, destination):
        return ""
    ground = world.ground(origin, destination)
    road = "a road that takes a day or more" if ground and ground.duration else "no road"
    if query.local_constraint.transportation == "no flight":
        flight = "no flight wanted"
    elif len(days) > 1:
        flight = "no flight on any day that is known"
    elif world.flights(origin, destination, days[0]) is None:
        flight = f"the flights of {days[0]} are not known"
    else:
        flight = f"no flight on {days[0]}"
    return f"no way from {origin} to {destination} ({road}, and {flight})"


# ---- single changes that help


@dataclass(frozen=True)
class Repair:
    """`query`: the changed request, without what a record may carry beside its own fields (a proof
    or an annotated plan of the old one).

    `cost_usd`: its proved cheapest plan, for the whole party.
    """

    kind: str
    words: str
    query: Query
    cost_usd: float

    def record(self) -> dict[str, Any]:
        record = {"kind": self.kind, "words": self.words, "cost_usd": self.cost_usd}
        return record | {"query": self.query.record()}


def repairs(query: Query, world: World) -> list[Repair]:
    """Single changes to an infeasible query after which it has a plan; those that give up least
    come first.

    What is given up, from least to most:
    1. a budget raised by a quarter or less: by exactly the least that is needed, in whole dollars
    2. other dates: the nearest start, later before earlier
    3. one of several cuisines
    4. one whole wish: transportation, house rule, room type or all cuisines (these where that is
      cheaper than to drop any one of them)
    5. fewer cities: as many as possible
    6. a budget raised by more than a quarter
    Within one of these the lower new cost comes first. Empty where no single change is enough.
    """
    if has_plan(query, world):
        return []
    relaxed, found = Relaxations(query, world), list[tuple[int, Repair]]()
    wishes = sorted(relaxed.requirements, key=lambda each: each.kind == "cuisine")
    cuisines = {each for each in wishes if each.kind == "cuisine"}
    for dropped in ([cuisines] if len(cuisines) > 1 else []) + [{each} for each in wishes]:
        changed = next((each for each in relaxed.without(dropped) if has_plan(each, world)), None)
        if changed is not None:
            found.append(_repair(query, changed, world, dropped, len(cuisines)))
    # to drop all cuisines where one is enough would give up more for nothing
    one_less = min((repair.cost_usd for rank, repair in found if rank == 3), default=math.inf)
    found = [each for each in found if each[1].words != ALL_CUISINES or each[1].cost_usd < one_less]
    return [change for _, change in sorted(found, key=lambda each: (each[0], each[1].cost_usd))]


def _repair(
    query: Query, changed: Query, world: World, dropped: Set[Requirement], cuisines: int
) -> tuple[int, Repair]:
    """(what is given up, by its number above; the change). The text says the change, too, and only
    the official fields are kept: whoever reads them must not plan the old trip."""
    kind, value = next(iter(dropped))
    cost_usd = solve(changed, world).cost_usd
    assert cost_usd is not None  # it has a plan
    if kind == "budget":
        budget = math.ceil(cost_usd)
        changed = changed.model_copy(update={"budget": budget})
        is_small = query.budget > 0 and budget <= query.budget * (1 + SMALL_RISE)
        rank, words = 1 if is_small else 6, f"budget +{usd(budget - query.budget)} to {usd(budget)}"
    elif kind == "dates":
        rank, words = 2, f"start on {changed.date[0]} instead of {query.date[0]}"
        if changed.date[0] == query.date[0]:
            words = f"travel from {changed.date[0]} to {changed.date[-1]}, {query.days} days"
    elif kind == "cities":
        fewer = counted(changed.visiting_city_number, "city")
        rank, words = 5, f"visit {fewer} instead of {query.visiting_city_number}"
    elif len(dropped) > 1:
        rank, words = 4, ALL_CUISINES
    elif kind == "cuisine" and cuisines > 1:
        rank, words = 3, f"drop '{value}' from the cuisines"
    else:
        said = {"house rule": " allowed", "cuisine": " food"}.get(kind, "")
        rank, words = 4, f"drop '{value}{said}'"
    record = {name: value for name, value in changed.record().items() if name in Query.model_fields}
    record["query"] = f"{changed.query} (Changed: {words}.)".strip()
    return rank, Repair(kind, words, Query.model_validate(record), cost_usd)


# ---- requests that cannot even be tried


def malformed(query: Query, world: World) -> Explanation | None:
    """The first thing that is wrong with the request itself in this world; None where a planner can
    try it."""
    wrong, cities = unplannable(query, world), query.visiting_city_number
    if wrong is None and len(there := city_pool(query, world)) < cities:
        names = f" ({', '.join(there)})" if there else ""
        trip = f"a trip of {counted(query.days, 'day')} to {query.dest} can visit {len(there)}"
        words = f"{counted(cities, 'city')} asked for, but {trip}{names}."
        wrong = Unplannable("cities", str(cities), words)
    if wrong is None:
        return None
    return Explanation((Requirement(wrong.kind, wrong.value),), wrong.words, malformed=True)


def why_not(cheapest: Solution, budget: float) -> str | None:
    """Why a request with this cheapest plan and budget cannot be met, in a sentence; None where it
    can."""
    if cheapest.cost_usd is None:
        return cheapest.why or "no plan exists."
    if cheapest.cost_usd > budget:
        return f"the cheapest plan costs ${cheapest.cost_usd:,.2f}, the budget is {usd(budget)}."
    return None


# ---- phrases


def usd(amount: float) -> str:
    sign, amount = ("-", -amount) if amount < 0 else ("", amount)
    return f"{sign}${amount:,.0f}" if amount == int(amount) else f"{sign}${amount:,.2f}"


def stay_phrase(wishes: LocalConstraint) -> str:
    """Without an article: "private room that allows pets"."""
    room = wishes.room_type
    name = "unshared room" if room == "not shared room" else room or "stay"
    return f"{name} that allows {wishes.house_rule}" if wishes.house_rule else name


def first_of(reasons: list[str]) -> list[str]:
    more = len(reasons) - MOST_NAMED
    return reasons if more <= 1 else [*reasons[:MOST_NAMED], f"and {more} more like these"]


def some_of(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return listed(names) if more <= 1 else f"{', '.join(names[:MOST_NAMED])} and {more} more"
