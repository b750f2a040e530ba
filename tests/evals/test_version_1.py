"""Folders of version 1: two real runs of before there were domains, cut to five messages of an
episode and 120 characters of a text. Each has an episode that passes or fails, one without an
answer or with a shut gate, and one that is unscored."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tripwright.cli.main import main
from tripwright.errors import UserError
from tripwright.evals.outcome import Outcome
from tripwright.evals.report import write_report
from tripwright.evals.scoreboard import score_records
from tripwright.evals.version_1 import older_records
from tripwright.runs import Run, episodes
from tripwright.verdict import Verdict

FOLDERS = Path(__file__).parent / "older"
RENAMED = {"trajectory": "commonsense", "turns": "hard"}  # what DeepTravel's groups were called


@pytest.fixture(params=["travelplanner", "deeptravel"])
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDERS / request.param, tmp_path / request.param))


def test_its_figures_are_what_they_were(older: Path) -> None:
    path, known = older / "transcripts.jsonl", json.loads((older / "score.json").read_text())
    score = score_records(episodes(path, older_records(path)), known["rules"], {})
    names = {
        f"{ours}_{kind}": f"{theirs}_{kind}"
        for ours, theirs in RENAMED.items()
        for kind in ("micro", "macro")
    }
    assert {names.get(name, name): found for name, found in score["metrics"].items()} == known[
        "metrics"
    ]
    assert (score["n"], score["unscored"]) == (known["n"], known["unscored"]) == (2, 1)


def test_every_verdict_is_read_as_one_of_today(older: Path) -> None:
    path = older / "transcripts.jsonl"
    for record in episodes(path, older_records(path)):
        assert record["domain"] == older.name and record["request"]["query"]
        groups = (
            record["asked"]
            if record["verdict"] is None
            else [group.name for group in Verdict.from_record(record["verdict"]).groups]
        )
        assert (
            list(groups)[0] == "format"
            and len(groups) == 3
            and all(Outcome.of(record).group(name).asked for name in groups)
        )


def test_it_is_reported_and_said_to_hold_no_typed_rows(older: Path) -> None:
    page = write_report(older).read_text(encoding="utf-8")
    assert "no typed rows in transcripts.jsonl" in page and "unreadable line" not in page
    assert '"verdict":[0,0,-1]' in page or '"verdict":[1,0,-1]' in page


def test_it_is_compared(older: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = Path(shutil.copytree(older, tmp_path / "again"))
    assert main(["compare", str(older), str(again), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["queries"] == 2 and any(
        f"no typed rows: {older.name}, again" in note for note in found["notes"]
    )


def test_nobody_else_reads_it_and_no_run_goes_on_with_it(older: Path) -> None:
    with pytest.raises(
        UserError,
        match="transcripts.jsonl:1: an episode of an older version: 'report' and 'compare' read it",
    ):
        next(episodes(older / "transcripts.jsonl"))
    with pytest.raises(UserError, match="'run' cannot go on with it"):
        Run.at(older).check_version()


def test_what_no_domain_knows_is_one_line(tmp_path: Path) -> None:
    (path := tmp_path / "transcripts.jsonl").write_text(
        '{"id": "x", "transcript": {}, "verdict": null}\n'
    )
    with pytest.raises(UserError, match="'x' is of an older version and of no domain of today's"):
        next(episodes(path, older_records(path)))
