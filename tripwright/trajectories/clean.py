"""What a clean format is (rows S1, S4, P2): every turn of the transcript is what the dialect asked for, nothing more and nothing less.

| problem | where |
|---|---|
| no answer, or no plan in it | the episode stopped for another reason; the answer breaks the schema |
| a turn that cannot be read, or does not say what the record of the call says | any turn |
| a malformed call: no such tool, a wrong, missing or ill-typed argument | any call. An honest search that finds nothing is no such error |
| several calls in a turn | chat endpoints, of whose native calls only the first was made |
| text after the call or the answer | any turn |
| a turn without one closed thought before its call or answer | `star`, which asks for `<think>…</think>` and nothing else |
| the answer in a Markdown fence | dialects whose answer is JSON and nothing else |
| half of a surrogate pair, which no tokenizer can encode | any message |
"""

from __future__ import annotations

import re

from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import Answer, Call, read_turn
from tripwright.tools.errors import ToolError
from tripwright.tools.faces import face_named
from tripwright.transcript import Segment, StopReason, Transcript

UNSCORED = "unscored: a fault on our side"
NO_PLAN = "an answer that is no plan"
UNREADABLE = "a turn that cannot be read"
MALFORMED = "a malformed call"
SEVERAL_CALLS = "several calls in a turn"
TEXT_AFTER = "text after the call or the answer"
NO_THOUGHT = "a turn that is not one thought and one call or answer"
FENCED = "the answer in a Markdown fence"
NOT_TEXT = "half of a surrogate pair"

_ENDS = re.compile(r"</(tool_call|answer)>\s*\Z")
_THOUGHT_FIRST = re.compile(r"\s*<think>(?:(?!</?think>).)*</think>\s*<(?:tool_call|answer)>", re.DOTALL)
_THINKS = re.compile(r"(\s*<think>(?:(?!</?think>).)*</think>)?(?!.*</?think>)", re.DOTALL)  # one thought opens the turn, or none is there


def ending_problem(transcript: Transcript, plan: object) -> str | None:
    """Why this episode has no plan to be judged, or None."""
    if transcript.stop_reason is StopReason.UNSCORED:
        return UNSCORED
    if transcript.stop_reason is not StopReason.ANSWER:
        return f"no answer: {transcript.stop_reason}"
    return None if plan is not None else NO_PLAN


def format_problem(transcript: Transcript, dialect: Dialect, paged: bool = False) -> str | None:
    """The first thing that is not clean, by the names above; None for a clean transcript. `paged`: the tools took a page number."""
    if transcript.usage.get("dropped_calls"):
        return SEVERAL_CALLS
    turns = [segment for segment in transcript.segments if segment.role == "assistant"]
    for segment in turns:
        last = segment is turns[-1]
        if problem := _turn_problem(segment, transcript.answer if last else None, dialect, paged):
            return problem
    if not turns:
        return UNREADABLE
    if any("\ud800" <= sign <= "\udfff" for segment in transcript.segments for sign in segment.text):
        return NOT_TEXT
    return FENCED if dialect.plan_format == "json" and (transcript.answer or "").startswith("```") else None


def _turn_problem(segment: Segment, answer: str | None, dialect: Dialect, paged: bool) -> str | None:
    match read_turn(segment.text):
        case Answer(text):
            if answer is None or text != answer:
                return UNREADABLE
        case Call(name, arguments):
            call = segment.call
            if answer is not None or call is None or (call.name, call.arguments) != (name, arguments):
                return UNREADABLE
            try:  # read again: the transcript says only that there was an error, and finding nothing is one too
                face_named(dialect.face).offer.read(name, arguments, paged)
            except ToolError:
                return MALFORMED
        case _:
            return UNREADABLE
    if not _ENDS.search(segment.text):
        return TEXT_AFTER
    thoughts = _THOUGHT_FIRST if dialect.plan_format == "itinerary" else _THINKS
    return None if thoughts.match(segment.text) else NO_THOUGHT
