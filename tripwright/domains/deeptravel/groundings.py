"""Counts, for reports, what an answer claims and no tool answer supports, as the verifier named it
turn by turn (Planner-R1's analyses; row P14)."""

from __future__ import annotations

import re

from tripwright.domains.domain import Counts, Grounding, Json

_CLAIM = re.compile(r"(?:invented|ungrounded|wrong)_(.+)")
_OF_THE_CALL = ("parameters",)  # "wrong_parameters" is about a call, not about what the answer says


def wrong_claims(record: Json) -> Counts | None:
    """Kind of claim (price, time, name …) → (1, 1) where one is invented, wrong or ungrounded. None
    where no turn was looked at: row D5 looks at none where the trajectory fails."""
    turns = (record.get("verifier") or {}).get("turns") or ()
    kinds = (str(problem.get("kind")) for turn in turns for problem in turn.get("problems") or ())
    claims = (match[1].replace("_", " ") for kind in kinds if (match := _CLAIM.fullmatch(kind)))
    return {claim: (1, 1) for claim in claims if claim not in _OF_THE_CALL} if turns else None


GROUNDINGS = (
    Grounding(
        "Claims that no tool answer bears out",
        "Share of the answers whose turns were verified in which a claim of this kind is invented,"
        " wrong or ungrounded. Answers whose trajectory fails are not looked at any further (row"
        " D5).",
        wrong_claims,
        of_every_answer=True,
    ),
)
