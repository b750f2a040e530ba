"""`tripwright examine`: what a trained run passes in worlds that it has never seen, with intervals and controls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.exam import (
    AFTER,
    BEFORE,
    BLIND,
    CONDITIONS,
    change,
    compare,
    conditions,
    evaluate,
    keep,
    measure_difficulty,
    rates,
    trips_of_exam,
)
from tripwright.errors import UserError
from tripwright.evals.report import write_report
from tripwright.files import json_object, write_atomically
from tripwright.training.changes import changes
from tripwright.training.recipe import load_recipe
from tripwright.training.run_folder import RunFolder

EXAM_OF = {"sft": BEFORE, "rl": AFTER}


def examine(
    recipe: Annotated[Path, typer.Argument(help="TOML recipe that the run was trained by.")],
    out: Annotated[Path | None, typer.Option(help="Its run folder; default runs/RECIPE.", show_default=False)] = None,
    against: Annotated[Path | None, typer.Option(help="Another examined run, to compare with trip by trip.", show_default=False)] = None,
) -> None:
    """Examine a trained run on trips in worlds that no stage trains in: greedy, 95% intervals.

    Every stage that is finished (cold start, RL) is examined, the last one once more with every tool answer emptied: what passes then was
    memorised. Policies that take the first or the cheapest row of every answer, and the expert, say how hard the trips are. How many trips,
    and by which rules, is in the recipe: [evaluation] queries, rules. Writes OUT/eval, OUT/difficulty.json and OUT/report.html.
    What was examined is not examined again; a stopped examination goes on.

    Examples:
      tripwright examine recipes/nano/cold_start.toml --out runs/nano/cold_start
      tripwright examine recipes/nano/evidence.toml --out runs/nano/evidence --against runs/nano/cold_start
    """
    read = load_recipe(recipe)
    folder = out or Path("runs") / recipe.stem
    stages = [stage for stage in EXAM_OF if (folder / "model" / stage).is_dir()]
    if not stages:
        raise UserError(f"'{folder}' holds no trained model (model/sft or model/rl). Train first: tripwright train or sft, with --out.")
    if read.data.world is not None:
        raise UserError(
            f"{recipe} trains in a world of its own: play its queries with tripwright run --model {folder / 'model' / stages[-1]}."
        )
    run = RunFolder(folder, read)
    other = _last_exam(against, run) if against is not None else None
    with run.alone():
        exam = keep(run, trips_of_exam(run, read.evaluation.queries))
        measure_difficulty(run)
        for stage in stages:
            evaluate(run, exam, stage, EXAM_OF[stage])
        evaluate(run, exam, stages[-1], BLIND, emptied_tools=True)
        lines = rates(run, (*(EXAM_OF[stage] for stage in stages), BLIND))
        rules, last = read.evaluation.rules, run.folder / "eval" / EXAM_OF[stages[-1]]
        if len(stages) > 1:
            comparison = compare(run.folder / "eval" / BEFORE, last, rules)
            write_atomically(run.folder / "comparison.json", json.dumps(comparison, indent=2))
            lines.append(change("RL against the cold start", comparison))
        if other is not None:
            lines.append(change(f"against {other}", compare(other, last, rules)))
        typer.echo("\n".join(lines))
        typer.echo(f"report {write_report(run.folder)}")


def _last_exam(against: Path, run: RunFolder) -> Path:
    """Of the run to compare with. Raises UserError where it has none, or one of other trips or by other rules."""
    for name in (AFTER, BEFORE):
        if (against / "eval" / name / "score.json").is_file():
            if differing := changes(json_object(against / "eval" / CONDITIONS) or {}, conditions(run)):
                raise UserError(f"--against: '{against}' was examined under other conditions: {differing}.")
            return against / "eval" / name
    raise UserError(f"--against: '{against}' was not examined. Examine it first.")
