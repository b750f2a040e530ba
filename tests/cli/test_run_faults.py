"""`run --faults`: said in the score, on the card and on the screen; never mixed with clean
episodes; the same after a restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.world.generator import build_world


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    world = build_world(folder / "world", "nano", 2)
    queries = list(make_queries(world, 12, 1))
    (folder / "queries.jsonl").write_text(
        "".join(json.dumps(query.record()) + "\n" for query in queries)
    )
    return folder


def run(folder: Path, out: Path, *words: str) -> int:
    policy = ["--policy", "expert"] if "--policy" not in words else []
    return main(
        [
            "run",
            *policy,
            "--queries",
            str(folder / "queries.jsonl"),
            "--world",
            str(folder / "world"),
            "--out",
            str(out),
            *words,
        ]
    )


def score(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "score.json").read_text())
    return found


def calls(out: Path) -> dict[str, list[str | None]]:
    lines = [json.loads(line) for line in (out / "transcripts.jsonl").read_text().splitlines()]
    return {
        line["id"]: [s["call"]["fault"] for s in line["transcript"]["segments"] if s["call"]]
        for line in lines
    }


def test_a_run_with_faults_says_so_everywhere(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, tmp_path / "a", "--faults", "0.2", "--faults-seed", "3") == 0
    met = [fault for faults in calls(tmp_path / "a").values() for fault in faults]
    hit = sum(fault is not None for fault in met)
    assert hit > 5
    found = score(tmp_path / "a")
    assert found["faults"]["settings"] == found["run_card"]["faults"]
    assert (found["faults"]["settings"]["probability"], found["faults"]["settings"]["seed"]) == (
        0.2,
        3,
    )
    assert {key: found["faults"][key] for key in ("calls", "hit", "kinds")} == {
        "calls": len(met), "hit": hit, "kinds": {"unavailable": hit},
    }  # fmt: skip
    assert f"faults: {hit} of {len(met)} tool calls were made to fail" in capsys.readouterr().out


def test_without_them_nothing_is_said(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, tmp_path / "a") == 0
    assert (
        "faults" not in score(tmp_path / "a") and "faults" not in score(tmp_path / "a")["run_card"]
    )
    assert "faults" not in capsys.readouterr().out
    assert all(fault is None for faults in calls(tmp_path / "a").values() for fault in faults)


def test_a_run_in_two_parts_meets_the_faults_of_one(folder: Path, tmp_path: Path) -> None:
    assert run(folder, tmp_path / "whole", "--faults", "0.2") == 0
    assert run(folder, tmp_path / "parts", "--faults", "0.2", "--count", "5") == 0
    assert run(folder, tmp_path / "parts", "--faults", "0.2") == 0
    assert calls(tmp_path / "parts") == calls(tmp_path / "whole")
    assert score(tmp_path / "parts")["faults"] == score(tmp_path / "whole")["faults"]
    assert run(folder, tmp_path / "other", "--faults", "0.2", "--faults-seed", "1") == 0
    assert calls(tmp_path / "other") != calls(tmp_path / "whole")


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ([], ["--faults", "0.1"], "tools with no faults there and with {"),
        (["--faults", "0.1"], [], "} there and with no faults here"),
        (
            ["--faults", "0.1"],
            ["--faults", "0.1", "--faults-seed", "1"],
            '"seed": 0} there and with {',
        ),
    ],
)
def test_clean_and_faulty_episodes_are_never_in_one_folder(
    folder: Path,
    tmp_path: Path,
    first: list[str],
    second: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(folder, tmp_path / "a", "--count", "2", *first) == 0
    before = (tmp_path / "a" / "transcripts.jsonl").read_bytes()
    capsys.readouterr()
    assert run(folder, tmp_path / "a", *second) == 2
    error = capsys.readouterr().err
    assert said in error and "Choose a new folder for --out." in error and error.count("\n") == 1
    assert (tmp_path / "a" / "transcripts.jsonl").read_bytes() == before


def test_a_share_above_1_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, tmp_path / "a", "--faults", "1.5") == 2
    assert "--faults" in capsys.readouterr().err and not (tmp_path / "a").exists()


def test_the_star_dialect_runs_and_its_answers_in_words_are_judged(
    folder: Path, tmp_path: Path
) -> None:
    assert run(folder, tmp_path / "a", "--dialect", "star", "--rules", "star") == 0
    assert score(tmp_path / "a")["metrics"]["final"]["k"] == 12
    assert score(tmp_path / "a")["run_card"]["dialect"]["face"] == "star"


def test_a_policy_without_a_mind_reads_rows_whatever_the_face_writes(
    folder: Path, tmp_path: Path
) -> None:
    for dialect in ("star", "compact"):
        words = ("--dialect", dialect, "--policy", "first-row", "--rules", "official")
        assert run(folder, tmp_path / dialect, *words) == 0
    assert (
        score(tmp_path / "star")["metrics"]["final"]
        == score(tmp_path / "compact")["metrics"]["final"]
    )
