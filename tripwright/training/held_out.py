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
from tripwright.domains.domain import request_key
from tripwright.domains.place import same_place
from tripwright.episode import Policy, Task
from tripwright.errors import UserError
from tripwright.evals.comparison import compare_folders
from tripwright.evals.report import write_report
from tripwright.evals.run import floor
from tripwright.evals.run import run as run_episodes
from tripwright.evals.run_card import model_fingerprint, run_card
from tripwright.files import json_object, write_atomically, write_json_lines
from tripwright.inference.local import LocalPolicy, inspect_model, load_model
from tripwright.inference.models import device_named, precision_named
from tripwright.llm.http import named_key
from tripwright.rewards.spec import terms
from tripwright.runs import (
    BEST,
    CARD,
    COMPARISON,
    DIFFICULTY,
    SCORE,
    STEP,
    TRANSCRIPTS,
    VALIDATION_STEP,
    episodes,
    kept_models,
    model_in,
    stage_of,
)
from tripwright.statistics.rates import mean
from tripwright.tools.faults import Faults
from tripwright.training.checkpoint import process_generators, set_process_generators
from tripwright.training.data_source import file_hash, generator_fingerprint, requests_in
from tripwright.training.loop import Loop
from tripwright.training.recipe import DENSE_REWARD, Recipe, ValidationSettings, describe_changes
from tripwright.training.rollout_worker import TokenPolicy, TokenSampler
from tripwright.training.run_folder import RunFolder
from tripwright.training.served import ROLLOUT_KEY, server_at
from tripwright.training.trips import UNSEEN_WORLDS, VALIDATION_WORLDS, GeneratedTrips
from tripwright.verdict import Verdict

Trained = LocalPolicy | TokenPolicy

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
    tools that a model has there; `server` has the model, in the place of our engine."""

    recipe: Recipe
    tasks: Sequence[Task]
    queries: dict[str, Any]
    world: dict[str, Any]
    origin: dict[str, Any]
    emptied_tools: bool = False
    faults: Faults | None = None
    server: TokenSampler | None = None

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

    def play_model(self, policy: Trained, folder: Path, identity: dict[str, Any]) -> dict[str, Any]:
        """The score of a model (`player`). The dense reward is added to its metrics, last: a score
        without it is not finished."""
        score = self.play(policy, folder, identity, policy.chat)
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


def player(
    recipe: Recipe, tokenizer: Any, model: Any = None, server: TokenSampler | None = None
) -> Trained:
    """A model as it is examined, shown the tools of training: with others it is another one. It is
    here, or `server` has it."""
    chat = ChatFormat(tokenizer, recipe.dialect.dialect().schemas())
    if server is not None:
        return TokenPolicy(server, chat, recipe.sampling)
    return LocalPolicy(model, chat, recipe.sampling)


def check_apart(recipe: Recipe) -> None:
    """Raises UserError where requests that choose the checkpoint are asked again in the exam."""
    files = recipe.validation and recipe.validation.file, recipe.evaluation.file
    if not all(files):
        return
    chosen, asked = (
        {request_key(each) for _, each in requests_in(recipe, file)[1]} for file in files if file
    )
    if both := len(chosen & asked):
        raise UserError(
            f"{both} of the exam's {len(asked)} requests ('{files[1]}') choose the checkpoint, too"
            f" ('{files[0]}'). Name others in evaluation.file, or divide these: tripwright data"
            " split FILE --parts validation:N,exam:N --out DIR"
        )


# ---- while training


def model_identity(stage: str, folder: str | Path) -> dict[str, Any]:
    """What a run card says of a run's model."""
    return {"kind": "local", "stage": stage, "fingerprint": model_fingerprint(folder)}


def validation_requests(recipe: Recipe, settings: ValidationSettings) -> HeldOut:
    return held_out(recipe, settings.file, settings.queries, VALIDATION_WORLDS)


def is_due(settings: ValidationSettings, folder: Path, step: int, last: bool) -> bool:
    """Whether the model is to be evaluated as it is after so many steps, and was not. `last`:
    training has come to its end."""
    wanted = last or (step % settings.every == 0 and (step > 0 or settings.at_start))
    return wanted and finished_score(folder / "eval" / f"{VALIDATION_STEP}{step}") is None


@dataclass
class Validation:
    """The evaluations of one stage, for `RunFolder.drive`. `start`: the stage whose model the loop
    began with, which is that of step 0."""

    run: RunFolder
    settings: ValidationSettings
    stage: str
    loop: Loop
    tokenizer: Any
    start: str

    def __post_init__(self) -> None:
        self.requests = validation_requests(self.run.recipe, self.settings)

    def begin(self) -> None:
        """The stage goes on after the loop's step: evaluations of later ones led nowhere. Raises
        UserError where earlier ones were of other requests or conditions."""
        step = self.loop.step
        start = model_identity(self.start, self.model(0))
        for number, folder in evaluations(self.run.folder):
            card = json_object(folder / CARD) or {}
            if number > step or (number == 0 and card.get("policy") != start):
                shutil.rmtree(folder)
        kept = {n: model for n, model in kept_models(self.run.folder).items() if n <= step}
        for model in {*(self.run.folder / "model").glob(f"*{STEP}*")} - {*kept.values()}:
            shutil.rmtree(model)
        self.requests.settle(self.run.folder / "eval" / "validation")

    def due(self, last: bool) -> bool:
        return is_due(self.settings, self.run.folder, self.loop.step, last)

    def take(self) -> dict[str, Any]:
        """Saves the model, evaluates it and keeps what is to be kept; the evaluation's metrics."""
        step, run = self.loop.step, self.run
        name = self.name(step)
        print(f"\nvalidating after step {step}", file=sys.stderr)
        if step and not run.done(name):
            self.save(name)
        score = self.evaluated(self._folder(step), model_identity(name, self.model(step)))
        self._keep_best()
        return {metric: rate["value"] for metric, rate in score["metrics"].items()}

    def name(self, step: int) -> str:
        return f"{self.stage}{STEP}{step}" if step else self.start

    def model(self, step: int) -> Path:
        """Where the one after so many steps is kept."""
        return self.run.model(self.name(step))

    def save(self, name: str) -> None:
        self.run.save_model(name, self.loop.model, self.tokenizer)

    def evaluated(self, folder: Path, identity: dict[str, Any]) -> dict[str, Any]:
        """The score of the loop's model."""
        loop: Any = self.loop
        training, generators = loop.model.training, process_generators()
        with loop.clock.stopped():
            policy = player(self.run.recipe, self.tokenizer, loop.model.eval())
            score = self.requests.play_model(policy, folder, identity)
        loop.model.train(training)
        set_process_generators(generators)
        return score

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
        model, folder = self.model(best), self.run.folder
        where = model.relative_to(folder) if folder in model.parents else model
        record = {"metric": metric, "step": best, **rates[best], "model": str(where)}
        write_atomically(folder / BEST, json.dumps(record, indent=2) + "\n")
        if self.settings.keep == "best":
            for kept in kept_models(folder).values():
                if kept != model:
                    shutil.rmtree(kept)


def evaluations(folder: Path) -> list[tuple[int, Path]]:
    """(step, folder) of a run's validations, finished or not, in order."""
    folders = (folder / "eval").glob(f"{VALIDATION_STEP}*")
    return sorted((int(place.name.rpartition("-")[2]), place) for place in folders)


# ---- the examination


def examine(
    recipe: Recipe,
    folder: Path,
    step: str | None = None,
    base_url: str | None = None,
    api_key_env: str = ROLLOUT_KEY,
) -> dict[str, Any]:
    """Examines every stage that is finished in the run folder, the last one also with emptied
    tools, and writes the report. With `step`: the checkpoint of that step, or the "best" of
    validation, and nothing else. With `base_url`: what the server there has, and plays. The
    figures: pass rates, and RL against the cold start.

    Raises UserError where nothing was trained, and where there is no such checkpoint.
    """
    models = [place for stage in EXAM_OF if (place := folder / "model" / stage).is_dir()]
    if step is not None:
        models = [model_in(folder, step)]
    if not models:
        raise UserError(f"'{folder}' holds no trained model (model/sft or model/rl). Train first.")
    if recipe.data.queries is not None and recipe.evaluation.file is None:
        raise UserError(
            f"Recipe '{recipe.name}' trains on a file: name the exam's with evaluation.file."
        )
    check_apart(recipe)
    server, last = None, models[-1]
    if base_url is not None:
        config, _ = inspect_model(last, elsewhere=True)
        server, named = server_at(base_url, config.vocab_size, named_key(api_key_env))
        accepted, end = " or ".join(f"'{p}'" for p in models), Path(named).parts[-3:]
        models = [place for place in models if place.resolve().parts[-len(end) :] == end]
        if not models:
            raise UserError(f"--base-url: that server has '{named}', expected {accepted}.")
    run, settings = RunFolder(folder, recipe), recipe.evaluation
    with run.alone():
        exam = replace(requests_of_exam(recipe, settings.queries), server=server)
        generated = {"difficulty_queries": settings.difficulty_queries} if not settings.file else {}
        exam.settle(folder / "eval", **generated)
        measure_difficulty(run)
        names = [name for model in models for name in evaluate_stage(run, exam, model)]
        if step is None and last in models:
            evaluate(run, replace(exam, emptied_tools=True), last, BLIND)
            names.append(BLIND)
        return {
            "rules": exam.rules,
            "decoding": asdict(settings.decoding),
            "final": rates(run, names),
            "comparisons": compare_stages(run) if step is None else {},
            "report": str(write_report(folder)),
        }


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


def evaluate_stage(run: RunFolder, exam: HeldOut, model: Path) -> list[str]:
    """The names of a model's evaluations: one, and one with the recipe's faults where it has
    some."""
    stage = stage_of(run.folder, model)
    name = EXAM_OF.get(stage) or stage.partition("-")[2] or stage  # "rl-step-2": "step-2"
    evaluate(run, exam, model, name)
    if run.recipe.faults is None:
        return [name]
    failing = replace(exam, faults=run.recipe.faults)
    evaluate(run, failing, model, f"{name}_{WITH_FAULTS}")
    return [name, f"{name}_{WITH_FAULTS}"]


def evaluate(run: RunFolder, exam: HeldOut, model: Path, name: str) -> dict[str, Any]:
    """The score of one model of the run on the exam, in RUN/eval/<name>; whoever has played it."""
    folder, server = run.folder / "eval" / name, exam.server
    own = model_identity(stage_of(run.folder, model), model)
    identity = own | ({"server": server.name} if server else {})
    card, score = json_object(folder / CARD) or {}, finished_score(folder)
    if score is not None and own.items() <= score["run_card"]["policy"].items():
        return score
    if card.get("policy", identity) != identity:  # of the cold start, before there was RL
        shutil.rmtree(folder)
    print(f"examining {name}", file=sys.stderr)
    if server is not None:
        policy = player(run.recipe, inspect_model(model, elsewhere=True)[1], server=server)
    else:
        how = run.recipe.model
        where = device_named(how.device), precision_named(how.weights)
        loaded, tokenizer = load_model(model, *where)
        policy = player(run.recipe, tokenizer, loaded)
    return exam.play_model(policy, folder, identity)


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
    if not all(finished_score(evaluations / name) for name in (BEFORE, AFTER)):
        return {}
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
