"""From what a user's function or an MCP server answered to records. A function's dicts are checked
field by field, so that a slip of the pen is said and not left out; JSON of a foreign shape is read
without trusting it: a part that is missing or of another type reads as nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import date, datetime
from typing import Any, get_type_hints

from tripwright.domains.deeptravel.tools.answers import RECORDS, Money, Record
from tripwright.errors import printable

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
OF_THE_CALL: Mapping[str, str] = {
    "depart_city": "depart_city_name",
    "arrive_city": "arrival_city_name",
    "origin": "origin_name",
    "destination": "destination_name",
    "city": "city_name",
    "checkin_date": "checkin_date",
    "checkout_date": "checkout_date",
}


class BadRow(ValueError):
    """What is wrong with a row, by its number and the field."""


def record_of_row(tool: str, number: int, row: Any, arguments: Mapping[str, Any]) -> Record:
    """Of a dict, or of a record itself. Fields that have a default may be missing; those that the
    call names are then the call's, and texts without which a record still says something are empty.
    `price` is an amount with `currency` beside it. Raises BadRow."""
    kind = RECORDS[tool]
    if isinstance(row, kind):
        row = {each.name: getattr(row, each.name) for each in fields(kind)}
    if not isinstance(row, Mapping):
        raise BadRow(f"row {number} as {type(row).__name__}: expected a dict.")
    hints, named = get_type_hints(kind), {each.name: each for each in fields(kind)}
    known = [*named, *(["currency"] if "price" in named else [])]
    if unknown := [key for key in row if key not in known]:
        raise BadRow(
            f"row {number} with {printable(unknown[0])!r}, which {tool} does not know: its rows"
            f" have {', '.join(known)}."
        )
    values = dict[str, Any]()
    for name, field in named.items():
        value = row.get(name)
        if value is None and name in OF_THE_CALL:
            value = arguments.get(OF_THE_CALL[name])
        if value is None or (isinstance(value, str) and not value.strip()):
            if name in ESSENTIAL[tool]:
                raise BadRow(f"row {number} without '{name}'.")
            if field.default is MISSING:
                values[name] = ""
            continue
        values[name] = _value(f"row {number} with '{name}'", name, hints[name], value, row)
    return kind(**values)


def _value(where: str, name: str, hint: Any, value: Any, row: Mapping[str, Any]) -> Any:
    found = f"found {printable(value)[:60]}."
    if name == "price":
        money = value if isinstance(value, Money) else None
        currency = row.get("currency")
        amount = None if isinstance(value, str) else number_or_none(value)
        money = money or money_or_none(amount, currency if isinstance(currency, str) else "")
        if money is None:
            raise BadRow(
                f"{where} that is no amount with a currency beside it, as 129.5 and 'USD': {found}"
            )
        return money
    if name in MOMENTS:
        moment = moment_or_none(value) if isinstance(value, str) else None
        if moment is None:
            raise BadRow(f"{where} that is no time, as '2026-06-26T06:54': {found}")
        return written(moment)
    if name in DAYS and (not isinstance(value, str) or not _is_day(value)):
        raise BadRow(f"{where} that is no day, as '2026-06-26': {found}")
    if hint is str:
        if not isinstance(value, str):
            raise BadRow(f"{where} that is no text: {found}")
        return text_or_empty(value)
    if isinstance(value, str) or number_or_none(value) is None:
        raise BadRow(f"{where} that is no number: {found}")
    whole = hint in (int, int | None)
    if whole and value != int(value):
        raise BadRow(f"{where} that is no whole number: {found}")
    return int(value) if whole else float(value)


def at(body: Any, *path: str | int) -> Any:
    """What lies at the path; None where there is nothing."""
    for step in path:
        if isinstance(step, str):
            body = body.get(step) if isinstance(body, Mapping) else None
        else:
            body = body[step] if isinstance(body, list) and -len(body) <= step < len(body) else None
    return body


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


def money_or_none(amount: float | None, currency: str) -> Money | None:
    is_currency = len(currency) == 3 and currency.isascii() and currency.isalpha()
    if amount is None or amount < 0 or not is_currency:
        return None
    return Money(amount, currency.upper())


def moment_or_none(text: str) -> datetime | None:
    """A day with its time; aware where an offset is stated."""
    try:
        return datetime.fromisoformat(text) if "T" in text else None
    except ValueError:
        return None


def written(local: datetime) -> str:
    """Wall time to the minute, "2026-06-26T06:54"."""
    return local.strftime("%Y-%m-%dT%H:%M")


def _is_day(text: str) -> bool:
    try:
        return len(text) == 10 and bool(date.fromisoformat(text))
    except ValueError:
        return False
