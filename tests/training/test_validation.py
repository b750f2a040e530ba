"""Evaluation while training: it changes nothing of the training, survives a kill, and keeps the
best checkpoint."""

import json
import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.training.test_resume import metrics, weights
from tripwright.cli import examine
from tripwright.errors import UserError
from tripwright.evals.evaluate import choose_policy
from tripwright.inference.local import load_model
from tripwright.inference.models import device_named
from tripwright.policies.settings import Decoding, PolicySettings
from tripwright.runs import checkpoint_models, episodes, stage_of
from tripwright.training import held_out, stages
from tripwright.training.loop import StageClock
from tripwright.training.recipe import (
    CheckpointSettings,
    Recipe,
    Reinforcement,
    ValidationSettings,
    load_recipe,
    recipe_of_run,
)
from tripwright.training.run_folder import RunFolder, Stopping
from tripwright.training.trips import VALIDATION_WORLDS

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def recipe(tiny_recipe: Any, request: pytest.FixtureRequest) -> Recipe:
    """Four steps of RL (or of SFT, where a test asks for it) from a fresh model, sampled where it
    is validated; RL's bonus moves weights where no episode is worth anything."""
    rl = Reinforcement("grpo", replace(tiny_recipe.rl.settings, steps=4, entropy_bonus=0.1))
    sft, is_rl = replace(tiny_recipe.sft, steps=4), getattr(request, "param", "rl") == "rl"
    return replace(
        tiny_recipe,
        **({"sft": None, "rl": rl} if is_rl else {"sft": sft, "rl": None}),
        copy_pretraining=None,
        evaluation=replace(tiny_recipe.evaluation, decoding=Decoding(0.7, 0.9)),
        validation=ValidationSettings(every=2, queries=3, metric="dense_reward", keep="all"),
        checkpoint=CheckpointSettings(every_steps=None, every_minutes=None),
    )


def trained(folder: Path, recipe: Recipe) -> RunFolder:
    run = RunFolder(folder, recipe)
    stages.make(run)
    stages.take(run, "sft")
    stages.take(run, "rl")
    return run


@pytest.fixture(scope="module")
def whole(recipe: Recipe, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Trained without a stop; what changes it works on a copy."""
    return trained(tmp_path_factory.mktemp("whole") / "run", recipe)


@pytest.fixture
def run(whole: RunFolder, tmp_path: Path) -> RunFolder:
    shutil.copytree(whole.folder, tmp_path / "run")
    return RunFolder(tmp_path / "run", whole.recipe)


both_stages = pytest.mark.parametrize("recipe", ["rl", "sft"], indirect=True)


def stage(recipe: Recipe) -> str:
    return "rl" if recipe.rl else "sft"


def score(run: RunFolder, step: int) -> dict[str, Any]:
    folder = run.folder / "eval" / f"validation-step-{step}"
    return json.loads((folder / "score.json").read_text())  # type: ignore[no-any-return]


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def played(run: RunFolder, step: int) -> dict[str, list[int]]:
    path = run.folder / "eval" / f"validation-step-{step}" / "transcripts.jsonl"
    return {
        record["id"]: [i for part in record["transcript"]["segments"] for i in part["token_ids"]]
        for record in episodes(path)
    }


@both_stages
def test_validation_is_every_n_steps_and_changes_nothing_of_the_training(recipe, run, tmp_path):
    plain, name = trained(tmp_path / "plain", replace(recipe, validation=None)), stage(recipe)
    assert same(weights(plain, name), weights(run, name)) and metrics(plain) == metrics(run)
    assert [step for step, _ in held_out.evaluations(run.folder)] == [0, 2, 4]
    card = score(run, 2)["run_card"]
    assert card["decoding"] == {"temperature": 0.7, "seed": 0, "top_p": 0.9, "top_k": None}
    assert card["policy"]["stage"] == f"{name}-step-2" and score(run, 2)["n"] == 3
    first = json.loads((run.folder / "eval/validation/queries.jsonl").read_text().splitlines()[0])
    assert first["world"].endswith(str(VALIDATION_WORLDS))  # none that examine or a stage has


@both_stages
def test_a_checkpoint_is_a_model_folder_that_plays_as_it_was_validated(recipe, run):
    name = stage(recipe)
    assert same(weights(run, f"{name}-step-4"), weights(run, name))
    assert not same(weights(run, f"{name}-step-2"), weights(run, name))
    model, tokenizer = load_model(run.model(f"{name}-step-2"), device_named(recipe.model.device))
    requests = held_out.held_out(recipe, None, 3, VALIDATION_WORLDS)
    again = run.folder / "eval" / "validation-step-22"
    requests.play_model(held_out.player(recipe, tokenizer, model), again, {"kind": "local"})
    assert played(run, 22) == played(run, 2)


@pytest.mark.parametrize(
    ("recipe", "step"), [("rl", 0), ("rl", 2), ("rl", 4), ("sft", 2)], indirect=["recipe"]
)
def test_a_killed_validation_goes_on_with_the_same_weights(
    step, recipe, whole, tmp_path, monkeypatch
):
    folder, play = tmp_path / "killed", held_out.run_episodes

    def die(policy: Any, tasks: Any, out: Path, *rest: Any, **more: Any) -> dict[str, Any]:
        if out.name == f"validation-step-{step}":
            play(policy, list(tasks)[:1], out, *rest, **more)
            (out / "score.json").unlink()
            raise KeyboardInterrupt
        return play(policy, tasks, out, *rest, **more)

    monkeypatch.setattr(held_out, "run_episodes", die)
    with pytest.raises(KeyboardInterrupt):
        trained(folder, recipe)
    monkeypatch.setattr(held_out, "run_episodes", play)
    before = (folder / f"eval/validation-step-{step}/transcripts.jsonl").read_text()
    assert before.count("\n") == 1
    torch.rand(5)  # another process would stand elsewhere
    killed = trained(folder, recipe)
    after = (folder / f"eval/validation-step-{step}/transcripts.jsonl").read_text()
    assert after.startswith(before)
    assert same(weights(whole, stage(recipe)), weights(killed, stage(recipe)))
    assert metrics(whole) == metrics(killed)
    assert all(played(whole, n) == played(killed, n) for n in (0, 2, 4))


def test_what_led_nowhere_is_validated_anew(recipe, run):
    """The stage is begun again: its later checkpoints were of other weights."""
    before = weights(run, "rl-step-2")
    run.model("rl").rename(run.folder / "aside")
    (run.folder / "recipe.json").unlink()
    other = replace(recipe.rl.settings, entropy_bonus=0.2)
    again = trained(run.folder, replace(recipe, rl=Reinforcement("grpo", other)))
    found = score(again, 2)["run_card"]["policy"]["fingerprint"]
    assert found == held_out.model_fingerprint(again.model("rl-step-2"))
    assert not same(weights(again, "rl-step-2"), before)


@pytest.mark.parametrize(("keep", "kept"), [("all", [2, 4]), ("best", [2])])
def test_the_best_is_kept_by_its_metric_and_of_equals_the_earliest(
    keep, kept, recipe, tmp_path, monkeypatch
):
    rates = {0: 0.1, 2: 0.5, 4: 0.5}
    play = held_out.HeldOut.play_model

    def rated(*args: Any, **more: Any) -> dict[str, Any]:
        result, folder = play(*args, **more), args[2]
        result["metrics"]["delivery"]["value"] = rates[int(folder.name.rpartition("-")[2])]
        (folder / "score.json").write_text(json.dumps(result))
        return result

    monkeypatch.setattr(held_out.HeldOut, "play_model", rated)
    settings = replace(recipe.validation, metric="delivery", keep=keep)
    run = trained(tmp_path / "run", replace(recipe, validation=settings))
    best = json.loads((run.folder / "best.json").read_text())
    assert (best["metric"], best["step"], best["value"]) == ("delivery", 2, 0.5)
    assert best["model"] == "model/rl-step-2" and best["low"] <= best["high"]
    assert sorted(checkpoint_models(run.folder)) == kept


@both_stages
def test_any_kept_checkpoint_is_examined_by_its_step(recipe, run, capsys):
    assert recipe_of_run(run.folder).record() == recipe.record()
    examine.examine(run.folder, step="2")
    assert "step-2" in capsys.readouterr().out.replace(" ", "-")
    exam = json.loads((run.folder / "eval/step-2/score.json").read_text())
    assert exam["run_card"]["policy"]["stage"] == f"{stage(recipe)}-step-2"
    assert exam["run_card"]["queries"] != score(run, 2)["run_card"]["queries"]
    best = json.loads((run.folder / "best.json").read_text())
    (run.folder / "best.json").write_text(json.dumps(best | {"model": "model/start"}))
    examine.examine(run.folder, step="best")
    assert (run.folder / "eval/start/score.json").is_file()
    with pytest.raises(UserError, match=r"no checkpoint '3'. Expected 'best', .* of steps 2, 4"):
        examine.examine(run.folder, step="3")
    shutil.rmtree(run.model(f"{stage(recipe)}-step-2"))
    shutil.rmtree(run.model(f"{stage(recipe)}-step-4"))
    for other in ("two", "²"):
        with pytest.raises(UserError, match="here: none"):
            examine.examine(run.folder, step=other)


def test_a_policy_is_a_training_and_a_step_of_it(recipe, run):
    verl = run.folder / "verl/global_step_3/actor/huggingface"
    shutil.copytree(run.model("rl-step-2"), verl)
    places = {"2": run.model("rl-step-2"), "3": verl, "best": None, None: run.model("rl")}
    places["best"] = run.folder / json.loads((run.folder / "best.json").read_text())["model"]
    for step, place in places.items():
        settings = PolicySettings(model=str(run.folder), step=step, dtype="float32")
        assert choose_policy(settings, recipe.dialect.dialect()).identity["model"] == str(place)
    assert stage_of(run.folder, verl) == "rl-step-3"
    with pytest.raises(UserError, match="does not know --step"):
        choose_policy(replace(settings, name="expert", model=None, step="2"), "compact")


def test_other_requests_are_not_drawn_into_one_curve(recipe, run):
    run.model(stage(recipe)).rename(run.folder / "aside")
    settings = replace(recipe.validation, queries=5)
    with pytest.raises(UserError, match="made under other conditions: queries: 3 -> 5. Put"):
        trained(run.folder, replace(recipe, validation=settings))


def test_a_signal_stops_a_validation_at_once():
    with Stopping() as stopping:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stopping.asked == signal.SIGTERM  # a step is first finished
    with pytest.raises(SystemExit) as ended, Stopping() as stopping, stopping.at_once():
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended.value.code == 143


def test_an_evaluation_takes_none_of_a_stage_s_minutes(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("tripwright.training.loop.time.monotonic", lambda: now[0])
    clock = StageClock(None, 10)
    now[0] = 60.0
    with clock.stopped():
        now[0] = 600.0
    now[0] = 660.0
    assert clock.minutes == 2


RECIPE = "[grpo]\nsteps = 2\n\n[validation]\nevery = 1\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (RECIPE + 'metric = "finale"', "unknown validation.metric 'finale'. Accepted: final, del"),
        ("[validation]\nevery = 1", "[validation] is during [sft]"),
        (RECIPE + 'file = "q.jsonl"', "validation.file needs data.queries"),
        (RECIPE + '[data]\nqueries = "q"\nworld = "w"', "needs a file of requests beside data"),
        (RECIPE + "[evaluation.decoding]\ntop_p = 0.0", "evaluation.decoding: Sampling needs"),
    ],
)
def test_a_validation_that_cannot_be_is_refused(text, words, tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises(UserError, match="recipe.toml") as refused:
        load_recipe(path)
    assert words in str(refused.value)
