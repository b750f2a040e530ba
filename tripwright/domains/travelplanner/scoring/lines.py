"""Files of plans as people hand them in: every line of one to be judged, one plan of one to be
shown, and the file of requests that a submission answers.

A line is {"query": …, "plan": …}, an episode of a run ("request" in place of "query"), or a plan
with the text or the idx of a request in a file of queries. What cannot be read is a problem of that
line alone. A request without structured fields is read from its text, and marked as inferred; where
its text is not understood, all plans for it are unscored, and so is an episode in which our side
failed.

A request is found by its text, else by its idx: the official files do not agree on where idx begins
and the official evaluation never reads it. An idx is the record's own `idx`, or its place in the
file; whether that is counted from 0 or from 1, the file of plans has to show.

A plan that is shown is shown as it is, so its content is never refused here; only a file that holds
no plan at the place asked for is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from tripwright.domains.grammar import Gazetteer
from tripwright.domains.travelplanner.plan.itinerary import plan_of_text
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import CityOf, to_official
from tripwright.domains.travelplanner.queries.reading import (
    WISHES,
    CouldNotInfer,
    complete,
    mismatches,
)
from tripwright.domains.travelplanner.query import Query, query_records, why_elsewhere, why_no_trip
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.errors import (
    NotJson,
    UserError,
    described,
    first_problem,
    json_at,
    printable,
    read_json,
    repeated_key,
)
from tripwright.files import open_file
from tripwright.runs import (
    TRANSCRIPTS,
    UNJUDGED,
    LinePlace,
    episode_lines,
    object_in,
    transcripts_at,
)
from tripwright.verdict import Verdict
from tripwright.world.store import World

# what the `error` of a verdict says that no rule gave:
BAD_LINE = "BadLine"  # a line that holds no query and plan
BAD_PLAN = "BadPlan"  # a plan that breaks Planner-R1's schema
UNANSWERED = "Unanswered"  # a request of the query file that no line answers
NOT_INFERRED = "RequestNotInferred"  # its request cannot be read from its text: our reader's limit
UNSCORED = "Unscored"  # an episode in which our side failed
CONTRADICTED = "RequestContradictsItself"  # strict rules: its fields are not what its text says

# Queries and hard constraints of each level. Their sums are the official constants: 45/105, 180/420
# and 1,000/2,290.
Split = Literal["train", "validation", "test"]
SPLITS: dict[str, dict[str, tuple[int, int]]] = {
    "train": {"easy": (15, 15), "medium": (15, 30), "hard": (15, 60)},
    "validation": {"easy": (60, 60), "medium": (60, 120), "hard": (60, 240)},
    "test": {"easy": (348, 348), "medium": (333, 666), "hard": (319, 1276)},
}


class BadLine(ValueError):
    """A line that is not {"query": …, "plan": …}, or answers none of the requests."""


Line = dict[str, Any] | BadLine  # as `read_record` reads it, or why it cannot


def split_size(split: str) -> int:
    return sum(queries for queries, _ in SPLITS[split].values())


# ---- a file of requests


class QueryFile:
    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.records = [self._record(number, record) for number, record in query_records(self.path)]
        self.ids: list[int] = [
            record.get("idx", place) for place, record in enumerate(self.records)
        ]
        self._by_id = {idx: place for place, idx in enumerate(self.ids)}
        self._by_text = {plain(record["query"]): place for place, record in enumerate(self.records)}
        for index, what in ((self._by_id, "idx"), (self._by_text, "text")):
            if len(index) < len(self.records):
                raise UserError(f"Two queries of '{path}' have the same {what}.")

    def learn_numbering(self, path: Path, lines: Iterable[tuple[int, Line]]) -> None:
        """Finds out from which number a file of plans counts the requests that it names by idx
        alone, where they have no idx of their own: from 0 where it names that one, from 1 where it
        names as many as there are requests. Raises UserError where it names both, or neither."""
        last = len(self.records)
        if any("idx" in record for record in self.records):
            return
        named = (_named_by(line) for _, line in lines if isinstance(line, dict))
        numbers = {idx for text, idx in named if not isinstance(text, str) and type(idx) is int}
        if numbers and (0 in numbers) == (last in numbers):
            found = f"both 0 and {last}" if 0 in numbers else f"neither 0 nor {last}"
            raise UserError(
                f"'{path}' names requests by idx, {found} among them, so it is not clear whether"
                f" it counts the {last} of '{self.path}' from 0 or from 1. Give each line the text"
                " of its request in 'query'."
            )
        start = int(last in numbers)
        self.ids = [start + place for place in range(last)]
        self._by_id = {idx: place for place, idx in enumerate(self.ids)}

    def place_of_text(self, text: str) -> int | None:
        return self._by_text.get(plain(text))

    def find(self, line: Mapping[str, Any]) -> int:
        """The place of the request that a line of a file of plans means."""
        (text, idx), those = _named_by(line), f"{len(self.records)} of '{self.path}'"
        if isinstance(text, str):
            if (place := self.place_of_text(text)) is None:
                wrong = f"none of the {those} has this text, found {ascii(plain(text)[:60])}"
                raise BadLine(f"unknown query: {wrong}")
            return place
        if type(idx) is not int:
            raise BadLine('expected the "query" or the number "idx" of a request, found neither')
        if idx not in self._by_id:
            raise BadLine(f"unknown query: none of the {those} has this idx, found {idx}")
        return self._by_id[idx]

    def _record(self, number: int, record: Any) -> dict[str, Any]:
        where = f"{self.path}:{number}"
        if not isinstance(record, dict) or not isinstance(record.get("query"), str):
            raise UserError(f"{where}: expected a query record with its text in 'query'.")
        if type(idx := record.get("idx", 0)) is not int:
            raise UserError(f"{where}: 'idx' must be a whole number, found {ascii(idx)[:40]}.")
        return record


def _named_by(line: Mapping[str, Any]) -> tuple[Any, Any]:
    """(text, idx) of the request that a line of a file of plans means, as they stand there. An
    empty text is none."""
    request = line.get("query")
    record = request if isinstance(request, dict) else {"query": request}
    idx = line.get("idx")
    return record.get("query") or None, record.get("idx") if idx is None else idx


def plain(text: str) -> str:
    """By which two texts are the same request: blanks do not count."""
    return " ".join(text.split())


# ---- a file of plans


@dataclass(frozen=True)
class PlanLine:
    """One line of the file. `query` is None where it cannot be read; `problem` then says why, as
    for a plan off its schema."""

    number: int  # 0: no line; a request of the query file that no line answers
    query: Query | None
    plan: list[Any] | None = None  # official format
    error: str | None = None  # BAD_LINE, BAD_PLAN, NOT_INFERRED, UNSCORED or UNANSWERED
    problem: str | None = None
    inferred: tuple[str, ...] = ()
    # where the request stands on the line itself: what its fields say against its text
    contradiction: Callable[[], str | None] = lambda: None


class LineReader:
    """`split` and `queries` as for `score`."""

    def __init__(self, world: World, queries: QueryFile | None = None, split: str | None = None):
        self._world, self._queries, self._split = world, queries, split
        self._city_of, self._places = city_lookup(world), Gazetteer(world.cities)
        self._contradictions: dict[str, str | None] = {}
        # place in the query file, or where a split is named text of the request → line
        self._answered: dict[int | str, int] = {}

    def read(self, path: str | Path) -> Iterator[PlanLine]:
        """Every non-empty line, in order; of a run, the latest of each episode; a .json file is
        one. Then the requests of the query file that none answers."""
        file = transcripts_at(Path(path), "plans")
        lines = plan_lines(file)
        if self._queries:
            self._queries.learn_numbering(file, lines)
        for number, line in lines:
            yield self._read(number, line)
        for place, record in enumerate(self._queries.records if self._queries else ()):
            if place not in self._answered:
                yield self._unanswered(record)

    def line(self, number: int, text: bytes) -> PlanLine:
        return self._read(number, _read_line(text))

    def _read(self, number: int, record: Line) -> PlanLine:
        if isinstance(record, BadLine):
            return PlanLine(number, None, None, BAD_LINE, str(record))
        try:
            query, inferred = self._request(number, record)
        except BadLine as bad:
            return PlanLine(number, None, None, BAD_LINE, str(bad))
        except CouldNotInfer as unread:
            return PlanLine(number, None, record["plan"], NOT_INFERRED, f"unscored: {unread}")
        if "fault" in record:
            told = f"unscored: {printable(record['fault'])}"
            return PlanLine(number, query, None, UNSCORED, told, inferred)
        plan, off_schema = official_plan(record["plan"], self._city_of)
        if off_schema:
            return PlanLine(number, query, None, BAD_PLAN, off_schema, inferred)
        problem = why_elsewhere(query, self._world) or why_no_trip(query)
        line_read = PlanLine(number, query, plan, None, problem, inferred)
        if self._queries is None:
            return replace(line_read, contradiction=partial(self._contradiction, query))
        return line_read

    def _contradiction(self, query: Query) -> str | None:
        """Found once for all plans of a request."""
        if (request := query.model_dump_json()) not in self._contradictions:
            self._contradictions[request] = contradiction(query, self._places)
        return self._contradictions[request]

    def _unanswered(self, record: dict[str, Any]) -> PlanLine:
        try:
            query, inferred = _completed(record, self._places)
        except (BadLine, CouldNotInfer):
            query, inferred = None, ()
        return PlanLine(0, query, error=UNANSWERED, inferred=inferred)

    def _request(self, number: int, record: dict[str, Any]) -> tuple[Query, tuple[str, ...]]:
        if self._queries is not None:
            place = self._queries.find(record)
            self._check_first(number, place)
            return _completed(self._queries.records[place], self._places)
        query, inferred = _completed(record.get("query"), self._places)
        if self._split is not None and len(self._answered) <= split_size(self._split):
            self._check_first(number, plain(query.query or str(number)))
        return query, inferred

    def _check_first(self, number: int, request: int | str) -> None:
        first = self._answered.setdefault(request, number)
        if first != number:
            again = f"a second plan for its request (the first: line {first})"
            raise BadLine(f"{again}; a split has one plan per request")


def _completed(record: Any, places: Gazetteer) -> tuple[Query, tuple[str, ...]]:
    """A record, or a text alone, with what is missing read from the text; and what that was."""
    record = {"query": record} if isinstance(record, str) else record
    if not isinstance(record, dict):
        raise BadLine(f"'query' must be a query record or its text, found {described(record)}")
    try:
        completed = complete(record, places)
    except CouldNotInfer as unread:
        raise CouldNotInfer(f"{unread}; the request: {printable(record.get('query'))}") from None
    query = read_query(completed.record)
    if (why := query.local_constraint.unread) is not None:  # an episode's request says so itself
        raise CouldNotInfer(f"{why}; the request: {printable(query.query)}")
    return query, completed.inferred


def contradiction(query: Query, places: Gazetteer) -> str | None:
    """Where a request's fields are not what its own text says, in a sentence; None where they are,
    and where the text does not decide. A wish that the text lacks is believed: it only asks more.
    So is any wish beside words that nobody understands, and a party where the text tells of none,
    which reads as one person."""
    differing = mismatches(query, query.query or "", places)
    is_whole = all(each.field != "text" for each in differing)
    for each in differing:
        is_alone = each.field == "people_number" and each.reading == 1
        is_clear = each.problem is None and (is_whole or each.field not in WISHES)
        if is_clear and each.reading is not None and not is_alone:
            return f"the request has {each.field} {each.value}, where its text says {each.reading}"
    return None


def plan_lines(path: Path) -> list[tuple[int, Line]]:
    """(number, line) of each line of a file that is not empty; of a run, the latest of each
    episode; of a .json file that is one object, that one."""
    if path.name == TRANSCRIPTS:
        return [(asked_at(each.place), _read_line(each.text)) for each in episode_lines(path)]
    with path.open("rb") as file:
        texts = enumerate(file, start=1)
        lines = [(number, _read_line(text)) for number, text in texts if text.strip()]
    if path.suffix == ".json" and not any(isinstance(line, dict) for _, line in lines):
        return [(1, _read_line(path.read_bytes()))]
    return lines


def asked_at(place: LinePlace) -> int:
    """The number of an episode's request among the queries, which its id has; several samples of
    one have the numbers of their own lines."""
    asked = re.fullmatch(r"q(\d{6,})", place.id or "")
    return int(asked[1]) if asked else place.number


def _read_line(text: bytes) -> Line:
    """Of an episode without its tokens; "fault" says why it is unscored, where it is."""
    try:
        record = read_record(text)
    except BadLine as bad:
        return bad
    kept = {key: value for key, value in record.items() if key in ("query", "idx", "plan")}
    unscored = "request" in record and record.get("verdict", "") is None
    if unscored and not record.get(UNJUDGED):  # else its request says why
        kept["fault"] = object_in(record, "transcript").get("fault") or "a fault on our side"
    return kept


def is_unscored(query: Query | None, error: str | None) -> bool:
    """Neither passed nor failed, and in no rate (law 4): our reader's limit, or a fault of our
    side. All plans for a request that cannot be read are so, and no plan for it too: whoever
    answers the same requests has the same denominators."""
    return error in (NOT_INFERRED, UNSCORED) or (error == UNANSWERED and query is None)


def read_record(line: bytes) -> dict[str, Any]:
    """A JSON object with a "plan" (a list, a text or None) and a "query" or "idx". An episode of a
    run has its "request" as "query"."""
    try:
        record = read_json(line, keeps_repeated=True)
    except NotJson as error:
        raise BadLine(f"not JSON ({error})") from None
    # What a day says twice, the judge shall see.
    around = record | {"plan": None} if type(record) is dict else record
    if (key := repeated_key(around)) is not None:
        raise BadLine(f"the key {ascii(key)} comes twice in an object")
    if isinstance(record, dict) and "request" in record:
        no_plan = {"plan": None} if record.get("verdict", "") is None else {}  # unscored
        record = {"query": record["request"], **no_plan, **record}
    if (
        not isinstance(record, dict)
        or not ("query" in record or "idx" in record)
        or "plan" not in record
    ):
        raise BadLine(f'expected an object with "query" and "plan", found {described(record)}')
    if record["plan"] is not None and not isinstance(record["plan"], (list, str)):
        raise BadLine(f"'plan' must be a list of days or null, found {described(record['plan'])}")
    return record


def read_query(record: Any) -> Query:
    """A query as judged: unlike one that is to be planned, its text, budget and party may be null
    (the rules then fail the plan)."""
    if not isinstance(record, dict):
        raise BadLine(f"'query' must be a query record or its text, found {described(record)}")
    stand_ins = {"query": "", "budget": 0, "people_number": 1}
    nulls = {key: None for key in stand_ins if key in record and record[key] is None}
    try:
        query = Query.model_validate(record | {key: stand_ins[key] for key in nulls})
    except ValidationError as error:
        raise BadLine(f"query {first_problem(error)}") from None
    return query.model_copy(update=nulls) if nulls else query


def official_plan(
    plan: list[Any] | str | None, city_of: CityOf | None
) -> tuple[list[Any] | None, str | None]:
    """The plan in the official format, and why there is none: one that breaks Planner-R1's schema
    is not delivered (its reward would be 0: Planner-R1's formula, row P4)."""
    if isinstance(plan, str):
        read = plan_of_text(plan)
        if read.plan is None:
            return None, f"'plan' is a text that is no plan: {read.problem}"
        plan = read.plan
    if not plan or not is_p3(plan):
        return plan, None
    answer = parse_days(plan)
    if answer.days is None:
        return None, str(answer.problem)
    return to_official(answer.days, city_of), None


def is_p3(plan: Any) -> bool:
    """Planner-R1's plans are recognised by their 'city' key."""
    days = [day for day in plan if isinstance(day, dict)]
    return any("city" in day for day in days) and not any("current_city" in day for day in days)


# ---- one plan out of a file


def read_plan(path: Path, which: str | None, world: World | None) -> PlanLine:
    """`which`: a line number (in a run, as the queries count) or an id; None is the first line. A
    plan off its schema is kept as it is, to be shown."""
    if not path.is_file():
        expected = "a .json file with a plan, or a .jsonl file of plans or transcripts"
        raise UserError(f"No file at '{path}'. Expected {expected}.")
    if path.suffix != ".jsonl":
        if which is not None:
            raise UserError(f"--line is for .jsonl files; '{path}' is read as one plan.")
        return _entry(path, 1, json_at(path.read_bytes(), path), world)
    count = 0
    with open_file(path) as file:
        lines: Iterable[tuple[int, bytes]] = enumerate(file, start=1)
        if path.name == TRANSCRIPTS:
            lines = ((asked_at(each.place), each.text) for each in episode_lines(path))
        for number, line in lines:
            if not line.strip():
                continue
            count += 1
            is_named = which in (None, str(number))
            if is_named or (which and which.encode() in line):
                record = json_at(line, f"{path}:{number}")
                if is_named or (isinstance(record, dict) and record.get("id") == which):
                    return _entry(path, number, record, world)
    has = f"it has {count} lines with a plan; --line takes a line number or a transcript's id"
    raise UserError(f"'{path}' has no line '{which or 1}': {has}.")


def _entry(path: Path, line: int, record: Any, world: World | None) -> PlanLine:
    where = f"{path}:{line}" if path.suffix == ".jsonl" else str(path)
    content = record if isinstance(record, dict) else {"plan": record}
    plan = content.get("plan", 0)
    days = plan if isinstance(plan, list) else []
    is_plans = any(isinstance(day, dict) and "plan" in day for day in days)
    is_text = isinstance(plan, str) and content is record
    if not isinstance(plan, list | None) and not is_text or is_plans:
        expected = 'a list of days, or an object with "query" and "plan"'
        raise UserError(f"{where}: expected {expected}, found {described(record)}.")
    request = content.get("query", content.get("request"))
    query, inferred = None, tuple[str, ...]()
    if request is not None:
        try:
            query, inferred = _completed(request, Gazetteer(world.cities if world else {}))
        except (BadLine, CouldNotInfer) as problem:
            raise UserError(f"{where}: {problem}.") from None
    official, off_schema = official_plan(plan, city_lookup(world) if world else None)
    if off_schema:
        return PlanLine(line, query, days, BAD_PLAN, off_schema, inferred)
    return PlanLine(line, query, official, None, None if official else _problem(content), inferred)


def _problem(record: dict[str, Any]) -> str | None:
    """Why there is no plan: what the verdict of an episode says, or the line that 'tripwright
    format' wrote."""
    try:
        return Verdict.from_record(record["verdict"]).schema_problem
    except (AttributeError, KeyError, TypeError, ValueError):
        return str(record["problem"]) if record.get("problem") else None
