"""A recipe so small that every stage of it takes a second; and made-up episodes for the arithmetic of an update."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import COMMONSENSE_NAMES, HARD_NAMES
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Episode
from tripwright.transcript import Segment, StopReason, Transcript
from tripwright.verdict import Fact, State
from tripwright.world.generator.build import build_tables
from tripwright.world.store import World

VOCABULARY = 60
FINAL = Verdict(
    "official",
    True,
    {name: Fact(name, State.PASSED) for name in COMMONSENSE_NAMES},
    {name: Fact(name, State.PASSED if name == "valid_cost" else State.NOT_APPLICABLE) for name in HARD_NAMES},
    10.0,
    None,
    True,
)


@pytest.fixture
def tiny_recipe() -> Any:
    pytest.importorskip("torch")
    from tripwright.rl.settings import GrpoSettings
    from tripwright.sft.copying import CopySettings
    from tripwright.sft.trainer import SftSettings
    from tripwright.training.nano import NanoShape
    from tripwright.training.recipe import DialectSettings, EvaluationSettings, ModelSettings, Recipe

    shape = NanoShape(hidden=32, layers=1, heads=2, kv_heads=1, head_size=16, feed_forward=48, positions=1024)
    return Recipe(
        name="tiny",
        threads=1,
        dialect=DialectSettings(max_turn_tokens=32),
        model=ModelSettings(shape=shape, tokenizer_transcripts=16, superwords=80, subwords=400),
        copy=CopySettings(lengths=(4, 8), tokens_per_step=64, max_steps=3),
        sft=SftSettings(steps=6, rows_per_step=2),
        grpo=GrpoSettings(steps=1, prompts=2, group=2, rows=2),
        evaluation=EvaluationSettings(queries=4, difficulty_queries=6, per_world=3, rows=4),
    )


class SameTrip:
    """A stream of one trip, numbered, which its text says; for loops that are given their episodes, or that play the same trip again."""

    per_epoch: int | None = None
    live = None

    def __init__(self, task: TripTask):
        self.task, self.position = task, 0

    def at(self, number: int) -> TripTask:
        query = self.task.query
        return replace(self.task, id=f"train-{number}", query=query.model_copy(update={"query": f"{query.query} ({number})"}))

    def __next__(self) -> TripTask:
        self.position += 1
        return self.at(self.position - 1)

    def state_dict(self) -> dict[str, Any]:
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.position = state["position"]


@pytest.fixture(scope="session")
def lab() -> SimpleNamespace:
    """Made-up transcripts and episodes over a vocabulary of 60 tokens; `trip` asks for nothing but a budget."""
    torch = pytest.importorskip("torch")
    world = World.in_memory(build_tables("nano", 21))
    query = next(make_queries(world, 1, 3))
    trip = TripTask("t", Query.model_validate({**query.record(), "local_constraint": {}}), world)

    def transcript(model: Any, seed: int, turns: int = 2, stop: StopReason = StopReason.FORMAT_ERROR) -> Transcript:
        """Random turns of random length. The old log-probabilities are near the model's: some ratios are clipped and some are not."""
        rng = torch.Generator().manual_seed(seed)

        def draw(low: int, high: int) -> list[int]:
            found: list[int] = torch.randint(1, VOCABULARY, (int(torch.randint(low, high, (), generator=rng)),), generator=rng).tolist()
            return found

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
        return Transcript(segments, stop)

    def episode(model: Any, seed: int, verdict: Verdict | None, turns: int = 2, stop: StopReason = StopReason.FORMAT_ERROR) -> Episode:
        """A verdict that delivered a plan comes with one; None is unscored."""
        plan: list[dict[str, Any]] | None = [{}] if verdict is not None and verdict.delivered else None
        return Episode(trip, transcript(model, seed, turns, stop), plan, None if plan else "no answer", verdict)

    return SimpleNamespace(
        vocabulary=VOCABULARY,
        final=FINAL,
        half=replace(FINAL, hard=None, final=False),  # every commonsense constraint, no hard one
        empty=Verdict.undelivered("official"),
        trip=trip,
        trips=lambda: SameTrip(trip),
        transcript=transcript,
        episode=episode,
    )


@pytest.fixture
def given_groups(monkeypatch: pytest.MonkeyPatch) -> Any:
    """given_groups(groups, …): players find these episodes instead of playing, the n-th call the n-th groups and then the last again;
    the list that comes back holds the tasks of every call."""
    pytest.importorskip("torch")
    from tripwright.rl.rollouts import Group, Player

    def give(*calls: list[list[Episode]]) -> list[list[str]]:
        asked: list[list[str]] = []

        def play(self: Any, tasks: Any, weights: Any) -> list[Group]:
            episodes = calls[min(len(asked), len(calls) - 1)]
            asked.append([task.id for _, task in tasks])
            groups = [Group(number, task, found) for (number, task), found in zip(tasks, episodes, strict=False)]
            for group in groups:
                group.rewards = group.rewarded(weights)
            return groups

        monkeypatch.setattr(Player, "play", play)
        return asked

    return give
