"""Row D4 by rules: what may be said of which row, and which call asked for the wrong thing."""

from collections.abc import Callable

import pytest

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.joint_reward import JointFinding
from tripwright.transcript import ToolCall

Judged = Callable[..., JointFinding]


def _kinds(found: JointFinding) -> set[str]:
    return {problem.kind for problem in found.problems}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("233 USD per person", "466 USD in total for two"),
        ("402 USD for the whole stay (2 nights)", "201 USD per night"),
        ("4 h 8 min", "about four hours"),
        ("G3124 train", "g3124 train"),
        ("G3124 train", "G 3124 train"),
        ("- **Why**: arrives before 15:00", "- **Why**: direct, arrives 3 h 58 min before 15:00"),
        ("#### Riverside Inn", "#### The Riverside Inn"),
        ("12 Mill Lane", "12 Mill Lane, a double room, rated 4.1/5"),
        ("### Risks", "### Cost\nThe trip costs 1334 USD in total for two.\n### Risks"),
        ("arrives before 15:00", "the shorter one; D3056 takes 270 minutes"),
        ("### Risks", "### Budget\nThis stays within your budget of 2,000 USD.\n### Risks"),
        ("is sold out", "is sold out on Friday, 26 June"),
    ],
)
def test_true_in_other_words(judged: Judged, answer: str, old: str, new: str) -> None:
    assert old in answer
    found = judged(answer.replace(old, new))
    assert found.reward == 1.0, found.problems


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("233 USD per person", "233 USD for two", "wrong_price"),
        ("402 USD for the whole stay", "402 USD per night", "wrong_price"),
        ("233 USD", "233 EUR", "wrong_price"),
        ("233 USD", "about 260 USD", "wrong_price"),
        ("(2 nights)", "(3 nights)", "wrong_nights"),
        ("(2 nights)", "(a single night)", "wrong_nights"),
        (
            "Outbound recommendations (2026-06-26)",
            "Outbound recommendations (2026-06-28)",
            "wrong_date",
        ),
        ("(Suzhou → Wuhan)", "(Wuhan → Suzhou)", "wrong_attribute"),
        ("(4 h 8 min)", "(3 h 8 min)", "wrong_duration"),
        ("1.4 km", "400 m", "wrong_distance"),
        ("18 minutes", "8 minutes", "wrong_duration"),
        ("12 Mill Lane", "12 Mill Lane, rated 4.8/5", "wrong_rating"),
        ("departs Suzhou Station", "departs Wuhan Station", "wrong_attribute"),
        ("arrives before 15:00", "arrives before 10:00", "wrong_time"),
        ("[call 1, row 1]", "[call 1, row 9]", "card_points_nowhere"),
        ("[call 4, row 1]", "[call 2, row 1]", "card_of_another_row"),
        (
            "### Risks",
            "### Cost\nThe trip costs 1,234 USD in total for two.\n### Risks",
            "ungrounded_price",
        ),
        ("leaves at 08:06", "leaves at 09:06", "wrong_time"),
        ("G3124 is sold out", "G3125 is sold out", "invented_name"),
        ("for two, 26", "for three people, 26", "wrong_party"),
    ],
)
def test_untrue(judged: Judged, answer: str, old: str, new: str, kind: str) -> None:
    assert old in answer
    found = judged(answer.replace(old, new))
    assert found.reward == 0.0
    if kind not in ("wrong_time", "invented_name"):
        assert kind in _kinds(found), found.problems


def test_a_problem_names_its_row_and_words(judged: Judged, answer: str) -> None:
    found = judged(answer.replace("402 USD", "310 USD"))
    (problem,) = found.problems
    assert (problem.kind, problem.call, problem.row) == ("wrong_price", 2, 1)
    assert "310 USD" in problem.message and "310 USD" in problem.said
    assert [turn.conclusion for turn in found.turns] == [
        "satisfied",
        "inconsistent_with_response",
        *["satisfied"] * 3,
    ]


def test_what_no_answer_says_is_held_against_the_calls_used(judged: Judged, answer: str) -> None:
    found = judged(answer + "- The Marlowe Palace is nearby\n")
    assert {problem.kind for problem in found.problems} == {"invented_name"}
    assert not all(turn.passes for turn in found.turns)


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
def test_a_call_for_the_wrong_thing_that_the_answer_uses(
    judged: Judged, answer: str, calls: list[ToolCall], number: int, change: dict[str, str]
) -> None:
    calls[number - 1].arguments.update(change)
    turn = judged(answer, given=calls).turns[number - 1]
    assert (
        turn.conclusion == "tool_call_logic_error" and turn.problems[0].kind == "wrong_parameters"
    )


def test_an_exploration_may_ask_for_anything(
    judged: Judged, answer: str, calls: list[ToolCall]
) -> None:
    extra = ToolCall(
        "flight_search",
        {"depart_city_name": "Ghent", "arrival_city_name": "Oslo", "depart_date": "2030-01-01"},
        '{"rows": [], "note": "None."}',
    )
    wrong = ToolCall(
        "hotel_search",
        {"city_name": "Nowhere"},
        '{"error": "There is no city Nowhere."}',
        error=True,
    )
    assert judged(answer, given=[*calls, extra, wrong]).reward == 1.0


def test_rows_of_the_compact_face(judged: Judged, request_: TravelRequest) -> None:
    there = {
        "depart_city_name": "Suzhou",
        "arrival_city_name": "Wuhan",
        "depart_date": "2026-06-26",
    }
    back = {"depart_city_name": "Wuhan", "arrival_city_name": "Suzhou", "depart_date": "2026-06-28"}
    given = [
        ToolCall(
            "train_search",
            there,
            '{"rows":[["G3124","06:54","11:02",233,1,"G3124"],["D3056","08:06","12:36",199.5,2,"D3056"]]}',
        ),
        ToolCall(
            "hotel_search",
            {"city_name": "Wuhan", "checkin_date": "2026-06-26", "checkout_date": "2026-06-28"},
            '{"rows":[["Riverside Inn",402,1,4.1,"Riverside Inn"]]}',
        ),
        ToolCall("train_search", back, '{"rows":[["G3127","18:10","22:18",233,1,"G3127"]]}'),
    ]
    text = (
        "### Outbound (2026-06-26)\n- train G3124 06:54-11:02 233 USD [call 1, row 1]\n### Stay"
        " (2026-06-26 to 2026-06-28)\n- Riverside Inn 402 USD [call 2, row 1]\n### Return"
        " (2026-06-28)\n- train G3127 18:10-22:18 233 USD [call 3, row 1]\n### Risks\n- If G3124 is"
        " full: D3056"
    )
    plain = request_.model_copy(update={"visit": ()})
    assert judged(text, plain, given=given).reward == 1.0
    assert (
        judged(text.replace("233 USD [call 3", "199 USD [call 3"), plain, given=given).reward == 0.0
    )


def test_an_unknown_tools_rows_count_as_they_stand(
    judged: Judged, answer: str, calls: list[ToolCall]
) -> None:
    ferry = ToolCall(
        "mcp_ferries",
        {"port": "Wuhan"},
        '[{"name": "Yangtze Line", "fare": {"amount": 12.5, "currency": "USD"}, "leaves":'
        ' "09:40"}]',
    )
    said = answer + "- The Yangtze Line leaves at 9:40 am for 12.50 USD [call 6, row 1]\n"
    assert judged(said, given=[*calls, ferry]).reward == 1.0
    assert judged(said.replace("12.50", "13.50"), given=[*calls, ferry]).reward == 0.0
    assert judged(said).reward == 0.0
