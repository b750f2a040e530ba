"""What the current policy, or a reference, says of the agent's own tokens."""

from __future__ import annotations

import torch
from torch import Tensor

from tripwright.inference.decoder import Decoder
from tripwright.inference.models import autocast
from tripwright.learning.batches import Batch, hidden_at
from tripwright.learning.vocabulary import chunked_scores, keeps_logits, logprobs_of
from tripwright.rl.objectives import token_entropy
from tripwright.rl.settings import RolloutSettings


def action_logprobs(decoder: Decoder, batch: Batch, settings: RolloutSettings) -> Tensor:
    """(N,) at the agent's own tokens, at the temperature sampled with: what ratios and KL are made
    of."""
    own_BT = batch.mask > 0
    hidden = hidden_at(decoder, batch, settings.dtype, own_BT)
    return scores_from(decoder, hidden, batch.targets[own_BT], settings, None)[0]


def scores_from(
    decoder: Decoder,
    hidden: Tensor,
    targets: Tensor,
    settings: RolloutSettings,
    entropy_learns: bool | None,
) -> tuple[Tensor, Tensor]:
    """(log-probabilities of the targets, entropies of the next token), both (N,), after hidden
    states (N or more, hidden). Entropies have a gradient where they learn; None: they are not
    asked for."""
    weight, kind = decoder.model.lm_head.weight, decoder.precision(settings.dtype)
    if not keeps_logits(len(targets), len(weight)):
        logprobs, entropies = chunked_scores(hidden, weight, targets, kind, settings.temperature)
        return logprobs, entropies if entropy_learns else entropies.detach()
    with autocast(kind, decoder.device.type):
        logits = decoder.logits(hidden)[: len(targets)] / settings.temperature
    logprobs = logprobs_of(logits, targets)
    if entropy_learns is None:
        return logprobs, torch.zeros_like(logprobs)
    with torch.set_grad_enabled(entropy_learns):
        return logprobs, token_entropy(logits)
