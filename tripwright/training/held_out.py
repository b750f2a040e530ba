"""Requests that no stage trains on, and how a model plays them, by `evals.run`: after training, in
an examination, and while it trains, in validation.

An examination is of generated worlds of its own or of the recipe's place: decoded as the recipe
says, and once with every tool answer emptied.

    RUN/eval/queries.jsonl       the requests of the exam
    RUN/eval/conditions.json     what two examinations must have in common to be compared
    RUN/eval/<name>/             a run of `evals.run` for each model that was examined
    RUN/difficulty.json          what baselines and the expert reach on such requests
    RUN/comparison.json          RL against the cold start, request by request

Every file that is there is not made again, so a stopped examination goes on.

Validation is every so many steps of RL, or of SFT where a recipe has no RL: the model plays such
requests, and the best checkpoint so far is kept (rows P10, S10, D7), to be examined by its step.

    RUN/eval/validation/             its requests, and what two validations must have in common
    RUN/eval/validation-step-N/      a run of `evals.run` for the model after N steps
    RUN/model/<stage>-step-N/        that model, which `from_pretrained` reads: the best one's, or
                                     every one's (validation.keep)
    RUN/best.json                    which step is the best, by which metric, with its interval

The training's state is on disk before a validation begins, so one that was killed goes on with the
same weights. It draws from none of training's random numbers, and its time is not the stage's.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tripwright.agent.chat import ChatFormat
from tripwright.domains.place import same_place
from tripwright.episode import Policy, Task
from tripwright.errors import UserError
from tripwright.evals.comparison import compare_folders
from tripwright.evals.report import write_report
from tripwright.evals.run import floor
from tripwright.evals.run import run as run_episodes
from tripwright.evals.run_card import model_fingerprint, run_card
from tripwright.files import json_object, write_atomically, write_json_lines
from tripwright.inference.local import LocalPolicy, load_model
from tripwright.inference.models import device_named, precision_named
from tripwright.rewards.spec import terms
from tripwright.runs import (
    BEST,
    CARD,
    COMPARISON,
    DIFFICULTY,
    SCORE,
    TRANSCRIPTS,
    VALIDATION_STEP,
    episodes,
)
from tripwright.statistics.rates import mean
from tripwright.tools.faults import Faults
from tripwright.training.checkpoint import process_generators, set_process_generators
from tripwright.training.data_source import (
    file_hash,
    generator_fingerprint,
    requests_in,
)
from tripwright.training.recipe import DENSE_REWARD, Recipe, ValidationSettings, describe_changes
from tripwright.training.rl_loop import RlLoop
from tripwright.training.run_folder import RunFolder
from tripwright.training.sft import FineTuning
from tripwright.training.trips import UNSEEN_WORLDS, VALIDATION_WORLDS, GeneratedTrips
from tripwright.verdict import Verdict

CONDITIONS = "conditions.json"
BEFORE, AFTER, BLIND = "after_sft", "after_rl", "emptied_tools"  # names of evaluations
NAMES = ("before", "after")  # of the two evaluations in a comparison
EXAM_OF = {"sft": BEFORE, "rl": AFTER}  # stage → its evaluation
WITH_FAULTS = "with_faults"  # behind the name of one whose tools fail as the recipe says


@dataclass(frozen=True)
class HeldOut:
    """Requests of a recipe's examination or validation, and how they are played. `queries` and
    `world` are what a run card says of the requests and of what answers them; `origin` what two
    sets of requests must have in common to be the same. `emptied_tools` and `faults` are of the
    tools that a model has there."""

    recipe: Recipe
    tasks: Sequence[Task]
    queries: dict[str, Any]
    world: dict[str, Any]
    origin: dict[str, Any]
    emptied_tools: bool = False
    faults: Faults | None = None

    @property
    def rules(self) -> str:
        """The set of rules, or what a score says of a domain with one way to judge."""
        judge, rules = self.recipe.domain.judge, self.recipe.evaluation.rules
        return judge.rules_named(rules) if judge.rules else judge.name_with(self.recipe.judging)

    def settle(self, folder: Path, **more: Any) -> None:
        """Writes down in `folder` the requests and what two evaluations must have in common to be
        compared (with `more`). Raises UserError where something else stands there."""
        how = self.recipe.evaluation
        context = {} if how.context_tokens is None else {"context_tokens": how.context_tokens}
        decoding = asdict(how.decoding)
        settings = {"rules": self.rules, "decoding": decoding, **self.origin, **context, **more}
        now, path = json.loads(json.dumps(settings)), folder / CONDITIONS
        if path.is_file() and (differing := describe_changes(json_object(path) or {}, now)):
            raise UserError(
                f"'{folder}' was made under other conditions: {differing}. Put the recipe back, or"
                f" remove '{folder}' (with {DIFFICULTY}, if there is one)."
            )
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(now, indent=2))
        requests = ({"id": t.id, "world": t.where, **t.request.record()} for t in self.tasks)
        write_json_lines(folder / "queries.jsonl", requests)

    def play_model(
        self, model: Any, tokenizer: Any, folder: Path, identity: dict[str, Any]
    ) -> dict[str, Any]:
        """The score of a model, shown the tools of training: with others it is another one. The
        dense reward is added to its metrics, last: a score without it is not finished."""
        chat = ChatFormat(tokenizer, self.recipe.dialect.dialect().schemas())
        policy = LocalPolicy(model, chat, self.recipe.sampling)
        score = self.play(policy, folder, identity, chat)
        score["metrics"][DENSE_REWARD] = mean(
            [sum(parts.values()) for parts in reward_terms(folder).values()], seed=0
        )
        write_atomically(folder / SCORE, json.dumps(score, indent=2) + "\n")
        return score

    def play(
        self, policy: Policy, folder: Path, identity: dict[str, Any], chat: ChatFormat | None = None
    ) -> dict[str, Any]:
        """The score of one policy, in `folder`; resumable. What has no `chat` is a script, which
        samples nothing."""
        recipe, dialect = self.recipe, self.recipe.held_out_dialect
        how = recipe.evaluation.decoding
        decoding: dict[str, Any] = {"temperature": how.temperature if chat is not None else 0.0}
        if decoding["temperature"] > 0:
            decoding |= {"seed": recipe.seed, "top_p": how.top_p, "top_k": how.top_k}
        card = run_card(
            identity,
            decoding,
            dialect,
            self.rules,
            self.queries,
            self.world,
            emptied_tools=self.emptied_tools,
            judging=recipe.judging and recipe.judging.card(),
        )
        folder.mkdir(parents=True, exist_ok=True)
        with recipe.domain.judge.opened(recipe.judging, folder) as judged:
            return run_episodes(
                policy,
                map(judged, self.tasks),
                folder,
                dialect,
                chat,
                self.emptied_tools,
                card,
                progress=chat is not None,
                faults=self.faults,
            )


def held_out(recipe: Recipe, file: str | None, count: int, first_world: int) -> HeldOut:
    """All requests of `file` in the recipe's own place; without one `count` generated ones, in
    worlds from `first_world` on. Raises UserError where the file holds none that fit."""
    domain, data = recipe.domain, recipe.data
    task = domain.judged_under(recipe.evaluation.rules)
    if file is not None:
        place, requests = requests_in(recipe, file)
        identity = {"path": file, "sha256": file_hash(file)}
        tasks = [task(f"q{line:06d}", request, place.source) for line, request in requests]
        same = {"file": identity["sha256"], "world": same_place(place.identity)}
        return HeldOut(recipe, tasks, identity, place.identity, same)
    trips = GeneratedTrips(
        domain, (data.scale,), first_world, recipe.evaluation.per_world, recipe.mix
    )
    generated = [task("", *trips.at(number)) for number in range(count)]
    first, last = generated[0].where, generated[-1].where
    queries = {"count": count, "first_world": first, "last_world": last}
    origin = {
        "queries": count,
        "per_world": recipe.evaluation.per_world,
        "scale": data.scale,
        "mix": asdict(recipe.mix),
        "generator": generator_fingerprint(domain.name, data.scale),
    }
    tasks = [task.renamed(f"{task.where}-{n:04d}") for n, task in enumerate(generated)]
    return HeldOut(recipe, tasks, queries, {"name": "generated, never trained on"}, origin)


def finished_score(folder: Path) -> dict[str, Any] | None:
    """Of a model's evaluation that came to its end."""
    score = json_object(folder / SCORE)
    return score if score is not None and DENSE_REWARD in score["metrics"] else None


def reward_terms(evaluation: Path) -> dict[str, dict[str, float]]:
    """Episode id → the terms that add up to the dense reward; scored episodes only."""
    return {
        record["id"]: terms(Verdict.from_record(record["verdict"]))
        for record in episodes(evaluation / TRANSCRIPTS)
        if record["verdict"] is not None
    }


# ---- while training


_STEP = "-step-"  # between stage and number, in the name of a model folder


def checkpoint_models(folder: Path) -> dict[int, Path]:
    """The kept ones of a run that are whole, by their step."""
    models = ((m.name.rpartition("-")[2], m) for m in (folder / "model").glob(f"*{_STEP}*"))
    return {int(step): model for step, model in models if step.isdigit()}


def model_identity(run: RunFolder, stage: str) -> dict[str, Any]:
    """What a run card says of a model of this run."""
    fingerprint = model_fingerprint(str(run.model(stage)))
    return {"kind": "local", "stage": stage, "fingerprint": fingerprint}


@dataclass
class Validation:
    """The evaluations of one stage, for `RunFolder.drive`. `start`: the stage whose model the loop
    began with, which is that of step 0."""

    run: RunFolder
    settings: ValidationSettings
    stage: str
    loop: RlLoop[Any] | FineTuning
    tokenizer: Any
    start: str

    def __post_init__(self) -> None:
        file, count = self.settings.file, self.settings.queries
        self.requests = held_out(self.run.recipe, file, count, VALIDATION_WORLDS)

    def begin(self) -> None:
        """The stage goes on after the loop's step: evaluations of later ones led nowhere. Raises
        UserError where earlier ones were of other requests or conditions."""
        step, start = self.loop.step, model_identity(self.run, self.start)
        for number, folder in evaluations(self.run.folder):
            card = json_object(folder / CARD) or {}
            if number > step or (number == 0 and card.get("policy") != start):
                shutil.rmtree(folder)
        kept = {n: model for n, model in checkpoint_models(self.run.folder).items() if n <= step}
        for model in {*(self.run.folder / "model").glob(f"*{_STEP}*")} - {*kept.values()}:
            shutil.rmtree(model)
        self.requests.settle(self.run.folder / "eval" / "validation")

    def due(self, last: bool) -> bool:
        """Whether the model is to be evaluated as it is now, and was not. `last`: training has come
        to its end."""
        step = self.loop.step
        wanted = last or (step % self.settings.every == 0 and (step > 0 or self.settings.at_start))
        return wanted and finished_score(self._folder(step)) is None

    def take(self) -> dict[str, Any]:
        """Saves the model, evaluates it and keeps what is to be kept; the evaluation's metrics."""
        step, run = self.loop.step, self.run
        name = f"{self.stage}{_STEP}{step}" if step else self.start
        if step and not run.done(name):
            run.save_model(name, self.loop.model, self.tokenizer)
        identity, folder = model_identity(run, name), self._folder(step)
        print(f"\nvalidating after step {step}", file=sys.stderr)
        model, training = self.loop.model, self.loop.model.training
        generators = process_generators()
        with self.loop.clock.stopped():
            score = self.requests.play_model(model.eval(), self.tokenizer, folder, identity)
        model.train(training)
        set_process_generators(generators)
        self._keep_best()
        return {metric: rate["value"] for metric, rate in score["metrics"].items()}

    def _folder(self, step: int) -> Path:
        return self.run.folder / "eval" / f"{VALIDATION_STEP}{step}"

    def _keep_best(self) -> None:
        """The highest rate, of equal ones the earliest."""
        metric = self.settings.metric
        rates = {
            step: score["metrics"][metric]
            for step, folder in evaluations(self.run.folder)
            if (score := finished_score(folder)) is not None
        }
        known = [step for step, rate in rates.items() if rate["value"] is not None]
        if not known:  # nothing was scored yet
            return
        best = max(known, key=lambda step: (rates[step]["value"], -step))
        model = f"{self.stage}{_STEP}{best}" if best else self.start
        record = {"metric": metric, "step": best, **rates[best], "model": f"model/{model}"}
        write_atomically(self.run.folder / BEST, json.dumps(record, indent=2) + "\n")
        if self.settings.keep == "best":
            for kept in checkpoint_models(self.run.folder).values():
                if kept.name != model:
                    shutil.rmtree(kept)


def evaluations(folder: Path) -> list[tuple[int, Path]]:
    """(step, folder) of a run's validations, finished or not, in order."""
    folders = (folder / "eval").glob(f"{VALIDATION_STEP}*")
    return sorted((int(place.name.rpartition("-")[2]), place) for place in folders)


# ---- the examination


def examine(recipe: Recipe, folder: Path, step: str | None = None) -> dict[str, Any]:
    """Examines every stage that is finished in the run folder, the last one also with emptied
    tools, and writes the report. With `step`: the checkpoint that validation kept of that step,
    or the "best", and nothing else. The figures: pass rates, and RL against the cold start.

    Raises UserError where nothing was trained, and where there is no such checkpoint.
    """
    stages = [stage for stage in EXAM_OF if (folder / "model" / stage).is_dir()]
    if step is not None:
        stages = [checkpoint_of(folder, step)]
    if not stages:
        raise UserError(f"'{folder}' holds no trained model (model/sft or model/rl). Train first.")
    if recipe.data.queries is not None and recipe.evaluation.file is None:
        raise UserError(
            f"Recipe '{recipe.name}' trains on a file: name the exam's with evaluation.file."
        )
    run, settings = RunFolder(folder, recipe), recipe.evaluation
    with run.alone():
        exam = requests_of_exam(recipe, settings.queries)
        generated = {"difficulty_queries": settings.difficulty_queries} if not settings.file else {}
        exam.settle(folder / "eval", **generated)
        measure_difficulty(run)
        names = [name for model in stages for name in evaluate_stage(run, exam, model)]
        if step is None:
            evaluate(run, replace(exam, emptied_tools=True), stages[-1], BLIND)
            names.append(BLIND)
        return {
            "rules": exam.rules,
            "decoding": asdict(settings.decoding),
            "final": rates(run, names),
            "comparisons": compare_stages(run) if len(stages) > 1 else {},
            "report": str(write_report(folder)),
        }


def checkpoint_of(folder: Path, step: str) -> str:
    """The name of the model after so many steps, or of the "best". Raises UserError where
    validation kept none."""
    models = checkpoint_models(folder)
    best = json_object(folder / BEST)
    if step == "best" and best is not None:
        return Path(best["model"]).name
    if step.isdigit() and int(step) in models:
        return models[int(step)].name
    kept = f"of steps {', '.join(map(str, sorted(models)))}" if models else "none"
    raise UserError(
        f"--step: '{folder}' has no checkpoint '{step}'. Expected 'best' or one that [validation]"
        f" kept (here: {kept})."
    )


# ---- the exam


def requests_of_exam(recipe: Recipe, count: int) -> HeldOut:
    """All of the recipe's file, or the first `count` generated ones, in worlds that no stage trains
    in."""
    return held_out(recipe, recipe.evaluation.file, count, UNSEEN_WORLDS)


def measure_difficulty(run: RunFolder) -> None:
    """What baselines, the expert and another teacher reach on the exam and more requests like it,
    and the floor. Where a model judges nobody pays for that."""
    path = run.folder / DIFFICULTY
    if path.is_file() or run.recipe.judging is not None:
        return
    recipe, dialect = run.recipe, run.recipe.held_out_dialect
    requests = requests_of_exam(recipe, recipe.evaluation.difficulty_queries)
    difficulty: dict[str, Any] = {"levels": {}, "floor": floor(requests.tasks, dialect)}
    policies = {n: each for n, each in recipe.domain.baselines.items() if not each.is_floor}
    if recipe.sft is not None and recipe.sft.expert != "expert":
        policies["teacher"] = recipe.domain.teachers[recipe.sft.expert]
    for name, policy in policies.items():
        folder = run.folder / "eval" / "difficulty" / name
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
    failing = replace(exam, faults=run.recipe.faults)
    evaluate(run, failing, stage, f"{name}_{WITH_FAULTS}")
    return [name, f"{name}_{WITH_FAULTS}"]


def evaluate(run: RunFolder, exam: HeldOut, stage: str, name: str) -> dict[str, Any]:
    """The score of one stage's model on the exam, in RUN/eval/<name>."""
    folder = run.folder / "eval" / name
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
    return exam.play_model(model, tokenizer, folder, identity)


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
    evaluations = run.folder / "eval"
    comparison = compare(evaluations / BEFORE, evaluations / AFTER)
    comparisons = {words: comparison}
    if run.recipe.faults is not None:
        before, after = (evaluations / f"{name}_{WITH_FAULTS}" for name in (BEFORE, AFTER))
        comparisons[f"{words}, tools failing"] = failing = compare(before, after)
        comparison = {**comparison, WITH_FAULTS: failing}
    write_atomically(run.folder / COMPARISON, json.dumps(comparison, indent=2))
    return comparisons


# ---- in words


def rates(run: RunFolder, names: list[str]) -> dict[str, Any]:
    """The pass rate of each baseline and of each of the evaluations `names`, with its interval."""
    difficulty = json_object(run.folder / DIFFICULTY) or {}
    return {name: rate for name, rate in difficulty.items() if name not in ("levels", "floor")} | {
        name: (json_object(run.folder / "eval" / name / SCORE) or {})["metrics"]["final"]
        for name in names
    }
