"""A real vLLM (`make engines`) behind what trains and what plays: its tokens are our engine's, its
weights are the trainer's or the run stops, and a policy that asks it for tool calls hears them.

Two servers, one after the other, of a model of two layers, in fp32 on a CPU: with tied embeddings,
as it is; and untied, of random weights."""

import copy
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.files import read_lines
from tripwright.cli.main import main
from tripwright.domains import dialect_named
from tripwright.episode import open_session
from tripwright.errors import UserError
from tripwright.server.serving import open_port

torch = pytest.importorskip("torch")

from safetensors.torch import save_file

from tests.training.test_served_rollouts import SETTINGS, starts
from tripwright.inference.local import LocalPolicy, Sampling
from tripwright.training import rollout_worker
from tripwright.training.grpo import Grpo
from tripwright.training.rollout_worker import TokenPolicy, plain_weights
from tripwright.training.served import (
    RolloutServer,
    TokenRequest,
    VllmServer,
    server_at,
    token_server,
)

VLLM = Path(__file__).parents[2] / ".venv-engines" / "bin" / "vllm"
pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif(not VLLM.is_file(), reason="no vLLM here: `make engines` installs it"),
]
DIALECT = replace(dialect_named("compact"), max_turn_tokens=24, max_turns=3)
UNTIED = '{"tie_word_embeddings": false}'
STARTS = {"tied": (), "untied": ("--load-format", "dummy", "--hf-overrides", UNTIED)}
# a call that is one token, so that a model can be made that says it
CALL = '<tool_call>\n{"name": "calculator", "arguments": {"expression": "6*7"}}\n</tool_call>'


@contextmanager
def serving(model: Path, log: Path, *flags: str) -> Iterator[str]:
    """The address of vLLM with a model, on a CPU."""
    with closing(open_port("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    of_a_cpu = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    quiet = {"VLLM_SERVER_DEV_MODE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
    shape = ("--dtype", "float32", "--enforce-eager", "--max-model-len", "40960")
    tools = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")
    command = [str(VLLM), "serve", str(model), "--served-model-name", "nano", "--port", port]
    command += ["--host", "127.0.0.1", "--logprobs-mode", "processed_logprobs", *shape, *tools]
    with log.open("wb") as said:
        process = subprocess.Popen(
            [*command, *flags],
            env={**os.environ, **of_a_cpu, **quiet},
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        answering(url, process, 300)
        yield url
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def answering(url: str, process: subprocess.Popen[bytes], seconds: float) -> None:
    """Waits until a server answers."""
    end = time.monotonic() + seconds
    while True:
        with suppress(OSError), urllib.request.urlopen(f"{url}/health", timeout=5):
            return
        assert process.poll() is None and time.monotonic() < end, "no server came up"
        time.sleep(0.5)


@pytest.fixture(scope="module")
def nano(tiny_model: Any, nano_tokenizer: Any) -> Callable[..., Any]:
    """nano(seed, tied) → a model with heads of a size that vLLM has."""

    def make(seed: int, tied: bool = True) -> Any:
        heads = {"head_dim": 64, "num_attention_heads": 2, "num_key_value_heads": 1}
        size = {"hidden_size": 128, "max_position_embeddings": 40960, **heads}
        model = tiny_model("qwen3", len(nano_tokenizer) + 2, seed, 3.0, **size)
        # turns end at different lengths
        model.model.embed_tokens.weight.data[nano_tokenizer.eos_token_id] *= 20
        if not tied:
            head = model.lm_head.weight.detach().clone()
            model.lm_head.weight = torch.nn.Parameter(head.roll(1, 1))
            model.config.tie_word_embeddings = False
        return model

    return make


@pytest.fixture(scope="module")
def folder(nano: Any, nano_tokenizer: Any, tmp_path_factory: Any) -> Path:
    """Of a tied model, as training leaves it."""
    path: Path = tmp_path_factory.mktemp("nano") / "model"
    nano(99).save_pretrained(path)
    tokenizer = copy.deepcopy(nano_tokenizer)
    tokenizer.add_tokens([CALL])
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def vllm(folder: Path, tmp_path_factory: Any) -> Iterator[Callable[[str], str]]:
    """vllm(start) → the address of a server that was started so; the one before it is gone."""
    log, running = tmp_path_factory.mktemp("log") / "vllm.txt", {}
    with ExitStack() as servers:

        def at(start: str) -> str:
            if start not in running:
                servers.close()
                running.clear()
                running[start] = servers.enter_context(serving(folder, log, *STARTS[start]))
            return running[start]

        yield at


@pytest.fixture
def trainer(nano: Any, caller: Any, lab: Any, tmp_path: Path, monkeypatch: Any) -> Any:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def make(url: str, tied: bool = True) -> Grpo:
        served = RolloutServer("vllm", url, str(tmp_path / "weights"), sleep=False, max_gap=1e-3)
        settings = replace(SETTINGS, server=served)
        return Grpo(nano(10, tied), caller, DIALECT, lab.trips(), settings, seed=3)

    return make


def test_an_examination_through_it_is_our_engines(vllm, nano, folder, caller, lab):
    """`examine --base-url`: it names the folder that it has, and greedy episodes have the same
    tokens."""
    url, model, how = vllm("tied"), nano(99), Sampling(dtype="float32", rows=4)
    server, named = server_at(f"{url}/v1", model.config.vocab_size)
    assert isinstance(server, VllmServer) and named == str(folder)
    trips, played = lab.trips(), list[Any]()
    tasks = [next(trips) for _ in range(4)]
    for policy in (LocalPolicy(model, caller, how), TokenPolicy(server, caller, how)):
        sessions = policy.play([open_session(task, DIALECT, caller) for task in tasks])
        said = {s.task.id: (s.transcript.token_ids, s.transcript.loss_mask) for s in sessions}
        played.append(said)
    assert played[0] == played[1] and len(played[0]) == 4


def test_its_tool_parser_hears_a_call(vllm, nano, nano_tokenizer, tmp_path):
    """`run --policy endpoint` as README has it, of a model that says one call and nothing else."""
    model, opening = nano(0, tied=False), nano_tokenizer.convert_tokens_to_ids("<|assistant|>")
    call, stop = len(nano_tokenizer), nano_tokenizer.eos_token_id
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if any(part in name for part in ("o_proj", "down_proj", "embed", "lm_head")):
                weight.zero_()  # what follows a token is told by the token alone
        for unit, (token, after) in enumerate(((opening, call), (call, stop))):
            model.model.embed_tokens.weight[token, unit] = 1
            model.lm_head.weight[after, unit] = 1
    save_file(plain_weights(model, torch.float32), tmp_path / "model.safetensors")
    url = vllm("untied")
    server = token_server(RolloutServer("vllm", url, str(tmp_path)), model.config.vocab_size)
    server.load_weights(tmp_path, "one-call")
    made = f"--world {tmp_path}/world --seed 7"
    place = f"--queries {tmp_path}/queries.jsonl --world {tmp_path}/world"
    policy = f"--policy endpoint --model nano --base-url {url}/v1 --thinking off"
    for command in (
        f"world build --scale nano --out {tmp_path}/world --seed 7",
        f"query make {made} --count 2 --out {tmp_path}/queries.jsonl",
        f"run {policy} {place} --out {tmp_path}/run",
    ):
        assert main(command.split()) == 0
    episodes = read_lines(tmp_path / "run" / "transcripts.jsonl")
    assert len(episodes) == 2
    for episode in episodes:
        turn, answer = episode["transcript"]["segments"][2:4]
        called = turn["call"]["name"], turn["call"]["arguments"]
        assert called == ("calculator", {"expression": "6*7"})
        assert answer["role"] == "tool" and "42" in answer["text"]


def turns_of(transcript: Any) -> list[tuple[list[int], list[int], list[float]]]:
    """(what came before it, its ids, their log-probabilities) of each turn."""
    said = [segment for segment in transcript.segments if segment.role == "assistant"]
    places = zip(starts(transcript), said, strict=True)
    return [(transcript.token_ids[:at], turn.token_ids, turn.logprobs) for at, turn in places]


@pytest.mark.parametrize(("start", "tied"), [
    ("untied", True), ("untied", False), ("tied", True)
])  # fmt: skip
def test_three_steps_of_grpo(vllm, trainer, start, tied):
    """What is learned from is what vLLM said; and its greedy episodes are our engine's."""
    loop, said, learned = trainer(vllm(start), tied), list[Any](), list[Any]()
    policy, update = loop.worker.policy, loop.update
    sample = policy.server.sample

    def note(request: TokenRequest) -> Any:
        outcome = sample(request)
        said.append((request, outcome.value))
        return outcome

    object.__setattr__(policy.server, "sample", note)
    loop.update = lambda rollouts, scale: learned.extend(rollouts) or update(rollouts, scale)
    for _ in range(3):
        row = loop.take_step()
        assert row["unscored"] == 0 and row["grad_norm"] > 0
        assert row["proof_gap"] < 1e-4 and row["sampler_gap"] < 1e-4 and row["logprob_gap"] < 1e-4
    turns = [
        (request.prompt, tokens) for request, tokens in said if not request.id.startswith("proof")
    ]
    trained = [turn for r in learned for turn in turns_of(r.episode.transcript)]
    assert len(trained) > 14
    assert sorted(trained) == sorted((prompt, t.ids, t.logprobs) for prompt, t in turns)

    # greedily: what our engine says, with the weights that vLLM has after another load
    policy.begin_step()
    policy.last_play = {"server": {}}
    policy._refresh()
    ours = LocalPolicy(loop.model, policy.chat, Sampling(dtype="float32"))
    (played,) = ours.play([open_session(next(loop.trips), DIALECT, policy.chat)])
    for prompt, ids, logprobs in turns_of(played.transcript):
        answer = sample(TokenRequest("greedy", prompt, len(ids), policy.chat.stop_id, 0.0, 0)).value
        assert answer.ids == ids and answer.logprobs == pytest.approx(logprobs, abs=1e-4)


def skipped(*paths: str) -> Callable[..., Any]:
    """VllmServer.control, to which these are done."""
    control = VllmServer.control
    return lambda it, path, *args, **more: {} if path in paths else control(it, path, *args, **more)


def test_weights_that_did_not_arrive(vllm, trainer, nano, tmp_path, monkeypatch):
    """Each stops the run before it learns: a model written with its embeddings tied, of which vLLM
    0.32.0 keeps the output layer; a prefix cache that is not emptied; a load of another folder."""
    other, load = tmp_path / "other", VllmServer.load_weights
    other.mkdir()
    save_file(plain_weights(nano(1), torch.float32), other / "model.safetensors")

    def tied(model: Any, products: Any) -> Any:
        weights = plain_weights(model, products)
        del weights["lm_head.weight"]
        return weights

    for owner, name, wrong, cause in (
        (rollout_worker, "plain_weights", tied, "the output layer of tied embeddings"),
        (VllmServer, "control", skipped("/pause?mode=keep", "/reset_prefix_cache"),
         "a prefix cache of the weights before"),
        (VllmServer, "load_weights", lambda it, _, version: load(it, other, version),
         "another checkpoint"),
    ):  # fmt: skip
        loop = trainer(vllm("tied"))
        before = copy.deepcopy(loop.model.state_dict())
        with monkeypatch.context() as change:
            change.setattr(owner, name, wrong)
            with pytest.raises(UserError, match=rf"differ by .* nats per token .*{cause}"):
                loop.take_step()
        assert all(torch.equal(before[n], p) for n, p in loop.model.state_dict().items())
