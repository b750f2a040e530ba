"""A small trip by hand, and what judges it."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.domains.deeptravel.verifiers import hand_made, judge_server
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.findings import JointFinding, joint
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
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
    """judged(answer, request, given=calls, shown={number: text}): both levels of the rule form,
    every turn."""

    def run(text: str, asked: TravelRequest | None = None, **more: Any) -> JointFinding:
        return joint(
            RuleVerifier(),
            asked or hand_made.REQUEST,
            hand_made.made_transcript(text, **more),
            every_turn=True,
        )

    return run


@pytest.fixture
def judge(serve: Callable[..., str]) -> judge_server.Judge:
    """A judge's endpoint: `replies` are its answers, `requests` what it was asked."""
    return judge_server.Judge(serve)
