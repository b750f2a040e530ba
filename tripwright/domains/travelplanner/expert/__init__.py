"""The expert as a policy: through the real tools it plays the oracle's plan (style "direct"), or
one that it finds itself.

Style "direct" is what the cold start of training learns from: the shortest way to a plan that is
known; "spender" is the same without a look at prices, "comparing" finds trips over several cities
by comparisons. The styles "careful" and "brief" know nothing but what tools have answered, so they
also play where the world is out of reach.
"""

from __future__ import annotations

from functools import partial

from tripwright.domains.travelplanner.expert.careful import MOST_TRIES, play_careful, unanswered
from tripwright.domains.travelplanner.expert.direct import (
    comparing_turns,
    expert_solution,
    expert_turns,
    spender_solution,
)
from tripwright.domains.travelplanner.expert.turns import DIRECT, STYLES, ExpertStyle
from tripwright.domains.travelplanner.task import trip_query
from tripwright.episode import Session
from tripwright.policies.base import ScriptedPolicy, at_hand

__all__ = [
    "STYLES",
    "ExpertPolicy",
    "ExpertStyle",
    "expert_solution",
    "expert_turns",
]


class ExpertPolicy(ScriptedPolicy):
    def __init__(self, style: ExpertStyle = DIRECT):
        name = "expert" if style.name == "direct" else f"expert-{style.name}"
        super().__init__(name, partial(_play, style))
        self.style = style


def _play(style: ExpertStyle, session: Session) -> None:
    if style.name in ("careful", "brief"):
        play_careful(session, style)
        return
    asked = trip_query(session), at_hand(session, "The expert")
    if style.name == "comparing":
        turns = comparing_turns(*asked, session.dialect)
    else:
        solution = spender_solution if style.name == "spender" else expert_solution
        turns = expert_turns(*asked, session.dialect, solution(*asked))
    for text in turns:
        for _ in range(MOST_TRIES):
            if session.done:
                return
            session.say(text)
            if not unanswered(session):
                break
