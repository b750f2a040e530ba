"""What a user can get wrong. The command line prints a `UserError` as one line and exits with code
2; nothing else does."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import ValidationError

LONGEST_SHOWN = 600  # characters of a foreign text
Named = TypeVar("Named")
BLANKS = " \t\r\n"  # what JSON allows around a value


class UserError(ValueError):
    """Bad input from a person or a file: says what was asked, what was found and what would be
    accepted."""


class NotJson(ValueError):
    """Bytes that Python does not read as JSON: why, and where, in words for a bracket after "not
    JSON"."""


class RepeatedKeys(dict[str, Any]):
    """A JSON object that gives keys more than once. The last value counts, as everywhere, and
    `repeated` names the keys: who reads only one of two values shall know."""

    repeated: tuple[str, ...] = ()


def object_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """What `json.loads(…, object_pairs_hook=object_of_pairs)` makes of an object: RepeatedKeys
    where a key comes again."""
    record = dict(pairs)
    if len(record) == len(pairs):
        return record
    repeating = RepeatedKeys(record)
    counts = Counter(key for key, _ in pairs)
    repeating.repeated = tuple(key for key, count in counts.items() if count > 1)
    return repeating


def repeated_key(value: Any) -> str | None:
    """The first key that comes twice in an object anywhere in what `object_of_pairs` has read."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, RepeatedKeys):
            return each.repeated[0]
        if isinstance(each, dict | list):
            left.extend(each.values() if isinstance(each, dict) else each)
    return None


def read_json(text: bytes, keeps_repeated: bool = False) -> Any:
    """The value in one line or one file, UTF-8 with or without a byte order mark. Raises NotJson,
    for an object that gives a key twice too, unless they are to be kept as RepeatedKeys.

    Trailing blanks are cut off first: where a text ends too early, that is at the end of its last
    line, not on a line after it.
    """
    object_of = object_of_pairs if keeps_repeated else object_of_distinct_keys
    try:
        return json.loads(text.decode("utf-8-sig").rstrip(BLANKS), object_pairs_hook=object_of)
    except json.JSONDecodeError as error:
        # of one line, the caller knows the number
        line = f"line {error.lineno} " if "\n" in error.doc else ""
        raise NotJson(f"{error.msg} at {line}column {error.colno}") from None
    except UnicodeDecodeError as error:
        raise NotJson(f"not text in UTF-8 at byte {error.start + 1}") from None
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except NotJson:
        raise
    except ValueError:
        raise NotJson("a number with too many digits") from None


def json_at(text: bytes, where: object) -> Any:
    """The same. Raises UserError, which says where it is."""
    try:
        return read_json(text)
    except NotJson as problem:
        raise UserError(f"{where}: not JSON ({problem}).") from None


def object_or_none(text: bytes) -> dict[str, Any] | None:
    """The JSON object in one line; None where it holds none."""
    try:
        record = read_json(text)
    except NotJson:
        return None
    return record if isinstance(record, dict) else None


def object_of_distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An `object_pairs_hook`. Raises NotJson."""
    record = object_of_pairs(pairs)
    if isinstance(record, RepeatedKeys):
        raise NotJson(f"the key {ascii(record.repeated[0])} comes twice in an object")
    return record


def printable(value: Any) -> str:
    """One line of bounded length, and no control characters from a model's text into somebody's
    terminal."""
    try:
        line = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        line = f"({type(value).__name__})"
    text = one_line(line[: 4 * LONGEST_SHOWN])
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def named(kind: str, name: Any, table: Mapping[str, Named]) -> Named:
    """The entry of this name, which may come out of a file. Raises UserError, which says what the
    names are."""
    if not isinstance(name, str) or name not in table:
        meant = nearest(str(name), table)
        raise UserError(f"Unknown {kind} '{printable(name)}'.{meant} Accepted: {', '.join(table)}.")
    return table[name]


def nearest(name: str, names: Iterable[str]) -> str:
    """ " Did you mean steps?", or nothing where no name is like it."""
    near = get_close_matches(name[:100], list(names), n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def one_line(text: str) -> str:
    """The whole text in one line; what a terminal would obey is a question mark."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else "?" for c in line)


def first_line(error: BaseException) -> str:
    """Of what a library says is wrong."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def counted(number: int, thing: str) -> str:
    """ "1 city", "2 cities", "3 days", "4 people"."""
    if thing == "person" and number != 1:
        return f"{number:,} people"
    many = f"{thing[:-1]}ies" if thing[-1] == "y" and thing[-2] not in "aeou" else f"{thing}s"
    return f"{number:,} {thing if number == 1 else many}"


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
