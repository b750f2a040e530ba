"""What a trajectory's request is: TravelPlanner's query (row T2) or a traveller's request (row D8), and what of it is told and kept.

Files hold one kind. A line of a run says its kind by the key of its request (`episode.Job.record`), a run by its dialect, a file of
requests by its first line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripwright.agent.dialect import Dialect
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests.file import iter_requests
from tripwright.domains.travelplanner.query import Query, iter_queries
from tripwright.domains.travelplanner.scoring.query_file import plain
from tripwright.errors import NotJson, UserError, read_json

AnyRequest = Query | TravelRequest


@dataclass(frozen=True)
class Kind:
    """`marks` are what requests are counted and divided by, beside their level; of those, `tabled` have a table in the statistics."""

    name: str  # of its requests, for messages
    key: str  # under which a line of a run holds the request
    request: type[Query] | type[TravelRequest]
    read_file: Callable[[Path], Iterator[tuple[int, AnyRequest]]]  # (line number, request)
    origin_key: str  # the field with the city it starts in
    marks: Callable[[Any], dict[str, Any]]
    goes_by_id: bool  # and has no field but its own; a query has what its file adds
    keeps: tuple[str, ...]  # whose mix a division keeps, the first best
    tabled: tuple[str, ...]
    place: Callable[[Mapping[str, Any]], str | None]  # what tells apart the places where it was played, of a run card's "world"


def _answered(place: Mapping[str, Any]) -> str | None:
    """A hash of what answered and of which day. Whether it was recorded or replayed is no difference."""
    said = {name: place[name] for name in ("tools", "snapshot") if place.get(name)}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest() if said else None


QUERIES = Kind(
    name="TravelPlanner's queries",
    key="query",
    request=Query,
    read_file=iter_queries,
    origin_key="org",
    marks=lambda query: {"days": query.days},
    goes_by_id=False,
    keeps=("level", "days"),
    tabled=(),
    place=lambda place: place.get("content_hash"),
)
REQUESTS = Kind(
    name="travellers' requests",
    key="request",
    request=TravelRequest,
    read_file=iter_requests,
    origin_key="origin",
    marks=lambda request: {"wishes": "with" if request.constrained else "without"},  # the two halves of row D12
    goes_by_id=True,
    keeps=("level", "wishes"),
    tabled=("wishes",),
    place=_answered,
)
KINDS = (QUERIES, REQUESTS)


def kind_of(request: AnyRequest) -> Kind:
    return next(kind for kind in KINDS if isinstance(request, kind.request))


def kind_of_dialect(dialect: Dialect) -> Kind:
    return REQUESTS if dialect.plan_format == "recommendations" else QUERIES


def kind_of_line(record: Mapping[str, Any]) -> Kind:
    return REQUESTS if REQUESTS.key in record else QUERIES


def kind_of_file(path: Path) -> Kind | None:
    """Of a file of requests, by its first line; None where that is no request: `read_file` says what is wrong with it."""
    if not path.is_file():
        return None
    with path.open("rb") as lines:
        first = next((line for line in lines if line.strip()), b"")
    try:
        record = read_json(first)
    except NotJson:
        return None
    return next((kind for kind in KINDS if isinstance(record, dict) and kind.origin_key in record), None)


def one_kind(named: Iterable[tuple[Any, Kind]]) -> Kind:
    """The kind of all of them. Raises UserError that names the first two (runs or files) that differ."""
    (first, kind), *others = named
    for other, found in others:
        if found is not kind:
            raise UserError(f"'{first}' holds {kind.name} and '{other}' holds {found.name}: take those of one kind at a time.")
    return kind


def text_key(request: AnyRequest) -> str:
    """By which two requests are the same: their text, or everything they ask for where they have none."""
    return plain(request.query) or json.dumps(asked_for(request), sort_keys=True)


def asked_for(request: AnyRequest) -> dict[str, Any]:
    """The fields of its kind, without what a file adds to them."""
    return request.model_dump(by_alias=True, include=set(type(request).model_fields) - {"id"})
