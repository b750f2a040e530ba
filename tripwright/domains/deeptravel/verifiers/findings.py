"""What a verifier finds, whether it is made of rules or an LLM judge, and both levels of
verification as one reward (DeepTravel, section 3.3; rows D3 to D5).

Facts, then weights (law 2): a verifier returns findings with evidence; the joint reward of row D5
only reads them. A judge that could not be asked gives no finding: `unscored`, our side's fault (law
4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.transcript import StopReason, Transcript

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


@dataclass(frozen=True)
class JointFinding:
    """`reward` is 1.0, 0.0, or None where the verifier itself failed: unscored, never 0 (law 4).
    `turns` holds those that were judged."""

    reward: float | None
    trajectory: TrajectoryFinding | None = None
    turns: tuple[TurnFinding, ...] = ()
    turns_saved: int = 0  # turns that were not judged, because what came before had decided
    unscored: str | None = None
    reason: str = ""

    @property
    def problems(self) -> tuple[VerifierProblem, ...]:
        first = self.trajectory.problems if self.trajectory is not None else ()
        return (*first, *(problem for turn in self.turns for problem in turn.problems))


def joint(
    verifier: Verifier,
    request: TravelRequest,
    transcript: Transcript,
    *,
    passing: Sequence[Conclusion] = PASSING_CONCLUSIONS,
    every_turn: bool = False,
) -> JointFinding:
    """The reward of one finished episode, by either form of verifier.

    It stops at a trajectory that fails, and at the first turn that fails, since that decides; with
    `every_turn` it judges every turn all the same. An answer that rests on no call at all has
    nothing it could be grounded in: 0. Raises nothing; a verifier's NoVerdict is told in
    `unscored`.
    """
    calls = len(transcript.calls)
    if transcript.stop_reason is StopReason.UNSCORED or transcript.fault is not None:
        fault, why = transcript.fault or "no reason given", "The episode itself has no verdict."
        return JointFinding(None, turns_saved=calls, unscored=fault, reason=why)
    if not (transcript.answer or "").strip():
        return JointFinding(0.0, turns_saved=calls, reason="There is no answer.")
    trajectory: TrajectoryFinding | None = None
    turns: list[TurnFinding] = []
    try:
        trajectory = verifier.trajectory(request, transcript)
        passes = trajectory.passes(passing)
        for call in range(1, calls + 1) if passes or every_turn else ():
            turns.append(verifier.turn(request, transcript, call))
            if not turns[-1].passes and not every_turn:
                break
    except NoVerdict as fault:
        why, saved = str(fault) or "The verifier failed.", calls - len(turns)
        return JointFinding(None, trajectory, tuple(turns), saved, why, "Unscored.")
    failed = next((turn for turn in turns if not turn.passes), None) if passes else trajectory
    reason = (failed or trajectory).reason
    if passes and not turns:
        reason = "The answer rests on no tool answer."
    reward = 1.0 if turns and failed is None else 0.0
    return JointFinding(reward, trajectory, tuple(turns), calls - len(turns), reason=reason)
