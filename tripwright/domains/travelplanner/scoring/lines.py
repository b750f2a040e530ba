"""A file of plans → one request and one plan in the official format per line, whoever judges or
counts them then.

The subtle things: a line that cannot be read is a value, with its number and the reason, and stops
nothing else. Planner-R1's plans are recognised by their 'city' key and translated; one that breaks
the schema is not delivered (its reward would be 0: Planner-R1's formula, row P4). Fields that a
request lacks are read from its text and named in `inferred`. With a query file, the request is
always the file's own: a submission cannot soften what it answers, and what it leaves out comes
after its lines as not delivered. With a query file or a split, a second plan for the same request
is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.queries.reading import Gazetteer, complete
from tripwright.domains.travelplanner.queries.wishes import CouldNotInfer
from tripwright.domains.travelplanner.query import Query, why_no_trip, why_outside
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.domains.travelplanner.scoring.query_file import QueryFile, UnknownQuery, plain
from tripwright.domains.travelplanner.scoring.tally import (
    BAD_LINE,
    BAD_PLAN,
    UNANSWERED,
    check_split,
    split_size,
)
from tripwright.errors import NotJson, described, first_problem, read_json, repeated_key
from tripwright.runs import TRANSCRIPTS, episode_lines, transcripts_at
from tripwright.world.store import World

# the `error` of a plan whose request could not be read from its text: our reader's limit
NOT_INFERRED = "RequestNotInferred"


@dataclass(frozen=True)
class PlanLine:
    """One line of the file. `query` is None where it cannot be read; `problem` then says why, as
    for a plan off its schema."""

    number: int  # 0: no line; a request of the query file that no line answers
    query: Query | None
    plan: list[Any] | None = None  # official format
    error: str | None = None  # BAD_LINE, BAD_PLAN, NOT_INFERRED or UNANSWERED
    problem: str | None = None
    inferred: tuple[str, ...] = ()


class LineReader:
    """`split` and `queries` as for `score`."""

    def __init__(self, world: World, queries: QueryFile | None = None, split: str | None = None):
        check_split(split)
        self._world, self._queries, self._split = world, queries, split
        self._city_of, self._places = city_lookup(world), Gazetteer(world.cities)
        self._requests: dict[int, tuple[Query, tuple[str, ...]]] = {}  # of the query file, by place
        # place in the query file, or where a split is named text of the request → line
        self._answered: dict[int | str, int] = {}

    def read(self, path: str | Path) -> Iterator[PlanLine]:
        """Every non-empty line, in order, one at a time; of a run, the latest of each episode that
        was scored; a .json file is one. Then the requests of the query file that none answers."""
        for number, text in _texts(transcripts_at(Path(path), "plans")):
            if text.strip():
                yield self.line(number, text)
        for place in range(len(self._queries.records) if self._queries else 0):
            if place not in self._answered:
                yield self._unanswered(place)

    def line(self, number: int, line: bytes) -> PlanLine:
        try:
            record = read_record(line)
            query, inferred = self._request(number, record)
        except (BadLine, UnknownQuery) as problem:
            return PlanLine(number, None, None, BAD_LINE, f"line {number}: {problem}")
        except CouldNotInfer as problem:
            return PlanLine(
                number,
                None,
                record["plan"],
                NOT_INFERRED,
                f"line {number}: {problem}: delivered, and counted as failed",
            )
        plan, problem_of_plan = record["plan"], None
        if plan and is_p3(plan):
            answer = parse_days(plan)
            if answer.days is None:
                return PlanLine(
                    number, query, None, BAD_PLAN, f"line {number}: {answer.problem}", inferred
                )
            plan = to_official(answer.days, self._city_of)
        if query.org not in self._world.cities:
            problem_of_plan = (
                f"line {number}: org {ascii(query.org)} is no city of world '{self._world.name}':"
                " is it the right world?"
            )
        elif wrong := why_no_trip(query) or why_outside(query, self._world):
            problem_of_plan = f"line {number}: {wrong}"
        return PlanLine(number, query, plan, None, problem_of_plan, inferred)

    def _unanswered(self, place: int) -> PlanLine:
        try:
            query, inferred = self._asked(place)
        except (BadLine, CouldNotInfer):
            query, inferred = None, ()
        return PlanLine(0, query, error=UNANSWERED, inferred=inferred)

    def _request(self, number: int, record: dict[str, Any]) -> tuple[Query, tuple[str, ...]]:
        if self._queries is not None:
            place = self._queries.find(record.get("idx"), record.get("query"))
            self._check_first(number, place)
            return self._asked(place)
        query, inferred = self._query(record.get("query"))
        if self._split is not None and len(self._answered) <= split_size(self._split):
            self._check_first(number, plain(query.query or str(number)))
        return query, inferred

    def _asked(self, place: int) -> tuple[Query, tuple[str, ...]]:
        assert self._queries is not None
        if place not in self._requests:
            self._requests[place] = self._query(self._queries.records[place])
        return self._requests[place]

    def _query(self, record: Any) -> tuple[Query, tuple[str, ...]]:
        """A record, or a text alone, with what is missing read from the text."""
        record = {"query": record} if isinstance(record, str) else record
        if not isinstance(record, dict):
            raise BadLine(f"'query' must be a query record or its text, found {described(record)}")
        completed = complete(record, self._places)
        return read_query(completed.record), completed.inferred

    def _check_first(self, number: int, request: int | str) -> None:
        first = self._answered.setdefault(request, number)
        if first != number:
            raise BadLine(
                f"a second plan for the request of line {first}; a split has one plan per request"
            )


def _texts(path: Path) -> Iterator[tuple[int, bytes]]:
    if path.name == TRANSCRIPTS:
        for episode in episode_lines(path):
            if not _unscored(episode.text):
                yield episode.place.number, episode.text
    elif path.suffix == ".json":
        yield 1, path.read_bytes()
    else:
        with path.open("rb") as lines:
            yield from ((number, line) for number, line in enumerate(lines, start=1))


def _unscored(line: bytes) -> bool:
    """Not the policy's fault, so neither passed nor failed."""
    try:
        record = read_json(line)
    except NotJson:
        return False
    return isinstance(record, dict) and record.get("verdict", "") is None


def count_unscored(source: Path) -> int:
    """How many episodes of a run are left out for that."""
    path = transcripts_at(source, "plans")
    if path.name != TRANSCRIPTS:
        return 0
    return sum(_unscored(episode.text) for episode in episode_lines(path))


class BadLine(ValueError):
    """A line that is not {"query": …, "plan": …}."""


def read_record(line: bytes) -> dict[str, Any]:
    """The line as `checked_record` has it."""
    try:
        record = read_json(line, keeps_repeated=True)
    except NotJson as problem:
        raise BadLine(f"not JSON ({problem})") from None
    # What a day says twice, the judge shall see.
    around = record | {"plan": None} if type(record) is dict else record
    if (key := repeated_key(around)) is not None:
        raise BadLine(f"the key {ascii(key)} comes twice in an object")
    return checked_record(record)


def checked_record(record: Any) -> dict[str, Any]:
    """A JSON object with a "plan" that is a list or None and a "query" or "idx". An episode of a
    run has its "request" as "query"."""
    if isinstance(record, dict) and "request" in record:
        record = {"query": record["request"], **record}
    if (
        not isinstance(record, dict)
        or not ("query" in record or "idx" in record)
        or "plan" not in record
    ):
        raise BadLine(f'expected an object with "query" and "plan", found {described(record)}')
    if record["plan"] is not None and not isinstance(record["plan"], list):
        problem = f"'plan' must be a list of days or null, found {described(record['plan'])}"
        if isinstance(record["plan"], str) and record["plan"].lstrip()[:1] in ("[", "{"):
            problem += " with JSON: give the list itself"
        elif isinstance(record["plan"], str):
            problem += " (itineraries in words become plans with 'tripwright format')"
        raise BadLine(problem)
    return record


def read_query(record: Any) -> Query:
    """A query as judged: unlike one that is to be planned, its text, budget and party may be null
    (the rules then fail the plan)."""
    if not isinstance(record, dict):
        raise BadLine(f"'query' must be a query record, found {described(record)}")
    nulls = {
        key: None
        for key in ("query", "budget", "people_number")
        if key in record and record[key] is None
    }
    stand_ins = {"query": "", "budget": 0, "people_number": 1}
    try:
        query = Query.model_validate(record | {key: stand_ins[key] for key in nulls})
    except ValidationError as error:
        raise BadLine(f"query {first_problem(error)}") from None
    return query.model_copy(update=nulls) if nulls else query


def is_p3(plan: list[Any]) -> bool:
    days = [day for day in plan if isinstance(day, dict)]
    return any("city" in day for day in days) and not any("current_city" in day for day in days)
