"""Labels that people gave transcripts, one JSON object a line, and how well a judge agrees with
them.

{"id": "…", "trajectory": true} says that the answer passes (row D3). Optional: "turns", a list of
true and false in the order of the calls or an object {"2": false} for some of them (row D4);
"rubrics", {"logic": true, "backup_plan": null}, null where it is not asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from tripwright.domains.deeptravel.verifiers.findings import (
    PASSING_CONCLUSIONS,
    Conclusion,
    NoVerdict,
    Verifier,
)
from tripwright.domains.deeptravel.verifying.verification import VerifierInput, VerifierVerdict
from tripwright.errors import NotJson, UserError, described, read_json
from tripwright.statistics.agreement import Agreement, agreement

EXPECTED = (
    'an object with "id" and "trajectory" (true or false), and where you like "turns" and "rubrics"'
)


@dataclass(frozen=True)
class TranscriptLabel:
    trajectory: bool
    turns: Mapping[int, bool] = field(default_factory=dict)  # by number of the call, from 1
    rubrics: Mapping[str, bool | None] = field(default_factory=dict)


class Calibration(TypedDict):
    """`compared` transcripts have a verdict and a label; the others have only one of the two."""

    compared: int
    unscored: int
    without_label: int
    trajectory: Agreement
    turns: Agreement
    rubrics: dict[str, Agreement]


def read_labels(path: Path) -> dict[str, TranscriptLabel]:
    """By id. Raises UserError with the place of the first bad line."""
    if not path.is_file():
        raise UserError(f"No labels at '{path}'. Expected a JSONL file: {EXPECTED} per line.")
    labels: dict[str, TranscriptLabel] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            record = read_json(line)
        except NotJson as problem:
            raise UserError(f"{where}: not JSON ({problem}).") from None
        if (
            not isinstance(record, dict)
            or "id" not in record
            or not isinstance(record.get("trajectory"), bool)
        ):
            raise UserError(f"{where}: expected {EXPECTED}, found {described(record)}.")
        if str(record["id"]) in labels:
            raise UserError(
                f"{where}: a second label of '{record['id']}'. Expected one line for each id."
            )
        labels[str(record["id"])] = TranscriptLabel(
            record["trajectory"],
            _turns(record.get("turns"), where),
            _rubrics(record.get("rubrics"), where),
        )
    if not labels:
        raise UserError(f"No labels in '{path}'. Expected {EXPECTED} per line.")
    return labels


def _turns(value: Any, where: str) -> dict[int, bool]:
    turns = (
        list(enumerate(value, start=1))
        if isinstance(value, list)
        else list(value.items())
        if isinstance(value, dict)
        else []
    )
    right = all(
        str(call).isdecimal() and int(call) >= 1 and isinstance(passes, bool)
        for call, passes in turns
    )
    if not right or not isinstance(value, list | dict | None):
        raise UserError(
            f"{where}: 'turns' must be a list of true and false, or an object from call numbers to"
            " them."
        )
    return {int(call): passes for call, passes in turns}


def _rubrics(value: Any, where: str) -> dict[str, bool | None]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(
        verdict is None or isinstance(verdict, bool) for verdict in value.values()
    ):
        raise UserError(
            f"{where}: 'rubrics' must be an object with true, false or null for each rubric."
        )
    return dict(value)


def labelled_by(
    verifier: Verifier,
    inputs: Iterable[VerifierInput],
    passing: Sequence[Conclusion] = PASSING_CONCLUSIONS,
) -> dict[str, TranscriptLabel]:
    """Another verifier's verdicts as labels, every turn judged; what it leaves unscored has
    none."""
    labels: dict[str, TranscriptLabel] = {}
    for each in inputs:
        try:
            finding = verifier.trajectory(each.request, each.transcript)
            calls = range(1, len(each.transcript.calls) + 1)
            turns = {
                call: verifier.turn(each.request, each.transcript, call).passes for call in calls
            }
        except NoVerdict:
            continue
        labels[each.id] = TranscriptLabel(finding.passes(passing), turns, finding.rubrics)
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
    if labels is not None and not any(each in labels for each in ids):
        raise UserError(
            f"No label is of these transcripts: labels are of {_some(labels)}, transcripts are"
            f" {_some(ids)}."
        )


def calibrate(
    verdicts: Iterable[VerifierVerdict], labels: Mapping[str, TranscriptLabel], seed: int = 0
) -> Calibration:
    """Trajectories, turns that both sides judged, and rubrics that both sides state."""
    judgements = list(verdicts)
    both = [
        (verdict, labels[verdict.id])
        for verdict in judgements
        if verdict.passes is not None and verdict.id in labels
    ]
    trajectories = [[(verdict.passes, label.trajectory)] for verdict, label in both]
    turns = [
        [
            (turn.passes, label.turns[turn.call])
            for turn in verdict.turns
            if turn.call in label.turns
        ]
        for verdict, label in both
    ]
    pairs = [
        (verdict.trajectory.rubrics, label.rubrics) for verdict, label in both if verdict.trajectory
    ]
    rubrics = dict.fromkeys(key for ours, theirs in pairs for key in ours if key in theirs)
    return {
        "compared": len(both),
        "unscored": sum(verdict.passes is None for verdict in judgements),
        "without_label": sum(verdict.id not in labels for verdict in judgements),
        "trajectory": agreement(trajectories, seed=seed),
        "turns": agreement(turns, seed=seed),
        "rubrics": {
            key: agreement(
                [
                    [(ours[key], theirs[key])]
                    for ours, theirs in pairs
                    if key in ours and key in theirs
                ],
                (True, False, None),
                seed,
            )
            for key in rubrics
        },
    }


def _some(ids: Iterable[str]) -> str:
    names = sorted(ids)
    return ", ".join(f"'{each}'" for each in names[:3]) + (", …" if len(names) > 3 else "")
