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
from tripwright.cli import quickstart as verb
from tripwright.inference.local import load_model
from tripwright.tools.faults import Faults
from tripwright.training import held_out, stages
from tripwright.training.algorithms import ALGORITHMS
from tripwright.training.recipe import Reinforcement, check
from tripwright.training.run_folder import RunFolder
from tripwright.training.stages import (
    LONG,
    SHORT,
    minutes_of,
    quickstart_recipe,
    quickstart_steps,
    seconds_of_imitation,
)

pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.fixture
def run(tmp_path: Path, tiny_recipe: Any) -> RunFolder:
    return RunFolder(tmp_path / "run", tiny_recipe)


def lines(run: RunFolder) -> list[tuple[str, int]]:
    return [(line["stage"], line["step"]) for line in read_lines(run.metrics)]


def everything(run: RunFolder) -> None:
    stages.take_stages(run)


class Killed(BaseException):
    pass


def test_all_stages_leave_a_model_each_and_a_line_for_every_step(run):
    everything(run)
    assert sorted(p.name for p in (run.folder / "model").iterdir()) == [
        "copy_pretraining",
        "rl",
        "sft",
        "start",
    ]
    assert lines(run) == [("copy_pretraining", step) for step in (1, 2, 3)] + [
        ("sft", step) for step in range(1, 7)
    ] + [("rl", 1)]
    seconds = [line["seconds"] for line in read_lines(run.metrics)]
    assert seconds == sorted(seconds)
    (start, tokenizer), (learned, same_tokenizer) = (
        load_model(run.model("start")),
        load_model(run.model("rl")),
    )
    assert any(
        not torch.equal(a, b) for a, b in zip(start.parameters(), learned.parameters(), strict=True)
    )
    assert tokenizer.get_vocab() == same_tokenizer.get_vocab()
    assert json.loads((run.folder / "recipe.json").read_text()) == json.loads(
        json.dumps(run.recipe.record())
    )
    assert not (run.folder / "checkpoints").exists()


@pytest.mark.parametrize("name", sorted(ALGORITHMS.keys() - {"rl"}))  # it: test_own.py
def test_every_algorithm_is_a_stage(name, run):
    settings = ALGORITHMS[name].settings(steps=2, prompts_per_step=2, micro_batch_size=2)
    other = RunFolder(
        run.folder / name,
        replace(run.recipe, copy_pretraining=None, sft=None, rl=Reinforcement(name, settings)),
    )
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
    assert run.done("copy_pretraining") and sorted(
        p.name for p in (run.folder / "model").iterdir()
    ) == ["copy_pretraining", "start"]


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
    assert score["n"] == 4
    assert score["unscored"] == 0
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
    assert {r["id"] for r in before} == {r["id"] for r in after} == {
        r["id"] for r in blind
    } and len(before) == 4
    assert all(
        segment["token_ids"]
        for record in after
        for segment in record["transcript"]["segments"]
        if segment["role"] == "assistant"
    )

    # The same command again does nothing over, and another seed is another run.
    told = (tmp_path / "metrics.jsonl").read_text()
    monkeypatch.setattr(
        "tripwright.training.run_folder.RunFolder.drive",
        lambda *_, **__: pytest.fail("a finished stage was run again"),
    )
    monkeypatch.setattr(
        held_out, "run_episodes", lambda *_, **__: pytest.fail("an examination was held again")
    )
    verb.quickstart(tmp_path, minutes=1, seed=3, threads=1)
    assert (tmp_path / "metrics.jsonl").read_text() == told
    with pytest.raises(UserError, match="another recipe"):
        verb.quickstart(tmp_path, minutes=1, seed=4, threads=1)


@pytest.mark.parametrize(
    ("seconds", "steps"), [(0.4, LONG), (0.7, LONG), (1.0, LONG), (1.2, SHORT), (9.0, SHORT)]
)
def test_a_slow_processor_takes_short_schedules_and_none_is_cut(seconds, steps):
    assert quickstart_steps(None, seconds) == steps


@pytest.mark.parametrize("minutes", [60, 30, 9])
def test_the_time_given_is_what_the_steps_take(minutes):
    assert minutes_of(quickstart_steps(minutes, 0.65), 0.65) == pytest.approx(minutes, abs=0.5)


def test_a_run_goes_on_by_the_steps_it_began_with(tmp_path, monkeypatch):
    pace = [0.5]
    monkeypatch.setattr(stages, "seconds_of_imitation", lambda recipe, threads: pace[0])
    begun = quickstart_recipe(tmp_path, 12, 3, 1)
    assert (begun.sft.max_minutes, begun.rl.settings.max_minutes) == (None, None)
    RunFolder(tmp_path, begun)
    pace[0] = 5.0
    assert quickstart_recipe(tmp_path, None, 3, 1) == begun
    assert quickstart_recipe(tmp_path / "new", None, 3, 1).sft.steps == SHORT[0]


def test_the_processor_is_timed_by_real_steps(tiny_recipe, monkeypatch):
    monkeypatch.setattr(stages, "TIMED_STEPS", 2)
    assert seconds_of_imitation(tiny_recipe, 1) > 0


@pytest.mark.slow
def test_the_shortest_real_one(tmp_path):
    verb.quickstart(tmp_path, minutes=1, seed=0, threads=2)
    score = json.loads((tmp_path / "score.json").read_text())
    assert score["n"] == 500 and score["unscored"] == 0
    stages_told = {line["stage"] for line in read_lines(tmp_path / "metrics.jsonl")}
    assert stages_told == {"copy_pretraining", "sft", "rl"}
