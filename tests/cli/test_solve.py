"""`tripwright solve` as typed: its plans pass the judge, a tight budget takes the cheapest; `--why`
and `--k`."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.files import write_lines
from tripwright.domains.travelplanner.oracle.planner import solve
from tripwright.domains.travelplanner.planning import solve_query
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query, read_queries
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.world.generator import build_world
from tripwright.world.store import World

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world, and four requests: one that can be met, one too poor, one that two wishes forbid,
    one from nowhere."""
    folder = tmp_path_factory.mktemp("why")
    world = build_world(folder / "world", "nano", 2)
    met = next(iter(make_queries(world, 1, 1)))
    cost_usd = solve(met, world).cost_usd
    hopeless: dict[str, Any] = {"cuisine": ["Martian"], "house rule": "parties"}
    hopeless |= {"room type": "shared room", "transportation": "no flight"}
    queries = [
        met,
        met.model_copy(update={"budget": int(cost_usd) - 1}),
        Query.model_validate(met.record() | {"local_constraint": hopeless, "budget": 1}),
        met.model_copy(update={"org": "Atlan\ttis"}),
    ]
    write_lines(folder / "queries.jsonl", (query.record() for query in queries))
    write_lines(folder / "12.jsonl", (query.record() for query in make_queries(world, 12, 1)))
    return folder


@pytest.fixture
def world(folder: Path) -> World:
    return World.open(folder / "world")


@pytest.fixture
def solved(folder: Path, typed: Callable[..., Any]) -> Callable[..., Any]:
    """solved(options, file=…) → what `solve` prints about the requests."""
    return lambda options="", file=folder / "queries.jsonl": typed(
        f"solve {file} --world {folder}/world {options}"
    )


FIELDS = {"line", "query", "status", "plan", "cost_usd", "seconds", "why"}


def test_plans_pass_the_judge_and_the_cheapest_is_no_dearer(folder, world, solved):
    path = folder / "12.jsonl"
    queries = read_queries(path)
    comfortable, cheapest = (solved(how, path).records for how in ("--json", "--json --cheapest"))
    for number, (query, a, b) in enumerate(
        zip(queries, comfortable, cheapest, strict=True), start=1
    ):
        assert set(a) == FIELDS and a["line"] == number
        assert (a["status"], b["status"], a["why"]) == ("feasible", "optimal", None)
        assert b["cost_usd"] <= a["cost_usd"] <= query.budget
        for found in (a, b):
            assert Query.model_validate(found["query"]) == query
            verdict = judge(query, found["plan"], world)
            assert verdict.final and verdict.details["total_cost"] == pytest.approx(
                found["cost_usd"]
            )


def test_a_tight_budget_takes_the_cheapest_and_none_takes_none(world, tmp_path, solved):
    query = next(q for q in make_queries(world, 200, 9, Mix(levels=(0, 1, 1))) if _gap(q))
    proof = (query.model_extra or {})["oracle"]
    tight, poor = (
        query.model_copy(update={"budget": cost})
        for cost in (proof["cheapest_cost_usd"], proof["cheapest_cost_usd"] - 1)
    )
    asked = (tight, poor, query.model_copy(update={"dest": "Atlantis"}))
    path = write_lines(tmp_path / "q.jsonl", (each.record() for each in asked))
    met, unmet, nowhere = solved("--json", path).records
    assert (met["status"], met["cost_usd"]) == ("optimal", proof["cheapest_cost_usd"])
    assert (unmet["status"], unmet["plan"], unmet["cost_usd"]) == ("infeasible", None, None)
    assert "the cheapest plan costs $" in unmet["why"] and "'Atlantis'" in nowhere["why"]
    assert "infeasible: the cheapest plan costs" in solved("", path).out


def _gap(query: Query) -> bool:
    proof = (query.model_extra or {})["oracle"]
    return bool(proof["cheapest_cost_usd"] < proof["plan_cost_usd"])


def test_why_adds_the_conflict_and_proved_changes(folder, world, solved):
    queries = read_queries(folder / "queries.jsonl")
    met, poor, hopeless, nowhere = solved("--json --why").records
    assert set(met) == FIELDS | {"explanation", "changes"}
    assert (met["status"], met["explanation"], met["changes"]) == ("feasible", None, [])
    assert all(each["status"] == "infeasible" and each["why"] for each in (poor, hopeless, nowhere))

    assert poor["explanation"]["conflict"][0].startswith("budget: $")
    first = poor["changes"][0]
    assert (first["kind"], first["query"]["budget"]) == ("budget", queries[1].budget + 1)
    for change in poor["changes"]:
        changed = Query.model_validate(change["query"])
        again = solve_query(changed, world, cheapest=True)
        assert again["cost_usd"] == change["cost_usd"]
        assert judge(changed, again["plan"], world, "strict").final
        assert judge(changed, again["plan"], world).final

    explained = [hopeless["explanation"], *hopeless["explanation"]["also"]]
    assert "cuisine: Martian" in [each for also in explained for each in also["conflict"]]
    assert hopeless["changes"] == [] and nowhere["explanation"]["malformed"]
    assert nowhere["explanation"]["conflict"] == ["origin: Atlan\ttis"]


def test_the_page_says_the_same_to_people(solved):
    poor, explained = solved("--json --why").records[1], solved("--why").out
    assert f"infeasible: {poor['explanation']['conflict'][0]}" in explained
    assert "possible after any one of these:\n  budget +$1 to $" in explained
    assert "\nalso infeasible: " in explained and "\nno single change is enough\n" in explained
    assert "infeasible: origin: Atlan tis\n  'Atlan tis' is not a city in this world" in explained
    assert "possible after" not in solved().out


def test_k_gives_the_cheapest_different_plans_within_the_budget(folder, world, solved, refused):
    query = read_queries(folder / "queries.jsonl")[0]
    met, poor, *_ = solved("--json --k 3").records
    assert set(met) == FIELDS | {"plans"} and met["status"] == "optimal"
    costs = [each["cost_usd"] for each in met["plans"]]
    assert costs == sorted(costs) and 1 < len(costs) <= 3
    assert met["plans"][0] == {"cost_usd": met["cost_usd"], "plan": met["plan"]}
    assert len({json.dumps(each["plan"]) for each in met["plans"]}) == len(costs)
    for each in met["plans"]:
        verdict = judge(query, each["plan"], world)
        assert verdict.final and verdict.details["total_cost"] == pytest.approx(each["cost_usd"])
    assert poor["plans"] == [] and poor["status"] == "infeasible"
    page = solved("--k 3").out
    assert f"Plan 1 of {len(costs)}: ${costs[0]:,.2f}\n\nDay 1" in page
    assert page.count("Day 1 ") == len(costs)
    assert "--k" in refused(f"solve {folder}/queries.jsonl --world {folder}/world --k 0")


def test_answers_come_one_by_one_and_a_reader_may_leave(folder):
    """The second answer is still to be written when the reader has the first and goes: no
    traceback, exit code 141."""
    lines = (folder / "queries.jsonl").read_text().splitlines(keepends=True)
    (folder / "many.jsonl").write_text(lines[0] * 300)
    words = [sys.executable, "-m", "tripwright", "solve", str(folder / "many.jsonl"), "--json"]
    process = subprocess.Popen(
        [*words, "--world", str(folder / "world"), "--why"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert json.loads(process.stdout.readline())["line"] == 1
    process.stdout.close()
    assert (process.stderr.read(), process.wait(timeout=60)) == ("", 141)
    process.stderr.close()
