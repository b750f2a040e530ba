"""Requests and changes of them as travellers type them, for every desk: the closed grammar of
`travellers.toml`.

A text states facts; a desk says into which fields of its form they go. What is understood and has
no field there is named as what cannot be honoured, and words that are not understood are named as
they stand. Nothing is guessed: two answers to one question, days without a date, money of another
currency become questions. The world's own days say which year is meant, and whether 5/3 is March.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date as Date
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from tripwright.domains.desk import (
    COMFORT,
    EMPTY,
    FieldChange,
    FormField,
    FormProblems,
    Json,
    Span,
    Understood,
    problems_of,
    sentence,
    shown,
    whole,
)
from tripwright.domains.grammar import (
    UNCLEAR,
    Gazetteer,
    Grammar,
    Piece,
    Said,
    Word,
    made_grammar,
    named_dates,
    read_phrases,
)
from tripwright.domains.wording import MONTHS, NUMBERS, clock_read, listed
from tripwright.world.scales import CUISINES

LONGEST_TEXT = 4_000  # characters
A_CHILD = 10  # years, from which on no house rule asks
# ---- words

WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_SHORT = {name[:3]: name for name in WEEKDAYS} | {m[:3].lower(): m.lower() for m in MONTHS}
_SHORT |= {"sept": "september", "tues": "tuesday", "thurs": "thursday", "thur": "thursday"}
_RAW = re.compile(
    r"(?P<iso>\d{4}-\d{2}-\d{2})(?![\w-])|(?P<numeric>\d{1,2}([./])\d{1,2}\3\d{4})(?!\w)"
    r"|(?P<clock>\d{1,2}:\d{2}(?: ?[ap]\.?m\b\.?)?|\d{1,2} ?[ap]\.?m\b\.?|\bnoon\b)"
    r"|(?P<ordinal>\d{1,2})(?:st|nd|rd|th)\b"
    r"|(?P<number>(?:\d{1,3}(?:[.,]\d{3})+|\d+(?:[.,]\d{1,2})?)(?![\d.,]\d)(?: ?[kK]\b)?)"
    r"|(?P<sign>(?:\b(?:US|[CA]))?\$|[€£¥₹])|(?P<word>[^\W\d_]+(?:'[^\W\d_]+)?)"
    r"|(?P<end>[.!?;])|(?P<bracket>[()])|(?<=[\dhdt]) ?(?P<to>[-–]) ?(?=\d)|[\s,:\"“”—–'-]"
    r"|(?P<other>\S)",
    re.IGNORECASE,
)


class Typed(Gazetteer):
    """Words of what somebody typed: "@Keldon@" is a place, "@?Paris@" a name that nobody knows,
    "%Zoo%" one of `names`, "$EUR" a currency, "~18:00" a time, "5/3/2022" a day."""

    def __init__(self, cities: Mapping[str, str], names: Iterable[str] = ()):
        super().__init__(cities)
        self.kinds = dict.fromkeys(names, "%") | dict.fromkeys((*cities, *self.states), "@")
        self._lower = {name.lower(): name for name in self.kinds}
        longest = sorted(map(re.escape, self._lower), key=len, reverse=True)
        self._named = re.compile(rf"(?<!\w)(?:{'|'.join(longest) or '(?!)'})(?!\w)", re.IGNORECASE)

    def words(self, text: str) -> list[Word]:
        return self._with_names(_with_numbers([*self._raw(text)]), text)

    def _raw(self, text: str) -> Iterator[Word]:
        at, vocabulary = 0, known_words()
        while at < len(text):
            named = self._named.match(text, at)
            match = _RAW.match(text, at)
            if named and (named[0] in self.kinds or named[0].lower() not in vocabulary):
                name = self._lower[named[0].lower()]
                sign = self.kinds[name]
                yield Word(f"{sign}{name}{sign}", *named.span())
            elif match and match.lastgroup:
                for plain in _plain(match.lastgroup, match[match.lastgroup].lower()):
                    yield Word(plain, *match.span())
            at = named.end() if named else match.end() if match else at + 1

    def _with_names(self, words: Sequence[Word], text: str) -> list[Word]:
        """Words in capitals that the grammar has not are a name; a state goes with its city."""
        found, vocabulary = list[Word](), known_words()
        for word in words:
            name = text[word.start : word.end]
            is_name = word.plain.isalpha() and word.plain not in vocabulary and name[0].isupper()
            before = found.pop() if found else Word("", 0, 0)
            if word.plain == f"@{self.state_of.get(before.plain[1:-1])}@":
                found.append(before._replace(end=word.end))
            elif is_name and before.plain[:2] == "@?" and before.end + 1 == word.start:
                found.append(Word(f"{before.plain[:-1]} {name}@", before.start, word.end))
            else:
                plain = f"@?{name}@" if is_name else word.plain
                found += [*([before] if before.plain else ()), word._replace(plain=plain)]
        return found


def _plain(kind: str, word: str) -> list[str]:
    match kind:
        case "numeric":
            return [word.replace(".", "/")]
        case "clock":
            return [f"~{clock_read(word.replace('.', ''))}"]
        case "ordinal":
            return [f"#{word}th"]
        case "number":
            digits = word.rstrip("k ")
            if re.fullmatch(r"\d{1,3}([.,]\d{3})+", digits):
                digits = re.sub("[.,]", "", digits)
            number = float(digits.replace(",", ".")) * (1000 if word.endswith("k") else 1)
            return [f"#{number:.2f}".removesuffix(".00")]
        case "end" | "bracket" | "to":
            return [{"!": ".", "(": "<", ")": ">", "-": "to", "–": "to"}.get(word, word)]
    if word.endswith("n't") or word == "cannot":
        return ["can" if word.startswith("can") else word[:-3], "not"]
    word = _SHORT.get(word, re.sub(r"'(s|d|ll|re|m|ve)$", "", word))
    return [f"${code}" if (code := _currencies().get(word)) else word]


def _with_numbers(words: Sequence[Word]) -> list[Word]:
    """Numbers in words as numbers: the longest run that is one. Without the package that knows
    them (text2num, of the extras web and mcp) those up to twelve."""
    found, at = list[Word](), 0
    while at < len(words):
        for end in range(min(at + 6, len(words)), at, -1):
            number = _number(" ".join(word.plain for word in words[at:end]))
            if number is not None:
                found.append(Word(f"#{number}", words[at].start, words[end - 1].end))
                break
        else:
            found.append(words[at])
        at = end
    return found


def _number(words: str) -> int | None:
    if words in NUMBERS:
        return NUMBERS.index(words) + 1
    if not words.replace(" ", "").isalpha():
        return None
    with suppress(ImportError, ValueError):
        from text_to_num import text2num

        return int(text2num(words, "en"))
    return None


@cache
def tables() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("travellers.toml").read_text(encoding="utf-8"))


@cache
def _currencies() -> dict[str, str]:
    table = tables()["currencies"]
    return {word: code for code, words in table.items() for word in words.split()}


@cache
def grammar() -> Grammar:
    table, digits = tables(), frozenset("0123456789")
    own = {
        "numeric": Piece("[0-9]{1,2}/[0-9]{1,2}/[0-9]{4} ", digits, False),
        "currency": Piece(r"\$[A-Z]{3} ", frozenset("$"), False),
        "clock": Piece("~[0-9:]+ ", frozenset("~"), False),
        "name": Piece("%[^%]+% ", frozenset("%"), False),
    }
    templates = [(field, each) for field, some in table["phrases"].items() for each in some]
    return made_grammar(templates, table["slots"], {"any": table["meaningless"]}, own)


@cache
def known_words() -> frozenset[str]:
    phrases, meaningless = grammar()
    patterns = (phrase.pattern.pattern for some in phrases.values() for phrase in some)
    words = {word for each in patterns for word in re.findall(r"[a-z]+", each)}
    return frozenset(words | meaningless.keys() | _currencies().keys())


def left_over(text: str) -> list[str]:
    """Words that another reader passed over and that mean something."""
    nothing = grammar().meaningless
    words = (word for word in Typed({}).words(text) if word.plain not in (*nothing, "."))
    return [text[word.start : word.end] for word in words]


# ---- facts


def quoted(words: Sequence[str], word: str = "and") -> str:
    return listed([f"'{each}'" for each in words], word=word)


LISTS = ("rule", "cuisine", "visit", "without")  # of which a text may state several
ENDS = {"route": ("origin", "destination"), "route back": ("destination", "origin")}
FACT = re.compile(r"[@%](?P<name>[^@%]+)[@%]|~(?P<clock>.+)|\$.+|#(?P<number>[0-9]{1,2})")


@dataclass(frozen=True)
class Takes:
    """Into which field of a desk's form a fact goes, where the names differ, and its values; facts
    that are no field are what the desk cannot honour. `around`: names of a city that one may ask
    for. `asks`: fields without which nothing is planned, though the form does not need them.
    `today`: where days are real; without it "tomorrow" is asked back."""

    fields: Mapping[str, str]
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    around: Callable[[str], Iterable[str]] = lambda city: ()
    asks: Sequence[str] = ()
    today: Date | None = None


@dataclass
class Facts:
    """What a text states: by fact the values, each with the words that say it, in order; questions
    that it leaves open, by fact; wishes that no desk keeps; words that are not understood. A fact
    of which nobody asks is not understood, either."""

    text: str
    form: Sequence[FormField]
    cities: Mapping[str, str]
    takes: Takes
    names: Iterable[str] = ()
    values: dict[str, list[tuple[Any, Said]]] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    beyond: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.fields = {field.name: field for field in self.form}
        units = (field.unit for field in self.form if field.kind == "money" and field.unit)
        self.unit = next(units, "USD")
        if len(self.text) > LONGEST_TEXT:
            self.unread.append(f"{self.text[:60]} …")
            return
        unread, sorry = list[Word](), list[int]()
        for said in [*read_phrases(self.text, Typed(self.cities, self.names), grammar()), None]:
            if said is not None and said.field == UNCLEAR:
                unread += said.words
                continue
            if unread:
                self.unread.append(self.words(unread))
                unread = []
            if said is None or said.phrase is None or said.field in ("nothing", "weekday"):
                continue
            if said.field == "beyond":
                self.beyond.append(self.words(said.words))
            elif said.field == "sorry":
                sorry.append(said.words[0].start)
            else:
                self._state(said, said.phrase.value)
        for at in sorry:  # of what is said before "no, wait" and again behind it, the latter counts
            for fact, stated in self.values.items():
                later = [each for each in stated if each[1].words[0].start > at]
                if later and fact not in LISTS:
                    self.values[fact] = later

    def words(self, words: Sequence[Word]) -> str:
        return self.text[words[0].start : words[-1].end]

    def said(self, *facts: str) -> list[Said]:
        self.asked |= {*facts}
        return [said for fact in facts for _, said in self.values.get(fact, ())]

    def of(self, *facts: str) -> list[str]:
        """The words that state them."""
        return [self.words(said.words) for said in self.said(*facts)]

    def all(self, fact: str) -> list[Any]:
        self.asked.add(fact)
        return list(dict.fromkeys(value for value, _ in self.values.get(fact, ())))

    def one(self, fact: str, question: str = "") -> Any:
        """None where nothing is said, or two things are: that is a question then."""
        values = self.all(fact)
        if len(values) > 1:
            said = quoted(self.of(fact), "or")
            self.questions[question or fact] = f"Which one is meant: {said}?"
        return values[0] if len(values) == 1 else None

    def state(self, fact: str, value: Any, said: Said) -> None:
        self.values.setdefault(fact, []).append((value, said))

    def _state(self, said: Said, fixed: str | None) -> None:
        plain = [word.plain for word in said.words]
        marks = [mark for each in plain if (mark := FACT.fullmatch(each))]
        names = [mark["name"].lstrip("?") for mark in marks if mark["name"]]
        numbers, fixed = ([int(fixed)], None) if fixed and fixed.isdecimal() else ([], fixed)
        numbers += [int(mark["number"]) for mark in marks if mark["number"]]
        match said.field:
            case "route" | "route back":
                for fact, name in zip(ENDS[said.field], names, strict=False):
                    self.state(fact, name, said)
            case "dates" | "back":
                self._state_dates(said, plain)
            case "relative":
                self._state_from_today(said, plain)
            case "budget" | "per person" | "nightly_budget" | "ideal":
                amount = float(next(each for each in plain if each[0] == "#")[1:])
                self.state(said.field, int(amount) if amount.is_integer() else amount, said)
                currency = next((each[1:] for each in plain if each[0] == "$"), self.unit)
                if currency != self.unit:
                    fact = said.field if said.field == "nightly_budget" else "budget"
                    words = f"What is {amount:,g} {currency} in {self.unit}"
                    self.questions[fact] = f"{words}? Amounts here are in {self.unit}."
            case "rules" | "cuisine":
                known = (
                    tables()["rules"]
                    if said.field == "rules"
                    else {each.lower(): each for each in CUISINES}
                )
                for each in filter(None, map(known.get, plain)):
                    self.state("rule" if said.field == "rules" else "cuisine", each, said)
            case "visit" | "without":
                for name in names:
                    self.state(said.field, name, said)
            case "children" | "of them":
                in_months = "month" in self.words(said.words)
                ages = tuple(0 if in_months else age for age in numbers[1:])
                self.state(said.field, (numbers[0], ages), said)
            case fact:
                clock = next((mark["clock"] for mark in marks if mark["clock"]), None)
                value = clock or fixed or next(iter((*names, *numbers)), "")
                self.state(fact, value or self.words(said.words), said)

    def _state_dates(self, said: Said, plain: Sequence[str]) -> None:
        """A day without a year is one of the desk's days; 5/3 is March or May, as these have it."""
        calendar = self.fields["depart_date"]
        first, last = Date.fromisoformat(calendar.low), Date.fromisoformat(calendar.high)
        choices = [
            [(year, b, a), (year, a, b)]
            for each in plain
            if "/" in each
            for a, b, year in [map(int, each.split("/"))]
        ]
        if not choices:
            named = [*named_dates(said.words)]
            month = next((month for _, month, _ in reversed(named) if month), 0)
            years = [year for year, _, _ in named if year] or [*range(first.year, last.year + 1)]
            choices = [
                [(each, own or month, day) for each in ([year] if year else years)]
                for year, own, day in named
            ]
        weekday = next((WEEKDAYS.index(each) for each in plain if each in WEEKDAYS), None)
        facts = ["return_date"] if said.field == "back" else ["depart_date", "return_date"]
        for fact, days in zip(facts, choices, strict=False):
            real = {Date(*day) for day in days if _is_day(*day)}
            here = {day for day in real if first <= day <= last} or real
            if weekday is not None and len(choices) == 1:
                here = {day for day in here if day.weekday() == weekday}
            if len(here) != 1:
                words = self.words(said.words)
                self.questions[fact] = (
                    f"Which day is '{words}'? The days here are {first} to {last}."
                )
                return
            self.state(fact, here.pop(), said)

    def _state_from_today(self, said: Said, plain: Sequence[str]) -> None:
        """A weekday is the first from tomorrow on, one on the way back the first after the start;
        "next" is of the week after this one, from Monday. Today's own name may be either."""
        weekdays = [WEEKDAYS.index(each) for each in plain if each in WEEKDAYS]
        weekdays = [5, 6] if "weekend" in plain else weekdays
        today, is_back = self.takes.today, bool({*plain} & {"back", "returning", "return"})
        is_next = bool({*plain} & {"next", "following"})
        if today is None or today.weekday() in weekdays and not (is_back or is_next):
            self.state("undated", self.words(said.words), said)
            return
        ahead = {"today": 0, "tonight": 0, "tomorrow": 1 + ("after" in plain)}
        many = 7 if {*plain} & {"week", "weeks"} else 1
        counted = [many * int(each[1:]) for each in plain if each[0] == "#"]
        counted += [ahead[each] for each in plain if each in ahead]
        days = [today + timedelta(each) for each in counted]
        at = today + timedelta(6 - today.weekday()) if is_next else today
        if is_back and self.all("depart_date"):
            at = max(self.all("depart_date"))
        for weekday in weekdays:
            at += timedelta((weekday - at.weekday() - 1) % 7 + 1)
            days.append(at)
        facts = ["return_date"] if is_back else ["depart_date", "return_date"]
        for fact, day in zip(facts, days, strict=False):
            self.state(fact, day, said)
        self.state("relative", today, said)

    # ---- what several facts come to

    def destination(self) -> str | None:
        start, home = self.all("origin"), self.all("home")
        away = self.all("destination") + self.all("stop")
        away = list(dict.fromkeys(away + [name for name in home if [name] != start]))
        if len(away) > 1:
            self.questions["destination"] = f"Only one is planned here: {listed(away, word='or')}?"
        return away[0] if len(away) == 1 else None

    def dates(self) -> tuple[Date | None, Date | None]:
        start, end = self.one("depart_date"), self.one("return_date")
        days, nights = self.one("days", "return_date"), self.one("nights", "return_date")
        if days and nights not in (None, days - 1):
            words = quoted(self.of("days", "nights"), "or")
            self.questions["return_date"] = f"Which one is meant: {words}?"
        if (length := days - 1 if days else nights) is not None:
            if start and end not in (None, start + timedelta(length)):
                self.questions["return_date"] = (
                    f"Is the last day {end}, or {start + timedelta(length)}?"
                )
            if start:
                end = start + timedelta(length)
            elif end:
                start = end - timedelta(length)
        if start and end and end < start:
            self.questions["return_date"] = f"{end} is before the start, {start}. When does it end?"
        loose = self.of("undated") + (self.of("days", "nights") if not start else [])
        loose += self.of("weekend") if not (start and (end or self.of("one way"))) else []
        if loose:
            self.questions["return_date" if start else "depart_date"] = (
                f"Which days are {quoted(loose)}?"
            )
        self.asked.add("weekend")
        return start, end

    def party(self) -> tuple[int | None, int, bool]:
        """(people in all, children among them, whether any of these may be under ten). Who comes
        "with" or "and" comes on top; of a family or in brackets they are among them."""
        group, family, adults = (
            self.one(each, "party_size") for each in ("people", "family", "adults")
        )
        more, among = (
            [value for value, _ in self.values.get(each, ())] for each in ("children", "of them")
        )
        joined = all(
            said.words[0].plain in ("and", "plus", "with", "as") for said in self.said("children")
        )
        self.asked.add("of them")
        children, ages = (
            sum(each[0] for each in more + among),
            [age for each in more + among for age in each[1]],
        )
        total, question = group or family, ""
        if adults:
            total = adults + children
            question = (
                f"How many people travel, {group} or {total}?" if group not in (None, total) else ""
            )
        elif total and more and not family:
            question = "" if joined else f"Are the {children} children among the {total}?"
            total += sum(each[0] for each in more)
        elif children and not total:
            question = f"How many people travel with the {children} children?"
        if question:
            self.questions["party_size"] = question
        return total, children, len(ages) < children or min(ages, default=A_CHILD) < A_CHILD

    def values_of(self) -> Iterator[tuple[str, Any, list[Said]]]:
        """(fact, value, the words that say it)."""
        yield "origin", self.one("origin"), self.said("origin")
        yield "destination", self.destination(), self.said("destination", "stop", "home")
        start, end = self.dates()
        yield "depart_date", start and str(start), self.said("depart_date")
        if self.values.get("one way") and not self.fields["return_date"].required:
            yield "nights", self.one("nights"), self.said("nights", "one way")
            if until := self.of("return_date", "days"):
                words = quoted([*self.of("one way"), *until], "or")
                self.questions["return_date"] = f"Which one is meant: {words}?"
        else:
            self.beyond += self.of("one way")
            yield "return_date", end and str(end), self.said("return_date", "days", "nights")
        people, children, are_young = self.party()
        yield "party_size", people, self.said("people", "family", "adults", "children", "of them")
        if children:
            self.beyond.append(tables()["of_children"])
            if "children" in self.fields:
                yield "children", children, []
            if are_young and self.takes.fields.get("rule") in self.fields:
                self.state("rule", "children under 10", self.said("children", "of them")[0])
        for value, said in self.values.get("per person", ()):
            self.state("budget", value * (people or 0), said)
            if not people:
                self.questions["budget"] = tables()["asked"]["party_size"]
        self.beyond += self.of("ideal")
        self.asked.add("per person")
        for fact in tables()["plain"].split():
            yield fact, self.one(fact), self.said(fact)
        for fact in LISTS:
            yield fact, self.all(fact), self.said(fact)


def _is_day(year: int, month: int, day: int) -> bool:
    with suppress(ValueError):
        return bool(Date(year, month, day))
    return False


# ---- facts → a form


def read(
    text: str, form: Sequence[FormField], cities: Mapping[str, str], takes: Takes
) -> Understood:
    """A whole request."""
    facts, known = Facts(text, form, cities, takes), {*cities, *cities.values()}
    if city := next((name for name in facts.all("destination") if name in known), None):
        facts = Facts(text, form, cities, takes, takes.around(city))
    return filled(facts)


def filled(facts: Facts) -> Understood:
    fields, takes = facts.fields, facts.takes
    found, cannot, spans = dict[str, Any](), list[str](), list[Span]()
    missing = dict[str, str]()
    for fact, value, said in facts.values_of():
        name = takes.fields.get(fact, fact)
        if isinstance(value, str):
            value = takes.values.get(fact, {}).get(value, value)
        if value in EMPTY or fact in facts.questions:
            continue
        if name not in fields or (
            fields[name].kind == "choice" and value not in fields[name].options
        ):
            cannot += [facts.words(each.words) for each in said]
        elif problems := problems_of([fields[name]], {name: value}):
            missing[name] = problems[0].message
        else:
            found[name] = value
            spans += [Span(each.words[0].start, each.words[-1].end, name) for each in said]
    for fact, question in facts.questions.items():
        if (name := takes.fields.get(fact, fact)) in fields:
            missing[name] = question
        else:
            cannot += facts.of(fact)
    counted_from = facts.all("relative")
    unread = facts.unread + facts.of(*(facts.values.keys() - facts.asked))
    asks = () if facts.of("one way") else takes.asks
    missing |= unsaid(fields, takes, {**missing, **found}, asks)
    told = sentence(facts.form, found, missing)
    for today in counted_from:
        told += f"; counted from {today.day} {MONTHS[today.month - 1]} {today.year}"
    return Understood(
        found,
        tuple(whole(spans, len(facts.text))),
        missing,
        f"Not understood: {quoted(unread)}." if unread else None,
        told,
        tuple(dict.fromkeys(facts.beyond + cannot)),
        tuple(dict.fromkeys(unread)),
    )


def checked(read: Understood, request: Callable[[Json], Any]) -> Understood:
    """With what keeps the whole from being a request as a question."""
    if read.missing or read.unread:
        return read
    try:
        request(read.values)
    except FormProblems as wrong:
        return replace(read, missing={each.field: each.message for each in wrong.problems})
    return read


def unsaid(
    fields: Mapping[str, FormField], takes: Takes, known: Container[str], asks: Sequence[str] = ()
) -> dict[str, str]:
    """Questions for what a desk needs and nobody said."""
    names = {takes.fields.get(fact, fact): question for fact, question in tables()["asked"].items()}
    return {
        name: question if fields[name].required else f"{question[:-1]}, or is it one way?"
        for name, question in names.items()
        if name not in known and (fields[name].required or name in asks)
    }


# ---- changes of a trip that is planned

FEWER_BY = 0.9  # of what the plan costs, where something cheaper is asked for
STAYS = ("stay", "accommodation")
RIDES = ("flight", "train", "self-driving", "driving", "taxi", "way", "walking", "transit")


def change(
    text: str,
    form: Sequence[FormField],
    cities: Mapping[str, str],
    takes: Takes,
    values: Json,
    view: Json,
    comfort: float | None,
) -> Understood:
    """Words about a plan (`TripView`, as JSON) for these wishes, as other wishes."""
    named = {
        name if city in cities else item["text"]: item
        for part in view["parts"]
        for item in part["items"]
        for name, _, city in [item["text"].rpartition(", ")]
        if item["kind"] not in RIDES
    }
    facts = Facts(text, form, cities, takes, named)
    if facts.said("days", "nights") and "depart_date" not in facts.values:
        start = Date.fromisoformat(values["depart_date"])
        facts.state("depart_date", start, facts.said("days", "nights")[0])
    for said in facts.said("people"):
        numbers = [word.plain for word in said.words if word.plain[0] == "#"]
        if len(numbers) > 1 and numbers[1] != f"#{values.get('party_size')}":
            facts.questions["party_size"] = (
                f"It is {values.get('party_size')} now. How many shall it be?"
            )
    level = None if comfort is None else round(comfort * (len(COMFORT) - 1))
    new = {**values, **dict(_changed(facts, values, view, named, level))}
    new_level = new.pop("comfort", level)
    heard = filled(facts)
    for name, value in heard.values.items():
        old = new.get(name) or []
        new[name] = list(dict.fromkeys([*old, *value])) if isinstance(value, list) else value
    stated = {takes.fields.get(fact, fact) for fact in facts.questions} | heard.values.keys()
    wrong = {each.field: each.message for each in problems_of(form, new)}
    changes = [
        FieldChange(name, field.label, *(shown(field, each.get(name)) for each in (values, new)))
        for name, field in facts.fields.items()
        if (new.get(name) or None) != (values.get(name) or None)
    ]
    if level is not None and new_level != level:
        changes.append(FieldChange("comfort", "Comfort", COMFORT[level], COMFORT[new_level]))
    return replace(
        heard,
        values=new,
        missing=wrong | {name: words for name, words in heard.missing.items() if name in stated},
        sentence=sentence(form, new),
        changes=tuple(changes),
        could_say=tuple(
            words.format(facts.unit)
            for words in tables()["could_say"]
            if words != "more comfortable" or level is not None
        ),
        comfort=None if new_level == level else new_level / (len(COMFORT) - 1),
    )


def _changed(
    facts: Facts, values: Json, view: Json, named: Json, level: int | None
) -> Iterator[tuple[str, Any]]:
    """Fields that words of change give other values, and the level of comfort."""
    fields, takes = facts.fields, facts.takes

    def by(more: str, less: str) -> int:
        return sum(map(int, facts.all(more))) - sum(map(int, facts.all(less)))

    def cannot(*wishes: str) -> None:
        facts.beyond.extend(facts.of(*wishes))

    moved, longer = by("later", "earlier"), by("longer", "shorter")
    for name, days in (("depart_date", moved), ("return_date", moved + longer)):
        if days and values.get(name):
            yield name, str(Date.fromisoformat(values[name]) + timedelta(days))
    if people := by("more people", "fewer people"):
        yield "party_size", (values.get("party_size") or 0) + people
    before, added = values.get("without") or (), {*facts.all("with_city")}
    if "cities" not in fields:
        cannot("more cities", "fewer cities", "with_city")
    elif added - {*before}:
        facts.questions["cities"] = tables()["which_cities"]
    elif added:
        yield "without", [name for name in before if name not in added]
    elif more := by("more cities", "fewer cities"):
        yield "cities", len({stop["name"] for stop in view["route"]}) - 1 + more
    match [wish for wish in ("cheaper", "comfort") if facts.of(wish)]:
        case ["comfort"] if level is not None and level + 1 < len(COMFORT):
            yield "comfort", level + 1
        case ["cheaper"] if level:
            yield "comfort", level - 1
        case ["cheaper"] if view["cost"] is not None:
            yield takes.fields.get("budget", "budget"), math.floor(FEWER_BY * view["cost"])
        case wishes:
            cannot(*wishes)
    for fact in ("transport", "room", "cuisine"):
        if facts.of(f"drop {fact}") and (name := takes.fields.get(fact, fact)) in fields:
            yield name, None
    if facts.of("drop") and (rules := takes.fields.get("rule")):
        yield rules, [rule for rule in values.get(rules) or () if rule != "pets"]
    stays = [name for name, item in named.items() if item["kind"] in STAYS]
    other = facts.of("another hotel")
    unwanted = [name for name in stays if other and not named[name]["alternative"]]
    unwanted = [*facts.all("without"), *unwanted]
    if values.get("destination") in unwanted:
        facts.questions["destination"] = f"Where shall it go instead of {values['destination']}?"
    if "without" in fields and unwanted:
        yield "without", [*(name for name in before if name not in added), *unwanted]
        return
    others = [name for name in stays if name not in unwanted]
    seen = [name for name in values.get("visit") or () if name not in unwanted]
    if {*stays} & {*unwanted} and others:
        yield "hotel", others[0]
    elif {*stays} & {*unwanted}:
        cannot("another hotel")
    if len(seen) < len(values.get("visit") or ()):
        yield "visit", seen
    if {*unwanted} <= {*stays, *(values.get("visit") or ())}:
        facts.values.pop("without", None)
