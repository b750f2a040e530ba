"""One line of a day in an itinerary → what it says: a journey, a meal, sights, a stay, a leaving,
or nothing that a plan holds.

A label decides ('Lunch:', 'Afternoon Attraction:'); where it only tells the time of day
('Evening:'), or where there is none, the verb does ('Check into …', 'Visit …'). A line that is
neither known to be a detail nor understood is a problem.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from tripwright.domains.travelplanner.plan.itinerary.names import (
    MARKED,
    Name,
    exact_text,
    read_names,
)
from tripwright.domains.travelplanner.plan.itinerary.travel import (
    ItineraryJourney,
    UnreadableItinerary,
    names_a_journey,
    plain,
    read_journey,
)

Kind = Literal[
    "travel",
    "breakfast",
    "lunch",
    "dinner",
    "attraction",
    "accommodation",
    "city",
    "check out",
    "heading",
    "nothing",
]


@dataclass(frozen=True)
class ItineraryLine:
    """`exact`: a text of the official format, to be kept as it stands. `nights` of a stay: None is
    until the traveller leaves."""

    kind: Kind
    names: tuple[Name, ...] = ()
    journey: ItineraryJourney | None = None
    nights: int | None = 1
    exact: str | None = None


NOTHING = ItineraryLine("nothing")

_BULLET = re.compile(r"\s*(?:(?:[-*•·–—+]|\d{1,2}[.)])\s+)?")
_PICTOGRAM = re.compile(r"^[^\w\[\]\"“(*.$\\-]+")
_TIME = r"\d{1,2}:\d{2}(?: ?[AaPp]\.?[Mm]\.?)?"
_CLOCK = re.compile(rf"(?:\*\*)?\(?{_TIME}(?: ?[-–—] ?{_TIME})?\)?(?:\*\*)?\s*[-–—:|]+\s*")
_LABEL = re.compile(r"(\*\*|__)?\s*([A-Za-z][A-Za-z .()/&-]{0,40}?)\s*(\*\*|__)?\s*:\s*")

_DETAIL = (
    r"costs?|budget|total|expenses?|price|remaining|spent|cuisines?|ratings?|reviews?|address|contact|phone|website|hours|"
    r"room type|house rules?|minimum nights?|maximum"
    r" occupancy|occupancy|duration|distance|departure time|"
    r"arrival time|arrival|notes?|tips?|date|weather"
)
_LABELS: tuple[tuple[Kind, str], ...] = (
    ("nothing", _DETAIL),
    ("breakfast", "breakfast"),
    ("lunch", "lunch"),
    ("dinner", "dinner"),
    ("check out", "check[- ]?out"),
    ("attraction", "attractions?|sights?|sightseeing|see|visit"),
    ("accommodation", "accommodations?|stay|hotel|lodging|overnight|check[- ]?in"),
    (
        "travel",
        "travel|transport|transportation|flight|taxi|drive|driving|self-driving|departure|depart|return",
    ),
    ("city", "city|current city|location"),
    (
        "heading",
        "morning|noon|midday|afternoon|evening|night|meals?|dining|activit(?:y|ies)|schedule|itinerary",
    ),
)
_VERBS: tuple[tuple[Kind, str], ...] = (
    ("breakfast", "(?:have |eat |enjoy )?breakfast"),
    ("lunch", "(?:have |eat |enjoy )?lunch"),
    ("dinner", "(?:have |eat |enjoy )?dinner"),
    (
        "travel",
        (
            r"(?:take (?:a |the )?)?(?:flight|fly|taxi|cab|self[-"
            r" ]driv\w*|driv\w+|depart\w*|travel|return|bus|train|ferry|walk)"
        ),
    ),
    ("check out", r"check(?:ing)?[- ]?out"),
    ("accommodation", r"check(?:ing)?[- ]?in(?:to)?|stay|overnight"),
    ("attraction", "visit|tour|explore|see"),
)
_LABEL_PATTERNS = tuple(
    (kind, re.compile(rf"\b(?:{words})\b", re.IGNORECASE)) for kind, words in _LABELS
)
_VERB_PATTERNS = tuple(
    (kind, re.compile(rf"(?:{words})\b", re.IGNORECASE)) for kind, words in _VERBS
)
_NONE = re.compile(
    r"(?:|-|–|—|none|n/?a|skip(?:ped)?|"
    r"no (?:breakfast|lunch|dinner|meal|travel|transportation|accommodation|attractions?|stay)(?:"
    r" needed)?|"
    r"not (?:needed|included|applicable)|(?:eat |meal )?(?:at home|on the"
    r" (?:road|way|go|flight|plane))|en route|in transit|"
    r"rest|relax|free time|at leisure|return to (?:the |your )?(?:hotel|accommodation))\.?",
    re.IGNORECASE,
)
_ARRIVES = re.compile(r"arriv\w+ (?:in|at|back in) [^|*\[\]]{1,60}", re.IGNORECASE)
_LEAVES = re.compile(
    r"(?:check(?:ing)?[- ]?out)?\s*(?:(?:from|of)\s+)?(?:\[[^\]]*\]|\*\*[^*]*\*\*|[^.;|*\[\]]*?)"
    r"(?:\s*(?:by|at|before) [\d:]+ ?(?:[ap]\.?m\.?)?)?\.?",
    re.IGNORECASE,
)
_CHECKS_IN = re.compile(r"check(?:ing)?[- ]?in", re.IGNORECASE)
_NIGHTS = re.compile(r"(?<![\w.])(\d{1,2})[- ]nights?\b", re.IGNORECASE)


def split_label(line: str) -> tuple[str, str]:
    """('Lunch', 'At **Side Wok**') of '- **Lunch:** At **Side Wok**'; the label is empty where
    there is none."""
    body = _BULLET.sub("", line, count=1)
    body = (
        _CLOCK.sub("", _PICTOGRAM.sub("", body), count=1)
        if _CLOCK.match(_PICTOGRAM.sub("", body))
        else _PICTOGRAM.sub("", body)
    )
    match = _LABEL.match(body)
    if not match:
        return "", body.strip()
    marks, label, closed = match.groups()
    rest = body[match.end() :]
    if marks and not closed:  # '**Lunch:** X', or '**Morning: Flight** from …'
        rest = rest[len(marks) :] if rest.startswith(marks) else marks + rest
    return label.strip(), rest.strip()


def read_line(label: str, body: str, cities: Collection[str]) -> ItineraryLine:
    """`cities`: all cities of the trip, by which 'Name, City' is told from a name with a comma."""
    kind = _kind_of_label(label)
    if kind == "heading" or not label:
        if not plain(body):
            return ItineraryLine("heading")
        kind = _kind_of_body(body)
    if kind == "nothing" or (kind != "city" and _NONE.fullmatch(plain(body))):
        return NOTHING
    if (exact := exact_text(body)) is not None:
        return ItineraryLine(kind, exact=exact)
    if kind == "city":
        return ItineraryLine(kind, exact=plain(body))
    if kind == "check out":
        if not _LEAVES.fullmatch(body):
            raise UnreadableItinerary("says more than checking out")
        return ItineraryLine(kind)
    if kind == "travel":
        return ItineraryLine(
            kind,
            journey=read_journey(body if names_a_mode(body) or not label else f"{label} {body}"),
        )
    names = read_names(body, cities, many=kind == "attraction")
    return ItineraryLine(kind, names, nights=_nights(label, body) if kind == "accommodation" else 1)


def names_a_mode(body: str) -> bool:
    return bool(
        re.search(
            r"\b(?:flight|fly|taxi|cab|self[- ]driv\w+|drive|driving)\b", plain(body), re.IGNORECASE
        )
    )


def _kind_of_label(label: str) -> Kind:
    if not label:
        return "heading"
    kinds = [kind for kind, pattern in _LABEL_PATTERNS if pattern.search(label)]
    if "nothing" in kinds:
        return "nothing"
    meals = [kind for kind in kinds if kind in ("breakfast", "lunch", "dinner")]
    if len(meals) > 1:
        raise UnreadableItinerary("is for more than one meal")
    if not kinds:
        raise UnreadableItinerary(f"has the unknown label '{label}'")
    return kinds[0]


def _kind_of_body(body: str) -> Kind:
    text = plain(body)
    if _NONE.fullmatch(text) or _ARRIVES.fullmatch(text) or re.fullmatch(r"[-_*=\s]*", body):
        return "nothing"
    for kind, pattern in _VERB_PATTERNS:
        if pattern.match(text):
            return kind
    if names_a_journey(text):
        return "travel"
    raise UnreadableItinerary("is not understood")


def _nights(label: str, body: str) -> int | None:
    """As many as the line says; a guest who checks in stays until leaving; otherwise the night of
    that day."""
    for segment in re.split(r"[|(),;]", MARKED.sub("", body)):
        if (match := _NIGHTS.search(segment)) and "minimum" not in segment.lower():
            return int(match[1])
    return None if _CHECKS_IN.search(label) or _CHECKS_IN.match(plain(body)) else 1
