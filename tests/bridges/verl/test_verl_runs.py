"""verl's own trainer on this CPU, with our episode: the proofs of docs/cluster.md held. Skipped
where `make verl` was not run; all but the first, a short form of the second, are slow."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from tripwright.bridges.verl.launch import verl_python
from tripwright.errors import UserError
from tripwright.inference.local import load_model
from tripwright.inference.models import adapter_parameters, base_of

try:
    verl_python()
except UserError as missing:
    pytest.skip(str(missing), allow_module_level=True)

_spec = importlib.util.spec_from_file_location("proofs", Path(__file__).with_name("proofs.py"))
assert _spec is not None and _spec.loader is not None
proofs: Any = importlib.util.module_from_spec(_spec)
sys.modules["proofs"] = proofs
_spec.loader.exec_module(proofs)

COLD = 'name = "verl_cold"\nbase = "nano/cold_start"\nthreads = 1\n[sft]\nsteps = 300\n'
SMALL = COLD.replace("300", "60") + "[model.shape]\nhidden = 128\nlayers = 2\nfeed_forward = 384\n"


def cold_started(recipe: str, folder: Path) -> str:
    from tripwright.cli.train import sft

    (folder / "cold.toml").write_text(recipe)
    sft(folder / "cold.toml", out=folder / "run", engine="local")
    return str(folder / "run/model/sft")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Some minutes of cold start."""
    return cold_started(COLD, tmp_path_factory.mktemp("cold"))


def hold(figures: dict[str, Any]) -> None:
    assert set(figures["that differ"].values()) == {0}
    assert figures["with an advantage"] > 0
    assert figures["difference of the gradient, of its norm"] < 1e-4
    assert figures["FLOPs, of those trained"] == pytest.approx(1)
    assert figures["memory of a worker, MB"] > 300  # torch, verl and the model


@pytest.mark.usefixtures("threads_as_before")
def test_a_step_is_the_local_engines_in_short(tmp_path):
    hold(proofs.equality(cold_started(SMALL, tmp_path), tmp_path / "proof", short=True))
    trained, _ = load_model(tmp_path / "proof/run/model/rl")
    assert {str(weight.dtype) for weight in trained.parameters()} == {"torch.float32"}


@pytest.mark.slow
def test_a_step_is_the_local_engines(model, tmp_path):
    hold(proofs.equality(model, tmp_path))


@pytest.mark.slow
@pytest.mark.usefixtures("threads_as_before")
def test_so_is_a_step_of_an_adapter_with_recomputed_log_probabilities(tmp_path):
    more = "[model.lora]\nrank = 4\nalpha = 8.0\n[grpo.importance]\nrecompute = true\n"
    cold = cold_started(SMALL, tmp_path)
    hold(proofs.equality(cold, tmp_path / "proof", short=True, more=more))
    run = (tmp_path / "proof/run").rename(tmp_path / "moved")
    trained, _ = load_model(run / "model/rl")
    learned = [p for name, p in adapter_parameters(trained) if ".lora_B." in name]
    assert all(p.abs().max() > 0 for p in learned)
    assert all(base_of(saved.parent) for saved in run.glob("verl/*/*/*/adapter_config.json"))


@pytest.mark.slow
def test_epochs_are_the_local_engines(tmp_path):
    local, verl = (
        proofs.epochs(cold_started(SMALL, tmp_path), tmp_path / "proof").popitem()[1].values()
    )
    assert [row[:3] for row in local] == [[1, 4 / 6, 1], [2, 8 / 6, 1], [3, 2, 2]]
    assert [row[:4] for row in verl] == [row[:4] for row in local]
    assert [row[4] for row in verl] == pytest.approx([row[4] for row in local], abs=1e-6)
    assert verl[0][4] == 0 < verl[2][4]


@pytest.mark.slow
def test_thirty_steps_end_where_the_local_engine_ends(model, tmp_path):
    means = proofs.learning(model, tmp_path)["mean reward of the first five and the last ten steps"]
    local = [end for name, (_, end) in means.items() if name.startswith("local")]
    spread = max(local) - min(local)
    assert min(local) - spread <= means["verl 0"][1] <= max(local) + spread


@pytest.mark.slow
def test_killed_it_goes_on_and_has_lost_nothing(model, tmp_path):
    figures = proofs.kills(model, tmp_path)
    assert figures["steps"] == [1, 2, 3, 4]
    for whole, killed in figures["rewards, whole and killed"]:
        assert killed == pytest.approx(whole, abs=1e-6)


@pytest.mark.slow
def test_two_raylets_give_what_one_gives(model, tmp_path):
    one, two = proofs.raylets(model, tmp_path).popitem()[1].values()
    assert len(one) == len(two) == 2
    for step, same in zip(one, two, strict=True):  # reward, tokens, norm of the gradient
        assert same == pytest.approx(step, rel=1e-5)


@pytest.mark.slow
def test_a_dead_tool_server_makes_unscored_episodes(model, tmp_path):
    figures = proofs.tools(model, tmp_path)
    assert figures["steps"][0]["unscored"] == 0
    assert figures["steps"][-1]["unscored"] == figures["steps"][-1]["episodes"]
    assert figures["steps"][-1]["reward_mean"] is None


@pytest.mark.slow
def test_validation_while_it_trains_killed_within_one(model, tmp_path):
    figures = proofs.validation(model, tmp_path)
    assert figures["episodes before the kill, kept"] and figures["steps"] == [1, 2, 3]
    assert figures["episodes that the local engine plays alike"] == {0: 6, 2: 6, 3: 6}
    assert [card["stage"] for card in figures["cards"]] == ["start", "rl-step-2", "rl-step-3"]
    best = figures["best"]
    assert best["value"] == max(figures["dense reward"]) and best["metric"] == "dense_reward"
    kept = f"rl-step-{best['step']}" if best["step"] else "sft"
    assert figures["found"]["best"].endswith(f"/model/{kept}")
    other = {"2", "3"} - {str(best["step"])}
    assert all(f"verl/global_step_{n}/" in figures["found"][n] for n in other)


@pytest.mark.slow
def test_both_sabotages_are_caught(model, tmp_path):
    figures = proofs.sabotage(model, tmp_path)
    assert figures["none"]["exit code"] == 0
    assert max(filter(None, figures["none"]["logprob_gap"])) < 1e-5
    for how in ("weights", "silence"):
        assert "a fixed prompt after step 1: sampler and trainer differ" in figures[how]["said"]
    assert "the loop was sabotaged" in figures["loop"]["said"]
    assert all(figures[how]["exit code"] != 0 for how in ("weights", "silence", "loop"))
