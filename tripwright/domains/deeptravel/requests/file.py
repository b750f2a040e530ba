"""Reads and writes files of travellers' requests: one JSON object a line, and beside it the proofs
that each can be met, one a line, by the id of the request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.domain import read_requests as requests_of
from tripwright.errors import UserError
from tripwright.files import write_atomically


def iter_requests(path: str | Path) -> Iterator[tuple[int, TravelRequest]]:
    """(line number, request) for every line that is not empty. Raises UserError at the first that
    is no request."""
    return requests_of(TravelRequest, "tripwright request make", Path(path))


def read_requests(path: str | Path) -> list[TravelRequest]:
    """All of them. Raises UserError, also where there are none, where one has no id, or where two
    have the same."""
    requests: list[TravelRequest] = []
    lines: dict[str, int] = {}
    for number, request in iter_requests(path):
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
