"""The life of a server: it says where it is, stops in order, and leaves nothing behind that hinders
the next one, however it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
httpx2 = pytest.importorskip("httpx2")

from tripwright.cli.main import main
from tripwright.errors import UserError
from tripwright.server.metrics import metrics_folder
from tripwright.server.supervisor import open_port

PATIENCE_SECONDS = 60
CLIENT = httpx2.Client(verify=False, timeout=PATIENCE_SECONDS, headers={"connection": "close"})


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def closed(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionError:
        return True
    return False


def children(pid: int) -> list[int]:
    listed = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(child) for child in listed.stdout.split()]


def calculated(url: str) -> Any:
    return CLIENT.post(f"{url}/tools/calculator", content=b'{"expression": "6 * 7"}').json()["text"]


def test_the_start_is_one_line_that_is_true(serve: Any) -> None:
    served = serve("--port", "0", "--workers", "2", "--face", "star")
    assert len(served.said) == 1
    assert (
        "world 'nano-7'" in served.said[0]
        and "2 workers" in served.said[0]
        and "star (default)" in served.said[0]
    )
    assert len(served.workers) == 2
    assert CLIENT.get(f"{served.url}/docs").status_code == 200
    assert CLIENT.get(f"{served.url}/tools").json()["face"] == "star"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_request_in_flight_is_answered_before_the_end(number: int, code: int, serve: Any) -> None:
    served = serve("--port", "0", "--workers", "2")
    body = b'{"expression": "6 * 7"}'
    head = b"POST /tools/calculator HTTP/1.1\r\nhost: here\r\ncontent-length: %d\r\n\r\n" % len(
        body
    )
    with socket.create_connection(
        ("127.0.0.1", served.port), timeout=PATIENCE_SECONDS
    ) as connection:
        connection.sendall(head + body[:5])
        assert calculated(served.url)  # so the other connection has been accepted too
        served.process.send_signal(number)
        until(lambda: closed(served.port))
        connection.sendall(body[5:])
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200 OK") and b"42" in answer
    assert served.process.wait(PATIENCE_SECONDS) == code
    assert len(served.said) == 1


def test_a_killed_worker_is_replaced_and_its_counts_stay(serve: Any) -> None:
    served = serve("--port", "0")
    assert "42" in calculated(served.url)
    (before,) = served.workers
    os.kill(before, signal.SIGKILL)
    until(lambda: len(served.said) > 1 and before not in served.workers)
    assert f"worker {before} was killed by signal 9" in served.said[1]
    assert "42" in calculated(served.url)  # the port was open all the time: the call waited
    page = CLIENT.get(f"{served.url}/metrics").text
    assert 'tripwright_tool_seconds_count{outcome="ok",tool="calculator"} 2.0' in page
    assert page.count("tripwright_worker_memory_bytes{") == 1 and str(before) not in page
    assert served.stop() == 0


def test_a_killed_server_does_not_hinder_the_next_start(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    first = serve("--port", "0", "--workers", "2")
    assert "42" in calculated(first.url)
    first.process.kill()
    first.process.wait()
    second = serve("--port", str(first.port), "--workers", "2")
    assert second.url == first.url
    assert "42" in calculated(second.url)
    assert (
        'tripwright_tool_seconds_count{outcome="ok",tool="calculator"} 1.0'
        in CLIENT.get(f"{second.url}/metrics").text
    )
    assert second.stop() == 0
    assert list(tmp_path.iterdir()) == []


def test_a_busy_port_is_one_line(
    server: Any, world_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "tools", "--world", str(world_folder), "--port", str(server.port)]) == 2
    said = capsys.readouterr().err
    assert f"Port {server.port} of 127.0.0.1 is already in use." in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--world", "nowhere"], "No world at 'nowhere'"),
        (["--face", "planer"], "Unknown face 'planer'"),
        (
            ["--host", "no.such.host.invalid"],
            "Host 'no.such.host.invalid' is no address of this machine",
        ),
        (["--port", "70000"], "Port 70000 does not exist"),
        (["--workers", "0"], "--workers"),
    ],
)
def test_a_wrong_option_is_one_line(
    options: list[str], said: str, world_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = options if "--world" in options else ["--world", str(world_folder), *options]
    assert main(["serve", "tools", *given]) == 2
    printed = capsys.readouterr().err
    assert said in printed and printed.count("\n") == 1


def test_a_missing_extra_is_named(
    world_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in list(sys.modules):
        if name.startswith(("tripwright.server", "tripwright.cli.serve")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", "tools", "--world", str(world_folder)]) == 2
    assert (
        capsys.readouterr().err
        == "tripwright: serving needs the 'web' extra: pip install 'tripwright[web]'\n"
    )


def test_a_port_is_free_again_at_once() -> None:
    with open_port("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(UserError, match="already in use"):
            open_port("127.0.0.1", port)
    open_port("127.0.0.1", port).close()


def test_folders_of_counts_are_swept_unless_they_are_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / "tripwright-metrics-left"
    left.mkdir()
    (left / "lock").touch()
    with metrics_folder() as first, metrics_folder() as second:
        assert not left.exists()
        assert first.is_dir() and second.is_dir() and first != second
    assert list(tmp_path.iterdir()) == []


def test_a_server_outlives_whoever_read_its_stderr(world_folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tripwright",
        "serve",
        "tools",
        "--world",
        str(world_folder),
        "--port",
        "0",
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        url = process.stderr.readline().split(" at ")[1].split()[0]
        process.stderr.close()  # as `2>&1 | head -1` does
        (before,) = children(process.pid)
        os.kill(before, signal.SIGKILL)
        until(lambda: process.poll() is not None or children(process.pid) not in ([], [before]))
        assert "42" in calculated(url)
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.wait()
