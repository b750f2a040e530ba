"""How far a said number may be from the true one: as far as its own rounding goes, and never in
what a thing is.

"120 dollars" may be 119.5 (whole units). "About 120" may be 123 (the nearest 5 or 10, or 2%), but
never a tenth off. "Two hours" is 118 to 122 minutes, "about four hours" may be 4 h 8 min. "7 pm" is
19:00; "about 7 pm" is within five minutes of it.
"""

from __future__ import annotations

from tripwright.domains.deeptravel.verifiers.claims_numbers import Claim

SHARE = 0.02
LARGEST_SHARE = 0.10  # of the true value, whatever unit was rounded to
_TINY = 1e-6


def number_fits(claim: Claim, true: float) -> bool:
    """Prices, distances, ratings and other plain numbers."""
    return any(
        isinstance(value, float) and _fits(value, true, claim.step, claim.hedge)
        for value in claim.values
    )


def minutes_fit(claim: Claim, true: float) -> bool:
    """Durations. Without a hedge, hours stand for minutes to 2%; with one, for what rounds to
    them."""
    for value in claim.values:
        if not isinstance(value, float) or not _on_its_side(value, true, claim.hedge):
            continue
        if claim.step <= 1:
            room = _room(value, true, 1.0, claim.hedge)
        else:
            room = min(claim.step / 2, LARGEST_SHARE * true) if claim.hedge else SHARE * true
        if abs(value - true) <= room + _TINY:
            return True
    return False


def clock_fits(claim: Claim, true: float) -> bool:
    """Clock times, as minutes after midnight."""
    for value in claim.values:
        if not isinstance(value, float):
            continue
        gap = (true - value + 720) % 1440 - 720
        room = 0 if not claim.hedge else 5 if value % 10 == 0 else 2 if value % 5 == 0 else 0
        side = gap >= 0 if claim.hedge == "over" else gap <= 0 if claim.hedge == "under" else True
        if abs(gap) <= room and side:
            return True
    return False


def _fits(value: float, true: float, step: float, hedge: str) -> bool:
    return abs(value - true) <= _room(value, true, step, hedge) + _TINY and _on_its_side(
        value, true, hedge
    )


def _room(value: float, true: float, step: float, hedge: str) -> float:
    room = step / 2
    if hedge and step >= 1:
        unit = 10.0 if value % 10 == 0 else 5.0 if value % 5 == 0 else 1.0
        room = min(max(unit / 2, SHARE * abs(true)), LARGEST_SHARE * abs(true))
    return max(min(room, max(0.5, LARGEST_SHARE * abs(true))), 0.0)


def _on_its_side(value: float, true: float, hedge: str) -> bool:
    return (
        true >= value - _TINY
        if hedge == "over"
        else true <= value + _TINY
        if hedge == "under"
        else True
    )
