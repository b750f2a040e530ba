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
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_input_makes_a_reader_or_a_rule_set_raise(fuzz):
    pool = fuzz.cases(worlds=2, per_world=6)
    kinds = set()
    for index in range(600):
        kind, _, run = fuzz.make_input(index, 1, pool)
        kinds.add(kind)
        run()
    assert kinds == {"official", "answer", "days", "request", "itinerary"}


def test_what_is_accepted_is_what_a_traveller_reads(fuzz):
    """A few hundred inputs of its `--misread`."""
    pool = fuzz.cases(worlds=2, per_world=6)
    assert fuzz.misread(pool, 600, seed=1, only=None) == 0


def test_the_travellers_reading_sees_what_is_said_beside(fuzz):
    """Of plans that the rules refuse, too: each of these says something that they do not judge."""
    (case, *_) = fuzz.cases(worlds=1, per_world=1)
    query, sound = fuzz.read_query(case.query), fuzz.json.dumps(case.official)
    for said in (
        sound,
        sound.replace('"dinner": "', '"dinner": "The Ritz, Paris", "dinner": "', 1),
        sound.replace('"days": 1', '"days": 1, "plan": "first class"', 1),
        sound[:-1] + ', {"days": 9, "plan": "Fly on to Paris"}]',
        sound.replace("cost: ", "cost: 9", 1),
        sound.replace(", duration: ", ", by bus, duration: ", 1),
    ):
        read = fuzz.judged(said, "official", query, case.world)
        found = list(fuzz.differences(said, "official", query, read))
        assert bool(found) == (said != sound) != read.verdict.final


def test_no_file_makes_its_reader_raise(fuzz):
    files = importlib.import_module("fuzz_files").Files(fuzz.changed)
    for index in range(150):
        files.make_input(index, 1)[2]()
