"""Itineraries in words: our own come back as they were, the layouts of row S's agents are read, and
nothing is guessed or dropped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tripwright.domains.travelplanner.plan.itinerary import parse_itinerary, render_itinerary
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import PlaceKind, to_official
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.world.generator.build import build_world

FIELDS = (
    "days",
    "current_city",
    "transportation",
    "breakfast",
    "attraction",
    "lunch",
    "dinner",
    "accommodation",
)


def query(days: int = 3, dest: str = "Aston") -> Query:
    dates = [f"2022-03-{day:02d}" for day in range(1, days + 1)]
    return Query.model_validate(
        {
            "org": "St. Home",
            "dest": dest,
            "days": days,
            "visiting_city_number": 1,
            "date": dates,
            "people_number": 2,
            "budget": 900,
            "query": "",
        }
    )


def day(
    number: int,
    city: str,
    travel: str = "-",
    b: str = "-",
    see: str = "-",
    lu: str = "-",
    di: str = "-",
    stay: str = "-",
) -> dict[str, Any]:
    return dict(zip(FIELDS, (number, city, travel, b, see, lu, di, stay), strict=True))


PLAN = [
    day(1, "from St. Home to Aston", "Flight Number: F12, from St. Home to Aston, Departure Time: 08:00, Arrival Time: 09:00",
        di="Grill A, Aston", stay="Inn, the old one, Aston"),
    day(2, "Aston", b="Bakery, Aston", see="Old Tower, Aston;Lake, Aston;", lu="BMG - All Day Dining, Aston", di="Dal (West), Aston",
        stay="Inn, the old one, Aston"),
    day(3, "from Aston to St. Home", "Self-driving, from Aston to St. Home, duration: 5h 40m, cost: 1030"),
]  # fmt: skip


# ---- our own rendering


def test_generated_expert_plans_come_back(tmp_path: Path) -> None:
    world = build_world(tmp_path / "w", "nano", 5)
    requests = list(make_queries(world, 30, 3, Mix(days=(3, 5, 7))))
    for request in requests:
        days = parse_days((request.model_extra or {})["oracle"]["plan"]).days
        assert days is not None
        plan = to_official(days, city_lookup(world))
        text = render_itinerary(request, plan)
        assert "exactly" not in text
        assert (
            parse_itinerary(text).plan
            == parse_itinerary(text, request, city_lookup(world)).plan
            == plan
        )


def test_gold_plans_come_back(travelplanner: Path) -> None:
    records = [
        json.loads(line)
        for line in (travelplanner / "queries" / "train.jsonl").read_text().splitlines()
    ]
    plans = [[day for day in record["annotated_plan"] if day] for record in records]
    texts = [
        render_itinerary(Query.model_validate(record), record["annotated_plan"])
        for record in records
    ]
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
def test_any_plan_of_texts_comes_back(rows: list[tuple[str, ...]]) -> None:
    plan = [
        dict(zip(FIELDS, (number, *row), strict=True)) for number, row in enumerate(rows, start=1)
    ]
    parsed = parse_itinerary(render_itinerary(query(), plan), query())
    assert parsed.problem is None and parsed.plan == plan


def test_what_the_official_format_cannot_hold_is_not_written() -> None:
    for plan in (
        [],
        [{}],
        [{**PLAN[0], "lunch": None}],
        [{**PLAN[0], "days": 2}],
        [{"days": 1}],
        [{}, PLAN[1]],
        ["day 1"],
    ):
        with pytest.raises(ValueError):
            render_itinerary(query(), plan)  # type: ignore[arg-type]


# ---- layouts of agents

BULLETS = """<think> I have all I need. </think>
<answer>
**Trip: St. Home to Aston (March 1-3, 2022)**
**Budget: \\$900** | Travelers: 2
**Day 1: March 1 - Travel to Aston**
- Morning/Afternoon: **Flight** from **St. Home** to **Aston** [F12] | **$542** | Departure: 08:00 | Arrival: 09:00
- Dinner: At **Grill A** | Avg Cost: **\\$14/person** | Cuisines: **Tea**, French
- Evening: Check into accommodation - [**Inn, the old one**] | **\\$64/night** | Minimum Nights: 1 | **Entire home/apt**

### Day 2: March 2 – Explore Aston
* Breakfast: At **Bakery** | Avg Cost: **$15**
* Morning Attraction: Visit **Old Tower** | Contact: (713) 526-2183
* Lunch: At **BMG - All Day Dining** (Avg Cost: **$15**)
* Afternoon Attraction: **Lake**
* Dinner: **Dal (West)** (Mexican). Avg. Cost: **$84** per person × 2 = **$168**. Rating: 4.6.
---
Day 3: March 3 (Return to St. Home)
- **Morning: Drive** from **Aston** to **St. Home** (5h 40m, **$1,030**)

**Key Highlights**
- Total Budget: **$900**
- Lunch: all local
Day 1: $600
</answer>"""

SENTENCES = """A trip for two
Day 1: March 1 (Travel from St. Home to Aston)
- Morning: Depart from **St. Home** on **Flight** [F12] at 08:00, arriving in **Aston** at 09:00. Cost: **$137** per person × 2 = **$274**
- Evening: Check into accommodation: [**Inn, the old one**] (Private room, Rules: No pets). Cost: **$127** per night × 2 nights = **$254**
- Dinner: **Grill A** (French, Mediterranean). Avg. Cost: **$84** per person.
Day 2: March 2 (Full day in Aston)
- 08:30 - Breakfast at [Bakery](https://bakery.example/x)
- Lunch: “BMG - All Day Dining”. Avg. Cost: $23
- Afternoon: Visit **Old Tower**, **Lake** (Outdoor). Address: 100 Wharf.
- Evening: dinner at **Dal (West)**
Day 3: March 3 (Travel from Aston to St. Home)
- Morning: Check out from [Inn, the old one] by 11:00 AM.
- Drive: From Aston to St. Home. Duration: 5h 40m. Cost: $1,030.
Cost Breakdown:
- All: $1"""

TABLE = """| Day | City | Transportation | Breakfast | Attractions | Lunch | Dinner | Accommodation | Cost |
|---|---|:---:|---|---|---|---|---|---|
| 1 | St. Home → Aston | Flight F12 from St. Home to Aston, 08:00 - 09:00 | - | - | on the road | Grill A | Inn, the old one | $1 |
| 2 | Aston | none | Bakery ($15) | Old Tower; Lake | BMG - All Day Dining, $15 | Dal (West), Aston | Inn, the old one, Aston | $2 |
| 3 | from Aston to St. Home | Self-driving, Aston → St. Home, 5h 40m, $1030 | N/A | | | | - | |
"""

PLAIN = """Day 1 (2022-03-01): St. Home to Aston
1. **Flight:** F12, St. Home → Aston, 08:00–09:00
2. Dinner: Grill A, Aston
3. Accommodation: Inn, the old one, Aston (2 nights)
Day 2
Breakfast: Bakery - $15
**Attractions:**
  • Old Tower
  • **Lake** in Aston
Lunch: BMG - All Day Dining | $15
🍽 **Dinner**: Dal (West), Aston
Day 3 - Departure
Travel: self-driving from Aston to St. Home | Duration: 5h 40m | Cost: $1030
Estimated total: $1,100
Enjoy your trip!"""


@pytest.mark.parametrize(
    "text", [BULLETS, SENTENCES, TABLE, PLAIN], ids=["bullets", "sentences", "table", "plain"]
)
def test_a_layout_is_read(text: str) -> None:
    parsed = parse_itinerary(text, query())
    assert parsed.problem is None
    assert parsed.plan == PLAN


def test_a_journey_over_roads_and_cities() -> None:
    text = """Day 1: Travel to Aston
- Morning: **Taxi** from **St. Home** to **Aston** | Cost: **$431** | Duration: 4h
- Afternoon: Check into [**Loft**]
Day 2: Explore Aston
- Attraction: Zoo
Day 3: Travel to Brook
- Breakfast: Early Cafe
- Take a taxi from Aston to Brook (2 hours 31 mins, 266 km, $266)
- Lunch: Late Cafe
Day 4: Brook
- Attraction: Pier"""
    plan = parse_itinerary(text, query(4, "Westland")).plan
    assert plan is not None
    assert [each["current_city"] for each in plan] == [
        "from St. Home to Aston",
        "Aston",
        "from Aston to Brook",
        "Brook",
    ]
    assert (
        plan[2]["transportation"]
        == "Taxi, from Aston to Brook, duration: 2 hours 31 mins, distance: 266 km, cost: 266"
    )
    assert (plan[2]["breakfast"], plan[2]["lunch"]) == ("Early Cafe, Aston", "Late Cafe, Brook")
    # leaving ends the stay
    assert [each["accommodation"] for each in plan] == ["Loft, Aston", "Loft, Aston", "-", "-"]


def test_a_mode_that_nobody_sells_stays_as_written() -> None:
    plan = parse_itinerary("Day 1\n- Travel: Train from A to B", query()).plan
    assert plan is not None and plan[0]["transportation"] == "Train, from A to B"
    plan = parse_itinerary("Day 1\n- Travel: Flight from A to B", query()).plan
    assert plan is not None and plan[0]["transportation"] == "Flight Number: , from A to B"


def test_a_world_is_asked_and_an_unknown_name_stays() -> None:
    asked = []

    def city_of(kind: PlaceKind, name: str, cities: Sequence[str]) -> str | None:
        asked.append((kind, name, list(cities)))
        return "St. Home" if name == "Station Grill" else None

    lines = [
        "Day 1",
        "- Breakfast: Nowhere",
        "- Taxi from St. Home to Aston",
        "- Lunch: Station Grill",
        "- Dinner: Nowhere else",
    ]
    plan = parse_itinerary("\n".join([*lines, "- Visit **Lake** in Brook"]), query(), city_of).plan
    assert plan is not None
    meals = [plan[0][key] for key in ("breakfast", "lunch", "dinner", "attraction")]
    assert meals == [
        "Nowhere, St. Home",
        "Station Grill, St. Home",
        "Nowhere else, Aston",
        "Lake, Brook;",
    ]
    assert asked[0] == ("restaurant", "Nowhere", ["St. Home", "Aston"]) and asked[1][2] == [
        "Aston",
        "St. Home",
    ]


# ---- never a guess


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Sorry, no plan is possible.", "no line begins a day"),
        ("", "no line begins a day"),
        ("<answer>Day 1", "not complete"),
        ("Day 2: in Aston", "expected day 1, found day 2: 'Day 2: in Aston'"),
        (
            "Day 1: in Aston\n... [Days 2-3 omitted]",
            "line 2 is not understood: '... [Days 2-3 omitted]'",
        ),
        ("Day 1: in Aston\nDay 3: in Aston", "expected day 2, found day 3"),
        (
            "Day 1: in Aston\n- Lunch: **A**\n- Lunch: **B**",
            "day 1 has a second line for lunch: '- Lunch: **B**'",
        ),
        ("Day 1: in Aston\n- Lunch: **A** or **B**", "goes on after the name with 'or **B**'"),
        ("Day 1: in Aston\n- Lunch: **A**, **B**", "names more than one place"),
        ("Day 1: in Aston\n- Lunch: **A**. Then visit **B**.", "names more than one place"),
        (
            "Day 1: in Aston\n- Lunch: A costs only $ 5 and is nice: go",
            "does not show where the name of the place ends",
        ),
        ("Day 1: in Aston\n- Lunch/Dinner: **A**", "more than one meal"),
        ("Day 1: in Aston\n- Surprise: **A**", "unknown label 'Surprise'"),
        ("Day 1: in Aston\nWe then walk about and eat.", "line 2 is not understood"),
        ("Day 1: in Aston\n- Check out of **A** and see **B**", "says more than checking out"),
        ("Day 1\n- Taxi to Aston", "does not say from where to where"),
        ("Day 1\n- Travel: from A to B", "does not say how"),
        ("Day 1\n- Taxi or self-driving from A to B", "two ways of travelling"),
        ("Day 1\n- Flight [F1] and [F22] from A to B", "several flights"),
        ("Day 1\n- Taxi from A to B\n- Taxi from B to C", "a second line for travel"),
        ("Day 1: Travel to Brook\n- Taxi from A to Aston", "travels to Aston, not to Brook"),
        ("Day 1: Beaches\n- Lunch: X", "does not tell the day's city"),
        (f"Day 1: in Aston\n- Lunch: {'x' * 1001}", "characters (at most 1,000)"),
        ("Day 1: in Aston\n" * 4000, "is not read (at most"),
    ],
)
def test_what_cannot_be_read_is_a_problem_that_quotes_the_line(text: str, told: str) -> None:
    parsed = parse_itinerary(text, query())
    assert parsed.plan is None and not parsed.unscored
    assert (
        parsed.problem
        and told in parsed.problem
        and "\n" not in parsed.problem
        and len(parsed.problem) < 300
    )


def test_without_a_request_a_trip_must_say_where_it_starts() -> None:
    assert "does not say in which city" in (parse_itinerary("Day 1\n- Lunch: X").problem or "")
    plan = parse_itinerary("Day 1\n- Lunch: X", query()).plan
    assert plan is not None and plan[0]["lunch"] == "X, St. Home"


PIECES = [
    "Day 1", "Day 2", ": ", "in ", "from ", " to ", "- ", "**", "[", "]", "| ", "Lunch", "Check into ", "Flight ", "Taxi ", "$5", "(", ")",
    "\n", "Aston", '"', "exactly ", "→",
]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=40))
def test_any_text_gives_a_plan_or_a_problem(pieces: list[str]) -> None:
    parsed = parse_itinerary("".join(pieces))
    assert (parsed.plan is None) != (parsed.problem is None)
    for number, each in enumerate(parsed.plan or [], start=1):
        assert (
            each["days"] == number
            and tuple(each) == FIELDS
            and all(isinstance(each[key], str) for key in FIELDS[1:])
        )
