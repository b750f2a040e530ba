"""One plan out of a file: a plan alone, {"query": …, "plan": …}, or one line of a file of plans or
of transcripts ("request" in place of "query"), by number or by id.

A plan is shown as it is, so its content is never refused here; only a file that holds no plan at
the place asked for is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.queries.reading import Gazetteer, complete
from tripwright.domains.travelplanner.queries.wishes import CouldNotInfer
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.domains.travelplanner.scoring.lines import BadLine, is_p3, read_query
from tripwright.errors import NotJson, TooDeep, UserError, described, read_json
from tripwright.verdict import Verdict
from tripwright.world.store import World


@dataclass(frozen=True)
class PlanEntry:
    """`plan` is in the official format where it can be. `unreadable`: why the plan counts as not
    delivered; `notes`: what else to say."""

    where: str  # "plans.jsonl:3"
    query: Query | None
    plan: list[Any] | None
    unreadable: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def line(self) -> int:
        """1 of a file that holds one plan."""
        return int(self.where.rpartition(":")[2]) if ":" in self.where else 1


def read_plan(path: Path, which: str | None, world: World | None) -> PlanEntry:
    """`which`: a line number or an id; None is the first line."""
    if not path.is_file():
        raise UserError(
            f"No file at '{path}'. Expected a .json file with a plan, or a .jsonl file of plans or"
            " transcripts."
        )
    if path.suffix == ".jsonl":
        where, record = _line(path, which)
    else:
        where, record = str(path), _whole(path, which)
    return _found(where, record, world)


def _whole(path: Path, which: str | None) -> Any:
    if which is not None:
        raise UserError(f"--line is for .jsonl files; '{path}' is read as one plan.")
    return _json(path.read_bytes(), str(path))


def _line(path: Path, which: str | None) -> tuple[str, Any]:
    count = 0
    for number, line in _lines(path):
        count += 1
        if which is None or which == str(number) or (which.encode() in line and _id(line) == which):
            return f"{path}:{number}", _json(line, f"{path}:{number}")
    if which is None:
        raise UserError(f"'{path}' is empty: expected one plan or transcript per line.")
    raise UserError(
        f"'{path}' has no line '{which}': it has {count} lines with a plan; --line takes a line"
        " number or a transcript's id."
    )


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as lines:
        yield from ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _id(line: bytes) -> str | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return str(record["id"]) if isinstance(record, dict) and "id" in record else None


def _json(text: bytes, where: str) -> Any:
    try:
        return read_json(text)
    except TooDeep:
        raise UserError(f"{where}: nested too deeply to be a plan.") from None
    except NotJson as problem:
        raise UserError(f"{where}: not JSON ({problem}).") from None


def _found(where: str, record: Any, world: World | None) -> PlanEntry:
    content = record if isinstance(record, dict) else {"plan": record}
    if "plan" not in content or not isinstance(content["plan"], list | None):
        raise UserError(
            f'{where}: expected a list of days, or an object with "query" and "plan", found'
            f" {described(record)}."
        )
    if any(isinstance(day, dict) and "plan" in day for day in content["plan"] or ()):
        raise UserError(
            f"{where}: expected one plan, found a list of plans. Write one per line into a .jsonl"
            " file; --line chooses."
        )
    query, notes = _query(content.get("query", content.get("request")), where, world)
    plan, unreadable = content["plan"], _problem(content)
    if plan and is_p3(plan):
        answer = parse_days(plan)
        if answer.days is None:
            return PlanEntry(where, query, plan, str(answer.problem), notes)
        plan = to_official(answer.days, city_lookup(world) if world else None)
    return PlanEntry(
        where, query, plan, str(unreadable) if unreadable and not plan else None, notes
    )


def _problem(record: dict[str, Any]) -> Any:
    """Why there is no plan: what the verdict of an episode says, or the line that 'tripwright
    format' wrote."""
    try:
        return Verdict.from_record(record["verdict"]).schema_problem
    except (AttributeError, KeyError, TypeError, ValueError):
        return record.get("problem")


def _query(request: Any, where: str, world: World | None) -> tuple[Query | None, tuple[str, ...]]:
    """The request. One that is a text alone is read with the world's help, and the reader is
    told."""
    if request is None:
        return None, ()
    record = {"query": request} if isinstance(request, str) else request
    try:
        if world is None or not isinstance(record, dict):
            return read_query(record), ()
        completed = complete(record, Gazetteer(world.cities))
        inferred = f"Read from the request's text: {', '.join(completed.inferred)}."
        return read_query(completed.record), (inferred,) if completed.inferred else ()
    except (BadLine, CouldNotInfer) as problem:
        if isinstance(request, str) and world is None:
            return None, (
                "The request is a text alone: with --world its fields can be read from it.",
            )
        raise UserError(f"{where}: {problem}.") from None
