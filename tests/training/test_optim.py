"""Optimizers are what the settings say."""

import copy
import sys
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tripwright.errors import UserError
from tripwright.inference.models import convert_weights
from tripwright.training.optim import Muon, Optimizers, OptimizerSettings, warm_up_and_decay

pytestmark = pytest.mark.usefixtures("one_thread")


# ---- optimizers


def test_muon_has_the_matrices_inside_the_layers_and_adamw_the_rest(tiny_model):
    model = tiny_model("llama", 50)  # its output matrix is a parameter of its own
    adamw, muon = Optimizers(model, OptimizerSettings()).all
    named = {id(p): name for name, p in model.named_parameters()}
    inside = {named[id(p)] for group in muon.param_groups for p in group["params"]}
    rest = {named[id(p)] for group in adamw.param_groups for p in group["params"]}
    assert inside == {name for name in named.values() if "proj" in name}
    assert rest == set(named.values()) - inside
    assert {"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"} <= rest


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
        rates = [group["lr"] for each in optimizers.all for group in each.param_groups]
        assert rates == pytest.approx([1e-3 * scale, 0.02 * scale])


def test_the_schedule_rises_and_falls():
    linear = [warm_up_and_decay(at) for at in (0.0, 0.01, 0.02, 0.51, 1.0)]
    assert linear == pytest.approx([0.0, 0.5, 1.0, 1 - 0.95 / 2, 0.05])
    cosine = [warm_up_and_decay(at, 0.1, 0.0, cosine=True) for at in (0.1, 0.325, 0.55, 1.0)]
    assert cosine == pytest.approx([1.0, (1 + 0.5**0.5) / 2, 0.5, 0.0])


# ---- our Muon against torch's, and what makes it Muon


SHAPES = [(24, 16), (16, 24), (24, 16), (16, 16)]


def trained(kind: Any, steps: int, **settings: Any) -> list[Any]:
    torch.manual_seed(0)
    matrices = [torch.nn.Parameter(torch.randn(shape)) for shape in SHAPES]
    optimizer = kind(matrices, lr=0.05, momentum=0.9, weight_decay=0.1, **settings)
    for _ in range(steps):
        for matrix in matrices:
            matrix.grad = torch.randn_like(matrix)
        optimizer.step()
    return [matrix.detach() for matrix in matrices]


def test_steps_are_those_of_torch():
    """To the rounding of bfloat16, in which torch makes its updates orthogonal."""
    both = trained(Muon, 4, dtype=torch.bfloat16), trained(torch.optim.Muon, 4)
    for ours, theirs, start in zip(*both, trained(Muon, 0), strict=True):
        assert (theirs - start).norm() > 0.1
        assert (ours - theirs).norm() < 0.02 * (theirs - start).norm()


def test_a_gradient_of_zero_moves_nothing():
    matrix = torch.nn.Parameter(torch.ones(4, 3))
    matrix.grad = torch.zeros(4, 3)
    Muon([matrix]).step()
    assert torch.equal(matrix, torch.ones(4, 3))


# ---- weights in bfloat16 lose nothing: float32 masters of them are stepped


ADAMW = OptimizerSettings(name="adamw", adamw_learning_rate=1e-6, weight_decay=0.01)
EIGHT_BIT = replace(ADAMW, state="8bit", adamw_learning_rate=1e-4)
MUON = OptimizerSettings(learning_rate=1e-4, adamw_learning_rate=1e-6)


def narrow(model: Any) -> Any:
    convert_weights(model, torch.bfloat16)
    return model


def filled(model: Any, seed: int = 0, size: float = 1.0) -> None:
    """Gradients that are the same for both formats."""
    rng = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        gradient = size * torch.randn(parameter.shape, generator=rng).bfloat16()
        parameter.grad = gradient.to(parameter.dtype)


def stepped(model: Any, optimizers: Any, seeds: range, **gradient: float) -> list[float]:
    norms = []
    for seed in seeds:
        filled(model, seed, **gradient)
        norms.append(optimizers.step())
    return norms


@pytest.mark.parametrize("settings", [ADAMW, MUON], ids=["adamw", "muon"])
def test_masters_take_the_steps_of_float32_weights(settings, tiny_model):
    """Clipped or not; and the model is what they round to."""
    narrowed = narrow(tiny_model("llama", 50))
    wide = copy.deepcopy(narrowed)
    convert_weights(wide, torch.float32)
    masters, plain = Optimizers(narrowed, settings), Optimizers(wide, settings)
    start = [p.detach().clone() for p in wide.parameters()]
    for size in (1.0, 1e-3):
        norms = stepped(narrowed, masters, range(5), size=size)
        assert norms == pytest.approx(stepped(wide, plain, range(5), size=size), rel=1e-5)
    for first, master, p, narrower in zip(
        start, masters.stepped, wide.parameters(), narrowed.parameters(), strict=True
    ):
        moved = (p - first).norm()
        assert moved > 0
        assert (master - p).norm() < 0.02 * moved  # orthogonal updates are in the fastest format
        assert torch.equal(narrower, master.bfloat16()) and narrower.grad is None


def test_small_steps_are_not_lost_in_rounding(tiny_model):
    """1e-6 of weights near 1 is a thousandth of what bfloat16 tells apart there."""
    model = narrow(tiny_model("qwen3", 50))
    alone = copy.deepcopy(model)
    optimizers = Optimizers(model, ADAMW)
    without = torch.optim.AdamW(alone.parameters(), lr=1e-6, betas=(0.9, 0.95))
    norm, same_norm = model.model.norm.weight, alone.model.norm.weight
    assert bool((norm == 1).all())
    for _ in range(6000):
        norm.grad, same_norm.grad = torch.ones_like(norm), torch.ones_like(norm)
        optimizers.step()
        without.step()
    assert bool((same_norm == 1).all())
    expected = 1 - 6000 * 1e-6 * (1 + 0.01)  # the decay's hundredth
    assert float(norm.detach().float().mean()) == pytest.approx(expected, abs=2**-8)
    assert not bool((norm == 1).any())


@pytest.mark.parametrize("settings", [ADAMW, MUON, EIGHT_BIT], ids=["adamw", "muon", "8bit"])
def test_they_go_on_bit_for_bit(settings, tiny_model, tmp_path):
    if settings is EIGHT_BIT:
        pytest.importorskip("bitsandbytes")
    whole, halved = narrow(tiny_model("qwen3", 200)), narrow(tiny_model("qwen3", 200))
    one, first = Optimizers(whole, settings), Optimizers(halved, settings)
    stepped(whole, one, range(6))
    stepped(halved, first, range(3))
    torch.save({"model": halved.state_dict(), "optimizers": first.state_dict()}, tmp_path / "s.pt")
    state = torch.load(tmp_path / "s.pt", weights_only=True)
    again = narrow(tiny_model("qwen3", 200, seed=9))
    again.load_state_dict(state["model"])
    second = Optimizers(again, settings)
    second.load_state_dict(state["optimizers"])
    stepped(again, second, range(3, 6))
    for kept, resumed in ((one.stepped, second.stepped), (whole.parameters(), again.parameters())):
        assert all(torch.equal(a, b) for a, b in zip(kept, resumed, strict=True))


def test_a_gradient_that_is_not_finite_moves_nothing(tiny_model):
    model = narrow(tiny_model("qwen3", 50))
    optimizers, before = Optimizers(model, ADAMW), copy.deepcopy(model.state_dict())
    filled(model, 0)
    model.model.norm.weight.grad[0] = float("inf")
    assert optimizers.step() == float("inf")
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())


def test_offloaded_state_takes_the_same_steps(tiny_model):
    """On the CPU there is nowhere else to be."""
    for weights in (lambda model: model, narrow):
        models = [weights(tiny_model("qwen3", 50)) for _ in range(2)]
        for model, state in zip(models, ("float32", "offloaded"), strict=True):
            stepped(model, Optimizers(model, replace(MUON, state=state)), range(3))
        one, other = (list(model.parameters()) for model in models)
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_state_in_8_bits_is_near(tiny_model):
    pytest.importorskip("bitsandbytes")
    rounded, exact = (narrow(tiny_model("qwen3", 200)) for _ in range(2))
    start = [p.detach().float() for p in rounded.parameters()]
    one = Optimizers(rounded, EIGHT_BIT)
    plain = Optimizers(exact, replace(EIGHT_BIT, state="float32"))
    stepped(rounded, one, range(4))
    stepped(exact, plain, range(4))
    rough = False
    for before, ours, theirs in zip(start, one.stepped, plain.stepped, strict=True):
        error = (ours - theirs).norm() / (theirs - before).norm()
        assert float(error) < 0.05
        rough |= float(error) > 1e-4
    assert rough, "it is not in 8 bits"


def test_what_8_bits_need_is_told(tiny_model, monkeypatch):
    monkeypatch.setitem(sys.modules, "bitsandbytes.optim", None)
    with pytest.raises(UserError, match=r"needs bitsandbytes: pip install 'tripwright\[eight-bit"):
        Optimizers(tiny_model("qwen3", 50), replace(ADAMW, state="8bit"))
    with pytest.raises(UserError, match=r"state '8bit' is of AdamW alone, .*muon"):
        replace(MUON, state="8bit")


def test_weights_in_float32_have_none(tiny_model):
    model = tiny_model("qwen3", 50)
    optimizers = Optimizers(model, ADAMW)
    assert all(a is b for a, b in zip(optimizers.stepped, model.parameters(), strict=True))
    assert [set(state) for state in optimizers.state_dict()] == [{"state", "param_groups"}]
