"""An episode through a trainer's proxy, which is a script behind HTTP that holds requests to the
published rules: what it is sent, and what becomes of its answers and its faults."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import tripwright
from tests.evals.conftest import choice_of
from tripwright.bridges import EpisodeFault, OpenEpisode, play_through, task_set
from tripwright.bridges.gateway import dialect_of, request_of, world_of
from tripwright.domains.travelplanner.expert import expert_turns
from tripwright.domains.travelplanner.query import Query
from tripwright.errors import UserError
from tripwright.tools.toolbox import ToolBox

ROOT = Path(__file__).parents[2]
ROWS = task_set("validation", 5)
ROW = ROWS[0]
QUERY = Query.model_validate_json(ROW["request"])
KEY, NOBODY = "sk-of-this-rollout", "http://127.0.0.1:9/v1"
CALL, BROKEN = '{ "city": "Nowhere" }', '{"city": "Nowhere"'  # spaced as no encoder of ours does


def through(url: str, row: dict[str, Any] = ROW, session: str = "r-17") -> Any:
    return play_through(row, base_url=url, api_key=KEY, model="m", session=session)


def expert(row: dict[str, Any] = ROW) -> list[str]:
    query = Query.model_validate_json(row["request"])
    return expert_turns(query, world_of(row), dialect_of(row))


def natively(turns: list[str]) -> list[dict[str, Any]]:
    return [choice_of(turn)["message"] for turn in turns]


def said(*calls: str, **more: Any) -> dict[str, Any]:
    functions = [{"name": "search_restaurants", "arguments": arguments} for arguments in calls]
    tools = [
        {"id": f"x-{number}", "type": "function", "function": function}
        for number, function in enumerate(functions)
    ]
    return {"role": "assistant", "content": "", **more, **({"tool_calls": tools} if tools else {})}


def scripted(
    turns: list[dict[str, Any]], requests: list[dict[str, Any]] | None = None
) -> Callable[[dict[str, Any]], tuple[int, bytes, dict[str, str]]]:
    """Answers the n-th request of a conversation with the n-th message, the last one for ever."""

    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        (requests if requests is not None else []).append(request)
        done = sum(message["role"] == "assistant" for message in request["messages"])
        choice = {"message": turns[min(done, len(turns) - 1)], "finish_reason": "stop"}
        usage = {"prompt_tokens": 3000, "completion_tokens": 50}
        return 200, json.dumps({"choices": [choice], "usage": usage}).encode(), {}

    return answer


def test_the_conversation_only_grows_and_goes_back_as_it_came(serve):
    thought = "a look around first"
    turns = [
        said(CALL, reasoning_content=thought, refusal=None),
        said(CALL.replace("Nowhere", "Elsewhere"), CALL),  # the dialect makes the first
        said(content="Hm. <tool_call>" + BROKEN),
        *natively(expert()),
    ]
    requests: list[dict[str, Any]] = []
    played = asyncio.run(through(serve(scripted(turns, requests)), session="r-18"))
    assert played["passed"] and played["reward"] == 1.0 and played["stop"] == "answer"
    assert played["metrics"]["turns"] == len(turns) == len(requests)
    assert played["metrics"]["calls"] == len(turns) - 2 and played["metrics"]["pass"] == 1.0
    assert all(isinstance(value, float) for value in played["metrics"].values())
    ours = {"path", "key", "port", "session"}
    assert {frozenset(request.keys() - ours) for request in requests} == {
        frozenset(("model", "messages", "tools"))
    }, "no setting of sampling, no length"
    assert {(r["session"], r["key"]) for r in requests} == {("r-18", f"Bearer {KEY}")}
    before: list[Any] = []
    for request, turn in zip(requests, turns, strict=True):
        assert request["messages"][: len(before)] == before
        before = [*request["messages"], {k: v for k, v in turn.items() if v is not None}]
    answers = [m for m in requests[-1]["messages"] if m.get("tool_call_id", "").startswith("x-")]
    assert [m["tool_call_id"] for m in answers] == ["x-0", "x-0", "x-1"]
    assert "Elsewhere" in answers[1]["content"] and "first call" in answers[2]["content"]


def test_a_call_that_no_server_reads_again_goes_back_in_words(serve):
    turns = [said(BROKEN), said(json.dumps(CALL)), said("[]", CALL), *natively(expert())]
    requests: list[dict[str, Any]] = []
    played = asyncio.run(through(serve(scripted(turns, requests)), {**ROW, "reward": "dense"}))
    assert played["passed"] and played["reward"] == 5.0 and len(requests) == len(turns)
    assert BROKEN in requests[1]["messages"][2]["content"]


@pytest.mark.parametrize(
    ("status", "error", "raised"),
    [
        (500, "out of order", EpisodeFault),
        (429, "slow down", EpisodeFault),
        (400, "unheard-of", EpisodeFault),
        (401, f"wrong key {KEY}", UserError),
    ],
)
def test_a_dead_proxy_is_raised_and_not_asked_again(status, error, raised, serve):
    asked: list[Any] = []

    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        asked.append(request)
        return status, json.dumps({"error": {"message": error}}).encode(), {"Retry-After": "1"}

    with pytest.raises(raised) as fault:
        asyncio.run(through(serve(answer)))
    assert len(asked) == 1 and KEY not in str(fault.value)
    with pytest.raises(EpisodeFault):
        asyncio.run(through(NOBODY))


def test_a_full_window_is_an_outcome(serve):
    full = json.dumps({"error": {"message": "maximum context length is 99 tokens"}}).encode()
    played = asyncio.run(through(serve(lambda request: (400, full, {}))))
    assert (played["reward"], played["passed"]) == (0.0, False)
    assert played["stop"] == "context_overflow"


def test_a_cancelled_rollout_asks_nothing_more(serve):
    asked, going_on = [], threading.Event()

    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        asked.append(request)
        going_on.wait(5)
        return scripted(natively(expert()))(request)

    async def cancelled(url: str) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(through(url), 0.3)
        going_on.set()
        await asyncio.sleep(0.3)

    asyncio.run(cancelled(serve(answer)))
    assert len(asked) == 1


CROWD = """
import asyncio, os, socket, time
from tests.bridges.test_gateway import through
assert asyncio.run(through(URL))["passed"]
time.sleep(0.3)  # until its thread is idle
child = os.fork()
assert asyncio.run(through(URL))["passed"]
if child:
    assert os.waitpid(child, 0)[1] == 0
    silent = socket.create_server(("127.0.0.1", 0))
    try:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        asyncio.run(asyncio.wait_for(through(url), 0.3))
    except TimeoutError:
        print("cancelled")
"""


def test_a_forked_process_plays_and_ends_before_the_slowest_answer(serve):
    script = CROWD.replace("URL", repr(serve(scripted(natively(expert())))))
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert ended.stdout == "cancelled\n", ended.stderr


def test_as_many_are_under_way_as_the_trainer_begins(serve):
    together, answer = threading.Barrier(40), scripted([said(content="<answer>[]</answer>")])

    def wait(request: dict[str, Any]) -> Any:
        together.wait(20)
        return answer(request)

    async def group(url: str) -> list[Any]:
        return await asyncio.gather(*(through(url, session=str(n)) for n in range(40)))

    played = asyncio.run(group(serve(wait)))
    assert {result["stop"] for result in played} == {"answer"}


def test_an_episode_that_its_loop_leaves_is_judged_as_it_stands():
    episode = OpenEpisode(ROW)
    assert "Nowhere" in episode.call("search_restaurants", {"city": "Nowhere"})
    found = episode.outcome()
    assert (found["reward"], found["stop"], found["metrics"]["calls"]) == (0.0, "max_turns", 1.0)
    assert "over" in episode.call("search_restaurants", {"city": "Salem"})
    assert episode.outcome() == found


def test_an_episode_whose_tool_cannot_go_on_stays_unscored(monkeypatch):
    def gone(*_: Any) -> None:
        raise UserError("the world's file is gone")

    episode = OpenEpisode(ROW)
    monkeypatch.setattr(ToolBox, "call", gone)
    with pytest.raises(UserError):
        episode.call("search_restaurants", {"city": "Salem"})
    assert episode.over and "over" in episode.call("search_restaurants", {"city": "Salem"})
    with pytest.raises(EpisodeFault, match="gone"):
        episode.outcome()


def test_the_splits_share_no_world_and_every_request_can_be_met():
    splits = {split: task_set(split, 5) for split in ("train", "validation", "test")}
    worlds = {split: {row["seed"] for row in rows} for split, rows in splits.items()}
    assert len(set().union(*worlds.values())) == sum(map(len, worlds.values())) == 6
    assert json.loads(json.dumps(splits["validation"])) == ROWS
    # where most parties want beds, of entire homes, which are one room
    errands = task_set("validation", 4, first=48, dialect="deeptravel_cards")
    for expert, row in [*product(["expert"], ROWS), *product(["errand-expert"], errands)]:
        (episode,) = tripwright.play(
            expert, [request_of(row)], world_of(row), dialect=row["dialect"], rules=row["rules"]
        )
        assert episode.passed


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"request": None}, "'request'"),
        ({"rule": "official"}, "Accepted: id, query, world"),
        ({"request": "{"}, "JSON"),
        ({"request": "[1]"}, "TravelPlanner"),
        ({"request": {**QUERY.record(), "dest": "Atlantis"}}, "'Atlantis' is no city"),
        ({"seed": "7.0"}, "whole number"),
        ({"seed": 1.5}, "whole number"),
        ({"world": "nanoo"}, "nano, small"),
        ({"seed": None}, "No world at 'nano'"),
        ({"dialect": "klingon"}, "planner_r1"),
        ({"reward": "os:system"}, "success"),
        ({"rules": "kind"}, "strict"),
    ],
)
def test_a_row_that_cannot_be_played_is_one_line(wrong, said):
    for play in (lambda row: asyncio.run(through(NOBODY, row)), OpenEpisode):
        with pytest.raises(UserError, match="(?s)^[^\n]*$") as error:
            play({**ROW, **wrong})
        assert said in str(error.value)


@pytest.mark.parametrize("name", ["a\nb", "h\u00e9", 17, None])
def test_a_session_is_what_a_header_can_say(name):
    with pytest.raises(UserError, match="ASCII"):
        asyncio.run(through(NOBODY, session=name))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"reward": "passes"}, "success"),
        ({"scale": "nanoo"}, "nano, small"),
        ({"first": -1}, "0 to 3,999,999"),
        ({"first": 4_000_000}, "0 to 3,999,999"),
        ({"count": -1}, "found -1"),
    ],
)
def test_rows_that_there_are_not_are_refused(wrong, said):
    with pytest.raises(UserError, match=said):
        task_set("train", **wrong)
