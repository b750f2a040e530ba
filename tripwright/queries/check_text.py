"""Does a request's text say what its fields say? Read by an independent reader that sees the text alone."""

from __future__ import annotations

from typing import Any

from tripwright.queries.reading import Gazetteer, complete
from tripwright.queries.wishes import CouldNotInfer
from tripwright.trip.query import Query

FIELDS = ("org", "dest", "days", "visiting_city_number", "date", "people_number", "budget")
WISHES = ("house rule", "cuisine", "room type", "transportation")


def text_problem(query: Query, places: Gazetteer) -> str | None:
    """None where the text gives every field exactly (cuisines in any order); else the first that it does not, in words."""
    try:
        read = complete({"query": query.query}, places).record
    except CouldNotInfer as problem:
        return str(problem)
    record = query.record()
    stated: list[tuple[str, Any, Any]] = [(field, read[field], record[field]) for field in FIELDS]
    stated += [(wish, _plain(read["local_constraint"][wish]), _plain(record["local_constraint"].get(wish))) for wish in WISHES]
    for field, said, meant in stated:
        if said != meant:
            return f"the text gives {field} {said!r}, the record {meant!r}"
    return None


def _plain(wish: Any) -> Any:
    return sorted(wish) if isinstance(wish, list) else wish
