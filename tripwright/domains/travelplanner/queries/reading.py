"""From a request's text to its fields, for requests that come without them (the hidden test split):
the closed grammar (`domains.grammar`) of `idioms.toml` and of the writer's own `phrases.toml`.
Words of none are named, and the text is not read without them.

A given value always wins; only what is absent is read, and is named in `CompleteQuery.inferred`.
Two answers to one question are none. Two conventions of the benchmark are relied on where a text is
silent: trips of 3, 5 and 7 days visit 1, 2 and 3 cities, and somebody who mentions no company
travels alone. Whether a text says what its structured request says, `mismatches` tells.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tripwright.domains.grammar import (
    UNCLEAR,
    Gazetteer,
    Grammar,
    Said,
    made_grammar,
    named_dates,
    read_phrases,
)
from tripwright.domains.wording import MONTHS, listed

if TYPE_CHECKING:
    from tripwright.domains.travelplanner.query import Query

LONGEST_TEXT = 5_000  # characters; the official requests have a few hundred
# a record may say null here: the official code has an answer to it
NULL_IS_GIVEN = ("budget", "people_number")
# in this order: one may need another
READ = ("days", "date", "visiting_city_number", "org", "dest", "people_number", "budget")
WISHES = ("house rule", "cuisine", "room type", "transportation")
FIELDS = ("org", "dest", "days", "date", "visiting_city_number", "people_number", "budget", *WISHES)

CITIES_BY_DAYS = {3: 1, 5: 2, 7: 3}  # row T2
LONGEST_TRIP_DAYS = 60


class CouldNotInfer(ValueError):
    """The text does not say this, or says it in more than one way. Of a whole request: why, by
    field or kind of wish, what was read, and the text as phrases. The problem of "text" names
    words of no phrase."""

    def __init__(
        self,
        message: str,
        *,
        problems: Mapping[str, str] | None = None,
        fields: Mapping[str, Any] | None = None,
        said: Sequence[Said] = (),
    ):
        super().__init__(message)
        self.problems, self.fields, self.said = dict(problems or {}), dict(fields or {}), said


@dataclass(frozen=True)
class CompleteQuery:
    """A query record with every field, the names of those that were read from its text, and the
    text as phrases (none where nothing had to be read)."""

    record: dict[str, Any]
    inferred: tuple[str, ...]
    said: Sequence[Said] = ()


@dataclass(frozen=True)
class Mismatch:
    """One field that the text does not give, or "text" for words that nobody understands. `reading`
    is what it gives instead, or None with a `problem`."""

    field: str
    value: Any
    reading: Any = None
    problem: str | None = None

    def __str__(self) -> str:
        if self.field == "text":
            return f"text: {self.problem}"
        expectation = "nothing" if self.value is None else _shown(self.value)
        reading = (
            self.problem
            or f"the text says {'nothing' if self.reading is None else _shown(self.reading)}"
        )
        return f"{self.field}: it must say {expectation}; {reading}"


# ---- phrases


# words of somebody who does not travel alone; "we" is at times a single traveller's word
GROUP = frozenset("them jointly family group team".split())
COMPANY = GROUP | frozenset("we us our ourselves they their themselves party".split())


@cache
def grammar() -> Grammar:
    idioms, written = (
        tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
        for name in ("idioms.toml", "phrases.toml")
    )
    templates = _templates(idioms, written)
    return made_grammar(templates, idioms["slots"], idioms["meaningless"])


def _templates(idioms: Mapping[str, Any], written: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(field, template) of both files. {rule} stands for each house rule in turn."""
    by_field = [*idioms["phrases"].items(), ("house rule", written["house_rule_clauses"])]
    by_field += [("subject = request", [opener for opener, _ in written["openers"]])]
    by_field += [
        ("nothing", written[table]) for table in ("greetings", "closings", "lead_ins", "no_wishes")
    ]
    for kind in ("room type", "transportation"):
        clauses = written[f"{kind.replace(' ', '_')}_clauses"]
        by_field += [(f"{kind} = {value}", templates) for value, templates in clauses.items()]
    for table in ("rule_clauses", "company_clauses"):
        by_field += [(f"house rule = {rule}", each) for rule, each in written[table].items()]
    for field, templates in by_field:
        for template in templates:
            if "{rule}" not in template:
                yield field, template
                continue
            for rule, words in idioms["rules"].items():
                yield f"{field} = {rule}", template.replace("{rule}", words)


# ---- fields


def lacking(record: Mapping[str, Any]) -> list[str]:
    """The fields that a record leaves to its text."""
    return [
        field
        for field in (*READ, "local_constraint")
        if field not in record or (record[field] is None and field not in NULL_IS_GIVEN)
    ]


def complete(record: Mapping[str, Any], places: Gazetteer) -> CompleteQuery:
    """The record with the fields that it lacks. Raises CouldNotInfer naming every field that its
    text does not give, and under "text" the words that nobody understands."""
    fields, text = lacking(record), record.get("query")
    if not fields:
        return CompleteQuery(dict(record), ())
    unread = f"could not infer {', '.join(fields)}: the "
    if not isinstance(text, str) or not text.strip():
        raise CouldNotInfer(f"{unread}query has no text")
    if len(text) > LONGEST_TEXT:
        raise CouldNotInfer(f"{unread}text is longer than {LONGEST_TEXT:,} characters")
    completed = {key: value for key, value in record.items() if key not in fields}
    wishes = WISHES if "local_constraint" in fields else ()
    if wishes:
        completed["local_constraint"] = {}
    said = read_phrases(text, places, grammar())
    reading = _Reading(said, places, completed)
    inferred, problems = list[str](), dict[str, str]()
    if reading.unread:
        problems["text"] = f"nothing is known of {listed([*map(repr, reading.unread)])}"
    for field in (*(field for field in READ if field in fields), *wishes):
        into = completed["local_constraint"] if field in wishes else completed
        try:
            into[field] = reading.value(field)
            inferred.append(field)
        except CouldNotInfer as problem:
            problems[field] = str(problem)
    if problems:
        told = (
            problem if field == "text" else f"could not infer {field}: {problem}"
            for field, problem in problems.items()
        )
        raise CouldNotInfer("; ".join(told), problems=problems, fields=completed, said=said)
    return CompleteQuery(completed, tuple(inferred), said)


class _Reading:
    """What a text says of each field. `record` has what is known of the request so far."""

    def __init__(self, said: Sequence[Said], places: Gazetteer, record: Mapping[str, Any]):
        self.places, self.record = places, record
        self.unread = list(dict.fromkeys(each.text for each in said if each.field == UNCLEAR))
        self.company = COMPANY & {word.plain for each in said for word in each.words}
        self._said: dict[str, list[Said]] = {}
        for each in said:
            self._said.setdefault(each.field, []).append(each)

    def value(self, field: str) -> Any:
        match field:
            case "days":
                return self._only(field) or self._length()
            case "date":
                return self._date()
            case "visiting_city_number":
                return self._city_count()
            case "org":
                return self._org()
            case "dest":
                return self._dest()
            case "people_number":
                return self._party()
            case "budget":
                return self._budget()
            case "cuisine":
                return list(dict.fromkeys(self._values(field))) or None
        return self._only(field)

    def _values(self, field: str) -> list[Any]:
        return [each.value for each in self._said.get(field, ())]

    def _only(self, field: str) -> Any:
        """None where the text says nothing."""
        values = list(dict.fromkeys(self._values(field)))
        if len(values) > 1:
            raise CouldNotInfer(f"the text says {' and '.join(map(_shown, values))}")
        return values[0] if values else None

    def _org(self) -> str:
        starts = list(dict.fromkeys(self._values("org")))
        return self._place(starts, self.places.cities, "city of this world to start from")

    def _dest(self) -> str:
        """A city where one is visited, else a state. A city on the way has no field."""
        org, is_city = self.record.get("org"), self.record.get("visiting_city_number") == 1
        cities = {name for name in self.places.cities if name != org}  # as given: perhaps a list
        known = cities if is_city else self.places.states
        names = [
            name
            for field in ("dest", "home")
            for name in dict.fromkeys(self._values(field))
            if (field, name) != ("home", org)
        ]
        return self._place(names, known, f"{'city' if is_city else 'state'} to travel to")

    def _place(self, names: Sequence[str], known: set[str], what: str) -> str:
        if len(names) != 1 or names[0] not in known:
            found = f"as {what} {listed(names)}" if names else f"no {what}"
            raise CouldNotInfer(f"the text names {found}")
        return names[0]

    def _dates(self) -> list[date]:
        """As the text names them. A day without month or year has its neighbour's."""
        firsts, lasts = (self._said.get(field, []) for field in ("date", "last date"))
        if not firsts:
            raise CouldNotInfer(f"the text names no {'first ' if lasts else ''}date")
        named = [each for said in (*firsts, *lasts) for each in named_dates(said.words)]
        dates = list[date]()
        for index, (year, month, day) in enumerate(named):
            near = (*named[index + 1 :], *reversed(named[:index]))
            year = year or next((other[0] for other in near if other[0]), None)
            month = month or next((other[1] for other in near if other[1]), None)
            if year is None or month is None:
                raise CouldNotInfer("the dates have no year")
            try:
                dates.append(date(year, month, day))
            except ValueError:
                wrong = f"there is no day {day} in {MONTHS[month - 1]} {year}"
                raise CouldNotInfer(wrong) from None
        dates = list(dict.fromkeys(dates))
        if len(dates) > 2 or dates != sorted(dates):
            raise CouldNotInfer(f"the text names the dates {listed([*map(str, dates)])}")
        return _days_from(dates[0], (dates[-1] - dates[0]).days + 1)

    def _length(self) -> int:
        dates = self._dates()
        if len(dates) < 2:
            raise CouldNotInfer("the text does not say how many days")
        return len(dates)

    def _date(self) -> list[str]:
        """Every day. One date alone is the first day of a trip whose length is known."""
        days, dates = self.record.get("days"), self._dates()
        if len(dates) == 1 and isinstance(days, int):
            dates = _days_from(dates[0], days)
        if isinstance(days, int) and days != len(dates):
            what = f"the dates {dates[0]} to {dates[-1]} are {len(dates)} days"
            raise CouldNotInfer(f"{what}, the trip takes {days}")
        return [each.isoformat() for each in dates]

    def _city_count(self) -> int:
        days = self.record.get("days")  # as given: perhaps a list
        by_days = (cities for length, cities in CITIES_BY_DAYS.items() if length == days)
        count: int | None = self._only("visiting_city_number") or next(by_days, None)
        if count is None:
            raise CouldNotInfer("the text does not say how many cities")
        return count

    def _party(self) -> int:
        count: int | None = self._only("people_number")
        if self.company and (count is None or (count == 1 and self.company & GROUP)):
            raise CouldNotInfer("the text speaks of several people, but not of how many")
        return 1 if count is None else count

    def _budget(self) -> int | float:
        """US dollars for the whole party."""
        amount: float | None = self._only("budget")
        if amount is None:
            raise CouldNotInfer("the text names no amount in dollars")
        return int(amount) if amount.is_integer() else amount


def _days_from(first: date, days: int) -> list[date]:
    if not 1 <= days <= LONGEST_TRIP_DAYS:
        raise CouldNotInfer(f"a trip of {days} days is longer than {LONGEST_TRIP_DAYS}")
    return [first + timedelta(days=day) for day in range(days)]


# ---- what a text should say


def mismatches(query: Query, text: str, places: Gazetteer) -> list[Mismatch]:
    """Every field that the text alone does not give back exactly; [] for a text that says it all.
    The order of cuisines is free."""
    problems: Mapping[str, str] = {}
    try:
        record: Mapping[str, Any] = complete({"query": text}, places).record
    except CouldNotInfer as refused:
        record, problems = refused.fields, refused.problems
        if not problems:  # an empty or endless text
            return [Mismatch("text", "the request", problem=str(refused))]
    expectations, readings = _flat(query.record()), _flat(record)
    return [
        Mismatch(field, expectations.get(field), readings.get(field), problems.get(field))
        for field in (*FIELDS, "text")
        if field in problems or _compared(expectations.get(field)) != _compared(readings.get(field))
    ]


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    wishes = record.get("local_constraint") or {}
    return {
        **{field: record.get(field) for field in FIELDS if field not in WISHES},
        **{wish: wishes.get(wish) or None for wish in WISHES},
    }


def _compared(value: Any) -> Any:
    return sorted(value) if isinstance(value, list) else value


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
