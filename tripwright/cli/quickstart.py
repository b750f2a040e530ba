"""`tripwright quickstart`: the whole loop on a laptop CPU, from nothing to a trained, judged travel agent (row B4).

    difficulty of the exam → tokenizer and model → copy warm-up → cold start on expert trips → GRPO → exam before, after, and blind

The exam is held in worlds that no stage ever trains in, and once more with every tool answer emptied: what passes then was memorised.
Every part leaves its files behind and is skipped when they are there, so the same command continues a stopped run.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.agent.chat import ChatFormat
from tripwright.agent.policies.base import Policy
from tripwright.agent.policies.expert import ExpertPolicy
from tripwright.agent.policies.local import LocalPolicy, Sampling, load_model
from tripwright.agent.policies.rows import RowsPolicy
from tripwright.constraints.evaluate import applicable_hard_count
from tripwright.constraints.facts import Verdict
from tripwright.episode import Task
from tripwright.errors import UserError
from tripwright.evals.report import learning_curve_svg, write_report
from tripwright.evals.run import TRANSCRIPTS, records
from tripwright.evals.run import run as run_episodes
from tripwright.evals.run_card import environment, model_fingerprint
from tripwright.evals.stats import mcnemar_exact, mean, paired_bootstrap
from tripwright.files import write_atomically
from tripwright.rewards.shaped import Parts, Reward, reward
from tripwright.training import stages
from tripwright.training.cold_start import UNSEEN_WORLDS, tasks
from tripwright.training.quickstart_recipe import quickstart_recipe
from tripwright.training.run_folder import RunFolder
from tripwright.trip.query import Query

BEFORE, AFTER, BLIND = "after_sft", "after_rl", "emptied_tools"


def quickstart(
    out: Annotated[Path, typer.Option(help="Run folder; a run found there is continued.")] = Path("runs/quickstart"),
    minutes: Annotated[float, typer.Option(help="Time to take, roughly; training is shortened or lengthened to fit.", min=1)] = 27,
    seed: Annotated[int, typer.Option(help="Of the model, the sampling and the order of data.")] = 0,
    threads: Annotated[int, typer.Option(help="Processor threads to use.", min=1)] = 2,
) -> None:
    """See it all work: worlds, queries, cold start, RL, evaluation, report. Needs no GPU, download or key.

    Writes OUT/report.html and OUT/score.json. Stopped at any moment, the same command continues, training from its newest checkpoint.

    Examples:
      tripwright quickstart
      tripwright quickstart --out runs/short --minutes 5 --seed 1
    """
    run = RunFolder(out, dataclasses.replace(quickstart_recipe(minutes), seed=seed, threads=threads))
    with run.alone():
        card = {"recipe": run.recipe.name, "seed": seed, "minutes": minutes, "threads": threads, "torch": version("torch"), **environment()}
        write_atomically(run.folder / "run_card.json", json.dumps(card, indent=2))
        train_and_examine(run)


def train_and_examine(run: RunFolder) -> None:
    began = time.monotonic()
    exam = keep(run, trips_of_exam(run, run.recipe.evaluation.queries))
    measure_difficulty(run)
    stages.make(run)
    stages.copy(run)
    stages.cold_start(run)
    evaluate(run, exam, "sft", BEFORE)
    stages.reinforce(run)
    score = evaluate(run, exam, "rl", AFTER)
    evaluate(run, exam, "rl", BLIND, emptied_tools=True)
    comparison = compare(run)
    write_atomically(run.folder / "score.json", json.dumps({**score, "comparison": comparison}, indent=2) + "\n")
    page = write_report(run.folder)
    write_atomically(run.folder / "learning.svg", learning_curve_svg(run.folder))
    typer.echo(summary(run, comparison))
    typer.echo(f"{page}  {run.folder / 'score.json'}  ({(time.monotonic() - began) / 60:.1f} minutes)")


def trips_of_exam(run: RunFolder, count: int) -> list[Task]:
    """The first `count` trips of the exam, in worlds that no stage trains in."""
    settings, data = run.recipe.evaluation, run.recipe.data
    stream = itertools.islice(tasks(data.scale, UNSEEN_WORLDS, settings.per_world, data.mix), count)
    return [Task(f"{world.name}-{i:04d}", query, world) for i, (query, world) in enumerate(stream)]


def keep(run: RunFolder, exam: list[Task]) -> list[Task]:
    """Writes the trips down, in RUN/eval/queries.jsonl."""
    folder = run.folder / "eval"
    folder.mkdir(exist_ok=True)
    lines = (json.dumps({"id": task.id, "world": task.world.name, **task.query.record()}) + "\n" for task in exam)
    write_atomically(folder / "queries.jsonl", "".join(lines))
    return exam


def measure_difficulty(run: RunFolder) -> None:
    """What mindless policies and the expert reach on the exam and more trips like it, written down before anything is trained."""
    path = run.folder / "difficulty.json"
    if path.is_file():
        return
    trips = trips_of_exam(run, run.recipe.evaluation.difficulty_queries)
    policies: dict[str, Policy] = {"first_row": RowsPolicy("first"), "cheapest_row": RowsPolicy("cheapest"), "expert": ExpertPolicy()}
    found: dict[str, Any] = {"levels": {}}
    for name, policy in policies.items():
        score = examine(run, trips, policy, f"difficulty/{name}", {"kind": name})
        found[name] = score["metrics"]["final"]
        found["levels"][name] = {level: part["final"] for level, part in score["levels"].items()}
    write_atomically(path, json.dumps(found, indent=2))


def evaluate(run: RunFolder, exam: list[Task], stage: str, name: str, emptied_tools: bool = False) -> dict[str, Any]:
    """The exam, greedy, with the model of one stage. Adds the dense reward to the score's metrics."""
    folder = run.folder / "eval" / name
    if (folder / "score.json").is_file():
        found: dict[str, Any] = json.loads((folder / "score.json").read_text(encoding="utf-8"))
        if "dense_reward" in found["metrics"]:  # it is added last
            return found
    model, tokenizer = load_model(run.model(stage))
    settings = run.recipe.evaluation
    policy = LocalPolicy(model, ChatFormat(tokenizer), Sampling(0.0, settings.rows, run.recipe.seed, settings.dtype))
    identity = {"kind": "local", "stage": stage, "fingerprint": model_fingerprint(str(run.model(stage)))}
    score = examine(run, exam, policy, name, identity, policy.chat, emptied_tools)
    totals = [made.total for made in dense_rewards(folder).values()]
    score["metrics"]["dense_reward"] = mean(totals, seed=0)
    write_atomically(folder / "score.json", json.dumps(score, indent=2) + "\n")
    return score


def examine(
    run: RunFolder,
    exam: list[Task],
    policy: Policy,
    name: str,
    identity: dict[str, Any],
    chat: ChatFormat | None = None,
    emptied_tools: bool = False,
) -> dict[str, Any]:
    """One policy on the exam, in RUN/eval/<name>; resumable."""
    dialect = run.recipe.dialect.dialect()
    card = {
        "policy": identity,
        "decoding": {"temperature": 0.0},
        "rules": "official",
        "dialect": dataclasses.asdict(dialect),
        "queries": {"count": len(exam), "first_world": exam[0].world.name, "last_world": exam[-1].world.name},
        "world": {"name": "generated, never trained on"},
        "samples": 1,
        "emptied_tools": emptied_tools,
        **environment(),
    }
    print(f"examining {name}", file=sys.stderr)
    folder = run.folder / "eval" / name
    folder.mkdir(parents=True, exist_ok=True)
    return run_episodes(policy, exam, folder, dialect, chat, "official", emptied_tools, card, progress=chat is not None)


def dense_rewards(folder: Path) -> dict[str, Reward]:
    """Episode id → P4's stage 1 reward, from the transcripts of an examination."""
    found = {}
    for record in records(folder / TRANSCRIPTS):
        if record["verdict"] is not None:
            verdict, query = Verdict.from_contract(record["verdict"], "official"), Query.model_validate(record["query"])
            found[record["id"]] = reward(verdict, applicable_hard_count(query), record["plan"] is not None)
    return found


def compare(run: RunFolder) -> dict[str, Any]:
    """After RL against after the cold start, trip by trip: paired differences with 95% intervals, and McNemar's test for passing."""
    before, after = dense_rewards(run.folder / "eval" / BEFORE), dense_rewards(run.folder / "eval" / AFTER)
    both = sorted(before.keys() & after.keys())
    if not both:
        raise UserError(f"'{run.folder}' has no trips examined both before and after RL.")
    read: dict[str, Callable[[Reward], float]] = {"dense_reward": attrgetter("total"), "schema": attrgetter("schema")}
    read |= {field.name: attrgetter(f"parts.{field.name}") for field in dataclasses.fields(Parts)}
    found: dict[str, Any] = {}
    for name, value in read.items():
        difference = paired_bootstrap([value(before[i]) for i in both], [value(after[i]) for i in both], seed=0)
        found[name] = {**difference._asdict(), "n": len(both)}
    gained = sum(after[i].parts.final > before[i].parts.final for i in both)
    lost = sum(after[i].parts.final < before[i].parts.final for i in both)
    found["final"] |= {"gained": gained, "lost": lost, "p_value": mcnemar_exact(gained, lost)}
    write_atomically(run.folder / "comparison.json", json.dumps(found, indent=2))
    return found


def summary(run: RunFolder, comparison: dict[str, Any]) -> str:
    difficulty = json.loads((run.folder / "difficulty.json").read_text(encoding="utf-8"))
    lines = ["final pass rate in worlds never trained on (official rules, greedy, 95% intervals)"]
    rows = [(name.replace("_", " "), difficulty[name]) for name in ("first_row", "cheapest_row", "expert")]
    for name in (BEFORE, AFTER, BLIND):
        score = json.loads((run.folder / "eval" / name / "score.json").read_text(encoding="utf-8"))
        rows.append((name.replace("_", " "), score["metrics"]["final"]))
    for name, rate in rows:
        lines.append(f"  {name:<14} {rate['value']:>6.1%}  [{rate['low']:.1%}, {rate['high']:.1%}]  {rate['k']}/{rate['n']}")
    gain = comparison["dense_reward"]
    lines.append(f"RL changed the mean dense reward (0 to 5) by {gain['mean']:+.3f}  [{gain['low']:+.3f}, {gain['high']:+.3f}], paired")
    return "\n".join(lines)
