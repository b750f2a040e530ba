"""A CPU as one of verl's platforms: FSDP2 workers over gloo, so that the whole of it can be run
where there is no GPU. What that does not prove is said in docs/cluster.md."""

from __future__ import annotations

import functools
import types
from contextlib import nullcontext
from typing import Any

import torch
from verl.plugin.platform import PlatformRegistry
from verl.plugin.platform.platform_cuda import PlatformCUDA

from tripwright.bridges.verl import NAME
from tripwright.training.metrics import peak_memory_mb


class _Device(types.ModuleType):
    """torch.cpu, where each function of torch.cuda that it lacks does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(torch.cpu, name, lambda *args, **kwargs: 0)

    def mem_get_info(self, *args: Any) -> tuple[int, int]:
        return (0, 0)

    def max_memory_allocated(self, *args: Any) -> float:
        return peak_memory_mb() * 1e6

    def get_device_name(self, *args: Any) -> str:
        return "CPU"


@PlatformRegistry.register(platform="cpu")
class CpuPlatform(PlatformCUDA):
    """Ray's GPUs are logical here: `ray start --num-gpus N`, or `ray_init.num_gpus`."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _Device("cpu_device")

    def is_available(self) -> bool:
        return True

    def current_device(self) -> str:
        return "cpu"  # verl writes `.to(current_device())`

    def device_count(self) -> int:
        return 1

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def _nothing(self, *args: Any) -> None: ...

    set_device = synchronize = empty_cache = set_allocator_settings = _nothing
    profiler_start = profiler_stop = cudart = _nothing

    def communication_backend_name(self) -> str:
        return "gloo"

    def nvtx_range(self, msg: str) -> Any:
        return nullcontext()

    def ray_noset_envvars(self) -> list[str]:
        return []

    def is_ipc_supported(self) -> bool:
        return False


def register() -> None:
    """Public: the platform and the replica. Private, three lines: verl asks for the process group
    "cpu:gloo,cpu:gloo", which torch refuses; forward-only engines ask for pinned memory, which
    needs a GPU; the sender's table has no function to add to it. (verl's other modules ask for the
    platform when they are imported, so it must be there first.)"""
    import verl.utils.distributed as distributed
    import verl.utils.fsdp_utils as fsdp
    import verl.workers.rollout.base as rollout_base
    from verl.workers.rollout.replica import RolloutReplicaRegistry

    distributed.initialize_global_process_group_ray = functools.partial(
        distributed.initialize_global_process_group_ray, backend="gloo"
    )
    policy = fsdp.CPUOffloadPolicy
    fsdp.CPUOffloadPolicy = lambda pin_memory=True: policy(pin_memory=False)
    rollout_base._ROLLOUT_REGISTRY[(NAME, "async")] = f"{__package__}.sampler.EngineSender"
    RolloutReplicaRegistry.register(NAME, _replica)


def _replica() -> Any:
    from tripwright.bridges.verl.inside.sampler import EngineReplica

    return EngineReplica
