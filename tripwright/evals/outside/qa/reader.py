"""A yardstick for the retriever, not a model: it searches with the question itself, once, and knows
the right answer when it sees it.

Its exact match is the share of questions whose gold answer stands, word for word, in what one
search with the question finds: more than a reader can get who searches only so, and less than one
who searches well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tripwright.agent.conversation import Conversation
from tripwright.agent.session import Session
from tripwright.agent.turn import write_call
from tripwright.errors import UserError
from tripwright.evals.outside.qa.match import normalised
from tripwright.evals.outside.qa.search import TOOL
from tripwright.policies.base import say


class GoldReader:
    name = "gold-reader"

    def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
        for session in sessions:
            asked = session.query.fields if isinstance(session.query, Conversation) else {}
            if "golden_answers" not in asked:
                raise UserError(
                    f"Policy '{self.name}' answers questions, found a request of another kind."
                )
            say(session, _search(session, asked["text"]))
            if not session.done:
                say(
                    session,
                    f"<answer>{_seen(asked['golden_answers'], session.transcript.segments[-1].text)}</answer>",  # noqa: E501
                )
            yield session


def _search(session: Session, words: str) -> str:
    if session.dialect.turns.notation == "search":
        return f"<search> {words} </search>"
    return f"<think> I look it up. </think>{write_call(TOOL, {'query': words})}"


def _seen(gold: Sequence[str], shown: str) -> str:
    """The first gold answer that stands in what was shown, else nothing."""
    # or the tag after the last word would become part of it
    read = f" {normalised(shown.replace('<', ' <'))} "
    return next((answer for answer in gold if f" {normalised(answer)} " in read), "")
