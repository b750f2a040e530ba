"""Where an answer speaks of what: for credit by evidence (`training/credit.py`), which gives each
constraint's advantage to the words that it is about. In the answer, JSON, a field's words are its
value; in an earlier turn, a name that the plan uses in some field counts as that field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tripwright.domains.domain import Stretch
from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.transcript import Transcript

FIELDS = ("city", "transportation", "attraction", "accommodation", *MEALS)
LOOKS_AT = {
    "is_reasonable_visiting_city": ("city",),
    "is_valid_restaurants": MEALS,
    "is_valid_attractions": ("attraction",),
    "is_valid_accommodation": ("accommodation",),
    "is_valid_transportation": ("transportation",),
    "valid_cuisine": MEALS,
    "valid_room_rule": ("accommodation",),
    "valid_room_type": ("accommodation",),
    "valid_transportation": ("transportation",),
    "valid_cost": ("transportation", "accommodation", *MEALS),
}  # the others look at everything
_KEY = re.compile(rf'"(days|{"|".join(FIELDS)})"\s*:\s*')


def places_of(transcript: Transcript) -> list[list[Stretch]]:
    """Of each segment, in order. Empty lists where the answer is no JSON plan."""
    answer = transcript.answer or ""
    try:
        days = json.loads(answer)
    except ValueError:
        days = None
    if not isinstance(days, list):
        return [[] for _ in transcript.segments]
    names = dict(_names(days))
    stretches: list[list[Stretch]] = []
    for segment in transcript.segments:
        if segment.role != "assistant":
            stretches.append([])
        elif (start := segment.text.find(answer)) >= 0:
            stretches.append(list(_of_answer(answer, start)))
        else:
            stretches.append(list(_mentions(names, segment.text)))
    return stretches


def _of_answer(answer: str, start: int) -> Iterator[Stretch]:
    """From the value of one key to the next key, in a text that the answer stands in at `start`.
    Days are counted as they come."""
    day, keys = 0, list(_KEY.finditer(answer))
    ends = [*(key.start() for key in keys[1:]), len(answer)]
    for key, end in zip(keys, ends, strict=False):
        if key[1] == "days":
            day += 1
        else:
            yield Stretch(start + key.end(), start + end, key[1], day)


def _mentions(names: dict[str, str], text: str) -> Iterator[Stretch]:
    for name, field in names.items():
        for mention in re.finditer(re.escape(name), text):
            yield Stretch(mention.start(), mention.end(), field, None)


def _names(days: list[object]) -> Iterator[tuple[str, str]]:
    """(name, field) of what the plan names, the fields of the first mention."""
    for field in ("attraction", "accommodation", *MEALS):
        for day in days:
            value = day.get(field) if isinstance(day, dict) else None
            for name in value if isinstance(value, list) else [value]:
                if isinstance(name, str) and len(name) > 1:
                    yield name, field
