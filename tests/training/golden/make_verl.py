"""Writes verl.json: what verl's own functions make of seeded random data. Run in an environment of its own:

    python -m venv .venv-verl
    .venv-verl/bin/pip install torch==2.13.0 transformers==5.9.0 "ray[default]==2.60.0" tensordict==0.10.0 hydra-core codetiming datasets \
        dill pandas pyarrow accelerate peft torchdata pylatexenc pybind11 cachetools
    .venv-verl/bin/pip install --no-deps verl==0.9.1
    .venv-verl/bin/python tests/training/golden/make_verl.py

Every function is called as it is; nothing is stubbed. Ratios leave every clip range, some by more than a factor of e^20.
"""  # noqa: E501

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from verl.trainer.ppo import core_algos
from verl.trainer.ppo.rollout_corr_helper import (
    compute_rollout_correction_and_rejection_mask,
    compute_rollout_rejection_mask,
)
from verl.utils.torch_functional import entropy_from_logits, masked_whiten
from verl.workers.config import ActorConfig

# Share of tokens up to which a token's log ratio is this: beyond every clip, and beyond the ±20 at which verl cuts it.  # noqa: E501
FAR = ((0.08, -3.0), (0.16, 3.0), (0.18, 8.0), (0.2, -8.0), (0.22, -25.0), (0.25, 100.0))
CLIPS = [(0.2, 0.2, 3.0), (0.2, 0.28, 3.0), (0.1, 0.4, 1.5), (0.2, 0.2, 1e6)]
MODES = ("token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "token-sum")


def numbers(tensor: torch.Tensor) -> Any:
    """Nine significant digits, which is all there is in fp32."""

    def short(value: Any) -> Any:
        if isinstance(value, list):
            return [short(v) for v in value]
        return float(f"{value:.9g}") if isinstance(value, float) else value

    return short(tensor.detach().tolist())


def random_mask(rows: int, tokens: int, generator: torch.Generator) -> torch.Tensor:
    """Rows of different lengths with observations in the middle; the first and the last token of a row are the agent's own."""  # noqa: E501
    lengths = torch.randint(2, tokens + 1, (rows,), generator=generator)
    mask = (torch.rand(rows, tokens, generator=generator) < 0.7) & (
        torch.arange(tokens) < lengths[:, None]
    )
    mask[:, 0] = True
    mask[torch.arange(rows), lengths - 1] = True
    return mask.float()


def advantages(prompts: int, group: int, seed: int) -> list[dict[str, Any]]:
    """Rewards in eighths; one group agrees on 4.2."""
    g = torch.Generator().manual_seed(seed)
    rewards = torch.randint(0, 41, (prompts * group,), generator=g) / 8
    rewards[:group] = 4.2
    tokens_NT = torch.zeros(len(rewards), 2)
    tokens_NT[:, -1] = rewards
    index, found = np.repeat(np.arange(prompts), group), []
    for by_std in (True, False):
        made, _ = core_algos.compute_grpo_outcome_advantage(
            tokens_NT.clone(), torch.ones(len(rewards), 2), index, 1e-6, by_std
        )
        found.append(
            {
                "by_std": by_std,
                "group": group,
                "rewards": numbers(rewards),
                "advantages": numbers(made[:, 0]),
            }
        )
    return found


def policy(rows: int, tokens: int, seed: int) -> dict[str, Any]:
    g = torch.Generator().manual_seed(seed)
    mask = random_mask(rows, tokens, g)
    old = -2 * torch.rand(rows, tokens, generator=g)
    far = torch.rand(rows, tokens, generator=g)
    gap = 0.3 * torch.randn(rows, tokens, generator=g)
    for share, value in reversed(FAR):
        gap = torch.where(far < share, value, gap)
    per_row = torch.randn(rows, generator=g)
    per_row[0] = 0.0
    given = {
        "mask": mask,
        "old": old,
        "logprobs": old + gap,
        "advantages": per_row[:, None].expand_as(mask).contiguous(),
    }
    weights = 2 * torch.rand(rows, tokens, generator=g)
    found = []
    for low, high, dual in CLIPS:
        for mode in MODES[:3]:
            for weighted in (False, True):
                logprobs = given["logprobs"].clone().requires_grad_()
                clips = {
                    "clip_ratio": low,
                    "clip_ratio_low": low,
                    "clip_ratio_high": high,
                    "clip_ratio_c": dual,
                }
                config = ActorConfig(
                    strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1, **clips
                )
                extra = {"rollout_is_weights": weights} if weighted else {}
                loss, metrics = core_algos.compute_policy_loss_vanilla(
                    old, logprobs, given["advantages"], mask, mode, config, **extra
                )
                loss.backward()
                case = {"low": low, "high": high, "dual": dual, "mode": mode, "weighted": weighted}
                case["clipped_share"] = (
                    metrics["actor/pg_clipfrac"] + metrics["actor/pg_clipfrac_lower"]
                )
                found.append(case | {"loss": numbers(loss), "gradient": numbers(logprobs.grad)})
    return {name: numbers(tensor) for name, tensor in given.items()} | {
        "weights": numbers(weights),
        "found": found,
        "named": named_losses(given),
    }


def named_losses(given: dict[str, torch.Tensor]) -> list[dict[str, Any]]:
    """GSPO and CISPO, and Dr. GRPO's constant, with log ratios within ±3 (verl cuts GSPO at 10)."""
    near = given["old"] + (given["logprobs"] - given["old"]).clamp(-3, 3)
    found = []
    for name, low, high in (("gspo", 0.2, 0.28), ("gspo", 3e-4, 4e-4), ("cispo", 0.2, 0.28)):
        for mode in (*MODES[:3], "seq-mean-token-sum-norm"):
            logprobs = near.clone().requires_grad_()
            clips = {"clip_ratio": low, "clip_ratio_low": low, "clip_ratio_high": high}
            config = ActorConfig(
                strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1, **clips
            )
            config.global_batch_info["loss_scale_factor"] = 50
            loss, metrics = core_algos.get_policy_loss_fn(name)(
                given["old"], logprobs, given["advantages"], given["mask"], mode, config
            )
            loss.backward()
            case = {"name": name, "low": low, "high": high, "mode": mode}
            case["clipped_share"] = metrics["actor/pg_clipfrac"]
            found.append(case | {"loss": numbers(loss), "gradient": numbers(logprobs.grad)})
    return found


def aggregated(rows: int, tokens: int, seed: int) -> dict[str, Any]:
    """One batch, and the same as two micro-batches that know the size of the whole."""
    g = torch.Generator().manual_seed(seed)
    mask, losses = random_mask(rows, tokens, g), torch.randn(rows, tokens, generator=g)
    found = {mode: numbers(core_algos.agg_loss(losses, mask, mode)) for mode in MODES}
    whole = {"batch_num_tokens": mask.sum(), "global_batch_size": rows}
    half = {
        mode: numbers(core_algos.agg_loss(losses[: rows // 2], mask[: rows // 2], mode, **whole))
        for mode in MODES
    }
    return {"mask": numbers(mask), "losses": numbers(losses), "whole": found, "first_half": half}


def divergences(seed: int) -> dict[str, Any]:
    g = torch.Generator().manual_seed(seed)
    logprobs = -3 * torch.rand(40, generator=g)
    reference = logprobs + torch.randn(40, generator=g)
    reference[:8] = logprobs[:8] + torch.tensor([0.0, 1e-3, -1e-3, 2.5, 3.0, 12.0, 30.0, -30.0])
    found = {}
    for name in ("k1", "k2", "k3"):
        leaf = logprobs.clone().requires_grad_()
        made = core_algos.kl_penalty(leaf, reference, name)
        made.sum().backward()
        found[name] = {"value": numbers(made), "gradient": numbers(leaf.grad)}
    logits = torch.randn(6, 9, generator=g) * torch.tensor(
        [[0.0], [0.1], [1.0], [5.0], [30.0], [200.0]]
    )
    return {
        "logprobs": numbers(logprobs),
        "reference": numbers(reference),
        **found,
        "logits": numbers(logits),
        "entropies": numbers(entropy_from_logits(logits)),
    }


def values(rows: int, tokens: int, seed: int) -> dict[str, Any]:
    """Rewards lie on the agent's own tokens: the outcome on the last one, small ones before."""
    g = torch.Generator().manual_seed(seed)
    mask = random_mask(rows, tokens, g)
    rewards = 0.1 * torch.randn(rows, tokens, generator=g) * mask
    values_NT = torch.randn(rows, tokens, generator=g)
    found = []
    for gamma, lam in ((1.0, 1.0), (1.0, 0.95), (0.9, 0.8), (0.99, 0.0)):
        made, returns = core_algos.compute_gae_advantage_return(
            rewards, values_NT, mask, gamma, lam
        )
        found.append(
            {"gamma": gamma, "lam": lam, "whitened": numbers(made), "returns": numbers(returns)}
        )
    fresh, goal = (
        values_NT + 0.5 * torch.randn(rows, tokens, generator=g),
        torch.randn(rows, tokens, generator=g),
    )
    losses = []
    for clip in (0.2, 0.5, 1e6):
        leaf = fresh.clone().requires_grad_()
        loss, _ = core_algos.compute_value_loss(leaf, goal, values_NT, mask, clip)
        loss.backward()
        losses.append({"clip": clip, "loss": numbers(loss), "gradient": numbers(leaf.grad)})
    given = {
        "mask": mask,
        "rewards": rewards,
        "values": values_NT,
        "fresh": fresh,
        "goal": goal,
        "whitened": masked_whiten(values_NT, mask),
    }
    return {name: numbers(tensor) for name, tensor in given.items()} | {
        "gae": found,
        "value_losses": losses,
    }


def importance(rows: int, tokens: int, seed: int, largest: float) -> dict[str, Any]:
    """One log ratio is `largest`. verl masks by the string "lower_upper"; its lower bound is put under every ratio here."""  # noqa: E501
    g = torch.Generator().manual_seed(seed)
    mask = random_mask(rows, tokens, g)
    sampler = -3 * torch.rand(rows, tokens, generator=g)
    trainer = sampler + 0.4 * torch.randn(rows, tokens, generator=g)
    trainer[0, 0] = sampler[0, 0] + largest
    found = []
    for level in ("token", "sequence"):
        for cap in (1.3, 2.0, 1e9):
            for masked in (False, True):
                made, _, metrics = compute_rollout_correction_and_rejection_mask(
                    trainer, sampler, mask, level, f"1e-30_{cap}" if masked else cap
                )
                weights = made.batch["rollout_is_weights"]
                names = ("k3_kl", "rollout_is_ratio_fraction_high", "rollout_is_eff_sample_size")
                figures = {name: metrics[f"rollout_corr/{name}"] for name in names}
                found.append(
                    {
                        "level": level,
                        "cap": cap,
                        "masked": masked,
                        "weights": numbers(weights),
                        "figures": figures,
                    }
                )
    kept = {
        cap: numbers(
            compute_rollout_rejection_mask(trainer - sampler, mask, "seq_mean_k1", str(cap))[0]
        )
        for cap in (1.05, 1.2, 2.0)
    }
    return {
        "kept_by_sequence_cap": kept,
        "mask": numbers(mask),
        "trainer": numbers(trainer),
        "sampler": numbers(sampler),
        "found": found,
    }


def main() -> None:
    torch.set_num_threads(1)
    golden = {
        "made_with": "verl 0.9.1, torch 2.13.0 (CPU)",
        "advantages": [
            case
            for prompts, group, seed in ((4, 4, 1), (5, 8, 2), (3, 2, 3))
            for case in advantages(prompts, group, seed)
        ],
        "policy": [policy(5, 6, seed=4), policy(6, 9, seed=5)],
        "aggregated": [aggregated(4, 6, seed=6), aggregated(6, 11, seed=7)],
        "divergences": divergences(seed=8),
        "values": [values(4, 7, seed=9), values(6, 12, seed=10)],
        "importance": [
            importance(4, 7, seed=11, largest=1.0),
            importance(5, 9, seed=12, largest=30.0),
        ],
    }
    path = Path(__file__).with_name("verl.json")
    path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
