"""The arithmetic of policy-gradient training as pure functions on tensors (rows P6, S6, D7): no
model, no trainer, no state.

Suffixes of names: _P prompts, _G group members, _N rollouts, _T tokens, _V vocabulary. New tensors
are made on their inputs' device. `tests/rl/golden` holds values that TRL's and verl's own code gave
for these functions, and the scripts that made them.
"""

from tripwright.rl.objectives.advantages import NORMALISATIONS, Normalisation, group_advantages
from tripwright.rl.objectives.aggregation import Aggregation, token_weights
from tripwright.rl.objectives.divergence import (
    KL_ESTIMATORS,
    KlEstimator,
    kl_estimate,
    token_entropy,
)
from tripwright.rl.objectives.importance import Importance, importance_weights
from tripwright.rl.objectives.policy_loss import Clip, clipped_loss
from tripwright.rl.objectives.values import gae, value_loss, whiten

__all__ = [
    "KL_ESTIMATORS",
    "NORMALISATIONS",
    "Aggregation",
    "Clip",
    "Importance",
    "KlEstimator",
    "Normalisation",
    "clipped_loss",
    "gae",
    "group_advantages",
    "importance_weights",
    "kl_estimate",
    "token_entropy",
    "token_weights",
    "value_loss",
    "whiten",
]
