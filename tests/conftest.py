"""What several rooms' tests share, made only where a test asks for it: the authors' data (looked for in TRIPWRIGHT_TRAVELPLANNER, else in
../shared/travelplanner beside the repository), an endpoint on this machine that answers what a test wants, and tiny models with a small
tokenizer for what needs the 'train' extra."""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tripwright.agent.chat import ChatFormat
from tripwright.domains import dialect_named
from tripwright.transcript import Segment, StopReason, ToolCall, Transcript
from tripwright.verdict import format_group
from tripwright.world.importer import import_world
from tripwright.world.store import World


@pytest.fixture(scope="session")
def travelplanner() -> Path:
    folder = Path(os.environ.get("TRIPWRIGHT_TRAVELPLANNER") or Path(__file__).parents[2] / "shared" / "travelplanner")
    if not (folder / "database").is_dir():
        pytest.skip(f"no TravelPlanner data at {folder}; set TRIPWRIGHT_TRAVELPLANNER to a folder with database/ and queries/")
    return folder


@pytest.fixture(scope="session")
def real_world(travelplanner: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    return import_world(travelplanner / "database", tmp_path_factory.mktemp("real") / "world")


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Two test processes on two cores, or one thread beside a training: more threads than that wait for each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64  # the default of 5 drops connections of many callers, and a dropped one is tried again a second later


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """serve(answer) → the URL of a chat endpoint on this machine, for one test.

    answer(request) gets the body, with the "path" and the "key" sent, and gives (status, raw body, headers); None hangs until the test
    ends. Every answer is JSON of the length that it has, unless the headers lie.
    """
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    listeners: list[Listener] = []
    ended = threading.Event()

    def start(answer: Callable[[dict[str, Any]], tuple[int, bytes, dict[str, str]] | None]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answered = answer({"path": self.path, "key": self.headers["Authorization"], **body})
                if answered is None:
                    ended.wait(20)
                    return
                status, raw, headers = answered
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", "Content-Length": str(len(raw)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        listener = Listener(("127.0.0.1", 0), Handler)
        threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        listeners.append(listener)
        return f"http://127.0.0.1:{listener.server_address[1]}/v1"

    yield start
    ended.set()
    for listener in listeners:
        listener.shutdown()
        listener.server_close()


@pytest.fixture(scope="session")
def nano_tokenizer() -> Any:
    """A tokenizer of the kind the quickstart makes, from fewer transcripts."""
    pytest.importorskip("torch")
    from tripwright.training.cold_start import content_words, expert_sessions, tasks
    from tripwright.training.tokenizer import train_tokenizer

    sessions = list(expert_sessions(itertools.islice(tasks("nano", 0, 4), 24), dialect_named("compact"), None))
    worlds = {id(session.tools.world): session.tools.world for session in sessions}.values()
    words = set().union(*(content_words(world) for world in worlds))
    texts = [segment.text for session in sessions for segment in session.transcript.segments]
    return train_tokenizer(texts, words, superwords=160, subwords=700)


@pytest.fixture(scope="session")
def tiny_model() -> Callable[..., Any]:
    """tiny_model(kind, vocabulary, seed=…) → a random two-layer model in fp32: "qwen3", "qwen2" or "llama"."""
    torch = pytest.importorskip("torch")
    import transformers

    kinds = {
        "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM, {"head_dim": 16}),
        "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM, {}),
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM, {}),
    }

    def make(kind: str, vocabulary: int, seed: int = 0, scale: float = 1.0, **changed: Any) -> Any:
        """`scale` above 1 makes the logits less alike than those of a fresh model: a choice between them is then no matter of rounding."""
        config, model, more = kinds[kind]
        torch.manual_seed(seed)
        settings = {
            "vocab_size": vocabulary,
            "hidden_size": 48,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 2048,
            "tie_word_embeddings": kind == "qwen3",
            "bos_token_id": None,
            "eos_token_id": None,
            "pad_token_id": None,
            **more,
            **changed,
        }
        made = model(config(**settings)).eval()
        with torch.no_grad():
            for name, parameter in made.named_parameters():
                if parameter.ndim == 2:
                    parameter.mul_(scale)
                elif name.endswith("bias"):
                    parameter.normal_()  # zero in a fresh model, and then a bias that is forgotten goes unseen
        return made

    return make


@pytest.fixture(scope="session")
def chat(nano_tokenizer: Any) -> ChatFormat:
    return ChatFormat(nano_tokenizer)


@pytest.fixture(scope="session")
def talker(nano_tokenizer: Any, tiny_model: Callable[..., Any]) -> Any:
    """A random model whose logits for the stop token vary more than the others: its turns end after a few tokens, at different lengths."""
    torch = pytest.importorskip("torch")
    made = tiny_model("qwen3", len(nano_tokenizer), seed=4, scale=4.0)
    with torch.no_grad():
        made.model.embed_tokens.weight[nano_tokenizer.eos_token_id] *= 6
    return made


class Caller:
    """A ChatFormat that hears a new call of the calculator in most turns: what a random model says is neither call nor answer."""

    def __init__(self, chat: ChatFormat):
        self._chat, self.stop_id = chat, chat.stop_id

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chat, name)

    def decode(self, ids: list[int]) -> str:
        if sum(ids) % 7 == 0:
            return "I have had enough."
        return f'<tool_call>{{"name":"calculator","arguments":{{"expression":"{sum(ids)}+{len(ids)}"}}}}</tool_call>'


@pytest.fixture(scope="session")
def caller(chat: ChatFormat) -> Any:
    return Caller(chat)


@pytest.fixture
def full_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training without autocast to bfloat16, so that sums can be compared."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())


def fact_record(passed: bool | None, message: str | None = None, *evidence: dict[str, Any]) -> dict[str, Any]:
    state = {True: "passed", False: "failed", None: "not_applicable"}[passed]
    return {"passed": passed, "state": state, "message": message, **({"evidence": list(evidence)} if evidence else {})}


def verdict_record(final: bool, groups: Mapping[str, Mapping[str, Any] | Sequence[str]], problem: str | None = None, **details: Any) -> Any:
    """A verdict as a run keeps it. `groups`: of each its facts (records, or whether they passed), or the names of those that a shut gate
    left unlooked at; `details` as TravelPlanner's costs."""
    found = [format_group(problem).record()]
    for name, facts in groups.items():
        known = facts if isinstance(facts, Mapping) else {}
        facts_of = {key: fact if isinstance(fact, dict) else fact_record(fact) for key, fact in known.items()}
        asked = [key for key in facts if key not in facts_of or facts_of[key]["passed"] is not None]
        found.append({"name": name, "gate": [], "asked": asked, "facts": facts_of if isinstance(facts, Mapping) else None})
    return {"rules": "official", "final": final, "delivered": True, "error": None, "groups": found, "details": details}


@pytest.fixture
def trip_line() -> Callable[..., dict[str, Any]]:
    """trip_line(id, …) → a line of a run's transcripts.jsonl about a trip in a made-up world."""

    def made(
        id: str,
        query: str = "Plan 3 days from Ashford to Berryton.",
        passed: bool | None = True,
        text: str = "I look for a flight first.",
        fault: str | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        rows = json.dumps({"rows": [["F1", 120], ["F2", 140]]})
        call = ToolCall("search_flights", {"origin": "Ashford", "destination": fields.get("dest", "Berryton")}, rows, fault=fault)
        lost = ToolCall("get_cities", {"state": "Narnia"}, '{"error": "Unknown state"}', error=True)
        segments = [
            Segment("system", "You plan trips."),
            Segment("user", query),
            Segment("assistant", f"{text}<tool_call>{{}}</tool_call>", [1, 2, 3], [1, 1, 0], [-0.1, -2.5, 0.0], call),
            Segment("tool", rows, [4, 5], [0, 0], [0.0, 0.0]),
            Segment("assistant", "What now?", problem=StopReason.FORMAT_ERROR),
            Segment("tool", '{"error": "This turn cannot be read"}'),
            Segment("assistant", "<tool_call>{}</tool_call>", call=lost),
            Segment("tool", lost.result),
            Segment("assistant", "<answer>[]</answer>"),
        ]
        day = {"days": 1, "current_city": "from Ashford to Berryton", "transportation": "Flight F1", "dinner": "Blue Door, Berryton"}
        evidence = {"day": 1, "field": "dinner", "found": "Blue Door", "needed": "a restaurant of Berryton"}
        failed = fact_record(False, "Blue Door is not in Berryton.", evidence)
        facts = {"is_not_absent": True, "is_valid_restaurants": True if passed else failed}
        cost = {"day": 1, "kind": "flight", "what": "F1", "unit_usd": 120.0, "count": 2, "total_usd": 240.0}
        verdict = verdict_record(bool(passed), {"commonsense": facts, "hard": ["valid_cost"]}, total_cost=260.0, costs=[cost])
        asked = {group["name"]: group["asked"] for group in verdict["groups"]}
        stop = StopReason.UNSCORED if passed is None else StopReason.ANSWER
        return {
            "id": id,
            "domain": "travelplanner",
            "request": {"org": "Ashford", "dest": "Berryton", "days": 3, "level": "easy", "budget": 900, "query": query, **fields},
            "world": "made-up",
            "transcript": Transcript(segments, stop, "[]", usage={"seconds": 1.5}).to_json(),
            **({"verdict": None, "asked": asked} if passed is None else {"verdict": verdict, "plan": [day]}),
        }

    return made


@pytest.fixture
def lines_to() -> Callable[[Path, Iterable[Any]], Path]:
    """lines_to(path, records) writes one JSON object per line, makes the folder, and returns the path."""

    def write(path: Path, records: Iterable[Any]) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return path

    return write
