"""The environment package for verifiers, played by verifiers. Run in the environment of
`make verifiers` (test_elsewhere.py)."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

vf = pytest.importorskip(
    "verifiers.v1", reason="verifiers has an environment of its own: make verifiers"
)

from pydantic import ValidationError
from tripwright_verifiers.taskset import TripConfig, TripData, TripTask, TripTaskset
from verifiers.v1.utils.loaders import load_environment, resolve_env_config

from tests.bridges.test_gateway import BROKEN, KEY, NOBODY, ROW, expert, natively, said, scripted
from tripwright.bridges import OpenEpisode, task_set

BIN = Path(sys.executable).parent
# in each process that is started: tools whose host is dead as long as there is a file
DYING = """
try:
    from pathlib import Path
    from tripwright.tools.toolbox import ToolBox, ToolHostDown
except ImportError:
    pass
else:
    def call(*asked, answer=ToolBox.call):
        if Path(__file__).with_name("dead").exists():
            raise ToolHostDown("no route to host")
        return answer(*asked)
    ToolBox.call = call
"""
Answer = Callable[[dict[str, Any]], tuple[int, bytes, dict[str, str]]]


@cache
def loop() -> asyncio.AbstractEventLoop:
    """In which all of verifiers runs: servers of an environment last from test to test."""
    runs = asyncio.new_event_loop()
    threading.Thread(target=runs.run_forever, daemon=True).start()
    return runs


def done(what: Any) -> Any:
    return asyncio.run_coroutine_threadsafe(what, loop()).result(300)


@cache
def served(harness: str | None) -> tuple[Any, Any]:
    os.environ |= {"KEY": KEY, "PATH": f"{BIN}:{os.environ['PATH']}"}  # harnesses ask for uv
    config: dict[str, Any] = {"taskset": {"id": "tripwright-verifiers"}}
    if harness:
        config["agent"] = {"harness": {"id": harness}}
    else:  # which asks no server of tools
        config["taskset"]["tools"] = {"url": NOBODY}
    env = load_environment(resolve_env_config(config))
    serving = env.serving()
    done(serving.__aenter__())
    return env, serving  # which would end with the last reference to it


def rollout(url: str, row: dict[str, Any], harness: str | None = None) -> Any:
    """A trace of verifiers' and its results, by our own harness or another; they are None where the
    rollout is an error."""
    (env, _), opened = served(harness), OpenEpisode(ROW).messages
    system, user = (each["content"] for each in opened)
    task = TripTask(TripData(row=row, prompt=user, system_prompt=system))
    client = vf.EvalClientConfig(base_url=url, api_key_var="KEY")
    episode = done(env.run_episode(task, vf.ModelContext(client=client, model="m")))
    (trace,) = episode.traces
    assert episode.ok is trace.ok is not bool(trace.errors)
    assert trace.ok is (trace.rewards.get("verdict") is not None)
    if not trace.ok:
        return trace, None
    assert trace.reward == trace.info["trip"]["reward"]
    return trace, trace.info["trip"]


def texts(trace: Any) -> list[str]:
    return [each.content for each in trace.messages[2:] if each.role != "assistant"]


def whole(answer: Answer) -> Answer:
    """The same with all that verifiers wants of an answer, as a stream where it is asked for."""

    def complete(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        status, raw, headers = answer(request)
        streams, body = request.get("stream"), json.loads(raw)
        (choice,) = body["choices"]
        made = "chat.completion.chunk" if streams else "chat.completion"
        body |= {"id": "c", "object": made, "created": 1, "model": "m"}
        body["usage"]["total_tokens"] = sum(body["usage"].values())
        choice["index"] = 0
        if not streams:
            return status, json.dumps(body).encode(), headers
        choice["delta"] = choice.pop("message")
        for number, call in enumerate(choice["delta"].get("tool_calls", ())):
            call["index"] = number
        lines = f"data: {json.dumps(body)}\n\ndata: [DONE]\n\n"
        return status, lines.encode(), {"Content-Type": "text/event-stream"}

    return complete


def by_their_loop(serve: Any, turns: list[dict[str, Any]]) -> Any:
    """By the loop that verifiers has for a chat with tools. It names tools in their answers, which
    the published rules do not know."""
    return rollout(serve(whole(scripted(turns)), lenient=True), {**ROW, "reward": "dense"}, "null")


@pytest.fixture(scope="module", autouse=True)
def dead(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that no tool outlives."""
    folder = tmp_path_factory.mktemp("dying")
    (folder / "sitecustomize.py").write_text(DYING)
    os.environ["PYTHONPATH"] = str(folder)
    return folder / "dead"


def test_another_harness_plays_by_the_server_of_tools(serve):
    unknown, (first, *others) = said('{"city": "Bostn"}', '{"city": "Nowhere"}'), natively(expert())
    turns = [unknown, first, *others]
    (trace, found), episode = by_their_loop(serve, turns), OpenEpisode(ROW)
    calls = [call["function"] for turn in turns for call in turn.get("tool_calls", ())]
    assert texts(trace) == [episode.call(**call) for call in calls]
    assert (found["reward"], found["passed"], found["stop"]) == (5.0, True, "answer")
    assert trace.metrics["calls"] == len(calls) and trace.metrics["pass"] == 1.0


def test_what_ends_their_loop_without_an_answer_is_judged(serve):
    for turn, turns in ((said(content="I would love to!"), 1), (said('{"city": "Bostn"}'), 30)):
        trace, found = by_their_loop(serve, [turn])
        assert (found["reward"], found["passed"], found["stop"]) == (0.0, False, "max_turns")
        assert trace.num_turns == turns  # as many as the dialect has


def test_a_malformed_call_is_answered_by_their_loop(serve):
    trace, found = by_their_loop(serve, [said(BROKEN), *natively(expert())])
    assert found["passed"] and "error" in texts(trace)[0]


def test_what_fails_on_our_side_or_the_endpoints_has_no_reward(serve, dead):
    dead.touch()
    trace, found = by_their_loop(serve, natively(expert()))
    dead.unlink()
    assert found is None and "no route to host" in trace.last_error.message
    assert rollout(NOBODY, ROW)[1] is rollout(NOBODY, {**ROW, "rules": "kind"})[1] is None
    trace, found = rollout(NOBODY, {**ROW, "dialect": "star"}, "null")
    assert found is None and "star calls in words" in trace.last_error.message


def test_the_expert_gets_every_reward_and_nobody_none(tmp_path):
    command = f"{BIN}/vf-validate tripwright-verifiers -n 6 --taskset.split validation"
    command += f" --runtime.type subprocess --no-rich -o {tmp_path}"
    subprocess.run(command.split(), check=True)
    (summary,) = tmp_path.glob("*/summary.json")
    checks = json.loads(summary.read_text())["checks"]
    assert checks["gold"]["valid"] == checks["noop"]["valid"] == 6


def test_its_arguments_are_those_of_task_set():
    config = TripConfig(split="test", count=5, dialect="planner_r1_steps", reward="dense")
    tasks = list(TripTaskset(config))
    rows = task_set("test", 5, dialect="planner_r1_steps", reward="dense")
    assert [task.data.row for task in tasks] == rows
    told = {each["role"]: each["content"] for each in OpenEpisode(rows[4]).messages}
    assert told == {"system": tasks[4].data.system_prompt, "user": tasks[4].data.prompt}
    assert done(tasks[4].validate(None))
    for wrong in ({"dialect": "klingon"}, {"scale": "nanoo"}, {"count": 0}):
        with pytest.raises(ValidationError, match="planner_r1|nano, small|greater than 0"):
            TripConfig(**wrong)
