"""An item as the page gets it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tripwright.evals.study.folder import Study
from tripwright.evals.study.view import item_view


def call(result: Any, **more: Any) -> dict[str, Any]:
    said = result if isinstance(result, str) else json.dumps(result)
    item = {"item": "item-1", "request": {}, "answer": {"kind": "none", "why": "x"}, "seconds": None}
    return dict(item_view({**item, "calls": [{"name": "t", "arguments": {}, "result": said, "error": False, **more}]})["calls"][0])


def test_cards_know_whether_their_row_exists(study: Study) -> None:
    view = item_view(next(iter(study.items.values())))
    found = json.dumps(view["answer"]["blocks"])
    assert '{"kind": "card", "call": 1, "row": 2, "found": true}' in found
    assert '{"kind": "card", "call": 1, "row": 9, "found": false}' in found
    assert view["calls"][0]["number"] == 1 and view["calls"][0]["arguments"] == [["depart_city_name", "Ashford"]]


def test_cards_in_tables_and_quotes_are_found_too(study: Study) -> None:
    item = dict(next(iter(study.items.values())))
    item["answer"] = {"kind": "markdown", "text": "| a | b |\n|---|---|\n| x | [call 1, row 1] |\n\n> **see [call 1, row 3]**"}
    said = json.dumps(item_view(item)["answer"]["blocks"])
    assert '"row": 1, "found": true' in said and '"row": 3, "found": false' in said


def test_rows_become_a_table_whose_first_columns_tell_rows_apart(study: Study) -> None:
    view = item_view(next(iter(study.items.values())))["calls"][0]
    assert view["table"]["columns"] == ["number", "departs_at", "price", "depart_city", "currency"]
    assert view["table"]["rows"][1] == ["TW 38", "2026-06-26T09:10", "99.0", "Ashford", "USD"]
    assert view["text"] == "source: closed world, 2026-06-20T09:30:00Z"


@pytest.mark.parametrize(
    ("result", "table", "text"),
    [
        (
            [{"name": "A", "price": 3}, {"name": "B", "note": None}],
            {"columns": ["name", "price", "note"], "rows": [["A", "3", ""], ["B", "", ""]]},
            "",
        ),
        ({"rows": [["06:54", 99, "TW 38"]]}, {"columns": [], "rows": [["06:54", "99", "TW 38"]]}, ""),
        ({"rows": [], "note": "No train."}, None, "note: No train."),
        ({"error": "No such city."}, None, '{"error": "No such city."}'),
        ({"distance": "12 km", "cost": 3}, {"columns": ["distance", "cost"], "rows": [["12 km", "3"]]}, ""),
        ("The service is down.", None, "The service is down."),
        ("[]", None, "[]"),
        ('["a", {"b": 1}]', {"columns": [], "rows": [["a"], ['{"b": 1}']]}, ""),
    ],
)
def test_tool_answers_of_every_shape(result: Any, table: Any, text: str) -> None:
    found = call(result)
    assert (found["table"], found["text"]) == (table, text)


def test_arguments_that_are_no_object_are_shown_all_the_same() -> None:
    assert call("x", arguments="{broken")["arguments"] == [["arguments", "{broken"]]
    assert call("x", arguments={"a": "", "b": [1], "c": None})["arguments"] == [["b", "[1]"]]
