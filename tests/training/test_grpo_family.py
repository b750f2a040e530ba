"""What the members of GRPO's family do with a step's groups: who is dropped, refilled, masked,
replayed (rows S6, S7, D7, P5)."""

from dataclasses import replace
from typing import Any

import pytest

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner import domain as travelplanner
from tripwright.domains.travelplanner.rewards import SUM
from tripwright.rewards.curriculum import Curriculum
from tripwright.transcript import OVERLONG, StopReason

torch = pytest.importorskip("torch")


from tests.logits import same_weights
from tripwright.inference.local import Sampling
from tripwright.training.grpo import Filter, Grpo, GrpoSettings, Kl, ReplaySettings
from tripwright.training.losses import Importance
from tripwright.training.optim import OptimizerSettings
from tripwright.training.rollout_worker import EnginePolicy, RolloutWorker
from tripwright.training.rollouts import Rollout

ADAMW = OptimizerSettings(name="adamw", adamw_learning_rate=1e-3, weight_decay=0.01, grad_clip=0.5)
SETTINGS = GrpoSettings(
    steps=4, prompts_per_step=2, group_size=2, minibatches=1, micro_batch_size=3, optimizer=ADAMW
)
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def make(lab_loop: Any) -> Any:
    """make(settings) → a trainer; `trainer.learned` lists the rollouts of every update."""

    def trainer(settings: GrpoSettings) -> Any:
        made = lab_loop(Grpo, settings)
        made.learned, update = [], made.update

        def noted(rollouts: list[Rollout], scale: float = 1.0) -> dict[str, float]:
            made.learned.append(rollouts)
            figures: dict[str, float] = update(rollouts, scale)
            return figures

        made.update = noted
        return made

    return trainer


@pytest.fixture
def pair(lab: Any, tiny_model: Any) -> Any:
    """pair(a, b) → episodes with these verdicts, by name; "none" is unscored."""
    model = tiny_model("qwen3", lab.vocabulary)

    def group(*names: str, stop: StopReason = StopReason.ANSWER) -> list[Any]:
        verdicts = [None if name == "none" else getattr(lab, name) for name in names]
        return [
            lab.episode(model, seed, verdict, stop=stop) for seed, verdict in enumerate(verdicts)
        ]

    return group


def test_unscored_members_leave_their_group(make, pair, given_groups):
    """Rewards 5, 0, unscored, 0: mean and std are those of three. The second group is wholly
    unscored."""
    given_groups([pair("final", "empty", "none", "empty"), pair("none", "none", "none", "none")])
    trainer = make(replace(SETTINGS, group_size=4))
    metrics = trainer.take_step()
    (rollouts,) = trainer.learned
    assert [r.reward.total for r in rollouts] == [5.0, 0.0, 0.0]
    assert [r.advantage for r in rollouts] == pytest.approx(
        [1.154700, -0.577350, -0.577350], abs=1e-5
    )
    assert metrics["unscored"] == 5 and metrics["kept_groups"] == 0.5
    found = [metrics["reward_mean"], metrics["schema_rate"]]
    assert found == pytest.approx([5 / 3, 1 / 3])


def test_a_step_of_faults_alone_is_survived(make, pair, given_groups):
    given_groups([pair("none", "none")] * 2)
    trainer = make(replace(SETTINGS, replay=ReplaySettings(every=2)))
    first, second = trainer.take_step(), trainer.take_step()
    # not known, and not 0
    assert first["unscored"] == second["unscored"] == 4 and "reward_mean" not in first
    # our failure is no failed query, and says nothing of the stage
    assert second["replay_buffer"] == 0 and trainer.curriculum.means == []


def test_the_curriculum_is_followed_and_the_rate_is_warmed_up(make, pair, given_groups):
    given_groups([pair("half", "empty")])
    curriculum = Curriculum(stages=(("stage1", 1), ("stage2", 1), ("stage3", 1)))
    trainer = make(replace(SETTINGS, prompts_per_step=1, curriculum=curriculum, warm_up_steps=2))
    rows = [trainer.take_step() for _ in range(4)]
    assert [row["reward_mean"] for row in rows] == [1.0, 0.5, 0.0, 0.0]  # half of 1 + 1, of 1, of 0
    assert [row["curriculum_stage"] for row in rows] == [1, 2, 3, 3]
    assert [row["learning_rate"] for row in rows] == pytest.approx([5e-4, 1e-3, 1e-3, 1e-3])
    assert trainer.progress == 1


def test_agreeing_groups_are_dropped_from_the_denominator(make, pair, given_groups):
    """DAPO's filter as STAR has it (row S7): dropped, not replaced."""
    asked = given_groups([pair("final", "empty"), pair("final", "final")])
    kept, dropping = make(SETTINGS), make(replace(SETTINGS, filter=Filter(0.0)))
    all_of_them, dropped = kept.take_step(), dropping.take_step()
    assert [len(t.learned[0]) for t in (kept, dropping)] == [4, 2]
    assert dropped["trained_groups"] == 0.5 and all_of_them["trained_groups"] == 1.0
    assert [len(tasks) for tasks in asked] == [2, 2]


@pytest.mark.parametrize(("least", "trained"), [(0.1, 1), (2.4, 1), (2.5, 0), (2.6, 0)])
def test_deeptravels_threshold_is_of_the_std_and_inclusive(
    least, trained, make, pair, given_groups
):
    given_groups([pair("final", "empty")])  # rewards 5 and 0: std 2.5 over both
    trainer = make(replace(SETTINGS, prompts_per_step=1, filter=Filter(least)))
    assert trainer.take_step()["trained_groups"] == trained
    assert len(trainer.learned[0]) == 2 * trained


def test_a_refill_plays_until_enough_groups_differ(make, pair, given_groups):
    flat, good = pair("final", "final"), pair("final", "empty")
    asked = given_groups([flat, good, flat], [flat, good], [good])
    refilled = Filter(0.0, refill=True, max_rounds=4)
    trainer = make(replace(SETTINGS, prompts_per_step=3, filter=refilled))
    metrics = trainer.take_step()
    assert asked == [["train-0", "train-1", "train-2"], ["train-3", "train-4"], ["train-5"]]
    assert len(trainer.learned[0]) == 6 and metrics["trained_groups"] == 3 / 6


def test_a_refill_gives_up_after_its_rounds(make, pair, given_groups):
    asked = given_groups([pair("empty", "empty")] * 2)
    trainer = make(replace(SETTINGS, filter=Filter(0.0, refill=True, max_rounds=3)))
    trainer.take_step()
    assert len(asked) == 3 and trainer.learned == [[]]


def test_overlong_episodes_count_in_the_normalisation_alone(make, pair, given_groups):
    """Row S6: advantages are those of all four, and two of them are trained on."""
    cut = pair("empty", "empty", stop=StopReason.CONTEXT_OVERFLOW)
    given_groups([[*pair("final", "half"), *cut]])
    trainer = make(replace(SETTINGS, prompts_per_step=1, group_size=4, out_of_loss=OVERLONG))
    metrics = trainer.take_step()
    (rollouts,) = trainer.learned
    rewards = torch.tensor([5.0, 2.0, 0.0, 0.0])
    expected = ((rewards - rewards.mean()) / (rewards.std() + 1e-6))[:2].tolist()
    assert [r.advantage for r in rollouts] == pytest.approx(expected, abs=1e-5)
    assert metrics["stopped_by_length"] == 0.5


def test_failed_queries_come_back_every_few_steps(make, pair, given_groups):
    """Row D7: step 0 fails both trips, step 1 its second; at step 2 the three that failed are due,
    oldest first."""
    failed, passed = pair("half", "empty"), pair("final", "empty")
    asked = given_groups([failed, failed], [passed, failed], [passed, failed], [passed, passed])
    trainer = make(replace(SETTINGS, steps=9, replay=ReplaySettings(every=2)))
    rows = [trainer.take_step() for _ in range(5)]
    assert asked[:3] == [["train-0", "train-1"], ["train-2", "train-3"], ["train-0@2", "train-1@2"]]
    assert asked[3] == ["train-4", "train-5"]  # not due
    assert asked[4] == ["train-3@4", "train-1@4"]  # what failed again went to the end
    assert [row["replayed"] for row in rows] == [0, 0, 2, 0, 2]
    assert [row["replay_buffer"] for row in rows] == [2, 3, 2, 2, 0]


def test_a_replayed_query_that_our_side_lost_waits_on(make, pair, given_groups):
    given_groups([pair("empty", "empty")], [pair("final", "final")], [pair("none", "none")])
    trainer = make(replace(SETTINGS, prompts_per_step=1, replay=ReplaySettings(every=2)))
    assert [trainer.take_step()["replay_buffer"] for _ in range(3)] == [1, 1, 1]


def test_a_request_waits_once_though_epochs_give_it_new_numbers(make, pair, given_groups):
    given_groups([pair("empty", "empty")])
    trainer = make(replace(SETTINGS, prompts_per_step=1, replay=ReplaySettings(every=9)))
    fresh = trainer.trips.at
    # epochs of two trips
    trainer.trips.at = lambda number: replace(fresh(number % 2), id=f"train-{number}")
    assert [trainer.take_step()["replay_buffer"] for _ in range(4)] == [1, 2, 2, 2]


def test_a_step_that_is_not_finite_is_not_taken(make, pair, given_groups):
    given_groups([pair("final", "empty")])
    trainer = make(replace(SETTINGS, prompts_per_step=1))
    before = [p.detach().clone() for p in trainer.model.parameters()]
    broken = next(trainer.model.parameters())
    hook = broken.register_hook(lambda grad: grad * float("nan"))
    assert trainer.take_step()["grad_norm"] != trainer.take_step()["grad_norm"]  # NaN is told
    hook.remove()
    assert same_weights(before, trainer.model)
    assert trainer.take_step()["grad_norm"] > 0


def test_the_gap_is_between_rules_whatever_the_reward_goes_by(
    make, lab, pair, given_groups, monkeypatch
):
    monkeypatch.setattr(travelplanner, "_passes", lambda episode, rules: rules == "official")
    given_groups([pair("final", "final")])
    row = make(replace(SETTINGS, prompts_per_step=1, rules="official")).take_step()
    rates = [row[name] for name in ("official_pass_rate", "strict_pass_rate", "strict_gap")]
    assert rates == [1.0, 0.0, 1.0]


def test_a_meter_counts_rewarded_failures_and_passes_that_nobody_would_live(
    make, lab, pair, given_groups, monkeypatch
):
    for name, is_livable in (("livable", True), ("unlivable", False)):
        details = {"also_passes": {"livable": is_livable}}
        verdict = replace(lab.final, rules="strict", details=details)
        monkeypatch.setattr(lab, name, verdict, raising=False)
    given_groups([pair("livable", "unlivable", "half", "empty")])
    row = make(replace(SETTINGS, prompts_per_step=1, group_size=4)).take_step()
    assert 0 < row["failed_reward"] == pytest.approx(row["reward_mean"] - 0.5 * 5)
    assert (row["livable_pass_rate"], row["livable_gap"]) == (0.25, 0.25)


def test_constraints_are_counted_where_they_were_asked(make, pair, given_groups):
    given_groups([pair("final", "empty")])
    row = make(replace(SETTINGS, prompts_per_step=1)).take_step()
    assert row["constraints"]["valid_cost"] == 0.5 and row["constraints"]["is_not_absent"] == 0.5
    assert "valid_cuisine" not in row["constraints"]  # the trip asks for a budget alone


def test_what_a_kl_term_computes_is_counted(make, pair, given_groups):
    given_groups([pair("final", "final")])
    plain = make(replace(SETTINGS, prompts_per_step=1))
    pulled = make(replace(SETTINGS, prompts_per_step=1, kl=Kl(0.1)))
    assert plain.take_step()["flops_update"] == 0 < pulled.take_step()["flops_update"]


def test_a_full_buffer_forgets_its_oldest(make, pair, given_groups):
    asked = given_groups([pair("empty", "empty")] * 2)
    trainer = make(replace(SETTINGS, replay=ReplaySettings(every=2, capacity=2, share=0.5)))
    for _ in range(3):
        trainer.take_step()
    assert asked[2] == ["train-2@2", "train-4"]


@pytest.mark.usefixtures("full_precision")
def test_the_sampler_is_corrected_for(make, pair, given_groups, lab):
    """Old log-probabilities that are 0.3 off at random: the ratio is then taken to the trainer's
    own, so nothing is clipped at first."""
    given_groups([pair("final", "empty")])
    plain = make(replace(SETTINGS, prompts_per_step=1))
    corrected = make(
        replace(SETTINGS, prompts_per_step=1, importance=Importance("truncate", cap=1.2))
    )
    before, after = plain.take_step(), corrected.take_step()
    assert before["clip_fraction"] > 0 and after["clip_fraction"] == 0
    assert before["logprob_gap"] == pytest.approx(after["importance_gap_mean"], rel=1e-3)
    assert after["logprob_gap"] == pytest.approx(0, abs=1e-5)
    pairs = [
        (weight, own)
        for rollout in corrected.learned[0]
        for weight, own in zip(rollout.weights_T, rollout.episode.transcript.loss_mask, strict=True)
    ]
    weights = [weight for weight, own in pairs if own]
    assert 0 < max(weights) <= 1.2 + 1e-6 and len(set(weights)) > 3
    recomputed = make(replace(SETTINGS, prompts_per_step=1, importance=Importance(recompute=True)))
    same = recomputed.take_step()
    assert same["logprob_gap"] == after["logprob_gap"] and same["clip_fraction"] == 0
    assert all(set(r.weights_T) <= {0.0, 1.0} for r in recomputed.learned[0])


@pytest.mark.parametrize("loss", ["gspo", "cispo"])
def test_a_loss_by_its_name(make, pair, given_groups, loss):
    """At the first update the ratios of both are 1 where the trainer's log-probabilities are the
    old ones, and so are their gradients the clipped loss's."""
    given_groups([pair("final", "empty")])
    at_first = replace(SETTINGS, prompts_per_step=1, importance=Importance(recompute=True))
    norms = [make(replace(at_first, loss=name)).take_step()["grad_norm"] for name in (None, loss)]
    assert norms[0] == pytest.approx(norms[1], rel=1e-4) and norms[0] > 0


# ---- with a model that talks


def test_groups_come_back_in_the_order_of_their_tasks(talker, caller, lab):
    dialect = replace(dialect_named("compact"), max_turn_tokens=12)
    policy = EnginePolicy(talker, caller, Sampling(1.0, rows=3, dtype="float32"))
    player = RolloutWorker(policy, dialect, 2)
    groups = player.play([(n, replace(lab.trip, id=name)) for n, name in enumerate("abc")], SUM)
    played = [[episode.task.id for episode in group.episodes] for group in groups]
    assert played == [[f"{name}/0", f"{name}/1"] for name in "abc"]
    assert [group.number for group in groups] == [0, 1, 2]
