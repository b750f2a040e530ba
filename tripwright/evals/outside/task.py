"""One task of a benchmark that is not about trips (row P15), as a job of `evals.run`: so resuming,
endpoints, local models, transcripts and the run card are those of every other evaluation.

What grades a finished episode is a function of the benchmark's own. A grade has named facts, of
which all must hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tripwright.agent.conversation import Conversation
from tripwright.agent.dialect import Dialect
from tripwright.episode import Asked, Episode, TaskDefaults
from tripwright.tools.answer import ToolAnswer
from tripwright.tools.face import Face, Pieces, Refusal
from tripwright.tools.toolbox import Tools
from tripwright.transcript import StopReason, Transcript
from tripwright.verdict import FORMAT, SCHEMA, Fact, Group, State, Verdict, format_group

OUTSIDE = "outside"  # stands where other episodes name their domain
CHECKS = "checks"  # the one group of facts


@dataclass(frozen=True)
class Grade:
    """`facts` by name, in their order. `details` are kept with the episode, for scores and for
    people. `error` names the exception that the benchmark's own code raises here. `fault`: our side
    could not grade it, and the episode is unscored (law 4)."""

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


def _refusal(face: Face, result: Any) -> Pieces:
    return Pieces(result.problem if isinstance(result, Refusal) else "")


class NoTools:
    """For benchmarks whose tasks are words alone."""

    face = Face("none", write=_refusal, tables={})
    schemas: list[dict[str, Any]] = []  # of this class, and of nobody who could change it

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        return self.face.error("There are no tools.", "unknown_tool")


def no_tools(dialect: Dialect, emptied: bool) -> Tools:
    return NoTools()


@dataclass(frozen=True)
class OutsideTask(TaskDefaults):
    """`question` is equal for samples of the same task; `level` says how hard it is, in the
    benchmark's own terms."""

    id: str
    query: Conversation
    where: str  # the benchmark, for instance "natural_plan/trip"
    grader: Grader
    question: str
    level: str | None = None
    tools_of: Callable[[Dialect, bool], Tools] = no_tools

    domain = OUTSIDE

    def tools(self, dialect: Dialect, emptied: bool) -> Tools:
        return self.tools_of(dialect, emptied)

    def judged(self, transcript: Transcript, plan_format: str, rules: str) -> Episode:
        """`rules` are of plans and say nothing here; nor does `plan_format`."""
        grade = self.grader.grade(transcript)
        more = self._more(grade.details)
        if grade.fault is not None:
            transcript.fault, transcript.stop_reason = grade.fault, StopReason.UNSCORED
            return Episode(self, transcript, None, more)
        answered = transcript.answer is not None
        facts = {
            name: Fact(name, State.PASSED if holds else State.FAILED)
            for name, holds in grade.facts.items()
        }
        groups = (
            format_group(None if answered else f"no answer: {transcript.stop_reason}"),
            Group(CHECKS, self.grader.fact_names, facts, gate=(FORMAT,)),
        )
        passed = bool(grade.facts) and all(grade.facts.values())
        return Episode(
            self,
            transcript,
            Verdict(f"verified by {self.grader.name}", groups, passed, answered, grade.error),
            more,
        )

    def unscored(self, transcript: Transcript) -> Episode:
        return Episode(self, transcript, None, self._more({}))

    def asked(self, transcript: Transcript) -> Asked:
        return {FORMAT: (SCHEMA,), CHECKS: self.grader.fact_names}

    def _more(self, details: Mapping[str, Any]) -> dict[str, Any]:
        """For the record, with what tells the question and how hard it is beside the words of the
        request."""
        request = {**self.query.record(), "question": self.question, "level": self.level}
        return {
            "request": request,
            "outside": {"benchmark": self.where, "grader": self.grader.name, **details},
        }
