"""The rows that the tools of a transcript have shown, and an answer's cards beside the rows that
they refer to: the ground that all checks of the rule form stand on (DeepTravel, section 3.3; rows
D3 and D4).

What counts is what the model was shown, which a call's rows hold: after pages and cuts, and nothing
of a call that failed. Rows are known by their tool, so a page of the web never speaks for a train;
what a server's own tools answer is of no kind that a card may refer to. Instructions in tool data
are data. A card whose reference points at no row that was shown, or at one of another kind or name,
recommends nothing: it is told as a problem and is no part of the trip.

What a request asks (nights, rooms, a chain's name) is reckoned here and not taken from
`requests/intents.py`: those who make requests and who answer them share no code with who judges
(law 1), and tests make them agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from itertools import zip_longest
from typing import Any, Literal, NamedTuple, cast

from tripwright.domains.deeptravel.cards import Alternative, Cards, PartName
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.tools.answers import OF_THE_CALL
from tripwright.domains.deeptravel.verifiers.findings import VerifierProblem
from tripwright.transcript import ToolCall, Transcript

RowKind = Literal["flight", "train", "hotel", "place", "route", "page", "other"]
KINDS: dict[str, RowKind] = {
    "flight_search": "flight",
    "train_search": "train",
    "hotel_search": "hotel",
    "poi_search": "place",
    "route_planning": "route",
    "web_search": "page",
}


@dataclass(frozen=True)
class EvidenceRow:
    """One row of one answer. `values` has the labels of `domains/deeptravel/tools/answers.py`; what
    was not said is not there."""

    call: int  # from 1
    row: int  # from 1
    kind: RowKind
    values: Mapping[str, Any] = field(hash=False)

    def text(self, label: str) -> str:
        value = self.values.get(label)
        return value.strip() if isinstance(value, str) else ""

    def number(self, label: str) -> float | None:
        """None where it is not said, or no number."""
        value = self.values.get(label)
        return (
            float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        )

    @property
    def name(self) -> str:
        """What an answer calls it: a ride's number, a hotel's or place's name."""
        return self.text("number") or self.text("name")


@dataclass(frozen=True)
class CallEvidence:
    """One call with what the model was shown of its answer."""

    number: int
    call: ToolCall
    rows: tuple[EvidenceRow, ...]
    shown: str


def evidence(transcript: Transcript) -> list[CallEvidence]:
    """The calls in order. An answer without typed rows supports nothing."""
    answered: list[CallEvidence] = []
    for segment, after in zip_longest(transcript.segments, transcript.segments[1:]):
        if (call := segment.call) is None:
            continue
        text = after.text if after is not None and after.role == "tool" else call.result
        if call.result and call.result in text:
            text = call.result
        number = len(answered) + 1
        rows = () if call.error else _rows(call, number)
        answered.append(CallEvidence(number, call, rows, text))
    return answered


def _rows(call: ToolCall, number: int) -> tuple[EvidenceRow, ...]:
    if call.rows is None:
        return ()
    rows = []
    for row, values in enumerate(call.rows.records(), start=call.rows.first):
        # ways to an airport stand among its flights
        kind: RowKind = "route" if "mode" in values else KINDS.get(call.name, "other")
        rows.append(EvidenceRow(number, row, kind, _completed(values, call)))
    return tuple(rows)


def _completed(fields: Mapping[str, Any], call: ToolCall) -> dict[str, Any]:
    """What an answer says. The compact face leaves out what the call says itself, and shows times
    as clocks of the day that was asked."""
    values = {name: value for name, value in fields.items() if value is not None and value != ""}
    for name, argument in OF_THE_CALL.items():
        if name not in fields and isinstance(call.arguments.get(argument), str):
            values[name] = call.arguments[argument]
    day, times = call.arguments.get("depart_date"), ("departs_at", "arrives_at")
    clocks = [name for name in times if re.fullmatch(r"\d{2}:\d{2}", str(values.get(name)))]
    if isinstance(day, str):
        values |= {name: f"{day}T{values[name]}" for name in clocks}
    departs, arrives = (str(values.get(name, "")) for name in times)
    if clocks and "arrives_at" in values and arrives < departs:
        values["arrives_at"] = _a_day_later(arrives)  # as the face has it
    return values


def _a_day_later(stamp: str) -> str:
    try:
        return (datetime.fromisoformat(stamp) + timedelta(days=1)).isoformat(timespec="minutes")
    except ValueError:
        return stamp


# ---- cards beside their rows

RIDES: tuple[PartName, ...] = ("outbound", "return")
BOOKED: tuple[PartName, ...] = (*RIDES, "stay")


class Pick(NamedTuple):
    """A card (of a visit its way, or where it was found) or an alternative with its row. `path` is
    its place in the answer: "outbound.0", "risks.1"."""

    path: str
    card: Any
    row: EvidenceRow

    @property
    def part(self) -> PartName:
        return cast(PartName, self.card.part if self.is_spare else self.path.partition(".")[0])

    @property
    def is_spare(self) -> bool:
        return isinstance(self.card, Alternative)

    def problem(self, kind: str, field: str, message: str, said: object = "") -> VerifierProblem:
        """An alternative has no field of its own for what its row says."""
        path = self.path if self.is_spare else f"{self.path}.{field}"
        return problem(kind, path, message, said, self.row)


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

    def _resolved(self, path: str, card: Any, *kinds: RowKind) -> Pick | VerifierProblem:
        row = self.rows.get((card.call, card.row))
        said = f"call {card.call}, row {card.row}"
        if row is None or row.kind not in kinds:
            needed = " or a ".join(kinds)
            shown = "no row that was shown" if row is None else f"a {row.kind}, not a {needed}"
            return problem("wrong_reference", path, f"{said} is {shown}", said)
        name = next((each for each in ("number", "name") if hasattr(card, each)), None)
        if name is not None and getattr(card, name) != row.name:
            what = f"the answer says {getattr(card, name)!r}, {said} is {row.name!r}"
            return problem(f"wrong_{name}", f"{path}.{name}", what, getattr(card, name), row)
        return Pick(path, card, row)

    def picks(self, *parts: PartName, spare: bool = False) -> list[Pick]:
        """Of these parts, in order; with `spare` the alternatives after the recommendations."""
        picks = [each for each in self.references if isinstance(each, Pick) and each.part in parts]
        return [each for each in picks if spare or not each.is_spare]

    def first(self, part: PartName) -> EvidenceRow | None:
        return next((pick.row for pick in self.picks(part)), None)

    @cached_property
    def used(self) -> frozenset[int]:
        """The calls that a recommendation or an alternative rests on."""
        return frozenset(each.row.call for each in self.references if isinstance(each, Pick))

    @cached_property
    def total(self) -> float | None:
        """What the first recommendations cost the party; None where that cannot be told, as in two
        currencies."""
        picks = [pick for part in BOOKED for pick in self.picks(part)[:1]]
        prices = [pick.row.number("price") for pick in picks]
        costs = [
            self._times(p) * each for p, each in zip(picks, prices, strict=True) if each is not None
        ]
        is_known = len(costs) == len(picks) and len({p.row.text("currency") for p in picks}) < 2
        return round(sum(costs), 2) if is_known else None

    def cost(self, pick: Pick) -> float | None:
        """Of a ride for the party, of a hotel for the rooms that the card has."""
        price = self.price(pick.row)
        return None if price is None else price * self._times(pick)

    def _times(self, pick: Pick) -> int:
        return int(pick.card.rooms) if pick.part == "stay" else self.request.party_size

    def price(self, row: EvidenceRow) -> float | None:
        """None where it is not said in the request's currency."""
        is_known = row.text("currency") in ("", self.request.currency)
        return row.number("price") if is_known else None

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


def _references(cards: Cards) -> Iterator[tuple[Any, ...]]:
    """Where a reference stands, what has it, and the kinds of which its row may be."""
    for part, rides in (("outbound", cards.outbound), ("return", cards.back)):
        yield from ((f"{part}.{n}", ride, ride.kind) for n, ride in enumerate(rides))
    yield from ((f"stay.{n}", stay, "hotel") for n, stay in enumerate(cards.stay))
    for n, visit in enumerate(cards.visits):
        yield f"visits.{n}.way", visit.way, "route"
        if visit.found is not None:
            yield f"visits.{n}.found", visit.found, "place"
    for n, risk in enumerate(cards.risks):
        if isinstance(risk, Alternative):
            kinds = ("hotel",) if risk.part == "stay" else ("flight", "train")
            yield f"risks.{n}", risk, *kinds


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
    """0 where one of the days is no date."""
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


def rooms_for(party_size: int, row: EvidenceRow) -> range:
    """From as many as hold the party by what the row says to two people in a room; of an entire
    home there is one."""
    is_home = not {"entire", "whole"}.isdisjoint(re.findall(r"\w+", plain(row.text("room"))))
    most = 1 if is_home else -(-party_size // 2)
    return range(min(most, int(-(-party_size // (row.number("guests") or 2)))), most + 1)


# ---- what a row lacks of what the request asks of its part of the trip

NEAR_KM = 3.0  # by the road; what "near" asks of a hotel


class Miss(NamedTuple):
    """Rubrics, "that fits", "not met" and alternatives are all read from these. `wish` is the
    request's field, empty for what every trip needs; `field` is the card's."""

    rubric: str
    wish: str
    field: str
    what: str


def misses(trip: Itinerary, row: EvidenceRow, part: PartName) -> Iterator[Miss]:
    return _of_stay(trip, row) if part == "stay" else _of_ride(trip, row, part)


def _of_ride(trip: Itinerary, row: EvidenceRow, part: PartName) -> Iterator[Miss]:
    """Times are of the day asked for: who must be there by 15:00 is late on the next day."""
    request, main = trip.request, "main_requirement"
    begin, end = (request.origin, request.destination)
    day, after, by = request.depart_date, request.depart_after, request.arrive_by
    wishes = ("depart_after", "arrive_by")
    if part == "return":
        begin, end, wishes = end, begin, ("return_after", "return_by")
        day, after, by = request.return_date or "", request.return_after, request.return_by
    for label, city in (("depart_city", begin), ("arrive_city", end)):
        if not same(row.text(label), city):
            shown = row.text(label) or "no city"
            yield Miss(main, "", label, f"{row.name} has {shown}, asked was {city}")
    departs, arrives = row.text("departs_at")[:16], row.text("arrives_at")[:16]
    if departs[:10] != day or not day:
        asked = day or "no such way"
        yield Miss(main, "", "date", f"{row.name} goes on {departs[:10]}, asked was {asked}")
    if request.transport not in (None, row.kind):
        what = f"{row.name} is a {row.kind}, asked was a {request.transport}"
        yield Miss(main, "transport", "kind", what)
    if after is not None and not departs >= f"{day}T{after}":
        what = f"{row.name} departs {departs}, asked was not before {after}"
        yield Miss("other_constraints", wishes[0], "departs", what)
    if by is not None and not (arrives and arrives <= f"{day}T{by}"):
        what = f"{row.name} arrives {arrives or 'nobody knows when'}, asked was by {by}"
        yield Miss("other_constraints", wishes[1], "arrives", what)


def _of_stay(trip: Itinerary, row: EvidenceRow) -> Iterator[Miss]:
    """What was not shown is not met; for how many a room is counts where the row says it."""
    request = trip.request
    if not same(row.text("city"), request.destination):
        what = f"{row.name} is in {row.text('city') or 'no city'}"
        yield Miss("main_requirement", "", "name", what)
    guests, rooms = row.number("guests"), rooms_for(request.party_size, row)[-1]
    if guests is not None and guests * rooms < request.party_size:
        what = f"a room of {row.name} is for {guests:g}, {request.party_size} in {rooms} were asked"
        yield Miss("main_requirement", "", "guests", what)
    if (limit := request.nightly_budget) is not None:
        price = nightly(row)
        if price is None or trip.price(row) is None or price > limit:
            what = f"{row.name} costs {price} a night, the budget is {limit:g} {request.currency}"
            yield Miss("other_constraints", "nightly_budget", "price", what)
    if request.hotel is not None and not contains(row.name, request.hotel):
        what = f"{row.name} is not {request.hotel}"
        yield Miss("specific_requirements", "hotel", "name", what)
    if (place := request.hotel_near) is not None:
        km = trip.km_between(row.name, place)
        if km is None or km > NEAR_KM:
            way = "no way that was shown" if km is None else f"a way of {km:g} km"
            what = f"{way} from {row.name} to {place}, near is {NEAR_KM:g} km"
            yield Miss("specific_requirements", "hotel_near", "reasons", what)


def fits(trip: Itinerary, row: EvidenceRow, part: PartName) -> bool:
    """Whether it may be recommended beside the answer's hotels."""
    has_bed = part != "outbound" or has_hotel(trip, row)
    return has_bed and not any(misses(trip, row, part))


def has_hotel(trip: Itinerary, ride: EvidenceRow) -> bool:
    """Whether a hotel begins on the day that the ride there arrives; true where there is none."""
    checkins = {pick.row.text("checkin_date") for pick in trip.picks("stay")}
    return not checkins or arrival_day(trip, ride) in checkins


def arrival_day(trip: Itinerary, ride: EvidenceRow) -> str:
    """Over a line of dates one may arrive on the day before; the trip begins when it was asked."""
    return max(ride.text("arrives_at")[:10], trip.request.depart_date)
