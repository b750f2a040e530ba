"""Our engine for whoever asks: token ids in, sampled ids out, many requests at once in one batch,
and weights that can be replaced between two batches.

One thread owns the model. Requests that sample alike share a batch and enter it at any time;
others, and whatever changes the model, wait until it is empty.

Sleep gives the weights up, as vLLM's level 2 does: after waking they must be loaded.
"""

from __future__ import annotations

import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial, wraps
from pathlib import Path
from queue import Empty, SimpleQueue
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import torch

from tripwright.episode import Session, Turn
from tripwright.errors import UserError
from tripwright.files import check_model_files
from tripwright.inference.branching import SessionSource
from tripwright.inference.decoder import Decoder
from tripwright.inference.engine import InferenceEngine
from tripwright.inference.sampling import Sampling

_OF_AN_EPISODE = re.compile(r"(-?\d+ id .+) @(\d+)$", re.DOTALL)  # as `turn_name` makes it


def turn_name(seed: int, episode: str | None, said: int) -> str:
    """Of a request for an episode's next turn, after `said` tokens of its own: it goes on with the
    episode's random numbers (`Session.numbers`) where these left off."""
    return f"{seed} id {episode} @{said}"


class ServedRequest:
    """One turn as the engine takes a session: it ends with its first turn. A request with the name
    of an episode's turn goes on with that episode's random numbers, so that it samples what the
    engine in the trainer's own process would; any other has `seed`. `hear` is called in the
    engine's thread with the ids so far, and says whether the turn ends there."""

    context_from = None

    def __init__(
        self,
        name: str,
        prompt: list[int],
        max_tokens: int,
        alike: tuple[Sampling, int],
        seed: int | None,
        hear: Callable[[Sequence[int]], bool] | None = None,
    ):
        self.context, self.turn_budget = prompt, max_tokens
        self.alike = alike  # sampling and stop token: what requests of one batch have in common
        self.dialect = SimpleNamespace(name="request", context_tokens=len(prompt) + max_tokens)
        self.done, self.hear = False, hear
        self.result = Future[Turn]()
        of_episode = _OF_AN_EPISODE.match(name)
        self._numbers = random.Random(of_episode[1] if of_episode else seed)
        for _ in range(int(of_episode[2]) if of_episode else 0):
            self._numbers.random()

    def numbers(self, seed: int) -> random.Random:
        return self._numbers

    def take(self, turn: Turn) -> list[int]:
        self.done = True
        self.result.set_result(turn)
        return []


class _OneStop(NamedTuple):
    """The part of a chat format that the engine asks for; the texts are made elsewhere."""

    stop_id: int

    def decode(self, ids: list[int]) -> str:
        return ""


def _alone(method: Callable[..., None]) -> Callable[..., None]:
    """The engine's thread runs the method between two batches, and the caller waits for it."""

    @wraps(method)
    def waiting(service: TokenService, *arguments: Any) -> None:
        done = Future[None]()
        service._work.put((partial(method, service, *arguments), done))
        done.result()

    return waiting


class TokenService:
    """`model` is sampled in the format that its weights have, and changed in place. Methods may be
    called from any thread, and wait."""

    def __init__(self, model: Any, rows: int = 64):
        self._rows, self._model = rows, model.eval()
        self._shapes = {p: p.shape for p in self._model.parameters()}
        self._engine: InferenceEngine | None = None  # its cache lives on between batches
        self._asleep, self._loaded = set[str](), True
        self._work = SimpleQueue[ServedRequest | tuple[Callable[[], Any], Future[Any]]]()
        threading.Thread(target=self._serve, name="engine", daemon=True).start()

    @property
    def positions(self) -> int:
        return int(self._model.config.max_position_embeddings)

    @property
    def vocabulary(self) -> int:
        return int(self._model.config.vocab_size)

    @property
    def asleep(self) -> bool:
        return bool(self._asleep)

    @property
    def memory_mb(self) -> float:
        """Of the weights and of the cache, as far as they are held."""
        tensors = list(self._model.parameters())
        if self._engine is not None and self._engine.cache is not None:
            tensors += [self._engine.cache.keys, self._engine.cache.values]
        return round(sum(t.numel() * t.element_size() for t in tensors) / 2**20, 3)

    @property
    def ready(self) -> bool:
        """Whether there are weights to sample from, and memory for a cache."""
        return self._loaded and not self._asleep

    def sample(
        self,
        name: str,
        prompt: list[int],
        max_tokens: int,
        sampling: tuple[float, float, int | None],
        stop_id: int,
        seed: int | None,
        hear: Callable[[Sequence[int]], bool] | None = None,
    ) -> Future[Turn]:
        """One turn after `prompt`, with ids and log-probabilities. `sampling`: temperature, top_p,
        top_k."""
        temperature, top_p, top_k = sampling
        settings = Sampling(temperature, self._rows, top_p=top_p, top_k=top_k)
        request = ServedRequest(name, prompt, max_tokens, (settings, stop_id), seed, hear)
        self._work.put(request)
        return request.result

    @_alone
    def sleep(self, memory: Sequence[str] = ("weights", "kv_cache")) -> None:
        self._engine = None
        self._asleep |= set(memory)
        if "weights" in memory:
            self._loaded = False
            for p in self._shapes:
                p.data = p.data.new_empty(0)

    @_alone
    def wake(self, memory: Sequence[str] = ("weights", "kv_cache")) -> None:
        if "weights" in memory and "weights" in self._asleep:
            for p, shape in self._shapes.items():
                p.data = p.data.new_empty(shape)
        self._asleep -= set(memory)

    @_alone
    def forget(self) -> None:
        """Drops the keys and values of former requests."""
        self._engine = None

    def load(self, folder: str | Path) -> None:
        """The weights of a checkpoint of the same model, as `put`."""
        from safetensors.torch import load_file

        files = sorted(Path(folder).glob("*.safetensors"))
        if not files:
            raise UserError(f"No weights (*.safetensors) in '{folder}'.")
        check_model_files(folder)
        weights = {name: tensor for file in files for name, tensor in load_file(file).items()}
        self.put(weights, f"'{folder}'")

    @_alone
    def put(self, weights: dict[str, torch.Tensor], whose: str = "This update") -> None:
        """Raises UserError where they are another model's, or where there is no memory for
        them."""
        if "weights" in self._asleep:
            raise UserError("Weights are loaded into memory that is awake: wake it first.")
        self._engine = None
        named = dict(self._model.named_parameters(remove_duplicate=False))
        there = {id(named[name]) for name in weights if name in named}  # tied weights have two
        strange = [name for name in weights if name not in self._model.state_dict()]
        lacking = [name for name, p in named.items() if id(p) not in there]
        shaped = [n for n, t in weights.items() if n in named and t.shape != named[n].shape]
        if wrong := strange or lacking or shaped:
            raise UserError(f"{whose} holds another model's weights: see '{wrong[0]}'.")
        self._model.load_state_dict(weights, strict=False)
        self._loaded = True

    # ---- in the engine's thread

    def _serve(self) -> None:
        held: ServedRequest | tuple[Callable[[], Any], Future[Any]] | None = None
        while True:
            work = held or self._work.get()
            held = None
            if isinstance(work, ServedRequest):
                held = self._play(work)
                continue
            do, done = work
            try:
                done.set_result(do())
            except Exception as error:  # whoever asked is told
                done.set_exception(error)

    def _play(self, first: ServedRequest) -> Any:
        """A batch, until it is empty; what came and cannot join it."""
        source = _Arrivals(first, self._work)
        try:
            if not self.ready:
                raise UserError("This model gave its weights or its cache up.")
            with torch.inference_mode():
                for _ in self._engine_for(*first.alike).play(source):
                    pass
        except Exception as error:  # whoever asked is told
            self._engine = None
            for request in {first, *source.playing}:
                if not request.done:
                    request.result.set_exception(error)
        return source.held

    def _engine_for(self, sampling: Sampling, stop_id: int) -> InferenceEngine:
        chat = cast(Any, _OneStop(stop_id))
        if self._engine is None:
            self._engine = InferenceEngine(Decoder(self._model), chat, sampling, Counter())
        self._engine.chat, self._engine.sampling = chat, sampling
        return self._engine


class _Arrivals(SessionSource):
    """What comes while a batch plays, as an engine's source of sessions."""

    def __init__(self, first: ServedRequest, work: SimpleQueue[Any]):
        super().__init__(())
        self._next: ServedRequest | None = first
        self._work, self._alike = work, first.alike
        self.held: Any = None
        self.playing: list[ServedRequest] = []

    def next(self) -> Session | None:
        if self._next is None and self.held is None:
            try:
                work = self._work.get_nowait()
            except Empty:
                return None
            if isinstance(work, ServedRequest) and work.alike == self._alike:
                self._next = work
            else:
                self.held = work
        request, self._next = self._next, None
        if request is not None:
            self.playing.append(request)
        return cast(Session | None, request)

    def said(self, session: Session, turn_ids: Sequence[int]) -> bool:
        hear = cast(ServedRequest, session).hear
        return hear is not None and hear(turn_ids)

    def finished(self, session: Session) -> None:
        self.playing.remove(cast(ServedRequest, session))
