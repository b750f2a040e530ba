"""What is imported is declared, and a verb whose extra is not installed says so in one line."""

import ast
import importlib.metadata
import re
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import python
from tripwright.cli.main import extra_of, main
from tripwright.cli.verbs import all_verbs

PACKAGE = Path(__file__).resolve().parents[2] / "tripwright"
# verl's own environment brings these (docs/cluster.md)
OF_VERL = {"verl", "ray", "transfer_queue", "tensordict", "omegaconf"}
# tripwright itself, and modules of other names: markdown-it-py, httpx2's anyio, jinja2's markupsafe
OF_THE_CORE = {"tripwright", "markdown_it", "markupsafe", "anyio"}
# with each verb, what it is given, so that it gets as far as its work
WORDS = {
    "serve": "--world {world}",
    "serve tools": "--world {world}",
    "serve model": "{folder}",
    "train": "nano/grpo --out {folder}/run",
    "sft": "nano/cold_start --out {folder}/run",
    "quickstart": "--out {folder}/run",
    "merge": "{folder} --out {folder}/merged",
    "fit": "nano/grpo",
}
WITHOUT = """
import sys
from tripwright.cli.main import main
sys.modules.update(dict.fromkeys(sys.argv[1].split(","), None))
sys.exit(main(sys.argv[2:]))
"""


@cache
def imported() -> dict[str, str]:
    """Packages that are not the standard library's → the file that imports them."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for name in names:
                found[name.partition(".")[0]] = str(path.relative_to(PACKAGE))
    return {name: file for name, file in found.items() if name not in {*sys.stdlib_module_names}}


def test_every_import_is_of_the_core_or_of_an_extra():
    core = {
        re.split(r"[^\w-]", requirement)[0].replace("-", "_")
        for requirement in importlib.metadata.requires("tripwright") or ()
        if "extra ==" not in requirement
    }
    homeless = {
        name: file
        for name, file in imported().items()
        if name not in core | OF_VERL | OF_THE_CORE and extra_of(name) in (None, "dev")
    }
    assert not homeless, f"neither a dependency nor in an extra: {homeless}"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("worlds") / "nano"
    assert main(f"world build --scale nano --seed 7 --out {folder}".split()) == 0
    return folder


@pytest.mark.parametrize("words", WORDS)
def test_a_verb_without_its_extra_says_so_in_one_line(words, world, tmp_path):
    assert words in {verb.words for verb in all_verbs()}
    extras = ",".join(name for name in imported() if extra_of(name) not in (None, "dev"))
    given = WORDS[words].format(world=world, folder=tmp_path).split()
    ended = python("-c", WITHOUT, extras, *words.split(), *given)
    last = ended.stderr.splitlines()[-1]
    assert ended.returncode == 2 and "Traceback" not in ended.stderr, ended.stderr
    assert "pip install 'tripwright[" in last, ended.stderr
