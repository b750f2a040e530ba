"""The wheel as it would be published: alone, with the core's dependencies and no others, it judges
a plan; and what it says of itself is so."""

import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.conftest import python
from tests.supply.test_extras import WITHOUT, imported
from tripwright import __version__
from tripwright.cli.main import extra_of

pytest.importorskip("hatchling")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    python("-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_it_judges_a_plan_without_any_extra(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    extras = ",".join(name for name in imported() if extra_of(name) is not None)

    def run(words: str) -> str:
        alone = {"cwd": tmp_path, "env": {"PYTHONPATH": str(tmp_path / "site")}}
        ended = python("-P", "-c", WITHOUT, extras, *words.split(), **alone)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    run("world build --scale nano --seed 7 --out world")
    judged = run(f"score {ROOT / 'examples' / 'plans.jsonl'} --world world")
    assert [line.split()[:2] for line in judged.splitlines()[1:3]] == [["1", "pass"], ["2", "fail"]]
    assert str(tmp_path) in run("recipes nano/grpo --json")  # its own, not the checkout's


def test_its_metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (path,) = (name for name in names if name.endswith("METADATA"))
        metadata = Parser().parsestr(archive.read(path).decode())
    assert metadata["Version"] == __version__ and "tripwright/py.typed" in names
    assert set(metadata.get_all("License-File")) <= {
        name.partition("licenses/")[2] for name in names
    }
    assert "![" not in metadata.get_payload()  # a picture of the repository is none on an index
