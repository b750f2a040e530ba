"""Reads the intents of a request back out of its words: the proof that the words say each of them
(row D8).

The patterns are made of the same tables as the words. A text that the grammar did not write may
still be read, as a person may edit one; where it says one intent twice, or lacks one that every
request has, it is refused and not guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date as Date
from functools import cache
from typing import Any, get_args

from pydantic import ValidationError

from tripwright.domains.deeptravel.request import Transport, TravelRequest
from tripwright.domains.deeptravel.requests import phrases as p
from tripwright.domains.deeptravel.requests import slots as slots

_END = r"(?=[.,;?!](?:\s|$)|$| and say | for the nights | while | would be best)"
_OF_ROUTE = {  # slot → field
    "org": "origin",
    "dest": "destination",
    "depart": "depart_date",
    "back": "return_date",
    "nights": "nights",
}
_NAMES = ("{hotel}", "{place}", "{place2}")
_PARTIES = (*p.PARTY_INLINE, *p.PARTY_GOING, *p.PARTY_CLAUSE)


class UnreadableRequest(ValueError):
    """What the words do not say, or say twice."""


def read_request(text: str) -> TravelRequest:
    """The request that the words ask for, without id and level. Raises Unreadable."""
    groups = _main(text)
    fields: dict[str, Any] = {
        "origin": groups["org"],
        "destination": groups["dest"],
        "party_size": _party(text),
        "query": text,
    }
    try:
        fields["depart_date"] = slots.day_read(groups["depart"])
        if groups.get("nights"):
            fields["nights"] = slots.number_read(groups["nights"].split()[0])
        if groups.get("back"):
            fields["return_date"] = slots.day_read(groups["back"])
        elif "nights" in fields and "way_back" in groups:
            fields["return_date"] = Date.fromordinal(
                Date.fromisoformat(fields["depart_date"]).toordinal() + fields["nights"]
            ).isoformat()
        for kind in p.WISHES:
            fields |= _wish(text, kind, fields)
        return TravelRequest(**fields)
    except ValidationError as error:
        raise UnreadableRequest(error.errors()[0]["msg"]) from None
    except ValueError as error:
        raise UnreadableRequest(str(error)) from None


def read_where(text: str) -> Iterator[tuple[int, int, str]]:
    """Which characters of a text that can be read say which field: cities and days alone, parties
    and wishes with the words around them. Raises UnreadableRequest."""
    match, _ = _route(text)
    for slot, field in _OF_ROUTE.items():
        if match.groupdict().get(slot):
            yield *match.span(slot), field
    for pattern in _patterns(_PARTIES):
        yield from ((*match.span(), "party_size") for match in pattern.finditer(text))
    for kind in p.WISHES:
        yield from ((*match.span(), _field(kind)) for match in _found(text, kind))


def _main(text: str) -> dict[str, str]:
    match, back = _route(text)
    return {slot: value for slot, value in match.groupdict().items() if value} | (
        {"way_back": "yes"} if back else {}
    )


def _route(text: str) -> tuple[re.Match[str], bool]:
    """The longest reading of the route and the days: "on {depart}, one way" may go on with a
    stay. And whether there is a way back."""
    matches = [(match, tables) for pattern, tables in _routes() for match in pattern.finditer(text)]
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
    tables = (
        (p.WHEN_ONE_WAY, False),
        (p.WHEN_STAY, False),
        (p.WHEN_BACK, True),
        (p.WHEN_NIGHTS, True),
    )
    return [
        (re.compile(rf"\b{slots.pattern(f'{route} {when}')}(?=[.,;?!]|\s|$)"), back)
        for whens, back in tables
        for when in whens
        for route in p.ROUTES
    ]


def _party(text: str) -> int:
    counts = {
        slots.number_read(match["n"])
        for pattern in _patterns(_PARTIES)
        for match in pattern.finditer(text)
    }
    if len(counts) > 1:
        raise UnreadableRequest(
            f"the party is said to be of {' and of '.join(map(str, sorted(counts)))}"
        )
    return counts.pop() if counts else 1


def _wish(text: str, kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The field that this kind of wish sets; {} where the words do not say it."""
    matches = list(_found(text, kind))
    values = {tuple(match.groupdict().values()) for match in matches}
    if not matches:
        return {}
    field = _field(kind)
    if len(values) > 1 or field in fields:
        raise UnreadableRequest(f"the words say more than one {field.replace('_', ' ')}")
    value = matches[0].groupdict()
    if field == "transport":
        return {field: kind}
    if "t" in value:
        return {field: slots.clock_read(value["t"])}
    if "usd" in value:
        amount, currency = slots.money_read(value["usd"])
        if fields.get("currency", currency) != currency:
            raise UnreadableRequest("the words say amounts in two currencies")
        return {field: amount, "currency": currency}
    names = tuple(slots.name_read(name) for name in value.values())
    return {field: names if field == "visit" else names[0]}


def _field(kind: str) -> str:
    return "transport" if kind in get_args(Transport) else kind.removesuffix("_two")


def _found(text: str, kind: str) -> Iterator[re.Match[str]]:
    """One place to visit is no reading of words that say two."""
    for pattern in _patterns(p.WISHES[kind]):
        for match in pattern.finditer(text):
            if kind == "visit" and any(
                two.start() == match.start() for two in _found(text, "visit_two")
            ):
                continue
            yield match


@cache
def _patterns(phrases: tuple[str, ...]) -> list[re.Pattern[str]]:
    """The first letter in either case: a phrase may follow another one. What a name ends with is
    said by what follows."""
    return [
        re.compile(
            rf"\b(?:{_either_case(slots.pattern(phrase))}){_END if phrase.endswith(_NAMES) else ''}"
        )
        for phrase in phrases
    ]


def _either_case(pattern: str) -> str:
    first = pattern[0]
    return f"[{first.upper()}{first.lower()}]{pattern[1:]}" if first.isalpha() else pattern
