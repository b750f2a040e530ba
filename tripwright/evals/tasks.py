"""The tasks of a file of requests, as every evaluation in a given world or with live services plays
them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from tripwright.agent.dialect import Dialect
from tripwright.domains import domain_of, domain_of_file
from tripwright.domains.domain import Domain, Place, PlaceOptions
from tripwright.domains.judging import JudgingSettings, rules_without_choice
from tripwright.episode import Task
from tripwright.errors import UserError
from tripwright.files import json_object
from tripwright.tools.remote import RemoteToolBox


@dataclass(frozen=True)
class Tasks:
    """What a run plays, and the place that answers its tools."""

    tasks: Sequence[Task]
    place: Place


def open_tasks(
    queries: Path,
    dialect: Dialect,
    options: PlaceOptions,
    stack: ExitStack,
    samples: int = 1,
    limit: int | None = None,
    out: Path | None = None,
) -> Tasks:
    """What is opened for it is closed with `opened`. `out` is the run's folder: an interrupted run
    goes on with the day that it began with.

    Raises UserError where the file holds no request of the dialect's domain, and for what the
    domain says of them.
    """
    domain = domain_of(dialect)
    _refuse_other_domains(queries, domain, dialect)
    requests = list(domain.read(queries))[:limit]  # before a store is made
    if not requests:
        raise UserError(
            f"No {domain.title} in '{queries}'. Expected a JSONL file, as '{domain.made_by}'"
            " writes it."
        )
    options = replace(options, snapshot=options.snapshot or _day_of(out, options.store))
    place = stack.enter_context(domain.open_place(options))
    domain.check_requests(requests, place, queries)
    ends = [f"-s{sample:02d}" for sample in range(samples)] if samples > 1 else [""]
    tasks = [
        domain.task(f"q{line:06d}{end}", request, place.source)
        for line, request in requests
        for end in ends
    ]
    return Tasks(tasks, place)


def served_tools(
    url: str | None, policy: str, dialect: Dialect, place: Place, emptied: bool
) -> RemoteToolBox | None:
    """The tools at `url`, refused where they would answer otherwise than those of the world at
    hand; None without a `url`."""
    if url is None:
        return None
    domain, content_hash = domain_of(dialect), place.identity.get("content_hash")
    if content_hash is None:
        raise UserError(
            f"Dialect '{dialect.name}' has tools of its own: give --world or --services, and leave"
            " --server out."
        )
    if policy in domain.needs_world:
        raise UserError(
            f"Policy '{policy}' plans from the world at hand and cannot use --server. Leave it out."
        )
    if emptied:
        raise UserError("With --empty-tools nothing is asked of a server. Leave --server out.")
    return RemoteToolBox(url, dialect.face, page_rows=dialect.page_rows, world_hash=content_hash)


def settled_rules(
    dialect: Dialect, rules: str | None, judging: JudgingSettings | None = None
) -> str:
    """The set of rules that judges, or what a score says of a domain without any. Raises UserError
    for rules that it has not, and for a dialect whose answers nobody judges without a model."""
    domain = domain_of(dialect)
    if judging is None and (problem := domain.unjudged(dialect)) is not None:
        raise UserError(f"{problem} Name one with --judging FILE.")
    if not domain.rules:
        if rules is not None:
            raise UserError(
                f"--rules are not of {domain.title}, which are {domain.judged_by}. Leave --rules"
                " out."
            )
        return rules_without_choice(domain, judging)
    if rules is not None and rules not in domain.rules:
        raise UserError(f"Unknown rules '{rules}'. Available: {', '.join(domain.rules)}.")
    return rules or domain.rules[0]


def _day_of(out: Path | None, store: str | None) -> str | None:
    """The day under which an interrupted run in `out` keeps its answers: after midnight the same
    command still continues it."""
    path = out / "run_card.json" if out is not None and store is not None else None
    place = (json_object(path) or {}).get("world") if path is not None and path.is_file() else None
    day = place.get("snapshot") if isinstance(place, dict) else None
    return day if isinstance(day, str) else None


def _refuse_other_domains(queries: Path, domain: Domain, dialect: Dialect) -> None:
    """A file of another domain, told by a field that only that one has, is a mistake of the
    dialect's and not of the file's first line."""
    other = domain_of_file(queries)
    if other is not None and other is not domain:
        problem = (
            f"Dialect '{dialect.name}' takes {domain.title} of '{domain.made_by}', found"
            f" {other.title}"
        )
        raise UserError(f"{problem} in '{queries}'.")
