"""One line of transcripts.jsonl as the browser draws it: short keys, each text once, no token ids.

    {"i": [item, …], "plan", "schema", "answer", "facts": [[group, name, state, message, evidence],
    …], "asked", "usage", …}

An item is a prompt {"k": "p"}, what the agent wrote {"k": "a"} or a tool's answer {"k": "c"}, each
with its text "t" and its tokens "n" = [how many, how many of them trained on]; an answer with rows
has them as "r" = [fields, values, number of the first, how many there are in all]. What the agent
wrote has, token by token, its log-probability in hundredths of a nat
below 0 ("l"), where the mask is 0 ("m"), and the words ("w") where a tokenizer is at hand. "o": the
item with which its context went on after the prompt, where the oldest had left it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tripwright.domains import domains, fact_title
from tripwright.evals.outcome import request_facts
from tripwright.evals.report.browser.markdown import blocks
from tripwright.evals.report.browser.words import TokenWords
from tripwright.evals.report.markup import number
from tripwright.transcript import Segment, ToolCall, Transcript
from tripwright.verdict import Fact, Verdict

Json = dict[str, Any]

MOST_TEXT = 100_000  # characters of one text; the rest stays in the file, and the page says so
MOST_FACT = 300  # characters of one thing that a grader noted


def drawn(record: Json, words: TokenWords | None, prompts: dict[str, int]) -> Json:
    """`prompts` takes the system prompts, which most episodes share: text → number. Of what only
    some domains have (a plan, costs, a verifier's findings) the page shows what is there. Raises
    KeyError, TypeError or ValueError for what is no episode."""
    transcript, request = Transcript.from_json(record["transcript"]), record["request"]
    episode: Json = {
        "id": str(record.get("id", "")),
        "world": record.get("world"),
        "i": _items(transcript, words, prompts),
        "stop": transcript.stop_reason,
        "fault": transcript.fault,
        "usage": {
            name: value for name, value in transcript.usage.items() if number(value) is not None
        },
        "asked": request_facts(record),
        "budget": number(request.get("budget", request.get("total_budget"))),
        "parent": transcript.parent,
    }
    if record["verdict"] is not None:
        verdict = Verdict.from_record(record["verdict"])
        checks = verdict.groups[1:]
        episode["schema"] = verdict.schema_problem
        episode["facts"] = [
            _fact(group.name, fact) for group in checks for fact in (group.facts or {}).values()
        ]
        episode["gated"] = [group.name for group in checks if group.facts is None]
        episode["error"], episode["cost"] = verdict.error, number(verdict.details.get("total_cost"))
        costs = _dicts(verdict.details.get("costs"))
        episode["costs"] = [
            [cost.get(part) for part in ("day", "kind", "total_usd", "count", "unit_usd")]
            for cost in costs
        ]
    if "plan" in record:
        episode["plan"] = _plan(record["plan"])
    else:
        domain = domains().get(str(record.get("domain")))
        answer = transcript.answer or ""
        page = domain.answer_page(answer) if domain is not None else answer
        episode["answer"] = blocks(_cut(page)) if page else []
        episode["found"] = _findings(record.get("verifier"))
        episode["details"] = _details(record.get("outside"))
    return {key: value for key, value in episode.items() if value not in (None, {}, "")}


def _items(transcript: Transcript, words: TokenWords | None, prompts: dict[str, int]) -> list[Json]:
    """In order. A call is shown with its answer, whichever of the two segments stores it."""
    items: list[Json] = []
    waiting: ToolCall | None = None
    calls = 0
    for segment in transcript.segments:
        if segment.role == "assistant":
            waiting = segment.call
            items.append(_said(segment, words))
        elif segment.role == "tool":
            call = segment.call or waiting
            calls += call is not None
            items.append(_answered(call, segment, calls))
            waiting = None
        else:
            text: str | int = (
                prompts.setdefault(segment.text, len(prompts))
                if segment.role == "system"
                else _cut(segment.text)
            )
            items.append({"k": "p", "r": segment.role, "t": text, **_counted(segment)})
    if waiting is not None:
        items.append(_answered(waiting, Segment("tool", waiting.result), calls + 1))
    return items


def _said(segment: Segment, words: TokenWords | None) -> Json:
    item: Json = {"k": "a", "t": _cut(segment.text), **_counted(segment)}
    if segment.call is not None:
        item["c"] = 1
    if segment.problem is not None:
        item["p"] = segment.problem
    if segment.context_from is not None:
        item["o"] = segment.context_from
    if segment.token_ids:
        if len(segment.logprobs) == len(segment.token_ids):
            item["l"] = [_hundredths(p) for p in segment.logprobs]
        if not all(segment.loss_mask):
            item["m"] = [i for i, mask in enumerate(segment.loss_mask) if not mask]
        if words is not None and (token_words := words.of(segment.token_ids, segment.text)):
            item["w"] = token_words
    return item


def _answered(call: ToolCall | None, segment: Segment, place: int) -> Json:
    if call is None:  # what a refused turn was told
        return {"k": "c", "t": _cut(segment.text), **_counted(segment)}
    item: Json = {
        "k": "c",
        "c": place,
        "f": call.name,
        "a": call.arguments,
        "t": _cut(call.result or segment.text),
        **_counted(segment),
    }
    if call.result and segment.text != call.result:
        item["s"] = _cut(segment.text)  # cut for the model, or framed
    if call.rows is not None:
        item["r"] = [call.rows.fields, call.rows.values, call.rows.first, call.rows.total]
    if call.error:
        item["e"] = 1
    if call.fault:
        item["d"] = call.fault
    return item


def _counted(segment: Segment) -> Json:
    return {"n": [len(segment.token_ids), sum(segment.loss_mask)]} if segment.token_ids else {}


def _hundredths(logprob: float) -> int:
    return min(9_999, max(0, round(-100 * logprob))) if math.isfinite(logprob) else 9_999


def _fact(group: str, fact: Fact) -> list[Any]:
    evidence = [[each.day, each.field, each.found, each.needed] for each in fact.evidence]
    return [group, fact_title(fact.name), fact.state, fact.message or "", evidence]


def _findings(verifier: Any) -> list[Json]:
    """What a verifier said of the trajectory and of each turn that it looked at."""
    if not isinstance(verifier, dict):
        return []
    trajectory = verifier.get("trajectory")
    trajectory_first = [{"call": None, **trajectory}] if isinstance(trajectory, dict) else []
    findings = []
    for each in [*trajectory_first, *_dicts(verifier.get("turns"))]:
        problems = [
            [p.get(part) for part in ("kind", "message", "said", "call", "row")]
            for p in _dicts(each.get("problems"))
        ]
        findings.append(
            {
                "call": each.get("call"),
                "conclusion": each.get("conclusion"),
                "reason": each.get("reason"),
                "problems": problems,
            }
        )
    return findings


def _details(outside: Any) -> list[tuple[str, str]]:
    """What the grader of another benchmark noted."""
    pairs = outside.items() if isinstance(outside, dict) else ()
    return [
        (str(name).replace("_", " "), _short(value))
        for name, value in pairs
        if value not in (None, "", [], {})
    ]


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= MOST_FACT else f"{text[:MOST_FACT]} …"


def _plan(plan: Any) -> Any:
    """Days as they came; whatever else was given, as a text."""
    if not plan or (isinstance(plan, list) and all(isinstance(day, dict) for day in plan)):
        return plan or None
    return _cut(str(plan))


def _dicts(value: Any) -> Sequence[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _cut(text: Any) -> str:
    text = str(text)
    return (
        text
        if len(text) <= MOST_TEXT
        else (
            f"{text[:MOST_TEXT]} … [{len(text) - MOST_TEXT:,} more characters in the transcripts"
            " file]"
        )
    )
