import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.files import write_lines
from tests.made import made_tables, meal, sight, stay
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.rules.facts import (
    COMMONSENSE_NAMES,
    applicable_hard,
    plan_verdict,
)
from tripwright.domains.travelplanner.scoring.lines import (
    BAD_LINE,
    SPLITS,
    LineReader,
    QueryFile,
    read_query,
)
from tripwright.domains.travelplanner.scoring.score import (
    METRICS,
    Tally,
    judge_line,
    score_file,
    split_denominators,
)
from tripwright.statistics.rates import wilson
from tripwright.verdict import Fact, State
from tripwright.world.store import World, write_world

QUERY: dict[str, Any] = {
    "org": "Homer", "dest": "Aston", "days": 3, "visiting_city_number": 1, "date": ["2022-03-01", "2022-03-02", "2022-03-03"],
    "people_number": 1, "budget": 1000, "query": "?", "local_constraint": {"house rule": "smoking", "cuisine": None},
}  # fmt: skip
EASY = QUERY | {"local_constraint": {}}
P3_PLAN = [
    {
        "days": 1, "city": {"from": "Homer", "to": "Aston"}, "attraction": "-", "accommodation": "Inn", "breakfast": "Station Grill",
        "lunch": "-", "dinner": "-",
        "transportation": {"mode": "taxi", "from": "Homer", "to": "Aston", "duration": "1 hour", "distance": "100 km", "cost": 100},
    },
    {
        "days": 2, "city": "Aston", "transportation": "-", "attraction": ["Lake"], "accommodation": "Inn", "breakfast": "A", "lunch": "B",
        "dinner": "C",
    },
    {
        "days": 3, "city": {"from": "Aston", "to": "Homer"}, "attraction": "-", "accommodation": "-", "breakfast": "-", "lunch": "-",
        "dinner": "-",
        "transportation": {"mode": "taxi", "from": "Aston", "to": "Homer", "duration": "1 hour", "distance": "100 km", "cost": 100},
    },
]  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return write_world(
        tmp_path_factory.mktemp("worlds") / "tiny",
        made_tables(
            {"Homer": "Homeland", "Aston": "Westland"},
            roads=[("Homer", "Aston", "1 hour", "100 km"), ("Aston", "Homer", "1 hour", "100 km")],
            meals=[*(meal(name, "Aston") for name in "ABC"), meal("Station Grill", "Homer", usd=1)],
            sights=[sight("Lake", "Aston")],
            stays=[stay("Inn", "Aston", rules="No smoking")],
        ),
    )


def scored(path: Path, world: World, *reading: Any, **settings: Any) -> Iterator[Any]:
    for line in LineReader(world, *reading, **settings).read(path):
        yield SimpleNamespace(line=line, verdict=judge_line(line, world, "official"))


def plans_at(folder: Path, *records: Any) -> Path:
    lines = (each if isinstance(each, str) else json.dumps(each) for each in records)
    (path := folder / "plans.jsonl").write_text("\n".join(lines))
    return path


def test_p3_plans_are_recognised_and_placed_in_their_cities(world, tmp_path):
    path = plans_at(tmp_path, {"query": EASY, "plan": P3_PLAN})
    verdict, summary = score_file(path, world, "official")
    assert verdict["final"]
    # breakfast is charged at home, so it was found there
    assert verdict["total_cost"] == 1 + 30 + 200 + 100
    assert [summary[name]["value"] for name in METRICS] == [1.0] * 6


def test_counts_behind_the_metrics(world, tmp_path):
    broken = [P3_PLAN[0] | {"attraction": "Lake"}, *P3_PLAN[1:]]
    nulls = EASY | {"query": None, "budget": None}
    path = plans_at(
        tmp_path,
        {"query": EASY, "plan": P3_PLAN},
        {"query": QUERY, "plan": P3_PLAN},
        "",
        {"query": QUERY, "plan": None},
        {"query": EASY, "plan": broken},
        {"query": nulls, "plan": P3_PLAN},
        {"query": EASY, "plan": [{}]},
    )
    *verdicts, summary = score_file(path, world, "official")
    assert [verdict["line"] for verdict in verdicts] == [1, 2, 4, 5, 6, 7]
    assert [verdict["final"] for verdict in verdicts] == [True] + [False] * 5
    errors = [None, None, None, "BadPlan", "TypeError", "KeyError"]
    assert [verdict["error"] for verdict in verdicts] == errors
    counts = [(4, 6), (24, 48), (3, 6), (2, 8), (1, 6), (1, 6)]
    assert list(counts_of(summary).values()) == counts
    assert (summary["n"], summary["bad_lines"]) == (6, 0)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("oops", "not JSON (Expecting value at column 1)"),
        ("[]", 'expected an object with "query" and "plan", found a list'),
        ({"query": QUERY}, 'expected an object with "query" and "plan"'),
        ({"query": 7, "plan": []}, "'query' must be a query record or its text, found a number"),
        ({"query": QUERY, "plan": {}}, "'plan' must be a list of days or null, found an object"),
        ({"query": QUERY | {"days": "three"}, "plan": []}, "query field 'days'"),
        ({"query": {k: v for k, v in EASY.items() if k != "query"}, "plan": []}, "query field"),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_scored(world, tmp_path, line, expected):
    path = plans_at(tmp_path, line, {"query": EASY, "plan": P3_PLAN})
    bad, good = scored(path, world)
    assert bad.verdict.error == BAD_LINE
    assert expected in (bad.line.problem or "")
    assert "\n" not in (bad.line.problem or "")
    assert good.verdict.final
    *_, summary = score_file(path, world, "official")
    assert (summary["n"], summary["bad_lines"]) == (2, 1)
    low, high = wilson(1, 2)
    assert summary["final_pass_rate"] == {
        "value": 0.5, "low": low, "high": high, "numerator": 1, "denominator": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Plan a trip", "could not infer days: the text names no date"),
        ({k: v for k, v in QUERY.items() if k != "org"}, "infer org: the text names no city"),
        ({**EASY, "query": None, "dest": None}, "could not infer dest: the query has no text"),
    ],
)
def test_a_plan_for_a_request_that_cannot_be_read_is_unscored(world, tmp_path, query, expected):
    """The limit is our reader's: with and without a plan, neither passed nor failed."""
    path = plans_at(
        tmp_path,
        {"query": query, "plan": P3_PLAN},
        {"query": query, "plan": None},
        {"query": EASY, "plan": P3_PLAN},
    )
    *found, summary = score_file(path, world, "strict")
    assert [(line["delivered"], line["final"], line["error"]) for line in found] == [
        (True, None, "RequestNotInferred"),
        (False, None, "RequestNotInferred"),
        (True, True, None),
    ]
    assert expected in found[0]["problem"]
    figures = [summary[name] for name in ("n", "unscored", "bad_lines")]
    assert figures == [1, 2, 0] and "2 of 3 plans are unscored" in summary["warning"]
    for rates, n in ((summary, 1), (summary["honest"], 1), (summary["worst_case"]["honest"], 3)):
        assert counts_of(rates)["final_pass_rate"] == (1, n)
    # the denominators of a split are fixed; what was delivered there is known all the same
    *_, of_split = score_file(path, world, "strict", split="train")
    counts = counts_of(of_split)
    assert (counts["delivery_rate"], counts["final_pass_rate"]) == ((2, 45), (1, 45))
    assert of_split["missing"] == 42 and counts_of(of_split["honest"])["final_pass_rate"] == (1, 1)


def test_all_fields_are_judged_whatever_the_text_and_no_answer_counts_for_what_is_unread(
    world, tmp_path
):
    """Where nothing has to be inferred there is a verdict; and who leaves out an unread request has
    the denominators of who answers it."""
    words = "Please plan a 3-day trip from Homer to Aston with a blimp."
    path = plans_at(tmp_path, {"query": EASY | {"query": words}, "plan": P3_PLAN})
    for rules in ("official", "strict"):
        assert next(score_file(path, world, rules))["final"] is True
    queries = query_file(tmp_path, EASY | {"query": "easy"}, {"query": words})
    for texts in (["easy"], ["easy", words]):
        path = plans_at(tmp_path, *({"query": text, "plan": P3_PLAN} for text in texts))
        *lines, summary = score_file(path, world, "official", queries)
        assert [line["final"] for line in lines] == [True, None][: len(texts)]
        assert (summary["n"], summary["unscored"]) == (1, 1) and "worst_case" in summary
        assert counts_of(summary["honest"])["final_pass_rate"] == (1, 1)
    assert "'blimp'" in lines[1]["problem"] and words in lines[1]["problem"]


def test_an_unscored_episode_of_a_run_is_unscored_here_too(world, tmp_path):
    played = {"id": "a", "request": EASY, "plan": P3_PLAN, "verdict": {}, "transcript": {}}
    dead = {"id": "b", "request": QUERY, "verdict": None, "transcript": {"fault": "HTTP 503"}}
    path = write_lines(tmp_path / "transcripts.jsonl", [played, dead])
    first, second, summary = score_file(path, world, "official")
    assert (first["final"], second["final"], second["error"]) == (True, None, "Unscored")
    assert "HTTP 503" in second["problem"] and (summary["n"], summary["unscored"]) == (1, 1)


def counts_of(rates: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {name: (rates[name]["numerator"], rates[name]["denominator"]) for name in METRICS}


def test_a_named_split_has_the_official_denominators_and_says_what_is_missing(world, tmp_path):
    query = EASY | {"level": "easy"}
    path = plans_at(
        tmp_path,
        {"query": query, "plan": P3_PLAN},
        {"query": query | {"query": "other"}, "plan": None},
        "oops",
    )
    *_, summary = score_file(path, world, "official", split="validation")
    figures = [summary[name] for name in ("split", "n", "missing", "bad_lines")]
    assert figures == ["validation", 3, 178, 1]
    cell = summary["cells"]["easy"]["3"]
    for group, denominators in (
        (summary, [180, 1440, 180, 420, 180, 180]),
        (summary["by_level"]["easy"], [60, 480, 60, 60, 60, 60]),
        (cell, [20, 160, 20, 20, 20, 20]),
    ):
        assert [group[name]["denominator"] for name in METRICS] == denominators
    honest = [(1, 3), (8, 24), (1, 3), (1, 3), (1, 3), (1, 3)]
    assert list(counts_of(summary["honest"]).values()) == honest
    assert counts_of(cell["honest"])["final_pass_rate"] == (1, 2)
    # the bad line asks for a budget, as everybody
    assert counts_of(summary["by_days"]["unknown"]["honest"])["hard_micro"] == (0, 1)
    unknown = summary["by_level"]["unknown"]["final_pass_rate"]
    assert unknown == dict.fromkeys(unknown) | {"numerator": 0}


@pytest.mark.parametrize(
    ("split", "queries", "hard"),
    [("train", 45, 105), ("validation", 180, 420), ("test", 1000, 2290)],
)
def test_the_official_constants_are_the_sums_of_their_levels(split, queries, hard):
    assert split_denominators(split) == (queries, hard)
    by_level = [split_denominators(split, level) for level in SPLITS[split]]
    assert tuple(map(sum, zip(*by_level, strict=True))) == (queries, hard)
    by_days = [split_denominators(split, None, days) for days in ("3", "5", "7")]
    if split == "test":
        assert by_days == [None] * 3  # how it divides by days is not published
    else:
        assert tuple(map(sum, zip(*by_days, strict=True))) == (queries, hard)


def test_honest_rates_count_further_rules_and_what_was_not_reached(world):
    """The official counts know the thirteen constraints only; the honest ones whatever the rules
    spoke of."""
    query = read_query(QUERY | {"query": "?"})
    verdict = judge(query, [{}], world)  # crashes
    tally = Tally()
    tally.add(query, verdict)
    passed = {name: Fact(name, State.PASSED) for name in ("is_not_absent", "is_kind")}
    states = {"valid_cost": State.NOT_EVALUATED, "valid_room_rule": State.PASSED}
    states["valid_cuisine"] = State.NOT_APPLICABLE
    hard = {name: Fact(name, state) for name, state in states.items()}
    tally.add(query, plan_verdict("strict", applicable_hard(query), passed, hard))
    summary = tally.summary("strict")
    assert counts_of(summary)["commonsense_micro"] == (1, 16)
    assert counts_of(summary["honest"])["commonsense_micro"] == (2, 10)
    assert counts_of(summary["honest"])["commonsense_macro"] == (1, 2)
    assert counts_of(summary)["hard_micro"] == counts_of(summary["honest"])["hard_micro"] == (1, 4)
    assert counts_of(summary["honest"])["hard_macro"] == (0, 2)
    named = summary["constraints"]
    counts = {name: (rate["numerator"], rate["denominator"]) for name, rate in named.items()}
    assert counts["is_not_absent"] == (1, 2) and counts["is_kind"] == (1, 1)
    assert counts["valid_cost"] == (0, 2) and "valid_cuisine" not in counts


TEXT = "Please plan a 3-day trip from Homer to Aston for one person, from 2022-03-01 to 2022-03-03, with a budget of $1,000."


def test_a_request_without_fields_is_read_from_its_text_and_labelled(world, tmp_path):
    path = plans_at(
        tmp_path,
        {"query": {"query": TEXT, "level": "easy", "days": 3}, "plan": P3_PLAN},
        {"query": EASY, "plan": P3_PLAN},
        {"query": TEXT + " The accommodation must allow smoking.", "plan": P3_PLAN},
        {"query": TEXT.replace("budget of $1,000", "small budget"), "plan": P3_PLAN},
    )
    *verdicts, summary = score_file(path, world, "official")
    assert "budget" in verdicts[0]["inferred"]
    assert "days" not in verdicts[0]["inferred"]
    assert "inferred" not in verdicts[1]
    assert [verdict["final"] for verdict in verdicts] == [True, True, False, None]
    assert verdicts[2]["hard"]["valid_room_rule"]["passed"] is False
    assert "could not infer budget" in verdicts[3]["problem"]
    assert (summary["inferred"], summary["bad_lines"]) == (2, 0)
    assert counts_of(summary["by_source"]["inferred"]["honest"])["hard_micro"] == (2, 3)
    assert counts_of(summary["by_source"]["given"]["honest"])["hard_micro"] == (1, 1)


def query_file(folder: Path, *records: dict[str, Any]) -> QueryFile:
    path = folder / "queries.jsonl"
    write_lines(path, records)
    return QueryFile(path)


def test_submission_lines_go_by_text_then_by_idx_and_cannot_soften_the_request(world, tmp_path):
    queries = query_file(
        tmp_path,
        QUERY | {"query": "smoker", "idx": 7},
        EASY | {"query": "non-smoker", "idx": 8},
        QUERY | {"query": "softer", "idx": 5},
    )
    path = plans_at(
        tmp_path,
        {"idx": 8, "query": "smoker", "plan": P3_PLAN},  # the text counts
        {"idx": 8, "plan": P3_PLAN},
        {"query": EASY | {"query": "softer"}, "plan": P3_PLAN},
        {"idx": 9, "plan": P3_PLAN},
        {"idx": 7, "query": "somebody", "plan": P3_PLAN},
        {"idx": True, "plan": P3_PLAN},
    )
    found = list(scored(path, world, queries))
    assert [line.verdict.final for line in found] == [False, True, False, False, False, False]
    assert [line.verdict.error == BAD_LINE for line in found] == [False] * 3 + [True] * 3
    for unknown in found[3:5]:
        assert "unknown query: none of the 3" in (unknown.line.problem or "")
    assert "expected" in (found[5].line.problem or "")


def test_a_file_of_queries_is_counted_whole(world, tmp_path):
    """One passing plan five times is one answer, and the requests without one are not delivered."""
    queries = query_file(tmp_path, *(EASY | {"query": f"request {n}"} for n in range(4)))
    path = plans_at(tmp_path, *[{"query": EASY | {"query": "request 2"}, "plan": P3_PLAN}] * 5)
    *verdicts, summary = score_file(path, world, "official", queries)
    assert [verdict["error"] for verdict in verdicts] == [None, *["BadLine"] * 4]
    assert "a second plan for its request (the first: line 1)" in verdicts[4]["problem"]
    assert (summary["n"], summary["requests"], summary["unanswered"]) == (4, 1, 3)
    for rates in (summary, summary["honest"], summary["by_days"]["3"]["honest"]):
        assert counts_of(rates)["final_pass_rate"] == (1, 4)
    *_, summary = score_file(path, world, "official")  # nobody says how many are asked
    assert (summary["n"], summary["requests"], summary["repeats"]) == (5, 1, 4)


def test_a_json_file_is_one_plan_or_one_a_line(world, tmp_path):
    path = plans_at(tmp_path, *[{"query": EASY, "plan": P3_PLAN}] * 2)
    path = path.rename(tmp_path / "plan.json")
    assert [line.verdict.final for line in scored(path, world)] == [True, True]
    path.write_text(json.dumps({"query": EASY, "plan": P3_PLAN}, indent=2))
    assert [line.verdict.final for line in scored(path, world)] == [True]


def test_a_split_has_one_plan_per_request(world, tmp_path):
    path = plans_at(tmp_path, *[{"query": EASY, "plan": P3_PLAN}] * 2)
    assert [line.verdict.final for line in scored(path, world)] == [True, True]
    first, second = scored(path, world, split="train")
    assert first.verdict.final and second.verdict.error == BAD_LINE
    texts = [EASY | {"query": f"to{blanks}Rome"} for blanks in (" ", "  ", " \t")]
    path = plans_at(tmp_path, *({"query": text, "plan": P3_PLAN} for text in texts))
    found = scored(path, world, split="train")
    assert [line.verdict.error for line in found] == [None, BAD_LINE, BAD_LINE]


def test_an_empty_file_has_no_rates(world, tmp_path):
    (summary,) = score_file(plans_at(tmp_path), world, "official")
    assert summary["n"] == 0
    assert summary["final_pass_rate"]["value"] is None is summary["final_pass_rate"]["low"]


def test_every_rate_has_an_interval_over_plans():
    """Of plans whose checks stand and fall together a micro rate says no more than so many plans;
    Wilson over single checks would be three times narrower."""
    right, wrong = (
        plan_verdict("official", ("valid_cost",), facts)
        for state in (State.PASSED, State.FAILED)
        for facts in [{name: Fact(name, state) for name in COMMONSENSE_NAMES}]
    )
    tally, whole = Tally(), Tally("train")
    for n in range(20):
        for each in (tally, whole):
            each.add(None, right if n < 8 else wrong)
    summary = tally.summary("official")
    micro, macro = summary["commonsense_micro"], summary["commonsense_macro"]
    assert micro["value"] == macro["value"] == 0.4 and macro["low"] == wilson(8, 20).low
    assert micro["low"] == pytest.approx(macro["low"], abs=0.03)
    assert micro["high"] == pytest.approx(macro["high"], abs=0.03)
    assert summary["honest"]["commonsense_micro"]["low"] == micro["low"]
    assert all(rate["low"] <= rate["high"] for rate in summary["constraints"].values())
    # of the split's 45 plans 25 are missing, and passed nothing
    missing = whole.summary("official")["commonsense_micro"]
    assert missing["value"] == pytest.approx(8 / 45)
    assert missing["low"] == pytest.approx(wilson(8, 45).low, abs=0.03)
