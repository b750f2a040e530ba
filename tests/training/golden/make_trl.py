"""Writes trl.json: what TRL's own GRPOTrainer makes of seeded random data. Run in an environment of
its own:

    python -m venv .venv-trl
    .venv-trl/bin/pip install torch==2.13.0 transformers==5.23.0 trl==1.16.0
    .venv-trl/bin/python tests/training/golden/make_trl.py

Its `_compute_loss` and `_generate_and_score_completions` are executed as they are, on a tiny random
model on the CPU. Three things are
ours: the sampled tokens (`_generate` returns them), the rewards, and the old and reference
log-probabilities, chosen so that the ratios leave every clip range. The log-probabilities that TRL
computes from the model are recorded on their way through, with their gradients. `use_vllm` is
switched on after the construction, for the importance ratios only: no vLLM is involved.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer

VOCABULARY, MAX_COMPLETION = 12, 16
BASE = {
    "epsilon_low": 0.2,
    "epsilon_high": 0.2,
    "delta": None,
    "beta": 0.0,
    "use_bias_correction_kl": False,
    "importance_sampling_level": "token",
}
SETTINGS = [
    *({"loss_type": name} for name in ("grpo", "bnpo", "dr_grpo", "dapo", "luspo")),
    {"loss_type": "dapo", "epsilon_high": 0.28},
    {"loss_type": "dapo", "delta": 3.0},
    {"loss_type": "grpo", "epsilon_high": 0.28, "delta": 1.5, "beta": 0.04},
    {"loss_type": "luspo", "beta": 0.001},
    {"loss_type": "dapo", "beta": 0.04},
    {"loss_type": "dapo", "beta": 0.04, "use_bias_correction_kl": True},
    {"loss_type": "grpo", "epsilon_high": 0.28, "importance_sampling_level": "sequence"},  # GSPO
    {"loss_type": "cispo", "epsilon_high": 1.28},
    {"loss_type": "dr_grpo", "epsilon_high": 0.28},
]


def numbers(tensor: torch.Tensor) -> Any:
    """Nine significant digits, which is all there is in fp32; None for NaN."""

    def short(value: Any) -> Any:
        if isinstance(value, list):
            return [short(v) for v in value]
        return (
            (None if value != value else float(f"{value:.9g}"))
            if isinstance(value, float)
            else value
        )

    return short(tensor.detach().tolist())


def tiny_trainer(group: int, rewards: Callable[..., list[float | None]]) -> GRPOTrainer:
    words = {f"w{n}": n for n in range(VOCABULARY)}
    backend = Tokenizer(models.WordLevel(words, unk_token="w1"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="w0", eos_token="w2", unk_token="w1"
    )
    shape = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
    }
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=VOCABULARY, max_position_embeddings=64, initializer_range=0.5, **shape
        )
    )
    settings = GRPOConfig(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=group,
        num_generations=group,
        max_completion_length=MAX_COMPLETION,
        gradient_checkpointing=False,
        report_to=[],
        use_cpu=True,
        bf16=False,
    )
    trainer = GRPOTrainer(
        model,
        rewards,
        settings,
        Dataset.from_list([{"prompt": "w3 w4"}] * group),
        processing_class=tokenizer,
    )
    trainer.model.train()
    return trainer


def recorded_logprobs(trainer: GRPOTrainer) -> list[torch.Tensor]:
    """The list to which every call of TRL's own computation of log-probabilities adds its
    result."""
    seen: list[torch.Tensor] = []
    compute = trainer._get_per_token_logps_and_entropies

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        logprobs, entropies, rest = compute(*args, **kwargs)
        if logprobs.requires_grad:
            logprobs.retain_grad()
        seen.append(logprobs)
        return logprobs, entropies, rest

    trainer._get_per_token_logps_and_entropies = wrapped
    return seen


def random_lengths(
    rows: int, tokens: int, generator: torch.Generator
) -> tuple[list[list[int]], list[list[int]]]:
    """Completions of different lengths, and which of their tokens the agent said: observations
    stand in the middle, never at the ends."""
    lengths = torch.randint(3, tokens + 1, (rows,), generator=generator).tolist()
    lengths[0] = tokens
    ids = [torch.randint(3, VOCABULARY, (n,), generator=generator).tolist() for n in lengths]
    said = [
        [1 if t in (0, n - 1) else int(torch.rand((), generator=generator) < 0.7) for t in range(n)]
        for n in lengths
    ]
    return ids, said


def losses(group: int, tokens: int, seed: int) -> dict[str, Any]:
    """Two micro-batches of `group` rows make one optimizer step; the loss and the gradient of each,
    for every setting."""
    g, rows = torch.Generator().manual_seed(seed), 2 * group
    trainer = tiny_trainer(group, lambda completions, **_: [0.0] * len(completions))
    seen = recorded_logprobs(trainer)
    trainer.current_gradient_accumulation_steps, trainer.args.steps_per_generation = 2, 2
    ids, said = random_lengths(rows, tokens, g)
    mask = torch.tensor([row + [0] * (tokens - len(row)) for row in said])
    inputs = {
        "prompt_ids": torch.randint(3, VOCABULARY, (rows, 3), generator=g),
        "prompt_mask": torch.ones(rows, 3, dtype=torch.long),
        "completion_ids": torch.tensor([row + [0] * (tokens - len(row)) for row in ids]),
        "completion_mask": torch.tensor(
            [[1] * len(row) + [0] * (tokens - len(row)) for row in ids]
        ),
        "tool_mask": torch.where(
            torch.arange(tokens) < torch.tensor([[len(row)] for row in ids]), mask, 1
        ),
        "advantages": torch.randn(rows, generator=g),
    }
    inputs["advantages"][1] = 0.0
    whole = (
        torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1),
        torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1),
    )
    with torch.no_grad():
        logprobs = trainer._get_per_token_logps_and_entropies(trainer.model, *whole, tokens)[0]
        logits = trainer.model(*whole).logits[:, -tokens - 1 : -1]
    entropies = trainer._get_per_token_logps_and_entropies(
        trainer.model, *whole, tokens, compute_entropy=True
    )[1]
    gap = 0.3 * torch.randn(rows, tokens, generator=g)
    far = torch.rand(rows, tokens, generator=g)
    gap = torch.where(far < 0.1, -3.0, torch.where(far > 0.9, 3.0, gap))
    inputs["old_per_token_logps"] = logprobs - gap
    inputs["ref_per_token_logps"] = logprobs + 0.5 * torch.randn(rows, tokens, generator=g)
    found = []
    for settings in SETTINGS:
        used = BASE | settings
        trainer.loss_type, trainer.beta, trainer.args.delta = (
            used["loss_type"],
            used["beta"],
            used["delta"],
        )
        trainer.args.use_bias_correction_kl = used["use_bias_correction_kl"]
        trainer.epsilon_low, trainer.epsilon_high = used["epsilon_low"], used["epsilon_high"]
        trainer.importance_sampling_level = used["importance_sampling_level"]
        parts, gradients = [], []
        for half in (slice(0, group), slice(group, rows)):
            part = {name: tensor[half] for name, tensor in inputs.items()} | {
                "num_items_in_batch": mask.sum()
            }
            loss = trainer._compute_loss(trainer.model, part)
            loss.backward()
            parts.append(loss)
            gradients.append(seen[-1].grad)
        found.append(
            {
                **used,
                "losses": numbers(torch.stack(parts)),
                "gradient": numbers(torch.cat(gradients)),
            }
        )
    kept = {
        name: numbers(inputs[name])
        for name in ("advantages", "old_per_token_logps", "ref_per_token_logps")
    }
    return {
        "max_completion_length": MAX_COMPLETION,
        "mask": mask.tolist(),
        "logprobs": numbers(logprobs),
        **kept,
        "logits_of_row_0": numbers(logits[0]),
        "entropies_of_row_0": numbers(entropies[0]),
        "settings": found,
    }


def scored(
    trainer: GRPOTrainer,
    ids: list[list[int]],
    said: list[list[int]],
    sampled: list[list[float]] | None,
) -> dict[str, Any]:
    """One run of `_generate_and_score_completions` over completions that are given."""
    rows = len(ids)
    trainer._generate = lambda prompts: (
        [[3, 4]] * rows,
        ids,
        said,
        ["w3"] * rows,
        sampled,
        {},
        None,
        None,
    )
    return trainer._generate_and_score_completions([{"prompt": "w3 w4"} for _ in range(rows)])


def advantages(prompts: int, group: int, seed: int) -> list[dict[str, Any]]:
    """Rewards in eighths, one group that agrees on 4.2, one member unscored (None)."""
    g = torch.Generator().manual_seed(seed)
    rewards: list[float | None] = (
        torch.randint(0, 41, (prompts * group,), generator=g) / 8
    ).tolist()
    rewards[:group] = [4.2] * group
    if group > 2:
        rewards[-1] = None
    trainer = tiny_trainer(group, lambda completions, **_: rewards)
    found = []
    for scale in ("group", "batch", "none"):
        trainer.scale_rewards = scale
        made = scored(trainer, [[3, 5, 2]] * len(rewards), [[1, 0, 1]] * len(rewards), None)[
            "advantages"
        ]
        found.append(
            {
                "scale_rewards": scale,
                "group": group,
                "rewards": rewards,
                "advantages": numbers(made),
            }
        )
    return found


def importance(group: int, tokens: int, seed: int) -> list[dict[str, Any]]:
    g = torch.Generator().manual_seed(seed)
    trainer = tiny_trainer(group, lambda completions, **_: [0.0] * len(completions))
    ids, said = random_lengths(group, tokens, g)
    trainer.use_vllm, trainer.vllm_importance_sampling_correction = True, True
    trainer.vllm_importance_sampling_clip_min = None
    # only to learn what TRL makes of the log-probabilities
    first = scored(trainer, ids, said, [[0.0] * len(row) for row in ids])
    gap = 0.5 * torch.randn(group, tokens, generator=g)
    sampled_NT = first["old_per_token_logps"] + gap
    found = []
    for mode in ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask"):
        for cap in (1.3, 2.0):
            trainer.vllm_importance_sampling_mode, trainer.vllm_importance_sampling_clip_max = (
                mode,
                cap,
            )
            made = scored(
                trainer,
                ids,
                said,
                [row[: len(kept)] for row, kept in zip(sampled_NT.tolist(), ids, strict=True)],
            )
            metrics = {
                name: values[-1]
                for name, values in trainer._metrics["train"].items()
                if name.startswith("sampling/")
            }
            found.append(
                {
                    "mode": mode,
                    "cap": cap,
                    "ratio": numbers(made["importance_sampling_ratio"]),
                    "metrics": metrics,
                }
            )
    mask = [row + [0] * (tokens - len(row)) for row in said]
    return [
        {
            "mask": mask,
            "trainer": numbers(first["old_per_token_logps"]),
            "sampler": numbers(sampled_NT),
            "found": found,
        }
    ]


def main() -> None:
    torch.set_num_threads(1)
    golden = {
        "made_with": "trl 1.16.0, torch 2.13.0 (CPU)",
        "losses": [losses(3, 7, seed=1), losses(4, 10, seed=2)],
        "advantages": [
            case
            for prompts, group, seed in ((4, 4, 3), (5, 8, 4), (3, 2, 5))
            for case in advantages(prompts, group, seed)
        ],
        "importance": importance(5, 8, seed=6),
    }
    path = Path(__file__).with_name("trl.json")
    path.write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
