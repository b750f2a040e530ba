"""What is asked: one trip request, in the official TravelPlanner field names (row T2)."""

from __future__ import annotations

import ast
import csv
import datetime
import json
import math
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tripwright.domains.grammar import Gazetteer
from tripwright.domains.travelplanner.queries.reading import WISHES as KINDS
from tripwright.domains.travelplanner.queries.reading import CouldNotInfer, complete, lacking
from tripwright.errors import UserError, counted, described, first_problem, printable
from tripwright.files import csv_rows, json_lines, some_of
from tripwright.world.store import World

LONGEST_LITERAL = 10_000  # characters; the published ones have some hundreds
LONGEST_FIELD = 10_000_000  # the published files hold all that tools answer in a cell
WISHES = "'house rule', 'room type', 'cuisine' and 'transportation'"
MOST_PEOPLE = 100
EXPECTED = (
    "Expected a JSONL file, one query record per line, or a CSV file as TravelPlanner publishes it."
)


def read_literal(value: Any) -> Any:
    """What the published CSV and hub files have as text: a list or a dict as Python writes it. It
    is read as a literal, never run."""
    if not isinstance(value, str):
        return value
    try:
        if len(value) > LONGEST_LITERAL:
            raise ValueError
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ValueError(
            "expected JSON, or a Python literal as TravelPlanner publishes it (found"
            f" {value[:60]!r})"
        ) from None


def _plain_number(value: Any) -> Any:
    """true is no number of people, and '1_0' or '3e3' no amount, whatever Python makes of them; CSV
    files have numbers as text, in digits."""
    is_words = isinstance(value, str) and not value.replace(".", "", 1).isdecimal()
    if isinstance(value, bool) or is_words:
        raise ValueError(f"expected a number (found {json.dumps(value)[:40]})")
    return value


PlainNumber = BeforeValidator(_plain_number)


class LocalConstraint(BaseModel):
    """The four kinds of preference a traveller may state; None means none was stated. A wish of
    another kind is refused: no rule could see that it is kept."""

    model_config = ConfigDict(populate_by_name=True, extra="allow")

    house_rule: str | None = Field(None, alias="house rule")
    cuisine: Annotated[list[str], Field(fail_fast=True)] | None = None
    room_type: str | None = Field(None, alias="room type")
    transportation: str | None = None
    # why the wishes of the request's text (or how many travel) are not known, where they are not: a
    # plan for it is unscored, since nobody could say that it keeps them
    unread: str | None = Field(None, exclude_if=lambda why: why is None)

    @model_validator(mode="after")
    def _known_kinds(self) -> Self:
        for kind, wish in (self.model_extra or {}).items():
            if wish not in (None, "", [], "-"):
                raise ValueError(f"no rule knows wishes for {ascii(kind)}: known are {WISHES}")
        return self


class Besides(BaseModel):
    """Wishes of travellers that the benchmark has no field for: the exact planner keeps them and
    the desk checks them; the benchmark's rules do not look."""

    house_rules: list[str] = []  # beside the one of `LocalConstraint`
    without: list[str] = []  # names of cities, stays, restaurants and sights
    # share of what the budget leaves above the cheapest livable plan that comfort may cost
    comfort: float | None = None


class Query(BaseModel):
    """A trip request. `dest` is a city for 3-day trips and a state for 5 and 7 days; `budget` is in
    US dollars for the whole party."""

    model_config = ConfigDict(extra="allow")

    org: str
    dest: str
    days: Annotated[int, Field(ge=1), PlainNumber]
    visiting_city_number: Annotated[int, Field(ge=1), PlainNumber]
    date: Annotated[list[str], Field(fail_fast=True), BeforeValidator(read_literal)]
    people_number: Annotated[int, Field(ge=1, le=100_000), PlainNumber]
    local_constraint: Annotated[LocalConstraint, BeforeValidator(read_literal)] = Field(
        default_factory=lambda: LocalConstraint.model_validate({})
    )
    budget: Annotated[int | float, PlainNumber]
    query: str
    level: str | None = None
    besides: Besides | None = Field(None, exclude_if=lambda besides: besides is None)

    @property
    def without(self) -> list[str]:
        return self.besides.without if self.besides else []

    @property
    def house_rules(self) -> list[str]:
        """All that a stay must allow."""
        first = self.local_constraint.house_rule
        return [*([first] if first else ()), *(self.besides.house_rules if self.besides else ())]

    @property
    def party_size(self) -> int:
        return self.people_number

    def record(self) -> dict[str, Any]:
        """The official JSON record, keys as published ("house rule", "room type")."""
        return self.model_dump(by_alias=True)


def read_queries(path: str | Path) -> list[Query]:
    """All queries of a file. Raises UserError naming the first bad line and field."""
    return [query for _, query in iter_queries(path)]


def iter_queries(path: str | Path, unread_wishes: bool = False) -> Iterator[tuple[int, Query]]:
    """(line number, query) of every record of a file. What a record lacks beside where it starts
    and goes (as the test split does) is read from its text. With `unread_wishes` a text of which
    the wishes alone are not understood gives a query, too (`LocalConstraint.unread`)."""
    path = Path(path)
    for number, record in query_records(path):
        try:
            query = query_to_plan(_completed(record), unread_wishes)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}:{number}: {error}.") from None
        yield number, query


asked_queries = partial(iter_queries, unread_wishes=True)  # for whoever needs the text alone


def _completed(record: Any) -> Any:
    if not isinstance(record, dict) or not lacking(record):
        return record
    org, dest = record.get("org"), record.get("dest")
    if not isinstance(org, str) or not isinstance(dest, str):
        return record
    try:
        return complete(record, Gazetteer({org: dest, dest: dest})).record
    except CouldNotInfer as problem:
        if not problem.problems or problem.problems.keys() - {"text", "people_number", *KINDS}:
            raise
        known = {"people_number": 1} | problem.fields  # one is as good as any where all is unscored
        return known | {"local_constraint": {"unread": str(problem)}}


def query_records(path: Path) -> Iterator[tuple[int, Any]]:
    """(line number, record) of a JSONL file, or of a CSV file with the official columns, whose last
    line is the number there; whole numbers are numbers. Raises UserError for a bad line, and where
    there is none."""
    read = _table if path.suffix.lower() == ".csv" else json_lines
    return some_of(path, read(path), "query", EXPECTED)


def _table(path: Path) -> Iterator[tuple[int, Any]]:
    csv.field_size_limit(LONGEST_FIELD)
    for number, row in csv_rows(path):
        # the index that pandas writes has no name; an empty cell says nothing
        cells = ((key, cell) for key, cell in row.items() if key and cell)
        yield number, {k: int(c) if c.isdecimal() and len(c) < 10 else c for k, c in cells}


def why_no_trip(query: Query) -> str | None:
    """Why nobody can travel so in any world. A null budget or party is for the rules to see."""
    budget, people = query.budget, query.people_number
    if budget is not None and not 0 < budget < math.inf:  # NaN would let every cost pass
        return (
            "field 'budget': expected a finite amount above 0, in US dollars (found"
            f" {str(budget)[:20]})"
        )
    if people is not None and people > MOST_PEOPLE:
        return f"field 'people_number': expected 1 to {MOST_PEOPLE} people (found {people})"
    return None


def why_no_days(query: Query) -> str | None:
    """Why the request's dates are not those of a trip of so many days."""
    if _follow(tuple(query.date), query.days):
        return None
    return (
        f"field 'date': expected {counted(query.days, 'day')}, one after the other, as"
        f" 2022-03-16 (found {', '.join(query.date)[:80] or 'none'})"
    )


@lru_cache(4096)
def _follow(dates: tuple[str, ...], days: int) -> bool:
    try:
        start = datetime.date.fromisoformat(dates[0])
        expected = [str(start + datetime.timedelta(days=day)) for day in range(len(dates))]
    except (IndexError, ValueError, OverflowError):
        return False
    return len(dates) == days and list(dates) == expected


def why_outside(query: Query, world: World) -> str | None:
    """Why a trip is not one in this world: none of its days is between the first and the last that
    has flights. (Of a trip that is there in part, the flights of the other days are not.)"""
    days = world.dates
    if not days or not query.date or any(days[0] <= day <= days[-1] for day in query.date):
        return None
    return (
        f"the world's days are {days[0]} to {days[-1]}; the trip is from {query.date[0]} to"
        f" {query.date[-1]}."
    )


def why_elsewhere(query: Query, world: World) -> str | None:
    """Why a request was probably made for another world."""
    to = [*world.cities, *world.states]  # what a query of several cities names
    for name, known in ((query.org, world.cities), (query.dest, to)):
        if name not in known:
            return f"{ascii(name)} is no city of world '{world.name}': is it the right world?"
    return why_outside(query, world)


def query_to_plan(record: Any, unread_wishes: bool = False) -> Query:
    """One request to be planned. Stricter than the judge, which takes what the official code
    takes. Raises ValueError, which says what is wrong in one line."""
    if not isinstance(record, dict):
        raise ValueError(
            f"expected a query record, which is a JSON object, found {described(record)}"
        )
    try:
        query = Query.model_validate(record)
    except ValidationError as error:
        raise ValueError(first_problem(error)) from None
    unread = None if unread_wishes else query.local_constraint.unread
    if (problem := unread or why_no_trip(query) or why_no_days(query)) is not None:
        raise ValueError(problem)
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError(
            "holds half of a surrogate pair (such as \\ud800), which no text can contain"
        ) from None
    return query


def request_line(query: Query) -> str:
    """The request in one line for people."""
    budget, party, wishes = query.budget, query.party_size, query.local_constraint
    stated = [
        f"{wishes.house_rule} allowed" if wishes.house_rule else None,
        wishes.room_type,
        wishes.transportation,
        *(wishes.cuisine or []),
    ]
    clauses = [
        f"{query.org} to {query.dest}, {query.days} days",
        *([f"{query.date[0]} to {query.date[-1]}"] if query.date else []),
        "nobody knows how many" if party is None else counted(party, "person"),
        "no budget" if budget is None else f"budget {'-' if budget < 0 else ''}${abs(budget):,}",
    ]
    return printable("; ".join([", ".join(clauses), *map(str, filter(None, stated))]))
