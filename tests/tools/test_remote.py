"""The client of a tool server: what passes is retried, what stays is a fault of our side, and a
wrong server is noticed at the start.

The server here is a script; tests/server asks a real one.
"""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tripwright.domains import face_named
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.task import TripTask
from tripwright.errors import UserError
from tripwright.llm.endpoint import Pace
from tripwright.tools.answer import ToolAnswer
from tripwright.tools.remote import RemoteToolBox
from tripwright.tools.toolbox import ToolHostDown
from tripwright.world.generator import build_tables
from tripwright.world.store import World

WORLD = {"name": "scripted", "content_hash": "abc", "rows": {}}
SCHEMAS = {"face": "compact", "faces": ["compact"], "schemas": face_named("compact").schemas()}
NANO = World.in_memory(build_tables("nano", 7))
TRIP = TripTask("q", next(make_queries(NANO, 1, 1)), NANO)
Step = tuple[int, str, dict[str, str]]  # status, body, headers
ANSWER: Step = (200, '{"text": "fine", "error": false}', {"x-world-hash": "abc"})
FAILING: Step = (503, '{"detail": "busy"}', {})


class Script:
    """Answers calls with the steps in turn, the last one for ever. A step "drop" closes the
    connection, "sleep" answers too late."""

    def __init__(self, serve: Callable[..., str]) -> None:
        self.world: Step = (200, json.dumps(WORLD), {})
        self.schemas: Step = (200, json.dumps(SCHEMAS), {})
        self.steps: list[Step | str] = [ANSWER]
        self.bodies: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self.url = serve(self.answer, keep=True).removesuffix("/v1")

    def answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]] | None:
        step: Step | str = self.world if request["path"] == "/world" else self.schemas
        if "name" in request:
            with self._lock:
                self.bodies.append(request)
                step = self.steps[0] if len(self.steps) == 1 else self.steps.pop(0)
        if step == "drop":
            raise ConnectionAbortedError
        return (step[0], step[1].encode(), step[2]) if isinstance(step, tuple) else None


@pytest.fixture
def script(serve: Callable[..., str]) -> Script:
    return Script(serve)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, in seconds, which nobody waits for."""
    waited: list[float] = []
    monkeypatch.setattr(Pace, "sleep", lambda pace, seconds: waited.append(seconds) or True)
    return waited


@pytest.fixture
def box(script: Script, waits: list[float]) -> RemoteToolBox:
    return RemoteToolBox(script.url + "/", face_named("compact"), page_rows=7, max_retries=3)


def test_a_call_is_sent_as_the_model_wrote_it(script, box):
    for arguments in ('{"city": "\ud800"', {"city": "Zürich"}, "", "null"):
        assert box.call("search_restaurants", arguments) == ToolAnswer("fine")
    assert [body["path"] for body in script.bodies] == ["/tools?face=compact&page_rows=7"] * 4
    sent = [body["arguments"] for body in script.bodies]
    assert sent == ['{"city": "\ud800"', '{"city": "Z\\u00fcrich"}', "", "null"]
    assert script.bodies[0]["name"] == "search_restaurants"


def test_an_error_of_the_tool_is_an_answer(script, box):
    script.steps = [(200, '{"text": "Unknown city.", "error": true}', {"x-world-hash": "abc"})]
    assert box.call("search_restaurants", {}) == ToolAnswer("Unknown city.", error=True)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (FAILING, "answered 503: busy"),
        ("drop", "cannot be reached: "),
        ((200, '{"text": 1, "error": false}', {}), "JSON that is no tool's answer"),
    ],
)
def test_what_does_not_pass_is_a_fault_of_our_side(step, said, script, box):
    script.steps = [step]
    with pytest.raises(ToolHostDown) as caught:
        box.call("calculator", {"expression": "1"})
    assert said in str(caught.value)
    assert script.url in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(script.bodies) == 4


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ((200, ANSWER[1], {"x-world-hash": "other"}), "has another world than at the start"),
        ((200, ANSWER[1], {}), "has another world than at the start"),
        ((404, '{"detail": "Not Found"}', {}), "answered 404: Not Found"),
    ],
)
def test_what_cannot_pass_is_not_asked_again(step, said, script, box):
    script.steps = [step]
    with pytest.raises(ToolHostDown, match=said):
        box.call("calculator", {"expression": "1"})
    assert len(script.bodies) == 1


def test_arguments_without_end_are_the_models_mistake(script, box):
    answer = box.call("calculator", '{"expression": "' + "1" * 2_000_000)
    assert answer.error and "too long" in answer.text and not script.bodies
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    assert box.call("calculator", {"expression": nested}).error


def test_schemas_are_the_servers_and_may_be_edited(script, box):
    box.schemas.clear()
    box.schemas[0].clear()
    assert box.schemas == SCHEMAS["schemas"]
    assert box.face is face_named("compact")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"world": FAILING}, "answered 503: busy"),
        ({"world": (200, "<html>", {})}, "something other than JSON"),
        ({"world": (200, "{}", {})}, "JSON that is no tool's answer"),
        ({"schemas": (400, '{"detail": "Unknown face."}', {})}, "answered 400: Unknown face"),
    ],
)
def test_a_wrong_server_is_noticed_at_the_start(change, said, script, waits):
    for name, step in change.items():
        setattr(script, name, step)
    with pytest.raises(UserError) as caught:
        RemoteToolBox(script.url, face_named("compact"), max_retries=1)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_another_world_is_noticed_at_the_start(script, waits):
    assert RemoteToolBox(script.url, face_named("compact"), world_hash="abc").world == WORLD
    with pytest.raises(UserError, match="serves another world: expected content hash abd, found"):
        RemoteToolBox(script.url, face_named("compact"), world_hash="abd")


@pytest.mark.parametrize(
    ("url", "settings"),
    [
        *(
            (url, {})
            for url in ("localhost:8321", "http://localhost:port", "http://", "http://[::1")
        ),
        *((f"http://127.0.0.1:{port}", {}) for port in (0, 99999)),
        ("http://127.0.0.1:1", {"max_retries": 0}),  # nobody is there
    ],
)
def test_a_wrong_setting_is_one_line_at_once(url, settings, waits):
    with pytest.raises(UserError) as caught:
        RemoteToolBox(url, face_named("compact"), **settings)
    assert waits == [] and "\n" not in str(caught.value)
