"""A run folder that an older version made: read and marked by reports and comparisons, not gone on
with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.errors import UserError
from tripwright.evals.comparison_record import compare_folders
from tripwright.evals.report import write_report
from tripwright.runs import CARD, TRANSCRIPTS, VERSION, VERSION_ENTRY, Run


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


def test_a_folder_of_an_older_version_is_read_and_marked_and_not_gone_on_with(
    nano_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    assert main(played(nano_folder, old)) == main(played(nano_folder, new, "expert")) == 0
    assert Run.at(old).typed_rows and "no typed rows" not in write_report(old).read_text()
    card = json.loads((old / CARD).read_text())
    del card[VERSION_ENTRY]
    (old / CARD).write_text(json.dumps(card))
    assert not Run.at(old).typed_rows and Run.at(new).typed_rows
    assert "no typed rows in transcripts.jsonl" in write_report(old).read_text()
    notes = compare_folders([[old], [new]])["notes"]
    assert [note for note in notes if "typed rows" in note] == [
        f"no typed rows: old; {notes[-1].partition('; ')[2]}"
    ]
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    capsys.readouterr()
    assert main(played(nano_folder, old)) == 2
    told = capsys.readouterr().err
    assert (
        f"'{old}' holds a run of version 1, and episodes are now written in version 2" in told
        and told.count("\n") == 1
    )
    assert {path.name: path.read_bytes() for path in old.iterdir()} == before


def test_a_folder_of_a_newer_version_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="was made by a newer version of tripwright"):
        Run(tmp_path, {VERSION_ENTRY: VERSION + 1}).check_version()


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
