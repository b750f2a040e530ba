"""Minutes from nothing to a model that passes 80% of 500 trips in worlds it has never seen, the
median of some seeds.

    python benchmarks/speedrun.py [--recipe recipes/nano/speedrun.toml] [--seeds 0 1 2] [--out DIR]

What counts is the time of tokenizer, copy warm-up and imitation, on the machine's own clock; the
examination (strict rules, greedy) comes after it and does not count. The record and what bought it
stand in dev/LOG.md. Two idle cores are assumed: the load at the start is printed. Exit 1 unless
more than half of the seeds get there, 2 without a recipe.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from tripwright.errors import UserError
from tripwright.training import stages
from tripwright.training.held_out import BEFORE, evaluate, requests_of_exam
from tripwright.training.recipe import load_recipe
from tripwright.training.run_folder import RunFolder

ENOUGH = 0.8  # of the exam


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="recipes/nano/speedrun.toml")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path, default=None, help="keeps the runs here")
    options = parser.parse_args()
    try:
        recipe = load_recipe(options.recipe)
    except UserError as error:
        parser.error(str(error))
    out = options.out or Path(tempfile.mkdtemp())
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, runs in {out}")
    minutes, got_there = [], 0
    for seed in options.seeds:
        run = RunFolder(out / f"seed{seed}", replace(recipe, seed=seed))
        if any(run.done(stage) for stage in ("start", "sft")):
            raise SystemExit(f"'{run.folder}' holds a run already, whose time is not known.")
        with run.alone():
            began = time.monotonic()
            stages.take_stages(run, "sft")
            minutes.append((time.monotonic() - began) / 60)
            exam = requests_of_exam(run.recipe, recipe.evaluation.queries)
            final = evaluate(run, exam, run.model("sft"), BEFORE)["metrics"]["final"]
        got_there += final["value"] >= ENOUGH
        print(
            f"seed {seed}: {minutes[-1]:.1f} minutes, {final['value']:.1%}"
            f" [{final['low']:.1%}, {final['high']:.1%}] of {final['n']}"
        )
    print(
        f"median {statistics.median(minutes):.1f} minutes; {got_there} of"
        f" {len(options.seeds)} seeds pass {ENOUGH:.0%}"
    )
    return 0 if 2 * got_there > len(options.seeds) else 1


if __name__ == "__main__":
    raise SystemExit(main())
