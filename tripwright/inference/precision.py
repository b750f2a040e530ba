"""Number formats: what a processor multiplies fastest, by name.

On a CPU bfloat16 can be four times as fast as float32 where there are instructions for it, and is
four times as slow where there are none, because every product is then widened first (measured: 40
against 160 GFLOP/s on a Cascade Lake). Instructions alone say little: an Intel Xeon of 2023 with
AVX-512 BF16, whose AMX a virtual machine hides, makes 165 against 290.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch

from tripwright.errors import UserError

AUTO = "auto"
_NAMED = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
PRECISIONS = (AUTO, *_NAMED)  # what a run may ask for
# for sampling only, to compare without rounding: autocast knows no such products
DOUBLE = "float64"


def precision_named(name: str) -> torch.dtype:
    """`auto` is `fastest()`. Raises UserError for a name that is neither in PRECISIONS nor
    DOUBLE."""
    if name == DOUBLE:
        return torch.float64
    if name not in PRECISIONS:
        raise UserError(f"Unknown dtype '{name}'. Accepted: {', '.join(PRECISIONS)}.")
    return fastest() if name == AUTO else _NAMED[name]


@functools.cache
def fastest() -> torch.dtype:
    """bfloat16 where this processor multiplies it faster than float32: asked once per process, 20
    ms where there are instructions for it."""
    if not any(_has(sign) for sign in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")):
        return torch.float32
    return min((torch.bfloat16, torch.float32), key=_seconds_of_product)


def _seconds_of_product(dtype: torch.dtype) -> float:
    """The best of some: other work on the machine only adds."""
    a, b, took = torch.ones(1024, 256, dtype=dtype), torch.ones(256, 1024, dtype=dtype), []
    for _ in range(6):
        began = time.perf_counter()
        a @ b
        took.append(time.perf_counter() - began)
    return min(took)


def _has(sign: str) -> bool:
    """torch names these checks with an underscore, so that they may go: without them float32 is
    right everywhere, if not the fastest."""
    check: Callable[[], bool] | None = getattr(torch.cpu, sign, None)
    return bool(check and check())


def autocast(dtype: torch.dtype, device: str = "cpu") -> AbstractContextManager[object]:
    """Matrix products in `dtype`, weights as they are."""
    return nullcontext() if dtype == torch.float32 else torch.autocast(device, dtype=dtype)
