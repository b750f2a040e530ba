"""A run folder of another version, and a run whose lines are broken."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.runs import CARD, TRANSCRIPTS, VERSION, VERSION_ENTRY


def played(nano_folder: Path, out: Path, policy: str = "greedy-search") -> list[str]:
    files = [
        "--queries",
        str(nano_folder / "queries.jsonl"),
        "--world",
        str(nano_folder / "world"),
        "--out",
        str(out),
    ]
    return ["run", *files, "--policy", policy, "--quiet"]


def test_a_folder_of_another_version_is_refused_and_left_as_it_is(
    nano_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert main(played(nano_folder, run)) == 0
    card = json.loads((run / CARD).read_text())
    (run / CARD).write_text(json.dumps({**card, VERSION_ENTRY: VERSION - 1}))
    again = shutil.copytree(run, tmp_path / "again")
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    capsys.readouterr()
    for command in (
        played(nano_folder, run),
        ["report", str(run)],
        ["compare", str(run), str(again)],
        ["data", "collect", str(run), "--out", str(tmp_path / "collected.jsonl")],
    ):
        assert main(command) == 2
        told = capsys.readouterr().err
        assert "made by another version" in told and told.count("\n") == 1
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"domain": ["x"]}, "expected a line as 'tripwright run' writes it"),
        ({"verdict": {"final": True, "delivered": True}}, "it has no 'groups'"),
        ({"request": "Go."}, "expected a line as 'tripwright run' writes it"),
        ({"transcript": {}}, "it has no 'stop_reason'"),
        ({"id": None}, "not an episode of a run"),
    ],
)
def test_a_broken_line_is_one_line_of_a_run(
    nano_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changed: dict[str, Any],
    why: str,
) -> None:
    assert main(played(nano_folder, tmp_path / "run")) == 0
    path = tmp_path / "run" / TRANSCRIPTS
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(first), **changed}), *others, ""]))
    capsys.readouterr()
    assert main(played(nano_folder, tmp_path / "run")) == 2
    told = capsys.readouterr().err
    assert (
        f"{TRANSCRIPTS}:1: not an episode of a run" in told
        and why in told
        and "Traceback" not in told
    )
