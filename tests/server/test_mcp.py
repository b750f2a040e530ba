"""A world for assistants, asked by the SDK's own client: over stdio, started as the configuration
files of docs/serving.md say, and over HTTP, from a real server."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")
httpx2 = pytest.importorskip("httpx2")
from mcp import Client, StdioServerParameters

import tripwright
from tests.server.conftest import serving
from tripwright.domains import face_named
from tripwright.tools.toolbox import ToolBox

DOCS = Path(__file__).resolve().parents[2] / "docs" / "serving.md"
WORDS = "Plan a trip from Ashelmont to Orford, 2022-03-01 to 2022-03-03, for 2 people with ${}."
FIELDS = {"origin": "Ashelmont", "destination": "Orford", "party_size": 2, "budget_usd": 1900}
FIELDS |= {"depart_date": "2022-03-01", "return_date": "2022-03-03"}
CITY, WAY = {"city": "Orford"}, {"origin": "Ashelmont", "destination": "Orford"}
CALLS = {
    "search_flights": {**WAY, "date": "2022-03-01"},
    **{f"search_{what}": CITY for what in ("accommodations", "restaurants", "attractions")},
    "search_ground_transportation": {**WAY, "mode": "taxi"},
    "get_cities": {"state": "Thoreria"},
    "calculator": {"expression": "6 * 7"},
}
PLANNING = ["plan_trip", "explain_infeasible", "score_plan"]


def configured(key: str, folder: Path) -> StdioServerParameters:
    """What the configuration file under this key starts, in this world."""
    blocks = re.findall(r"```json\n(.*?)```", DOCS.read_text(), re.DOTALL)
    (server,) = (json.loads(block)[key]["trips"] for block in blocks if f'"{key}"' in block)
    *words, world = server["args"]
    assert server["command"].endswith("/tripwright") and world.endswith("/worlds/nano7")
    words = ["-m", "tripwright", *words, str(folder)]
    return StdioServerParameters(command=sys.executable, args=words)


@contextmanager
def served(over: str, folder: Path) -> Iterator[Any]:
    if over != "http":
        yield configured(over, folder)
        return
    with serving("--world", str(folder), "--port", "0", verb="mcp") as server:
        yield f"{server.url}/mcp"


@pytest.mark.parametrize(
    ("over", "mode"),
    # legacy: the handshake of before 2026-07-28, which assistants still speak
    [("mcpServers", "auto"), ("servers", "legacy"), ("http", "auto"), ("http", "legacy")],
)
def test_the_sdks_client_calls_every_tool(over, mode, world_folder, world):
    box = ToolBox(world, face_named("planner_r1"))

    async def ask(server: Any) -> None:
        async with Client(server, mode=mode) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == [*CALLS, *PLANNING]
            of_face = [schema["function"]["parameters"] for schema in box.schemas]
            assert [tool.input_schema for tool in tools[: len(CALLS)]] == of_face
            for name, arguments in CALLS.items():
                answer = await client.call_tool(name, arguments)
                assert not answer.is_error
                assert answer.content[0].text == box.call(name, arguments).text
            planned = await client.call_tool("plan_trip", {"text": WORDS.format("1,900")})
            found = planned.structured_content
            assert found == json.loads(planned.content[0].text)
            solved = tripwright.solve(found["query"], world)
            assert (found["plan"], found["cost_usd"]) == (solved["plan"], solved["cost_usd"])
            again = (await client.call_tool("plan_trip", FIELDS)).structured_content
            assert {**again, "seconds": 0} == {**found, "seconds": 0}
            score = await client.call_tool("score_plan", {**FIELDS, "plan": found["plan"]})
            assert score.structured_content == found["verdict"] and found["verdict"]["final"]
            short = {"text": WORDS.format("1,900"), "plan": found["plan"][:1], "rules": "official"}
            verdict = (await client.call_tool("score_plan", short)).structured_content
            assert not verdict["final"] and verdict["rules"] == "official"
            poor = {"text": WORDS.format("19")}
            refused = (await client.call_tool("plan_trip", poor)).structured_content
            assert (refused["status"], refused["plan"]) == ("infeasible", None)
            why = (await client.call_tool("explain_infeasible", poor)).structured_content
            assert why["explanation"]["conflict"] == ["budget: $19"] and why["changes"]

    with served(over, world_folder) as server:
        asyncio.run(ask(server))


def test_what_is_not_understood_is_named_and_nothing_is_planned(world_folder: Path) -> None:
    mistakes = [
        ("get_cities", {"stat": "Thoreria"}, "'stat'"),
        ("get_city", {}, "get_city"),
        ("plan_trip", {"text": f"{WORDS.format('1,900')} And a jacuzzi."}, "jacuzzi'"),
        ("plan_trip", {"text": WORDS.format("1,900 or $1,200")}, "'or'"),
        ("explain_infeasible", {"text": "Somewhere nice."}, "nice'"),
        ("plan_trip", {"text": WORDS.format("1,900"), "budget_usd": 3}, "budget_usd"),
        ("plan_trip", {}, "depart_date: Leave on: something is needed"),
        ("plan_trip", {**FIELDS, "jacuzzi": True}, "Accepted: origin,"),
        ("plan_trip", {**FIELDS, "origin": "Orfort"}, "Orford"),
        ("score_plan", FIELDS, "a list of days"),
        ("score_plan", {**FIELDS, "plan": [], "rules": "kind"}, "'kind'"),
    ]

    async def ask() -> None:
        async with Client(configured("servers", world_folder)) as client:
            for name, arguments, words in mistakes:
                answer = await client.call_tool(name, arguments)
                (said,) = answer.content
                assert answer.is_error and answer.structured_content is None, (name, arguments)
                assert words in said.text and "\n" not in said.text, said.text

    asyncio.run(ask())


def test_stdout_is_the_protocols_alone_and_its_end_is_the_end(world_folder: Path) -> None:
    params = {"protocolVersion": "2025-06-18", "capabilities": {}}
    params["clientInfo"] = {"name": "test", "version": "1"}
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    command = [sys.executable, "-m", "tripwright", "mcp", "--world", str(world_folder)]
    spoken = f"no JSON\n{json.dumps(first)}\n"
    ended = subprocess.run(command, input=spoken, capture_output=True, text=True, timeout=60)
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    assert answers[-1]["result"]["serverInfo"]["name"] == "tripwright"
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    assert ended.returncode == 0 and "Traceback" not in ended.stderr


def test_pages_of_other_sites_are_not_heard(world_folder: Path) -> None:
    evil = [(403, "host", "evil.example"), (403, "origin", "https://evil.example")]
    with served("http", world_folder) as url:
        for status, header, value in [*evil, (415, "content-type", "text/plain")]:
            sent = {"content-type": "application/json", header: value}
            answer = httpx2.post(url, content=b"{}", headers=sent, timeout=60)
            assert answer.status_code == status
        call = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "method": "tools/list"}'
        asked = {"content-type": "application/json", "accept": "application/json"}
        twice = httpx2.post(url, content=call, headers=asked, timeout=60)
        assert twice.status_code == 400 and "twice" in twice.text
        large = httpx2.post(url, content=f'"{"x" * 2_000_000}"', headers=asked, timeout=60)
        assert large.status_code == 413


def test_a_folder_that_is_no_world_is_one_line(refused: Any) -> None:
    for options in ([], ["--port", "0"]):
        assert "nowhere" in refused("mcp", ["--world", "nowhere", *options])
