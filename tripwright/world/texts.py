"""What the texts of a world's tables say: lengths and durations of roads, minutes of flights, and
which place a misspelt name means."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache

LONGEST_NAME = 60  # characters: a longer text is nobody's spelling of a place

_UNIT_MINUTES = {"day": 1440, "hour": 60, "min": 1}


def road_distance_km(text: str) -> float | None:
    """Kilometres of a source text such as "1,118 km"; None where it is no such text."""
    match = re.fullmatch(r"([0-9][0-9,]*(?:\.[0-9]+)?)\s*km", text.strip())
    return float(match.group(1).replace(",", "")) if match else None


def duration_minutes(text: str) -> int | None:
    """Minutes of "2 hours 31 minutes", "45 mins" or "1 day 3 hours"; None where it is no such
    text."""
    if not re.fullmatch(r"\s*(?:[0-9]+\s*(?:day|hour|min(?:ute)?)s?\s*)+", text):
        return None
    return sum(
        int(count) * _UNIT_MINUTES[unit]
        for count, unit in re.findall(r"([0-9]+)\s*(day|hour|min)", text)
    )


# most of a millisecond for the cities of the real world, and models make the same mistakes
@lru_cache(4096)
def nearest_name(name: str, names: tuple[str, ...]) -> str | None:
    """The known name that was probably meant; None where none is near."""
    if len(name) > LONGEST_NAME:  # difflib is quadratic
        return None
    plain = re.split(r"[(,]", name)[0].strip().casefold()  # "Rockford(Illinois)", "rockford, IL"
    # a slip of the pen leaves one of them, and comparing with every place of a world takes
    # milliseconds
    ends = plain[:1], plain[-1:]
    folded = {
        place.casefold(): place
        for place in names
        if place[:1].casefold() == ends[0] or place[-1:].casefold() == ends[1]
    }
    near = difflib.get_close_matches(plain, folded, n=1, cutoff=0.6)
    return folded[near[0]] if near else None
