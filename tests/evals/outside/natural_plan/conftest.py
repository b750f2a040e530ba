"""Examples in the published format, made for these tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TRIP_PLAN = """Here is the trip plan for visiting the 3 European cities for 14 days:

**Day 1-5:** Arriving in Florence and visiting Florence for 5 days.
**Day 5:** Fly from Florence to Barcelona.
**Day 5-6:** Visit Barcelona for 2 days.
**Day 6:** Fly from Barcelona to Helsinki.
**Day 6-14:** Visit Helsinki for 9 days."""
MEETING_STEPS = [
    "You start at Russian Hill at 9:00AM.",
    "You travel to Marina District in 7 minutes and arrive at 9:07AM.",
    "You wait until 3:45PM.",
    "You meet James for 75 minutes from 3:45PM to 5:00PM.",
]


@pytest.fixture
def trip() -> dict[str, Any]:
    return {
        "num_cities": "3",
        "cities": "Florence**Barcelona**Helsinki",
        "durations": "5**2**9",
        "prompt_0shot": "You plan to visit 3 European cities for 14 days in total. …",
        "prompt_5shot": "… TASK: You plan to visit 3 European cities for 14 days in total. …",
        "golden_plan": TRIP_PLAN,
        "pred_5shot_pro": TRIP_PLAN,
    }


@pytest.fixture
def meeting() -> dict[str, Any]:
    return {
        "num_people": 2,
        "constraints": [
            ["Russian Hill", "9:00AM"],
            ["James", "Marina District", "3:45PM to 6:45PM", 75],
            ["Robert", "Sunset District", "8:00AM to 9:30AM", 15],
        ],
        "dist_matrix": {
            "Russian Hill": {"Marina District": 7, "Sunset District": 23},
            "Marina District": {"Russian Hill": 8, "Sunset District": 19},
            "Sunset District": {"Russian Hill": 24, "Marina District": 21},
        },
        "prompt_0shot": "You are visiting San Francisco. …",
        "prompt_5shot": "… TASK: You are visiting San Francisco. …",
        "golden_plan": MEETING_STEPS,
        "pred_5shot_pro": "SOLUTION:" + " ".join(MEETING_STEPS),
    }


@pytest.fixture
def calendar() -> dict[str, Any]:
    return {
        "num_people": "2",
        "num_days": "1",
        "duration": "1",
        "prompt_0shot": "Schedule a meeting for Ann and Bo. …",
        "prompt_5shot": "… TASK: Schedule a meeting for Ann and Bo. …",
        "golden_plan": "Here is the proposed time: Tuesday, 14:30 - 15:30 ",
        "pred_5shot_pro": "SOLUTION: Here is the proposed time: Tuesday, 14:30 - 15:30",
    }


@pytest.fixture
def data_file(tmp_path: Path) -> Callable[..., Path]:
    """data_file(example, …) → a file of these examples, under the keys e0, e1 and so on."""

    def write(*examples: Any, name: str = "data.json") -> Path:
        path = tmp_path / name
        path.write_text(
            json.dumps({f"e{number}": example for number, example in enumerate(examples)}),
            encoding="utf-8",
        )
        return path

    return write
