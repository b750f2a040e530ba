"""A train that keeps its number there and back is two recommendations."""

import json
from collections.abc import Callable
from random import Random
from types import ModuleType

import pytest

from tripwright.domains.deeptravel.verifiers.joint_reward import JointFinding, joint
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
from tripwright.transcript import ToolCall

Judged = Callable[..., JointFinding]
PROSE = (
    "Take train G3124 on 26 June: it leaves Suzhou at 6:54 am and reaches Wuhan at 11:02 am, for"
    " $233 each. Stay at Riverside Inn for two nights, 402 dollars in all. It is 18 minutes on"
    " foot, 1.4 km, to the Old Lighthouse. "
)


@pytest.fixture
def both(calls: list[ToolCall]) -> list[ToolCall]:
    calls[2].result = calls[2].result.replace("G3127", "G3124")
    return calls


@pytest.fixture
def same(answer: str) -> str:
    return answer.replace("G3127", "G3124")


def _kinds(found: JointFinding) -> set[str]:
    return {problem.kind for problem in found.problems}


def test_under_headings(judged: Judged, same: str, both: list[ToolCall]) -> None:
    found = judged(same, given=both)
    assert found.reward == 1.0, found.problems


@pytest.mark.parametrize(
    "home",
    [
        "Go home on 28 June with G3124 at ten past six in the evening for $233.",
        "On 28 June, G3124 departs at 18:10 for 233 USD.",
        "G3124 brings you back: 18:10, 233 USD.",
        "G3124 leaves Wuhan at 18:10, 233 USD.",
        "The ticket home: G3124, 18:10, 233 USD.",
    ],
)
def test_in_prose(judged: Judged, both: list[ToolCall], home: str) -> None:
    found = judged(PROSE + home, given=both)
    assert found.reward == 1.0, found.problems


def test_in_one_sentence(judged: Judged, both: list[ToolCall]) -> None:
    text = PROSE.replace(
        "Take train G3124 on 26 June: it leaves Suzhou at 6:54 am and reaches Wuhan at 11:02 am,"
        " for $233 each. ",
        "",
    )
    found = judged(
        text
        + "G3124 goes out on 26 June at 06:54 for 233 USD, and G3124 comes back on 28 June at 18:10"
        " for 233 USD.",
        given=both,
    )
    assert found.reward == 1.0, found.problems


def test_one_way_alone_is_no_way_back(judged: Judged, both: list[ToolCall]) -> None:
    assert "missing_return" in _kinds(judged(PROSE, given=both))
    assert "missing_return" in _kinds(
        judged(PROSE + "G3124 leaves at 6:54 am for $233.", given=both)
    )


def test_in_every_wording(helper: Callable[[str], ModuleType]) -> None:
    """Made-up trips whose chosen train keeps its number on the way back."""
    trips, words, others = helper("made_trips"), helper("wordings"), helper("writers_words")
    ours = (
        *helper("rewordings").SEEN,
        *helper("rewordings_more").LATER,
        *helper("rewordings_last").LAST,
    )
    theirs = tuple(
        writer
        for name in ("writers", "writers_more", "writers_third")
        for writer in helper(name).WRITERS
    )
    refused = []
    for seed, wording in enumerate((*ours, *theirs), start=5_000_000):
        trip = trips.made_trip(seed, "stay" if seed % 3 else "day")
        home = trip.facts.back[0]
        home.values["number"] = trip.facts.outbound[0].values["number"]
        call = trip.transcript.calls[home.call - 1]
        body = json.loads(call.result)
        body["rows"][home.row - 1]["number"] = home.values["number"]
        call.result = json.dumps(body)
        said = words.Words(Random(seed)) if wording in ours else None
        text = wording(trip.facts, said) if said else wording(others.T(trip.facts), Random(seed))
        found = joint(
            RuleVerifier(),
            trip.request,
            helper("hand_made").typed(
                trips.transcript_of(trip.request, trip.transcript.calls, text)
            ),
        )
        if found.reward != 1.0:
            refused.append((wording.__name__, [problem.message for problem in found.problems]))
    assert len(refused) <= 1, refused


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("departs Wuhan Station 18:10", "departs Wuhan Station 06:54", "wrong_time"),
        ("[call 3, row 1]", "[call 1, row 1]", "card_of_another_row"),
        (
            "Return recommendations (2026-06-28)",
            "Return recommendations (2026-06-26)",
            "wrong_date",
        ),
        ("(Wuhan → Suzhou)", "(Suzhou → Wuhan)", "wrong_attribute"),
    ],
)
def test_each_direction_is_held_to_its_own_row(
    judged: Judged, same: str, both: list[ToolCall], old: str, new: str, kind: str
) -> None:
    assert old in same
    assert kind in _kinds(judged(same.replace(old, new), given=both))
