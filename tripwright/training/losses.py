"""The arithmetic of policy-gradient training as pure functions on tensors (rows P6, S6, D7): no
model, no trainer, no state.

Suffixes of names: _P prompts, _G group members, _N rollouts, _T tokens, _V vocabulary. New tensors
are made on their inputs' device. `tests/training/golden` holds values that TRL's and verl's own
code gave for these functions, and the scripts that made them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from annotated_types import Gt, Lt
from torch import Tensor

# verl's bound on log ratios: an infinite ratio would give NaN gradients, even for a token that is
# clipped, and above it fp32 sums lose everything else
LARGEST_LOG_RATIO = 20.0


# ---- advantages: how much better than its group a rollout was (rows P6, S6, D7)

Normalisation = Literal["group", "batch", "none"]


def group_advantages(
    rewards_PG: Tensor,
    scored_PG: Tensor,
    normalise: Normalisation = "group",
    population: bool = False,
    eps: float = 1e-6,
) -> Tensor:
    """(r − mean of the group) / (std + eps), over scored members only (P, G); 0 for the unscored
    and for groups that agree.

    "group": the group's own std (eq. 9 of Planner-R1). "batch": the std of all scored rewards
    around their common mean, as TRL's scale_rewards="batch" takes it, so it also counts how far the
    groups are apart. "none": not divided (Dr. GRPO). `population` divides the squares by their
    number (eq. 9); the default is the sample std that verl and TRL use (number − 1).
    """
    centred_PG = _centred(rewards_PG, scored_PG)
    if normalise == "none":
        advantages_PG = centred_PG
    elif normalise == "group":
        advantages_PG = centred_PG / (_std(centred_PG, scored_PG, population) + eps)
    else:
        everything = rewards_PG.reshape(1, -1), scored_PG.reshape(1, -1)
        advantages_PG = centred_PG / (_std(_centred(*everything), everything[1], population) + eps)
    # The mean of equal numbers may be off by a rounding error, which the division would blow up to
    # a fair-sized advantage.
    high_P1 = rewards_PG.masked_fill(~scored_PG, float("-inf")).amax(1, keepdim=True)
    low_P1 = rewards_PG.masked_fill(~scored_PG, float("inf")).amin(1, keepdim=True)
    return torch.where(high_P1 > low_P1, advantages_PG, torch.zeros_like(advantages_PG))


def _std(centred_PG: Tensor, scored_PG: Tensor, population: bool) -> Tensor:
    """Of each row's scored members (P, 1)."""
    members_P1 = scored_PG.sum(1, keepdim=True) - (0 if population else 1)
    return (centred_PG.square().sum(1, keepdim=True) / members_P1.clamp(min=1)).sqrt()


def _centred(rewards_PG: Tensor, scored_PG: Tensor) -> Tensor:
    """Each row less the mean of its scored members; 0 where unscored."""
    zeros_PG = torch.zeros_like(rewards_PG)
    mean_P1 = torch.where(scored_PG, rewards_PG, zeros_PG).sum(1, keepdim=True) / scored_PG.sum(
        1, keepdim=True
    ).clamp(min=1)
    return torch.where(scored_PG, rewards_PG - mean_P1, zeros_PG)


# ---- PPO's clipped policy loss per token, with clip-higher and dual clip (rows P6, S6)


@dataclass(frozen=True)
class Clip:
    """PPO's clip range around a ratio of 1, and the dual clip that bounds the loss of unlikely
    actions with negative advantage.

    `low` < `high` is clip-higher (row S6). `dual` is verl's clip_ratio_c and, while dual ≥ 1 +
    high, TRL's delta; None: no bound.
    """

    low: Annotated[float, Gt(0), Lt(1)] = 0.2
    high: Annotated[float, Gt(0)] = 0.2
    dual: Annotated[float, Gt(1)] | None = 3.0


def clipped_loss(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, clip: Clip
) -> tuple[Tensor, Tensor]:
    """Per-token loss to be minimised, and which tokens were clipped. All shapes equal.

    A clipped token has no gradient. Nor has one whose probability changed by more than a factor of
    e^20.
    """
    ratio = (logprobs - old_logprobs).clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp()
    plain = -advantages * ratio
    clipped_terms = -advantages * ratio.clamp(1 - clip.low, 1 + clip.high)
    loss = torch.maximum(plain, clipped_terms)
    clipped = clipped_terms > plain
    if clip.dual is not None:
        bounded = -advantages * clip.dual
        clipped = clipped | ((advantages < 0) & (loss > bounded))
        loss = torch.where(advantages < 0, torch.minimum(loss, bounded), loss)
    return loss, clipped


# ---- other losses, by their name in a recipe (`grpo.loss`). All take and return (N, T); what they
# say outside the mask means nothing.

PolicyLoss = Callable[[Tensor, Tensor, Tensor, Tensor, Clip], tuple[Tensor, Tensor]]


def gspo_loss(
    logprobs_NT: Tensor, old_NT: Tensor, advantages_NT: Tensor, mask_NT: Tensor, clip: Clip
) -> tuple[Tensor, Tensor]:
    """Per-token loss and which tokens were clipped: PPO's, with one ratio for a sequence, the
    geometric mean of its tokens' (GSPO, arXiv 2507.18071, eq. 7; verl's "gspo", TRL's
    importance_sampling_level "sequence").

    Every token has the ratio's value and its own gradient (eq. 14), so that any aggregation and
    advantages per token go with it. It has no dual clip. The paper's range is narrow: 0.0003 and
    0.0004.
    """
    gap_NT = (logprobs_NT - old_NT).detach().masked_fill(~mask_NT, 0.0)
    mean_N1 = gap_NT.sum(1, keepdim=True) / mask_NT.sum(1, keepdim=True).clamp(min=1)
    mean_N1 = mean_N1.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)
    # the value of the mean, the gradient of the token
    as_old_NT = logprobs_NT.detach() - mean_N1
    return clipped_loss(logprobs_NT, as_old_NT, advantages_NT, replace(clip, dual=None))


def cispo_loss(
    logprobs_NT: Tensor, old_NT: Tensor, advantages_NT: Tensor, mask_NT: Tensor, clip: Clip
) -> tuple[Tensor, Tensor]:
    """Per-token loss and which tokens were clipped: −A · log π, weighted by the clipped ratio
    without its gradient, so that clipped tokens go on to learn (CISPO, arXiv 2506.13585, eq. 4;
    verl's "cispo"; TRL's has no lower bound, and its epsilon_high is 1 + `high`)."""
    ratio_NT = (logprobs_NT - old_NT).detach().clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp()
    held_NT = ratio_NT.clamp(1 - clip.low, 1 + clip.high)
    return -held_NT * advantages_NT * logprobs_NT, held_NT != ratio_NT


LOSSES: dict[str, PolicyLoss] = {"gspo": gspo_loss, "cispo": cispo_loss}


# ---- how per-token losses become one number: each paper and framework weighs tokens, rollouts and
# groups differently

# Name, and who uses it:
# "token-mean"        the config of P6; verl token-mean; TRL dapo
# "group-token-mean"  the formula of S6 (1/Σ|H| within each group)
# "trajectory-mean"   the formula of P6 (1/T within each rollout); verl seq-mean-token-mean;
#                     TRL grpo
# "trajectory-sum"    verl seq-mean-token-sum; TRL luspo at token level; divided by a constant
#                     (`grpo.loss_scale_factor`) it is Dr. GRPO's: verl seq-mean-token-sum-norm,
#                     TRL dr_grpo
Aggregation = Literal["token-mean", "group-token-mean", "trajectory-mean", "trajectory-sum"]


def token_weights(
    mask_NT: Tensor,
    aggregation: Aggregation,
    rollouts: int,
    tokens: int,
    group_tokens_N: Tensor | None = None,
    groups: int | None = None,
    rollout_tokens_N: Tensor | None = None,
) -> Tensor:
    """Weights with which per-token losses are summed into the batch loss (N, T); 0 outside the
    mask.

    "token-mean": mean over all tokens of the batch. "group-token-mean": mean over groups of the
    mean over all tokens of the group. "trajectory-mean": mean over rollouts of the mean over their
    tokens. "trajectory-sum": mean over rollouts of the sum over their tokens.

    `rollouts`, `tokens` and `groups` count the whole batch, including what is left out because its
    advantage is 0. `group_tokens_N` is, for each row, the number of tokens of its whole group; only
    "group-token-mean" reads it and `groups`. `rollout_tokens_N` is the same of its rollout, where a
    row may be a part of one; only "trajectory-mean" reads it.
    """
    if aggregation == "token-mean":
        return mask_NT / max(1, tokens)
    if aggregation == "group-token-mean":
        assert group_tokens_N is not None and groups is not None
        return mask_NT / group_tokens_N.to(torch.float32).clamp(min=1)[:, None] / max(1, groups)
    if aggregation == "trajectory-mean":
        own_N = mask_NT.sum(1) if rollout_tokens_N is None else rollout_tokens_N.to(mask_NT)
        return mask_NT / own_N.clamp(min=1)[:, None] / max(1, rollouts)
    return mask_NT / max(1, rollouts)


# ---- distance to a reference policy (row D7) and entropy of the next token (rows S11, D9)

KlEstimator = Literal["k2", "k3"]
CHUNK_NUMBERS = 4_000_000  # numbers of the logits that are worked on at once: 16 MB in fp32


def kl_estimate(
    logprobs: Tensor, reference_logprobs: Tensor, estimator: KlEstimator = "k3"
) -> Tensor:
    """One-sample estimates of KL(π‖π_ref) for tokens sampled from π; same shape, in nats (Schulman
    2020, "Approximating KL divergence").

    With x = log π_ref − log π: "k2" is x²/2 (biased, never negative), "k3" is eˣ − x − 1 (unbiased,
    never negative, low variance: TRL's term, and verl's low_var_kl up to its clamp). There is no
    "k1", −x: as a term of the loss its gradient is zero in expectation.

    As a term of a loss on tokens sampled from π they pull differently. The expected gradient of k2
    is that of KL(π‖π_ref). That of k3 is the gradient of KL(π_ref‖π); multiplied by the ratio
    π/π_old it is that of KL(π‖π_ref) again (TRL does so by default).

    verl also cuts the value of k3 at 10. That takes the gradient from the very tokens that are
    furthest off, so it is not done here. The log ratio is held within ±20, as verl does.
    """
    if estimator == "k2":
        return (logprobs - reference_logprobs).square() / 2
    x = (reference_logprobs - logprobs).clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)
    return torch.expm1(x) - x


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


# ---- the gap between who sampled the tokens and who is trained on them, measured and corrected by
# importance weights: the same weights in another program or precision give other probabilities

Correction = Literal["none", "truncate", "mask"]
Level = Literal["token", "sequence"]


@dataclass(frozen=True)
class Importance:
    """What to do with ratios π_trainer/π_sampler.

    "none": only measure. "truncate": min(ratio, cap), truncated importance sampling (TIS). "mask":
    0 where the ratio is above the cap. Level "sequence" takes one ratio per row, the product over
    its tokens (unbiased, high variance); "token" one per token (biased, low).

    `sequence_cap` c, beside any correction: rows whose ratios have a geometric mean outside
    [1/c, c] weigh 0 (verl's rollout_rs "seq_mean_k1"). `recompute`: the loss takes its ratio to the
    trainer's log-probabilities even where nothing is corrected (row P6).
    """

    correction: Correction = "none"
    cap: Annotated[float, Gt(0)] = 2.0
    level: Level = "token"
    sequence_cap: Annotated[float, Gt(1)] | None = None
    recompute: bool = False

    @property
    def asks_trainer(self) -> bool:
        """Whether the trainer's log-probabilities before the update are needed."""
        return self.correction != "none" or self.sequence_cap is not None or self.recompute


def importance_weights(
    trainer_logprobs: Tensor,
    sampler_logprobs: Tensor,
    settings: Importance,
    mask: Tensor | None = None,
) -> tuple[Tensor, dict[str, float]]:
    """Weights by which per-token losses are multiplied, without gradient, in the inputs' shape (0
    outside `mask`), and figures.

    `mask` marks the tokens that count; without it, all do. At level "sequence" the last dimension
    is the sequence: give rows (N, T) with their mask, or the tokens (T) of one rollout, never
    tokens of several in a line. Figures, over tokens unless said: gap_mean, gap_max    |log
    π_trainer − log π_sampler|, nats
      kl                   k3 estimate of KL(sampler‖trainer), nats
      capped_share         share of the ratios above the cap (of rows at level "sequence"), whether
      or not they are corrected effective_share      effective sample size of the uncapped ratios
      over their number, (Σw)²/(n Σw²) (rows at "sequence"); 1: no gap
      rejected_share       share of the rows outside `sequence_cap`, where one is given
    """
    with torch.no_grad():
        mask_NT = torch.ones_like(trainer_logprobs, dtype=torch.bool) if mask is None else mask > 0
        # padding may hold anything, NaN too
        gap = (trainer_logprobs - sampler_logprobs).masked_fill(~mask_NT, 0.0)
        if settings.level == "token":
            log_ratio, ratio_mask = gap, mask_NT
        else:
            log_ratio, ratio_mask = gap.sum(-1, keepdim=True), mask_NT.any(-1, keepdim=True)
        ratio = log_ratio.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp()
        if settings.correction == "truncate":
            weights = ratio.clamp(max=settings.cap)
        elif settings.correction == "mask":
            weights = ratio.masked_fill(ratio > settings.cap, 0.0)
        else:
            weights = torch.ones_like(ratio)
        figures = _figures(gap[mask_NT], ratio[ratio_mask], settings.cap)
        if settings.sequence_cap is not None:
            held = gap.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)
            mean = held.sum(-1, keepdim=True) / mask_NT.sum(-1, keepdim=True).clamp(min=1)
            far = mean.abs() > math.log(settings.sequence_cap)
            weights = weights.masked_fill(far, 0.0)
            rows = mask_NT.any(-1, keepdim=True)
            figures["rejected_share"] = float(far[rows].to(gap.dtype).mean()) if rows.any() else 0.0
        return weights.expand_as(gap) * mask_NT, figures


def _figures(gaps: Tensor, ratios: Tensor, cap: float) -> dict[str, float]:
    names = ("gap_mean", "gap_max", "kl", "capped_share", "effective_share")
    if not len(gaps):
        return dict(zip(names, (0.0, 0.0, 0.0, 0.0, 1.0), strict=True))
    sizes, clamped = gaps.abs(), gaps.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)
    effective = ratios.sum().square() / ratios.square().sum() / len(ratios)
    figures = torch.stack(
        [
            sizes.mean(),
            sizes.max(),
            (torch.expm1(clamped) - clamped).mean(),
            (ratios > cap).to(sizes.dtype).mean(),
            effective,
        ]
    )
    # one transfer from the device instead of five
    return dict(zip(names, figures.tolist(), strict=True))


# ---- what PPO with a value head adds: generalised advantage estimation, whitening, the value loss


def gae(
    rewards_NT: Tensor, values_NT: Tensor, mask_NT: Tensor, gamma: float, lam: float
) -> tuple[Tensor, Tensor]:
    """Advantages and returns over the agent's own tokens (mask 1), both without gradient and 0
    elsewhere (N, T); not whitened.

    Observation tokens are skipped as if they were cut out: the step from the last token of a turn
    leads to the first token of the next turn, discounted once. δ_t = r_t + γ V(next) − V_t; A_t =
    δ_t + γ λ A(next); return = A_t + V_t. (Schulman et al. 2015; verl's
    compute_gae_advantage_return gives the same advantages, whitened, and leaves numbers on
    observation tokens.) A reward outside the mask is lost: put it on the last own token.
    """
    action_mask_NT = mask_NT > 0
    with torch.no_grad():
        advantages_NT = torch.zeros_like(values_NT)
        advantage_N = next_value_N = torch.zeros_like(values_NT[:, 0])
        # no row says anything at the other positions
        for t in reversed(action_mask_NT.any(0).nonzero().flatten().tolist()):
            said_N, value_N = action_mask_NT[:, t], values_NT[:, t]
            delta_N = rewards_NT[:, t] + gamma * next_value_N - value_N
            advantage_N = torch.where(said_N, delta_N + gamma * lam * advantage_N, advantage_N)
            next_value_N = torch.where(said_N, value_N, next_value_N)
            advantages_NT[:, t] = torch.where(said_N, advantage_N, 0.0)
        return advantages_NT, torch.where(action_mask_NT, advantages_NT + values_NT, 0.0)


def whiten(x_NT: Tensor, mask_NT: Tensor, eps: float = 1e-8) -> Tensor:
    """Shifted to mean 0 and scaled to sample variance 1 over the mask; 0 outside it, and everywhere
    if less than two tokens count."""
    action_mask_NT = mask_NT > 0
    n = action_mask_NT.sum()
    centred_NT = torch.where(
        action_mask_NT, x_NT - torch.where(action_mask_NT, x_NT, 0.0).sum() / n.clamp(min=1), 0.0
    )
    variance = centred_NT.square().sum() / (n - 1).clamp(min=1)
    return centred_NT * (variance + eps).rsqrt()


def value_loss(values: Tensor, old_values: Tensor, returns: Tensor, clip: float | None) -> Tensor:
    """½ (V − return)² per token, all shapes equal. With `clip`, the worse of V and V held within
    `clip` of the old value (PPO2, verl)."""
    squares = (values - returns).square()
    if clip is not None:
        clipped = torch.maximum(torch.minimum(values, old_values + clip), old_values - clip)
        squares = torch.maximum(squares, (clipped - returns).square())
    return squares / 2
