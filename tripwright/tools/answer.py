"""What a tool answers: a text for the model, and the same as data, so that nobody reads the text
back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os.path import commonprefix
from typing import Any

from tripwright.transcript import Rows

TEXT = Rows("text")


@dataclass(slots=True)  # not frozen, which would take longer than many a look-up
class ToolAnswer:
    """`fault` says why this is not the tool's own answer: what was done to it on purpose
    (`tools/faults.py`), or that a live service did not answer
    (`domains/deeptravel/tools/live_box.py`). The kind first, details after it.

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
        """Raises LookupError or TypeError for what is none. A server that is not ours may answer
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
