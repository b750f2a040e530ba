"""The endpoint policy against an endpoint that is a script: what it is sent, what becomes of its
answers and of its faults."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, cast

import pytest

from tests.chat_rules import broken_rule
from tests.conftest import Letters, short_query
from tests.evals.conftest import choice_of
from tripwright.agent.chat import (
    CHARACTERS_PER_PROMPT_TOKEN,
    CHARACTERS_PER_TOKEN,
    ChatFormat,
    EstimatedTokens,
    ExactTokens,
)
from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import write_call
from tripwright.domains import dialect_named, dialects, domain_of
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Session, open_session
from tripwright.errors import UserError
from tripwright.evals.evaluate import choose_policy
from tripwright.llm.client import THOUGHTS, ChatEndpoint, Completion, Fault, RequestedCall
from tripwright.llm.endpoint import MOST_FAULTS
from tripwright.policies.endpoint import EndpointPolicy
from tripwright.policies.settings import PolicySettings
from tripwright.training.trips import GeneratedTrips, expert_session
from tripwright.transcript import StopReason, Transcript
from tripwright.world.store import World

Outcome = Completion | Fault | BaseException
ANSWER = Completion(
    *("<answer>[]</answer>", (), "stop"),
    {"prompt_tokens": 10.0, "completion_tokens": 4.0, "seconds": 0.5},
)
NANO = 3  # of `world`


class Script:
    """Stands in for ChatEndpoint: the n-th request of a conversation gets the n-th outcome, the
    last one for ever."""

    model = "scripted"

    def __init__(self, *outcomes: Outcome, before: Callable[[], None] = lambda: None):
        self.outcomes, self.before = outcomes, before
        self.requests: list[tuple[list[dict[str, Any]], Any]] = []
        self.budgets: list[int | None] = []

    def complete(
        self, sent: list[dict[str, Any]], tools: Any = None, max_tokens: int | None = None
    ) -> Completion | Fault:
        assert broken_rule({"model": "m", "messages": sent, "tools": tools}) is None
        self.requests.append((sent, tools))
        self.budgets.append(max_tokens)
        self.before()
        turn = sum(message["role"] == "assistant" for message in sent)
        outcome = self.outcomes[min(turn, len(self.outcomes) - 1)]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


def policy(script: Script, **settings: Any) -> EndpointPolicy:
    return EndpointPolicy(cast(ChatEndpoint, script), **settings)


def session(world: World, dialect: Dialect | None = None) -> Session:
    dialect = dialect or dialect_named("planner_r1")
    return open_session(TripTask("q", short_query(world), world), dialect)


def play_one(
    world: World, script: Script, dialect: Dialect | None = None, **settings: Any
) -> Session:
    (played,) = policy(script, **settings).play([session(world, dialect)])
    return played


def called(*calls: tuple[str, str], text: str = "", finish: str = "tool_calls") -> Completion:
    requested = tuple(
        RequestedCall(f"x{i}", name, arguments) for i, (name, arguments) in enumerate(calls)
    )
    return Completion(
        text, requested, finish, {"prompt_tokens": 5.0, "completion_tokens": 2.0, "seconds": 0.25}
    )


def test_several_native_calls_meet_the_dialects_rule(world):
    dialect = replace(dialect_named("planner_r1"), on_parallel="end")
    script = Script(called(*2 * [("calculator", '{"expression": "1+1"}')]), ANSWER)
    assert play_one(world, script, dialect).transcript.stop_reason is StopReason.FORMAT_ERROR


# ---- a dialect's limits


def long_answer(world: World) -> Completion:
    """A call that is answered at length."""
    return called(("search_restaurants", json.dumps({"city": next(iter(world.cities))})))


def test_an_answer_is_cut_at_the_dialects_limit(world):
    dialect = replace(dialect_named("planner_r1"), max_tool_tokens=40)
    script = Script(long_answer(world), ANSWER)
    transcript = play_one(world, script, dialect, counter=EstimatedTokens()).transcript
    whole, shown = transcript.calls[0].result, transcript.segments[3].text
    assert len(whole) > len(shown) == 40 * CHARACTERS_PER_TOKEN
    assert shown.endswith(f"… cut to 100 of {len(whole)} characters")
    assert script.requests[1][0][-1]["content"] == shown
    rows = transcript.calls[0].rows
    assert rows is not None and not rows.is_whole  # what was not shown is not in the rows
    uncounted = play_one(world, script, dialect).transcript
    assert uncounted.segments[3].text == whole


def test_the_context_is_counted_and_its_end_is_the_episodes(world):
    dialect = replace(
        dialect_named("planner_r1"), context_tokens=5_000, max_turn_tokens=2_000, on_overflow="end"
    )
    script = Script(long_answer(world))
    counter = EstimatedTokens(dialect.schemas() or ())
    played = play_one(world, script, dialect, counter=counter)
    assert played.transcript.stop_reason is StopReason.CONTEXT_OVERFLOW
    prompt, said = played.transcript.segments[:2], played.transcript.segments[2:]
    texts = [*(s.text for s in prompt), json.dumps(dialect.schemas())]
    assert played.length == pytest.approx(
        sum(map(len, texts)) / CHARACTERS_PER_PROMPT_TOKEN
        + sum(len(s.text) for s in said) / CHARACTERS_PER_TOKEN,
        rel=0.01,
    )
    assert script.budgets[0] == 2_000 > script.budgets[-1]
    assert all(budget and budget + 3_000 <= 5_000 + 2_000 for budget in script.budgets)


def test_a_tokenizer_counts_exactly(world):
    """Here one id a character: the tokens are those that its chat template makes."""
    dialect = replace(dialect_named("planner_r1"), max_tool_tokens=40, max_prompt_tokens=None)
    counter = ExactTokens(cast(ChatFormat, Letters()), "letters")
    played = play_one(world, Script(long_answer(world), ANSWER), dialect, counter=counter)
    segments = played.transcript.segments
    assert len(segments[3].text) == 40 and not played.transcript.has_tokens  # law 5: text alone
    assert played.length == sum(len(s.text) for s in segments) + 2 + 2 * 1


@pytest.mark.parametrize(
    "arguments", ["{broken", "[1]", "7", '"text"', "[" * 5000, "</tool_call>", "9" * 5000]
)
def test_arguments_that_are_no_object_are_the_models_format_error(world, arguments):
    transcript = play_one(world, Script(called(("calculator", arguments)))).transcript
    assert transcript.stop_reason is StopReason.FORMAT_ERROR


def test_half_a_surrogate_pair_can_be_sent_again(world):
    said = r'<tool_call>{"name":"get_cities","arguments":{"state":"\ud801"}}</tool_call>'
    as_text = Completion(said, (), "stop", {})
    script = Script(called(("get_cities", '{"state": "\\ud800"}')), as_text, ANSWER)
    transcript = play_one(world, script).transcript
    assert transcript.stop_reason is StopReason.ANSWER and len(transcript.calls) == 2
    for sent, _ in script.requests:
        json.dumps(sent, ensure_ascii=False).encode()


PLAYED = [(name, native) for name, each in dialects().items() for native in (True, False)]


@pytest.mark.parametrize(("name", "native"), PLAYED)
def test_a_whole_episode_keeps_to_the_published_rules(name, native, serve):
    """The expert's, said by a server that holds every request to the rules (`serve`), and that
    wants its thoughts back with native calls, as DeepSeek, Kimi and GLM do."""
    dialect, domain = dialect_named(name), domain_of(name)
    ((request, place),) = islice(GeneratedTrips(domain, ("nano",), 3, 1), 1)
    expert = expert_session(request, place, dialect, None)
    said = [s.text for s in expert.transcript.segments if s.role == "assistant"]
    asked: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        asked.append(request)
        turns = [message for message in request["messages"] if message["role"] == "assistant"]
        thoughts = [m["reasoning_content"] for m in turns if m.keys() & {"tool_calls", *THOUGHTS}]
        assert thoughts == [f"{n}" for n, _ in enumerate(turns) if "tools" in request]
        turn = said[len(turns)]
        message = {"role": "assistant", "content": turn}
        choice = choice_of(turn) if "tools" in request else {"message": message}
        choice["message"]["reasoning_content"] = f"{len(turns)}"
        usage = {"prompt_tokens": 9000, "completion_tokens": 900}
        return 200, json.dumps({"choices": [choice], "usage": usage}).encode(), {}

    endpoint = ChatEndpoint(serve(answer), "m", max_retries=0)
    policy = EndpointPolicy(endpoint, native_tools=native)
    (played,) = policy.play([open_session(expert.task, dialect)])
    assert played.transcript.stop_reason is StopReason.ANSWER, played.transcript.fault
    texts = [[s.text for s in each.transcript.segments] for each in (played, expert)]
    assert texts[0] == texts[1] and len(asked) == len(said) > 2
    written = json.loads(json.dumps(played.transcript.to_json()))
    assert Transcript.from_json(written) == played.transcript
    offered = expert.tools.schemas
    in_words = not (native and dialect.tools_in_prompt)
    if dialect.tools_in_prompt and not native:
        assert all(
            tool["function"]["name"] in asked[0]["messages"][0]["content"] for tool in offered
        )
    frames = [f"<tool_response>\n{text}\n</tool_response>" for text in texts[0][3::2]]
    users = [m["content"] for m in asked[-1]["messages"] if m["role"] == "user"]
    assert users[1:] == (frames if in_words else [])
    found = policy.check(dialect)
    assert (found["turn"], found["native_tools"]) == ("call", None if in_words else True)
    assert found["counts_tokens"] and len(asked) == len(said) + 1


CALL = write_call("calculator", {"expression": "1+1"})
DRAFT = write_call("calculator", {"expression": "2+2"})


def calling(*arguments: Any, **more: Any) -> dict[str, Any]:
    calls = [{"function": {"name": "calculator", "arguments": each}} for each in arguments]
    return {"content": None, "tool_calls": calls, "reasoning": "So.", **more}


ONE_SUM = '{"expression": "1+1"}'
FORMS: dict[str, dict[str, Any]] = {
    "text": {"content": f"<think>So.</think>{CALL}", "tool_calls": None},
    "parts": {"content": [{"type": "text", "text": each} for each in ("<think>So.</think>", CALL)]},
    "a thought among parts": {
        "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": f"So {DRAFT}."}]},
            {"type": "text", "text": CALL},
        ]
    },
    "reasoning": {"content": CALL, "reasoning": "So."},
    "reasoning_content": {"content": CALL, "reasoning_content": f"A </think>{DRAFT}<think>."},
    "no opening tag": {"content": f"So {DRAFT}?\n</think>\n{CALL}"},
    "several closing tags": {"content": f"So </think>{DRAFT}? <think> No.</think>{CALL}"},
    "arguments as an object": calling(json.loads(ONE_SUM)),
    "arguments as text": calling(ONE_SUM, content=""),
    "arguments as text twice": calling(json.dumps(ONE_SUM)),
    "several calls": calling(ONE_SUM, '{"expression": "2+2"}'),
}


@pytest.mark.parametrize("turns", [dialect_named(name).turns for name in ("planner_r1", "star")])
@pytest.mark.parametrize("form", FORMS)
def test_the_forms_in_which_endpoints_answer(world, serve, form, turns):
    """Each says the same call and nothing else that is run, in a lax and in a strict format."""
    said = [FORMS[form], {"content": "<think>So.</think><answer>[]</answer>"}]

    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        turns = [message for message in request["messages"] if message["role"] == "assistant"]
        assert all(turn.get(name) == said[0].get(name) for turn in turns for name in THOUGHTS)
        return 200, json.dumps({"choices": [{"message": said[len(turns)]}]}).encode(), {}

    dialect = replace(dialect_named("planner_r1"), turns=turns)
    endpoint = ChatEndpoint(serve(answer), "m", max_retries=0)
    (played,) = EndpointPolicy(endpoint).play([session(world, dialect)])
    assert [call.arguments for call in played.transcript.calls] == [{"expression": "1+1"}]
    assert played.transcript.stop_reason is StopReason.ANSWER, played.transcript.fault


def test_a_call_of_a_name_that_no_service_takes_is_words(world):
    odd = write_call("search the web", {})
    sent = play_one(world, script := Script(Completion(odd, (), "stop", {}), ANSWER)).transcript
    assert sent.stop_reason is StopReason.ANSWER and sent.calls[0].error
    assert [m["role"] for m in script.requests[1][0]] == ["system", "user", "assistant", "user"]


REFUSALS = {  # parameter → how OpenAI, OpenAI, a gateway and vLLM refuse it, and what cures it
    "max_tokens": ("use 'max_completion_tokens'", "--max-tokens-field max_completion_tokens"),
    "temperature": ("does not support 0 with this model", "--decoding server"),
    "chat_template_kwargs": ("unrecognized argument", "--thinking-field reasoning_effort"),
    "tools": ('"auto" tool choice requires --tool-call-parser', "--no-native-tools"),
}


def test_a_refused_parameter_is_answered_with_its_cure(serve, typed, refused):
    """By a service that refuses one after the other."""
    asked: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        asked.append(request)
        if broken := next((name for name in REFUSALS if name in request), None):
            error = {"message": f"'{broken}': {REFUSALS[broken][0]}"}
            return 400, json.dumps({"error": error}).encode(), {}
        message = {"content": "So.</think><answer>[]</answer>"}
        return 200, json.dumps({"choices": [{"message": message}]}).encode(), {}

    line = ["run --policy endpoint --model m --thinking off --base-url", serve(answer), "--check"]
    for _, cure in REFUSALS.values():
        assert cure.split()[0] in refused(*line)
        line += cure.split()
    found = typed(*line, "--json").record
    assert found["turn"] == "answer"
    assert found["max_tokens_field"] == "max_completion_tokens" and not found["counts_tokens"]
    assert found["thoughts"] == ["</think>"] and len(asked) == len(REFUSALS) + 1


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Fault("timeout", "slow", 3), StopReason.UNSCORED),
        (Fault("rejected", "no tools here"), StopReason.UNSCORED),
        (Fault("context_overflow", "too long"), StopReason.CONTEXT_OVERFLOW),
        (Completion("<answer>[", (), "length", {}), StopReason.MAX_TURN_TOKENS),
        (Completion("<answer>[]</answer>", (), "content_filter", {}), StopReason.CONTENT_FILTER),
        (Completion("", (), "stop", {}), StopReason.FORMAT_ERROR),
    ],
)
def test_why_an_episode_ends(world, outcome, reason):
    transcript = play_one(world, Script(outcome)).transcript
    assert transcript.stop_reason is reason
    assert (transcript.fault is not None) == (reason is StopReason.UNSCORED)
    said = [segment.role for segment in transcript.segments[2:]]
    assert said == ([] if isinstance(outcome, Fault) else ["assistant"])


def test_what_a_content_filter_ends_is_left_out_where_one_wants_it_so(world):
    cut = Completion("<answer>[]</answer>", (), "content_filter", {})
    played = play_one(world, Script(cut), spares_filtered=True).transcript
    assert played.stop_reason is StopReason.UNSCORED and len(played.segments) == 2
    with pytest.raises(UserError, match="failed, unscored"):
        settings = PolicySettings(model="m", base_url="http://localhost/v1", filtered="left-out")
        choose_policy(settings, dialect_named("planner_r1"))


def test_sessions_are_drawn_as_they_are_needed(world):
    drawn, gate, lock, most, running = 0, threading.Event(), threading.Lock(), 0, 0

    def many() -> Iterator[Session]:
        nonlocal drawn
        for _ in range(50):
            drawn += 1
            yield session(world)

    def slow() -> None:
        nonlocal most, running
        with lock:
            running += 1
            most = max(most, running)
        gate.wait(5)
        with lock:
            running -= 1

    playing = policy(Script(ANSWER, before=slow), concurrency=4).play(many())
    threading.Timer(0.05, gate.set).start()
    next(playing)
    assert drawn == 4
    assert len(list(playing)) == 49 and drawn == 50 and most <= 4


def test_a_dead_endpoint_is_not_asked_for_ever(world):
    script = Script(Fault("connection", "refused", 5))
    played = list(policy(script, concurrency=3).play(session(world) for _ in range(100)))
    assert len(played) == 100
    assert all(s.transcript.stop_reason is StopReason.UNSCORED for s in played)
    assert MOST_FAULTS <= len(script.requests) < MOST_FAULTS + 3
    assert "20 requests in a row had failed, the last because refused" in (
        played[-1].transcript.fault or ""
    )
    script.outcomes = (ANSWER,)
    again = play_one(world, script)  # the state belongs to one play()
    assert again.transcript.stop_reason is StopReason.ANSWER


@pytest.mark.parametrize("kind", ["rejected", "rate_limit"])
def test_refused_requests_do_not_count_as_a_dead_endpoint(world, kind):
    script = Script(Fault(kind, "bad"))
    played = list(policy(script, concurrency=1).play(session(world) for _ in range(30)))
    assert len(played) == len(script.requests) == 30


def test_nothing_is_asked_any_more_when_nobody_listens(world):
    """One episode ends, the other is in the middle of its first request when the consumer goes
    away."""
    gate, answered = threading.Event(), threading.Event()

    class Half(Script):
        def complete(
            self, sent: list[dict[str, Any]], tools: Any = None, max_tokens: int | None = None
        ) -> Completion | Fault:
            self.requests.append((sent, tools))
            if len(self.requests) == 1:
                return ANSWER
            gate.wait(5)
            answered.set()
            return called(("calculator", f'{{"expression": "{len(self.requests)}"}}'))

    script = Half()
    playing = policy(script, concurrency=2).play(session(world) for _ in range(2))
    next(playing)
    playing.close()  # type: ignore[attr-defined]
    gate.set()
    assert answered.wait(5)
    time.sleep(0.05)
    assert len(script.requests) == 2
