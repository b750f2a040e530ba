"""Many sessions over one key-value cache, a pass of the model at a time.

Every pass takes what each row has not read: one token of a row that speaks, a tool answer or a
prompt of a row that listens. So no row waits for others, and no pass computes for rows that are not
there. A finished session's row is given to the next one at once.

What two sessions begin with is read once: a row copies as much of its tokens as another row (or the
row's former session) has read already, and a row whose beginning is just being read by another
waits for that. A prompt shared by a group, the system prompt shared by all, and the history shared
with a fork are the same case.

Turns are taken in place, or by threads that wait for slow tools while the other rows decode.
Whoever submitted a session leaves it alone until it comes back, so that only one thread at a time
ever touches it."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

import torch

from tripwright.agent.chat import ChatFormat
from tripwright.episode import Session, Turn
from tripwright.errors import UserError
from tripwright.inference.branching import SessionSource
from tripwright.inference.decoder import CHUNK, Cache, CacheView, Decoder, round_up
from tripwright.inference.sampling import SampledTokens, Sampling, choose


class TurnThreads:
    """`threads` turns are taken at once; with 0, each is taken when it is submitted. What a tool
    raises is raised by `finished`."""

    def __init__(self, threads: int):
        self.in_flight, self._threads, self._closed = 0, threads, False
        self._free = threading.Semaphore(max(1, threads))
        self._done = SimpleQueue[tuple[BatchRow, list[int] | BaseException]]()

    def submit(self, row: BatchRow, turn: Turn) -> None:
        self.in_flight += 1
        if self._threads:
            # A daemon: an interrupted run must not wait for the slowest answer before it can end.
            threading.Thread(target=self._take, args=(row, turn), name="tools", daemon=True).start()
        else:
            self._take(row, turn)

    def finished(self, wait: bool = False) -> Iterator[tuple[BatchRow, list[int]]]:
        """(row, ids up to its next turn) of the turns that were taken since, in that order; with
        `wait`, of one at least."""
        while self.in_flight:
            try:
                row, outcome = self._done.get(block=wait)
            except Empty:
                return
            self.in_flight -= 1
            if isinstance(outcome, BaseException):
                raise outcome
            wait = False
            yield row, outcome

    def close(self) -> None:
        """Nothing more is begun; what a thread waits for just now is left to it."""
        self._closed = True

    def _take(self, row: BatchRow, turn: Turn) -> None:
        with self._free:
            if self._closed:
                return
            try:
                self._done.put((row, row.session.take(turn)))
            except BaseException as error:  # raised again by `finished`
                self._done.put((row, error))


READ_TOKENS = 2048  # of prompts and tool answers in one pass: bounds its memory
WORTH_WAITING = 32  # tokens: as many must be saved, for a row to let another read them first


@dataclass
class BatchRow:
    """One session in the batch. `opening` is the context that it came with, or has since its
    oldest exchanges left it at `context_from`; `unread` ids have no keys and values yet."""

    session: Session
    slot: int
    numbers: random.Random
    opening: list[int]
    unread: list[int]
    context_from: int | None
    begun: bool = False  # its place in the cache is its own: something was copied or read
    busy: bool = False  # its turn is being taken by a thread
    turn_ids: list[int] = field(default_factory=list)
    turn_logprobs: list[float] = field(default_factory=list)
    turn_entropies: list[float] = field(default_factory=list)


class InferenceEngine:
    def __init__(
        self, decoder: Decoder, chat: ChatFormat, sampling: Sampling, figures: Counter[str]
    ):
        self.decoder, self.chat, self.sampling, self.figures = decoder, chat, sampling, figures
        self.rows: list[BatchRow | None] = []
        # of every slot: the ids whose keys and values lie in the cache
        self.stored: list[list[int]] = []
        self.cache: Cache | None = None

    def play(self, source: SessionSource) -> Iterator[Session]:
        self.turns = TurnThreads(self.sampling.tool_threads)
        try:
            while True:
                yield from self._admit(source)
                alive = [row for row in self.rows if row is not None]
                if not alive:
                    return
                ready = [row for row in alive if not row.busy]
                if ready:
                    self._pass(ready, source)
                yield from self._come_back(source, wait=not ready)
        finally:
            self.turns.close()

    # ---- rows

    def _admit(self, source: SessionSource) -> Iterator[Session]:
        """Fills free rows; once there is nothing left to admit, closes the gaps. Yields sessions
        that are over before a token: our side has failed, or the prompt leaves no room to speak."""
        while None in self.rows or len(self.rows) < self.sampling.rows:
            session = source.next()
            if session is None:
                self._close_gaps()
                return
            numbers = session.numbers(self.sampling.seed)
            if not session.done and session.turn_budget < 1:
                session.overflow()
            if session.done:
                source.finished(session)
                yield session
                continue
            self._make_room(session)
            if None not in self.rows:
                self.rows.append(None)
                self.stored.append([])
            slot = self.rows.index(None)
            opening, start = session.context, session.context_from
            self.rows[slot] = BatchRow(session, slot, numbers, opening, list(opening), start)

    def _make_room(self, session: Session) -> None:
        positions = session.dialect.context_tokens
        if positions > len(self.decoder.cos):
            raise UserError(
                f"Dialect '{session.dialect.name}' needs {positions:,} positions, this model has"
                f" {len(self.decoder.cos):,}. Choose a dialect with a shorter context, or in a"
                f" recipe context_tokens of {len(self.decoder.cos):,} at most."
            )
        if self.cache is None or self.cache.keys.shape[3] < positions:
            larger = Cache(
                self.decoder,
                self.sampling.rows,
                round_up(positions),
                self.decoder.embed.weight.dtype,
            )
            if self.cache is not None:
                rows, width = len(self.stored), self.cache.keys.shape[3]
                larger.keys[:, :rows, :, :width] = self.cache.keys[:, :rows]
                larger.values[:, :rows, :, :width] = self.cache.values[:, :rows]
            self.cache = larger

    def _close_gaps(self) -> None:
        """The last rows move to free places before them, as soon as a chunk of rows that attend
        together is saved by it."""
        alive = [row for row in self.rows if row is not None]
        if len({row.slot // CHUNK for row in alive}) <= round_up(len(alive), CHUNK) // CHUNK:
            return
        for row in reversed(alive):
            free = self.rows.index(None)
            if free > row.slot:
                break
            if row.begun:
                self._copy(row.slot, free, len(self.stored[row.slot]))
            self.rows[row.slot], self.rows[free], row.slot = None, row, free
        del self.rows[len(alive) :], self.stored[len(alive) :]

    def _copy(self, source: int, target: int, length: int) -> None:
        assert self.cache is not None
        if source != target:
            self.cache.copy_row(source, target, length)
        self.stored[target] = self.stored[source][:length]

    # ---- one pass

    def _pass(self, ready: list[BatchRow], source: SessionSource) -> None:
        """Reads what is unread, samples a token for every row that has read all it had, and hands
        over the turns that ended."""
        assert self.cache is not None
        reads = self._schedule(ready)
        ids = [token for row, count in reads for token in row.unread[:count]]
        starts = [len(self.stored[row.slot]) for row, _ in reads]
        counts = [count for _, count in reads]
        padding, device = round_up(len(ids), 8) - len(ids), self.decoder.device
        view = CacheView(self.cache, [row.slot for row, _ in reads], starts, counts)
        ids_1N = torch.tensor([ids + ids[-1:] * padding], device=device)
        positions_N = torch.cat([view.positions, view.positions[-1:].expand(padding)])
        hidden_1NE = self.decoder.hidden(ids_1N, positions_N[None], view)
        speakers, at, end = [], [], 0
        for row, count in reads:
            end += count
            self.figures["prefilled_tokens"] += 0 if row.turn_ids else count
            self.stored[row.slot] += row.unread[:count]
            del row.unread[:count]
            if not row.unread:
                speakers.append(row)
                at.append(end - 1)
        self.figures["passes"] += 1
        self.figures["row_passes"] += len(reads)
        self.figures["decoded_tokens"] += len(speakers)
        if speakers:
            logits = self.decoder.logits(hidden_1NE[0, torch.tensor(at, device=device)])
            self._sample(
                speakers,
                choose(logits, [row.numbers.random() for row in speakers], self.sampling),
                source,
            )

    def _schedule(self, ready: list[BatchRow]) -> list[tuple[BatchRow, int]]:
        """(row, how many of its unread tokens) for one pass. Never empty: the first reader never
        waits. What has more to read than a pass takes what others leave."""
        reads, readers, budget = [], list[BatchRow](), READ_TOKENS
        for row in sorted(ready, key=lambda row: (len(row.unread) > READ_TOKENS, not row.begun)):
            if row.begun and len(row.unread) == 1:
                reads.append((row, 1))
                continue
            if not row.begun and not (budget and self._begin(row, readers)):
                continue
            readers.append(row)
            if count := min(budget, len(row.unread)):
                reads.append((row, count))
                budget -= count
        return reads

    def _begin(self, row: BatchRow, readers: list[BatchRow]) -> bool:
        """Copies what some slot has of the row's beginning; or says no, where a row that is reading
        now will soon have more of it."""
        best, have = row.slot, 0
        for slot, stored in enumerate(self.stored):
            shared = common(stored, row.opening)
            if shared > have:
                best, have = slot, shared
        # the last token is read in any case: what it predicts is not kept
        have = min(have, len(row.opening) - 1)
        soon = max((common(other.opening, row.opening) for other in readers), default=0)
        if min(soon, len(row.opening) - 1) - have >= WORTH_WAITING:
            return False
        self._copy(best, row.slot, have)
        self.figures["copied_tokens"] += have
        row.unread, row.begun = row.opening[have:], True
        return True

    # ---- turns

    def _sample(self, rows: list[BatchRow], sampled: SampledTokens, source: SessionSource) -> None:
        logprobs = sampled.logprobs.tolist()
        entropies = logprobs
        if source.listens:
            distribution = sampled.distribution
            entropies = (-(distribution.exp() * distribution).nan_to_num(0.0).sum(-1)).tolist()
        for row, token, logprob, nats in zip(
            rows, sampled.tokens.tolist(), logprobs, entropies, strict=True
        ):
            row.turn_ids.append(token)
            row.turn_logprobs.append(logprob)
            row.unread = [token]
            ended = token == self.chat.stop_id or len(row.turn_ids) >= row.session.turn_budget
            ended = ended or source.said(row.session, row.turn_ids)
            if source.listens:
                row.turn_entropies.append(nats)
                source.heard(row.session, row.turn_entropies, ended)
            if ended:
                cut = token != self.chat.stop_id
                text = self.chat.decode(row.turn_ids if cut else row.turn_ids[:-1])
                turn = Turn(text, row.turn_ids, row.turn_logprobs, cut)
                row.busy = True
                self.turns.submit(row, turn)

    def _come_back(self, source: SessionSource, wait: bool) -> Iterator[Session]:
        for row, between in self.turns.finished(wait):
            row.busy = False
            row.unread += between
            # a context of its own now: read anew from where it differs
            if row.session.context_from != row.context_from:
                row.context_from, row.opening = row.session.context_from, row.session.context
                row.begun = False
            row.turn_ids, row.turn_logprobs, row.turn_entropies = [], [], []
            if row.session.done:
                self.rows[row.slot] = None
                source.finished(row.session)
                yield row.session


def common(a: list[int], b: list[int]) -> int:
    """How many tokens two lists have in common at their beginning."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return low
