"""Collects the episodes of runs that are worth learning from (rows S4, P2, D6, D11): they pass, by
their run's own verdict or judged here, and every turn is fit to be imitated. A domain with several
sets of rules is held to the strictest. Why the others were left out is counted: an episode under
the first reason that it meets, in the order ending, rules, format, number, so that the counts add
up to all episodes. Of several good episodes of a request those with the lowest ids are kept,
whichever finished first.

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
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import Answer, Call, opening_thoughts, read_turn
from tripwright.data.files import SourceRun, StoredEpisode, one_domain, replacing
from tripwright.domains.domain import Domain
from tripwright.domains.place import ClosedWorld
from tripwright.errors import UserError
from tripwright.tools.answer import ToolError
from tripwright.transcript import Segment, StopReason, Transcript
from tripwright.verdict import Verdict

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
    places = {world.content_hash: world for world in worlds}
    rules = _settled_rules(domain, runs, places, rules)
    dropped, taken, judged_again = Counter[str](), Counter[str](), 0
    by_run = {run.label: {"episodes": 0, "kept": 0} for run in runs}
    with replacing(out) as lines:
        for run in runs:
            counts = by_run[run.label]
            for episode in run.episodes():
                counts["episodes"] += 1
                request = f"{run.world_hash} {episode.request_key}"
                reason, verdict = _judged(episode, run, places.get(run.world_hash or ""), rules)
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
    places: Mapping[str, ClosedWorld],
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
        if rules or places:
            option = "--rules" if rules else "--world"
            raise UserError(
                f"{option} is for what can be judged again; the episodes of '{runs[0].folder}' were"
                f" {runs[0].rules}. Leave {option} out."
            )
        return ", ".join(sorted({run.rules for run in runs}))
    rules, hashes = domain.judge.rules_named(rules), {run.world_hash for run in runs}
    if unused := [world for hash, world in places.items() if hash not in hashes]:
        raise UserError(
            f"No run was played in the world '{unused[0].name}' as given. Give the world that"
            " the run card names."
        )
    for run in runs:
        if run.rules != rules and run.world_hash not in places:
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
