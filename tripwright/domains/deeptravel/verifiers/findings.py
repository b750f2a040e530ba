"""What a verifier finds, whether it is made of rules or an LLM judge; both levels of verification
as one reward; the same for all transcripts of a run, summed up and held against labels (DeepTravel,
section 3.3; rows D3 to D5).

Facts, then weights (law 2): a verifier returns findings with evidence; the joint reward of row D5
only reads them. A judge that could not be asked gives no finding: `unscored`, our side's fault (law
4). Such an episode leaves the rates, is counted beside them, and past 1% of all a rate comes with
its worst case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, BeforeValidator, Field, StrictBool, ValidationError

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.errors import UserError, first_problem
from tripwright.files import json_lines, some_of
from tripwright.llm.endpoint import Breaker, Fault, map_unordered
from tripwright.runs import EpisodeLine, Record, episode_lines
from tripwright.statistics.agreement import agreement
from tripwright.statistics.rates import rate
from tripwright.transcript import StopReason, Transcript
from tripwright.verdict import MOST_UNSCORED

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
    nothing it could be grounded in: 0. Where the verifier fails, `unscored` says why: a run of
    thousands of episodes must not end at the words of one. Raises UserError for what can never
    work, such as a wrong key, or has cost enough.
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
    except UserError:
        raise
    except Exception as fault:
        why, saved = str(fault) or "The verifier failed.", calls - len(turns)
        if not isinstance(fault, NoVerdict):
            why = f"verifier {verifier.name} failed: {type(fault).__name__}: {fault}"
        return JointFinding(None, trajectory, tuple(turns), saved, why, "Unscored.")
    failed = next((turn for turn in turns if not turn.passes), None) if passes else trajectory
    reason = (failed or trajectory).reason
    if passes and not turns:
        reason = "The answer rests on no tool answer."
    reward = 1.0 if turns and failed is None else 0.0
    return JointFinding(reward, trajectory, tuple(turns), calls - len(turns), reason=reason)


# ---- the transcripts of a run

NO_ANSWER = "no_answer"  # stands among the conclusions: nobody was asked
EXPECTED_LABEL = (
    'an object with "id" and "trajectory" (true or false), and where you like "turns" and "rubrics"'
)


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
    episode: VerifierInput
    finding: JointFinding
    passing: Sequence[Conclusion] = PASSING_CONCLUSIONS

    @property
    def passes(self) -> bool | None:
        """Whether the trajectory passes; None where the verdict is unscored."""
        if self.finding.unscored is not None:
            return None
        trajectory = self.finding.trajectory
        return trajectory is not None and trajectory.passes(self.passing)

    @property
    def conclusion(self) -> str:
        return self.finding.trajectory.conclusion if self.finding.trajectory else NO_ANSWER

    @property
    def label(self) -> TranscriptLabel:
        """As a reference for the verdicts of another verifier."""
        rubrics = self.finding.trajectory.rubrics if self.finding.trajectory else {}
        turns = {turn.call: turn.passes for turn in self.finding.turns}
        return TranscriptLabel(
            id=self.episode.id, trajectory=bool(self.passes), turns=turns, rubrics=rubrics
        )

    def record(self) -> dict[str, Any]:
        place, finding = {"line": self.episode.line, "id": self.episode.id}, asdict(self.finding)
        if self.finding.unscored is not None:
            return {**place, "reward": None, "unscored": self.finding.unscored}
        del finding["unscored"]
        return {**place, **finding, "passes": self.passes}


def read_episodes(path: Path) -> list[VerifierInput]:
    """Raises UserError with the place of the first bad line."""
    expected = "Expected one episode of a run per line."
    return list(some_of(path, map(_input, episode_lines(path)), "transcript", expected))


def _input(line: EpisodeLine) -> VerifierInput:
    def made(record: Record) -> VerifierInput:
        try:
            request = TravelRequest.model_validate(record["request"])
        except ValidationError as error:
            raise line.problem(f"its request is no errand ({first_problem(error)})") from None
        number = line.place.number
        name = str(record.get("id") or request.id or f"line {number}")
        return VerifierInput(number, name, request, Transcript.from_json(record["transcript"]))

    return line.read(made)


def verify_all(
    verifier: Verifier,
    inputs: Iterable[VerifierInput],
    concurrency: int = 1,
    every_turn: bool = False,
    passing: Sequence[Conclusion] = PASSING_CONCLUSIONS,
) -> Iterator[VerifierVerdict]:
    """In the order they finish. After many unscored in a row (`Breaker`) the rest is unscored
    without asking.

    With `every_turn` nothing stops early, not even where the trajectory fails: the reward stays 0,
    and a calibration sees the turns of bad trajectories too.
    """
    breaker = Breaker()

    def work(each: VerifierInput) -> VerifierVerdict:
        if breaker.is_open:
            return VerifierVerdict(each, JointFinding(None, unscored=breaker.why), passing)
        finding = joint(
            verifier, each.request, each.transcript, passing=passing, every_turn=every_turn
        )
        # an episode that has no verdict itself says nothing about the verifier
        if each.transcript.stop_reason is not StopReason.UNSCORED:
            breaker.note(Fault("bad_response", finding.unscored) if finding.unscored else finding)
        return VerifierVerdict(each, finding, passing)

    return map_unordered(work, inputs, concurrency)


def summary(verdicts: Sequence[VerifierVerdict]) -> dict[str, Any]:
    """Conclusions counted, the joint reward's mean with Wilson's interval, and what the early stop
    saved."""
    scored = [verdict for verdict in verdicts if verdict.finding.unscored is None]
    rewarded = sum(verdict.finding.reward == 1 for verdict in scored)
    unscored = len(verdicts) - len(scored)
    turns = [turn for verdict in scored for turn in verdict.finding.turns]
    saved = sum(verdict.finding.turns_saved for verdict in scored)
    figures: dict[str, Any] = {
        "n": len(verdicts),
        "unscored": unscored,
        "reward": rate(rewarded, len(scored)),
        "trajectory": dict(Counter(verdict.conclusion for verdict in scored).most_common()),
        "turn": dict(Counter(turn.conclusion for turn in turns).most_common()),
        "turns": len(turns) + saved,
        "turns_saved": saved,
    }
    if unscored > MOST_UNSCORED * len(verdicts):  # every unscored one counted as failed
        figures["worst_case"] = rate(rewarded, len(verdicts))
    return figures


# ---- labels that people, or the rules, gave


def _numbered(turns: Any) -> Any:
    """A list in the order of the calls, as an object by their numbers."""
    return dict(enumerate(turns, start=1)) if isinstance(turns, list) else turns or {}


class TranscriptLabel(BaseModel):
    """Of the transcript `id`. `trajectory`: the answer passes (row D3). `turns` by number of the
    call, from 1 (row D4), as a list or as an object for some of them; `rubrics` with null where one
    is not asked for."""

    id: Annotated[str, BeforeValidator(str)]
    trajectory: StrictBool
    turns: Annotated[dict[Annotated[int, Field(ge=1)], StrictBool], BeforeValidator(_numbered)] = {}
    rubrics: Annotated[
        dict[str, StrictBool | None], BeforeValidator(lambda value: value or {})
    ] = {}


def read_labels(path: Path) -> dict[str, TranscriptLabel]:
    """By id, one JSON object a line. Raises UserError with the place of the first bad line."""
    labels: dict[str, TranscriptLabel] = {}
    expected = f"Expected a JSONL file: {EXPECTED_LABEL} per line."
    for number, record in some_of(path, json_lines(path), "label", expected):
        try:
            label = TranscriptLabel.model_validate(record)
        except ValidationError as error:
            what = f"{first_problem(error)}; expected {EXPECTED_LABEL}"
            raise UserError(f"{path}:{number}: {what}.") from None
        if labels.setdefault(label.id, label) is not label:
            raise UserError(
                f"{path}:{number}: a second label of '{label.id}'. Expected one line for each id."
            )
    return labels


def check_labels(
    inputs: Iterable[VerifierInput], labels: Mapping[str, TranscriptLabel] | None
) -> None:
    """Before anything is paid for. Raises UserError where no label is of these transcripts, or an
    id stands on two of them."""
    ids = Counter(each.id for each in inputs)
    if doubled := next((each for each, count in ids.items() if count > 1), None):
        raise UserError(
            f"The id '{doubled}' stands on more than one transcript: to be compared, each needs an"
            " id of its own."
        )
    if labels is not None and not labels.keys() & ids.keys():
        raise UserError(
            f"No label is of these transcripts: one is of '{min(labels)}', a transcript is"
            f" '{min(ids)}'."
        )


def calibrate(
    verdicts: Sequence[VerifierVerdict], labels: Mapping[str, TranscriptLabel]
) -> dict[str, Any]:
    """Agreement on trajectories, on turns that both sides judged, and on rubrics that both sides
    state; how many were `compared`, and how many lack a verdict or a label."""
    judged = [each.label for each in verdicts if each.passes is not None]
    both = [(ours, labels[ours.id]) for ours in judged if ours.id in labels]
    turns = [
        [(passes, label.turns[call]) for call, passes in ours.turns.items() if call in label.turns]
        for ours, label in both
    ]
    rubrics: dict[str, list[list[tuple[bool | None, bool | None]]]] = {}
    for ours, label in both:
        for key, met in ours.rubrics.items():
            if key in label.rubrics:
                rubrics.setdefault(key, []).append([(met, label.rubrics[key])])
    return {
        "compared": len(both),
        "unscored": sum(verdict.passes is None for verdict in verdicts),
        "without_label": sum(verdict.episode.id not in labels for verdict in verdicts),
        "trajectory": agreement([[(o.trajectory, label.trajectory)] for o, label in both]),
        "turns": agreement(turns),
        "rubrics": {key: agreement(pairs, (True, False, None)) for key, pairs in rubrics.items()},
    }
