"""Names in a plan that neither the request nor a tool answer holds, and those that no table of the
world has."""

from typing import Any

import pytest

from tests.conftest import fact_record, verdict_record
from tests.evals.report.conftest import DAY
from tripwright.domains.travelplanner.ungrounded import (
    holds,
    in_no_table,
    names_of,
    not_found,
    plain,
)

NAMES = {
    "flight": {"F100"},
    "restaurant": {"Blue Door, Ashford"},
    "attraction": {"Old Mill, Ashford"},
}


def record(*texts: tuple[str, str], **more: Any) -> dict[str, Any]:
    segments = [{"role": role, "text": text} for role, text in texts]
    return {"plan": [DAY], "transcript": {"segments": segments}, **more}


def test_names_are_read_from_every_field_of_a_plan():
    named = names_of([DAY, "no day", {"breakfast": None, "attraction": "-"}])
    assert named == {
        **NAMES,
        "accommodation": {"Quiet Loft, Ashford"},
        "city": {"Northport", "Ashford"},
    }
    assert names_of(None) == {} and names_of("text") == {}


@pytest.mark.parametrize(
    ("shown", "field", "expected"),
    [
        ('{"rows":["F100"]}', "flight", (0, 1)),
        ('{"rows":["F1000"]}', "flight", (1, 1)),  # another flight
        ("1. [Blue  DOOR] Avg. Cost", "restaurant", (0, 1)),
        ("The Blue Doorway", "restaurant", (1, 1)),
        ("Blue Door, Ashford", "restaurant", (0, 1)),
        ("", "accommodation", (1, 1)),
        ("from Northport", "city", (1, 2)),
    ],
)
def test_a_name_is_found_where_whole_words_of_the_request_or_of_an_answer_hold_it(
    shown, field, expected
):
    assert not_found(record(("user", shown)))[field] == expected
    assert not_found(record(("user", ""), ("tool", shown)))[field] == expected


def test_names_are_compared_as_people_read_them():
    assert plain('Caf\\u00e9 \\"Zum  Bär\\"\n') == 'café "zum bär"'
    assert holds("a café.", "café")
    assert not holds("cafés", "café")
    assert holds("inns inn", "inn")
    assert not holds("", "inn")


def test_what_the_model_was_not_shown_grounds_nothing():
    assert not_found(record(("tool", "Quiet L"), ("assistant", "Quiet Loft")))["accommodation"] == (
        1,
        1,
    )


def test_what_is_in_no_table_is_counted_by_field_where_the_judge_looked():
    places = ((1, "lunch"), (2, "dinner"), (1, "transportation"))
    evidence = [
        {"day": day, "field": field, "found": None, "needed": None} for day, field in places
    ]

    def judged(fact: Any) -> dict[str, Any]:
        return record(
            verdict=verdict_record(
                False, {"commonsense": {"is_valid_information_in_sandbox": fact}}
            )
        )

    expected = {
        "transportation": (1, 1),
        "restaurant": (1, 1),
        "attraction": (0, 1),
        "accommodation": (0, 1),
    }
    assert in_no_table(judged(fact_record(False, None, *evidence))) == expected
    assert in_no_table(judged(None)) is None
    unjudged = verdict_record(False, {"commonsense": ["is_valid_information_in_sandbox"]})
    assert in_no_table(record(verdict=unjudged)) is None
