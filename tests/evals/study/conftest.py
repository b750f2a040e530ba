"""Transcripts of both kinds, made by hand, and a study of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tripwright.evals.study.dimensions import paper_dimensions
from tripwright.evals.study.folder import Study
from tripwright.evals.study.sample import make_study, sources
from tripwright.transcript import Rows, Segment, StopReason, ToolCall, Transcript

FLIGHTS = Rows(
    "FlightOffer",
    ("number", "depart_city", "departs_at", "price", "currency"),
    (
        ("TW 214", "Ashford", "2026-06-26T06:54", 123.0, "USD"),
        ("TW 38", "Ashford", "2026-06-26T09:10", 99.0, "USD"),
    ),
    about={"source": "closed world, 2026-06-20T09:30:00Z"},
    total=2,
)
ANSWER = """From Ashford to Berryton on 2026-06-26.

### Outbound recommendations (2026-06-26)
#### TW 38 flight (Ashford → Berryton)
- **Price**: 99 USD per person
- **Why**: the cheapest
- **Evidence**: [call 1, row 2]

### Risks and alternatives
- See [call 1, row 9].
"""


def errand(
    number: int,
    answer: str | None = ANSWER,
    seconds: float | None = 31.24,
    passes: bool = True,
    **more: Any,
) -> dict[str, Any]:
    """A line of transcripts as a run of travellers' requests (row D8) leaves it."""
    call = ToolCall(
        "flight_search",
        {"depart_city_name": "Ashford", "arrival_poi": ""},
        json.dumps(FLIGHTS.records()),
        rows=FLIGHTS,
    )
    segments = [
        Segment("system", "SYSTEM PROMPT"),
        Segment("assistant", "<think>A SECRET THOUGHT</think>", call=call),
        Segment("tool", f"<tool_response>{call.result}</tool_response>"),
    ]
    stop = StopReason.ANSWER if answer is not None else StopReason.MAX_TURNS
    transcript = Transcript(
        segments, stop, answer, usage={} if seconds is None else {"seconds": seconds}
    )
    request = {
        "id": f"r{number}",
        "query": f"I go from Ashford to Berryton, trip {number}.",
        "origin": "Ashford",
        "destination": "Berryton",
    }
    conclusion = "very_satisfied" if passes else "dissatisfied_logic"
    trajectory = {"conclusion": conclusion, "rubrics": {"logic": passes, "backup_plan": None}}
    turns = [{"call": 1, "conclusion": "satisfied"}] if passes else []
    verifier = {
        "name": "rules",
        "reward": float(passes),
        "trajectory": trajectory,
        "turns": turns,
        "turns_saved": 1 - len(turns),
    }
    whole = {
        "domain": "deeptravel",
        "request": {
            **request,
            "depart_date": "2026-06-26",
            "total_budget": 1200.0,
            "level": "hard",
        },
        "verdict": {"final": passes},
        "verifier": verifier,
    }
    return {"id": f"r{number}", "transcript": transcript.to_json(), **whole, **more}


def journey(number: int, final: bool = True) -> dict[str, Any]:
    """A line of transcripts as a run of TravelPlanner requests leaves it."""
    places = [{"name": "Kendale Inn", "price": 345}, {"name": "Talfall Rest", "price": 413}]
    call = ToolCall("search_accommodations", {"city": "Rowestow"}, json.dumps(places))
    answer = '[{"days": 1}]'
    transcript = Transcript(
        [Segment("assistant", "Stay.", call=call), Segment("tool", call.result)],
        StopReason.ANSWER,
        answer,
    )
    query = {
        "query": f"Plan trip {number} to Rowestow.",
        "org": "Wynon",
        "dest": "Rowestow",
        "days": 3,
        "date": ["2022-03-07", "2022-03-08", "2022-03-09"],
        "people_number": 2,
        "budget": 1530,
        "local_constraint": {"cuisine": ["Mexican", "Thai"], "room type": None},
        "level": "medium",
        "oracle": {"plan": "THE ORACLE'S PLAN"},
    }
    plan = [
        {
            "days": 1,
            "current_city": "from Wynon to Rowestow",
            "transportation": "-",
            "attraction": "Malmoor Trail, Rowestow;Old Pier;",
        }
    ]
    return {
        "id": f"q{number}",
        "domain": "travelplanner",
        "request": query,
        "world": "nano-7",
        "transcript": transcript.to_json(),
        "plan": plan,
        "verdict": {"final": final},
    }


@pytest.fixture
def run_folder(tmp_path: Path) -> Callable[..., Path]:
    """run_folder(name, lines) → a run with these transcripts."""

    def make(name: str, lines: list[dict[str, Any]]) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "transcripts.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in lines)
        )
        return folder

    return make


@pytest.fixture
def lines() -> dict[str, Callable[..., dict[str, Any]]]:
    return {"errand": errand, "journey": journey}


@pytest.fixture
def study(run_folder: Callable[..., Path], tmp_path: Path) -> Study:
    """Four requests answered by two runs."""
    good = run_folder("patient", [errand(n) for n in range(4)])
    bad = run_folder("hasty", [errand(n, passes=False, seconds=None) for n in range(4)])
    make_study(sources([good, bad]), tmp_path / "study", paper_dimensions(), seed=3)
    return Study.open(tmp_path / "study")
