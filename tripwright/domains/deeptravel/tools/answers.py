"""The typed records that the six live tools answer with: every vendor's answer becomes these,
whatever form it had (DeepTravel, section 3.2; row D1).

Times are local to where they happen, "2026-06-26T06:54", days "2026-06-26"; money carries its
currency; what a vendor does not say is None, never 0 and never a guess. An answer knows where it
came from (`Source`), and its JSON is canonical: equal answers are equal bytes, which is what makes
a replay byte-identical.

What functions, HTTP services and MCP servers answer is read into records here, strictly: a slip of
the pen is said and not left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import date, datetime
from typing import Any, NamedTuple, get_args, get_type_hints

from tripwright.errors import printable

CURRENCIES = frozenset(  # ISO 4217
    """AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD
    CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP
    GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD
    KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN
    NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP
    SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES
    VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG""".split()
)


class Money(NamedTuple):
    amount: float
    currency: str


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


# ---- rows of others

MOST_ROWS = 10_000  # of an answer: no model reads as many
MOMENTS = ("departs_at", "arrives_at")
DAYS = ("checkin_date", "checkout_date")
ESSENTIAL: Mapping[str, tuple[str, ...]] = {  # without these a row is unreadable
    "flight_search": ("number", "departs_at", "arrives_at", "minutes"),
    "train_search": ("number", "departs_at", "arrives_at", "minutes"),
    "route_planning": ("minutes", "distance_km"),
    "hotel_search": ("name",),
    "poi_search": ("name",),
    "web_search": ("url",),
}


class BadRow(ValueError):
    """What is wrong with a row, and in which field."""


def names_in(tool: str) -> tuple[str, ...]:
    """What a row may say."""
    names = tuple(field.name for field in fields(RECORDS[tool]))
    money = ("currency", "price_per") if tool == "hotel_search" else ("currency",)
    return (*names, *money) if "price" in names else names


def record_of_row(tool: str, row: Any, arguments: Mapping[str, Any]) -> Record:
    """Fields that have a default may be missing; those that the
    call names are then the call's, and texts without which a record still says something are empty.
    `price` is an amount with `currency` beside it, and of a hotel `price_per`, without which nobody
    could tell the two apart: "night", or "stay". Numbers may be written as text and names as
    numbers. Raises BadRow.
    """
    kind = RECORDS[tool]
    if not isinstance(row, Mapping):
        raise BadRow(f"as {type(row).__name__}: expected a dict.")
    hints, known = get_type_hints(kind), names_in(tool)
    unknown = [key for key in row if key not in known]
    if unknown:
        raise BadRow(
            f"with {printable(unknown[0])!r}, which {tool} does not know: its rows have"
            f" {', '.join(known)}."
        )
    values = dict[str, Any]()
    for field in fields(kind):
        name = field.name
        value = _value(name, hints[name], row)
        if value is None and name in OF_THE_CALL:
            value = arguments.get(OF_THE_CALL[name])
        if value is None and name in ESSENTIAL[tool]:
            raise BadRow(f"without '{name}'.")
        if value is not None or field.default is MISSING:
            values[name] = "" if value is None else value
    if kind is HotelOffer and values.get("price") is not None:
        values["price"] = _of_the_stay(values, row.get("price_per"))
    return kind(**values)


def _of_the_stay(values: Mapping[str, Any], per: Any) -> Money:
    """The price of a room for all its nights."""
    (amount, currency), days = values["price"], (values["checkin_date"], values["checkout_date"])
    if per == "stay":
        return Money(amount, currency)
    if per == "night" and all(map(is_day, days)):
        first, last = map(date.fromisoformat, days)
        return Money(round(amount * (last - first).days, 2), currency)
    found = f"found {printable(per)[:60]}" if per else "found none"
    raise BadRow(f"without a 'price_per' beside its price, which is 'night' or 'stay': {found}.")


def _value(name: str, hint: Any, row: Mapping[str, Any]) -> Any:
    """None where the row does not say. Raises BadRow."""
    value, currency = row.get(name), row.get("currency")
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    number = number_or_none(value)
    read: Any
    if name == "price":
        read = money_or_none(number, currency)
        expected = "amount with a currency of ISO 4217 beside it, as 129.5 and 'USD'"
    elif name in MOMENTS:
        moment = moment_or_none(value)
        read = moment.strftime("%Y-%m-%dT%H:%M") if moment else None
        expected = "time, as '2026-06-26T06:54'"
    elif name in DAYS:
        read, expected = (value if is_day(value) else None), "day, as '2026-06-26'"
    elif hint is str:
        is_text = isinstance(value, str | int) and not isinstance(value, bool)  # train 571
        read = text_or_empty(str(value)) if is_text else None
        expected = "text"
    elif hint in (int, int | None):
        read = int(number) if number is not None and number == int(number) else None
        expected = "whole number"
    else:
        read, expected = number, "number"
    if read is None:
        raise BadRow(f"with '{name}' that is no {expected}: found {printable(value)[:60]}.")
    return read


def text_or_empty(value: Any) -> str:
    """One line of text that can be sent on: JSON may hold line breaks and lone surrogates."""
    return (
        " ".join(value.encode("utf-8", "replace").decode().split())
        if isinstance(value, str)
        else ""
    )


def number_or_none(value: Any) -> float | None:
    """A finite number, also where it is written as text."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def money_or_none(amount: float | None, currency: Any) -> Money | None:
    code = currency.upper() if isinstance(currency, str) else ""
    return (
        Money(amount, code) if amount is not None and amount >= 0 and code in CURRENCIES else None
    )


def moment_or_none(text: Any) -> datetime | None:
    """A day with its time; aware where an offset is stated."""
    try:
        return datetime.fromisoformat(text.strip()) if ":" in text else None
    except (AttributeError, TypeError, ValueError):
        return None


def minutes_between(begins: Any, ends: Any) -> int | None:
    """Between two moments that state their offsets; local times of two places say nothing about
    it."""
    first, last = moment_or_none(begins), moment_or_none(ends)
    if first is None or last is None or first.tzinfo is None or last.tzinfo is None:
        return None
    return round((last - first).total_seconds() / 60) if last >= first else None


def is_day(text: Any) -> bool:
    """Python reads days in more ways than this one: "2026-06-26"."""
    try:
        return bool(date.fromisoformat(text).isoformat() == text)
    except (TypeError, ValueError):
        return False
