"""A local model as a policy: many sessions at once over one key-value cache.

The cache lives across turns, so a turn costs its own tokens only; sessions that start from the same prompt share its prefill; a
finished session's row is given to the next one at once. Rows wait with their tool answers until enough of them can be read in
together, and take part in decoding meanwhile as dead weight: cheaper than moving their caches.

Log-probabilities are those of the distribution sampled from, at the given temperature.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tripwright.agent.chat import ChatFormat
from tripwright.agent.policies.local_decoder import Cache, Decoder, round_up
from tripwright.agent.policies.local_precision import AUTO, precision_named
from tripwright.agent.session import Session, Turn
from tripwright.errors import UserError


@dataclass(frozen=True)
class Sampling:
    """`temperature` 0 is greedy. `rows` is how many sessions are in the batch at once."""

    temperature: float = 0.0
    rows: int = 64
    seed: int = 0
    dtype: str = AUTO  # one of local_precision.PRECISIONS
    gather: float = 0.25  # share of the rows that must be waiting before their tool answers are read in

    @property
    def precision(self) -> torch.dtype:
        return precision_named(self.dtype)


@dataclass
class _Row:
    """One session in the batch. `unread` ids have no keys and values yet; `read` counts the positions that have."""

    session: Session
    unread: list[int]
    read: int = 0
    turn_ids: list[int] = field(default_factory=list)
    turn_logprobs: list[float] = field(default_factory=list)

    @property
    def waiting(self) -> bool:
        """Has more to read than the one token it just sampled."""
        return not self.turn_ids


class LocalPolicy:
    """Plays sessions with `model` (any of local_decoder.SUPPORTED). The sessions must have been opened with this model's ChatFormat."""

    def __init__(self, model: Any, chat: ChatFormat, sampling: Sampling | None = None, name: str = "local"):
        self.name, self.chat, self.sampling = name, chat, sampling or Sampling()
        self._model = model
        self._generator = torch.Generator().manual_seed(self.sampling.seed)

    @classmethod
    def load(cls, folder: str | Path, tools: list[dict[str, Any]] | None, sampling: Sampling | None = None) -> LocalPolicy:
        """A checkpoint folder, or a model name that `from_pretrained` can find."""
        model, tokenizer = load_model(folder)
        return cls(model, ChatFormat(tokenizer, tools), sampling, name=str(folder))

    @torch.inference_mode()
    def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
        model = copy.deepcopy(self._model).to(self.sampling.precision).eval()  # sampled from at the precision asked for, trained at its own
        yield from _Batch(Decoder(model), self.chat, self.sampling, self._generator).play(iter(sessions))


def load_model(folder: str | Path) -> tuple[Any, Any]:
    """(model, tokenizer) by `from_pretrained`, in the checkpoint's own precision."""
    from transformers import AutoModelForCausalLM, AutoTokenizer  # heavy, and only needed here
    from transformers.utils import logging

    logging.disable_progress_bar()  # a bar per load would drown our own progress
    try:
        return AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise UserError(f"No model could be loaded from '{folder}': {str(error).splitlines()[0]}") from None


class _Batch:
    def __init__(self, decoder: Decoder, chat: ChatFormat, sampling: Sampling, generator: torch.Generator):
        self.decoder, self.chat, self.sampling, self.generator = decoder, chat, sampling, generator
        self.rows: list[_Row | None] = []
        self.cache: Cache | None = None

    def play(self, sessions: Iterator[Session]) -> Iterator[Session]:
        while True:
            self._admit(sessions)
            active = [row for row in self.rows if row is not None]
            if not active:
                return
            waiting = [i for i, row in enumerate(self.rows) if row is not None and row.waiting]
            if waiting and (len(waiting) == len(active) or len(waiting) >= self.sampling.gather * len(self.rows)):
                yield from self._read(waiting)
            else:
                yield from self._decode()

    def _admit(self, sessions: Iterator[Session]) -> None:
        """Fills free rows; once there is nothing left to admit, closes the gaps so that decoding pays for living rows only."""
        while len([row for row in self.rows if row is not None]) < self.sampling.rows:
            session = next(sessions, None)
            if session is None:
                self._close_gaps()
                return
            row = _Row(session, list(session.transcript.token_ids))
            if None in self.rows:
                self.rows[self.rows.index(None)] = row
            else:
                self.rows.append(row)
            if self.cache is None:
                positions = min(session.dialect.context_tokens + session.dialect.max_tool_tokens, len(self.decoder.cos))
                self.cache = Cache(self.decoder, self.sampling.rows, positions, self.sampling.precision)

    def _close_gaps(self) -> None:
        alive = [i for i, row in enumerate(self.rows) if row is not None]
        room = round_up(len(alive), 8)
        if room > 0.75 * len(self.rows):
            return
        for target, source in enumerate(alive):
            row = self.rows[source]
            if source != target and row is not None and self.cache is not None:
                self.cache.copy_row(source, target, row.read)
                self.rows[target] = row
        self.rows[len(alive) :] = [None] * (room - len(alive))

    def _read(self, waiting: list[int]) -> Iterator[Session]:
        """Feeds the waiting rows what they have not read, and samples the first token of their next turn. Equal prompts are read once."""
        assert self.cache is not None
        leaders: dict[tuple[int, ...], int] = {}
        leader_of = {}
        for i in waiting:
            row = self._row(i)
            leader_of[i] = leaders.setdefault(tuple(row.unread), i) if row.read == 0 else i
        readers = [i for i in waiting if leader_of[i] == i]
        order = {i: n for n, i in enumerate(readers)}
        readers += readers[:1] * (round_up(len(readers), 8) - len(readers))  # the first one again and again: same row, same values
        width = round_up(max(len(self._row(i).unread) for i in readers), 32)
        ids = torch.zeros(len(readers), width, dtype=torch.long)
        starts = torch.tensor([self._row(i).read for i in readers])
        last = torch.tensor([len(self._row(i).unread) - 1 for i in readers])
        for n, i in enumerate(readers):
            ids[n, : int(last[n]) + 1] = torch.tensor(self._row(i).unread)
        # Padding writes beyond a row's end; those positions are overwritten when the row gets there, and never attended before.
        positions = (starts[:, None] + torch.arange(width)).clamp_(max=self.cache.keys.shape[3] - 1)
        hidden = self.decoder.hidden(ids, positions, self.cache, rows=torch.tensor(readers))
        logits = self.decoder.logits(hidden[torch.arange(len(readers)), last])
        for i in waiting:
            row = self._row(i)
            row.read += len(row.unread)
            if leader_of[i] != i:
                self.cache.copy_row(leader_of[i], i, row.read)
        yield from self._sample(waiting, logits[torch.tensor([order[leader_of[i]] for i in waiting])])

    def _decode(self) -> Iterator[Session]:
        """One token for every row that is in the middle of a turn."""
        assert self.cache is not None
        speaking = [i for i, row in enumerate(self.rows) if row is not None and not row.waiting]
        ids = torch.zeros(len(self.rows), 1, dtype=torch.long)
        positions = torch.zeros(len(self.rows), 1, dtype=torch.long)
        for i, row in enumerate(self.rows):
            if row is not None:
                ids[i, 0], positions[i, 0] = row.unread[0], row.read
        logits = self.decoder.logits(self.decoder.hidden(ids, positions, self.cache)[:, 0])[speaking]
        for i in speaking:
            self._row(i).read += 1
        yield from self._sample(speaking, logits)

    def _sample(self, at: list[int], logits: Tensor) -> Iterator[Session]:
        """Takes one token per row of `at` from logits (len(at), vocabulary); ends turns, calls tools, yields sessions that are done."""
        temperature = self.sampling.temperature
        logprobs = torch.log_softmax(logits / temperature if temperature > 0 else logits, dim=-1)
        if temperature > 0:
            tokens = torch.multinomial(logprobs.exp(), 1, generator=self.generator)[:, 0]
        else:
            tokens = logprobs.argmax(-1)
        chosen = logprobs.gather(1, tokens[:, None])[:, 0].tolist()
        for i, token, logprob in zip(at, tokens.tolist(), chosen, strict=True):
            row = self._row(i)
            row.turn_ids.append(token)
            row.turn_logprobs.append(logprob)
            row.unread = [token]
            if token == self.chat.stop_id or len(row.turn_ids) >= row.session.turn_budget:
                self._end_turn(i, row)
                if row.session.done:
                    self.rows[i] = None
                    yield row.session

    def _end_turn(self, i: int, row: _Row) -> None:
        cut = row.turn_ids[-1] != self.chat.stop_id
        text = self.chat.decode(row.turn_ids if cut else row.turn_ids[:-1])
        between = row.session.take(Turn(text, row.turn_ids, row.turn_logprobs, cut))
        row.unread = [row.turn_ids[-1], *between]
        row.turn_ids, row.turn_logprobs = [], []

    def _row(self, i: int) -> _Row:
        row = self.rows[i]
        assert row is not None
        return row
