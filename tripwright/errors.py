"""What a user can get wrong. The command line prints a `UserError` as one line and exits with code
2; nothing else does."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

LONGEST_SHOWN = 600  # characters of a foreign text
BLANKS = " \t\r\n"  # what JSON allows around a value


class UserError(ValueError):
    """Bad input from a person or a file: says what was asked, what was found and what would be
    accepted."""


class NotJson(ValueError):
    """Bytes that Python does not read as JSON: why, and where, in words for a bracket after "not
    JSON"."""


class TooDeep(NotJson):
    """JSON that is nested more deeply than Python reads."""


def read_json(text: bytes) -> Any:
    """The value in one line or one file, UTF-8 with or without a byte order mark. Raises NotJson.

    Trailing blanks are cut off first: where a text ends too early, that is at the end of its last
    line, not on a line after it.
    """
    try:
        return json.loads(text.decode("utf-8-sig").rstrip(BLANKS))
    except json.JSONDecodeError as error:
        # of one line, the caller knows the number
        line = f"line {error.lineno} " if "\n" in error.doc else ""
        raise NotJson(f"{error.msg} at {line}column {error.colno}") from None
    except UnicodeDecodeError as error:
        raise NotJson(f"not text in UTF-8 at byte {error.start + 1}") from None
    except RecursionError:
        raise TooDeep("nested too deeply") from None
    except ValueError:
        raise NotJson("a number with too many digits") from None


def printable(value: Any) -> str:
    """One line of bounded length, and no control characters from a model's text into somebody's
    terminal."""
    try:
        line = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        line = f"({type(value).__name__})"
    text = " ".join(line[: 4 * LONGEST_SHOWN].split())
    text = text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def counted(number: int, thing: str) -> str:
    """ "1 city", "2 cities", "3 days"."""
    many = f"{thing[:-1]}ies" if thing[-1] == "y" and thing[-2] not in "aeou" else f"{thing}s"
    return f"{number} {thing if number == 1 else many}"


def described(value: Any) -> str:
    """What kind of JSON value was found, for a message."""
    if isinstance(value, dict):
        return "an object with " + (", ".join(ascii(key) for key in list(value)[:8]) or "nothing")
    return {list: "a list", str: "a string", type(None): "null", bool: "a boolean"}.get(
        type(value), "a number"
    )


def first_problem(error: ValidationError) -> str:
    """One line for the first problem of a Pydantic error: where, what, and what was found."""
    problem = error.errors()[0]
    where = ".".join(str(part) for part in problem["loc"]) or "record"
    try:
        value = repr(problem.get("input"))
    except RecursionError:
        value = "something nested too deeply to show"
    message = re.sub(r"valid dictionary or instance of \w+", "JSON object", problem["msg"])
    return f"field '{where}': {message}" + (
        "" if problem["type"] == "missing" else f" (found {value[:80]})"
    )
