"""What every policy offers: it plays sessions to their end, in whatever order and parallelism suits it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from tripwright.agent.session import Session, Turn
from tripwright.errors import UserError
from tripwright.trip.query import Query


class Policy(Protocol):
    name: str

    def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
        """Yields each session when it is done. Draws from `sessions` as it goes, so that the iterable may be long and lazy."""
        ...


def trip_query(session: Session) -> Query:
    """What a session asks, for policies that know TravelPlanner's requests alone."""
    if not isinstance(session.query, Query):
        raise UserError(f"This policy plans TravelPlanner's trips, found a request of another kind: '{session.query.query[:80]}'.")
    return session.query


def say(session: Session, text: str) -> None:
    """Takes a turn written as text: encoded once, here, where the session has a tokenizer."""
    ids = session.chat.said(text) if session.chat else []
    session.take(Turn(text, ids))
