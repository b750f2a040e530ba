"""The house plan: which room may import which, where torch may live, and how long a file or a
function may grow."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "tripwright"

# A room imports only rooms earlier in this list.
ROOMS = tuple(
    """
    transcript statistics llm world tools agent verdict episode policies runs rewards inference
    domains evals training data bridges server cli __main__
    """.split()
)
FREE = {"errors", "files", "progress", "settings", "__init__"}
# Arrows that the order would allow and a law forbids. A trainer scores the episode it gets back; an
# evaluation never sees a weight.
FORBIDDEN = {
    ("episode", "rewards"),
    *(("evals", "rewards"), ("evals", "training"), ("data", "training")),
}
# Inside a domain, which parts never import which: a change to a tool cannot move a score; oracle
# and judge share no code.
APART = {
    ("rules", "tools"),
    ("oracle", "tools"),
    ("oracle", "rules"),
    ("tools", "rules"),
    ("tools", "oracle"),
    ("rules", "oracle"),
}
# parts of a domain that belong, by what they may import, to a later room
OF_OTHER_ROOMS = {"verbs": "cli", "routes": "server"}
TRAIN_EXTRA = {"torch", "transformers", "tokenizers", "safetensors"}
TRAIN_EXTRA_HOMES = (
    "tripwright.inference",
    "tripwright.training",
    "tripwright.agent.chat",
    "tripwright.bridges",
)

DOMAINS = {
    path.name
    for path in (PACKAGE / "domains").iterdir()
    if path.is_dir() and not path.name.startswith("_")
}

MOST_FILE_LINES = 800
MOST_FUNCTION_LINES = 60
EXCUSE = "# long: "


@dataclass(frozen=True)
class Import:
    importer: str  # full module names
    imported: str
    line: int

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def module_name(path: Path, package: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path, package: Path = PACKAGE) -> Iterator[Import]:
    """Every import in the file, inside functions and under TYPE_CHECKING too, with relative ones
    made absolute."""
    name = module_name(path, package)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                here = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
                base = ".".join(
                    [*here[: len(here) - node.level + 1], *([node.module] if node.module else [])]
                )
            # `from tripwright import world` names a room, `from tripwright import __version__` does
            # not
            if base == "tripwright":
                for alias in node.names:
                    yield Import(name, f"tripwright.{alias.name}", node.lineno)
            else:
                yield Import(name, base, node.lineno)


def room_of(module: str) -> str:
    """The part of a domain that is a verb or a route counts as of the command line's or the
    server's room."""
    parts = [*module.split("."), "__init__"]
    return (
        OF_OTHER_ROOMS.get(parts[3], "domains")
        if parts[1] == "domains" and len(parts) > 4
        else parts[1]
    )


def domain_of(module: str) -> tuple[str, str] | None:
    """(domain, part) of what lies in a domain's folder."""
    parts = module.split(".")
    return (
        (parts[2], parts[3] if len(parts) > 3 else "")
        if parts[1:2] == ["domains"] and len(parts) > 2 and parts[2] in DOMAINS
        else None
    )


def objection(found: Import) -> str | None:
    """Why this import may not be, or None."""
    top = found.imported.split(".")[0]
    if top in TRAIN_EXTRA and not any(
        f"{found.importer}.".startswith((f"{home}.", f"{home}_")) for home in TRAIN_EXTRA_HOMES
    ):
        return f"{found}: the 'train' extra may be imported only in {', '.join(TRAIN_EXTRA_HOMES)}"
    if top != "tripwright":
        return None
    ours, theirs = domain_of(found.importer), domain_of(found.imported)
    if theirs is not None and (ours is None or ours[0] != theirs[0]):
        return (
            f"{found}: only domain '{theirs[0]}' itself imports it; others ask the registry,"
            " tripwright.domains"
        )
    if ours is not None and theirs is not None:
        if (ours[1], theirs[1]) in APART:
            return f"{found}: {ours[1]} never imports {theirs[1]}"
        if theirs[1] in OF_OTHER_ROOMS and ours[1] not in OF_OTHER_ROOMS:
            return f"{found}: '{theirs[1]}' comes after '{ours[1]}'"
        return None
    if found.importer == "tripwright":  # the public names, all of them lazy
        return None
    importer, imported = room_of(found.importer), room_of(found.imported)
    if imported in FREE or imported == importer or imported.startswith("__"):
        return None
    if importer in FREE:
        return f"{found}: {importer} imports no room"
    for room in (importer, imported):
        if room not in ROOMS:
            return f"{found}: '{room}' is no room (rooms: {', '.join(ROOMS)})"
    if ROOMS.index(imported) > ROOMS.index(importer):
        return f"{found}: '{imported}' comes after '{importer}'"
    if (importer, imported) in FORBIDDEN:
        return f"{found}: {importer} never imports {imported}"
    return None


def too_long(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    if len(lines) > MOST_FILE_LINES and EXCUSE not in lines[0]:
        yield (
            f"{path}: {len(lines)} lines, at most {MOST_FILE_LINES} (or say why on line 1:"
            f" {EXCUSE}...)"
        )
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            length = node.end_lineno - node.lineno + 1
            if length > MOST_FUNCTION_LINES and EXCUSE not in lines[node.lineno - 1]:
                yield (
                    f"{path}:{node.lineno}: {node.name} has {length} lines, at most"
                    f" {MOST_FUNCTION_LINES} (or say why: {EXCUSE}...)"
                )


SOURCES = sorted(PACKAGE.rglob("*.py"))


def test_no_arrow_points_the_wrong_way() -> None:
    objections = [
        text for path in SOURCES for found in imports_of(path) if (text := objection(found))
    ]
    assert not objections, "\n" + "\n".join(objections)


def test_files_and_functions_stay_small() -> None:
    objections = [text for path in SOURCES for text in too_long(path)]
    assert not objections, "\n" + "\n".join(objections)


def test_every_module_says_why_it_exists() -> None:
    silent = [
        str(path)
        for path in SOURCES
        if path.read_text().strip() and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert not silent, f"no module docstring: {silent}"


@pytest.mark.parametrize(
    ("module", "source", "why"),
    [
        ("tools/face.py", "from tripwright.evals.run import run", "comes after"),
        (
            "domains/travelplanner/rules/evaluate.py",
            "def f():\n    import tripwright.domains.travelplanner.tools.catalog",
            "never imports",
        ),
        (
            "domains/travelplanner/task.py",
            "from tripwright.domains.deeptravel.request import TravelRequest",
            "only domain",
        ),
        ("episode.py", "from .rewards import shaped", "comes after"),
        ("evals/run.py", "from ..rewards.shaped import reward", "never imports"),
        ("errors.py", "import tripwright.world.store", "imports no room"),
        ("garden/rose.py", "import tripwright.world.store", "is no room"),
        ("rewards/shaped.py", "import torch.nn as nn", "'train' extra"),
    ],
)
def test_the_walker_sees(module: str, source: str, why: str | None, tmp_path: Path) -> None:
    path = tmp_path / "tripwright" / module
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    objections = [
        text for found in imports_of(path, tmp_path / "tripwright") if (text := objection(found))
    ]
    assert (why is None) == (not objections)
    assert why is None or why in objections[0]


def test_the_ruler_measures(tmp_path: Path) -> None:
    body = "\n".join(["    pass"] * MOST_FUNCTION_LINES)
    path = tmp_path / "long.py"
    path.write_text(f"def f():\n{body}\n")
    assert len(list(too_long(path))) == 1
    path.write_text(f"def f():  # long: one table\n{body}\n")
    assert not list(too_long(path))
    path.write_text("\n" * (MOST_FILE_LINES + 1))
    assert len(list(too_long(path))) == 1
    path.write_text("# long: a table of names\n" + "\n" * MOST_FILE_LINES)
    assert not list(too_long(path))
