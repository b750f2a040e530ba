"""An evaluation that is killed, again and again, against an endpoint that counts: no answer is paid
for twice, no episode is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
CONCURRENCY = 3


def command(folder: Path, out: Path, url: str, *words: str) -> list[str]:
    files = [
        "--queries",
        str(folder / "queries.jsonl"),
        "--world",
        str(folder / "world"),
        "--out",
        str(out),
    ]
    endpoint = [
        "--policy",
        "endpoint",
        "--model",
        "m",
        "--base-url",
        url,
        "--retries",
        "0",
        "--concurrency",
        str(CONCURRENCY),
    ]
    return ["run", *files, *endpoint, "--price-in", "1", "--price-out", "2", *words]


def score_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "score.json").read_text())
    return {key: value for key, value in found.items() if key != "run_card"}


def start(words: list[str]) -> subprocess.Popen[bytes]:
    """Ctrl-C reaches it even where the tests themselves run in the background of a script, which
    makes their children ignore it."""
    program = [sys.executable, "-m", "tripwright", *words, "--quiet"]
    default = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(program, cwd=ROOT, stdout=subprocess.DEVNULL, preexec_fn=default)


def finished(out: Path) -> list[str]:
    path = out / "transcripts.jsonl"
    whole = path.read_bytes().rpartition(b"\n")[0] if path.exists() else b""
    return [json.loads(line)["request"]["query"] for line in whole.splitlines()]


@pytest.mark.parametrize("most_kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_at_random_moments_nothing_is_paid_for_twice_and_nothing_is_lost(
    nano_folder: Path, tmp_path: Path, paid_expert: Any, most_kills: int
) -> None:
    whole, killed, rng = tmp_path / "whole", tmp_path / "killed", random.Random(11)
    assert main(command(nano_folder, whole, paid_expert.url)) == 0
    distinct = paid_expert.asked.copy()
    assert set(distinct.values()) == {1}
    paid_expert.asked.clear()
    paid_expert.wait_s = 0.02
    kills, journalled = 0, 0
    for number in range(most_kills):
        over, already = finished(killed), paid_expert.asked.copy()
        child = start(command(nano_folder, killed, paid_expert.url))
        until = paid_expert.requests + rng.randint(1, 2 * distinct.total() // (most_kills + 1))
        while child.poll() is None and paid_expert.requests < until:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.03))
        child.send_signal(signal.SIGKILL)
        kills += child.wait() != 0
        # what is finished is not asked at all
        assert not {text for text, _ in paid_expert.asked - already} & set(over)
        journalled += (killed / "calls.jsonl").exists()
        if number == 1:  # what a kill may leave at the end of the journal
            with (killed / "calls.jsonl").open("ab") as journal:
                journal.write(b'{"episode": "q000001", "step": "0", "comp')
    assert main(command(nano_folder, killed, paid_expert.url)) == 0
    assert kills >= 2 and journalled
    assert not paid_expert.repeats  # no answer that had been used
    again = sum(count - 1 for count in paid_expert.asked.values())
    assert again <= kills * CONCURRENCY  # what was in flight at a kill, at most
    assert paid_expert.asked.keys() == distinct.keys()
    assert score_of(killed) == score_of(whole)  # the account of tokens and the cost included
    assert sorted(finished(killed)) == sorted(finished(whole))
    assert not (killed / "calls.jsonl").exists()


def test_a_polite_stop_waits_for_what_is_under_way(
    nano_folder: Path, tmp_path: Path, paid_expert: Any
) -> None:
    """Ctrl-C: then not even what was in flight is paid for twice."""
    paid_expert.wait_s = 0.2
    child = start(command(nano_folder, tmp_path / "run", paid_expert.url))
    while paid_expert.requests < 5 and child.poll() is None:
        time.sleep(0.002)
    os.kill(child.pid, signal.SIGINT)
    assert child.wait(60) == 130
    assert len((tmp_path / "run" / "calls.jsonl").read_bytes().splitlines()) == paid_expert.requests
    paid_expert.wait_s = 0.0
    assert main(command(nano_folder, tmp_path / "run", paid_expert.url)) == 0
    assert set(paid_expert.asked.values()) == {1} and score_of(tmp_path / "run")["n"] == 12


def test_a_wrong_key_in_the_middle_keeps_what_was_paid(
    nano_folder: Path, tmp_path: Path, paid_expert: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    expired = paid_expert.serve(
        lambda request: (
            paid_expert.answer(request) if paid_expert.requests < 10 else (401, b"{}", {})
        )
    )
    assert main(command(nano_folder, tmp_path / "run", expired)) == 2
    assert "OPENAI_API_KEY" in capsys.readouterr().err
    assert main(command(nano_folder, tmp_path / "run", paid_expert.url)) == 0
    assert set(paid_expert.asked.values()) == {1}
