"""What imitation learns when, with the expert's work shown and without: one recipe, once for each,
examined as it goes.

    python benchmarks/learned_when.py --out runs/learned_when [--recipe recipes/nano/speedrun.toml]
        [--shown long none] [--every 75] [--queries 200] [--seed 0] [--threads 2]

After every so many steps the model plays trips in worlds that it has not seen (greedy, strict
rules), and each line of the picture is the share of trips in which something is right: all names
are such as a tool has shown, the nights are no less than the stay asks for, the budget, and, of the
trips that have such a wish, cuisines, room and rule. Of a trip without a plan nothing is right.
Written to --out: a run folder for each (with its own report, in which every constraint stands), and
`learned_when.svg`. A run that is there is not made again, one that was stopped goes on. Two of them
may run side by side, each with its --shown and a thread; the same command without --shown then
draws both.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import get_args

from tripwright.agent.dialect import ShownWork
from tripwright.errors import UserError
from tripwright.evals.report.charts import Frame, Series, line_chart
from tripwright.evals.report.drawing import picture
from tripwright.files import json_object, write_atomically
from tripwright.runs import SCORE
from tripwright.training import stages
from tripwright.training.recipe import Recipe, ValidationSettings, load_recipe
from tripwright.training.run_folder import RunFolder
from tripwright.training.validation import evaluations

RIGHT = {  # constraint → what is right where it is kept
    "is_valid_information_in_sandbox": "names",
    "is_valid_accommodation": "nights",
    "valid_cuisine": "cuisines",
    "valid_room_type": "room type",
    "valid_room_rule": "house rule",
    "valid_cost": "budget",
}
TITLES = {
    "long": "Work shown row by row",
    "short": "The row that is taken",
    "none": "Choices alone",
}


def learn(run: RunFolder) -> None:
    if run.recipe.rl is not None or run.recipe.copy_pretraining is None:
        raise UserError(f"Recipe '{run.recipe.name}': a copy warm-up and [sft], and no RL, please.")
    with run.alone():
        stages.make(run)
        stages.copy_pretraining(run)
        stages.cold_start(run)


def lines(run: RunFolder) -> list[Series]:
    """Of the evaluations while it learned: the pass rate, and one line for each of RIGHT."""
    points: dict[str, list[tuple[float, float]]] = {"all": []}
    for step, folder in evaluations(run.folder):
        score = json_object(folder / SCORE) or {}
        rates = {"all": score["metrics"]["final"]}
        rates |= {RIGHT[name]: rate for name, rate in score["constraints"].items() if name in RIGHT}
        for name, rate in rates.items():
            points.setdefault(name, []).append((step, rate["value"] or 0.0))
    return [
        Series(name, tuple(places), colour) for colour, (name, places) in enumerate(points.items())
    ]


def variant(recipe: Recipe, shown: str, given: argparse.Namespace) -> Recipe:
    return replace(
        recipe,
        seed=given.seed,
        threads=given.threads,
        dialect=replace(recipe.dialect, shows_work=shown),
        validation=ValidationSettings(every=given.every, queries=given.queries, at_start=False),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="recipes/nano/speedrun.toml")
    forms = get_args(ShownWork)
    parser.add_argument("--shown", nargs="+", choices=forms, default=["long", "none"])
    parser.add_argument("--every", type=int, default=75)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    panels = []
    for shown in given.shown:
        try:
            run = RunFolder(given.out / shown, variant(load_recipe(given.recipe), shown, given))
            learn(run)
        except UserError as error:
            parser.error(str(error))
        frame = Frame(TITLES[shown], "step", "trips in which it is right", percent=True)
        panels.append((TITLES[shown], line_chart(lines(run), frame)))
    file = given.out / "learned_when.svg"
    write_atomically(file, picture("What imitation learns when", panels, columns=2))
    print(f"{file}, and a report for each: tripwright report {given.out}/{given.shown[0]}")


if __name__ == "__main__":
    main()
