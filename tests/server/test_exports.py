"""Exports of a trip, read back by whoever reads such files."""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import Any

import pytest

icalendar = pytest.importorskip("icalendar")

from markdown_it import MarkdownIt

from tripwright.errors import UserError
from tripwright.server.exports import export

ITEM = {
    "kind": "flight",
    "label": "travel",
    "text": "Flight F1, from A to B; <b>now</b>, *today*\nBEGIN:VEVENT",
    "starts": "2022-03-08T14:50",
    "ends": "2022-03-08T16:10",
    "cost": 120.5,
    "count": "",
    "evidence": [1, 2],
    "facts": [["Why", "the cheapest of call 2"]],
    "remarks": [],
    "alternative": False,
}
TRIP: dict[str, Any] = {
    "id": "abc",
    "created_at": "2026-11-25T10:00:00.000Z",
    "words": "From A to B [home](http://x).",
    "view": {
        "title": "A to B",
        "currency": "USD",
        "cost": 120.5,
        "budget": 400,
        "parts": [
            {
                "key": "1",
                "title": "Day 1",
                "date": "2022-03-08",
                "where": "from A to B",
                "items": [ITEM, {**ITEM, "alternative": True}, {**ITEM, "starts": None}],
            }
        ],
        "checks": [{"title": "Budget", "state": "passed", "details": []}],
    },
}


def test_a_calendar_has_each_day_and_each_hour_that_is_known() -> None:
    file = export(TRIP, "ics")
    events = icalendar.Calendar.from_ical(file.body).walk("VEVENT")
    assert [event["dtstart"].dt for event in events] == [
        date(2022, 3, 8),
        datetime(2022, 3, 8, 14, 50),
    ]
    assert events[1]["summary"] == ITEM["text"] and events[1]["dtend"].dt.hour == 16
    assert len({event["uid"] for event in events}) == 2
    assert export(TRIP, "ics") == file and file.filename == "trip-abc.ics"


def test_what_was_typed_or_told_by_tools_is_text_in_markdown() -> None:
    html = MarkdownIt("commonmark").render(export(TRIP, "md").body.decode())
    assert "&lt;b&gt;now&lt;/b&gt;, *today*" in html and "<b>" not in html and "<em>" not in html
    assert "<a " not in html and "120.50" in html and "the cheapest of call 2" in html


def test_json_is_the_trip() -> None:
    assert json.loads(export(TRIP, "json").body) == TRIP


def test_what_there_is_not_is_said() -> None:
    with pytest.raises(UserError, match="there are ics, md, json"):
        export(TRIP, "pdf")
    with pytest.raises(UserError, match="no plan to export"):
        export({**TRIP, "view": None}, "ics")
    assert export({**TRIP, "view": None}, "json").media_type == "application/json"
