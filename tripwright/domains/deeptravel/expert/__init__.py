"""The errand expert as a policy: it plays a traveller's request with the six live tools, and its
transcripts are what a cold start learns from (row D6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tripwright.agent.session import Session
from tripwright.domains.deeptravel.expert.play import play_errand

__all__ = ["ErrandExpert"]


class ErrandExpert:
    """Decides from nothing but the request's intents and what the tools have answered; says what it
    could not meet."""

    name = "errand-expert"

    def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
        """Raises UserError where a session asks for something else than a traveller's request."""
        for session in sessions:
            play_errand(session)
            yield session
