"""One task of a benchmark that is not about trips (row P15), as a job of `evals.run`: so resuming, endpoints, local models, transcripts and
the run card are those of every other evaluation.

What grades a finished episode is a function of the benchmark's own. A grade has named facts, of which all must hold: they stand where
other kinds of jobs have the facts that are looked at first (`commonsense`), and nothing stands behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from tripwright.agent.conversation import Conversation
from tripwright.agent.dialect import Dialect, PlanFormat
from tripwright.domains.travelplanner.rules.evaluate import Rules
from tripwright.domains.travelplanner.rules.facts import Fact, State, Verdict
from tripwright.domains.travelplanner.tools.faces.json_text import write_arrays
from tripwright.episode import Asked, Episode
from tripwright.evals.scoreboard import verified_by
from tripwright.tools.face import Face
from tripwright.tools.toolbox import ToolAnswer, Tools
from tripwright.transcript import StopReason, Transcript


@dataclass(frozen=True)
class Grade:
    """`facts` by name, in their order. `details` are kept with the episode, for scores and for people. `error` names the exception that the
    benchmark's own code raises here. `fault`: our side could not grade it, and the episode is unscored (law 4)."""

    facts: Mapping[str, bool]
    details: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    fault: str | None = None


class Grader(Protocol):
    @property
    def name(self) -> str:
        """Of the rules, as scores and run cards say it."""
        ...

    @property
    def fact_names(self) -> tuple[str, ...]: ...
    def grade(self, transcript: Transcript) -> Grade:
        """Never raises at what a model said."""
        ...


class NoTools:
    """For benchmarks whose tasks are words alone."""

    face = Face("none", write=write_arrays, tables={}, named={})
    schemas: list[dict[str, Any]] = []  # of this class, and of nobody who could change it

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        return ToolAnswer(self.face.error("There are no tools."), error=True)


def no_tools(dialect: Dialect, emptied: bool) -> Tools:
    return NoTools()


@dataclass(frozen=True)
class OutsideTask:
    """`question` is equal for samples of the same task; `level` says how hard it is, in the benchmark's own terms."""

    id: str
    query: Conversation
    where: str  # the benchmark, for instance "natural_plan/trip"
    grader: Grader
    question: str
    level: str | None = None
    tools_of: Callable[[Dialect, bool], Tools] = no_tools

    def renamed(self, id: str) -> OutsideTask:
        return replace(self, id=id)

    def tools(self, dialect: Dialect, emptied: bool) -> Tools:
        return self.tools_of(dialect, emptied)

    def record(self) -> dict[str, Any]:
        return {"request": {**self.query.record(), "question": self.question, "level": self.level}}

    def judged(self, transcript: Transcript, plan_format: PlanFormat, rules: Rules) -> Episode:
        """`rules` are of plans and say nothing here; nor does `plan_format`."""
        grade = self.grader.grade(transcript)
        more = {**self._said_asked(), "outside": {"benchmark": self.where, "grader": self.grader.name, **grade.details}}
        if grade.fault is not None:
            transcript.fault, transcript.stop_reason = grade.fault, StopReason.UNSCORED
            return Episode(self, transcript, None, None, None, more)
        problem = None if transcript.answer is not None else f"no answer: {transcript.stop_reason}"
        facts = {name: Fact(name, State.PASSED if holds else State.FAILED) for name, holds in grade.facts.items()}
        passed = bool(grade.facts) and all(grade.facts.values())
        verdict = Verdict(verified_by(self.grader.name), transcript.answer is not None, facts, {}, None, grade.error, passed)
        return Episode(self, transcript, None, problem, verdict, more)

    def unscored(self, transcript: Transcript) -> Episode:
        more = {**self._said_asked(), "outside": {"benchmark": self.where, "grader": self.grader.name}}
        return Episode(self, transcript, None, None, None, more)

    def asked(self, transcript: Transcript) -> Asked:
        return Asked(self.grader.fact_names, ())

    def passes(self, episode: Episode, rules: Rules) -> bool:
        return episode.verdict is not None and episode.verdict.final

    def _said_asked(self) -> dict[str, Any]:
        return {"asked": {"commonsense": list(self.grader.fact_names), "hard": []}}
