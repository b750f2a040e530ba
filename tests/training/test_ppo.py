"""PPO with a value head: where the reward stands, what the head learns, and a first update by
hand."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from tripwright.domains import dialect_named

torch = pytest.importorskip("torch")

from tests.logits import gradient_norm, own_logprobs, same_weights
from tripwright.training.losses import Clip
from tripwright.training.optim import OptimizerSettings
from tripwright.training.ppo import Ppo, PpoSettings, at_the_end

ADAMW = OptimizerSettings(name="adamw", adamw_learning_rate=1e-3, weight_decay=0.0, grad_clip=1e9)
PLAYED = {"steps": 3, "prompts_per_step": 2, "group_size": 2, "warm_up_steps": 0}
LEARNED = {"minibatches": 1, "epochs_per_batch": 1, "micro_batch_size": 3}
SETTINGS = PpoSettings(**PLAYED, **LEARNED, optimizer=ADAMW)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def make(lab_loop: Any) -> Any:
    return lambda settings=SETTINGS: lab_loop(Ppo, settings)


def test_the_reward_stands_at_the_last_own_token():
    mask = torch.tensor([[0.0, 1, 1, 0, 1, 0], [1, 0, 0, 0, 0, 0]])
    found = at_the_end(mask, torch.tensor([5.0, 2.0])).tolist()
    assert found == [[0, 0, 0, 0, 5, 0], [2, 0, 0, 0, 0, 0]]


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

    worth = zip(episodes, [5.0, 0.0, 2.0, 5.0], strict=True)
    own = torch.cat([torch.full((sum(e.transcript.loss_mask),), r) for e, r in worth])
    advantages = (own - own.mean()) / own.var().add(1e-8).sqrt()
    now = torch.cat([own_logprobs(plain, e.transcript) for e in episodes])
    pairs = [zip(e.transcript.logprobs, e.transcript.loss_mask, strict=True) for e in episodes]
    ratio = (now - torch.tensor([old for each in pairs for old, mine in each if mine])).exp()
    torch.maximum(-advantages * ratio, -advantages * ratio.clamp(0.8, 1.2)).mean().backward()
    assert figures["grad_norm"] == pytest.approx(gradient_norm(plain), rel=1e-3)
    assert figures["value_mean"] == pytest.approx(3.0)  # the mean of the rewards


def test_the_value_head_learns_what_episodes_are_worth(make, lab, given_groups):
    head = {"value_rate": 0.05, "value_clip": None, "value_weight": 1.0}
    trainer = make(replace(SETTINGS, steps=20, epochs_per_batch=2, **head))

    def played(verdict: Any) -> list[list[Any]]:
        first, second, third = (lab.episode(trainer.model, seed, verdict) for seed in range(3))
        return [[first, second], [third, third]]

    given_groups(played(lab.empty))
    assert trainer.take_step()["value_mean"] == 0
    given_groups(played(lab.final))
    rows = [trainer.take_step() for _ in range(19)]
    assert rows[-1]["value_mean"] == pytest.approx(5.0, abs=1.0)
    assert rows[-1]["value_loss"] < 0.2 * rows[0]["value_loss"]


def test_it_plays_trains_and_goes_on_from_its_state(talker, chat, lab):
    dialect = replace(dialect_named("compact"), max_turn_tokens=12)

    def trainer() -> Ppo:
        settings = replace(SETTINGS, epochs_per_batch=2)
        return Ppo(copy.deepcopy(talker), chat, dialect, lab.trips(), settings, 1)

    whole, first = trainer(), trainer()
    for _ in range(3):
        whole.take_step()
    first.take_step()
    second = trainer()
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for _ in range(2):
        second.take_step()
    assert same_weights(whole.model, second.model)
    assert torch.equal(whole.value_head.weight, second.value_head.weight)
