"""`tripwright show`: one plan on a terminal and as a page, whatever it holds, with what is wrong
where it is wrong."""

from __future__ import annotations

import copy
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tripwright.cli.main import main
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.plan_view import plan_view
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import RULES, judge
from tripwright.domains.travelplanner.rules.facts import Cost, PlanVerdict
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.domains.travelplanner.verbs.show import plan_page, plan_text
from tripwright.verdict import Evidence, Fact, State
from tripwright.world.generator import build_world
from tripwright.world.store import World


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world, plans of the expert in both formats, and a run's transcripts."""
    folder = tmp_path_factory.mktemp("show")
    world = build_world(folder / "world", "nano", 2)
    queries = list(make_queries(world, 4, 1))
    lines = [{"query": q.record(), "plan": official(q, world)} for q in queries]
    lines[1]["plan"] = (queries[1].model_extra or {})["oracle"]["plan"]
    lines[3]["plan"] = None
    (folder / "plans.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    (folder / "plan.json").write_text(json.dumps(lines[0]["plan"], indent=1))
    (folder / "queries.jsonl").write_text(
        "".join(json.dumps(query.record()) + "\n" for query in queries)
    )
    assert (
        main(
            [
                "run",
                "--policy",
                "expert",
                "--queries",
                str(folder / "queries.jsonl"),
                "--world",
                str(folder / "world"),
                "--out",
                str(folder / "run"),
            ]
        )
        == 0
    )
    return folder


def official(query: Query, world: World) -> list[dict[str, Any]]:
    return to_official(
        parse_days((query.model_extra or {})["oracle"]["plan"]).days or [], city_lookup(world)
    )


@pytest.fixture(scope="module")
def world(folder: Path) -> World:
    return World.open(folder / "world")


@pytest.fixture(scope="module")
def query(folder: Path) -> Query:
    return Query.model_validate_json((folder / "queries.jsonl").read_text().splitlines()[0])


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["show", *words]) == 0
    return capsys.readouterr().out


class Tags(HTMLParser):
    """Every element of a page, and that all are closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.links += [
            str(value)
            for name, value in attributes
            if name in ("src", "href") or name.startswith("on")
        ]
        if tag not in ("meta", "br", "link", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def safe(page: str) -> None:
    tags = Tags(page)
    assert (
        not tags.open
        and not tags.links
        and not {"script", "img", "link", "iframe"} & set(tags.seen)
    )
    page.encode()


# ---- the view


@pytest.mark.parametrize("rules", RULES)
def test_a_sound_plan_with_its_prices(
    folder: Path, world: World, query: Query, rules: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = judge(query, official(query, world), world, rules)  # type: ignore[arg-type]
    page = shown(
        capsys,
        str(folder / "plans.jsonl"),
        "--world",
        str(folder / "world"),
        "--line",
        "1",
        "--rules",
        rules,
    )
    assert f"✓ passes the {rules} rules" in page and "✗" not in page and verdict.final
    assert sum(cost.total_usd for cost in verdict.costs) == pytest.approx(verdict.total_cost)
    for cost in verdict.costs:
        line = next(
            line
            for line in page.splitlines()
            if f"${cost.total_usd:,.2f}  " in line and cost.what.split(" from ")[0] in line
        )
        assert cost.count == 1 or f"({cost.count} × ${cost.unit_usd:,.2f})" in line
    assert f"${verdict.total_cost:,.2f}  ✓ $" in page and f"of ${query.budget:,.2f} left" in page
    assert (
        page.index("Day 1")
        < page.index("Day 2")
        < page.index("Day 3")
        < page.index("Costs")
        < page.index("Commonsense constraints")
    )


def test_what_is_wrong_stands_under_what_it_concerns(query: Query, world: World) -> None:
    plan = official(query, world)
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
    hard = {
        "valid_cost": Fact("valid_cost", State.PASSED),
        "valid_cuisine": Fact("valid_cuisine", State.NOT_APPLICABLE),
    }
    verdict = PlanVerdict(
        "strict",
        True,
        facts,
        hard,
        2000.5,
        None,
        False,
        (Cost(2, "lunch", "Grill", 10.25, 2), Cost(2, "taxi", "x", 1980, 1)),
    )
    lines = [
        line.strip()
        for line in plan_text(
            plan_view(query.model_copy(update={"budget": 2000}), plan, verdict)
        ).splitlines()
    ]
    assert lines[1] == "✗ fails the strict rules: 2 constraints are broken"
    lake = next(i for i, line in enumerate(lines) if line.endswith("Lake, X"))
    assert lines[lake + 1 : lake + 3] == ["✗ Complete information: needed a place in Y", "Tower, X"]
    dinner = next(
        i for i, line in enumerate(lines) if line.startswith("dinner") and line.endswith("-")
    )
    assert lines[dinner + 1] == "✗ Complete information: needed a dinner (found nothing)"
    third = next(i for i, line in enumerate(lines) if line.startswith("✗ Day 3"))
    assert lines[third + 1] == "✗ Complete information: needed an easy day"
    assert any(line.startswith("✓ Day 1") for line in lines) and any(
        line.startswith("✗ Day 2") and line.endswith("$2,000.50") for line in lines
    )
    assert any(
        line.startswith("lunch") and "$20.50" in line and line.endswith("(2 × $10.25)")
        for line in lines
    )
    assert "total          $2,000.50  ✗ $0.50 over the budget of $2,000.00" in lines
    end = lines[lines.index("Commonsense constraints") :]
    assert end[1:6] == [
        "✗ Complete information",
        "see day 2, 3",
        "day 9, lunch: needed less (found too much)",
        "needed $8 (found $9)",
        "✗ A new rule",
    ]
    assert end[6] == "Says why." and "– Cuisine: not asked for" in end


def test_colours_are_only_for_terminals(
    query: Query, world: World, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    view = plan_view(
        query, official(query, world), judge(query, official(query, world), world, "strict")
    )
    assert "\x1b[32m✓ passes" in plan_text(view, colour=True)
    assert "\x1b" not in shown(
        capsys, str(folder / "plans.jsonl"), "--world", str(folder / "world")
    )


def test_a_day_that_the_plan_lacks_is_shown(query: Query, world: World) -> None:
    plan = official(query, world)[:1]
    view = plan_view(query, plan, judge(query, plan, world, "strict"))
    assert [day.title for day in view.days] == [
        f"Day {n} {date}" for n, date in enumerate(query.date, start=1)
    ]
    assert view.days[1].city == "nothing planned" and [day.sign for day in view.days][1:] == [
        "",
        "",
    ]


ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=12),
        st.sampled_from(["<script>", "豪华卧室, X", "\ud800", "-"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = (
    "days",
    "current_city",
    "city",
    "transportation",
    "breakfast",
    "attraction",
    "lunch",
    "dinner",
    "accommodation",
)


@settings(max_examples=40, deadline=None)
@given(
    plan=st.lists(
        st.one_of(ANYTHING, st.dictionaries(st.sampled_from(KEYS), ANYTHING)), max_size=5
    ),
    rules=st.sampled_from(RULES),
)
def test_any_plan_can_be_shown(plan: list[Any], rules: str) -> None:
    fields = {
        "org": "Homer",
        "dest": "<b>A</b>",
        "days": 3,
        "visiting_city_number": 1,
        "date": ["2022-03-01\n"],
        "people_number": 2,
        "budget": 9,
    }
    query = Query.model_validate({**fields, "query": "x"})
    world = WORLD
    for verdict in (None, judge(query, copy.deepcopy(plan), world, rules)):  # type: ignore[arg-type]
        view = plan_view(query, plan, verdict)
        text = plan_text(view)
        assert all(line.isprintable() for line in text.split("\n"))
        safe(plan_page(view, "a<b.jsonl:1", "w"))


def _small_world() -> World:
    from tripwright.world.records import WorldTables

    return World.in_memory(
        WorldTables(
            [("Homer", "H"), ("Aston", "W")],
            [],
            [],
            [("Grill", "Aston", "Tea", "10", "4.0")],
            [],
            [],
        )
    )


WORLD = _small_world()


# ---- the files


def test_a_page_of_its_own(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "new" / "page.html"
    words = [
        str(folder / "plans.jsonl"),
        "--line",
        "1",
        "--world",
        str(folder / "world"),
        "--html",
        str(page),
    ]
    text = shown(capsys, *words)
    html = page.read_text()
    safe(html)
    assert "passes the strict rules" in html and "All days" in html and "plans.jsonl:1" in html
    for line in text.splitlines():
        if line.strip().startswith("dinner"):
            assert line.split("  ")[-1].partition(",")[0].split("(")[0].strip() in html
    assert [path.name for path in page.parent.iterdir()] == ["page.html"]


def test_plans_of_every_kind_of_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = ["--world", str(folder / "world")]
    # P3
    assert (
        "Day 1" in (second := shown(capsys, str(folder / "plans.jsonl"), "--line", "2", *world))
        and "✓ passes" in second
    )
    assert "There is no plan." in shown(capsys, str(folder / "plans.jsonl"), "--line", "4", *world)
    alone = shown(capsys, str(folder / "plan.json"), *world)
    assert "Not judged: the file holds no trip request" in alone and "Day 1" in alone
    by_id = shown(capsys, str(folder / "run" / "transcripts.jsonl"), "--line", "q000002", *world)
    assert (
        by_id == shown(capsys, str(folder / "run" / "transcripts.jsonl"), "--line", "2", *world)
        and "✓ passes" in by_id
    )


def test_a_verdict_that_is_none_is_passed_over(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    group = {"name": "x", "asked": [], "facts": [1], "gate": []}
    broken = {"plan": [], "verdict": {"rules": "strict", "groups": [group]}}
    (folder / "broken.json").write_text(json.dumps(broken))
    assert "There is no plan." in shown(capsys, str(folder / "broken.json"))


def test_without_a_world_the_plan_is_shown_and_how_to_have_it_judged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = shown(capsys, str(folder / "plans.jsonl"))
    assert (
        "Not judged: add --world DIR" in page
        and "Day 3" in page
        and "✓" not in page
        and "$" not in page.split("\n", 1)[1]
    )


def test_a_plan_off_its_schema_is_shown_and_not_delivered(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = json.loads((folder / "plans.jsonl").read_text().splitlines()[1])
    line["plan"][0]["lunch"] = 5
    (tmp_path / "p.json").write_text(json.dumps(line))
    page = shown(capsys, str(tmp_path / "p.json"), "--world", str(folder / "world"))
    assert (
        "could not be read: day 1: field 'lunch'" in page and "✗ fails" in page and "✓" not in page
    )
    words = ["show", str(tmp_path / "p.json"), "--world", str(folder / "world"), "--json"]
    assert main(words) == 0 and json.loads(capsys.readouterr().out)["error"] == "BadPlan"


def test_the_verdict_as_json_is_that_of_score(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        str(folder / "plans.jsonl"),
        "--world",
        str(folder / "world"),
        "--rules",
        "official",
        "--json",
    ]
    assert main(["score", *words]) == 0
    third = json.loads(capsys.readouterr().out.splitlines()[2])
    shown_verdict = json.loads(shown(capsys, *words, "--line", "3"))
    assert shown_verdict == {key: third[key] for key in shown_verdict}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("{folder}/none.json", "No file at"),
        ("{folder}/plans.jsonl --line 99", "has no line '99': it has 4 lines"),
        ("{folder}/plan.json --line 1", "--line is for .jsonl files"),
        (
            "{folder}/world/manifest.json",
            'expected a list of days, or an object with "query" and "plan"',
        ),
        ("{folder}/plans.jsonl --rules lax", "Unknown rules 'lax'"),
        ("{folder}/plans.jsonl --json", "needs --world"),
        ("{folder}/plans.jsonl --world {folder}/none", "none"),
        ("{folder}/plans.jsonl --html {folder}", "is a folder"),
        ("{folder}/world/world.sqlite", "not JSON"),
    ],
)
def test_mistakes_are_one_line(
    folder: Path, words: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.iterdir())
    assert main(["show", *words.format(folder=folder).split()]) == 2
    problem = capsys.readouterr().err
    assert told in problem and problem.count("\n") == 1 and sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "p.json",
            '[{},\n {"days": 1},\n oops]\n',
            "p.json: not JSON (Expecting value at line 3 column 2).",
        ),
        (
            "p.json",
            '[{},\n {"days": \n\n',
            "p.json: not JSON (Expecting value at line 2 column 10).",
        ),
        ("p.json", '[{"days": 1}, oops]\r\n', "p.json: not JSON (Expecting value at column 15)."),
        (
            "p.jsonl",
            '{"plan": null}\n{"plan": \n',
            "p.jsonl:2: not JSON (Expecting value at column 9).",
        ),
        ("p.json", "[\x0c]", "p.json: not JSON (Expecting value at column 2)."),
        ("p.json", "[]\x0c", "p.json: not JSON (Extra data at column 3)."),
        ("p.json", "[" * 100_000, "p.json: nested too deeply to be a plan."),
    ],
)
def test_where_a_file_is_not_json(
    tmp_path: Path, name: str, text: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(text.encode())
    assert (
        main(["show", str(tmp_path / name), *(["--line", "2"] if name == "p.jsonl" else [])]) == 2
    )
    assert capsys.readouterr().err.endswith(f"{told}\n")


def test_the_plan_itself_is_never_overwritten(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = folder / "plan.json"
    before = plan.read_bytes()
    world = str(folder / "world")
    assert main(["show", str(plan), "--world", world, "--html", str(plan), "--restart"]) == 2
    assert "is what the command reads" in capsys.readouterr().err and plan.read_bytes() == before


def test_a_run_folder_is_shown_by_its_first_plan(folder: Path) -> None:
    assert main(["show", str(folder / "run"), "--world", str(folder / "world")]) == 0
