"""Natural Plan's exact match: the published readings, with what they overlook."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tripwright.evals.outside.natural_plan import (
    calendar_is_right,
    first_slot,
    meeting_is_right,
    stays,
    trip_is_right,
)

TRIP_PLAN = """Here is the trip plan for visiting the 3 European cities for 14 days:

**Day 1-5:** Arriving in Florence and visiting Florence for 5 days.
**Day 5:** Fly from Florence to Barcelona.
**Day 5-6:** Visit Barcelona for 2 days.
**Day 6:** Fly from Barcelona to Helsinki.
**Day 6-14:** Visit Helsinki for 9 days."""
TRIP = {"cities": "Florence**Barcelona**Helsinki", "durations": "5**2**9"}
STEPS = [
    "You start at Russian Hill at 9:00AM.",
    "You travel to Marina District in 7 minutes and arrive at 9:07AM.",
    "You wait until 3:45PM.",
    "You meet James for 75 minutes from 3:45PM to 5:00PM.",
]
MEETING: dict[str, Any] = {
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
    "golden_plan": STEPS,
}
CALENDAR = {"golden_plan": "Here is the proposed time: Tuesday, 14:30 - 15:30 "}


def met(*steps: str) -> bool:
    return meeting_is_right("SOLUTION:" + " ".join(steps), MEETING)


def test_the_golden_plans_are_right_and_silence_is_not() -> None:
    assert trip_is_right(TRIP_PLAN, TRIP) and not trip_is_right("", TRIP)
    assert met(*STEPS) and not meeting_is_right("", MEETING)
    assert calendar_is_right(CALENDAR["golden_plan"], CALENDAR)
    assert not calendar_is_right("", CALENDAR)


def test_a_trip_is_read_line_by_line() -> None:
    assert stays(TRIP_PLAN) == [("Florence", 5), ("Barcelona", 2), ("Helsinki", 9)]
    assert stays("**Day 1-5:** Florence") == []  # no flight
    assert stays("**Day 5:** Fly from Florence to Rome.") == []  # no span of days
    assert not trip_is_right(TRIP_PLAN.replace("Day 5:", "Day 4:"), TRIP)


def test_a_flight_in_a_thought_counts() -> None:
    assert not trip_is_right(f"<think>Day 3: from Florence to Oslo</think>\n{TRIP_PLAN}", TRIP)


def test_nothing_counts_after_the_last_day_and_nothing_after_the_golden_cities() -> None:
    wrong = TRIP_PLAN.replace("Barcelona", "Porto")
    assert trip_is_right(f"{TRIP_PLAN}\n\nOr:\n{wrong}", TRIP)
    assert not trip_is_right(f"{wrong}\n\nNo:\n{TRIP_PLAN}", TRIP)
    longer = TRIP_PLAN.replace("for 14 days", "in 20 days")
    longer += "\n**Day 14:** Fly from Helsinki to Oslo.\n**Day 14-20:** Oslo."
    assert trip_is_right(longer, TRIP)


@pytest.mark.parametrize(
    "line",
    [
        "Day 1: from A to B. Day 2: from C to D",
        "Day 1: from A to B. Day 2",
        "Day 1from from to to",
        "Day 1 from A to from C to D",
        "from A to B on Day 1",
        "Day one from A to B",
        "Day 1",
    ],
)
def test_a_lines_flight_is_the_published_patterns(line: str) -> None:
    published = re.findall(r".*Day (\d+).*from (\w+) to (\w+)", line)
    cities = [city for city, _ in stays(f"{line}\nDay 1-9")]
    assert cities == (list(published[0][1:]) if published else [])


@pytest.mark.parametrize(
    "text", ["Day 1 from to " * 3000, "Day 1 from A to B " * 3000, "1" * 10**5]
)
def test_an_answer_that_loops_is_read_in_no_time(text: str) -> None:
    """With the published pattern this takes from half a minute to days."""
    assert not trip_is_right(text, TRIP) and not calendar_is_right(text, CALENDAR)


def test_a_meeting_is_checked_by_a_clock_of_its_own() -> None:
    start, way, wait, meet = STEPS
    assert met(start, way.replace("9:07AM", "11:00AM"), wait, meet.replace("3:45PM", "1:00PM"))
    assert meeting_is_right(" ".join(STEPS), MEETING)  # the word SOLUTION is not needed
    assert not met(start, way, meet)  # James is not there at 9:07
    assert not met(start, wait, meet)  # nobody is at Russian Hill
    assert not met(start, way, wait, wait, meet)  # the clock stands still
    assert not met("First of all.", *STEPS)  # an unknown step ends the plan
    assert not met(start, way, "You wait until 6:00PM.", meet)  # 75 minutes do not fit any more
    assert met(*STEPS, "I hope this helps! Enjoy.", "You meet James for 75 minutes.")


def test_what_ends_the_published_script_is_raised() -> None:
    for step, error in (
        ("You travel to Atlantis in 7 minutes.", KeyError),
        ("You meet Zoe for 10 minutes.", KeyError),
        ("You travel in 7 minutes.", IndexError),
    ):
        with pytest.raises(error):
            met(STEPS[0], step)


def test_the_first_time_counts_and_minutes_other_than_thirty_are_none() -> None:
    golden = CALENDAR["golden_plan"]
    assert first_slot(f"Maybe Monday, 9:00 - 9:30 works. {golden}") == ("Monday", 9.0, 9.5)
    assert calendar_is_right(f"{golden} Or Monday, 9:00 - 9:30.", CALENDAR)
    assert first_slot("At noon, 12:00 - 13:00") == ("noon", 12.0, 13.0)
    assert first_slot("Monday, 14:45 - 15:15") == ("Monday", 14.0, 15.0)
    assert not calendar_is_right("**Tuesday**, 14:30 - 15:30", CALENDAR)
