"""A real server in its own processes, on a free port."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from tripwright.cli.main import main
from tripwright.world.store import World

START_SECONDS = 60


@dataclass
class Served:
    """A running `tripwright serve`, and what it has said on stderr."""

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)
    url: str = ""

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    @property
    def workers(self) -> list[int]:
        listed = subprocess.run(
            ["pgrep", "-P", str(self.process.pid), "-f", "spawn_main"],
            capture_output=True,
            text=True,
            check=False,
        )
        return [int(pid) for pid in listed.stdout.split()]

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=START_SECONDS)


@contextmanager
def serving(*options: str, verb: str = "serve") -> Iterator[Served]:
    command = [sys.executable, "-m", "tripwright", verb, *options]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        start_new_session=True,  # so that a test can press Ctrl-C for the whole group
        # which a child of a script's background job would ignore
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    served, spoken = Served(process), threading.Event()

    def listen() -> None:
        for line in process.stderr:
            served.said.append(line.rstrip("\n"))
            spoken.set()
        spoken.set()

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        assert spoken.wait(START_SECONDS)
        assert served.said, "the server said nothing"
        if found := re.search(r" at (http://\S+:\d+)", served.said[0]):
            served.url = found.group(1)
        yield served
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        # the workers of a killed server let go of stderr when they have noticed
        listener.join(START_SECONDS)
        assert not listener.is_alive(), "workers outlived their server"


@pytest.fixture(scope="session")
def world_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "nano"
    assert main(["world", "build", "--out", str(folder), "--scale", "nano", "--seed", "7"]) == 0
    return folder


@pytest.fixture(scope="session")
def world(world_folder: Path) -> World:
    return World.open(world_folder)


@pytest.fixture(scope="session")
def server(world_folder: Path) -> Iterator[Served]:
    """For tests that leave it as it is: two workers, and a cache small enough to overflow."""
    options = ("--port", "0", "--workers", "2")
    with serving("tools", "--world", str(world_folder), *options) as served:
        yield served


@pytest.fixture
def served_tools(world_folder: Path) -> Iterator[Callable[..., Served]]:
    """served_tools(*options) → a server of this test's own."""
    with ExitStack() as stack:
        world = ("--world", str(world_folder))
        yield lambda *options: stack.enter_context(serving("tools", *world, *options))


@pytest.fixture
def serve_live() -> Iterator[Callable[..., Served]]:
    """serve_live(*options) → a server of live tools of this test's own."""
    with ExitStack() as stack:
        yield lambda *options: stack.enter_context(serving("tools", *options))
