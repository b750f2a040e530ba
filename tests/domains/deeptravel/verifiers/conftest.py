"""A small trip by hand, and what judges it."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.findings import JointFinding, joint
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
from tripwright.transcript import ToolCall


@pytest.fixture(scope="session")
def helper() -> Callable[[str], ModuleType]:
    """helper("made_trips"): that file of this folder as a module."""

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(
            f"verifiers_{name}", Path(__file__).parent / f"{name}.py"
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[module.__name__] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def by_hand(helper: Callable[[str], ModuleType]) -> ModuleType:
    return helper("hand_made")


@pytest.fixture
def request_(by_hand: ModuleType) -> TravelRequest:
    request: TravelRequest = by_hand.REQUEST
    return request


@pytest.fixture
def calls(by_hand: ModuleType) -> list[ToolCall]:
    made: list[ToolCall] = by_hand.made_calls()
    return made


@pytest.fixture
def answer(by_hand: ModuleType) -> str:
    text: str = by_hand.ANSWER
    return text


@pytest.fixture
def judged(by_hand: ModuleType) -> Callable[..., JointFinding]:
    """judged(answer, request, given=calls, shown={number: text}): both levels of the rule form,
    every turn."""

    def run(text: str, asked: TravelRequest | None = None, **more: Any) -> JointFinding:
        return joint(
            RuleVerifier(),
            asked or by_hand.REQUEST,
            by_hand.made_transcript(text, **more),
            every_turn=True,
        )

    return run


@pytest.fixture(scope="session")
def said(helper: Callable[[str], ModuleType]) -> ModuleType:
    """What a judge may say and what it is asked about."""
    return helper("judge_server")


@pytest.fixture
def judge(said: ModuleType, serve: Callable[..., str]) -> Any:
    """A judge's endpoint: `replies` are its answers, `requests` what it was asked."""
    return said.Judge(serve)
