"""Files of requests, each with its proof: made by several processes, without repeats, and gone on
with after a kill.

The n-th request of a file depends on the seed and n alone. Level and length of trip are drawn once
for each n, so that what is rejected does not change their shares. Then one attempt follows the
other, each with random numbers of its own: fields, budget, proof and text, until one is kept. Where
it asks for the same trip as an earlier request, the next attempt is taken. That is decided in
order, by the process that writes, so one process and many write the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Literal, TypeVar

from tripwright import __version__
from tripwright.domains.travelplanner.oracle.options import (
    FORBIDDEN_BY_RULE,
    ROOM_TYPES,
    Problem,
    why_unplannable,
)
from tripwright.domains.travelplanner.oracle.planner import Solution, plan_days, solve
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.queries.reading import Gazetteer, mismatches
from tripwright.domains.travelplanner.queries.sample import LEVELS, Mix, draw_fields
from tripwright.domains.travelplanner.queries.wording import Style, word_query
from tripwright.domains.travelplanner.query import LocalConstraint, Query, iter_queries
from tripwright.domains.travelplanner.rules.evaluate import Rules, judge
from tripwright.domains.travelplanner.rules.facts import PlanVerdict
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.errors import UserError
from tripwright.files import Journal, write_atomically
from tripwright.world.records import Accommodation, Flight, Restaurant
from tripwright.world.store import World

S = TypeVar("S")  # what the tasks share
T = TypeVar("T")
R = TypeVar("R")
Key = tuple[str, str, tuple[str, ...], int, str | None, tuple[str, ...], str | None, str | None]

MOST_ATTEMPTS = 3000
MOST_WORDINGS = 5  # of one request, where the text does not give the fields back
SMALL = 40  # tasks for which a further process is not worth its start
# the budget over the cost without wishes, where the wishes are what cannot be met
ROOMY = (1.05, 1.3)
RULE_SETS: tuple[Rules, ...] = ("official", "strict")
# what the planner says where there is no plan, and how such drafts are counted
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


@dataclass(frozen=True, kw_only=True)
class QuerySettings(Mix):
    """What is made. `slack`: range of the budget over the cost of the cheapest comfortable plan; if
    infeasible over that of the cheapest, and below 1. With `budget` "official" it is the
    benchmark's price statistics instead."""

    seed: int
    elements: Literal["default", "official"] = "default"
    budget: Literal["slack", "official"] = "slack"
    keep: Literal["feasible", "infeasible"] = "feasible"
    style: Style = "plain"


@dataclass(frozen=True)
class QueryItem:
    """`attempt`: the one that was kept. `rejected`: reason → how many attempts before it, from the
    one that the caller named."""

    record: dict[str, Any]
    attempt: int
    rejected: Counter[str] = field(default_factory=Counter)


class Exhausted(UserError):
    """The world gives no further request of the kind that was drawn."""


class _Rejected(Exception):
    """This attempt gives no request; the message is the reason that is counted."""


class Maker:
    """Makes any request of one file."""

    def __init__(self, world: World, settings: QuerySettings, excluded: frozenset[Key]):
        self.world, self.settings, self.excluded = world, settings, excluded
        self.places = Gazetteer(world.cities)

    def item(self, task: tuple[int, int], before: Counter[str] | None = None) -> QueryItem:
        """The n-th request, from the given attempt on: `task` is (n, attempt). Raises Exhausted
        after MOST_ATTEMPTS.

        `before`: why earlier attempts of this n were turned down, for the message.
        """
        index, first = task
        settings, rejected = self.settings, Counter[str]()
        seed = f"tripwright-make-{settings.keep}-{settings.seed}-{index}"
        rng = random.Random(seed)
        level, days = rng.choices(LEVELS, settings.levels)[0], rng.choice(settings.days)
        # Nearly every draft can be given too low a budget; half of those with wishes must fail by
        # their wishes, though these are rarer.
        by_wishes = (
            settings.keep == "infeasible"
            and level != "easy"
            and settings.budget == "slack"
            and rng.random() < 0.5
        )
        for attempt in range(first, MOST_ATTEMPTS):
            rng = random.Random(f"{seed}-{attempt}")
            try:
                return QueryItem(self._record(rng, level, days, by_wishes), attempt, rejected)
            except _Rejected as reason:
                rejected[str(reason)] += 1
        reasons = (rejected + (before or Counter())).most_common(3)
        raise Exhausted(
            f"World '{self.world.name}' gave {index} {settings.keep} requests; number {index + 1},"
            f" a '{level}' one of {days} days, was not found in {MOST_ATTEMPTS} tries:"
            f" {', '.join(f'{reason} ({count})' for reason, count in reasons)}. Ask for fewer, or"
            " for other levels, lengths or budgets."
        )

    def unseen(self, index: int, item: QueryItem, keys: set[Key]) -> dict[str, Any]:
        """The journal's entry for this item, or for its first later attempt that is no repeat. Adds
        its key to `keys`."""
        rejected = Counter(item.rejected)
        while (key := request_key(Query.model_validate(item.record))) in keys:
            rejected["repeats an earlier one"] += 1
            item = self.item((index, item.attempt + 1), rejected)
            rejected += item.rejected
        keys.add(key)
        return {"rejected": dict(rejected), "record": item.record}

    def _record(self, rng: random.Random, level: str, days: int, by_wishes: bool) -> dict[str, Any]:
        world, settings = self.world, self.settings
        fields = draw_fields(world, rng, level, days, settings, settings.elements == "official")
        draft = Query.model_validate({**fields, "budget": 0, "query": ""})
        if request_key(draft) in self.excluded:
            raise _Rejected("excluded")
        if settings.keep == "feasible":
            budget, extra = self._feasible(draft, rng)
        else:
            budget, extra = self._infeasible(draft, rng, by_wishes)
        for _ in range(MOST_WORDINGS):
            text = word_query(rng, draft.model_copy(update={"budget": budget}), settings.style)
            query = Query.model_validate({**fields, "budget": budget, "query": text, **extra})
            if not mismatches(query, text, self.places):
                return query.record()
        raise _Rejected("text does not give the fields back")

    def _feasible(self, draft: Query, rng: random.Random) -> tuple[int, dict[str, Any]]:
        """(budget in US dollars, the record's further fields)."""
        world, budget = self.world, self._official_budget(draft)
        cheapest = solve(draft, world)
        if cheapest.cost_usd is None:
            lacks = (lack for said, lack in LACKS.items() if said in str(cheapest.why))
            raise _Rejected(f"no plan: {next(lacks, 'the request makes no sense')}")
        comfortable = solve(draft, world, comfortable=True)
        if budget is None:
            if comfortable.cost_usd is None:
                raise _Rejected("no comfortable plan")
            budget = math.ceil(comfortable.cost_usd * rng.uniform(*self.settings.slack) / 10) * 10
        if cheapest.cost_usd > budget:
            raise _Rejected("the cheapest plan is over the official budget")
        is_kept = comfortable.cost_usd is not None and comfortable.cost_usd <= budget
        solution = comfortable if is_kept else cheapest
        query, plan = draft.model_copy(update={"budget": budget}), plan_days(draft, solution)
        if plan_failure(query, plan, world):
            raise _Rejected("the planner's plan does not pass the judge")
        proof = self._proof(query, cheapest, comfortable)
        return budget, {"oracle": {**proof, "plan_cost_usd": solution.cost_usd, "plan": plan}}

    def _infeasible(
        self, draft: Query, rng: random.Random, by_wishes: bool
    ) -> tuple[int, dict[str, Any]]:
        """(a budget that is too little, or one that would do without the wishes; the record's
        further fields)."""
        world, budget = self.world, self._official_budget(draft)
        cheapest = solve(draft, world)
        if by_wishes and cheapest.cost_usd is not None:
            raise _Rejected("can be met: no wish in the way")
        if cheapest.cost_usd is None and budget is None:
            wishes = LocalConstraint.model_validate({})
            without = solve(draft.model_copy(update={"local_constraint": wishes}), world).cost_usd
            if without is None:
                raise _Rejected("no plan even without the wishes")
            budget = math.ceil(without * rng.uniform(*ROOMY) / 10) * 10
        elif cheapest.cost_usd is not None:
            if budget is None:
                budget = math.floor(cheapest.cost_usd * rng.uniform(*self.settings.slack) / 10) * 10
            if not 0 < budget < cheapest.cost_usd:
                raise _Rejected("can be met within the budget")
        assert budget is not None
        query = draft.model_copy(update={"budget": budget})
        proof = self._proof(query, cheapest, solve(draft, world, comfortable=True))
        return budget, {
            "feasible": False,
            "why": why_not(query, cheapest),
            "oracle": {**proof, "plan_cost_usd": None, "plan": None},
        }

    def _official_budget(self, draft: Query) -> int | None:
        """None where the budget goes by the slack."""
        if self.settings.budget == "slack":
            return None
        try:
            return official_budget(draft, self.world)
        except NoBudget as reason:
            raise _Rejected(str(reason)) from None

    def _proof(self, query: Query, cheapest: Solution, comfortable: Solution) -> dict[str, Any]:
        """Costs in US dollars for the party."""
        return {
            "cheapest_cost_usd": cheapest.cost_usd,
            "comfortable_cost_usd": comfortable.cost_usd,
            "slack": slack(query, cheapest),
            "feasible_cities": feasible_cities(query, self.world),
            "rule_set": "+".join(RULE_SETS),
        }


# ---- the official budget


class NoBudget(ValueError):
    """The official sampler draws again: what is missing, in words."""


def official_budget(query: Query, world: World) -> int:
    """US dollars for the whole party, in hundreds: statistics of prices, not the cost of a plan
    (row T2), so that it may be too little for any plan at all. Raises NoBudget where the official
    sampler would reject the request."""
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
            raise NoBudget(f"official budget: no {what}")
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
        raise NoBudget("official budget: too few flights on the first day")
    if wish == "no flight" and (first_day < 2 or flights[0].distance_miles > FARTHEST_DRIVE_MILES):
        raise NoBudget("official budget: too far to drive")


def _wanted_hotels(query: Query, hotels: list[Accommodation]) -> list[Accommodation]:
    rule, room = query.local_constraint.house_rule, query.local_constraint.room_type
    if room:
        hotels = [row for row in hotels if row.room_type in ROOM_TYPES[room]]
    if rule:
        hotels = [row for row in hotels if FORBIDDEN_BY_RULE[rule] not in row.house_rules]
    if (room or rule) and len(hotels) < query.days:
        raise NoBudget("official budget: too few hotels that fit the wishes")
    return hotels


def _wanted_meals(query: Query, meals: list[Restaurant]) -> list[Restaurant]:
    cuisines = query.local_constraint.cuisine
    if not cuisines:
        return meals
    meals = [row for row in meals if any(cuisine in row.cuisines for cuisine in cuisines)]
    if len(meals) < query.days:
        raise NoBudget("official budget: too few restaurants of the wanted cuisines")
    return meals


def _hundreds(amount: float) -> int:
    return round(amount / 100) * 100


# ---- proofs


def why_not(query: Query, cheapest: Solution) -> str | None:
    """Why the request cannot be met, in a sentence; None where it can."""
    if cheapest.cost_usd is None:
        return cheapest.why or "no plan exists."
    if cheapest.cost_usd > query.budget:
        return (
            f"the cheapest plan costs ${cheapest.cost_usd:,.2f}, the budget is ${query.budget:,}."
        )
    return None


def slack(query: Query, cheapest: Solution) -> float | None:
    """The budget over the proved cheapest cost; None where no plan exists at any price."""
    return None if cheapest.cost_usd is None else round(query.budget / cheapest.cost_usd, 4)


def plan_failure(query: Query, plan: Any, world: World) -> str | None:
    """The first thing that a plan fails under either rule set; None where it passes both."""
    parse = parse_days(plan)
    if parse.days is None:
        return f"cannot be read: {parse.problem}"
    official = to_official(parse.days, city_lookup(world))
    for rules in RULE_SETS:
        verdict = judge(query, official, world, rules)
        if not verdict.final:
            return f"{_first_failure(verdict)} ({rules} rules)"
    return None


def _first_failure(verdict: PlanVerdict) -> str:
    for facts in (verdict.commonsense, verdict.hard):
        for fact in (facts or {}).values():
            if fact.passed is False:
                return f"{fact.name}{f': {fact.message}' if fact.message else ''}"
    return verdict.error or "not delivered"


def feasible_cities(query: Query, world: World) -> int:
    """How many cities are part of some plan, whatever it costs."""
    if why_unplannable(query, world):
        return 0
    problem, reached = Problem(query, world), set[str]()
    for driving in (True, False):  # all legs of a plan are driven, or none is
        for cities in _visits(problem, driving, (), 0, {0}, reached):
            reached.update(cities)
    return len(reached)


def _visits(
    problem: Problem,
    driving: bool,
    visited: tuple[str, ...],
    day: int,
    served: set[int],
    reached: set[str],
) -> Iterator[tuple[str, ...]]:
    """Every order of cities that some plan visits; `visited` is its beginning, and `served` are the
    sets of wanted cuisines, as masks, that meals there can cover. Orders of cities that are all in
    `reached` already are left out."""
    here, left = (visited or (problem.query.org,))[-1], problem.visits - len(visited)
    if not left:
        is_served = (1 << len(problem.wanted)) - 1 in served
        if is_served and problem.leg(here, problem.query.org, day, driving):
            yield visited
        return
    latest = problem.nights - left + 1  # each city to come has a night
    lengths = [n for n in problem.lengths if day + n <= latest and (left > 1 or day + n == latest)]
    for city in problem.cities:
        known = left == 1 and reached.issuperset((*visited, city))
        if known or city in visited or not problem.leg(here, city, day, driving):
            continue
        for nights in lengths:
            if offer := problem.offer(city, nights):
                masks = {before | menu[0] for before in served for menu in offer.meals}
                order = (*visited, city)
                yield from _visits(problem, driving, order, day + nights, masks, reached)


# ---- the file


@dataclass
class QueryBatch:
    """What was made. `resumed`: requests taken over from a run that was stopped. `rejected`: reason
    → attempts, of all runs together."""

    records: list[dict[str, Any]] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    resumed: int = 0

    def take(self, entry: dict[str, Any]) -> None:
        self.records.append(entry["record"])
        self.rejected.update(entry["rejected"])


def make_files(
    world: World,
    out: Path,
    count: int,
    settings: QuerySettings,
    *,
    excluded: frozenset[Key] = frozenset(),
    workers: int | None = None,
    restart: bool = False,
    report: Callable[[QueryBatch], None] | None = None,
) -> QueryBatch:
    """Makes `count` different requests.

    Goes on where a killed run with the same settings stopped. Raises Exhausted where the world does
    not give so many.
    """
    digest = hashlib.sha256(json.dumps(sorted(excluded, key=repr)).encode()).hexdigest()
    identity = {  # everything that the bytes depend on
        "tripwright": __version__,
        "world": world.content_hash,
        "count": count,
        **asdict(settings),
        "excluded": digest if excluded else None,
    }
    batch = QueryBatch()
    with _journal(out, json.loads(json.dumps(identity)), batch, restart) as journal:
        batch.resumed = len(batch.records)
        keys = {request_key(Query.model_validate(record)) for record in batch.records}
        maker = Maker(world, settings, excluded)
        tasks = [(index, 0) for index in range(batch.resumed, count)]
        items = in_order(Maker, (world, settings, excluded), Maker.item, tasks, workers)
        try:
            for (index, _), item in zip(tasks, items, strict=True):
                entry = maker.unseen(index, item, keys)
                journal.append(entry)
                batch.take(entry)
                if report:
                    report(batch)
        except Exhausted:
            journal.path.unlink()  # going on would end here again
            raise
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in batch.records)
        write_atomically(out, "".join(lines))
        journal.path.unlink()
    return batch


def _journal(out: Path, identity: dict[str, Any], batch: QueryBatch, restart: bool) -> Journal:
    """`OUT.journal`, of a file that is still being made: the identity in the first line, then one
    finished request a line, which the batch takes over."""
    path = out.with_name(out.name + ".journal")
    begun = False

    def take(record: Any) -> None:
        nonlocal begun
        if begun:
            batch.take(record)
        elif dict(record) != identity:
            name = next(n for n in (*identity, *record) if identity.get(n) != record.get(n))
            raise UserError(
                f"'{path}' holds requests made with other settings ({name} was"
                f" {record.get(name)!r}, now {identity.get(name)!r}). Run with the same settings"
                " again, or start over with --restart."
            )
        begun = True

    in_use = (
        f"'{path}' is in use: another process is making '{out}' now. Wait for it, or choose"
        " another --out."
    )
    damaged = "the journal is damaged. Start over with --restart."
    journal = Journal(path, take, damaged, in_use, restart=restart)
    if not begun:
        journal.append(identity)
    return journal


# ---- which requests are the same


def request_key(query: Query) -> Key:
    """Two requests are equal if origin, destination, every date, number of people and all four
    wishes are (cuisines in any order).

    Budget, text and level do not count: another price for the same trip is no new trip.
    """
    wishes = query.local_constraint
    return (
        query.org,
        query.dest,
        tuple(query.date),
        query.party_size,
        wishes.house_rule,
        tuple(sorted(wishes.cuisine or ())),
        wishes.room_type,
        wishes.transportation,
    )


def excluded_keys(paths: Iterable[Path]) -> frozenset[Key]:
    """The keys of every request in these JSONL files. Raises UserError for a file that is not
    there, is empty or lacks fields."""
    excluded: set[Key] = set()
    for path in paths:
        keys = {request_key(query) for _, query in iter_queries(path)}
        if not keys:
            raise UserError(
                f"No queries in '{path}'. --not-in expects JSONL files, one query record per line."
            )
        excluded |= keys
    return frozenset(excluded)


# ---- processes


def in_order(
    start: Callable[..., S],
    arguments: tuple[Any, ...],
    work: Callable[[S, T], R],
    tasks: list[T],
    workers: int | None,
) -> Iterator[R]:
    """work(start(*arguments), task) for every task, in order: the same as in one process, only
    sooner. `workers`: None for one on each core, and no more than there is work for. With several,
    everything passed must be picklable.

    Processes are spawned, not forked, so they hold nothing open of ours; each leaves by itself when
    the process that started it is gone, however that ended. Raises what `work` raises, at its
    task's place, and UserError if a process is killed.
    """
    workers = workers or max(1, min(os.cpu_count() or 1, len(tasks) // SMALL))
    if workers == 1:
        yield from map(partial(work, start(*arguments)), tasks)
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, spawn, _enter, (start, arguments)) as pool:
        try:
            yield from pool.map(partial(_work, work), tasks)
        except BrokenProcessPool:
            raise UserError(
                "A worker process was killed (is memory short?). Run the same command again,"
                " perhaps with --workers 1."
            ) from None


_state: Any = None  # of a worker process


def _enter(start: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    global _state
    # Ctrl-C is for the process that was started by hand
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    _state = start(*arguments)


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _work(work: Callable[[Any, T], R], task: T) -> R:
    return work(_state, task)
