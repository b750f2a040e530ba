"""Whatever is sent to the trip server, as its own /openapi.json describes requests: no failure of
ours (5xx)."""

import json
from typing import Any

import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server import small_desk
from tripwright.domains.travelplanner.planning import solve_query
from tripwright.domains.travelplanner.routes import plan_routes
from tripwright.llm.endpoint import Budgets
from tripwright.server import TripServer
from tripwright.server.trips import make_app

HEADERS = {"Host": "127.0.0.1"}


def test_no_request_makes_the_server_fail(tmp_path, monkeypatch):
    monkeypatch.setattr(Budgets, "take", lambda *_: 0.0)
    app = make_app(small_desk.agency(), TripServer(state=tmp_path / "trips.sqlite"))
    schema = schemathesis.openapi.from_dict(app.openapi())
    schema.app = app
    operations = [each.ok() for each in schema.get_all_operations()]
    assert {"/v1/score", "/v1/solve"} < {each.path for each in operations}
    for operation in operations:

        @settings(
            max_examples=8, deadline=None, database=None, suppress_health_check=list(HealthCheck)
        )
        @given(operation.as_strategy())
        def fuzz(case) -> None:
            assert case.call(headers=HEADERS).status_code < 500

        fuzz()


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(st.text(), parts, max_size=4),
    max_leaves=8,
)


def test_no_plan_or_request_that_is_nearly_one_makes_the_server_fail(tmp_path, monkeypatch):
    """What a domain's routes take has no schema: here are real ones with some values changed."""
    monkeypatch.setattr(Budgets, "take", lambda *_: 0.0)
    monkeypatch.setattr(plan_routes, "SOLVE_SECONDS", 0.3)
    app = make_app(small_desk.agency(), TripServer(state=tmp_path / "trips.sqlite"))
    query = small_desk.REQUESTS[0].record()
    plan = solve_query(small_desk.REQUESTS[0], small_desk.WORLD)["plan"]
    keys = [*query, *query["local_constraint"]]
    numbers = st.integers(-1, 10**6) | st.sampled_from(["1", 5e300, 10**300])
    with TestClient(app, "http://127.0.0.1", raise_server_exceptions=False) as client:

        @settings(max_examples=60, deadline=None, database=None)
        @given(
            st.dictionaries(st.sampled_from(keys), numbers | anything, max_size=3),
            st.dictionaries(st.sampled_from([*plan[0]]), anything, max_size=3),
            st.sampled_from(["official", "star", "strict"]),
        )
        def fuzz(asked: Any, said: Any, rules: str) -> None:
            wishes = {key: value for key, value in asked.items() if key not in query}
            changed = query | asked | {"local_constraint": query["local_constraint"] | wishes}
            days = [day | said for day in plan]
            for path, body in (
                ("score", {"query": query, "plan": days, "rules": rules}),
                ("score", {"query": changed, "plan": plan, "rules": rules}),
                ("solve", {"query": changed}),
            ):
                sent = json.dumps(body)
                headers = {"Content-Type": "application/json"}
                assert client.post(f"/v1/{path}", content=sent, headers=headers).status_code < 500

        fuzz()
