"""What checkpointed activations save: peak memory and CPU seconds of one update of a model of 29
million parameters on a row of 2,048 tokens, without them and with them.

    python benchmarks/activations.py [--tokens 2048] [--threads 1]

Each way works in a fork of one process, which holds the same weights: so both begin with the same
memory, and what they add is the update's own (gradients, activations, the logits' part). The loss
is the fine-tuning's on every token, in fp32. The same gradients come out, bit for bit
(tests/training/test_checkpointed_activations.py).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from typing import Any

import torch
import transformers

from tripwright.inference.decoder import Decoder
from tripwright.learning.batches import collate, token_logprobs


def new_weights() -> Any:
    torch.manual_seed(0)
    return transformers.Qwen3ForCausalLM(
        transformers.Qwen3Config(
            vocab_size=8192,
            hidden_size=512,
            intermediate_size=1536,
            num_hidden_layers=8,
            num_attention_heads=8,
            num_key_value_heads=4,
            head_dim=64,
            max_position_embeddings=32768,
            tie_word_embeddings=True,
        )
    )


def update_figures(model: Any, tokens: int, threads: int, again: bool) -> dict[str, float]:
    """Of a process of its own."""
    to_parent, at_child = os.pipe()
    child = os.fork()
    if child == 0:
        torch.set_num_threads(threads)
        decoder, row = Decoder(model), torch.arange(tokens + 1) % 8192
        decoder.checkpoint_activations = again
        batch = collate([(row.tolist(), [1] * len(row), [0.0] * len(row))])
        before, began = resource.getrusage(resource.RUSAGE_SELF), time.process_time()
        (-token_logprobs(decoder, batch, "float32", batch.mask > 0).mean()).backward()
        seconds = time.process_time() - began
        added = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before.ru_maxrss
        os.write(at_child, json.dumps({"mb": added * 1024 / 1e6, "seconds": seconds}).encode())
        os._exit(0)
    os.waitpid(child, 0)
    found: dict[str, float] = json.loads(os.read(to_parent, 4096))
    return found


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--tokens", type=int, default=2048)
    asked.add_argument("--threads", type=int, default=1)
    given = asked.parse_args()
    torch.set_num_threads(1)  # no pool of threads is there when a process forks
    model = new_weights()
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{parameters:,} parameters, a row of {given.tokens:,} tokens, fp32")
    for again in (False, True):
        found = update_figures(model, given.tokens, given.threads, again)
        way = "checkpointed" if again else "kept"
        print(
            f"activations {way}: {found['mb']:,.0f} MB more at the peak,"
            f" {found['seconds']:.1f} CPU seconds"
        )


if __name__ == "__main__":
    main()
