"""What a trained run passes on requests that no stage ever trains on, in generated worlds of their
own or in the recipe's place: decoded as the recipe says, and once with every tool answer emptied.

    RUN/eval/queries.jsonl       the requests of the exam
    RUN/eval/conditions.json     what two examinations must have in common to be compared
    RUN/eval/<name>/             a run of `evals.run` for each model that was examined
    RUN/difficulty.json          what policies without a mind and the expert reach on such requests
    RUN/comparison.json          RL against the cold start, request by request

Every file that is there is not made again, so a stopped examination goes on. Checkpoints of RL that
`validation` kept are examined one by one, by their step.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tripwright.agent.chat import ChatFormat
from tripwright.errors import UserError
from tripwright.evals.comparison import compare_folders
from tripwright.evals.report import write_report
from tripwright.evals.scoreboard import judged_by
from tripwright.files import json_object, write_atomically
from tripwright.inference.local import load_model
from tripwright.inference.models import device_named, precision_named
from tripwright.policies.settings import GREEDY, Decoding
from tripwright.runs import BEST, COMPARISON, DIFFICULTY, SCORE
from tripwright.statistics.rates import mean
from tripwright.tools.faults import Faults
from tripwright.training.data_source import UNSEEN_WORLDS
from tripwright.training.recipe import Recipe
from tripwright.training.run_folder import RunFolder
from tripwright.training.validation import (
    HeldOut,
    checkpoint_models,
    finished_score,
    held_out,
    model_identity,
    reward_terms,
)

BEFORE, AFTER, BLIND = "after_sft", "after_rl", "emptied_tools"  # names of evaluations
NAMES = ("before", "after")  # of the two evaluations in a comparison
EXAM_OF = {"sft": BEFORE, "rl": AFTER}  # stage → its evaluation
WITH_FAULTS = "with_faults"  # behind the name of one whose tools fail as the recipe says


def examine(recipe: Recipe, folder: Path, step: str | None = None) -> dict[str, Any]:
    """Examines every stage that is finished in the run folder, the last one also with emptied
    tools, and writes the report. With `step`: the checkpoint that validation kept of that step,
    or the "best", and nothing else. The figures: pass rates, and RL against the cold start;
    `in_words` makes lines of them.

    Raises UserError where nothing was trained, and where there is no such checkpoint.
    """
    stages = [stage for stage in EXAM_OF if (folder / "model" / stage).is_dir()]
    if step is not None:
        stages = [checkpoint_of(folder, step)]
    if not stages:
        raise UserError(
            f"'{folder}' holds no trained model (model/sft or model/rl). Train first: tripwright"
            " train or sft, with --out."
        )
    if recipe.data.queries is not None and recipe.evaluation.file is None:
        raise UserError(
            f"Recipe '{recipe.name}' trains on requests of its own: name those of its exam, for the"
            " same place, with evaluation.file."
        )
    run = RunFolder(folder, recipe)
    with run.alone():
        return examine_models(run, stages, with_controls=step is None)


def examine_models(run: RunFolder, models: list[str], with_controls: bool = True) -> dict[str, Any]:
    """The figures of `examine`, of these models of the run in order; with controls the last one
    also with emptied tools."""
    folder, settings = run.folder / "eval", run.recipe.evaluation
    exam = requests_of_exam(run.recipe, settings.queries)
    generated = {"difficulty_queries": settings.difficulty_queries} if not settings.file else {}
    exam.settle(
        folder,
        f"'{run.folder}' was examined under other conditions",
        f"Put [evaluation] back, or remove '{folder}' and '{run.folder / DIFFICULTY}' to examine"
        " anew.",
        **generated,
    )
    measure_difficulty(run)
    names = [name for model in models for name in evaluate_stage(run, exam, model)]
    if with_controls:
        evaluate(run, exam, models[-1], BLIND, emptied_tools=True)
        names.append(BLIND)
    return {
        "rules": exam.rules,
        "decoding": dataclasses.asdict(settings.decoding),
        "final": rates(run, names),
        "comparisons": compare_stages(run) if len(models) > 1 else {},
        "report": str(write_report(run.folder)),
    }


def checkpoint_of(folder: Path, step: str) -> str:
    """The name of the model after so many steps, or of the "best". Raises UserError where
    validation kept none."""
    models = checkpoint_models(folder)
    best = json_object(folder / BEST) if (folder / BEST).is_file() else None
    if step == "best" and best is not None:
        return Path(best["model"]).name
    if step.isdigit() and int(step) in models:
        return models[int(step)].name
    kept = f"of steps {', '.join(map(str, sorted(models)))}" if models else "none"
    raise UserError(
        f"--step: '{folder}' has no checkpoint '{step}'. Expected 'best' or one that was kept"
        f" (here: {kept}), which a recipe's [validation] does."
    )


# ---- the exam


def requests_of_exam(recipe: Recipe, count: int) -> HeldOut:
    """All of the recipe's file, or the first `count` generated ones, in worlds that no stage trains
    in."""
    return held_out(recipe, recipe.evaluation.file, count, UNSEEN_WORLDS)


def measure_difficulty(run: RunFolder) -> None:
    """What baselines, the expert and another teacher reach on the exam and more requests like it.
    Where a model judges nobody pays for that."""
    path = run.folder / DIFFICULTY
    if path.is_file() or run.recipe.judging is not None:
        return
    recipe = run.recipe
    requests = requests_of_exam(recipe, recipe.evaluation.difficulty_queries)
    difficulty: dict[str, Any] = {"levels": {}}
    policies = dict(recipe.domain.baselines)
    if recipe.sft is not None and recipe.sft.expert != "expert":
        policies["teacher"] = recipe.domain.teachers[recipe.sft.expert]
    for name, policy in policies.items():
        folder = _evaluation(run, f"difficulty/{name}")
        print(f"examining {name}", file=sys.stderr)
        score = requests.play(policy(), folder, {"kind": name})
        difficulty[name] = score["metrics"]["final"]
        difficulty["levels"][name] = {
            level: part["final"] for level, part in score.get("levels", {}).items()
        }
    write_atomically(path, json.dumps(difficulty, indent=2))


def evaluate_stage(run: RunFolder, exam: HeldOut, stage: str) -> list[str]:
    """The names of a stage's evaluations: one, and one with the recipe's faults where it has
    some."""
    name = EXAM_OF.get(stage) or stage.partition("-")[2] or stage  # "rl-step-2": "step-2"
    evaluate(run, exam, stage, name)
    if run.recipe.faults is None:
        return [name]
    evaluate(run, exam, stage, f"{name}_{WITH_FAULTS}", faults=run.recipe.faults)
    return [name, f"{name}_{WITH_FAULTS}"]


def evaluate(
    run: RunFolder,
    exam: HeldOut,
    stage: str,
    name: str,
    emptied_tools: bool = False,
    faults: Faults | None = None,
) -> dict[str, Any]:
    """The score of one stage's model on the exam, in RUN/eval/<name>."""
    folder = _evaluation(run, name)
    identity = model_identity(run, stage)
    if (score := json_object(folder / SCORE)) is not None:
        if score["run_card"]["policy"] != identity:  # of the cold start, before there was RL
            shutil.rmtree(folder)
        elif (score := finished_score(folder)) is not None:
            return score
    print(f"examining {name}", file=sys.stderr)
    settings = run.recipe.model
    model, tokenizer = load_model(
        run.model(stage), device_named(settings.device), precision_named(settings.weights)
    )
    # as in training: a model that is shown other tools is another one
    chat = ChatFormat(tokenizer, run.recipe.dialect.dialect().schemas())
    return exam.play_model(model, chat, folder, identity, emptied_tools, faults)


def _evaluation(run: RunFolder, name: str) -> Path:
    return run.folder / "eval" / name


# ---- comparisons


def compare(before: Path, after: Path) -> dict[str, Any]:
    """One evaluation against another, request by request: the metrics as `tripwright compare` has
    them, and the dense reward.

    Raises UserError where they have no requests in common.
    """
    record = compare_folders([[before], [after]], allow_unlike=True, apart=True, names=NAMES)
    comparison = {
        metric: row["differences"][NAMES[1]] for metric, row in record["tables"]["metrics"].items()
    }
    (pair,) = record["pairs"]
    comparison["final"] |= {"gained": pair["gained"], "lost": pair["lost"]}
    first, second = reward_terms(before), reward_terms(after)
    both = sorted(first.keys() & second.keys())
    differences = [sum(second[id].values()) - sum(first[id].values()) for id in both]
    most = len(first[both[0]])  # every term is 1 at most
    return comparison | {"dense_reward": mean(differences, seed=0) | {"most": most}}


def compare_stages(run: RunFolder) -> dict[str, dict[str, Any]]:
    """RL against the cold start, in words → the comparison; and where tools fail, if the recipe has
    faults. Also in RUN/comparison.json."""
    words = "RL against the cold start"
    comparison = compare(_evaluation(run, BEFORE), _evaluation(run, AFTER))
    comparisons = {words: comparison}
    if run.recipe.faults is not None:
        before, after = (_evaluation(run, f"{name}_{WITH_FAULTS}") for name in (BEFORE, AFTER))
        comparisons[f"{words}, tools failing"] = failing = compare(before, after)
        comparison = {**comparison, WITH_FAULTS: failing}
    write_atomically(run.folder / COMPARISON, json.dumps(comparison, indent=2))
    return comparisons


# ---- in words


def rates(run: RunFolder, names: list[str]) -> dict[str, Any]:
    """The pass rate of each baseline and of each of the evaluations `names`, with its interval."""
    difficulty = json_object(run.folder / DIFFICULTY) or {}
    return {name: rate for name, rate in difficulty.items() if name != "levels"} | {
        name: (json_object(_evaluation(run, name) / SCORE) or {})["metrics"]["final"]
        for name in names
    }


def in_words(figures: Mapping[str, Any]) -> list[str]:
    """An examination as lines to read."""
    lines = rate_lines(figures["rules"], figures["final"], Decoding(**figures["decoding"]))
    lines += [change(title, each) for title, each in figures["comparisons"].items()]
    return [*lines, f"report {figures['report']}"]


def rate_lines(rules: str, final: Mapping[str, Any], decoding: Decoding = GREEDY) -> list[str]:
    how = "greedy" if decoding.temperature == 0 else str(decoding)
    lines = [
        f"final pass rate on requests never trained on ({judged_by(rules)}, {how}, 95% intervals)"
    ]
    width = max(map(len, final))
    for name, rate in final.items():
        words = "not known (0 scored)"
        if rate["n"]:
            words = (
                f"{rate['value']:>6.1%}  [{rate['low']:.1%}, {rate['high']:.1%}] "
                f" {rate['k']}/{rate['n']}"
            )
        lines.append(f"  {name.replace('_', ' '):<{width}}  {words}")
    return lines


def change(what: str, comparison: Mapping[str, Any]) -> str:
    """A comparison in one line."""
    gain, final = comparison["dense_reward"], comparison["final"]
    reward = (
        f"mean dense reward (0 to {gain['most']}) {gain['value']:+.3f}  [{gain['low']:+.3f},"
        f" {gain['high']:+.3f}]"
    )
    return (
        f"{what}: {reward}; trips gained {final['gained']}, lost {final['lost']} (exact McNemar p ="
        f" {final['p']:.2g}); paired"
    )
