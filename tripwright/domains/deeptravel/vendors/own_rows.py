"""A dict that a user's function answered, as a record: checked field by field, so that a slip of
the pen is said and not left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, get_type_hints

from tripwright.domains.deeptravel.tools.answers import RECORDS, Money, Record
from tripwright.domains.deeptravel.vendors.fields import (
    day_or_none,
    moment_or_none,
    money_or_none,
    written,
)
from tripwright.domains.deeptravel.vendors.mcp_mapping import ESSENTIAL, MOMENTS, OF_THE_CALL
from tripwright.domains.deeptravel.vendors.reading import number_or_none, text_or_empty
from tripwright.errors import printable

DAYS = ("checkin_date", "checkout_date")


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
    if name in DAYS and (not isinstance(value, str) or day_or_none(value) is None):
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
