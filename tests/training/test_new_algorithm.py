"""An algorithm is one new file and one row of the table: the example of docs/training.md is added,
refused, and trained with."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")

from tests.files import TINY_TOML, read_lines
from tests.logits import own_logprobs
from tripwright.errors import UserError
from tripwright.rewards.reward import RewardBreakdown
from tripwright.training import stages
from tripwright.training.algorithms import ALGORITHMS, Algorithm
from tripwright.training.recipe import load_recipe
from tripwright.training.rollouts import Rollout
from tripwright.training.run_folder import RunFolder

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "reinforce.py"
RECIPE = f"""{TINY_TOML}
[reinforce]
steps = 1
prompts_per_step = 4
micro_batch_size = 2
"""
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The file, with its row in the table."""
    spec = importlib.util.spec_from_file_location("reinforce_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # where its settings' types are looked up
    spec.loader.exec_module(module)
    monkeypatch.setitem(
        ALGORITHMS, "reinforce", Algorithm(module.ReinforceSettings, module.Reinforce)
    )
    return module


def test_it_trains(example, tmp_path):
    (tmp_path / "recipe.toml").write_text(RECIPE)
    recipe = load_recipe(tmp_path / "recipe.toml")
    assert recipe.record()["reinforce"]["baseline"] == "mean"
    run = RunFolder(tmp_path / "run", recipe)
    stages.make(run)
    stages.take(run, "rl")
    (row,) = read_lines(run.metrics)
    assert row["episodes"] == 4 and row["grad_norm"] >= 0 and row["baseline"] == row["reward_mean"]
    assert run.done("rl")


@pytest.mark.usefixtures("full_precision")
def test_its_gradient_is_that_of_the_formula(example, lab, lab_loop):
    """−Σ A·log p over the agent's own tokens, divided by how many there are."""
    settings = example.ReinforceSettings(minibatches=1, micro_batch_size=2)
    loop = lab_loop(example.Reinforce, settings)
    reward = RewardBreakdown(0.0, {})
    rollouts = [
        Rollout(lab.episode(loop.model, seed, lab.empty), reward, advantage)
        for seed, advantage in enumerate((1.0, -0.5, 2.0))
    ]
    tokens, loss = sum(r.tokens for r in rollouts), torch.zeros(())
    for rollout in rollouts:
        said = own_logprobs(loop.model, rollout.episode.transcript)
        loss = loss - rollout.advantage * said.sum() / tokens
    loss.backward()
    norm = float(torch.nn.utils.get_total_norm([p.grad for p in loop.model.parameters()]))
    loop.model.zero_grad()
    assert loop.update(rollouts, 1.0)["grad_norm"] == pytest.approx(norm, rel=1e-4)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ("epochs_per_batch = 2", r"reinforce: epochs_per_batch must be 1, found 2"),
        ('baseline = "median"', r"reinforce: setting 'baseline': .*'mean' or 'none'"),
    ],
)
def test_its_own_checks_refuse_a_recipe(changed, why, example, tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text(f"{RECIPE}{changed}\n")
    with pytest.raises(UserError, match=why):
        load_recipe(path)
