"""The three files of Natural Plan as published (google-deepmind/natural-plan, `data/`): one JSON
object, an example under each key.

A file that the scorers could not work with is refused before anything is played: every example has
its fields, and its golden plan passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tripwright.errors import NotJson, UserError, described, read_json
from tripwright.evals.outside.natural_plan import calendar, meeting, trip

Example = Mapping[str, Any]
TaskName = Literal["trip", "meeting", "calendar"]
Prompt = Literal["5shot", "0shot"]


@dataclass(frozen=True)
class Kind:
    """`mark` is the field by which a file of this kind is known; `texts`, `numbers` and `others`
    must be in every example."""

    name: TaskName
    file: str
    mark: str
    texts: tuple[str, ...]
    numbers: tuple[str, ...]
    others: tuple[str, ...]
    official: Callable[[str, Example], bool]
    robust: Callable[[str, Example], bool]
    can_be_scored: Callable[[Example], bool]  # may raise instead of saying no

    def level(self, example: Example) -> str:
        """How hard it is, as the paper counts: "3 cities", "2 people", "2 people, 1 day"."""
        return ", ".join(_counted(name, int(example[name])) for name in self.numbers)


def _counted(name: str, number: int) -> str:
    one, many = {
        "num_cities": ("city", "cities"),
        "num_people": ("person", "people"),
        "num_days": ("day", "days"),
    }[name]
    return f"{number} {one if number == 1 else many}"


KINDS = (
    Kind(
        name="trip",
        file="trip_planning.json",
        mark="durations",
        texts=("cities", "durations"),
        numbers=("num_cities",),
        others=(),
        official=trip.official,
        robust=trip.robust,
        can_be_scored=trip.can_be_scored,
    ),
    Kind(
        name="meeting",
        file="meeting_planning.json",
        mark="dist_matrix",
        texts=(),
        numbers=("num_people",),
        others=("constraints", "dist_matrix", "golden_plan"),
        official=meeting.official,
        robust=meeting.robust,
        can_be_scored=meeting.can_be_scored,
    ),
    Kind(
        name="calendar",
        file="calendar_scheduling.json",
        mark="num_days",
        texts=("golden_plan",),
        numbers=("num_people", "num_days"),
        others=(),
        official=calendar.official,
        robust=calendar.robust,
        can_be_scored=calendar.can_be_scored,
    ),
)
FILES = ", ".join(kind.file for kind in KINDS)


@dataclass(frozen=True)
class Examples:
    kind: Kind
    by_key: Mapping[str, Example]


def read_examples(path: Path, prompt: Prompt = "5shot") -> Examples:
    """Raises UserError for a file that is none of the three, or that has an example which cannot be
    played or scored."""
    if not path.is_file():
        raise UserError(f"No file at '{path}'. Expected one of Natural Plan's: {FILES}.")
    try:
        found = read_json(path.read_bytes())
    except NotJson as problem:
        raise UserError(
            f"'{path}' is not JSON ({problem}). Expected one of Natural Plan's files: {FILES}."
        ) from None
    if (
        not isinstance(found, dict)
        or not found
        or not all(isinstance(example, dict) for example in found.values())
    ):
        raise UserError(
            f"'{path}' holds {described(found)}. Expected an object of examples, as in Natural"
            f" Plan's {FILES}."
        )
    first = next(iter(found.values()))
    kind = next((kind for kind in KINDS if kind.mark in first), None)
    if kind is None:
        raise UserError(
            f"The examples of '{path}' have {described(first)}. Expected one of Natural Plan's"
            f" files: {FILES}."
        )
    for key, example in found.items():
        if wrong := _problem(example, kind, f"prompt_{prompt}"):
            raise UserError(
                f"'{path}', example '{key}': {wrong}, in a file of the kind {kind.file}."
            )
    return Examples(kind, found)


def _problem(example: Example, kind: Kind, prompt: str) -> str | None:
    """Why this example cannot be used, or None."""
    for name in (prompt, *kind.texts):
        if not isinstance(example.get(name), str) or not example[name]:
            return f"'{name}' should be a text, found {described(example.get(name))}"
    for name in kind.numbers:
        if not str(example.get(name)).isdecimal():
            return f"'{name}' should be a whole number, found {described(example.get(name))}"
    if missing := [name for name in kind.others if name not in example]:
        return f"no '{missing[0]}'"
    try:
        readable = kind.can_be_scored(example)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        return f"its golden plan cannot be read ({type(error).__name__}: {error})"
    return None if readable else "its golden plan says nothing that can be scored"
