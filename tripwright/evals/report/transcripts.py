"""A handful of episodes to read: chosen by a fixed rule and seed, so that nobody picks the pretty ones.

The rule: half passing, half failing; within each, levels in turn; the order within a level is shuffled with SEED. The browser's index
says where they lie, so that only the chosen lines are read again. Text is cut at a stated length. This is what the page shows without
JavaScript; with it, the browser takes its place.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tripwright.evals.report.browser.index import PASSED, UNSCORED, Index
from tripwright.evals.report.folder import Json, RunFolder
from tripwright.evals.report.markup import esc, number, plain, plural
from tripwright.evals.report.results import evaluation_words
from tripwright.runs import Place, record_at
from tripwright.transcript import Segment, ToolCall, Transcript

SEED = 0
SHOWN = 6
MAX_TOOL_TEXT = 2_500
MAX_PROSE = 6_000
MAX_EPISODE_TEXT = 60_000

_CALL = re.compile(r"<tool_call>.*?(?:</tool_call>|\Z)", re.DOTALL)
_ANSWER = re.compile(r"<answer>(.*?)(?:</answer>|\Z)", re.DOTALL)
_SPECIAL = re.compile(r"<\|[a-z_]+\|>")


@dataclass(frozen=True)
class Candidate:
    """Where one episode lies in the file, and the two facts the choice is made by."""

    place: Place
    passed: bool
    level: str


def few_episodes(run: RunFolder, index: Index) -> str:
    """A handful of the main evaluation's episodes, or of the first one that has any; "" where none was scored."""
    name = next((n for n in (run.main_evaluation, *run.transcripts) if n in run.transcripts), None)
    if name is None:
        return ""
    path = run.transcripts[name]
    candidates = scored_candidates(index, path)
    chosen = choose(candidates)
    if not chosen:
        run.missing.append(f"{path.name} holds no scored episode")
        return ""
    passing = sum(each.passed for each in chosen)
    lede = (
        f"Here are {len(chosen)} of {plural(len(candidates), 'scored episode')} of the evaluation “{esc(evaluation_words(name)[0])}”, "
        f"chosen by rule: {passing} passing and {len(chosen) - passing} failing, levels in turn, shuffled with seed {SEED}. All are in "
        f"<code>{esc(path.relative_to(run.path))}</code>; with JavaScript this page lets you filter and compare them."
    )
    episodes = "".join(episode(record_at(path, each.place), i == 0) for i, each in enumerate(chosen))
    return f'<p class="lede">{lede}</p>{episodes}'


def scored_candidates(index: Index, path: Path) -> list[Candidate]:
    """An unscored episode has no verdict: it is neither a pass nor a failure, so it cannot stand for either."""
    number_ = next((i for i, source in enumerate(index.sources) if source.path == path), None)
    found = [entry for entry in index.entries if entry.source == number_ and entry.verdict != UNSCORED]
    return [Candidate(entry.place, entry.verdict == PASSED, index.queries[entry.query][1]) for entry in found]


def choose(candidates: list[Candidate], how_many: int = SHOWN, seed: int = SEED) -> list[Candidate]:
    """Passing first. If one side has too few, the other fills up."""
    shuffled = sorted(candidates, key=lambda each: each.place.offset)
    Random(seed).shuffle(shuffled)
    passing, failing = (_levels_in_turn([each for each in shuffled if each.passed is side]) for side in (True, False))
    half = how_many // 2
    take = max(half, how_many - len(failing))
    picked = passing[:take]
    return picked + failing[: how_many - len(picked)]


def episode(record: Json, opened: bool) -> str:
    query, verdict = _object(record.get("query")) or _object(record.get("request")), _object(record.get("verdict"))
    transcript = Transcript.from_json(record["transcript"])
    passed = verdict.get("final") is True
    asked = (("level", ""), ("days", " days"))
    facts = [f"{query[key]}{words}" for key, words in asked if query.get(key) is not None]
    if (party_size := query.get("people_number", query.get("party_size"))) is not None:
        facts.append("1 person" if party_size == 1 else f"{party_size} people")
    if (budget := number(query.get("budget"))) is not None:
        facts.append(f"budget ${budget:,.0f}")
    if (cost := number(verdict.get("total_cost"))) is not None:
        facts.append(f"plan costs ${cost:,.0f}")
    facts.append(f"{plural(transcript.turns, 'turn')}, stopped by {plain(str(transcript.stop_reason or 'nothing'))}")
    request = query.get("query") or f"{query.get('org', query.get('origin', '?'))} to {query.get('dest', query.get('destination', '?'))}"
    mark = '<b class="pass">✓ passed</b>' if passed else '<b class="fail">✗ failed</b>'
    fault = f'<p class="warning">{esc(transcript.fault)}</p>' if transcript.fault else ""
    kinds = ("commonsense", "hard")
    if "request" in record:  # an answer in words, verified
        kinds = ("trajectory", "turns")
        said = esc(_cut(transcript.answer, MAX_PROSE)) if transcript.answer else ""
        answered = f"<h4>The answer</h4><pre>{said}</pre>" if said else '<h4>The answer</h4><p class="muted">None was given.</p>'
    else:
        answered = f"<h4>The plan</h4>{plan(record.get('plan'))}"
    return (
        f'<details class="episode"{" open" if opened else ""}><summary>{mark} <span class="request">{esc(request)}</span>'
        f"<small>{esc(' · '.join(facts))} · {esc(record.get('id', ''))}</small></summary>{fault}"
        f'<div class="two"><div><h4>What the agent did</h4>{conversation(transcript)}</div>'
        f"<div><h4>Verdict</h4>{verdicts(verdict, record.get('schema_problem'), kinds)}</div></div>"
        f"{answered}</details>"
    )


def conversation(transcript: Transcript) -> str:
    """Messages in order; prompts, calls and answers folded. A call is shown with its answer, whichever segment stores it."""
    parts: list[str] = []
    room, waiting = MAX_EPISODE_TEXT, None
    for i, segment in enumerate(transcript.segments):
        if room <= 0:
            left = len(transcript.segments) - i
            parts.append(f'<p class="muted">{plural(left, "further message")} not shown here; see the transcripts file.</p>')
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


def verdicts(verdict: Json, schema_problem: Any, kinds: tuple[str, str] = ("commonsense", "hard")) -> str:
    """Each constraint with its state and message, in two groups called `kinds`. One that was not evaluated (gated) is said to be so."""
    parts = []
    if schema_problem:
        parts.append(f'<p class="warning">The plan could not be read: {esc(schema_problem)}</p>')
    if verdict.get("error"):
        parts.append(f'<p class="warning">Judging it raised {esc(verdict["error"])}.</p>')
    for group, kind in zip(("commonsense", "hard"), kinds, strict=True):
        facts = _object(verdict.get(group))
        rows = "".join(_fact(name, _object(fact)) for name, fact in facts.items())
        parts.append(f'<h5>{kind}</h5><ul class="facts">{rows or "<li class=na>– not evaluated</li>"}</ul>')
    return "".join(parts)


def plan(days: Any) -> str:
    """Day by day, with whatever fields the plan has; '-' (nothing) is left out."""
    if not days:
        return '<p class="muted">No plan was delivered.</p>'
    if not isinstance(days, list) or not all(isinstance(day, dict) for day in days):
        return f"<pre>{esc(_cut(json.dumps(days, ensure_ascii=False), MAX_PROSE))}</pre>"
    cards = []
    for i, day in enumerate(days, start=1):
        fields = {k: v for k, v in day.items() if k not in ("day", "days", "current_city", "city") and v not in ("-", "", None, [])}
        rows = "".join(f"<dt>{esc(plain(k))}</dt><dd>{_words(v)}</dd>" for k, v in fields.items())
        where = day.get("current_city", day.get("city", ""))
        title = f"Day {esc(day.get('days', day.get('day', i)))} <span>{_words(where)}</span>"
        cards.append(f'<div class="day"><h5>{title}</h5><dl>{rows}</dl></div>')
    return f'<div class="days">{"".join(cards[:14])}</div>'


def _said(segment: Segment) -> str:
    text = _SPECIAL.sub("", segment.text)
    answer = _ANSWER.search(text)
    shown = _CALL.sub("", text) if segment.call else text  # a call that was never made (repeated, unreadable) is what the reader looks for
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
    arguments = ", ".join(f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in call.arguments.items())
    result = call.result or text
    mark = ' <b class="fail">error</b>' if call.error else ""
    return (
        f'<details class="call"><summary><code><b>{esc(call.name)}</b>({esc(_cut(arguments, 300))})</code>{mark}'
        f"<small>{len(result):,} characters</small></summary><pre>{esc(_cut(result, MAX_TOOL_TEXT))}</pre></details>"
    )


def _fold(title: str, text: str, kind: str) -> str:
    return (
        f'<details class="{kind}"><summary>{esc(title)}<small>{len(text):,} characters</small></summary>'
        f"<pre>{esc(_cut(text, MAX_PROSE))}</pre></details>"
    )


_STATES = {
    "passed": ("✓", "pass"), "failed": ("✗", "fail"), "not_applicable": ("–", "na"), "not_evaluated": ("–", "na"),
}  # fmt: skip


def _fact(name: str, fact: Json) -> str:
    passed = fact.get("passed")
    state = str(fact.get("state") or ("passed" if passed is True else "failed" if passed is False else "not_evaluated"))
    sign, kind = _STATES.get(state, ("?", "na"))
    aside = "" if kind in ("pass", "fail") else f": {plain(state)}"
    message = f"<small>{esc(_cut(str(fact['message']), 400))}</small>" if fact.get("message") else ""
    return f'<li class="{kind}">{sign} {esc(plain(name) + aside)}{message}</li>'


def _words(value: Any) -> str:
    if isinstance(value, dict):
        if set(value) == {"from", "to"}:
            return f"{esc(value['from'])} → {esc(value['to'])}"
        return esc(", ".join(f"{plain(str(k))} {v}" for k, v in value.items() if v not in ("-", "", None)))
    if isinstance(value, list):
        return "<br>".join(_words(v) for v in value)
    parts = [part.strip() for part in _cut(str(value), 600).split(";")]  # the official plan format lists attractions so
    return "<br>".join(esc(part) for part in parts if part)


def _levels_in_turn(candidates: list[Candidate]) -> list[Candidate]:
    order = {"easy": 0, "medium": 1, "hard": 2}
    levels = sorted({each.level for each in candidates}, key=lambda level: (order.get(level, 3), level))
    queues = [[each for each in candidates if each.level == level] for level in levels]
    return [queue[i] for i in range(max(map(len, queues), default=0)) for queue in queues if i < len(queue)]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} … [{len(text) - most:,} more characters in the transcripts file]"


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
