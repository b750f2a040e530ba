"""Code of the user's own that a recipe names as "module:name", and nothing edited: a loss, an
advantage, an algorithm.

    [grpo]
    loss = "my_ratio:ratio_loss"
    advantage = {function = "mine:advantages"}

    [rl]                                       # in the place of [grpo], [ppo] or [rft]
    algorithm = "mine:MyLoop"
    options = {baseline = "mean"}              # what it makes of them is its own affair

It is imported when training begins, and by nobody else: whoever reads a run folder runs no code
that it names. A run goes on with the file that it began with, and refuses another
(`data_source.data_identity`).
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from traceback import extract_tb
from typing import Any

import torch
from torch import Tensor

from tripwright.errors import UserError
from tripwright.rewards.spec import from_here, imported
from tripwright.training.rl_loop import RlLoop
from tripwright.training.rollouts import RolloutSettings

# What each is called with, by name.
LOSS = ("logprobs", "old_logprobs", "advantages", "mask")
ADVANTAGES = ("rewards", "scored")
LOOP = ("model", "chat", "dialect", "trips", "settings", "seed", "faults", "tools")


@cache
def own(name: str, arguments: tuple[str, ...]) -> Callable[..., Any]:
    """Raises UserError where it cannot be imported, or not be called with these arguments."""
    function = imported(name, "Function")
    try:
        inspect.signature(function).bind(**dict.fromkeys(arguments))
    except (TypeError, ValueError) as error:
        raise UserError(
            f"Function '{name}' cannot be called with {', '.join(arguments)}: {error}."
        ) from None
    return function


def try_out(name: str, arguments: tuple[str, ...]) -> None:
    """Calls a loss or an advantage on small tensors, so that what is wrong with it is known before
    a run begins. Raises UserError."""
    own(name, arguments)
    source_of(name)
    if arguments == ADVANTAGES:
        own_advantages(name, torch.tensor([[0.0, 1.0]]), torch.tensor([[True, True]]))
    if arguments == LOSS:
        logprobs, old_NT = torch.full((3,), -1.0, requires_grad=True), torch.full((2, 2), -1.0)
        mask_NT = torch.tensor([[True, True], [True, False]])
        loss = own_loss(name, logprobs, old_NT, torch.tensor([[1.0, 1.0], [-1.0, -1.0]]), mask_NT)
        if not loss.requires_grad or not bool(loss.isfinite().all()):
            raise UserError(
                f"Function '{name}' returned a loss without a gradient, or one that is not finite."
            )


def source_of(name: str) -> Path:
    """The file that has it, which is not run. Raises UserError where there is none."""
    module = name.partition(":")[0]
    here = from_here()
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        raise UserError(
            f"Function '{name}': no file '{module}' in '{here}', nor an installed module."
        )
    return Path(spec.origin)


def own_loss(
    name: str, logprobs: Tensor, old_NT: Tensor, advantages_NT: Tensor, mask_NT: Tensor
) -> Tensor:
    """Of the agent's own tokens (n,), whose log-probabilities are `logprobs`. The function gets

        logprobs       (N, T)   log-probabilities of the tokens now; gradients go through them
        old_logprobs   (N, T)   when they were sampled
        advantages     (N, T)
        mask           (N, T)   True at the agent's own tokens; elsewhere the others mean nothing

    for N sequences of T positions, and returns the loss of each token (N, T), to be minimised.
    """
    logprobs_NT = torch.zeros_like(old_NT).masked_scatter(mask_NT, logprobs)
    columns = (logprobs_NT, old_NT, advantages_NT, mask_NT)
    return _called(name, dict(zip(LOSS, columns, strict=True)))[mask_NT]


def own_advantages(name: str, rewards_PG: Tensor, scored_PG: Tensor) -> Tensor:
    """(P, G); 0 for the unscored. The function gets

        rewards   (P, G)   of each prompt's group of rollouts; 0 for the unscored
        scored    (P, G)   False where our side failed: such a reward says nothing

    and returns the advantage of each rollout (P, G), finite where it is scored.
    """
    found_PG = _called(name, dict(zip(ADVANTAGES, (rewards_PG, scored_PG), strict=True)))
    advantages_PG = torch.where(scored_PG, found_PG, 0.0)
    if not bool(advantages_PG.isfinite().all()):
        raise UserError(f"Function '{name}' returned an advantage that is not finite.")
    return advantages_PG


def _called(name: str, tensors: Mapping[str, Tensor]) -> Tensor:
    function, shape = own(name, tuple(tensors)), next(iter(tensors.values())).shape
    try:
        result = function(**tensors)
    except Exception as error:
        last = extract_tb(error.__traceback__)[-1]
        where, kind = f"{last.filename}:{last.lineno}", type(error).__name__
        raise UserError(f"Function '{name}' raised {kind} at {where}: {error}") from error
    if not isinstance(result, Tensor) or result.shape != shape:
        found = tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
        raise UserError(f"Function '{name}' returned {found}. Expected a tensor {tuple(shape)}.")
    return result


@dataclass(frozen=True, kw_only=True)
class OwnSettings(RolloutSettings):
    """`algorithm`: a subclass of `rl_loop.RlLoop`, which finds its own settings in `options`."""

    algorithm: str
    options: Any = None

    @property
    def own(self) -> dict[str, tuple[str, ...]]:
        return super().own | {self.algorithm: LOOP}


def own_loop(*arguments: Any) -> RlLoop[Any]:
    """What `OwnSettings` names, made of the arguments of `RlLoop`."""
    named = dict(zip(LOOP, arguments, strict=True))
    name = named["settings"].algorithm
    loop = own(name, LOOP)(**named)
    if not isinstance(loop, RlLoop):
        raise UserError(f"'{name}' is no algorithm. Expected a subclass of RlLoop.")
    return loop
