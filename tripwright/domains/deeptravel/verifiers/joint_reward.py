"""Both levels of verification as one reward. The whole answer comes first; where it fails, the
turns are not looked at, which saves their cost (DeepTravel, section 3.3; row D5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.findings import (
    PASSING_CONCLUSIONS,
    Conclusion,
    NoVerdict,
    TrajectoryFinding,
    TurnFinding,
    Verifier,
    VerifierProblem,
)
from tripwright.transcript import Transcript


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
    all_turns: bool = False,
    early_stop: bool = True,
) -> JointFinding:
    """The reward of one finished episode, by either form of verifier.

    It also stops at the first turn that fails, since that decides; with `all_turns` every turn is
    judged, which a report may want. Without `early_stop` the turns are judged where the trajectory
    failed, too; the reward is 0 all the same. An answer that rests on no call at all has nothing it
    could be grounded in: 0. Raises nothing; a verifier's Unscored is told in `unscored`.
    """
    calls = len(transcript.calls)
    if transcript.fault is not None:
        return JointFinding(
            None,
            turns_saved=calls,
            unscored=transcript.fault,
            reason="The episode itself has no verdict.",
        )
    if not (transcript.answer or "").strip():
        return JointFinding(0.0, turns_saved=calls, reason="There is no answer.")
    trajectory: TrajectoryFinding | None = None
    turns: list[TurnFinding] = []
    try:
        trajectory = verifier.trajectory(request, transcript)
        passes = trajectory.passes(passing)
        if not passes and early_stop:
            return JointFinding(0.0, trajectory, turns_saved=calls, reason=trajectory.reason)
        for call in range(1, calls + 1):
            turns.append(verifier.turn(request, transcript, call))
            if not turns[-1].passes and not all_turns:
                break
    except NoVerdict as fault:
        return JointFinding(
            None,
            trajectory,
            tuple(turns),
            calls - len(turns),
            str(fault) or "The verifier failed.",
            "Unscored.",
        )
    if not passes:
        return JointFinding(
            0.0, trajectory, tuple(turns), calls - len(turns), reason=trajectory.reason
        )
    failure = next((turn for turn in turns if not turn.passes), None)
    if failure is not None:
        return JointFinding(
            0.0, trajectory, tuple(turns), calls - len(turns), reason=failure.reason
        )
    if not turns:
        return JointFinding(0.0, trajectory, reason="The answer rests on no tool answer.")
    return JointFinding(1.0, trajectory, tuple(turns), reason=trajectory.reason)
