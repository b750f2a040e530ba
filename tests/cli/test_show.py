"""`tripwright show`: one plan on a terminal, whatever it holds, with what is wrong where it is
wrong."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.files import read_lines, write_lines
from tests.made import made_world, meal, proven, trip
from tripwright.domains.travelplanner.plan.itinerary import render_itinerary
from tripwright.domains.travelplanner.plan.plan import OFFICIAL_FIELDS
from tripwright.domains.travelplanner.plan_view import plan_view
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import RULES, judge
from tripwright.domains.travelplanner.rules.facts import Cost, plan_verdict
from tripwright.domains.travelplanner.verbs.show import plan_text
from tripwright.verdict import Evidence, Fact, State
from tripwright.world.generator import build_world
from tripwright.world.store import World


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world, plans of the expert in both formats, and a run's transcripts."""
    folder = tmp_path_factory.mktemp("show")
    world = build_world(folder / "world", "nano", 2)
    queries = list(make_queries(world, 4, 1))
    lines = [{"query": q.record(), "plan": proven(q, world)} for q in queries]
    lines[1]["plan"] = (queries[1].model_extra or {})["oracle"]["plan"]
    lines[3]["plan"] = None
    write_lines(folder / "plans.jsonl", lines)
    (folder / "plan.json").write_text(json.dumps(lines[0]["plan"], indent=1))
    episode = {"id": "q000002", "domain": "travelplanner", "plan": lines[0]["plan"]}
    episode["request"] = lines[0]["query"]
    other, judged = {**episode, "id": "q000001"}, {**episode, "verdict": {"rules": "strict"}}
    write_lines(folder / "run" / "transcripts.jsonl", [judged, other])  # as they ended
    return folder


@pytest.fixture(scope="module")
def world(folder: Path) -> World:
    return World.open(folder / "world")


@pytest.fixture(scope="module")
def query(folder: Path) -> Query:
    return Query.model_validate(read_lines(folder / "plans.jsonl")[0]["query"])


@pytest.fixture
def shown(folder: Path, typed: Callable[..., Any]) -> Callable[[str], str]:
    """{p} is the folder, {w} names its world."""
    return lambda words: typed(f"show {words}".format(p=folder, w=f"--world {folder}/world")).out


# ---- the view


@pytest.mark.parametrize("rules", sorted({*RULES} - {"livable"}))
def test_a_sound_plan_with_its_prices(world, query, rules, shown):
    verdict = judge(query, proven(query, world), world, rules)
    page = shown(f"{{p}}/plans.jsonl {{w}} --line 1 --rules {rules}")
    assert f"✓ passes the {rules} rules" in page and "✗" not in page and verdict.final
    assert sum(cost["total_usd"] for cost in verdict.details["costs"]) == pytest.approx(
        verdict.details["total_cost"]
    )
    for cost in verdict.details["costs"]:
        price, name = f"${cost['total_usd']:,.2f}  ", cost["what"].split(" from ")[0]
        line = next(line for line in page.splitlines() if price in line and name in line)
        assert cost["count"] == 1 or f"({cost['count']} × ${cost['unit_usd']:,.2f})" in line
    assert f"${verdict.details['total_cost']:,.2f}  ✓ $" in page
    assert f"of ${query.budget:,.2f} left" in page
    parts = ("Day 1", "Day 2", "Day 3", "Costs", "Commonsense constraints")
    places = [page.index(part) for part in parts]
    assert places == sorted(places)


def test_what_is_wrong_stands_under_what_it_concerns(query, world):
    plan = proven(query, world)
    plan[1] |= {"attraction": "Lake, X;Tower, X;", "dinner": "-"}
    evidence = (
        Evidence(2, "attraction", "Lake, X", "a place in Y"),
        Evidence(2, "dinner", "nothing", "a dinner"),
        Evidence(3, None, None, "an easy day"),
        Evidence(9, "lunch", "too much", "less"),
        Evidence(None, None, "$9", "$8"),
    )
    facts = {
        "is_not_absent": Fact("is_not_absent", State.FAILED, "bad", evidence),
        "a_new_rule": Fact("a_new_rule", State.FAILED, "Says why."),
    }
    states = {"valid_cost": State.PASSED, "valid_cuisine": State.NOT_APPLICABLE}
    hard = {name: Fact(name, state) for name, state in states.items()}
    costs = (Cost(2, "lunch", "Grill", 10.25, 2), Cost(2, "taxi", "x", 1980, 1))
    verdict = plan_verdict("strict", ("valid_cost",), facts, hard, costs)
    view = plan_view(query.model_copy(update={"budget": 2000}), plan, verdict)
    first, second, third = view.parts
    assert second.cost == 2000.5
    remarks = {item.text: item.remarks for item in second.items if item.remarks}
    assert remarks == {
        "Lake, X": ("Complete information: needed a place in Y",),
        "-": ("Complete information: needed a dinner (found nothing)",),
    }
    assert third.remarks == ("Complete information: needed an easy day",) and not first.remarks
    (lunch,) = [item for item in second.items if item.kind == "lunch"]
    assert (lunch.cost, lunch.count) == (20.5, "2 × $10.25")
    lines = [line.strip() for line in plan_text(view, verdict).splitlines()]
    assert [line[:7] for line in lines if " Day " in line] == ["✓ Day 1", "✗ Day 2", "✗ Day 3"]
    lake = next(i for i, line in enumerate(lines) if line.endswith("Lake, X"))
    assert lines[lake + 1] == f"✗ {remarks['Lake, X'][0]}" and lines[1].startswith("✗ fails")
    assert "total          $2,000.50  ✗ $0.50 over the budget of $2,000.00" in lines
    assert "– Cuisine: not asked for" in lines
    told = lines[lines.index("✗ Complete information") + 1 :]
    assert told[2:4] == ["day 3: needed an easy day", "day 9, lunch: needed less (found too much)"]
    assert told[4] == "needed $8 (found $9)"
    assert lines[lines.index("✗ A new rule") + 1] == "Says why."


def test_a_day_that_the_plan_lacks_is_shown(query, world):
    plan = proven(query, world)[:1]
    verdict = judge(query, plan, world, "strict")
    view = plan_view(query, plan, verdict)
    assert [(part.title, part.date) for part in view.parts] == [
        (f"Day {n}", date) for n, date in enumerate(query.date, start=1)
    ]
    assert view.parts[1].where == "nothing planned"
    assert "✓ Day 2" not in plan_text(view, verdict)


ODD = st.sampled_from(["<script>", "豪华卧室, X", "\ud800", "-"])
SINGLE = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | ODD
ANYTHING = st.recursive(
    SINGLE,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = ("days", "current_city", "city", *OFFICIAL_FIELDS)


ODD_REQUEST = trip(dest="<b>A</b>", date=["2022-03-01\n"], budget=9)
WORLD = made_world({"Homer": "H", "Aston": "W"}, meals=[meal("Grill", "Aston")])


DAYS = ANYTHING | st.dictionaries(st.sampled_from(KEYS), ANYTHING)


@settings(max_examples=40, deadline=None)
@given(plan=st.lists(DAYS, max_size=5), rules=st.sampled_from(RULES))
def test_any_plan_can_be_shown(plan, rules):
    for verdict in (None, judge(ODD_REQUEST, copy.deepcopy(plan), WORLD, rules)):
        view = plan_view(ODD_REQUEST, plan, verdict)
        text = plan_text(view, verdict)
        assert all(line.isprintable() for line in text.split("\n"))


# ---- the files


def test_plans_of_every_kind_of_file(shown):
    planner_r1 = shown("{p}/plans.jsonl --line 2 {w}")
    assert "Day 1" in planner_r1 and "✓ passes" in planner_r1
    assert "There is no plan." in shown("{p}/plans.jsonl --line 4 {w}")
    alone = shown("{p}/plan.json {w}")
    assert "holds no trip request" in alone and "Day 1" in alone
    by_id = shown("{p}/run/transcripts.jsonl --line q000002 {w}")
    assert by_id == shown("{p}/run/transcripts.jsonl --line 2 {w}") == shown("{p}/run {w}")
    assert "✓ passes" in by_id
    unjudged = shown("{p}/plans.jsonl")
    assert "--world DIR" in unjudged and "Day 3" in unjudged and "✓" not in unjudged


def test_words_are_shown_as_their_plan_and_a_misspelt_stay_with_the_name_meant(
    folder, tmp_path, shown, query
):
    line = read_lines(folder / "plans.jsonl")[0]
    name = line["plan"][0]["accommodation"].rpartition(",")[0]
    line["plan"] = render_itinerary(query, line["plan"]).replace(name, name[:2] + name[3:])
    (tmp_path / "p.json").write_text(json.dumps(line))
    page = shown(f"{tmp_path}/p.json {{w}}")
    assert "✗ fails" in page and page.count(f"Did you mean {name!r}?") == 1


def test_a_broken_verdict_is_passed_over(folder, shown):
    group = {"name": "x", "asked": [], "facts": [1], "gate": []}
    broken = {"plan": [], "verdict": {"rules": "strict", "groups": [group]}}
    (folder / "broken.json").write_text(json.dumps(broken))
    assert "There is no plan." in shown("{p}/broken.json")


def test_a_plan_off_its_schema_is_shown_and_not_delivered(folder, tmp_path, shown):
    line = read_lines(folder / "plans.jsonl")[1]
    line["plan"][0]["lunch"] = 5
    (tmp_path / "p.json").write_text(json.dumps(line))
    page = shown(f"{tmp_path}/p.json {{w}}")
    assert "day 1: field 'lunch'" in page and "✗ fails" in page and "✓" not in page


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("{folder}/none.json", "No file at"),
        ("{folder}/plans.jsonl --line 99", "has no line '99': it has 4 lines"),
        ("{folder}/plan.json --line 1", "--line is for .jsonl files"),
        ("{folder}/world/manifest.json", "expected a list of days"),
        ("{folder}/plans.jsonl --rules lax", "'lax' is not one of"),
        ("{folder}/plans.jsonl --world {folder}/none", "none"),
        ("{folder}/world/world.sqlite", "not JSON"),
    ],
)
def test_mistakes_are_one_line(folder, words, told, refused):
    before = sorted(folder.iterdir())
    problem = refused("show", words.format(folder=folder))
    assert told in problem and sorted(folder.iterdir()) == before


def test_where_a_file_is_not_json(tmp_path, refused):
    (tmp_path / "p.json").write_text('[{},\n {"days": 1},\n oops]\n')
    assert "not JSON (Expecting value at line 3" in refused(f"show {tmp_path}/p.json")
    (tmp_path / "p.jsonl").write_text('{"plan": null}\n{"plan": \n')
    assert "p.jsonl:2: not JSON" in refused(f"show {tmp_path}/p.jsonl --line 2")
