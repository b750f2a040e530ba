"""The table `[verl]` of a recipe: the machines that train it by verl (docs/cluster.md). It changes
who computes, not what is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Lt

Count = Annotated[int, Ge(1)]


@dataclass(frozen=True)
class ClusterSettings:
    """`sampler`: whose servers generate; "cpu" is our own engine, with all of verl on a CPU.

    `tensor_parallel` GPUs hold one copy of the sampler's weights. `memory_share` of a GPU is the
    sampler's while it generates. `offload`: weights and optimizer wait in the CPU's memory
    meanwhile. `sequence_parallel` GPUs share one row of the update. `episode_workers`: processes
    that play episodes. `options`: keys of verl's own, over everything that is said here.
    """

    nodes: Count = 1
    gpus_per_node: Count = 8
    sampler: Literal["vllm", "sglang", "cpu"] = "vllm"
    tensor_parallel: Count = 1
    memory_share: Annotated[float, Gt(0), Lt(1)] = 0.6
    offload: bool = False
    sequence_parallel: Count = 1
    episode_workers: Count = 8
    options: Any = None

    @property
    def gpus(self) -> int:
        return self.nodes * self.gpus_per_node
