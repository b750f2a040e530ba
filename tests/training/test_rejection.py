"""Rejection-sampling fine-tuning imitates what passed, and nothing else."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from tripwright.domains.travelplanner.rewards import SUM

torch = pytest.importorskip("torch")


from tests.logits import gradient_norm, own_logprobs, same_weights
from tripwright.training.optim import OptimizerSettings
from tripwright.training.rejection import Rejection, RejectionSettings, distinct_passing
from tripwright.training.rollouts import RolloutGroup

ADAMW = OptimizerSettings(name="adamw", adamw_learning_rate=1e-3, weight_decay=0.0, grad_clip=1e9)
PLAYED = {"steps": 3, "prompts_per_step": 1, "group_size": 4, "warm_up_steps": 0}
SETTINGS = RejectionSettings(**PLAYED, minibatches=1, micro_batch_size=3, optimizer=ADAMW)

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def make(lab_loop: Any) -> Any:
    return lambda settings=SETTINGS, seed=0: lab_loop(Rejection, settings, seed)


def group(lab: Any, episodes: list[Any]) -> RolloutGroup:
    made = RolloutGroup(0, lab.trip, episodes)
    made.rewards = made.rewarded(SUM)
    return made


def test_only_different_passing_episodes_are_kept_and_not_too_many(lab, tiny_model):
    model = tiny_model("qwen3", lab.vocabulary)
    passing = [lab.episode(model, seed, lab.final) for seed in (1, 1, 2, 3)]
    verdicts = (lab.half, lab.empty, None)
    others = [lab.episode(model, seed, verdict) for seed, verdict in enumerate(verdicts, 4)]
    found = distinct_passing(group(lab, [*others, *passing]), 0, 2)
    assert [r.episode for r in found] == [passing[0], passing[2]]


@pytest.mark.usefixtures("full_precision")
def test_an_update_is_the_gradient_of_cross_entropy_on_own_tokens(make, lab, given_groups):
    trainer = make()
    plain = copy.deepcopy(trainer.model)
    names = ("final", "half", "final", "empty")
    episodes = [lab.episode(plain, seed, getattr(lab, name)) for seed, name in enumerate(names)]
    given_groups([episodes])
    figures = trainer.take_step()
    assert figures["trained_episodes"] == 2
    loss = -torch.cat([own_logprobs(plain, episodes[n].transcript) for n in (0, 2)]).mean()
    loss.backward()
    assert figures["grad_norm"] == pytest.approx(gradient_norm(plain), rel=1e-3)
    assert figures["loss"] == pytest.approx(float(loss.detach()), rel=1e-4)


def test_where_nothing_passes_the_model_stays(make, lab, given_groups):
    trainer = make()
    given_groups([[lab.episode(trainer.model, seed, lab.empty) for seed in range(4)]])
    before = [p.clone() for p in trainer.model.parameters()]
    assert trainer.take_step()["trained_episodes"] == 0
    assert same_weights(before, trainer.model)


def test_it_goes_on_from_its_state(make, lab, given_groups, tiny_model):
    model = tiny_model("qwen3", lab.vocabulary)
    given_groups([[lab.episode(model, seed, lab.final) for seed in range(4)]])

    settings = replace(SETTINGS, keep=3, minibatches=2, epochs_per_batch=2)
    whole, first, second = (make(settings, 1) for _ in range(3))
    for _ in range(2):
        whole.take_step()
    first.take_step()
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    second.take_step()
    assert same_weights(whole.model, second.model)
