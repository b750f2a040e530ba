"""A sample of the measure that benchmarks/verifier_rules.py prints in full: corrupted answers are
refused for what is wrong with them, reworded ones pass."""

from collections import Counter
from typing import Any

import pytest


def test_each_corruption_is_found_and_for_its_reason(measure: Any) -> None:
    cases = list(measure.corrupted(each=18, first_seed=3_000_000))
    assert len(cases) == 6 * 18
    missed = [(case.kind, case.wording, case.seed) for case in cases if not case.flagged]
    assert not missed
    odd = [
        (case.kind, case.wording, case.seed, case.kinds)
        for case in cases
        if not case.for_its_reason
    ]
    assert len(odd) <= 1, odd


@pytest.mark.parametrize("pool", ["tuned", "last"])
def test_rewordings_pass(measure: Any, pool: str) -> None:
    cases = list(measure.reworded(42, getattr(measure, pool), first_seed=4_000_000))
    wrongly = [(case.wording, case.seed, case.kinds) for case in cases if case.flagged]
    assert len(wrongly) <= 1, wrongly
    assert len(Counter(case.wording for case in cases)) == len(getattr(measure, pool))
