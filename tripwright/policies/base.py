"""Policies that are programs, and what programs and people need to play: how they ask and say, and
the journal that keeps turns which were paid for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from tripwright.agent.turn import write_call
from tripwright.episode import Session
from tripwright.errors import UserError
from tripwright.llm.endpoint import Breaker, allow_open_files, map_unordered
from tripwright.llm.paid_calls import PaidCalls
from tripwright.tools.faults import FaultyTools
from tripwright.tools.toolbox import ToolBox
from tripwright.world.store import World

FILES_OF_AN_EPISODE = 2  # its connection, and its thread's view of the world's store


@dataclass
class ScriptedPolicy:
    """A program as a policy: `play_one` takes all turns of a session. Sessions are played one after
    the other."""

    name: str
    play_one: Callable[[Session], None]

    def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
        for session in sessions:
            self.play_one(session)
            yield session


def play_in_threads(
    sessions: Iterable[Session], concurrency: int, take_turn: Callable[[Session, Breaker], None]
) -> Iterator[Session]:
    """Sessions in the order they finish, a thread for each of so many at once, turn by turn to the
    end or until nobody draws them any more."""
    allow_open_files(concurrency * FILES_OF_AN_EPISODE)
    breaker = Breaker()

    def play_one(session: Session) -> Session:
        while not breaker.abandoned and session.goes_on():
            take_turn(session, breaker)
        return session

    try:
        yield from map_unordered(play_one, sessions, concurrency)
    finally:
        breaker.abandoned = True


@runtime_checkable
class KeepsCalls(Protocol):
    """A policy whose turns are paid for: a run gives it a journal to keep them in."""

    def keep(self, calls: PaidCalls) -> None:
        """Before `play`: what is found there is not asked again, and what is answered is written
        there before it is used."""
        ...

    def stop(self) -> None:
        """After `play` was given up: nothing is asked any more. What is under way is kept when it
        arrives."""
        ...


def at_hand(session: Session, who: str) -> World:
    """The world behind a session's tools, for policies that look into it. `who` starts the sentence
    of the UserError."""
    tools = session.tools
    while isinstance(tools, FaultyTools):
        tools = tools.tools
    if not isinstance(tools, ToolBox):
        raise UserError(
            f"{who} plans from a world at hand: it cannot play with tools that run elsewhere, so"
            " leave --server out."
        )
    return tools.world


def ask(session: Session, tool: str, **arguments: Any) -> list[dict[str, Any]]:
    """Calls a tool and returns the rows that it showed, by their fields' names; none where there
    was no answer."""
    if session.done:
        return []
    before = len(session.transcript.calls)
    session.say(write_call(tool, arguments))
    # none where the turn was refused
    rows = next((call.rows for call in session.transcript.calls[before:]), None)
    return rows.records() if rows is not None else []
