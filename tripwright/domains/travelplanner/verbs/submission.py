"""`tripwright submission`: write the leaderboard's file, and check one. It has a line for each
request, in the order of the split, with idx, text and plan (null where there is none).

The official evaluation stops at the first plan that it cannot digest: such plans are refused, as
is a file out of order. What it reads, but otherwise than it is meant (a last sight without its
semicolon is never looked at), is a warning. A submission is a format, not a verdict: nothing here
says whether a plan is good.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import typer

from tripwright.cli.options import Json, Restart, argument, option
from tripwright.cli.table import print_figures, problem_lines
from tripwright.domains.travelplanner.dialects import DIALECTS
from tripwright.domains.travelplanner.plan.plan import FIELDS_AS_CHECKED
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.domains.travelplanner.scoring.lines import (
    BadLine,
    QueryFile,
    is_p3,
    official_plan,
    plan_lines,
    read_record,
)
from tripwright.errors import UserError, counted, described, named, printable, repeated_key
from tripwright.evals.evaluate import evaluate
from tripwright.files import check_new, write_atomically
from tripwright.policies.settings import PolicySettings
from tripwright.runs import transcripts_at, transcripts_in
from tripwright.world.store import World

# what a field should hold, '-' standing for nothing, and how a person is told so
_NAMED = r"\s*\S(?s:.*),\s*[^\s,][^,]*"
_PLACE = (rf"-|{_NAMED}", "'Name, City' or '-'")
_FORMS = {
    "current_city": (
        r"from .+? to [^,]+|(?s:(?!.*from)\s*[^\s(].*)",
        "a city, or 'from A to B' on a day of travel",
    ),
    "transportation": (
        r"-|(?:Flight Number: [^,]+|Self-driving|Taxi), from .+? to [^,]+(?:,.*)?",
        "'Flight Number: F…, from A to B, …', 'Self-driving, from A to B, …',"
        " 'Taxi, from A to B, …' or '-'",
    ),
    "attraction": (
        r"-|(?:\s*[^\s;][^;]*,\s*[^\s,;][^,;]*;)+\s*",
        "'Name, City;' for each, with the semicolon after the last too, or '-'",
    ),
}
PLAYED_IN = "planner_r1"  # where nobody names a dialect
_OFFICIAL_ROUTE = re.compile(r"from\s+.+?\s+to\s+[^,]")  # as the official code looks for it


def write(  # long: most of it is help
    *,
    source: Path = argument(
        "Folder of a run, or a plans file as `score` reads it.", metavar="RUN_OR_PLANS"
    ),
    queries: Path = option(
        ...,
        "Requests of the split, in its order; texts are enough, with --policy org and dest too.",
    ),
    out: Path = option(..., "The submission file to write."),
    world: Path | None = option(
        None, "To convert plans in Planner-R1's schema, or to play in.", show_default=False
    ),
    restart: Restart = False,
    policy: str | None = option(
        None, "Who plays them first, in RUN, as 'tripwright run' has it.", show_default=False
    ),
    dialect: str = option(PLAYED_IN, "With --policy: its prompt, tool face and limits."),
    judging: Path | None = option(None, "With --policy: TOML file with STAR's formatter."),
    settings: PolicySettings,
    as_json: Json = False,
) -> None:
    """Write a submission for the TravelPlanner leaderboard: official format, order of the split,
    null for a missing plan.

    With --policy RUN is played first, or goes on, so that one command leads from the texts of the
    split to the file. A request whose wishes are not understood is played, too, and has no verdict.

    Lines that answer none of the requests, and plans at which the official code would stop, are
    named on stderr and left out; the exit code is then 2. A last sight without its semicolon, which
    the official code would skip, is given one.

    Examples:
      tripwright submission write runs/qwen3 --queries validation.jsonl --out submission.jsonl
      tripwright submission write plans.jsonl --queries test.jsonl --world worlds/real \\
        --out submission.jsonl
      tripwright submission write runs/test --queries test.csv --world worlds/real \\
        --policy endpoint --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1 \\
        --out submission.jsonl
      tripwright submission write runs/test --queries test.csv --world worlds/real \\
        --policy local --model runs/mine --step best --out submission.jsonl
    """
    check_new(out, restart, inputs=(transcripts_in(source), queries))
    if policy is not None:
        if world is None:
            raise UserError("--policy plays in a world: give --world.")
        named("dialect of TravelPlanner", dialect, {each.name: each for each in DIALECTS})
        player = replace(settings, name=policy)
        evaluate(player, queries, world, source, dialect=dialect, judging=judging, progress=True)
    elif settings != PolicySettings() or judging is not None or dialect != PLAYED_IN:
        raise UserError("Who plays, and how, is told with --policy; without it RUN is handed in.")
    requests = QueryFile(queries)
    submission = read_submission(source, requests, World.open(world) if world else None)
    notes, count, plans = submission.notes, len(requests.records), len(submission.plans)
    if not plans:
        why = 'Expected {"query": …, "plan": …} per line, or the transcripts of a run.'
        if notes:
            (first, problem), *_ = notes
            why = f"{counted(len(notes), 'line')} of it gave no plan; line {first}: {problem}."
        raise UserError(f"No plan in '{source}'. {why}")
    write_atomically(out, "".join(submission.lines()))
    counts = {"queries": count, "plans": plans, "missing": count - plans}
    counts |= {"completed": submission.completed} if submission.completed else {}
    print_figures({"out": str(out), **counts}, as_json)
    if submission.completed:
        given = "a semicolon behind a last sight, which the official code would skip without it"
        typer.echo(f"{counted(submission.completed, 'plan')} got {given}", err=True)
    for told in problem_lines(f"{source}: line ", notes):
        typer.echo(told, err=True)
    if notes:
        raise UserError(f"{source}: {counted(len(notes), 'line')} gave no plan (named above).")


def check(
    submission: Path = argument("The submission file.", metavar="FILE"),
    queries: Path | None = option(
        None, "Requests of the split, to check texts, order and number.", show_default=False
    ),
) -> None:
    """Check a submission's format: one line per kind of problem, and exit code 1 if there is any.

    A plan at which the official code stops is a problem. What it reads, but not as it is meant (a
    last sight without its semicolon is never looked at), is a warning and leaves the exit code.

    Only --queries tells whether all requests of the split are there.

    Examples:
      tripwright submission check submission.jsonl --queries validation.jsonl
    """
    found = SubmissionCheck(submission, QueryFile(queries) if queries else None)
    problems, warnings = list(found.problems()), found.warnings
    for those in (problems, [(line, f"warning: {told}") for line, told in warnings]):
        for told in problem_lines(f"{submission}:", those):
            typer.echo(told)
    if problems:
        raise typer.Exit(1)
    has = f"{counted(found.plans, 'plan')} for {counted(found.requests, 'request')}"
    count = len({line for line, _ in warnings})
    has += f", {count} of them with a warning" if count else ""
    typer.echo(f"{submission}: the format is right; {has}")


# ---- the file


class Submission(NamedTuple):
    """`plans` by the place of their request; `notes` are the lines that gave no plan, each with its
    number and the reason. `completed`: in how many plans a last sight was given its semicolon."""

    queries: QueryFile
    plans: dict[int, list[Any]]
    notes: list[tuple[int, str]]
    completed: int = 0

    def lines(self) -> Iterator[str]:
        for place, record in enumerate(self.queries.records):
            line = {"idx": self.queries.ids[place], "query": record["query"]}
            line["plan"] = self.plans.get(place)
            yield json.dumps(line) + "\n"


def read_submission(source: Path, queries: QueryFile, world: World | None = None) -> Submission:
    """A plans file as `score` reads it, or a run folder."""
    path, city_of = transcripts_at(source, "plans"), city_lookup(world) if world else None
    lines = plan_lines(path)
    queries.learn_numbering(path, lines)
    plans, notes, completed = dict[int, list[Any]](), list[tuple[int, str]](), 0
    line_of = dict[int, int]()  # place → line of its plan
    for number, record in lines:
        try:
            if isinstance(record, BadLine):
                raise record
            if "fault" in record:
                raise BadLine(f"unscored: {printable(record['fault'])}")
            place = queries.find(record)
        except BadLine as bad:
            notes.append((number, str(bad)))
            continue
        if (first := line_of.setdefault(place, number)) != number:
            again = f"a second plan for its request (the first: line {first})"
            raise UserError(f"{path}:{number}: {again}. A submission has one plan per request.")
        plan = record["plan"]
        if plan and is_p3(plan) and city_of is None:
            nowhere = "the plan is in Planner-R1's schema, which names no cities"
            raise UserError(f"{path}:{number}: {nowhere}; give the world with --world.")
        official, problem = official_plan(plan, city_of)
        found = _problems_of_plan(official, queries.records[place])
        if problem := problem or next((each for stops, each in found if stops), None):
            notes.append((number, problem))
        elif official:
            plans[place] = [_completed(day) for day in official]
            completed += plans[place] != official
    return Submission(queries, plans, notes, completed)


def _completed(day: Any) -> Any:
    """With a semicolon behind its last sight, where that is "Name, City" as we read it."""
    sights = day.get("attraction") if isinstance(day, dict) else None
    is_open = isinstance(sights, str) and re.fullmatch(_NAMED, sights.rpartition(";")[2])
    return {**day, "attraction": f"{sights};"} if is_open else day


class SubmissionCheck:
    """`requests` and `plans`: lines read so far, and those of them with a plan. `warnings`, each
    with its line: what the official code would read otherwise than it is meant."""

    def __init__(self, path: Path, queries: QueryFile | None = None):
        if not path.is_file():
            raise UserError(f"No submission file at '{path}'.")
        self.requests, self.plans, self.warnings = 0, 0, list[tuple[int, str]]()
        self._path, self._queries = path, queries
        self._start: int | None = None  # official files count from 0 or from 1
        self._texts = set[str]()

    def problems(self) -> Iterator[tuple[int, str]]:
        """(line, problem) for everything that is not as the leaderboard wants it. Of lines that are
        out of place the first is told: it shifts those behind it."""
        lines = self._path.read_bytes().rstrip().split(b"\n")
        shifted, size = False, len(self._queries.records) if self._queries else len(lines)
        for place, line in enumerate(lines):
            try:
                record = read_record(line)
            except BadLine as problem:
                empty = "the line is blank" if len(lines) > 1 else "the file is empty"
                yield place + 1, str(problem) if line.strip() else empty
                continue
            self.requests += 1
            self.plans += bool(record["plan"])
            if not shifted and (wrong := self._misplaced(record, place)):
                yield place + 1, wrong
                shifted = True
            known = self._queries and place < size and not shifted
            request = self._queries.records[place] if self._queries and known else {}
            for stops, told in _problems_of_plan(record["plan"], request):
                if stops:
                    yield place + 1, told
                else:
                    self.warnings.append((place + 1, told))
        if len(lines) != size and lines != [b""]:
            found = f"{counted(len(lines), 'line')} for {counted(size, 'request')}"
            yield len(lines), f"{found}; a missing plan is null, on a line of its request"

    def _misplaced(self, record: dict[str, Any], place: int) -> str | None:
        """What its number or text says of a line that is not the next request's."""
        idx, text, queries = record.get("idx"), record.get("query"), self._queries
        if queries and place >= len(queries.records):
            return None
        known = queries.ids[place] if queries else place
        if type(idx) is not int:
            found = described(idx) if "idx" in record else "nothing"
            return f"'idx' must be a whole number, found {found}"
        if self._start is None:
            self._start = 1 if idx == known + 1 else 0
        if idx != known + self._start:
            wrong = f"expected the next, found {idx} instead of {known + self._start}"
            return f"'idx' is out of order: {wrong}"
        if not isinstance(text, str):
            found = described(text) if "query" in record else "nothing"
            return f"'query' must be the text of the request, found {found}"
        if queries and text != queries.records[place].get("query"):
            return "'query' is not the text of the request at this place of the split"
        if text in self._texts:
            return "'query' is that of an earlier line"
        self._texts.add(text)
        return None


def _problems_of_plan(plan: Any, request: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    """Each with whether the official code can stop there; else it reads something else."""
    if plan is None:
        return
    if not isinstance(plan, list):
        yield True, f"'plan' must be a list of days or null, found {described(plan)}"
        return
    if (key := repeated_key(plan)) is not None:
        yield True, f"a key comes twice in an object, found {ascii(key)}"
    if is_p3(plan):
        yield True, "the plan is in Planner-R1's schema; 'tripwright submission write' converts it"
        return
    last_day = max((number for number, day in enumerate(plan, start=1) if day), default=0)
    if plan and not last_day:
        yield True, "every day of the plan is empty: a missing plan is null"
        return
    days = request.get("days")
    read = days if isinstance(days, int) else last_day  # days of the trip alone
    for number, day in enumerate(plan[:read], start=1):
        if not isinstance(day, dict):
            yield True, f"a day must be an object, found {described(day)} (day {number})"
        elif not day:
            yield True, f"only the days after the trip may be {{}}, found an empty day {number}"
        else:
            yield from ((stops, f"{each} (day {number})") for stops, each in _problems_of_day(day))
    if last_day > read:
        yield False, f"days after the trip are not read ({last_day} days instead of {read})"


def _problems_of_day(day: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    for key in FIELDS_AS_CHECKED:
        form, wanted = _FORMS.get(key, _PLACE)
        value = day.get(key)
        if key not in day:
            yield key in ("current_city", "transportation"), f"'{key}' is missing"
        elif not isinstance(value, str):
            stops = bool(value) or key in ("current_city", "accommodation")
            yield stops, f"'{key}' must be text, '-' for none, found {described(value)}"
        elif not re.fullmatch(form, value):
            yield _stops_at(key, value, day), f"'{key}' must be {wanted}, found {ascii(value)[:80]}"


def _stops_at(key: str, text: str, day: dict[str, Any]) -> bool:
    """Whether the official code can stop at a text that is not in the form of its field: at a city,
    or at a flight without its number or its cities."""
    routes = (_OFFICIAL_ROUTE.search(str(each)) for each in (text, day.get("current_city")))
    if key == "transportation" and "flight number" in text.lower():
        return "Flight Number: " not in text or not any(routes)
    return key == "current_city" and not ("from" in text and next(routes))
