"""`tripwright watch`: one frame, a file that grows and is cut, the local page. The runs are made
up: test data, not measurements."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.cli.watch_follow import follow
from tripwright.cli.watch_serve import make_server
from tripwright.cli.watch_text import BLOCKS, frame, sparkline
from tripwright.errors import UserError
from tripwright.training.watched import duration, read, signature

HOSTILE = "<img src=x onerror=alert(1)>"


def row(step: int, **changed: Any) -> dict[str, Any]:
    figures = {
        "reward_mean": 1 + step / 50,
        "pass_rate": 0.2 + step / 200,
        "entropy": 0.4,
        "kept_groups": 0.6,
        "grad_norm": 0.3,
    }
    lengths = {
        "turns_mean": 6.0,
        "completion_tokens_mean": 180.0,
        "stop_reasons": {"answer": 0.97, "max_turns": 0.03},
    }
    speed = {"tokens_per_second": 1000.0, "peak_memory_mb": 900.0}
    return {
        "stage": "rl",
        "step": step,
        "seconds": 100 + 30.0 * step,
        **figures,
        **lengths,
        **speed,
        **changed,
    }


def write(folder: Path, rows: list[dict[str, Any]], recipe: dict[str, Any] | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8"
    )
    settings = recipe or {
        "sft": {"steps": 10},
        "grpo": {"curriculum": {}, "steps": 60, "max_minutes": None},
    }
    (folder / "recipe.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder


SFT = [
    {
        "stage": "sft",
        "step": step,
        "seconds": 10.0 * step,
        "loss": 2.0 / step,
        "tokens_per_second": 3000.0,
    }
    for step in range(1, 11)
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write(tmp_path / "a", [*SFT, *(row(step) for step in range(1, 31))])


def test_one_frame_tells_stage_time_left_figures_and_the_episodes_shape(run, capsys):
    assert main(["watch", str(run), "--once"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "stage rl step 30 of 60 (50%)" in text
    assert "left in this stage, about 15 min" in text  # 30 steps of 30 s
    for words in (
        "reward",
        "passes",
        "entropy",
        "groups that teach",
        "gradient norm",
        "tokens written",
        "tokens per second",
        "peak memory",
    ):
        assert words in text, words
    assert (
        "episodes of step 30: 6 turns; 180 tokens written; ended by answer 97%, max turns 3%"
        in text
    )
    assert "35.0% (20.5% to 35.0%)" in text and any(block in text for block in BLOCKS)
    assert "!" not in text and "\x1b" not in text


def test_warnings_are_shown_with_their_advice(tmp_path, capsys):
    rows = [
        row(step, stop_reasons={"answer": 0.6, "context_overflow": 0.4}) for step in range(1, 21)
    ]
    assert main(["watch", str(write(tmp_path / "b", rows)), "--once"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "! since step 1: 40.0% of episodes are stopped by length (context_tokens 40.0%). Episodes"
        " are cut off" in text
    )


def test_lines_fit_the_width_and_an_ascii_terminal_gets_ascii(run, tmp_path):
    long = write(tmp_path / "b", [row(step, clip_fraction=0.9) for step in range(1, 41)])
    watched = [read(run, "a"), read(long, "a/long/name")]
    for width in (40, 80, 200):
        assert max(map(len, frame(watched, width).splitlines())) <= width
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "tripwright", "watch", str(run), "--once"],
        capture_output=True,
        env=environment,
        check=True,
    )
    assert b"step 30 of 60" in done.stdout and done.stdout.isascii()


def test_sparklines_average_and_never_overflow():
    assert sparkline([], 10) == "" and sparkline([3.0, 3.0], 10) == BLOCKS[0] * 2
    assert sparkline([0.0, 1.0], 10) == BLOCKS[0] + BLOCKS[-1]
    assert len(sparkline(list(range(1000)), 60)) <= 60
    assert sparkline([0, 0, 8, 8, 0, 0], 3) == BLOCKS[0] + BLOCKS[-1] + BLOCKS[0]


def test_a_stage_that_ends_by_minutes_and_one_without_an_end(tmp_path):
    by_time = read(
        write(
            tmp_path / "a",
            [*SFT, row(1), row(11)],
            {"grpo": {"curriculum": {}, "steps": None, "max_minutes": 11}},
        ),
        "a",
    )
    assert by_time.share_done == pytest.approx(0.5) and by_time.seconds_left == pytest.approx(330)
    endless = read(
        write(tmp_path / "b", [row(1), row(2)], {"grpo": {"curriculum": {}, "steps": None}}), "b"
    )
    assert endless.share_done is None and endless.seconds_left is None
    (tmp_path / "b" / "recipe.json").unlink()
    assert "step 2" in frame([read(tmp_path / "b", "b")], 80)


@pytest.mark.parametrize("options", [["--once"], ["--json"], ["--serve"], []])
def test_a_folder_that_is_no_training_is_refused(tmp_path, capsys, options):
    (tmp_path / "manifest.json").write_text("{}")
    assert main(["watch", str(tmp_path), *options]) == 2
    problem = capsys.readouterr().err
    assert "is no training" in problem and "(found manifest.json)" in problem


def test_a_run_that_has_not_begun_is_no_error(tmp_path, capsys):
    write(tmp_path / "new", [])
    (tmp_path / "new" / "metrics.jsonl").unlink()
    assert main(["watch", str(tmp_path / "new"), "--once"]) == 0
    assert "no steps yet" in capsys.readouterr().out


def test_a_run_that_is_cut_by_a_resume_is_read_anew(run):
    before = signature(run)
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "metrics.jsonl").write_text(
        "".join(lines[:-10]) + '{"stage": "rl", "st', encoding="utf-8"
    )
    assert signature(run) != before
    assert read(run, "a").last["step"] == 20 and len(read(run, "a").stage_rows) == 20


def test_watching_a_finished_run_shows_it_once_and_ends(run, capsys):
    (run / "model" / "rl").mkdir(parents=True)
    assert main(["watch", str(run)]) == 0
    text = capsys.readouterr().out
    assert text.count("step 30 of 60") == 1 and "training finished" in " ".join(text.split())


class Page:
    """What the loop shows; changes the run between two looks, and finishes it in the end."""

    def __init__(self, run: Path, acts: list[Callable[[], Any]]):
        self.run, self.acts, self.shown = run, acts, list[str]()

    def show(self, text: str) -> None:
        self.shown.append(text)
        self.acts.pop(0)()


def test_watching_follows_growth_and_cuts_and_ends_with_the_training(run, monkeypatch):
    monkeypatch.setattr("tripwright.cli.watch_follow.LOOK_SECONDS", 0.0)
    page = Page(
        run,
        [
            lambda: write(run, [row(step) for step in range(1, 41)]),
            lambda: write(run, [row(step) for step in range(1, 36)]),
            lambda: (run / "model" / "rl").mkdir(parents=True),
            lambda: None,
        ],
    )
    follow([run], ["a"], page)
    steps = [re.findall(r"step (\d+) of 60", text)[0] for text in page.shown]
    assert steps == ["30", "40", "35", "35"] and "training finished" in page.shown[-1]


@contextmanager
def served(*folders: Path) -> Iterator[Callable[..., tuple[int, dict[str, str], str]]]:
    server = make_server(folders, [folder.name for folder in folders], 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    def get(path: str, host: str | None = None) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
        connection.request("GET", path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        found = answer.status, dict(answer.getheaders()), answer.read().decode()
        connection.close()
        return found

    try:
        yield get
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_browser_that_is_slow_to_ask_is_let_go(run, monkeypatch, capfd):
    server = make_server([run], ["a"], 0)
    monkeypatch.setattr(server, "request_seconds", 0.2)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        idle = [socket.create_connection(server.server_address, timeout=60) for _ in range(20)]
        for i, connection in enumerate(idle):
            connection.sendall((b"", b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n")[i % 2])
        for connection in idle:
            with suppress(ConnectionError):
                assert connection.recv(1) == b""
            connection.close()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert capfd.readouterr().err == ""


def test_the_page_is_drawn_anew_when_the_run_grows_and_only_then(run):
    with served(run) as get:
        status, headers, page = get("/")
        assert status == 200 and 'fetch("now?"' in page
        status, headers, body = get("/now")
        assert (
            status == 200
            and body.count("<svg") > 8
            and "step 30 of 60" in body
            and "Before RL" in body
        )
        assert get(f"/now?seen={headers['X-Seen']}")[0] == 204
        with (run / "metrics.jsonl").open("a", encoding="utf-8") as out:
            out.write(json.dumps(row(31)) + "\n")
        status, changed, body = get(f"/now?seen={headers['X-Seen']}")
        assert status == 200 and "step 31 of 60" in body and changed["X-Seen"] != headers["X-Seen"]
        assert get("/etc/passwd")[0] == 404


def test_several_runs_share_their_charts(run, tmp_path):
    other = write(tmp_path / "b", [row(step, pass_rate=0.1) for step in range(1, 21)])
    with served(run, other) as get:
        body = get("/now")[2]
    reward = body[body.index("Reward<") :]
    chart = reward[: reward.index("</svg>")]
    assert (
        "stroke: var(--c0)" in chart
        and "stroke: var(--c1)" in chart
        and ">a " in chart
        and ">b " in chart
    )


def test_the_page_asks_nobody_else_and_runs_only_its_own_script(tmp_path):
    hostile = row(1, stop_reasons={HOSTILE: 1.0}, constraints={HOSTILE: 0.5})
    run = write(tmp_path / "c", [hostile, {**hostile, "step": 2}])
    with served(run) as get:
        _, headers, page = get("/")
        body = get("/now")[2]
        assert get("/", host="evil.example:80")[0] == 403
    script = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in headers["Content-Security-Policy"]
    assert (
        "default-src 'none'" in headers["Content-Security-Policy"]
        and "connect-src 'self'" in headers["Content-Security-Policy"]
    )
    assert "<img" not in body and "onerror=alert(1)&gt;" in body and "<script" not in body
    assert set(re.findall(r"https?://[^\s\"'<]*", page + body)) <= {"http://www.w3.org/2000/svg"}


def test_bad_arguments_get_one_line(run, tmp_path, capsys):
    for arguments, words in (
        ([str(tmp_path / "nowhere"), "--once"], "No run folder at"),
        ([str(run), str(run), "--once"], "given twice"),
        ([str(run), "--once", "--serve"], "goes with neither"),
        (
            [str(run)] + [str(write(tmp_path / f"r{i}", [])) for i in range(8)],
            "9 runs in one chart",
        ),
    ):
        assert main(["watch", *arguments]) == 2
        said = capsys.readouterr()
        assert said.out == "" and said.err.count("\n") == 1 and words in said.err


def test_a_port_that_is_taken_is_said(run):
    taken = make_server([run], ["a"], 0)
    try:
        with pytest.raises(
            UserError, match=r"Cannot listen on 127.0.0.1:\d+ .*Choose another --port"
        ):
            make_server([run], ["a"], taken.server_port)
    finally:
        taken.server_close()


def test_durations():
    assert [duration(seconds) for seconds in (0, 45, 600, 3 * 3600 + 290)] == [
        "0 s",
        "45 s",
        "10 min",
        "3 h 05 min",
    ]


def test_an_evaluation_under_way_is_said(
    tmp_path: Path, trip_line: Callable[..., Any], lines_to: Callable[..., Path]
) -> None:
    folder = write(tmp_path, [row(step) for step in range(1, 21)])
    before = signature(folder)
    place = folder / "eval" / "validation-step-20"
    lines_to(place / "transcripts.jsonl", [trip_line("a"), trip_line("b"), trip_line("a")])
    (place / "run_card.json").write_text(json.dumps({"queries": {"count": 64}}))
    assert signature(folder) != before
    assert read(folder, "r").record()["evaluation"] == "after step 20: 2 of 64 requests"
    assert "under way evaluation after step 20: 2 of 64" in frame([read(folder, "r")], 200)
    (place / "score.json").write_text("{}")
    assert read(folder, "r").evaluation is None
    (folder / "metrics.jsonl").unlink()
    (place / "score.json").unlink()
    assert "evaluation after step 20" in frame([read(folder, "r")], 200)
