"""A whole GRPO update against a plain one written with `transformers` and torch alone, and who takes part in it."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tripwright.agent.dialect import dialect_named
from tripwright.constraints.facts import COMMONSENSE_NAMES, HARD_NAMES, Fact, State, Verdict
from tripwright.episode import Episode, Task
from tripwright.queries.sample import make_queries
from tripwright.rewards.shaped import NOTHING, Curriculum, Reward
from tripwright.transcript import Segment, StopReason, Transcript
from tripwright.trip.query import Query
from tripwright.world.generator.build import build_tables
from tripwright.world.store import World

torch = pytest.importorskip("torch")

from tripwright.agent.policies.local import LocalPolicy, Sampling  # noqa: E402
from tripwright.training import grpo  # noqa: E402
from tripwright.training.grpo import GrpoSettings, Rollout, roll_out, train, update  # noqa: E402
from tripwright.training.optim import Optimizers, OptimizerSettings  # noqa: E402

VOCABULARY = 60
ADAMW = OptimizerSettings(name="adamw", adamw_learning_rate=1e-3, weight_decay=0.01, grad_clip=0.5)
SETTINGS = GrpoSettings(minibatches=1, rows=3, optimizer=ADAMW)
FINAL = Verdict(
    "official",
    True,
    {name: Fact(name, State.PASSED) for name in COMMONSENSE_NAMES},
    {name: Fact(name, State.PASSED if name == "valid_cost" else State.NOT_APPLICABLE) for name in HARD_NAMES},
    10.0,
    None,
    True,
)
EMPTY = Verdict.undelivered("official")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def task() -> Task:
    world = World.in_memory(build_tables("nano", 21))
    return Task("t", next(make_queries(world, 1, 3)), world)


def transcript(model: Any, seed: int, turns: int = 2) -> Transcript:
    """Random turns of random length. The old log-probabilities are near the model's, so that some ratios are clipped and some are not."""
    rng = torch.Generator().manual_seed(seed)

    def draw(low: int, high: int) -> list[int]:
        return torch.randint(1, VOCABULARY, (int(torch.randint(low, high, (), generator=rng)),), generator=rng).tolist()

    segments = []
    for _ in range(turns):
        segments += [Segment("tool", "", draw(3, 9)), Segment("assistant", "", draw(2, 12))]
    ids = torch.tensor([i for segment in segments for i in segment.token_ids])
    with torch.no_grad():
        said = model(ids[None]).logits[0].log_softmax(-1)
    logprobs = [0.0, *(said[i, token] for i, token in enumerate(ids[1:].tolist()))]
    place = 0
    for segment in segments:
        kept = int(segment.role == "assistant")
        segment.loss_mask = [kept] * len(segment.token_ids)
        for _ in segment.token_ids:
            segment.logprobs.append(kept * float(logprobs[place] + 0.3 * torch.randn((), generator=rng)))
            place += 1
    return Transcript(segments, StopReason.FORMAT_ERROR)


def rollout(model: Any, task: Task, seed: int, advantage: float, turns: int = 2) -> Rollout:
    return Rollout(Episode(task, transcript(model, seed, turns), None, None, EMPTY), Reward(0.0, 0.0, NOTHING), advantage)


def plain_loss(model: Any, rollouts: list[Rollout], aggregation: str) -> Any:
    """Row P6 with loops: per token max(−A·r, −A·clip(r)), at most −3·A where A < 0."""
    every, tokens = [], sum(sum(r.episode.transcript.loss_mask) for r in rollouts)
    for r in rollouts:
        t, losses = r.episode.transcript, []
        logprobs = model(torch.tensor([t.token_ids])).logits[0].log_softmax(-1)
        for i in range(1, len(t.token_ids)):
            if not t.loss_mask[i]:
                continue
            ratio = (logprobs[i - 1, t.token_ids[i]] - t.logprobs[i]).exp()
            loss = max(-r.advantage * ratio, -r.advantage * ratio.clamp(0.8, 1.2), key=float)
            if r.advantage < 0:
                loss = min(loss, torch.tensor(-3.0 * r.advantage), key=float)
            losses.append(loss)
        every.append(sum(losses) / (tokens if aggregation == "token-mean" else len(losses) * len(rollouts)))
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
@pytest.mark.parametrize("aggregation", ["token-mean", "trajectory-mean"])
def test_an_update_is_the_one_of_the_formula(aggregation: str, minibatches: int, tiny_model: Any, task: Task) -> None:
    model = tiny_model("qwen3", VOCABULARY, scale=2.0)
    cases = [(1.0, 1), (-0.7, 3), (0.0, 2), (2.5, 2), (-1.8, 1)]
    rollouts = [rollout(model, task, seed, advantage, turns) for seed, (advantage, turns) in enumerate(cases)]
    plain = copy.deepcopy(model)
    settings = replace(SETTINGS, aggregation=aggregation, minibatches=minibatches)
    figures = update(model, Optimizers(model, ADAMW), rollouts, settings, 1.0, torch.Generator().manual_seed(4))

    optimizer = torch.optim.AdamW(plain.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.01)
    order = torch.randperm(5, generator=torch.Generator().manual_seed(4)).tolist()
    parts = [order] if minibatches == 1 else [order[:3], order[3:]]
    norms = [plain_step(plain, optimizer, [rollouts[i] for i in part], aggregation) for part in parts]

    assert figures["grad_norm"] == pytest.approx(sum(norms) / len(norms), rel=1e-3)
    assert 0 < figures["clip_fraction"] < 1
    for (name, found), (_, expected) in zip(model.named_parameters(), plain.named_parameters(), strict=True):
        torch.testing.assert_close(found, expected, atol=2e-5, rtol=1e-4, msg=name)


@pytest.mark.usefixtures("full_precision")
@pytest.mark.parametrize("rows", [1, 2, 8])
def test_how_many_rows_go_through_at_once_changes_nothing(rows: int, tiny_model: Any, task: Task) -> None:
    model = tiny_model("qwen3", VOCABULARY, scale=2.0)
    rollouts = [rollout(model, task, seed, (-1.0) ** seed) for seed in range(4)]
    figures = update(model, Optimizers(model, ADAMW), rollouts, replace(SETTINGS, rows=rows))
    whole = tiny_model("qwen3", VOCABULARY, scale=2.0)
    expected = update(whole, Optimizers(whole, ADAMW), rollouts, replace(SETTINGS, rows=4))
    assert figures == pytest.approx(expected, rel=1e-3)


@pytest.mark.usefixtures("full_precision")
@pytest.mark.parametrize(("aggregation", "whole"), [("token-mean", "tokens"), ("trajectory-mean", "rollouts")])
def test_groups_that_agree_keep_their_place_in_the_denominator(aggregation: str, whole: str, tiny_model: Any, task: Task) -> None:
    model = tiny_model("qwen3", VOCABULARY, scale=2.0)
    live = [rollout(model, task, 1, 1.0), rollout(model, task, 2, -1.0)]
    dead = [rollout(model, task, seed, 0.0, turns=3) for seed in (3, 4, 5)]

    def norm(rollouts: list[Rollout]) -> float:
        fresh = copy.deepcopy(model)
        return update(fresh, Optimizers(fresh, ADAMW), rollouts, replace(SETTINGS, aggregation=aggregation))["grad_norm"]

    def size(rollouts: list[Rollout]) -> int:
        return len(rollouts) if whole == "rollouts" else sum(sum(r.episode.transcript.loss_mask) for r in rollouts)

    assert norm(live + dead) / norm(live) == pytest.approx(size(live) / size(live + dead), rel=1e-4)


@pytest.mark.parametrize("rollouts", ["none", "agreeing"])
def test_where_there_is_nothing_to_learn_the_model_stays(rollouts: str, tiny_model: Any, task: Task) -> None:
    model = tiny_model("qwen3", VOCABULARY)
    before = [p.clone() for p in model.parameters()]
    figures = update(model, Optimizers(model, ADAMW), [] if rollouts == "none" else [rollout(model, task, 1, 0.0)] * 3, SETTINGS)
    assert figures["grad_norm"] == 0 and all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


# ---- the loop


def given_groups(monkeypatch: pytest.MonkeyPatch, groups: list[list[Episode]]) -> list[list[Rollout]]:
    """Makes the trainer find these groups instead of playing; returns the rollouts that it then updates on, step by step."""
    updates: list[list[Rollout]] = []

    def noted(model: Any, optimizers: Any, rollouts: list[Rollout], *rest: Any) -> dict[str, float]:
        updates.append(rollouts)
        return update(model, optimizers, rollouts, *rest)

    monkeypatch.setattr(grpo, "roll_out", lambda *_: groups)
    monkeypatch.setattr(grpo, "update", noted)
    return updates


def test_unscored_members_leave_their_group(tiny_model: Any, chat: Any, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewards 5, 0, unscored, 0 with schema: mean and std are those of three. The second group is wholly unscored."""
    model = tiny_model("qwen3", VOCABULARY)

    def episode(verdict: Verdict | None, plan: list[Any] | None = None) -> Episode:
        return Episode(task, transcript(model, 1), plan, None, verdict)

    groups = [[episode(FINAL, [{}]), episode(EMPTY), episode(None), episode(EMPTY)], [episode(None)] * 4]
    poor = replace(task, query=Query.model_validate({**task.query.record(), "local_constraint": {}}))
    groups[0] = [replace(e, task=poor) for e in groups[0]]
    updates = given_groups(monkeypatch, groups)
    settings = replace(SETTINGS, steps=1, prompts=2, group=4)
    (metrics,) = train(model, chat, dialect_named("compact"), itertools.repeat(task), settings, 0)
    (rollouts,) = updates
    assert [r.reward.total for r in rollouts] == [5.0, 0.0, 0.0]
    assert [r.advantage for r in rollouts] == pytest.approx([1.154700, -0.577350, -0.577350], abs=1e-5)
    assert metrics["unscored"] == 5 and metrics["kept_groups"] == 0.5
    assert metrics["reward_mean"] == pytest.approx(5 / 3) and metrics["schema_rate"] == pytest.approx(1 / 3)


def test_a_step_of_faults_alone_is_survived(tiny_model: Any, chat: Any, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model("qwen3", VOCABULARY)
    fault = Episode(task, transcript(model, 1), None, None, None)
    given_groups(monkeypatch, [[fault] * 2] * 2)
    settings = replace(SETTINGS, steps=2, prompts=2, group=2)
    first, second = train(model, chat, dialect_named("compact"), itertools.repeat(task), settings, 0)
    assert first["unscored"] == second["unscored"] == 4 and first["reward_mean"] == 0.0


def test_the_curriculum_is_followed_and_the_rate_is_warmed_up(
    tiny_model: Any, chat: Any, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_model("qwen3", VOCABULARY)
    half = replace(FINAL, hard=None, final=False)
    given_groups(monkeypatch, [[Episode(task, transcript(model, 1), [{}], None, verdict) for verdict in (half, EMPTY)]])
    curriculum = Curriculum((("stage1", 1), ("stage2", 1), ("stage3", 1)))
    settings = replace(SETTINGS, steps=4, prompts=1, group=2, curriculum=curriculum, warm_up_steps=2)
    rows = list(train(model, chat, dialect_named("compact"), itertools.repeat(task), settings, 0))
    assert [row["reward_mean"] for row in rows] == [1.0, 0.5, 0.0, 0.0]  # half of 1 + 1, of 1, of 0
    assert [row["learning_rate"] for row in rows] == pytest.approx([5e-4, 1e-3, 1e-3, 1e-3])


def test_it_plays_trains_and_reproduces(talker: Any, chat: Any, task: Task) -> None:
    dialect = replace(dialect_named("compact"), max_turn_tokens=12)
    settings = replace(SETTINGS, steps=2, prompts=2, group=3)

    def run(seed: int) -> list[dict[str, Any]]:
        tasks = (replace(task, id=str(i)) for i in itertools.count())
        rows = list(train(copy.deepcopy(talker), chat, dialect, tasks, settings, seed))
        return [{key: value for key, value in row.items() if not key.endswith("seconds")} for row in rows]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_groups_come_back_in_the_order_of_their_tasks(talker: Any, caller: Any, task: Task) -> None:
    dialect = replace(dialect_named("compact"), max_turn_tokens=12)
    policy = LocalPolicy(talker, caller, Sampling(1.0, rows=3, dtype="float32"))
    groups = roll_out(policy, dialect, [replace(task, id=name) for name in "abc"], 2)
    assert [[episode.task.id for episode in group] for group in groups] == [[f"{name}/0", f"{name}/1"] for name in "abc"]
