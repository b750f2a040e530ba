"""Frameworks whose pins want an environment of their own (`make NAME`): their tests, run there."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["openenv", "verifiers", "verl"])
def test_it_holds_in_an_environment_of_its_own(name):
    if not (ROOT / f".venv-{name}/.installed").exists():
        pytest.skip(f"its environment is not made: make {name}")
    python, here = ROOT / f".venv-{name}/bin/python", Path(__file__).parent
    words = [python, "-m", "pytest", "-q", "-k", name]
    files = [here / "test_contract.py", *here.glob(f"test_{name}.py")]
    ended = subprocess.run([*words, *files], cwd=ROOT, capture_output=True, text=True)
    told = ended.stdout + ended.stderr
    assert ended.returncode == 0 and "skipped" not in told, told
