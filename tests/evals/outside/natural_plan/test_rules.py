"""Natural Plan's scorers: the official readings with what they overlook, and the robust ones beside
them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tripwright.evals.outside.natural_plan import calendar as calendars
from tripwright.evals.outside.natural_plan import meeting as meetings
from tripwright.evals.outside.natural_plan import trip as trips

Example = dict[str, Any]


def test_the_golden_plans_are_right(trip: Example, meeting: Example, calendar: Example) -> None:
    for rules, example in ((trips, trip), (meetings, meeting), (calendars, calendar)):
        assert rules.official(example["pred_5shot_pro"], example) and rules.robust(
            example["pred_5shot_pro"], example
        )
        assert not rules.official("", example) and not rules.robust("", example)


def test_a_trip_is_read_line_by_line(trip: Example) -> None:
    assert trips.stays(trip["golden_plan"].split("\n")) == [
        ("Florence", 5),
        ("Barcelona", 2),
        ("Helsinki", 9),
    ]
    assert trips.stays(["**Day 1-5:** Florence"]) == []  # no flight
    assert trips.stays(["**Day 5:** Fly from Florence to Rome."]) == []  # no span of days
    other = trip["golden_plan"].replace("Day 5:", "Day 4:")
    assert trips.stays(other.split("\n"))[:2] == [("Florence", 4), ("Barcelona", 3)]
    assert not trips.official(other, trip) and not trips.robust(other, trip)


def test_a_draft_in_a_thought_breaks_a_right_trip_officially(trip: Example) -> None:
    thought = (
        "<think>\nMaybe Day 3: fly from Florence to Helsinki.\n</think>\n" + trip["golden_plan"]
    )
    assert not trips.official(thought, trip)
    assert trips.robust(thought, trip)
    assert trips.robust(thought.removeprefix("<think>"), trip)  # the template opened the thought
    # it never ended: nothing was answered
    assert not trips.robust(thought.replace("</think>", ""), trip)


def test_a_trip_of_other_plans(trip: Example) -> None:
    golden = trip["golden_plan"]
    wrong = golden.replace("Barcelona", "Porto")
    assert trips.official(f"{golden}\n\nOr:\n{wrong}", trip)  # the parse ends on day 14
    assert not trips.robust(f"{golden}\n\nOr:\n{wrong}", trip)
    assert not trips.official(f"{wrong}\n\nNo:\n{golden}", trip)
    assert trips.robust(f"{wrong}\n\nNo:\n{golden}", trip)
    # what is no plan does not count
    assert trips.robust(f"{golden}\n\nThe European cities for 14 days are lovely.", trip)


def test_cities_after_the_golden_ones_count_in_robust_rules_only(trip: Example) -> None:
    longer = (
        trip["golden_plan"].replace("for 14 days", "in 20 days")
        + "\n**Day 14:** Fly from Helsinki to Oslo.\n**Day 14-20:** Oslo."
    )
    assert trips.stays(longer.split("\n")) == [
        ("Florence", 5),
        ("Barcelona", 2),
        ("Helsinki", 9),
        ("Oslo", 7),
    ]
    assert trips.official(longer, trip)
    trip["durations"] = "5**2**8"  # so day 14 is not the last
    assert not trips.robust(longer, trip)


@pytest.mark.parametrize(
    ("more", "right"),
    [
        ("**Day 14:** Fly from Helsinki to Oslo.\n**Day 14-17:** Visit Oslo.", False),
        ("**Day 14:** Fly from Helsinki to Oslo.", False),
        ("**Day 14-17:** Visit Oslo.", False),
        # repeated, not added
        ("In short: Day 5-6 is Barcelona, after Day 5 from Florence to Barcelona.", True),
        ("Flights take 2-3 hours.", True),
    ],
)
def test_what_follows_the_last_day_adds_no_city_in_robust_rules(
    trip: Example, more: str, right: bool
) -> None:
    longer = f"{trip['golden_plan']}\n{more}"
    assert trips.official(longer, trip)
    assert trips.robust(longer, trip) is right


@pytest.mark.parametrize(
    ("line", "flight"),
    [
        ("Day 1: from A to B. Day 2: from C to D", ("2", "C", "D")),
        ("Day 1: from A to B. Day 2", ("1", "A", "B")),
        ("Day 1from from to to", ("1", "from", "to")),
        ("Day 1 from A to from C to D", ("1", "C", "D")),
        ("from A to B on Day 1", None),
        ("Day one from A to B", None),
        ("Day 1", None),
    ],
)
def test_a_line_names_its_last_flight(line: str, flight: tuple[str, str, str] | None) -> None:
    published = re.findall(r".*Day (\d+).*from (\w+) to (\w+)", line)
    assert (published[0] if published else None) == flight
    last = f"Day {flight[0]}-9" if flight else "Day 1-9"
    stays = trips.stays([line, last])
    assert [city for city, _ in stays] == (list(flight[1:]) if flight else [])


@pytest.mark.parametrize(
    "said",
    [
        "Day 1 from to " * 3000,
        "Day 1 from A to B " * 3000,
        "1" * 100_000,
        "x" * 100_000,
        "<think>" * 20_000,
        "Day 1 from A to ",
    ],
)
def test_an_answer_that_loops_is_read_in_no_time(
    trip: Example, calendar: Example, said: str
) -> None:
    """With patterns that look at every pair of places in it this would take from half a minute to
    days."""
    for rules, example in ((trips, trip), (calendars, calendar)):
        assert not rules.official(said, example) and not rules.robust(said, example)


def test_numbers_that_python_does_not_read(trip: Example) -> None:
    endless = "Day " + "1" * 5000 + ": Fly from Florence to Oslo.\nDay 1-5"
    with pytest.raises(ValueError):
        trips.official(endless, trip)
    assert not trips.robust(endless, trip)


def say(*steps: str) -> str:
    return "SOLUTION:" + " ".join(steps)


def test_a_meeting_is_checked_by_a_clock_of_its_own(meeting: Example) -> None:
    start, way, wait, meet = meeting["golden_plan"]
    assert meetings.official(
        say(
            start,
            way.replace("9:07AM", "11:00AM"),
            wait,
            meet.replace("from 3:45PM", "from 1:00PM"),
        ),
        meeting,
    )
    # the word SOLUTION is not needed
    assert meetings.official(f"{start} {way} {wait} {meet}", meeting)
    assert not meetings.official(say(start, way, meet), meeting)  # James is not there at 9:07
    assert not meetings.official(say(start, wait, meet), meeting)  # nobody is at Russian Hill
    # the clock stands still
    assert not meetings.official(say(start, way, wait, wait, meet), meeting)
    # an unknown step ends the walk
    assert not meetings.official(say("First of all.", start, way, wait, meet), meeting)
    late = "You wait until 6:00PM."
    # 75 minutes do not fit any more
    assert not meetings.official(say(start, way, late, meet), meeting)


def test_what_ends_the_official_script_ends_the_walk_in_robust_rules(meeting: Example) -> None:
    start, way, wait, meet = meeting["golden_plan"]
    nowhere, nobody, broken = (
        "You travel to Atlantis in 7 minutes.",
        "You meet Zoe for 10 minutes.",
        "You travel in 7 minutes.",
    )
    for step, error in ((nowhere, KeyError), (nobody, KeyError), (broken, IndexError)):
        with pytest.raises(error):
            meetings.official(say(start, step), meeting)
        with pytest.raises(error):
            meetings.official(say(start, way, wait, meet, step), meeting)
        assert not meetings.robust(say(start, step), meeting)
        assert meetings.robust(say(start, way, wait, meet, step), meeting)


def test_words_after_the_last_meeting_do_not_matter(meeting: Example) -> None:
    for more in (" I hope this helps! Enjoy.", " You meet James for 75 minutes."):
        assert meetings.official(meeting["pred_5shot_pro"] + more, meeting)
        assert meetings.robust(meeting["pred_5shot_pro"] + more, meeting)


def test_the_first_solution_counts_officially_and_the_last_in_robust_rules(
    meeting: Example,
) -> None:
    right, wrong = meeting["pred_5shot_pro"], "SOLUTION: You start at Russian Hill at 9:00AM."
    assert not meetings.official(f"{wrong} No. {right}", meeting)
    assert meetings.robust(f"{wrong} No. {right}", meeting)
    assert meetings.official(f"{right} No. {wrong}", meeting)
    assert not meetings.robust(f"{right} No. {wrong}", meeting)
    assert meetings.robust(
        f"<think>{wrong}</think>Here is the plan: {right.removeprefix('SOLUTION:')}", meeting
    )
    assert not meetings.robust("SOLUTION: I cannot.", meeting)


def test_the_first_time_of_day_counts_officially(calendar: Example) -> None:
    final = calendar["pred_5shot_pro"]
    early = f"Maybe Tuesday, 9:00 - 9:30 works. {final}"
    assert calendars.first_slot(early) == ("Tuesday", 9.0, 9.5)
    assert not calendars.official(early, calendar) and calendars.robust(early, calendar)
    assert calendars.official(f"{final} Or Tuesday, 9:00 - 9:30.", calendar)
    assert not calendars.robust(f"{final} Or Tuesday, 9:00 - 9:30.", calendar)


def test_a_word_that_is_no_day_is_one_officially(calendar: Example) -> None:
    assert calendars.first_slot("At noon, 12:00 - 13:00") == ("noon", 12.0, 13.0)
    assert calendars.last_slot("At noon, 12:00 - 13:00") is None


def test_minutes_other_than_thirty_are_none_officially(calendar: Example) -> None:
    assert calendars.first_slot("Monday, 14:45 - 15:15") == ("Monday", 14.0, 15.0)
    calendar["golden_plan"] = "Here is the proposed time: Tuesday, 14:00 - 15:00"
    assert calendars.official("Tuesday, 14:45 - 15:15", calendar)
    assert not calendars.robust("Tuesday, 14:45 - 15:15", calendar)
    assert calendars.last_slot("Monday, 14:45 - 15:15") == ("Monday", 14.75, 15.25)


@pytest.mark.parametrize(
    "said", ["**Tuesday**, 14:30 - 15:30", "tuesday, 14:30–15:30", "Tuesday from 14:30 to 15:30"]
)
def test_other_ways_to_write_a_time(calendar: Example, said: str) -> None:
    assert not calendars.official(said, calendar)
    assert calendars.robust(said, calendar)
