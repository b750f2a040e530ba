"""What is wrong of a form, field by field, by what the fields say of themselves."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from tripwright.domains.desk import FieldProblem, FormField

LONGEST_TEXT = 120  # characters of a name that is typed
EMPTY: tuple[Any, ...] = (None, "", [])


def problems_of(fields: Sequence[FormField], values: Mapping[str, Any]) -> list[FieldProblem]:
    """Of each field alone; what does not go together a domain says itself."""
    names = tuple(field.name for field in fields)
    problems = [
        FieldProblem(name, f"'{str(name)[:60]}' is no field of this form.", names)
        for name in values
        if name not in names
    ]
    for field in fields:
        value = values.get(field.name)
        problem: tuple[str, tuple[str, ...]] | None
        if value in EMPTY:
            problem = (f"{field.label}: something is needed here.", ()) if field.required else None
        else:
            problem = _wrong(field, value)
        if problem:
            problems.append(FieldProblem(field.name, *problem))
    return problems


def unknown(
    field: FormField, value: object, options: Sequence[str], where: str = "here"
) -> tuple[str, tuple[str, ...]]:
    """That a name is none of these, and those nearest to it."""
    near = get_close_matches(str(value)[:100], options, n=3, cutoff=0.4)
    known = f" Nearest: {', '.join(near)}." if near else ""
    return f"{field.label}: '{str(value)[:60]}' is not known {where}.{known}", tuple(near)


def _wrong(field: FormField, value: Any) -> tuple[str, tuple[str, ...]] | None:
    """What is wrong with a value that was given, and what would be accepted."""
    found = str(value)[:60]
    if field.kind in ("count", "money"):
        whole = field.kind == "count"
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            return f"{field.label}: expected a number, found '{found}'.", ()
        if not field.low <= value <= field.high:
            return f"{field.label}: expected {field.low:,} to {field.high:,}, found {found}.", ()
    elif field.kind == "date":
        if not _is_written(value, datetime.date):
            return f"{field.label}: expected a date like {field.low}, found '{found}'.", ()
        if not field.low <= value <= field.high:
            return (
                f"{field.label}: this world's days are {field.low} to {field.high}, found {value}.",
                (field.low, field.high),
            )
    elif field.kind == "time":
        if not _is_written(value, datetime.time):
            return f"{field.label}: expected a time like 09:30, found '{found}'.", ()
    else:
        given = value if field.kind in ("choices", "texts") else [value]
        if not isinstance(given, list):
            return f"{field.label}: expected a list of texts.", ()
        for each in given:
            if not isinstance(each, str) or (field.options and each not in field.options):
                return unknown(field, each, field.options)
            if len(each) > LONGEST_TEXT:
                return f"{field.label}: at most {LONGEST_TEXT} characters can be read.", ()
    return None


def _is_written(value: object, kind: type[datetime.date | datetime.time]) -> bool:
    """Python reads days and times in more ways than one, and requests have one."""
    try:
        read = kind.fromisoformat(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return value == (f"{read:%H:%M}" if isinstance(read, datetime.time) else str(read))
