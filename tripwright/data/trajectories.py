"""Trajectories: episodes of runs that are worth learning from, read and collected, one line at a
time: token ids make the files large.

A **trajectory** is a line of a run's transcripts.jsonl with what a reader needs to use it alone:
the dialect, the schemas of the tools that the chat template was given, the policy and the world's
hash. A file holds those of one domain.

Collected are episodes that pass, by their run's own verdict or judged here, and of which every turn
is fit to be imitated (rows S4, P2, D6, D11). A domain with several sets of rules is held to the
strictest. Why the others were left out is counted: an episode under the first reason that it meets,
in the order ending, rules, format, number, so that the counts add up to all episodes. Of several
good episodes of a request those with the lowest ids are kept, whichever finished first.

Whether a turn is in its dialect's format, `agent.turn.read_turn` says, here as in an episode, and
of an answer its verdict; what is checked besides is what no judge minds and no model should learn.

| problem | where |
|---|---|
| no answer, or none that can be read | the episode stopped for another reason; the verdict's first
group |
| a turn that is not in its format, or does not say what the record of the call says | any turn |
| a malformed call: no such tool, a wrong, missing or ill-typed argument | any call. An honest
search that finds nothing is no such error |
| several calls in a turn | dialects that make the first of them |
| text after the call or the answer, a thought's tag elsewhere than where the turn opens | dialects
that allow words outside the tags |
| the answer in a Markdown fence | dialects whose answers are not in free words |
| half of a surrogate pair, which no tokenizer can encode | any message |"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import Answer, Call, opening_thoughts, read_turn
from tripwright.domains import dialects, domain_named, domain_of
from tripwright.domains.domain import Domain, request_key
from tripwright.domains.place import ClosedWorld, same_place
from tripwright.errors import UserError, first_problem
from tripwright.evals.comparison import run_names
from tripwright.files import replacing
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
    transcripts_in,
)
from tripwright.tools.answer import ToolError
from tripwright.transcript import Segment, StopReason, Transcript
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
        path, empty = transcripts_in(path), True
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


def marks_of(domain: Domain, request: Any) -> dict[str, Any]:
    """What requests are counted and divided by: their level, and what their domain adds."""
    fields = ("level", *domain.requests.slices.values())
    return {field: getattr(request, field, None) for field in fields} | getattr(
        request, "marks", {}
    )


# ---- which episodes are worth learning from


UNSCORED = "unscored: a fault on our side"
NO_PLAN = "an answer that is no plan"  # what the first group of its verdict says
UNREADABLE = "a turn that is not in its format"
MALFORMED = "a malformed call"
SEVERAL_CALLS = "several calls in a turn"
TEXT_AFTER = "text after the call or the answer"
STRAY_THOUGHT = "a thought's tag that does not open the turn"
FENCED = "the answer in a Markdown fence"
NOT_TEXT = "half of a surrogate pair"

_ENDS = re.compile(r"</(tool_call|answer)>\s*\Z")


def ending_problem(transcript: Transcript) -> str | None:
    """Why this episode has no answer to be judged, or None."""
    stop = transcript.stop_reason
    if stop is StopReason.ANSWER:
        return None
    return UNSCORED if stop is StopReason.UNSCORED else f"no answer: {stop}"


def format_problem(transcript: Transcript, dialect: Dialect) -> str | None:
    """The first thing that is not clean, by the names above; None for a clean transcript."""
    turns = [segment for segment in transcript.segments if segment.role == "assistant"]
    for segment in turns:
        last = segment is turns[-1]
        if problem := _turn_problem(segment, transcript.answer if last else None, dialect):
            return problem
    if not turns:
        return UNREADABLE
    if any(
        "\ud800" <= sign <= "\udfff" for segment in transcript.segments for sign in segment.text
    ):
        return NOT_TEXT
    fenced = not dialect.prose_answers and (transcript.answer or "").startswith("```")
    return FENCED if fenced else None


def _turn_problem(segment: Segment, answer: str | None, dialect: Dialect) -> str | None:
    match read_turn(segment.text, dialect.turns):
        case Answer(text):
            if answer is None or text != answer:
                return UNREADABLE
        case Call(name, arguments, alone):
            call = segment.call
            if not alone:
                return SEVERAL_CALLS
            if (
                answer is not None
                or call is None
                or (call.name, call.arguments) != (name, arguments)
            ):
                return UNREADABLE
            # read again: the transcript says only that there was an error, and finding nothing is
            # one too
            try:
                dialect.face.offer.read(name, arguments, dialect.page_rows is not None)
            except ToolError:
                return MALFORMED
        case _:
            return UNREADABLE
    if not _ENDS.search(segment.text):
        return TEXT_AFTER
    return STRAY_THOUGHT if opening_thoughts(segment.text, dialect.turns).stray else None


NOT_PASSED = "not passed by its verdict"
ONE_OF_MANY = "more than asked for of one request"


def collect(
    runs: Sequence[SourceRun],
    out: Path,
    worlds: Iterable[ClosedWorld] = (),
    rules: str | None = None,
    most_per_query: int | None = None,
) -> dict[str, Any]:
    """Writes the good episodes of `runs` to `out`, one JSON object per line, by run and id. Returns
    the counts of episodes, of those that were judged here, and of those left out by reason, the
    most frequent first.

    An episode of a world that is given is judged here. `rules` None are the strictest. Where a
    domain knows one way to judge, there is none of this. Raises UserError where a world is missing,
    and for runs of two domains.
    """
    domain = one_domain((run.folder, run.domain) for run in runs)
    by_hash = {world.content_hash: world for world in worlds}
    rules = _settled_rules(domain, runs, by_hash, rules)
    dropped, taken, judged_again = Counter[str](), Counter[str](), 0
    by_run = {run.label: {"episodes": 0, "kept": 0} for run in runs}
    with replacing(out) as lines:
        for run in runs:
            counts = by_run[run.label]
            for episode in run.episodes():
                counts["episodes"] += 1
                request = f"{run.world_hash} {episode.request_key}"
                reason, verdict = _judged(episode, run, by_hash.get(run.world_hash or ""), rules)
                judged_again += verdict is not None and verdict is not episode.verdict
                if reason is None and taken[request] == most_per_query:
                    reason = ONE_OF_MANY
                if reason is not None or verdict is None:
                    dropped[str(reason)] += 1
                    continue
                taken[request] += 1
                counts["kept"] += 1
                trajectory = {
                    **episode.record,
                    "id": f"{run.label}/{episode.id}",
                    "verdict": verdict.record(),
                    "rules": run.rules if domain.judge.again is None else rules,
                    "world_hash": run.world_hash,
                    "policy": run.card.get("policy"),
                    "dialect": run.dialect.name,
                    "tools": run.dialect.schemas(),
                }
                lines.write(json.dumps(trajectory).encode() + b"\n")
    return {
        "rules": rules,
        "episodes": sum(counts["episodes"] for counts in by_run.values()),
        "kept": taken.total(),
        "requests": len(+taken),
        "judged_again": judged_again,
        "dropped": dict(dropped.most_common()),
        "runs": by_run,
    }


def _settled_rules(
    domain: Domain,
    runs: Sequence[SourceRun],
    worlds: Mapping[str, ClosedWorld],
    rules: str | None,
) -> str:
    """By which all episodes of the runs are judged, there or here. Raises UserError for what does
    not go with the runs."""
    if emptied := [run for run in runs if run.card.get("emptied_tools")]:
        raise UserError(
            f"'{emptied[0].folder}' was played with empty tools (--empty-tools): nothing in it"
            " was looked up. Leave it out."
        )
    if domain.judge.again is None:
        if rules or worlds:
            option = "--rules" if rules else "--world"
            raise UserError(
                f"{option} is for what can be judged again; the episodes of '{runs[0].folder}' were"
                f" {runs[0].rules}. Leave {option} out."
            )
        return ", ".join(sorted({run.rules for run in runs}))
    rules, hashes = domain.judge.rules_named(rules), {run.world_hash for run in runs}
    if unused := [world for hash, world in worlds.items() if hash not in hashes]:
        raise UserError(
            f"No run was played in the world '{unused[0].name}' as given. Give the world that"
            " the run card names."
        )
    for run in runs:
        if run.rules != rules and run.world_hash not in worlds:
            raise UserError(
                f"'{run.folder}' was judged under the {run.rules} rules: give its world with"
                f" --world DIR, to judge it again under the {rules} ones."
            )
    return rules


def _judged(
    episode: StoredEpisode, run: SourceRun, world: ClosedWorld | None, rules: str
) -> tuple[str | None, Verdict | None]:
    """Why an episode is not kept (how it ended, else the rules, else its format; None for a good
    one), and its verdict, where it comes to one: given here where its `world` is at hand."""
    if problem := ending_problem(episode.transcript):
        return problem, None
    verdict, again = episode.verdict, run.domain.judge.again
    if verdict is None or not verdict.readable:
        return NO_PLAN, None
    if again and world:
        verdict = again(episode.record, world, rules)
    if not verdict.final:
        return f"fails the {rules} rules" if again else NOT_PASSED, verdict
    return format_problem(episode.transcript, run.dialect), verdict
