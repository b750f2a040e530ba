"""`tripwright serve model` on a port of this machine, in a thread, and what it may do wrong between
its engine and whoever asks it."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn

from tripwright.inference.service import TokenService
from tripwright.server.model_api import ModelApi
from tripwright.server.serving import open_port, url_of

TURNS = ("/generate", "/v1/completions")
Body = dict[str, Any]


class LyingServer:
    """Real HTTP, and our engine over `model`. `calls` are the requests that are no turns, in order.

    `asked` may change the body of a request, and `said` that of an answer; where `asked` gives None
    the connection is dropped.

    `load` is what it does where it is sent weights and says that they are loaded.
    """

    def __init__(self, model: Any, tokenizer: Any, own: Path):
        self.own = own  # a folder with its first weights
        self.service = TokenService(model, rows=8)
        self.api = ModelApi(self.service, tokenizer, "served", own / "token")
        self.calls: list[str] = []
        self.asked: Callable[[Body], Body | None] = lambda body: body
        self.said: Callable[[Body], Body] = lambda body: body
        self.honest = self.load = self.service.load
        self.service.load = lambda folder: self.load(folder)
        self._listener = open_port("127.0.0.1", 0)
        self.url = url_of(self._listener)
        config = uvicorn.Config(self, log_level="critical", timeout_graceful_shutdown=1, ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True
        )
        self._thread.start()

    def start_anew(self) -> None:
        """Honest, awake, with its own weights."""
        self.calls.clear()
        self.api.version, self.load = "default", self.honest
        self.asked = self.said = lambda body: body
        self.service.wake()
        self.honest(self.own)

    def deaf(self, folder: Path) -> None: ...

    def old_head(self, folder: Path) -> None:
        """As vLLM 0.32.0 where it was started with tied embeddings."""
        head = self.service._model.lm_head.weight
        before = head.detach().clone()
        self.honest(folder)
        head.data.copy_(before)

    def old_cache(self, folder: Path) -> None:
        """Keys and values of the weights before are still found, also after it was told to forget
        them."""
        engine = self.service._engine
        self.honest(folder)
        self.service._engine, self.service.forget = engine, lambda: None

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(5)
        self._listener.close()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.api.app(scope, receive, send)
            return
        raw = b""
        while (message := await receive()).get("more_body"):
            raw += message["body"]
        raw += message.get("body", b"")
        if scope["path"] not in TURNS:
            tags = json.loads(raw).get("tags") if raw else scope["query_string"].decode()
            self.calls.append(f"{scope['path']} {tags or ''}".strip())
            await self._answer(scope, raw, send)
            return
        body = json.loads(raw)
        if (body.get("rid") or body["request_id"]).startswith("proof"):
            self.calls.append("proof")
            await self._answer(scope, raw, send)  # lies of `load` are what it is for
            return
        body = self.asked(body)
        if body is None:
            return  # without an answer uvicorn closes the connection
        answer = await self._answer(scope, json.dumps(body).encode())
        if answer[0] == 200:
            answer = 200, json.dumps(self.said(json.loads(answer[1]))).encode()
        await _send(send, *answer)

    async def _answer(self, scope: Any, raw: bytes, send: Any = None) -> tuple[int, bytes]:
        status, parts = 0, []

        async def receive() -> Any:
            return {"type": "http.request", "body": raw}

        async def collect(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            parts.append(message.get("body", b""))

        await self.api.app(scope, receive, send or collect)
        return status, b"".join(parts)


async def _send(send: Any, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
