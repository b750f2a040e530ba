"""Settings from TOML: a dataclass from a table of a file, or one line that says what is wrong with
it. Unknown keys and wrong types are refused. TOML has no null: where a setting may be none, it is
written "none".
"""

from __future__ import annotations

import inspect
import json
import types
import typing
from dataclasses import is_dataclass
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tripwright.errors import UserError, nearest

NONE = "none"


def settings_of(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise UserError(f"{where}: expected a table of settings, found {data!r}.")
    values = settings_values(hints_of(kind), data, where)
    for name, parameter in inspect.signature(kind).parameters.items():
        if parameter.default is parameter.empty and name not in values:
            raise UserError(f"{where}: setting '{name}' is missing.")
    try:
        return kind(**values)
    except UserError as error:  # settings that check themselves
        raise UserError(f"{where}: {error}") from None


def hints_of(kind: Any) -> dict[str, Any]:
    """The types of a table's settings, with the ranges that stand beside them."""
    return typing.get_type_hints(kind, include_extras=True)


def settings_values(hints: dict[str, Any], data: dict[str, Any], where: str) -> dict[str, Any]:
    """The values of a table's settings, which have these types."""
    for key in data:
        if key not in hints:
            near, accepted = nearest(key, hints), ", ".join(hints)
            raise UserError(f"{where}: unknown setting '{key}'.{near} Accepted: {accepted}.")
    values: dict[str, Any] = {}
    for key, value in data.items():
        hint = _without_none(hints[key])
        if value == NONE and (hint is Any or hint is not hints[key]):
            values[key] = None
            continue
        if is_dataclass(hint):
            values[key] = settings_of(hint, value, f"{where}: {key}")
            continue
        # as JSON, where "strict" takes an array for a tuple and a whole number for a fraction, but
        # no "3" and no true for a number
        try:
            adapter = TypeAdapter(hints[key], config=ConfigDict(allow_inf_nan=False))
            values[key] = adapter.validate_json(json.dumps(value, default=str), strict=True)
        except ValidationError as error:
            raise UserError(
                f"{where}: setting '{key}': {error.errors()[0]['msg']} (found {value!r})."
            ) from None
    return values


def _without_none(hint: Any) -> Any:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return next(arg for arg in typing.get_args(hint) if arg is not type(None))
    return hint
