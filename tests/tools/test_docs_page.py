"""docs/tools.md and docs/python.md run as written: each block of Python prints what stands below
it."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize(("name", "fewest"), [("tools.md", 8), ("python.md", 3)])
def test_the_page_runs_as_written(name, fewest):
    text = (DOCS / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    namespace: dict[str, Any] = {"__name__": "page"}
    printed, expected = [], []
    for language, body in blocks:
        if language == "text":
            expected.append(body)
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(body, name, "exec"), namespace)
        if out.getvalue():
            printed.append(out.getvalue())
    assert len(printed) >= fewest
    assert printed == expected
