"""Checks that every turn of a transcript is in the format that its dialect asked for, no more and
no less (rows S1, S4, P2, D6, D11).

How a clean turn looks is in the dialect's `TurnFormat`, how a clean answer in its domain's
`answer_problem`.

| problem | where |
|---|---|
| no answer, or none that can be read | the episode stopped for another reason; a plan that breaks
the schema | | a turn that cannot be read, or does not say what the record of the call says | any
turn |
| a malformed call: no such tool, a wrong, missing or ill-typed argument | any call. An honest
search that finds nothing is no such error | | several calls in a turn | chat endpoints, of whose
native calls only the first was made |
| text after the call or the answer | any turn |
| a turn that does not open with as many closed thoughts as its format asks for, or has a thought's
tag elsewhere | any turn | | words outside the tags of its thoughts, the call or the answer |
dialects that allow none |
| the answer in a Markdown fence | dialects whose answers are not in free words |
| an answer that is not in its domain's strict format | any answer, where the domain has one |
| half of a surrogate pair, which no tokenizer can encode | any message |
"""

from __future__ import annotations

import re
from functools import cache

from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import Answer, Call, TurnFormat, read_turn
from tripwright.domains import domain_of
from tripwright.tools.errors import ToolError
from tripwright.transcript import Segment, StopReason, Transcript

UNSCORED = "unscored: a fault on our side"
NO_PLAN = "an answer that is no plan"  # what the first group of its verdict says
UNREADABLE = "a turn that cannot be read"
MALFORMED = "a malformed call"
SEVERAL_CALLS = "several calls in a turn"
TEXT_AFTER = "text after the call or the answer"
OUTSIDE_TAGS = "a turn that is not its thoughts and one call or answer"
FENCED = "the answer in a Markdown fence"
NOT_IN_FORMAT = "the answer's format"  # and what of it
NOT_TEXT = "half of a surrogate pair"

_ENDS = re.compile(r"</(tool_call|answer)>\s*\Z")


@cache
def _clean_turn(form: TurnFormat) -> re.Pattern[str]:
    """Thoughts in the dialect's tags, as many as it takes, then no such tag any more; without
    `words_outside` the call or the answer at once."""
    tags = "|".join(form.thoughts)
    thought = rf"\s*<({tags})>(?:(?!</?(?:{tags})>).)*</\1>"
    at_once = "" if form.words_outside else r"\s*<(?:tool_call|answer)>"
    return re.compile(
        rf"(?:{thought}){{{form.least_thoughts},{form.most_thoughts}}}{at_once}(?!.*</?(?:{tags})>)",
        re.DOTALL,
    )


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
    if transcript.usage.get("dropped_calls"):
        return SEVERAL_CALLS
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
    return _answer_problem(transcript, dialect)


def _answer_problem(transcript: Transcript, dialect: Dialect) -> str | None:
    if not dialect.prose_answers and (transcript.answer or "").startswith("```"):
        return FENCED
    problem = domain_of(dialect).answer_problem(transcript, dialect)
    # without what the answer says: reasons are counted
    return f"{NOT_IN_FORMAT}: {problem.partition(':')[0]}" if problem else None


def _turn_problem(
    segment: Segment, answer: str | None, dialect: Dialect, paged: bool
) -> str | None:
    match read_turn(segment.text, dialect.turns):
        case Answer(text):
            if answer is None or text != answer:
                return UNREADABLE
        case Call(name, arguments):
            call = segment.call
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
    return None if _clean_turn(dialect.turns).match(segment.text) else OUTSIDE_TAGS
