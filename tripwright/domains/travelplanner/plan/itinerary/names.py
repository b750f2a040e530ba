"""Names of places in a line of an itinerary.

The subtle thing is the edge of a name. One that is marked, **bold** or [in brackets], ends with its
mark; one that is not ends with the line, with ' | ' or with a detail that cannot be part of a name
(a price, a rating). What follows a name must be such a detail: a second name in a line that has
room for one is a problem, never dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass

from tripwright.domains.travelplanner.plan.itinerary.travel import UnreadableItinerary, plain
from tripwright.domains.travelplanner.plan.plan import bare_city


@dataclass(frozen=True)
class Name:
    """`city` is None where the line does not say it."""

    text: str
    city: str | None = None


_LEAD_IN = re.compile(
    r"(?:(?:have |eat |enjoy )?(?:(?:breakfast|lunch|dinner) )?"
    r"(?:at|visit|tour|explore|see|stay(?: overnight)?(?: at| in)?|overnight (?:at|in)|"
    r"check(?:ing)?[- ]?in(?:to)?(?: to| at)?)\s+)?(?:(?:the |your"
    r" )?(?:accommodations?|hotel)\s*[-–:]\s*)?(?=\S)",
    re.IGNORECASE,
)
MARKED = re.compile(
    r"\*\*\[(.+?)\]\*\*|\[(.+?)\](?:\(https?://[^\s)]*\))?|\*\*(.+?)\*\*|\"([^\"]+)\"|“([^”]+)”"
)
_EXACTLY = re.compile(r'exactly ("(?:[^"\\]|\\.)*")')
_PLACE = re.compile(r"(?: in |, ?)([^|,;*\[\]]+?)(?=\s*(?:[|;]|\s\(|, |\.?$|\.\s|\s[-–—]\s))")
_NEXT = re.compile(r"\s*(?:[,;&]|,? and )\s*(?:the |visit )?(?=[\[*\"“])")
_DETAIL_START = re.compile(r"\s*(?:$|[|(.,;:]|[-–—]\s)")
_DETAIL_WORDS = re.compile(
    r"[$:\d]|\b(?:rooms?|home|apt|person|night|rating|cuisine|free|smoking|pets|part(?:y|ies)|children|visitors)\b",
    re.IGNORECASE,
)
_PRICE_TAIL = re.compile(
    r"(?:\s*+[-–—,.;:]\s*+(?:\(?\b(?:avg|average|approx|estimated|total|cost|price|rating)\b[^$\d]*\$?\d.*|"
    r"\(?cuisines?: .*|\(?~?\\?\$ ?\d.*)"
    r"|\s++\\?\$ ?\d[\d,.]*(?: ?(?:/|per ) ?\w+)?"
    r"|\s++\([^()]*(?:\$|\bcost|cuisine|rating|/apt|\broom\b|\bnights?\b|minimum)[^()]*\)?)$",
    re.IGNORECASE,
)


def exact_text(body: str) -> str | None:
    """What `exactly "…"` holds: how our own rendering writes a text that would not survive being
    read."""
    match = _EXACTLY.fullmatch(body)
    try:
        return str(json.loads(match[1])) if match else None
    except ValueError:
        return None


def read_names(body: str, cities: Collection[str], many: bool) -> tuple[Name, ...]:
    """The name, or with `many` all names, that `body` begins with."""
    rest = body[match.end() :] if (match := _LEAD_IN.match(body)) else body
    if not MARKED.match(rest):
        return _unmarked(rest, cities, many)
    names: list[Name] = []
    while mark := MARKED.match(rest):
        text = next(group for group in mark.groups() if group is not None)
        name, rest = text.strip().removeprefix("**").removesuffix("**").strip(), rest[mark.end() :]
        city, rest = _city(rest, cities)
        if not name:
            raise UnreadableItinerary("marks an empty name")
        names.append(Name(name, city))
        following = _NEXT.match(rest)
        if not following:
            break
        rest = rest[following.end() :]
    if len(names) > 1 and not many:
        raise UnreadableItinerary("names more than one place")
    _only_details(rest)
    return tuple(names)


def _city(rest: str, cities: Collection[str]) -> tuple[str | None, str]:
    """' in City' or ', City' after a name. After 'in' any proper name is a city; after a comma only
    a city of this trip."""
    match = _PLACE.match(rest)
    if not match:
        return None, rest
    city = match[1].strip()
    trip_cities = {bare_city(each) for each in cities}
    if bare_city(city) in trip_cities or (rest.startswith(" in ") and city[:1].isupper()):
        return city, rest[match.end() :]
    return None, rest


def _only_details(rest: str) -> None:
    if not _DETAIL_START.match(rest):
        raise UnreadableItinerary(f"goes on after the name with '{rest.strip()[:40]}'")
    for segment in re.split(r"[|()]|\.\s", rest):
        for match in MARKED.finditer(segment):
            if not (_DETAIL_WORDS.search(match[0]) or ":" in segment[: match.start()]):
                raise UnreadableItinerary(f"names more than one place ('{match[0][:40]}')")


def _unmarked(body: str, cities: Collection[str], many: bool) -> tuple[Name, ...]:
    head = re.split(r"\s+\|(?:\s+|$)", body, maxsplit=1)[0]
    pieces = [piece for piece in head.split(";") if piece.strip()] if many else [head]
    if not pieces:
        raise UnreadableItinerary("names no place")
    return tuple(_unmarked_name(piece.strip(), cities) for piece in pieces)


def _unmarked_name(text: str, cities: Collection[str]) -> Name:
    name = _PRICE_TAIL.sub("", text).strip()
    if name.endswith(".") and not name.endswith(".."):
        name = name[:-1].rstrip()
    if not plain(name) or re.search(r"\\?\$ ?\d|: |\*\*|[\[\]]", name):
        raise UnreadableItinerary(
            "does not show where the name of the place ends (mark it **so** or [so])"
        )
    trip_cities = {bare_city(each) for each in cities}
    for separator in (",", " in "):
        before, comma, after = name.rpartition(separator)
        if comma and before.strip() and bare_city(after.strip()) in trip_cities:
            return Name(before.strip(), after.strip())
    return Name(name)
