"""The OpenEnv package: its server, started as its README says, played by its own client. Run in
the environment of `make openenv` (test_elsewhere.py)."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tripwright_env", reason="OpenEnv has an environment of its own: make openenv")

import httpx
from openenv import AutoEnv, GenericEnvClient
from openenv.cli.__main__ import app as openenv
from openenv.validation.graders import Subject
from openenv.validation.graders.runtime import (
    ObservationSchemaGrader,
    RewardWellFormedGrader,
    StateContractGrader,
)
from openenv.validation.parsers.openenv_yaml import OpenEnvYamlParser
from openenv.validation.runtime.collector import collect_runtime_evidence
from openenv.validation.runtime.contracts import load_runtime_plan
from tripwright_env import CallToolAction, TripwrightEnv
from typer.testing import CliRunner

from tests.bridges.test_gateway import BROKEN, QUERY, expert, natively, said
from tripwright.cli.main import main

PACKAGE = Path(__file__).parents[2] / "packages/tripwright-openenv"
HERE = {"split": "validation", "index": 0}  # test_gateway's row
EXPERT = natively(expert())
WRONG = [*EXPERT[:-1], said(content=EXPERT[-1]["content"].replace(QUERY.dest, "Nowhere"))]


class Server:
    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self.port = listening.getsockname()[1]
        self.start()

    def start(self) -> None:
        words = ["-m", "uvicorn", "server.app:app", "--port", str(self.port)]
        env = {**os.environ, "MAX_CONCURRENT_ENVS": "2"}
        self.started = subprocess.Popen([sys.executable, *words], cwd=PACKAGE, env=env)
        while True:
            assert self.started.poll() is None, "the server did not start"
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.1)

    def kill(self) -> None:
        self.started.kill()
        self.started.wait()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    started = Server()
    yield started
    started.kill()


@pytest.fixture
def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}"


def client(url: str) -> Any:
    return TripwrightEnv(base_url=url).sync()


def play(env: Any, messages: list[dict[str, Any]], **reset: Any) -> Any:
    """As the client's docstring says, by a model that says these messages."""
    result = env.reset(**(reset or HERE))
    heard = list(result.observation.messages)
    for message in messages:
        assert not result.done and result.reward in (None, 0.0)
        result = env.step(TripwrightEnv.action(message))
        heard += [message, TripwrightEnv.reply(message, result.observation)]
    return result, heard


def test_its_own_client_plays_the_expert_and_a_wrong_plan(url):
    with client(url) as env:
        opening = env.reset(**HERE).observation
        assert [message["role"] for message in opening.messages] == ["system", "user"]
        assert opening.messages[-1]["content"] == QUERY.query
        names = [schema["function"]["name"] for schema in opening.tool_schemas]
        assert [tool.name for tool in env.list_tools()] == [*names, "answer"]
        result, heard = play(env, EXPERT)
        assert (result.reward, result.done, result.observation.metadata["passed"]) == (
            1,
            True,
            True,
        )
        assert [message["role"] for message in heard[2:6]] == ["assistant", "tool"] * 2
        assert heard[3]["tool_call_id"] == heard[2]["tool_calls"][0]["id"] and heard[3]["content"]
        assert env.state().step_count == len(EXPERT)
        again = env.step(TripwrightEnv.action(EXPERT[0]))  # changes nothing
        assert again.reward == 1.0 and "over" in again.observation.result
        result, _ = play(env, WRONG)
        assert (result.reward, result.done) == (0, True)
        assert result.observation.metadata["stop"] == "answer"
        dense, _ = play(env, EXPERT, **HERE, reward="dense")
        assert dense.reward == 5.0


def test_what_the_model_does_wrong_is_answered(url):
    wrong = [
        said(BROKEN),
        said(json.dumps({"town": "Nowhere"})),
        said(json.dumps("Nowhere")),
        said(content="I would love to!"),
        said(content='<tool_call>{"name": '),
    ]
    with client(url) as env:
        result, heard = play(env, [*wrong, *EXPERT])
        assert result.reward == 1.0
        for message in heard[3 : 3 + 2 * len(wrong) : 2]:
            assert "error" in json.loads(message["content"])
        env.reset(**HERE)
        for tool, arguments in {
            "fly": {},
            "answer": {"plan": []},
            "I would": {},
            "\ud800": {},
        }.items():
            seen = env.step(CallToolAction(tool_name=tool, arguments=arguments))
            assert not seen.done and "error" in seen.observation.result


def test_what_cannot_be_played_is_an_error_of_one_line(url):
    with client(url) as env:
        for reset, found in (
            ({"split": "dev"}, "dev"),
            ({"index": 1000}, "1000"),
            ({"index": 0, "reward": "passes"}, "passes"),
            ({"index": 0, "colour": "red"}, "dialect, rules.*colour"),
            ({"row": {"colour": "red"}}, "colour"),
            ({"row": {"world": "/nowhere"}}, "'request'"),
        ):
            with pytest.raises(RuntimeError, match=found) as raised:
                env.reset(**reset)
            assert "\n" not in str(raised.value)
        with pytest.raises(RuntimeError, match="reset"):
            env.step(TripwrightEnv.action(EXPERT[0]))
        assert play(env, EXPERT)[0].reward == 1.0


def test_clients_play_at_once_and_one_too_many_is_refused(url):
    with client(url) as one, client(url) as two:
        first, second = one.reset(**HERE), two.reset(split="validation", index=4)
        assert first.observation.messages != second.observation.messages
        for message in EXPERT[:-1]:
            shown = one.step(TripwrightEnv.action(message)).observation.result
            assert "error" not in shown and shown != "[]"
            two.step(TripwrightEnv.action(said(BROKEN)))
        assert one.step(TripwrightEnv.action(EXPERT[-1])).reward == 1.0
        ended = two.step(TripwrightEnv.action(EXPERT[-1]))
        assert (ended.reward, ended.done) == (0.0, True)
        assert one.state().episode_id != two.state().episode_id
        with pytest.raises(RuntimeError, match="2/2|capacity"), client(url) as three:
            three.reset(**HERE)
    with client(url) as three:
        assert three.reset(seed=3, episode_id="mine").observation.messages
        assert three.state().episode_id == "mine"


def test_a_tool_host_that_dies_is_an_error_and_no_reward(url, tmp_path):
    folder = tmp_path / "world"
    assert main(f"world build --scale nano --seed 2000000 --out {folder}".split()) == 0
    row = {"world": str(folder), "request": QUERY.record()}
    with client(url) as env:
        assert play(env, EXPERT, row=row)[0].reward == 1.0
        env.reset(row=row)
        with open(folder / "world.sqlite", "r+b") as database:
            database.write(b"\1" * (folder / "world.sqlite").stat().st_size)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="search_ground|no verdict|malformed"):
                env.step(TripwrightEnv.action(EXPERT[0]))
        assert play(env, EXPERT)[0].reward == 1.0  # of a world that is whole


def test_an_episode_ends_with_its_server_and_begins_anew_at_the_next(server, url):
    with client(url) as env:
        before = env.reset(**HERE).observation.messages
        env.step(TripwrightEnv.action(EXPERT[0]))
        server.kill()
        with pytest.raises((RuntimeError, OSError)):
            env.step(TripwrightEnv.action(EXPERT[1]))
    server.start()
    with client(url) as env:
        result, heard = play(env, EXPERT)
        assert heard[:2] == before and result.reward == 1.0


def test_clients_that_know_only_the_protocol(url):
    with GenericEnvClient(base_url=url).sync() as env:
        tools = env.step({"type": "list_tools"}).observation["tools"]
        assert {"name", "description", "input_schema"} == tools[0].keys()
        env.reset(**HERE)
        result = env.step({"tool_name": "answer", "arguments": {"text": "<answer>[]</answer>"}})
        assert (result.reward, result.done, result.metadata["passed"]) == (0.0, True, False)
        one, other = (env.reset(seed=9, split="test").observation for _ in range(2))
        assert one == other
    found = AutoEnv.from_env("tripwright", base_url=url)
    assert isinstance(found, TripwrightEnv)
    with found.sync() as env:
        env.reset(**HERE)
        assert "Nowhere" in str(env.call_tool("search_restaurants", city="Nowhere"))
    task = httpx.post(f"{url}/tripwright_env/task", json={"split": "train", "index": 7}).json()
    assert task == {"task": {"id": "train-7", "split": "train", "index": 7}}  # and no solution
    asked = {"split": "test"}
    assert httpx.post(f"{url}/tripwright_env/num_tasks", json=asked).json() == {"num_tasks": 1000}


def test_openenv_validates_it(url):
    for words in ([str(PACKAGE), "--level", "static"], ["--url", url]):
        ended = CliRunner().invoke(openenv, ["validate", *words])
        assert ended.exit_code == 0 and "Verdict: PASS" in ended.output, ended.output
    manifest = OpenEnvYamlParser().parse(PACKAGE)
    plan = load_runtime_plan(PACKAGE, manifest.execution)
    evidence = collect_runtime_evidence(url, plan, episode_timeout_s=60)
    subject = Subject(PACKAGE, manifest, None, None, PACKAGE, evidence)
    for grader in (RewardWellFormedGrader, ObservationSchemaGrader, StateContractGrader):
        result = grader().run(subject)  # what `openenv validate` runs where there is Docker
        assert result.status == "pass", result
