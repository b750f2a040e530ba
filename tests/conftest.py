"""Tiny models and a small tokenizer for the tests of what needs the 'train' extra; made only where a test asks for them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tripwright.agent.dialect import dialect_named


@pytest.fixture(scope="session")
def nano_tokenizer() -> Any:
    """A tokenizer of the kind the quickstart makes, from fewer transcripts."""
    pytest.importorskip("torch")
    from tripwright.training.cold_start import content_words, expert_sessions, tasks
    from tripwright.training.tokenizer import train_tokenizer

    sessions = list(expert_sessions(itertools.islice(tasks("nano", 0, 4), 24), dialect_named("compact"), None))
    worlds = {id(session.tools.world): session.tools.world for session in sessions}.values()
    words = set().union(*(content_words(world) for world in worlds))
    texts = [segment.text for session in sessions for segment in session.transcript.segments]
    return train_tokenizer(texts, words, superwords=160, subwords=700)


@pytest.fixture(scope="session")
def tiny_model() -> Callable[..., Any]:
    """tiny_model(kind, vocabulary, seed=…) → a random two-layer model in fp32: "qwen3", "qwen2" or "llama"."""
    torch = pytest.importorskip("torch")
    import transformers

    kinds = {
        "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM, {"head_dim": 16}),
        "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM, {}),
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM, {}),
    }

    def make(kind: str, vocabulary: int, seed: int = 0, scale: float = 1.0, **changed: Any) -> Any:
        """`scale` above 1 makes the logits less alike than those of a fresh model: a choice between them is then no matter of rounding."""
        config, model, more = kinds[kind]
        torch.manual_seed(seed)
        settings = {
            **{"vocab_size": vocabulary, "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4},
            **{"num_key_value_heads": 2, "max_position_embeddings": 2048, "tie_word_embeddings": kind == "qwen3"},
            **{"bos_token_id": None, "eos_token_id": None, "pad_token_id": None, **more, **changed},
        }
        made = model(config(**settings)).eval()
        with torch.no_grad():
            for name, parameter in made.named_parameters():
                if parameter.ndim == 2:
                    parameter.mul_(scale)
                elif name.endswith("bias"):
                    parameter.normal_()  # zero in a fresh model, and then a bias that is forgotten goes unseen
        return made

    return make
