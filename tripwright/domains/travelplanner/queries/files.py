"""Files of requests: made by several processes, without repeats; and proved again, with what is
wrong with each, by kind.

- `infeasible`: no plan within the budget, proved, and the record does not say so itself.
- `wrong`: the stored proof is not the world's, its plan fails the official or the strict rules, or
  a request labelled infeasible can be met.
- `ambiguous`: the text alone does not give the fields back.
- `duplicate`: an earlier line asks for the same trip (budget and text do not count).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tripwright.domains.grammar import Gazetteer
from tripwright.domains.travelplanner.oracle.explanation import why_not
from tripwright.domains.travelplanner.oracle.planner import plan_days, solve
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.queries.reading import mismatches
from tripwright.domains.travelplanner.queries.sample import Maker, Mix
from tripwright.domains.travelplanner.query import Query, iter_queries
from tripwright.domains.travelplanner.rules.evaluate import Rules, judge
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.errors import UserError
from tripwright.files import write_json_lines
from tripwright.world.store import World

T = TypeVar("T")
R = TypeVar("R")
Key = tuple[str, str, tuple[str, ...], int, str | None, tuple[str, ...], str | None, str | None]

SMALL = 40  # tasks for which a further process is not worth its start
RULE_SETS: tuple[Rules, ...] = ("official", "strict")
PROBLEM_KINDS = ("infeasible", "wrong", "ambiguous", "duplicate")


# ---- made


@dataclass
class QueryBatch:
    """What was made. `rejected`: reason → attempts."""

    records: list[dict[str, Any]] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)


def make_file(
    world: World,
    out: Path,
    count: int,
    seed: int,
    mix: Mix,
    *,
    excluded: frozenset[Key] = frozenset(),
    workers: int | None = None,
    report: Callable[[QueryBatch], None] = lambda batch: None,
) -> QueryBatch:
    """Makes the requests 0 to `count` − 1 of a seed. Where one asks for the same trip as an earlier
    one, or as an excluded one, its next attempt is taken. That is decided in order, by the process
    that writes, so one process and many write the same bytes. Raises Exhausted where the world does
    not give so many."""
    batch, keys = QueryBatch(), set[Key]()
    drawing = partial(_numbered, Maker(world, mix), Gazetteer(world.cities), seed)

    def taken(query: Query) -> str | None:
        key = request_key(query)
        repeated = "repeats an earlier one" if key in keys else None
        return "excluded" if key in excluded else repeated

    for number, (query, rejected) in enumerate(in_order(drawing, range(count), workers)):
        if taken(query):
            query, rejected = drawing(number, taken)
        keys.add(request_key(query))
        batch.records.append(query.record())
        batch.rejected.update(rejected)
        report(batch)
    write_json_lines(out, batch.records)
    return batch


def _numbered(
    maker: Maker,
    places: Gazetteer,
    seed: int,
    number: int,
    taken: Callable[[Query], str | None] = lambda query: None,
) -> tuple[Query, Counter[str]]:
    """The first request of this number that is not taken, whose plan the judge passes and whose
    text is read back; and the attempts before it, by reason."""

    def refused(query: Query) -> str | None:
        plan = (query.model_extra or {})["oracle"]["plan"]
        if plan is not None and plan_failure(query, plan, maker.world):
            return "the planner's plan does not pass the judge"
        if mismatches(query, query.query, places):
            return "text does not give the fields back"
        return taken(query)

    rejected = Counter[str]()
    return maker.numbered(seed, number, refused, rejected), rejected


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
    return frozenset(request_key(query) for path in paths for _, query in iter_queries(path))


# ---- proved again


def plan_failure(query: Query, plan: Any, world: World) -> str | None:
    """The first thing that a plan fails under either rule set; None where it passes both."""
    parse = parse_days(plan)
    if parse.days is None:
        return f"cannot be read: {parse.problem}"
    official = to_official(parse.days, city_lookup(world))
    for rules in RULE_SETS:
        verdict = judge(query, official, world, rules)
        if not verdict.final:
            failed = next(iter(verdict.failed), None)
            message = f": {failed.message}" if failed and failed.message else ""
            what = f"{failed.name}{message}" if failed else verdict.error or "not delivered"
            return f"does not pass the judge: {what} ({rules} rules)"
    return None


class QueryProblem(NamedTuple):
    kind: str
    text: str


def check_queries(
    queries: Sequence[tuple[int, Query]], world: World, workers: int | None = None
) -> Iterator[tuple[int, list[QueryProblem]]]:
    """(line number, its problems) for every (line number, request), in order. `workers`: processes;
    None: as many as are worth it."""
    first: dict[Key, int] = {}
    check = partial(_problems, world, Gazetteer(world.cities))
    answers = in_order(check, [query for _, query in queries], workers)
    for (line, query), problems in zip(queries, answers, strict=True):
        earlier = first.setdefault(request_key(query), line)
        if earlier != line:
            problems.append(QueryProblem("duplicate", f"asks for the same trip as line {earlier}"))
        yield line, problems


def _problems(world: World, places: Gazetteer, query: Query) -> list[QueryProblem]:
    """Everything wrong with one request by itself."""
    return [QueryProblem(kind, text) for kind, text in _found(world, places, query)]


def _found(world: World, places: Gazetteer, query: Query) -> Iterator[tuple[str, str]]:
    if (unread := query.local_constraint.unread) is not None:
        yield "ambiguous", f"its text is not clear: {unread}"
        return
    cheapest, record = solve(query, world), query.model_extra or {}
    why, said_infeasible = why_not(cheapest, query.budget), record.get("feasible") is False
    if why and not said_infeasible:
        yield "infeasible", f"cannot be met: {why}"
    elif said_infeasible and not why:
        yield "wrong", f"is labelled infeasible and can be met for ${cheapest.cost_usd:,.2f}"
    elif not why and (failure := plan_failure(query, plan_days(query, cheapest), world)):
        yield "wrong", f"the exact planner's plan {failure}"
    proof = record.get("oracle")
    if isinstance(proof, dict):
        found = cheapest.cost_usd
        if (stored := proof.get("cheapest_cost_usd", found)) != found:
            yield "wrong", f"its stored cheapest cost is {stored}, the world's is {found}"
        plan = proof.get("plan")
        has_plan = plan is not None or not said_infeasible
        if has_plan and (failure := plan_failure(query, plan, world)):
            yield "wrong", f"its stored plan {failure}"
    elif proof is not None:  # the benchmark's own requests have no proof
        yield "wrong", "field 'oracle' is not an object"
    if misread := mismatches(query, query.query, places):
        yield "ambiguous", f"its text is not clear: {misread[0]}"


# ---- processes


def in_order(work: Callable[[T], R], tasks: Sequence[T], workers: int | None) -> Iterator[R]:
    """work(task) for every task, in order: the same as in one process, only sooner. `workers`: None
    for one on each core, and no more than there is work for. With several, `work` goes to each
    process once, and it and the tasks must be picklable.

    Processes are spawned, not forked, so they hold nothing open of ours; each leaves by itself when
    the process that started it is gone, however that ended. Raises what `work` raises, at its
    task's place, and UserError if a process is killed.
    """
    workers = workers or max(1, min(os.cpu_count() or 1, len(tasks) // SMALL))
    if workers == 1:
        yield from map(work, tasks)
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, spawn, _enter, (work,)) as pool:
        try:
            yield from pool.map(_work, tasks)
        except BrokenProcessPool:
            raise UserError(
                "A worker process was killed (is memory short?). Run the same command again,"
                " perhaps with --workers 1."
            ) from None


_of_process: Callable[[Any], Any]  # the work of a worker process


def _enter(work: Callable[[Any], Any]) -> None:
    global _of_process
    # Ctrl-C is for the process that was started by hand
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    _of_process = work


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _work(task: Any) -> Any:
    return _of_process(task)
