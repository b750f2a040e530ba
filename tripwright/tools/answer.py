"""What a tool says: a text for the model, and the same as data, so that nobody reads the text back;
or an error that a model can read and act on. Also how a model's own words may be repeated to it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import commonprefix
from typing import Any

from tripwright.transcript import Rows

LONGEST_QUOTE = 60


class ToolError(Exception):
    """One line that a model can read and act on. `kind` says in a word what went wrong, apart from
    how a face words it."""

    def __init__(self, message: str, kind: str):
        super().__init__(message)
        self.kind = kind


def quoted(value: object) -> str:
    """A value of the model's, short and harmless enough to be repeated to it: text between quotes,
    anything else as Python writes it."""
    return f"'{harmless(value)}'" if isinstance(value, str) else harmless(value)


def harmless(value: object) -> str:
    """At most LONGEST_QUOTE characters of a value.

    Angle brackets go, so that an argument cannot smuggle a control token such as `<|im_end|>` into
    a tool's answer, and so do lone surrogates, which no tokenizer can encode.
    """
    try:
        text = value if isinstance(value, str) else repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits; a deep nesting
        text = type(value).__name__
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


TEXT = Rows("text")
UNAVAILABLE = "unavailable"


def unanswered(fault: str | None) -> bool:
    """Whether what an answer notes (a live tool's goes on with details) kept the question from its
    answer: the same one may be asked again."""
    return fault is not None and fault.startswith(UNAVAILABLE)


@dataclass(slots=True)  # not frozen, which would take longer than many a look-up
class ToolAnswer:
    """`fault` says why this is not the tool's own answer: what was done to it on purpose
    (`tools/faults.py`), or that a live service did not answer
    (`domains/deeptravel/tools/live_tools.py`). The kind first, details after it.

    The data are made when somebody asks for them: `make_rows` gives all of them, `row_ends` after
    how many characters of the text each row stands there whole. Without them the answer is text of
    somebody else's tool.
    """

    text: str
    error: bool = False
    fault: str | None = None
    make_rows: Callable[[], Rows] = field(default=lambda: TEXT, compare=False, repr=False)
    row_ends: Callable[[], Sequence[int]] = field(default=tuple, compare=False, repr=False)

    def rows(self, text: str | None = None) -> Rows:
        """As data what a model was shown: the text, or a beginning of it and whatever note follows
        where it was cut."""
        if text is None or text == self.text:
            return self.make_rows()
        return self.make_rows().cut(
            bisect_right(self.row_ends(), len(commonprefix((self.text, text))))
        )

    def to_json(self) -> dict[str, Any]:
        """As it goes over HTTP, where a `fault` cannot be: those are made on the asking side."""
        return {
            "text": self.text,
            "error": self.error,
            "rows": self.make_rows().to_json(),
            "row_ends": list(self.row_ends()),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ToolAnswer:
        """Raises LookupError or TypeError for another record. A server that is not ours may answer
        with text alone."""
        text, error, ends = record["text"], record["error"], record.get("row_ends", ())
        rows = Rows.from_json(record["rows"]) if "rows" in record else TEXT
        if (
            not isinstance(text, str)
            or not isinstance(error, bool)
            or not all(isinstance(end, int) for end in ends)
        ):
            raise TypeError(
                "an answer is a text, with true or false for an error, rows and numbers of"
                " characters"
            )
        return cls(text, error, None, lambda: rows, lambda: ends)
