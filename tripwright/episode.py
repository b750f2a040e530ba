"""The product in one small file: a request, tools and limits in; a transcript and a verdict out.

Training, evaluation, serving and every bridge open their episodes here and have them judged here. What an episode is *worth* is not
said here: a trainer weighs the verdict it gets back (law 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect, PlanFormat
from tripwright.agent.session import Request, Session
from tripwright.domains.travelplanner.plan.itinerary import parse_itinerary
from tripwright.domains.travelplanner.plan.parse import parse_answer
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import Rules, applicable_hard, judge
from tripwright.domains.travelplanner.rules.facts import COMMONSENSE_NAMES, Verdict
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.policies.base import Policy
from tripwright.tools.faults import Faults, FaultyTools
from tripwright.tools.toolbox import ToolBox, Tools
from tripwright.transcript import StopReason, Transcript
from tripwright.world.store import World


class Job(Protocol):
    """What an episode is about, whatever its kind: what is asked, where, with which tools, and how an answer is judged."""

    @property
    def id(self) -> str:
        """Unique in a run; survives interruptions."""
        ...

    @property
    def query(self) -> Request: ...
    @property
    def where(self) -> str:
        """The name of the world, or of the services, that answer."""
        ...

    def renamed(self, id: str) -> Job: ...
    def tools(self, dialect: Dialect, emptied: bool) -> Tools: ...
    def record(self) -> dict[str, Any]:
        """The request, under the key that says its kind."""
        ...

    def judged(self, transcript: Transcript, plan_format: PlanFormat, rules: Rules) -> Episode:
        """Reads and judges what a finished, scored episode answered."""
        ...

    def unscored(self, transcript: Transcript) -> Episode:
        """The episode where our side failed (law 4)."""
        ...

    def asked(self, transcript: Transcript) -> Asked: ...
    def passes(self, episode: Episode, rules: Rules) -> bool:
        """By these rules, whatever the episode was judged by."""
        ...


@dataclass(frozen=True)
class Asked:
    """The names of the facts that an episode is held to; `hard` ones are looked at where all of the first passed (law 2)."""

    commonsense: tuple[str, ...]
    hard: tuple[str, ...]


@dataclass(frozen=True)
class Episode:
    """A finished episode. `verdict` is None when our side failed (unscored, law 4); `schema_problem` says why an answer cannot be read."""

    task: Job
    transcript: Transcript
    plan: list[dict[str, Any]] | None  # official format
    schema_problem: str | None
    verdict: Verdict | None
    more: Mapping[str, Any] = field(default_factory=dict)  # of its kind, for the record

    @property
    def scored(self) -> bool:
        return self.verdict is not None

    @property
    def schema_valid(self) -> bool:
        return self.schema_problem is None and self.verdict is not None

    @property
    def asked(self) -> Asked:
        return self.task.asked(self.transcript)

    @property
    def asked_hard(self) -> int:
        return len(self.asked.hard)

    def record(self) -> dict[str, Any]:
        """One line of `transcripts.jsonl`."""
        return {
            "id": self.task.id,
            **self.task.record(),
            "world": self.task.where,
            "transcript": self.transcript.to_json(),
            "plan": self.plan,
            "schema_problem": self.schema_problem,
            "verdict": {key: value for key, value in self.verdict.to_contract(0).items() if key != "line"} if self.verdict else None,
            **self.more,
        }


@dataclass(frozen=True)
class Task:
    """One trip of TravelPlanner's to plan in a closed world: tools of row P1, a plan judged by constraints."""

    id: str
    query: Query
    world: World

    @property
    def where(self) -> str:
        return self.world.name

    def renamed(self, id: str) -> Task:
        return Task(id, self.query, self.world)

    def tools(self, dialect: Dialect, emptied: bool) -> Tools:
        return ToolBox(self.world, dialect.face, page_rows=dialect.page_rows, emptied=emptied)

    def record(self) -> dict[str, Any]:
        return {"query": self.query.record()}

    def judged(self, transcript: Transcript, plan_format: PlanFormat, rules: Rules) -> Episode:
        plan: list[dict[str, Any]] | None = None
        problem: str | None = f"no answer: {transcript.stop_reason}"
        if transcript.answer is not None:
            plan, problem = _read_answer(transcript.answer, self, plan_format)
        return Episode(self, transcript, plan, problem, judge(self.query, plan, self.world, rules))

    def unscored(self, transcript: Transcript) -> Episode:
        return Episode(self, transcript, None, None, None)

    def asked(self, transcript: Transcript) -> Asked:
        return Asked(COMMONSENSE_NAMES, tuple(applicable_hard(self.query)))

    def passes(self, episode: Episode, rules: Rules) -> bool:
        if episode.verdict is not None and episode.verdict.rules == rules:
            return episode.verdict.final
        return judge(self.query, episode.plan, self.world, rules).final


def play(
    policy: Policy,
    tasks: Iterable[Job],
    dialect: Dialect,
    chat: ChatFormat | None = None,
    rules: Rules = "official",
    emptied_tools: bool = False,
    faults: Faults | None = None,
    tools: Tools | None = None,
) -> Iterator[Episode]:
    """Episodes in the order they finish. `chat` is the policy's tokenizer format, None for policies of text."""
    sessions = (open_session(task, dialect, chat, emptied_tools, faults, tools) for task in tasks)
    for session in policy.play(sessions):
        yield close_session(session, rules)


def open_session(
    task: Job,
    dialect: Dialect,
    chat: ChatFormat | None = None,
    emptied_tools: bool = False,
    faults: Faults | None = None,
    tools: Tools | None = None,
) -> Session:
    """`faults` makes the tools fail on purpose (row S9), in ways that depend on its seed and the task's id alone. `tools` are those of a
    server that has the task's world, in the dialect's face and pages; without them the world at hand answers."""
    tools = tools or task.tools(dialect, emptied_tools)
    if faults is not None:
        tools = FaultyTools(tools, faults, key=task.id)
    return Session(task.query, tools, dialect, chat, key=task, id=task.id)


def close_session(session: Session, rules: Rules = "official") -> Episode:
    """Parses and judges what a finished session answered."""
    task: Job = session.key
    if session.transcript.stop_reason is StopReason.UNSCORED:
        return task.unscored(session.transcript)
    return task.judged(session.transcript, session.dialect.plan_format, rules)


def _read_answer(answer: str, task: Task, plan_format: PlanFormat) -> tuple[list[dict[str, Any]] | None, str | None]:
    """(plan in the official format, why there is none)"""
    city_of = city_lookup(task.world)
    parsed = parse_answer(answer)
    if parsed.days is not None:
        return to_official(parsed.days, city_of), None
    if plan_format == "json" or answer.startswith(("[", "{", "```json")):
        return None, parsed.problem
    read = parse_itinerary(answer, task.query, city_of)
    return read.plan, read.problem
