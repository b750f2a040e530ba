"""Optimizers are what the settings say."""

from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.logits import token_logits
from tripwright.inference.decoder import Decoder
from tripwright.training.batches import collate
from tripwright.training.optim import Optimizers, OptimizerSettings, warm_up_and_decay

pytestmark = pytest.mark.usefixtures("one_thread")


# ---- optimizers


def filled(model: Any, seed: int = 0) -> None:
    rng = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=rng)


def test_muon_has_the_matrices_inside_the_layers_and_adamw_the_rest(tiny_model):
    model = tiny_model("llama", 50)  # its output matrix is a parameter of its own
    adamw, muon = Optimizers(model, OptimizerSettings()).all
    named = {id(p): name for name, p in model.named_parameters()}
    inside = {named[id(p)] for group in muon.param_groups for p in group["params"]}
    rest = {named[id(p)] for group in adamw.param_groups for p in group["params"]}
    assert inside == {name for name in named.values() if "proj" in name}
    assert rest == set(named.values()) - inside
    assert {"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"} <= rest


def test_adamw_alone_has_everything(tiny_model):
    (only,) = Optimizers(
        tiny_model("qwen3", 50),
        OptimizerSettings(name="adamw", adamw_learning_rate=0.5, weight_decay=0.25),
    ).all
    assert isinstance(only, torch.optim.AdamW) and (
        only.defaults["lr"],
        only.defaults["weight_decay"],
    ) == (0.5, 0.25)


def test_a_step_clips_scales_and_clears(tiny_model):
    model = tiny_model("qwen3", 50)
    optimizers = Optimizers(model, OptimizerSettings())
    filled(model)
    norm = float(torch.cat([p.grad.flatten() for p in model.parameters()]).norm())
    before = [p.detach().clone() for p in model.parameters()]
    assert optimizers.step(0.0) == pytest.approx(norm, rel=1e-4)
    # at 0 times the rate
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert all(p.grad is None for p in model.parameters())
    for scale in (1.0, 0.5):
        filled(model)
        optimizers.step(scale)
        assert [g["lr"] for o in optimizers.all for g in o.param_groups] == pytest.approx(
            [1e-3 * scale, 0.02 * scale]
        )


def test_the_state_of_optimizers_goes_on_where_it_was(tiny_model):
    whole, halved = tiny_model("qwen3", 50), tiny_model("qwen3", 50)
    one, first = Optimizers(whole, OptimizerSettings()), Optimizers(halved, OptimizerSettings())
    for seed in range(2):
        for model, optimizers in ((whole, one), (halved, first)):
            filled(model, seed)
            optimizers.step()
    second = Optimizers(halved, OptimizerSettings())
    second.load_state_dict(first.state_dict())
    for model, optimizers in ((whole, one), (halved, second)):
        filled(model, 7)
        optimizers.step(0.5)
    assert all(
        torch.equal(a, b) for a, b in zip(whole.parameters(), halved.parameters(), strict=True)
    )


def test_the_schedule_rises_and_falls():
    assert warm_up_and_decay(0.0) == 0.0
    assert warm_up_and_decay(0.01) == pytest.approx(0.5)
    assert warm_up_and_decay(0.02) == pytest.approx(1.0)
    assert warm_up_and_decay(0.51) == pytest.approx(1 - 0.95 / 2)
    assert warm_up_and_decay(1.0) == pytest.approx(0.05)


def test_a_model_that_is_trained_is_the_one_that_is_read(tiny_model):
    """The decoder holds the model's own parameters: an update shows in its logits at once."""
    model = tiny_model("qwen3", 50)
    decoder, batch = Decoder(model), collate([([1, 2, 3], [0, 1, 1], [0.0] * 3)])
    with torch.no_grad():
        before = token_logits(decoder, batch, "float32")
        filled(model)
        Optimizers(model, replace(OptimizerSettings(), name="adamw")).step()
        assert not torch.equal(before, token_logits(decoder, batch, "float32"))
