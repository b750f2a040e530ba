"""docs/serving.md: its trips' commands as written; and the container's, which is not built here:
what the Dockerfile and compose.yaml say is real, and their command serves."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.walk import Walk, shell_lines

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
TRIPS = PAGE.partition("## Trips\n")[2].partition("\n### The agent")[0]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
STEPS = re.findall(r"^([A-Z]+) (.*)$", DOCKERFILE, re.MULTILINE)
COMPOSE = (ROOT / "compose.yaml").read_text(encoding="utf-8")


def test_the_commands_of_trips_run_as_written(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    lines = shell_lines(TRIPS)
    printed = Walk(tmp_path, ["8000"]).printed(lines)
    world, trip, events, trips, schema, chat, _, verdict, _, solved = printed
    assert json.loads(trip)["status"] == "done" and json.loads(trip)["view"]["passed"]
    assert [*re.findall(r"^event: (\w+)", events, re.MULTILINE)][-1] == "done"
    assert json.loads(trips) == {"trips": [], "next": None}  # who sends no cookie has none
    assert "/v1/chat/completions" in json.loads(schema)["paths"]
    assert "reasoning_content" in chat and chat.endswith("data: [DONE]\n\n")
    assert json.loads(verdict)["final"] and json.loads(solved)["status"] == "feasible"


# ---- the container


def test_what_the_image_copies_is_there_and_all_that_the_package_needs():
    copied = [
        words.split()[:-1] for step, words in STEPS if step == "COPY" and "--from" not in words
    ]
    names = {name for words in copied for name in words}
    assert all((ROOT / name).exists() for name in names)
    let_in = (ROOT / ".dockerignore").read_text().splitlines()
    assert {line[1:] for line in let_in if line.startswith("!")} == names and let_in[0] == "*"
    built = (ROOT / "pyproject.toml").read_text()
    assert "hatch_build.py" in built and '"recipes" = "tripwright/recipes"' not in built
    built_from = {"README.md", "LICENSE", "pyproject.toml", "hatch_build.py"}
    assert built_from | {"tripwright", "recipes"} == names


def test_nobody_in_it_is_root():
    users = [words for step, words in STEPS if step == "USER"]
    assert users and users[-1].isdecimal() and int(users[-1]) > 0
    assert STEPS.index(("USER", users[-1])) < [step for step, _ in STEPS].index("ENTRYPOINT")
    for line in ("read_only: true", "cap_drop: [ALL]", "no-new-privileges:true", "/data"):
        assert line in COMPOSE


@pytest.mark.parametrize("origin", ["Dockerfile", "compose.yaml"])
def test_its_command_serves_and_its_health_check_asks(origin, tmp_path):
    """As nobody, where this is run as root; /data is a folder of its own."""
    step = dict(STEPS)
    said = re.search(r"command: \[(.*)\]", COMPOSE)[1].split(", ")
    words = json.loads(step["CMD"]) if origin == "Dockerfile" else said
    (entry,) = json.loads(step["ENTRYPOINT"])
    check = json.loads(step["HEALTHCHECK"].partition(" CMD ")[2])
    assert (entry, check[0]) == ("tripwright", "python")
    data = tmp_path / "data"
    data.mkdir(mode=0o777)
    data.chmod(0o777)
    walk = Walk(data, ["8000"])
    port = walk.ports["8000"]
    words = [word.replace("/data", str(data)) for word in words]
    as_nobody = {"user": 65534, "group": 65534} if reachable(tmp_path) else {}
    process = subprocess.Popen(
        [sys.executable, "-m", entry, *words, "--port", port],
        cwd=data,
        env={**walk.env, "TRIP_KEYS": "one,two", "HOME": "/nonexistent"},
        stderr=subprocess.DEVNULL,
        **as_nobody,
    )
    try:
        walk.reach(port)
        for _ in range(3):  # the first request waits for the worker
            asked = subprocess.run([sys.executable, *check[1:-1], walk.placed(check[-1])])
        assert asked.returncode == 0
        status = httpx2.get(f"http://127.0.0.1:{port}/v1/desk").status_code
        assert status == (200 if origin == "Dockerfile" else 401)
    finally:
        process.terminate()
        assert process.wait(20) == 0


def reachable(folder: Path) -> bool:
    """Whether nobody could read the interpreter and this folder, and whether we may become him."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        return False
    for parent in folder.parents:
        if str(parent).startswith("/tmp/pytest"):
            parent.chmod(0o755)
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    script = f"import os, tripwright.cli.main; os.listdir({str(folder)!r})"
    run = subprocess.run([*drop, sys.executable, "-c", script], capture_output=True)
    return run.returncode == 0
