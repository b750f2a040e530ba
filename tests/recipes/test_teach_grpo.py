"""recipes/teach_grpo.py is short, runs, computes its own advantages and loss, and takes the same
step as the GRPO of `tripwright train`."""

import argparse
import ast
import copy
import importlib.util
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tripwright.domains import domain_named
from tripwright.episode import Episode
from tripwright.rewards.reward import RewardBreakdown

torch = pytest.importorskip("torch")

from torch.optim.optimizer import register_optimizer_step_pre_hook

from tripwright.training.algorithms import ALGORITHMS
from tripwright.training.data_source import RL, trips_of
from tripwright.training.losses import Clip, clipped_loss
from tripwright.training.recipe import load_recipe

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "recipes" / "teach_grpo.py"
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def teach() -> Any:
    spec = importlib.util.spec_from_file_location("teach_grpo", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def optimizer_steps(model: Any, train: Callable[[], object]) -> list[tuple[Any, dict[str, Any]]]:
    """(the gradient of all weights as one vector, the optimizer's settings) of every optimizer step
    in `train()`."""
    steps = []

    def note(optimizer: Any, *_: Any) -> None:
        gradient = torch.cat([p.grad.flatten().clone() for p in model.parameters()])
        settings = optimizer.param_groups[0]
        names = ("lr", "betas", "eps", "weight_decay")
        steps.append((gradient, {name: settings[name] for name in names}))

    hook = register_optimizer_step_pre_hook(note)
    train()
    hook.remove()
    return steps


def test_two_steps_are_those_of_the_industrial_loop(teach, talker, caller, monkeypatch):
    """Both play the requests of recipes/nano/grpo.toml with a random model that calls tools. As it
    passes nothing, the reward is one of length, which is the same in one of the groups."""
    episodes: list[tuple[str, list[int], str]] = []

    def reward(episode: Episode) -> RewardBreakdown:
        transcript = episode.transcript
        episodes.append((episode.task.id, transcript.token_ids, episode.verdict.rules))
        if episode.task.id.startswith("train-1/"):
            return RewardBreakdown(0.3, {})
        return RewardBreakdown(math.sqrt(transcript.turns) + len(transcript.token_ids) % 3, {})

    monkeypatch.setitem(domain_named("travelplanner").rewards, "stage1", reward)
    teach.reward = reward
    recipe = load_recipe(ROOT / "recipes" / "nano" / "grpo.toml")
    settings = replace(recipe.rl.settings, prompts_per_step=4, group_size=3, dtype="float32")
    taught, trained = copy.deepcopy(talker), copy.deepcopy(talker)
    options = argparse.Namespace(
        steps=2,
        prompts_per_step=4,
        group_size=3,
        learning_rate=settings.optimizer.adamw_learning_rate,
        seed=5,
    )
    loop = ALGORITHMS["grpo"].loop(
        trained, caller, recipe.dialect.dialect(), trips_of(recipe, RL), settings, options.seed
    )

    expected = optimizer_steps(trained, lambda: [loop.take_step() for _ in range(2)])
    expected_episodes, episodes[:] = sorted(episodes), []
    steps = optimizer_steps(taught, lambda: teach.train(taught, caller, options))

    assert sorted(episodes) == expected_episodes and len(episodes) == 24
    assert len({len(ids) for _, ids, _ in episodes}) > 6  # so that there is padding
    assert len(steps) == len(expected) == 3  # one minibatch has no signal: no step is taken
    for (gradient, setting), (industrial_gradient, industrial_setting) in zip(
        steps, expected, strict=True
    ):
        assert gradient.norm() > 0.1 and setting == industrial_setting
        torch.testing.assert_close(gradient, industrial_gradient, atol=1e-5, rtol=0)
    for weight, other in zip(taught.parameters(), trained.parameters(), strict=True):
        torch.testing.assert_close(weight, other, atol=1e-5, rtol=0)


def test_its_loss_is_clipped_on_both_sides_and_for_bad_tokens_twice(teach):
    old_NT = -5 * torch.rand(6, 30, generator=torch.Generator().manual_seed(2))
    logprobs_NT = (old_NT + torch.linspace(-3, 3, 30)).requires_grad_()
    advantages_N1 = torch.tensor([2.0, 1.0, 0.5, -0.5, -1.0, -2.0])[:, None]
    expected, _ = clipped_loss(logprobs_NT, old_NT, advantages_N1.expand(6, 30), Clip(0.2, 0.2, 3))
    losses = teach.clipped_loss(logprobs_NT, old_NT, advantages_N1)
    torch.testing.assert_close(losses, expected)
    gradients = [torch.autograd.grad(x.sum(), logprobs_NT)[0] for x in (losses, expected)]
    torch.testing.assert_close(*gradients)


def test_it_is_one_page_that_borrows_neither_advantages_nor_losses():
    text = FILE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 250 and re.search(r"^    for step in range\(", text, re.M)
    nodes = list(ast.walk(ast.parse(text)))
    modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    modules += [alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names]
    rooms = {module.split(".")[1] for module in modules if module.startswith("tripwright.")}
    assert "training" not in rooms


def test_it_trains_a_model_from_a_folder_and_saves_it(
    teach, talker, nano_tokenizer, tmp_path, monkeypatch, capsys
):
    talker.save_pretrained(tmp_path / "start")
    nano_tokenizer.save_pretrained(tmp_path / "start")
    by_length = lambda e: RewardBreakdown(float(len(e.transcript.token_ids)), {})  # noqa: E731
    monkeypatch.setattr(teach, "reward", by_length)
    sizes = "--steps 2 --prompts-per-step 2 --group-size 3"
    teach.main(["--model", f"{tmp_path}/start", "--out", f"{tmp_path}/end", *sizes.split()])

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["step", "1"], ["step", "2"]]
    for name in ("reward", "passed", "groups with a signal", "loss", "gradient norm"):
        assert all(re.search(rf"{name} [-+]?\d", line) for line in lines)
    trained, _ = teach.load_model(tmp_path / "end")
    before = talker.state_dict()
    assert any(not torch.equal(p, before[name]) for name, p in trained.state_dict().items())

    with pytest.raises(SystemExit):  # what was trained is not overwritten
        teach.main(["--model", f"{tmp_path}/start", "--out", f"{tmp_path}/start"])


def test_without_a_model_it_says_how_to_make_one(teach, tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        teach.main(["--model", f"{tmp_path}/nothing"])
    assert stopped.value.code == 2
    assert "tripwright sft recipes/nano/cold_start.toml" in capsys.readouterr().err
