"""Row D3 by rules: six rubrics, six conclusions."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.findings import RUBRICS
from tripwright.domains.deeptravel.verifiers.joint_reward import JointFinding
from tripwright.transcript import ToolCall

Judged = Callable[..., JointFinding]


def _conclusion(found: JointFinding) -> str:
    assert found.trajectory is not None
    return found.trajectory.conclusion


def _part(answer: str, title: str) -> str:
    begin = answer.index(f"### {title}")
    end = answer.find("\n### ", begin)
    return answer[begin : end if end > 0 else len(answer)]


def test_all_six_rubrics_are_told(judged: Judged, answer: str) -> None:
    found = judged(answer).trajectory
    assert found is not None and tuple(found.rubrics) == RUBRICS
    assert found.conclusion == "very_satisfied" and all(found.rubrics.values())


def test_without_a_backup(judged: Judged, answer: str) -> None:
    found = judged(answer.replace(_part(answer, "Risks"), ""))
    assert _conclusion(found) == "very_satisfied_without_backup" and found.reward == 1.0


def test_what_was_not_asked_is_none(judged: Judged, answer: str, request_: TravelRequest) -> None:
    plain = request_.model_copy(update={"visit": (), "arrive_by": None, "total_budget": None})
    found = judged(answer.replace("arrives before 15:00", "direct"), plain).trajectory
    assert (
        found is not None
        and found.rubrics["other_constraints"] is None
        and found.rubrics["specific_requirements"] is None
    )


@pytest.mark.parametrize("title", ["Outbound", "Stay", "Return"])
def test_a_missing_part(judged: Judged, answer: str, title: str) -> None:
    found = judged(answer.replace(_part(answer, title), ""))
    assert _conclusion(found) == "dissatisfied_incomplete" and found.reward == 0.0


@pytest.mark.parametrize(
    ("change", "conclusion"),
    [
        ({"origin": "Ghent"}, "dissatisfied_main_requirement"),
        ({"depart_date": "2026-06-25"}, "dissatisfied_main_requirement"),
        ({"transport": "flight"}, "dissatisfied_main_requirement"),
        ({"party_size": 3}, "dissatisfied_main_requirement"),
        ({"nights": 1}, "dissatisfied_logic"),
        ({"arrive_by": "11:00"}, "basically_satisfied"),
        ({"depart_after": "07:00"}, "basically_satisfied"),
        ({"return_by": "22:00"}, "basically_satisfied"),
        ({"return_after": "18:30"}, "basically_satisfied"),
        ({"total_budget": 1333}, "basically_satisfied"),
        ({"nightly_budget": 200}, "basically_satisfied"),
        ({"hotel": "Harbour View"}, "basically_satisfied"),
        ({"hotel_near": "Old Lighthouse"}, "very_satisfied"),
        ({"hotel_near": "Fish Market"}, "basically_satisfied"),
        ({"visit": ("Fish Market",)}, "basically_satisfied"),
        ({"total_budget": 1334}, "very_satisfied"),
        ({"nightly_budget": 201}, "very_satisfied"),
    ],
)
def test_the_request_decides(
    judged: Judged, answer: str, request_: TravelRequest, change: dict[str, Any], conclusion: str
) -> None:
    """The same answer, asked for otherwise. Over is over: 1 USD above the budget fails."""
    changed = request_.model_copy(update=change)
    assert (
        _conclusion(judged(answer.replace("arrives before 15:00", "direct"), changed)) == conclusion
    )


def test_a_second_recommendation_must_keep_to_the_request_too(judged: Judged, answer: str) -> None:
    late = "#### G99 train\n- **Recommendation**: departs 13:00, arrives 17:00\n"
    assert (
        _conclusion(judged(answer.replace("### Stay", late + "### Stay"))) == "basically_satisfied"
    )
    # among the risks it is no recommendation
    assert judged(answer + "- G99 leaves at 13:00\n").reward == 1.0


def _change_row(calls: list[ToolCall], number: int, **values: Any) -> list[ToolCall]:
    body = json.loads(calls[number - 1].result)
    body["rows"][0].update(values)
    calls[number - 1].result = json.dumps(body)
    return calls


def test_a_return_that_cannot_be_reached(
    judged: Judged, answer: str, calls: list[ToolCall], request_: TravelRequest
) -> None:
    same_day = request_.model_copy(update={"return_date": "2026-06-26", "visit": ()})
    given = _change_row(calls, 3, departs_at="2026-06-26T11:30", arrives_at="2026-06-26T15:38")
    text = (
        answer.replace("2026-06-28", "2026-06-26")
        .replace("18:10", "11:30")
        .replace("22:18", "15:38")
        .replace(_part(answer, "Stay"), "")
    )
    found = judged(text, same_day, given=given)
    assert "impossible_connection" in {problem.kind for problem in found.problems}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"checkin_date": "2026-06-27"}, "check_in_on_another_day"),
        ({"checkout_date": "2026-06-29"}, "check_out_on_another_day"),
        ({"city": "Ghent"}, "not_what_was_asked"),
        ({"room": "Private room, up to 1 guest"}, "room_too_small"),
    ],
)
def test_a_stay_that_does_not_fit(
    judged: Judged, answer: str, calls: list[ToolCall], values: dict[str, str], kind: str
) -> None:
    found = judged(answer, given=_change_row(calls, 2, **values))
    assert kind in {problem.kind for problem in found.problems} and found.reward == 0.0


def test_a_ride_that_arrives_before_it_departs(
    judged: Judged, answer: str, calls: list[ToolCall]
) -> None:
    found = judged(answer, given=_change_row(calls, 1, arrives_at="2026-06-26T06:02"))
    assert _conclusion(found) == "dissatisfied_logic"


def test_prose_without_headings_has_the_same_parts(judged: Judged) -> None:
    text = (
        "Take train G3124 on 26 June: it leaves Suzhou at 6:54 am and reaches Wuhan at 11:02 am,"
        " for $233 each. Stay at Riverside Inn for two nights, 402 dollars in all. It is 18 minutes"
        " on foot, 1.4 km, to the Old Lighthouse. Go home on 28 June with G3127 at ten past six in"
        " the evening, for 233 dollars each."
    )
    found = judged(text)
    assert found.reward == 1.0, found.problems
    assert _conclusion(found) == "very_satisfied_without_backup"
