"""What every process of the cluster rebuilds from RUN/recipe.json, instead of being sent it: the
stream of trips, the dialect, the rewards of the curriculum, the tools. A trip is known everywhere
by its number."""

from __future__ import annotations

import atexit
import threading
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.agent.session import Session
from tripwright.bridges.verl import FOLDER
from tripwright.domains.judging import opened
from tripwright.episode import Task, open_session
from tripwright.learning.trips import Trips
from tripwright.rewards.reward import Reward
from tripwright.rewards.spec import resolve_reward
from tripwright.rl.grpo import GrpoSettings
from tripwright.tools.toolbox import Tools
from tripwright.training.data_source import RL, trips_of
from tripwright.training.recipe import recipe_of_run
from tripwright.training.recipe_tables import Recipe
from tripwright.training.stages import tools_of

_OPEN = ExitStack()  # tools and judges, which stay open as long as the process


@dataclass
class Conditions:
    """Of one run, in one process. Episodes are opened by threads: `trips` keep a few worlds at hand
    and are asked by one of them at a time."""

    recipe: Recipe
    settings: GrpoSettings
    dialect: Dialect
    trips: Trips
    rewards: list[Reward]  # of the curriculum's stages
    tools: Tools | None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def task(self, number: int) -> Task:
        with self.lock:
            return self.trips.at(number)

    def open(self, number: int, group: str, member: int, chat: ChatFormat) -> Session:
        """As `rl.rollout_worker` opens it: the same call of all members of a group may be made to
        fail, and each has its own random numbers, by its id."""
        task = self.task(number).renamed(group)
        return open_session(
            task.renamed(f"{group}/{member}"),
            self.dialect,
            chat,
            faults=self.recipe.faults,
            tools=self.tools,
            faults_key=group,
        )


@cache
def conditions_of(run: str) -> Conditions:
    """Of a run folder. Raises UserError for one that is no training with [grpo]."""
    recipe = recipe_of_run(Path(run))
    assert recipe.rl is not None and isinstance(recipe.rl.settings, GrpoSettings)
    settings, dialect = recipe.rl.settings, recipe.dialect.dialect()
    atexit.register(_OPEN.close)
    tools = _OPEN.enter_context(tools_of(recipe, settings.tools, dialect))
    judging = Path(run) / FOLDER / "judging" / _process_name()
    if recipe.judging is not None:  # a journal has one writer
        judging.mkdir(parents=True, exist_ok=True)
    judged = _OPEN.enter_context(opened(recipe.domain, recipe.judging, judging))
    rewards = [resolve_reward(name, recipe.domain.rewards) for name in settings.curriculum.rewards]
    return Conditions(recipe, settings, dialect, trips_of(recipe, RL, judged), rewards, tools)


def _process_name() -> str:
    import os
    import socket

    return f"{socket.gethostname()}-{os.getpid()}"
