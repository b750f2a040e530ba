"""A run folder as the report sees it. Every file may be missing or cut short (a run may be killed
at any moment, or still be going): what is absent or unreadable is said in words (`missing`) and
never filled in."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tripwright.errors import NotJson, UserError, read_json
from tripwright.evals.report.markup import plural
from tripwright.files import json_object, whole_lines
from tripwright.runs import (
    BEST,
    CARD,
    COMPARISON,
    DIFFICULTY,
    METRICS,
    RECIPE,
    SCORE,
    TRANSCRIPTS,
    VALIDATION_STEP,
    WARNINGS,
    Run,
    logged_steps,
)

Json = dict[str, Any]

TOP_LEVEL_RUN = "run"  # the name we give the score of a plain `tripwright run` folder
_FIRST = (
    "after_sft",
    "after_rl",
    "after_sft_with_faults",
    "after_rl_with_faults",
    "emptied_tools",
)


@dataclass(frozen=True)
class ReportedRun:
    path: Path
    card: Json
    difficulty: Json
    metrics: list[Json]  # one per logged step, in order
    scores: dict[str, Json]  # evaluation name → score.json; those while it trained are apart
    comparison: Json
    transcripts: dict[str, Path]  # evaluation name → transcripts.jsonl
    warnings: list[Json] = field(default_factory=list)  # of training, oldest first
    recipe: Json = field(default_factory=dict)
    # evaluations between the steps of training, in their order, and which of them is the best
    validation: dict[str, Json] = field(default_factory=dict)
    best: Json = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def stage(self, *names: str) -> list[Json]:
        return [row for row in self.metrics if row.get("stage") in names]

    @property
    def rl(self) -> list[Json]:
        """The steps of reinforcement learning, of whatever algorithm: of the last stage that logs a
        reward."""
        stages = [row.get("stage") for row in self.metrics if "reward_mean" in row]
        return self.stage(str(stages[-1])) if stages else []

    @property
    def main_evaluation(self) -> str | None:
        """The evaluation the page is about: after RL where there is one."""
        for name in ("after_rl", "after_sft", TOP_LEVEL_RUN, *self.scores):
            if name in self.scores:
                return name
        return None


def reinforcement(recipe: Json) -> tuple[str, Json]:
    """(algorithm, its settings) of a resolved recipe: the one table that has a curriculum of
    rewards; ("", {}) where there is none."""
    return next(
        (
            (name, table)
            for name, table in recipe.items()
            if isinstance(table, dict) and "curriculum" in table
        ),
        ("", {}),
    )


def read_run(path: Path) -> ReportedRun:
    if not path.is_dir():
        raise UserError(
            f"No run folder at '{path}'. Expected a folder made by 'tripwright quickstart', 'train'"
            " or 'run'."
        )
    missing: list[str] = []
    scores, transcripts = _evaluations(path, missing)
    validation = {name: scores.pop(name) for name in list(scores) if is_validation(name)}
    run = ReportedRun(
        path=path,
        card=_read_object(path / CARD, missing),
        difficulty=_read_object(path / DIFFICULTY, missing),
        metrics=_read_metrics(path / METRICS, missing),
        scores=scores,
        comparison=_read_object(path / COMPARISON, missing),
        transcripts=transcripts,
        warnings=read_warnings(path),
        recipe=json_object(path / RECIPE) or {},
        validation=validation,
        best=(json_object(path / BEST) if (path / BEST).is_file() else None) or {},
        missing=missing,
    )
    if not (run.metrics or run.scores or run.transcripts or run.card):
        raise UserError(
            f"Nothing to report in '{path}': found none of {SCORE}, eval/*/{SCORE}, {METRICS},"
            f" {TRANSCRIPTS}, {CARD}."
        )
    return run


def is_validation(name: str) -> bool:
    """Whether an evaluation was made while the run trained."""
    return name.startswith(VALIDATION_STEP)


def _in_steps(folder: Path) -> tuple[str, int, str]:
    """Step 20 before step 100."""
    before, _, number = folder.name.rpartition("-")
    return (before, int(number), "") if number.isdigit() else (folder.name, 0, folder.name)


def _evaluations(path: Path, missing: list[str]) -> tuple[dict[str, Json], dict[str, Path]]:
    held = {file.parent for name in (SCORE, TRANSCRIPTS) for file in path.glob(f"eval/*/{name}")}
    folders = {folder.name: folder for folder in sorted(held, key=_in_steps)}
    evaluations = {
        name: folders[name]
        for name in (*(n for n in _FIRST if n in folders), *(n for n in folders if n not in _FIRST))
    }
    if not evaluations:
        evaluations = {TOP_LEVEL_RUN: path}
    scores: dict[str, Json] = {}
    transcripts: dict[str, Path] = {}
    for name, folder in evaluations.items():
        score = _read_object(folder / SCORE, missing)
        if score:
            scores[name] = score
        run = Run.at(folder)
        if run.transcripts.is_file():
            run.check_version()
            transcripts[name] = run.transcripts
    if not transcripts:
        missing.append(f"no {TRANSCRIPTS}, so no episodes are shown")
    return scores, transcripts


_ABSENT = {
    CARD: "no run_card.json, so neither the recipe nor the machine is known",
    DIFFICULTY: "no difficulty.json, so the scripted baselines are not shown",
    COMPARISON: "no comparison.json, so there is no paired test between two evaluations",
    SCORE: "no score.json, so there are no final metrics",
}


def _read_object(path: Path, missing: list[str]) -> Json:
    if not path.is_file():
        missing.append(
            _ABSENT[path.name]
            if path.parent.parent.name != "eval"
            else f"no score.json in eval/{path.parent.name}"
        )
        return {}
    if (record := json_object(path)) is None:
        missing.append(f"{path.name} is not a JSON object")
    return record or {}


def _read_metrics(path: Path, missing: list[str]) -> list[Json]:
    if not path.is_file():
        missing.append(f"no {METRICS}, so there are no learning curves")
    rows, unreadable = logged_steps(path)
    if unreadable:
        missing.append(f"{plural(unreadable, 'unreadable line')} of {METRICS} left out")
    return rows


def read_warnings(path: Path) -> list[Json]:
    """The lines of warnings.jsonl that can be read, each once: a run that was resumed may have told
    one again."""
    warnings: dict[tuple[str, ...], Json] = {}
    for line in whole_lines(path / WARNINGS) if (path / WARNINGS).is_file() else ():
        try:
            warning = read_json(line.text)
        except NotJson:
            continue
        if isinstance(warning, dict):
            warnings[tuple(str(warning.get(key)) for key in ("stage", "name", "since_step"))] = (
                warning
            )
    return list(warnings.values())
