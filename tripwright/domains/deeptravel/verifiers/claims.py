# long: a rule verifier of prose, kept whole until a judge that reads replaces it
"""An answer read: what it recommends, and every claim with what the claim is about.

A claim belongs to the name it stands with: in its clause, else in its sentence, else to the title
or the line before it. Which name can bear which claim (a price has no place, a rating no train)
decides where two stand together. What belongs to nothing is kept as such, and must then be the
request's own or arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.claims_direction import Above, directed
from tripwright.domains.deeptravel.verifiers.claims_form import visible
from tripwright.domains.deeptravel.verifiers.claims_mentions import Entity, Mention, Names
from tripwright.domains.deeptravel.verifiers.claims_numbers import BLANK, Claim, read_numbers
from tripwright.domains.deeptravel.verifiers.claims_parts import (
    AnswerLine,
    Part,
    clauses,
    is_spare,
    read_lines,
    sentences,
)
from tripwright.domains.deeptravel.verifiers.claims_taken_back import takes_back
from tripwright.domains.deeptravel.verifiers.evidence import CallEvidence, EvidenceRow

BEARERS: dict[str, frozenset[str]] = {
    "time": frozenset(("ride", "place", "other")),
    "price": frozenset(("ride", "hotel", "other")),
    "minutes": frozenset(("ride", "place", "hotel", "other")),
    "km": frozenset(("place", "hotel", "other")),
    "nights": frozenset(("hotel",)),
    "rating": frozenset(("hotel", "place", "other")),
    "stops": frozenset(("ride",)),
    "next_day": frozenset(("ride",)),
    "best": frozenset(("ride", "hotel")),
    "amenity": frozenset(("hotel",)),
}
_ANY = frozenset(("ride", "hotel", "place", "page", "other"))
_ASIDE = re.compile(
    r"\b(?:than|unlike|instead of|rather than|compared"
    r" (?:to|with)|before|after|if|from|near|off|leave|close to)\s+"
    r"(?:the\s+|flight\s+|train\s+)*$",
    re.IGNORECASE,
)
_COMPARED = re.compile(
    r"\b(?:than|unlike|instead of|compared"
    r" (?:to|with))\s+(?:the\s+|flight\s+|train\s+|taking\s+)*$",
    re.IGNORECASE,
)
_END_OF_WAY = re.compile(
    r"\b(?:from|to|away from|between)(?:\s?[:=-])?\s+(?:the\s+)?$", re.IGNORECASE
)
_LEADS_TO = re.compile(
    r"\W*(?:at|for|from|leaving|departing|with|in|on|starting|having)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Statement:
    """A claim in its sentence. `before` and `after` are the words around it in its clause, `others`
    all names of its sentence."""

    claim: Claim
    subject: Entity | None
    part: Part
    sentence: str
    before: str
    after: str
    label: str = ""
    others: tuple[Mention, ...] = ()
    order: int = 0  # the how manieth clock time of its subject in the sentence it is
    lead: str = ""  # of a clock time, all words since the one before
    place: int = 0  # where in the sentence it begins


@dataclass(frozen=True)
class Attribute:
    """A city, station, carrier or address that is said of `subject`."""

    text: str
    subject: Entity | None
    others: tuple[Mention, ...]
    sentence: str


@dataclass
class Reading:
    """`recommended` holds, part by part, what is recommended there in the order of the words;
    `spares` what the risks name instead."""

    text: str = ""
    form: list[tuple[str, str]] = field(default_factory=list)
    lines: list[AnswerLine] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    attributes: list[Attribute] = field(default_factory=list)
    # a ride "from … to …", with the words
    directions: list[tuple[Entity, str, str, str]] = field(default_factory=list)
    recommended: dict[Part, list[Entity]] = field(default_factory=dict)
    spares: list[Entity] = field(default_factory=list)
    compared: list[Entity] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    # titles of items that name nothing of the tool answers
    untitled: list[str] = field(default_factory=list)
    # names that may stand beside anything: the trip's cities, the ends of routes
    free: set[str] = field(default_factory=set)
    # rides under the title of a day, with its days
    dated: list[tuple[Entity, tuple[Claim, ...]]] = field(default_factory=list)
    taken_back: list[str] = field(default_factory=list)  # sentences that take a recommendation back

    @property
    def has_risks(self) -> bool:
        return any(line.part == "risks" and not line.title for line in self.lines) or bool(
            self.spares
        )


class Reader:
    """Reads one answer against the tool answers of its transcript."""

    def __init__(self, answered: list[CallEvidence], request: TravelRequest):
        self.request, self.names = request, Names(answered, request)
        self._title: Entity | None = None  # what the title above is about
        self._last: Entity | None = None  # what was spoken of last
        self._latest: dict[str, Entity] = {}  # of each kind
        self._above = Above()
        self._day: tuple[Claim, ...] = ()  # of the title above, where that is a day's

    def read(self, answer: str) -> Reading:
        text, form = visible(answer)
        reading = Reading(text, form, read_lines(text, self.names.of_items), free=self.names.free)
        for line in reading.lines:
            self._line(line, reading)
        return reading

    def _line(self, line: AnswerLine, reading: Reading) -> None:
        mentions = self.names.find(line.text)
        claims = read_numbers(_blanked(line.text, mentions))
        mentions, claims = self._numbered(mentions, claims)
        spans = [
            *((each.start, each.end) for each in mentions),
            *((each.start, each.end) for each in claims),
        ]
        for day, date in zip(claims, claims[1:], strict=False):
            if (day.kind, date.kind) == ("weekday", "date") and date.start - day.end <= 2:
                spans.append((day.start, date.end))  # "Tuesday, 9 June" is one thing
        bounds = sentences(line.text, spans)
        mentions = directed(mentions, line, bounds, claims, self._above, self._last, self.request)
        left = _blanked(line.text, [*mentions, *claims])
        reading.strange += self.names.strange(left, line.title)
        items = [each.entity for each in mentions if each.entity is not None]
        if line.title or not items:
            self._above = self._above.then(line, claims)
        if line.title:
            only_a_day = (
                re.fullmatch(rf"[\W{BLANK}]*(?:day\s*\d+)?[\W{BLANK}]*", left, re.IGNORECASE)
                is not None
            )
            days = tuple(each for each in claims if each.kind == "date") if only_a_day else ()
            # the title of an item stands under that of its day
            self._day = days or (self._day if items else ())
            self._title = items[0] if items else None
            self._last = self._title
            if (
                line.level in (4, 5, 6)
                and not items
                and re.search(r"[^\W\d_]", left)
                and line.part != "risks"
            ):
                reading.untitled.append(line.text)
        elif items and not line.bullet and not line.indent:
            self._title = None
        elif not items and self._title is not None:
            self._last = self._title
        in_doubt = False
        for begin, end in bounds:
            words = line.text[begin:end]
            spare = line.part == "risks" or in_doubt or is_spare(words)
            # "Missed it? …": the answer to it is of what to do then
            in_doubt = spare and words.rstrip(" *_").endswith("?")
            self._sentence(
                line,
                begin,
                end,
                spare,
                mentions,
                [each for each in claims if begin <= each.start < end],
                spans,
                reading,
            )

    def _numbered(
        self, mentions: list[Mention], claims: list[Claim]
    ) -> tuple[list[Mention], list[Claim]]:
        """Bare numbers that are a ride's number are names after all."""
        kept, named = [], list(mentions)
        for claim in claims:
            entity = self.names.numbered(str(claim.values[0])) if claim.kind == "bare" else None
            if entity is not None and entity.kind == "ride":
                named.append(Mention(claim.start, claim.end, claim.said, entity))
            else:
                kept.append(claim)
        return sorted(named, key=lambda each: each.start), kept

    def _sentence(  # long: the order of the readings is the rule
        self,
        line: AnswerLine,
        begin: int,
        end: int,
        spare: bool,
        of_line: list[Mention],
        claims: list[Claim],
        spans: list[tuple[int, int]],
        reading: Reading,
    ) -> None:
        words = line.text[begin:end]
        mentions = [each for each in of_line if begin <= each.start < end]
        if takes_back(words, spare):
            reading.taken_back.append(words)
        for mention in mentions:
            if mention.entity is not None:
                self._recommend(mention, line, begin, spare, reading)
        if not spare and not any(each.kind == "date" for each in claims):
            self._date(mentions, reading)
        split = clauses(line.text, spans, begin, end)
        items = [each for each in mentions if each.entity is not None]
        told, sentence_times = (
            list[Entity | None](),
            [each for each in claims if each.kind == "time"],
        )
        for low, high in split:
            inside = [each for each in claims if low <= each.start < high]
            for claim in inside:
                subject = self._subject(claim, items, low, high, line.text, begin)
                nearer = [
                    each
                    for each in inside
                    if claim.kind != "time" or each.kind not in ("date", "weekday")
                ]
                previous = max(
                    (each.end for each in nearer if each.end <= claim.start), default=low
                )
                lead = max(
                    (each.end for each in sentence_times if each.end <= claim.start), default=begin
                )
                following = min(
                    (each.start for each in inside if each.start >= claim.end), default=high
                )
                alone = (
                    not line.text[low:high]
                    .replace(line.text[claim.start : claim.end], "")
                    .strip(" .,;:-→*")
                )
                # "11:02: arrival at X"
                if alone and line.text[claim.end : claim.end + 2].lstrip(" *")[:1] in (":", "-"):
                    following = min(
                        (each.start for each in claims if each.start >= claim.end), default=end
                    )
                label = (
                    line.text[begin:low]
                    if line.text[begin:low].rstrip().endswith(":")
                    else _label(line.text, begin, claim.start)
                )
                told += [subject] if claim.kind == "time" else []
                reading.statements.append(
                    Statement(
                        claim,
                        subject,
                        line.part,
                        words,
                        line.text[previous : claim.start],
                        line.text[claim.end : following],
                        label,
                        tuple(of_line if claim.kind == "card" and not items else mentions),
                        told.count(subject),
                        line.text[lead : claim.start],
                        claim.start - begin,
                    )
                )
        for mention in mentions:
            if mention.entity is None:
                about = self._bearer(
                    mention.start, items, frozenset(("ride", "hotel", "place", "other"))
                )
                reading.attributes.append(Attribute(mention.text, about, tuple(mentions), words))
        self._directions(line.text, mentions, items, reading)
        for item in items:
            entity = item.entity
            if entity is not None:
                self._speak_of(entity, line.text[begin : item.start])

    def _date(self, mentions: list[Mention], reading: Reading) -> None:
        """Rides under the title of a day, in a sentence that says no other."""
        rides = [
            each.entity
            for each in mentions
            if each.entity is not None and each.entity.kind == "ride"
        ]
        reading.dated += [(ride, self._day) for ride in rides if self._day]

    def _speak_of(self, entity: Entity, before: str) -> None:
        """What the next words are about; not what was only compared with, nor the X of "12 min from
        X", which goes on about the place."""
        if _COMPARED.search(before):
            return
        way = (
            entity.kind == "hotel"
            and self._last is not None
            and self._last.kind == "place"
            and _END_OF_WAY.search(before)
        )
        self._last = self._last if way else entity
        self._latest[entity.kind] = entity

    def _recommend(
        self, mention: Mention, line: AnswerLine, begin: int, spare: bool, reading: Reading
    ) -> None:
        entity, before = mention.entity, line.text[begin : mention.start]
        assert entity is not None
        if entity.kind not in ("ride", "hotel", "place"):
            return
        if _COMPARED.search(before):
            reading.compared.append(entity)
            return
        part = self._part(entity, line.part)
        known = [each for each in reading.recommended.values() if entity in each]
        if spare:
            if not known and entity not in reading.spares:
                reading.spares.append(entity)
            return
        if entity.kind != "ride" and (
            _ASIDE.search(before) or entity.kind == "hotel" and line.part == "visits"
        ):
            return
        if not known:
            reading.recommended.setdefault(part, []).append(entity)

    def _part(self, entity: Entity, part: Part) -> Part:
        if entity.kind == "hotel":
            return "stay"
        if entity.kind == "place":
            return "visits"
        if part in ("outbound", "return"):
            return part
        origin = self.request.origin.casefold()
        home = any(row.text("arrive_city").casefold() == origin for row in entity.rows)
        return "return" if home and self.request.return_date is not None else "outbound"

    def _subject(
        self, claim: Claim, items: list[Mention], low: int, high: int, text: str, begin: int
    ) -> Entity | None:
        bearers = BEARERS.get(claim.kind, _ANY)
        fitting = [
            each for each in items if each.entity is not None and each.entity.kind in bearers
        ]
        # "12 min from X": X is where the way begins, not what is told of
        if claim.kind in ("minutes", "km"):
            ends = [each for each in fitting if _END_OF_WAY.search(text[begin : each.start])]
            fitting = [each for each in fitting if each not in ends] or (
                [] if self._topic(frozenset(("place",))) else fitting
            )
        elif claim.kind != "card":
            fitting = [
                each
                for each in fitting
                if not _COMPARED.search(text[begin : each.start]) or each.start < claim.start
            ] or fitting
        here = [each for each in fitting if low <= each.start < high]
        before = [each for each in fitting if each.start < claim.start]
        if len({each.entity for each in here}) == 1:
            return here[0].entity
        if here:
            nearest = [each for each in here if each.start < claim.start]
            return (nearest[-1] if nearest else here[0]).entity
        if before:
            return before[-1].entity
        after = [each for each in fitting if each.start > claim.start]
        topic = self._topic(bearers)
        if after and (
            topic is None
            or _LEADS_TO.match(text[low:high])
            or len({each.entity for each in fitting}) == 1
            and not _refers(text[low:high])
        ):
            return after[0].entity
        return topic

    def _topic(self, bearers: frozenset[str]) -> Entity | None:
        """What was spoken of last, if it can bear the claim; else the last that can, unless a title
        stands in between."""
        if self._last is not None and self._last.kind in bearers:
            return self._last
        if self._title is not None:
            return None
        fitting = [entity for kind, entity in self._latest.items() if kind in bearers]
        return fitting[-1] if len(fitting) == 1 and self._last is not None else None

    def _bearer(self, place: int, items: list[Mention], kinds: frozenset[str]) -> Entity | None:
        fitting = [each for each in items if each.entity is not None and each.entity.kind in kinds]
        before = [each for each in fitting if each.start < place]
        if before:
            return before[-1].entity
        return fitting[0].entity if fitting else self._last

    def _directions(
        self, text: str, mentions: list[Mention], items: list[Mention], reading: Reading
    ) -> None:
        rides = [
            each.entity for each in items if each.entity is not None and each.entity.kind == "ride"
        ]
        subject = rides[0] if len(set(rides)) == 1 else None if rides else self._last
        if subject is None or subject.kind != "ride":
            return
        for one, two in zip(mentions, mentions[1:], strict=False):
            if (
                one.entity is None
                and two.entity is None
                and re.fullmatch(r"\s*(?:→|to|-)\s*", text[one.end : two.start])
            ):
                reading.directions.append((subject, one.text, two.text, text[one.start : two.end]))


def _refers(clause: str) -> bool:
    return (
        re.match(
            r"\W*(?:it|this|that|which|the (?:fare|price|ticket|journey|trip|ride))\b",
            clause,
            re.IGNORECASE,
        )
        is not None
    )


def _label(text: str, begin: int, place: int) -> str:
    """The label that the words stand under: 'Price' of '- **Price**: 123 USD'."""
    found = re.match(r"([^:|]{1,40}):\s", text[begin:place])
    last = text.rfind("|", begin, place)
    if last >= 0:
        found = re.match(r"\|?\s*([^:|]{1,40}):\s", text[last:place])
    return found[1] if found else ""


def _blanked(text: str, spans: Iterable[Mention | Claim]) -> str:
    for span in spans:
        stop = "." if text[span.end - 1] == "." else ""  # of "7 p.m.", which may end a sentence
        text = (
            text[: span.start]
            + BLANK * (span.end - span.start - len(stop))
            + stop
            + text[span.end :]
        )
    return text


def rows_of(entities: Iterable[Entity]) -> Iterator[EvidenceRow]:
    for entity in entities:
        yield from entity.rows
