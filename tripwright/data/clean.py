"""What a clean format is (rows S1, S4, P2, D6, D11): every turn of the transcript is what the dialect asked for, no more and no less.

| problem | where |
|---|---|
| no answer, or no plan in it | the episode stopped for another reason; a plan that breaks the schema |
| a turn that cannot be read, or does not say what the record of the call says | any turn |
| a malformed call: no such tool, a wrong, missing or ill-typed argument | any call. An honest search that finds nothing is no such error |
| several calls in a turn | chat endpoints, of whose native calls only the first was made |
| text after the call or the answer | any turn |
| a turn without one closed thought before its call or answer | `star`, which asks for `<think>…</think>` and nothing else |
| words outside the tags of its thoughts, the call or the answer | `deeptravel`, `deeptravel_compact`; a thought holds no tag of another |
| the answer in a Markdown fence | dialects whose answer is JSON, or row D11's markdown, and nothing else |
| an answer that is not written as row D11 asks, or recommends more than two in a part | `deeptravel`, `deeptravel_compact` |
| half of a surrogate pair, which no tokenizer can encode | any message |
"""

from __future__ import annotations

import re
from functools import cache

from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import Answer, Call, TurnFormat, read_turn
from tripwright.domains.deeptravel.task import format_problem as answer_problem
from tripwright.tools.errors import ToolError
from tripwright.transcript import Segment, StopReason, Transcript

UNSCORED = "unscored: a fault on our side"
NO_PLAN = "an answer that is no plan"
UNREADABLE = "a turn that cannot be read"
MALFORMED = "a malformed call"
SEVERAL_CALLS = "several calls in a turn"
TEXT_AFTER = "text after the call or the answer"
NO_THOUGHT = "a turn that is not one thought and one call or answer"
OUTSIDE_TAGS = "a turn that is not its thoughts and one call or answer"
FENCED = "the answer in a Markdown fence"
NOT_IN_FORMAT = "the answer's format"  # and what of it
NOT_TEXT = "half of a surrogate pair"

_ENDS = re.compile(r"</(tool_call|answer)>\s*\Z")
_THOUGHT_FIRST = re.compile(r"\s*<think>(?:(?!</?think>).)*</think>\s*<(?:tool_call|answer)>", re.DOTALL)
_THINKS = re.compile(r"(\s*<think>(?:(?!</?think>).)*</think>)?(?!.*</?think>)", re.DOTALL)  # one thought opens the turn, or none is there


@cache
def _tagged(form: TurnFormat) -> re.Pattern[str]:
    """Thoughts in the dialect's tags, as many as it takes, and at once the call or the answer, with no such tag in it."""
    tags = "|".join(form.thoughts)
    thought = rf"\s*<({tags})>(?:(?!</?(?:{tags})>).)*</\1>"
    return re.compile(rf"(?:{thought}){{0,{form.most_thoughts}}}\s*<(?:tool_call|answer)>(?!.*</?(?:{tags})>)", re.DOTALL)


def ending_problem(transcript: Transcript) -> str | None:
    """Why this episode has no answer to be judged, or None."""
    if transcript.stop_reason is StopReason.UNSCORED:
        return UNSCORED
    return None if transcript.stop_reason is StopReason.ANSWER else f"no answer: {transcript.stop_reason}"


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
    return _answer_problem(transcript, dialect)


def _answer_problem(transcript: Transcript, dialect: Dialect) -> str | None:
    if dialect.plan_format != "itinerary" and (transcript.answer or "").startswith("```"):
        return FENCED
    problem = answer_problem(transcript) if dialect.plan_format == "recommendations" else None
    return f"{NOT_IN_FORMAT}: {problem.partition(':')[0]}" if problem else None  # without what the answer says: reasons are counted


def _turn_problem(segment: Segment, answer: str | None, dialect: Dialect, paged: bool) -> str | None:
    match read_turn(segment.text, dialect.turns):
        case Answer(text):
            if answer is None or text != answer:
                return UNREADABLE
        case Call(name, arguments):
            call = segment.call
            if answer is not None or call is None or (call.name, call.arguments) != (name, arguments):
                return UNREADABLE
            try:  # read again: the transcript says only that there was an error, and finding nothing is one too
                dialect.face.offer.read(name, arguments, paged)
            except ToolError:
                return MALFORMED
        case _:
            return UNREADABLE
    if not _ENDS.search(segment.text):
        return TEXT_AFTER
    if dialect.plan_format == "recommendations":
        return None if _tagged(dialect.turns).match(segment.text) else OUTSIDE_TAGS
    thoughts = _THOUGHT_FIRST if dialect.plan_format == "itinerary" else _THINKS
    return None if thoughts.match(segment.text) else NO_THOUGHT
