"""What machines said about a transcript, as yes or no under a name, so that people's labels can be held against it.

A verdict that is not there is no verdict: it is left out and never counted as a failure. Transcripts carry the verdicts of their run;
`tripwright verify --out` writes others, of rules or of a judge, which are named after their file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tripwright.domains.deeptravel.verifiers.findings import PASSING_CONCLUSIONS, RUBRICS
from tripwright.errors import UserError
from tripwright.evals.study.folder import Study
from tripwright.files import json_lines

ALL = "all"  # all dimensions TRUE
# Rubric of row D3 → the dimension of row D10 that asks nearly the same.
RUBRIC_DIMENSIONS = {
    "complete": "completeness",
    "main_requirement": "intention",
    "logic": "feasibility",
    "specific_requirements": "personalisation",
}
OF_FILE = ": "  # between the name of a file of verdicts and a verdict in it
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
    return COUNTERPARTS.get(verdict.rpartition(OF_FILE)[2], ALL)


def verdict_names(found: Iterable[Mapping[str, bool]]) -> Iterator[str]:
    """In the order of first appearance."""
    yield from dict.fromkeys(name for verdicts in found for name in verdicts)


def written_verdicts(study: Study, given: Sequence[str]) -> dict[str, dict[str, bool]]:
    """Item → verdicts of `tripwright verify --out`. Each of `given` is FILE, or RUN=FILE where the study has several runs.

    Raises UserError for a run that the study does not have, for what is no such file, and where none of its verdicts is of an item.
    """
    runs = list(dict.fromkeys(entry.run for entry in study.key.values()))
    found: dict[str, dict[str, bool]] = {item: {} for item in study.key}
    for each in given:
        run, path = _run_and_path(each, runs)
        of_id = {entry.id: entry.item for entry in study.key.values() if entry.run == run}
        said = _read(path)
        if not said.keys() & of_id.keys():
            ids = ", ".join(repr(id) for id in list(said)[:3])
            raise UserError(
                f"No verdict in '{path}' is of an item from run '{run}': the file has {ids or 'none'}, "
                f"the items are {', '.join(map(repr, list(of_id)[:3]))}."
            )
        for id, verdicts in said.items():
            if id in of_id:
                found[of_id[id]] |= {f"{path.stem}{OF_FILE}{name}": passes for name, passes in verdicts.items()}
    return found


def _run_and_path(given: str, runs: Sequence[str]) -> tuple[str, Path]:
    """RUN=FILE, where RUN may itself hold a "=" and FILE may too: a run of the study decides."""
    for run in sorted(runs, key=len, reverse=True):
        if given.startswith(f"{run}="):
            return run, Path(given[len(run) + 1 :])
    if len(runs) == 1:
        return runs[0], Path(given)
    raise UserError(f"Of which run are the verdicts '{given}'? Give RUN=FILE, with RUN one of {', '.join(runs)}.")


def _read(path: Path) -> dict[str, dict[str, bool]]:
    """Id → verdicts, of a file that `tripwright verify --out` wrote."""
    if not path.is_file():
        raise UserError(f"No verdicts at '{path}': expected a file that 'tripwright verify --out' wrote.")
    found: dict[str, dict[str, bool]] = {}
    for number, record in json_lines(path):
        if not isinstance(record, dict) or "id" not in record or "reward" not in record:
            raise UserError(f'{path}:{number}: expected a verdict of \'tripwright verify --out\', an object with "id" and "reward".')
        found[str(record["id"])] = _verdicts_of_line(record)
    return found


def _verdicts_of_line(record: Mapping[str, Any]) -> dict[str, bool]:
    """Its fields are those of a transcript's own verdict; what passes may have been a setting (`verify --passing`)."""
    found = verdicts_of({"verifier": record})
    if "trajectory" in found and isinstance(record.get("passes"), bool):
        found["trajectory"] = record["passes"]
    return found
