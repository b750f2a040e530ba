"""A model behind an OpenAI-compatible endpoint as a policy: many sessions at once, one thread each,
text only (law 5).

The transcript stays the only record of the conversation: the messages of every request are rebuilt
from its segments, and a native tool call is written into it as the text of row P2, so that every
policy's episodes read the same. A fault of the endpoint makes its session unscored and never puts
words into the model's mouth (law 4). In a run every completion is kept in calls.jsonl before it is
used, and an episode that is played again takes its turns from there (`llm/paid_calls.py`).

A model without the tools at hand natively is told of them in the notation of Hermes and Qwen; a
dialect whose prompt lists them itself, or whose models learned them, is sent as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Literal

from tripwright.agent.chat import TokenCounter
from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import (
    TurnFormat,
    Unreadable,
    opened,
    read_turn,
    with_thought,
    write_call,
)
from tripwright.episode import Session, Turn
from tripwright.errors import UserError
from tripwright.llm.client import ChatEndpoint, Completion, Fault, RequestedCall
from tripwright.llm.endpoint import Breaker
from tripwright.llm.paid_calls import COUNTED, CallKey, PaidCalls
from tripwright.policies.base import play_in_threads
from tripwright.transcript import Segment, Transcript

TOOL_CALL = "<tool_call>"
NOT_MADE = "Only the first call of a turn is made."  # answers the others
# what OpenAI takes as one; a model that writes its call as text may invent others
FUNCTION_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

HERMES_PROMPT = """{system}

# Tools

You may call one function per turn to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{schemas}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""  # noqa: E501

# what `check` asks
CHECKED = "I want to travel from Boston to Salem on 2022-03-16. Look up what there is, then plan."

Notation = Literal["native", "hermes", "verbatim"]


class EndpointPolicy:
    """`concurrency` sessions are in flight at once. Without `native_tools` the schemas go into the
    system prompt. `counter` keeps the dialect's limits in tokens; without one they are the
    server's to keep. An episode that the endpoint's content filter ends is a failure of the model;
    with `spares_filtered` it is unscored."""

    def __init__(
        self,
        endpoint: ChatEndpoint,
        concurrency: int = 8,
        native_tools: bool = True,
        counter: TokenCounter | None = None,
        spares_filtered: bool = False,
    ):
        self.name = endpoint.model
        self._endpoint, self._concurrency, self._native_tools = endpoint, concurrency, native_tools
        self._counter, self._spares_filtered = counter, spares_filtered
        self._calls: PaidCalls | None = None

    def keep(self, calls: PaidCalls) -> None:
        self._calls = calls

    def stop(self) -> None:
        self._endpoint.stop()

    def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
        """In the order they finish. What can never work (a wrong key, an unknown model, no money
        left) is raised at once, as UserError."""
        return play_in_threads(map(self._counted, sessions), self._concurrency, self._take_turn)

    def _counted(self, session: Session) -> Session:
        if self._counter is not None:
            session.count_with(self._counter)
        return session

    def _take_turn(self, session: Session, breaker: Breaker) -> None:
        how = notation(session.dialect, self._native_tools)
        schemas = session.tools.schemas
        sent = messages(session.transcript, how, schemas, session.context_from)
        offered = schemas if how == "native" else None
        calls = self._calls
        request = CallKey.of(session.task.id, session.transcript.turns, sent, offered)
        if calls and (stored := calls.find(request)):
            take(session, stored, self._spares_filtered)
        elif breaker.is_open:
            session.fail(breaker.why)
        else:
            send = partial(self._endpoint.complete, sent, offered, session.turn_budget)
            outcome = calls.ask(request, send) if calls else send()
            breaker.note(outcome)
            take(session, outcome, self._spares_filtered)

    def check(self, dialect: Dialect) -> dict[str, Any]:
        """What the endpoint can, as its answer to a request in this dialect shows it. None where a
        question does not arise. Raises UserError where it refuses what a run sends first, or does
        not answer."""
        schemas = dialect.offered()
        prompt = [Segment("system", dialect.prompt(schemas)), Segment("user", CHECKED)]
        how = notation(dialect, self._native_tools)
        offered = schemas if how == "native" else None
        sent = messages(Transcript(prompt), how, schemas)
        said = self._endpoint.complete(sent, offered, dialect.max_turn_tokens)
        if isinstance(said, Fault):
            raise UserError(said.message)
        read = read_turn(turn_text(said, dialect.turns), dialect.turns)
        return {
            "turn": read.problem if isinstance(read, Unreadable) else type(read).__name__.lower(),
            "native_tools": bool(said.tool_calls) if offered else None,
            "thoughts": ["told apart"] * bool(said.reasoning)
            + [tag for tag in ("<think>", "</think>") if tag in said.text],
            "max_tokens_field": self._endpoint.max_tokens_field,
            "finish_reason": said.finish_reason,
            "counts_tokens": "uncounted_requests" not in said.usage,
            **{name: said.usage.get(name) for name in COUNTED},
        }


def take(session: Session, outcome: Completion | Fault, spares_filtered: bool = False) -> None:
    """What a request came to, as the session's next turn or as its end."""
    session.transcript.usage["requests"] += 1
    if isinstance(outcome, Completion):
        session.transcript.usage.update(outcome.usage)
        if outcome.finish_reason == "content_filter" and spares_filtered:
            return session.fail("the endpoint's content filter refused a turn or cut it off")
        turn = turn_of(outcome, session.dialect.turns)
        if not session.dialect.tools_in_prompt:
            turn.told_apart = {}  # nobody is sent them
        session.take(turn)
    elif outcome.kind == "context_overflow":
        session.overflow()
    else:
        session.fail(f"{outcome.kind} after {outcome.attempts} attempts: {outcome.message}")


def converse(endpoint: ChatEndpoint, session: Session) -> None:
    """Plays a session in a conversation that only grows: the model's messages go back as they
    came, and nothing leaves it. Nothing is asked twice, or kept."""
    how, schemas = notation(session.dialect, native_tools=True), session.tools.schemas
    sent = messages(session.transcript, how, schemas)
    while session.goes_on():
        outcome = endpoint.complete(sent, schemas if how == "native" else None)
        take(session, outcome)
        if isinstance(outcome, Completion) and not session.done:
            sent += _exchange(outcome, session.transcript)


def _exchange(said: Completion, transcript: Transcript) -> list[dict[str, Any]]:
    """A turn as it came, and what answers it: in words, where a server would refuse to read its
    calls again."""
    turn, answer = (in_words(transcript, len(transcript.segments) - back) for back in (2, 1))
    for call in said.tool_calls:
        if not isinstance(_read(call.arguments), dict) or not FUNCTION_NAME.fullmatch(call.name):
            return [turn, answer]
    shown = transcript.segments[-1].text
    answers = [
        {"role": "tool", "tool_call_id": call.id, "content": NOT_MADE if number else shown}
        for number, call in enumerate(said.tool_calls)
    ]
    return [dict(said.message), *(answers or [answer])]


def notation(dialect: Dialect, native_tools: bool) -> Notation:
    if not dialect.tools_in_prompt:
        return "verbatim"
    return "native" if native_tools else "hermes"


def turn_of(completion: Completion, form: TurnFormat) -> Turn:
    ended = completion.finish_reason
    return Turn(
        turn_text(completion, form),
        cut=ended == "length",
        filtered=ended == "content_filter",
        told_apart=completion.told_apart,
    )


def turn_text(completion: Completion, form: TurnFormat) -> str:
    """What the model said: native calls as text, a thought that the server told apart from the text
    put back where the format asks for one, and a thought that its chat template had opened, as
    Qwen3-Thinking's does, with the opening tag."""
    text = opened(completion.text + "".join(map(call_text, completion.tool_calls)), form)
    return with_thought(text, form, completion.reasoning) if completion.reasoning else text


def call_text(call: RequestedCall) -> str:
    """Arguments that are no JSON object stay as they came: the turn is then as unreadable as the
    model made it."""
    arguments = _read(call.arguments)
    if isinstance(arguments, str):  # encoded twice
        arguments = _read(arguments)
    if isinstance(arguments, dict):
        # an escaped half of a surrogate pair cannot be sent
        return write_call(call.name, arguments).encode("utf-8", "replace").decode()
    return f'{TOOL_CALL}{{"name":{json.dumps(call.name)},"arguments":{call.arguments}}}</tool_call>'


def _read(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return None


def messages(
    transcript: Transcript,
    how: Notation,
    schemas: list[dict[str, Any]],
    context_from: int | None = None,
) -> list[dict[str, Any]]:
    """The conversation so far as an endpoint wants it, without the exchanges that have left the
    context (`Segment.context_from`).

    native: assistant {"content", "tool_calls"}, with its thoughts where the endpoint told them
    apart, and tool {"tool_call_id", "content"}; hermes and verbatim: calls are words of the
    assistant, and what a tool answers is the user's, between <tool_response> tags, as STAR's agent,
    DeepTravel's prompt and Qwen's templates have it: hosted services refuse a tool's answer to no
    native call. With hermes the schemas go into the system prompt.
    """
    written = _native if how == "native" else in_words
    sent = [written(transcript, number) for number in transcript.visible(context_from)]
    if how == "hermes" and sent[0]["role"] == "system":
        lines = "\n".join(json.dumps(schema, ensure_ascii=False) for schema in schemas)
        sent[0]["content"] = HERMES_PROMPT.format(system=sent[0]["content"], schemas=lines)
    return sent


def in_words(transcript: Transcript, number: int) -> dict[str, Any]:
    segment = transcript.segments[number]
    if segment.role == "tool":
        text = f"<tool_response>\n{segment.text}\n</tool_response>"
        return {"role": "user", "content": text}
    return {"role": segment.role, "content": segment.text}


def _native(transcript: Transcript, number: int) -> dict[str, Any]:
    segment = transcript.segments[number]
    answers = segment.role == "tool"
    turn = number - 1 if answers else number
    call = transcript.segments[turn].call
    if call is None or not FUNCTION_NAME.fullmatch(call.name):
        return in_words(transcript, number)
    if answers:
        return {"role": "tool", "tool_call_id": _call_id(turn), "content": segment.text}
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    thought, closed, rest = segment.text.rpartition("</think>")
    said = thought + closed + rest.partition(TOOL_CALL)[0]
    made = {"id": _call_id(turn), "type": "function", "function": function}
    return {"role": "assistant", "content": said, "tool_calls": [made], **segment.told_apart}


def _call_id(segment: int) -> str:
    """Nine letters and digits, which is what the strictest servers take."""
    return f"call{segment:05d}"
