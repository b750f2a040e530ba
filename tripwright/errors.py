"""What a user can get wrong. The command line prints these as one line and exits with code 2; nothing else does."""

from __future__ import annotations

import json


class UserError(ValueError):
    """Bad input from a person or a file: says what was asked, what was found and what would be accepted."""


def json_problem(error: Exception) -> str:
    """Why one line is not JSON, without the line number that the parser counts within it."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return f"not text in UTF-8 at byte {error.start + 1}"
    return "nested too deeply" if isinstance(error, RecursionError) else "a number with too many digits"
