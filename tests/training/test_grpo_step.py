"""A whole GRPO update against a plain one written with `transformers` and torch alone, and who
takes part in it."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from tripwright.rewards.reward import RewardBreakdown

torch = pytest.importorskip("torch")

from tripwright.training.grpo import Grpo, GrpoSettings, Kl
from tripwright.training.optim import OptimizerSettings
from tripwright.training.rollouts import Rollout

ADAMW = OptimizerSettings(name="adamw", adamw_learning_rate=1e-3, weight_decay=0.01, grad_clip=0.5)
SETTINGS = GrpoSettings(minibatches=1, micro_batch_size=3, optimizer=ADAMW)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def make(lab: Any, lab_loop: Any) -> Any:
    """make(settings) → a trainer of a small model; make.rollout(trainer, …) → a made-up rollout of
    it."""

    def trainer(settings: GrpoSettings = SETTINGS, scale: float = 2.0, seed: int = 0) -> Any:
        return lab_loop(Grpo, settings, seed, scale)

    def rollout(
        trainer: Grpo, seed: int, advantage: float, turns: int = 2, group: int = 0
    ) -> Rollout:
        return Rollout(
            lab.episode(trainer.model, seed, lab.empty, turns),
            RewardBreakdown(0.0, {}),
            advantage,
            group,
        )

    trainer.rollout = rollout
    return trainer


def plain_loss(
    model: Any, rollouts: list[Rollout], aggregation: str, reference: Any = None, beta: float = 0.0
) -> Any:
    """Row P6 with loops: per token max(−A·r, −A·clip(r)), at most −3·A where A < 0; and D7's
    β·KL. Each turn is read by itself, after what it saw."""
    every, tokens = [], sum(sum(r.episode.transcript.loss_mask) for r in rollouts)
    groups = {r.group for r in rollouts}
    for r in rollouts:
        t, losses = r.episode.transcript, []
        for number, turn in enumerate(t.segments):
            if turn.role != "assistant":
                continue
            before = [s for n, s in t.visible(turn.context_from).items() if n < number]
            seen = [token for segment in before for token in segment.token_ids]
            ids = torch.tensor([[*seen, *turn.token_ids]])
            logprobs = model(ids).logits[0].log_softmax(-1)
            theirs = reference(ids).logits[0].log_softmax(-1).detach() if reference else None
            for i, (token, old) in enumerate(
                zip(turn.token_ids, turn.logprobs, strict=True), start=len(seen)
            ):
                said = logprobs[i - 1, token]
                ratio = (said - old).exp()
                loss = max(-r.advantage * ratio, -r.advantage * ratio.clamp(0.8, 1.2), key=float)
                if r.advantage < 0:
                    loss = min(loss, torch.tensor(-3.0 * r.advantage), key=float)
                if theirs is not None:
                    log_ratio = theirs[i - 1, token] - said
                    loss = loss + beta * (log_ratio.exp() - log_ratio - 1)
                losses.append(loss)
        of_group = sum(sum(m.episode.transcript.loss_mask) for m in rollouts if m.group == r.group)
        share = {
            "token-mean": tokens,
            "trajectory-mean": len(losses) * len(rollouts),
            "group-token-mean": of_group * len(groups),
        }
        every.append(sum(losses) / share[aggregation])
    return sum(every)


def plain_step(model: Any, optimizer: Any, rollouts: list[Rollout], aggregation: str) -> float:
    plain_loss(model, rollouts, aggregation).backward()
    norm = float(torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5))
    optimizer.step()
    optimizer.zero_grad()
    return norm


@pytest.mark.usefixtures("full_precision")
@pytest.mark.filterwarnings("ignore:Converting a tensor")
@pytest.mark.parametrize("minibatches", [1, 2])
@pytest.mark.parametrize("aggregation", ["token-mean", "trajectory-mean", "group-token-mean"])
@pytest.mark.parametrize("cut", [False, True], ids=["whole", "cut contexts"])
def test_an_update_is_the_one_of_the_formula(cut, aggregation, minibatches, make):
    trainer = make(replace(SETTINGS, aggregation=aggregation, minibatches=minibatches), seed=4)
    cases = [(1.0, 1, 0), (-0.7, 4, 0), (0.0, 2, 1), (2.5, 3, 1), (-1.8, 1, 1)]
    rollouts = [make.rollout(trainer, seed, *case) for seed, case in enumerate(cases)]
    if cut:
        for n in (1, 3):  # from the third turn on only the last exchange is seen
            for turn, segment in enumerate(rollouts[n].episode.transcript.segments):
                segment.context_from = turn - 2 if turn >= 5 and turn % 2 else None
        assert [len(r.episode.transcript.contexts) for r in rollouts] == [1, 3, 1, 2, 1]
    plain = copy.deepcopy(trainer.model)
    figures = trainer.update(rollouts)

    optimizer = torch.optim.AdamW(plain.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.01)
    first, second = torch.randperm(2, generator=torch.Generator().manual_seed(4)).tolist()
    groups = ([0, 1], [2, 3, 4])  # they stay whole
    parts = [[*groups[0], *groups[1]]] if minibatches == 1 else [groups[first], groups[second]]
    norms = [
        plain_step(plain, optimizer, [rollouts[i] for i in part], aggregation) for part in parts
    ]

    assert figures["grad_norm"] == pytest.approx(sum(norms) / len(norms), rel=1e-3)
    assert 0 < figures["clip_fraction"] < 1
    for (name, found), (_, expected) in zip(
        trainer.model.named_parameters(), plain.named_parameters(), strict=True
    ):
        # Adam makes a whole step of a gradient that is nearly 0, whatever its last digit: a tenth
        # of the rate is allowed.
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4, msg=name)


@pytest.mark.usefixtures("full_precision")
@pytest.mark.filterwarnings("ignore:Converting a tensor")
def test_the_kl_term_pulls_towards_the_model_of_the_start(make):
    trainer = make(replace(SETTINGS, kl=Kl(beta=0.5)))
    with torch.no_grad():
        for p in trainer.model.parameters():
            p.mul_(1.05)
    rollouts = [
        make.rollout(trainer, seed, advantage) for seed, advantage in enumerate((1.0, -1.0, 0.0))
    ]
    plain = copy.deepcopy(trainer.model)
    figures = trainer.update(rollouts)
    assert figures["kl"] > 0
    plain_loss(plain, rollouts, "token-mean", trainer.reference.model, 0.5).backward()
    norm = float(torch.nn.utils.clip_grad_norm_(plain.parameters(), 0.5))
    # the agreeing episode takes part: it is pulled as well
    assert figures["grad_norm"] == pytest.approx(norm, rel=1e-3)


@pytest.mark.parametrize("rollouts", ["none", "agreeing"])
def test_where_there_is_nothing_to_learn_the_model_stays(rollouts, make):
    trainer = make()
    before = [p.clone() for p in trainer.model.parameters()]
    figures = trainer.update([] if rollouts == "none" else [make.rollout(trainer, 1, 0.0)] * 3)
    assert figures["grad_norm"] == 0 and all(
        torch.equal(a, b) for a, b in zip(before, trainer.model.parameters(), strict=True)
    )


@pytest.mark.usefixtures("full_precision")
def test_an_entropy_bonus_raises_the_entropy(make):
    def after(bonus: float) -> float:
        trainer = make(replace(SETTINGS, entropy_bonus=bonus))
        rollouts = [make.rollout(trainer, seed, 0.0) for seed in range(3)]
        for _ in range(3):
            figures = trainer.update(rollouts)
        return float(figures["entropy"])

    assert after(1.0) > after(-1.0) + 1e-3


@pytest.mark.parametrize("whole", [True, False])
def test_groups_are_cut_by_minibatches_only_where_rollouts_are_shuffled(whole, make):
    trainer = make(replace(SETTINGS, minibatches=2, whole_groups=whole, epochs_per_batch=2))
    rollouts = [make.rollout(trainer, n, 1.0, 1, group=n // 4) for n in range(16)]
    minibatches = list(trainer.minibatches(rollouts))
    assert [len(minibatch) for minibatch in minibatches] == [8] * 4
    for one, other in zip(minibatches[::2], minibatches[1::2], strict=True):
        assert sorted(map(id, [*one, *other])) == sorted(map(id, rollouts))  # each is seen once
        assert bool({r.group for r in one} & {r.group for r in other}) is not whole
    orders = {tuple(r.group for r in minibatch) for minibatch in minibatches}
    assert len(orders) > 2  # in a new order each time
