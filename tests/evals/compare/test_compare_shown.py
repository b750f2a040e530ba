"""The comparison as text and on the page over several runs, and plans judged anew in a generated
world."""

import json
import re
from pathlib import Path

import pytest

from tests.evals.compare.conftest import AFTER, BEFORE
from tripwright.cli.main import main
from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.baselines import RowsPolicy
from tripwright.domains.travelplanner.expert import ExpertPolicy
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.task import TripTask
from tripwright.errors import UserError
from tripwright.evals.report import report_page
from tripwright.evals.run import run as run_episodes
from tripwright.evals.run_card import queries_entry, run_card
from tripwright.world.generator import build_world


def test_the_table_is_metric_by_run_with_marks(made, told):
    a, b = made("a", BEFORE), made("b", [True] * 34 + [False] * 6)
    text = told(a, b, "--count", "2")
    row = next(each for each in text.splitlines() if each.startswith("  final "))
    assert "50.0% [35.2–64.8%]" in row and "85.0% [" in row and row.endswith("-")  # once
    assert text.split("final pass, every two runs")[1].splitlines()[2].split()[-3] == "0.001*"
    assert "14 queries gained" in text and "0 queries lost" in text
    listed = [each.split() for each in text.splitlines() if " trip " in each]
    assert len(listed) == 2 and "1 q000020 easy 7 trip 20 0, 1 1, 1" in map(" ".join, listed)
    text = told(a, b, made("c", BEFORE))
    assert all(part in text for part in ("final pass, every two", "c - b", "c - a"))


def test_two_runs_have_the_headline_p_uncorrected_for_other_figures(made, told, compare):
    a, b = made("a", BEFORE), made("b", AFTER)
    final = compare(a, b)["tables"]["metrics"]["final"]["differences"]["b"]
    text = told(a, b)
    lines = text.split("final pass, every two runs")[1].splitlines()
    row = next(each for each in lines if each.startswith("  b - a"))
    assert row.split()[-3:] == [f"{final['p']:.2g}", "9", "2"] and final["p_holm"] > final["p"]


def test_settings_of_runs_without_a_recipe_are_those_of_their_cards(made, tmp_path):
    a, b = made("a", BEFORE), made("b", AFTER, policy={"model": "other"}, date="later")
    page = report_page([a, b]).html()
    section = page[page.index('<section id="settings"') :]
    section = section[: section.index("</section>")]
    rows = re.findall(r"<tr><th scope=.?row.*?</tr>", section)
    (cells,) = (re.findall(r">([^<>]+)</t[hd]>", row) for row in rows)
    assert cells == ["policy.model", "m", "other"]
    alike = report_page([a, made("c", AFTER)]).html()
    assert "None: all settings of run_card.json are the same." in alike


def test_the_page_shows_the_same_comparison(made, tmp_path):
    a, b = made("a", BEFORE), made("b<i>", [True] * 34 + [False] * 6)
    page = report_page([a, b]).html()
    section = page[page.index('<section id="comparison"') :]
    section = section[: section.index("</section>")]
    for part in ("▲", "+35.0", "14 gained", "40 queries"):
        assert part in section
    assert "<i>" not in section and "b&lt;i&gt;" in section
    assert "Not alike" not in page


def test_the_page_refuses_unlike_runs_too(made, tmp_path):
    a, b = made("a", BEFORE), made("b", AFTER, rules="official")
    with pytest.raises(UserError, match="rules is"):
        report_page([a, b])
    assert main(["report", str(a), str(b), "--out", str(tmp_path / "out.html"), "--unlike"]) == 0
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "Not alike" in page and page.count("(not alike)") >= 4


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two policies in one generated world, one judged by the official and one by the strict
    rules."""
    root = tmp_path_factory.mktemp("played")
    world = build_world(root / "world", "nano", 8)
    (root / "q.jsonl").write_text("{}\n")
    queries = [*make_queries(world, 8, 1)]
    place = {"name": world.name, "content_hash": world.content_hash}
    for name, policy, rules in (
        ("rows", RowsPolicy("cheapest"), "official"),
        ("expert", ExpertPolicy(), "strict"),
    ):
        dialect = dialect_named("compact")
        asked = queries_entry(root / "q.jsonl")
        card = run_card({"kind": name}, {}, dialect, rules, asked, place)
        tasks = [TripTask(f"q{i:06d}", query, world, rules) for i, query in enumerate(queries)]
        run_episodes(policy, tasks, root / name, dialect, card=card, progress=False)
    return root


def test_plans_are_judged_anew_under_one_set_of_rules(played, compare, refused):
    runs = (played / "rows", played / "expert")
    assert "Judge them alike with --rejudge" in refused(*runs)
    found = compare(*runs, "--rejudge", "strict", "--world", played / "world")
    assert found["rejudged"] and found["rules"] == "strict" and found["unlike"] == []
    assert found["tables"]["metrics"]["final"]["runs"]["expert"]["value"] == 1.0
    before = (played / "rows" / "transcripts.jsonl").read_bytes()
    official = compare(*runs, "--rejudge", "official", "--world", played / "world")
    score = json.loads((played / "rows" / "score.json").read_text())
    told = official["tables"]["metrics"]["final"]["runs"]["rows"]["k"]
    assert told == score["metrics"]["final"]["k"]
    assert (played / "rows" / "transcripts.jsonl").read_bytes() == before


def test_plans_are_judged_in_their_own_world_only(played, tmp_path, refused):
    build_world(tmp_path / "other", "nano", 9)
    error = refused(
        played / "rows", played / "expert", "--rejudge", "strict", "--world", tmp_path / "other"
    )
    assert "was played in world 'nano-8'" in error


def test_five_runs_of_one_recipe_are_a_table_with_intervals_in_one_command(made, told, compare):
    """Planner-R1's tables: the mean over five runs with its 95% interval (row P16)."""
    runs = [
        made(f"s{seed}", [True] * (18 + seed) + [False] * (22 - seed), decoding={"seed": seed})
        for seed in range(5)
    ]
    seeds = ",".join(map(str, runs))
    record = compare(seeds)
    (group,) = record["runs"]
    figure = record["tables"]["metrics"]["final"]["runs"][group["name"]]
    assert figure["value"] == pytest.approx(0.5) and figure["low"] < 0.45 < 0.55 < figure["high"]
    text = told(seeds)
    assert "50.0% [" in text and "difference" not in text
