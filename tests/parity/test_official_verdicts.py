"""Our `official` rules against what TravelPlanner's own evaluator said (its verdicts were recorded,
not recomputed here)."""

import gzip
import json
from pathlib import Path

import pytest

from tests.files import read_lines
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.scoring.lines import read_query
from tripwright.domains.travelplanner.scoring.score import METRICS, score_file


@pytest.fixture(scope="session")
def train(travelplanner: Path) -> list[dict]:
    return read_lines(travelplanner / "queries" / "train.jsonl")


def test_every_gold_plan_passes(train, real_world):
    failed = [
        record["idx"]
        for record in train
        if not judge(read_query(record), record["annotated_plan"], real_world).final
    ]
    assert len(train) == 45
    assert failed == []


def test_aggregates_of_the_official_eval_are_reproduced(travelplanner, train, real_world, tmp_path):
    with gzip.open(travelplanner / "aggregate_golden_train.json.gz") as text:
        submissions = json.load(text)
    assert len(submissions) == 6
    for submission in submissions:
        plans = tmp_path / f"{submission['name']}.jsonl"
        lines = [
            json.dumps({"query": query, "plan": plan})
            for query, plan in zip(train, submission["plans"], strict=True)
        ]
        plans.write_text("\n".join(lines))
        *verdicts, summary = score_file(plans, real_world, "official")
        assert len(verdicts) == 45
        assert [summary[name]["value"] for name in METRICS] == list(
            submission["scores"].values()
        ), submission["name"]
        assert summary["hard_micro"]["denominator"] == 105


def test_detail_table_of_the_official_eval_is_reproduced(travelplanner, train, real_world):
    titles = {
        "Reasonable City Route": "is_reasonable_visiting_city",
        "Diverse Restaurants": "is_valid_restaurants",
        "Diverse Attractions": "is_valid_attractions",
        "Minimum Nights Stay": "is_valid_accommodation",
        "Non-conf. Transportation": "is_valid_transportation",
        "Within Current City": "is_valid_information_in_current_city",
        "Within Sandbox": "is_valid_information_in_sandbox",
        "Complete Information": "is_not_absent",
    }
    with gzip.open(travelplanner / "aggregate_golden_train.json.gz") as text:
        submissions = json.load(text)
    for submission in submissions:
        verdicts = [
            judge(read_query(query), plan, real_world)
            for query, plan in zip(train, submission["plans"], strict=True)
        ]
        for level, by_days in submission["detailed"]["Commonsense Constraint"].items():
            for days, cells in by_days.items():
                ours = [
                    v
                    for v, q in zip(verdicts, train, strict=True)
                    if (q["level"], str(q["days"])) == (level, days)
                ]
                for title, cell in cells.items():
                    facts = [
                        v.group("commonsense").facts[titles[title]].passed
                        for v in ours
                        if v.group("commonsense").facts is not None
                    ]
                    assert (facts.count(True), facts.count(False)) == (
                        cell["true"],
                        cell["false"],
                    ), (submission["name"], level, days, title)


def test_recorded_verdicts_are_reproduced(travelplanner, real_world):
    """All 13 constraints with their messages, final, cost, and the kind of exception with its
    stage."""
    differing = []
    count = 0
    with gzip.open(travelplanner / "verdicts_dev.jsonl.gz", "rt") as lines:
        for line in lines:
            case = json.loads(line)
            verdict = judge(read_query(case["query"]), case["plan"], real_world)
            ours = {
                group: None
                if facts is None
                else {name: [fact.passed, fact.message] for name, fact in facts.items()}
                for group, facts in (
                    ("commonsense", verdict.group("commonsense").facts),
                    ("hard", verdict.group("hard").facts),
                )
            }
            theirs = {group: case[group] for group in ("commonsense", "hard")}
            same = (
                ours == theirs
                and verdict.final == case["final"]
                and verdict.error == case.get("error")
            )
            if not (same and verdict.details["total_cost"] == case.get("total_cost")):
                differing.append(case["case"])
            count += 1
    assert count == 2330
    assert differing == []
