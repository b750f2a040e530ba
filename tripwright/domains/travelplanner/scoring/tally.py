"""Verdicts → TravelPlanner's six metrics (row T4): as the official evaluation counts, and honestly;
in all, by level, by days and by both; each with its 95% interval over plans.

The subtle things. *Official*: the denominators are the split's fixed numbers where a split is named
(so what is missing counts as not delivered), else those of the plans given; only the thirteen
official constraints count. *Honest*: the denominators are the constraints that exist for the plans
given, those of further rules too, and whatever was not evaluated, not delivered or crashed failed
them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import (
    COMMONSENSE_NAMES,
    HARD_NAMES,
    PlanVerdict,
    applicable_hard,
)
from tripwright.domains.travelplanner.scoring.query_file import plain
from tripwright.errors import UserError
from tripwright.statistics.rates import ratio_interval, wilson
from tripwright.verdict import Facts, State

METRICS = (
    "delivery_rate",
    "commonsense_micro",
    "commonsense_macro",
    "hard_micro",
    "hard_macro",
    "final_pass_rate",
)

# what the `error` of a verdict says that no rule gave:
BAD_LINE = "BadLine"  # a line that holds no query and plan
BAD_PLAN = "BadPlan"  # a plan that breaks Planner-R1's schema
UNANSWERED = "Unanswered"  # a request of the query file that no line answers
LEVELS = ("easy", "medium", "hard")
UNKNOWN = "unknown"  # the level or the days of a line that does not say

# Queries and hard constraints of each level. Their sums are the official constants: 45/105, 180/420
# and 1,000/2,290.
SPLITS: dict[str, dict[str, tuple[int, int]]] = {
    "train": {"easy": (15, 15), "medium": (15, 30), "hard": (15, 60)},
    "validation": {"easy": (60, 60), "medium": (60, 120), "hard": (60, 240)},
    "test": {"easy": (348, 348), "medium": (333, 666), "hard": (319, 1276)},
}
# as many queries of 3 as of 5 and 7 days; how the test split divides is not published
EVEN_SPLITS = ("train", "validation")

Denominators = tuple[int, int]  # queries, hard constraints
Rate = dict[str, Any]  # value, low, high, numerator, denominator


def check_split(split: str | None) -> None:
    if split is not None and split not in SPLITS:
        raise UserError(f"Unknown split '{split}'. Available: {', '.join(SPLITS)}.")


def split_size(split: str) -> int:
    return sum(queries for queries, _ in SPLITS[split].values())


@dataclass
class Counts:
    """Over some of the lines: numerators and denominators. `macro` counts plans; the last six are
    the honest ones."""

    n: int = 0
    delivered: int = 0
    final: int = 0
    commonsense_passed: int = 0
    commonsense_macro: int = 0
    hard_passed: int = 0
    hard_asked: int = 0
    hard_macro: int = 0
    all_commonsense_passed: int = 0
    all_commonsense_asked: int = 0
    all_commonsense_macro: int = 0
    all_hard_passed: int = 0
    all_hard_asked: int = 0
    all_hard_macro: int = 0
    # sums of the squares of micro rates, for their intervals: group → Σk², Σkn, Σn² over plans that
    # pass k of n checks
    squares: Counter[tuple[str, str]] = field(default_factory=Counter)

    @classmethod
    def of(
        cls,
        query: Query | None,
        verdict: PlanVerdict,
        commonsense: dict[str, bool],
        hard: dict[str, bool],
    ) -> Counts:
        """One line. Under official counting a hard constraint that was not asked for does not spoil
        the macro rate (row T4)."""
        passes = sum(commonsense.get(name, False) for name in COMMONSENSE_NAMES)
        wishes = (
            None
            if verdict.hard is None
            else [fact.passed for fact in verdict.hard.values() if fact.name in HARD_NAMES]
        )
        hard_passed = (wishes or []).count(True)
        hard_asked = 1 if query is None else len(applicable_hard(query))
        return cls(
            n=1,
            delivered=verdict.delivered,
            final=verdict.final,
            commonsense_passed=passes,
            commonsense_macro=passes == len(COMMONSENSE_NAMES),
            hard_passed=hard_passed,
            hard_asked=hard_asked,
            hard_macro=wishes is not None and False not in wishes,
            all_commonsense_passed=sum(commonsense.values()),
            all_commonsense_asked=len(commonsense),
            all_commonsense_macro=all(commonsense.values()),
            all_hard_passed=sum(hard.values()),
            all_hard_asked=len(hard),
            all_hard_macro=all(hard.values()),
            squares=_squares(
                commonsense=(passes, len(COMMONSENSE_NAMES)),
                hard=(hard_passed, hard_asked),
                all_commonsense=(sum(commonsense.values()), len(commonsense)),
                all_hard=(sum(hard.values()), len(hard)),
            ),
        )

    def add(self, other: Counts) -> None:
        mine = self.__dict__
        for name, count in other.__dict__.items():
            mine[name] += count

    def _micro(self, group: str, passed: int, asked: int | None, plans: int | None) -> Rate:
        """Of `asked` checks of so many plans. Where more are asked than these plans were, a split
        has fixed numbers: what is missing passed nothing, and every plan has an equal share of
        them."""
        kk, kn, nn = (float(self.squares[group, of]) for of in ("kk", "kn", "nn"))
        given = getattr(self, f"{group}_asked", len(COMMONSENSE_NAMES) * self.n)
        if asked and plans and asked != given:
            kn, nn = asked / plans * passed, asked**2 / plans
        return rate_of(passed, asked, plans, (kk, kn, nn))

    def record(self, denominators: Denominators | None) -> dict[str, Any]:
        """Official and honest rates. `denominators` None: the split has fixed ones here, and they
        are not published."""
        n, hard = denominators or (None, None)
        sense = n and n * len(COMMONSENSE_NAMES)
        official = (
            rate_of(self.delivered, n),
            self._micro("commonsense", self.commonsense_passed, sense, n),
            rate_of(self.commonsense_macro, n),
            self._micro("hard", self.hard_passed, hard, n),
            rate_of(self.hard_macro, n),
            rate_of(self.final, n),
        )
        senses, wishes = self.all_commonsense_asked, self.all_hard_asked
        honest = (
            rate_of(self.delivered, self.n),
            self._micro("all_commonsense", self.all_commonsense_passed, senses, self.n),
            rate_of(self.all_commonsense_macro, self.n),
            self._micro("all_hard", self.all_hard_passed, wishes, self.n),
            rate_of(self.all_hard_macro, self.n),
            rate_of(self.final, self.n),
        )
        return {
            "n": self.n,
            **dict(zip(METRICS, official, strict=True)),
            "honest": dict(zip(METRICS, honest, strict=True)),
        }


@dataclass
class Tally:
    """Everything that a summary says, from one verdict after the other. Lines are kept as sums, one
    per level, days and source."""

    split: str | None = None
    # Every request of a file of queries is among the verdicts: a line that answers none of them is
    # none to be counted besides.
    whole: bool = False
    n: int = 0
    bad_lines: int = 0
    bad_plans: int = 0
    unanswered: int = 0
    repeats: int = 0  # plans for a request that an earlier line answers
    inferred: int = 0
    _requests: set[str] = field(default_factory=set)  # answered, by their texts
    # by level, days, source
    _sums: dict[tuple[str, str, str], Counts] = field(default_factory=dict)
    _constraints: dict[str, list[int]] = field(default_factory=dict)  # passed, asked

    def __post_init__(self) -> None:
        check_split(self.split)

    def add(self, query: Query | None, verdict: PlanVerdict, inferred: bool = False) -> None:
        self.bad_lines += verdict.error == BAD_LINE
        if self.whole and verdict.error == BAD_LINE:
            return
        self.n += 1
        self.bad_plans += verdict.error == BAD_PLAN
        self.unanswered += verdict.error == UNANSWERED
        if query is not None and verdict.error != UNANSWERED:
            request = plain(query.query or str(self.n))
            self.repeats += request in self._requests
            self._requests.add(request)
        self.inferred += inferred
        commonsense, hard = asked_of(query, verdict)
        level = query.level if query is not None and query.level in LEVELS else UNKNOWN
        days = str(query.days) if query is not None else UNKNOWN
        group = (level, days, "inferred" if inferred else "given")
        self._sums.setdefault(group, Counts()).add(Counts.of(query, verdict, commonsense, hard))
        for name, passed in (commonsense | hard).items():
            rate = self._constraints.setdefault(name, [0, 0])
            rate[0] += passed
            rate[1] += 1

    @property
    def answered(self) -> int:
        """Lines that answer a request."""
        return self.n - self.unanswered - (0 if self.whole else self.bad_lines)

    def summary(self, rules: str) -> dict[str, Any]:
        """The last object of `score --json`."""
        cells: dict[str, dict[str, Any]] = {}
        for (level, days), counts in self._by(0, 1).items():
            cells.setdefault(level, {})[days] = self._record(counts, level, days)
        total = self._by().get((), Counts())
        rates_by_name = (
            {}
            if self.split is None
            else {
                "split": self.split,
                "missing": max(0, split_size(self.split) - self.answered),
            }
        )
        sources = {
            source: self._record(counts, UNKNOWN) for (source,), counts in self._by(2).items()
        }
        return {
            "kind": "summary",
            "rules": rules,
            **rates_by_name,
            "requests": len(self._requests),
            "repeats": self.repeats,
            **({"unanswered": self.unanswered} if self.whole else {}),
            "bad_lines": self.bad_lines,
            "bad_plans": self.bad_plans,
            "inferred": self.inferred,
            **self._record(total),
            "by_level": {
                level: self._record(counts, level) for (level,), counts in self._by(0).items()
            },
            "by_days": {
                days: self._record(counts, None, days) for (days,), counts in self._by(1).items()
            },
            "cells": cells,
            **({"by_source": sources} if self.inferred else {}),
            "constraints": {
                name: rate_of(self._constraints[name][0], self._constraints[name][1])
                for name in sorted(self._constraints, key=constraint_place)
            },
        }

    def _by(self, *keys: int) -> dict[tuple[str, ...], Counts]:
        """The sums, added up over all but these parts of their keys."""
        groups: dict[tuple[str, ...], Counts] = {}
        for group, counts in self._sums.items():
            groups.setdefault(tuple(group[key] for key in keys), Counts()).add(counts)
        return dict(sorted(groups.items(), key=lambda item: [_place(name) for name in item[0]]))

    def _record(
        self, counts: Counts, level: str | None = None, days: str | None = None
    ) -> dict[str, Any]:
        if self.split is None:
            return counts.record((counts.n, counts.hard_asked))
        return counts.record(split_denominators(self.split, level, days))


def split_denominators(
    split: str, level: str | None = None, days: str | None = None
) -> Denominators | None:
    """Official denominators of a whole split (no level, no days), of a level, of a number of days
    or of a cell; None: not published."""
    levels = SPLITS[split]
    if days is not None and (split not in EVEN_SPLITS or days not in ("3", "5", "7")):
        return None
    if level is not None and level not in levels:
        return None
    parts = [levels[level]] if level is not None else list(levels.values())
    share = 1 if days is None else 3
    return sum(queries for queries, _ in parts) // share, sum(hard for _, hard in parts) // share


def asked_of(query: Query | None, verdict: PlanVerdict) -> tuple[dict[str, bool], dict[str, bool]]:
    """(commonsense, hard): every constraint that exists for this plan → whether it passed. Not
    evaluated is not passed."""
    return _asked(COMMONSENSE_NAMES, verdict.commonsense), _asked(_wished(query), verdict.hard)


def _asked(names: tuple[str, ...], facts: Facts | None) -> dict[str, bool]:
    """Where the rules spoke, what they spoke of; else what they would have spoken of."""
    if facts is None:
        return dict.fromkeys(names, False)
    return {
        name: fact.state is State.PASSED
        for name, fact in facts.items()
        if fact.state is not State.NOT_APPLICABLE
    }


def _wished(query: Query | None) -> tuple[str, ...]:
    if query is None:
        return ("valid_cost",)
    wishes = query.local_constraint
    is_stated = (
        bool(wishes.cuisine),
        *(
            wish is not None
            for wish in (wishes.house_rule, wishes.transportation, wishes.room_type)
        ),
        True,
    )
    return tuple(name for name, is_asked in zip(HARD_NAMES, is_stated, strict=True) if is_asked)


def rate_of(
    passed: int,
    of: int | None,
    plans: int | None = None,
    squares: tuple[float, float, float] | None = None,
) -> Rate:
    """With its 95% interval: Wilson's, or that of a micro rate over so many `plans`. No interval
    where nothing is divided by, or where more passed than there are."""
    low = high = None
    if of and plans and squares is not None and passed <= of:
        low, high = ratio_interval(plans, passed, of, squares)
    elif of and squares is None and passed <= of:
        low, high = wilson(passed, of)
    value = passed / of if of else None
    return {"value": value, "low": low, "high": high, "numerator": passed, "denominator": of}


def _squares(**groups: tuple[int, int]) -> Counter[tuple[str, str]]:
    return Counter(
        {
            (group, of): product
            for group, (k, n) in groups.items()
            for of, product in (("kk", k * k), ("kn", k * n), ("nn", n * n))
        }
    )


def _place(name: str) -> tuple[int, int, str]:
    """easy, medium, hard; numbers by size; the unknown last."""
    if name in LEVELS:
        return 0, LEVELS.index(name), ""
    return (1, int(name), "") if name.isdigit() and len(name) < 10 else (2, 0, name)


def constraint_place(name: str) -> tuple[int, str]:
    """The official thirteen in their order, further ones by name."""
    official = (*COMMONSENSE_NAMES, *HARD_NAMES)
    return (official.index(name), "") if name in official else (len(official), name)
