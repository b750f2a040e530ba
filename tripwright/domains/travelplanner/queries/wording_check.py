"""Does a text say what its structured request says? Every field is read from the text alone and
compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tripwright.domains.travelplanner.queries.reading import Gazetteer, complete
from tripwright.domains.travelplanner.queries.wishes import WISHES, CouldNotInfer
from tripwright.domains.travelplanner.query import Query

FIELDS = ("org", "dest", "days", "date", "visiting_city_number", "people_number", "budget", *WISHES)


@dataclass(frozen=True)
class Mismatch:
    """One field that the text does not give. `reading` is what it gives instead, or None with a
    `problem`."""

    field: str
    value: Any
    reading: Any = None
    problem: str | None = None

    def __str__(self) -> str:
        expectation = "nothing" if self.value is None else _shown(self.value)
        reading = (
            self.problem
            or f"the text says {'nothing' if self.reading is None else _shown(self.reading)}"
        )
        return f"{self.field}: it must say {expectation}; {reading}"


def mismatches(query: Query, text: str, places: Gazetteer) -> list[Mismatch]:
    """Every field that the text alone does not give back exactly; [] for a text that says it all.
    The order of cuisines is free."""
    problems: Mapping[str, str] = {}
    try:
        record: Mapping[str, Any] = complete({"query": text}, places).record
    except CouldNotInfer as refused:
        record, problems = refused.fields, refused.problems
        if not problems:  # an empty or endless text
            return [Mismatch("text", "the request", problem=str(refused))]
    expectations, readings = _flat(query.record()), _flat(record)
    return [
        Mismatch(field, expectations[field], readings.get(field), problems.get(field))
        for field in FIELDS
        if field in problems or _compared(expectations[field]) != _compared(readings.get(field))
    ]


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    wishes = record.get("local_constraint") or {}
    return {
        **{field: record.get(field) for field in FIELDS if field not in WISHES},
        **{wish: wishes.get(wish) or None for wish in WISHES},
    }


def _compared(value: Any) -> Any:
    return sorted(value) if isinstance(value, list) else value


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
