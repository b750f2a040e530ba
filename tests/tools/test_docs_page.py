"""docs/tools.md runs as written: each block of Python prints what stands below it."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tools.md"


def test_the_page_runs_as_written():
    blocks = re.findall(
        r"^```(python|text)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    namespace: dict[str, Any] = {"__name__": "page"}
    printed, expected = [], []
    for language, body in blocks:
        if language == "text":
            expected.append(body)
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(body, str(PAGE), "exec"), namespace)
        if out.getvalue():
            printed.append(out.getvalue())
    assert len(printed) > 7
    assert printed == expected
