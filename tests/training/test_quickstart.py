"""The quickstart from end to end: with everything cut to seconds, and (slow) as it is, at its
shortest."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.files import read_lines
from tripwright.cli import quickstart as verb
from tripwright.errors import UserError
from tripwright.tools.faults import Faults
from tripwright.training import held_out
from tripwright.training.stages import (
    COLD_START_STEPS,
    FIXED_MINUTES,
    RL_SHARE,
    RL_STEPS,
    quickstart_recipe,
)

pytestmark = pytest.mark.usefixtures("threads_as_before")


def test_the_whole_loop(tmp_path, tiny_recipe, monkeypatch, capsys):
    recipe = replace(tiny_recipe, faults=Faults(probability=0.9))
    monkeypatch.setattr("tripwright.training.stages.quickstart_recipe", lambda minutes: recipe)
    verb.quickstart(tmp_path, minutes=1, seed=3, threads=1)
    printed = capsys.readouterr().out
    for name in ("after_sft", "after_rl_with_faults", "tools failing", "emptied_tools"):
        assert name in printed
    assert str(tmp_path / "report.html") in printed

    score = json.loads((tmp_path / "score.json").read_text())
    assert score["n"] == 4
    assert score["unscored"] == 0
    assert {"final", "dense_reward"} <= set(score["metrics"])
    assert score["comparison"]["dense_reward"]["n"] == 4
    assert score["comparison"]["with_faults"]["dense_reward"]["n"] == 4
    for stage in (held_out.BEFORE, held_out.AFTER):
        without, failing = (
            json.loads((tmp_path / "eval" / name / "score.json").read_text())
            for name in (stage, f"{stage}_{held_out.WITH_FAULTS}")
        )
        assert "faults" not in without
        assert failing["faults"]["settings"]["probability"] == 0.9
    difficulty = json.loads((tmp_path / "difficulty.json").read_text())
    assert difficulty["expert"]["n"] == 6 and difficulty["expert"]["value"] == 1.0
    assert (tmp_path / "report.html").stat().st_size > 1000

    def transcripts(name: str) -> list[dict[str, Any]]:
        return read_lines(tmp_path / "eval" / name / "transcripts.jsonl")

    before, after, blind = (
        transcripts(name) for name in (held_out.BEFORE, held_out.AFTER, held_out.BLIND)
    )
    assert {r["id"] for r in before} == {r["id"] for r in after} == {
        r["id"] for r in blind
    } and len(before) == 4
    assert all(
        segment["token_ids"]
        for record in after
        for segment in record["transcript"]["segments"]
        if segment["role"] == "assistant"
    )

    # The same command again does nothing over, and another seed is another run.
    told = (tmp_path / "metrics.jsonl").read_text()
    monkeypatch.setattr(
        "tripwright.training.run_folder.RunFolder.drive",
        lambda *_, **__: pytest.fail("a finished stage was run again"),
    )
    monkeypatch.setattr(
        held_out, "run_episodes", lambda *_, **__: pytest.fail("an examination was held again")
    )
    verb.quickstart(tmp_path, minutes=1, seed=3, threads=1)
    assert (tmp_path / "metrics.jsonl").read_text() == told
    with pytest.raises(UserError, match="another recipe"):
        verb.quickstart(tmp_path, minutes=1, seed=4, threads=1)


@pytest.mark.parametrize("minutes", [30, 5, 1])
def test_the_time_given_is_shared(minutes):
    recipe = quickstart_recipe(minutes)
    assert recipe.sft.max_minutes
    assert recipe.rl.settings.max_minutes
    left = max(1.0, minutes - FIXED_MINUTES)
    assert recipe.rl.settings.max_minutes == pytest.approx(RL_SHARE * left, abs=0.02)
    assert recipe.sft.max_minutes + recipe.rl.settings.max_minutes == pytest.approx(left, abs=0.02)
    # so many steps in each minute, and minutes only where steps take longer
    assert recipe.sft.steps == math.ceil(COLD_START_STEPS * (1 - RL_SHARE) * left)
    assert recipe.rl.settings.steps == math.ceil(RL_STEPS * RL_SHARE * left)


@pytest.mark.slow
def test_the_shortest_real_one(tmp_path):
    verb.quickstart(tmp_path, minutes=1, seed=0, threads=2)
    score = json.loads((tmp_path / "score.json").read_text())
    assert score["n"] == quickstart_recipe(1).evaluation.queries and score["unscored"] == 0
    stages_told = {
        json.loads(line)["stage"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()
    }
    assert stages_told == {"copy_pretraining", "sft", "rl"}
