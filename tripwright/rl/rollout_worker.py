"""Playing groups of episodes with the model that is trained: tasks in, rewarded groups out. What is
learned from them is not said here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.agent.session import Session
from tripwright.episode import Task, closed, open_session
from tripwright.inference.branching import Branching
from tripwright.inference.local import LocalPolicy, Sampling
from tripwright.rewards.reward import Reward
from tripwright.rl.rollouts import RolloutGroup
from tripwright.rl.served_policy import ServedPolicy
from tripwright.rl.settings import RolloutSettings
from tripwright.tools.faults import Faults
from tripwright.tools.toolbox import Tools


def sampling_policy(
    model: Any, chat: ChatFormat, settings: RolloutSettings, seed: int
) -> LocalPolicy | ServedPolicy:
    """The model as it is sampled from in training: from its whole distribution, by our engine or on
    a server."""
    if settings.server is not None:
        return ServedPolicy(model, chat, settings, seed)
    rows = settings.max_concurrent_rollouts or settings.prompts_per_step * settings.group_size
    sampling = Sampling(
        settings.temperature, rows, seed, settings.dtype, tool_threads=settings.tool_threads
    )
    sampling.check_on_policy()
    return LocalPolicy(model, chat, sampling)


@dataclass
class RolloutWorker:
    """Plays groups with one policy under one recipe's conditions. `faults` are of the tools (row
    S9): the same call of all members of a group fails, so that their rewards differ by what they
    did and not by what they met."""

    policy: LocalPolicy | ServedPolicy
    dialect: Dialect
    group_size: int
    rules: str = "strict"
    faults: Faults | None = None
    branching: Branching | None = None
    tools: Tools | None = None
    # what was computed since the step began
    engine_counts: Counter[str] = field(default_factory=Counter)

    def begin_step(self) -> None:
        """The weights may have changed."""
        self.engine_counts.clear()
        if isinstance(self.policy, ServedPolicy):
            self.policy.stale = True

    @property
    def figures(self) -> dict[str, Any]:
        """Of the step; what is no count, of its last play."""
        if isinstance(self.policy, ServedPolicy):
            return {**self.engine_counts, **self.policy.last_play}
        return {**self.engine_counts, "rows_per_pass": self.policy.figures["rows_per_pass"]}

    def play(self, tasks: Sequence[tuple[int, Task]], reward: Reward) -> list[RolloutGroup]:
        """Members of a group are neighbours, so that they share their prompt's prefill; each has
        its own seed, the episode's id."""
        sessions_of_groups = (
            [self._open(task, g) for g in range(self.group_size)] for _, task in tasks
        )
        sessions = self.policy.play_groups(sessions_of_groups, self.branching)
        episodes = {episode.task.id: episode for episode in closed(sessions, self.rules)}
        self.engine_counts.update(self.policy.figures)
        groups = []
        for number, task in tasks:
            members = [episodes[f"{task.id}/{g}"] for g in range(self.group_size)]
            groups.append(RolloutGroup(number, task, members))
            groups[-1].rewards = groups[-1].rewarded(reward)
        if isinstance(self.policy, ServedPolicy):
            self.policy.close(groups)
        return groups

    def _open(self, task: Task, member: int) -> Session:
        return open_session(
            task.renamed(f"{task.id}/{member}"),
            self.dialect,
            self.policy.chat,
            faults=self.faults,
            tools=self.tools,
            faults_key=task.id,
        )
