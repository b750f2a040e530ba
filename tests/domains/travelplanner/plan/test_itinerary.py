"""Itineraries in words: our own come back as they were, the layouts of row S's agents are read, and
nothing is guessed or dropped."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.made import proven, trip
from tripwright.domains.travelplanner.plan.itinerary import (
    OWN_LABELS,
    parse_itinerary,
    plan_of_text,
    render_itinerary,
)
from tripwright.domains.travelplanner.plan.plan import OFFICIAL_FIELDS
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.world.generator import build_world

FIELDS = ("days", *OFFICIAL_FIELDS)


def query() -> Query:
    return trip(org="St. Home", budget=900)


def day(number: int, city: str, travel: str = "-", **said: str) -> dict[str, Any]:
    fields = {"days": number, "current_city": city, "transportation": travel}
    return dict.fromkeys(FIELDS, "-") | fields | said


PLAN = [
    day(1, "from St. Home to Aston", "Flight Number: F12, from St. Home to Aston, Departure Time: 08:00, Arrival Time: 09:00",
        dinner="Grill A, Aston", accommodation="Inn, the old one, Aston"),
    day(2, "Aston", breakfast="Bakery, Aston", attraction="Old Tower, Aston;Lake, Aston;", lunch="BMG - All Day Dining, Aston",
        dinner="Dal (West), Aston", accommodation="Inn, the old one, Aston"),
    day(3, "from Aston to St. Home", "Self-driving, from Aston to St. Home, duration: 5h 40m, cost: 1030"),
]  # fmt: skip


# ---- our own rendering


def test_generated_expert_plans_come_back(tmp_path):
    world = build_world(tmp_path / "w", "nano", 5)
    requests = list(make_queries(world, 30, 3, Mix(days=(3, 5, 7))))
    for request in requests:
        plan = proven(request, world)
        text = render_itinerary(request, plan)
        assert "exactly" not in text
        assert parse_itinerary(text).plan == plan


def test_gold_plans_come_back(travelplanner):
    lines = (travelplanner / "queries" / "train.jsonl").read_text().splitlines()
    requests = [Query.model_validate_json(line) for line in lines]
    gold = [(request.model_extra or {})["annotated_plan"] for request in requests]
    plans = [[day for day in plan if day] for plan in gold]
    texts = [render_itinerary(*pair) for pair in zip(requests, plans, strict=True)]
    assert [parse_itinerary(text).plan for text in texts] == plans and len(plans) == 45
    assert sum(text.count("exactly") for text in texts) < 10  # the readable form is the rule


ODD = st.one_of(
    st.text(max_size=30),
    st.sampled_from(PLAN).flatmap(lambda known: st.sampled_from([str(known[key]) for key in FIELDS[1:]])),
    st.sampled_from([
        "", " ", "A, B", "A,B", "[x], Y", "**x**, Y", "A\nB, Y", "3 nights Loft, Y", "A in B, Y",
        'a "b" \\, Y', "x | y, Y", "A;B, Y", "Lake, Y;", ";;",
        "from A to B", "from A to B to C", "Train, from A to B", "Taxi, from A to B, cost: 1,000", "Flight Number: , from A to B", "-, Y",
        "none", "rest, Y", "Name, city", "Name, Reno (Nevada)", "Name, Reno(Nevada)", "exactly \"x\"", "Lake, Y;Lake, Y;", "A, Y;B, X;C",
        "<answer>", "</answer>", "<answer>, </answer>", "from <answer> to B",
    ]),
)  # fmt: skip


@settings(max_examples=250, deadline=None)
@given(st.lists(st.tuples(*[ODD] * 7), min_size=1, max_size=4))
def test_any_plan_of_texts_comes_back(rows):
    plan = [
        dict(zip(FIELDS, (number, *row), strict=True)) for number, row in enumerate(rows, start=1)
    ]
    parsed = parse_itinerary(render_itinerary(query(), plan))
    assert parsed.problem is None and parsed.plan == plan


# ---- the one layout

TEXT = """St. Home to Aston, 3 days, 2022-03-01 to 2022-03-03, 2 people, budget $900

Day 1 (2022-03-01): from St. Home to Aston
- Travel: Flight [F12] from St. Home to Aston | Departure: 08:00 | Arrival: 09:00
- Dinner: [Grill A] in Aston
- Stay: [Inn, the old one] in Aston

Day 2 (2022-03-02): in Aston
- Breakfast: [Bakery] in Aston
- See: [Old Tower] in Aston
- See: [Lake] in Aston
- Lunch: [BMG - All Day Dining] in Aston
- Dinner: [Dal (West)] in Aston
- Stay: [Inn, the old one] in Aston

Day 3 (2022-03-03): from Aston to St. Home
- Travel: Self-driving from Aston to St. Home | Duration: 5h 40m | Cost: $1030
"""


def test_the_layout_is_written_and_read():
    assert render_itinerary(query(), PLAN) == TEXT
    assert parse_itinerary(TEXT).plan == PLAN
    answer = f"<think> I have all I need. </think>\n<answer>\n{TEXT}</answer>"
    assert parse_itinerary(answer).plan == PLAN


def test_dates_blank_lines_order_and_a_title_do_not_matter():
    lines = [line for line in TEXT.split("\n")[1:] if line]
    first, travel, dinner, *rest = lines
    text = "\n".join([first.replace(" (2022-03-01)", ""), dinner, f"  {travel} ", *rest])
    assert parse_itinerary(text.replace("\n", "\r\n")).plan == PLAN


def test_a_mode_that_nobody_sells_stays_as_written():
    """So that the judge sees it."""
    for written, official in (
        ("Train from A to B", "Train, from A to B"),
        ("Flight [] from A to B", "Flight Number: , from A to B"),
    ):
        plan = parse_itinerary(f"Day 1: in A\n- Travel: {written}").plan
        assert plan is not None and plan[0]["transportation"] == official


DAY = "line 1: expected 'Day 1: in City' or 'Day 1: from City to City'; found 'Day 1: "
TRAVEL = "line 2: expected '- Travel: Flight [F12] from A to B | Departure: 08:00"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Sorry, no plan is possible.", "no line begins a day: expected 'Day 1: in City'"),
        ("<answer>Day 1", "not complete"),
        ("Day 2: in Aston", "line 1: expected day 1; found 'Day 2: in Aston'"),
        ("Day 1: in Aston\nDay 3: in Aston", "line 2: expected day 2; found 'Day 3"),
        ("Day 1: Explore Aston", f"{DAY}Explore Aston'"),
        ("Day 1: from A to B to C", f"{DAY}from A to B to C'"),
        ("Day 1: in A\n... [Days 2-3 omitted]", "line 2: expected a day, or '- Label: …' with one"),
        ("Day 1: in A\n- Evening: [B] in A", "labels Travel, Breakfast, See, Lunch, Dinner, Stay"),
        ("Day 1: in A\n- Lunch: **B**", "line 2: expected '- Lunch: [Name] in City'; found"),
        ("Day 1: in A\n- Lunch: [B] in A\n- Lunch: [C] in A", "line 3: expected one line"),
        ('Day 1: in A\n- See: exactly "x"\n- See: [C] in A', "expected one line for See"),
        ("Day 1: in A\n- Travel: Taxi to B", TRAVEL),
        ("Day 1: in A\n- Travel: Taxi from A to B | Cost: $3 | Duration: 1h", TRAVEL),
        ("Day 1: in A\n- Travel: Flight [F1] from A to B | Cost: $3", TRAVEL),
        (f"Day 1: in A\n- Lunch: {'x' * 20_000}", "is not read (at most"),
    ],
)
def test_anything_else_is_a_problem_that_says_what_was_expected(text, told):
    parsed = parse_itinerary(text)
    assert parsed.plan is None and not parsed.unscored
    problem = parsed.problem or ""
    assert told in problem and "\n" not in problem and len(problem) < 300


PIECES = [
    "Day 1", "Day 2", ": ", "in ", "from ", " to ", "- ", "[", "]", " | ", "Lunch", "Travel", "Flight [", "Taxi ", "$5", "Cost", "\n", "Aston",
    '"', "exactly ",
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=40))
def test_any_text_gives_a_plan_or_a_problem(pieces):
    parsed = parse_itinerary("".join(pieces))
    assert (parsed.plan is None) != (parsed.problem is None)
    for number, each in enumerate(parsed.plan or [], start=1):
        assert each["days"] == number and tuple(each) == FIELDS
        assert all(isinstance(each[key], str) for key in FIELDS[1:])


def own_layout(plan: list[dict[str, Any]]) -> str:
    """As TravelPlanner's prompts show a plan."""
    days = (
        "\n".join(
            [f"Day {day['days']}:", *(f"{label}: {day[key]}" for label, key in OWN_LABELS.items())]
        )
        for day in plan
    )
    return "Travel Plan:\n" + "\n\n".join(days)


@pytest.mark.parametrize(
    "written",
    [
        json.dumps,
        repr,
        lambda plan: f"```json\n{json.dumps(plan, indent=1)}\n```",
        lambda plan: f"Here is the plan.\n```python\n{plan!r}\n```\nEnjoy!",
        own_layout,
        lambda plan: f"<answer>{json.dumps(plan)}</answer>",
        lambda plan: render_itinerary(query(), plan),
    ],
)
def test_layouts_that_files_of_plans_have(written):
    assert plan_of_text(written(PLAN)).plan == PLAN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A lovely trip.",
        "[" * 100_000,
        "[1, 2",
        "[print(1)]",
        own_layout(PLAN).replace("Day 2:", "Day 3:"),
        own_layout(PLAN).replace("Lunch: -", "Breakfast: -", 1),
        own_layout(PLAN) + "\nEnjoy!",
    ],
)
def test_a_text_in_no_layout_is_a_problem(text):
    read = plan_of_text(text)
    assert read.plan is None and read.problem
