"""Stages of a run: one after the other, skipped when finished, left out where the recipe has none.
What a kill costs: test_resume."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tripwright.errors import UserError

torch = pytest.importorskip("torch")

from tests.files import read_lines
from tests.logits import same_weights
from tripwright.cli import quickstart as verb
from tripwright.inference.local import load_model
from tripwright.tools.faults import Faults
from tripwright.training import held_out, stages
from tripwright.training.algorithms import ALGORITHMS
from tripwright.training.recipe import Reinforcement, check, load_recipe
from tripwright.training.recipe_list import recipe_named
from tripwright.training.run_folder import RunFolder
from tripwright.training.stages import (
    minutes_of,
    quickstart_recipe,
    seconds_of_imitation,
    steps_within,
)

pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.fixture
def run(tmp_path: Path, tiny_recipe: Any) -> RunFolder:
    return RunFolder(tmp_path / "run", tiny_recipe)


def lines(run: RunFolder) -> list[tuple[str, int]]:
    return [(line["stage"], line["step"]) for line in read_lines(run.metrics)]


def models(run: RunFolder) -> list[str]:
    return sorted(path.name for path in (run.folder / "model").iterdir())


class Killed(BaseException):
    pass


def test_all_stages_leave_a_model_each_and_a_line_for_every_step(run):
    stages.take_stages(run)
    assert models(run) == ["copy_pretraining", "rl", "sft", "start"]
    steps = {"copy_pretraining": 3, "sft": 6, "rl": 1}
    assert lines(run) == [(name, n) for name, most in steps.items() for n in range(1, most + 1)]
    seconds = [line["seconds"] for line in read_lines(run.metrics)]
    assert seconds == sorted(seconds)
    (start, tokenizer), (learned, same) = (load_model(run.model(each)) for each in ("start", "rl"))
    assert not same_weights(start, learned) and tokenizer.get_vocab() == same.get_vocab()
    written = (run.folder / "recipe.json").read_text()
    assert json.loads(written) == json.loads(json.dumps(run.recipe.record()))
    assert not (run.folder / "checkpoints").exists()


@pytest.mark.parametrize("name", sorted(ALGORITHMS.keys() - {"rl"}))  # it: test_own.py
def test_every_algorithm_is_a_stage(name, run):
    settings = ALGORITHMS[name].settings(steps=2, prompts_per_step=2, micro_batch_size=2)
    alone = {"copy_pretraining": None, "sft": None, "rl": Reinforcement(name, settings)}
    other = RunFolder(run.folder / name, replace(run.recipe, **alone))
    stages.make(other)
    stages.take(other, "rl")
    assert lines(other) == [("rl", 1), ("rl", 2)] and other.done("rl")


def test_tools_of_a_server_need_a_world_of_their_own(run):
    settings = replace(run.recipe.rl.settings, tools="http://127.0.0.1:9")
    with pytest.raises(UserError, match="grpo.tools"):
        check(replace(run.recipe, rl=Reinforcement("grpo", settings)))


def test_a_model_half_written_is_no_model(run, monkeypatch):
    stages.make(run)
    model, tokenizer = load_model(run.model("start"))

    def dying(folder: Any) -> None:
        raise Killed

    monkeypatch.setattr(tokenizer, "save_pretrained", dying)
    with pytest.raises(Killed):
        run.save("copy_pretraining", model, tokenizer)
    assert not run.done("copy_pretraining")
    stages.take(run, "copy_pretraining")
    assert run.done("copy_pretraining") and models(run) == ["copy_pretraining", "start"]


# ---- the quickstart from end to end: cut to seconds, and (slow) as it is, at its shortest


def test_the_whole_loop(tmp_path, tiny_recipe, monkeypatch, capsys):
    recipe = replace(tiny_recipe, faults=Faults(probability=0.9))
    monkeypatch.setattr(
        stages,
        "quickstart_recipe",
        lambda out, minutes, seed, threads: replace(recipe, seed=seed, threads=threads),
    )
    verb.quickstart(tmp_path, minutes=1, seed=3, threads=1)
    printed = capsys.readouterr().out
    for name in ("after_sft", "after_rl_with_faults", "tools failing", "emptied_tools"):
        assert name in printed
    assert str(tmp_path / "report.html") in printed

    score = json.loads((tmp_path / "score.json").read_text())
    assert (score["n"], score["unscored"]) == (4, 0)
    assert {"final", "dense_reward"} <= set(score["metrics"])
    assert score["comparison"]["dense_reward"]["n"] == 4
    assert score["comparison"]["with_faults"]["dense_reward"]["n"] == 4
    for stage in (held_out.BEFORE, held_out.AFTER):
        without, failing = (
            json.loads((tmp_path / "eval" / name / "score.json").read_text())
            for name in (stage, f"{stage}_{held_out.WITH_FAULTS}")
        )
        assert "faults" not in without
        assert failing["faults"]["settings"]["probability"] == 0.9
    difficulty = json.loads((tmp_path / "difficulty.json").read_text())
    assert difficulty["expert"]["n"] == 6 and difficulty["expert"]["value"] == 1.0
    assert (tmp_path / "report.html").stat().st_size > 1000

    def transcripts(name: str) -> list[dict[str, Any]]:
        return read_lines(tmp_path / "eval" / name / "transcripts.jsonl")

    before, after, blind = (
        transcripts(name) for name in (held_out.BEFORE, held_out.AFTER, held_out.BLIND)
    )
    asked, *others = ({record["id"] for record in each} for each in (before, after, blind))
    assert others == [asked, asked] and len(before) == 4
    segments = [segment for record in after for segment in record["transcript"]["segments"]]
    assert all(each["token_ids"] for each in segments if each["role"] == "assistant")
    # The same command again does nothing over, and another seed is another run.
    told = (tmp_path / "metrics.jsonl").read_text()
    monkeypatch.delattr(RunFolder, "drive")  # a stage or an examination again would be an error
    monkeypatch.delattr(held_out, "run_episodes")
    verb.quickstart(tmp_path, minutes=1, seed=3, threads=1)
    assert (tmp_path / "metrics.jsonl").read_text() == told
    with pytest.raises(UserError, match="another recipe"):
        verb.quickstart(tmp_path, minutes=1, seed=4, threads=1)


@pytest.mark.parametrize("minutes", [60, 30, 9])
def test_the_time_given_is_what_the_steps_take(minutes):
    assert minutes_of(steps_within(minutes, 0.65), 0.65) == pytest.approx(minutes, abs=0.5)


def test_a_run_goes_on_by_the_steps_it_began_with(tmp_path, monkeypatch):
    pace = [0.5]
    monkeypatch.setattr(stages, "seconds_of_imitation", lambda recipe, threads: pace[0])
    begun = quickstart_recipe(tmp_path, 12, 3, 1)
    assert (begun.sft.max_minutes, begun.rl.settings.max_minutes) == (None, None)
    RunFolder(tmp_path, begun)
    pace[0] = 5.0  # however slow a processor is, its schedules are those of the others
    usual = load_recipe(recipe_named("nano/quickstart").path)
    assert quickstart_recipe(tmp_path, None, 3, 1) == begun
    (tmp_path / "new").mkdir()
    (tmp_path / "new/recipe.json").write_text('{"name": "another", "sft": null, "grpo": {}}')
    fresh = quickstart_recipe(tmp_path / "new", None, 3, 1)
    assert (fresh.sft, fresh.rl) == (usual.sft, usual.rl)


def test_a_run_of_episodes_is_not_trained_into(tmp_path, tiny_recipe):
    (tmp_path / "transcripts.jsonl").write_text("")
    with pytest.raises(UserError, match="another folder"):
        RunFolder(tmp_path, tiny_recipe)
    with pytest.raises(UserError, match="another folder"):
        quickstart_recipe(tmp_path, None, 0, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["transcripts.jsonl"]


def test_the_processor_is_timed_by_real_steps(tiny_recipe, monkeypatch):
    monkeypatch.setattr(stages, "TIMED_SECONDS", 0)
    assert seconds_of_imitation(tiny_recipe, 1) > 0


@pytest.mark.slow
def test_the_shortest_real_one(tmp_path):
    verb.quickstart(tmp_path, minutes=1, seed=0, threads=2)
    score = json.loads((tmp_path / "score.json").read_text())
    assert score["n"] == 500 and score["unscored"] == 0
    stages_told = {line["stage"] for line in read_lines(tmp_path / "metrics.jsonl")}
    assert stages_told == {"copy_pretraining", "sft", "rl"}
