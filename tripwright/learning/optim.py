"""Optimizers: Muon for the matrices inside the layers, AdamW for everything else (embeddings,
norms). One schedule for both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from annotated_types import Ge, Gt, Lt
from torch import nn

from tripwright.inference.precision import fastest
from tripwright.learning.muon import Muon

OPTIMIZERS = ("muon", "adamw")
Moment = Annotated[float, Ge(0), Lt(1)]


@dataclass(frozen=True)
class OptimizerSettings:
    """`name` "muon" uses `learning_rate` for matrices and `adamw_learning_rate` for the rest;
    "adamw" uses the latter for all."""

    name: str = "muon"
    learning_rate: Annotated[float, Gt(0)] = 0.02
    adamw_learning_rate: Annotated[float, Gt(0)] = 1e-3
    weight_decay: Annotated[float, Ge(0)] = 0.0
    betas: tuple[Moment, Moment] = (0.9, 0.95)
    momentum: Moment = 0.8  # of Muon; 0.95 suits longer runs than ours (docs/log.md, 2026-11-23)
    grad_clip: Annotated[float, Gt(0)] = 1.0


class Optimizers:
    """The optimizers of one model behind one face. `step(scale)` multiplies every learning rate by
    `scale`."""

    def __init__(self, model: nn.Module, settings: OptimizerSettings):
        self.settings = settings
        parameters = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        matrices = [
            p
            for name, p in parameters
            if p.ndim == 2
            and "embed" not in name
            and "lm_head" not in name
            and settings.name == "muon"
        ]
        inside = {id(p) for p in matrices}
        rest = [p for _, p in parameters if id(p) not in inside]
        self.parameters = [p for _, p in parameters]
        self.all: list[torch.optim.Optimizer] = [
            torch.optim.AdamW(
                rest,
                lr=settings.adamw_learning_rate,
                betas=settings.betas,
                weight_decay=settings.weight_decay,
            )
        ]
        if matrices:
            self.all.append(
                Muon(
                    matrices,
                    settings.learning_rate,
                    settings.momentum,
                    settings.weight_decay,
                    fastest(),
                )
            )
        self._rates = [[group["lr"] for group in optimizer.param_groups] for optimizer in self.all]

    def step(self, scale: float = 1.0) -> float:
        """Clips, steps and clears the gradients. Returns the gradient norm before clipping; where
        that is not finite, no step is taken: one would lose the weights, and the checkpoints after
        them."""
        norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, self.settings.grad_clip))
        if not math.isfinite(norm):
            for optimizer in self.all:
                optimizer.zero_grad(set_to_none=True)
            return norm
        for optimizer, rates in zip(self.all, self._rates, strict=True):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * scale
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return norm

    def state_dict(self) -> list[dict[str, Any]]:
        return [optimizer.state_dict() for optimizer in self.all]

    def load_state_dict(self, states: list[dict[str, Any]]) -> None:
        for optimizer, state in zip(self.all, states, strict=True):
            optimizer.load_state_dict(state)


def warm_up_and_decay(progress: float, warm_up: float = 0.02, floor: float = 0.05) -> float:
    """Learning-rate scale at `progress` in [0, 1]: linear up to 1 at `warm_up`, then linear down to
    `floor`."""
    if progress < warm_up:
        return progress / warm_up
    return 1.0 - (1.0 - floor) * (progress - warm_up) / (1.0 - warm_up)
