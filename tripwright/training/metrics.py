"""What a step of reinforcement learning was like, in figures, and what it cost: FLOPs, utilisation,
speed, memory (rows D9, S11, P12, P14, P16). Names and units: docs/training-metrics.md.

How much arithmetic a step took, and what share of the machine that is (row P12): a FLOP is one
multiplication or one addition.

    linear layers   2 · parameters per position: Q, K, V, O and the three matrices of the MLP
    attention       4 · heads · head size per (query, key) pair: queries × keys, weights × values
    LM head         2 · hidden · vocabulary per position, only where logits are computed
    backward        twice the forward pass: gradients of the inputs, and of the weights (or of the
                    other factor)

Norms, rotary embeddings, softmax and the optimizer are left out (the convention of MFU; below 1% of
a model of any size), and so is what is computed twice to save memory. In an update every position
of a row is paired with every other one, the whole square, as PaLM, verl and torch's own counter
have it: a kernel may skip the half that causal attention hides, and the last layer's MLP runs only
at the places that are learned from. In a rollout each position is
paired with itself and what came before it, because that is what decoding over a cache computes.
"""

from __future__ import annotations

import functools
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tripwright.domains import domain_named
from tripwright.episode import Episode
from tripwright.inference.models import precision_named
from tripwright.rewards.reward import RewardBreakdown
from tripwright.rewards.spec import PASS, dense, success, terms
from tripwright.training.batches import rows_of
from tripwright.training.rollouts import Rollout, RolloutGroup
from tripwright.transcript import OVERLONG, StopReason

# where a dialect ends an episode for them
MISTAKES = (StopReason.FORMAT_ERROR, StopReason.REPEATED_CALL)


def describe(groups: Sequence[RolloutGroup]) -> dict[str, Any]:
    """Of every group that was played, dropped ones included: rewards and their parts, lengths,
    calls, why episodes stopped."""
    played = [episode for group in groups for episode in group.episodes]
    members = [member for group in groups for member in group.scored_members]
    counts = {"episodes": len(played), "unscored": len(played) - len(members), **_verifier(played)}
    if not members:
        return counts
    episodes, rewards = [episode for episode, _ in members], [reward for _, reward in members]
    n = len(rewards)
    mean = sum(r.total for r in rewards) / n
    transcripts = [e.transcript for e in episodes]
    responses = [t.response_tokens for t in transcripts]
    stops = Counter(str(t.stop_reason) for t in transcripts)
    tokens = sum(len(t.token_ids) for t in transcripts)
    agent_tokens = sum(t.agent_tokens for t in transcripts)
    passed = [[e.passed for e in group.episodes] for group in groups if group.scored]
    return {
        **counts,
        "reward_mean": mean,
        "reward_std": (sum((r.total - mean) ** 2 for r in rewards) / n) ** 0.5,
        "failed_reward": sum(r.total for e, r in members if not e.passed) / n,
        "schema_rate": sum(e.verdict is not None and e.verdict.readable for e in episodes) / n,
        **_terms(episodes, rewards),
        "turns_mean": sum(t.turns for t in transcripts) / n,
        "completion_tokens_mean": agent_tokens / n,
        "tokens": tokens,
        "loss_mask_ratio": agent_tokens / max(1, tokens),
        "stop_reasons": {reason: count / n for reason, count in stops.items()},
        "response_tokens_mean": sum(responses) / n,
        "response_tokens_max": max(responses),
        "context_cut": sum(t.context_was_cut for t in transcripts) / n,
        "stopped_by_length": sum(stops[reason] for reason in OVERLONG) / n,
        **_calls(episodes),
        "replayed": sum(group.replayed for group in groups),
        "replayed_solved": sum(group.replayed and group.solved for group in groups),
        **domain_named(episodes[0].task.domain).judge.figures(episodes),
        "kept_groups": sum(group.std() > 0 for group in groups) / len(groups),
        "failed_groups": sum(not any(members) for members in passed) / len(groups),
        "solved_groups": sum(all(members) for members in passed) / len(groups),
        **_spread(groups),
        "constraints": constraint_rates(episodes),
    }


def _terms(episodes: Sequence[Episode], rewards: Sequence[RewardBreakdown]) -> dict[str, float]:
    """Means of the verdicts' terms, and of the reward's own parts that are none of them (a penalty,
    say)."""
    n = len(episodes)
    sums = dict[str, float]()
    for episode in episodes:
        if episode.verdict is not None:
            for name, value in terms(episode.verdict).items():
                sums[name] = sums.get(name, 0.0) + value
    own = dict.fromkeys(name for r in rewards for name in r.parts if name not in sums)
    rates = {"pass_rate" if name == PASS else name: total / n for name, total in sums.items()}
    return rates | {
        f"reward_{name}": sum(r.parts.get(name, 0.0) for r in rewards) / n for name in own
    }


def _verifier(episodes: list[Episode]) -> dict[str, float]:
    """Of the answers that were to be judged, the share that got a verdict (row D9). An unscored
    episode with an answer is one that its judge failed; where a tool or the model failed there is
    none."""
    judged = [e.scored for e in episodes if e.scored or e.transcript.answer is not None]
    return {"verifier_success_rate": sum(judged) / len(judged)} if judged else {}


def _calls(episodes: list[Episode]) -> dict[str, Any]:
    calls = [call for e in episodes for call in e.transcript.calls]
    turns = max(1, sum(e.transcript.turns for e in episodes))
    wrong = sum(call.error and call.fault is None for call in calls)
    malformed = sum(
        len(e.transcript.problems) + (e.transcript.stop_reason in MISTAKES) for e in episodes
    )
    return {
        "tool_calls_mean": len(calls) / len(episodes),
        **({"tool_call_accuracy": 1 - wrong / len(calls)} if calls else {}),
        "faulty_calls": sum(call.fault is not None for call in calls),
        "malformed_turns": malformed / turns,
    }


def _spread(groups: Sequence[RolloutGroup]) -> dict[str, float]:
    """Lemma 2 (row P16) measured: variances of the dense and the sparse reward within groups, and
    the covariance that it needs. And that of the reward in force, which Theorem 1 is about."""
    own = variances([(r.total, 0.0) for r in g.rewards if r is not None] for g in groups)
    spread = variances(
        [(dense(e).total, success(e).total) for e in g.episodes if e.scored] for g in groups
    )
    return spread | ({"reward_variance": own["dense_variance"]} if own else {})


def constraint_rates(episodes: Sequence[Episode]) -> dict[str, float]:
    """Share of episodes passing each constraint, among those it applies to; undelivered and gated
    ones count as failed."""
    passes, totals = Counter[str](), Counter[str]()
    for episode in episodes:
        if episode.verdict is None:
            continue
        for group in episode.verdict.groups[1:]:
            facts = group.facts or {}
            totals.update(group.asked)
            passes.update(name for name in group.asked if name in facts and facts[name].passed)
    return {name: passes[name] / totals[name] for name in totals}


# ---- row P16: the variance of the dense and of the sparse reward at the start of a run


def variances(groups: Iterable[Sequence[tuple[float, float]]]) -> dict[str, float]:
    """From (dense, sparse) reward of each prompt's rollouts, unscored ones left out: means over
    prompts, in squared reward, of the unbiased (n - 1) estimates within each prompt's group.

        dense_variance      Var[X + Z]
        sparse_variance     Var[X]
        covariance          Cov[X, Z]; Var[Z] is dense_variance - sparse_variance - 2 · covariance

    A group of one says nothing about a variance and is left out; with no group left the answer is
    empty.
    """
    estimates = [_within(group) for group in groups if len(group) > 1]
    columns = [sum(column) / len(estimates) for column in zip(*estimates, strict=True)]
    # no columns of no estimate
    return dict(zip(("dense_variance", "sparse_variance", "covariance"), columns, strict=False))


def _within(group: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    dense, sparse = [d for d, _ in group], [s for _, s in group]
    auxiliary = [d - s for d, s in group]
    return _covariance(dense, dense), _covariance(sparse, sparse), _covariance(sparse, auxiliary)


def _covariance(a: Sequence[float], b: Sequence[float]) -> float:
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    return sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True)) / (len(a) - 1)


# ---- what a step cost

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
    computed = list(spans)
    positions = sum(end - start for start, end in computed)
    pairs = sum((end * (end + 1) - start * (start + 1)) // 2 for start, end in computed)
    return flops(shape, positions, pairs, sampled_tokens)


def mfu(flops_update: float, seconds: float, peak: float | None) -> float | None:
    """Model FLOPs utilisation of one device: `flops_update`, of all passes over the batch, in
    `seconds`. None where the peak is unknown."""
    return flops_update / seconds / peak if peak and seconds > 0 else None


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


def peak_memory_mb(device: Any = "cpu") -> float:
    """The most memory so far, in MB of 10⁶ bytes: of this process on a CPU, of torch's tensors on a
    GPU."""
    if torch.device(device).type == "cuda":
        return float(torch.cuda.max_memory_allocated(device)) / 1e6
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
            sum(t.agent_tokens for t in transcripts),
        )
        self.update_total += updated
        self.rollout_total += rolled
        self.hours_total += seconds / 3600
        utilisation = mfu(updated, update_seconds, self.peak)
        return {
            "tokens_per_second": sum(len(t.token_ids) for t in transcripts) / max(seconds, 1e-9),
            "flops_update": updated,
            "flops_rollout": rolled,
            "flops_update_total": self.update_total,
            "flops_total": self.update_total + self.rollout_total,
            "device_hours_total": self.hours_total,  # of one device, the only one that there is
            **({"mfu": utilisation} if utilisation is not None else {}),
            "peak_memory_mb": peak_memory_mb(self.device),
        }

    def state_dict(self) -> dict[str, Any]:
        totals = ("update_total", "rollout_total", "hours_total")
        return {name: getattr(self, name) for name in totals}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


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
