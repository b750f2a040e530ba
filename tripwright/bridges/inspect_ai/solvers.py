"""Who plays an Inspect sample: one of our policies, Inspect's own model, or nobody, because a run
folder holds the episode already.

The subtle things. Samples come one by one, each in a task of its own, while a local model wants
many at once: whoever waits for a turn at the policy plays all that wait with him. A fault on our
side raises, so that Inspect counts the sample as an error (not as a failure of the agent, law 4)
and `--retry-on-error` tries it again. The whole record of the episode, token ids and
log-probabilities included, goes into the sample's store under `EPISODE`; a scorer reads nothing
else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any

from anyio import CapacityLimiter, to_thread
from inspect_ai.model import get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver

from tripwright.agent.chat import ChatFormat, EstimatedTokens
from tripwright.agent.dialect import Dialect
from tripwright.agent.session import Session, Turn
from tripwright.bridges.inspect_ai.messages import (
    chat_messages,
    completion_of,
    last_words,
    tool_infos,
)
from tripwright.episode import Task, close_session, open_session
from tripwright.llm.paid_calls import counted
from tripwright.policies.base import Policy
from tripwright.policies.endpoint import EndpointPolicy, Notation, count, turn_text
from tripwright.runs import LinePlace, record_at
from tripwright.transcript import Transcript

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
