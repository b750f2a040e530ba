"""docs/live-tools.md: each example prints what stands below it."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[4] / "docs" / "live-tools.md"
EXAMPLES = re.findall(
    r"^```python\n(.*?)^```\n```text\n(.*?)^```$",
    PAGE.read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.parametrize("number", range(2))
def test_the_example_runs_as_written(number, capsys):
    code, printed = EXAMPLES[number]
    exec(compile(code, str(PAGE), "exec"), {"__name__": "page"})
    assert capsys.readouterr().out == printed


def test_there_is_no_other_example():
    assert len(EXAMPLES) == 2 == PAGE.read_text(encoding="utf-8").count("```python\n")
