"""Row S9 in training: a recipe's `[faults]` reach the rollouts of RL, are counted, and reach
nothing else."""

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.expert import ExpertPolicy
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.rewards import SUM
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Episode
from tripwright.rewards.reward import RewardBreakdown
from tripwright.tools.faults import Faults
from tripwright.transcript import StopReason, Transcript
from tripwright.world.generator import build_tables
from tripwright.world.store import World

pytest.importorskip("torch")


from tripwright.training import stages
from tripwright.training.grpo import GrpoSettings
from tripwright.training.metrics import describe
from tripwright.training.recipe import Recipe, Reinforcement
from tripwright.training.rollout_worker import RolloutWorker
from tripwright.training.rollouts import RolloutGroup
from tripwright.training.run_folder import RunFolder
from tripwright.training.sft import SftSettings

FAULTS = Faults(probability=0.5, seed=2)
SHARED = replace(FAULTS, shared_by_group=True)


class PlaysAsTheExpert:
    """The expert where the trainer expects a local model: rollouts are made in the same way."""

    chat = None
    figures: dict[str, float] = {}

    def play_groups(self, groups: Any, branching: Any) -> Any:
        return ExpertPolicy().play(itertools.chain.from_iterable(groups))

    def end_play(self, groups: Any) -> None:
        pass


def test_rollouts_meet_them_each_member_or_each_group_its_own():
    """Where a group shares them its members differ by what they did, not by what they met."""
    world = World.in_memory(build_tables("nano", 21))
    queries = enumerate(make_queries(world, 3, 3))
    tasks = [(n, TripTask(f"t{n}", query, world)) for n, query in queries]

    def play(faults: Faults | None) -> list[RolloutGroup]:
        player = RolloutWorker(PlaysAsTheExpert(), dialect_named("planner_r1"), 4, faults=faults)
        return player.play(tasks, SUM)

    def met(faults: Faults | None) -> list[list[list[str | None]]]:
        return [
            [[call.fault for call in episode.transcript.calls] for episode in group.episodes]
            for group in play(faults)
        ]

    found, shared = met(FAULTS), met(SHARED)
    assert found == met(FAULTS) and found != met(replace(FAULTS, seed=3))
    assert all(len({tuple(member) for member in group}) > 1 for group in found)
    assert [len({tuple(member) for member in group}) for group in shared] == [1, 1, 1]
    assert len({tuple(group[0]) for group in shared}) > 1
    assert {fault for group in met(None) for member in group for fault in member} == {None}
    hit = sum(fault is not None for group in found for member in group for fault in member)
    assert describe(play(FAULTS))["faulty_calls"] == hit > 0


def test_rl_is_given_the_recipes_faults_and_the_cold_start_has_none(
    tmp_path, monkeypatch, nano_tokenizer, tiny_model
):
    driven: list[Any] = []
    model = tiny_model("qwen3", len(nano_tokenizer))
    monkeypatch.setattr(stages, "load_model", lambda *_: (model, nano_tokenizer))
    monkeypatch.setattr(RunFolder, "drive", lambda self, stage, loop, *_: driven.append(loop))
    monkeypatch.setattr(RunFolder, "save", lambda *_: None)
    rl = Reinforcement("grpo", GrpoSettings(steps=1))
    run = RunFolder(tmp_path / "run", Recipe(sft=SftSettings(steps=1), rl=rl, faults=FAULTS))
    stages.take(run, "sft")
    stages.take(run, "rl")
    cold, rl = driven
    assert rl.worker.faults == FAULTS
    written = json.loads((tmp_path / "run" / "recipe.json").read_text())
    assert written["faults"]["probability"] == 0.5
    read = [transcript for _ in range(2) for transcript in next(cold.batches)]
    assert all(call.fault is None for transcript in read for call in transcript.calls)


def test_a_judge_that_fails_shows_as_a_verifier_and_a_dead_tool_does_not(lab):
    """Row D9: of the answers that were to be judged, the share that got a verdict."""
    judged = Episode(lab.trip, Transcript([], StopReason.ANSWER, "[]"), lab.final)
    unjudged = Transcript([], StopReason.UNSCORED, "[]", fault="judge")
    lost = Episode(lab.trip, unjudged, None)
    dead = Episode(lab.trip, Transcript([], StopReason.UNSCORED, fault="tools"), None)
    group = RolloutGroup(0, lab.trip, [judged, judged, judged, lost, dead])
    group.rewards = group.rewarded(lambda episode: RewardBreakdown(1.0, {}))
    assert describe([group])["verifier_success_rate"] == 0.75
    group.episodes, group.rewards = [lost], [None]
    assert describe([group]) == {"episodes": 1, "unscored": 1, "verifier_success_rate": 0.0}
