"""What several rooms' tests share, made only where a test asks for it: the authors' data (looked
for in TRIPWRIGHT_TRAVELPLANNER, else in ../shared/travelplanner beside the repository), an endpoint
on this machine that answers what a test wants, and tiny models with a small tokenizer for what
needs the 'train' extra."""

import gc
import itertools
import json
import os
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

# Two test processes on two cores: more threads of torch than one in each wait for each other. Set
# before anything imports torch; processes that tests start inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.chat_rules import broken_rule
from tests.made import trip
from tripwright.agent.chat import ChatFormat, Shown
from tripwright.cli.main import main
from tripwright.domains import dialect_named, domain_named
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import (
    COMMONSENSE_NAMES,
    HARD_NAMES,
    plan_verdict,
)
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Episode
from tripwright.transcript import Rows, Segment, StopReason, ToolCall, Transcript
from tripwright.verdict import Fact, State, Verdict, format_group
from tripwright.world.generator import build_tables, build_world
from tripwright.world.importer import import_world
from tripwright.world.store import World

# each takes a minute or more
LONGEST = ("test_benchmarks.py", "test_commands.py", "test_importer.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first, so that two processes end together."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.fixture(scope="session")
def travelplanner() -> Path:
    folder = Path(
        os.environ.get("TRIPWRIGHT_TRAVELPLANNER")
        or Path(__file__).parents[2] / "shared" / "travelplanner"
    )
    if not (folder / "database").is_dir():
        pytest.skip(
            f"no TravelPlanner data at {folder}; set TRIPWRIGHT_TRAVELPLANNER to a folder with"
            " database/ and queries/"
        )
    return folder


@pytest.fixture(scope="session")
def real_world(travelplanner: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    return import_world(travelplanner / "database", tmp_path_factory.mktemp("real") / "world")


@cache
def nano_world(seed: int) -> World:
    return World.in_memory(build_tables("nano", seed))


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    """A small generated one, of the seed that a module names as NANO; in a folder where it is
    STORED."""
    if not getattr(request.module, "STORED", False):
        return nano_world(request.module.NANO)
    return build_world(tmp_path_factory.mktemp("worlds") / "nano", "nano", request.module.NANO)


def short_query(world: World) -> Query:
    """Three days from the first city to the second, and no wishes."""
    origin, destination = list(world.cities)[:2]
    fields = {"org": origin, "dest": destination, "date": world.dates[:3], "people_number": 1}
    return trip(**fields, budget=1000, query="Plan it.")


STOP = 0


class Letters:
    """A ChatFormat of one id per character."""

    def opening(self, system: str, user: str) -> list[int]:
        return [ord(c) for c in system + user]

    def tool_answer(self, text: str, max_tokens: int) -> Shown:
        ids = [1, *[ord(c) for c in text[:max_tokens]], 2]
        return Shown(ids, text[:max_tokens], len(ids))

    def said(self, text: str) -> list[int]:
        return [*(ord(c) for c in text), STOP]


@pytest.fixture
def no_collection() -> Iterator[None]:
    """For a test of how long something takes: a collection of what other tests left may take a
    second."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Two test processes on two cores, or one thread beside a training: more threads than that wait
    for each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@dataclass(frozen=True)
class Printed:
    """What a command printed, as text and read as JSON."""

    out: str
    err: str

    @property
    def record(self) -> Any:
        return json.loads(self.out)

    @property
    def records(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Line = str | Sequence[object]


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Callable[..., Printed]:
    """typed(line, …, code=0) runs `tripwright line …` in this process, which must end with `code`.
    Text is split as a shell does, a list is words as they are."""

    def run(*lines: Line, code: int = 0) -> Printed:
        capsys.readouterr()
        parts = (shlex.split(line) if isinstance(line, str) else line for line in lines)
        ended = main([str(word) for part in parts for word in part])
        printed = Printed(*capsys.readouterr())
        assert ended == code, printed
        return printed

    return run


@pytest.fixture
def refused(typed: Callable[..., Printed]) -> Callable[..., str]:
    """refused(line, …) → the one line on stderr of a command that a user got wrong."""

    def run(*lines: Line) -> str:
        printed = typed(*lines, code=2)
        assert printed.err.startswith("tripwright: ") and printed.err.count("\n") == 1, printed
        assert not printed.out
        return printed.err

    return run


class Listener(ThreadingHTTPServer):
    daemon_threads = True
    # the default of 5 drops connections of many callers, and a dropped one is tried again a second
    # later
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A test drops a connection by raising."""


Answered = tuple[int, bytes, dict[str, str]] | None


def completion(
    text: str, finish_reason: str = "stop", **more: Any
) -> tuple[int, bytes, dict[str, str]]:
    """A chat endpoint says this."""
    message = {"role": "assistant", "content": text}
    choice = {"message": message, "finish_reason": finish_reason}
    return 200, json.dumps({"choices": [choice], **more}).encode(), {}


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """serve(answer) → the URL of a chat endpoint on this machine, or of any other server, for one
    test.

    answer(request) gets the body of a POST, with the "path", the "key" and the "session" sent and
    the "port" that the client has, and gives (status, raw body, headers); None hangs until the test
    ends, and what it raises drops the connection. A chat completion's request that breaks the
    published rules gets a 400 and never comes there, unless it is `lenient`. Every answer is JSON
    of the length that it has, unless the headers lie. With `keep` connections are kept.
    """
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    listeners: list[Listener] = []
    ended = threading.Event()

    def start(
        answer: Callable[[dict[str, Any]], Answered], keep: bool = False, lenient: bool = False
    ) -> str:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1" if keep else "HTTP/1.0"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self.answer({})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                asked = self.path.endswith("/chat/completions") and not lenient
                self.answer(body, broken_rule(body) if asked else None)

            def answer(self, body: dict[str, Any], refusal: str | None = None) -> None:
                sent = {"path": self.path, "key": self.headers["Authorization"]}
                if session := self.headers["X-Session-ID"]:
                    sent["session"] = session
                answered: Answered = (400, json.dumps({"error": {"message": refusal}}).encode(), {})
                if refusal is None:
                    answered = answer({**sent, "port": self.client_address[1], **body})
                if answered is None:
                    ended.wait(20)
                    return
                status, raw, headers = answered
                usual = {"Content-Type": "application/json", "Content-Length": str(len(raw))}
                self.send_response(status)
                for name, value in {**usual, **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        listener = Listener(("127.0.0.1", 0), Handler)
        threading.Thread(target=listener.serve_forever, args=(0.01,), daemon=True).start()
        listeners.append(listener)
        return f"http://127.0.0.1:{listener.server_address[1]}/v1"

    yield start
    ended.set()
    for listener in listeners:
        listener.shutdown()
        listener.server_close()


class Raw:
    """Answers every connection with the same bytes, piece by piece, until the test ends."""

    def __init__(self, pieces: Callable[[], Iterator[bytes]], pause_s: float = 0.0):
        self.pieces, self.pause_s, self.ended = pieces, pause_s, threading.Event()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.paths: list[str] = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(
                    target=self.answer, args=(self.listening.accept()[0],), daemon=True
                ).start()

    def answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self.paths.append(connection.recv(65536).decode("latin-1").split(" ")[1])
            for piece in self.pieces():
                if self.ended.wait(self.pause_s):
                    return
                connection.sendall(piece)

    def close(self) -> None:
        self.ended.set()
        self.listening.close()


@pytest.fixture
def raw() -> Iterator[Callable[..., Raw]]:
    started: list[Raw] = []

    def start(pieces: Callable[[], Iterator[bytes]], pause_s: float = 0.0) -> Raw:
        started.append(Raw(pieces, pause_s))
        return started[-1]

    yield start
    for server in started:
        server.close()


@pytest.fixture(scope="session")
def nano_tokenizer() -> Any:
    """A tokenizer of the kind the quickstart makes, from fewer transcripts."""
    pytest.importorskip("torch")
    from tripwright.training.nano import make_tokenizer
    from tripwright.training.trips import GeneratedTrips, expert_sessions

    trips = itertools.islice(GeneratedTrips(domain_named("travelplanner"), ("nano",), 0, 4), 24)
    sessions = list(expert_sessions(trips, dialect_named("compact"), None))
    worlds = {id(session.tools.world): session.tools.world for session in sessions}.values()
    domain = domain_named("travelplanner")
    words = set().union(*(domain.generator.names(world) for world in worlds))
    texts = [segment.text for session in sessions for segment in session.transcript.segments]
    return make_tokenizer(texts, words, domain.generator.closed_lists, superwords=160)


@pytest.fixture(scope="session")
def tiny_model() -> Callable[..., Any]:
    """tiny_model(kind, vocabulary, seed=…) → a random two-layer model in fp32: "qwen3", "qwen2" or
    "llama"."""
    torch = pytest.importorskip("torch")
    import transformers

    kinds = {
        "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM, {"head_dim": 16}),
        "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM, {}),
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM, {}),
    }

    def make(kind: str, vocabulary: int, seed: int = 0, scale: float = 1.0, **changed: Any) -> Any:
        """`scale` above 1 makes the logits less alike than those of a fresh model: a choice between
        them is then no matter of rounding."""
        config, model, more = kinds[kind]
        torch.manual_seed(seed)
        settings = {"vocab_size": vocabulary, "hidden_size": 48, "intermediate_size": 64}
        settings |= {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
        settings |= {"max_position_embeddings": 2048, "tie_word_embeddings": kind == "qwen3"}
        settings |= dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
        made = model(config(**settings | more | changed)).eval()
        with torch.no_grad():
            for name, parameter in made.named_parameters():
                if parameter.ndim == 2:
                    parameter.mul_(scale)
                elif name.endswith("bias"):
                    # zero in a fresh model, and then a bias that is forgotten goes unseen
                    parameter.normal_()
        return made

    return make


@pytest.fixture(scope="session")
def chat(nano_tokenizer: Any) -> ChatFormat:
    return ChatFormat(nano_tokenizer)


@pytest.fixture(scope="session")
def talking(nano_tokenizer: Any, tiny_model: Callable[..., Any]) -> Callable[[int], Any]:
    """talking(seed) → a random model whose logits for the stop token vary more than the others."""
    torch = pytest.importorskip("torch")

    def make(seed: int) -> Any:
        made = tiny_model("qwen3", len(nano_tokenizer), seed=seed, scale=4.0)
        with torch.no_grad():
            made.model.embed_tokens.weight[nano_tokenizer.eos_token_id] *= 6
        return made

    return make


@pytest.fixture(scope="module")
def talker(request: pytest.FixtureRequest, talking: Callable[[int], Any]) -> Any:
    """Its turns end after a few tokens, at different lengths. What a seed says is luck: a module
    that needs another one names it as TALKER."""
    return talking(getattr(request.module, "TALKER", 6))


class Caller:
    """A ChatFormat that hears a new call of the calculator in most turns: what a random model says
    is neither call nor answer."""

    def __init__(self, chat: ChatFormat):
        self._chat, self.stop_id = chat, chat.stop_id

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chat, name)

    def decode(self, ids: list[int]) -> str:
        if sum(ids) % 7 == 0:
            return "I have had enough."
        return f'<tool_call>{{"name":"calculator","arguments":{{"expression":"{sum(ids)}+{len(ids)}"}}}}</tool_call>'  # noqa: E501


@pytest.fixture(scope="session")
def caller(chat: ChatFormat) -> Any:
    return Caller(chat)


@pytest.fixture
def full_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training without bfloat16 where a recipe leaves it to the processor, so that sums can be
    compared."""
    torch = pytest.importorskip("torch")
    from tripwright.inference import models

    monkeypatch.setattr(models, "fastest", lambda: torch.float32)


def fact_record(
    passed: bool | None, message: str | None = None, *evidence: dict[str, Any]
) -> dict[str, Any]:
    state = {True: "passed", False: "failed", None: "not_applicable"}[passed]
    said = {"evidence": list(evidence)} if evidence else {}
    return {"passed": passed, "state": state, "message": message, **said}


def verdict_record(
    final: bool,
    groups: Mapping[str, Mapping[str, Any] | Sequence[str]],
    problem: str | None = None,
    **details: Any,
) -> Any:
    """A verdict as a run keeps it. `groups`: of each its facts (records, or whether they passed),
    or the names of those that a shut gate left unlooked at; `details` as TravelPlanner's costs."""
    found = [format_group(problem).record()]
    for name, facts in groups.items():
        known = facts if isinstance(facts, Mapping) else {}
        facts_of = {
            key: fact if isinstance(fact, dict) else fact_record(fact)
            for key, fact in known.items()
        }
        asked = [key for key in facts if key not in facts_of or facts_of[key]["passed"] is not None]
        looked_at = facts_of if isinstance(facts, Mapping) else None
        found.append({"name": name, "gate": [], "asked": asked, "facts": looked_at})
    verdict = {"rules": "official", "final": final, "delivered": True, "error": None}
    return {**verdict, "groups": found, "details": details}


def trip_record(
    id: str,
    query: str = "Plan 3 days from Ashford to Berryton.",
    passed: bool | None = True,
    text: str = "I look for a flight first.",
    fault: str | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """A line of a run's transcripts.jsonl about a trip in a made-up world."""
    flights = Rows("Flight", ("number", "price_usd"), (("F1", 120), ("F2", 140)), total=2)
    rows = json.dumps({"rows": flights.values})
    asked = {"origin": "Ashford", "destination": fields.get("dest", "Berryton")}
    call = ToolCall("search_flights", asked, rows, fault=fault, rows=flights)
    lost = ToolCall("get_cities", {"state": "Narnia"}, '{"error": "Unknown state"}', error=True)
    searching, tokens = f"{text}<tool_call>{{}}</tool_call>", ([1, 2, 3], [1, 1, 0])
    segments = [
        Segment("system", "You plan trips."),
        Segment("user", query),
        Segment("assistant", searching, *tokens, [-0.1, -2.5, 0.0], call),
        Segment("tool", rows, [4, 5], [0, 0], [0.0, 0.0]),
        Segment("assistant", "What now?", problem=StopReason.FORMAT_ERROR),
        Segment("tool", '{"error": "This turn cannot be read"}'),
        Segment("assistant", "<tool_call>{}</tool_call>", call=lost),
        Segment("tool", lost.result),
        Segment("assistant", "<answer>[]</answer>"),
    ]
    day = {"days": 1, "current_city": "from Ashford to Berryton", "transportation": "Flight F1"}
    day |= {"dinner": "Blue Door, Berryton"}
    evidence = {"day": 1, "field": "dinner", "found": "Blue Door"}
    evidence |= {"needed": "a restaurant of Berryton"}
    failed = fact_record(False, "Blue Door is not in Berryton.", evidence)
    facts = {"is_not_absent": True, "is_valid_restaurants": True if passed else failed}
    cost = {"day": 1, "kind": "flight", "what": "F1"}
    cost |= {"unit_usd": 120.0, "count": 2, "total_usd": 240.0}
    groups = {"commonsense": facts, "hard": ["valid_cost"]}
    verdict = verdict_record(bool(passed), groups, total_cost=260.0, costs=[cost])
    held = {group["name"]: group["asked"] for group in verdict["groups"]}
    stop = StopReason.UNSCORED if passed is None else StopReason.ANSWER
    request = {"org": "Ashford", "dest": "Berryton", "days": 3, "level": "easy", "budget": 900}
    transcript = Transcript(segments, stop, "[]", usage={"seconds": 1.5})
    unscored = {"verdict": None, "asked": held}
    return {
        "id": id,
        "domain": "travelplanner",
        "request": {**request, "query": query, **fields},
        "world": "made-up",
        "transcript": transcript.to_json(),
        **(unscored if passed is None else {"verdict": verdict, "plan": [day]}),
    }


@pytest.fixture
def trip_line() -> Callable[..., dict[str, Any]]:
    return trip_record


def python(*words: str | Path, **how: Any) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own; `env` is added to this one's environment."""
    env = {**os.environ, **how.pop("env", {})}
    command = [sys.executable, *map(str, words)]
    how = {"capture_output": True, "text": True, "timeout": 300, **how}
    return subprocess.run(command, env=env, **how)


# ---- training: a recipe whose stages take a second each, and made-up episodes for the arithmetic
# of an update

VOCABULARY = 60
PASSED = {name: Fact(name, State.PASSED) for name in COMMONSENSE_NAMES}
BUDGET_KEPT = {
    name: Fact(name, State.PASSED if name == "valid_cost" else State.NOT_APPLICABLE)
    for name in HARD_NAMES
}


@pytest.fixture
def threads_as_before() -> Iterator[None]:
    """A run sets torch's threads for its process, and tests share one."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tiny_recipe() -> Any:
    pytest.importorskip("torch")
    from tripwright.training.grpo import GrpoSettings
    from tripwright.training.nano import NanoShape
    from tripwright.training.recipe import (
        DialectSettings,
        EvaluationSettings,
        ModelSettings,
        Recipe,
        Reinforcement,
    )
    from tripwright.training.sft import CopyPretrainingSettings, SftSettings

    shape = NanoShape(
        hidden=32, layers=1, heads=2, kv_heads=1, head_size=16, feed_forward=48, positions=1280
    )
    return Recipe(
        name="tiny",
        threads=1,
        dialect=DialectSettings(max_turn_tokens=32),
        model=ModelSettings(shape=shape, tokenizer_transcripts=16, superwords=80),
        copy_pretraining=CopyPretrainingSettings(lengths=(4, 8), tokens_per_step=64, max_steps=3),
        sft=SftSettings(steps=6, batch_size=2),
        rl=Reinforcement(
            "grpo",
            GrpoSettings(
                steps=1, prompts_per_step=2, group_size=2, micro_batch_size=2, rules="strict"
            ),
        ),
        evaluation=EvaluationSettings(
            rules="strict", queries=4, difficulty_queries=6, per_world=3, max_concurrent_rollouts=4
        ),
    )


class SameTrip:
    """A stream of one trip, numbered, which its text says; for loops that are given their episodes,
    or that play the same trip again."""

    per_epoch: int | None = None
    place_figures = dict
    domain = domain_named("travelplanner")

    def __init__(self, task: TripTask):
        self.task, self.position = task, 0

    def at(self, number: int) -> TripTask:
        query = self.task.request
        return replace(
            self.task,
            id=f"train-{number}",
            request=query.model_copy(update={"query": f"{query.query} ({number})"}),
        )

    def __next__(self) -> TripTask:
        self.position += 1
        return self.at(self.position - 1)

    def state_dict(self) -> dict[str, Any]:
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.position = state["position"]


@pytest.fixture(scope="session")
def lab() -> SimpleNamespace:
    """Made-up transcripts and episodes over a vocabulary of 60 tokens; `trip` asks for nothing but
    a budget."""
    torch = pytest.importorskip("torch")
    world = nano_world(21)
    query = next(make_queries(world, 1, 3))
    trip = TripTask("t", Query.model_validate({**query.record(), "local_constraint": {}}), world)

    def transcript(
        model: Any, seed: int, turns: int = 2, stop: StopReason = StopReason.FORMAT_ERROR
    ) -> Transcript:
        """Random turns of random length. The old log-probabilities are near the model's: some
        ratios are clipped and some are not."""
        rng = torch.Generator().manual_seed(seed)

        def draw(low: int, high: int) -> list[int]:
            found: list[int] = torch.randint(
                1, VOCABULARY, (int(torch.randint(low, high, (), generator=rng)),), generator=rng
            ).tolist()
            return found

        segments = []
        for _ in range(turns):
            segments += [Segment("tool", "", draw(3, 9)), Segment("assistant", "", draw(2, 12))]
        ids = torch.tensor([i for segment in segments for i in segment.token_ids])
        with torch.no_grad():
            said = model(ids[None]).logits[0].log_softmax(-1)
        logprobs = [0.0, *(said[i, token] for i, token in enumerate(ids[1:].tolist()))]
        place = 0
        for segment in segments:
            kept = int(segment.role == "assistant")
            segment.loss_mask = [kept] * len(segment.token_ids)
            segment.logprobs = [
                kept * float(logprob + 0.3 * torch.randn((), generator=rng))
                for logprob in logprobs[place : place + len(segment.token_ids)]
            ]
            place += len(segment.token_ids)
        return Transcript(segments, stop)

    def episode(
        model: Any,
        seed: int,
        verdict: Verdict | None,
        turns: int = 2,
        stop: StopReason = StopReason.FORMAT_ERROR,
    ) -> Episode:
        """None is unscored."""
        return Episode(trip, transcript(model, seed, turns, stop), verdict)

    verdict = partial(plan_verdict, "official", ("valid_cost",))
    return SimpleNamespace(
        vocabulary=VOCABULARY,
        final=verdict(PASSED, BUDGET_KEPT),
        half=verdict(PASSED),  # every commonsense constraint, no hard one
        empty=verdict(problem="no answer", delivered=False),
        trip=trip,
        trips=lambda: SameTrip(trip),
        transcript=transcript,
        episode=episode,
    )


@pytest.fixture
def lab_loop(lab: SimpleNamespace, tiny_model: Callable[..., Any], chat: ChatFormat) -> Any:
    """lab_loop(kind, settings, …) → a loop of RL over the lab's trips, of a fresh model."""

    def make(kind: Any, settings: Any, seed: int = 0, scale: float = 1.0) -> Any:
        model = tiny_model("qwen3", lab.vocabulary, scale=scale)
        return kind(model, chat, dialect_named("compact"), lab.trips(), settings, seed)

    return make


@pytest.fixture
def given_groups(monkeypatch: pytest.MonkeyPatch) -> Any:
    """given_groups(groups, …): workers find these episodes instead of playing, the n-th call the
    n-th groups and then the last again; the list that comes back holds the tasks of every call."""
    pytest.importorskip("torch")
    from tripwright.training.rollout_worker import RolloutWorker
    from tripwright.training.rollouts import RolloutGroup

    def give(*calls: list[list[Episode]]) -> list[list[str]]:
        asked: list[list[str]] = []

        def play(self: Any, tasks: Any, reward: Any) -> list[RolloutGroup]:
            episodes = calls[min(len(asked), len(calls) - 1)]
            asked.append([task.id for _, task in tasks])
            groups = [
                RolloutGroup(number, task, found)
                for (number, task), found in zip(tasks, episodes, strict=False)
            ]
            for group in groups:
                group.rewards = group.rewarded(reward)
            return groups

        monkeypatch.setattr(RolloutWorker, "play", play)
        return asked

    return give
