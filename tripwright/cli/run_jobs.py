"""What `tripwright run` plays: the jobs of a file of requests, and what answers their tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripwright.agent.dialect import Dialect
from tripwright.domains.deeptravel.tools.live_source import LiveOptions, live_source
from tripwright.episode import Job
from tripwright.errors import UserError
from tripwright.evals.jobs import errands, read_requests, read_tasks
from tripwright.evals.scoreboard import verified_by
from tripwright.runs import Run
from tripwright.tools.remote import RemoteToolBox
from tripwright.world.store import World


@dataclass(frozen=True)
class Options:
    """The options of `run` that say what is played, by their names there."""

    queries: Path
    out: Path
    policy: str
    world: Path | None
    services: Path | None
    store: str | None
    snapshot: str | None
    replay: bool
    rules: str
    samples: int
    limit: int | None
    tools: str | None
    empty_tools: bool


@dataclass(frozen=True)
class Jobs:
    """`place` is what answers the tools, for the run card; `rules` what judges; `served` tools that run elsewhere."""

    jobs: Sequence[Job]
    rules: str
    place: dict[str, Any]
    served: RemoteToolBox | None = None


def jobs_of(options: Options, dialect: Dialect, opened: ExitStack) -> Jobs:
    """What is opened for it is closed with `opened`. Raises UserError where options and dialect do not go together."""
    return _errands(options, dialect, opened) if dialect.plan_format == "recommendations" else _tasks(options, dialect)


def _errands(options: Options, dialect: Dialect, opened: ExitStack) -> Jobs:
    if options.tools is not None:
        raise UserError(f"Dialect '{dialect.name}' has tools of its own: give --world or --services, and leave --tools out.")
    if options.rules != "official":
        raise UserError(f"--rules are of plans; what judges dialect '{dialect.name}' is a verifier. Leave --rules out.")
    wanted = f"Dialect '{dialect.name}' takes requests of 'tripwright request make', found TravelPlanner queries"
    _check_kind(options.queries, "org", wanted)
    asked = read_requests(options.queries, options.limit)  # before a store is made
    day = options.snapshot or _day_of(options.out, options.store)
    live = opened.enter_context(live_source(LiveOptions(options.world, options.services, options.store, day, options.replay)))
    jobs = errands(asked, live, options.samples)
    return Jobs(jobs, verified_by(jobs[0].verifier.name), live.identity)


def _tasks(options: Options, dialect: Dialect) -> Jobs:
    if options.services is not None or options.store is not None or options.snapshot is not None or options.replay:
        raise UserError(f"--services, --store, --snapshot and --replay are of dialect 'deeptravel', found '{dialect.name}'.")
    if options.world is None:
        raise UserError("Which world? Give its folder with --world DIR, as made by 'tripwright world build' or 'world import'.")
    wanted = f"Dialect '{dialect.name}' takes queries of 'tripwright query make', found travellers' requests"
    _check_kind(options.queries, "origin", wanted)
    found = World.open(options.world)
    jobs = read_tasks(options.queries, found, options.samples, options.limit)
    place = {"name": found.name, "content_hash": found.content_hash}
    return Jobs(jobs, options.rules, place, _served(options, dialect, found))


def _day_of(out: Path, store: str | None) -> str | None:
    """The day under which an interrupted run in `out` keeps its answers: after midnight the same command still continues it."""
    place = Run.at(out).card.get("world") if store is not None else None
    day = place.get("snapshot") if isinstance(place, dict) else None
    return day if isinstance(day, str) else None


def _check_kind(queries: Path, other: str, said: str) -> None:
    """A file of the other kind, told by a field that only that kind has, is a mistake of the dialect's and not of the file's first line."""
    if not queries.is_file():
        return
    with queries.open("rb") as lines:
        first = next((line for line in lines if line.strip()), b"")
    try:
        record = json.loads(first)
    except ValueError:  # for the reader to say
        return
    if isinstance(record, dict) and other in record:
        raise UserError(f"{said} in '{queries}'.")


def _served(options: Options, dialect: Dialect, world: World) -> RemoteToolBox | None:
    """The tools at --tools, refused where they would answer otherwise than those of the world at hand."""
    if options.tools is None:
        return None
    if options.policy in ("expert", "greedy-search"):
        raise UserError(f"Policy '{options.policy}' plans from the world at hand and cannot use --tools. Leave --tools out.")
    if options.empty_tools:
        raise UserError("With --empty-tools nothing is asked of a server. Leave --tools out.")
    return RemoteToolBox(options.tools, dialect.face, page_rows=dialect.page_rows, world_hash=world.content_hash)
