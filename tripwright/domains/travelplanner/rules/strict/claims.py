"""Is what a plan claims about a leg what the tables say? Times to the minute; duration, distance
and cost within 5 percent, in any of the usual ways to write them.

The allowance is for the tables' own history: the annotated plans were written from an earlier
version of the distances, which differs by up to 2 percent. One of them also gives the taxi's price
for a car; that claim is accepted, because it promises nothing too cheap.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tripwright.domains.travelplanner.rules.facts import shown

ALLOWANCE = 0.05
TIMES = ("departure time", "arrival time")
LABELS = ("duration", "distance", "cost", "number", *TIMES)
_NO_CLAIM = ("", "-")
_LONGEST = 60  # characters of a claim that can be right
_KM_PER_MILE = 1.609344

_NUMBER = r"(\d{1,9}(?:,\d{3})*(?:\.\d{1,9})?)"
_AND = r"[\s,]*(?:and\s+)?"
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::00)?\s*(?:([ap])\.?m\.?)?", re.ASCII | re.IGNORECASE)
_SPAN = re.compile(
    rf"(?:{_NUMBER}\s*(?:days?|d)\.?)?{_AND}(?:{_NUMBER}\s*(?:hours?|hrs?|h)\.?)?{_AND}"
    rf"(?:{_NUMBER}\s*(?:minutes?|mins?|m)\.?)?",
    re.ASCII | re.IGNORECASE,
)
_LENGTH = re.compile(
    rf"{_NUMBER}\s*(?:(km|kilomet(?:er|re)s?)|mi|miles?)\.?", re.ASCII | re.IGNORECASE
)
_MONEY = re.compile(
    rf"(?:US\s?\$|\$|USD)?\s*{_NUMBER}\s*(?:\$|USD|US dollars?|dollars?)?", re.ASCII | re.IGNORECASE
)


class ClaimProblem(NamedTuple):
    claim: str
    requirement: str


def false_claims(
    claims: list[str],
    times: dict[str, str],
    duration: str,
    distance: str,
    costs_usd: tuple[float, ...],
) -> tuple[ClaimProblem, ...]:
    """`times` are those of a flight, by label; `costs_usd` the acceptable prices per seat or
    vehicle, the true one first."""
    true = times | {"duration": duration, "distance": distance, "cost": f"{costs_usd[0]:g}"}
    wrong = []
    for claim in claims:
        label, _, value = claim.partition(":")
        label, value = label.strip().lower(), value.strip()
        if label in LABELS and value in _NO_CLAIM:
            continue
        if label not in true:
            requirement = f"nothing after the route but {', '.join(true)}, as 'name: value'"
            wrong.append(ClaimProblem(shown(claim), requirement))
        elif not _is_true(label, value, true[label], costs_usd):
            wrong.append(ClaimProblem(shown(claim), f"{label}: {true[label]}"))
    return tuple(wrong)


def _is_true(label: str, value: str, true: str, costs_usd: tuple[float, ...]) -> bool:
    if value == true:
        return True
    if len(value) > _LONGEST:
        return False
    if label in TIMES:
        time = _time(value)
        return time is not None and time == _time(true)
    if label == "duration":
        return _is_near(minutes(value), minutes(true))
    if label == "distance":
        return _is_near(_km(value), _km(true))
    return any(_is_near(_usd(value), cost_usd, 1.0) for cost_usd in costs_usd)


def _time(text: str) -> int | None:
    """'15:40' or '3:40 PM' → minutes since midnight."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    hour, minute, half = int(match[1]), int(match[2]), (match[3] or "").lower()
    if minute > 59 or hour > 23 or (half and not 1 <= hour <= 12):
        return None
    return 60 * (hour % 12 + 12 * (half == "p") if half else hour) + minute


def minutes(duration: str) -> float | None:
    """'1 day 2 hours', '3 hours 5 mins', '14h 2m' → minutes; None for anything else."""
    match = _SPAN.fullmatch(duration) if duration[:1].isdigit() else None
    if match is None:
        return None
    return sum(
        scale * _amount(number)
        for number, scale in zip(match.groups(), (1440, 60, 1), strict=True)
        if number
    )


def _km(text: str) -> float | None:
    match = _LENGTH.fullmatch(text)
    return None if match is None else _amount(match[1]) * (1 if match[2] else _KM_PER_MILE)


def _usd(text: str) -> float | None:
    """'71', '$71', '71 USD' or '71 dollars'."""
    match = _MONEY.fullmatch(text)
    return None if match is None else _amount(match[1])


def _amount(number: str) -> float:
    return float(number.replace(",", ""))


def _is_near(claim: float | None, true: float | None, least: float = 0.0) -> bool:
    """Within the allowance, or within `least`: prices may be rounded to whole dollars."""
    return (
        claim is not None and true is not None and abs(claim - true) <= max(least, ALLOWANCE * true)
    )
