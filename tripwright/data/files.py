"""Reads run folders and files of trajectories one line at a time: token ids make them large.

A **trajectory** is a line of a run's transcripts.jsonl that is worth learning from, with what a
reader needs to use it alone: the dialect, the schemas of the tools that the chat template was
given, the policy and the world's hash. A file holds those of one domain.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from tripwright.agent.dialect import Dialect
from tripwright.domains import dialects, domain_named, domain_of
from tripwright.domains.domain import Domain
from tripwright.domains.place import same_place
from tripwright.errors import UserError, first_problem
from tripwright.evals.comparison import run_names
from tripwright.files import make_parent
from tripwright.runs import (
    CARD,
    SCORE,
    TRANSCRIPTS,
    EpisodeLine,
    LinePlace,
    Run,
    episode_lines,
    object_in,
    places,
)
from tripwright.transcript import Transcript
from tripwright.verdict import Verdict


@dataclass(frozen=True)
class StoredEpisode:
    """One line, read. `record` is the line as it stands; `verdict` is None where our side
    failed."""

    id: str
    domain: Domain
    request: Any
    transcript: Transcript
    verdict: Verdict | None
    record: dict[str, Any]

    @property
    def request_key(self) -> str:
        """Equal for samples of the same request in the same world."""
        return (
            f"{self.record.get('world_hash') or self.record.get('world')}"
            f" {request_key(self.request)}"
        )

    @property
    def marks(self) -> dict[str, Any]:
        return marks_of(self.domain, self.request)


@dataclass(frozen=True)
class SourceRun(Run):
    """A run whose episodes may become trajectories; `label` opens their ids."""

    label: str
    dialect: Dialect
    places: Sequence[LinePlace]  # of its episodes, in the order of their ids

    @property
    def rules(self) -> str:
        return str(self.card.get("rules"))

    @property
    def domain(self) -> Domain:
        return domain_of(self.dialect)

    @property
    def world_hash(self) -> str | None:
        """Of what answered the tools: a world's content, or services and the day they were
        asked."""
        return same_place(self.card.get("world") or {})

    def episodes(self) -> Iterator[StoredEpisode]:
        """In the order of their ids: that of the lines depends on which episode ended first."""
        for line in episode_lines(self.transcripts, self.places):
            episode = read_episode(line)
            if episode.domain is not self.domain:
                raise line.problem(f"of {episode.domain.title} in a run of {self.domain.title}")
            yield episode


def open_runs(folders: Iterable[Path], unfinished: bool = False) -> list[SourceRun]:
    """`unfinished` takes what a run holds that was stopped, or still goes on."""
    folders = list(folders)
    return [
        _open_run(folder, label, unfinished)
        for folder, label in zip(folders, run_names(folders), strict=True)
    ]


def _open_run(folder: Path, label: str, unfinished: bool) -> SourceRun:
    run = Run.at(folder)
    if not run.transcripts.is_file() or not run.card:
        raise UserError(
            f"No run at '{folder}': expected a folder with {CARD} and {TRANSCRIPTS}, as made by"
            " 'tripwright run'."
        )
    dialect = object_in(run.card, "dialect")
    if (name := dialect.get("name")) not in dialects():
        raise UserError(
            f"'{folder}' was played in the dialect {ascii(name)}, which is none of"
            f" {', '.join(dialects())}."
        )
    lines = sorted(places(run.transcripts), key=lambda line: line.id or f"line {line.number}")
    scored = run.score.get("n", 0) + run.score.get("unscored", 0)
    if not unfinished and not (run.finished and scored == len(lines)):
        raise UserError(
            f"The run '{folder}' is not finished: it has {len(lines)} episodes, and its {SCORE}"
            f" speaks of {scored}. Give the command of that run again to finish it, or take what is"
            " there with --unfinished."
        )
    page_rows = object_in(dialect, "limits").get("page_rows")
    return SourceRun(folder, run.card, label, replace(dialects()[name], page_rows=page_rows), lines)


def read_episode(line: EpisodeLine) -> StoredEpisode:
    """Raises UserError that names the line and what is wrong with it."""

    def make(record: dict[str, Any]) -> StoredEpisode:
        id, domain, verdict = str(record["id"]), domain_named(record["domain"]), record["verdict"]
        try:
            request = domain.requests.kind.model_validate(record["request"])
        except ValidationError as error:
            raise line.problem(f"request {first_problem(error)}") from None
        return StoredEpisode(
            id,
            domain,
            request,
            Transcript.from_json(record["transcript"]),
            None if verdict is None else Verdict.from_record(verdict),
            record,
        )

    return line.read(make)


def read_trajectories(paths: Iterable[Path]) -> Iterator[StoredEpisode]:
    """Every trajectory of files made by 'data collect' (or of a run's transcripts.jsonl), in order.
    Raises UserError for an empty file, and where another domain's requests begin."""
    domain: Domain | None = None
    for path in paths:
        if not path.is_file():
            raise UserError(
                f"No file of trajectories at '{path}'. Expected a JSONL file, as made by"
                " 'tripwright data collect'."
            )
        empty = True
        for line in episode_lines(path, places(path, tries_again=path.name == TRANSCRIPTS)):
            empty = False
            episode = read_episode(line)
            if episode.domain is not (domain := domain or episode.domain):
                raise UserError(
                    f"{line.where}: of {episode.domain.title}, after {domain.title}: take those of"
                    " one kind at a time."
                )
            yield episode
        if empty:
            raise UserError(f"No trajectories in '{path}': it is empty.")


def one_domain(sources: Iterable[tuple[Path, Domain]]) -> Domain:
    """The domain of all of them. Raises UserError that names the first two (runs or files) that
    differ."""
    (first, domain), *others = sources
    for other, another in others:
        if another is not domain:
            raise UserError(
                f"'{first}' holds {domain.title} and '{other}' holds {another.title}: take those of"
                " one kind at a time."
            )
    return domain


def request_key(request: Any) -> str:
    """By which two requests are the same: their text, in which blanks do not count, or all that
    they ask for where they have none."""
    return " ".join(request.query.split()) or json.dumps(asked_for(request), sort_keys=True)


def marks_of(domain: Domain, request: Any) -> dict[str, Any]:
    """What requests are counted and divided by: their level, and what their domain adds."""
    fields = ("level", *domain.requests.slices.values())
    return {field: getattr(request, field, None) for field in fields} | getattr(
        request, "marks", {}
    )


def asked_for(request: Any) -> dict[str, Any]:
    """The fields of a request of its domain, without what a file adds to them."""
    fields: dict[str, Any] = request.model_dump(
        by_alias=True, include=set(type(request).model_fields) - {"id"}
    )
    return fields


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write piece by piece, which takes its place when all is well and leaves nothing
    behind when not."""
    make_parent(path)
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as out:
            yield out
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
