"""`tripwright serve model` beside its engine: what it refuses before any model is asked."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("fastapi")
from starlette.testclient import TestClient

from tripwright.server import model_api


def test_a_body_that_is_too_large_is_refused_unread(monkeypatch):
    monkeypatch.setattr(model_api, "MOST_BODY_BYTES", 1000)
    service = cast(Any, SimpleNamespace(memory_mb=0, ready=True, wake=lambda tags: None))
    asked = TestClient(model_api.ModelApi(service, None, "served").app)
    large = asked.post("/generate", json={"input_ids": [1] * 1000, "sampling_params": {}})
    assert large.status_code == 413 and large.json()["error"]["code"] == 413
    assert asked.post("/generate", json={"input_ids": [1]}).status_code == 400
    assert asked.post("/wake_up").status_code == 200
