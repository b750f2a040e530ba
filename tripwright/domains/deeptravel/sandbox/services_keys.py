"""Refuses a services file that has an API key in it, before anything else is read, and never
repeats the key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tripwright.errors import UserError
from tripwright.tools.http import Redaction

# Which variable a vendor's key is read from.
KEY_VARIABLES: Mapping[str, str] = {"duffel": "DUFFEL_ACCESS_TOKEN", "tavily": "TAVILY_API_KEY"}
_NAME = re.compile(
    r"(^|[_-])(key|apikey|token|secret|password|passwd|credentials?|authorization|bearer)s?$",
    re.IGNORECASE,
)
# holds names of variables, and somebody may have put the key itself there
_VARIABLE_OPTION = re.compile(r"(^|_)(env|variable)$")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_VALUE = re.compile(r"(tvly-|duffel_(test|live)_|sk-|Bearer |Basic )", re.IGNORECASE)


def refuse_keys(body: Any, where: tuple[str, ...] = ()) -> None:
    """Raises UserError for an option that is named like a key, looks like one, or has the value of
    a key in the environment."""
    if isinstance(body, Mapping):
        for name, value in body.items():
            refuse_keys(value, (*where, name))
    elif isinstance(body, list):
        for value in body:
            refuse_keys(value, where)
    elif (
        isinstance(body, str)
        and where
        and _VARIABLE_OPTION.search(where[-1])
        and not _VARIABLE.fullmatch(body)
    ):
        raise UserError(
            f"{'.'.join(where)} should be the name of an environment variable, like MY_TOKEN, found"
            " something else."
        )
    elif (
        isinstance(body, str)
        and body
        and (_NAME.search(where[-1] if where else "") or _is_key(body))
    ):
        variable = KEY_VARIABLES.get(where[1] if len(where) > 2 else "")
        instead = (
            f"set the environment variable {variable}"
            if variable
            else "set an environment variable"
        )
        raise UserError(
            f"{'.'.join(where)} holds a key: keys are not read from files, {instead} instead."
        )


def _is_key(text: str) -> bool:
    return bool(_VALUE.match(text)) or Redaction()(text) != text or _has_credentials(text)


def _has_credentials(text: str) -> bool:
    """https://user:password@example.org"""
    if "://" not in text:
        return False
    try:
        return urlsplit(text).password is not None
    except ValueError:
        return False
