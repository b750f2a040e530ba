"""`query make` and `query check` as typed: killed, summed up, and one line for every mistake."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.files import read_lines, write_lines
from tripwright.cli.main import main

MAKE = "--seed 2 --days 7 --levels 0:0:1"
COUNT = 60


def words(place: Path, out: Path, *options: str) -> list[str]:
    given = ["query", "make", "--world", str(place / "w"), "--out", str(out)]
    return [*given, *" ".join(options).split()]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a world and a file of requests made by one process."""
    folder = tmp_path_factory.mktemp("place")
    assert main(["world", "build", "--out", str(folder / "w"), "--seed", "7"]) == 0
    assert main(words(folder, folder / "q.jsonl", MAKE, f"--count {COUNT} --workers 1")) == 0
    return folder


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="finds the worker processes in /proc"
)
def test_its_processes_leave_with_the_one_that_is_killed(place, tmp_path):
    given = words(place, tmp_path / "q.jsonl", MAKE, "--count 5000 --workers 2")
    process = subprocess.Popen([sys.executable, "-m", "tripwright", *given])
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    until(lambda: len(children.read_text().split()) > 2)
    workers = children.read_text().split()
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: not any(os.path.exists(f"/proc/{worker}") for worker in workers))
    assert not list(tmp_path.iterdir())


def test_the_summary_says_what_was_made(place, tmp_path, typed):
    out = tmp_path / "q.jsonl"
    given = words(place, out, "--count 20 --days 3,5")
    summary, made = typed(given, "--json").record, read_lines(out)
    assert summary["queries"] == len(made) == 20
    assert sum(summary["levels"].values()) == sum(summary["days"].values()) == 20
    assert all(count > 0 for count in summary["rejected"].values())


def test_what_is_proved_impossible_is_made_and_checked(place, tmp_path, typed):
    assert main(words(place, tmp_path / "q", "--count 3 --keep infeasible")) == 0
    assert typed(f"query check {tmp_path}/q --world {place}/w").out.startswith(
        "0 of 3 queries can be met, 3 are proved impossible"
    )


def test_check_sums_up_by_kind(place, tmp_path, typed):
    given = read_lines(place / "q.jsonl")[:5]
    given[1]["budget"] = 10
    given[2]["oracle"]["cheapest_cost_usd"] += 1
    given[3] = given[0]
    path = write_lines(tmp_path / "q.jsonl", given)
    check = ["query", "check", str(path), "--world", str(place / "w"), "--workers", "1"]
    *lines, problems, summary = typed(check, "--json", code=1).records
    kinds = [[], ["infeasible", "wrong", "ambiguous"], ["wrong"], ["duplicate"], []]
    assert [line["kinds"] for line in lines] == kinds
    assert [line["ok"] for line in lines] == [not each for each in kinds]
    counts = {"infeasible": 1, "wrong": 2, "ambiguous": 1, "duplicate": 1}
    assert problems == {"kind": "problems", **counts}
    assert summary == {"kind": "summary", "queries": 5, "failed": 3}
    told = typed(check, code=1).out.splitlines()
    assert [line.split(":")[1] for line in told[:3]] == ["2", "3", "4"]
    assert told[3:] == [
        "2 of 5 queries can be met",
        "problems: 1 infeasible, 2 wrong, 1 ambiguous, 1 duplicate",
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--elements real", "'real' is not one of"),
        ("--keep all", "'all' is not one of"),
        ("--budget low", "'low' is not one of"),
        ("--budget official --slack 1:2", "--slack"),
        ("--keep infeasible --slack 1.05:1.3", "slack"),
        ("--slack 0.9:1.3", "slack"),
        ("--slack nan:nan", "--slack 'nan:nan'"),
        ("--days 4", "days 4 and levels 4:3:3"),
        ("--days 3,x", "--days '3,x'"),
        ("--levels 1:1", "--levels '1:1'"),
        ("--not-in {place}/none.jsonl", "No query file at"),
        ("--not-in {place}/w/manifest.json", "not JSON"),
        ("--workers 0", "--workers"),
        ("--out {place}", "--out names a file"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(place, refused, options, said):
    before = sorted(place.iterdir())
    error = refused(words(place, place / "new.jsonl", "--count 2", options.format(place=place)))
    assert said in error
    assert sorted(place.iterdir()) == before
