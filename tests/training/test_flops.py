"""FLOPs against torch's own counter, the formula of row P12 against the direct count, and what a
rollout over a cache computes."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from tripwright.inference.decoder import Cache, CacheView, Decoder
from tripwright.training import metrics as module
from tripwright.training.metrics import (
    ModelShape,
    flops,
    gpu_peak_flops,
    peak_flops,
    peak_memory_mb,
    rollout_flops,
    update_flops,
)

SHAPE = ModelShape(
    hidden=256, layers=4, heads=4, kv_heads=2, head_size=64, feed_forward=768, vocabulary=1500
)


@pytest.mark.parametrize("kind", ["qwen3", "qwen2", "llama"])
def test_an_update_counts_what_torch_counts(tiny_model, kind):
    """Exactly: linear layers, both attention products over the whole square, the LM head where it
    is computed, twice that backward."""
    model = tiny_model(kind, 300)
    decoder, shape = Decoder(model), ModelShape.of(model.config)
    rows, length, heads = 3, 40, 33
    ids = torch.arange(rows * length).view(rows, length) % 300
    # the counter knows no fused CPU kernel
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        hidden = decoder.hidden(ids, torch.arange(length).expand(rows, length))
        logits = decoder.logits(hidden.flatten(0, 1)[:heads])
        forward = counter.get_total_flops()
        logits.sum().backward()
    assert counter.get_total_flops() == update_flops(shape, [length] * rows, heads) == 3 * forward


def test_decoding_over_a_cache_counts_what_torch_counts(tiny_model):
    """One token at a time, with a cache that reaches as far as it is read: the triangle, token by
    token."""
    model = tiny_model("qwen3", 300)
    decoder, shape = Decoder(model), ModelShape.of(model.config)
    cache, steps = Cache(decoder, 1, 64, torch.float32), 16
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        for position in range(steps):
            view = CacheView(cache, [0], [position], [1])
            hidden = decoder.hidden(torch.tensor([[1]]), torch.tensor([[position]]), view)
            decoder.logits(hidden)
    counted, ours = counter.get_total_flops(), rollout_flops(shape, [(0, steps)], steps)
    # the cache is read in blocks of 64 positions
    read_in_vain = flops(shape, 0, steps * 64 - steps * (steps + 1) // 2, 0)
    assert counted == ours + read_in_vain


def test_a_group_that_shares_its_prompt_computes_it_once():
    apart = rollout_flops(SHAPE, [(0, 100 + own) for own in (30, 40, 50)], 120)
    shared = rollout_flops(SHAPE, [(0, 100), (100, 130), (100, 140), (100, 150)], 120)
    assert apart - shared == 2 * rollout_flops(SHAPE, [(0, 100)], 0)
    turns = rollout_flops(SHAPE, [(0, 100), (100, 130)], 30)
    # a cache kept across turns costs nothing twice
    assert turns == rollout_flops(SHAPE, [(0, 130)], 30)


def test_shapes_of_configs_without_optional_fields():
    sizes = {"hidden_size": 64, "intermediate_size": 128, "vocab_size": 100}
    config = SimpleNamespace(**sizes, num_hidden_layers=2, num_attention_heads=4)
    assert ModelShape.of(config) == ModelShape(64, 2, 4, 4, 16, 128, 100)


@pytest.mark.parametrize(
    ("name", "peak"),
    [
        ("NVIDIA A100-SXM4-80GB", 312e12),
        ("NVIDIA L40S", 362e12),
        ("NVIDIA L4", 121e12),
        ("NVIDIA GeForce GTX 1050", None),
    ],
)
def test_known_gpus_and_unknown_ones(name, peak):
    assert gpu_peak_flops(name) == peak


def test_the_cpu_is_measured_once_per_dtype(monkeypatch):
    module._measured_cpu_peak.cache_clear()
    found = peak_flops("cpu", torch.float32)
    assert found is not None and 1e8 < found < 1e15
    monkeypatch.setattr(torch, "mm", None)  # a second measurement would fail
    assert peak_flops("cpu", torch.float32) == found


def test_memory_is_of_this_process():
    block = torch.ones(30_000_000)  # 120 MB
    assert peak_memory_mb() > 120 and block[0] == 1
