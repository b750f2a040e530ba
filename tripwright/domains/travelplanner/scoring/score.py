"""A file of plans → one verdict per line, then TravelPlanner's metrics (row T4).

The subtle things: every line is judged alone and in constant memory, and a line that cannot be read
keeps its place in every honest denominator as a plan that was not delivered. `lines` says how a
line is read, `tally` how verdicts are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import Rules, check_rules, judge
from tripwright.domains.travelplanner.rules.facts import PlanVerdict
from tripwright.domains.travelplanner.scoring.lines import NOT_INFERRED, LineReader, PlanLine
from tripwright.domains.travelplanner.scoring.query_file import QueryFile
from tripwright.domains.travelplanner.scoring.tally import Tally
from tripwright.world.store import World


@dataclass(frozen=True)
class ScoredLine:
    """One line of the file. `query` is None for a line that cannot be read; `problem` then says
    why, as for a plan off its schema and a request from another world. `line` 0: as PlanLine."""

    line: int
    verdict: PlanVerdict
    query: Query | None
    problem: str | None = None
    inferred: tuple[str, ...] = ()

    def to_contract(self) -> dict[str, Any]:
        inferred = {"inferred": list(self.inferred)} if self.inferred else {}
        return (
            self.verdict.to_contract(self.line)
            | inferred
            | ({"problem": self.problem} if self.problem else {})
        )


def score_file(
    path: str | Path,
    world: World,
    rules: str,
    queries: QueryFile | None = None,
    split: str | None = None,
) -> Iterator[dict[str, Any]]:
    """The objects that `score --json` prints: one per line, then the summary."""
    tally = Tally(split, whole=queries is not None)
    for scored in scored_lines(path, world, rules, queries, split):
        tally.add(scored.query, scored.verdict, bool(scored.inferred))
        if scored.line:
            yield scored.to_contract()
    yield tally.summary(rules)


def scored_lines(
    path: str | Path,
    world: World,
    rules: str,
    queries: QueryFile | None = None,
    split: str | None = None,
) -> Iterator[ScoredLine]:
    """What `LineReader.read` yields, judged one at a time."""
    check_rules(rules)
    for line in LineReader(world, queries, split).read(path):
        yield scored_line(line, world, rules)


def scored_line(line: PlanLine, world: World, rules: str) -> ScoredLine:
    return ScoredLine(
        line.number, judge_line(line, world, rules), line.query, line.problem, line.inferred
    )


def judge_line(line: PlanLine, world: World, rules: str) -> PlanVerdict:
    if line.error == NOT_INFERRED:
        return PlanVerdict(rules, bool(line.plan), None, None, None, line.error, False)
    if line.query is None or line.error:
        return PlanVerdict.undelivered(rules, line.error)
    return judge(line.query, line.plan, world, cast(Rules, rules))
