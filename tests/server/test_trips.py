"""The trip server's contract: what a traveller and a program see (docs/serving.md)."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient

from tests.server import small_desk
from tripwright.server import TripServer
from tripwright.server.trips import make_app

BASE = "http://127.0.0.1"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    app = make_app(small_desk.agency(), TripServer(state=tmp_path / "trips.sqlite"))
    with TestClient(app, BASE, raise_server_exceptions=False) as client:
        yield client


def events(text: str) -> list[tuple[int, str, Any]]:
    found = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "event" in fields:
            found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return found


def ask(client: TestClient, **more: Any) -> dict[str, Any]:
    answer = client.post("/v1/trips", json={"values": {"number": 0}, "wait": True, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_trip_is_planned_and_each_call_stands_with_its_answer(client):
    trip = ask(client)
    assert trip["status"] == "done" and trip["view"]["passed"] and "owner" not in trip
    assert [call["number"] for call in trip["calls"]] == list(range(1, len(trip["calls"]) + 1))
    assert all(call["answer"]["text"] for call in trip["calls"])


def test_events_come_from_the_start_or_after_one_that_was_seen(client):
    path = f"/v1/trips/{ask(client)['id']}/events"
    every = events(client.get(path).text)
    kinds = [kind for _, kind, _ in every]
    assert kinds[-1] == "done" and kinds.count("call") == kinds.count("answer") > 2
    seen = every[3][0]
    assert events(client.get(path, headers={"Last-Event-ID": str(seen)}).text) == every[4:]


def test_a_form_that_makes_no_request_says_what_is_wrong(client):
    answer = client.post("/v1/trips", json={"values": {"number": 99}})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (422, "bad_form")
    assert error["problems"][0]["field"] == "number"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nothing", None, 404),
        ("PUT", "/v1/trips", None, 405),
        ("POST", "/v1/read", {"text": "x" * 4_001}, 422),
        ("POST", "/v1/read", {"text": "x" * 70_000}, 413),
        ("POST", "/v1/trips", {"values": {"number": 0}, "planner": "nobody"}, 422),
    ],
)
def test_every_refusal_has_one_shape(client, method, path, body, status):
    answer = client.request(method, path, json=body)
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"code", "message", "problems"}
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_nobody_sees_or_deletes_anothers_trip(client):
    id = ask(client)["id"]
    client.cookies.clear()
    assert client.get(f"/v1/trips/{id}").status_code == 404
    assert client.delete(f"/v1/trips/{id}").status_code == 404
    assert client.get("/v1/trips").json()["trips"] == []


def test_a_deleted_trip_leaves_nothing(client, tmp_path):
    id = ask(client, text="a very particular wish")["id"]
    assert client.delete(f"/v1/trips/{id}").status_code == 204
    assert client.get(f"/v1/trips/{id}").status_code == 404


@pytest.mark.parametrize("values", ['{"number": NaN}', '{"number": "\\ud800"}', '{"\\udfff": 1}'])
def test_json_that_cannot_be_sent_back_is_refused(client, values):
    headers = {"Content-Type": "application/json"}
    answer = client.post("/v1/trips", content=f'{{"values": {values}}}', headers=headers)
    assert answer.status_code == 422


def test_metrics_count_requests_by_route_and_trips_by_their_end(client):
    ask(client)
    page = client.get("/metrics").text
    assert 'route="/v1/trips"' in page and 'tripwright_trips_total{status="done"}' in page


class Server:
    """A real uvicorn of its own, which a test may kill."""

    def __init__(self, state: Path):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._env = {**os.environ, "STATE": str(state), "SECONDS_A_CALL": "0.15"}
        self.client = httpx2.Client(base_url=f"{BASE}:{self.port}", timeout=60)

    def start(self) -> None:
        app = ["tests.server.small_desk:app", "--factory", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", *app],
            env=self._env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(300):
            try:
                assert self.client.get("/healthz").status_code == 200
                return
            except httpx2.TransportError:
                time.sleep(0.1)
        raise AssertionError("the server did not start")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "trips.sqlite")
    server.start()
    yield server
    server.process.kill()


def started(server: Server) -> str:
    id = server.client.post("/v1/trips", json={"values": {"number": 0}}).json()["id"]
    while not server.client.get(f"/v1/trips/{id}").json()["calls"]:
        time.sleep(0.05)
    return str(id)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_trip_goes_on_after_the_server_was_stopped(server, how):
    id = started(server)
    server.process.send_signal(how)
    server.process.wait(20)
    server.start()
    every = events(server.client.get(f"/v1/trips/{id}/events").text)
    trip = every[-1][2]
    assert trip["status"] == "done" and trip["view"]["passed"]
    # who looked on sees the calls begin anew after "running"
    again = max(n for n, (_, kind, body) in enumerate(every) if body == {"status": "running"})
    numbers = [body["number"] for _, kind, body in every[again:] if kind == "call"]
    assert numbers == list(range(1, len(trip["calls"]) + 1))


def test_a_trip_that_is_cancelled_asks_no_more(server):
    id = started(server)
    assert server.client.post(f"/v1/trips/{id}/cancel").json()["status"] == "cancelled"
    calls = len(server.client.get(f"/v1/trips/{id}").json()["calls"])
    time.sleep(0.5)
    assert len(server.client.get(f"/v1/trips/{id}").json()["calls"]) == calls


def test_the_documentation_asks_nobody_else(client):
    page = client.get("/docs")
    files = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(files) == 3 and all(client.get(file).status_code == 200 for file in files)
    assert "'self'" in page.headers["content-security-policy"] and "https://" not in page.text
