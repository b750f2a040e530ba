"""Natural Plan's calendar scheduling: the day and the hours of one meeting.

`official` takes the first words of the form `Monday, 9:00 - 9:30` in the answer, whatever stands
before them and whatever the first word is ("Maybe Tuesday, 9:00 - 9:30" names Tuesday), and knows
two kinds of minutes: 30 is half an hour, and any other is none (14:45 is 14.0).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from tripwright.agent.reasoning import without_reasoning

_TIME = re.compile(r"(?<![A-Za-z])[A-Za-z]+, [0-9]+:[0-9]+ - [0-9]+:[0-9]+")
_DAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_NAMED_DAY = re.compile(
    rf"\b({_DAYS})\W{{1,4}}(?:from"
    r" )?([0-9]{1,2}):([0-9]{2})\s*(?:[-–—]|to)\s*([0-9]{1,2}):([0-9]{2})",
    re.IGNORECASE,
)


class Slot(NamedTuple):
    """Hours of the day, with the fraction that the reader knows."""

    day: str
    start: float
    end: float


NONE = Slot("", -1, -1)


def official(answer: str, example: Mapping[str, Any]) -> bool:
    return first_slot(answer) == first_slot(example["golden_plan"])


def robust(answer: str, example: Mapping[str, Any]) -> bool:
    """Without reasoning; the last day of the week with its hours, to the minute, with any dash (or
    "from … to …") and any case."""
    found, wanted = last_slot(without_reasoning(answer)), last_slot(example["golden_plan"])
    return found is not None and found == wanted


def can_be_scored(example: Mapping[str, Any]) -> bool:
    return first_slot(example["golden_plan"]) != NONE


def first_slot(text: str) -> Slot:
    found = _TIME.search(text)
    if found is None:
        return NONE
    day, hours = found[0].split(",")
    start, end = hours.split("-")
    return Slot(day.strip(), _half_hours(start.strip()), _half_hours(end.strip()))


def last_slot(text: str) -> Slot | None:
    found = _NAMED_DAY.findall(text)
    if not found:
        return None
    day, start, start_minute, end, end_minute = found[-1]
    return Slot(
        day.capitalize(), int(start) + int(start_minute) / 60, int(end) + int(end_minute) / 60
    )


def _half_hours(time: str) -> float:
    hour, minute = time.split(":")
    return float(hour) + (0.5 if minute == "30" else 0.0)
