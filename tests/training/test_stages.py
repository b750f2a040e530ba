"""Stages of a run: one after the other, skipped when finished, left out where the recipe has none.
What a kill costs: test_resume."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tripwright.errors import UserError

torch = pytest.importorskip("torch")

from tripwright.inference.local import load_model
from tripwright.training import stages
from tripwright.training.algorithms import ALGORITHMS
from tripwright.training.recipe import Reinforcement, check
from tripwright.training.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("threads_as_before")


@pytest.fixture
def run(tmp_path: Path, tiny_recipe: Any) -> RunFolder:
    return RunFolder(tmp_path / "run", tiny_recipe)


def lines(run: RunFolder) -> list[tuple[str, int]]:
    return [
        (line["stage"], line["step"])
        for line in map(json.loads, run.metrics.read_text().splitlines())
    ]


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
    seconds = [json.loads(line)["seconds"] for line in run.metrics.read_text().splitlines()]
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
