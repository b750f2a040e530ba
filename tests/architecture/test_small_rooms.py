"""How much a newcomer reads before a change: the table of docs/architecture.md, held to the files
as they are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tripwright"
MOST_LINES, MOST_MODULES, MOST_SLICES = 61_815, 266, 46


def module_name(path: Path, package: Path) -> str:
    return ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    )


def lines_of(*files: str) -> int:
    return sum(len((PACKAGE / file).read_text(encoding="utf-8").splitlines()) for file in files)


OF_AN_ALGORITHM = ("algorithms", "rejection", "rl_loop", "rollouts")


@pytest.mark.parametrize(
    ("change", "files", "most"),
    [
        ("a weight of TravelPlanner's reward", ["domains/travelplanner/rewards.py"], 99),
        ("a weight of DeepTravel's reward", ["domains/deeptravel/rewards.py"], 99),
        ("a reward that looks at turns", ["rewards/reward.py"], 149),
        ("an algorithm", [f"training/{room}.py" for room in OF_AN_ALGORITHM], 399),
    ],
)
def test_few_lines_are_read_for(change: str, files: list[str], most: int) -> None:
    assert lines_of(*files) <= most, (
        f"to change {change} one reads {lines_of(*files)} lines in {', '.join(files)}"
    )


def test_the_house_does_not_grow() -> None:
    """Lines, modules and slices (modules with one importer) of the whole package. These figures go
    down and never up: the plan is 62,000 lines."""
    sources = {module_name(path, PACKAGE): path for path in PACKAGE.rglob("*.py")}
    importers: dict[str, set[str]] = {name: set() for name in sources}
    for name, path in sources.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                found = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for other in importers.keys() & found:
                importers[other].add(name)
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in sources.values())
    slices = [name for name, others in importers.items() if len(others - {name}) == 1]
    assert lines <= MOST_LINES and len(sources) <= MOST_MODULES and len(slices) <= MOST_SLICES, (
        lines,
        len(sources),
        sorted(slices),
    )


def test_a_small_domain_is_one_folder_of_300_lines() -> None:
    blocks = re.findall(
        r"^### `dinner/\w+\.py`\n\n```python\n(.*?)^```",
        (ROOT / "docs" / "new-domain.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    assert len(blocks) > 4 and sum(len(block.splitlines()) for block in blocks) <= 300


def test_nothing_outside_the_domains_asks_which_domain_it_is() -> None:
    """Neither by a name in quotes nor by the form of its answers. The registry names them, and
    folders of before there were domains."""
    names = "|".join(
        path.name for path in (PACKAGE / "domains").iterdir() if (path / "domain.py").is_file()
    )
    asks = re.compile(rf"""["']({names})["']|plan_format\s*(==|!=|in)""")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if "domains" not in path.relative_to(PACKAGE).parts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if asks.search(line)
    ]
    assert not found, "\n" + "\n".join(found)
