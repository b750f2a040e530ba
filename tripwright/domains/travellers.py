"""Requests and changes of them as travellers type them, for every desk: the closed grammar of
`travellers.toml`.

A text states facts; a desk says into which fields of its form they go. What is understood and has
no field there is named as what cannot be honoured, and words that are not understood are named as
they stand. Nothing is guessed: two answers to one question, days without a date, money of another
currency become questions. The world's own days say which year is meant, and whether 5/3 is March.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date as Date
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from tripwright.domains.desk import EMPTY, FormField, Span, Understood, problems_of, sentence, whole
from tripwright.domains.grammar import (
    NOTHING,
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
from tripwright.domains.wording import MONTHS, NUMBERS, listed
from tripwright.world.scales import CUISINES

LONGEST_TEXT = 4_000  # characters
A_CHILD = 10  # years, from which on no house rule asks
ASKED = {
    "origin": "Where does the trip start?",
    "destination": "Where shall it go?",
    "depart_date": "When does it start?",
    "return_date": "When does it end?",
    "party_size": "How many people travel?",
    "budget": "What may the whole trip cost?",
}

# ---- words

_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_SHORT = {name[:3]: name for name in _WEEKDAYS} | {m[:3].lower(): m.lower() for m in MONTHS}
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
    "%Zoo%" one of `names`, "$1500" money of the desk, "$1500:EUR" other money, "~18:00" a time."""

    def __init__(self, cities: Mapping[str, str], names: Iterable[str] = (), unit: str = "USD"):
        super().__init__(cities)
        self.unit, self.kinds = (
            unit,
            dict.fromkeys(names, "%") | dict.fromkeys((*cities, *self.states), "@"),
        )
        self._lower = {name.lower(): name for name in self.kinds}
        longest = sorted(map(re.escape, self._lower), key=len, reverse=True)
        self._named = re.compile(rf"(?<!\w)(?:{'|'.join(longest) or '(?!)'})(?!\w)", re.IGNORECASE)

    def words(self, text: str) -> list[Word]:
        return self._with_names(self._with_money(_with_numbers([*self._raw(text)])), text)

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
                for plain in _plain(match.lastgroup, match[match.lastgroup], match[0]):
                    yield Word(plain, *match.span())
            at = named.end() if named else match.end() if match else at + 1

    def _with_money(self, words: Sequence[Word]) -> list[Word]:
        """A number and the currency before or behind it are an amount."""
        found, codes, at = list[Word](), _currencies(), 0
        while at < len(words):
            word, behind = words[at], words[at + 1] if at + 1 < len(words) else None
            number: Word | None = word
            code = codes.get(behind.plain) if behind else None
            after = words[at + 2] if at + 2 < len(words) else None
            if word.plain in codes:
                number, code = behind, codes[word.plain]
            elif code and behind and after and after.plain[0] == "#" and after.start == behind.end:
                code = None  # "March 6, $900"
            if number and code and behind and number.plain[0] == "#":
                foreign = "" if code == self.unit else f":{code}"
                found.append(Word(f"${number.plain[1:]}{foreign}", word.start, behind.end))
                at += 2
            else:
                found.append(word)
                at += 1
        return found

    def _with_names(self, words: Sequence[Word], text: str) -> list[Word]:
        """Words in capitals that the grammar has not are a name; a state behind its city goes with
        it."""
        found, vocabulary = list[Word](), known_words()
        for word in words:
            before = found[-1] if found else None
            if before and word.plain == f"@{self.state_of.get(before.plain[1:-1])}@":
                found[-1] = before._replace(end=word.end)
            elif (
                word.plain.isalpha() and word.plain not in vocabulary and text[word.start].isupper()
            ):
                name = text[word.start : word.end]
                if (
                    before
                    and before.plain[:2] == "@?"
                    and not text[before.end : word.start].strip()
                ):
                    found[-1] = Word(f"{before.plain[:-1]} {name}@", before.start, word.end)
                else:
                    found.append(Word(f"@?{name}@", word.start, word.end))
            else:
                found.append(word)
        return found


def _plain(kind: str, said: str, whole_match: str) -> list[str]:
    word = said.lower()
    match kind:
        case "iso":
            return [word]
        case "numeric":
            return [re.sub(r"[./]", "/", word)]
        case "clock":
            return [f"~{_clock(word)}"]
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
    if word.endswith("n't"):
        return ["can" if word == "can't" else word[:-3], "not"]
    if word == "cannot":
        return ["can", "not"]
    return [_SHORT.get(word, re.sub(r"'(s|d|ll|re|m|ve)$", "", word))]


def _clock(said: str) -> str:
    if said == "noon":
        return "12:00"
    hour, minute = (int(digits) for digits in (re.findall(r"\d+", said) + ["0"])[:2])
    if "m" in said:
        hour = hour % 12 + 12 * ("p" in said)
    return f"{hour:02d}:{minute:02d}"


def _with_numbers(words: Sequence[Word]) -> list[Word]:
    """Numbers in words as numbers: the longest run that is one. Without the package that knows
    them (text2num, of the extras web and mcp) those up to twelve."""
    found, at = list[Word](), 0
    while at < len(words):
        number, end = None, at
        for last in range(at, min(at + 8, len(words))):
            read = _number(" ".join(word.plain for word in words[at : last + 1]))
            if read is not None:
                number, end = read, last + 1
            elif words[last].plain != "and":
                break
        if number is None:
            found.append(words[at])
        else:
            found.append(Word(f"#{number}", words[at].start, words[end - 1].end))
        at = max(end, at + 1)
    return found


@cache
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
def _tables() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("travellers.toml").read_text(encoding="utf-8"))


@cache
def _currencies() -> dict[str, str]:
    table = _tables()["currencies"]
    return {word: code for code, words in table.items() for word in words.split()}


@cache
def grammar() -> Grammar:
    tables, digits = _tables(), frozenset("0123456789")
    own = {
        "numeric": Piece("[0-9]{1,2}/[0-9]{1,2}/[0-9]{4} ", digits, False),
        "foreign": Piece(r"\$[0-9.]+:[A-Z]{3} ", frozenset("$"), False),
        "clock": Piece("~[0-9:]+ ", frozenset("~"), False),
        "name": Piece("%[^%]+% ", frozenset("%"), False),
    }
    templates = [(field, each) for field, some in tables["phrases"].items() for each in some]
    return made_grammar(templates, tables["slots"], {"any": tables["meaningless"]}, own)


@cache
def known_words() -> frozenset[str]:
    phrases, meaningless = grammar()
    patterns = (phrase.pattern.pattern for some in phrases.values() for phrase in some)
    words = {word for each in patterns for word in re.findall(r"[a-z]+", each)}
    return frozenset(words | meaningless.keys() | _currencies().keys())


# ---- facts

LISTS = ("rule", "cuisine", "visit", "without")  # of which a text may state several
# of changes, which make no sense of a trip that nobody has planned
CHANGES = (
    """
cheaper;comfort;later;earlier;longer;shorter;more people;fewer people;more cities;fewer cities
another hotel;with_city;drop;drop transport;drop room;drop cuisine
""".strip()
    .replace("\n", ";")
    .split(";")
)


def quoted(words: Sequence[str], word: str = "and") -> str:
    return listed([f"'{each}'" for each in words], word=word)


@dataclass
class Facts:
    """What a text states: by fact the values, each with the words that say it, in order; questions
    that it leaves open, by fact; wishes that no desk keeps; words that are not understood."""

    text: str
    values: dict[str, list[tuple[Any, Said]]] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    beyond: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    sorry: list[int] = field(default_factory=list)  # where "no, wait" stands

    def words(self, words: Sequence[Word]) -> str:
        return self.text[words[0].start : words[-1].end]

    def of(self, *facts: str) -> list[str]:
        """The words that state them."""
        return [self.words(said.words) for fact in facts for _, said in self.values.get(fact, ())]

    def give_up(self, words: list[Word]) -> None:
        if words:
            self.unread.append(self.words(words))
            words.clear()

    def state(self, fact: str, value: Any, said: Said) -> None:
        self.values.setdefault(fact, []).append((value, said))

    def all(self, fact: str) -> list[Any]:
        return list(dict.fromkeys(value for value, _ in self.values.get(fact, ())))

    def one(self, fact: str, question: str = "") -> Any:
        """None where nothing is said, or two things are: that is a question then."""
        values = self.all(fact)
        if len(values) > 1:
            words = quoted(self.of(fact), "or")
            self.questions[question or fact] = f"Which one is meant: {words}?"
        return values[0] if len(values) == 1 else None


def facts_of(text: str, typed: Typed, low: str, high: str) -> Facts:
    """`low` and `high`: the days of the desk, as ISO text."""
    facts, unread = Facts(text), list[Word]()
    for said in read_phrases(text, typed, grammar()):
        if said.field == UNCLEAR:
            unread += said.words
            continue
        facts.give_up(unread)
        if said.field == "beyond":
            facts.beyond.append(facts.words(said.words))
        elif said.field == "sorry":
            facts.sorry.append(said.words[0].start)
        elif said.phrase is not NOTHING and said.field != "nothing":
            _state(facts, said, low, high, typed)
    facts.give_up(unread)
    _corrected(facts)
    return facts


def _corrected(facts: Facts) -> None:
    """Of what stands before "no, wait" and again behind it, the latter counts."""
    for at in facts.sorry:
        for fact, stated in facts.values.items():
            later = [each for each in stated if each[1].words[0].start > at]
            if later and fact not in LISTS:
                facts.values[fact] = later


def _state(facts: Facts, said: Said, low: str, high: str, typed: Typed) -> None:
    plain = [word.plain for word in said.words]
    places = [each.strip("@?") for each in plain if each[0] == "@"]
    numbers = [int(each[1:]) for each in plain if re.fullmatch("#[0-9]{1,2}", each)]
    match said.field:
        case "route" | "route back":
            ends = places if said.field == "route" else places[::-1]
            for fact, name in zip(("origin", "destination"), ends, strict=False):
                facts.state(fact, name, said)
        case "origin" | "destination" | "stop" | "home" | "with_city":
            facts.state(said.field, places[0], said)
        case "dates" | "back":
            _state_dates(facts, said, plain, low, high)
        case "budget" | "per person" | "nightly_budget" | "ideal":
            amount = next(each for each in plain if each[0] in "$#")[1:]
            number, _, currency = amount.partition(":")
            if currency:
                words = f"What is {number} {currency} in {typed.unit}? Amounts here are in that."
                fact = "nightly_budget" if said.field == "nightly_budget" else "budget"
                facts.questions[fact] = words
            else:
                value = float(number)
                facts.state(said.field, int(value) if value.is_integer() else value, said)
        case "rules" | "cuisine" | "visit" | "without":
            wanted = {"rules": plain, "cuisine": [each.capitalize() for each in plain]}
            known = {"rules": "smoking parties visitors pets".split(), "cuisine": CUISINES}
            named = [each.strip("@%?") for each in plain if each[0] in "@%"]
            for each in wanted.get(said.field, named):
                if each in known.get(said.field, named):
                    facts.state("rule" if said.field == "rules" else said.field, each, said)
        case "hotel" | "hotel_near":
            facts.state(said.field, next(each for each in plain if each[0] == "%")[1:-1], said)
        case "children" | "of them":
            fixed = said.phrase.value if said.phrase else None
            count = int(fixed) if fixed else numbers.pop(0)
            facts.state(
                said.field, (count, tuple(numbers), "month" in facts.words(said.words)), said
            )
        case fact:
            fixed = said.phrase.value if said.phrase else None
            clock = next((each[1:] for each in plain if each[0] == "~"), None)
            if fixed and fixed.isdecimal():
                numbers = [int(fixed)]
            facts.state(fact, clock or (numbers[0] if numbers else fixed or ""), said)


def _state_dates(facts: Facts, said: Said, plain: Sequence[str], low: str, high: str) -> None:
    """A day without a year is the one of the desk's days; 5/3 is March or May, as these have it."""
    first, last = Date.fromisoformat(low), Date.fromisoformat(high)
    choices: list[list[Date]] = []
    if numeric := [each for each in plain if "/" in each]:
        for each in numeric:
            one, two, year = map(int, each.split("/"))
            choices.append(_days((year, two, one), (year, one, two)))
    else:
        named = [*named_dates(said.words)]
        months = [month for _, month, _ in named if month]
        years = [year for year, _, _ in named if year] or [*range(first.year, last.year + 1)]
        for own_year, month, day in named:
            of = [own_year] if own_year else years
            choices.append(_days(*((each, month or months[-1], day) for each in of)))
    dates = list[Date]()
    for days in choices:
        here = [day for day in days if first <= day <= last] or days
        weekday = next((each for each in plain if each in _WEEKDAYS), None)
        if weekday and len(choices) == 1:
            here = [day for day in here if _WEEKDAYS[day.weekday()] == weekday]
        if len(here) != 1:
            fact = "return_date" if said.field == "back" else "depart_date"
            facts.questions[fact] = _which_day(facts.words(said.words), low, high)
            return
        dates.append(here[0])
    for fact, date in zip(("depart_date", "return_date"), dates, strict=False):
        facts.state("return_date" if said.field == "back" else fact, date, said)


def _days(*parts: tuple[int, int, int]) -> list[Date]:
    found = list[Date]()
    for year, month, day in parts:
        with suppress(ValueError):
            found.append(Date(year, month, day))
    return list(dict.fromkeys(found))


def _which_day(words: str, low: str, high: str) -> str:
    return f"Which day is '{words}'? The days here are {low} to {high}."


# ---- facts → a form


@dataclass(frozen=True)
class Takes:
    """Into which field of a desk's form a fact goes, where the names differ, and its values; facts
    that are no field are what the desk cannot honour. `around`: names of a city that one may ask
    for. `asks`: fields without which nothing is planned, though the form does not need them."""

    fields: Mapping[str, str]
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    around: Callable[[str], Iterable[str]] = lambda city: ()
    asks: Sequence[str] = ()


def read(
    text: str, form: Sequence[FormField], cities: Mapping[str, str], takes: Takes
) -> Understood:
    """A whole request."""
    fields = {each.name: each for each in form}
    days, unit = fields["depart_date"], _unit(form)
    typed = Typed(cities, (), unit)
    facts = facts_of(text[:LONGEST_TEXT], typed, days.low, days.high)
    if (city := facts.one("destination")) in cities:
        typed = Typed(cities, takes.around(str(city)), unit)
        facts = facts_of(text[:LONGEST_TEXT], typed, days.low, days.high)
    if len(text) > LONGEST_TEXT:
        facts = Facts(text, unread=[text[:60]])
    for change in CHANGES:
        facts.unread += facts.of(change)
    return _filled(facts, fields, takes)


def unsaid(
    fields: Mapping[str, FormField], takes: Takes, known: Container[str], asks: Sequence[str] = ()
) -> dict[str, str]:
    """Questions for what a desk needs and nobody said."""
    names = {takes.fields.get(fact, fact): question for fact, question in ASKED.items()}
    return {
        name: question
        for name, question in names.items()
        if name not in known and (fields[name].required or name in asks)
    }


def _unit(form: Sequence[FormField]) -> str:
    return next((each.unit for each in form if each.kind == "money" and each.unit), "USD")


def _filled(facts: Facts, fields: Mapping[str, FormField], takes: Takes) -> Understood:
    values = dict(_values(facts, fields, takes))
    renamed = {takes.fields.get(fact, fact): words for fact, words in facts.questions.items()}
    missing = {name: words for name, words in renamed.items() if name in fields}
    facts.unread += [words for name, words in renamed.items() if name not in fields]
    found: dict[str, Any] = {}
    cannot = list(facts.beyond)
    for name, (value, said) in values.items():
        if (
            name not in fields
            or fields[name].options
            and fields[name].kind == "choice"
            and value not in fields[name].options
        ):
            cannot += [facts.words(each.words) for each in said]
        elif name in missing:
            continue
        elif problems := problems_of([fields[name]], {name: value}):
            missing[name] = problems[0].message
        else:
            found[name] = value
    asks = () if "one way" in facts.values else takes.asks
    missing |= unsaid(fields, takes, {**missing, **found}, asks)
    spans = [
        Span(each.words[0].start, each.words[-1].end, name)
        for name in found
        for each in values[name][1]
    ]
    return Understood(
        found,
        tuple(whole(spans, len(facts.text))),
        missing,
        f"Not understood: {quoted(facts.unread)}." if facts.unread else None,
        sentence(tuple(fields.values()), found, missing),
        tuple(dict.fromkeys(cannot)),
        tuple(dict.fromkeys(facts.unread)),
    )


Valued = tuple[str, tuple[Any, list[Said]]]
PLAIN = "cities transport room nightly_budget hotel hotel_near".split()
PLAIN += "depart_after arrive_by return_after return_by".split()
OF_CHILDREN = "children's ages and fares: each child counts as one more person"


def _values(facts: Facts, fields: Mapping[str, FormField], takes: Takes) -> Iterator[Valued]:
    """(field, value, the words that say it)."""

    def valued(fact: str, value: Any, *others: str) -> Iterator[Valued]:
        said = [said for name in (fact, *others) for _, said in facts.values.get(name, ())]
        if value not in EMPTY:
            if isinstance(value, str):
                value = takes.values.get(fact, {}).get(value, value)
            yield takes.fields.get(fact, fact), (value, said)

    yield from valued("origin", facts.one("origin"))
    yield from valued("destination", _destination(facts))
    start, end = _dates(facts)
    yield from valued("depart_date", start and str(start))
    if not facts.values.get("one way"):
        yield from valued("return_date", end and str(end), "days", "nights")
    elif fields["return_date"].required:
        facts.beyond += facts.of("one way")
    else:
        yield from valued("nights", facts.one("nights"))
    people, children, are_young = _party(facts)
    kin = ("people", "family", "adults", "children", "of them")
    yield from valued("party_size", people, *kin)
    if children:
        facts.beyond.append(OF_CHILDREN)
        if "children" in fields:
            yield from valued("children", children)
        if are_young and takes.fields.get("rule") in fields:
            of_child = next(facts.values[name][0][1] for name in kin[3:] if name in facts.values)
            facts.state("rule", "children under 10", of_child)
    each = facts.one("per person", "budget")
    if each and people:
        facts.values.setdefault("budget", []).extend(
            (amount * people, said) for amount, said in facts.values["per person"]
        )
    elif each:
        facts.questions["budget"] = ASKED["party_size"]
    yield from valued("budget", facts.one("budget"))
    facts.beyond += facts.of("ideal")
    for fact in PLAIN:
        yield from valued(fact, facts.one(fact))
    for fact in LISTS:
        yield from valued(fact, facts.all(fact))


def _destination(facts: Facts) -> str | None:
    places, home = facts.all("destination") + facts.all("stop"), facts.all("home")
    start = facts.all("origin")
    away = list(dict.fromkeys([*places, *(name for name in home if [name] != start)]))
    if len(away) > 1:
        facts.questions["destination"] = (
            f"One destination is planned here: {listed(away, word='or')}?"
        )
        return None
    return away[0] if away else None


def _dates(facts: Facts) -> tuple[Date | None, Date | None]:
    start, end = facts.one("depart_date"), facts.one("return_date")
    days, nights = facts.one("days", "return_date"), facts.one("nights", "return_date")
    length = days - 1 if days else nights
    if length is not None and start:
        last = start + timedelta(days=length)
        if end not in (None, last):
            facts.questions["return_date"] = f"Is the last day {end} or {last}?"
        end = last
    elif length is not None and end:
        start = end - timedelta(days=length)
    if start and end and end < start:
        facts.questions["return_date"] = (
            f"The way back, {end}, is before the start, {start}. When does it end?"
        )
    loose = facts.of("undated")
    if not start or not (end or facts.values.get("one way")):
        loose += facts.of("weekend")
    if not start:
        loose = facts.of("days", "nights") + loose
    if loose:
        fact = "return_date" if start else "depart_date"
        facts.questions[fact] = f"Which days are {quoted(loose)}?"
    return start, end


def _party(facts: Facts) -> tuple[int | None, int, bool]:
    """(people in all, children among them, whether any of these may be under ten). Who comes "with"
    or "and" comes on top; of a family or in brackets they are among them."""
    group, family, adults = (
        facts.one(name, "party_size") for name in ("people", "family", "adults")
    )
    more = [each for each, _ in facts.values.get("children", ())]
    among = [each for each, _ in facts.values.get("of them", ())]
    children = sum(count for count, _, _ in (*more, *among))
    ages = [1 if months else age for _, some, months in (*more, *among) for age in some]
    are_young = len(ages) < children or min(ages, default=0) < A_CHILD
    joined = all(
        said.words[0].plain in ("and", "plus", "with", "as")
        for _, said in facts.values.get("children", ())
    )
    total = group or family
    if adults:
        total = adults + children
        if group not in (None, total):
            facts.questions["party_size"] = f"How many people travel, {group} or {total}?"
    elif total and more and not family:
        if not joined:
            facts.questions["party_size"] = f"Are the {children} children among the {total}?"
        total += sum(count for count, _, _ in more)
    elif children and not total:
        facts.questions["party_size"] = f"How many people travel with the {children} children?"
    return total, children, are_young
