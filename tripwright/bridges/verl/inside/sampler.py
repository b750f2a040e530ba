"""Our inference engine behind verl's rollout interface: an actor that answers requests for tokens,
the replica that starts it, and the worker's side, which sends it the weights by verl's own path.

A request is a turn. Turns of many episodes are decoded together; what an episode said before is in
the cache of the row that said it. An episode's random numbers are its own, as in `rl/`: so it
samples what the local engine would, whichever server it is sent to.
"""

from __future__ import annotations

import asyncio
import queue
import random
import threading
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import ray
import torch
from transformers import AutoConfig, AutoModelForCausalLM
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, TokenOutput

from tripwright.agent.session import Turn
from tripwright.inference.decoder import Decoder
from tripwright.inference.engine import InferenceEngine, SessionSource
from tripwright.inference.sampling import Sampling

IDLE_SECONDS = 0.2  # how long the engine waits for a request before it looks whether to stop


class TurnRequest:
    """One turn to be sampled: what the engine asks of a session, and a way back to who waits."""

    def __init__(
        self,
        prompt_ids: list[int],
        params: dict[str, Any],
        positions: int,
        answer: asyncio.Future[TokenOutput],
    ):
        self.context, self.turn_budget = prompt_ids, int(params["max_tokens"])
        self.temperature = float(params["temperature"])
        self.stop_id = int(params["stop_token_ids"][0])
        self.id, self.said = params["episode"], int(params["said"])
        self.answer, self.loop = answer, answer.get_loop()
        self.context_from, self.done = None, False
        self.dialect = SimpleNamespace(context_tokens=positions, name="of verl")

    def take(self, turn: Turn) -> list[int]:
        self.done = True
        reason = "length" if turn.cut else "completed"
        output = TokenOutput(token_ids=turn.token_ids, log_probs=turn.logprobs, stop_reason=reason)
        self.loop.call_soon_threadsafe(self._answer, output)
        return []

    def fail(self, error: BaseException) -> None:
        self.loop.call_soon_threadsafe(self._answer, error)

    def _answer(self, outcome: TokenOutput | BaseException) -> None:
        if self.answer.done():
            return
        if isinstance(outcome, BaseException):
            self.answer.set_exception(outcome)
        else:
            self.answer.set_result(outcome)


class TurnQueue(SessionSource):
    """Requests as the engine's source of sessions; it plays on while there are any."""

    signal = None

    def __init__(self) -> None:
        self.waiting: queue.SimpleQueue[TurnRequest] = queue.SimpleQueue()
        self.first: TurnRequest | None = None

    def next(self) -> Any:
        if self.first is not None:
            request, self.first = self.first, None
            return request
        try:
            return self.waiting.get_nowait()
        except queue.Empty:
            return None

    def heard(self, session: Any, signal: Sequence[float], ended: bool) -> None: ...
    def finished(self, session: Any) -> None: ...


class TurnEngine(InferenceEngine):
    """Episodes go on with their random numbers where their last turn left off."""

    def numbers(self, session: Any) -> random.Random:
        numbers = super().numbers(session)
        for _ in range(session.said):
            numbers.random()
        return numbers


class EngineServer:
    """One model on one CPU. Awake only with weights; between two versions of them nothing is
    sampled, and nothing of the older one's cache is kept."""

    def __init__(self, model_path: str, seed: int, rows: int, positions: int):
        torch.set_num_threads(1)
        config = AutoConfig.from_pretrained(model_path)
        config._attn_implementation = "sdpa"
        self.model = AutoModelForCausalLM.from_config(config).float().eval()
        self.seed, self.rows, self.positions = seed, rows, positions
        self.version: int | None = None
        self.requests = TurnQueue()
        self.engine: TurnEngine | None = None
        threading.Thread(target=self._serve, daemon=True, name="engine").start()

    async def load_weights(self, state: dict[str, torch.Tensor], version: int) -> None:
        missing, unexpected = self.model.load_state_dict(state, strict=False)
        tied = {"lm_head.weight"} if self.model.config.tie_word_embeddings else set()
        if unexpected or set(missing) - tied:
            raise RuntimeError(f"weights that do not fit: {missing} missing, {unexpected} unknown")
        self.version, self.engine = version, None

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any
    ) -> TokenOutput:
        if self.version is None:
            raise RuntimeError("asked for tokens before there were weights")
        answer = asyncio.get_running_loop().create_future()
        request = TurnRequest(list(prompt_ids), sampling_params, self.positions, answer)
        self.requests.waiting.put(request)
        output = await answer
        output.extra_fields["global_steps"] = self.version
        return output

    async def wake_up(self) -> None: ...
    async def sleep(self) -> None: ...
    async def clear_kv_cache(self) -> None: ...
    async def release_kv_cache(self) -> None: ...
    async def resume_kv_cache(self) -> None: ...
    async def resume_generation(self) -> None: ...
    async def abort_all_requests(self, reject_request: bool = False) -> None: ...

    def _serve(self) -> None:
        while True:
            try:
                self.requests.first = self.requests.waiting.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                continue
            try:
                self._play(self.requests.first)
            except (
                BaseException
            ) as error:  # told to whoever waits; verl logs it, the trainer counts
                self._fail(error)

    @torch.inference_mode()
    def _play(self, first: TurnRequest) -> None:
        if self.engine is None:
            sampling = Sampling(first.temperature, self.rows, self.seed, "float32")
            tokenizer = SimpleNamespace(stop_id=first.stop_id, decode=lambda ids: "")
            chat: Any = tokenizer
            self.engine = TurnEngine(Decoder(self.model), chat, sampling, Counter())
        for _ in self.engine.play(self.requests):
            pass

    def _fail(self, error: BaseException) -> None:
        rows: list[Any] = self.engine.rows if self.engine is not None else []
        requests: list[Any] = [row.session for row in rows if row is not None]
        requests += [] if self.requests.first is None else [self.requests.first]
        self.engine, self.requests.first = None, None
        for request in requests:
            request.fail(error)


def server_name(rank: int) -> str:
    return f"tripwright_sampler_{rank}"


class EngineReplica(RolloutReplica):
    """One server a worker."""

    async def launch_servers(self) -> None:
        name, config = server_name(self.replica_rank), self.config
        server = (
            ray.remote(EngineServer)
            .options(name=name, num_cpus=1, max_concurrency=self.max_concurrency)
            .remote(self.model_config.path, config.seed, config.max_num_seqs, config.max_model_len)
        )
        await server.clear_kv_cache.remote()
        self.servers, self._server_handle, self._server_address = [server], server, name


class EngineSender(BaseRollout):
    """Lives in the training worker; rank r feeds replica r."""

    async def resume(self, tags: list[str]) -> None: ...
    async def release(self) -> None: ...

    async def update_weights(self, weights: Any, global_steps: int | None = None, **_: Any) -> None:
        # every rank must drain it: each tensor is gathered from all of them
        state = {name: tensor.detach().cpu().clone() for name, tensor in weights}
        server = ray.get_actor(server_name(torch.distributed.get_rank()))
        await server.load_weights.remote(state, global_steps)
