"""The types of what a verifier finds, whether it is made of rules or an LLM judge (DeepTravel,
section 3.3; rows D3 to D5).

Facts, then weights (law 2): a verifier returns findings with evidence; the joint reward of row D5
only reads them. A judge that could not be asked gives no finding: `unscored`, our side's fault (law
4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.transcript import Transcript

# A.2.2, in its order: the six rubrics, and the six conclusions with what each says.
RUBRICS = (
    "complete",
    "main_requirement",
    "logic",
    "other_constraints",
    "specific_requirements",
    "backup_plan",
)
Conclusion = Literal[
    "very_satisfied",
    "very_satisfied_without_backup",
    "basically_satisfied",
    "dissatisfied_logic",
    "dissatisfied_main_requirement",
    "dissatisfied_incomplete",
]
# not printed in the paper
PASSING_CONCLUSIONS: tuple[Conclusion, ...] = ("very_satisfied", "very_satisfied_without_backup")
# A.2.3.
TurnConclusion = Literal["satisfied", "inconsistent_with_response", "tool_call_logic_error"]


@dataclass(frozen=True)
class VerifierProblem:
    """One thing that is wrong: `kind` for counting, `said` the words of the answer it is about,
    `message` for people, with the evidence. `field` is the place in an answer that has fields:
    "outbound.0.price.amount"."""

    kind: str
    message: str
    said: str = ""
    call: int | None = None  # number of the tool call it rests on, from 1
    row: int | None = None  # row of that call's answer, from 1
    field: str = ""


@dataclass(frozen=True)
class TrajectoryFinding:
    """Row D3. `rubrics` holds, for each of RUBRICS, True, False, or None where the request does not
    ask for it."""

    conclusion: Conclusion
    rubrics: dict[str, bool | None] = field(default_factory=dict)
    problems: tuple[VerifierProblem, ...] = ()
    reason: str = ""

    def passes(self, passing: Sequence[Conclusion] = PASSING_CONCLUSIONS) -> bool:
        return self.conclusion in passing


@dataclass(frozen=True)
class TurnFinding:
    """Row D4, of one tool call (`call`, from 1)."""

    call: int
    conclusion: TurnConclusion
    problems: tuple[VerifierProblem, ...] = ()
    reason: str = ""

    @property
    def passes(self) -> bool:
        return self.conclusion == "satisfied"


class NoVerdict(Exception):
    """The verifier itself failed: no verdict, and no reward (law 4)."""


class Verifier(Protocol):
    """Both forms. `transcript` is a finished episode with an answer; calls are `transcript.calls`,
    in order."""

    @property
    def name(self) -> str: ...

    def trajectory(self, request: TravelRequest, transcript: Transcript) -> TrajectoryFinding:
        """Raises NoVerdict."""
        ...

    def turn(self, request: TravelRequest, transcript: Transcript, call: int) -> TurnFinding:
        """Of call number `call`, from 1. Raises NoVerdict."""
        ...
