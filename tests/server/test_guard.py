"""What strangers send to our servers: pages of other sites, names that point here, and connections
that would hold everybody else up."""

import json
import socket
import threading
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, cast

import pytest

httpx2, uvicorn = pytest.importorskip("httpx2"), pytest.importorskip("uvicorn")
from starlette.testclient import TestClient

from tests.server import small_desk
from tripwright.errors import UserError
from tripwright.files import shared_token
from tripwright.server import TripServer, guard, model_api, store, tools_api, trips
from tripwright.server.serving import open_port, url_of

GOOD = {
    "tools": ("/tools/calculator", {"expression": "6 * 7"}),
    "trips": ("/v1/read", {"text": "a trip"}),
    "model": ("/update_weight_version", {"new_version": "theirs"}),
}


@pytest.fixture
def app(request, world_folder, tmp_path, monkeypatch) -> Any:
    """Of the server that a test names, as `serve_app` makes it."""
    monkeypatch.setattr(model_api, "MOST_BODY_BYTES", 2_000_000)
    service = cast(Any, SimpleNamespace(memory_mb=0, positions=2048))
    words = cast(Any, SimpleNamespace(get_vocab=lambda: {"word": 0}))
    apps = {
        "tools": lambda: tools_api.ToolsApp(lambda: tools_api.world_tools(world_folder, "compact")),
        "trips": lambda: trips.make_app(
            small_desk.agency(), TripServer(state=tmp_path / "trips.sqlite")
        ),
        "model": lambda: model_api.ModelApi(service, words, "served", tmp_path / "token").app,
    }
    return guard.Guard(apps[request.param](), "127.0.0.1", ["trips.example"])


@pytest.mark.parametrize("app", GOOD, indirect=True)
def test_every_server_hears_only_what_no_other_page_can_send(app, request, tmp_path):
    path, body = GOOD[request.node.callspec.params["app"]]
    key = {"authorization": f"Bearer {shared_token(tmp_path / 'token')}"}
    asked = TestClient(app, "http://127.0.0.1", headers=key)
    for status, sent in (
        (200, {}),
        (200, {"host": "localhost:80", "origin": "http://localhost:80"}),
        (200, {"host": "trips.example", "origin": "https://trips.example"}),
        *((403, {"host": host}) for host in ("[", "evil.example", "localhost.evil.example", "box")),
        *((403, {"origin": page}) for page in ("null", "http://evil.example", "http://localhost")),
        *((415, {"content-type": kind}) for kind in ("", "text/plain", "multipart/form-data")),
    ):
        assert asked.post(path, json=body, headers=sent).status_code == status, sent
    assert asked.post(path, json=["x" * 2_000_000]).status_code == 413
    if path != "/tools/calculator":  # where a body is a model's own words
        twice = json.dumps(body).replace("{", f'{{"{next(iter(body))}": "", ')
        kind = {"content-type": "application/json"}
        refused = asked.post(path, content=twice, headers=kind)
        assert refused.status_code == 400 and "twice" in refused.text
    for odd in ("/%00", "/docs-files/%00", f"/docs-files/{'x' * 300}", f"/{'x' * 3_000}"):
        assert asked.get(odd).status_code in (400, 404)


@pytest.mark.parametrize("app", ["model"], indirect=True)
def test_weights_are_for_whoever_has_the_token(app):
    asked = TestClient(app, "http://127.0.0.1", headers={"authorization": "Bearer no-key"})
    assert asked.get("/model_info").json()["weight_version"] == "default"
    assert asked.get("/flush_cache").status_code == 401
    for path in ("sleep?level=2", "wake_up", "collective_rpc", "update_weights_from_disk"):
        assert asked.post(f"/{path}").status_code == 401


@pytest.mark.parametrize("app", ["trips"], indirect=True)
def test_one_address_has_one_pace_whatever_its_cookie(app):
    def read(address: str) -> int:  # with a fresh cookie each
        asked = TestClient(app, "http://127.0.0.1", client=(address, 1))
        return int(asked.post("/v1/read", json={"text": "x"}).status_code)

    for first, same in (("10.0.0.1", "10.0.0.1"), ("2001:db8::1", "2001:db8::ffff:1")):
        assert {read(first) for _ in range(20)} == {200}
        assert 429 in [read(same) for _ in range(5)]


def test_trips_are_bounded_and_the_oldest_finished_go_first(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MOST_UNFINISHED", 2)
    monkeypatch.setattr(store, "MOST_UNFINISHED_OF_ALL", 3)
    monkeypatch.setattr(store, "MOST_FINISHED", 2)
    kept = store.TripStore(tmp_path / "trips.sqlite")
    asked = {"words": "", "planner": "", "values": {}}
    ids = [kept.add("anyone", asker, asked) for asker in "aaabb"]
    assert [id is None for id in ids] == [False, False, True, False, True]
    for day, id in enumerate(filter(None, ids), start=1):
        monkeypatch.setattr(store, "now", lambda day=day: f"2026-01-0{day}")
        kept.finish(id, "done", {})
    assert kept.trip(str(ids[0])) is None and kept.trip(str(ids[1])) and kept.trip(str(ids[3]))


def test_a_token_is_made_once_and_no_other_file_is_one(tmp_path):
    file = tmp_path / "made" / "token"
    assert shared_token(file) == shared_token(file) and file.stat().st_mode & 0o777 == 0o600
    (tmp_path / "key").write_bytes(b"\xe2-----BEGIN PRIVATE KEY-----")
    (tmp_path / "key").chmod(0o600)
    file.chmod(0o644)
    for path in (tmp_path / "key", file):
        with pytest.raises(UserError):
            shared_token(path)


def test_who_is_slow_or_endless_is_let_go(monkeypatch):
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        much = 20_000_000 if scope["path"] == "/much" else 2
        await send({"type": "http.response.body", "body": b"x" * much})

    monkeypatch.setattr(guard, "STUCK_SECONDS", 0.5)
    how = {"http": guard.BoundedProtocol, "lifespan": "off", "log_level": "critical"}
    served = uvicorn.Server(uvicorn.Config(app, **how))
    with open_port("127.0.0.1", 0) as listener, ExitStack() as stack:
        threading.Thread(target=served.run, args=([listener],), daemon=True).start()
        address = listener.getsockname()
        for sent in (b"", b"GET / HTTP/1.1\r\nx: ", b"GET /much HTTP/1.1\r\n\r\n" * 3):  # unread
            stack.enter_context(socket.create_connection(address)).sendall(sent)
        endless = stack.enter_context(socket.create_connection(address))
        endless.sendall(b"GET / HTTP/1.1\r\nx: ")
        with pytest.raises(OSError):
            while True:
                endless.sendall(b"y" * 65_536)
        closing = {"connection": "close"}
        assert httpx2.get(url_of(listener), headers=closing).content == b"xx"
        while served.server_state.connections:
            threading.Event().wait(0.05)
        served.should_exit = True
