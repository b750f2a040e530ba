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
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient
from openapi_spec_validator import validate

from tests.server import small_desk
from tripwright.domains.desk import Understood
from tripwright.llm.client import ChatEndpoint
from tripwright.server import TripServer
from tripwright.server.agency import Planner
from tripwright.server.guard import guarded
from tripwright.server.trips import OpenDesk, Trip, TripPage, make_app

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


def test_what_is_no_item_of_a_plan_cannot_be_swapped(client):
    path = f"/v1/trips/{ask(client)['id']}/swaps"
    assert client.get(path, params={"part": "day1", "item": "dinner 0"}).status_code == 404
    wanted = {"part": "day1", "item": "dinner 0", "swap": 0}
    assert client.post(path, json=wanted).status_code == 404
    assert client.post(path, json=wanted | {"swap": "first"}).status_code == 422


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


# ---- what those who run it rely on


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    found = capsys.readouterr().err.splitlines()
    return [json.loads(line) for line in found if line.startswith("{")]


def opened(tmp_path: Path, agency: Any = None, **settings: Any) -> TestClient:
    served = TripServer(state=tmp_path / "own.sqlite", **settings)
    return TestClient(make_app(agency or small_desk.agency(), served), "http://127.0.0.1")


def planner(play: Any, **more: Any) -> Any:
    """The small desk with one planner, whose sessions `play` plays."""
    policy = SimpleNamespace(name="own", play=lambda sessions: map(play, sessions))
    dialect = small_desk.DOMAIN.dialects[0]
    planners = {"expert": Planner("Own", lambda: policy, dialect, **more)}
    return replace(small_desk.agency(), planners=planners)


def test_words_alone_are_a_trip_or_what_is_missing_is_asked(tmp_path, monkeypatch):
    with opened(tmp_path) as client:
        refused = client.post("/v1/trips", json={"text": "hello"})
        assert refused.status_code == 422
        assert refused.json()["error"]["problems"][0]["field"] == "number"
        assert client.post("/v1/trips", json={}).status_code == 422
    read = lambda text, place: Understood({"number": 1}, (), {})  # noqa: E731
    understanding = replace(small_desk.agency(), desk=replace(small_desk.DESK, read=read))
    with opened(tmp_path, understanding) as client:
        trip = client.post("/v1/trips", json={"text": "one", "wait": True}).json()
    assert (trip["status"], trip["values"], trip["text"]) == ("done", {"number": 1}, "one")


def test_what_is_answered_is_as_the_documentation_says(tmp_path):
    with opened(tmp_path) as client:
        trip = client.post("/v1/trips", json={"values": {"number": 1}, "wait": True}).json()
        Trip.model_validate(trip)
        TripPage.model_validate(client.get("/v1/trips").json())
        OpenDesk.model_validate(client.get("/v1/desk").json())
        schema = client.get("/openapi.json").json()
        assert {"200", "202"} <= schema["paths"]["/v1/trips"]["post"]["responses"].keys()
        assert "securitySchemes" not in schema["components"]
    validate(schema)


def test_the_documentation_names_the_key(tmp_path, monkeypatch):
    monkeypatch.setenv("OUR_KEYS", "one")
    with opened(tmp_path, key_env="OUR_KEYS") as client:
        schema = client.get("/openapi.json").json()
    (scheme,) = schema["components"]["securitySchemes"].values()
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    assert all(
        operation["security"] for path in schema["paths"].values() for operation in path.values()
    )


def test_a_shared_trip_is_read_by_whoever_has_its_address(tmp_path):
    with opened(tmp_path) as client:
        trip = client.post("/v1/trips", json={"values": {"number": 1}, "wait": True}).json()
        path = f"/v1/trips/{trip['id']}"
        mine = {"Cookie": f"traveller={client.cookies['traveller']}"}
        shared = client.post(f"{path}/share", json={"shared": True}).json()
        assert shared["shared"] and "own" not in shared
        client.cookies.clear()
        assert client.get(path).json()["own"] is False
        assert client.get(f"{path}/events").status_code == 200
        assert client.delete(path).status_code == 404
        assert client.post(f"{path}/share", json={"shared": False}).status_code == 404
        client.cookies.clear()
        ended = client.post(f"{path}/share", json={"shared": False}, headers=mine)
        assert ended.json()["shared"] is False
        client.cookies.clear()
        assert client.get(path).status_code == 404


def test_planning_has_a_deadline(tmp_path, capsys):
    with opened(tmp_path, small_desk.agency(2.0), deadline_s=0.3) as client:
        began = time.monotonic()
        trip = client.post("/v1/trips", json={"values": {"number": 1}, "wait": True}).json()
        assert time.monotonic() - began < 2
    assert trip["status"] == "failed" and "0.3 seconds" in trip["error"]
    (line,) = [line for line in lines(capsys) if line.get("reason") == "deadline"]
    assert line["trip"] == trip["id"] and line["time"] and line["seconds"] >= 0.3


def test_what_a_service_says_reaches_the_log_and_no_traveller(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("OUR_API_KEY", "s3cret-of-ours")

    def play(session: Any) -> Any:
        session.fail("http://10.0.0.7:8001/v1 answered 500: Traceback, key s3cret-of-ours")
        return session

    with opened(tmp_path, planner(play)) as client:
        asked = client.post("/v1/trips", json={"values": {"number": 1}, "wait": True})
    assert asked.json()["status"] == "failed" and "did not answer" in asked.json()["error"]
    assert "10.0.0.7" not in asked.text
    (line,) = [line for line in lines(capsys) if line.get("status") == "failed"]
    assert "10.0.0.7" in line["reason"] and "***" in line["reason"]


def test_a_days_cost_ends_the_trip_that_passes_it_and_then_nothing_is_asked(tmp_path, capsys):
    agent = small_desk.agency().planners["expert"].policy()

    def play(session: Any) -> Any:
        say = session.say

        def paid(text: str) -> Any:
            session.transcript.usage.update(prompt_tokens=1_000, completion_tokens=100)
            return say(text)

        session.say = paid
        return next(iter(agent.play([session])))

    prices = {"price_in": 1.0, "price_out": 10.0, "max_cost_usd": 0.005}  # 0.002 a turn
    settings = {"endpoint": "http://127.0.0.1:9/v1", "model": "m", **prices}
    agency = planner(play, paid=True)
    agency.planners["own"] = small_desk.agency().planners["expert"]
    with opened(tmp_path, agency, **settings) as client:
        trip = client.post("/v1/trips", json={"values": {"number": 1}, "wait": True}).json()
        assert trip["status"] == "failed" and "planner 'own'" in trip["error"]
        refused = client.post("/v1/trips", json={"values": {"number": 1}})
        assert refused.status_code == 503
        free = {"values": {"number": 1}, "planner": "own", "wait": True}
        assert client.post("/v1/trips", json=free).json()["status"] == "done"
    (line,) = [line for line in lines(capsys) if line.get("reason") == "max_cost_usd"]
    assert line["cost_usd"] == 0.006 and line["prompt_tokens"] == 3_000
    with opened(tmp_path, planner(play, paid=True), **settings) as client:  # after a restart, too
        assert client.post("/v1/trips", json={"values": {"number": 1}}).status_code == 503


def test_a_trip_is_logged_with_its_reading_and_no_words_are_not_read(tmp_path, capsys, serve):
    asked = []

    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        asked.append(request)
        said = json.dumps([{"field": "number", "value": 1, "words": "one"}])
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        body = {"choices": [{"message": {"role": "assistant", "content": said}}], "usage": usage}
        return 200, json.dumps(body).encode(), {}

    agency = replace(small_desk.agency(), reader=ChatEndpoint(serve(answer), "m"))
    settings = {"endpoint": "http://127.0.0.1:9/v1", "model": "m", "price_in": 1, "price_out": 10}
    wishes = {"values": {"number": 1}}, {"text": "one"}, {"text": "one"}
    with opened(tmp_path, agency, **settings) as client:
        for wish in wishes:
            assert client.post("/v1/trips", json={**wish, "wait": True}).json()["status"] == "done"
    trips = [line for line in lines(capsys) if line.get("status") == "done"]
    assert len(asked) == 1 and [line["cost_usd"] for line in trips] == [0.0, 0.0002, 0.0]
    assert [line["prompt_tokens"] for line in trips] == [0, 100, 0]


def test_pages_of_a_site_that_is_allowed_may_ask(tmp_path):
    app = make_app(small_desk.agency(), TripServer(state=tmp_path / "own.sqlite"))
    ours, others = {"Origin": "https://our.example"}, {"Origin": "https://our.example.evil"}
    preflight = {"Access-Control-Request-Method": "POST"}
    preflight |= {"Access-Control-Request-Headers": "authorization, content-type"}
    guard = guarded(app, "127.0.0.1", (), ["https://our.example"])
    with TestClient(guard, "http://127.0.0.1") as client:
        asked = client.options("/v1/trips", headers={**ours, **preflight})
        assert asked.status_code == 200
        assert asked.headers["access-control-allow-origin"] == "https://our.example"
        said = client.get("/v1/desk", headers=ours).headers
        assert said["access-control-allow-origin"] == "https://our.example"
        assert client.get("/v1/desk", headers=others).status_code == 403
        assert client.options("/v1/trips", headers={**others, **preflight}).status_code == 403
