"""How much arithmetic a step took, and what share of the machine that is (row P12). A FLOP is one
multiplication or one addition.

    linear layers      2 · parameters per position                     Q, K, V, O and the three
    matrices of the MLP attention          4 · heads · head size per (query, key) pair     queries ×
    keys, then weights × values LM head            2 · hidden · vocabulary per position
    only where logits are computed backward           twice the forward pass: gradients of the
    inputs, and of the weights (or of the other factor)

Norms, rotary embeddings, softmax and the optimizer are left out (the convention of MFU; below 1% of
a model of any size), and so is what is computed twice to save memory. In an update every position
of a row is paired with every other one, the whole square, as PaLM, verl and torch's own counter
have it: a kernel may skip the half that causal attention hides, and the last layer's MLP runs only
at the places that are learned from. In a rollout each position is
paired with itself and what came before it, because that is what decoding over a cache computes.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tripwright.inference.models import precision_named
from tripwright.training.logprobs import rows_of
from tripwright.training.rollouts import Rollout, RolloutGroup

if sys.platform != "win32":
    import resource

# Dense bf16 tensor-core FLOP/s of one device, without sparsity, from the vendors' data sheets.
# 989e12 of Hopper is the paper's f_peak (Planner-R1, App. B.6) and verl's. The first name that the
# device's own name holds counts, so longer names come first.
GPU_PEAK_FLOPS = (
    ("B200", 2250e12),
    ("H200 NVL", 835e12),
    ("H200", 989e12),
    ("H100 NVL", 835e12),
    ("H100 PCIe", 756e12),
    ("H100", 989e12),
    ("H800", 989e12),
    ("GH200", 989e12),
    ("A100", 312e12),
    ("A800", 312e12),
    ("L40S", 362e12),
    ("L40", 181e12),
    ("A40", 149.7e12),
    ("L4", 121e12),
    ("A10", 125e12),
    ("MI325X", 1307e12),
    ("MI300X", 1307e12),
)
_BENCH_SIZES, _BENCH_SECONDS = (192, 384, 768), 0.08  # of square matrices; seconds for each size


@dataclass(frozen=True)
class ModelShape:
    """A decoder of the Llama and Qwen family, as far as its arithmetic goes."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    feed_forward: int
    vocabulary: int

    @classmethod
    def of(cls, config: Any) -> ModelShape:
        """From a `transformers` config."""
        heads = config.num_attention_heads
        return cls(
            hidden=config.hidden_size,
            layers=config.num_hidden_layers,
            heads=heads,
            kv_heads=getattr(config, "num_key_value_heads", None) or heads,
            head_size=getattr(config, "head_dim", None) or config.hidden_size // heads,
            feed_forward=config.intermediate_size,
            vocabulary=config.vocab_size,
        )

    @property
    def layer_parameters(self) -> int:
        """Weights of the linear layers of one block: what each position is multiplied with."""
        attention = self.hidden * self.head_size * (2 * self.heads + 2 * self.kv_heads)
        return attention + 3 * self.hidden * self.feed_forward


def flops(shape: ModelShape, positions: float, pairs: float, head_positions: float) -> float:
    """A forward pass: `positions` through the layers, `pairs` of a query and a key, logits at
    `head_positions`."""
    linear = 2.0 * shape.layers * shape.layer_parameters * positions
    attention = 4.0 * shape.layers * shape.heads * shape.head_size * pairs
    return linear + attention + 2.0 * shape.hidden * shape.vocabulary * head_positions


def update_flops(shape: ModelShape, lengths: Sequence[int], head_positions: int) -> float:
    """Forward and backward over whole rows of these lengths (without padding). `head_positions`:
    the tokens that carry loss, where alone logits are computed."""
    pairs = sum(length * length for length in lengths)
    return 3 * flops(shape, sum(lengths), pairs, head_positions)


def rollout_flops(
    shape: ModelShape, spans: Iterable[tuple[int, int]], sampled_tokens: int
) -> float:
    """Generation over a key-value cache. A span (start, end) is the positions that one row
    computed, on top of `start` cached ones.

    A group of G episodes that share the prefill of a prompt of p tokens and end at lengths T: (0,
    p) once, then (p, T) for each.
    `sampled`: how many tokens were drawn; a prompt's other positions need no logits.
    """
    positions, pairs = 0, 0
    for start, end in spans:
        positions += end - start
        pairs += (end * (end + 1) - start * (start + 1)) // 2
    return flops(shape, positions, pairs, sampled_tokens)


def mfu(
    flops_update: float, seconds: float, peak: float | None, devices: int = 1, epochs: int = 1
) -> float | None:
    """Model FLOPs utilisation: f_achieved · E / (f_peak · W), where f_achieved = `flops_update` /
    `seconds` (App. B.6).

    `flops_update` are those of one of the E `epochs` over the batch, `seconds` the time of all of
    them. None where the peak is unknown.
    """
    if not peak or seconds <= 0:
        return None
    return flops_update / seconds * epochs / (peak * devices)


def update_flops_of_mfu(
    utilisation: float, peak: float, devices: int, seconds: float, epochs: int = 1
) -> float:
    """Row P12: FLOPs_update = MFU · f_peak · W · t_policy / E, for logs that hold a utilisation and
    no count."""
    return utilisation * peak * devices * seconds / epochs


def peak_flops(device: Any = "cpu", dtype: Any = torch.float32) -> float | None:
    """FLOP/s of one device in matrix products of `dtype`: of a CPU measured, of a known GPU from
    its data sheet, else None.

    A CPU's data sheet says little about what its cores reach together, so its peak is what torch's
    matrix product reaches here, with the threads that are set: measured once per process, dtype and
    number of threads, in about a quarter of a second.
    """
    device = torch.device(device)
    if device.type == "cpu":
        return _measured_cpu_peak(dtype, torch.get_num_threads())
    if device.type != "cuda" or dtype not in (torch.bfloat16, torch.float16):
        return None
    return gpu_peak_flops(torch.cuda.get_device_name(device))


def gpu_peak_flops(name: str) -> float | None:
    """Dense bf16 FLOP/s of a GPU by the name that its driver gives, None if it is not in the
    table."""
    words = f" {name} ".replace("-", " ").replace("/", " ")
    return next((peak for model, peak in GPU_PEAK_FLOPS if f" {model} " in words), None)


@functools.lru_cache(maxsize=8)
def _measured_cpu_peak(dtype: Any, threads: int) -> float:
    """The best of many products. Whatever else runs on the machine can only slow one down, and a
    small one that fits between two of its turns is hardly slowed at all: on a busy machine large
    products alone came out at a quarter of the peak."""
    peak = 0.0
    for n in _BENCH_SIZES:
        a = torch.ones(n, n, dtype=dtype)
        out = a @ a  # the first product of a shape sets up its kernel
        began = time.perf_counter()
        while time.perf_counter() - began < _BENCH_SECONDS:
            started = time.perf_counter()
            torch.mm(a, a, out=out)
            peak = max(peak, 2.0 * n**3 / (time.perf_counter() - started))
    return peak


def peak_memory_mb(device: Any = "cpu") -> float | None:
    """The most memory so far, in MB of 10⁶ bytes: of this process on a CPU, of torch's tensors on a
    GPU. None where it is not told."""
    if torch.device(device).type == "cuda":
        return float(torch.cuda.max_memory_allocated(device)) / 1e6
    if sys.platform == "win32":
        return None
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


# ---- what the steps cost, summed over the whole run, kills included


class Meter:
    """`flops_update_total` counts parameter updates alone, as the paper does; `flops_total` the
    rollouts as well."""

    def __init__(self, model: Any, dtype: str):
        weight = next(model.parameters())
        self.shape, self.device = ModelShape.of(model.config), weight.device
        self.peak = peak_flops(self.device, precision_named(dtype, weight))
        self.update_total = self.rollout_total = self.hours_total = 0.0

    def step(
        self,
        groups: Sequence[RolloutGroup],
        rollouts: Sequence[Rollout],
        passes: int,
        seconds: float,
        update_seconds: float,
    ) -> dict[str, float]:
        """`rollouts`: those whose gradients were computed. `seconds` of the whole step,
        `update_seconds` of its training."""
        lengths = [len(row) for r in rollouts for row in rows_of(r)]
        updated = update_flops(self.shape, lengths, sum(r.tokens for r in rollouts)) * passes
        transcripts = [e.transcript for group in groups for e in group.episodes]
        rolled = rollout_flops(
            self.shape,
            [span for group in groups for span in spans(group)],
            sum(sum(t.loss_mask) for t in transcripts),
        )
        self.update_total += updated
        self.rollout_total += rolled
        self.hours_total += seconds / 3600
        utilisation = mfu(updated, update_seconds, self.peak)
        memory = peak_memory_mb(self.device)
        return {
            "tokens_per_second": sum(len(t.token_ids) for t in transcripts) / max(seconds, 1e-9),
            "flops_update": updated,
            "flops_rollout": rolled,
            "flops_update_total": self.update_total,
            "flops_total": self.update_total + self.rollout_total,
            "device_hours_total": self.hours_total,  # of one device, the only one that there is
            **({"mfu": utilisation} if utilisation is not None else {}),
            **({"peak_memory_mb": memory} if memory is not None else {}),
        }

    def state_dict(self) -> dict[str, Any]:
        totals = ("update_total", "rollout_total", "hours_total")
        return {name: getattr(self, name) for name in totals}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.update_total, self.rollout_total = state["update_total"], state["rollout_total"]
        self.hours_total = state["hours_total"]


def spans(group: RolloutGroup) -> list[tuple[int, int]]:
    """The positions that each row computed: the prompt once for the group, then everyone's own
    (from the fork on, if it is a branch), and what is left after the prompt again where a context
    was cut."""
    prompt = len(group.episodes[0].transcript.segments[0].token_ids)
    computed = [(0, prompt)]
    for transcript in (episode.transcript for episode in group.episodes):
        start = prompt if transcript.forked_at is None else transcript.forked_at
        for sequence in transcript.sequences:
            computed.append((start, len(sequence.places)))
            start = prompt
    return computed
