"""Importing any module opens no file, prints nothing, changes no directory; and only the rooms of
the 'train' extra load torch (law 7).

Both are observed in a fresh interpreter with an audit hook. The import system itself opens files,
and so do third-party packages while they load: an event counts only when the nearest frame that is
neither is a line of tripwright.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.conftest import python

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "tripwright").rglob("*.py")
)
# adapters whose framework need not be installed
NEEDS = {"tripwright.bridges.inspect_ai": "inspect_ai", "tripwright.bridges.verl.inside": "verl"}
NEEDS["tripwright.bridges.mcp"] = "mcp"
MODULES = [
    module
    for module in MODULES
    if all(
        not f"{module}.".startswith(f"{home}.") or importlib.util.find_spec(extra)
        for home, extra in NEEDS.items()
    )
]
LOADS_TORCH = [f"tripwright.{room}" for room in ("inference", "training", "bridges")]
LOADS_TORCH += [f"tripwright.cli.{verb}" for verb in ("train", "quickstart", "fit", "examine")]
WATCH = """
import importlib, sys
ACTS = ("open", "os.chdir", "subprocess.Popen", "socket.connect", "sqlite3.connect", "os.mkdir", "os.listdir", "os.scandir")
package, standard = sys.argv[1] + "/", sys.argv[2] + "/"
seen = []
def hook(event, arguments):
    if event not in ACTS:
        return
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(package):
            seen.append(f"{name}:{frame.f_lineno}: {event} {arguments[0] if arguments else ''}")
            return
        if name.startswith("<frozen importlib") or (not name.startswith("<") and not name.startswith(standard)) or "site-packages" in name:
            return
        frame = frame.f_back
sys.addaudithook(hook)
for module in sys.argv[3:]:
    before = "torch" in sys.modules
    importlib.import_module(module)
    if "torch" in sys.modules and not before:
        print("LOADS TORCH", module, file=sys.stderr)
print("\\n".join(seen), file=sys.stderr, end="")
"""  # noqa: E501


def import_in_fresh_interpreter(
    modules: list[str], package: Path = ROOT / "tripwright"
) -> tuple[str, list[str]]:
    """(what it printed, what else it did)"""
    standard_library = str(Path(importlib.util.__file__).parents[1])
    done = python("-c", WATCH, package, standard_library, *modules, cwd=package.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if line]


def is_heavy(module: str) -> bool:
    return any(f"{module}.".startswith((f"{home}.", f"{home}_")) for home in LOADS_TORCH)


def test_light_rooms_import_silently_and_without_torch() -> None:
    light = [module for module in MODULES if not is_heavy(module)]
    assert import_in_fresh_interpreter(light) == ("", [])


def test_heavy_rooms_import_silently() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("the 'train' extra is not installed")
    printed, acts = import_in_fresh_interpreter([module for module in MODULES if is_heavy(module)])
    assert (printed, [act for act in acts if not act.startswith("LOADS TORCH")]) == ("", [])


@pytest.mark.parametrize(
    ("source", "trace"),
    [
        ("open(__file__).close()", "open"),
        ("from pathlib import Path\nPath(__file__).read_text()", "open"),
        ("import os\nos.chdir('/')", "os.chdir"),
        ("import sqlite3\nsqlite3.connect(':memory:')", "sqlite3.connect"),
    ],
)
def test_the_watcher_sees(source: str, trace: str, tmp_path: Path) -> None:
    package = tmp_path / "loud"
    package.mkdir()
    (package / "__init__.py").write_text(f'"""Loud."""\nprint("hello")\n{source}\n')
    printed, acts = import_in_fresh_interpreter(["loud"], package)
    assert printed == "hello\n"
    assert any(trace in act for act in acts)
