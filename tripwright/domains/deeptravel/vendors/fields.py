"""Fields of a vendor's answer as values of ours: amounts, moments, zones, names that are alike.
What cannot be read is None."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from datetime import date, datetime
from zoneinfo import ZoneInfo

from tripwright.domains.deeptravel.tools.answers import Money


def money_or_none(amount: float | None, currency: str) -> Money | None:
    if (
        amount is None
        or amount < 0
        or len(currency) != 3
        or not currency.isascii()
        or not currency.isalpha()
    ):
        return None
    return Money(amount, currency.upper())


def moment_or_none(text: str) -> datetime | None:
    """A day with its time; aware where an offset is stated."""
    try:
        return datetime.fromisoformat(text) if "T" in text else None
    except ValueError:
        return None


def day_or_none(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


def zone_or_none(name: str) -> ZoneInfo | None:
    """None also where the machine has no table of time zones."""
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, OSError, LookupError):  # ZoneInfoNotFoundError is a LookupError
        return None


def written(local: datetime) -> str:
    """Wall time to the minute, "2026-06-26T06:54"."""
    return local.strftime("%Y-%m-%dT%H:%M")


def folded(name: str) -> str:
    """For comparing names: without case, accents, spaces and punctuation."""
    plain = unicodedata.normalize("NFKD", name.casefold())
    return "".join(letter for letter in plain if letter.isalnum())


def listed(names: Iterable[str]) -> str:
    """Each once, in the order of appearance."""
    return ", ".join(dict.fromkeys(name for name in names if name))
