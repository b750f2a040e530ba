"""requirements.lock holds all that `make setup` installs, with hashes; docs/licences.md tells
their licences."""

import importlib.util
import re
import tomllib
from importlib.metadata import distributions
from pathlib import Path
from types import ModuleType

import pytest

packaging = pytest.importorskip("packaging")
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
ENTRIES = re.split(r"\n(?=[a-z])", LOCK.partition("make lock\n")[2].partition("\n\n#")[0])


@pytest.fixture(scope="module")
def licences() -> ModuleType:
    spec = importlib.util.spec_from_file_location("licences", ROOT / ".ci" / "licences.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_entry_is_one_version_with_hashes_and_none_is_of_cuda():
    assert len(ENTRIES) > 100
    for entry in ENTRIES:
        first, *hashes = entry.split("\\\n")
        name, version = re.match(r"([\w.-]+)==([\w.]+)", first).groups()
        assert version and not re.match("nvidia|cuda|triton|torch", name), name
        assert hashes and all(
            re.fullmatch(r" +--hash=sha256:[0-9a-f]{64}", one.split("\n")[0].rstrip())
            for one in hashes
        ), name


def test_all_that_pyproject_asks_is_locked(licences):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = re.search(r"^EXTRAS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    asked = [*project["dependencies"]]
    for extra in extras.group(1).split():
        asked += project["optional-dependencies"][extra]
    locked = {canonicalize_name(each.name): each.specifier for each in licences.locked()}
    for requirement in map(Requirement, asked):
        if requirement.name == "tripwright":  # an extra that another one holds
            continue
        (pin,) = locked[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(pin.version), requirement


def test_setup_installs_from_the_lock_and_builds_with_what_is_there():
    makefile = (ROOT / "Makefile").read_text()
    setup = makefile.partition("$(STAMP):")[2].partition("\n\n")[0]
    assert re.findall(r"pip install -qq (.*)", setup) == [
        "--require-hashes --no-deps -r requirements.lock",
        "-r requirements-torch.txt",
        "--no-deps --no-build-isolation -e .",
    ]


def test_the_page_of_licences_is_true(licences):
    text = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    assert licences.HEAD.partition("**Files of others")[2] in text, "make licences"
    page = text.splitlines()
    written = {line.split(" | ")[0].removeprefix("| "): line for line in page if "|" in line}
    installed = {canonicalize_name(each.metadata["Name"]) for each in distributions()}
    rows = licences.rows()
    assert set(rows) == set(written) - {"package", "|---|---|"}
    for name in rows.keys() & installed:
        assert written[name] == rows[name], "make licences"
    (named,) = [line for line in page if line.startswith("**Copyleft**")]
    copyleft = licences.copyleft(rows)
    assert {"tqdm", "hypothesis"} & installed <= set(copyleft)
    assert all(name in named for name in copyleft)
