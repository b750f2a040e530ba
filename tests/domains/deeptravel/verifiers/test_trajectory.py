"""Row D3 by rules: six rubrics, six conclusions."""

import copy
import json
from typing import Any

import pytest

from tests.domains.deeptravel.verifiers import hand_made as by_hand
from tripwright.domains.deeptravel.verifiers.findings import RUBRICS, JointFinding
from tripwright.transcript import ToolCall


def _conclusion(found: JointFinding) -> str:
    return found.trajectory.conclusion


def test_all_six_rubrics_are_told(judged, answer):
    found = judged(answer).trajectory
    assert found is not None and tuple(found.rubrics) == RUBRICS
    assert found.conclusion == "very_satisfied" and all(found.rubrics.values())


def test_without_a_backup(judged):
    found = judged(by_hand.changed(("risks", [])))
    assert _conclusion(found) == "very_satisfied_without_backup" and found.reward == 1.0


def test_what_was_not_asked_is_none(judged, request_):
    plain = request_.model_copy(update={"visit": (), "arrive_by": None, "total_budget": None})
    text = by_hand.changed(("outbound.0.reasons", []), ("visits", []))
    found = judged(text, plain).trajectory
    assert found.rubrics["other_constraints"] is None
    assert found.rubrics["specific_requirements"] is None


@pytest.mark.parametrize("part", ["outbound", "stay", "return"])
def test_a_missing_part(judged, part):
    found = judged(by_hand.changed((part, [])))
    assert _conclusion(found) == "dissatisfied_incomplete" and found.reward == 0.0
    assert part in {problem.field for problem in found.problems}


@pytest.mark.parametrize(
    ("change", "conclusion"),
    [
        ({"origin": "Ghent"}, "dissatisfied_main_requirement"),
        ({"depart_date": "2026-06-25"}, "dissatisfied_main_requirement"),
        ({"transport": "flight"}, "dissatisfied_main_requirement"),
        ({"party_size": 3}, "dissatisfied_main_requirement"),
        ({"return_date": None, "nights": 2}, "dissatisfied_main_requirement"),
        ({"nights": 1}, "dissatisfied_logic"),
        ({"arrive_by": "11:00"}, "basically_satisfied"),
        ({"depart_after": "07:00"}, "basically_satisfied"),
        ({"return_by": "22:00"}, "basically_satisfied"),
        ({"return_after": "18:30"}, "basically_satisfied"),
        ({"total_budget": 1333}, "basically_satisfied"),
        ({"nightly_budget": 200}, "basically_satisfied"),
        ({"total_budget": None, "nightly_budget": 250, "currency": "GBP"}, "basically_satisfied"),
        ({"hotel": "Harbour View"}, "basically_satisfied"),
        ({"hotel": "Riverside"}, "very_satisfied"),
        ({"hotel_near": "Old Lighthouse"}, "very_satisfied"),
        ({"hotel_near": "Fish Market"}, "basically_satisfied"),
        ({"visit": ("Fish Market",)}, "basically_satisfied"),
        ({"total_budget": 1334}, "very_satisfied"),
        ({"nightly_budget": 201}, "very_satisfied"),
    ],
)
def test_the_request_decides(judged, request_, change, conclusion):
    """The same answer, asked for otherwise. Over is over: 1 USD above the budget fails."""
    changed = request_.model_copy(update=change)
    plain = by_hand.changed(("outbound.0.reasons", []), ("total", None))
    assert _conclusion(judged(plain, changed)) == conclusion


def ride(usd: float, **fields: Any) -> dict[str, Any]:
    """Another than the first of the way there."""
    price = {"amount": usd, "currency": "USD", "per": "person"}
    return {**by_hand.SOUND["outbound"][0], **fields, "price": price, "reasons": []}


def test_a_second_recommendation_must_keep_to_the_request_too(judged):
    late = ride(number="G99", departs="13:00", arrives="17:00", minutes=240, row=3, usd=150)
    both = [by_hand.SOUND["outbound"][0], late]
    assert _conclusion(judged(by_hand.changed(("outbound", both)))) == "basically_satisfied"
    # among the risks it is no recommendation
    spare = {"term": "alternative", "part": "outbound", "name": "G99", "call": 1, "row": 3}
    assert judged(by_hand.changed(("risks", [spare]))).reward == 1.0


def _change_row(calls: list[ToolCall], number: int, **values: Any) -> list[ToolCall]:
    body = json.loads(calls[number - 1].result)
    body["rows"][0].update(values)
    calls[number - 1].result = json.dumps(body)
    return calls


def test_a_ride_that_arrives_a_day_later_leaves_the_first_night_unslept(judged, calls, request_):
    given = _change_row(calls, 1, arrives_at="2026-06-27T01:02")
    said = {"arrives": "01:02", "days_later": 1, "reasons": []}
    text = by_hand.changed(*((f"outbound.0.{name}", value) for name, value in said.items()))
    found = judged(text, request_.model_copy(update={"arrive_by": None}), given=given)
    assert "check_in_on_another_day" in {problem.kind for problem in found.problems}


def test_a_ride_without_a_hotel_from_its_arrival_on_does_not_fit(judged, calls, request_):
    """As a second recommendation it is refused, and among those that fit it is no rival."""
    first = by_hand.SOUND["outbound"][0]
    body = json.loads(calls[0].result)
    body["rows"] = [body["rows"][0], {**body["rows"][2], "arrives_at": "2026-06-27T00:30"}]
    calls[0].result = json.dumps(body)
    wishless = request_.model_copy(update={"arrive_by": None})
    why = ("outbound.0.reasons", [{"term": "cheapest_that_fits", "call": 1}])
    assert judged(by_hand.changed(why, ("risks", [])), wishless, given=calls).reward == 1.0
    late = {"number": "G99", "departs": "13:00", "arrives": "00:30", "days_later": 1, "row": 2}
    both = [{**first, "reasons": []}, ride(150, minutes=240, **late)]
    found = judged(by_hand.changed(("outbound", both), ("risks", [])), wishless, given=calls)
    assert [each.field for each in found.problems] == ["outbound.1.arrives"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("outbound.0.row", 9),
        ("outbound.0.number", "D3056"),
        ("outbound.0.kind", "flight"),
        ("stay.0.name", "Harbour View Inn"),
        ("return.0.number", "D3059"),
    ],
)
def test_what_hangs_on_a_reference_that_does_not_hold_is_not_blamed(judged, path, value):
    """With a second hotel, from which no way begins, and a second ride, which is the alternative:
    neither becomes the first."""
    other = ride(199.5, number="D3056", departs="08:06", arrives="12:36", minutes=270, row=2)
    hotel = {"name": "Harbour View Inn", "rating": 3.9, "address": "7 King Road", "row": 2}
    hotel |= {"price": {"amount": 310, "currency": "USD", "per": "room"}, "reasons": []}
    sound = copy.deepcopy(by_hand.SOUND)  # the change is made in these
    seconds = [
        ("outbound", [sound["outbound"][0], other]),
        ("stay", [sound["stay"][0], {**sound["stay"][0], **hotel}]),
    ]
    assert judged(by_hand.changed(*seconds)).reward == 1.0
    found = judged(by_hand.changed(*seconds, (path, value)))
    named = {problem.field for problem in found.problems}
    assert named in ({path}, {path.rpartition(".")[0]})
    assert found.trajectory is not None and found.trajectory.rubrics["logic"] is False


def test_a_way_in_another_city_proves_nothing(judged, answer, calls, request_):
    near = request_.model_copy(update={"hotel_near": "Old Lighthouse"})
    assert judged(answer, near).reward == 1.0
    unsaid = judged(by_hand.changed(("stay.0.reasons", [])), near)
    assert [each.field for each in unsaid.problems] == ["stay.0.reasons"]
    given = _change_row(calls, 5, city="Suzhou")
    kinds = {problem.kind for problem in judged(answer, near, given=given).problems}
    assert {"hotel_near", "other_place"} <= kinds


def test_a_way_that_does_not_begin_at_the_hotel(judged, calls):
    given = _change_row(calls, 5, origin="Wuhan Station")
    found = judged(by_hand.changed(("visits.0.way.origin", "Wuhan Station")), given=given)
    assert {problem.kind for problem in found.trajectory.problems} == {"way_from_elsewhere"}


def test_the_same_row_twice_is_no_second_recommendation(judged):
    found = judged(by_hand.changed(("stay", 2 * by_hand.SOUND["stay"])))
    assert {problem.kind for problem in found.problems} == {"recommended_twice"}


def test_a_risk_of_a_part_that_nobody_asked_for(judged, request_):
    one_way = request_.model_copy(update={"return_date": None, "nights": 2})
    for risk in (
        {"term": "not_found", "part": "return"},
        {"term": "alternative", "part": "return", "name": "D3059", "call": 3, "row": 2},
    ):
        text = by_hand.changed(("return", []), ("total", None), ("risks", [risk]))
        found = judged(text, one_way)
        assert found.reward == 0.0 and found.problems[0].field == "risks.0"
