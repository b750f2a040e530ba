"""Where a training stands, read from its folder. The runs are made up."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.files import write_lines
from tripwright.training.watched import duration, read, standing

GRPO = {"curriculum": {}, "steps": 60, "max_minutes": None}
Row = dict[str, Any]


def row(step: int, stage: str = "rl") -> Row:
    stops = {"answer": 0.97, "max_turns": 0.03}
    return {"stage": stage, "step": step, "seconds": 30.0 * step, "stop_reasons": stops}


def write(folder: Path, rows: list[Row], grpo: Row) -> Path:
    folder.mkdir(exist_ok=True)
    write_lines(folder / "metrics.jsonl", rows)
    (folder / "recipe.json").write_text(json.dumps({"sft": {"steps": 10}, "grpo": grpo}))
    return folder


def told(folder: Path) -> str:
    return "; ".join(" ".join(fact) for fact in standing(read(folder, "a")))


def test_stage_time_left_and_endings(tmp_path):
    sft = [row(step, "sft") | {"seconds": float(step)} for step in range(1, 11)]
    run = write(tmp_path, [*sft, *map(row, range(1, 31))], GRPO)
    assert "stage rl step 30 of 60 (50%)" in told(run)
    assert "left in this stage, about 15 min" in told(run)  # as long as it took so far
    assert "episodes ended by answer 97%, max turns 3%" in told(run)
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    (run / "metrics.jsonl").write_text("".join(lines[:-10]) + '{"stage": "rl", "st')  # a resume
    assert read(run, "a").last["step"] == 20 and len(read(run, "a").stage_rows) == 20
    (run / "model" / "rl").mkdir(parents=True)
    assert "training finished" in told(run)
    assert (duration(45), duration(3 * 3600 + 290)) == ("45 s", "3 h 05 min")


def test_a_stage_that_ends_by_minutes_one_without_an_end_and_one_that_has_not_begun(tmp_path):
    minutes = GRPO | {"steps": None, "max_minutes": 11}
    by_time = read(write(tmp_path, [row(1), row(11)], minutes), "a")
    assert by_time.share_done == pytest.approx(0.5) and by_time.seconds_left == pytest.approx(330)
    endless = read(write(tmp_path, [row(1), row(2)], GRPO | {"steps": None}), "a")
    assert endless.share_done is None and endless.seconds_left is None
    (tmp_path / "recipe.json").unlink()
    assert "step 2" in told(tmp_path)
    (tmp_path / "metrics.jsonl").unlink()
    assert "no steps yet" in told(tmp_path)
