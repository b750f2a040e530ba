"""Is what a plan claims about a leg what the tables say? Times to the minute; duration, distance
and cost within 5 percent.

The allowance is for the tables' own history: the annotated plans were written from an earlier
version of the distances, which differs by up to 2 percent. One of them also gives the taxi's price
for a car; that claim is accepted, because it promises nothing too cheap.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tripwright.domains.travelplanner.rules.facts import shown

ALLOWANCE = 0.05
_NO_CLAIM = ("", "-")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MINUTES_PER = {
    "day": 1440,
    "days": 1440,
    "hour": 60,
    "hours": 60,
    "min": 1,
    "mins": 1,
    "minute": 1,
    "minutes": 1,
}


class ClaimProblem(NamedTuple):
    claim: str
    requirement: str


def false_claims(
    claims: list[str],
    exact: dict[str, str],
    duration: str,
    distance: str,
    costs_usd: tuple[float, ...],
) -> tuple[ClaimProblem, ...]:
    """`exact` is label → the only right value; `costs_usd` the acceptable prices per seat or
    vehicle, the true one first."""
    wrong = []
    for claim in claims:
        label, _, value = claim.partition(":")
        label, value = label.strip().lower(), value.strip()
        if label not in exact and label not in ("duration", "distance", "cost"):
            labels = ", ".join((*exact, "duration", "distance", "cost"))
            wrong.append(
                ClaimProblem(
                    shown(claim), f"nothing after the route but {labels}, as 'name: value'"
                )
            )
        elif value in _NO_CLAIM:
            continue
        elif label in exact:
            if value != exact[label]:
                wrong.append(ClaimProblem(shown(claim), f"{label}: {exact[label]}"))
        elif label == "duration":
            if value != duration and not _is_near(minutes(value), minutes(duration)):
                wrong.append(ClaimProblem(shown(claim), f"duration: {duration}"))
        elif label == "distance":
            if value != distance and not _is_near_length(value, distance):
                wrong.append(ClaimProblem(shown(claim), f"distance: {distance}"))
        elif not any(
            _is_near(_amount(value.removeprefix("$")), cost_usd, 1.0) for cost_usd in costs_usd
        ):
            wrong.append(ClaimProblem(shown(claim), f"cost: {costs_usd[0]:g}"))
    return tuple(wrong)


def minutes(duration: str) -> float | None:
    """'1 day 2 hours', '3 hours 5 mins' → minutes; None for anything else."""
    words = duration[:60].split()
    if not words or len(words) % 2:
        return None
    total = 0.0
    for count, unit in zip(words[::2], words[1::2], strict=True):
        amount = _amount(count)
        if amount is None or unit not in _MINUTES_PER:
            return None
        total += amount * _MINUTES_PER[unit]
    return total


def _is_near_length(claim: str, true: str) -> bool:
    number, _, unit = claim[:30].partition(" ")
    true_number, _, true_unit = true.partition(" ")
    return unit == true_unit and _is_near(_amount(number), _amount(true_number))


def _amount(text: str) -> float | None:
    text = text.replace(",", "")
    return float(text) if len(text) < 20 and _NUMBER.fullmatch(text) else None


def _is_near(claim: float | None, true: float | None, least: float = 0.0) -> bool:
    """Within the allowance, or within `least`: prices may be rounded to whole dollars."""
    return (
        claim is not None and true is not None and abs(claim - true) <= max(least, ALLOWANCE * true)
    )
