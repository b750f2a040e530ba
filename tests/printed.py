"""What a paper prints, for tests that hold a prompt to it word for word. The papers' texts lie
beside the project, and not in it."""

from pathlib import Path

import pytest

PAPERS = Path(__file__).parents[2] / "shared" / "papers"


def printed(paper: str, start: str, end: str) -> str:
    """From `start` up to `end`. Skips the test where the paper's text is not there."""
    path = PAPERS / paper
    if not path.is_file():
        pytest.skip(f"no text of the paper at {path}")
    text = path.read_text(encoding="utf-8")
    begin = text.index(start)
    return text[begin : text.index(end, begin)]
