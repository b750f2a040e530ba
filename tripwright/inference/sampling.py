"""How a local model's tokens are chosen: settings, and the choice itself.

Every episode has its own random numbers, one per token, from the seed and the episode's id. A token
is where the episode's number falls in the cumulated probabilities. So what an episode samples does
not depend on who else is in the batch, when it entered, or on what was played before (up to
rounding: in another batch shape the last bits of a probability may differ).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from tripwright.errors import UserError
from tripwright.inference.models import AUTO

NO_TOP_K = -1  # as vLLM and SGLang write it
BLOCK = 512  # tokens whose probabilities are added up before the choice looks at single ones


@dataclass(frozen=True)
class Sampling:
    """`temperature` 0 is greedy. `rows` is how many sessions are in the batch at once. `top_p` and
    `top_k` (rows P9, S10) cut the tail off the distribution, top_k first; -1 is none.

    Log-probabilities are stored of the whole distribution at the given temperature, of the plain
    one where it is 0. With a tail cut off they are not those of what was sampled from, so on-policy
    training refuses such settings (`check_on_policy`).
    """

    temperature: float = 0.0
    rows: int = 64
    seed: int = 0
    dtype: str = AUTO  # one of inference.models.PRECISIONS, or DOUBLE
    top_p: float = 1.0
    top_k: int | None = None
    # 0: tools answer at once, in place; n: so many threads wait for slow tools while other rows
    #   decode
    tool_threads: int = 0

    def __post_init__(self) -> None:
        some_k = self.top_k in (None, NO_TOP_K) or self.top_k >= 1
        amounts = self.temperature >= 0 and self.rows >= 1 and self.tool_threads >= 0
        if not (amounts and 0 < self.top_p <= 1 and some_k):
            raise UserError(
                "Sampling needs temperature ≥ 0, rows ≥ 1, tool_threads ≥ 0, top_p above 0 and at"
                f" most 1, and top_k ≥ 1 or none; found {self}."
            )

    def check_on_policy(self) -> None:
        """Raises UserError where the stored log-probabilities are not those of the distribution
        sampled from."""
        if self.temperature == 0 or self.top_p < 1 or self.top_k not in (None, NO_TOP_K):
            values = f"temperature {self.temperature}, top_p {self.top_p}, top_k {self.top_k}"
            raise UserError(
                f"On-policy training samples from the whole distribution: found {values}; expected"
                " temperature above 0, no others."
            )


class SampledTokens(NamedTuple):
    tokens: Tensor  # (rows,)
    logprobs: Tensor  # (rows,)
    distribution: Tensor  # (rows, vocabulary): log-probabilities at the temperature


def choose(logits: Tensor, uniforms: list[float], sampling: Sampling) -> SampledTokens:
    """One token for every row of logits (rows, vocabulary). `uniforms` are from [0, 1), one a row,
    and unused where greedy."""
    greedy = sampling.temperature == 0
    logprobs = torch.log_softmax(logits if greedy else logits / sampling.temperature, dim=-1)
    if greedy:
        tokens = logprobs.argmax(-1)
    else:
        weights = cut_tail(logprobs.exp(), sampling.top_p, sampling.top_k)
        tokens = invert(weights, torch.tensor(uniforms, dtype=torch.float64, device=logits.device))
    return SampledTokens(tokens, logprobs.gather(1, tokens[:, None])[:, 0], logprobs)


def invert(weights: Tensor, uniforms: Tensor) -> Tensor:
    """Inverse of the cumulated weights (rows, vocabulary) at uniforms (rows,): the index of a token
    whose weight is above 0, always.

    In two looks, at blocks and then inside one, so that a large vocabulary is gone through once and
    not cumulated token by token.
    """
    rows, vocabulary = weights.shape
    size = min(BLOCK, vocabulary)
    blocks = torch.nn.functional.pad(weights, (0, -vocabulary % size)).view(rows, -1, size)
    sums = blocks.sum(-1, dtype=torch.float64)
    upto = sums.cumsum(-1)
    target = uniforms * upto[:, -1]
    block = _first_beyond(upto, sums, target)
    each = torch.arange(rows, device=weights.device)
    inside = blocks[each, block].double()
    within = _first_beyond(inside.cumsum(-1), inside, target - (upto - sums)[each, block])
    return block * size + within


def _first_beyond(upto: Tensor, weights: Tensor, target: Tensor) -> Tensor:
    """The first column with a weight whose cumulated sum is above the target; where rounding left
    none, the last one with a weight."""
    width, some = weights.shape[-1], weights > 0
    beyond = (upto > target[:, None]) & some
    last = width - 1 - some.flip(-1).byte().argmax(-1)
    return torch.where(beyond.any(-1), beyond.byte().argmax(-1), last)


def cut_tail(probabilities: Tensor, top_p: float, top_k: int | None) -> Tensor:
    """Weights: the probabilities of the `top_k` likeliest tokens, and of these of the fewest that
    hold `top_p` of what is left."""
    if top_k == NO_TOP_K:
        top_k = None
    if top_k is None and top_p >= 1:
        return probabilities
    # falling
    weights, tokens = probabilities.topk(
        min(top_k or probabilities.shape[-1], probabilities.shape[-1]), dim=-1
    )
    before = weights.cumsum(-1, dtype=torch.float64) - weights
    if top_p < 1:
        weights = torch.where(
            before < top_p * weights.sum(-1, keepdim=True, dtype=torch.float64), weights, 0.0
        )
    return torch.zeros_like(probabilities).scatter_(1, tokens, weights)
