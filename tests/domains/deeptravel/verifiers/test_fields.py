"""Row D4 by rules: every field says what its row says, and every call asked for the right thing."""

import json
import re

import pytest

from tests.domains.deeptravel.verifiers import hand_made as by_hand
from tripwright.transcript import ToolCall

STAY_PRICE = "stay.0.price"
NEAR = {"term": "near", "place": "Old Lighthouse"}


def only_the_first_ride() -> list[ToolCall]:
    """Of all that goes there on that day, each search for it made."""
    trains, *others = by_hand.with_row(1, {"number": "G3124"}, is_transfer=1)
    flights = ToolCall("flight_search", trains.arguments, '{"rows": []}')
    return [others.pop(), *others, flights]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("outbound.0.price", {"amount": 466, "currency": "USD", "per": "party"}),
        (STAY_PRICE, {"amount": 201, "currency": "USD", "per": "room_and_night"}),
        (STAY_PRICE, {"amount": 402, "currency": "USD", "per": "party"}),
        ("stay.0.address", None),
        ("outbound.0.minutes", None),
        ("outbound.0.reasons", [{"term": "departs_after", "time": "06:54", "limit": "06:00"}]),
        ("stay.0.reasons", [{"term": "within_nightly_budget", "amount": 201, "limit": 250}]),
        ("stay.0.reasons", [{"term": "as_named", "name": "riverside"}]),
        ("return.0.reasons", [{"term": "first_departure", "call": 3}]),
        ("outbound.0.reasons", [{"term": "cheapest_that_fits", "call": 1}]),
        ("risks", [{"term": "last_departure", "part": "outbound"}]),
    ],
)
def test_true_in_other_fields(judged, request_, path, value):
    wishes = {"depart_after": "06:00", "nightly_budget": 250, "hotel": "Riverside"}
    asked = request_.model_copy(update=wishes)
    given = by_hand.made_calls()
    if value and "cheapest_that_fits" in str(value) or "last_departure" in str(value):
        given = only_the_first_ride()
    changes = [(path, value)] if path == "risks" else [(path, value), ("risks", [])]
    found = judged(by_hand.changed(*changes), asked, given=given)
    assert found.reward == 1.0, found.problems


@pytest.mark.parametrize(
    ("path", "value", "kind"),
    [
        ("outbound.0.depart_city", "Wuhan", "wrong_depart_city"),
        ("outbound.0.depart_place", "Wuhan Station", "wrong_depart_place"),
        ("outbound.0.minutes", 188, "wrong_minutes"),
        ("visits.0.name", "New Lighthouse", "wrong_name"),
        ("visits.0.address", "2 Rua Nova", "wrong_address"),
        ("visits.0.way.distance_km", 0.4, "wrong_distance_km"),
        ("visits.0.way.origin", "Wuhan Station", "wrong_origin"),
        ("outbound.0.reasons.0.limit", "10:00", "wrong_arrives_by"),
        ("outbound.0.reasons.0.time", "10:02", "wrong_arrives_by"),
        ("outbound.0.reasons", [{"term": "first_arrival", "call": 3}], "wrong_first_arrival"),
        ("stay.0.reasons", [NEAR | {"distance_km": 0.4, "call": 5, "row": 1}], "wrong_near"),
        ("risks.0.name", "G3124", "wrong_name"),
        ("risks.0.row", 1, "wrong_name"),
        ("total.currency", None, "wrong_currency"),
        ("risks", [{"term": "not_met", "wish": "arrive_by"}], "wrong_not_met"),
        ("risks", [{"term": "not_found", "part": "stay"}], "wrong_not_found"),
        ("risks", [{"term": "last_departure", "part": "outbound"}], "wrong_last_departure"),
        ("outbound.0.call", 2, "wrong_reference"),
    ],
)
def test_untrue(judged, path, value, kind):
    """Beside the ways of tests/exploits/test_card_answers.py."""
    found = judged(by_hand.changed((path, value)))
    assert found.reward == 0.0
    assert kind in {problem.kind for problem in found.problems}
    place = re.sub(r"\.(currency|row|call|limit|time)$", "", path)
    assert any(problem.field.startswith(place) for problem in found.problems), found.problems


def test_the_last_departure_is_the_last_of_all_that_was_shown(judged):
    given, again = only_the_first_ride(), by_hand.made_calls()[0]
    changes = [("risks", [{"term": "last_departure", "part": "outbound"}])]
    assert judged(by_hand.changed(*changes), given=given).reward == 1.0
    found = judged(by_hand.changed(*changes), given=[*given, again])
    assert "wrong_last_departure" in {problem.kind for problem in found.problems}


def test_a_problem_names_its_field_its_row_and_both_values(judged):
    found = judged(by_hand.changed(("stay.0.price.amount", 310)))
    (problem,) = found.problems
    assert (problem.kind, problem.call, problem.row) == ("wrong_price", 2, 1)
    assert problem.field == "stay.0.price.amount"
    assert "310 per room" in problem.message and "402 per room" in problem.message
    said = [turn.conclusion for turn in found.turns]
    assert said == ["satisfied", "inconsistent_with_response", *["satisfied"] * 3]


@pytest.mark.parametrize(
    ("path", "reason", "said"),
    [
        ("stay", {"term": "as_named", "name": "Grand"}, "the answer says 'Grand', asked was Riv"),
        ("stay", {"term": "within_nightly_budget", "amount": 201, "limit": 260}, "asked was 250"),
        ("stay", {"term": "within_nightly_budget", "amount": 101, "limit": 250}, "it is 201"),
        ("stay", {"term": "fastest", "call": 2}, "fastest has no meaning for a hotel"),
        ("outbound", {"term": "best_rated", "call": 1}, "best_rated has no meaning for a train"),
    ],
)
def test_a_false_reason_is_told_with_what_is_true(judged, request_, path, reason, said):
    asked = request_.model_copy(update={"nightly_budget": 250.0, "hotel": "Riverside"})
    found = judged(by_hand.changed((f"{path}.0.reasons", [reason])), asked)
    (message,) = {problem.message for problem in found.problems}
    assert message.startswith(f"{path}.0.reasons.0: ") and said in message


@pytest.mark.parametrize("path", ["outbound.0.price", "stay.0.price", "return.0.price.currency"])
def test_a_traveller_books_by_the_price(judged, path):
    found = judged(by_hand.changed((path, None)))
    assert found.reward == 0.0 and found.problems[0].field == path


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (1, {"depart_date": "2026-06-27"}),
        (1, {"arrival_city_name": "Ghent"}),
        (2, {"city_name": "Ghent"}),
        (2, {"checkin_date": "2026-06-25"}),
        (2, {"checkout_date": "2026-06-29"}),
        (3, {"depart_date": "2026-06-29"}),
        (5, {"city_name": "Ghent"}),
    ],
)
def test_a_call_for_the_wrong_thing_that_the_answer_uses(judged, answer, calls, number, change):
    calls[number - 1].arguments.update(change)
    turn = judged(answer, given=calls).turns[number - 1]
    assert turn.conclusion == "tool_call_logic_error"
    assert turn.problems[0].kind == "wrong_parameters"
    assert turn.problems[0].field in change


def test_an_exploration_may_ask_for_anything(judged, answer, calls):
    way = {"depart_city_name": "Ghent", "arrival_city_name": "Oslo", "depart_date": "2030-01-01"}
    extra = ToolCall("flight_search", way, '{"rows": [], "note": "None."}')
    problem = '{"error": "There is no city Nowhere."}'
    wrong = ToolCall("hotel_search", {"city_name": "Nowhere"}, problem, error=True)
    assert judged(answer, given=[*calls, extra, wrong]).reward == 1.0


def test_rows_of_the_compact_face(judged, request_):
    """Cities and days are those that the call asked for; what the face does not show cannot be
    said."""
    given = by_hand.made_calls()[:3]
    rows = (
        [["A", "G3124", "06:54", "11:02", 233], ["B", "D3056", "08:06", "12:36", 199.5]],
        [["A", "Riverside Inn", 402, 2, 4.1]],
        [["A", "G3127", "18:10", "22:18", 233]],
    )
    for call, shown in zip(given, rows, strict=True):
        call.result = json.dumps({"rows": shown}, separators=(",", ":"))
    unsaid = ["outbound.0.depart_city", "outbound.0.depart_place", "outbound.0.arrive_city"]
    unsaid += ["outbound.0.arrive_place", "outbound.0.minutes", "stay.0.address", "stay.0.room"]
    unsaid += [f"{part}.0.price.currency" for part in ("outbound", "stay", "return")]
    bare = [("visits", []), ("stay.0.reasons", []), *((path, None) for path in (*unsaid, "total"))]
    plain = request_.model_copy(update={"visit": ()})
    assert judged(by_hand.changed(*bare), plain, given=given).reward == 1.0
    for path, value in (("return.0.price.amount", 199), ("stay.0.price.currency", "USD")):
        assert judged(by_hand.changed(*bare, (path, value)), plain, given=given).reward == 0.0
