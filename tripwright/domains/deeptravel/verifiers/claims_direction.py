"""A number that runs both ways: which of its directions an answer speaks of.

Trains often keep their number there and back. Their rows are then two entities of one name, and
each mention is of one of them: of that of its part, of the day, the words ("home"), the time or the
cities it stands with, in this order; else of the one spoken of last, or of the way out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.claims_mentions import Entity, Mention, key_of
from tripwright.domains.deeptravel.verifiers.claims_numbers import Claim
from tripwright.domains.deeptravel.verifiers.claims_parts import AnswerLine, Part, part_of
from tripwright.domains.deeptravel.verifiers.evidence import EvidenceRow

_BACK = re.compile(r"\b(?:back|return\w*|home\w*|inbound)\b", re.IGNORECASE)
_OUT = re.compile(
    r"\b(?:out|outbound|outward|out there|get there|go there|way there|first)\b", re.IGNORECASE
)
_CLAUSE = re.compile(r"[,;:]|\b(?:and|then)\b", re.IGNORECASE)
_TO = re.compile(r"(?:\b(?:to|for|in|into|at|reach\w*|towards?)|→|-)\s*(?:the\s+)?$", re.IGNORECASE)


def ways_of(entity: Entity) -> tuple[Entity, ...]:
    """The entity's directions, in the order of their rows; itself alone where it has one."""
    if entity.kind != "ride":
        return (entity,)
    found: dict[tuple[str, str], list[EvidenceRow]] = {}
    for row in entity.rows:
        found.setdefault(
            (row.text("depart_city").casefold(), row.text("arrive_city").casefold()), []
        ).append(row)
    return (
        tuple(Entity(entity.name, tuple(rows), entity.also) for rows in found.values())
        if len(found) > 1
        else (entity,)
    )


@dataclass(frozen=True)
class Above:
    """What the last line without a name said of those below it: their days, and whether they are of
    the way out or back."""

    days: tuple[Claim, ...] = ()
    part: Part = ""

    def then(self, line: AnswerLine, claims: Sequence[Claim]) -> Above:
        named = part_of(line.text)
        days = tuple(each for each in claims if each.kind == "date")
        return Above(days or self.days, named if named in ("outbound", "return") else self.part)


@dataclass(frozen=True)
class Around:
    """Where a mention stands: its line's words from `low` to `high` (its sentence, up to where the
    number stands again), with the names and claims there; the line's part; what is said above."""

    text: str
    low: int
    high: int
    part: Part
    mentions: Sequence[Mention]
    claims: Sequence[Claim]
    above: Above


def directed(
    mentions: Sequence[Mention],
    line: AnswerLine,
    bounds: Sequence[tuple[int, int]],
    claims: Sequence[Claim],
    above: Above,
    last: Entity | None,
    request: TravelRequest,
) -> list[Mention]:
    """The mentions of a line, each of one direction. `bounds` are its sentences, `above` what the
    lines above say, `last` what was told of before this line. Under the risks, where any row may
    serve, a number stays what it is."""
    found: list[Mention] = []
    for mention in mentions:
        entity = mention.entity
        ways = ways_of(entity) if entity is not None and line.part != "risks" else ()
        if entity is not None and len(ways) > 1:
            begin, end = next(
                (each for each in bounds if each[0] <= mention.start < each[1]), (0, len(line.text))
            )
            before = [each for each in found if each.entity in ways and each.start >= begin]
            low = _opening(line.text, before[-1].end, mention.start) if before else begin
            high = min(
                (
                    each.start
                    for each in mentions
                    if each.entity == entity and each.start >= mention.end
                ),
                default=end,
            )
            low, high = max(low, begin), min(high, end)
            near = [each for each in mentions if low <= each.start < high]
            around = Around(
                line.text,
                low,
                high,
                line.part,
                near,
                [each for each in claims if low <= each.start < high],
                above,
            )
            other = _only([way for way in ways if before and way != before[-1].entity])
            entity = _way(ways, mention, around, other, last, request) or entity
        found.append(replace(mention, entity=entity))
    return found


def _opening(text: str, low: int, place: int) -> int:
    """Where the words begin that stand with the second mention of a sentence."""
    return max((found.end() for found in _CLAUSE.finditer(text, low, place)), default=low)


def _way(
    ways: Sequence[Entity],
    mention: Mention,
    around: Around,
    other: Entity | None,
    last: Entity | None,
    request: TravelRequest,
) -> Entity | None:
    """`other`: of a number that stands twice in a sentence, the way that the first is not of."""
    return (
        _of_part(ways, around.part, request)
        or _of_days(ways, around.claims)
        or _of_words(ways, mention.start, around, request)
        or _of_times(ways, around.claims)
        or _of_cities(ways, around, request)
        or other
        or _of_days(ways, around.above.days)
        or _of_part(ways, around.above.part, request)
        or (last if last in ways else None)
        or _of_part(ways, "outbound", request)
    )


def _of_part(ways: Iterable[Entity], part: Part, request: TravelRequest) -> Entity | None:
    if part not in ("outbound", "return"):
        return None
    ends = (
        (request.origin, request.destination)
        if part == "outbound"
        else (request.destination, request.origin)
    )
    begins = [way for way in ways if key_of(way.rows[0].text("depart_city")) == key_of(ends[0])]
    return (
        begins[0]
        if begins
        else next(
            (way for way in ways if key_of(way.rows[0].text("arrive_city")) == key_of(ends[1])),
            None,
        )
    )


def _of_days(ways: Iterable[Entity], claims: Iterable[Claim]) -> Entity | None:
    """The only one that leaves on a day that is said."""
    said = [str(value) for claim in claims if claim.kind == "date" for value in claim.values]
    return _only(
        [
            way
            for way in ways
            if any(_is(day, row.text("departs_at")[:10]) for day in said for row in way.rows)
        ]
    )


def _is(said: str, true: str) -> bool:
    return true != "" and all(
        int(one) == 0 or one == two
        for one, two in zip(said.split("-"), true.split("-"), strict=False)
    )


def _of_words(
    ways: Iterable[Entity], place: int, around: Around, request: TravelRequest
) -> Entity | None:
    """The last telling word before the mention, or the first after it."""
    text, low, high = around.text, around.low, around.high
    told: list[tuple[int, Part]] = [
        (found.start(), "return") for found in _BACK.finditer(text, low, high)
    ]
    told = sorted(told + [(found.start(), "outbound") for found in _OUT.finditer(text, low, high)])
    before, after = (
        [part for at, part in told if at < place],
        [part for at, part in told if at > place],
    )
    return _of_part(ways, (before[-1:] or after[:1])[0], request) if told else None


def _of_times(ways: Iterable[Entity], claims: Iterable[Claim]) -> Entity | None:
    said = {value for claim in claims if claim.kind == "time" for value in claim.values}
    return _only(
        [
            way
            for way in ways
            if said
            & {
                _minute(row.text(label))
                for row in way.rows
                for label in ("departs_at", "arrives_at")
            }
        ]
    )


def _minute(moment: str) -> float:
    clock = re.search(r"T(\d{2}):(\d{2})", moment)
    return 60.0 * int(clock[1]) + int(clock[2]) if clock else -1.0


def _of_cities(ways: Iterable[Entity], around: Around, request: TravelRequest) -> Entity | None:
    """By the first of the trip's two cities that is named: there the ride begins, unless a word
    before it says that it ends there."""
    for each in around.mentions:
        at = key_of(each.text)
        home = at.startswith(key_of(request.origin))
        if each.entity is None and (home or at.startswith(key_of(request.destination))):
            return _of_part(
                ways,
                "outbound" if home != bool(_TO.search(around.text[: each.start])) else "return",
                request,
            )
    return None


def _only(ways: list[Entity]) -> Entity | None:
    return ways[0] if len(ways) == 1 else None
