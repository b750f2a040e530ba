"""Whatever is sent to the trip server, as its own /openapi.json describes requests: no failure of
ours (5xx)."""

from __future__ import annotations

from pathlib import Path

import schemathesis
from hypothesis import HealthCheck, given, settings

from tests.server import small_desk
from tripwright.server.guard import OwnerPace
from tripwright.server.trips import make_app

HEADERS = {"Host": "127.0.0.1"}


def test_no_request_makes_the_server_fail(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(OwnerPace, "wait", lambda self, owner: 0.0)
    app = make_app(small_desk.agency(), tmp_path / "trips.sqlite")
    schema = schemathesis.openapi.from_dict(app.openapi())
    schema.app = app
    operations = [each.ok() for each in schema.get_all_operations()]
    assert len(operations) > 12
    for operation in operations:

        @settings(
            max_examples=15, deadline=None, database=None, suppress_health_check=list(HealthCheck)
        )
        @given(operation.as_strategy())
        def fuzz(case) -> None:  # type: ignore[no-untyped-def]
            assert case.call(headers=HEADERS).status_code < 500

        fuzz()
