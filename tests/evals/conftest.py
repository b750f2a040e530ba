"""An endpoint on this machine that plays the expert and counts what it is asked, for the runs of
several files."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.files import write_lines
from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.expert import expert_turns
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.world.generator import build_world
from tripwright.world.store import World

Step = tuple[str, int]  # the request's text, and how many turns the model had had


USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}
USAGE |= {"prompt_tokens_details": {"cached_tokens": 400}}


@dataclass
class PaidExpert:
    """Plays the expert by native tool calls. `moods` are statuses that the next answers get
    instead, one each; `usage` is what every answer says that it took. `asked` counts the requests by step;
    `repeats` are the steps that were asked again although their answer had been used."""

    turns: dict[str, list[str]]
    wait_s: float = 0.0
    usage: Any = field(default_factory=lambda: USAGE)
    moods: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    asked: Counter[Step] = field(default_factory=Counter)
    repeats: list[Step] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""
    serve: Callable[..., str] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def requests(self) -> int:
        return self.asked.total()

    def answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        text = request["messages"][1]["content"]
        done = sum(message["role"] == "assistant" for message in request["messages"])
        with self._lock:
            if self.moods:
                return self.moods.pop(0), b'{"error": {"message": "not now"}}', self.headers
            if self.asked[text, done] and self.asked[text, done + 1]:
                self.repeats.append((text, done))
            self.asked[text, done] += 1
            self.bodies.append(request)
        time.sleep(self.wait_s)
        body = {"choices": [choice_of(self.turns[text][done])], "usage": self.usage}
        return 200, json.dumps(body).encode(), {}


def choice_of(turn: str) -> dict[str, Any]:
    """An endpoint's, which says this turn by a native call."""
    text, tag, call = turn.partition("<tool_call>")
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if tag:
        made = json.loads(call.removesuffix("</tool_call>"))
        function = {"name": made["name"], "arguments": json.dumps(made["arguments"])}
        message["tool_calls"] = [{"id": "abc", "type": "function", "function": function}]
    return {"index": 0, "message": message, "finish_reason": "tool_calls" if tag else "stop"}


@pytest.fixture(scope="session")
def nano_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world and 12 queries."""
    folder = tmp_path_factory.mktemp("paid")
    world = build_world(folder / "world", "nano", 2)
    queries = list(make_queries(world, 12, 1))
    write_lines(folder / "queries.jsonl", (query.record() for query in queries))
    return folder


@pytest.fixture(scope="session")
def nano_world(nano_folder: Path) -> World:
    return World.open(nano_folder / "world")


@pytest.fixture(scope="session")
def nano_queries(nano_folder: Path) -> list[Query]:
    return [
        Query.model_validate_json(line)
        for line in (nano_folder / "queries.jsonl").read_text().splitlines()
    ]


@pytest.fixture
def paid_expert(
    nano_world: World, nano_queries: list[Query], serve: Callable[..., str]
) -> PaidExpert:
    dialect = dialect_named("planner_r1")
    expert = PaidExpert(
        {query.query: expert_turns(query, nano_world, dialect) for query in nano_queries},
        serve=serve,
    )
    expert.url = serve(expert.answer)
    return expert
