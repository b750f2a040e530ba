"""Optimizers are what the settings say."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")

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


def test_the_schedule_rises_and_falls():
    linear = [warm_up_and_decay(at) for at in (0.0, 0.01, 0.02, 0.51, 1.0)]
    assert linear == pytest.approx([0.0, 0.5, 1.0, 1 - 0.95 / 2, 0.05])
    cosine = [warm_up_and_decay(at, 0.1, 0.0, cosine=True) for at in (0.1, 0.325, 0.55, 1.0)]
    assert cosine == pytest.approx([1.0, (1 + 0.5**0.5) / 2, 0.5, 0.0])
