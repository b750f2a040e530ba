"""What a trained run passes in generated worlds that no stage ever trains in: greedy, and once with
every tool answer emptied.

    RUN/eval/queries.jsonl       the requests of the exam
    RUN/eval/conditions.json     what two examinations must have in common to be compared
    RUN/eval/<name>/             a run of `evals.run` for each model that was examined
    RUN/difficulty.json          what policies without a mind and the expert reach on such requests
    RUN/comparison.json          RL against the cold start, request by request

Every file that is there is not made again, so a stopped examination goes on.
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
from tripwright.episode import Task
from tripwright.errors import UserError
from tripwright.evals.comparison_record import compare_folders
from tripwright.evals.report import write_report
from tripwright.evals.run import run as run_episodes
from tripwright.evals.run_card import dialect_entry, environment, model_fingerprint
from tripwright.evals.scoreboard import judged_by
from tripwright.files import json_object, write_atomically
from tripwright.inference.local import LocalPolicy, Sampling, load_model
from tripwright.learning.trips import GeneratedTrips
from tripwright.policies.base import Policy
from tripwright.rewards.weighted import terms
from tripwright.runs import COMPARISON, DIFFICULTY, SCORE, TRANSCRIPTS, episodes
from tripwright.statistics.rates import mean, paired_bootstrap
from tripwright.tools.faults import Faults
from tripwright.training.data_source import UNSEEN_WORLDS, generator_fingerprint
from tripwright.training.recipe import Recipe
from tripwright.training.recipe_diff import describe_changes
from tripwright.training.run_folder import RunFolder
from tripwright.verdict import Verdict

BEFORE, AFTER, BLIND = "after_sft", "after_rl", "emptied_tools"  # names of evaluations
NAMES = ("before", "after")  # of the two evaluations in a comparison
EXAM_OF = {"sft": BEFORE, "rl": AFTER}  # stage → its evaluation
WITH_FAULTS = "with_faults"  # behind the name of one whose tools fail as the recipe says
CONDITIONS = "conditions.json"


def examine(recipe: Recipe, folder: Path, against: Path | None = None) -> dict[str, Any]:
    """Examines every stage that is finished in the run folder, the last one also with emptied
    tools, and writes the report. The figures: pass rates, RL against the cold start, and the last
    stage against another run that was examined; `in_words` makes lines of them.

    Raises UserError where nothing was trained, and where the other run was examined under other
    conditions.
    """
    stages = [stage for stage in EXAM_OF if (folder / "model" / stage).is_dir()]
    if not stages:
        raise UserError(
            f"'{folder}' holds no trained model (model/sft or model/rl). Train first: tripwright"
            " train or sft, with --out."
        )
    if recipe.data.queries is not None:
        model = folder / "model" / stages[-1]
        raise UserError(
            f"Recipe '{recipe.name}' trains on requests of its own: play them with tripwright run"
            f" --model {model}."
        )
    run = RunFolder(folder, recipe)
    other = _last_evaluation(against, run) if against is not None else None
    with run.alone():
        exam = settle(run)
        measure_difficulty(run)
        names = [name for stage in stages for name in evaluate_stage(run, exam, stage)]
        evaluate(run, exam, stages[-1], BLIND, emptied_tools=True)
        comparisons: dict[str, dict[str, Any]] = {}
        if len(stages) > 1:
            comparisons |= compare_stages(run)
        if other is not None:
            comparisons[f"against {other}"] = compare(other, _evaluation(run, EXAM_OF[stages[-1]]))
        return {
            "rules": _rules(recipe),
            "final": rates(run, [*names, BLIND]),
            "comparisons": comparisons,
            "report": str(write_report(run.folder)),
        }


# ---- the exam


def requests_of_exam(recipe: Recipe, count: int) -> list[Task]:
    """The first `count` requests of the exam, in worlds that no stage trains in."""
    trips = GeneratedTrips(
        recipe.domain, (recipe.data.scale,), UNSEEN_WORLDS, recipe.evaluation.per_world, recipe.mix
    )
    tasks = (recipe.domain.task("", *trips.at(number)) for number in range(count))
    return [task.renamed(f"{task.where}-{number:04d}") for number, task in enumerate(tasks)]


def conditions(recipe: Recipe) -> dict[str, Any]:
    """What two examinations must have in common to be compared."""
    settings = {
        key: value
        for key, value in dataclasses.asdict(recipe.evaluation).items()
        if key not in ("rows", "dtype")
    }
    generator = generator_fingerprint(recipe.domain.name, recipe.data.scale)
    request_settings = {
        "scale": recipe.data.scale,
        "mix": dataclasses.asdict(recipe.mix),
        "generator": generator,
    }
    plain: dict[str, Any] = json.loads(json.dumps({**settings, **request_settings}))
    return plain


def settle(run: RunFolder) -> list[Task]:
    """The exam, written down with its conditions. Raises UserError where the run was examined under
    others."""
    folder, exam = run.folder / "eval", requests_of_exam(run.recipe, run.recipe.evaluation.queries)
    folder.mkdir(exist_ok=True)
    if (folder / CONDITIONS).is_file() and (
        differing := describe_changes(
            json_object(folder / CONDITIONS) or {}, conditions(run.recipe)
        )
    ):
        advice = (
            f"Put [evaluation] back, or remove '{folder}' and '{run.folder / DIFFICULTY}' to"
            " examine anew."
        )
        raise UserError(
            f"'{run.folder}' was examined under other conditions: {differing}. {advice}"
        )
    write_atomically(folder / CONDITIONS, json.dumps(conditions(run.recipe), indent=2))
    lines = (
        json.dumps({"id": task.id, "world": task.where, **task.query.record()}) + "\n"
        for task in exam
    )
    write_atomically(folder / "queries.jsonl", "".join(lines))
    return exam


def measure_difficulty(run: RunFolder) -> None:
    """What baselines and the expert reach on the exam and more requests like it, written down
    before anything is trained."""
    path = run.folder / DIFFICULTY
    if path.is_file():
        return
    tasks = requests_of_exam(run.recipe, run.recipe.evaluation.difficulty_queries)
    difficulty: dict[str, Any] = {"levels": {}}
    for name, policy in run.recipe.domain.baselines.items():
        score = _play(run, tasks, policy(), f"difficulty/{name}", {"kind": name})
        difficulty[name] = score["metrics"]["final"]
        difficulty["levels"][name] = {
            level: part["final"] for level, part in score.get("levels", {}).items()
        }
    write_atomically(path, json.dumps(difficulty, indent=2))


def evaluate_stage(run: RunFolder, exam: list[Task], stage: str) -> list[str]:
    """The names of a stage's evaluations: one, and one with the recipe's faults where it has
    some."""
    name = EXAM_OF[stage]
    evaluate(run, exam, stage, name)
    if run.recipe.faults is None:
        return [name]
    evaluate(run, exam, stage, f"{name}_{WITH_FAULTS}", faults=run.recipe.faults)
    return [name, f"{name}_{WITH_FAULTS}"]


def evaluate(
    run: RunFolder,
    exam: list[Task],
    stage: str,
    name: str,
    emptied_tools: bool = False,
    faults: Faults | None = None,
) -> dict[str, Any]:
    """The score of one stage's model on the exam, greedy. The dense reward is added to its
    metrics."""
    folder = _evaluation(run, name)
    identity = {
        "kind": "local",
        "stage": stage,
        "fingerprint": model_fingerprint(str(run.model(stage))),
    }
    if (score := json_object(folder / SCORE)) is not None:
        if score["run_card"]["policy"] != identity:  # of the cold start, before there was RL
            shutil.rmtree(folder)
        elif "dense_reward" in score["metrics"]:  # it is added last
            return score
    model, tokenizer = load_model(run.model(stage))
    settings = run.recipe.evaluation
    policy = LocalPolicy(
        model,
        ChatFormat(tokenizer, run.recipe.dialect.dialect().schemas()),
        Sampling(0.0, settings.max_concurrent_rollouts, run.recipe.seed, settings.dtype),
    )
    score = _play(run, exam, policy, name, identity, policy.chat, emptied_tools, faults)
    score["metrics"]["dense_reward"] = mean(
        [sum(parts.values()) for parts in reward_terms(folder).values()], seed=0
    )
    write_atomically(folder / SCORE, json.dumps(score, indent=2) + "\n")
    return score


def _play(
    run: RunFolder,
    tasks: list[Task],
    policy: Policy,
    name: str,
    identity: dict[str, Any],
    chat: ChatFormat | None = None,
    emptied_tools: bool = False,
    faults: Faults | None = None,
) -> dict[str, Any]:
    """The score of one policy, in RUN/eval/<name>; resumable."""
    dialect, rules = run.recipe.dialect.dialect(), _rules(run.recipe)
    card = {
        "policy": identity,
        "decoding": {"temperature": 0.0},
        "rules": rules,
        "dialect": dialect_entry(dialect),
        "queries": {
            "count": len(tasks),
            "first_world": tasks[0].where,
            "last_world": tasks[-1].where,
        },
        "world": {"name": "generated, never trained on"},
        "samples": 1,
        "emptied_tools": emptied_tools,
        **environment(dialect),
    }
    print(f"examining {name}", file=sys.stderr)
    folder = _evaluation(run, name)
    folder.mkdir(parents=True, exist_ok=True)
    return run_episodes(
        policy,
        tasks,
        folder,
        dialect,
        chat,
        rules,
        emptied_tools,
        card,
        progress=chat is not None,
        faults=faults,
    )


def _rules(recipe: Recipe) -> str:
    """The set of rules, or what a score says of a domain with one way to judge."""
    return recipe.evaluation.rules if recipe.domain.rules else recipe.domain.judged_by


def _evaluation(run: RunFolder, name: str) -> Path:
    return run.folder / "eval" / name


# ---- comparisons


def reward_terms(evaluation: Path) -> dict[str, dict[str, float]]:
    """Episode id → the terms that add up to the dense reward; scored episodes only."""
    return {
        record["id"]: terms(Verdict.from_record(record["verdict"]))
        for record in episodes(evaluation / TRANSCRIPTS)
        if record["verdict"] is not None
    }


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
    value, low, high = paired_bootstrap(
        [sum(first[id].values()) for id in both],
        [sum(second[id].values()) for id in both],
        seed=0,
    )
    most = len(first[both[0]])  # every term is 1 at most
    reward = {"value": value, "low": low, "high": high, "n": len(both), "most": most}
    return comparison | {"dense_reward": reward}


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


def _last_evaluation(against: Path, run: RunFolder) -> Path:
    """Of the run to compare with. Raises UserError where it has none, or one of other requests or
    by other rules."""
    for name in (AFTER, BEFORE):
        if (against / "eval" / name / SCORE).is_file():
            if differing := describe_changes(
                json_object(against / "eval" / CONDITIONS) or {}, conditions(run.recipe)
            ):
                raise UserError(
                    f"--against: '{against}' was examined under other conditions: {differing}."
                )
            return against / "eval" / name
    raise UserError(f"--against: '{against}' was not examined. Examine it first.")


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
    lines = rate_lines(figures["rules"], figures["final"])
    lines += [change(title, each) for title, each in figures["comparisons"].items()]
    return [*lines, f"report {figures['report']}"]


def rate_lines(rules: str, final: Mapping[str, Any]) -> list[str]:
    lines = [
        f"final pass rate in worlds never trained on ({judged_by(rules)}, greedy, 95% intervals)"
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
