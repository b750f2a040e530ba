"""The strict rules on the authors' annotated plans: all but one pass, and that one says why."""

from tests.files import read_lines
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.scoring.lines import read_query


def test_annotated_plans_pass_but_for_one(travelplanner, real_world):
    records = read_lines(travelplanner / "queries" / "train.jsonl")
    verdicts = {
        record["idx"]: judge(read_query(record), record["annotated_plan"], real_world, "strict")
        for record in records
    }
    assert len(verdicts) == 45
    rejected = {idx: verdict for idx, verdict in verdicts.items() if not verdict.final}
    assert list(rejected) == [41]
    failed = [
        fact
        for facts in (rejected[41].group("commonsense").facts, rejected[41].group("hard").facts)
        for fact in (facts or {}).values()
        if fact.passed is False
    ]
    assert [fact.name for fact in failed] == ["is_valid_information_in_current_city"]
    # sights of a city left before
    assert {(each.day, each.field) for each in failed[0].evidence} == {
        (4, "attraction"),
        (5, "attraction"),
    }
