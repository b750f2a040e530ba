"""What a domain offers travellers: a form for a wish, words read into it, a plan as cards that a
page can draw, the reasons why there is none, and a new plan that keeps what it can of an old one.
Also what is wrong with a filled form, field by field, by what the fields say of themselves.

The server (`tripwright/server`) and its page know only these types, so a third domain that has a
desk gets the page for nothing. Everything here is plain data for JSON (`dataclasses.asdict`); text
from tools or travellers is data as well, and the page makes text nodes of it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from tripwright.domains.place import Place
from tripwright.domains.wording import MONTHS, capitalised, listed
from tripwright.episode import Policy
from tripwright.errors import UserError, counted

Json = Mapping[str, Any]
FieldKind = Literal["place", "date", "count", "money", "choice", "choices", "time", "text", "texts"]
State = Literal["passed", "failed", "not_applicable", "not_evaluated"]


@dataclass(frozen=True)
class FormField:
    """One thing a traveller may say. `options` are all that is accepted where there are any (of a
    place: its cities, states); `low` and `high` are bounds, of a date as ISO text. Values travel as
    JSON: a place, date (ISO), time ("HH:MM"), choice or text as a string, a count or money (in
    `unit`) as a number, `choices` and `texts` as a list of strings; null is "not said"."""

    name: str
    label: str
    kind: FieldKind
    required: bool = False
    options: tuple[str, ...] = ()
    low: Any = None
    high: Any = None
    unit: str | None = None  # "USD", "days"
    help: str = ""
    default: Any = None
    says: str = "{}"  # in `sentence`, of a value; what is counted by a count
    unsaid: str = ""  # there, where the field is empty

    def schema(self) -> Json:
        """As JSON Schema. Names of places are left out: a large world has hundreds, and its tools
        tell them."""
        kinds = {"count": "integer", "money": "number", "choices": "array", "texts": "array"}
        between = "" if self.low is None else f"{self.low} to {self.high}"
        parts = [self.label, between, "needed in fields" if self.required else "", self.help]
        listed = self.options and self.kind != "place"
        options: Json = {"enum": list(self.options)} if listed else {}
        about = "; ".join(filter(None, parts))
        if kinds.get(self.kind) == "array":
            options = {"items": {"type": "string", **options}}
        return {"type": kinds.get(self.kind, "string"), "description": about, **options}


@dataclass(frozen=True)
class Span:
    """A stretch of a traveller's words, in characters: `field` says what was understood there, None
    that nobody read it."""

    start: int
    end: int
    field: str | None


def whole(found: Iterable[Span], length: int) -> Iterator[Span]:
    """Those that were read, in order, and what was not read between them."""
    at = 0
    for span in sorted(found, key=lambda span: span.start):
        if span.start < at:
            continue
        if span.start > at:
            yield Span(at, span.start, None)
        yield span
        at = span.end
    if at < length:
        yield Span(at, length, None)


@dataclass(frozen=True)
class FieldChange:
    """A wish before and after, in words."""

    field: str
    label: str
    before: str
    after: str


@dataclass(frozen=True)
class Understood:
    """Words as form values. `spans` cover every word of the text, in order; `missing` says, by
    field, what has still to be asked for, as a question. `problem` says in one line all that
    keeps the words from being a request, where more than silence does (silence is in `missing`).
    `sentence`: what was understood; `cannot`: wishes, in the traveller's words, that were
    understood and that nothing here can keep; `unread`: words that were not understood."""

    values: Json
    spans: tuple[Span, ...]
    missing: Mapping[str, str]
    problem: str | None = None
    sentence: str = ""
    cannot: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    changes: tuple[FieldChange, ...] = ()  # of words about a plan: what they would change
    could_say: tuple[str, ...] = ()  # there, for instance
    comfort: float | None = None  # there, where words move it


def sentence(fields: Sequence[FormField], values: Json, asked: Container[str] = ()) -> str:
    """The request in one sentence, made of the form alone, which is read as the same request.
    `asked`: what is still to be asked for."""
    said = {
        field.name: field.unsaid if is_empty else _said(field, values[field.name])
        for field in fields
        for is_empty in [values.get(field.name) in EMPTY]
        if field.name not in asked and (field.unsaid if is_empty else True)
    }
    if values.get("depart_date") and values.get("return_date"):
        first, last = (said[name].split()[-3:] for name in ("depart_date", "return_date"))
        same = 0 if first[2] != last[2] else 1 if first[1] != last[1] else 2
        said["depart_date"] = f"{' '.join(first[: 3 - same])} to {' '.join(last)}"
        del said["return_date"]
    if children := values.get("children"):
        adults = (values.get("party_size") or children) - children
        young = "1 child" if children == 1 else f"{children} children"
        said["party_size"] = f"{counted(adults, 'adult')}, {young}"
        del said["children"]
    if {"origin", "destination"} <= said.keys():
        said["origin"] = f"{said['origin']} {said.pop('destination')}"
    return capitalised(", ".join(said.values()))


def _said(field: FormField, value: Any) -> str:
    if field.kind == "count":
        return counted(value, field.says)
    return field.says.format(shown(field, value))


def shown(field: FormField, value: Any) -> str:
    if value in EMPTY:
        return "–"
    match field.kind:
        case "money":
            amount = f"{value:,.2f}".removesuffix(".00")
            return f"${amount}" if field.unit == "USD" else f"{amount} {field.unit}"
        case "date" if _is_written(value, datetime.date):
            date = datetime.date.fromisoformat(value)
            return f"{date.day} {MONTHS[date.month - 1]} {date.year}"
        case "choices" | "texts":
            return listed(list(map(str, value)))
    return str(value)


@dataclass(frozen=True)
class FieldProblem:
    """Something of a form that cannot be. `nearest`: values that would be accepted."""

    field: str
    message: str
    nearest: tuple[str, ...] = ()


class FormProblems(UserError):
    """A form that makes no request, with all that is wrong of it."""

    def __init__(self, problems: tuple[FieldProblem, ...]):
        super().__init__(" ".join(problem.message for problem in problems))
        self.problems = problems


@dataclass(frozen=True)
class Item:
    """One line of a plan: a way, a meal, a sight, a room, a recommendation. `starts` and `ends` are
    local ISO times ("2022-03-08T14:50") where they are known. `evidence` is the call (from 1, in
    the transcript's order) and the row (from 1, as it was shown) that it rests on. `facts` are
    further labelled texts ("Why": "the cheapest of call 2"); `remarks` what the judge found wrong
    with it."""

    kind: str  # "flight", "driving", "taxi", "train", "breakfast", …, "attraction", "stay"
    label: str
    text: str
    starts: str | None = None
    ends: str | None = None
    cost: float | None = None
    count: str = ""  # "4 × $36.00"
    evidence: tuple[int, int] | None = None
    facts: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()
    alternative: bool = False  # a second choice, which counts in no sum
    key: str = ""  # within its part, where another can be had in its place
    position: tuple[float, float] | None = None  # latitude and longitude, in degrees


@dataclass(frozen=True)
class PlanPart:
    """A day of a trip, or one of the parts of an errand (outbound, stay, return, visits). `key` is
    the same in two plans for what is the same part, so that pages can say what changed."""

    key: str
    title: str
    date: str | None  # ISO
    where: str
    items: tuple[Item, ...]
    cost: float | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """One fact of the verdict in the words of its evidence."""

    group: str
    name: str
    title: str
    state: State
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class RouteStop:
    """A city of the trip, in degrees where the world knows its position."""

    name: str
    latitude: float | None
    longitude: float | None


@dataclass(frozen=True)
class TripView:
    """A finished episode as a traveller looks at it. `route` are the stops in the order of travel,
    home first, with the means between them (one fewer)."""

    title: str
    parts: tuple[PlanPart, ...]
    checks: tuple[Check, ...]
    passed: bool
    currency: str = "USD"
    cost: float | None = None
    budget: float | None = None
    route: tuple[RouteStop, ...] = ()
    means: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class RequestChange:
    """One change after which there is a plan: `values` are those of the form that differ."""

    words: str
    values: Json
    cost: float | None = None


@dataclass(frozen=True)
class NoPlan:
    """Why a trip cannot be had, and the cheapest changes that help, those that give up least
    first."""

    why: tuple[str, ...]
    changes: tuple[RequestChange, ...]


@dataclass(frozen=True)
class Swap:
    """Something else in the place of an item: the plan with it, and the record of its episode."""

    item: Item
    view: TripView
    record: Json


@dataclass(frozen=True)
class Replan:
    """`policy` plays a plan for the new request that differs from the old one in as few parts as
    can be; `words` say which parts stay, or why none can."""

    policy: Policy
    words: str


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What a domain's folder has in `desk.py`. `place` is an open place of the domain; a `record`
    is that of a finished episode (`Episode.record`)."""

    form: Callable[[Place], tuple[FormField, ...]]
    # what the traveller typed → what was understood; never a guess
    read: Callable[[str, Place], Understood]
    # form values → a request of the domain; raises FormProblems
    request: Callable[[Json, Place], Any]
    # words about a plan, its wishes as form values, its view as JSON, its comfort where that can
    # be another → other wishes
    change: Callable[[str, Json, Json, float | None, Place], Understood]
    view: Callable[[Json, Place], TripView]
    # None where there is a plan. It may take seconds
    no_plan: Callable[[Any, Place], NoPlan | None]
    # (record of the old trip, new request, place); None where this domain cannot keep parts
    replan: Callable[[Json, Any, Place], Replan | None] = lambda record, request, place: None
    # (record of a finished trip, key of a part, key of an item, place) → what could stand there
    swaps: Callable[[Json, str, str, Place], Sequence[Swap]] = lambda record, part, item, place: ()
    # (request, share of what the budget leaves above the cheapest good plan) → the request that
    # lets comfort cost so much; None where no planner of the desk knows comfort
    at_comfort: Callable[[Any, float], Any] | None = None
    # requests of the place, some of which become examples of what to type
    wishes: Callable[[Place], Iterable[Any]] = lambda place: ()
    # names of policies that need no model, by what they are called on the page; the first is the
    # default
    planners: Mapping[str, str] = field(default_factory=dict)
    # the dialect in which those play
    dialect: str = ""
    # module whose `router(place, caller)` has further routes of the trip server (server/trips.py)
    routes: str | None = None


# steps of comfort, each a quarter of what may be spent on it
COMFORT = ("the cheapest", "a little comfort", "some comfort", "good comfort", "the most comfort")
LONGEST_TEXT = 120  # characters of a name that is typed
EMPTY: tuple[Any, ...] = (None, "", [])


def problems_of(fields: Sequence[FormField], values: Mapping[str, Any]) -> list[FieldProblem]:
    """Of each field alone; what does not go together a domain says itself."""
    names = tuple(field.name for field in fields)
    problems = [
        FieldProblem(name, f"'{str(name)[:60]}' is no field of this form.", names)
        for name in values
        if name not in names
    ]
    for each in fields:
        value = values.get(each.name)
        problem: tuple[str, tuple[str, ...]] | None
        if value in EMPTY:
            problem = (f"{each.label}: something is needed here.", ()) if each.required else None
        else:
            problem = _wrong(each, value)
        if problem:
            problems.append(FieldProblem(each.name, *problem))
    return problems


def unknown(
    field: FormField, value: object, options: Sequence[str], where: str = "here"
) -> tuple[str, tuple[str, ...]]:
    """That a name is none of these, and those nearest to it."""
    near = get_close_matches(str(value)[:100], options, n=3, cutoff=0.4)
    known = f" Nearest: {', '.join(near)}." if near else ""
    return f"{field.label}: '{str(value)[:60]}' is not known {where}.{known}", tuple(near)


def _wrong(field: FormField, value: Any) -> tuple[str, tuple[str, ...]] | None:
    """What is wrong with a value that was given, and what would be accepted."""
    found = str(value)[:60]
    if field.kind in ("count", "money"):
        whole = field.kind == "count"
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            return f"{field.label}: expected a number, found '{found}'.", ()
        if not field.low <= value <= field.high:
            return f"{field.label}: expected {field.low:,} to {field.high:,}, found {found}.", ()
    elif field.kind == "date":
        if not _is_written(value, datetime.date):
            return f"{field.label}: expected a date like {field.low}, found '{found}'.", ()
        if not field.low <= value <= field.high:
            return (
                f"{field.label}: expected a day from {field.low} to {field.high}, found {value}.",
                (field.low, field.high),
            )
    elif field.kind == "time":
        if not _is_written(value, datetime.time):
            return f"{field.label}: expected a time like 09:30, found '{found}'.", ()
    else:
        given = value if field.kind in ("choices", "texts") else [value]
        if not isinstance(given, list):
            return f"{field.label}: expected a list of texts.", ()
        for each in given:
            if not isinstance(each, str) or (field.options and each not in field.options):
                return unknown(field, each, field.options)
            if len(each) > LONGEST_TEXT:
                return f"{field.label}: at most {LONGEST_TEXT} characters can be read.", ()
    return None


def _is_written(value: object, kind: type[datetime.date | datetime.time]) -> bool:
    """Python reads days and times in more ways than one, and requests have one."""
    try:
        read = kind.fromisoformat(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return value == (f"{read:%H:%M}" if isinstance(read, datetime.time) else str(read))
