"""ARPO's rollouts (row S7; the original ARPO, Dong et al. 2025): fork an episode where the model
grows uncertain after a tool's answer.

Of every turn that follows a tool's answer, H_turn is the mean entropy over its first `tokens`
tokens. With H_first the same of the episode's first turn, and V the size of the vocabulary:

    ΔH = (H_turn − H_first) / log V        P = base + weight · ΔH        fork when P > threshold

A fork shares everything up to the tool's answer and goes on with random numbers of its own. A group
has exactly as many episodes as it was given sessions: `initial` begin at the root, forks take of
the rest while there are some, and what is left when all of the group have ended begins at the root
as well.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from tripwright.episode import Session


@dataclass(frozen=True)
class Branching:
    """The published settings are the defaults: of a group of 16, half begin at the root in the
    original; here, 4 of 8."""

    initial: Annotated[int, Ge(1)] = 4  # episodes of a group that begin at the root
    base: float = 0.5
    weight: float = 0.2
    # with `base` at the same value: fork wherever the entropy is above that of the first turn
    threshold: float = 0.5
    tokens: Annotated[int, Ge(1)] = 20  # of a turn, that are looked at; of a shorter turn, all
    forks: Annotated[int, Ge(1)] = 1  # new episodes at one place

    def forks_at(self, turn: float, first: float, vocabulary: int) -> bool:
        """Whether to fork, by the mean entropies of the turn and of the episode's first turn, in
        nats."""
        return self.base + self.weight * (turn - first) / math.log(vocabulary) > self.threshold


class SessionSource:
    """Where an engine's sessions come from, one after the other, and who is told how they go."""

    listens = False  # whether `heard` is to be called
    forked = 0  # how many of the sessions were forks

    def __init__(self, sessions: Iterable[Session]):
        self._sessions = iter(sessions)

    def next(self) -> Session | None:
        """None: nothing for now; there may be more after a call of `heard` or `finished`."""
        return next(self._sessions, None)

    def heard(self, session: Session, entropies: Sequence[float], ended: bool) -> None:
        """Called after every token of a turn, before the turn is taken: the entropies, in nats, of
        the distributions that each of the turn's tokens so far was sampled from."""

    def said(self, session: Session, turn_ids: Sequence[int]) -> bool:
        """Called after every token that does not end its turn: whether the turn ends there all the
        same."""
        return False

    def finished(self, session: Session) -> None: ...


class _Group:
    def __init__(self, sessions: Sequence[Session], initial: int):
        self.waiting = deque(sessions[initial:])  # opened, not begun
        self.playing = min(initial, len(sessions))


class Trees(SessionSource):
    """Hands out the sessions of groups in an order in which no group exceeds its number. A group's
    sessions are opened alike and have ids."""

    listens = True

    def __init__(self, groups: Iterable[Sequence[Session]], branching: Branching, vocabulary: int):
        self._branching, self._vocabulary = branching, vocabulary
        self._groups, self._ready = iter(groups), deque[Session]()
        self._group_of: dict[int, _Group] = {}  # by the session's identity, while it plays
        self._first: dict[int, float] = {}  # mean entropy of its first turn
        self._forked_after: dict[int, int] = {}  # of a fork: how many turns it shares

    def next(self) -> Session | None:
        while not self._ready:
            sessions = next(self._groups, None)
            if sessions is None:
                return None
            group = _Group(sessions, self._branching.initial)
            self._start(sessions[: self._branching.initial], group)
        return self._ready.popleft()

    def heard(self, session: Session, entropies: Sequence[float], ended: bool) -> None:
        wanted = self._branching.tokens
        if len(entropies) != wanted and not (ended and len(entropies) < wanted):
            return
        mean = sum(entropies) / len(entropies)
        first = self._first.setdefault(id(session), mean)
        group = self._group_of[id(session)]
        # where its parent stood, which forked there already
        if session.transcript.turns == self._forked_after.get(id(session)):
            return
        if (
            session.transcript.turns == 0
            or not group.waiting
            or not self._branching.forks_at(mean, first, self._vocabulary)
        ):
            return
        for _ in range(min(self._branching.forks, len(group.waiting))):
            fork = group.waiting.popleft()
            fork.continue_from(session)
            self._first[id(fork)] = first
            self._forked_after[id(fork)] = fork.transcript.turns
            group.playing += 1
            self._start([fork], group)
            self.forked += 1

    def finished(self, session: Session) -> None:
        group = self._group_of.pop(id(session))
        self._first.pop(id(session), None)
        self._forked_after.pop(id(session), None)
        group.playing -= 1
        if not group.playing:
            rest, group.waiting = list(group.waiting), deque()
            group.playing = len(rest)
            self._start(rest, group)

    def _start(self, sessions: Sequence[Session], group: _Group) -> None:
        for session in sessions:
            self._group_of[id(session)] = group
            self._ready.append(session)
