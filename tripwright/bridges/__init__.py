"""The episode in other frameworks' protocols. Each adapter is behind an extra of its own and
imports its framework at the top; a trainer with a proxy or a loop of its own needs none
(`gateway`)."""

from tripwright.bridges.gateway import EpisodeFault, OpenEpisode, play_through
from tripwright.training.trips import task_set

__all__ = ["EpisodeFault", "OpenEpisode", "play_through", "task_set"]
