"""What a request asks for beside its words, field by field as a person calls them: for the report's
browser and for raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tripwright.domains import domains
from tripwright.errors import printable

# said elsewhere, or asked by nobody; of requests whose fields have no labels
UNSAID = ("query", "id", "level", "question", "oracle")
MONEY = ("total_budget", "nightly_budget")


def request_facts(record: Mapping[str, Any]) -> list[list[str]]:
    """[label, value] of each field that the request gives and its domain has a label for; of a
    domain without labels, of all fields."""
    domain, request = domains().get(record["domain"]), record["request"]
    # wishes, in an object of their own
    inner = [value for value in request.values() if isinstance(value, Mapping)]
    values = {
        key: value
        for fields in (request, *inner)
        for key, value in fields.items()
        if not isinstance(value, Mapping)
    }
    labels = domain.labels if domain is not None else {}
    labels = labels or {
        key: key.replace("_", " ").capitalize() for key in values if key not in UNSAID
    }
    return [[label, text] for field, label in labels.items() if (text := _words(field, values))]


def _words(field: str, values: Mapping[str, Any]) -> str:
    value = values.get(field)
    if value in (None, "", "-", [], ()):
        return ""
    if field == "date" and isinstance(value, Sequence) and not isinstance(value, str):
        return printable(f"{value[0]} to {value[-1]}")
    if isinstance(value, list | tuple):
        return printable(", ".join(str(part) for part in value))
    money = f" {values.get('currency') or 'USD'}" if field in MONEY else ""
    return (
        printable(
            f"{value:,.12g}"
            if isinstance(value, int | float) and not isinstance(value, bool)
            else str(value)
        )
        + money
    )
