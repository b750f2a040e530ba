"""Whether every number of a recipe is within the range that its type states (`Annotated[int,
Ge(1)]`); all must be finite."""

from __future__ import annotations

import dataclasses
import math
import operator
import typing
from collections.abc import Iterator
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le, Lt

from tripwright.errors import UserError
from tripwright.training.recipe_tables import Recipe, Reinforcement

Bounds = tuple[Any, ...]  # of these types
MEANING = {
    Ge: ("at least", operator.ge),
    Gt: ("above", operator.gt),
    Le: ("at most", operator.le),
    Lt: ("below", operator.lt),
}


def check_ranges(recipe: Recipe) -> None:
    """Raises UserError for the first number out of its range, by its dotted name."""
    for name, value, bounds in numbers(recipe):
        if not math.isfinite(value):
            raise UserError(f"{name} must be a number, found {value}.")
        limits = [(*MEANING[type(bound)], dataclasses.astuple(bound)[0]) for bound in bounds]
        if not all(holds(value, limit) for _, holds, limit in limits):
            raise UserError(
                f"{name} must be {', '.join(f'{words} {limit}' for words, _, limit in limits)},"
                f" found {value:g}."
            )


def numbers(settings: Any, prefix: str = "") -> Iterator[tuple[str, float, Bounds]]:
    """(dotted name, number, its bounds) of every number in nested dataclasses and tuples; a tuple's
    members are named by their place."""
    types = typing.get_type_hints(type(settings), include_extras=True)
    for field in dataclasses.fields(settings):
        yield from _numbers_in(
            getattr(settings, field.name), types[field.name], f"{prefix}{field.name}"
        )


def _numbers_in(value: Any, kind: Any, name: str) -> Iterator[tuple[str, float, Bounds]]:
    if type(None) in typing.get_args(kind):
        kind = next(each for each in typing.get_args(kind) if each is not type(None))
    if isinstance(value, Reinforcement):
        yield from numbers(value.settings, f"{value.algorithm}.")
    elif dataclasses.is_dataclass(value):
        yield from numbers(value, f"{name}.")
    elif isinstance(value, tuple):
        kinds = typing.get_args(kind)
        for place, member in enumerate(value):
            yield from _numbers_in(
                member, kinds[0] if kinds[-1] is ... else kinds[place], f"{name}.{place}"
            )
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, value, kind.__metadata__ if typing.get_origin(kind) is Annotated else ()
