"""The words of a traveller's request: written by a grammar, and read back by the same tables (row
D8).

The phrases are data, in `words.toml`. Every phrase is also a pattern by which the reader finds the
intents, so that nothing can be said here which is not read: words that would be read otherwise than
they are meant are refused. A text that the grammar did not write may still be read, as a person may
edit one; where it says one intent twice, or lacks one that every request has, it is refused and not
guessed at.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date as Date
from functools import cache
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from tripwright.domains.deeptravel.request import Transport, TravelRequest
from tripwright.domains.deeptravel.requests.intents import days_after, nights_of, shape_of
from tripwright.domains.desk import Span
from tripwright.domains.wording import (
    MONTHS,
    NUMBERS,
    TOGETHER,
    capitalised,
    clock_read,
    ordinal,
    speaker,
)


@cache
def grammar() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


# ---- slots: each is written in several ways, and every one of them is read

_MONTH = "|".join(MONTHS)
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)?"
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_WEEKDAY = rf"(?:(?:{'|'.join(_WEEKDAYS)}), )?"
DAY = (
    rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|{_WEEKDAY}(?:(?:{_MONTH}) {_ORDINAL}, \d{{4}}|{_ORDINAL} (?:of"
    rf" )?(?:{_MONTH}) \d{{4}}))"
)
NUMBER = rf"(?:\d{{1,2}}|{'|'.join(NUMBERS)})"
NIGHTS = rf"(?:{NUMBER} nights?)"
CLOCK = r"(?:\d{1,2}:\d{2}(?: [ap]m)?|\d{1,2} [ap]\.?m\.?|noon)"
USD = r"(?:\$[\d,]+(?:\.\d{2})?|(?:[A-Z]{3}) [\d,]+(?:\.\d{2})?|[\d,]+(?:\.\d{2})? dollars)"
_CAPITAL, _WORD = r"[^\W_a-z]", r"[\w'’&/+-]"  # a name begins with a capital or a digit
_NOT_IN_NAMES = r"(?!(?i:and|while|would be best|for the nights)\b)"
_BARE = rf"{_CAPITAL}{_WORD}*(?: {_NOT_IN_NAMES}{_WORD}+)*"
NAME = rf"(?:\"[^\"]+\"|{_BARE}?)"
_NOT_IN_CITIES = r"(?!(?:to|from|on|one|leaving|departing|for|until)\b)"
CITY = rf"(?:{_CAPITAL}[\w'’.&/-]*(?: {_NOT_IN_CITIES}[\w'’.&/-]+)*?)"

_ALONE = speaker(1)
_VOICE = {slot: f"(?:{word}|{_ALONE[slot]})" for slot, word in TOGETHER.items()}
_VOICE |= {capitalised(slot): f"(?i:{found})" for slot, found in _VOICE.items()}


def voiced(phrase: str, party_size: int) -> str:
    """The phrase with the speaker's words; its other slots stay."""
    for slot, word in speaker(party_size).items():
        phrase = phrase.replace(f"{{{slot}}}", word).replace(
            f"{{{capitalised(slot)}}}", capitalised(word)
        )
    return phrase


def pattern(phrase: str) -> str:
    """A regular expression for everything that the phrase can say, in a group for each of its
    slots."""
    parts = re.split(r"\{(\w+)\}", phrase)
    parts[::2] = map(re.escape, parts[::2])
    parts[1::2] = [_VOICE.get(slot) or f"(?P<{slot}>{SLOTS[slot][0]})" for slot in parts[1::2]]
    return "".join(parts)


def day_said(rng: random.Random, day: str) -> str:
    date = Date.fromisoformat(day)
    month = MONTHS[date.month - 1]
    weekday = f"{_WEEKDAYS[date.weekday()]}, " if rng.random() < 0.15 else ""
    ways = (
        f"{weekday}{month} {date.day}, {date.year}",
        f"{weekday}{month} {ordinal(date.day)}, {date.year}",
        f"{weekday}{date.day} {month} {date.year}",
        f"{ordinal(date.day)} of {month} {date.year}",
        day,
    )
    return rng.choice(ways)


def day_read(text: str) -> str:
    """Raises ValueError for a day that is in no calendar, or that is not the day of the week it is
    said to be."""
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return Date.fromisoformat(text).isoformat()
    month = next(number for number, name in enumerate(MONTHS, start=1) if name in text)
    numbers = [int(digits) for digits in re.findall(r"\d+", text)]
    date = Date(max(numbers), month, min(numbers))
    weekday, comma, _ = text.partition(", ")
    if comma and weekday in _WEEKDAYS and weekday != _WEEKDAYS[date.weekday()]:
        raise ValueError(f"{date} is no {weekday}")
    return date.isoformat()


def number_said(rng: random.Random, count: int) -> str:
    return NUMBERS[count - 1] if 0 < count <= len(NUMBERS) and rng.random() < 0.5 else str(count)


def number_read(text: str) -> int:
    return NUMBERS.index(text) + 1 if text in NUMBERS else int(text)


def nights_said(rng: random.Random, count: int) -> str:
    return f"{number_said(rng, count)} night{'s' * (count != 1)}"


def clock_said(rng: random.Random, clock: str) -> str:
    hour, minute = int(clock[:2]), int(clock[3:])
    if clock == "12:00" and rng.random() < 0.4:
        return "noon"
    half, on_dial = "pm" if hour >= 12 else "am", hour % 12 or 12
    if minute == 0 and rng.random() < 0.4:
        return f"{on_dial} {half}"
    return f"{on_dial}:{minute:02d} {half}" if rng.random() < 0.4 else clock


def money_said(rng: random.Random, value: float, currency: str) -> str:
    amount = f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
    if currency != "USD":
        return f"{currency} {amount}"
    return rng.choice((f"${amount}", f"${amount}", f"USD {amount}", f"{amount} dollars"))


def money_read(text: str) -> tuple[float, str]:
    currency = re.search(r"\b[A-Z]{3}\b", text)
    return float(re.sub(r"[^\d.]", "", text)), currency[0] if currency else "USD"


def name_said(name: str) -> str:
    """In quotation marks where the words alone would not say where it ends."""
    return name if re.fullmatch(_BARE, name) else f'"{name}"'


SLOTS: dict[str, tuple[str, Callable[[str], Any]]] = {  # what may stand there, how it is read
    **dict.fromkeys(("org", "dest"), (CITY, str)),
    **dict.fromkeys(("depart", "back"), (DAY, day_read)),
    "nights": (NIGHTS, lambda words: number_read(words.split()[0])),
    "n": (NUMBER, number_read),
    "t": (CLOCK, clock_read),
    "usd": (USD, money_read),
    **dict.fromkeys(("hotel", "place", "place2"), (NAME, lambda words: words.strip('"'))),
}


# ---- writing

FIRST_HOUR, LAST_HOUR = "08:00", "20:00"  # of a meeting


class UnreadableRequest(ValueError):
    """What the words do not say, or say twice, or say otherwise than it is meant."""


def word_request(rng: random.Random, request: TravelRequest) -> str:
    """One text for these intents. Equal states of `rng` give equal texts. Raises UnreadableRequest
    where it would not be read as it is meant: for a city whose name cannot be told from the words
    around it, a third place to visit, a part of a cent."""
    table = grammar()
    main, clauses = _main(rng, request)
    wishes = [_clause(rng, request, kind, words) for kind, words in [*_wished(rng, request)]]
    rng.shuffle(wishes)
    mixed = clauses and rng.random() < 0.3
    sentences = [*clauses, *_joined(rng, wishes)]
    if mixed:
        rng.shuffle(sentences)
    # somebody may begin with what matters to them
    place = 0 if rng.random() < 0.85 else rng.randint(0, len(sentences))
    texts = [*sentences[:place], main, *sentences[place:]]
    if rng.random() < 0.15:
        texts.insert(0, rng.choice(table["greetings"]))
    if rng.random() < 0.2:
        texts.append(rng.choice(table["closings"]))
    text = " ".join(texts)
    if read_request(text) != request.model_copy(update={"id": "", "level": None, "query": text}):
        raise UnreadableRequest("these names and numbers cannot be told from the words around them")
    return text


def _main(rng: random.Random, request: TravelRequest) -> tuple[str, list[str]]:
    """The sentence with the route and the days, and those that the party may need besides."""
    table, shape = grammar(), str(shape_of(request))
    values = {
        "org": request.origin,
        "dest": request.destination,
        "depart": day_said(rng, request.depart_date),
    }
    if shape == "round_trip" and request.nights is not None:
        shape = "round_trip_nights"
    when = rng.choice(table["when"][shape])
    if "{nights}" in when:
        values["nights"] = nights_said(rng, nights_of(request))
    if "{back}" in when:
        values["back"] = day_said(rng, request.return_date or "")
    if rng.random() < 0.35:
        start, end, inline = rng.choice(table["going"]), ".", table["party"]["going"]
    else:
        (ask, end), inline = rng.choice(table["asks"]), table["party"]["inline"]
        start = f"{ask} {rng.choice(table['nouns'])}"
    party, clauses = _party(rng, request.party_size, inline)
    phrase = " ".join(filter(None, (start, party, rng.choice(table["routes"]), when)))
    return voiced(phrase, request.party_size).format(**values) + end, clauses


def _party(rng: random.Random, party_size: int, inline: Sequence[str]) -> tuple[str, list[str]]:
    """Words for the main sentence, or a sentence of its own; for one person often neither."""
    party = grammar()["party"]
    if party_size == 1:
        return "", [f"{rng.choice(party['alone'])}."] if rng.random() < 0.3 else []
    n = number_said(rng, party_size)
    if rng.random() < 0.6:
        return rng.choice(inline).format(n=n), []
    return "", [f"{rng.choice(party['clause']).format(n=n)}."]


def _wished(rng: random.Random, request: TravelRequest) -> Iterator[tuple[str, dict[str, str]]]:
    """The table of phrases for each wish, and what goes into its slots."""
    for wish in request.wishes:
        value = getattr(request, wish)
        if wish == "transport":
            yield value, {}
        elif wish == "visit":
            names = dict(zip(("place", "place2"), map(name_said, value), strict=False))
            yield "visit" if len(names) == 1 else "visit_two", names
        elif wish in ("hotel", "hotel_near"):
            yield wish, {"hotel" if wish == "hotel" else "place": name_said(value)}
        elif wish in ("total_budget", "nightly_budget"):
            yield wish, {"usd": money_said(rng, value, request.currency)}
        else:
            yield wish, {"t": clock_said(rng, value)}


def _clause(rng: random.Random, request: TravelRequest, kind: str, words: dict[str, str]) -> str:
    phrases, by_day = grammar()["wishes"][kind], grammar()["by_day"]
    if "t" in words and not FIRST_HOUR <= clock_read(words["t"]) <= LAST_HOUR:
        phrases = [phrase for phrase in phrases if not any(word in phrase for word in by_day)]
    return voiced(rng.choice(phrases), request.party_size).format(**words)


def _joined(rng: random.Random, wishes: list[str]) -> list[str]:
    """The wishes as sentences: some with a word to lead in, some two in one."""
    sentences: list[str] = []
    for wish in wishes:
        before = sentences[-1] if sentences else ""
        may_join = not wish.startswith(tuple(grammar()["unjoined"]))
        joinable = may_join and before and ", and " not in before and rng.random() < 0.3
        if joinable:
            sentences[-1] = f"{before[:-1]}, and {_lower(wish)}."
        elif rng.random() < 0.15 and may_join:
            sentences.append(f"{rng.choice(grammar()['lead_ins'])}{_lower(wish)}.")
        else:
            sentences.append(f"{wish}.")
    return sentences


def _lower(sentence: str) -> str:
    return sentence if sentence.startswith(("I ", "I'")) else sentence[0].lower() + sentence[1:]


# ---- reading

_END = r"(?=[.,;?!](?:\s|$)|$| and say | for the nights | while | would be best)"
_NAMES = ("{hotel}", "{place}", "{place2}")
_OF_ROUTE = {  # slot → field
    "org": "origin",
    "dest": "destination",
    "depart": "depart_date",
    "back": "return_date",
    "nights": "nights",
}


def read_request(text: str) -> TravelRequest:
    """The request that the words ask for, without id and level. Raises UnreadableRequest."""
    return heard_request(text)[0]


def passed_over(text: str, heard: Sequence[Span]) -> list[str]:
    """Words beside the route and what was heard that no opening, greeting or closing has."""
    table, route = grammar(), _route(text)[0]
    manners = [*table["greetings"], *table["closings"], *table["lead_ins"], *table["nouns"]]
    manners += [*table["going"], *(ask for ask, _ in table["asks"]), "and", *_VOICE.values()]
    known = set(re.findall(r"\w+", " ".join(manners).lower()))
    rest = text
    for start, end in (route.span(), *((each.start, each.end) for each in heard)):
        rest = f"{rest[:start]}{' ' * (end - start)}{rest[end:]}"
    return [word for word in re.findall(r"[\w']+", rest) if word.lower() not in known]


def heard_request(text: str) -> tuple[TravelRequest, list[Span]]:
    """The same, and where it is said: cities and days alone, parties and wishes with the words
    around them."""
    match, is_back = _route(text)
    said = {slot: words for slot, words in match.groupdict().items() if words}
    heard = [Span(*match.span(slot), _OF_ROUTE[slot]) for slot in said]
    alone = ((text.find(words), words) for words in grammar()["party"]["alone"])
    heard += [Span(at, at + len(words), "party_size") for at, words in alone if at >= 0]
    try:
        fields = {_OF_ROUTE[slot]: SLOTS[slot][1](words) for slot, words in said.items()}
        if is_back and "back" not in said:
            fields["return_date"] = days_after(fields["depart_date"], fields["nights"])
        for kind in _phrases():
            matches = list(_found(text, kind))
            heard += [Span(*match.span(), _field(kind)) for match in matches]
            if matches:
                fields |= _wish(kind, matches, fields)
        return TravelRequest(**fields, query=text), heard
    except ValidationError as error:
        raise UnreadableRequest(error.errors()[0]["msg"]) from None
    except ValueError as error:
        raise UnreadableRequest(str(error)) from None


def _route(text: str) -> tuple[re.Match[str], bool]:
    """The longest reading of the route and the days: "on {depart}, one way" may go on with a
    stay. And whether there is a way back."""
    matches = [(match, back) for pattern, back in _routes() for match in pattern.finditer(text)]
    if not matches:
        raise UnreadableRequest(
            "expected where from, where to and when, as in 'from A to B on 2026-06-26, returning on"
            " 2026-06-28'"
        )
    start = min(match.start() for match, _ in matches)
    here = [(match, back) for match, back in matches if match.start() == start]
    return max(
        here, key=lambda entry: (entry[0].end(), -len(entry[0]["org"]) - len(entry[0]["dest"]))
    )


@cache
def _routes() -> list[tuple[re.Pattern[str], bool]]:
    table = grammar()
    return [
        (re.compile(rf"\b{pattern(f'{route} {when}')}(?=[.,;?!]|\s|$)"), shape.startswith("round"))
        for shape, whens in table["when"].items()
        for when in whens
        for route in table["routes"]
    ]


def _wish(kind: str, matches: Sequence[re.Match[str]], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The field that this kind of wish sets."""
    field = _field(kind)
    values = {
        tuple(SLOTS[slot][1](words) for slot, words in match.groupdict().items())
        for match in matches
    }
    if len(values) > 1 or field in fields:
        raise UnreadableRequest(f"the words say more than one {field.replace('_', ' ')}")
    value = values.pop()
    if field == "transport":
        return {field: kind}
    if field == "visit":
        return {field: value}
    if not field.endswith("_budget"):
        return {field: value[0]}
    amount, currency = value[0]
    if fields.get("currency", currency) != currency:
        raise UnreadableRequest("the words say amounts in two currencies")
    return {field: amount, "currency": currency}


def _field(kind: str) -> str:
    return "transport" if kind in get_args(Transport) else kind.removesuffix("_two")


def _found(text: str, kind: str) -> Iterator[re.Match[str]]:
    """One place to visit is no reading of words that say two."""
    two = {match.start() for match in _found(text, "visit_two")} if kind == "visit" else set()
    for pattern in _phrases()[kind]:
        yield from (match for match in pattern.finditer(text) if match.start() not in two)


@cache
def _phrases() -> dict[str, list[re.Pattern[str]]]:
    """Of the party and of each kind of wish. The first letter in either case: a phrase may follow
    another one. What a name ends with is said by what follows."""
    party = grammar()["party"]
    tables = {"party_size": [*party["inline"], *party["going"], *party["clause"]]}
    return {
        kind: [
            re.compile(
                rf"\b(?:{_either_case(pattern(phrase))}){_END if phrase.endswith(_NAMES) else ''}"
            )
            for phrase in phrases
        ]
        for kind, phrases in (tables | grammar()["wishes"]).items()
    }


def _either_case(pattern: str) -> str:
    first = pattern[0]
    return f"[{first.upper()}{first.lower()}]{pattern[1:]}" if first.isalpha() else pattern
