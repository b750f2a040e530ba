"""What an answer must state of each recommendation (rows D3 and D11): a list of bare names is no
answer."""

import json
from collections.abc import Callable

import pytest

from tripwright.domains.deeptravel.verifiers.joint_reward import JointFinding
from tripwright.transcript import ToolCall

Judged = Callable[..., JointFinding]
BARE = """Take G3124 on 26 June. Stay at Riverside Inn.
See the Old Lighthouse, 18 minutes walking from Riverside Inn. Go home with G3127 on 28 June."""


def _kinds(found: JointFinding) -> set[str]:
    return {problem.kind for problem in found.problems}


def test_bare_names_recommend_nothing(judged: Judged) -> None:
    found = judged(BARE)
    assert found.reward == 0.0 and found.trajectory is not None
    assert found.trajectory.conclusion == "dissatisfied_incomplete" and _kinds(found) == {
        "untold_time",
        "untold_price",
    }


@pytest.mark.parametrize(
    ("left_out", "kind"),
    [
        ("departs Suzhou Station 06:54, ", "untold_time"),
        ("- **Price**: 233 USD per person\n- **Why**", "untold_price"),
        ("- **Price**: 402 USD for the whole stay (2 nights)\n", "untold_price"),
        ("departs Wuhan Station 18:10, ", "untold_time"),
    ],
)
def test_each_recommendation_has_its_time_and_its_price(
    judged: Judged, answer: str, left_out: str, kind: str
) -> None:
    assert left_out in answer
    found = judged(answer.replace(left_out, "- **Why**" if left_out.endswith("Why**") else ""))
    assert found.reward == 0.0 and _kinds(found) == {kind}


def test_a_second_recommendation_may_be_named_in_passing(judged: Judged, answer: str) -> None:
    second = "#### D3056 train\n- **Recommendation**: departs 08:06, arrives 12:36\n### Stay"
    assert judged(answer.replace("### Stay", second)).reward == 1.0
    alone = answer.replace("- **Price**: 233 USD per person\n- **Why**", "- **Why**").replace(
        "### Stay", second
    )
    # what is stated of one must be stated of the same one
    assert _kinds(judged(alone)) == {"untold_price"}


def test_an_alternative_under_the_risks_may_be_a_bare_name(judged: Judged, answer: str) -> None:
    assert (
        judged(answer.replace("D3056 leaves at 08:06 [call 1, row 2]", "take D3056")).reward == 1.0
    )


@pytest.mark.parametrize("said", ["201 USD per night", "402 dollars in all", "USD 402.00"])
def test_any_price_that_is_true_will_do(judged: Judged, answer: str, said: str) -> None:
    assert judged(answer.replace("402 USD for the whole stay (2 nights)", said)).reward == 1.0


def test_the_budget_is_no_price(judged: Judged, answer: str) -> None:
    found = judged(
        answer.replace("402 USD for the whole stay (2 nights)", "within your budget of 2000 USD")
    )
    assert found.reward == 0.0 and _kinds(found) == {"untold_price"}


def test_what_the_row_does_not_say_need_not_be_said(
    judged: Judged, answer: str, calls: list[ToolCall]
) -> None:
    body = json.loads(calls[1].result)
    del body["rows"][0]["price"]
    calls[1].result = json.dumps(body)
    silent = answer.replace("- **Price**: 402 USD for the whole stay (2 nights)\n", "")
    found = judged(silent, given=calls)
    assert "untold_price" not in _kinds(found)


def test_a_wrong_time_is_a_matter_of_its_turn(judged: Judged, answer: str) -> None:
    found = judged(answer.replace("departs Suzhou Station 06:54", "departs Suzhou Station 07:54"))
    assert found.reward == 0.0 and _kinds(found) == {"wrong_time"}
