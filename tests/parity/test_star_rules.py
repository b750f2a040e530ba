"""STAR's rules on the authors' own plans. STAR drops no state in parentheses, and all 5- and 7-day
gold plans are written with them."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.files import read_lines
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.star import STAR

STATE = re.compile(r"\([A-Z][\w ]*\)")


@pytest.fixture(scope="module")
def train(travelplanner: Path) -> list[dict[str, Any]]:
    return read_lines(travelplanner / "queries" / "train.jsonl")


def without_states(plan: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """'Rockford(Illinois)' → 'Rockford', in the cities' texts and after the last comma of each
    place."""
    return [
        {
            key: STATE.sub("", value) if isinstance(value, str) else value
            for key, value in day.items()
        }
        for day in plan
    ]


def test_gold_plans_as_written(train, real_world):
    """The 3-day ones pass."""
    passed = [
        record["idx"]
        for record in train
        if STAR.judge(Query.model_validate(record), record["annotated_plan"], real_world).final
    ]
    assert len(train) == 45
    assert passed == [record["idx"] for record in train if record["days"] == 3]
    assert len(passed) == 15


def test_gold_plans_without_states(train, real_world):
    """All but one, which sees a sight of San Angelo on a day in San Antonio: the official rules
    compare letters there."""
    verdicts = {
        record["idx"]: STAR.judge(
            Query.model_validate(record), without_states(record["annotated_plan"]), real_world
        )
        for record in train
    }
    failed = {idx: verdict for idx, verdict in verdicts.items() if not verdict.final}
    assert list(failed) == [41]
    (verdict,) = failed.values()
    broken = [
        fact for fact in (verdict.group("commonsense").facts or {}).values() if not fact.passed
    ]
    assert [fact.name for fact in broken] == ["is_valid_information_in_current_city"]
    (evidence,) = broken[0].evidence
    assert (evidence.day, evidence.field) == (4, "attraction")
    assert "San Angelo" in (evidence.found or "")
    assert "San Antonio" in (evidence.needed or "")
