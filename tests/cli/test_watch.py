"""`tripwright watch`: one frame, and a file that grows and is cut. The runs are made up: test data,
not measurements."""

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.files import write_lines
from tripwright.cli.main import main
from tripwright.cli.watch import BLOCKS, frame, sparkline
from tripwright.training.watched import duration, read


def row(step: int, **changed: Any) -> dict[str, Any]:
    begun = {"stage": "rl", "step": step, "seconds": 100 + 30.0 * step}
    figures = {"reward_mean": 1 + step / 50, "pass_rate": 0.2 + step / 200, "entropy": 0.4}
    rates = {"kept_groups": 0.6, "grad_norm": 0.3, "tokens_per_second": 1000.0}
    lengths = {"turns_mean": 6.0, "completion_tokens_mean": 180.0, "peak_memory_mb": 900.0}
    stops = {"stop_reasons": {"answer": 0.97, "max_turns": 0.03}}
    return {**begun, **figures, **rates, **lengths, **stops, **changed}


def write(folder: Path, rows: list[dict[str, Any]], recipe: dict[str, Any] | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write_lines(folder / "metrics.jsonl", rows)
    usual = {"sft": {"steps": 10}, "grpo": {"curriculum": {}, "steps": 60, "max_minutes": None}}
    (folder / "recipe.json").write_text(json.dumps(recipe or usual), encoding="utf-8")
    return folder


SFT = [
    {"stage": "sft", "step": step, "seconds": 10.0 * step, "loss": 2.0 / step}
    for step in range(1, 11)
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(tmp_path / "a", [*SFT, *(row(step) for step in range(1, 31))])


def test_one_frame_tells_stage_time_left_figures_and_endings(run, typed):
    text = " ".join(typed(f"watch {run} --once").out.split())
    assert "stage rl step 30 of 60 (50%)" in text
    assert "left in this stage, about 15 min" in text  # as long as it took so far
    for figure in ("reward_mean", "entropy", "kept_groups", "grad_norm", "tokens_per_second"):
        assert figure in text, figure
    assert "episodes ended by answer 97%, max turns 3%" in text and "0.35 (0.205 to 0.35)" in text
    assert any(block in text for block in BLOCKS) and "!" not in text and "\x1b" not in text
    assert sparkline([0, 0, 8, 8, 0, 0], 3) == BLOCKS[0] + BLOCKS[-1] + BLOCKS[0]  # means
    assert (duration(45), duration(3 * 3600 + 290)) == ("45 s", "3 h 05 min")


def test_warnings_are_shown_with_their_advice(tmp_path, typed):
    stops = {"answer": 0.6, "context_overflow": 0.4}
    run = write(tmp_path / "b", [row(step, stop_reasons=stops) for step in range(1, 21)])
    warning = typed(f"watch {run} --json").record["warnings"][0]
    text = " ".join(typed(f"watch {run} --once").out.split())
    assert warning["what"] in text and warning["advice"] in text


def test_lines_fit_the_width_and_an_ascii_terminal_gets_ascii(run, tmp_path, monkeypatch):
    long = write(tmp_path / "b", [row(step, clip_fraction=0.9) for step in range(1, 41)])
    watched = [read(run, "a"), read(long, "a/long/name")]
    for width in (40, 80, 200):
        assert max(map(len, frame(watched, width).splitlines())) <= width
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert main(["watch", str(run), "--once"]) == 0
    assert b"step 30 of 60" in written.getvalue() and written.getvalue().isascii()


def test_a_stage_that_ends_by_minutes_and_one_without_an_end(tmp_path):
    endless = {"curriculum": {}, "steps": None}
    timed = {"grpo": {**endless, "max_minutes": 11}}
    by_time = read(write(tmp_path / "a", [*SFT, row(1), row(11)], timed), "a")
    assert by_time.share_done == pytest.approx(0.5) and by_time.seconds_left == pytest.approx(330)
    on_and_on = read(write(tmp_path / "b", [row(1), row(2)], {"grpo": endless}), "b")
    assert on_and_on.share_done is None and on_and_on.seconds_left is None
    (tmp_path / "b" / "recipe.json").unlink()
    assert "step 2" in frame([read(tmp_path / "b", "b")], 80)


@pytest.mark.parametrize("options", [["--once"], ["--json"], []])
def test_a_folder_that_is_no_training_is_refused(tmp_path, refused, options):
    (tmp_path / "manifest.json").write_text("{}")
    assert "manifest.json" in refused(f"watch {tmp_path}", options)


def test_a_run_that_has_not_begun_is_no_error(tmp_path, typed):
    write(tmp_path / "new", [])
    (tmp_path / "new" / "metrics.jsonl").unlink()
    assert "no steps yet" in typed(f"watch {tmp_path}/new --once").out


def test_watching_follows_growth_and_cuts_and_ends_with_the_training(run, monkeypatch, typed):
    acts = [
        lambda: write(run, [row(step) for step in range(1, 41)]),
        lambda: None,  # nothing new is shown
        lambda: write(run, [row(step) for step in range(1, 36)]),
        lambda: (run / "model" / "rl").mkdir(parents=True),
    ]
    monkeypatch.setattr("tripwright.cli.watch.time.sleep", lambda _: acts.pop(0)())
    text = typed(f"watch {run}").out
    assert re.findall(r"step (\d+) of 60", text) == ["30", "40", "35", "35"]
    assert " ".join(text.split()).count("training finished") == 1


@pytest.mark.parametrize("runs", [["nowhere"], ["a", "a"], [f"r{i}" for i in range(9)]])
def test_bad_arguments_get_one_line(run, tmp_path, capsys, runs):
    for i in range(9):
        write(tmp_path / f"r{i}", [])
    assert main(["watch", *(str(tmp_path / name) for name in runs), "--once"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
