"""`tripwright solve` on requests that can be met: its plans pass the judge, and a tight budget
takes the cheapest."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.files import write_lines
from tripwright.cli.main import main
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query, read_queries
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.world.generator import build_world
from tripwright.world.store import World


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world and 12 queries."""
    folder = tmp_path_factory.mktemp("solve")
    world = build_world(folder / "world", "nano", 2)
    queries = list(make_queries(world, 12, 1))
    write_lines(folder / "queries.jsonl", (query.record() for query in queries))
    return folder


@pytest.fixture(scope="module")
def world(folder: Path) -> World:
    return World.open(folder / "world")


def solved(
    folder: Path, capsys: pytest.CaptureFixture[str], path: Path, *words: str
) -> list[dict[str, Any]]:
    assert main(["solve", str(path), "--world", str(folder / "world"), "--json", *words]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_plans_pass_the_judge_and_the_cheapest_is_no_dearer(folder, world, capsys):
    path = folder / "queries.jsonl"
    queries = read_queries(path)
    comfortable, cheapest = solved(folder, capsys, path), solved(folder, capsys, path, "--cheapest")
    for number, (query, a, b) in enumerate(
        zip(queries, comfortable, cheapest, strict=True), start=1
    ):
        assert (
            set(a) == {"line", "status", "plan", "cost_usd", "seconds", "why"}
            and a["line"] == number
        )
        assert (a["status"], b["status"], a["why"]) == ("feasible", "optimal", None)
        assert b["cost_usd"] <= a["cost_usd"] <= query.budget
        for found in (a, b):
            verdict = judge(query, found["plan"], world)
            assert verdict.final and verdict.total_cost == pytest.approx(found["cost_usd"])


def test_a_tight_budget_takes_the_cheapest_and_none_takes_none(
    folder, world, tmp_path, capsys, typed
):
    query = next(q for q in make_queries(world, 200, 9, Mix(levels=(0, 1, 1))) if _gap(q))
    proof = (query.model_extra or {})["oracle"]
    tight, poor = (
        query.model_copy(update={"budget": cost})
        for cost in (proof["cheapest_cost_usd"], proof["cheapest_cost_usd"] - 1)
    )
    path = tmp_path / "q.jsonl"
    write_lines(
        path, (q.record() for q in (tight, poor, query.model_copy(update={"dest": "Atlantis"})))
    )
    met, unmet, nowhere = solved(folder, capsys, path)
    assert (met["status"], met["cost_usd"]) == ("optimal", proof["cheapest_cost_usd"])
    assert (unmet["status"], unmet["plan"], unmet["cost_usd"]) == ("infeasible", None, None)
    assert "the cheapest plan costs $" in unmet["why"] and "'Atlantis'" in nowhere["why"]
    assert (
        "infeasible: the cheapest plan costs" in typed(f"solve {path} --world {folder}/world").out
    )


def _gap(query: Query) -> bool:
    proof = (query.model_extra or {})["oracle"]
    return bool(proof["cheapest_cost_usd"] < proof["plan_cost_usd"])
