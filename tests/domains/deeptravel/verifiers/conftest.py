"""A small trip by hand, and what judges it."""

from collections.abc import Callable

import pytest

from tests.domains.deeptravel.verifiers import hand_made, judge_server
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.findings import JointFinding
from tripwright.transcript import ToolCall


@pytest.fixture
def request_() -> TravelRequest:
    return hand_made.REQUEST


@pytest.fixture
def calls() -> list[ToolCall]:
    return hand_made.made_calls()


@pytest.fixture
def answer() -> str:
    return hand_made.ANSWER


@pytest.fixture
def judged() -> Callable[..., JointFinding]:
    return hand_made.judged


@pytest.fixture
def judge(serve: Callable[..., str]) -> judge_server.Judge:
    """A judge's endpoint: `replies` are its answers, `requests` what it was asked."""
    return judge_server.Judge(serve)
