import json
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.errors import UserError
from tripwright.evals.score import METRICS, score_file, scored_lines
from tripwright.world.store import World, WorldTables, write_world

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
        WorldTables(
            cities=[("Homer", "Homeland"), ("Aston", "Westland")],
            flights=[],
            grounds=[("Homer", "Aston", "1 hour", "100 km"), ("Aston", "Homer", "1 hour", "100 km")],
            restaurants=[(name, "Aston", "Tea", "10", "4.0") for name in "ABC"] + [("Station Grill", "Homer", "Tea", "1", "4.0")],
            attractions=[("Lake", "1", "2", "x", "1", "x", "Aston")],
            accommodations=[("Inn", "Private room", "50.0", "1.0", "4.0", "No smoking", "2", "Aston")],
        ),
    )


def write_lines(folder: Path, *records: Any) -> Path:
    path = folder / "plans.jsonl"
    path.write_text("\n".join(record if isinstance(record, str) else json.dumps(record) for record in records))
    return path


def test_p3_plans_are_recognised_and_placed_in_their_cities(world: World, tmp_path: Path) -> None:
    path = write_lines(tmp_path, {"query": EASY, "plan": P3_PLAN})
    verdict, summary = score_file(path, world, "official")
    assert verdict["final"]
    assert verdict["total_cost"] == 1 + 30 + 200 + 100  # breakfast is charged at home, so it was found there
    assert [summary[name]["value"] for name in METRICS] == [1.0] * 6


def test_counts_behind_the_metrics(world: World, tmp_path: Path) -> None:
    broken = [P3_PLAN[0] | {"attraction": "Lake"}, *P3_PLAN[1:]]
    nulls = EASY | {"query": None, "budget": None}
    path = write_lines(
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
    assert [verdict["error"] for verdict in verdicts] == [None, None, None, "BadPlan", "TypeError", "KeyError"]
    counts = {name: (summary[name]["numerator"], summary[name]["denominator"]) for name in METRICS}
    assert counts == {
        "delivery_rate": (4, 6),
        "commonsense_micro": (24, 48),
        "commonsense_macro": (3, 6),
        "hard_micro": (2, 8),
        "hard_macro": (1, 6),
        "final_pass_rate": (1, 6),
    }
    assert summary["n"] == 6
    assert summary["bad_lines"] == 0


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("oops", "line 1: not JSON"),
        ("[" * 100_000, "line 1: not JSON"),
        ("[]", 'expected an object with "query" and "plan", found a list'),
        ({"query": QUERY}, 'expected an object with "query" and "plan"'),
        ({"query": "Plan a trip", "plan": []}, "'query' must be a query record, found a string"),
        ({"query": QUERY, "plan": "[{}]"}, "'plan' must be a list of days or null, found a string"),
        ({"query": QUERY | {"days": "three"}, "plan": []}, "query field 'days'"),
        ({"query": {k: v for k, v in QUERY.items() if k != "org"}, "plan": []}, "query field 'org'"),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_scored(world: World, tmp_path: Path, line: Any, expected: str) -> None:
    path = write_lines(tmp_path, line, {"query": EASY, "plan": P3_PLAN})
    bad, good = scored_lines(path, world, "official")
    assert bad.is_bad_input
    assert expected in (bad.problem or "")
    assert "\n" not in (bad.problem or "")
    assert good.verdict.final
    *_, summary = score_file(path, world, "official")
    assert (summary["n"], summary["bad_lines"]) == (2, 1)
    assert summary["final_pass_rate"] == {"value": 0.5, "numerator": 1, "denominator": 2}


def test_an_empty_file_has_no_rates(world: World, tmp_path: Path) -> None:
    (summary,) = score_file(write_lines(tmp_path), world, "official")
    assert summary["n"] == 0
    assert summary["final_pass_rate"] == {"value": None, "numerator": 0, "denominator": 0}


def test_a_missing_file_and_unknown_rules_are_user_errors(world: World, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No plan file"):
        list(score_file(tmp_path / "none.jsonl", world, "official"))
    with pytest.raises(UserError, match="Unknown rules"):
        list(score_file(tmp_path / "none.jsonl", world, "nice"))


def test_the_verb_prints_json_lines_with_the_summary_last(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_lines(tmp_path, {"query": EASY, "plan": P3_PLAN}, {"query": EASY, "plan": None})
    assert main(["score", str(path), "--world", str(world.folder), "--rules", "official", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert records == list(score_file(path, world, "official"))
    assert records[-1]["kind"] == "summary"


def test_the_verb_prints_a_table_and_exits_2_on_a_bad_line(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_lines(tmp_path, "oops", {"query": QUERY, "plan": P3_PLAN})
    assert main(["score", str(path), "--world", str(world.folder)]) == 2
    printed = capsys.readouterr()
    assert "valid_room_rule: The house rule should be smoking." in printed.out
    assert "final pass rate      0.0%  0/2" in printed.out
    assert "line 1: not JSON" in printed.err
    assert "1 of 2 lines could not be read" in printed.err


@pytest.mark.parametrize("rules", ["strict", "nice"])
def test_the_verb_refuses_other_rules_in_one_line(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str], rules: str) -> None:
    path = write_lines(tmp_path)
    assert main(["score", str(path), "--world", str(world.folder), "--rules", rules, "--json"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_world_info_and_import_verbs(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["world", "info", str(world.folder)]) == 0
    assert "every search is known" in capsys.readouterr().out
    assert main(["world", "info", str(world.folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]["restaurant"] == 4
    assert main(["world", "import", str(tmp_path), str(tmp_path / "new")]) == 2
    assert "No table of cities" in capsys.readouterr().err
