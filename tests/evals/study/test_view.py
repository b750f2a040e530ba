"""An item as the page gets it."""

from __future__ import annotations

import json
from typing import Any

from tripwright.evals.study.folder import Study
from tripwright.evals.study.view import item_view
from tripwright.transcript import Rows


def call(result: str, **more: Any) -> dict[str, Any]:
    item = {
        "item": "item-1",
        "request": {},
        "answer": {"kind": "none", "why": "x"},
        "seconds": None,
    }
    return dict(
        item_view(
            {
                **item,
                "calls": [{"name": "t", "arguments": {}, "result": result, "error": False, **more}],
            }
        )["calls"][0]
    )


def test_cards_know_whether_their_row_exists(study: Study) -> None:
    view = item_view(next(iter(study.items.values())))
    found = json.dumps(view["answer"]["blocks"])
    assert '{"kind": "card", "call": 1, "row": 2, "found": true}' in found
    assert '{"kind": "card", "call": 1, "row": 9, "found": false}' in found
    assert view["calls"][0]["number"] == 1 and view["calls"][0]["arguments"] == [
        ["depart_city_name", "Ashford"]
    ]


def test_cards_in_tables_and_quotes_are_found_too(study: Study) -> None:
    item = dict(next(iter(study.items.values())))
    item["answer"] = {
        "kind": "markdown",
        "text": "| a | b |\n|---|---|\n| x | [call 1, row 1] |\n\n> **see [call 1, row 3]**",
    }
    said = json.dumps(item_view(item)["answer"]["blocks"])
    assert '"row": 1, "found": true' in said and '"row": 3, "found": false' in said


def test_rows_become_a_table_whose_first_columns_tell_rows_apart(study: Study) -> None:
    view = item_view(next(iter(study.items.values())))["calls"][0]
    assert view["table"]["columns"] == ["number", "departs_at", "price", "depart_city", "currency"]
    assert view["table"]["rows"][1] == ["TW 38", "2026-06-26T09:10", "99.0", "Ashford", "USD"]
    assert view["text"] == "source: closed world, 2026-06-20T09:30:00Z"


def test_what_has_no_rows_is_text_and_what_is_said_of_all_rows_stands_beside_them() -> None:
    assert (found := call("The service is down."))["table"] is None and found[
        "text"
    ] == "The service is down."
    rows = Rows(
        "Meal",
        ("name", "price_usd"),
        (("A", 3), ("B", None)),
        about={"city": "Rome"},
        total=7,
        note="Ask for page 2.",
    )
    found = call("…", rows=rows.to_json())
    assert found["table"] == {"columns": ["name", "price_usd"], "rows": [["A", "3"], ["B", ""]]}
    assert found["text"] == "city: Rome\n2 of 7 rows\nAsk for page 2."


def test_a_study_from_before_there_were_rows_doubts_no_card(study: Study) -> None:
    item = json.loads(json.dumps(next(iter(study.items.values()))))
    for each in item["calls"]:
        del each["rows"]
    view = item_view(item)
    assert (
        '"row": 9, "found": true' in json.dumps(view["answer"]["blocks"])
        and view["calls"][0]["table"] is None
    )


def test_arguments_that_are_no_object_are_shown_all_the_same() -> None:
    assert call("x", arguments="{broken")["arguments"] == [["arguments", "{broken"]]
    assert call("x", arguments={"a": "", "b": [1], "c": None})["arguments"] == [["b", "[1]"]]
