"""Checks that every turn of a transcript is fit to be imitated (rows S4, P2, D6, D11).

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
| half of a surrogate pair, which no tokenizer can encode | any message |
"""

from __future__ import annotations

import re

from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import Answer, Call, opening_thoughts, read_turn
from tripwright.tools.answer import ToolError
from tripwright.transcript import Segment, StopReason, Transcript

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
    if transcript.stop_reason is StopReason.UNSCORED:
        return UNSCORED
    return (
        None
        if transcript.stop_reason is StopReason.ANSWER
        else f"no answer: {transcript.stop_reason}"
    )


def format_problem(transcript: Transcript, dialect: Dialect, paged: bool = False) -> str | None:
    """The first thing that is not clean, by the names above; None for a clean transcript. `paged`:
    the tools took a page number."""
    turns = [segment for segment in transcript.segments if segment.role == "assistant"]
    for segment in turns:
        last = segment is turns[-1]
        if problem := _turn_problem(segment, transcript.answer if last else None, dialect, paged):
            return problem
    if not turns:
        return UNREADABLE
    if any(
        "\ud800" <= sign <= "\udfff" for segment in transcript.segments for sign in segment.text
    ):
        return NOT_TEXT
    fenced = not dialect.prose_answers and (transcript.answer or "").startswith("```")
    return FENCED if fenced else None


def _turn_problem(
    segment: Segment, answer: str | None, dialect: Dialect, paged: bool
) -> str | None:
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
                dialect.face.offer.read(name, arguments, paged)
            except ToolError:
                return MALFORMED
        case _:
            return UNREADABLE
    if not _ENDS.search(segment.text):
        return TEXT_AFTER
    return STRAY_THOUGHT if opening_thoughts(segment.text, dialect.turns).stray else None
