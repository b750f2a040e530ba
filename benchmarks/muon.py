"""Our Muon against `torch.optim.Muon`: seconds for one optimizer step on the matrices of the
quickstart's model.

    python benchmarks/muon.py [--threads 2] [--steps 10]

Both make the same update (tests/training/test_optim.py). Torch's works on one matrix at a time and
always in bfloat16; ours takes all matrices of one shape together, in the format that this processor
multiplies fastest. Figures are medians over the steps, both in one run.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch

from tripwright.inference.models import fastest
from tripwright.training.nano import NanoShape
from tripwright.training.optim import Muon


def matrices(shape: NanoShape) -> list[torch.nn.Parameter]:
    queries, keys, wide = (
        shape.heads * shape.head_size,
        shape.kv_heads * shape.head_size,
        shape.feed_forward,
    )
    layer = [
        (queries, shape.hidden),
        (keys, shape.hidden),
        (keys, shape.hidden),
        (shape.hidden, queries),
    ]
    layer += [(wide, shape.hidden), (wide, shape.hidden), (shape.hidden, wide)]
    made = [torch.nn.Parameter(torch.randn(size)) for _ in range(shape.layers) for size in layer]
    for each in made:
        each.grad = torch.randn_like(each)
    return made


def median_seconds(optimizer: torch.optim.Optimizer, steps: int) -> float:
    optimizer.step()
    seconds = []
    for _ in range(steps):
        began = time.perf_counter()
        optimizer.step()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--threads", type=int, default=2)
    asked.add_argument("--steps", type=int, default=10)
    asked.add_argument("--layers", type=int, default=NanoShape().layers)
    given = asked.parse_args()
    torch.set_num_threads(given.threads)
    made = matrices(NanoShape(layers=given.layers))
    ours = median_seconds(Muon(made, dtype=fastest()), given.steps)
    theirs = median_seconds(torch.optim.Muon(made), given.steps)
    print(
        f"{len(made)} matrices, {sum(each.numel() for each in made):,} parameters, ours in"
        f" {fastest()}"
    )
    print(
        f"torch.optim.Muon {theirs * 1000:.0f} ms a step, ours {ours * 1000:.0f} ms:"
        f" {theirs / ours:.1f} times as fast"
    )


if __name__ == "__main__":
    main()
