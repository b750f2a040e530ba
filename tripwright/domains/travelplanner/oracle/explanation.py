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

The words answer three questions, of which those are asked that bear on the conflict: which cities
have a fitting stay and enough to eat and see for the nights there are, which wanted cuisines they
serve, and how one gets there, about and back. What is not explained by the cities or by their
cuisines is a lack of transport: there is nothing else that a trip needs.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from tripwright.domains.travelplanner.oracle.options import (
    Problem,
    Unplannable,
    city_pool,
    flight_leg,
    restaurants,
    road_legs,
    stays,
    unplannable,
)
from tripwright.domains.travelplanner.oracle.planner import (
    Solution,
    SolveStatus,
    first_within_budget,
    solve,
)
from tripwright.domains.travelplanner.query import LocalConstraint, Query, why_outside
from tripwright.domains.wording import listed
from tripwright.errors import counted
from tripwright.world.store import World

MOST_NAMED = 6  # cities of one kind that are listed by name
STAYS = {"room type", "house rule"}
SMALL_RISE = 0.25  # of the budget


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
    also: tuple[Explanation, ...] = field(default=())

    def record(self) -> dict[str, Any]:
        """Plain JSON: `conflict` (list of "kind: value") and `words`; `malformed` and `also` (list
        of the same) where there is such."""
        record: dict[str, Any] = {
            "conflict": [str(each) for each in self.conflict],
            "words": self.words,
        }
        record |= {"malformed": True} if self.malformed else {}
        return record | ({"also": [each.record() for each in self.also]} if self.also else {})


def explain(query: Query, world: World) -> Explanation | None:
    """The conflicts of an infeasible query; None where it has a plan within its budget."""
    if problem := malformed(query, world):
        return problem
    relaxed = Relaxations(query, world)
    conflicts: list[Explanation] = []
    without: set[Requirement] = set()
    while not relaxed.feasible(without):
        conflict = minimal_conflict(relaxed, without)
        route = Requirement("route", f"{query.org} to {query.dest}")
        conflicts.append(Explanation(conflict or (route,), _words(relaxed, conflict)))
        if not conflict:
            break  # nothing is asked for any more: the trip itself cannot be made
        without |= set(conflict)
    if not conflicts:
        return None
    return Explanation(conflicts[0].conflict, conflicts[0].words, also=tuple(conflicts[1:]))


def minimal_conflict(
    relaxed: Relaxations, outside: Iterable[Requirement] = ()
) -> tuple[Requirement, ...]:
    """Requirements, none of them `outside`, that cannot be met together, though they can without
    any one of them; empty where nothing helps.

    Needs a query that is infeasible without `outside`. It solves one relaxed query per requirement,
    or several where dates or the number of cities are free.
    """
    without = set(outside)
    conflict = []
    for each in relaxed.requirements:
        if each in without:
            continue
        if relaxed.feasible(without | {each}):
            conflict.append(each)
        else:
            without.add(each)
    return tuple(conflict)


# ---- a request without some of its requirements


class Relaxations:
    """One query with any of its requirements dropped; answers are remembered."""

    def __init__(self, query: Query, world: World):
        self.query, self.world = query, world
        self._feasible: dict[frozenset[Requirement], bool] = {}

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        """In the order in which a search for a minimal conflict should do without them: the dates
        last, as they cost most to free."""
        query = self.query
        count = query.visiting_city_number
        return (
            Requirement("budget", usd(query.budget)),
            *dict.fromkeys(wishes_of(query)),
            *([Requirement("cities", str(count))] if count > 1 else []),
            Requirement("dates", f"{query.date[0]} to {query.date[-1]}"),
        )

    def without(self, relaxed: Set[Requirement]) -> Iterator[Query]:
        """Requests of which at least one has a plan if and only if what is left can be met; the
        original dates come first."""
        base = without_wishes(self.query, relaxed)
        kinds = {each.kind for each in relaxed}
        if "budget" in kinds:
            base = base.model_copy(update={"budget": math.inf})
        count = base.visiting_city_number
        counts = range(1, count + 1) if "cities" in kinds else (count,)
        for cities in counts:
            yield base.model_copy(update={"visiting_city_number": cities})
        if "dates" not in kinds or base.local_constraint.transportation == "no flight":
            return
        # Roads are the same on every day: whoever can drive can drive on the dates tried above, and
        # only flights are left to try.
        flying = base.local_constraint.model_copy(update={"transportation": "no self-driving"})
        flying_query = base.model_copy(update={"local_constraint": flying})
        for _, dates in other_dates(base, self.world):
            for cities in counts:
                yield flying_query.model_copy(
                    update={"visiting_city_number": cities, "date": dates}
                )

    def feasible(self, relaxed: Set[Requirement]) -> bool:
        key = frozenset(relaxed)
        for tried_set, answer in self._feasible.items():
            if (answer and tried_set <= key) or (not answer and tried_set >= key):
                return answer
        answer = any(has_plan(query, self.world) for query in self.without(key))
        self._feasible[key] = answer
        return answer

    def cheapest(self, relaxed: Set[Requirement]) -> Solution | None:
        """The cheapest plan when these are dropped, the budget aside; None where there is none."""
        best: Solution | None = None
        for query in self.without(relaxed):
            # costs are whole cents
            below = math.inf if best is None or best.cost_usd is None else best.cost_usd - 0.005
            if has_plan(query.model_copy(update={"budget": below}), self.world):
                best = solve(query, self.world)
        return best


def has_plan(query: Query, world: World) -> bool:
    """Whether any plan keeps the rules, the wishes and the budget."""
    return first_within_budget(query, world).status is not SolveStatus.INFEASIBLE


def wishes_of(query: Query) -> list[Requirement]:
    wishes = query.local_constraint
    stated = (
        ("transportation", wishes.transportation),
        *(("cuisine", name) for name in wishes.cuisine or ()),
        ("house rule", wishes.house_rule),
        ("room type", wishes.room_type),
    )
    return [Requirement(kind, value) for kind, value in stated if value is not None]


def without_wishes(query: Query, relaxed: Set[Requirement]) -> Query:
    """The query less those wishes of `relaxed` that it states."""
    kept = [each for each in wishes_of(query) if each not in relaxed]
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
        dates = consecutive(start + datetime.timedelta(days=shift), query.days)
        if dates != list(query.date):
            yield shift, dates


def consecutive(start: datetime.date, days: int) -> list[str]:
    return [(start + datetime.timedelta(days=day)).isoformat() for day in range(days)]


# ---- the words of a conflict


def _words(relaxed: Relaxations, conflict: tuple[Requirement, ...]) -> str:
    query = relaxed.query
    money = {each for each in conflict if each.kind == "budget"}
    if not money:
        return world_offers(query, relaxed.world, conflict)
    others = set(relaxed.requirements) - set(conflict)
    rest = [each for each in conflict if each not in money]
    kept, whole = relaxed.cheapest(others | money), relaxed.cheapest(money)
    budget, least = usd(query.budget), "" if kept is None else usd(kept.cost_usd or 0)
    bill = "" if whole is None else _bill(query, whole)
    is_least = kept is not None and whole is not None and whole.cost_usd == kept.cost_usd
    if rest:
        told = f"as asked the cheapest plan costs {bill}; with only these kept {least}."
        if whole is None:
            told = f"with only these kept the cheapest plan costs {least}."
        elif is_least:
            told = f"the cheapest plan costs {bill}."
        return f"{asked_for(query, rest)}, within {budget}: {told}"
    freed = f"even {_all_freed(others)}, the cheapest"
    if whole is None:
        return f"{freed} plan costs {least}, the budget is {budget}."
    shortfall = f"the cheapest plan costs {bill}, the budget is {budget}"
    return f"{shortfall}." if is_least else f"{shortfall}; {freed} still costs {least}."


def _all_freed(others: set[Requirement]) -> str:
    kinds = {each.kind for each in others}
    freed = ["with no wishes"] if kinds - {"cities", "dates"} else []
    return ", ".join([*freed, *(["to fewer cities"] if "cities" in kinds else []), "on any dates"])


def _bill(query: Query, plan: Solution) -> str:
    party = query.party_size
    legs = sum(leg.party_cost_usd for leg in plan.legs)
    nights = sum(choice.stay.night_cost_usd * choice.nights for choice in plan.cities)
    meals = sum(row.average_cost_usd for choice in plan.cities for row in choice.meals) * party
    parts = f"transport {usd(legs)}, stays {usd(nights)}, meals {usd(meals)} for {people(party)}"
    return f"{usd(plan.cost_usd or 0)} ({parts})"


def world_offers(query: Query, world: World, requirements: Collection[Requirement]) -> str:
    """One line for a conflict without the budget: what is asked for, then what the world offers.
    Without `requirements` it is of the trip itself."""
    offers = WorldOffers(query, world, requirements)
    parts = []
    if offers.kinds & STAYS or not offers.enough:
        parts.append(offers.about_stays())
    if "cuisine" in offers.kinds:
        parts.append(offers.about_cuisines())
    if offers.enough and offers.served:
        parts.append(offers.about_transport())
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
        room, rule = (values.get(kind, [None])[0] for kind in ("room type", "house rule"))
        phrases.append(stay_phrase(room, rule))
    if "cuisine" in values:
        phrases.append(f"{listed(values['cuisine'])} food")
    phrases += values.get("transportation", [])
    if "cities" in values:
        phrases.append(f"{query.visiting_city_number} cities in {query.dest}")
    return ", ".join([*phrases, *values.get("dates", [])])


class HostCity(NamedTuple):
    name: str
    nights: tuple[int, ...]  # how many nights can be spent there
    lack: str  # why none can, or ""


class WorldOffers:
    """The request with only these of its requirements, and what a world can do for it."""

    def __init__(self, query: Query, world: World, requirements: Collection[Requirement]):
        self.world = world
        self.query = without_wishes(query, set(wishes_of(query)) - set(requirements))
        self.kinds = {each.kind for each in requirements}
        self.wishes: LocalConstraint = self.query.local_constraint
        most = query.visiting_city_number
        self.city_count = most if "cities" in self.kinds else 1
        # how many cities a trip may have: as many as asked for, or (where that is free) fewer
        self.counts = range(self.city_count, most + 1)
        one_count = self.query.model_copy(update={"visiting_city_number": self.city_count})
        self.problem = Problem(one_count, world)
        self.cities = [self._city(name) for name in city_pool(query, world)]
        self.fitting = [city for city in self.cities if city.nights]
        shared, every = self._shared(), (1 << len(self.problem.wanted)) - 1
        self.enough, self.served = bool(shared), every in shared  # transport aside

    # ---- stays, meals and attractions, city by city

    def _city(self, name: str) -> HostCity:
        longest = self.query.days - self.city_count  # with one night in each of the others
        few = range(1, longest + 1) if self.query.visiting_city_number > 1 else (longest,)
        fitting = stays(self.query, self.world, name)
        if not fitting:
            count = len(self.world.accommodations(name))
            lack = f"{counted(count, 'stay')}, {self._none()}" if count else "no stays at all"
            return HostCity(name, (), lack)
        those, ask = f"the {len(fitting)} stays that fit", "ask"
        if len(fitting) == 1:
            those, ask = "the one stay that fits", "asks"
        least = min(stay.accommodation.minimum_nights for stay in fitting)
        if least > few[-1]:
            most = f"at most {counted(few[-1], 'night')} can be spent there"
            return HostCity(name, (), f"{those} {ask} for {least:g} nights or more, {most}")
        to_be_had = [nights for nights in few if any(stay.fits(nights) for stay in fitting)]
        if not to_be_had:
            return HostCity(name, (), f"{those} cannot be had for {span(few)} nights")
        can = tuple(nights for nights in to_be_had if self.problem.offer(name, nights) is not None)
        too_few = self.problem.why_not(name, to_be_had[0]) or ""
        lack = "" if can else too_few.removeprefix(f"{name} has ").removesuffix(".")
        return HostCity(name, can, lack)

    def _none(self) -> str:
        room, rule = self.wishes.room_type, self.wishes.house_rule
        return f"none that allows {rule}" if rule and not room else f"no {stay_phrase(room, rule)}"

    def _shared(self) -> set[int]:
        """The sets of wanted cuisines (as masks) that the fitting cities can serve while they share
        the nights of a trip; empty where they cannot even share the nights. City by city: (cities
        so far, nights so far) → masks."""
        coverable: dict[tuple[int, int], set[int]] = {(0, 0): {0}}
        for city in self.fitting:
            offers = {nights: self.problem.offer(city.name, nights) for nights in city.nights}
            for (count, before), masks in list(coverable.items()):
                for nights, offer in offers.items():
                    if count < self.counts[-1] and before + nights < self.query.days and offer:
                        more = {a | b for a in masks for b, _, _ in offer.meals}
                        coverable.setdefault((count + 1, before + nights), set()).update(more)
        ends = ((count, self.query.days - 1) for count in self.counts)
        return {mask for end in ends for mask in coverable.get(end, ())}

    def about_stays(self) -> str:
        if len(self.cities) == 1:
            name, can, lack = self.cities[0]
            return f"{name}: {lack}" if lack else f"{name} can host {counted(can[0], 'night')}"
        names, of = [city.name for city in self.fitting], len(self.cities)
        few = f"{len(names)} of" if len(names) < of else "all"
        sentence = f"{few} {of} cities of {self.query.dest} qualify"
        if len(names) == 1:
            sentence = f"only {names[0]} qualifies"
        elif names:
            sentence += f" ({some_of(names)})"
        if not self.enough and len(names) >= self.city_count:
            spans = some_of([f"{city.name} {span(city.nights)}" for city in self.fitting])
            nights = counted(self.query.days - 1, "night")
            among = f"cannot be shared out among {span(self.counts)} of them ({spans})"
            sentence += f", but {nights} {among}"
        lacking = [city for city in self.cities if city.lack]
        # the nearest misses first
        lacking.sort(key=lambda city: not stays(self.query, self.world, city.name))
        lacks = [f"{city.name}: {city.lack}" for city in lacking]
        return "; ".join([sentence, *first_of(lacks)])

    # ---- cuisines

    def about_cuisines(self) -> str:
        places, wanted = self.fitting or self.cities, self.wishes.cuisine or ()
        where = f"the {len(places)} cities that qualify"
        if len(places) <= MOST_NAMED:
            where = some_of([city.name for city in places])
        said = []
        for cuisine in wanted:
            serving = [city for city in self.cities if self._serves(city, cuisine)]
            if names := [city.name for city in serving if city in places]:
                said.append(f"{cuisine} is served in {some_of(names)}")
                continue
            said.append(f"no restaurant in {where} serves {cuisine} food")
            said += [
                f"{city.name} has {cuisine} food, but cannot host this trip: {city.lack}"
                for city in serving[:MOST_NAMED]
            ]
        if not self.served and all(
            any(self._serves(city, cuisine) for city in places) for cuisine in wanted
        ):
            said.append(
                f"but no {span(self.counts)} of the cities can share"
                f" {counted(self.query.days - 1, 'night')} and serve"
                f" {'it' if len(self.problem.wanted) == 1 else 'them all'}"
            )
        return "; ".join(said)

    def _serves(self, city: HostCity, cuisine: str) -> bool:
        return any(cuisine in row.cuisines for row in restaurants(self.world, city.name))

    # ---- transport

    def about_transport(self) -> str:
        """From home to each fitting city and back."""
        home, wanted = self.query.org, self.problem.wanted
        names = [
            city.name
            for city in self.fitting
            if self.counts[-1] > 1 or all(self._serves(city, cuisine) for cuisine in wanted)
        ]
        out = [self._no_way(home, name, 0) for name in names]
        back = [self._no_way(name, home, -1) for name in names]
        lacks = [there or again for there, again in zip(out, back, strict=True)]
        said = first_of(list(filter(None, lacks)))
        if not (all(out) or all(back)):
            through = f"{span(self.counts)} of " if len(names) > 1 else ""
            food = " and serves every wanted cuisine" if wanted else ""
            said.append(
                f"but no route through {through}{some_of(names)} fits the nights{food} and has a"
                " way for every leg on its day"
            )
        return "; ".join(said)

    def _no_way(self, origin: str, destination: str, day: int) -> str:
        lack = self._lack(origin, destination, self.query.date[day])
        return lack and f"no way from {origin} to {destination} ({lack})"

    def _lack(self, origin: str, destination: str, date: str) -> str:
        """What keeps a party from going, or ""."""
        query, world = self.query, self.world
        if road_legs(query, world, origin, destination):
            return ""
        ground = world.ground(origin, destination)
        road = "a road that takes a day or more" if ground and ground.duration else "no road"
        if self.wishes.transportation == "no flight":
            return f"{road}, and no flight wanted"
        dates = [date]
        if "dates" not in self.kinds:  # the same day of trips on other dates
            at = query.date.index(date)
            dates += [other[at] for _, other in other_dates(query, world)]
        if any(flight_leg(query, world, origin, destination, day) for day in dates):
            return ""
        if len(dates) > 1:
            return f"{road}, and no flight on any day that is known"
        if world.flights(origin, destination, date) is None:
            return f"{road}, and the flights of {date} are not known"
        return f"{road}, and no flight on {date}"


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
    found: list[tuple[int, Repair]] = []
    for rank, kind, words, changed in _changes(query, world):
        repair = _proved(kind, words, changed, world)
        if repair is None or (kind == "cities" and found and found[-1][1].kind == "cities"):
            continue
        one_less = [each.cost_usd for before, each in found if before == 3]
        # to drop all cuisines where one is enough would give up more for nothing
        if (rank, kind) != (4, "cuisine") or all(repair.cost_usd < cost for cost in one_less):
            found.append((rank, repair))
    return [change for _, change in sorted(found, key=lambda each: (each[0], each[1].cost_usd))]


def _changes(query: Query, world: World) -> Iterator[tuple[int, str, str, Query]]:
    """(rank, kind, words, the changed query), whether it has a plan or not."""
    if (cost_usd := solve(query, world).cost_usd) is not None:
        budget = math.ceil(cost_usd)
        small = query.budget > 0 and budget <= query.budget * (1 + SMALL_RISE)
        words = f"budget +{usd(budget - query.budget)} to {usd(budget)}"
        yield 1 if small else 6, "budget", words, query.model_copy(update={"budget": budget})
    if (moved := _moved(query, world)) is not None:
        words, dates = moved
        yield 2, "dates", words, query.model_copy(update={"date": dates})
    wishes = sorted(dict.fromkeys(wishes_of(query)), key=lambda wish: wish.kind == "cuisine")
    cuisines = [wish for wish in wishes if wish.kind == "cuisine"]
    if len(cuisines) > 1:
        for wish in cuisines:
            words = f"drop '{wish.value}' from the cuisines"
            yield 3, "cuisine", words, without_wishes(query, {wish})
        yield 4, "cuisine", "drop all cuisines", without_wishes(query, {*cuisines})
    for wish in wishes:
        if wish not in cuisines or len(cuisines) == 1:
            said = {"house rule": " allowed", "cuisine": " food"}.get(wish.kind, "")
            yield 4, wish.kind, f"drop '{wish.value}{said}'", without_wishes(query, {wish})
    for fewer in range(query.visiting_city_number - 1, 0, -1):
        words = f"visit {counted(fewer, 'city')} instead of {query.visiting_city_number}"
        yield 5, "cities", words, query.model_copy(update={"visiting_city_number": fewer})


def _proved(kind: str, words: str, changed: Query, world: World) -> Repair | None:
    """The text says the change, too, and only the official fields are kept: whoever reads them must
    not plan the old trip."""
    cost_usd = solve(changed, world).cost_usd
    if cost_usd is None or cost_usd > changed.budget:
        return None
    record = {name: value for name, value in changed.record().items() if name in Query.model_fields}
    record["query"] = f"{changed.query} (Changed: {words}.)".strip()
    return Repair(kind, words, Query.model_validate(record), cost_usd)


def _moved(query: Query, world: World) -> tuple[str, list[str]] | None:
    """As many dates as days where there were not; else the nearest other start. Without flights one
    date is as good as another."""
    if len(query.date) != query.days:
        try:
            dates = consecutive(datetime.date.fromisoformat(query.date[0]), query.days)
        except (IndexError, ValueError, OverflowError):
            return None
        return f"travel from {dates[0]} to {dates[-1]}, {query.days} days", dates
    if why_outside(query, world) is None and (
        malformed(query, world) is not None or query.local_constraint.transportation == "no flight"
    ):
        return None
    for _, dates in other_dates(query, world):
        if has_plan(query.model_copy(update={"date": dates}), world):
            return f"start on {dates[0]} instead of {query.date[0]}", dates
    return None


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


# ---- phrases


def people(count: int) -> str:
    return "1 person" if count == 1 else f"{count} people"


def span(numbers: Sequence[int]) -> str:
    """ "3", "1 to 3", "1 or 3"."""
    if len(numbers) > 2 and len(numbers) == numbers[-1] - numbers[0] + 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return listed([str(number) for number in numbers], word="or")


def usd(amount: float) -> str:
    sign, amount = ("-", -amount) if amount < 0 else ("", amount)
    return f"{sign}${amount:,.0f}" if amount == int(amount) else f"{sign}${amount:,.2f}"


def stay_phrase(room: str | None, rule: str | None) -> str:
    """Without an article: "private room that allows pets"."""
    name = "unshared room" if room == "not shared room" else room or "stay"
    return f"{name} that allows {rule}" if rule else name


def first_of(reasons: list[str]) -> list[str]:
    more = len(reasons) - MOST_NAMED
    return reasons if more <= 1 else [*reasons[:MOST_NAMED], f"and {more} more like these"]


def some_of(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return listed(names) if more <= 1 else f"{', '.join(names[:MOST_NAMED])} and {more} more"
