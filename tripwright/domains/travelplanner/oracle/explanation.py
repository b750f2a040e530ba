"""Why a request has no plan: a minimal set of requirements that conflict, and what the
world offers under them, in words.

The set is found by deletion: each requirement is dropped in turn, and stays dropped if the rest
still cannot be met. What remains cannot be met together, and can be met without any one of them. A
request may hold several conflicts: those that share no requirement with the first come after it in
`also`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from tripwright.domains.travelplanner.oracle.options import FORBIDDEN_BY_RULE, ROOM_TYPES
from tripwright.domains.travelplanner.oracle.phrases import people, usd
from tripwright.domains.travelplanner.oracle.planner import Solution
from tripwright.domains.travelplanner.oracle.problem import city_pool, why_unplannable
from tripwright.domains.travelplanner.oracle.requirements import Relaxations, Requirement
from tripwright.domains.travelplanner.oracle.world_offers import asked_for, world_offers
from tripwright.domains.travelplanner.query import Query, why_outside
from tripwright.domains.wording import listed
from tripwright.errors import counted
from tripwright.world.store import World

TRANSPORTATION = ("no flight", "no self-driving")


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
        conflicts.append(Explanation(conflict or (_route(query),), _words(relaxed, conflict)))
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


def _words(relaxed: Relaxations, conflict: tuple[Requirement, ...]) -> str:
    query, world = relaxed.query, relaxed.world
    if not any(each.kind == "budget" for each in conflict):
        return world_offers(query, world, conflict)
    others = set(relaxed.requirements) - set(conflict)
    rest = [each for each in conflict if each.kind != "budget"]
    budget, kept_usd = (
        usd(query.budget),
        _cost_usd(relaxed.cheapest(others | {each for each in conflict if each.kind == "budget"})),
    )
    whole = relaxed.cheapest({each for each in conflict if each.kind == "budget"})
    least = "" if kept_usd is None else usd(kept_usd)
    if rest:
        head = f"{asked_for(query, rest)}, within {budget}: "
        if whole is None:
            return f"{head}with only these kept the cheapest plan costs {least}."
        if _cost_usd(whole) == kept_usd:
            return f"{head}the cheapest plan costs {_bill(query, whole)}."
        return (
            f"{head}as asked the cheapest plan costs {_bill(query, whole)}; with only these kept"
            f" {least}."
        )
    if whole is None:
        return (
            f"even {_all_freed(others)}, the cheapest plan costs {least}, the budget is {budget}."
        )
    shortfall = f"the cheapest plan costs {_bill(query, whole)}, the budget is {budget}"
    return shortfall + (
        "."
        if _cost_usd(whole) == kept_usd
        else f"; even {_all_freed(others)}, the cheapest still costs {least}."
    )


def _cost_usd(plan: Solution | None) -> float | None:
    return None if plan is None else plan.cost_usd


def _all_freed(others: set[Requirement]) -> str:
    kinds = {each.kind for each in others}
    freed = ["with no wishes"] if kinds - {"cities", "dates"} else []
    return ", ".join([*freed, *(["to fewer cities"] if "cities" in kinds else []), "on any dates"])


def _bill(query: Query, plan: Solution) -> str:
    legs = sum(leg.party_cost_usd for leg in plan.legs)
    stays = sum(choice.stay.night_cost_usd * choice.nights for choice in plan.cities)
    meals = (
        sum(row.average_cost_usd for choice in plan.cities for row in choice.meals)
        * query.party_size
    )
    parts = (
        f"transport {usd(legs)}, stays {usd(stays)}, meals {usd(meals)} for"
        f" {people(query.party_size)}"
    )
    return f"{usd(plan.cost_usd or 0)} ({parts})"


def _route(query: Query) -> Requirement:
    return Requirement("route", f"{query.org} to {query.dest}")


# ---- requests that cannot even be tried


def malformed(query: Query, world: World) -> Explanation | None:
    """The first thing that is wrong with the request itself in this world; None where a planner can
    try it."""

    def problem(kind: str, value: object, words: str) -> Explanation:
        return Explanation((Requirement(kind, str(value)),), words, malformed=True)

    wishes, cities = query.local_constraint, query.visiting_city_number
    if query.org not in world.cities:
        return problem(
            "origin",
            query.org,
            f"'{query.org}' is not a city in this world{_near(query.org, world.cities)}.",
        )
    if wrong := _wrong_destination(query, world):
        return problem("destination", query.dest, wrong)
    if len(query.date) != query.days:
        problem_words = (
            f"the request is for {counted(query.days, 'day')} and gives"
            f" {counted(len(query.date), 'date')}."
        )
        return problem("dates", ", ".join(query.date) or "none", problem_words)
    if outside := why_outside(query, world):
        return problem("dates", f"{query.date[0]} to {query.date[-1]}", outside)
    for kind, wish, vocabulary in (
        ("house rule", wishes.house_rule, FORBIDDEN_BY_RULE),
        ("room type", wishes.room_type, ROOM_TYPES),
        ("transportation", wishes.transportation, TRANSPORTATION),
    ):
        if wish is not None and wish not in vocabulary:
            return problem(
                kind, wish, f"unknown {kind} '{wish}'; known are {', '.join(vocabulary)}."
            )
    if query.days - 1 < cities:
        problem_words = (
            f"{counted(cities, 'city')} and a night in each take {cities + 1} days or more,"
            f" {counted(query.days, 'day')} are given."
        )
        return problem("cities", cities, problem_words)
    if query.days <= 3 and cities > 1:
        return problem(
            "cities",
            cities,
            f"a trip of {query.days} days goes to one city, {query.dest}; {cities} are asked for.",
        )
    if len(there := city_pool(query, world)) < cities:
        names = f" ({', '.join(there)})" if there else ""
        less = f" besides {query.org}" if world.cities[query.org] == query.dest else ""
        return problem(
            "cities",
            cities,
            f"{query.dest} has {len(there)} of the {cities} cities asked for{less}{names}.",
        )
    if why := why_unplannable(query, world):
        kind = "destination" if query.org == query.dest else "cuisine"
        return problem(
            kind, query.dest if kind == "destination" else ", ".join(wishes.cuisine or ()), why
        )
    return None


def _wrong_destination(query: Query, world: World) -> str | None:
    kind, names = ("city", world.cities) if query.days <= 3 else ("state", world.states)
    if query.dest in names:
        return None
    trips = f"{counted(query.days, 'day')} {'goes' if query.days == 1 else 'go'} to a {kind}"
    if query.dest in world.states:
        return (
            f"'{query.dest}' is a state: {trips}, such as"
            f" {listed(world.states[query.dest][:3], word='or')}."
        )
    if query.dest in world.cities:
        return f"'{query.dest}' is a city: {trips}, such as {world.cities[query.dest]}."
    return f"'{query.dest}' is not a {kind} in this world ({trips}){_near(query.dest, names)}."


def _near(name: str, names: Iterable[str]) -> str:
    close = get_close_matches(name, list(names), n=1)
    return f"; the nearest name is '{close[0]}'" if close else ""
