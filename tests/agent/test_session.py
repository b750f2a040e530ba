"""Limits and stop reasons of an episode, with a stand-in tokenizer of one id per character."""

import json
from dataclasses import replace
from typing import Any, cast

import pytest

from tests.conftest import STOP, Letters, short_query
from tripwright import episode
from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import write_call
from tripwright.domains import dialect_named, face_named
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Session, Turn
from tripwright.tools.answer import ToolAnswer
from tripwright.tools.faults import Faults, FaultyTools
from tripwright.tools.toolbox import ToolBox, Tools
from tripwright.transcript import StopReason, Transcript
from tripwright.world.store import World

NANO = 3  # of `world`


def open_session(
    world: World,
    dialect: Dialect | None = None,
    letters: bool = False,
    tools: Tools | None = None,
    id: str = "q",
    **limits: Any,
) -> Session:
    query = short_query(world)
    dialect = replace(dialect or dialect_named("compact"), **limits)
    chat = cast(ChatFormat, Letters()) if letters else None
    return episode.open_session(TripTask(id, query, world), dialect, chat, tools=tools)


def say(session: Session, text: str) -> list[int]:
    return session.take(Turn(text, session.chat.said(text) if session.chat else []))


def sum_of(n: int) -> str:
    return write_call("calculator", {"expression": f"{n}+1"})


def reason(session: Session) -> StopReason | None:
    return session.transcript.stop_reason


def test_an_answer_ends_it(world):
    session = open_session(world)
    say(session, sum_of(1))
    assert not session.done
    say(session, "Here: <answer> [] </answer>")
    assert reason(session) is StopReason.ANSWER and session.transcript.answer == "[]"
    assert session.transcript.turns == 2 and session.transcript.calls[0].result == '{"result":2}'


def test_the_same_call_again_ends_it_however_it_is_spelt(world):
    session = open_session(world)
    say(session, sum_of(1))
    otherwise = '{ "arguments": {"expression": "1+1"}, "name": "calculator" }'
    say(session, f"<tool_call>{otherwise}</tool_call>")
    assert reason(session) is StopReason.REPEATED_CALL
    assert len(session.transcript.calls) == 1


def test_a_wrong_call_is_answered_and_not_the_end(world):
    session = open_session(world)
    say(session, write_call("search_hotels", {}))
    assert not session.done and session.transcript.calls[0].error


def test_a_full_context_is_an_overflow(world):
    session = open_session(world, letters=True, max_tool_tokens=5, context_tokens=400)
    assert session.turn_budget <= 400 - len(session.transcript.token_ids)
    n = 0
    while not session.done:
        n += 1
        say(session, sum_of(n))
    assert reason(session) is StopReason.CONTEXT_OVERFLOW
    cut = open_session(world, letters=True, context_tokens=130)
    ids = [5] * cut.turn_budget
    cut.take(Turn("x", ids, [0.0] * len(ids), cut=True))
    assert reason(cut) is StopReason.CONTEXT_OVERFLOW


CUT: dict[str, Any] = {"letters": True, "on_overflow": "truncate", "max_tool_tokens": 10}
CUT |= {"context_tokens": 500, "max_turn_tokens": 100}


def test_the_oldest_exchanges_leave_a_context_that_is_full(world):
    """Planner-R1, section 2.1: the episode goes on, with the prompt, and with as many of the last
    exchanges as leave a turn its room."""
    session = open_session(world, **CUT, max_turns=11)
    prompt = session.context
    for n in range(11):
        assert session.turn_budget == 100 and session.length == len(session.context) <= 400
        assert session.context[: len(prompt)] == prompt
        say(session, sum_of(n))
        # what was asked and answered last is always there
        last = [i for segment in session.transcript.segments[-2:] for i in segment.token_ids]
        assert session.context[-len(last) :] == last
    transcript = session.transcript
    assert reason(session) is StopReason.MAX_TURNS and transcript.context_was_cut
    starts = [s.context_from for s in transcript.segments if s.role == "assistant"]
    assert starts == [None, None, None, None, 4, 6, 8, 10, 12, 14, 16]  # a place for three
    assert transcript.response_tokens <= 400 - len(prompt) + 100


def test_what_has_left_the_context_may_be_asked_again(world):
    session = open_session(world, **CUT, on_repeated="end")
    for n in (0, 1, 2, 3, 0):  # the first exchange has left when it is asked again
        say(session, sum_of(n))
    assert not session.done
    say(session, sum_of(0))
    assert reason(session) is StopReason.REPEATED_CALL


def test_prompt_and_response_have_limits_of_their_own(world):
    limits = {"letters": True, "context_tokens": 10_000, "max_turn_tokens": 100}
    long_prompt = open_session(world, max_prompt_tokens=90, **limits)
    assert long_prompt.turn_budget == 0
    long_prompt.overflow()  # as whoever plays it says
    assert reason(long_prompt) is StopReason.CONTEXT_OVERFLOW
    session = open_session(world, max_prompt_tokens=200, max_response_tokens=300, **limits)
    for n in range(9):
        if not session.done:
            say(session, sum_of(n))
    assert reason(session) is StopReason.CONTEXT_OVERFLOW
    assert 300 <= session.transcript.response_tokens < 500


def test_the_last_exchange_stays_and_without_room_after_it_the_episode_ends(world):
    session = open_session(world, **{**CUT, "context_tokens": 190, "max_turn_tokens": 160})
    say(session, sum_of(1))
    assert session.context_from is None and 0 < session.turn_budget < 160
    say(session, sum_of(10**40))
    assert session.context_from == 4  # the first left, and that did not help
    assert reason(session) is StopReason.CONTEXT_OVERFLOW


def test_planner_r1_has_the_papers_limits():
    limits = dialect_named("planner_r1")  # row P7
    assert (limits.max_prompt_tokens, limits.max_response_tokens) == (2268, 30500)
    assert limits.context_tokens == 2268 + 30500 and limits.max_tool_tokens == 8192
    assert (limits.max_turns, limits.max_calls, limits.on_overflow) == (30, 30, "truncate")


def test_only_what_the_agent_said_is_trained_on_and_a_long_answer_is_cut_on_the_right(world):
    session = open_session(world, letters=True, max_tool_tokens=4, context_tokens=10_000)
    text = sum_of(1)
    between = say(session, text)
    assert between == [1, *map(ord, '{"re'), 2]
    said = [*map(ord, text), STOP]
    transcript = session.transcript
    assert transcript.token_ids[-len(said) - len(between) :] == [*said, *between]
    assert sum(transcript.loss_mask) == len(said)
    assert transcript.loss_mask[-len(between) :] == [0] * len(between)
    # what was read, what was answered
    assert transcript.segments[-1].text == '{"re' and transcript.calls[0].result == '{"result":2}'
    assert session.length == len(transcript.token_ids)
    assert Transcript.from_json(transcript.to_json()) == transcript


# ---- mistakes that are answered


def test_an_unreadable_turn_can_be_answered_with_an_error(world):
    session = open_session(world, on_malformed="error", max_turns=3)
    say(session, "Hello")
    transcript = session.transcript
    assert not session.done and not transcript.calls
    assert transcript.problems == [StopReason.FORMAT_ERROR]
    said, told = transcript.segments[-2:]
    assert said.problem is StopReason.FORMAT_ERROR and (told.role, told.problem) == ("tool", None)
    assert "one <tool_call> or one <answer>" in json.loads(told.text)["error"]
    say(session, sum_of(1))
    assert not session.done and len(transcript.calls) == 1
    assert transcript.problems == [StopReason.FORMAT_ERROR]
    say(session, "Hello")
    assert reason(session) is StopReason.MAX_TURNS  # within its limits
    assert Transcript.from_json(json.loads(json.dumps(transcript.to_json()))) == transcript


def test_a_repeated_call_can_be_answered_with_an_error(world):
    session = open_session(world, on_repeated="error", max_calls=1)
    for _ in range(3):
        say(session, sum_of(1))
    assert not session.done
    assert session.transcript.problems == [StopReason.REPEATED_CALL] * 2
    assert len(session.transcript.calls) == 1
    say(session, sum_of(2))
    assert reason(session) is StopReason.MAX_CALLS
    say(other := open_session(world, on_repeated="error"), "Hello")
    assert reason(other) is StopReason.FORMAT_ERROR  # each mistake has its own setting


def test_of_two_calls_the_first_is_made_and_the_turn_stays_as_it_was_said(world):
    """Tokens in, tokens out: what the model emitted is trained on; only the first call runs."""
    session = open_session(world, letters=True, on_parallel="first", context_tokens=10_000)
    text = sum_of(1) + sum_of(2)
    say(session, text)
    transcript = session.transcript
    assert not session.done and [call.result for call in transcript.calls] == ['{"result":2}']
    turn, answer = transcript.segments[-2:]
    assert turn.text == text and turn.token_ids == [*map(ord, text), STOP] and all(turn.loss_mask)
    assert answer.text == '{"result":2}'
    say(session, f"{sum_of(3)}<answer>[]</answer>")  # a call that is beside an answer is made
    assert not session.done and len(transcript.calls) == 2
    say(session, "<answer>[]</answer><answer>[]</answer>")
    assert reason(session) is StopReason.FORMAT_ERROR  # no call at all is another mistake


def test_two_calls_can_end_it_or_be_answered_with_an_error(world):
    say(ended := open_session(world), sum_of(1) + sum_of(2))
    assert reason(ended) is StopReason.FORMAT_ERROR and not ended.transcript.calls
    told = open_session(world, on_parallel="error")
    say(told, sum_of(1) + sum_of(2))
    assert not told.done and told.transcript.problems == [StopReason.FORMAT_ERROR]
    assert "one <tool_call> or one <answer>" in told.transcript.segments[-1].text
    say(told, "Hello")
    assert reason(told) is StopReason.FORMAT_ERROR  # each mistake has its own setting


def test_appendix_is_loop_runs_to_the_thirtieth_turn(world):
    """Planner-R1, figure A.11: the base model calls the calculator and the restaurants again and
    again until the rollout's cap. Every call is answered, and always alike."""
    session = open_session(world, dialect_named("planner_r1"))
    city = next(iter(world.cities))
    while not session.done:
        say(session, sum_of(1))
        say(session, write_call("search_restaurants", {"city": city}))
    transcript = session.transcript
    assert reason(session) is StopReason.MAX_TURNS and transcript.turns == 30
    assert transcript.repeated_calls == 28 and not transcript.problems
    assert len({call.result for call in transcript.calls}) == 2


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("planner_r1", ("end", "answer", "first")),
        ("star", ("end", "answer", "end")),
        ("deeptravel", ("end", "answer", "end")),
        ("compact", ("end", "end", "end")),
        ("deeptravel_cards_compact", ("end", "end", "end")),
    ],
)
def test_each_dialect_has_its_papers_rules(name, rules):
    dialect = dialect_named(name)
    assert (dialect.on_malformed, dialect.on_repeated, dialect.on_parallel) == rules


def test_an_error_message_has_ids_that_are_not_trained_on(world):
    session = open_session(world, letters=True, on_malformed="error", context_tokens=10_000)
    between = say(session, "Hello")
    told = session.transcript.segments[-1]
    assert told.token_ids == between and not any(told.loss_mask)
    assert session.length == len(session.transcript.token_ids)
    cut = open_session(world, letters=True, on_malformed="error", context_tokens=10_000)
    cut.take(Turn("x", [5], [0.0], cut=True))
    # what was cut short has said nothing to answer to
    assert reason(cut) is StopReason.MAX_TURN_TOKENS


# ---- forks


def forkable(world: World, id: str) -> Session:
    return open_session(world, letters=True, id=id, context_tokens=10_000, max_turns=4)


def test_a_fork_goes_on_from_what_was_said_asked_and_answered(world):
    parent, fork = forkable(world, "q/0"), forkable(world, "q/1")
    say(parent, sum_of(1))
    fork.continue_from(parent)
    assert fork.transcript.token_ids == parent.transcript.token_ids and fork.length == parent.length
    assert (fork.transcript.parent, fork.transcript.forked_at) == ("q/0", parent.length)
    assert parent.transcript.parent is None
    written = json.loads(json.dumps(fork.transcript.to_json()))
    assert Transcript.from_json(written) == fork.transcript
    before = parent.transcript.to_json()
    say(fork, sum_of(2))
    assert parent.transcript.to_json() == before
    assert parent.length == len(parent.transcript.token_ids)
    say(parent, sum_of(2))  # what the fork asked is not asked here
    say(fork, sum_of(1))  # what was asked before the fork is
    assert not parent.done
    assert reason(fork) is StopReason.REPEATED_CALL
    assert fork.transcript.turns == 3


def test_only_a_fresh_session_of_the_same_prompt_becomes_a_fork(world):
    parent, begun, over = forkable(world, "a"), forkable(world, "b"), forkable(world, "c")
    say(parent, sum_of(1))
    say(begun, sum_of(2))
    say(over, "Hello")
    other = open_session(world, dialect_named("star"), letters=True)
    for fork, source in ((begun, parent), (forkable(world, "d"), over), (other, parent)):
        with pytest.raises(ValueError, match="forked while it lasts"):
            fork.continue_from(source)


# ---- faults


class Scripted:
    """Real tools whose next answers carry these faults, one each."""

    def __init__(self, world: World, faults: list[str | None]):
        self._tools, self._faults = ToolBox(world, face_named("compact")), faults
        self.face, self.schemas = self._tools.face, self._tools.schemas

    def call(self, name: str, arguments: Any) -> ToolAnswer:
        answer, fault = self._tools.call(name, arguments), self._faults.pop(0)
        return replace(answer, fault=fault)


@pytest.mark.parametrize("fault", ["unavailable", "unavailable timeout"])
def test_what_a_fault_kept_from_its_answer_may_be_asked_again(world, fault):
    session = open_session(world, tools=Scripted(world, [fault, fault, None]))
    for _ in range(3):
        say(session, sum_of(1))
    faults = [call.fault for call in session.transcript.calls]
    assert not session.done and faults == [fault, fault, None]
    say(session, sum_of(1))
    assert reason(session) is StopReason.REPEATED_CALL


def test_calls_without_an_answer_are_calls_all_the_same(world):
    tools = FaultyTools(ToolBox(world, face_named("compact")), Faults(probability=1.0), "q1")
    session = open_session(world, tools=tools, max_calls=3)
    for _ in range(4):
        say(session, sum_of(1))
    assert reason(session) is StopReason.MAX_CALLS
    assert [call.fault for call in session.transcript.calls] == ["unavailable"] * 3


def test_faults_are_in_the_transcript(world):
    session = open_session(world, tools=Scripted(world, ["unavailable"]))
    say(session, sum_of(1))
    written = session.transcript.to_json()
    assert Transcript.from_json(written) == session.transcript


# ---- the prompt


def test_a_prompt_that_asks_for_the_tools_holds_their_schemas(world):
    dialect = dialect_named("star")
    session = open_session(world, dialect, tools=ToolBox(world, face_named("star"), page_rows=5))
    prompt = session.transcript.segments[0].text
    assert "{{" not in prompt and prompt.startswith("You are a helpful travel assistant.")
    lines = [line for line in prompt.splitlines() if line.startswith('{"name"')]
    listed = [json.loads(line) for line in lines if "parameters" in line]
    assert listed == [schema["function"] for schema in session.tools.schemas]
    assert "page" in listed[1]["parameters"]["properties"]
    assert open_session(world).transcript.segments[0].text == dialect_named("compact").system_prompt
