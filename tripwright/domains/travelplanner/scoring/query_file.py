"""The requests that a submission answers: found by their text, else by their idx.

The subtle thing: the official files do not agree on where idx begins and the official evaluation
never reads it, so a line that gives the text goes by the text. An idx is the record's own `idx`, or
its place in the file, counted from 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tripwright.domains.travelplanner.query import query_records
from tripwright.errors import UserError


class UnknownQuery(ValueError):
    """A line names a request that the file does not hold."""


class QueryFile:
    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.records = [self._record(number, record) for number, record in query_records(self.path)]
        if not self.records:
            raise UserError(
                f"No queries in '{path}'. Expected a JSONL file, one query record per line."
            )
        self.ids: list[int] = [
            record.get("idx", place) for place, record in enumerate(self.records)
        ]
        self._by_id = {idx: place for place, idx in enumerate(self.ids)}
        self._by_text = {plain(record["query"]): place for place, record in enumerate(self.records)}
        for index, what in ((self._by_id, "idx"), (self._by_text, "text")):
            if len(index) < len(self.records):
                raise UserError(f"Two queries of '{path}' have the same {what}.")

    def find(self, idx: Any, request: Any) -> int:
        """The place of the request that a line means. `request` is its text, or a record that holds
        it, or None."""
        text = request.get("query") if isinstance(request, dict) else request
        if isinstance(text, str):
            if (place := self._by_text.get(plain(text))) is None:
                raise UnknownQuery(
                    f"unknown query: none of the {len(self.records)} of '{self.path}' has the text"
                    f" {_short(text)}"
                )
            return place
        if idx is None and isinstance(request, dict):
            idx = request.get("idx")
        if not isinstance(idx, int) or isinstance(idx, bool):
            raise UnknownQuery(
                'expected the "query" or the number "idx" of a request, found neither'
            )
        if idx not in self._by_id:
            raise UnknownQuery(
                f"unknown query: idx {idx} is none of the {len(self.records)} of '{self.path}'"
            )
        return self._by_id[idx]

    def _record(self, number: int, record: Any) -> dict[str, Any]:
        if not isinstance(record, dict) or not isinstance(record.get("query"), str):
            raise UserError(
                f"{self.path}:{number}: expected a query record with its text in 'query'."
            )
        idx = record.get("idx", 0)
        if not isinstance(idx, int) or isinstance(idx, bool):
            raise UserError(
                f"{self.path}:{number}: 'idx' must be a whole number, found {ascii(idx)[:40]}."
            )
        return record


def plain(text: str) -> str:
    """By which two texts are the same request: blanks do not count."""
    return " ".join(text.split())


def _short(text: str) -> str:
    quoted = ascii(plain(text))
    return quoted if len(quoted) <= 60 else f"{quoted[:57]}...'"
