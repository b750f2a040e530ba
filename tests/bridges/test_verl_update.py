"""What verl is given to add up is what the local engine adds up: the same gradient, for every
aggregation, with unscored members, rollouts out of the loss, groups that agree and cut contexts."""

import random
from dataclasses import replace

import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from tripwright.bridges.verl.step import said_nothing, updates_of
from tripwright.domains import dialect_named
from tripwright.episode import Episode, open_session
from tripwright.inference.decoder import Decoder
from tripwright.rewards.reward import RewardBreakdown
from tripwright.training.batches import action_logprobs, collate, corrected
from tripwright.training.data_source import RL, trips_of
from tripwright.training.grpo import Grpo, GrpoSettings, compared
from tripwright.training.losses import Importance, clipped_loss
from tripwright.training.recipe import load_recipe
from tripwright.training.recipe_list import recipe_named
from tripwright.training.rollouts import RolloutGroup
from tripwright.training.trips import Trips
from tripwright.transcript import Segment, StopReason, Transcript

VOCABULARY = 50


def transcript(dice: random.Random, stop: StopReason, cut: bool) -> Transcript:
    """A prompt and three turns with answers between; with `cut`, the last turn has forgotten the
    first exchange."""
    segments = [Segment("system", "", [dice.randrange(VOCABULARY) for _ in range(5)], [0] * 5)]
    segments[0].logprobs = [0.0] * 5
    for turn in range(3):
        for role in ("assistant", "tool"):
            count, own = dice.randrange(2, 7), role == "assistant"
            ids = [dice.randrange(VOCABULARY) for _ in range(count)]
            logprobs = [-dice.random() * 4 if own else 0.0 for _ in ids]
            segments.append(Segment(role, "", ids, [int(own)] * count, logprobs))
            if cut and own and turn == 2:
                segments[-1].context_from = 3
    return Transcript(segments, stop)


def groups(trips: Trips, dice: random.Random) -> list[RolloutGroup]:
    """Four groups of four. The second agrees, the first has an unscored member, the third one that
    was cut off."""
    made = []
    for number in range(4):
        task, episodes, rewards = trips.at(number), [], []
        for member in range(4):
            stop = StopReason.MAX_TURN_TOKENS if (number, member) == (2, 1) else StopReason.ANSWER
            said = transcript(dice, stop, cut=(number, member) == (3, 2))
            episodes.append(Episode(task.renamed(f"t-{number}/{member}"), said, None))
            total = 1.0 if number == 1 else dice.random()
            unscored = (number, member) == (0, 3)
            rewards.append(None if unscored else RewardBreakdown(total, {}))
        made.append(RolloutGroup(number, task, episodes, list(rewards)))
    return made


@pytest.fixture(scope="module")
def trips() -> Trips:
    return trips_of(load_recipe(recipe_named("nano/grpo").path), RL)


@pytest.mark.parametrize(
    ("aggregation", "importance"),
    [
        ("token-mean", Importance()),
        ("trajectory-mean", Importance(recompute=True)),
        ("group-token-mean", Importance("truncate", cap=1.1)),
        ("trajectory-sum", Importance("mask", cap=1.1, sequence_cap=3.0)),
    ],
)
def test_the_weighted_rows_have_the_local_gradient(aggregation, importance, trips):
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=1, head_dim=8, max_position_embeddings=128,
    )  # fmt: skip
    model = Qwen3ForCausalLM(config).float()
    settings = GrpoSettings(
        aggregation=aggregation,
        dtype="float32",
        minibatches=1,
        out_of_loss=(StopReason.MAX_TURN_TOKENS,),
        importance=importance,
    )
    rollouts = compared(groups(trips, random.Random(1)), settings, chat=None)
    local = object.__new__(Grpo)
    local.model, local.settings, local.decoder, local.reference = (
        model, settings, Decoder(model), None
    )  # fmt: skip
    if importance.asks_trainer:
        rollouts, _ = corrected(rollouts, local.own_logprobs, importance)
    local.learn(rollouts)
    expected = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()

    (update,) = updates_of(rollouts, settings, seed=0)
    assert len(update) == 11  # 16 - 1 unscored - 1 cut off - 4 that agree, and one in two contexts
    for row in update:
        sequence = row.rollout.episode.transcript.sequences[row.index]
        batch = collate([(sequence.token_ids, sequence.loss_mask, row.old_T)])
        own = batch.mask[0] > 0  # padded on the right
        logprobs = action_logprobs(local.decoder, batch, settings)
        advantages, weights = (
            torch.tensor(values[1:])[own[: len(values) - 1]]
            for values in (row.advantages_T, row.weights_T)
        )
        loss, _ = clipped_loss(logprobs, batch.logprobs[0][own], advantages, settings.clip)
        (loss * weights).sum().backward()
    for name, parameter in model.named_parameters():
        if name in expected:
            torch.testing.assert_close(parameter.grad, expected[name], rtol=1e-4, atol=1e-7)


def test_a_minibatch_is_of_whole_groups_and_none_is_without_a_gradient(trips):
    settings = GrpoSettings(minibatches=4)
    rollouts = compared(groups(trips, random.Random(2)), settings, chat=None)
    updates = updates_of(rollouts, settings, seed=3)
    assert [len({row.rollout.group for row in update}) for update in updates] == [1, 1, 1]
    assert {row.rollout.group for update in updates for row in update} == {0, 2, 3}
    first = updates[0][0]
    assert first.key(7).startswith(f"t-{first.rollout.group}-step7_")


@pytest.mark.parametrize(
    ("room", "stop"), [(1, StopReason.CONTEXT_OVERFLOW), (2, StopReason.UNSCORED)]
)
def test_an_answer_without_a_token_costs_its_episode(room, stop, trips):
    """At one token of room SGLang has none to give (it keeps the window's last one free)."""
    dialect = dialect_named("star")
    session = open_session(trips.at(0), replace(dialect, context_tokens=room, on_overflow="end"))
    session.length = 0
    said_nothing(session, "length")
    assert session.transcript.stop_reason is stop
