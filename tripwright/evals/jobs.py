"""The jobs of a file of requests, as every evaluation of a world or of live tools plays them."""

from __future__ import annotations

from pathlib import Path

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests.file import iter_requests
from tripwright.domains.deeptravel.task import Errand
from tripwright.domains.deeptravel.tools.live_source import LiveSource
from tripwright.domains.travelplanner.query import iter_queries
from tripwright.episode import Task
from tripwright.errors import UserError
from tripwright.world.store import World


def read_tasks(queries: Path, world: World, samples: int = 1, limit: int | None = None) -> list[Task]:
    """Ids are line numbers of the query file (and numbers of the samples), so that they survive interruptions.
    Raises UserError where the file holds no query, and for queries that cannot be played in this world."""
    found = list(iter_queries(queries))[:limit]
    if not found:
        raise UserError(f"No queries in '{queries}'. Expected a JSONL file, one query record per line.")
    if not any(query.org in world.cities for _, query in found):
        raise UserError(f"None of the {len(found)} queries of '{queries}' starts in a city of world '{world.name}': is it the right world?")
    for line, query in found:
        if len(query.date) != query.days:
            raise UserError(f"{queries}:{line}: the request is for {query.days} days and gives {len(query.date)} dates.")
    many = samples > 1
    return [Task(f"q{line:06d}" + (f"-s{sample:02d}" if many else ""), query, world) for line, query in found for sample in range(samples)]


def read_requests(queries: Path, limit: int | None = None) -> list[tuple[int, TravelRequest]]:
    """(line number, request) of the first `limit`, at least one. Raises UserError where there is none."""
    found = list(iter_requests(queries))[:limit]
    if not found:
        raise UserError(f"No requests in '{queries}'. Expected a JSONL file, as 'tripwright request make' writes it.")
    return found


def errands(found: list[tuple[int, TravelRequest]], live: LiveSource, samples: int = 1) -> list[Errand]:
    """Ids are line numbers, and numbers of the samples."""
    ends = [f"-s{sample:02d}" for sample in range(samples)] if samples > 1 else [""]
    return [Errand(f"q{line:06d}{end}", request, live.ask, live.where) for line, request in found for end in ends]
