"""A few hundred inputs of benchmarks/fuzz_judge.py: whatever a model writes, readers and rule sets
do not raise. Nothing is timed."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[4] / "benchmarks" / "fuzz_judge.py"


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    if not SCRIPT.is_file():
        pytest.skip("benchmarks/ is not part of this copy")
    spec = importlib.util.spec_from_file_location("fuzz_judge", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_input_makes_a_reader_or_a_rule_set_raise(fuzz: ModuleType) -> None:
    pool = fuzz.cases(worlds=2, per_world=6)
    kinds = set()
    for index in range(600):
        kind, _, run = fuzz.make_input(index, 1, pool)
        kinds.add(kind)
        run()
    assert kinds == {"official", "answer", "days", "request", "itinerary"}


def test_an_input_is_the_same_every_time(fuzz: ModuleType) -> None:
    once, again = (
        fuzz.make_input(index, 1, fuzz.cases(worlds=1, per_world=3))[1] for index in (21, 21)
    )
    other = fuzz.make_input(26, 1, fuzz.cases(worlds=1, per_world=3))[1]
    assert fuzz.shown(once) == fuzz.shown(again) != fuzz.shown(other)
