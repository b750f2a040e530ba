"""PPO with a value head: where the reward stands, what the head learns, and a first update by
hand."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from tripwright.domains import dialect_named

torch = pytest.importorskip("torch")

from tripwright.training.losses import Clip
from tripwright.training.optim import OptimizerSettings
from tripwright.training.ppo import Ppo, PpoSettings, at_the_end

ADAMW = OptimizerSettings(name="adamw", adamw_learning_rate=1e-3, weight_decay=0.0, grad_clip=1e9)
SETTINGS = PpoSettings(
    steps=3,
    prompts_per_step=2,
    group_size=2,
    minibatches=1,
    epochs_per_batch=1,
    micro_batch_size=3,
    warm_up_steps=0,
    optimizer=ADAMW,
)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def make(lab_loop: Any) -> Any:
    return lambda settings=SETTINGS: lab_loop(Ppo, settings)


def test_the_reward_stands_at_the_last_own_token():
    mask = torch.tensor([[0.0, 1, 1, 0, 1, 0], [1, 0, 0, 0, 0, 0]])
    assert at_the_end(mask, torch.tensor([5.0, 2.0])).tolist() == [
        [0, 0, 0, 0, 5, 0],
        [2, 0, 0, 0, 0, 0],
    ]


@pytest.mark.usefixtures("full_precision")
def test_a_first_update_is_whitened_reward_on_every_own_token(make, lab, given_groups):
    """Before the value head tells positions apart, and with γ = λ = 1 (the default), every own
    token of an episode has the episode's reward as its advantage; whitened over all own tokens. The
    old log-probabilities are off at random, so the clip takes part."""
    trainer = make()
    plain = copy.deepcopy(trainer.model)
    episodes = [
        lab.episode(trainer.model, seed, getattr(lab, name))
        for seed, name in enumerate(("final", "empty", "half", "final"))
    ]
    given_groups([episodes[:2], episodes[2:]])
    trainer.settings = replace(SETTINGS, value_weight=0.0, clip=Clip(0.2, 0.2, None))
    figures = trainer.take_step()

    rewards = [5.0, 0.0, 2.0, 5.0]
    own = torch.cat(
        [
            torch.full((sum(e.transcript.loss_mask),), r)
            for e, r in zip(episodes, rewards, strict=True)
        ]
    )
    mean, std = own.mean(), own.var().add(1e-8).sqrt()
    total: Any = 0.0
    for e, reward in zip(episodes, rewards, strict=True):
        t, advantage = e.transcript, (reward - mean) / std
        logprobs = plain(torch.tensor([t.token_ids])).logits[0].log_softmax(-1)
        for i in range(1, len(t.token_ids)):
            if t.loss_mask[i]:
                ratio = (logprobs[i - 1, t.token_ids[i]] - t.logprobs[i]).exp()
                total = total + torch.maximum(
                    -advantage * ratio, -advantage * ratio.clamp(0.8, 1.2)
                ) / len(own)
    total.backward()
    norm = torch.cat([p.grad.flatten() for p in plain.parameters() if p.grad is not None]).norm()
    assert figures["grad_norm"] == pytest.approx(float(norm), rel=1e-3)
    assert figures["value_mean"] == pytest.approx(3.0)  # the mean of the rewards


def test_the_value_head_learns_what_episodes_are_worth(make, lab, given_groups):
    trainer = make(
        replace(
            SETTINGS,
            steps=20,
            value_rate=0.05,
            value_clip=None,
            value_weight=1.0,
            epochs_per_batch=2,
        )
    )
    model = trainer.model
    given_groups(
        [
            [lab.episode(model, seed, lab.empty) for seed in (0, 1)],
            [lab.episode(model, 2, lab.empty)] * 2,
        ]
    )
    assert trainer.take_step()["value_mean"] == 0
    given_groups(
        [
            [lab.episode(model, 0, lab.final), lab.episode(model, 1, lab.final)],
            [lab.episode(model, 2, lab.final)] * 2,
        ]
    )
    rows = [trainer.take_step() for _ in range(19)]
    assert rows[-1]["value_mean"] == pytest.approx(5.0, abs=1.0)
    assert rows[-1]["value_loss"] < 0.2 * rows[0]["value_loss"]


def test_it_plays_trains_and_goes_on_from_its_state(talker, chat, lab):
    dialect = replace(dialect_named("compact"), max_turn_tokens=12)

    def trainer() -> Ppo:
        return Ppo(
            copy.deepcopy(talker),
            chat,
            dialect,
            lab.trips(),
            replace(SETTINGS, epochs_per_batch=2),
            1,
        )

    whole, first = trainer(), trainer()
    for _ in range(3):
        whole.take_step()
    first.take_step()
    second = trainer()
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for _ in range(2):
        second.take_step()
    for a, b in zip(whole.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(a, b)
    assert torch.equal(whole.value_head.weight, second.value_head.weight)
