"""`query make` and `query check` as typed: resumed after a kill, summed up, drawn, and one line for
every mistake."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tripwright.cli.main import main

MAKE = ["--count", "120", "--seed", "2", "--days", "7", "--levels", "0:0:1"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a world and a file of 120 requests made by one process without a stop."""
    folder = tmp_path_factory.mktemp("place")
    assert main(["world", "build", "--out", str(folder / "w"), "--seed", "7"]) == 0
    assert (
        main(
            [
                "query",
                "make",
                "--world",
                str(folder / "w"),
                "--out",
                str(folder / "q.jsonl"),
                *MAKE,
                "--workers",
                "1",
            ]
        )
        == 0
    )
    return folder


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def until(condition, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="finds the worker processes in /proc"
)
def test_killed_and_run_again_it_writes_the_same_bytes(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "q.jsonl"
    journal = tmp_path / "q.jsonl.journal"
    words = ["query", "make", "--world", str(place / "w"), "--out", str(out), *MAKE]
    process = subprocess.Popen(
        [sys.executable, "-m", "tripwright", *words, "--workers", "2"], stdout=subprocess.DEVNULL
    )
    until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 5)
    workers = children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL and not out.exists() and len(workers) >= 2
    until(lambda: not any(os.path.exists(f"/proc/{worker}") for worker in workers))
    assert main([*words, "--workers", "1", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["resumed"] > 4 and summary["queries"] == 120
    assert out.read_bytes() == (place / "q.jsonl").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["q.jsonl"]


def test_the_summary_says_what_was_made(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plot = tmp_path / "q.jsonl", tmp_path / "q.svg"
    words = [
        "query",
        "make",
        "--world",
        str(place / "w"),
        "--out",
        str(out),
        "--count",
        "20",
        "--days",
        "3,5",
        "--plot",
        str(plot),
    ]
    assert main([*words, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert summary["queries"] == len(records) == 20 and summary["files"] == {str(out): 20}
    assert sum(summary["levels"].values()) == sum(summary["days"].values()) == 20
    assert summary["per_second"] > 0 and all(count > 0 for count in summary["rejected"].values())
    hard = [record["budget"] for record in records if record["level"] == "hard"]
    assert (summary["budget_usd"]["hard"]["low"], summary["budget_usd"]["hard"]["high"]) == (
        min(hard),
        max(hard),
    )
    assert summary["slack"]["low"] == min(record["oracle"]["slack"] for record in records)
    assert main([*words, "--restart"]) == 0
    told = capsys.readouterr().out
    assert "20 queries (" in told and f"hard budgets: ${min(hard):,} to ${max(hard):,}" in told
    assert all(f"{count} {reason}" in told for reason, count in summary["rejected"].items())


def test_the_plot_counts_every_request_in_each_panel(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "q.svg"
    words = [
        "query",
        "make",
        "--world",
        str(place / "w"),
        "--out",
        str(tmp_path / "q"),
        "--count",
        "30",
        "--plot",
        str(plot),
    ]
    assert main([*words, "--levels", "1:1:1"]) == 0
    names = {"svg": "http://www.w3.org/2000/svg"}
    drawn = ElementTree.fromstring(plot.read_text())
    assert [title.text for title in drawn.findall("svg:text", names)] == [
        "Levels",
        "Budgets by level",
        "Slack by level",
    ]
    levels = [text.text for text in drawn.find("svg:svg", names).iter(f"{{{names['svg']}}}text")]
    assert sum(map(int, levels[-3:])) == 30  # above the bars
    # A file whose requests have no plan at any price is drawn as well.
    words = [
        "query",
        "make",
        "--world",
        str(place / "w"),
        "--out",
        str(tmp_path / "i"),
        "--count",
        "3",
        "--keep",
        "infeasible",
    ]
    assert main([*words, "--plot", str(plot)]) == 2
    assert f"'{plot}' is there already" in capsys.readouterr().err
    plot = tmp_path / "i.svg"
    assert main([*words, "--plot", str(plot)]) == 0
    assert len(ElementTree.fromstring(plot.read_text()).findall("svg:svg", names)) == 3
    capsys.readouterr()
    assert main(["query", "check", str(tmp_path / "i"), "--world", str(place / "w")]) == 0
    assert (
        capsys.readouterr().out
        == "0 of 3 queries can be met, 3 are proved impossible, as they say\n"
    )


def test_splits_are_files_in_a_folder_and_leave_out_what_is_given(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["query", "make", "--world", str(place / "w"), "--out", str(tmp_path / "q"), *MAKE]
    words += [
        "--count",
        "12",
        "--splits",
        "train:3,test:1",
        "--not-in",
        str(place / "q.jsonl"),
        "--json",
    ]
    assert main(words) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["files"] == {
        str(tmp_path / "q" / "train.jsonl"): 9,
        str(tmp_path / "q" / "test.jsonl"): 3,
    }
    assert summary["rejected"]["excluded"] >= 12
    both = tmp_path / "both.jsonl"
    both.write_text(
        "".join(path.read_text() for path in (place / "q.jsonl", *(tmp_path / "q").iterdir()))
    )
    assert main(["query", "check", str(both), "--world", str(place / "w"), "--workers", "1"]) == 0
    assert capsys.readouterr().out == "132 of 132 queries can be met\n"


def test_official_elements_bring_the_official_days_and_levels(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "q.jsonl"
    words = [
        "query",
        "make",
        "--world",
        str(place / "w"),
        "--out",
        str(out),
        "--count",
        "24",
        "--elements",
        "official",
        "--workers",
        "1",
    ]
    assert main(words) == 0
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert {record["days"] for record in records} == {3, 5, 7}
    assert {len(record["local_constraint"]["cuisine"] or ()) for record in records} <= {0, 2, 4}
    assert main([*words, "--days", "5", "--levels", "1:0:0", "--restart"]) == 0
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert {(record["days"], record["level"]) for record in records} == {(5, "easy")}


def test_check_sums_up_by_kind(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [json.loads(line) for line in (place / "q.jsonl").read_text().splitlines()[:5]]
    records[1]["budget"] = 10
    records[2]["oracle"]["cheapest_cost_usd"] += 1
    records[3] = records[0]
    path = tmp_path / "q.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert main(["query", "check", str(path), "--world", str(place / "w"), "--json"]) == 1
    *lines, problems, summary = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["kinds"] for line in lines] == [
        [],
        ["infeasible", "wrong", "ambiguous"],
        ["wrong"],
        ["duplicate"],
        [],
    ]
    assert [line["ok"] for line in lines] == [True, False, False, False, True]
    assert problems == {
        "kind": "problems",
        "infeasible": 1,
        "wrong": 2,
        "ambiguous": 1,
        "duplicate": 1,
    }
    assert summary == {"kind": "summary", "queries": 5, "failed": 3}
    assert main(["query", "check", str(path), "--world", str(place / "w"), "--workers", "2"]) == 1
    told = capsys.readouterr().out.splitlines()
    assert [line.split(":")[1] for line in told[:3]] == ["2", "3", "4"]
    assert told[3:] == [
        "2 of 5 queries can be met",
        "problems: 1 infeasible, 2 wrong, 1 ambiguous, 1 duplicate",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--elements real", "--elements 'real' is none of default, official, uniform."),
        ("--keep all", "--keep 'all' is none of feasible, infeasible."),
        ("--over price", "--over 'price' is none of comfortable, cheapest."),
        ("--budget low", "--budget 'low' is none of slack, official."),
        ("--budget official --slack 1:2", "--slack has no meaning with --budget official"),
        ("--keep infeasible --over cheapest", "--over has no meaning with --keep infeasible"),
        ("--keep infeasible --slack 1.05:1.3", "stays above 0 and below 1"),
        ("--slack 0.9:1.3", "it starts at 1 or above"),
        ("--slack nan:nan", "--slack 'nan:nan' is not a range"),
        ("--days 4", "--days '4' is not a list such as 3,5,7"),
        ("--levels 1:1", "are not three weights"),
        ("--splits train", "--splits 'train' is not a list such as"),
        ("--not-in {place}/none.jsonl", "No query file at"),
        ("--not-in {place}/w/manifest.json", "not JSON"),
        ("--plot {place}/none/x.svg", "--plot"),
        ("--plot {place}", "--plot"),
        ("--workers 0", "--workers"),
        (
            "--splits a:1,b:1 --out {place}/q.jsonl",
            "is a file. With --splits, --out names a folder.",
        ),
        ("--out {place}", "is a folder: --out names a file."),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(
    place: Path, capsys: pytest.CaptureFixture[str], words: str, said: str
) -> None:
    before = sorted(place.iterdir())
    given = words.format(place=place).split()
    out = [] if "--out" in given else ["--out", str(place / "new.jsonl")]
    assert main(["query", "make", "--world", str(place / "w"), "--count", "2", *out, *given]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert sorted(place.iterdir()) == before


def test_an_interrupted_file_is_not_mixed_with_other_settings(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.jsonl.journal").write_text('{"seed": 1}\n')
    words = [
        "query",
        "make",
        "--world",
        str(place / "w"),
        "--out",
        str(tmp_path / "q.jsonl"),
        "--count",
        "2",
    ]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "--restart" in error and error.count("\n") == 1
    assert main([*words, "--restart"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["q.jsonl"]


def test_splits_never_lie_beside_those_of_another_division(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "query",
        "make",
        "--world",
        str(place / "w"),
        "--count",
        "10",
        "--workers",
        "1",
        "--out",
        str(tmp_path / "parts"),
    ]
    assert main([*words, "--splits", "train:0.8,test:0.2"]) == 0
    made = {path.name: path.read_bytes() for path in (tmp_path / "parts").iterdir()}
    capsys.readouterr()
    assert main([*words, "--splits", "train:0.5,other:0.5", "--restart"]) == 2
    assert "another division (test.jsonl)" in capsys.readouterr().err
    assert (
        main(
            [
                "data",
                "split",
                str(tmp_path / "parts" / "train.jsonl"),
                "--parts",
                "a:2,b:3",
                "--out",
                str(tmp_path / "parts"),
            ]
        )
        == 2
    )
    assert "another division (test.jsonl)" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in (tmp_path / "parts").iterdir()} == made
