"""The typed records that the six live tools answer with: every vendor's answer becomes these,
whatever form it had (DeepTravel, section 3.2; row D1).

Times are local to where they happen, "2026-06-26T06:54", days "2026-06-26"; money carries its
currency; what a vendor does not say is None, never 0 and never a guess. An answer knows where it
came from (`Source`), and its JSON is canonical: equal answers are equal bytes, which is what makes
a replay byte-identical.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args


class Money(NamedTuple):
    amount: float
    currency: str  # ISO 4217


@dataclass(frozen=True)
class FlightOffer:
    number: str  # "TW 214"; of a journey with stops "TW 214, TW 38"
    carrier: str
    depart_city: str
    depart_airport: str
    arrive_city: str
    arrive_airport: str
    departs_at: str
    arrives_at: str
    minutes: int
    stops: int = 0
    price: Money | None = None  # per person


@dataclass(frozen=True)
class TrainOffer:
    number: str
    operator: str
    depart_city: str
    depart_station: str
    arrive_city: str
    arrive_station: str
    departs_at: str
    arrives_at: str
    minutes: int
    transfers: int = 0
    price: Money | None = None  # per person; timetables mostly know none


@dataclass(frozen=True)
class RouteLeg:
    origin: str
    destination: str
    city: str
    mode: str  # "driving", "walking", …
    minutes: float
    distance_km: float


@dataclass(frozen=True)
class HotelOffer:
    name: str
    city: str
    checkin_date: str
    checkout_date: str
    room: str = ""
    address: str = ""
    price: Money | None = None  # of one room for the whole stay
    rating: float | None = None  # 0 to 5
    latitude: float | None = None
    longitude: float | None = None
    guests: int | None = None  # for how many one room is


@dataclass(frozen=True)
class PointOfInterest:
    name: str
    city: str
    address: str = ""
    category: str = ""
    latitude: float | None = None
    longitude: float | None = None


@dataclass(frozen=True)
class WebPage:
    title: str
    url: str
    snippet: str = ""


Record = FlightOffer | TrainOffer | RouteLeg | HotelOffer | PointOfInterest | WebPage
RECORDS: dict[str, type[Record]] = {
    "flight_search": FlightOffer,
    "train_search": TrainOffer,
    "route_planning": RouteLeg,
    "hotel_search": HotelOffer,
    "poi_search": PointOfInterest,
    "web_search": WebPage,
}
# field of a record → the argument of the call that says it, too
OF_THE_CALL: Mapping[str, str] = {
    "depart_city": "depart_city_name",
    "arrive_city": "arrival_city_name",
    "origin": "origin_name",
    "destination": "destination_name",
    "city": "city_name",
    "checkin_date": "checkin_date",
    "checkout_date": "checkout_date",
}
# The names that stores and snapshots on disk have for them.
_NAMES = {kind: kind.__name__ for kind in get_args(Record)} | {PointOfInterest: "Place"}
_KINDS: dict[str, type[Record]] = {name: kind for kind, name in _NAMES.items()}


@dataclass(frozen=True)
class Provenance:
    """Where an answer comes from, and on what terms it may be kept."""

    provider: str
    version: str  # of our client and of the vendor's interface: another version is another key
    fetched_at: str  # UTC, "2026-06-20T09:30:00Z"
    attribution: str = ""  # what the vendor asks to be shown beside its data
    may_store: bool = True  # False: the terms forbid keeping it, so it never enters a snapshot


@dataclass(frozen=True)
class ProviderAnswer:
    """One answer of one provider. Without records, `note` says in a line what was not found;
    `refused` says that the call itself was wrong (an unknown city, an impossible date): the
    caller's mistake, and an answer like any other."""

    records: tuple[Record, ...]
    source: Provenance
    note: str = ""
    refused: bool = False

    def to_json(self) -> str:
        """Canonical: sorted keys, no spaces, unknown values left out."""
        body = {
            "note": self.note,
            "records": [
                {"kind": _NAMES[type(record)], **values_of(record)} for record in self.records
            ],
            "refused": self.refused,
            "source": values_of(self.source),
        }
        return json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> ProviderAnswer:
        body = json.loads(text)
        return cls(
            tuple(_record(entry) for entry in body["records"]),
            Provenance(**body["source"]),
            body["note"],
            body["refused"],
        )


def values_of(record: Any) -> dict[str, Any]:
    """What is known, as JSON has it."""
    return {
        name: value._asdict() if isinstance(value, Money) else value
        for name, value in vars(record).items()
        if value is not None
    }


def _record(entry: Mapping[str, Any]) -> Record:
    values = dict(entry)
    kind = _KINDS[values.pop("kind")]
    if isinstance(values.get("price"), dict):
        values["price"] = Money(**values["price"])
    return kind(**values)
