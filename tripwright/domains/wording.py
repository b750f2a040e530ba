"""English that requests and answers of any domain are worded with: months, small numbers, lists,
ordinals, levels, the speaker's words."""

from __future__ import annotations

import re
from collections.abc import Sequence

MONTHS = (
    "January February March April May June July August September October November December".split()
)
NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()

LEVELS = ("easy", "medium", "hard")  # of requests that have a `level`

# The speaker's words, by the slots of a phrase: a party of one, and of several.
ALONE = {"we": "I", "our": "my", "us": "me", "are": "am", "ourselves": "myself"}
TOGETHER = {"we": "we", "our": "our", "us": "us", "are": "are", "ourselves": "ourselves"}


def speaker(party_size: int) -> dict[str, str]:
    words = ALONE if party_size == 1 else TOGETHER
    return {**words, "We": capitalised(words["we"])}


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def listed(words: Sequence[str], last_comma: bool = False, word: str = "and") -> str:
    """'a, b and c'; with `last_comma` 'a, b, and c'."""
    if len(words) < 2:
        return "".join(words)
    comma = "," if last_comma and len(words) > 2 else ""
    return f"{', '.join(words[:-1])}{comma} {word} {words[-1]}"


def ordinal(number: int) -> str:
    """Of a day of the month."""
    ending = "th" if 10 < number < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def clock_read(text: str) -> str:
    """ "6:30 pm", "18:30" and "noon" as "18:30"."""
    if text == "noon":
        return "12:00"
    hour, minute = (int(digits) for digits in (re.findall(r"\d+", text) + ["0"])[:2])
    if "m" in text:
        hour = hour % 12 + 12 * ("p" in text)
    return f"{hour:02d}:{minute:02d}"
