"""From a model's text to a plan, without ever raising, hanging or guessing.

A model may write anything, so every way in which an answer can be wrong is a value (`problem`, one
line), not an exception. Only Markdown fences are forgiven: the JSON must be valid and must follow
Planner-R1's schema. Nothing in the text is ever evaluated.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import FailFast, TypeAdapter, ValidationError

from tripwright.domains.travelplanner.plan.plan import DayPlan
from tripwright.errors import described, object_of_pairs, printable, repeated_key

OPEN, CLOSE = "<answer>", "</answer>"
INCOMPLETE = f"the last {OPEN} block is not complete"
# the first bad day is told: to list those of a long answer would take seconds and gigabytes
_DAYS = TypeAdapter(Annotated[list[DayPlan], FailFast()])


@dataclass(frozen=True)
class ParsedAnswer:
    """Exactly one of the two is None."""

    days: list[DayPlan] | None
    problem: str | None


def extract_answer(text: str) -> str | None:
    """What the last <answer> block holds, None where it is not closed; a text without any answer
    tag is bare contents of one."""
    if OPEN not in text and CLOSE not in text:
        return text
    _, opened, rest = text.rpartition(OPEN)
    answer, closed, _ = rest.partition(CLOSE)
    return answer.strip() if opened and closed else None


def parse_answer(text: str) -> ParsedAnswer:
    """The plan in a response, or in the bare contents of its answer block."""
    answer = extract_answer(text)
    if answer is None:
        return _problem(f"{INCOMPLETE}: expected {OPEN} [ … ] {CLOSE}")
    try:
        return parse_days(json.loads(without_fence(answer), object_pairs_hook=object_of_pairs))
    except json.JSONDecodeError as error:
        return _problem(
            f"the answer is not valid JSON: {error.msg} at line {error.lineno} column {error.colno}"
        )
    except RecursionError:
        return _problem("the answer is nested too deeply to be a plan")
    except ValueError as error:  # an integer of thousands of digits
        return _problem(f"the answer is not valid JSON: {error}")


def parse_days(days: Any) -> ParsedAnswer:
    """The same for JSON data that is already read."""
    if not isinstance(days, list):
        return _problem(f"a plan is a JSON array of day objects, found {described(days)}")
    if not days:
        return _problem("the plan has no days")
    for number, day in enumerate(days, start=1):
        if (key := repeated_key(day)) is not None:
            return _problem(f"day {number}: the key {ascii(key)} comes twice in an object")
    try:
        return ParsedAnswer(_DAYS.validate_python(days), None)
    except ValidationError as error:
        return _problem(_first_problem(error))


def _first_problem(error: ValidationError) -> str:
    errors = error.errors(include_url=False)
    # where a field may be one of two, what is wrong with the one that was meant lies deepest
    of_field = [each for each in errors if each["loc"][:2] == errors[0]["loc"][:2]]
    problem = max(of_field, key=lambda each: (len(each["loc"]), each["type"] == "too_short"))
    index, *path = problem["loc"]
    where = ".".join(str(part) for part in path[:1] + path[2:])
    suffix = "" if problem["type"] == "missing" else f", found {_shown(problem['input'])}"
    field = f" field '{where}':" if where else ""
    message = problem["msg"][:1].lower() + problem["msg"][1:]
    if len(path) == 2 and problem["type"] == "literal_error":
        message += " or a list" if where == "attraction" else " or an object"
    return f"day {int(index) + 1}:{field} {message}{suffix}"


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return described(value)
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."


def without_fence(text: str, *languages: str) -> str:
    """```json … ``` → …, or with one of these further languages; anything else stays as it is."""
    text = text.strip()
    if not (text.startswith("```") and text.endswith("```") and len(text) >= 6):
        return text
    inside = text[3:-3]
    language, newline, rest = inside.partition("\n")
    return rest if newline and language.strip().lower() in ("", "json", *languages) else inside


def _problem(text: str) -> ParsedAnswer:
    return ParsedAnswer(None, printable(text))
