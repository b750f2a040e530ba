"""Distance to a reference policy (row D7) and entropy of the next token (rows S11, D9)."""

from __future__ import annotations

from typing import Any, Literal, get_args

import torch
from torch import Tensor

KlEstimator = Literal["k1", "k2", "k3"]
KL_ESTIMATORS: tuple[KlEstimator, ...] = get_args(KlEstimator)
LARGEST_LOG_RATIO = 20.0  # verl's bound: above it fp32 sums lose everything else
CHUNK_NUMBERS = 4_000_000  # numbers of the logits that are worked on at once: 16 MB in fp32


def kl_estimate(logprobs: Tensor, reference_logprobs: Tensor, estimator: str = "k3") -> Tensor:
    """One-sample estimates of KL(π‖π_ref) for tokens sampled from π; same shape, in nats (Schulman
    2020, "Approximating KL divergence").

    With x = log π_ref − log π: "k1" is −x (unbiased, may be negative), "k2" is x²/2 (biased, never
    negative), "k3" is eˣ − x − 1 (unbiased, never negative, low variance: TRL's term, and verl's
    low_var_kl up to its clamp).

    As a term of a loss on tokens sampled from π they pull differently. The expected gradient of k2
    is that of KL(π‖π_ref). That of k3 is the gradient of KL(π_ref‖π); multiplied by the ratio
    π/π_old it is that of KL(π‖π_ref) again (TRL does so by default). That of k1 is zero: k1 is for
    looking at, or for a penalty inside the reward.

    verl also cuts the value of k3 at 10. That takes the gradient from the very tokens that are
    furthest off, so it is not done here. The log ratio is held within ±20, as verl does.
    """
    if estimator == "k1":
        return logprobs - reference_logprobs
    if estimator == "k2":
        return (logprobs - reference_logprobs).square() / 2
    if estimator == "k3":
        x = (reference_logprobs - logprobs).clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)
        return torch.expm1(x) - x
    raise ValueError(f"unknown KL estimator {estimator!r}: {', '.join(map(repr, KL_ESTIMATORS))}")


def token_entropy(logits_NV: Tensor) -> Tensor:
    """−Σ p log p of each row in nats, fp32 (N,). Logits of −inf are tokens that cannot come.

    Beside the logits it needs room for two chunks in fp32, whatever N is. For the way back it keeps
    the logits and N numbers.
    """
    return _Entropy.apply(logits_NV)


class _Entropy(torch.autograd.Function):
    """Plain autograd would keep three fp32 copies of the logits. The gradient needs none of them:
    dH/dz = −p log p − p H."""

    @staticmethod
    def forward(context: Any, logits_NV: Tensor) -> Tensor:
        entropy_N = torch.cat([torch.special.entr(p).sum(1) for p in _probabilities(logits_NV)])
        context.save_for_backward(logits_NV, entropy_N)
        return entropy_N

    @staticmethod
    def backward(context: Any, gradient_N: Tensor) -> Tensor:
        logits_NV, entropy_N = context.saved_tensors
        gradient_NV, done = torch.empty_like(logits_NV), 0
        for p in _probabilities(logits_NV):
            rows = slice(done, done + len(p))
            gradient_NV[rows] = (torch.special.entr(p) - p * entropy_N[rows, None]) * gradient_N[
                rows, None
            ]
            done += len(p)
        return gradient_NV


def _probabilities(logits_NV: Tensor) -> Any:
    """The softmax in fp32, some rows at a time; one empty piece where there are no rows."""
    rows = max(1, CHUNK_NUMBERS // max(1, logits_NV.shape[1]))
    return (torch.softmax(piece, dim=1, dtype=torch.float32) for piece in logits_NV.split(rows))
