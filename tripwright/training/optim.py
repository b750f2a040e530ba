"""Optimizers: Muon for the matrices inside the layers, AdamW for everything else (embeddings,
norms). One schedule for both.

Muon is momentum whose matrices are made orthogonal before they are applied (Jordan et al., 2024),
all matrices of one shape at once. The same arithmetic as `torch.optim.Muon` (a test holds it to
that), which works on one matrix at a time and always in bfloat16: on a processor without bfloat16
instructions most of a small model's step would go into the optimizer.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge, Gt, Lt
from torch import Tensor, nn
from torch.optim import AdamW

from tripwright.errors import UserError
from tripwright.inference.models import AUTO, precision_named

# of the quintic whose repeated use drives every singular value towards 1
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5


class Muon(torch.optim.Optimizer):
    """For weight matrices (2-D parameters) only. Nesterov momentum; the update of an (A, B) matrix
    is scaled by √max(1, A / B)."""

    def __init__(
        self,
        matrices: Iterable[Tensor],
        lr: float = 0.02,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        dtype: torch.dtype = torch.float32,
    ):
        super().__init__(matrices, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.dtype = dtype

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for matrix in group["params"]:
                if matrix.grad is not None:
                    by_shape[matrix.shape].append(matrix)
            for shape, matrices in by_shape.items():
                updates = orthogonal(
                    torch.stack([self._momentum(matrix, group["momentum"]) for matrix in matrices]),
                    self.dtype,
                )
                rate = group["lr"] * max(1.0, shape[0] / shape[1]) ** 0.5
                for matrix, update in zip(matrices, updates, strict=True):
                    matrix.mul_(1 - group["lr"] * group["weight_decay"])
                    matrix.add_(update, alpha=-rate)

    def _momentum(self, matrix: Tensor, momentum: float) -> Tensor:
        assert matrix.grad is not None
        state = self.state[matrix]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        buffer: Tensor = state["momentum_buffer"]
        buffer.lerp_(matrix.grad, 1 - momentum)
        return matrix.grad.lerp(buffer, momentum)


def orthogonal(matrices: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """(N, A, B) → (N, A, B): about U Vᵀ of each matrix's singular value decomposition (singular
    values end up between .7 and 1.2)."""
    a, b, c = COEFFICIENTS
    tall = matrices.shape[1] > matrices.shape[2]
    x = (matrices.transpose(1, 2) if tall else matrices).to(dtype)
    x = x / x.flatten(1).norm(dim=1).clamp(min=1e-7)[:, None, None]
    for _ in range(ITERATIONS):
        gram = x @ x.transpose(1, 2)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x.transpose(1, 2) if tall else x).to(matrices.dtype)


Moment = Annotated[float, Ge(0), Lt(1)]


@dataclass(frozen=True)
class OptimizerSettings:
    """`name` "muon" uses `learning_rate` for matrices and `adamw_learning_rate` for the rest;
    "adamw" uses the latter for all.

    `state`: AdamW's two moments of every weight in float32; "8bit" in a quarter of that (Dettmers
    et al., 2022, by bitsandbytes; of small tensors in float32 all the same); "offloaded", with the
    masters, in the machine's memory in place of the GPU's, where they are stepped.
    """

    name: Literal["muon", "adamw"] = "muon"
    learning_rate: Annotated[float, Gt(0)] = 0.02
    adamw_learning_rate: Annotated[float, Gt(0)] = 1e-3
    weight_decay: Annotated[float, Ge(0)] = 0.0
    betas: tuple[Moment, Moment] = (0.9, 0.95)
    momentum: Moment = 0.8  # of Muon; 0.95 suits longer runs than ours (dev/LOG.md, 2026-11-23)
    grad_clip: Annotated[float, Gt(0)] = 1.0
    state: Literal["float32", "8bit", "offloaded"] = "float32"

    @property
    def first_rate(self) -> float:
        """Of the matrices, where Muon takes them."""
        return self.learning_rate if self.name == "muon" else self.adamw_learning_rate

    def __post_init__(self) -> None:
        if self.state == "8bit" and self.name != "adamw":
            raise UserError(f"state '8bit' is of AdamW alone, found name '{self.name}'.")


class Optimizers:
    """The optimizers of one model behind one face. `step(scale)` multiplies every learning rate by
    `scale`.

    A parameter narrower than float32 is stepped as a master, a float32 copy of it, and is that
    copy rounded: in bfloat16 alone, steps of 1e-6 are lost. Its gradient is widened when its turn
    comes, so that those of all are never there in float32 at once. torch's optimizers know no
    masters; Apex, Transformer Engine and DeepSpeed do, and need a GPU.
    """

    def __init__(self, model: nn.Module, settings: OptimizerSettings):
        self.settings = settings
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        self.parameters = [p for _, p in named]
        offloaded = settings.state == "offloaded"
        self.stepped = [_stepped(p, offloaded) for p in self.parameters]
        matrices, rest, self.has_masters = list[Tensor](), list[Tensor](), False
        for (name, p), stepped in zip(named, self.stepped, strict=True):
            inside = p.ndim == 2 and "embed" not in name and "lm_head" not in name
            (matrices if inside and settings.name == "muon" else rest).append(stepped)
            self.has_masters |= stepped is not p
        # in one pass, without temporaries of the weights' size
        fused = self.has_masters or self.stepped[0].device.type == "cuda"
        adamw = _adamw_8bit() if settings.state == "8bit" else partial(AdamW, fused=fused)
        self.all: list[torch.optim.Optimizer] = [
            adamw(
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
                    precision_named(AUTO, matrices[0]),
                )
            )
        self._rates = [[group["lr"] for group in optimizer.param_groups] for optimizer in self.all]

    def step(self, scale: float = 1.0) -> float:
        """Clips, steps and clears the gradients. Returns the gradient norm before clipping; where
        that is not finite, no step is taken: one would lose the weights, and the checkpoints after
        them."""
        for optimizer, rates in zip(self.all, self._rates, strict=True):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * scale
        if self.has_masters:
            norm = self._step_masters()
        else:
            norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, self.settings.grad_clip))
            if math.isfinite(norm):
                self._step_all()
        for parameter in self.parameters:
            parameter.grad = None
        return norm

    def _step_all(self) -> None:
        """Every tensor that has a gradient."""
        for optimizer in self.all:
            optimizer.step()

    @torch.no_grad()
    def _step_masters(self) -> float:
        """One parameter after the other; what a step says of the norm."""
        norms = [
            torch.linalg.vector_norm(p.grad, dtype=torch.float32)
            for p in self.parameters
            if p.grad is not None
        ]
        norm = float(torch.linalg.vector_norm(torch.stack(norms))) if norms else 0.0
        if not math.isfinite(norm):
            return norm
        clip = min(1.0, self.settings.grad_clip / (norm + 1e-6))  # as clip_grad_norm_ has it
        for parameter, master in zip(self.parameters, self.stepped, strict=True):
            if parameter.grad is None:
                continue
            gradient, parameter.grad = parameter.grad, None
            master.grad = gradient.to(master.device, master.dtype).mul_(clip)
            del gradient
            self._step_all()
            master.grad = None
            parameter.copy_(master)
        return norm

    def state_dict(self) -> list[dict[str, Any]]:
        states = [optimizer.state_dict() for optimizer in self.all]
        return [*states, {"masters": self.stepped}] if self.has_masters else states

    @torch.no_grad()
    def load_state_dict(self, states: list[dict[str, Any]]) -> None:
        for optimizer, state in zip(self.all, states, strict=False):
            optimizer.load_state_dict(state)
        if self.has_masters:
            for master, kept in zip(self.stepped, states[-1]["masters"], strict=True):
                master.copy_(kept)


def _stepped(parameter: nn.Parameter, offloaded: bool) -> Tensor:
    """What optimizers step: the parameter itself, or its master where it is too narrow, or where it
    is to be stepped elsewhere."""
    if offloaded and parameter.device.type != "cpu":
        return parameter.detach().to("cpu", torch.float32)
    return parameter.detach().float() if parameter.dtype.itemsize < 4 else parameter


def _adamw_8bit() -> Any:
    try:
        from bitsandbytes.optim import AdamW8bit  # an extra, and slow to import
    except ImportError:
        raise UserError(
            "optimizer.state '8bit' needs bitsandbytes: pip install 'tripwright[eight-bit]'."
        ) from None
    return AdamW8bit


def warm_up_and_decay(
    progress: float, warm_up: float = 0.02, floor: float = 0.05, cosine: bool = False
) -> float:
    """Learning-rate scale at `progress` in [0, 1]: linear up to 1 at `warm_up`, then down to
    `floor`, on a line or on half a period of a cosine (Loshchilov and Hutter, 2017)."""
    if progress < warm_up:
        return progress / warm_up
    past, whole = progress - warm_up, 1.0 - warm_up
    if cosine:
        past = whole * (1.0 - math.cos(math.pi * past / whole)) / 2
    return 1.0 - (1.0 - floor) * past / whole  # in this order: pinned trainings have its rounding
