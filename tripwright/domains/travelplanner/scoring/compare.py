"""The hacking meter: every plan under two rule sets at once, and what the one passes that the other
does not.

A constraint may not be failed by the second rules but never reached by them (an
earlier one shut the gate). It counts as not passed, as in every honest rate, and the two are told
apart, so that one hole is not shown as five.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tripwright.domains.travelplanner.rules.evaluate import check_rules
from tripwright.domains.travelplanner.rules.facts import PlanVerdict
from tripwright.domains.travelplanner.scoring.lines import BAD_LINE, UNANSWERED, PlanLine
from tripwright.domains.travelplanner.scoring.score import (
    asked_of,
    constraint_place,
    judge_line,
    rate_of,
)
from tripwright.errors import UserError
from tripwright.verdict import Fact
from tripwright.world.store import World

EXAMPLES = 5  # line numbers kept for each difference

FINAL = "final"


@dataclass
class RuleDifference:
    """Plans that pass under one rule set only."""

    n: int = 0
    failed: int = 0  # of them, judged and failed by the other rules; the rest were never reached
    lines: list[int] = field(default_factory=list)
    # what the other rules said about the first of which they said something
    example: dict[str, Any] | None = None

    def add(self, line: int, other: Fact | None, failed: bool) -> None:
        self.n += 1
        self.failed += failed
        if len(self.lines) < EXAMPLES:
            self.lines.append(line)
        if self.example is None and other is not None and other.message:
            self.example = {"line": line, "constraint": other.name, "message": other.message}

    def record(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "failed": self.failed,
            "not_reached": self.n - self.failed,
            "lines": self.lines,
            "example": self.example,
        }


@dataclass
class RuleGap:
    """One constraint, or the final verdict, under both rule sets."""

    passed: list[int] = field(default_factory=lambda: [0, 0])
    totals: list[int] = field(default_factory=lambda: [0, 0])
    only: tuple[RuleDifference, RuleDifference] = field(
        default_factory=lambda: (RuleDifference(), RuleDifference())
    )

    def add(
        self,
        line: int,
        passed: tuple[bool | None, bool | None],
        facts: tuple[Fact | None, Fact | None],
    ) -> None:
        """`passed` is None where the constraint does not exist for this plan: what one rule set
        does not ask for is no difference."""
        for side in (0, 1):
            self.passed[side] += passed[side] is True
            self.totals[side] += passed[side] is not None
            if passed[side] is True and passed[1 - side] is False:
                other = facts[1 - side]
                self.only[side].add(line, other, other is not None and other.passed is False)

    def record(self, rules: tuple[str, str]) -> dict[str, Any]:
        rates = [rate_of(k, n) for k, n in zip(self.passed, self.totals, strict=True)]
        values = [rate["value"] for rate in rates]
        return {
            **dict(zip(rules, rates, strict=True)),
            "gap": None if None in values else values[0] - values[1],
            **{f"only_{name}": self.only[side].record() for side, name in enumerate(rules)},
        }


@dataclass(frozen=True)
class ComparedLine:
    line: PlanLine
    verdicts: tuple[PlanVerdict, PlanVerdict]

    def record(self) -> dict[str, Any]:
        """One object of `score --compare --json`: the final verdicts and the constraints whose
        states differ."""
        rules = [verdict.rules for verdict in self.verdicts]
        facts = [verdict.facts() for verdict in self.verdicts]
        states = [{name: str(fact.state) for name, fact in each.items()} for each in facts]
        names = sorted(set(states[0]) | set(states[1]), key=constraint_place)
        return {
            "line": self.line.number,
            "final": {verdict.rules: verdict.final for verdict in self.verdicts},
            "error": {verdict.rules: verdict.error for verdict in self.verdicts},
            "differ": {
                name: {rule: state.get(name) for rule, state in zip(rules, states, strict=True)}
                for name in names
                if states[0].get(name) != states[1].get(name)
            },
            **({"problem": self.line.problem} if self.line.problem else {}),
        }


class HackingMeter:
    """The gaps so far, in constant memory."""

    def __init__(self, rules: tuple[str, str], whole: bool = False):
        """`whole` as for Tally."""
        self.rules, self.whole, self.n, self.bad_lines, self.unanswered = rules, whole, 0, 0, 0
        self._gaps: dict[str, RuleGap] = {FINAL: RuleGap()}

    def add(self, compared: ComparedLine) -> None:
        line, verdicts = compared.line, compared.verdicts
        self.bad_lines += line.error == BAD_LINE
        if self.whole and line.error == BAD_LINE:
            return
        self.n += 1
        self.unanswered += line.error == UNANSWERED
        first, second = verdicts
        last = [next(iter(verdict.failures()), None) for verdict in verdicts]
        self._gaps[FINAL].add(line.number, (first.final, second.final), (last[0], last[1]))
        (mine, my_hard), (theirs, their_hard) = (asked_of(line.query, each) for each in verdicts)
        passed, others_passed = mine | my_hard, theirs | their_hard
        facts, others_facts = first.facts(), second.facts()
        for name in passed | others_passed:
            self._gaps.setdefault(name, RuleGap()).add(
                line.number,
                (passed.get(name), others_passed.get(name)),
                (facts.get(name), others_facts.get(name)),
            )

    def summary(self) -> dict[str, Any]:
        names = sorted((name for name in self._gaps if name != FINAL), key=constraint_place)
        return {
            "kind": "comparison",
            "rules": list(self.rules),
            "n": self.n,
            "bad_lines": self.bad_lines,
            **({"unanswered": self.unanswered} if self.whole else {}),
            FINAL: self._gaps[FINAL].record(self.rules),
            "constraints": {name: self._gaps[name].record(self.rules) for name in names},
        }


def compared_lines(
    lines: Iterable[PlanLine], world: World, rules: tuple[str, str]
) -> Iterator[ComparedLine]:
    """Judged twice, one at a time."""
    for each in rules:
        check_rules(each)
    if rules[0] == rules[1]:
        raise UserError(f"Nothing to compare: both rule sets are '{rules[0]}'.")
    for line in lines:
        first, second = (judge_line(line, world, each) for each in rules)
        yield ComparedLine(line, (first, second))
