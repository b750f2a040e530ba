"""A file of plans → one verdict per line and T4's six metrics.

The subtle things: a line we cannot read is reported, keeps its place in every denominator (as a plan that was not delivered) and
stops nothing else. The hard micro denominator counts the wishes the requests state, plus one budget each: the official constants
105, 420 and 2,290 are exactly that count for its three splits, so any subset scores consistently with them. P3's plans are
recognised by their 'city' key and translated; one that breaks the schema is not delivered (its reward would be 0, row P4).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from tripwright.constraints.evaluate import Rules, applicable_hard_count, check_rules, judge
from tripwright.constraints.facts import COMMONSENSE_NAMES, Facts, Verdict
from tripwright.constraints.lookup import city_lookup
from tripwright.errors import UserError
from tripwright.trip.parse import parse_days
from tripwright.trip.plan import CityOf, to_official
from tripwright.trip.query import Query, first_problem
from tripwright.world.store import World

BAD_LINE = "BadLine"  # the `error` of a line that holds no query and plan
BAD_PLAN = "BadPlan"  # the `error` of a plan that breaks P3's schema

METRICS = ("delivery_rate", "commonsense_micro", "commonsense_macro", "hard_micro", "hard_macro", "final_pass_rate")


@dataclass(frozen=True)
class ScoredLine:
    """One line of the file. `query` is None for a line that cannot be read; `problem` then says why, as for a plan off its schema."""

    line: int
    verdict: Verdict
    query: Query | None
    problem: str | None = None

    @property
    def is_bad_input(self) -> bool:
        return self.verdict.error == BAD_LINE

    def to_contract(self) -> dict[str, Any]:
        return self.verdict.to_contract(self.line)


@dataclass
class Tally:
    """Running counts behind T4's metrics."""

    n: int = 0
    delivered: int = 0
    commonsense_passed: int = 0
    commonsense_all: int = 0
    hard_passed: int = 0
    hard_asked: int = 0
    hard_all: int = 0
    final: int = 0
    bad_lines: int = 0

    def add(self, query: Query | None, verdict: Verdict) -> None:
        """Whatever was not evaluated passed nothing. A hard constraint that was not asked for does not spoil hard macro (T4)."""
        self.n += 1
        self.delivered += verdict.delivered
        self.commonsense_passed += _passes(verdict.commonsense)
        self.commonsense_all += _passes(verdict.commonsense) == len(COMMONSENSE_NAMES)
        self.hard_passed += _passes(verdict.hard)
        self.hard_asked += 1 if query is None else applicable_hard_count(query)
        self.hard_all += verdict.hard is not None and all(fact.passed is not False for fact in verdict.hard.values())
        self.final += verdict.final
        self.bad_lines += verdict.error == BAD_LINE

    def summary(self, rules: str) -> dict[str, Any]:
        counts = (
            (self.delivered, self.n),
            (self.commonsense_passed, self.n * len(COMMONSENSE_NAMES)),
            (self.commonsense_all, self.n),
            (self.hard_passed, self.hard_asked),
            (self.hard_all, self.n),
            (self.final, self.n),
        )
        rates = {
            name: {"value": numerator / denominator if denominator else None, "numerator": numerator, "denominator": denominator}
            for name, (numerator, denominator) in zip(METRICS, counts, strict=True)
        }
        return {"kind": "summary", "rules": rules, "n": self.n, "bad_lines": self.bad_lines, **rates}


def _passes(facts: Facts | None) -> int:
    return sum(1 for fact in (facts or {}).values() if fact.passed)


def score_file(path: str | Path, world: World, rules: str) -> Iterator[dict[str, Any]]:
    """The objects that `score --json` prints: one per line, then the summary."""
    tally = Tally()
    for scored in scored_lines(path, world, rules):
        tally.add(scored.query, scored.verdict)
        yield scored.to_contract()
    yield tally.summary(rules)


def scored_lines(path: str | Path, world: World, rules: str) -> Iterator[ScoredLine]:
    """Every non-empty line of the file, in order, read and judged one at a time."""
    path = Path(path)
    check_rules(rules)
    if not path.is_file():
        raise UserError(f'No plan file at \'{path}\'. Expected a JSONL file with {{"query": …, "plan": …}} per line.')
    city_of = city_lookup(world)
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _score_line(number, line, world, cast(Rules, rules), city_of)


def _score_line(number: int, line: bytes, world: World, rules: Rules, city_of: CityOf) -> ScoredLine:
    try:
        query, plan = _read_line(line)
    except _BadLine as problem:
        return ScoredLine(number, Verdict.undelivered(rules, BAD_LINE), None, f"line {number}: {problem}")
    if plan and _is_p3(plan):
        answer = parse_days(plan)
        if answer.days is None:
            return ScoredLine(number, Verdict.undelivered(rules, BAD_PLAN), query, f"line {number}: {answer.problem}")
        plan = to_official(answer.days, city_of)
    return ScoredLine(number, judge(query, plan, world, rules), query)


class _BadLine(ValueError):
    """A line that is not {"query": …, "plan": …}."""


def _read_line(line: bytes) -> tuple[Query, list[Any] | None]:
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise _BadLine(f"not JSON ({error})") from None
    if not isinstance(record, dict) or "query" not in record or "plan" not in record:
        raise _BadLine(f'expected an object with "query" and "plan", found {_described(record)}')
    plan = record["plan"]
    if plan is not None and not isinstance(plan, list):
        raise _BadLine(f"'plan' must be a list of days or null, found {_described(plan)}")
    return read_query(record["query"]), plan


def read_query(record: Any) -> Query:
    """A query as judged: unlike one that is to be planned, its text, budget and party may be null (the rules then fail the plan)."""
    if not isinstance(record, dict):
        raise _BadLine(f"'query' must be a query record, found {_described(record)}")
    nulls = {key: None for key in ("query", "budget", "people_number") if key in record and record[key] is None}
    stand_ins = {"query": "", "budget": 0, "people_number": 1}
    try:
        query = Query.model_validate(record | {key: stand_ins[key] for key in nulls})
    except ValidationError as error:
        raise _BadLine(f"query {first_problem(error)}") from None
    return query.model_copy(update=nulls) if nulls else query


def _is_p3(plan: list[Any]) -> bool:
    days = [day for day in plan if isinstance(day, dict)]
    return any("city" in day for day in days) and not any("current_city" in day for day in days)


def _described(value: Any) -> str:
    if isinstance(value, dict):
        return "an object with " + (", ".join(ascii(key) for key in list(value)[:8]) or "nothing")
    return {list: "a list", str: "a string", type(None): "null", bool: "a boolean"}.get(type(value), "a number")
