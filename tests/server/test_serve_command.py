"""The life of a server: it says where it is, stops in order, and leaves nothing behind that hinders
the next one, however it ends."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("starlette")
httpx2 = pytest.importorskip("httpx2")

from tests.server.conftest import Served

PATIENCE_SECONDS = 60
HEADERS = {"connection": "close", "content-type": "application/json"}
CLIENT = httpx2.Client(verify=False, timeout=PATIENCE_SECONDS, headers=HEADERS)


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


def calculated(url: str) -> Any:
    return CLIENT.post(f"{url}/tools/calculator", content=b'{"expression": "6 * 7"}').json()["text"]


def test_the_start_is_one_line_that_is_true(server):
    (said,) = server.said
    assert "world 'nano-7'" in said and "2 workers" in said and "(default)" in said
    until(lambda: len(server.workers) == 2)


def test_a_stop_answers_what_was_sent_and_waits_for_nobody_idle(served_tools):
    """And what is no HTTP leaves no traceback."""
    served = served_tools("--port", "0", "--face", "compact")
    assert CLIENT.get(f"{served.url}/tools").json()["face"] == "compact"
    address = ("127.0.0.1", served.port)
    with socket.create_connection(address, timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(b"\x00\x01\x02\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 400 Bad Request")
    head = b"POST /tools/calculator HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n"
    head += b"content-type: application/json\r\n\r\n"
    with socket.create_connection(address, timeout=PATIENCE_SECONDS) as leaving:
        leaving.sendall(head % 9 + b"{")
    asked = {"connection": "Upgrade", "upgrade": "websocket"}
    assert CLIENT.get(f"{served.url}/health", headers=asked).json() == {"status": "ok"}
    body = b'{"expression": "6 * 7"}'
    with (
        socket.create_connection(address, timeout=PATIENCE_SECONDS) as asking,
        socket.create_connection(address, timeout=PATIENCE_SECONDS) as idle,
    ):
        asking.sendall(head % len(body) + body[:5])
        assert "42" in calculated(served.url)  # so the other connections have been accepted too
        served.process.send_signal(signal.SIGTERM)
        assert idle.recv(1) == b""
        asking.sendall(body[5:])
        answer = b"".join(iter(lambda: asking.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200 OK") and b"42" in answer
    assert served.process.wait(PATIENCE_SECONDS) == 0
    assert "Traceback" not in "\n".join(served.said)


def test_ctrl_c_while_workers_start_is_quiet(served_tools):
    served = served_tools("--port", "0", "--workers", "2")
    until(lambda: len(served.workers) == 2)
    os.killpg(served.process.pid, signal.SIGINT)
    assert served.process.wait(PATIENCE_SECONDS) == 0
    assert len(served.said) == 1


def test_a_killed_server_does_not_hinder_the_next_start(served_tools):
    first = served_tools("--port", "0")
    assert "42" in calculated(first.url)
    first.process.kill()
    until(lambda: closed(first.port))
    second = served_tools("--port", str(first.port))
    assert second.url == first.url
    assert "42" in calculated(second.url)
    assert CLIENT.get(second.url, headers={"host": "evil.example"}).status_code == 403
    page = CLIENT.get(f"{second.url}/metrics").text
    assert 'tripwright_tool_seconds_count{outcome="ok",tool="calculator"} 1.0' in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--world", "nowhere"], "No world at 'nowhere'"),
        (["--face", "planer"], "Unknown face 'planer'"),
        (["--host", "no.such.host.invalid"], "Host 'no.such.host.invalid' is no address of this"),
        (["--port", "70000"], "Port 70000 does not exist"),
        (["--workers", "0"], "--workers"),
    ],
)
def test_a_wrong_option_is_one_line(options, said, world_folder, refused):
    given = options if "--world" in options else ["--world", str(world_folder), *options]
    printed = refused("serve tools", given)
    assert said in printed


def test_a_killed_worker_is_replaced_though_nobody_reads_stderr(world_folder):
    words = ["serve", "tools", "--world", str(world_folder), "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tripwright", *words], stderr=subprocess.PIPE, text=True
    )
    served = Served(process)
    try:
        url = process.stderr.readline().split(" at ")[1].split()[0]
        process.stderr.close()  # as `2>&1 | head -1` does
        assert "42" in calculated(url)
        (before,) = served.workers
        os.kill(before, signal.SIGKILL)
        until(lambda: process.poll() is not None or served.workers not in ([], [before]))
        assert "42" in calculated(url)  # the port was open all the time: the call waited
        page = CLIENT.get(f"{url}/metrics").text
        assert 'tripwright_tool_seconds_count{outcome="ok",tool="calculator"} 2.0' in page
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.kill()
        process.wait()
