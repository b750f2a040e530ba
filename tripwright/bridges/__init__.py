"""The episode in other frameworks' protocols. Each adapter is behind an extra of its own and
imports its framework at the top; a trainer with a proxy needs none (`gateway`)."""

from tripwright.bridges.gateway import EpisodeFault, play_through
from tripwright.training.trips import task_set

__all__ = ["EpisodeFault", "play_through", "task_set"]
