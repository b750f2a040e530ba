"""`solve --why` and `solve --k` as a user types them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.files import write_lines
from tripwright.cli.main import main
from tripwright.domains.travelplanner.oracle.planner import solve
from tripwright.domains.travelplanner.planning import solve_query
from tripwright.domains.travelplanner.queries.sample import make_queries
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
    return folder


def command(folder: Path, *words: str) -> list[str]:
    return ["solve", str(folder / "queries.jsonl"), "--world", str(folder / "world"), *words]


def told(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(command(folder, *words)) == 0
    return capsys.readouterr().out


def records(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in told(folder, capsys, "--json", *words).splitlines()]


FIELDS = {"line", "status", "plan", "cost_usd", "seconds", "why"}


def test_why_adds_the_conflict_and_proved_changes(folder, capsys):
    world, queries = World.open(folder / "world"), read_queries(folder / "queries.jsonl")
    met, poor, hopeless, nowhere = records(folder, capsys, "--why")
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


def test_the_page_says_the_same_to_people(folder, capsys):
    poor, explained = records(folder, capsys, "--why")[1], told(folder, capsys, "--why")
    assert f"infeasible: {poor['explanation']['conflict'][0]}" in explained
    assert "possible after any one of these:\n  budget +$1 to $" in explained
    assert "\nalso infeasible: " in explained and "\nno single change is enough\n" in explained
    assert "infeasible: origin: Atlan tis\n  'Atlan tis' is not a city in this world" in explained
    assert "possible after" not in told(folder, capsys)


def test_k_gives_the_cheapest_different_plans_within_the_budget(folder, capsys):
    world, (query, *_) = World.open(folder / "world"), read_queries(folder / "queries.jsonl")
    met, poor, *_ = records(folder, capsys, "--k", "3")
    assert set(met) == FIELDS | {"plans"} and met["status"] == "optimal"
    costs = [each["cost_usd"] for each in met["plans"]]
    assert costs == sorted(costs) and 1 < len(costs) <= 3
    assert met["plans"][0] == {"cost_usd": met["cost_usd"], "plan": met["plan"]}
    assert len({json.dumps(each["plan"]) for each in met["plans"]}) == len(costs)
    for each in met["plans"]:
        verdict = judge(query, each["plan"], world)
        assert verdict.final and verdict.total_cost == pytest.approx(each["cost_usd"])
    assert poor["plans"] == [] and poor["status"] == "infeasible"
    page = told(folder, capsys, "--k", "3")
    assert f"Plan 1 of {len(costs)}: ${costs[0]:,.2f}\n\nDay 1" in page
    assert page.count("Day 1 ") == len(costs)
    assert main(command(folder, "--k", "0")) == 2 and "--k" in capsys.readouterr().err


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
