"""docs/papers.md is a true index: every row that the house cites is in it, and every place that it
names exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
INDEX = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([TPSDB]\d+) \|(.*)\|$", INDEX, re.MULTILINE)


def test_every_cited_row_is_there_once():
    names = [name for name, _ in ROWS]
    assert len(names) == len(set(names))
    files = [*ROOT.glob("tripwright/**/*.py"), *ROOT.glob("recipes/**/*.toml")]
    cited = set[str]()
    for file in files:
        for rows in re.findall(r"\brows?:? ((?:[TPSDB]\d+(?:, | and )?)+)", file.read_text()):
            cited |= set(re.findall(r"[TPSDB]\d+", rows))
    assert len(cited) > 40 and cited <= set(names)


def test_every_place_exists():
    places = [place for _, text in ROWS for place in re.findall(r"`([\w./]+/[\w.]*)`", text)]
    assert len(places) > 60
    missing = [
        place
        for place in places
        if not (ROOT / "tripwright" / place).exists() and not (ROOT / place).exists()
    ]
    assert not missing
