"""What the current policy, or a reference, says of the agent's own tokens."""

from __future__ import annotations

from torch import Tensor

from tripwright.inference.decoder import Decoder
from tripwright.learning.batches import Batch, token_logits
from tripwright.rl.settings import RolloutSettings


def action_logits(decoder: Decoder, batch: Batch, settings: RolloutSettings) -> Tensor:
    """Logits (N, vocabulary) at the agent's own tokens, at the temperature sampled with: what
    ratios, entropy and KL are made of."""
    return token_logits(decoder, batch, settings.dtype, batch.mask > 0) / settings.temperature
