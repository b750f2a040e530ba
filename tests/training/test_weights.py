"""Runs whose weights are in bfloat16: killed, they go on bit for bit; and what is sampled from is
what is trained."""

from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.files import read_lines
from tripwright.errors import UserError
from tripwright.inference.local import load_model
from tripwright.training import stages
from tripwright.training.grpo import Grpo, Kl
from tripwright.training.recipe import CheckpointSettings, Reinforcement, load_recipe
from tripwright.training.run_folder import RunFolder
from tripwright.training.sft import FineTuning

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def recipe(tiny_recipe: Any) -> Any:
    """With a bonus that moves the weights where no episode is worth anything."""
    grpo = replace(tiny_recipe.rl.settings, steps=4, entropy_bonus=0.1, kl=Kl(0.01))
    return replace(
        tiny_recipe,
        copy_pretraining=None,
        model=replace(tiny_recipe.model, weights="bfloat16"),
        rl=Reinforcement("grpo", grpo),
        checkpoint=CheckpointSettings(every_steps=2, every_minutes=None),
    )


class Killed(BaseException):
    pass


def trained(run: RunFolder) -> RunFolder:
    stages.make(run)
    stages.take(run, "sft")
    stages.take(run, "rl")
    return run


def test_a_killed_run_goes_on_bit_for_bit(recipe, tmp_path, monkeypatch):
    whole = trained(RunFolder(tmp_path / "whole", recipe))
    for loop in (FineTuning, Grpo):
        take_step = loop.take_step

        def or_die(self: Any, take_step: Any = take_step) -> Any:
            if self.step == 3:
                raise Killed
            return take_step(self)

        with monkeypatch.context() as patched, pytest.raises(Killed):
            patched.setattr(loop, "take_step", or_die)
            trained(RunFolder(tmp_path / "killed", recipe))
        assert (tmp_path / "killed" / "checkpoints").exists()
    again = trained(RunFolder(tmp_path / "killed", recipe))
    for stage in ("sft", "rl"):
        here, there = (load_model(run.model(stage))[0].state_dict() for run in (whole, again))
        assert {value.dtype for value in here.values()} == {torch.bfloat16}
        assert all(torch.equal(here[name], there[name]) for name in here), stage


def test_the_engine_samples_from_the_weights_themselves(recipe, tmp_path, monkeypatch):
    run = RunFolder(tmp_path, recipe)
    stages.make(run)
    monkeypatch.delattr("tripwright.inference.local.copy")  # to make one would be an error
    stages.take(run, "rl")
    steps = read_lines(run.metrics)
    assert all(step["logprob_gap"] < 0.01 for step in steps)


def test_products_in_another_format_are_refused(tmp_path):
    text = '[model]\nweights = "bfloat16"\n[sft]\nsteps = 1\n'
    load = tmp_path / "r.toml"
    load.write_text(text + 'dtype = "bfloat16"\n')
    assert load_recipe(load).model.weights == "bfloat16"
    load.write_text(text + 'dtype = "float32"\n')
    with pytest.raises(UserError, match=r"sft\.dtype is 'float32', but model\.weights are 'bfl"):
        load_recipe(load)
