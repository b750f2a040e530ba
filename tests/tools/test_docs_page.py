"""docs/tools.md, docs/python.md and docs/live-tools.md run as written: each block of Python prints
what stands below it."""

import contextlib
import io
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize(
    ("name", "fewest"), [("tools.md", 8), ("python.md", 3), ("live-tools.md", 2)]
)
def test_the_page_runs_as_written(name, fewest):
    text = (DOCS / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    namespace: dict[str, Any] = {"__name__": "page"}
    printed, expected = [], []
    for (before, _), (language, body) in pairwise([("", ""), *blocks]):
        if language == "text":
            # one behind another is not of Python's printing
            expected += [body] if before == "python" else []
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(body, name, "exec"), namespace)
        if out.getvalue():
            printed.append(out.getvalue())
    assert len(printed) >= fewest
    assert printed == expected
