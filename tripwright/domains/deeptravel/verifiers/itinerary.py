"""An answer's cards beside the rows that they refer to: the ground that all checks stand on.

A card whose reference points at no row that was shown, or at one of another kind or name,
recommends nothing: it is told as a problem and is no part of the trip.

What a request asks (nights, rooms, a chain's name) is reckoned here once more and not taken from
`requests/intents.py`: those who make requests and who answer them share no code with who judges
(law 1), and tests make them agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple

from tripwright.domains.deeptravel.answer.cards import Cards, PartName
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.evidence import CallEvidence, EvidenceRow
from tripwright.domains.deeptravel.verifiers.findings import VerifierProblem

RIDES: tuple[PartName, ...] = ("outbound", "return")
BOOKED: tuple[PartName, ...] = (*RIDES, "stay")


class Pick(NamedTuple):
    """A card (of a visit its way, or where it was found) with its row. `path` is its place in the
    answer: "outbound.0"."""

    path: str
    card: Any
    row: EvidenceRow

    def problem(self, kind: str, field: str, message: str, said: object = "") -> VerifierProblem:
        return problem(kind, f"{self.path}.{field}", message, said, self.row)


@dataclass(frozen=True)
class Itinerary:
    request: TravelRequest
    cards: Cards
    answered: list[CallEvidence]

    @cached_property
    def rows(self) -> dict[tuple[int, int], EvidenceRow]:
        """Every row that was shown, by call and number."""
        return {(row.call, row.row): row for call in self.answered for row in call.rows}

    @cached_property
    def references(self) -> list[Pick | VerifierProblem]:
        """Every card with its row, or what is wrong with its reference."""
        return [self._resolved(*reference) for reference in _references(self.cards)]

    @cached_property
    def refused(self) -> list[VerifierProblem]:
        """The references that do not hold. What the trip comes to as a whole is not known while
        there are any, so nothing else is blamed for it."""
        return [each for each in self.references if isinstance(each, VerifierProblem)]

    def _resolved(self, path: str, card: Any, kind: str) -> Pick | VerifierProblem:
        row = self.rows.get((card.call, card.row))
        said = f"call {card.call}, row {card.row}"
        if row is None or row.kind != kind:
            shown = "no row that was shown" if row is None else f"a {row.kind}, not a {kind}"
            return problem("wrong_reference", path, f"{said} is {shown}", said)
        name = {"flight": "number", "train": "number", "hotel": "name"}.get(kind)
        if name is not None and getattr(card, name) != row.name:
            what = f"the answer says {getattr(card, name)!r}, {said} is {row.name!r}"
            return problem(f"wrong_{name}", f"{path}.{name}", what, getattr(card, name), row)
        return Pick(path, card, row)

    def picks(self, part: PartName) -> list[Pick]:
        return [
            each
            for each in self.references
            if isinstance(each, Pick) and each.path.startswith(f"{part}.")
        ]

    def first(self, part: PartName) -> EvidenceRow | None:
        return next((pick.row for pick in self.picks(part)), None)

    @cached_property
    def used(self) -> frozenset[int]:
        """The calls that a recommendation rests on."""
        return frozenset(each.row.call for each in self.references if isinstance(each, Pick))

    @cached_property
    def total(self) -> float | None:
        """What the first recommendations cost the party, in the request's currency; None where
        that cannot be told."""
        costs = [self.cost(row) for part in BOOKED if (row := self.first(part)) is not None]
        known = [cost for cost in costs if cost is not None]
        return round(sum(known), 2) if len(known) == len(costs) else None

    def cost(self, row: EvidenceRow) -> float | None:
        """Of a ride for the party, of a hotel for the rooms it needs."""
        price, size = row.number("price"), self.request.party_size
        if price is None or row.text("currency") not in ("", self.request.currency):
            return None
        return price * (rooms_for(size) if row.kind == "hotel" else size)

    def km_between(self, one: str, other: str) -> float | None:
        """By the shortest way that was shown in the city of destination; None where none was."""
        ways = [
            km
            for row in self.rows.values()
            if row.kind == "route"
            and same(row.text("city"), self.request.destination)
            and ends(row) == {plain(one), plain(other)}
            and (km := row.number("distance_km")) is not None
        ]
        return min(ways, default=None)


def _references(cards: Cards) -> Iterator[tuple[str, Any, str]]:
    """Where a reference stands, what has it, and of which kind its row must be."""
    for part, rides in (("outbound", cards.outbound), ("return", cards.back)):
        yield from ((f"{part}.{n}", ride, ride.kind) for n, ride in enumerate(rides))
    yield from ((f"stay.{n}", stay, "hotel") for n, stay in enumerate(cards.stay))
    for n, visit in enumerate(cards.visits):
        yield f"visits.{n}.way", visit.way, "route"
        if visit.found is not None:
            yield f"visits.{n}.found", visit.found, "place"


def problem(
    kind: str, path: str, message: str, said: object = "", row: EvidenceRow | None = None
) -> VerifierProblem:
    """`path` is the field that is wrong, which stands before the message."""
    call, number = (row.call, row.row) if row is not None else (None, None)
    return VerifierProblem(kind, f"{path}: {message}.", str(said), call, number, path)


def plain(name: str) -> str:
    return " ".join(name.split()).casefold()


def same(one: str, other: str) -> bool:
    return plain(one) == plain(other)


def contains(name: str, words: str) -> bool:
    """Whether a hotel is of the chain, or has the name, that was asked for."""
    return f" {plain(words)} " in f" {plain(name)} "


def ends(way: EvidenceRow) -> set[str]:
    return {plain(way.text("origin")), plain(way.text("destination"))}


def moment(row: EvidenceRow, label: str) -> datetime | None:
    """Local time, None where it is not said or no time."""
    try:
        return datetime.fromisoformat(row.text(label)).replace(tzinfo=None)
    except ValueError:
        return None


def nights_of(row: EvidenceRow) -> int:
    """0 where one of the days is none."""
    first, last = moment(row, "checkin_date"), moment(row, "checkout_date")
    return (last - first).days if first is not None and last is not None else 0


def nightly(row: EvidenceRow) -> float | None:
    """The price of one room and night."""
    price, nights = row.number("price"), nights_of(row)
    return price / nights if price is not None and nights > 0 else None


def nights_asked(request: TravelRequest) -> int:
    """Row D8's intents: `nights`, else from there to back, else none."""
    if request.nights is not None:
        return request.nights
    if request.return_date is None:
        return 0
    days = date.fromisoformat(request.return_date) - date.fromisoformat(request.depart_date)
    return max(days.days, 0)


def asked_parts(request: TravelRequest) -> tuple[PartName, ...]:
    stay: tuple[PartName, ...] = ("stay",) if nights_asked(request) > 0 else ()
    back: tuple[PartName, ...] = ("return",) if request.return_date is not None else ()
    return ("outbound", *stay, *back)


def checkout_asked(request: TravelRequest) -> str:
    days = timedelta(days=nights_asked(request))
    return (date.fromisoformat(request.depart_date) + days).isoformat()


def rooms_for(party_size: int) -> int:
    """Two to a room."""
    return -(-party_size // 2)
