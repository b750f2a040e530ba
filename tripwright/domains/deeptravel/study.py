"""The verifiers' verdicts as yes or no under a name, to be compared with people's labels
(DeepTravel, Appendix A.5; row D10)."""

from __future__ import annotations

from collections.abc import Mapping

from tripwright.domains.deeptravel.verifiers.findings import PASSING_CONCLUSIONS, RUBRICS
from tripwright.domains.domain import Json

COUNTERPARTS = {  # what a verifier asked → the dimension of row D10 that asks nearly the same
    "rubric complete": "completeness",
    "rubric main_requirement": "intention",
    "rubric logic": "feasibility",
    "rubric specific_requirements": "personalisation",
    "turns": "no_hallucination",
}


def opinions(record: Json) -> dict[str, bool]:
    """`joint` (row D5), `trajectory` (row D3) with its rubrics, and `turns` (row D4), which is
    missing where the early stop left turns unjudged and no judged one failed. A line of `tripwright
    verify --out` says itself what passes, which may have been a setting."""
    answers: dict[str, bool] = {}
    verifier = record.get("verifier")
    if not isinstance(verifier, Mapping):
        return answers
    if verifier.get("reward") is not None:
        answers["joint"] = verifier["reward"] == 1
    trajectory, turns = verifier.get("trajectory"), verifier.get("turns")
    if isinstance(trajectory, Mapping):
        passes = verifier.get("passes")
        answers["trajectory"] = (
            passes
            if isinstance(passes, bool)
            else trajectory.get("conclusion") in PASSING_CONCLUSIONS
        )
        rubrics = trajectory.get("rubrics")
        table = rubrics if isinstance(rubrics, Mapping) else {}
        answers |= {
            f"rubric {name}": table[name] for name in RUBRICS if isinstance(table.get(name), bool)
        }
    if isinstance(turns, list) and turns:
        satisfied = all(
            isinstance(turn, Mapping) and turn.get("conclusion") == "satisfied" for turn in turns
        )
        if not satisfied or not verifier.get("turns_saved"):
            answers["turns"] = satisfied
    return answers
