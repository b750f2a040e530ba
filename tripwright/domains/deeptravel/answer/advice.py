"""An answer to a traveller as data: recommendations for the way out, the stay, the way back and the
visits, each with its evidence (row D11).

`write_markdown` and `read_markdown` are each other's inverse for answers in this format. There are
two forms of it: the full one for people, and a compact one with a line for each recommendation, for
tiny models. The reader tells them apart by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

PartKind = Literal["outbound", "stay", "return", "visits"]
Mode = Literal["flight", "train"]
MOST_RECOMMENDATIONS = 2  # in each part (row D11)


@dataclass(frozen=True)
class Card:
    """Evidence: a row of a tool answer. Both count from 1; calls as they stand in the
    transcript."""

    call: int
    row: int


@dataclass(frozen=True)
class RideAdvice:
    """One journey. `departs_at` and `arrives_at` are local, "2026-06-26T06:54"; the price is per
    person, None where the source says none.

    The compact form keeps neither cities nor stations, neither the minutes nor why.
    """

    number: str
    mode: Mode
    departs_at: str
    arrives_at: str
    minutes: int | None = None
    price: float | None = None
    currency: str = ""  # ISO 4217; empty without a price
    depart_city: str = ""
    depart_place: str = ""  # station or airport
    arrive_city: str = ""
    arrive_place: str = ""
    why: str = ""
    evidence: tuple[Card, ...] = ()


@dataclass(frozen=True)
class HotelStay:
    """One hotel for the days of its part. The price is of one room for the whole stay."""

    name: str
    address: str = ""
    room: str = ""
    price: float | None = None
    currency: str = ""
    why: str = ""
    evidence: tuple[Card, ...] = ()


@dataclass(frozen=True)
class LocalLeg:
    """The way to a place within its city. `origin` is where it starts, as the tool was asked."""

    mode: str  # "driving", "walking", …
    minutes: float
    origin: str = ""
    distance_km: float | None = None


@dataclass(frozen=True)
class PlaceVisit:
    """A place to see on the day of its part."""

    name: str
    address: str = ""
    leg: LocalLeg | None = None
    why: str = ""
    evidence: tuple[Card, ...] = ()


Recommendation = RideAdvice | HotelStay | PlaceVisit


@dataclass(frozen=True)
class AdvicePart:
    """`last_day` is None where the part is about one day; visits of several days are several parts,
    and visits of no certain day have none. `note` says what could not be met."""

    kind: PartKind
    first_day: str = ""  # every part but visits has one
    last_day: str | None = None
    items: tuple[Recommendation, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Advice:
    """Texts are of one line. `risks` are those of the plan, and what else the traveller may do."""

    opening: str = ""
    parts: tuple[AdvicePart, ...] = ()
    risks: tuple[str, ...] = ()

    def of_kind(self, kind: PartKind) -> Iterator[Recommendation]:
        return (item for part in self.parts if part.kind == kind for item in part.items)

    @property
    def too_many(self) -> tuple[AdvicePart, ...]:
        """The parts with more recommendations than row D11 allows."""
        return tuple(part for part in self.parts if len(part.items) > MOST_RECOMMENDATIONS)


def condensed(advice: Advice) -> Advice:
    """What the compact form says of an answer: number, times, price and card of each
    recommendation, notes and risks."""
    parts = tuple(replace(part, items=tuple(map(_condensed, part.items))) for part in advice.parts)
    return Advice(parts=parts, risks=advice.risks)


def _condensed(item: Recommendation) -> Recommendation:
    match item:
        case RideAdvice():
            return RideAdvice(
                item.number,
                item.mode,
                item.departs_at,
                item.arrives_at,
                price=item.price,
                currency=item.currency,
                evidence=item.evidence,
            )
        case HotelStay():
            return HotelStay(
                item.name, price=item.price, currency=item.currency, evidence=item.evidence
            )
        case PlaceVisit():
            leg = LocalLeg(item.leg.mode, item.leg.minutes) if item.leg else None
            return PlaceVisit(item.name, leg=leg, evidence=item.evidence)
