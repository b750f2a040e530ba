"""tripwright's trips as an environment of verifiers, v1 (docs/gateway.md of tripwright)."""

from tripwright_verifiers.harness import TripEnv, TripHarness
from tripwright_verifiers.taskset import TripTaskset

__all__ = ["TripEnv", "TripHarness", "TripTaskset"]
