"""What `tripwright fit` says to change is worth following: each change saves something, the
cheapest come first, and a smaller model is the last of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tripwright.rl.grpo import GrpoSettings
from tripwright.training.fit import memory
from tripwright.training.fit_advice import changes, peak
from tripwright.training.model_shapes import size_of
from tripwright.training.recipe import (
    DialectSettings,
    ModelSettings,
    Recipe,
    Reinforcement,
    load_recipe,
)

NANO = Recipe(threads=1, rl=Reinforcement("grpo", GrpoSettings(prompts_per_step=4)))
LARGE = Recipe(
    dialect=DialectSettings(
        name="planner_r1", context_tokens=8192, max_turn_tokens=2048, max_tool_tokens=2048
    ),
    model=ModelSettings(pretrained="Qwen/Qwen3-8B"),
    rl=Reinforcement("grpo", GrpoSettings(prompts_per_step=16, group_size=8, micro_batch_size=4)),
)


def test_what_fits_needs_no_change() -> None:
    size = size_of(NANO)
    assert changes(NANO, size, 64.0, "cpu") == ([], True)


def test_changes_are_cumulative_and_each_saves_something() -> None:
    size = size_of(LARGE)
    found, enough = changes(LARGE, size, 170.0, "cuda")
    peaks = [peak(memory(LARGE, size, "cuda")), *(change.peak_gb for change in found)]
    assert enough and peaks[-1] <= 170 < peaks[-2] and peaks == sorted(peaks, reverse=True)
    settings = [change.setting.partition(" = ")[0] for change in found]
    assert settings[0] == "grpo.micro_batch_size" and len(set(settings)) == len(settings)


def test_a_change_that_saves_nothing_yet_is_looked_at_again() -> None:
    """Playing takes the most at first, so fewer rows come first; then learning does."""
    settings = replace(LARGE.rl.settings, micro_batch_size=1)
    recipe = replace(LARGE, rl=Reinforcement("grpo", settings))
    found, enough = changes(recipe, size_of(recipe), 160.0, "cuda")
    names = [change.setting.partition(" = ")[0] for change in found]
    assert enough and names == ["grpo.max_concurrent_rollouts", "model.checkpoint_activations"]


def test_planner_r1_s_8b_goes_onto_one_card_without_a_shorter_context_or_another_model() -> None:
    """Its validation's 100 rows are in the way as well; the optimizer's state goes to the host."""
    recipe = load_recipe(Path(__file__).parents[2] / "recipes" / "planner_r1" / "8b.toml")
    found, enough = changes(recipe, size_of(recipe), 80.0, "cuda")
    assert enough and {change.setting for change in found} == {
        "model.checkpoint_activations = true",
        "grpo.max_concurrent_rollouts = 8",
        "evaluation.max_concurrent_rollouts = 8",
        'model.weights = "bfloat16"',
        'grpo.optimizer.state = "offloaded"',
    }


def test_the_last_resort_is_a_smaller_model_of_the_kind() -> None:
    found, enough = changes(LARGE, size_of(LARGE), 24.0, "cuda")
    assert (
        enough
        and found[-1].setting.startswith('model.pretrained = "Qwen/Qwen3-')
        and found[-1].peak_gb <= 24
    )
    assert changes(LARGE, size_of(LARGE), 0.5, "cuda")[1] is False
