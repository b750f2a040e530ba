"""The product in one small file: a request, tools and limits in; a transcript and a verdict out.

Training, evaluation, serving and every bridge open their episodes here and have them judged here. What an episode is *worth* is not
said here: a trainer weighs the verdict it gets back (law 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect, PlanFormat
from tripwright.agent.policies.base import Policy
from tripwright.agent.session import Session
from tripwright.constraints.evaluate import Rules, applicable_hard_count, judge
from tripwright.constraints.facts import Verdict
from tripwright.constraints.lookup import city_lookup
from tripwright.tools.faults import Faults, FaultyTools
from tripwright.tools.toolbox import ToolBox, Tools
from tripwright.transcript import StopReason, Transcript
from tripwright.trip.itinerary import parse_itinerary
from tripwright.trip.parse import parse_answer
from tripwright.trip.plan import to_official
from tripwright.trip.query import Query
from tripwright.world.store import World


@dataclass(frozen=True)
class Task:
    """One trip to plan. `id` is unique in a run and survives interruptions."""

    id: str
    query: Query
    world: World


@dataclass(frozen=True)
class Episode:
    """A finished episode. `verdict` is None when our side failed (unscored, law 4); `schema_problem` says why an answer is no plan."""

    task: Task
    transcript: Transcript
    plan: list[dict[str, Any]] | None  # official format
    schema_problem: str | None
    verdict: Verdict | None

    @property
    def scored(self) -> bool:
        return self.verdict is not None

    @property
    def schema_valid(self) -> bool:
        return self.plan is not None

    @property
    def asked_hard(self) -> int:
        return applicable_hard_count(self.task.query)

    def record(self) -> dict[str, Any]:
        """One line of `transcripts.jsonl`."""
        return {
            "id": self.task.id,
            "query": self.task.query.record(),
            "world": self.task.world.name,
            "transcript": self.transcript.to_json(),
            "plan": self.plan,
            "schema_problem": self.schema_problem,
            "verdict": {key: value for key, value in self.verdict.to_contract(0).items() if key != "line"} if self.verdict else None,
        }


def play(
    policy: Policy,
    tasks: Iterable[Task],
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
    task: Task,
    dialect: Dialect,
    chat: ChatFormat | None = None,
    emptied_tools: bool = False,
    faults: Faults | None = None,
    tools: Tools | None = None,
) -> Session:
    """`faults` makes the tools fail on purpose (row S9), in ways that depend on its seed and the task's id alone. `tools` are those of a
    server that has the task's world, in the dialect's face and pages; without them the world at hand answers."""
    tools = tools or ToolBox(task.world, dialect.face, page_rows=dialect.page_rows, emptied=emptied_tools)
    if faults is not None:
        tools = FaultyTools(tools, faults, key=task.id)
    return Session(task.query, tools, dialect, chat, key=task, id=task.id)


def close_session(session: Session, rules: Rules = "official") -> Episode:
    """Parses and judges what a finished session answered."""
    task, transcript = session.key, session.transcript
    if transcript.stop_reason is StopReason.UNSCORED:
        return Episode(task, transcript, None, None, None)
    plan: list[dict[str, Any]] | None = None
    problem: str | None = f"no answer: {transcript.stop_reason}"
    if transcript.answer is not None:
        plan, problem = _read_answer(transcript.answer, task, session.dialect.plan_format)
    return Episode(task, transcript, plan, problem, judge(task.query, plan, task.world, rules))


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
