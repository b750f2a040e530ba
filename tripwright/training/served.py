"""Servers that sample token ids after token ids: what is asked of vLLM and of SGLang, one class
each with the same calls.

- vLLM 0.32.0 is run by `tests/engines`, on a CPU; sleeping and waking in a GPU's memory are only
  read (`docs/features/sleep_mode.md`).
- SGLang was never run; requests and answers follow its source (after 0.5.9, as read on
  2026-11-26): `srt/managers/io_struct.py`, `srt/sampling/sampling_params.py`,
  `srt/managers/schedule_batch.py`, `srt/managers/scheduler_update_weights_mixin.py`,
  `srt/entrypoints/http_server.py`.

Every setting of sampling is sent with every request: both servers take what is left out from the
model's `generation_config.json`, where Qwen's have top_p 0.8 and top_k 20.

A server that answers "loaded" has not proven it: after every load it is asked to go on, greedily,
after one fixed prompt, and what it says is held to the trainer's own forward pass (`ServedPolicy`).
Seen in vLLM 0.32.0: of a checkpoint that leaves a tied output layer out, it keeps the old layer. So
`rollout_worker.plain_weights` writes it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Gt

from tripwright.errors import UserError
from tripwright.files import WEIGHTS_TOKEN, shared_token
from tripwright.llm.endpoint import BadAnswer, Endpoint, Fault, Reply
from tripwright.llm.http import hidden

VLLM = "0.32.0"  # the release that requests are written for and tests run
# what an agent program is called with: the prompt and the tools' schemas as chat completions take
# them, call(name, arguments) → a tool's answer, and where the model is; it returns its answer
AGENT = ("messages", "tools", "call", "base_url", "model")
Memory = Literal["weights", "kv_cache"]
# said with every request
PLAIN_SAMPLING = {
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}


@dataclass(frozen=True)
class RolloutServer:
    """The server of a recipe's rollouts, at `url`; trained weights reach it through the folder
    `weights`, which both processes see. `sleep`: it gives its memory back while the weights are
    trained, and wakes in three stages (row P11).

    A server of ours changes its weights for whoever knows the content of the file `token`, which
    either side makes. Where ROLLOUT_API_KEY holds a key, that is sent.

    `agent`: the user's own "module:function", which plays the episodes by chat completions, on a
    server of ours (`ServedPolicy`).

    `max_gap`, nats per token, bounds the mean difference between the server's log-probabilities and
    the trainer's, of the proof after a load and of each step: beyond it the run stops.
    """

    kind: Literal["vllm", "sglang"]
    url: str
    weights: str
    token: str = str(WEIGHTS_TOKEN)
    sleep: bool = True
    agent: str | None = None
    max_gap: Annotated[float, Gt(0)] = 0.1
    timeout_s: Annotated[float, Gt(0)] = 600.0  # for a whole answer


class TokenRequest(NamedTuple):
    """`id` tells requests apart, also from their own repetitions."""

    id: str
    prompt: list[int]
    max_tokens: int
    stop_id: int
    temperature: float
    seed: int
    top_p: float = 1.0
    top_k: int = -1  # no limit


class Tokens(NamedTuple):
    """An answer. `logprobs` are of the distribution that was sampled from; `version` is that of the
    weights, where the server says it."""

    ids: list[int]
    logprobs: list[float]
    prompt_tokens: int
    cached_tokens: int
    version: str | None = None


# A prompt that nobody writes, so that what follows it is nowhere certain; longer than a block of a
# server's prefix cache (vLLM's has 16 tokens, on a CPU 128), so that one that was not emptied shows
PROOF_PROMPT, PROOF_TOKENS = 160, 16
ROLLOUT_KEY = "ROLLOUT_API_KEY"  # the environment variable


def proof_prompt(vocabulary: int, first: int = 5) -> list[int]:
    """Token ids. One with another `first` has no beginning in common with it."""
    return [(17 * n + first) % vocabulary for n in range(PROOF_PROMPT)]


def proof_gap(said: Sequence[float], own: Sequence[float]) -> float:
    """|sampler − trainer|, in nats per token, of log-probabilities of the same tokens."""
    return fmean(abs(a - b) for a, b in zip(said, own, strict=True))


def token_server(
    settings: RolloutServer, vocabulary: int, api_key_env: str = ROLLOUT_KEY
) -> VllmServer | SglangServer:
    kind = VllmServer if settings.kind == "vllm" else SglangServer
    return kind(
        settings.url,
        vocabulary,
        timeout_s=settings.timeout_s,
        api_key_env=api_key_env,
        asleep=Path(settings.weights) / "asleep",
        token=Path(settings.token) if settings.weights else None,
    )


def server_at(
    url: str, vocabulary: int, api_key_env: str = ROLLOUT_KEY
) -> tuple[VllmServer | SglangServer, str]:
    """The server of a finished model at an address with or without /v1, and the model that it
    names. Raises UserError where none answers."""
    address = url.rstrip("/").removesuffix("/v1")
    for kind in ("sglang", "vllm"):
        server = token_server(RolloutServer(kind, address, weights=""), vocabulary, api_key_env)
        try:
            return server, server.model()
        except (UserError, LookupError, TypeError) as error:
            why = error
    raise UserError(f"Neither SGLang, vLLM nor 'serve model' answers at '{url}': {why}")


@dataclass(frozen=True)
class _Server(Endpoint):
    """What faults is a value only in `sample`; the other calls raise UserError. `open`: whether it
    is asleep; `forget` drops keys and values of former weights; `version` is of the weights in
    force, None where it does not say."""

    vocabulary: int
    # kept by us where the server does not say whether it sleeps; holds its weights' version
    asleep: Path = field(kw_only=True)
    token: Path | None = field(kw_only=True)  # only for a server that is sent weights

    name = "a server"
    answer = "tokens"
    # what to start it with: to have an output layer of its own, and no prefix cache
    untied = cacheless = ""

    def unknown(self) -> str:
        """What to say of a release that this was not written for, "" for the known one."""
        return ""

    def advice(self) -> str:
        return f"Is this the address of {self.name}, started as docs/training.md says?"

    def _headers(self) -> dict[str, str]:
        headers = super()._headers()
        if self.token is not None and not os.environ.get(self.api_key_env):
            headers["Authorization"] = f"Bearer {hidden(shared_token(self.token))}"
        return headers

    def control(self, path: str, body: Any = None, method: str = "POST") -> Any:
        """The answer's JSON, or its text where it is no JSON. Raises UserError where there is no
        answer."""
        reply = self.ask(path, body, lambda content: content, method, plain=True)
        if isinstance(reply, Fault):
            why = reply.message.rstrip(".")
            raise UserError(f"{self.name} did not do '{path}': {why}. {self.advice()}")
        content = reply.value
        if isinstance(content, dict) and content.get("success") is False:
            message = self._shown(content.get("message", "no reason given"))
            raise UserError(f"{self.name} did not do '{path}': {message}")
        return content

    def checked(self, tokens: Tokens, request: TokenRequest, ended: str) -> Tokens:
        """Raises BadAnswer for tokens that cannot be an answer: learned from, they would be
        silently wrong. `ended`: why the server says that it stopped."""
        if ended not in ("stop", "length"):
            raise BadAnswer(f"a turn that it gave up ({ended}).")
        ids, logprobs = tokens.ids, tokens.logprobs
        if len(ids) != len(logprobs) or not 1 <= len(ids) <= request.max_tokens:
            found = f"{len(ids)} tokens with {len(logprobs)} log-probabilities"
            raise BadAnswer(f"{found}, where 1 to {request.max_tokens} were asked for.")
        if not all(type(token) is int and 0 <= token < self.vocabulary for token in ids):
            raise BadAnswer(f"token ids that the model's vocabulary of {self.vocabulary} has not.")
        if not all(isinstance(p, int | float) and math.isfinite(p) and p <= 1e-3 for p in logprobs):
            raise BadAnswer("log-probabilities that are none: NaN, infinite or above 0.")
        if request.stop_id in ids[:-1]:
            raise BadAnswer("tokens after the one that ends a turn.")
        if tokens.prompt_tokens != len(request.prompt):
            raise BadAnswer("tokens after another prompt than was sent.")
        if not 0 <= tokens.cached_tokens <= tokens.prompt_tokens:
            raise BadAnswer("more or fewer cached tokens than a prompt can have.")
        return tokens


@dataclass(frozen=True)
class VllmServer(_Server):
    """`VLLM_SERVER_DEV_MODE=1 vllm serve … --enable-sleep-mode --logprobs-mode
    processed_logprobs`. Sleep is of level 2: weights are given up as well."""

    name = "vLLM"
    untied = """ with --load-format dummy --hf-overrides '{"tie_word_embeddings": false}'"""
    cacheless = "--no-enable-prefix-caching"

    def unknown(self) -> str:
        try:
            found = _text(self.control("/version", method="GET"), "version")
        except UserError:  # `tripwright serve model` has no such route
            return ""
        if found is None or found.partition("+")[0] == VLLM:
            return ""
        return f"vLLM {found} answers at {self.base_url}; its requests are those of {VLLM}."

    def open(self) -> bool:
        return bool(self.control("/is_sleeping", method="GET")["is_sleeping"])

    def sample(self, request: TokenRequest) -> Reply[Tokens] | Fault:
        body = {
            "prompt": request.prompt,
            "request_id": request.id,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
            "stop_token_ids": [request.stop_id],
            "ignore_eos": True,  # other ends than the turn's are words like any other
            "logprobs": 1,
            "return_token_ids": True,
            "top_p": request.top_p,
            "top_k": request.top_k,
            **PLAIN_SAMPLING,
        }

        def read(content: Any) -> Tokens:
            choice, usage = content["choices"][0], content["usage"]
            cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
            if choice.get("prompt_token_ids", request.prompt) != request.prompt:
                raise BadAnswer("tokens after another prompt than was sent.")
            tokens = Tokens(
                choice["token_ids"],
                choice["logprobs"]["token_logprobs"],
                usage["prompt_tokens"],
                cached,
            )
            return self.checked(tokens, request, choice["finish_reason"])

        return self.ask("/v1/completions", body, read)

    def sleep(self) -> Any:
        return self.control("/sleep?level=2")

    def wake(self, memory: Memory) -> Any:
        return self.control(f"/wake_up?tags={memory}")

    def load_weights(self, folder: Path, version: str) -> Any:
        """Requests wait meanwhile. What was started with weights made up is told to read files."""
        self.control("/pause?mode=keep")
        reads = {"overrides": {"load_config": {"load_format": "auto"}}}
        self._everywhere("update_config", **reads)
        answer = self._everywhere("reload_weights", weights_path=str(folder))
        self.control("/update_weight_version", {"new_version": version})
        self.control("/resume")
        return answer

    def _everywhere(self, method: str, **kwargs: Any) -> Any:
        return self.control("/collective_rpc", {"method": method, "kwargs": kwargs})

    def model(self) -> str:
        return str(self.control("/v1/models", method="GET")["data"][0]["root"])

    def forget(self) -> Any:
        return self.control("/reset_prefix_cache")

    def version(self) -> str | None:
        return _text(self.control("/weight_info", method="GET"), "weight_version")


@dataclass(frozen=True)
class SglangServer(_Server):
    """`python -m sglang.launch_server … --enable-memory-saver`. It ends at every end of text that
    its tokenizer knows, also at one that is not the turn's (`ignore_eos` would make it ignore
    `stop_token_ids` as well)."""

    name = "SGLang"
    cacheless = "--disable-radix-cache"

    def open(self) -> bool:
        """A killed trainer leaves it asleep, and it does not say so: whoever puts it to sleep
        leaves a note, which holds for as long as it has those weights."""
        version = self.version()
        return self.asleep.is_file() and self.asleep.read_text(encoding="utf-8") == version

    def sample(self, request: TokenRequest) -> Reply[Tokens] | Fault:
        sampling = {
            "max_new_tokens": request.max_tokens,
            "temperature": request.temperature,
            "sampling_seed": request.seed,  # heard with --enable-deterministic-inference
            "stop_token_ids": [request.stop_id],
            "top_p": request.top_p,
            "top_k": request.top_k,
            **PLAIN_SAMPLING,
        }
        body = {
            "rid": request.id,
            "input_ids": request.prompt,
            "sampling_params": sampling,
            "return_logprob": True,
        }

        def read(content: Any) -> Tokens:
            meta = content["meta_info"]
            pairs = meta["output_token_logprobs"]  # (log-probability, id, text)
            tokens = Tokens(
                [pair[1] for pair in pairs],
                [pair[0] for pair in pairs],
                meta["prompt_tokens"],
                meta.get("cached_tokens") or 0,
                _text(meta, "weight_version"),
            )
            return self.checked(tokens, request, meta["finish_reason"]["type"])

        return self.ask("/generate", body, read)

    def sleep(self) -> Any:
        self.asleep.parent.mkdir(parents=True, exist_ok=True)
        self.asleep.write_text(self.version() or "", encoding="utf-8")
        return self.control("/release_memory_occupation", {"tags": ["kv_cache", "weights"]})

    def wake(self, memory: Memory) -> Any:
        answer = self.control("/resume_memory_occupation", {"tags": [memory]})
        if memory == "kv_cache":
            self.asleep.unlink(missing_ok=True)
        return answer

    def load_weights(self, folder: Path, version: str) -> Any:
        call = {"model_path": str(folder), "weight_version": version, "flush_cache": False}
        return self.control("/update_weights_from_disk", call)

    def model(self) -> str:
        return str(self.control("/model_info", method="GET")["model_path"])

    def forget(self) -> Any:
        return self.control("/flush_cache", method="GET")

    def version(self) -> str | None:
        return _text(self.control("/model_info", method="GET"), "weight_version")


def _text(content: Any, key: str) -> str | None:
    value = content.get(key) if isinstance(content, dict) else None
    return None if value is None else str(value)
