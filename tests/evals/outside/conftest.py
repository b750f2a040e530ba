"""A chat endpoint that answers by a function, and counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Messages = list[dict[str, Any]]


class Model:
    """Stands in for a served model: `say` makes an answer, or None for an endpoint that is ill, of
    the messages it is sent."""

    def __init__(self, serve: Callable[..., str], say: Callable[[Messages], str | None]):
        self.say, self.asked = say, list[Messages]()
        self.url = serve(self._answer)

    @property
    def words(self) -> list[str]:
        """The options of a verb that asks this model."""
        return ["--model", "m", "--base-url", self.url, "--retries", "0", "--timeout", "30"]

    def _answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        self.asked.append(request["messages"])
        said = self.say(request["messages"])
        if said is None:
            return 500, b"ill", {}
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": said},
            "finish_reason": "stop",
        }
        return (
            200,
            json.dumps(
                {"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}
            ).encode(),
            {},
        )


@pytest.fixture
def model(serve: Callable[..., str]) -> Callable[[Callable[[Messages], str | None]], Model]:
    return lambda say: Model(serve, say)
