"""Chat completions of a checkpoint: the openai package against them, `--policy endpoint` against
`--policy local`, sessions as sequences of tokens, and a stranger's agent that is trained."""

import copy
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import SameTrip
from tripwright.agent.chat import ChatFormat, ExactTokens
from tripwright.agent.turn import Call, calls_of, write_call
from tripwright.domains import dialect_named, domain_named
from tripwright.episode import Session, open_session
from tripwright.errors import UserError
from tripwright.files import shared_token
from tripwright.llm.client import ChatEndpoint
from tripwright.policies.endpoint import EndpointPolicy
from tripwright.training.trips import GeneratedTrips, expert_session

torch = pytest.importorskip("torch")
httpx2, uvicorn = pytest.importorskip("httpx2"), pytest.importorskip("uvicorn")
openai = pytest.importorskip("openai")

from tests.training.test_sft import Given, steps_of
from tripwright.inference.local import LocalPolicy, Sampling
from tripwright.inference.service import TokenService
from tripwright.server import model_api
from tripwright.server.guard import Guard
from tripwright.server.model_api import ModelApi
from tripwright.server.serving import open_port, url_of
from tripwright.training.grpo import Grpo, GrpoSettings
from tripwright.training.optim import OptimizerSettings
from tripwright.training.served import RolloutServer
from tripwright.training.sft import FineTuning, SftSettings

pytestmark = pytest.mark.usefixtures("one_thread")
COMPACT = replace(dialect_named("compact"), max_turn_tokens=400, context_tokens=2048)
AGENT = "tests.server.openai_agent"


@pytest.fixture(scope="module")
def trip() -> Any:
    trips = GeneratedTrips(domain_named("travelplanner"), ("nano",), 0, 4)
    request, world = next(itertools.islice(trips, 1, None))
    return domain_named("travelplanner").task("trip", request, world)


@pytest.fixture(scope="module")
def taught(trip: Any, tiny_model: Any, nano_tokenizer: Any, chat: Any) -> Any:
    """A model that plays one trip as the expert does, not quite by heart."""
    shape = {"hidden_size": 64, "intermediate_size": 128}
    model = tiny_model("qwen3", len(nano_tokenizer), **shape)
    shown = expert_session(trip.request, trip.world, dialect_named("compact"), chat).transcript
    rate = OptimizerSettings(name="adamw", adamw_learning_rate=5e-3)
    settings = SftSettings(steps=150, batch_size=1, dtype="float32", optimizer=rate)
    steps_of(FineTuning(model, Given([shown]), settings))
    return model


class Gateway:
    """`tripwright serve model` in a thread, and what its engine was asked and sampled."""

    def __init__(self, model: Any, tokenizer: Any, folder: Any):
        self.service, self.token = TokenService(model, rows=8), folder / "token"
        self.api = ModelApi(self.service, tokenizer, "nano", self.token)
        self.sampled = list[tuple[list[int], Any]]()
        sample = self.service.sample

        def noted(name: str, prompt: list[int], *how: Any) -> Any:
            self.sampled.append((prompt, turn := sample(name, prompt, *how)))
            return turn

        self.service.sample = noted  # type: ignore[method-assign]
        self.listener = open_port("127.0.0.1", 0)
        self.url = url_of(self.listener)
        app = Guard(self.api.app, "127.0.0.1", [])
        config = uvicorn.Config(app, log_level="critical", ws="none", timeout_graceful_shutdown=5)
        self.server, how = uvicorn.Server(config), {"sockets": [self.listener]}
        self.thread = threading.Thread(target=self.server.run, kwargs=how, daemon=True)
        self.thread.start()

    def client(self, session: str = "") -> Any:
        base = f"{self.url}/sessions/{session}/v1" if session else f"{self.url}/v1"
        return openai.OpenAI(base_url=base, api_key="none", max_retries=0)

    def session(self, name: str, ask: Any = httpx2.get) -> Any:
        key = {"Authorization": f"Bearer {shared_token(self.token)}"}
        return ask(f"{self.url}/sessions/{name}", headers=key).json()["sequences"]


@pytest.fixture
def serve(nano_tokenizer: Any, tmp_path: Any, monkeypatch: Any) -> Iterator[Callable[..., Any]]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    made = list[Gateway]()

    def start(model: Any) -> Gateway:
        made.append(Gateway(copy.deepcopy(model), nano_tokenizer, tmp_path))
        return made[-1]

    yield start
    for gateway in made:
        gateway.server.should_exit = True
        gateway.thread.join()
        gateway.service.forget()  # when its last batch is done


def played(policy: Any, trip: Any, dialect: Any, chat: Any = None) -> Session:
    return next(iter(policy.play([open_session(trip, dialect, chat)])))


def ids_of(turns: list[dict[str, Any]]) -> list[int]:
    return [t for turn in turns for t in turn["prompt_token_ids"] + turn["token_ids"]]


# ---- the openai package


def test_the_client_chats_with_and_without_a_stream(serve, taught, trip):
    gateway = serve(taught)
    ask = gateway.client().chat.completions.create
    assert [model.id for model in gateway.client().models.list()] == ["nano"]
    first, tools = open_session(trip, COMPACT).transcript.segments, COMPACT.offered()
    messages = [{"role": segment.role, "content": segment.text} for segment in first]
    how = {"model": "nano", "messages": messages, "temperature": 0, "max_completion_tokens": 400}
    words = ask(**how, logprobs=True)
    text = words.choices[0].message.content
    assert words.choices[0].finish_reason == "stop"
    content = words.choices[0].logprobs.content
    assert "".join(piece.token for piece in content).startswith(text)
    assert words.usage.completion_tokens == len(content)
    assert words.usage.prompt_tokens == len(gateway.sampled[0][0])

    native = ask(**how, tools=tools).choices[0]
    (asked,) = native.message.tool_calls
    assert write_call(asked.function.name, json.loads(asked.function.arguments)) == text
    assert native.finish_reason == "tool_calls" and asked.id and not native.message.content

    def streamed(least: int = 0, **more: Any) -> Any:
        with gateway.client().chat.completions.stream(**how, **more) as stream:
            assert sum(event.type == "chunk" for event in stream) > least
            return stream.get_final_completion().choices[0]

    assert streamed(10).message.content == text
    assert streamed(logprobs=True).logprobs.content == content
    whole = streamed(tools=tools)
    assert whole.message.tool_calls[0].function.arguments == asked.function.arguments
    assert whole.finish_reason == "tool_calls" and not whole.message.content
    for stopped in (ask(**how, stop=text[4:9]).choices[0], streamed(stop=[text[4:9]])):
        assert (stopped.message.content, stopped.finish_reason) == (text[:4], "stop")
    assert ask(**{**how, "max_completion_tokens": 3}).choices[0].finish_reason == "length"
    seeded = [ask(**{**how, "temperature": 1.5}, seed=n).choices[0].message for n in (1, 1, 2)]
    assert seeded[0].content == seeded[1].content != seeded[2].content


IMAGE = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]
REFUSED: dict[str, Any] = {"n": 2, "tool_choice": "required", "presence_penalty": 0.5,
                           "response_format": {"type": "text"}, "messages": IMAGE}  # fmt: skip


def test_what_is_not_known_is_refused_by_name(serve, taught):
    gateway = serve(taught)
    ask = gateway.client().chat.completions.create
    how = {"model": "nano", "messages": [{"role": "user", "content": "A trip."}]}
    for name, value in REFUSED.items():
        with pytest.raises(openai.BadRequestError, match=name):
            ask(**{**how, name: value})
    for length in (
        {"max_tokens": 10**6},
        {"messages": [{"role": "user", "content": "a " * 10**7}]},
    ):
        with pytest.raises(openai.BadRequestError, match="maximum model length"):
            ask(**{**how, **length})
    half = [{"role": "user", "content": [{"type": "text"}]}]
    for named, wrong in (
        ("text", {"messages": half}),
        ("function", {"tools": [{"type": "function"}]}),
    ):
        with pytest.raises(openai.BadRequestError, match=named):
            ask(**{**how, **wrong})
    with pytest.raises(openai.NotFoundError):
        ask(**{**how, "model": "gpt"})
    for route, wrong in (
        ("chat/completions", {"messages": [{"role": "user", "content": "\ud800"}]}),
        ("chat/completions", {"model": "\ud800"}),
        ("completions", {"prompt": "\ud800"}),
    ):
        answer = httpx2.post(f"{gateway.url}/v1/{route}", content=json.dumps({**how, **wrong}),
                             headers={"Content-Type": "application/json"})  # fmt: skip
        assert answer.status_code == 400 and "string" in answer.text
    assert httpx2.get(f"{gateway.url}/sessions/x").status_code == 401
    for named_as_a_free_route in ("x/v1/models", "x/v1/chat/completions"):
        address = f"{gateway.url}/sessions/{named_as_a_free_route}"
        assert httpx2.delete(address).status_code == 401


@pytest.mark.parametrize("text", [
    "no call", "<think>a <tool_call> b</think> <tool_call>{}</tool_call>", "<tool_call>{",
    f"{write_call('a', {})} and words", "<tool_call>{\"name\":\"a\"}</tool_call>",
])  # fmt: skip
def test_what_is_not_words_and_then_calls_stays_words(text):
    assert calls_of(text) == (text, [])
    calls = [Call("a", {"x": 1}), Call("b", {})]
    written = "".join(write_call(call.name, call.arguments) for call in calls)
    assert calls_of(f"<think>t</think>I look. {written}\n") == ("<think>t</think>I look. ", calls)


def test_completions_are_asked_as_the_client_asks(serve, taught, chat, nano_tokenizer):
    gateway = serve(taught)
    ask = gateway.client().completions.create
    prompt = chat.opening("", "A trip to Orford.")
    said = ask(model="nano", prompt=prompt, temperature=0, max_tokens=400)
    (future,) = (future for _, future in gateway.sampled)
    turn, choice = future.result(), said.choices[0]
    assert turn.token_ids[-1] == nano_tokenizer.eos_token_id and choice.finish_reason == "stop"
    assert choice.text == chat.decode(turn.token_ids[:-1]) and choice.logprobs is None
    words = ask(model="nano", prompt="A trip to Orford.", max_tokens=3, logprobs=1)
    assert words.usage.prompt_tokens == len(nano_tokenizer.encode("A trip to Orford."))
    assert len(words.choices[0].logprobs.token_logprobs) == 3
    with pytest.raises(openai.BadRequestError, match="ignore_eos"):
        ask(model="nano", prompt=prompt, extra_body={"stop_token_ids": [1]})
    on = ask(model="nano", prompt=prompt, max_tokens=500, extra_body={"ignore_eos": True})
    assert on.choices[0].finish_reason == "length"


def test_a_long_prompt_stops_nobody(serve, taught, monkeypatch):
    gateway, encoding, going_on = serve(taught), threading.Event(), threading.Event()
    prompt = ChatFormat.prompt

    def slow(chat: Any, messages: Any) -> Any:
        encoding.set()
        assert going_on.wait(30)
        return prompt(chat, messages)

    monkeypatch.setattr(ChatFormat, "prompt", slow)
    how = {"model": "nano", "messages": [{"role": "user", "content": "A trip."}], "max_tokens": 1}
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(gateway.client().chat.completions.create, **how)
        assert encoding.wait(30)
        try:
            assert httpx2.get(f"{gateway.url}/health", timeout=5).status_code == 200
        finally:
            going_on.set()
        assert asked.result().choices


# ---- the same transcript as our engine's own


@pytest.mark.parametrize("native", [True, False])
def test_an_endpoint_run_is_the_local_run(serve, taught, trip, chat, native):
    """Greedily in fp32, token for token: of a dialect with native calls, and of one in words."""
    gateway, dialect = serve(taught), replace(COMPACT, tools_in_prompt=native)
    ours = played(LocalPolicy(taught, chat, Sampling(dtype="float32")), trip, dialect, chat)
    endpoint = ChatEndpoint(f"{gateway.url}/v1", "nano", temperature=0.0)
    counter = ExactTokens(chat, "its own")
    theirs = played(EndpointPolicy(endpoint, 1, native, counter), trip, dialect)
    assert ours.transcript.turns > 3 and ours.transcript.answer
    said = [(s.role, s.text, s.call and s.call.name) for s in ours.transcript.segments]
    assert [(s.role, s.text, s.call and s.call.name) for s in theirs.transcript.segments] == said
    assert theirs.transcript.stop_reason == ours.transcript.stop_reason
    (turns,) = gateway.session("")
    assert ids_of(turns) == ours.transcript.token_ids


# ---- sessions


def test_a_session_is_one_growing_sequence_of_what_was_sampled(serve, talking, chat):
    """Of a model whose tokens are not those that its text would be encoded to."""
    gateway = serve(talking(6))
    client, messages = gateway.client("a/1"), [{"role": "user", "content": "Where to?"}]
    for turn in range(3):
        answer = client.chat.completions.create(
            model="nano", messages=messages, max_tokens=8 + turn
        )
        messages += [answer.choices[0].message.model_dump(), {"role": "user", "content": "And?"}]
    (turns,) = gateway.session("a/1")
    sampled = [future.result() for _, future in gateway.sampled]
    assert [turn["token_ids"] for turn in turns] == [turn.token_ids for turn in sampled]
    assert [turn["logprobs"] for turn in turns] == [turn.logprobs for turn in sampled]
    for number, (prompt, _) in enumerate(gateway.sampled):
        assert prompt == ids_of(turns[:number]) + turns[number]["prompt_token_ids"]
    assert any(chat.encode(chat.decode(t.token_ids)) != t.token_ids for t in sampled)
    messages[1] = {"role": "assistant", "content": "rewritten"}  # another sequence
    client.chat.completions.create(model="nano", messages=messages, max_tokens=4)
    assert [len(turns) for turns in gateway.session("a/1")] == [3, 1]
    assert gateway.session("another") == []


def test_idle_sessions_are_forgotten_whole(serve, talking, monkeypatch):
    """And what is read as text in place of the ids that were sampled is told."""
    gateway = serve(talking(6))
    length = {"model": "nano", "max_tokens": 8}

    def grow(name: str, messages: list[Any], turns: int) -> list[Any]:
        for _ in range(turns):
            messages = [*messages, {"role": "user", "content": "And?"}]
            said = gateway.client(name).chat.completions.create(messages=messages, **length)
            messages.append(said.choices[0].message.model_dump())
        return messages

    first = grow("first", [], 3)
    monkeypatch.setattr(model_api, "MOST_KEPT_TOKENS", 2 * gateway.api.kept_tokens + 100)
    grow("second", [], 2)
    first = grow("first", first, 1)
    assert [turn["assistant_read"] for turn in gateway.session("first")[0]] == [0] * 4
    for number in range(2):
        grow("", [{"role": "system", "content": f"{number}"}], 1)  # of nobody's session
    assert not gateway.session("second") and len(gateway.session("first")[0]) == 4
    grow("third", [], 4)
    assert not gateway.session("first") and len(gateway.session("third")[0]) == 4
    assert gateway.api.kept_tokens <= model_api.MOST_KEPT_TOKENS and gateway.api.forgotten >= 2
    grow("first", first, 1)
    ((turn,),) = gateway.session("first")
    assert turn["assistant_read"] == 4 and len(turn["token_ids"]) == len(turn["logprobs"])
    held = [turn for kept in gateway.api.kept.values() for turn in kept.turns.values()]
    gateway.session("first", httpx2.delete), gateway.session("third", httpx2.delete)
    gateway.session("", httpx2.delete)
    assert held and not gateway.api.kept and not gateway.api.kept_tokens


# ---- training


class OneTrip(SameTrip):
    def at(self, number: int) -> Any:
        return replace(self.task, id=f"train-{number}")


@pytest.fixture
def trainer(serve: Any, taught: Any, trip: Any, chat: Any, tmp_path: Any) -> Callable[[str], Any]:
    def make(agent: str, **more: Any) -> Any:
        gateway = serve(taught)
        server = RolloutServer(
            "vllm", f"{gateway.url}/", str(tmp_path / "weights"), str(gateway.token), agent=agent
        )
        settings = GrpoSettings(
            prompts_per_step=1, group_size=6, minibatches=1, warm_up_steps=0, dtype="float32",
            server=server if agent else None, temperature=1.0,
            optimizer=OptimizerSettings(name="adamw", adamw_learning_rate=1e-4),
        )  # fmt: skip
        grpo = Grpo(copy.deepcopy(taught), chat, COMPACT, OneTrip(trip), settings, seed=3)
        return SimpleNamespace(grpo=grpo, gateway=gateway)

    return make


def test_a_strangers_agent_is_trained(trainer):
    """What is trained on is what the engine sampled, of the weights of that step; an episode is
    what our own loop would have sampled, for as long as that one goes."""
    made, local = trainer(f"{AGENT}:play"), trainer("")
    episodes = list[Any]()
    update = made.grpo.update

    def noted(rollouts: Any, *more: Any) -> Any:
        episodes.append([rollout.episode for rollout in rollouts])
        return update(rollouts, *more)

    made.grpo.update = noted
    local.grpo.worker.begin_step()
    groups = local.grpo.play(1)
    ours = {e.task.id: e.transcript.token_ids for group in groups for e in group.episodes}
    for step in range(3):
        before = [p.detach().clone() for p in made.grpo.model.parameters()]
        sampled = len(made.gateway.sampled)
        row = made.grpo.take_step()
        assert row["unscored"] == 0 and row["turns_mean"] > 2
        assert row["grad_norm"] > 0 and row["sampler_gap"] < 1e-4
        now = made.grpo.model.parameters()
        assert not all(torch.equal(a, b) for a, b in zip(before, now, strict=True))
        trained = sorted(
            (tuple(s.token_ids), tuple(s.logprobs))
            for e in episodes[-1] for s in e.transcript.segments if s.role == "assistant"
        )  # fmt: skip
        said = [future.result() for _, future in made.gateway.sampled[sampled:]]
        proofs = len(said) - len(trained)
        assert 1 <= proofs <= 2
        assert trained == sorted((tuple(t.token_ids), tuple(t.logprobs)) for t in said[proofs:])
        if not step:
            theirs = {e.task.id: e.transcript.token_ids for e in episodes[0]}
            assert all(theirs[name][: len(ids)] == ids for name, ids in ours.items())
            assert any(e.passed for e in episodes[0]) and not all(e.passed for e in episodes[0])
            assert any(e.transcript.calls for e in episodes[0])


def test_what_the_server_forgot_is_not_trained_on(trainer, monkeypatch):
    monkeypatch.setattr(model_api, "MOST_KEPT_TOKENS", 1000)
    with pytest.raises(UserError, match="forgot turns"):
        trainer(f"{AGENT}:play").grpo.take_step()


@pytest.mark.parametrize(("agent", "words"), [
    ("forgetful", "one conversation that only grows"), ("broken", "raised KeyError: 'plan'"),
])  # fmt: skip
def test_an_agent_that_cannot_be_learned_from(trainer, agent, words):
    with pytest.raises(UserError, match=words):
        trainer(f"{AGENT}:{agent}").grpo.take_step()


def test_a_turn_whose_client_left_is_sampled_no_further(serve, tiny_model, nano_tokenizer):
    model = tiny_model("qwen3", len(nano_tokenizer), max_position_embeddings=32_768)
    gateway = serve(model)
    asked = {"model": "nano", "messages": [{"role": "user", "content": "Hello"}], "seed": 1}
    with pytest.raises(httpx2.TimeoutException):
        httpx2.post(f"{gateway.url}/sessions/s/v1/chat/completions", json=asked, timeout=1)
    (_, turn) = gateway.sampled[-1]
    assert 0 < len(turn.result(timeout=60).token_ids) < 30_000
    assert gateway.session("s") == []


def test_what_other_clients_send_by_default(serve, taught):
    gateway, tool = serve(taught), {"type": "function", "function": {"name": "go"}}
    said = {"role": "system", "content": "Plan."}, {"role": "user", "content": "Hello"}
    more = {"tools": [tool], "tool_choice": "none", "parallel_tool_calls": True}
    for messages, settings in ((said, {}), (({**said[0], "role": "developer"}, said[1]), more)):
        asked = {"model": "nano", "messages": messages, "max_tokens": 2, **settings}
        assert httpx2.post(f"{gateway.url}/v1/chat/completions", json=asked).status_code == 200
    (plain, _), (theirs, _) = gateway.sampled
    assert plain == theirs
