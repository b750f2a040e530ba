"""A local HTTP server that gives the same answer to whatever it is asked."""

import json
from collections.abc import Callable
from typing import Any

import pytest


class Vendor:
    """`asked` are the paths and the Authorization of the requests."""

    def __init__(self, serve: Callable[..., str]) -> None:
        self.asked: list[tuple[str, str | None]] = []
        self.says({})
        self.base_url = serve(self.answer, keep=True).removesuffix("/v1")

    def says(self, body: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """`body` is sent as is if it is text, else as JSON."""
        self.content = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.status, self.headers = status, headers or {}

    def answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        self.asked.append((request["path"], request["key"]))
        return self.status, self.content, self.headers


@pytest.fixture
def vendor(serve: Callable[..., str]) -> Vendor:
    return Vendor(serve)
