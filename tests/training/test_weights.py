"""Runs whose weights are in bfloat16: killed, they go on bit for bit; and what is sampled from is
what is trained."""

from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.files import read_lines
from tripwright.errors import UserError
from tripwright.training import stages
from tripwright.training.grpo import Kl
from tripwright.training.recipe import CheckpointSettings, Reinforcement, load_recipe
from tripwright.training.run_folder import RunFolder

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
