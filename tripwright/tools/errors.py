"""Errors that a model can read and act on, and how its own words may be repeated to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

LONGEST_QUOTE = 60

# What went wrong, apart from how a face words it. The first five are seen before a tool runs.
ErrorKind = Literal[
    "not_json",
    "unknown_tool",
    "unknown_argument",
    "missing_argument",
    "wrong_type",
    "unknown_city",
    "unknown_state",
    "bad_date",
    "no_such_day",
    "unknown_search",
    "no_flights",
    "no_accommodations",
    "no_restaurants",
    "no_attractions",
    "no_road",
    "no_road_data",
    "road_over_a_day",
    "arithmetic",
    "page",
    # Of the live tools (row D1).
    "too_long",
    "bad_stay",
    "bad_choice",
    "refused",
    "not_recorded",
]


class ToolError(Exception):
    """One line that a model can read and act on. `said` holds further words that a face's own
    sentence may use, safe to be repeated."""

    def __init__(self, message: str, kind: ErrorKind, **said: str):
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.said = said


def quoted(value: object) -> str:
    """A value of the model's, short and harmless enough to be repeated to it: text between quotes,
    anything else as Python writes it."""
    return f"'{harmless(value)}'" if isinstance(value, str) else harmless(value)


def harmless(value: object) -> str:
    """At most LONGEST_QUOTE characters of a value, in time that does not grow with its depth or the
    number of its parts.

    Angle brackets go, so that an argument cannot smuggle a control token such as `<|im_end|>` into
    a tool's answer, and so do lone surrogates, which no tokenizer can encode.
    """
    text = value if isinstance(value, str) else _beginning(value)
    text = text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "…"
    return re.sub(r"[<>]", "?", text).encode("utf-8", "replace").decode()


# "a < b", "a -> b", "<=" and "=>" are no tags
_TAG_BRACKET = re.compile(r"<(?=[^\s=-])|(?<=[^\s=-])>")


def defused(text: str) -> str:
    """A vendor's words as data: what could be a tag or a control token (`<|im_end|>`,
    `</tool_response>`, `<answer>`) loses its angle brackets, lone surrogates go, and all else stays
    as it is, instructions included: they are what the vendor says, quoted."""
    # nearly all texts, a hundred in an answer
    if text.isascii() and "<" not in text and ">" not in text:
        return text
    return _TAG_BRACKET.sub("?", text).encode("utf-8", "replace").decode()


def _beginning(value: object) -> str:
    """As much of `repr(value)` as is shown. Each level adds a character, so the nesting that is
    looked at is bounded too."""
    text = ""
    for piece in _pieces(value):
        text += piece
        if len(text) > LONGEST_QUOTE:
            break
    return text


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield "{"
        for number, (key, item) in enumerate(value.items()):
            yield ", " if number else ""
            yield from _pieces(key)
            yield ": "
            yield from _pieces(item)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for number, item in enumerate(value):
            yield ", " if number else ""
            yield from _pieces(item)
        yield "]"
    else:
        try:
            yield repr(value)
        except (ValueError, RecursionError):
            # an integer of thousands of digits; a nested thing that is neither dict nor list
            yield type(value).__name__
