"""The exam of a run: trips in generated worlds that no stage ever trains in, greedy, and once with every tool answer emptied.

Shared by the verbs `quickstart` and `examine`. Whatever is written down lies in RUN/eval and is not made again; what mindless policies and
the expert reach on such trips lies in RUN/difficulty.json.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

from tripwright.agent.chat import ChatFormat
from tripwright.domains.travelplanner.task import TripTask
from tripwright.errors import UserError
from tripwright.evals.run import run as run_episodes
from tripwright.evals.run_card import dialect_entry, environment, model_fingerprint
from tripwright.evals.scoreboard import Outcome, judged_by
from tripwright.files import json_object, write_atomically
from tripwright.inference.local import LocalPolicy, Sampling, load_model
from tripwright.policies.base import Policy
from tripwright.rewards.shaped import Parts, Reward, reward
from tripwright.runs import TRANSCRIPTS, episodes
from tripwright.statistics.rates import mcnemar_exact, mean, paired_bootstrap
from tripwright.training.changes import changes
from tripwright.training.cold_start import UNSEEN_WORLDS, GeneratedTrips
from tripwright.training.kinds import kind_of
from tripwright.training.run_folder import RunFolder
from tripwright.training.streams import generator_fingerprint

BEFORE, AFTER, BLIND = "after_sft", "after_rl", "emptied_tools"
CONDITIONS = "conditions.json"


def trips_of_exam(run: RunFolder, count: int) -> list[TripTask]:
    """The first `count` trips of the exam, in worlds that no stage trains in."""
    settings, data = run.recipe.evaluation, run.recipe.data
    kind = kind_of(run.recipe.dialect.dialect())
    made = map(GeneratedTrips(data.scale, UNSEEN_WORLDS, settings.per_world, kind.draw(data.mix)).at, range(count))
    return [kind.job(f"{world.name}-{i:04d}", request, world) for i, (request, world) in enumerate(made)]


def conditions(run: RunFolder) -> dict[str, Any]:
    """What two examinations must have in common to be compared."""
    recipe = run.recipe
    settings = {key: value for key, value in dataclasses.asdict(recipe.evaluation).items() if key not in ("rows", "dtype")}
    asked = {"scale": recipe.data.scale, "mix": dataclasses.asdict(recipe.data.mix), "generator": generator_fingerprint(recipe.data.scale)}
    found: dict[str, Any] = json.loads(json.dumps({**settings, **asked}))
    return found


def keep(run: RunFolder, exam: list[TripTask]) -> list[TripTask]:
    """Writes the trips down, in RUN/eval/queries.jsonl, and the conditions. Raises UserError where it was examined under others."""
    folder = run.folder / "eval"
    folder.mkdir(exist_ok=True)
    if (folder / CONDITIONS).is_file() and (differing := changes(json_object(folder / CONDITIONS) or {}, conditions(run))):
        advice = f"Put [evaluation] back, or remove '{folder}' and '{run.folder / 'difficulty.json'}' to examine anew."
        raise UserError(f"'{run.folder}' was examined under other conditions: {differing}. {advice}")
    write_atomically(folder / CONDITIONS, json.dumps(conditions(run), indent=2))
    lines = (json.dumps({"id": task.id, "world": task.where, **task.query.record()}) + "\n" for task in exam)
    write_atomically(folder / "queries.jsonl", "".join(lines))
    return exam


def measure_difficulty(run: RunFolder) -> None:
    """What mindless policies and the expert reach on the exam and more trips like it, written down before anything is trained."""
    path = run.folder / "difficulty.json"
    if path.is_file():
        return
    trips = trips_of_exam(run, run.recipe.evaluation.difficulty_queries)
    found: dict[str, Any] = {"levels": {}}
    for name, policy in kind_of(run.recipe.dialect.dialect()).yardsticks.items():
        score = examine(run, trips, policy(), f"difficulty/{name}", {"kind": name})
        found[name] = score["metrics"]["final"]
        found["levels"][name] = {level: part["final"] for level, part in score["levels"].items()}
    write_atomically(path, json.dumps(found, indent=2))


def evaluate(run: RunFolder, exam: list[TripTask], stage: str, name: str, emptied_tools: bool = False) -> dict[str, Any]:
    """The exam, greedy, with the model of one stage. Adds the dense reward to the score's metrics."""
    folder = run.folder / "eval" / name
    identity = {"kind": "local", "stage": stage, "fingerprint": model_fingerprint(str(run.model(stage)))}
    if (folder / "score.json").is_file():
        found: dict[str, Any] = json.loads((folder / "score.json").read_text(encoding="utf-8"))
        if found["run_card"]["policy"] != identity:  # of the cold start, before there was RL
            shutil.rmtree(folder)
        elif "dense_reward" in found["metrics"]:  # it is added last
            return found
    model, tokenizer = load_model(run.model(stage))
    settings = run.recipe.evaluation
    policy = LocalPolicy(model, ChatFormat(tokenizer), Sampling(0.0, settings.rows, run.recipe.seed, settings.dtype))
    score = examine(run, exam, policy, name, identity, policy.chat, emptied_tools)
    totals = [made.total for made in dense_rewards(folder, settings.rules).values()]
    score["metrics"]["dense_reward"] = mean(totals, seed=0)
    write_atomically(folder / "score.json", json.dumps(score, indent=2) + "\n")
    return score


def examine(
    run: RunFolder,
    exam: list[TripTask],
    policy: Policy,
    name: str,
    identity: dict[str, Any],
    chat: ChatFormat | None = None,
    emptied_tools: bool = False,
) -> dict[str, Any]:
    """One policy on the exam, in RUN/eval/<name>; resumable."""
    dialect = run.recipe.dialect.dialect()
    rules = kind_of(dialect.judged_by(run.recipe.evaluation.rules))
    card = {
        "policy": identity,
        "decoding": {"temperature": 0.0},
        "rules": rules,
        "dialect": dialect_entry(dialect),
        "queries": {"count": len(exam), "first_world": exam[0].where, "last_world": exam[-1].where},
        "world": {"name": "generated, never trained on"},
        "samples": 1,
        "emptied_tools": emptied_tools,
        **environment(),
    }
    print(f"examining {name}", file=sys.stderr)
    folder = run.folder / "eval" / name
    folder.mkdir(parents=True, exist_ok=True)
    return run_episodes(policy, exam, folder, dialect, chat, rules, emptied_tools, card, progress=chat is not None)


def dense_rewards(folder: Path, rules: str) -> dict[str, Reward]:
    """Episode id → P4's stage 1 reward, from the transcripts of an examination."""
    found = {}
    for record in episodes(folder / TRANSCRIPTS):
        if record["verdict"] is not None:
            outcome = Outcome.of(record)
            verdict = Verdict.from_contract(record["verdict"], rules)
            made = reward(verdict, len(outcome.hard), outcome.schema_valid, asked_commonsense=len(outcome.commonsense))
            found[record["id"]] = made
    return found


def compare(before: Path, after: Path, rules: str) -> dict[str, Any]:
    """One examination against another, trip by trip: paired differences with 95% intervals, and McNemar's test for passing.

    Raises UserError where they have no trips in common.
    """
    first, second = dense_rewards(before, rules), dense_rewards(after, rules)
    both = sorted(first.keys() & second.keys())
    if not both:
        raise UserError(f"'{before}' and '{after}' have no trips in common.")
    read: dict[str, Callable[[Reward], float]] = {"dense_reward": attrgetter("total"), "schema": attrgetter("schema")}
    read |= {field.name: attrgetter(f"parts.{field.name}") for field in dataclasses.fields(Parts)}
    found: dict[str, Any] = {}
    for name, value in read.items():
        difference = paired_bootstrap([value(first[i]) for i in both], [value(second[i]) for i in both], seed=0)
        found[name] = {**difference._asdict(), "n": len(both)}
    gained = sum(second[i].parts.final > first[i].parts.final for i in both)
    lost = sum(second[i].parts.final < first[i].parts.final for i in both)
    found["final"] |= {"gained": gained, "lost": lost, "p_value": mcnemar_exact(gained, lost)}
    return found


def rates(run: RunFolder, names: tuple[str, ...]) -> list[str]:
    """A line for each yardstick and for each of the examinations `names`: passes with their interval."""
    settings = run.recipe.evaluation
    difficulty = json.loads((run.folder / "difficulty.json").read_text(encoding="utf-8"))
    how = judged_by(kind_of(run.recipe.dialect.dialect()).judged_by(settings.rules))
    lines = [f"final pass rate in worlds never trained on ({how}, greedy, 95% intervals)"]
    rows = [(name.replace("_", " "), difficulty[name]) for name in difficulty if name != "levels"]
    for name in names:
        score = json.loads((run.folder / "eval" / name / "score.json").read_text(encoding="utf-8"))
        rows.append((name.replace("_", " "), score["metrics"]["final"]))
    for name, rate in rows:
        lines.append(f"  {name:<14} {rate['value']:>6.1%}  [{rate['low']:.1%}, {rate['high']:.1%}]  {rate['k']}/{rate['n']}")
    return lines


def change(what: str, comparison: dict[str, Any]) -> str:
    """A comparison in one line."""
    gain, final = comparison["dense_reward"], comparison["final"]
    reward = f"mean dense reward (0 to 5) {gain['mean']:+.3f}  [{gain['low']:+.3f}, {gain['high']:+.3f}]"
    return f"{what}: {reward}; trips gained {final['gained']}, lost {final['lost']} (exact McNemar p = {final['p_value']:.2g}); paired"
