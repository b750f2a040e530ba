"""A handful of episodes to read: chosen by a fixed rule and seed, so that nobody picks the pretty
ones.

The rule: half passing, half failing; within each, levels in turn; the order within a level is
shuffled with SEED. The browser's index says where they lie, so that only the chosen lines are read
again. Text is cut at a stated length. This is what the page shows without JavaScript; with it, the
browser takes its place.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tripwright.domains import domains
from tripwright.evals.figures import slice_order
from tripwright.evals.outcome import Outcome, mark_words
from tripwright.evals.report.browser.index import PASSED, UNSCORED, Index
from tripwright.evals.report.folder import Json, RunFolder
from tripwright.evals.report.markup import esc, number, plain, plural
from tripwright.evals.report.results import evaluation_words
from tripwright.evals.request_facts import request_facts
from tripwright.evals.version_1 import older_records
from tripwright.runs import LinePlace, record_at
from tripwright.transcript import Segment, ToolCall, Transcript
from tripwright.verdict import Fact, State, Verdict

SEED = 0
SHOWN = 6
MAX_TOOL_TEXT = 2_500
MAX_PROSE = 6_000
MAX_EPISODE_TEXT = 60_000
MOST_DAYS = 14

_CALL = re.compile(r"<tool_call>.*?(?:</tool_call>|\Z)", re.DOTALL)
_ANSWER = re.compile(r"<answer>(.*?)(?:</answer>|\Z)", re.DOTALL)
_SPECIAL = re.compile(r"<\|[a-z_]+\|>")


@dataclass(frozen=True)
class Candidate:
    """Where one episode lies in the file, and the two facts the choice is made by."""

    place: LinePlace
    passed: bool
    kind: str  # as its level of difficulty


def few_episodes(run: RunFolder, index: Index) -> str:
    """A handful of the main evaluation's episodes, or of the first one that has any; "" where none
    was scored."""
    name = next((n for n in (run.main_evaluation, *run.transcripts) if n in run.transcripts), None)
    if name is None:
        return ""
    path = run.transcripts[name]
    candidates = scored_candidates(index, path)
    chosen = choose(candidates)
    if not chosen:
        run.missing.append(f"{path.name} holds no scored episode")
        return ""
    passing, older = sum(each.passed for each in chosen), older_records(path)
    lede = (
        f"Here are {len(chosen)} of {plural(len(candidates), 'scored episode')} of the evaluation"
        f" “{esc(evaluation_words(name)[0])}”, chosen by rule: {passing} passing and"
        f" {len(chosen) - passing} failing, levels in turn, shuffled with seed {SEED}. All are in"
        f" <code>{esc(path.relative_to(run.path))}</code>; with JavaScript this page lets you"
        " filter and compare them."
    )
    episodes = "".join(
        episode(record_at(path, each.place, older), i == 0) for i, each in enumerate(chosen)
    )
    return f'<p class="lede">{lede}</p>{episodes}'


def scored_candidates(index: Index, path: Path) -> list[Candidate]:
    """An unscored episode has no verdict: it is neither a pass nor a failure, so it cannot stand
    for either."""
    number_ = next((i for i, source in enumerate(index.sources) if source.path == path), None)
    found = [
        entry for entry in index.entries if entry.source == number_ and entry.verdict != UNSCORED
    ]
    return [
        Candidate(
            entry.place,
            entry.verdict == PASSED,
            next(iter(index.queries[entry.query].marks.values()), ""),
        )
        for entry in found
    ]


def choose(candidates: list[Candidate], how_many: int = SHOWN, seed: int = SEED) -> list[Candidate]:
    """Passing first. If one side has too few, the other fills up."""
    shuffled = sorted(candidates, key=lambda each: each.place.offset)
    Random(seed).shuffle(shuffled)
    passing, failing = (
        _kinds_in_turn([each for each in shuffled if each.passed is side]) for side in (True, False)
    )
    half = how_many // 2
    take = max(half, how_many - len(failing))
    picked = passing[:take]
    return picked + failing[: how_many - len(picked)]


def episode(record: Json, opened: bool) -> str:
    outcome, transcript = Outcome.of(record), Transcript.from_json(record["transcript"])
    facts = [
        *mark_words(outcome.marks),
        *(f"{label}: {text}" for label, text in request_facts(record)),
    ]
    verdict = Verdict.from_record(record["verdict"])
    if (cost := number(verdict.details.get("total_cost"))) is not None:
        facts.append(f"plan costs ${cost:,.0f}")
    facts.append(
        f"{plural(transcript.turns, 'turn')}, stopped by"
        f" {plain(str(transcript.stop_reason or 'nothing'))}"
    )
    mark = '<b class="pass">✓ passed</b>' if outcome.final else '<b class="fail">✗ failed</b>'
    fault = f'<p class="warning">{esc(transcript.fault)}</p>' if transcript.fault else ""
    return (
        f'<details class="episode"{" open" if opened else ""}><summary>{mark} <span'
        f' class="request">{esc(outcome.text)}</span>'
        f"<small>{esc(' · '.join(facts))} · {esc(outcome.id)}</small></summary>{fault}"
        f'<div class="two"><div><h4>What the agent did</h4>{conversation(transcript)}</div>'
        f"<div><h4>Verdict</h4>{verdicts(verdict)}</div></div>"
        f"<h4>The answer</h4>{answer(record, transcript)}</details>"
    )


def answer(record: Json, transcript: Transcript) -> str:
    """Day by day where the domain reads it so, else in its words."""
    domain = domains().get(record["domain"])
    if days := domain.answer_days(record) if domain is not None else None:
        return f'<div class="days">{"".join(map(_day, days[:MOST_DAYS]))}</div>'
    if transcript.answer:
        return f"<pre>{esc(_cut(transcript.answer, MAX_PROSE))}</pre>"
    return '<p class="muted">None was given.</p>'


def _day(day: Json) -> str:
    lines = "".join(
        f"<dt>{esc(label)}</dt><dd>{'<br>'.join(esc(_cut(piece, 600)) for piece in pieces)}</dd>"
        for label, *pieces in day["lines"]
    )
    return (
        f'<div class="day"><h5>Day {esc(day["number"])}'
        f" <span>{esc(day['city'])}</span></h5><dl>{lines}</dl></div>"
    )


def conversation(transcript: Transcript) -> str:
    """Messages in order; prompts, calls and answers folded. A call is shown with its answer,
    whichever segment stores it."""
    parts: list[str] = []
    room, waiting = MAX_EPISODE_TEXT, None
    for i, segment in enumerate(transcript.segments):
        if room <= 0:
            left = len(transcript.segments) - i
            parts.append(
                f'<p class="muted">{plural(left, "further message")} not shown here; see the'
                " transcripts file.</p>"
            )
            return "".join(parts)
        if segment.role == "assistant":
            waiting = segment.call
            parts.append(_said(segment))
        elif segment.role == "tool":
            parts.append(_tool(segment.call or waiting, segment.text))
            waiting = None
        else:
            parts.append(_fold(segment.role, segment.text, "prompt"))
        room -= min(len(segment.text), MAX_PROSE)
    if waiting is not None:
        parts.append(_tool(waiting, waiting.result))
    return "".join(parts)


def verdicts(verdict: Verdict) -> str:
    """Each fact with its state and message, group by group. One that was not evaluated (gated) is
    said to be so."""
    parts = []
    if verdict.schema_problem:
        parts.append(
            f'<p class="warning">The answer could not be read: {esc(verdict.schema_problem)}</p>'
        )
    if verdict.error:
        parts.append(f'<p class="warning">Judging it raised {esc(verdict.error)}.</p>')
    for group in verdict.groups[1:]:
        rows = "".join(map(_fact, (group.facts or {}).values()))
        parts.append(
            f"<h5>{esc(group.name)}</h5><ul"
            f' class="facts">{rows or "<li class=na>– not evaluated</li>"}</ul>'
        )
    return "".join(parts)


def _said(segment: Segment) -> str:
    text = _SPECIAL.sub("", segment.text)
    answer = _ANSWER.search(text)
    # a call that was never made (repeated, unreadable) is what the reader looks for
    shown = _CALL.sub("", text) if segment.call else text
    prose = _cut(_ANSWER.sub("", shown).strip(), MAX_PROSE)
    parts = [f'<p class="said">{esc(prose)}</p>'] if prose else []
    if answer:
        parts.append(_fold("answer", answer.group(1).strip(), "answer"))
    if not parts and not segment.call:
        parts.append('<p class="said muted">(said nothing)</p>')
    return "".join(parts)


def _tool(call: ToolCall | None, text: str) -> str:
    if call is None:
        return _fold("tool", text, "call")
    arguments = ", ".join(
        f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in call.arguments.items()
    )
    result = call.result or text
    mark = ' <b class="fail">error</b>' if call.error else ""
    return (
        "<details"
        f' class="call"><summary><code><b>{esc(call.name)}</b>({esc(_cut(arguments, 300))})</code>{mark}<small>{len(result):,}'  # noqa: E501
        f" characters</small></summary><pre>{esc(_cut(result, MAX_TOOL_TEXT))}</pre></details>"
    )


def _fold(title: str, text: str, kind: str) -> str:
    return (
        f'<details class="{kind}"><summary>{esc(title)}<small>{len(text):,}'
        f" characters</small></summary><pre>{esc(_cut(text, MAX_PROSE))}</pre></details>"
    )


_SIGNS = {State.PASSED: ("✓", "pass"), State.FAILED: ("✗", "fail")}


def _fact(fact: Fact) -> str:
    sign, kind = _SIGNS.get(fact.state, ("–", "na"))
    aside = "" if fact.state in _SIGNS else f": {plain(fact.state)}"
    message = f"<small>{esc(_cut(fact.message, 400))}</small>" if fact.message else ""
    return f'<li class="{kind}">{sign} {esc(plain(fact.name) + aside)}{message}</li>'


def _kinds_in_turn(candidates: list[Candidate]) -> list[Candidate]:
    kinds = sorted({each.kind for each in candidates}, key=slice_order)
    queues = [[each for each in candidates if each.kind == kind] for kind in kinds]
    return [
        queue[i]
        for i in range(max(map(len, queues), default=0))
        for queue in queues
        if i < len(queue)
    ]


def _cut(text: str, most: int) -> str:
    return (
        text
        if len(text) <= most
        else f"{text[:most]} … [{len(text) - most:,} more characters in the transcripts file]"
    )
