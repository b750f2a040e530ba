"""Checkpoints on disk: whole or not there, the newest kept, nothing in them that could not be read
again."""

import random
import resource
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tripwright.errors import UserError
from tripwright.training import checkpoint
from tripwright.training.checkpoint import (
    Checkpoints,
    process_generators,
    set_process_generators,
)
from tripwright.training.recipe import CheckpointSettings

STATE: dict[str, Any] = {
    "weights": OrderedDict(a=torch.arange(3.0)),
    "counts": Counter(x=2),
    "list": [1, 2.5, "text", None, True, (3, b"bytes")],
    "by number": {0: {"exp_avg": torch.ones(2, dtype=torch.bfloat16)}},
}


def steps(folder: Path) -> list[str]:
    return sorted(place.name for place in folder.iterdir())


def test_what_is_written_is_read_again(tmp_path):
    place = Checkpoints(tmp_path / "sft").write(50, STATE, {"stage": "sft", "seconds": 1.5})
    assert place.name == "step-000050" and steps(place) == ["manifest.json", "state.pt"]
    found = Checkpoints(tmp_path / "sft").newest()
    assert found is not None and found.manifest["step"] == 50 and found.manifest["seconds"] == 1.5
    state = found.state()
    assert torch.equal(state["weights"]["a"], torch.arange(3.0))
    assert state["by number"][0]["exp_avg"].dtype == torch.bfloat16
    assert state["counts"] == Counter(x=2)
    assert state["list"] == [1, 2.5, "text", None, True, (3, b"bytes")]


def test_a_full_disk_is_one_line_and_leaves_what_there_was(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.write(1, STATE, {})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(UserError, match="cannot be written: .* Is the disk full"):
            checkpoints.write(2, {"weights": torch.ones(10_000)}, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert steps(tmp_path) == ["step-000001"]


def test_only_the_newest_are_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in (9, 10, 999_999, 1_000_000):
        checkpoints.write(step, STATE, {})
    assert steps(tmp_path) == ["step-1000000", "step-999999"]
    newest = checkpoints.newest()
    assert newest is not None and newest.manifest["step"] == 1_000_000


def test_a_kill_while_the_state_is_written_leaves_the_checkpoint_before(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.write(5, {"value": 5}, {})

    def dying(state: Any, out: Any) -> None:
        out.write_bytes(b"half a st")
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint.torch, "save", dying)
        with pytest.raises(KeyboardInterrupt):
            checkpoints.write(6, {"value": 6}, {})
    assert steps(tmp_path) == ["step-000005"]
    (tmp_path / "step-000006.partial").mkdir()  # as a kill from outside leaves it
    found = checkpoints.newest()
    assert found.state() == {"value": 5}
    assert steps(tmp_path) == ["step-000005"]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("state.pt", b""),
        ("state.pt", None),
        ("manifest.json", b'{"step": 6'),
        ("manifest.json", b"[]"),
        ("manifest.json", None),
    ],
)
def test_a_damaged_one_is_told_and_passed_over(file, content, tmp_path, capsys):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.write(5, {"value": 5}, {})
    place = checkpoints.write(6, {"value": 6}, {}) / file
    if content is None:
        place.unlink()
    else:
        place.write_bytes(content)
    found = checkpoints.newest()
    assert found is not None and found.state() == {"value": 5}
    assert "step-000006' is damaged" in capsys.readouterr().err


def test_none_is_no_checkpoint(tmp_path):
    assert Checkpoints(tmp_path / "nowhere").newest() is None
    (tmp_path / "step-of-mine").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    assert Checkpoints(tmp_path).newest() is None and steps(tmp_path) == [
        "notes.txt",
        "step-of-mine",
    ]


def test_clearing_leaves_other_stages(tmp_path):
    for stage in ("copy_pretraining", "sft"):
        Checkpoints(tmp_path / "checkpoints" / stage).write(1, STATE, {})
    Checkpoints(tmp_path / "checkpoints" / "copy_pretraining").clear()
    assert steps(tmp_path / "checkpoints") == ["sft"]
    Checkpoints(tmp_path / "checkpoints" / "sft").clear()
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.parametrize("foreign", [random.Random(0), Path("here")])
def test_what_could_not_be_read_again_is_refused_before_it_is_needed(foreign, tmp_path):
    with pytest.raises(UserError, match="expected tensors, numbers and texts alone"):
        Checkpoints(tmp_path).write(1, {"list": [0, foreign]}, {})
    assert Checkpoints(tmp_path).newest() is None


def test_the_process_draws_on_where_it_was():
    state = process_generators()
    first = [torch.rand(3).tolist(), random.random(), random.gauss(0, 1)]
    set_process_generators(state)
    assert [torch.rand(3).tolist(), random.random(), random.gauss(0, 1)] == first


def test_one_is_due_after_steps_or_minutes():
    both = CheckpointSettings(every_steps=50, every_minutes=10)
    assert not both.due(49, 9.9) and both.due(50, 0) and both.due(0, 10)
    assert not CheckpointSettings(every_steps=None, every_minutes=None).due(10**6, 10**6)
