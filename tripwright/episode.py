"""An episode: a request, tools and limits go in; a transcript and a verdict come out.

Training, evaluation, serving and every bridge open their episodes here and have them judged here.
What a request is, which tools there are and how an answer is read and judged, a domain says with
its `Task`. What an episode is *worth* is not said here: a trainer weighs the verdict it gets back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, Protocol

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.agent.session import Request, Session
from tripwright.llm.endpoint import map_unordered
from tripwright.policies.base import Policy
from tripwright.tools.faults import Faults, FaultyTools
from tripwright.tools.toolbox import ToolBox, Tools
from tripwright.transcript import StopReason, Transcript
from tripwright.verdict import Verdict

Asked = Mapping[str, tuple[str, ...]]  # group of a verdict → the facts that an episode is held to


class Task(Protocol):
    """What an episode is about, whatever its domain: what is asked, where, with which tools, and
    how an answer is judged."""

    @property
    def id(self) -> str:
        """Unique in a run; survives interruptions."""
        ...

    @property
    def domain(self) -> str:
        """Its name in the registry of domains."""
        ...

    @property
    def query(self) -> Request: ...
    @property
    def where(self) -> str:
        """The name of the world, or of the services, that answer."""
        ...

    @property
    def judged_at_once(self) -> int:
        """How many episodes may be judged at once: more than 1 where a model is asked."""
        ...

    def renamed(self, id: str) -> Task: ...
    def tools(self, dialect: Dialect, emptied: bool) -> Tools: ...
    def judged(self, transcript: Transcript, plan_format: str, rules: str) -> Episode:
        """Reads and judges what a finished episode answered."""
        ...

    def unscored(self, transcript: Transcript) -> Episode:
        """The episode where our side failed."""
        ...

    def asked(self, transcript: Transcript) -> Asked:
        """The facts by which an unscored episode would have been judged; the worst case of a score
        counts them as failed."""
        ...


@dataclass(frozen=True)
class Episode:
    """A finished episode. `verdict` is None where our side failed (unscored). `more` is what its
    domain adds to the record, as JSON."""

    task: Task
    transcript: Transcript
    verdict: Verdict | None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scored(self) -> bool:
        return self.verdict is not None

    @property
    def passed(self) -> bool:
        return self.verdict is not None and self.verdict.final

    @property
    def asked(self) -> Asked:
        if self.verdict is None:
            return self.task.asked(self.transcript)
        return {group.name: group.asked for group in self.verdict.groups}

    def record(self) -> dict[str, Any]:
        """One line of `transcripts.jsonl`."""
        return {
            "id": self.task.id,
            "domain": self.task.domain,
            "request": self.task.query.record(),
            "world": self.task.where,
            "transcript": self.transcript.to_json(),
            "verdict": self.verdict.record() if self.verdict is not None else None,
            **(
                {}
                if self.scored
                else {"asked": {group: list(names) for group, names in self.asked.items()}}
            ),
            **self.more,
        }


class TaskDefaults:
    """What most tasks say alike, for frozen dataclasses with an `id` and a `query`."""

    judged_at_once = 1

    def renamed(self, id: str) -> Any:
        return replace(self, id=id)  # type: ignore[type-var]

    def unscored(self, transcript: Transcript) -> Episode:
        return Episode(self, transcript, None)  # type: ignore[arg-type]


class WorldTask(TaskDefaults):
    """The same for tasks whose tools answer from a generated or imported `world`."""

    world: Any

    @property
    def where(self) -> str:
        return str(self.world.name)

    def tools(self, dialect: Dialect, emptied: bool) -> Tools:
        return ToolBox(self.world, dialect.face, page_rows=dialect.page_rows, emptied=emptied)


def play(
    policy: Policy,
    tasks: Iterable[Task],
    dialect: Dialect,
    chat: ChatFormat | None = None,
    rules: str = "strict",
    emptied_tools: bool = False,
    faults: Faults | None = None,
    tools: Tools | None = None,
) -> Iterator[Episode]:
    """Episodes in the order they finish. `chat` is the policy's tokenizer format, None for policies
    of text."""
    sessions = (open_session(task, dialect, chat, emptied_tools, faults, tools) for task in tasks)
    yield from closed(policy.play(sessions), rules)


def open_session(
    task: Task,
    dialect: Dialect,
    chat: ChatFormat | None = None,
    emptied_tools: bool = False,
    faults: Faults | None = None,
    tools: Tools | None = None,
    faults_key: str | None = None,
) -> Session:
    """`faults` makes the tools fail on purpose (Agent-STAR; row S9), in ways that depend on its
    seed and `faults_key` (the task's id by default) alone. `tools` are those of a server that has
    the task's world, in the dialect's face and pages; without them the world at hand answers."""
    tools = tools or task.tools(dialect, emptied_tools)
    if faults is not None:
        tools = FaultyTools(tools, faults, key=faults_key or task.id)
    return Session(task.query, tools, dialect, chat, key=task, id=task.id)


def closed(sessions: Iterable[Session], rules: str = "strict") -> Iterator[Episode]:
    """Finished sessions, judged: one after the other, or several at once where their tasks ask a
    model (`judged_at_once`). In the order in which they are done."""
    waiting = iter(sessions)
    first = next(waiting, None)
    if first is None:
        return
    at_once, sessions = first.key.judged_at_once, chain([first], waiting)
    if at_once == 1:
        yield from (close_session(session, rules) for session in sessions)
    else:
        yield from map_unordered(partial(close_session, rules=rules), sessions, at_once)


def close_session(session: Session, rules: str = "strict") -> Episode:
    """Parses and judges what a finished session answered."""
    task: Task = session.key
    if session.transcript.stop_reason is StopReason.UNSCORED:
        return task.unscored(session.transcript)
    episode = task.judged(session.transcript, session.dialect.plan_format, rules)
    # whatever should have judged it failed, and the transcript says so
    if not episode.scored:
        episode.transcript.stop_reason = StopReason.UNSCORED
        episode.transcript.fault = episode.transcript.fault or "the task gave no verdict"
    return episode
