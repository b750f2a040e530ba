"""Answers of writers who did not know the rules: grounded ones pass, and the same ones with one
false fact do not."""

import copy
from collections.abc import Callable
from random import Random
from types import ModuleType
from typing import Any

import pytest

from tripwright.domains.deeptravel.verifiers.joint_reward import joint
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier

SEED = 6_000_000
SHAPES = ("stay", "day", "stay", "one_way")


@pytest.fixture(scope="module")
def written(helper: Callable[[str], ModuleType]) -> Callable[..., Any]:
    """written(n, spoil): the n-th answer's name and finding; `spoil` changes the facts before they
    are told."""
    trips, words = helper("made_trips"), helper("writers_words")
    writers = tuple(
        writer
        for name in ("writers", "writers_more", "writers_third")
        for writer in helper(name).WRITERS
    )
    verifier = RuleVerifier()

    def judge(n: int, spoil: Callable[[Any], None] | None = None, shape: str | None = None) -> Any:
        writer, trip = (
            writers[n % len(writers)],
            trips.made_trip(SEED + n, shape or SHAPES[n // len(writers) % 4]),
        )
        facts = copy.deepcopy(trip.facts)
        if spoil is not None:
            spoil(facts)
        answer = writer(words.T(facts), Random(f"writer-{n}"))
        return writer.__name__, joint(
            verifier,
            trip.request,
            helper("hand_made").typed(
                trips.transcript_of(trip.request, trip.transcript.calls, answer)
            ),
        )

    return judge


def test_grounded_answers_pass(written: Callable[..., Any]) -> None:
    found = [written(n) for n in range(78)]
    assert len({name for name, _ in found}) == 26
    refused = [
        (name, [problem.message for problem in finding.problems])
        for name, finding in found
        if finding.reward != 1.0
    ]
    assert len(refused) <= 1, refused


def _dearer(facts: Any) -> None:
    facts.outbound[0].values["price"] = float(round(facts.outbound[0].values["price"] * 1.4))


def _renumbered(facts: Any) -> None:
    facts.outbound[0].values["number"] = "QX 4711"


def _invented(facts: Any) -> None:
    old, facts.stay[0].values["name"] = facts.stay[0].values["name"], "Hotel Belvedere"
    for _, way in facts.visits:
        if way.values["origin"] == old:
            way.values["origin"] = "Hotel Belvedere"


def _without_a_way_back(facts: Any) -> None:
    facts.back = []


@pytest.mark.parametrize("spoil", [_dearer, _renumbered, _invented, _without_a_way_back])
def test_one_false_fact_refuses(written: Callable[..., Any], spoil: Callable[[Any], None]) -> None:
    passed = [
        name
        for name, finding in (written(104 + n, spoil, "stay") for n in range(26))
        if finding.reward != 0.0
    ]
    assert not passed
