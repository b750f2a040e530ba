"""What a step of verl's is made of on our side.

Every process of the cluster rebuilds from RUN/recipe.json, instead of being sent it: the stream of
trips, the dialect, the rewards of the curriculum, the tools. A trip is known everywhere by its
number.

Rollouts with advantages become the rows of verl's update: whole groups in a minibatch, and on every
token the weight that the local engine gives it. verl's own ways of summing a loss do not know
rollouts that left it. So a token's weight (`training/losses.py`) is sent along in the
column that is for importance weights, and the loss (`inside/trainer.py`) adds up what it weighs. A
rollout without a gradient is not sent at all: it counts in the weights of the others."""

from __future__ import annotations

import atexit
import os
import socket
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import torch

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.bridges.verl import FOLDER
from tripwright.episode import Session, open_session
from tripwright.rewards.reward import Reward
from tripwright.rewards.spec import resolve_reward
from tripwright.tools.toolbox import Tools
from tripwright.training.batches import rows_of
from tripwright.training.data_source import RL, trips_of
from tripwright.training.grpo import GrpoSettings, has_gradient
from tripwright.training.losses import token_weights
from tripwright.training.recipe import Recipe, recipe_of_run
from tripwright.training.rl_loop import minibatches_of
from tripwright.training.rollouts import Rollout
from tripwright.training.stages import tools_of
from tripwright.training.trips import Trips

_OPEN = ExitStack()  # judges, which stay open as long as the process


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

    def open(self, number: int, group: str, member: int, chat: ChatFormat) -> Session:
        """As `training.rollout_worker` opens it: each member of a group has its own random numbers,
        by its id, and its own faults where the group does not share them."""
        with self.lock:
            task = self.trips.at(number)
        return open_session(
            task.renamed(f"{group}/{member}"),
            self.dialect,
            chat,
            faults=self.recipe.faults,
            tools=self.tools,
            group=group,
        )


@cache
def conditions_of(run: str) -> Conditions:
    """Of a run folder. Raises UserError for one that is no training with [grpo]."""
    recipe = recipe_of_run(Path(run))
    assert recipe.rl is not None and isinstance(recipe.rl.settings, GrpoSettings)
    settings, dialect = recipe.rl.settings, recipe.dialect.dialect()
    atexit.register(_OPEN.close)
    tools = tools_of(recipe, settings.tools, dialect)
    # a journal has one writer
    judging = Path(run) / FOLDER / "judging" / f"{socket.gethostname()}-{os.getpid()}"
    if recipe.judging is not None:
        judging.mkdir(parents=True, exist_ok=True)
    judged = _OPEN.enter_context(recipe.domain.judge.opened(recipe.judging, judging))
    rewards = [resolve_reward(name, recipe.domain.rewards) for name in settings.curriculum.rewards]
    return Conditions(recipe, settings, dialect, trips_of(recipe, RL, judged), rewards, tools)


def said_nothing(session: Session, reason: str) -> None:
    """Takes an answer without a token, which costs its episode alone. SGLang leaves the window's
    last token free, so where no more than one is left the context is full; anywhere else the
    sampler failed, and the episode is unscored."""
    if session.turn_budget <= 1:
        session.overflow()
    else:
        session.fail(f"the sampler gave no token ({reason})")


@dataclass(frozen=True)
class UpdateRow:
    """A row of a minibatch. `index`: which of its rollout's sequences it is. Of each token of the
    sequence (T): the sampler's log-probability, the advantage, the weight in the loss."""

    rollout: Rollout
    index: int
    prompt: int
    old_T: list[float]
    advantages_T: list[float]
    weights_T: list[float]

    def key(self, step: int) -> str:
        """In verl's queue: prompt, member, sequence."""
        group, _, member = self.rollout.episode.task.id.rpartition("/")
        return f"{uid_of(group, step)}_{member}_{self.index}"

    def response(self, values_T: Sequence[float]) -> torch.Tensor:
        return torch.tensor(values_T[self.prompt :], dtype=torch.float32)


def uid_of(group: str, step: int) -> str:
    """verl's name of a prompt, which becomes the front of its rows' keys."""
    return f"{group}-step{step}".replace("_", "-")


Update = list[UpdateRow]  # what one step of the optimizer learns from


def updates_of(rollouts: list[Rollout], settings: GrpoSettings, seed: int) -> list[Update]:
    """One pass over the rollouts; those of it in which something is to be learned. (verl repeats
    the pass `epochs_per_batch` times.)"""
    once = replace(settings, epochs_per_batch=1)
    shuffle = torch.Generator().manual_seed(seed)
    updates = (update_of(part, settings) for part in minibatches_of(rollouts, once, shuffle))
    return [update for update in updates if update]


def update_of(minibatch: list[Rollout], settings: GrpoSettings) -> Update:
    tokens, tokens_of = sum(r.tokens for r in minibatch), Counter[int]()
    for r in minibatch:
        tokens_of[r.group] += r.tokens
    rows = []
    for rollout in minibatch:
        if not has_gradient(rollout, settings):
            continue
        for index, row in enumerate(rows_of(rollout)):
            weights_1T = token_weights(
                torch.tensor([row.sequence.loss_mask], dtype=torch.float32),
                settings.aggregation,
                len(minibatch),
                tokens,
                torch.tensor([tokens_of[rollout.group]]),
                len(tokens_of),
                torch.tensor([rollout.tokens]),
            )
            weights_1T = weights_1T / settings.loss_scale_factor
            weights_1T = weights_1T * torch.tensor(row.spread(rollout.weights_T, 1.0))
            rows.append(
                UpdateRow(
                    rollout,
                    index,
                    prompt=len(rollout.episode.transcript.segments[0].token_ids),
                    old_T=list(row.columns[2]),
                    advantages_T=row.spread(rollout.advantages_T, rollout.advantage),
                    weights_T=weights_1T[0].tolist(),
                )
            )
    return rows
