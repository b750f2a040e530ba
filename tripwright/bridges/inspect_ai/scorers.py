"""Our verdicts as Inspect scores: `final` passes or not, with every fact in words; `facts` says it
constraint by constraint.

The figures of `facts` are `score_records`' own, from the records that the solver kept: the same
episodes have the same figures here and in a run folder's score.json. They count every epoch as a
sample of its query, so that intervals take whole queries, as there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    accuracy,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState

from tripwright.bridges.inspect_ai.solvers import EPISODE
from tripwright.evals.scoreboard import Outcome, score_records
from tripwright.verdict import State, Verdict

_NO_EPISODE = (
    "no episode to judge: it did not end, because of a limit of Inspect's or because another solver"
    " played"
)


@metric(scores="unreduced")
def rates() -> Metric:
    """T4's rates, pass^k and means as score.json has them, each with the ends of its interval; the
    final pass rate by level."""

    def measure(scores: list[SampleScore]) -> dict[str, float]:
        score = _score(scores)
        estimates = {
            **score["metrics"],
            **{
                f"final_{level}": metrics["final"]
                for level, metrics in score.get("levels", {}).items()
            },
        }
        return _numbers(estimates)

    return measure


@metric(scores="unreduced")
def constraints() -> Metric:
    """The share that passes each constraint among the episodes it applies to; these sum up to the
    micro rates."""

    def measure(scores: list[SampleScore]) -> dict[str, float]:
        return {
            name: estimate["value"]
            for name, estimate in _score(scores)["constraints"].items()
            if estimate["value"] is not None
        }

    return measure


@scorer(metrics=[accuracy(), stderr()])
def final() -> Scorer:
    """Correct where every fact passes; the explanation names those that do not."""

    async def judge(state: TaskState, target: Target) -> Score:
        record = state.store.get(EPISODE)
        if record is None or record["verdict"] is None:
            return Score.unscored(reason="scoring_failed", explanation=_NO_EPISODE)
        transcript, verdict, plan = (
            record["transcript"],
            Verdict.from_record(record["verdict"]),
            record.get("plan"),
        )
        return Score(
            value=CORRECT if verdict.final else INCORRECT,
            answer=(
                json.dumps(plan, ensure_ascii=False) if plan is not None else transcript["answer"]
            ),
            explanation=explained(record),
            metadata={"stop_reason": transcript["stop_reason"], **verdict.details},
        )

    return judge


@scorer(metrics=[rates(), constraints()])
def facts() -> Scorer:
    """1 or 0 for every constraint that the episode is held to; what was not evaluated did not
    pass."""

    async def judge(state: TaskState, target: Target) -> Score:
        record = state.store.get(EPISODE)
        if record is None or record["verdict"] is None:
            return Score.unscored(reason="scoring_failed", explanation=_NO_EPISODE)
        outcome = Outcome.of(record)
        value: dict[str, str | int | float | bool | None] = {
            "delivered": int(outcome.delivered),
            "schema": int(outcome.schema_valid),
        }
        value |= {name: int(name in outcome.passed) for name in outcome.asked}
        return Score(
            value=value, explanation=explained(record), metadata={EPISODE: without_words(record)}
        )

    return judge


def explained(record: Mapping[str, Any]) -> str:
    """One line per fact that did not pass: its group, its name, its state and why."""
    verdict = Verdict.from_record(record["verdict"])
    lines = [f"Stopped by: {record['transcript']['stop_reason']}."]
    if verdict.schema_problem:
        lines.append(f"The answer cannot be read: {verdict.schema_problem}")
    if verdict.error:
        lines.append(f"The rules raised {verdict.error} on this answer.")
    for group in verdict.groups[1:]:
        if group.facts is None:
            lines.append(f"{group.name}: not looked at.")
            continue
        for fact in group.facts.values():
            if fact.state in (State.FAILED, State.NOT_EVALUATED):
                lines.append(
                    f"{group.name} {fact.name}: {fact.state.replace('_', ' ')}"
                    + (f". {fact.message}" if fact.message else ".")
                )
    return "\n".join([*lines, "Every fact passed."] if verdict.final else lines)


def without_words(record: Mapping[str, Any]) -> dict[str, Any]:
    """What `score_records` reads of a record. Words and tokens are in the sample already; of a
    turn's mask its sum is kept, the number of sampled tokens."""
    transcript = record["transcript"]
    segments = [
        {"role": segment["role"], "loss_mask": [sum(segment.get("loss_mask") or ())]}
        for segment in transcript["segments"]
    ]
    outcome = {name: transcript.get(name) for name in ("stop_reason", "fault", "usage")}
    return {**record, "transcript": {**outcome, "segments": segments}}


def _score(scores: list[SampleScore]) -> dict[str, Any]:
    records = [score.score.metadata[EPISODE] for score in scores if score.score.metadata]
    return score_records(records, "", {})


def _numbers(estimates: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Each value with its ends; what was not measured is left out."""
    numbers: dict[str, float] = {}
    for name, estimate in estimates.items():
        if estimate["value"] is not None:
            numbers |= {
                name: estimate["value"],
                f"{name}_low": estimate["low"],
                f"{name}_high": estimate["high"],
            }
    return numbers
