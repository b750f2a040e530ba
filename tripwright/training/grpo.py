"""GRPO and its family on travel episodes, one step from top to bottom on one page (rows P4–P6, S6,
S7, D7).

    trips → G episodes each → judge → reward → advantage within the group → clipped policy gradient
    on the agent's own tokens

What is special here, each at the line that does it: rollouts whose failure was ours leave their
group; groups whose members agree give no gradient and are not computed; episodes cut by a limit may
count in the normalisation alone; the old log-probabilities are the sampler's own. What a term of
the loss is stands in `losses`.

Papers' algorithms are settings of this one: DAPO (row S7) is `filter.min_std = 0.0`, ARPO a
`[grpo.branching]` table, DeepTravel (row D7) `filter.min_std = 0.1` with `[grpo.replay]` and
`[grpo.kl]`. The recipes under recipes/ write them out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge, Gt, Le
from torch import Tensor

from tripwright.agent.chat import ChatFormat
from tripwright.episode import Task
from tripwright.errors import UserError
from tripwright.inference.branching import Branching
from tripwright.inference.decoder import Decoder
from tripwright.inference.models import frozen_copy
from tripwright.training.batches import (
    Batch,
    action_logprobs,
    by_target,
    corrected,
    hidden_at,
    scores_from,
    trainer_logprobs,
)
from tripwright.training.credit import advantages_by_evidence
from tripwright.training.losses import (
    LOSSES,
    Aggregation,
    Clip,
    Importance,
    KlEstimator,
    Normalisation,
    clipped_loss,
    group_advantages,
    kl_estimate,
    token_weights,
)
from tripwright.training.own import ADVANTAGES, LOSS, own_advantages, own_loss
from tripwright.training.rl_loop import RlLoop
from tripwright.training.rollouts import Rollout, RolloutGroup, RolloutSettings
from tripwright.training.trips import Trips
from tripwright.transcript import StopReason


@dataclass(frozen=True)
class Advantage:
    """`normalise`: by the group's std (row P6), the batch's, or "none". `population` is eq. 9 of
    Planner-R1; others take the sample's. Or a `function` of one's own (`own.own_advantages`)."""

    normalise: Normalisation = "group"
    population: bool = False
    function: str | None = None


@dataclass(frozen=True)
class Filter:
    """Groups whose rewards have a std of `min_std` or less are dropped: out of the loss and out of
    its denominators. None keeps all: those that agree have no gradient, and their tokens still
    count. 0.0 is DAPO's and STAR's rule, 0.1 DeepTravel's η. With `refill`, more groups are played
    until `prompts_per_step` of them are kept, in `max_rounds` rounds at most (DAPO's; STAR does
    without)."""

    min_std: Annotated[float, Ge(0)] | None = None
    refill: bool = False
    max_rounds: Annotated[int, Ge(1)] = 4


@dataclass(frozen=True)
class Kl:
    """β times the KL divergence to the model that training started from, estimated per token; 0
    loads no reference."""

    beta: Annotated[float, Ge(0)] = 0.0
    estimator: KlEstimator = "k3"


@dataclass(frozen=True)
class ReplaySettings:
    """Every `every` steps (γ, which the paper does not print) failed queries take the place of new
    ones, `share` of the step's prompts at most. The buffer holds `capacity` of them."""

    every: Annotated[int, Ge(1)] = 5
    capacity: Annotated[int, Ge(1)] = 256
    share: Annotated[float, Gt(0), Le(1)] = 1.0


@dataclass(frozen=True, kw_only=True)
class GrpoSettings(RolloutSettings):
    # in place of the clipped loss: one of `losses.LOSSES`, or one's own (`own.own_loss`)
    loss: str | None = None
    aggregation: Aggregation = "token-mean"
    # what the loss is divided by beside; Dr. GRPO: the most tokens that a response may have
    loss_scale_factor: Annotated[float, Gt(0)] = 1.0
    clip: Clip = Clip()
    advantage: Advantage = Advantage()
    filter: Filter = Filter()
    kl: Kl = Kl()
    entropy_bonus: Annotated[float, Ge(0)] = 0.0
    importance: Importance = Importance()
    # whose advantage a token has: its episode's, or of the constraints that concern it
    credit: Literal["episode", "evidence"] = "episode"
    # episodes that stopped so count in the normalisation, not in the loss; row S6: OVERLONG
    out_of_loss: tuple[StopReason, ...] = ()
    replay: ReplaySettings | None = None
    branching: Branching | None = None

    @property
    def has_reference(self) -> bool:
        return self.kl.beta != 0

    @property
    def own(self) -> dict[str, tuple[str, ...]]:
        named = {self.loss: LOSS, self.advantage.function: ADVANTAGES}
        given = {name: args for name, args in named.items() if name and name not in LOSSES}
        return super().own | given

    def __post_init__(self) -> None:
        if pointless := {StopReason.ANSWER, StopReason.UNSCORED} & set(self.out_of_loss):
            raise UserError(f"out_of_loss: '{min(pointless)}' is not a limit or a mistake.")
        if self.filter.refill and self.filter.min_std is None:
            raise UserError("filter.refill replaces dropped groups: give filter.min_std.")
        if self.replay is not None and self.replay.every == 1 and self.replay.share == 1:
            raise UserError("replay of every step in full plays no new trips: lower its share.")
        if self.replay is not None and int(self.prompts_per_step * self.replay.share) < 1:
            raise UserError(f"replay.share of {self.prompts_per_step} prompts is less than one.")
        if self.branching is not None and self.branching.initial > self.group_size:
            found = f"found {self.branching.initial}"
            raise UserError(
                f"branching.initial is at most group_size ({self.group_size}), {found}."
            )


class Grpo(RlLoop[GrpoSettings]):
    """The model as it is at first is the reference of the KL term."""

    def set_up(self) -> None:
        settings = self.settings
        self.worker.branching = settings.branching
        self.reference = Decoder(frozen_copy(self.model)) if settings.has_reference else None
        self.replay = ReplayBuffer(settings.replay, self.trips) if settings.replay else None
        if self.replay is not None:
            self.checkpointed = (*self.checkpointed, "replay")

    def take_step(self) -> dict[str, Any]:
        settings, scale = self.settings, self.begin_step()
        groups = self.explore()
        least = settings.filter.min_std
        groups_with_signal = [group for group in groups if least is None or group.std() > least]

        rollouts = compared(groups_with_signal, settings, self.worker.policy.chat)
        correction: dict[str, float] = {}
        if settings.importance.asks_trainer:
            rollouts, correction = corrected(rollouts, self.own_logprobs, settings.importance)
        figures = {
            **self.update(rollouts, scale),
            **correction,
            "trained_groups": len(groups_with_signal) / len(groups),
        }

        if self.replay is not None:
            self.replay.remember(groups)
            figures["replay_buffer"] = len(self.replay)
        trained = [r for r in rollouts if has_gradient(r, settings)]
        return self.end_step(groups, trained, scale, figures)

    def own_logprobs(self, rollouts: list[Rollout]) -> tuple[Batch, Tensor]:
        return trainer_logprobs(self.decoder, rollouts, self.settings)

    def explore(self) -> list[RolloutGroup]:
        """The step's groups: replayed trips first, then new ones; with a refill, more until enough
        of them have something to teach."""
        settings, count = self.settings, self.settings.prompts_per_step
        again = self.replay.due(self.step, count) if self.replay is not None else []
        groups = self.play(count - len(again), again)
        for group in groups[: len(again)]:
            group.replayed = True
        if settings.filter.refill and settings.filter.min_std is not None:
            for _ in range(settings.filter.max_rounds - 1):
                shortfall = count - sum(group.std() > settings.filter.min_std for group in groups)
                if shortfall <= 0:
                    break
                groups += self.play(shortfall)
        return groups

    def update(self, rollouts: list[Rollout], scale: float = 1.0) -> dict[str, float]:
        """`epochs_per_batch` passes over the rollouts in `minibatches` optimizer steps each, at
        `scale` times the learning rate."""
        sums, norms = Counter[str](), []
        for minibatch in self.minibatches(rollouts):
            if terms := self.learn(minibatch):
                sums.update(terms)
                norms.append(self.optimizers.step(scale))
        n = sums["tokens"]
        if not n:  # nothing to learn: of these figures only the gradient's is known
            return {"grad_norm": 0.0}
        return {
            "grad_norm": sum(norms) / len(norms),
            "entropy": sums["entropy"] / n,
            **({"clip_fraction": sums["clipped"] / n} if "clipped" in sums else {}),
            # mean |log-probability now − when it was sampled|, before and between updates
            "logprob_gap": sums["gap"] / n,
            **({"kl": sums["kl"] / n} if self.settings.has_reference else {}),
        }

    def learn(self, minibatch: list[Rollout]) -> Counter[str]:
        """Gradients of one minibatch, some rows at a time. Sums over its tokens; empty if there was
        nothing to learn."""
        settings, totals = self.settings, Counter[str]()
        tokens, tokens_of = sum(r.tokens for r in minibatch), Counter[int]()
        for r in minibatch:
            tokens_of[r.group] += r.tokens
        # Where only the advantage drives, episodes without one have no gradient; their tokens still
        # count in the denominators.
        live = [r for r in minibatch if has_gradient(r, settings)]
        for rows, batch in self.micro_batches(live):
            weights_NT = token_weights(
                batch.mask,
                settings.aggregation,
                len(minibatch),
                tokens,
                torch.tensor(
                    [tokens_of[row.rollout.group] for row in rows], device=self.decoder.device
                ),
                len(tokens_of),
                torch.tensor([row.rollout.tokens for row in rows], device=self.decoder.device),
            )
            weights_NT = weights_NT / settings.loss_scale_factor
            if settings.importance.asks_trainer:
                weights_NT = weights_NT * by_target(
                    [row.spread(row.rollout.weights_T, 1.0) for row in rows], weights_NT
                )
            advantages_NT = by_target(
                [row.spread(row.rollout.advantages_T, row.rollout.advantage) for row in rows],
                weights_NT,
            )
            loss, sums = policy_loss(
                self.decoder, batch, advantages_NT, weights_NT, settings, self.reference
            )
            loss.backward()
            totals.update(sums)
        return totals


def compared(
    groups: Sequence[RolloutGroup], settings: GrpoSettings, chat: ChatFormat
) -> list[Rollout]:
    """The scored members of `groups` that are in the loss, with their advantages: of the whole
    episode, or, with credit by evidence, of each token."""
    if not groups:
        return []
    rewards_PG, how = [group.rewards for group in groups], settings.advantage
    scored_PG = torch.tensor([[r is not None for r in rewards] for rewards in rewards_PG])
    # unscored members have reward 0 there
    totals_PG = torch.tensor([[r.total if r else 0.0 for r in rewards] for rewards in rewards_PG])
    if how.function is not None:
        advantages_PG = own_advantages(how.function, totals_PG, scored_PG)
    else:
        advantages_PG = group_advantages(totals_PG, scored_PG, how.normalise, how.population)
    by_evidence = settings.credit == "evidence"
    finer = [
        advantages_by_evidence(group, chat) if by_evidence else [None] * len(group.episodes)
        for group in groups
    ]
    return [
        Rollout(episode, reward, float(advantages_PG[p, g]), p, advantages_T=finer[p][g])
        for p, group in enumerate(groups)
        for g, (episode, reward) in enumerate(zip(group.episodes, group.rewards, strict=True))
        if reward is not None and episode.transcript.stop_reason not in settings.out_of_loss
    ]


def has_gradient(rollout: Rollout, settings: GrpoSettings) -> bool:
    """By its advantage, or because every token is regularised."""
    regularised = settings.has_reference or settings.entropy_bonus != 0
    return rollout.tokens > 0 and (rollout.teaches or regularised)


def policy_loss(
    decoder: Decoder,
    batch: Batch,
    advantages_NT: Tensor,
    weights_NT: Tensor,
    settings: GrpoSettings,
    reference: Decoder | None = None,
) -> tuple[Tensor, dict[str, float]]:
    """The weighted loss of some rows, and sums over their tokens. Only the agent's own tokens are
    ever looked at."""
    action_mask_NT = batch.mask > 0
    hidden = hidden_at(decoder, batch, settings.dtype, action_mask_NT)
    targets, learns = batch.targets[action_mask_NT], settings.entropy_bonus != 0
    logprobs, entropy = scores_from(decoder, hidden, targets, settings, learns)
    old = batch.logprobs[action_mask_NT]
    sums = {"tokens": float(len(old))}
    if settings.loss in LOSSES:
        logprobs_NT = torch.zeros_like(batch.logprobs).masked_scatter(action_mask_NT, logprobs)
        columns = (logprobs_NT, batch.logprobs, advantages_NT, action_mask_NT)
        losses, clipped = (
            x[action_mask_NT] for x in LOSSES[settings.loss](*columns, settings.clip)
        )
        sums["clipped"] = float(clipped.sum())
    elif settings.loss is not None:
        losses = own_loss(settings.loss, logprobs, batch.logprobs, advantages_NT, action_mask_NT)
    else:
        advantages = advantages_NT[action_mask_NT]
        losses, clipped = clipped_loss(logprobs, old, advantages, settings.clip)
        sums["clipped"] = float(clipped.sum())
    sums |= {
        "gap": float((logprobs - old).detach().abs().sum()),
        "entropy": float(entropy.detach().sum()),
    }
    if settings.entropy_bonus:
        losses = losses - settings.entropy_bonus * entropy
    if reference is not None:
        with torch.no_grad():
            theirs = action_logprobs(reference, batch, settings)
        divergence = kl_estimate(logprobs, theirs, settings.kl.estimator)
        losses = losses + settings.kl.beta * divergence
        sums["kl"] = float(divergence.detach().sum())
    return (losses * weights_NT[action_mask_NT]).sum(), sums


# ---- DeepTravel's buffer of failed queries (row D7): a query of whose group nothing passed comes
# back after `every` steps. The paper prints γ without its value, and no capacity; both are
# settings. A query that fails again goes to the end of the queue; the oldest leave a full buffer.


class ReplayBuffer:
    """Failed queries, oldest first, each once. They are known by their number in the stream of
    trips, which is what a checkpoint keeps."""

    def __init__(self, settings: ReplaySettings, trips: Trips):
        self.settings, self.trips = settings, trips
        # number and request: in a later epoch the same request has another number
        self._failed: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._failed)

    def remember(self, groups: Iterable[RolloutGroup]) -> None:
        """Keeps groups of which no member passed what the reward asks for. Where all members are
        unscored, a replayed group stays and a new one is not added."""
        for group in groups:
            if group.solved or not (group.scored or group.replayed):
                continue
            request = f"{group.task.where}: {group.task.request.query}"
            self._failed = [entry for entry in self._failed if entry[1] != request] + [
                (group.number, request)
            ]
        self._failed = self._failed[-self.settings.capacity :]

    def due(self, step: int, prompts: int) -> list[tuple[int, Task]]:
        """What is to be played again at this step (counted from 0), taken out of the buffer. Ids
        say so: the dice fall anew."""
        if step == 0 or step % self.settings.every:
            return []
        count = min(len(self._failed), int(prompts * self.settings.share))
        entries, self._failed = self._failed[:count], self._failed[count:]
        tasks = [(number, self.trips.at(number)) for number, _ in entries]
        return [(number, task.renamed(f"{task.id}@{step}")) for number, task in tasks]

    def state_dict(self) -> dict[str, Any]:
        return {"failed": [list(entry) for entry in self._failed]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._failed = [(number, request) for number, request in state["failed"]]
