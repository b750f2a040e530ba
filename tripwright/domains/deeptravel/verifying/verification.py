"""Runs the verifiers over the transcripts of a run, by rules or by an LLM judge, and sums up their
verdicts (DeepTravel, section 3.3; rows D3 to D5).

An episode that could not be judged is unscored: it leaves the rates, is counted beside them, and
past 1% of all a rate comes with its worst case (law 4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.findings import (
    PASSING_CONCLUSIONS,
    Conclusion,
    NoVerdict,
    TrajectoryFinding,
    TurnFinding,
    Verifier,
)
from tripwright.domains.deeptravel.verifiers.joint_reward import joint
from tripwright.errors import UserError, described
from tripwright.llm.endpoint import MOST_FAULTS, map_unordered
from tripwright.runs import TRANSCRIPTS, EpisodeLine, episode_lines
from tripwright.statistics.rates import rate
from tripwright.transcript import StopReason, Transcript

TOO_MANY_UNSCORED = 0.01
NO_ANSWER = "no_answer"  # stands among the conclusions: nobody was asked
EXPECTED = 'expected an object with "request" (a traveller\'s request) and "transcript"'


@dataclass(frozen=True)
class VerifierInput:
    """One line of a file of transcripts. `id` is the line's own, else the request's, else "line
    N"."""

    line: int
    id: str
    request: TravelRequest
    transcript: Transcript


@dataclass(frozen=True)
class VerifierVerdict:
    """`reward` is None where it is `unscored`. `trajectory` is None there, and where there was no
    answer to judge. `turns_saved` were not judged, because what came before had decided."""

    line: int
    id: str
    reward: float | None
    trajectory: TrajectoryFinding | None = None
    passes: bool | None = None  # the trajectory alone
    turns: tuple[TurnFinding, ...] = ()
    turns_saved: int = 0
    unscored: str | None = None
    reason: str = ""

    def record(self) -> dict[str, Any]:
        if self.unscored is not None:
            return {"line": self.line, "id": self.id, "reward": None, "unscored": self.unscored}
        return {name: value for name, value in asdict(self).items() if name != "unscored"}


def read_episodes(path: Path) -> list[VerifierInput]:
    """Raises UserError with the place of the first bad line. Token ids are left behind: no verifier
    reads them."""
    if not path.is_file():
        raise UserError(
            f"No transcripts at '{path}'. Expected the {TRANSCRIPTS} of a run: {EXPECTED} per line."
        )
    inputs = list(map(_asked, episode_lines(path)))
    if not inputs:
        raise UserError(f"No transcripts in '{path}': {EXPECTED} per line.")
    return inputs


def _asked(line: EpisodeLine) -> VerifierInput:
    record, number = line.record(), line.place.number
    if not isinstance(record.get("transcript"), dict) or not isinstance(
        record.get("request"), dict
    ):
        raise UserError(f"{line.where}: {EXPECTED}, found {described(record)}.")
    try:
        request = TravelRequest.model_validate(record["request"])
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(
            f"{line.where}: request: {'.'.join(map(str, first['loc']))}: {first['msg']}."
        ) from None
    try:
        transcript = Transcript.from_json(record["transcript"])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{line.where}: 'transcript' is not one of a run ({type(error).__name__}: {error})."
        ) from None
    transcript.segments = [
        replace(segment, token_ids=[], loss_mask=[], logprobs=[]) for segment in transcript.segments
    ]
    return VerifierInput(
        number, str(record.get("id") or request.id or f"line {number}"), request, transcript
    )


def verify_all(
    verifier: Verifier,
    inputs: Iterable[VerifierInput],
    concurrency: int = 1,
    every_turn: bool = False,
    passing: Sequence[Conclusion] = PASSING_CONCLUSIONS,
) -> Iterator[VerifierVerdict]:
    """In the order they finish. After MOST_FAULTS unscored in a row the rest is unscored without
    asking.

    With `every_turn` nothing stops early, not even where the trajectory fails: the reward stays 0,
    and a calibration sees the turns of bad trajectories too.
    """
    waiting, faults = iter(inputs), 0

    def while_it_lives() -> Iterator[VerifierInput]:
        while faults < MOST_FAULTS and (each := next(waiting, None)) is not None:
            yield each

    def work(each: VerifierInput) -> tuple[VerifierInput, VerifierVerdict]:
        return each, verify_one(verifier, each, every_turn, passing)

    for each, verdict in map_unordered(work, while_it_lives(), concurrency):
        # those say nothing about the verifier
        if each.transcript.stop_reason is not StopReason.UNSCORED:
            faults = faults + 1 if verdict.unscored else 0
        yield verdict
    for each in waiting:
        yield VerifierVerdict(
            each.line, each.id, None, unscored=f"not asked: {MOST_FAULTS} in a row were unscored"
        )


def verify_one(
    verifier: Verifier,
    entry: VerifierInput,
    every_turn: bool = False,
    passing: Sequence[Conclusion] = PASSING_CONCLUSIONS,
) -> VerifierVerdict:
    """The joint reward of row D5, with what it rests on."""
    line, id, transcript = entry.line, entry.id, entry.transcript
    if transcript.stop_reason is StopReason.UNSCORED:
        return VerifierVerdict(
            line,
            id,
            None,
            unscored=f"the episode is unscored: {transcript.fault or 'no reason given'}",
        )
    finding = joint(verifier, entry.request, transcript, passing=passing, all_turns=every_turn)
    if finding.unscored is not None:
        return VerifierVerdict(line, id, None, unscored=finding.unscored)
    passes = finding.trajectory is not None and finding.trajectory.passes(passing)
    turns, calls = finding.turns, range(1, len(transcript.calls) + 1)
    if every_turn and finding.trajectory is not None and not passes:
        try:
            turns = tuple(verifier.turn(entry.request, transcript, call) for call in calls)
        except NoVerdict as fault:
            return VerifierVerdict(line, id, None, unscored=str(fault))
    return VerifierVerdict(
        line,
        id,
        finding.reward,
        finding.trajectory,
        passes,
        turns,
        len(calls) - len(turns),
        reason=finding.reason,
    )


def summary(verdicts: Sequence[VerifierVerdict]) -> dict[str, Any]:
    """Conclusions counted, the joint reward's mean with Wilson's interval, and what the early stop
    saved."""
    scored = [verdict for verdict in verdicts if verdict.unscored is None]
    rewarded = sum(verdict.reward == 1 for verdict in scored)
    unscored = len(verdicts) - len(scored)
    turns = [turn for verdict in scored for turn in verdict.turns]
    figures: dict[str, Any] = {
        "n": len(verdicts),
        "unscored": unscored,
        "reward": rate(rewarded, len(scored)),
        "trajectory": dict(
            Counter(
                verdict.trajectory.conclusion if verdict.trajectory else NO_ANSWER
                for verdict in scored
            ).most_common()
        ),
        "turn": dict(Counter(turn.conclusion for turn in turns).most_common()),
        "turns": len(turns) + sum(verdict.turns_saved for verdict in scored),
        "turns_saved": sum(verdict.turns_saved for verdict in scored),
    }
    if unscored > TOO_MANY_UNSCORED * len(verdicts):
        figures["worst_case"] = rate(
            rewarded, len(verdicts)
        )  # every unscored one counted as failed
    return figures
