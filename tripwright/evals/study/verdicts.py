"""What machines said about a transcript, as yes or no under a name, so that people's labels can be held against it.

A verdict that is not there is no verdict: it is left out and never counted as a failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tripwright.verifiers.findings import PASSING_CONCLUSIONS, RUBRICS

ALL = "all"  # all dimensions TRUE
# Rubric of row D3 → the dimension of row D10 that asks nearly the same.
RUBRIC_DIMENSIONS = {
    "complete": "completeness",
    "main_requirement": "intention",
    "logic": "feasibility",
    "specific_requirements": "personalisation",
}
COUNTERPARTS = {**{f"rubric {rubric}": key for rubric, key in RUBRIC_DIMENSIONS.items()}, "turns": "no_hallucination"}


def verdicts_of(record: Mapping[str, Any]) -> dict[str, bool]:
    """Of a line of transcripts: `judge`, whether a plan passes its rules; or, of a traveller's request, `joint` (row D5), `trajectory`
    (row D3) with its rubrics, and `turns` (row D4), which is missing where the early stop left turns unjudged and no judged one failed."""
    found: dict[str, bool] = {}
    verifier, verdict = record.get("verifier"), record.get("verdict")
    if not isinstance(verifier, Mapping):
        final = verdict.get("final") if isinstance(verdict, Mapping) else None
        return {"judge": final} if isinstance(final, bool) else {}
    if verifier.get("reward") is not None:
        found["joint"] = verifier["reward"] == 1
    trajectory, turns = verifier.get("trajectory"), verifier.get("turns")
    if isinstance(trajectory, Mapping):
        found["trajectory"] = trajectory.get("conclusion") in PASSING_CONCLUSIONS
        rubrics = trajectory.get("rubrics")
        said = rubrics if isinstance(rubrics, Mapping) else {}
        found |= {f"rubric {name}": said[name] for name in RUBRICS if isinstance(said.get(name), bool)}
    if isinstance(turns, list) and turns:
        satisfied = all(isinstance(turn, Mapping) and turn.get("conclusion") == "satisfied" for turn in turns)
        if not satisfied or not verifier.get("turns_saved"):
            found["turns"] = satisfied
    return found


def counterpart(verdict: str) -> str:
    """The dimension it is held against; ALL of them where there is none alike."""
    return COUNTERPARTS.get(verdict, ALL)


def verdict_names(found: Iterable[Mapping[str, bool]]) -> Iterator[str]:
    """In the order of first appearance."""
    yield from dict.fromkeys(name for verdicts in found for name in verdicts)
