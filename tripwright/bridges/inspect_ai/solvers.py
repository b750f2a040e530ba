"""Who plays an Inspect sample: one of our policies, Inspect's own model, or nobody, because a run
folder holds the episode already.

Samples come one by one, each in a task of its own, while a local model wants many at once: whoever
waits for a turn at the policy plays all that wait with him. A fault on our side raises, so that
Inspect counts the sample as an error (not as a failure of the agent, law 4) and `--retry-on-error`
tries it again. The whole record of the episode, token ids and log-probabilities included, goes into
the sample's store under `EPISODE`; a scorer reads nothing else.

What Inspect's model is sent is what `--policy endpoint` sends (`policies/endpoint.py`), with one
difference: a dialect whose prompt lists the tools itself makes no native calls, so its tool answers
go as the user's words, between `<tool_response>` tags, because most providers refuse a tool's
answer to no call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any

from anyio import CapacityLimiter, to_thread
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentReasoning,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolCall, ToolInfo, ToolParams

from tripwright.agent.chat import ChatFormat, EstimatedTokens
from tripwright.agent.dialect import Dialect
from tripwright.agent.session import Session, Turn
from tripwright.episode import Task, close_session, open_session
from tripwright.llm.client import Completion, RequestedCall
from tripwright.llm.paid_calls import counted
from tripwright.policies.base import Policy
from tripwright.policies.endpoint import EndpointPolicy, Notation, count, messages, turn_text
from tripwright.runs import LinePlace, record_at
from tripwright.transcript import Transcript


def chat_messages(
    transcript: Transcript,
    how: Notation,
    schemas: list[dict[str, Any]],
    context_from: int | None = None,
) -> list[ChatMessage]:
    """The conversation so far; `how` and `context_from` as in the endpoint policy."""
    return [_message(message) for message in messages(transcript, how, schemas, context_from)]


def tool_infos(schemas: Sequence[dict[str, Any]]) -> list[ToolInfo]:
    """JSON functions of OpenAI's format as Inspect hands them to a provider: the same, and closed
    (`additionalProperties` false), which providers need who read calls strictly."""
    functions = [schema["function"] for schema in schemas]
    return [
        ToolInfo(
            name=function["name"],
            description=function["description"],
            parameters=ToolParams.model_validate(function["parameters"]),
        )
        for function in functions
    ]


def completion_of(output: ModelOutput) -> Completion:
    """What the model said, as our own client would say it: text, calls and reasoning, no token
    ids."""
    calls = tuple(_requested(call) for call in output.message.tool_calls or ())
    usage: dict[str, float] = {}
    if output.usage is not None:
        usage = {
            "prompt_tokens": output.usage.input_tokens,
            "completion_tokens": output.usage.output_tokens,
        }
    finish_reason = "length" if output.stop_reason == "max_tokens" else output.stop_reason
    content = output.message.content
    blocks = [] if isinstance(content, str) else content
    reasoning = "".join(block.reasoning for block in blocks if isinstance(block, ContentReasoning))
    return Completion(output.message.text, calls, finish_reason, usage, reasoning)


def last_words(transcript: Transcript, model: str) -> ModelOutput:
    """The answer (else the last turn) as a model's output, which the viewer shows first."""
    turns = [segment.text for segment in transcript.segments if segment.role == "assistant"]
    output = ModelOutput.from_content(
        model, transcript.answer if transcript.answer is not None else "".join(turns[-1:])
    )
    input_tokens, output_tokens = (
        int(transcript.usage.get(name, 0)) for name in ("prompt_tokens", "completion_tokens")
    )
    if input_tokens or output_tokens:
        output.usage = ModelUsage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            total_tokens=input_tokens + output_tokens,
        )
    return output


def _message(message: dict[str, Any]) -> ChatMessage:
    role, text = message["role"], message["content"]
    if role == "system":
        return ChatMessageSystem(content=text)
    if role == "assistant":
        calls = [
            ToolCall(
                id=call["id"],
                function=call["function"]["name"],
                arguments=json.loads(call["function"]["arguments"]),
            )
            for call in message.get("tool_calls", ())
        ]
        return ChatMessageAssistant(content=text, tool_calls=calls or None)
    if role == "tool" and "tool_call_id" in message:
        return ChatMessageTool(content=text, tool_call_id=message["tool_call_id"])
    if role == "tool":  # as Qwen's chat templates write what a tool said, and as STAR's agent does
        text = f"<tool_response>\n{text}\n</tool_response>"
    return ChatMessageUser(content=text)


def _requested(call: ToolCall) -> RequestedCall:
    """Arguments that Inspect could not read are lost there; what stands in their place cannot be
    read either."""
    arguments = (
        json.dumps(call.arguments) if call.parse_error is None else "(arguments that are no JSON)"
    )
    return RequestedCall(call.id, call.function, arguments)


EPISODE = "episode"  # key in a sample's store: one line of transcripts.jsonl
# threads that wait for a policy; Inspect's --max-samples is the limit that counts
MOST_WAITING = 10_000


class EpisodeFault(RuntimeError):
    """Our side failed: the episode has no verdict."""


@dataclass(frozen=True)
class Setup:
    """How the samples of one task are played. `policy` None: Inspect's model plays."""

    tasks: Mapping[str, Task]  # by sample id
    dialect: Dialect
    rules: str
    policy: Policy | None
    chat: ChatFormat | None
    native_tools: bool
    samples: int

    def task(self, state: TaskState) -> Task:
        """Named as `tripwright run --samples` names it."""
        task = self.tasks[str(state.sample_id)]
        return (
            task.renamed(f"{task.id}-s{state.epoch - 1:02d}")
            if self.samples > 1 or state.epoch > 1
            else task
        )


class SharedPolicy:
    """One policy for samples that come in their own time: whoever comes first plays with all who
    have come by then."""

    def __init__(self, policy: Policy):
        self._policy = policy
        self._coming = SimpleQueue[tuple[Session, Future[Session]]]()
        self._playing = Lock()

    def play(self, session: Session) -> Session:
        """Blocks until the session is done. Raises what the policy raises."""
        # waits for others anyway, and as many at once as there are
        if isinstance(self._policy, EndpointPolicy):
            return next(iter(self._policy.play([session])))
        mine: Future[Session] = Future()
        self._coming.put((session, mine))
        while not mine.done():
            if self._playing.acquire(timeout=0.02):
                try:
                    self._play_all()
                finally:
                    self._playing.release()
        return mine.result()

    def _play_all(self) -> None:
        waiting: dict[int, tuple[Session, Future[Session]]] = {}
        try:
            while True:
                session, future = self._coming.get_nowait()
                waiting[id(session)] = session, future
        except Empty:
            pass
        try:
            for done in self._policy.play([session for session, _ in waiting.values()]):
                waiting.pop(id(done))[1].set_result(done)
        except Exception as error:  # raised again by each who waits
            for _, future in waiting.values():
                future.set_exception(error)


@solver
def episode(setup: Setup) -> Solver:
    """Plays the sample's task to its end and keeps its record."""
    table = SharedPolicy(setup.policy) if setup.policy is not None else None
    waiting = CapacityLimiter(MOST_WAITING)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        session = open_session(setup.task(state), setup.dialect, setup.chat)
        if table is not None:
            await to_thread.run_sync(table.play, session, abandon_on_cancel=True, limiter=waiting)
        else:
            await converse(session, setup.native_tools)
        finished = await to_thread.run_sync(close_session, session, setup.rules, limiter=waiting)
        model = setup.policy.name if setup.policy is not None else str(state.model)
        _keep(state, json.loads(json.dumps(finished.record())), session.transcript, model)
        return state

    return solve


async def converse(session: Session, native_tools: bool) -> None:
    """Inspect's model takes the turns; what its provider raises is Inspect's to handle."""
    schemas, model = session.tools.schemas, get_model()
    how: Notation = (
        "verbatim"
        if not session.dialect.tools_in_prompt
        else "native"
        if native_tools
        else "hermes"
    )
    offered = tool_infos(schemas) if how == "native" else []
    session.count_with(EstimatedTokens(() if how == "verbatim" else schemas))
    while not session.done:
        if session.turn_budget < 1:
            session.overflow()
            continue
        output = await model.generate(
            chat_messages(session.transcript, how, schemas, session.context_from), tools=offered
        )
        completion = completion_of(output)
        count(session.transcript, requests=1, **counted(completion))
        if completion.finish_reason == "model_length":
            session.overflow()
        else:  # in a thread, because a live tool may take seconds
            text = turn_text(completion, session.dialect.turns)
            turn = Turn(text, cut=completion.finish_reason == "length")
            await to_thread.run_sync(session.take, turn)


@dataclass(frozen=True)
class Recorded:
    """A transcripts.jsonl and where in it each episode is, by id."""

    path: Path
    places: Mapping[str, LinePlace]

    def record(self, id: str) -> dict[str, Any]:
        return record_at(self.path, self.places[id])


@solver
def recorded(run: Recorded) -> Solver:
    """Takes the sample's episode from a run folder. Nothing is played and nothing judged again."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        record = run.record(str(state.sample_id))
        _keep(state, record, Transcript.from_json(record["transcript"]), "recorded")
        return state

    return solve


def _keep(state: TaskState, record: dict[str, Any], transcript: Transcript, model: str) -> None:
    """Raises EpisodeFault for an episode without a verdict, which is kept all the same."""
    state.store.set(EPISODE, record)
    state.messages = chat_messages(transcript, "native", [])
    state.output = last_words(transcript, model)
    state.completed = True
    if record["verdict"] is None:
        raise EpisodeFault(transcript.fault or "unscored for an unknown reason")
