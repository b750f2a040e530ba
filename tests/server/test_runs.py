"""Run folders in the browser."""

import os
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.server.small_desk import agency
from tripwright.cli.main import main
from tripwright.server import TripServer
from tripwright.server.trips import make_app


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The expert and a script on the same three requests, the expert on two others, and a training
    that has begun."""
    folder = tmp_path_factory.mktemp("runs")
    world = folder / "nano"
    assert main(["world", "build", "--out", str(world), "--scale", "nano", "--seed", "7"]) == 0
    for name, count in (("three", 3), ("two", 2)):
        made = f"--world {world} --count {count} --seed {count} --workers 1"
        assert main(["query", "make", *made.split(), "--out", f"{folder}/{name}.jsonl"]) == 0
    for policy, queries, out in (
        ("first-row", "three", "all/scripts/first"),
        ("expert", "three", "all/expert"),
        ("expert", "two", "all/other"),
    ):
        played = f"--policy {policy} --dialect compact --queries {folder}/{queries}.jsonl"
        placed = f"--world {world} --out {folder}/{out}"
        assert main(["run", *played.split(), *placed.split()]) == 0
    training = folder / "all" / "<b>training"
    training.mkdir()
    (folder / "all" / "begun").mkdir()
    (folder / "all" / "begun" / "metrics.jsonl").touch()
    line = '{"stage": "sft", "step": 1, "loss": 2.0, "seconds": 1.0}\n'
    (training / "metrics.jsonl").write_text(line)
    return folder / "all"


@pytest.fixture
def client(runs: Path, tmp_path: Path) -> TestClient:
    return TestClient(
        make_app(agency(), TripServer(state=tmp_path / "t.sqlite", runs=runs)), "http://127.0.0.1"
    )


def test_the_leaderboard_compares_only_what_was_examined_alike(client):
    board = client.get("/runs").text
    _, first, second = board.split("<h2>Final pass rate")
    assert first.index(">expert<") < first.index(">scripts/first<") and ">other<" not in first
    assert "100.0%" in first and "43.9–100.0%" in first and "3 of 3" in first
    assert ">other<" in second and "Not examined" in second
    assert "&lt;b&gt;training" in board and "<b>training" not in board


def test_a_run_is_its_report_and_several_are_one_page(client):
    one = client.get("/runs/report", params={"run": "expert"})
    assert "One that passes" in one.text
    # the page's own policy, in its head, names its scripts
    assert "script-src 'unsafe-inline'" in one.headers["content-security-policy"]
    assert "script-src 'sha256-" in one.text.replace("&#39;", "'")
    two = client.get("/runs/report", params={"run": ["expert", "scripts/first"]}).text
    assert "2 runs together" in two and 'id="comparison"' in two


def test_curves_are_sent_anew_only_when_the_run_has_grown(client, runs):
    name = {"run": "<b>training"}
    live = client.get("/runs/live", params=name)
    assert "now?" in live.text and "'sha256-" in live.headers["content-security-policy"]
    body = client.get("/runs/now", params=name)
    seen = {**name, "seen": body.headers["x-seen"]}
    assert "step 1" in body.text and client.get("/runs/now", params=seen).status_code == 204
    assert "<b>" not in body.text and "<script" not in body.text
    (runs / "pipe").mkdir()
    os.mkfifo(runs / "pipe" / "metrics.jsonl")
    both = client.get("/runs/now", params={"run": ["pipe", "<b>training"]})
    assert "no regular file" in both.text and "step 1" in both.text


@pytest.mark.parametrize("name", ["../three", "/etc", "nowhere", ""])
def test_only_runs_of_the_folder_are_shown(client, name):
    answer = client.get("/runs/report", params={"run": name})
    assert answer.status_code == 404 and "No run" in answer.json()["error"]["message"]


def test_runs_are_not_shown_behind_keys(runs, refused, monkeypatch):
    monkeypatch.setenv("TRIP_KEYS", "secret")
    assert "--key-env" in refused(f"serve --runs {runs} --key-env TRIP_KEYS")
