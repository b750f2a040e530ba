"""One episode, whoever carries it: the same task, seed and turns give the same tool texts, verdict
and reward as `tripwright.play`. A bridge is a function (serve, turns) → Told, one of BRIDGES."""

import asyncio
import json
import pickle
import socket
import threading
from dataclasses import fields, replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

import tripwright
from tests.bridges.test_gateway import QUERY, ROW, expert, scripted, through
from tests.conftest import STOP, Letters
from tests.evals.conftest import choice_of
from tripwright.agent.dialect import Dialect
from tripwright.bridges import EpisodeFault, OpenEpisode
from tripwright.bridges.gateway import dialect_of, world_of
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Session, Turn, open_session
from tripwright.policies.base import ScriptedPolicy
from tripwright.rewards.spec import dense, terms
from tripwright.tools.toolbox import ToolBox, ToolHostDown
from tripwright.transcript import Transcript
from tripwright.verdict import Verdict

TASK = {**ROW, "reward": "dense"}
TRIP = TripTask("t", QUERY, world_of(TASK), rules=TASK["rules"])
TOKENS = [each.name for each in fields(Dialect) if each.name.endswith("_tokens")]
EXPERT = expert()
BROKEN = '<tool_call>{"name": "search_restaurants", "arguments": {"city": </tool_call>'
UNKNOWN = '<tool_call>{"name": "search_restaurants", "arguments": {"city": "Bostn"}}</tool_call>'

# tool texts, and what the episode came to: None where it is unscored
Told = tuple[list[str], dict[str, Any] | None]


def told(transcript: Transcript, verdict: Verdict | None) -> Told:
    texts = [segment.text for segment in transcript.segments if segment.role == "tool"]
    if verdict is None:
        return texts, None
    parts, stop = terms(verdict), str(transcript.stop_reason)
    reward = sum(parts.values())  # the dense one
    return texts, {"passed": verdict.final, "reward": reward, "stop": stop, **parts}


def nth(turns: list[str], number: int) -> str:
    return turns[min(number, len(turns) - 1)]


def message(turn: str) -> dict[str, Any]:
    """By a native call, where the turn has a readable one."""
    try:
        return choice_of(turn)["message"]
    except ValueError:
        return {"role": "assistant", "content": turn}


def played(turns: list[str]) -> Told:
    def play_one(session: Session) -> None:
        while not session.done:
            session.take(Turn(nth(turns, session.transcript.turns)))

    policy, how = ScriptedPolicy("script", play_one), {"rules": TASK["rules"]}
    (found,) = tripwright.play(policy, [QUERY], TRIP.world, dialect=dialect_of(TASK), **how)
    return told(found.transcript, found.verdict)


def gateway(serve: Any, turns: list[str]) -> Told:
    requests: list[dict[str, Any]] = []
    url = serve(scripted([message(turn) for turn in turns], requests))
    try:
        found = asyncio.run(through(url, TASK))
    except EpisodeFault:
        return [], None
    said = [m["content"] for m in requests[-1]["messages"][2:] if m["role"] != "assistant"]
    return unwrapped(said), outcome_of(found)


def unwrapped(said: list[str]) -> list[str]:
    """What users say for tools that had no call to answer, as it is shown elsewhere."""
    return [t.removeprefix("<tool_response>\n").removesuffix("\n</tool_response>") for t in said]


def outcome_of(found: dict[str, Any]) -> dict[str, Any]:
    rates = {name: rate for name, rate in found["metrics"].items() if name[-3:] in ("cro", "ass")}
    return {name: found[name] for name in ("passed", "reward", "stop")} | rates


def opened(serve: Any, turns: list[str]) -> Told:
    episode, shown = OpenEpisode(TASK), []
    assert [each["role"] for each in episode.messages] == ["system", "user"] and episode.tools
    try:
        while not episode.over:
            said = message(nth(turns, len(shown)))
            text = said["content"]
            for call in said.get("tool_calls", ()):
                shown.append(episode.call(**call["function"], said=text))
            if "tool_calls" not in said:
                shown.append(episode.answer(text))
        return [text for text in shown if text], outcome_of(episode.outcome())
    except EpisodeFault:
        with pytest.raises(EpisodeFault):
            episode.outcome()
        return [], None


def inspect(serve: Any, turns: list[str]) -> Told:
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from tripwright.bridges.inspect_ai.trips import EPISODE, episode, final

    def say(messages: list[Any], *_: Any) -> ModelOutput:
        said = message(nth(turns, sum(message.role == "assistant" for message in messages)))
        output = ModelOutput.from_content("mock", said["content"])
        if calls := said.get("tool_calls"):
            name, arguments = calls[0]["function"].values()
            output = ModelOutput.for_tool_call("mock", name, json.loads(arguments))
        output.usage = ModelUsage(input_tokens=9, output_tokens=9, total_tokens=18)
        return output

    task = inspect_ai.Task(
        dataset=MemoryDataset([Sample(QUERY.query, id="t")]),
        solver=episode({"t": TRIP}, dialect_of(TASK), native_tools=True, samples=1),
        scorer=final(),
        fail_on_error=False,
    )
    model = get_model("mockllm/model", custom_outputs=say)
    (log,) = inspect_ai.eval(task, model=model, display="none", log_dir="memory://logs")
    (sample,) = log.samples
    record = sample.store[EPISODE]
    assert bool(sample.error) is (record["verdict"] is None)  # which is in no rate of Inspect's
    verdict = record["verdict"] and Verdict.from_record(record["verdict"])
    return told(Transcript.from_json(record["transcript"]), verdict)


def verl(serve: Any, turns: list[str]) -> Told:
    pytest.importorskip("verl")
    from tripwright.bridges.verl.inside.loop import EpisodeAgentLoop

    class Characters(Letters):
        stop_id, decode = STOP, staticmethod(lambda ids: "".join(map(chr, ids)))

    chat = Characters()  # whose limits are wide: a character is a token
    session = open_session(TRIP, replace(dialect_of(TASK), **dict.fromkeys(TOKENS, 10**6)), chat)

    async def generate(**_: Any) -> Any:
        ids = chat.said(nth(turns, session.transcript.turns))
        return SimpleNamespace(token_ids=ids, log_probs=[0.0] * len(ids), extra_fields={})

    loop = object.__new__(EpisodeAgentLoop)
    loop.chat, loop.rollout_config = chat, SimpleNamespace(name="vllm")
    loop.server_manager = SimpleNamespace(generate=generate)
    loop.conditions = SimpleNamespace(open=lambda *_: session, rewards=[dense])
    row = {"trip": 0, "episode": "e", "session_id": 0, "global_steps": 1, "curriculum_stage": 0}
    (output,) = asyncio.run(loop.run({}, **row))
    transcript, verdict, _, reward = pickle.loads(output.extra_fields["episode"])
    assert (reward is None) is (verdict is None)  # which leaves its group
    assert output.reward_score == (reward.total if reward else 0.0)
    return told(transcript, verdict)


@cache
def openenv_server() -> str:
    """In this process, so that a test can break its tools."""
    import uvicorn
    from tripwright_env.server.app import app

    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    threading.Thread(target=server.run, args=([listening],), daemon=True).start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


def openenv(serve: Any, turns: list[str]) -> Told:
    pytest.importorskip("tripwright_env")
    from tripwright_env import TripwrightEnv

    shown: list[str] = []
    with TripwrightEnv(base_url=openenv_server()).sync() as env:
        result = env.reset(row=TASK)
        while not result.done:
            said = message(nth(turns, len(shown)))
            try:
                result = env.step(TripwrightEnv.action(said))
            except RuntimeError as error:
                assert "no route to host" in str(error)
                return [], None
            shown.append(result.observation.result)
    found = {"reward": result.reward, **result.observation.metadata}
    return [text for text in shown if text], outcome_of(found)


def trl(serve: Any, turns: list[str]) -> Told:
    pytest.importorskip("trl", reason="needs the extra trl")
    from tests.bridges.test_trl_grpo import rolled_out

    trainer, made = rolled_out(TASK, turns)
    completion = trainer._logs["completion"][-1]
    if trainer._metrics["train"]["unscored"][-1]:
        assert made["advantages"].tolist() == [0.0, 0.0]
        return [], None
    found = outcome_of(trainer.environments[-1].episode.outcome())
    assert trainer._logs["rewards"]["verdict"][-1] == pytest.approx(found["reward"])
    return [m["content"] for m in completion if m["role"] == "tool"], found


def verifiers(serve: Any, turns: list[str]) -> Told:
    pytest.importorskip("verifiers")
    from tests.bridges.test_verifiers import rollout, texts, whole

    trace, found = rollout(serve(whole(scripted([message(turn) for turn in turns]))), TASK)
    return (unwrapped(texts(trace)), outcome_of(found)) if found else ([], None)


BRIDGES = [gateway, opened, openenv, inspect, verl, trl, verifiers]


@pytest.mark.parametrize("bridge", BRIDGES)
@pytest.mark.parametrize(
    ("turns", "passed", "stop"),
    [
        (EXPERT, True, "answer"),
        ([UNKNOWN, BROKEN, *EXPERT], True, "answer"),
        ([*EXPERT[:-1], "<answer>[]</answer>"], False, "answer"),
        ([*EXPERT[:-1], EXPERT[-1].replace(QUERY.dest, "Nowhere")], False, "answer"),
        ([BROKEN], False, "max_turns"),
        (["I would love to!"], False, "max_turns"),
    ],
    ids=["expert", "mended", "empty", "wrong", "malformed", "prose"],
)
def test_the_same_turns_are_worth_the_same(turns, passed, stop, bridge, serve):
    if bridge is trl and BROKEN in turns:  # its loop ends with a message without a readable call
        turns, passed, stop = turns[: turns.index(BROKEN) + 1], False, "max_turns"
    texts, outcome = played(turns)
    assert outcome and (outcome["passed"], outcome["stop"]) == (passed, stop)
    shown, found = bridge(serve, turns)
    assert found == outcome
    assert shown == texts[: len(shown)]
    if stop != "max_turns":
        assert len(shown) == len(texts)
    elif bridge is not trl:  # what answers the last turn that the limits allow is sent to nobody
        assert len(shown) >= len(texts) - 1


@pytest.mark.parametrize("bridge", BRIDGES)
def test_a_dead_tool_host_is_unscored(bridge, serve, monkeypatch):
    def dead(*_: Any) -> None:
        raise ToolHostDown("no route to host")

    monkeypatch.setattr(ToolBox, "call", dead)
    assert played(EXPERT) == ([], None) == bridge(serve, EXPERT)
