"""Loggers: what is refused, what is flattened; each real one where its package is installed."""

import importlib.util
import math
from pathlib import Path
from typing import Any

import pytest

from tripwright.errors import UserError
from tripwright.training import loggers as module
from tripwright.training.loggers import LOGGERS, Loggers, check_loggers, flatten

ROW = {"stage": "rl", "step": 1, "reward_mean": 1.5, "stop_reasons": {"answer": 0.75}}


class Remembers:
    """A logger that keeps what it is told, and fails at a step if asked to."""

    fails_at = 0

    def __init__(self, folder: Path, config: dict[str, Any]):
        self.folder, self.config = folder, config
        MADE.append(self)
        self.told: list[tuple[str, int, dict[str, float]]] = []
        self.closed = False

    def log(self, stage: str, step: int, figures: dict[str, float]) -> None:
        if step == self.fails_at:
            raise ConnectionError("the network\nis down")
        self.told.append((stage, step, figures))

    def close(self) -> None:
        self.closed = True


MADE: list[Remembers] = []


@pytest.fixture(autouse=True)
def _own_loggers(monkeypatch):
    """Under the name of a package that is there."""
    MADE.clear()
    monkeypatch.setitem(LOGGERS, "json", Remembers)


def test_nested_figures_are_flattened_and_texts_left_out():
    assert flatten({"a": {"b": {"c": 1}}, "d": 2.5, "e": "x", "f": None, "g": True}) == {
        "a/b/c": 1.0,
        "d": 2.5,
    }
    assert math.isnan(flatten({"loss": math.nan})["loss"])


def test_missing_extras_are_refused_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    for name in ("tensorboard", "wandb"):
        with pytest.raises(UserError, match=rf"pip install 'tripwright\[{name}\]'$"):
            check_loggers((name,))
    assert list(tmp_path.iterdir()) == []


def test_a_sink_that_does_not_start_is_said_in_one_line_and_closes_the_others(
    monkeypatch, tmp_path
):
    class Broken(Remembers):
        def __init__(self, folder: Path, config: dict[str, Any]):
            raise RuntimeError("no\nlogin")

    monkeypatch.setitem(LOGGERS, "csv", Broken)
    with pytest.raises(UserError, match=r"^The logger 'csv' does not start: RuntimeError"):
        Loggers(("json", "csv"), tmp_path, {})
    assert MADE[0].closed


def test_a_sink_that_fails_is_named_and_the_run_goes_on(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(Remembers, "fails_at", 2)
    started = Loggers(("json",), tmp_path, {})
    for step in (1, 2, 3):
        started.log("rl", step, ROW)
    assert "logger 'json' failed at rl step 2" in capsys.readouterr().err
    assert [step for _, step, _ in MADE[0].told] == [1]


def test_no_sinks_write_nothing(tmp_path):
    none = Loggers((), tmp_path, {})
    none.log("rl", 1, ROW)
    none.close()
    assert list(tmp_path.iterdir()) == []


# ---- the real ones


def _needs(*packages: str) -> None:
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")


def test_tensorboard_reads_what_was_logged_and_a_resume_replaces_it(tmp_path):
    _needs("torch", "tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    # the second start goes on from step 3's checkpoint
    for first, last, value in ((1, 5, 1.0), (4, 6, 2.0)):
        started = Loggers(("tensorboard",), tmp_path, {"seed": 1})
        for step in range(first, last + 1):
            started.log("rl", step, {"reward_mean": value, "stop_reasons": {"answer": 0.5}})
        started.close()
    read = EventAccumulator(str(tmp_path / "tensorboard" / "rl"))
    read.Reload()
    found = read.Scalars("reward_mean")
    assert [e.step for e in found] == [1, 2, 3, 4, 5, 6]
    assert [e.value for e in found] == [1, 1, 1, 2, 2, 2]
    assert [e.step for e in read.Scalars("stop_reasons/answer")] == [1, 2, 3, 4, 5, 6]


def test_wandb_works_offline(tmp_path, monkeypatch, capsys):
    _needs("wandb")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_SILENT", "true")
    started = Loggers(("wandb",), tmp_path, {"seed": 1})
    started.log("rl", 1, ROW)
    started.log("rl", 2, ROW)
    started.close()
    files = list((tmp_path / "wandb").glob("offline-run-*/run-*.wandb"))
    assert len(files) == 1 and b"stop_reasons/answer" in files[0].read_bytes()
    assert capsys.readouterr().out == ""
