"""Where a model is, and its number formats: what is there, and what a processor multiplies
fastest, by name.

On a CPU bfloat16 can be four times as fast as float32 where there are instructions for it, and is
four times as slow where there are none, because every product is then widened first (measured: 40
against 160 GFLOP/s on a Cascade Lake). Instructions alone say little: an Intel Xeon of 2023 with
AVX-512 BF16, whose AMX a virtual machine hides, makes 165 against 290.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch

from tripwright.errors import UserError
from tripwright.inference.adapter import base_parameters

AUTO = "auto"
_NAMED = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
PRECISIONS = (AUTO, *_NAMED)  # what a run may ask for
# for sampling only, to compare without rounding: autocast knows no such products
DOUBLE = "float64"


def device_named(name: str) -> torch.device:
    """`auto` is the first GPU where there is one, else the CPU. Raises UserError for a device that
    is not here, with those that are."""
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    accepted = ["cpu", *(["cuda"] if gpus else []), *(f"cuda:{number}" for number in range(gpus))]
    if name == AUTO:
        name = "cuda" if gpus else "cpu"
    if name not in accepted:
        there = f"{gpus} GPU{'s' * (gpus != 1)}" if gpus else "no GPU that torch can use"
        raise UserError(
            f"No device '{name}' here: there is {there}. Accepted: auto, {', '.join(accepted)}."
        )
    return torch.device(name)


def precision_named(name: str, weight: torch.Tensor | None = None) -> torch.dtype:
    """`auto` is what a model with such weights is multiplied in: their own format where that is
    narrower than float32, bfloat16 on a GPU, else `fastest()`. Raises UserError for a name that is
    neither in PRECISIONS nor DOUBLE."""
    if name == DOUBLE:
        return torch.float64
    if name not in PRECISIONS:
        raise UserError(f"Unknown dtype '{name}'. Accepted: {', '.join(PRECISIONS)}.")
    if name != AUTO:
        return _NAMED[name]
    if weight is not None and weight.dtype in (torch.bfloat16, torch.float16):
        return weight.dtype
    on_gpu = weight is not None and weight.device.type == "cuda"
    return torch.bfloat16 if on_gpu else fastest()


def convert_weights(model: Any, dtype: torch.dtype) -> None:
    """In place, one parameter at a time; an adapter's stay. Buffers stay: in bfloat16 the
    frequencies of rotary positions are off by a radian at position 2,000."""
    for parameter in base_parameters(model):
        parameter.data = parameter.data.to(dtype)


def fastest() -> torch.dtype:
    """bfloat16 where this processor is known to multiply it faster than float32. Known, not tried:
    on a busy machine a trial comes out otherwise now and then, and a run would not go on bit for
    bit."""
    if _has("_is_amx_tile_supported"):
        return torch.bfloat16
    if _has("_is_avx512_bf16_supported") and "Intel" not in _vendor():
        return torch.bfloat16
    return torch.float32


@functools.cache
def _vendor() -> str:
    """Text that names it: "… GenuineIntel …", "… AuthenticAMD …"."""
    info = Path("/proc/cpuinfo")
    return info.read_text(encoding="utf-8")[:200] if info.is_file() else platform.processor()


def _has(sign: str) -> bool:
    """torch names these checks with an underscore, so that they may go: without them float32 is
    right everywhere, if not the fastest."""
    check: Callable[[], bool] | None = getattr(torch.cpu, sign, None)
    return bool(check and check())


def autocast(dtype: torch.dtype, device: str = "cpu") -> AbstractContextManager[object]:
    """Matrix products in `dtype`, weights as they are. A weight is narrowed where it is used, once
    a pass: kept for a second use, it would stay when the layer is done."""
    if dtype == torch.float32:
        return nullcontext()
    return torch.autocast(device, dtype=dtype, cache_enabled=False)
