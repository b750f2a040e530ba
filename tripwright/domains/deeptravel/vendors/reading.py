"""Reading a vendor's JSON without trusting its shape.

A part that is missing or of another type reads as nothing (None, ""). What an answer cannot do
without is asked for with `rows_at`, and a list of which no row is readable is a fault (`readable`):
an interface that has changed must not look like "nothing found".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tripwright.domains.deeptravel.sandbox.provider import ProviderFault

_R = TypeVar("_R")


def at(body: Any, *path: str | int) -> Any:
    """What lies at the path; None where there is nothing."""
    for step in path:
        if isinstance(step, str):
            body = body.get(step) if isinstance(body, Mapping) else None
        else:
            body = body[step] if isinstance(body, list) and -len(body) <= step < len(body) else None
    return body


def text_at(body: Any, *path: str | int) -> str:
    return text_or_empty(at(body, *path))


def number_at(body: Any, *path: str | int) -> float | None:
    return number_or_none(at(body, *path))


def position_at(body: Any, latitude: str, longitude: str) -> tuple[float, float] | None:
    """(latitude, longitude) in degrees if both are on the globe."""
    north, east = number_at(body, latitude), number_at(body, longitude)
    if north is None or east is None or abs(north) > 90 or abs(east) > 180:
        return None
    return north, east


def rows_at(vendor: str, body: Any, *path: str | int) -> list[Any]:
    """The list at the path. Raises ProviderFault where there is none."""
    rows = at(body, *path)
    if not isinstance(rows, list):
        raise ProviderFault(
            "bad_response",
            f"{vendor} answered JSON without the list {'.'.join(map(str, path)) or 'of results'}.",
        )
    return rows


def readable(vendor: str, rows: Sequence[Any], reader: Callable[[Any], _R | None]) -> list[_R]:
    """Every row that can be read. Raises ProviderFault where there are rows and none can be."""
    records = [record for row in rows if (record := reader(row)) is not None]
    if rows and not records:
        raise ProviderFault(
            "bad_response",
            f"{vendor} answered {len(rows)} rows, and none has the fields that its documentation"
            " names.",
        )
    return records


def text_or_empty(value: Any) -> str:
    """One line of text that can be sent on: JSON may hold line breaks and lone surrogates."""
    return (
        " ".join(value.encode("utf-8", "replace").decode().split())
        if isinstance(value, str)
        else ""
    )


def number_or_none(value: Any) -> float | None:
    """A finite number, also where it is written as text, as Nominatim writes positions and Duffel
    amounts."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
