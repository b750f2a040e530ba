"""What a rater may know of a transcript: the request, the answer, the tool calls with their
answers, the seconds it took. Not the run, not the model, not what the agent thought, not what the
judge or the oracle said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tripwright.domains import domains
from tripwright.domains.domain import Domain
from tripwright.evals.request_facts import request_facts
from tripwright.transcript import Transcript


def blind_content(record: Mapping[str, Any], transcript: Transcript) -> dict[str, Any]:
    """The part of an item of `items.jsonl` that describes one transcript."""
    domain = domains().get(record["domain"])
    seconds = transcript.usage.get("seconds")
    return {
        "request": {
            "text": str(record["request"].get("query") or ""),
            "facts": request_facts(record) if domain is not None else [],
        },
        "answer": _answer(domain, record, transcript),
        "calls": list(_calls(transcript)),
        "seconds": round(float(seconds), 1) if isinstance(seconds, int | float) else None,
    }


def _answer(
    domain: Domain | None, record: Mapping[str, Any], transcript: Transcript
) -> dict[str, Any]:
    """Markdown, a plan by days, text that is neither, or why there is none."""
    if domain is not None and (days := domain.answer_days(record)):
        return {"kind": "plan", "days": days}
    if transcript.answer is None or not transcript.answer.strip():
        why = str(transcript.stop_reason or "unknown").replace("_", " ")
        return {
            "kind": "none",
            "why": "the answer is empty" if transcript.answer is not None else why,
        }
    text = transcript.answer.strip()
    text = domain.answer_page(text) if domain is not None else text
    return {"kind": "text" if text[0] in "[{" and text[-1] in "]}" else "markdown", "text": text}


def _calls(transcript: Transcript) -> Iterator[dict[str, Any]]:
    """`shown` is what the agent was given instead, where its text does not hold the tool's whole
    answer: a page of it, or a fault."""
    segments = transcript.segments
    for place, segment in enumerate(segments):
        if segment.call is None:
            continue
        call = segment.call
        after = segments[place + 1] if place + 1 < len(segments) else None
        answer = (
            segment
            if segment.role == "tool"
            else after
            if after is not None and after.role == "tool"
            else None
        )
        rows = call.rows.to_json() if call.rows is not None and call.rows.values else None
        content: dict[str, Any] = {
            "name": call.name,
            "arguments": call.arguments,
            "result": call.result,
            "rows": rows,
            "error": call.error,
        }
        if answer is not None and call.result not in answer.text:
            content["shown"] = answer.text
        yield content


def reading_content(record: Mapping[str, Any], transcript: Transcript) -> dict[str, Any] | None:
    """The same of what was read out of an answer: the answer's words, and below them the plan. None
    where nothing was read, or where the answer is no words but data."""
    domain = domains().get(record["domain"])
    days = domain.answer_days(record) if domain is not None else None
    words = (transcript.answer or "").strip()
    if not days or not words or words[0] in "[{":
        return None
    read = [
        "\n".join(
            [
                f"**Day {day['number']}: {day['city']}**\n",
                *(f"- {label}: {'; '.join(pieces)}" for label, *pieces in day["lines"]),
            ]
        )
        for day in days
    ]
    text = "\n\n".join(["# The answer", words, "---", "# The plan as read", *read])
    content = blind_content(record, transcript)
    return content | {"answer": {"kind": "markdown", "text": text}, "calls": [], "seconds": None}
