"""From a request's text to its fields, for requests that come without them (the hidden test split):
a closed grammar, and never a guess.

Every word of a text belongs to a phrase of `idioms.toml` (or of the writer's own `phrases.toml`),
or means nothing there; what is left is named, and the text is not read without it. A word means
nothing only in a sentence of which a phrase speaks of a subject that it is listed under: a
"restaurant" beside a cuisine, never beside smoking. Among the ways to read a text the one with the
fewest words of neither kind is taken, then the one with the fewest that mean nothing, then the one
with the fewest phrases. A "not" or a "but" that no phrase holds is itself not understood.

A given value always wins; only what is absent is read, and is named in `CompleteQuery.inferred`.
Two answers to one question are none. Two conventions of the benchmark are relied on where a text is
silent: trips of 3, 5 and 7 days visit 1, 2 and 3 cities, and somebody who mentions no company
travels alone. Whether a text says what its structured request says, `mismatches` tells.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tripwright.domains.wording import MONTHS, NUMBERS, listed
from tripwright.world.scales import CUISINES

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


# ---- words


class Word(NamedTuple):
    """`plain`: lower case; a number is "#3", in words too, an amount "$1700", a place its
    name between two "@", the end of a sentence "." or "?"."""

    plain: str
    start: int
    end: int


_NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]{1,2})?(?![\w]|[.,][0-9])"
_WORD = (
    r"(?P<iso>[0-9]{4}-[0-9]{2}-[0-9]{2})(?![\w-])"
    rf"|(?<![A-RT-Za-rt-z])\$ ?(?P<usd>{_NUMBER})"  # US$, not A$
    rf"|(?P<ordinal>[0-9]{{1,2}})(?:st|nd|rd|th)\b|(?P<number>{_NUMBER})"
    r"|(?P<word>[^\W\d_]+(?:'[^\W\d_]+)?)|(?P<end>[.!?;])"
    r"|(?<=[0-9hdt]) ?(?P<to>[-\u2013]) ?(?=[0-9])"
    r"|[\s,:()\"\u201c\u201d\u2014\u2013'-]|(?P<other>\S)"
)
_SHORTENED = {"won't": "will not", "can't": "can not", "cannot": "can not", "shan't": "shall not"}
_SHORT_ENDINGS = ("'s", "'d", "'ll", "'re", "'m", "'ve")


class Gazetteer:
    """The cities and states of a world, as texts name them."""

    def __init__(self, cities: Mapping[str, str]):
        self.state_of, self.cities, self.states = cities, set(cities), set(cities.values())
        names = sorted(self.cities | self.states, key=len, reverse=True)
        names_pattern = rf"(?P<place>(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w))|"
        self._word = re.compile((names_pattern if names else "") + _WORD)

    def words(self, text: str) -> list[Word]:
        words = list[Word]()
        for match in self._word.finditer(text):
            if match.lastgroup is None:
                continue
            for plain in _plain(match.lastgroup, match[match.lastgroup]):
                if words and plain == f"@{self.state_of.get(words[-1].plain[1:-1])}@":
                    words[-1] = words[-1]._replace(end=match.end())  # "Houston, Texas"
                else:
                    words.append(Word(plain, *match.span()))
        return words


NOWHERE = Gazetteer({})


def _plain(kind: str, said: str) -> list[str]:
    match kind:
        case "place":
            return [f"@{said}@"]
        case "usd":
            return [f"${said.replace(',', '')}"]
        case "number":
            return [f"#{said.replace(',', '')}"]
        case "ordinal":
            return [f"#{said}th"]
        case "end" | "to":
            return ["to" if kind == "to" else said.replace("!", ".")]
    word = said.lower()
    if word in NUMBERS:
        return [f"#{NUMBERS.index(word) + 1}"]
    if word in _SHORTENED:
        return _SHORTENED[word].split()
    if word.endswith("n't"):
        return [word[:-3], "not"]
    return [word.removesuffix(next((end for end in _SHORT_ENDINGS if word.endswith(end)), ""))]


# ---- phrases


# words of somebody who does not travel alone; "we" is at times a single traveller's word
GROUP = frozenset("them jointly family group team".split())
COMPANY = GROUP | frozenset("we us our ourselves they their themselves party".split())


class Phrase(NamedTuple):
    """`field` is the one that it gives, or UNCLEAR, "home" (back where one started), "last date";
    "nothing", "subject" and "food" give none."""

    field: str
    value: str | None  # where the phrase itself is the value
    pattern: re.Pattern[str]
    subjects: frozenset[str]  # that a sentence with it speaks of
    company: frozenset[str]  # subjects: it is understood where its sentence speaks of one of them


# what a sentence speaks of with a phrase of these fields; with one of the others, of the trip
SUBJECTS = {"nothing": "any", "house rule": "rooms", "room type": "rooms"}
SUBJECTS |= {field: field for field in ("cuisine", "food", "transportation", "budget")}

UNCLEAR = "unclear"  # the field of phrases that are known to leave open what is meant
NOTHING = Phrase("nothing", None, re.compile(""), frozenset(), frozenset())  # a word alone


class Said(NamedTuple):
    """A phrase of a text, or (`phrase` None) a word that belongs to none."""

    phrase: Phrase | None
    words: tuple[Word, ...]

    @property
    def field(self) -> str:
        return UNCLEAR if self.phrase is None else self.phrase.field

    @property
    def text(self) -> str:
        return " ".join(word.plain.strip("@#") for word in self.words)

    @property
    def value(self) -> Any:
        """Of a phrase, for its field: a name, a number, or what the phrase stands for."""
        assert self.phrase is not None
        if self.phrase.value is not None:
            fixed = self.phrase.value
            return int(fixed) if fixed.isdigit() else fixed
        if self.phrase.field == "cuisine":
            return self.words[-1].plain.capitalize()
        marked = next(word.plain for word in self.words if word.plain[0] in "@#$")
        if marked[0] == "$" or self.phrase.field == "budget":
            return float(marked[1:])
        return int(marked[1:]) if marked[0] == "#" else marked[1:-1]


class Piece(NamedTuple):
    """A part of a phrase, as a pattern over plain words, each of them followed by a blank."""

    pattern: str
    firsts: frozenset[str]  # what its first word may be, as `_key` has it
    may_be_missing: bool

    def then(self, other: Piece) -> Piece:
        firsts = self.firsts | other.firsts if self.may_be_missing else self.firsts
        both_missing = self.may_be_missing and other.may_be_missing
        return Piece(self.pattern + other.pattern, firsts, both_missing)


EMPTY = Piece("", frozenset(), True)


def _key(plain: str) -> str:
    """The word, or of which kind it is."""
    return plain[0] if plain[0] in "#$@0123456789" else plain


class Grammar(NamedTuple):
    phrases: Mapping[str, Sequence[Phrase]]  # by what their first word may be
    meaningless: Mapping[str, frozenset[str]]  # in sentences that speak of which subjects, by word


@cache
def grammar() -> Grammar:
    """In `idioms.toml` a phrase stands under the field that it gives, or under "field = value"; [x]
    may be missing, (x|y) is one of them, and {slot} is one of the slots there or here."""
    idioms, written = (
        tomllib.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
        for name in ("idioms.toml", "phrases.toml")
    )
    numbers, digits = frozenset("#"), frozenset("0123456789")
    slots = {
        "n": Piece("#[0-9]{1,2} ", numbers, False),
        "day": Piece("#[0-9]{1,2}(?:th)? ", numbers, False),
        "year": Piece("#[12][0-9]{3} ", numbers, False),
        "iso": Piece("[0-9]{4}-[0-9]{2}-[0-9]{2} ", digits, False),
        "usd": Piece(r"\$[0-9.]+ ", frozenset("$"), False),
        "amount": Piece("#[0-9.]+ ", numbers, False),
        "place": Piece("@[^@]+@ ", frozenset("@"), False),
        "month": _piece("|".join(MONTHS), {}),
        "cuisine": _piece("|".join(CUISINES), {}),
    }
    for name, template in idioms["slots"].items():
        slots[name] = _piece(template, slots)
    phrases: dict[str, list[Phrase]] = {}
    for field, template in _templates(idioms, written):
        piece = _piece(template, slots)
        field, _, company = field.partition(" with ")
        field, _, value = field.partition(" = ")
        subjects = frozenset({"any", value if field == "subject" else SUBJECTS.get(field, "trip")})
        phrase = Phrase(
            field, value or None, re.compile(piece.pattern), subjects, frozenset(company.split())
        )
        for first in piece.firsts:
            phrases.setdefault(first, []).append(phrase)
    found: dict[str, set[str]] = {}
    for subject, words in idioms["meaningless"].items():
        for word in words.split():
            found.setdefault(word, set()).add(subject)
    return Grammar(phrases, {word: frozenset(subjects) for word, subjects in found.items()})


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


def _piece(template: str, slots: Mapping[str, Piece]) -> Piece:
    return _alternatives(iter(re.findall(r"\{\w+\}|[][()|]|[^][(){}|\s]+", template)), slots)


def _alternatives(signs: Iterator[str], slots: Mapping[str, Piece]) -> Piece:
    """Up to the bracket that ends them."""
    found = [EMPTY]
    for sign in signs:
        if sign in ")]":
            break
        if sign == "|":
            found.append(EMPTY)
        elif sign in "([":
            inner = _alternatives(signs, slots)
            optional = inner._replace(pattern=f"{inner.pattern}?", may_be_missing=True)
            found[-1] = found[-1].then(inner if sign == "(" else optional)
        elif sign.startswith("{"):
            found[-1] = found[-1].then(slots[sign[1:-1].lower()])
        else:
            for plain, _, _ in NOWHERE.words(sign):
                word = Piece(re.escape(plain) + " ", frozenset({_key(plain)}), False)
                found[-1] = found[-1].then(word)
    return Piece(
        f"(?:{'|'.join(piece.pattern for piece in found)})",
        frozenset().union(*(piece.firsts for piece in found)),
        any(piece.may_be_missing for piece in found),
    )


class ReadingCost(NamedTuple):
    """Of a way to read words; the least is taken."""

    unread: int
    meaningless: int
    phrases: int

    def behind(self, phrase: Phrase | None) -> ReadingCost:
        unread, meaningless, phrases = self
        if phrase is NOTHING:
            return ReadingCost(unread, meaningless + 1, phrases)
        return ReadingCost(unread + (phrase is None), meaningless, phrases + 1)


def read_phrases(text: str, places: Gazetteer) -> list[Said]:
    """The text as phrases: as few words of none as can be, then as few that mean nothing, then
    as few phrases."""
    words = places.words(text.replace("\u2019", "'"))
    phrases, meaningless = grammar()
    joined = "".join(f"{word.plain} " for word in words)
    offsets = [0, *accumulate(len(word.plain) + 1 for word in words)]
    word_at = {offset: index for index, offset in enumerate(offsets)}
    # of the words from each on: what they cost, where the first phrase ends, and which it is
    best: list[tuple[ReadingCost, int, Phrase | None]] = [(ReadingCost(0, 0, 0), 0, None)] * (
        len(words) + 1
    )
    for index in reversed(range(len(words))):
        means_nothing = words[index].plain == "." or words[index].plain in meaningless
        choices = [(index + 1, NOTHING if means_nothing else None)]
        for phrase in phrases.get(_key(words[index].plain), ()):
            if match := phrase.pattern.match(joined, offsets[index]):
                choices.append((word_at[match.end()], phrase))
        best[index] = min(
            ((best[end][0].behind(phrase), end, phrase) for end, phrase in choices),
            key=lambda choice: choice[0],
        )
    said, sentence, index = list[Said](), list[Said](), 0
    while index < len(words):
        _, end, chosen = best[index]
        sentence.append(Said(chosen, tuple(words[index:end])))
        index = end
        if index == len(words) or sentence[-1].words[0].plain in (".", "?"):
            said += _in_company(sentence)
            sentence = []
    return said


def _in_company(sentence: Sequence[Said]) -> Iterator[Said]:
    """The sentence, with words that mean nothing only where it speaks of one of their subjects."""
    _, meaningless = grammar()
    subjects = frozenset().union(*(each.phrase.subjects for each in sentence if each.phrase))
    for each in sentence:
        company = each.phrase.company if each.phrase else None
        if each.phrase is NOTHING:
            company = meaningless.get(each.words[0].plain)  # none for the end of a sentence
        yield each._replace(phrase=None) if company and not company & subjects else each


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
    said = read_phrases(text, places)
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
        named = [each for said in (*firsts, *lasts) for each in _named_dates(said.words)]
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


def _named_dates(words: Sequence[Word]) -> Iterator[tuple[int | None, int | None, int]]:
    """(year, month, day) of each day in a phrase; the first two may stand with another."""
    found = list[list[int | None]]()
    month = None
    for word in (word.plain for word in words):
        if word[0].isdigit():
            found.append([int(part) for part in word.split("-")])
        elif word.capitalize() in MONTHS:
            month = MONTHS.index(word.capitalize()) + 1
            if found and found[-1][1] is None:
                found[-1][1], month = month, None  # "the 8th of March"
        elif word[1:].isdigit() and len(word) == 5 and found:
            found[-1][0] = int(word[1:])
        elif word[0] == "#":
            found.append([None, month, int(word[1:].removesuffix("th"))])
            month = None
    yield from ((year, month, day or 0) for year, month, day in found)


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
