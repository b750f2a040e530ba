"""What a user can get wrong. The command line prints a `UserError` as one line and exits with code 2; nothing else does."""

from __future__ import annotations

import json
from typing import Any

BLANKS = " \t\r\n"  # what JSON allows around a value


class UserError(ValueError):
    """Bad input from a person or a file: says what was asked, what was found and what would be accepted."""


class NotJson(ValueError):
    """Bytes that Python does not read as JSON: why, and where, in words for a bracket after "not JSON"."""


class TooDeep(NotJson):
    """JSON that is nested more deeply than Python reads."""


def read_json(text: bytes) -> Any:
    """The value in one line or one file, UTF-8 with or without a byte order mark. Raises NotJson.

    Trailing blanks are cut off first: where a text ends too early, that is at the end of its last line, not on a line after it.
    """
    try:
        return json.loads(text.decode("utf-8-sig").rstrip(BLANKS))
    except json.JSONDecodeError as error:
        line = f"line {error.lineno} " if "\n" in error.doc else ""  # of one line, the caller knows the number
        raise NotJson(f"{error.msg} at {line}column {error.colno}") from None
    except UnicodeDecodeError as error:
        raise NotJson(f"not text in UTF-8 at byte {error.start + 1}") from None
    except RecursionError:
        raise TooDeep("nested too deeply") from None
    except ValueError:
        raise NotJson("a number with too many digits") from None
