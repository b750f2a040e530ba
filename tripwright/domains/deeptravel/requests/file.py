"""Files of travellers' requests: one JSON object a line, beside it the proofs that each can be met,
and a table in which people tick what is good before anybody trains on it (DeepTravel, Appendix
A.3.1; row D8). Nothing is accepted that was not ticked.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.domain import read_requests as requests_of
from tripwright.errors import UserError
from tripwright.files import write_atomically

COLUMNS = ("accept", "id", "level", "request", "intents")
YES = frozenset(("x", "yes", "y", "1", "true", "ok"))
NO = frozenset(("", "no", "n", "0", "false", "-"))


def read_requests(path: str | Path) -> list[TravelRequest]:
    """All of them. Raises UserError, also where there are none, where one has no id, or where two
    have the same."""
    requests: list[TravelRequest] = []
    lines: dict[str, int] = {}
    for number, request in requests_of(TravelRequest, "tripwright request make", Path(path)):
        if not request.id:
            raise UserError(
                f"{path}:{number}: a request without an id. Expected a file made by 'tripwright"
                " request make'."
            )
        if request.id in lines:
            raise UserError(
                f"{path}:{number}: the id '{request.id}' is that of line {lines[request.id]} too."
            )
        lines[request.id] = number
        requests.append(request)
    if not requests:
        raise UserError(
            f"No requests in '{path}'. Expected a JSONL file, as made by 'tripwright request make'."
        )
    return requests


def write_requests(path: Path, requests: Iterable[TravelRequest]) -> None:
    write_atomically(path, lines_of(request.record() for request in requests))


def lines_of(records: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def proofs_beside(path: Path) -> Path:
    """requests.jsonl → requests.proofs.jsonl."""
    return path.with_name(f"{path.stem}.proofs{path.suffix}")


# ---- review


def write_review(requests: Sequence[TravelRequest]) -> str:
    """A table for a spreadsheet (CSV). Nothing is ticked."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for request in requests:
        intents = request.record()
        for name in ("id", "query", "level"):
            intents.pop(name, None)
        meant = "; ".join(f"{name}: {_shown(value)}" for name, value in intents.items())
        rows.writerow(("", request.id, request.level or "", request.query, meant))
    return text.getvalue()


def _shown(value: Any) -> str:
    return " and ".join(value) if isinstance(value, list) else str(value)


def accepted(requests: Sequence[TravelRequest], path: Path) -> list[TravelRequest]:
    """The ticked requests, in their own order. Raises UserError for what is no review of these
    requests, with the line; words that were edited are refused, since nobody has proved what they
    ask for."""
    by_id = {request.id: request for request in requests}
    ticked: dict[str, bool] = {}
    for line, row in _rows(path):
        name = (row["id"] or "").strip()
        if name not in by_id:
            raise UserError(f"{path}:{line}: '{name[:60]}' is the id of no request in the file.")
        if name in ticked:
            raise UserError(f"{path}:{line}: '{name}' was reviewed before.")
        if (row["request"] or "").split() != by_id[name].query.split():
            raise UserError(f"{path}:{line}: the words of '{name}' are not those in the file.")
        ticked[name] = _ticked(path, line, row["accept"] or "")
    if not any(ticked.values()):
        raise UserError(f"No request is ticked in '{path}', a file made by 'request review'.")
    return [request for request in requests if ticked.get(request.id)]


def _ticked(path: Path, line: int, cell: str) -> bool:
    word = cell.strip().casefold()
    if word not in YES | NO:
        raise UserError(
            f"{path}:{line}: '{cell[:20]}' is neither a tick (x, yes) nor none (empty, no)."
        )
    return word in YES


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str | None]]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise UserError(
            f"No review file at '{path}'. Expected a CSV in UTF-8, made by 'request review'."
        ) from None
    rows = csv.DictReader(io.StringIO(text), strict=True)
    try:
        absent = [name for name in COLUMNS[:4] if name not in (rows.fieldnames or ())]
        if absent:
            raise UserError(f"{path}:1: no column '{absent[0]}' among {', '.join(COLUMNS)}.")
        for row in rows:
            yield rows.line_num, row
    except csv.Error as problem:
        raise UserError(f"{path}:{rows.line_num}: not CSV ({problem}).") from None
