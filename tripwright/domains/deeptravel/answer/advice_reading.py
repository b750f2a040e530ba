"""Reads an answer from its markdown: the inverse of `write_markdown`, for both of its forms and
nothing else (row D11).

What a model words freely is not read here; the verifiers have their own reader for that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date as Date
from datetime import timedelta
from typing import Literal

from tripwright.domains.deeptravel.answer.advice import (
    Advice,
    AdvicePart,
    Card,
    HotelStay,
    LocalLeg,
    PartKind,
    PlaceVisit,
    Recommendation,
    RideAdvice,
)
from tripwright.domains.deeptravel.answer.advice_writing import (
    COMPACT_HEADINGS,
    COMPACT_RISKS,
    HEADINGS,
    RISKS,
    UNPRICED,
    arrival_day,
)

_FULL = {heading: kind for kind, heading in HEADINGS.items()}
_COMPACT = {heading: kind for kind, heading in COMPACT_HEADINGS.items()}
_DAY, _NUMBER = r"\d{4}-\d{2}-\d{2}", r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?"
_AT = rf"(\d{{2}}:\d{{2}})(?: on ({_DAY}))?"
_PART = re.compile(rf"### (.+?)(?: \(({_DAY})(?: to ({_DAY}))?\))?")
_WAY_TITLE = re.compile(r"(.+) (flight|train)(?: \((.*) → (.*)\))?")
_TIMES = re.compile(
    rf"departs (?:(.+) )?{_AT}, arrives (?:(.+) )?{_AT}(?: \((?:(\d+) h)? ?(?:(\d+) min)?\))?"
)
_PRICE = re.compile(rf"({_NUMBER}) (\S+) (?:per person|for one room(?:, \d+ nights?)?)")
_STAY = re.compile(r"(?:(.+?)(?:; |$))??(?:room: (.+))?")
_LEG = re.compile(rf"({_NUMBER}) min (.+?)(?:, ({_NUMBER}) km)?(?: from (.+))?")
_CARD = re.compile(r"\[call (\d+), row (\d+)\]")
_ITEM = re.compile(r"- (.+?)((?: ?\[call \d+, row \d+\],?)*)")
_PRICED = re.compile(rf"(.+?)(?: ({_NUMBER}) ([A-Z]{{3}}))?")
_COMPACT_WAY = re.compile(rf"(flight|train) (.+) {_AT}-(\d{{2}}:\d{{2}})(?: \(([+-]\d+) day\))?")
_COMPACT_VISIT = re.compile(rf"(.+?)(?:, ({_NUMBER}) min (.+))?")


class NotAdvice(ValueError):
    """A text that is not in the format, with its first line that is not."""


def read_markdown(text: str) -> Advice:
    """Raises NotAdvice."""
    try:
        return _read(text)
    except NotAdvice:
        raise
    except ValueError as problem:  # a day that is none
        raise NotAdvice(str(problem)) from None


def _read(text: str) -> Advice:
    opening, *sections = re.split(r"^(?=### )", text, flags=re.MULTILINE)
    parts: list[AdvicePart] = []
    risks: tuple[str, ...] = ()
    for place, section in enumerate(sections, start=1):
        heading, *lines = [line.strip() for line in section.splitlines() if line.strip()]
        if heading in (f"### {RISKS}", f"### {COMPACT_RISKS}"):
            if place < len(sections):
                raise NotAdvice(f"nothing follows the risks: {sections[place].splitlines()[0]}")
            risks = tuple(_bullet(line) for line in lines)
            continue
        parts.append(_part(heading, lines))
    return Advice(" ".join(opening.split()), tuple(parts), risks)


def _part(heading: str, lines: Sequence[str]) -> AdvicePart:
    match = _PART.fullmatch(heading)
    title = match[1] if match else ""
    kind = _FULL.get(title)
    # the one heading that both forms share: in the full one every visit has a title of its own
    if title == HEADINGS["visits"]:
        kind = "visits" if any(line.startswith("#### ") for line in lines) else None
    if match is None or (kind or _COMPACT.get(title)) is None:
        raise NotAdvice(f"no heading of an answer: {heading[:80]}")
    first, last = match[2] or "", match[3]
    if not first and title != HEADINGS["visits"]:
        raise NotAdvice(f"no day in the heading: {heading[:80]}")
    starts = "#### " if kind else "- "
    note = lines[0] if lines and not lines[0].startswith(starts) else ""
    rest = lines[1:] if note else lines
    if kind:
        return AdvicePart(
            kind, first, last, tuple(_section(kind, lines, first) for lines in _cut(rest)), note
        )
    return AdvicePart(
        _COMPACT[title],
        first,
        last,
        tuple(_line(_COMPACT[title], line, first) for line in rest),
        note,
    )


def _cut(lines: Sequence[str]) -> list[list[str]]:
    """At the titles; the first line is one."""
    sections: list[list[str]] = []
    for line in lines:
        if line.startswith("#### "):
            sections.append([])
        sections[-1].append(line)
    return sections


def _section(kind: PartKind, lines: Sequence[str], day: str) -> Recommendation:
    title, fields = lines[0].removeprefix("#### "), dict(map(_field, lines[1:]))
    why, evidence = fields.get("Why", ""), _cards(fields.get("Evidence", ""))
    if kind == "visits":
        leg = _leg(*_matched(_LEG, fields["Way there"]).groups()) if "Way there" in fields else None
        return PlaceVisit(title, fields.get("Recommendation", ""), leg, why, evidence)
    price, currency = _price(fields.get("Price", UNPRICED))
    if kind == "stay":
        address, room = _matched(_STAY, fields.get("Recommendation", "")).groups(default="")
        return HotelStay(title, address, room, price, currency, why, evidence)
    number, mode, depart_city, arrive_city = _matched(_WAY_TITLE, title).groups(default="")
    times = _matched(_TIMES, fields.get("Recommendation", ""))
    depart_place, departure, departure_day, arrive_place, there, there_on, hours, minutes = (
        times.groups()
    )
    return RideAdvice(
        number,
        "flight" if mode == "flight" else "train",
        f"{departure_day or day}T{departure}",
        f"{there_on or day}T{there}",
        60 * int(hours or 0) + int(minutes or 0) if hours or minutes else None,
        price,
        currency,
        depart_city,
        depart_place or "",
        arrive_city,
        arrive_place or "",
        why,
        evidence,
    )


def _line(kind: PartKind, line: str, day: str) -> Recommendation:
    text, cards = _matched(_ITEM, line).groups()
    if kind == "visits":
        name, minutes, mode = _matched(_COMPACT_VISIT, text).groups()
        return PlaceVisit(
            name, leg=LocalLeg(mode, float(minutes)) if mode else None, evidence=_cards(cards)
        )
    what, amount, currency = _matched(_PRICED, text).groups()
    price = float(amount) if amount else None
    if kind == "stay":
        return HotelStay(what, price=price, currency=currency or "", evidence=_cards(cards))
    mode, number, departure, departure_day, there, later = _matched(_COMPACT_WAY, what).groups()
    arrives_on = Date.fromisoformat(
        arrival_day(f"{departure_day or day}T{departure}", there)
    ) + timedelta(days=int(later or 0))
    mode_said: Literal["flight", "train"] = "flight" if mode == "flight" else "train"
    moments = f"{departure_day or day}T{departure}", f"{arrives_on}T{there}"
    return RideAdvice(
        number, mode_said, *moments, price=price, currency=currency or "", evidence=_cards(cards)
    )


def _leg(minutes: str, mode: str, far: str | None, origin: str | None) -> LocalLeg:
    return LocalLeg(mode, float(minutes), origin or "", float(far) if far else None)


def _price(text: str) -> tuple[float | None, str]:
    if text == UNPRICED:
        return None, ""
    match = _matched(_PRICE, text)
    return float(match[1]), match[2]


def _cards(text: str) -> tuple[Card, ...]:
    return tuple(Card(int(call), int(row)) for call, row in _CARD.findall(text))


def _field(line: str) -> tuple[str, str]:
    match = _matched(re.compile(r"- \*\*([A-Z][a-z ]+)\*\*: (.*)"), line)
    return match[1], match[2]


def _bullet(line: str) -> str:
    if not line.startswith("- "):
        raise NotAdvice(f"no bullet: {line[:80]}")
    return line[2:]


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise NotAdvice(f"not in the format of an answer: {text[:80]}")
    return match
