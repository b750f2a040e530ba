"""/v1/score and /v1/solve answer as the verbs do."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.files import write_lines
from tests.server import small_desk
from tripwright.cli.main import main
from tripwright.domains.travelplanner.planning import solve_query
from tripwright.domains.travelplanner.routes import plan_routes
from tripwright.llm.endpoint import Budgets
from tripwright.server import TripServer
from tripwright.server.trips import make_app

QUERY: dict[str, Any] = small_desk.REQUESTS[0].record()
PLAN: list[Any] = solve_query(small_desk.REQUESTS[0], small_desk.WORLD)["plan"]
PLANS = {
    "good": PLAN,
    "short": PLAN[:1],
    "wrong": [day | {"transportation": "Bus", "breakfast": "Nowhere, Atlantis"} for day in PLAN],
    "schema": [{"city": "Ashelmont", "days": "one"}],
    "deep": json.loads("[" * 800 + "]" * 800),
    "no days": [1, None, {"days": []}],
    "not delivered": None,
    "empty": [],
}
QUERIES = {
    "whole": QUERY,
    "in words": {"query": QUERY["query"]},
    "unclear": {"query": "Somewhere nice."},
    "elsewhere": QUERY | {"org": "Atlantis"},
    "no budget": QUERY | {"budget": None},
}


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setattr(Budgets, "take", lambda *_: 0.0)
    app = make_app(small_desk.agency(), TripServer(state=tmp_path / "trips.sqlite"))
    with TestClient(app, "http://127.0.0.1", raise_server_exceptions=False) as client:
        yield client


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    main([*words, "--json"])
    said = json.loads(capsys.readouterr().out.splitlines()[0])
    del said["line"]
    said.pop("seconds", None)
    if "problem" in said:
        said["problem"] = said["problem"].removeprefix("line 1: ")
    return said


@pytest.mark.parametrize("rules", ["official", "star", "strict"])
@pytest.mark.parametrize(
    ("query", "plan"),
    [*(("whole", plan) for plan in PLANS), *((query, "good") for query in QUERIES)],
)
def test_a_plan_is_judged_as_the_verb_judges_it(
    client, world_folder, tmp_path, capsys, query, plan, rules
):
    asked = {"query": QUERIES[query], "plan": PLANS[plan]}
    # a line that says why it cannot be judged is printed only where another one can be
    lines = [asked, {"query": QUERY, "plan": PLAN}]
    write_lines(tmp_path / "plans.jsonl", lines)
    words = ("score", str(tmp_path / "plans.jsonl"), "--world", str(world_folder))
    answer = client.post("/v1/score", json=asked | {"rules": rules})
    assert answer.status_code == 200
    assert answer.json() == printed(capsys, *words, "--rules", rules)
    passes = (query, plan) in (("whole", "good"), ("in words", "good"))
    assert answer.json()["final"] == (None if query == "unclear" else passes)


def test_a_key_that_is_given_twice_is_seen(client):
    query = json.dumps(QUERY)
    plan = json.dumps(PLAN).replace('"dinner":', '"dinner": "-", "dinner":')
    headers = {"Content-Type": "application/json"}
    sent = client.post(
        "/v1/score", content=f'{{"query": {query}, "plan": {plan}}}', headers=headers
    )
    assert sent.json()["final"] is False
    query = query.replace('"org":', '"org": "Keldon", "org":')
    sent = client.post("/v1/score", content=f'{{"query": {query}, "plan": null}}', headers=headers)
    assert sent.status_code == 422


@pytest.mark.parametrize("cheapest", [False, True])
@pytest.mark.parametrize("change", [{}, {"budget": 1}, {"org": "Atlantis"}, {"dest": "Mars"}])
def test_a_request_is_solved_as_the_verb_solves_it(
    client, world_folder, tmp_path, capsys, change, cheapest
):
    (tmp_path / "queries.jsonl").write_text(json.dumps(QUERY | change))
    words = ["solve", str(tmp_path / "queries.jsonl"), "--world", str(world_folder)]
    answer = client.post("/v1/solve", json={"query": QUERY | change, "cheapest": cheapest}).json()
    assert answer.pop("seconds") >= 0
    line = printed(capsys, *words, *(["--cheapest"] if cheapest else []))
    assert line.pop("query")["org"] == (QUERY | change)["org"]  # a line is for `score` as it stands
    assert answer == line
    assert (answer["plan"] is None) == bool(change)


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        ("score", {"query": QUERY}, 422, "plan"),
        ("score", {"query": QUERY, "plan": PLAN, "rules": "kind"}, 422, "rules"),
        ("score", {"query": QUERY, "plan": "Day 1: off we go."}, 422, "plan"),
        ("score", {"query": QUERY | {"days": "many"}, "plan": PLAN}, 422, "query"),
        ("score", {"query": QUERY, "plan": [{"days": "x" * 70_000}]}, 413, None),
        ("solve", {"query": []}, 422, "query"),
        ("solve", {"query": {}}, 422, "query"),
        ("solve", {"query": QUERY | {"date": ["2022-03-01"]}}, 422, "query"),
        ("solve", {"query": QUERY | {"query": "x" * 70_000}}, 413, None),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_field(client, path, body, status, field):
    answer = client.post(f"/v1/{path}", json=body)
    assert answer.status_code == status
    problems = answer.json()["error"]["problems"]
    assert [each["field"] for each in problems] == ([] if field is None else [field])


@pytest.mark.parametrize("plan", ["[NaN]", '["\\ud800"]', "[" * 9000])
@pytest.mark.parametrize("path", ["score", "solve"])
def test_json_that_cannot_be_sent_back_is_refused(client, path, plan):
    headers = {"Content-Type": "application/json"}
    body = f'{{"query": {{"x": {plan}}}, "plan": {plan}}}'
    assert client.post(f"/v1/{path}", content=body, headers=headers).status_code in (400, 422)


def test_a_search_ends_in_time_and_waits_for_no_other(client, monkeypatch):
    monkeypatch.setattr(plan_routes, "SOLVE_SECONDS", 0.0)
    late = client.post("/v1/solve", json={"query": QUERY})
    assert (late.status_code, late.json()["error"]["code"]) == (422, "bad_form")
    assert "within 0 s" in late.json()["error"]["message"]


def test_only_so_many_search_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(plan_routes, "SOLVED_AT_ONCE", 0)
    app = make_app(small_desk.agency(), TripServer(state=tmp_path / "trips.sqlite"))
    with TestClient(app, "http://127.0.0.1") as client:
        busy = client.post("/v1/solve", json={"query": QUERY})
    assert (busy.status_code, busy.headers["retry-after"]) == (429, "1")
