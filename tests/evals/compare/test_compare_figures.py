"""What `tripwright compare` says of runs whose passes are known: equal to a hand count, with
samples, seeds and faults on our side."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.evals.compare.conftest import AFTER, BEFORE
from tripwright.cli.main import main
from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.baselines import RowsPolicy
from tripwright.domains.travelplanner.expert import ExpertPolicy
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.task import TripTask
from tripwright.errors import UserError
from tripwright.evals.power import detectable, paired_queries
from tripwright.evals.report import report_page
from tripwright.evals.run import run as run_episodes
from tripwright.evals.run_card import queries_entry, run_card
from tripwright.statistics.rates import mcnemar_exact, paired_interval, rate
from tripwright.world.generator import build_world

UNSCORED = None
PLACE = "eval/after_rl"
FIGURE = ("value", "low", "high", "k", "n")


def section_of(page: str, name: str) -> str:
    return page.partition(f'<section id="{name}"')[2].partition("</section>")[0]


def final_of(found: dict[str, Any]) -> dict[str, Any]:
    return found["tables"]["metrics"]["final"]


def test_a_greedy_comparison_is_mcnemars_exact_test(made, compare):
    found = compare(made("a", BEFORE), made("b", AFTER))
    row = final_of(found)
    for name, passed in (("a", 20), ("b", 27)):
        assert {key: row["runs"][name][key] for key in FIGURE} == rate(passed, 40)
    difference = row["differences"]["b"]
    assert difference["value"] == pytest.approx(7 / 40)
    assert (difference["test"], difference["p"]) == ("McNemar, exact", mcnemar_exact(9, 2))
    assert (difference["low"], difference["high"]) == paired_interval(9, 2, 40)
    assert found["queries"] == 40 and found["left_out"] == 0 and found["unlike"] == []
    lost, gained = (found["changed"]["b"][name] for name in ("lost", "gained"))
    assert [query["id"] for query in lost] == ["q000018", "q000019"]
    assert [query["id"] for query in gained] == [f"q{i:06d}" for i in range(20, 29)]
    assert gained[0] == {
        "id": "q000020", "level": "easy", "days": 7, "text": "trip 20", "before": [0, 1], "after": [1, 1],
    }  # fmt: skip
    (pair,) = found["pairs"]
    assert [pair[key] for key in ("a", "b", "gained", "lost")] == ["a", "b", 9, 2]
    assert pair["p_holm"] == difference["p"]
    assert found["power"]["b"]["discordance"] == pytest.approx(11 / 40)
    assert "worst_case" not in found and "seeds" not in found


def test_tables_by_level_days_and_constraint_add_up(made, compare):
    tables = compare(made("a", BEFORE), made("b", AFTER))["tables"]
    assert list(tables) == ["metrics", "constraints", "levels", "days"]
    for table, rows in (("levels", ["easy", "hard"]), ("days", ["3", "5", "7"])):
        assert list(tables[table]) == rows
        of_b = [row["runs"]["b"] for row in tables[table].values()]
        assert (sum(run["k"] for run in of_b), sum(run["n"] for run in of_b)) == (27, 40)
    cost, absent = (tables["constraints"][name] for name in ("valid_cost", "is_not_absent"))
    assert cost["differences"]["b"]["p"] == mcnemar_exact(9, 2)
    assert absent["differences"]["b"]["p"] == 1.0
    assert "valid_cuisine" not in tables["constraints"]  # nobody asked for one
    assert tables["metrics"]["hard_micro"]["runs"]["b"]["value"] == 27 / 40
    both = tables["metrics"]["commonsense_micro"]["differences"]["b"]
    assert (both["value"], both["p"]) == (0, 1.0) and both["low"] < 0 < both["high"]
    turns = tables["metrics"]["turns_mean"]
    assert turns["runs"]["a"]["value"] == 5.0 and turns["differences"]["b"]["value"] == 0.0
    for rows_of_table in tables.values():  # Holm: of all that a table tests
        found = [d for row in rows_of_table.values() for d in row["differences"].values()]
        best = min(found, key=lambda each: each["p"])
        assert best["p_holm"] == pytest.approx(min(1.0, best["p"] * len(found)))


def test_runs_are_paired_whatever_the_order_of_their_lines(made, compare):
    a, b = made("a", BEFORE), made("b", AFTER)
    there = compare(a, b)
    path = b / "transcripts.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(reversed(lines)) + '{"id": "q0000')  # and the run is still writing
    assert compare(a, b) == there
    back = compare(b, a)["tables"]["metrics"]["final"]["differences"]["a"]
    assert back["value"] == pytest.approx(-7 / 40) and back["p"] == mcnemar_exact(9, 2)


def test_only_queries_that_all_played_count_and_the_rest_is_told(made, compare):
    found = compare(made("a", BEFORE[:30]), made("b", AFTER))
    assert (found["queries"], found["left_out"]) == (30, 10)
    assert final_of(found)["runs"]["a"]["n"] == 30
    assert found["runs"][1]["episodes"] == 40


def test_the_power_of_two_runs_is_that_of_their_discordance(made, compare):
    a, b = made("a", [False] * 40), made("b", [True] * 10 + [False] * 30)
    found = compare(a, b)["power"]["b"]
    assert found["discordance"] == 0.25 and found["queries"] == paired_queries(0.05, 0.25)
    assert found["detectable"] == detectable(40, 0.25, 0.25)
    little = compare(a, made("c", [True] + [False] * 39))["power"]["c"]
    assert little["detectable"] is None and little["queries"] is None


def test_one_sample_keeps_wilsons_interval_beside_a_run_with_several(made, compare):
    several = made("b", [(True, True, False, True)] * 60, samples=4)
    found = compare(made("a", [True] * 10 + [False] * 50), several)
    runs, difference = final_of(found)["runs"], final_of(found)["differences"]["b"]
    assert {key: runs["a"][key] for key in FIGURE} == rate(10, 60)
    assert "k" not in runs["b"] and difference["test"] == "sign flips over queries"


def test_a_p_that_draws_cannot_make_smaller_is_a_bound(made, compare, told):
    a, other = (made(name, [False] * 40, decoding={"seed": seed}) for seed, name in enumerate("ac"))
    b = made("b", [i < 20 for i in range(40)], policy={"model": "n", "fingerprint": "g"})
    found = compare(f"{a},{other}", b, "--unlike")
    (pair,) = found["pairs"]
    # of the 200 resamples none is on the other side
    assert pair["p"] == pytest.approx(2 / 201) and pair["p_is_bound"]
    assert "≤ 0.01* " in told(f"{a},{other}", b, "--unlike").split("final pass, every two runs")[1]
    (exact,) = compare(a, b)["pairs"]
    assert not exact["p_is_bound"]


def test_several_samples_are_tested_query_by_query(made, compare):
    before = [(True, True, False, False)] * 12 + [(False,) * 4] * 12
    samples_of = [(True,) * k + (False,) * (4 - k) for k in (4, 2, 1, 0)]
    after = [samples for samples in samples_of for _ in range(6)]
    found = compare(made("a", before, samples=4), made("b", after, samples=4))
    final = final_of(found)
    assert final["runs"]["a"]["value"] == pytest.approx(0.25)
    assert final["runs"]["b"]["value"] == pytest.approx((24 + 12 + 6) / 96)
    difference = final["differences"]["b"]
    # Twelve queries moved, all upwards: only two of 2^12 choices of signs are as far from zero.
    assert difference["test"] == "sign flips over queries"
    assert difference["p"] == pytest.approx(2 / 2**12)
    assert 0 < difference["low"] < difference["value"] < difference["high"]
    samples = found["tables"]["samples"]
    kinds = ("pass@", "pass^", "best_of_", "worst_of_")
    assert set(samples) == {"flip_rate", *(f"{kind}{k}" for kind in kinds for k in (2, 3, 4))}
    assert samples["pass@4"]["runs"]["b"]["value"] == pytest.approx(18 / 24)
    assert samples["pass^4"]["runs"]["b"]["value"] == pytest.approx(6 / 24)
    assert samples["flip_rate"]["runs"]["a"]["value"] == 0.5
    changed = found["changed"]["b"]
    assert changed["gained"][0]["before"] == [2, 4] and changed["lost"] == []


def test_a_query_weighs_the_same_however_many_of_its_samples_were_scored(made, compare):
    a = made("a", [(True, True)] * 10 + [(False, False)] * 10)
    b = made("b", [(True, UNSCORED)] * 10 + [(False, False)] * 10)
    found = compare(a, b)
    assert final_of(found)["runs"]["b"]["value"] == 0.5
    assert final_of(found)["differences"]["b"]["value"] == 0.0


def test_runs_that_differ_by_their_seed_are_one(made, compare, refused):
    recipe = {"name": "grpo", "grpo": {"group_size": 8}}
    sizes = {"grpo-0": 20, "grpo-1": 24, "grpo-2": 28, "dapo-0": 30, "dapo-1": 32}
    folders = [
        made(name, [i < passed for i in range(40)], {**recipe, "name": name, "seed": seed, "grpo": {"group_size": 8 if "grpo" in name else 16}},
             PLACE, policy={"kind": "local", "stage": "rl", "fingerprint": name})
        for (name, passed), seed in zip(sizes.items(), (0, 1, 2, 0, 1), strict=True)
    ]  # fmt: skip
    found = compare(*folders)
    first, second = (run["name"] for run in found["runs"])
    assert (first, second) == ("grpo-0 and 2 more seeds", "dapo-0 and another seed")
    assert found["runs"][0]["seeds"] == [0, 1, 2]
    seeds = found["seeds"][first]
    assert [run["final"] for run in seeds["runs"]] == [0.5, 0.6, 0.7]
    assert seeds["mean"] == pytest.approx(0.6) and seeds["deviation"] == pytest.approx(0.1)
    assert (seeds["low"], seeds["high"]) == (0.5, 0.7)
    final = final_of(found)
    assert final["runs"][first]["value"] == pytest.approx(0.6)
    assert final["runs"][second]["value"] == pytest.approx(31 / 40)
    test = "bootstrap over seeds and queries, sign flips over queries"
    assert final["differences"][second]["test"] == test
    apart = compare(*folders, "--apart")
    assert len(apart["runs"]) == 5 and len(apart["pairs"]) == 10 and "seeds" not in apart
    width = final["runs"][first]["high"] - final["runs"][first]["low"]
    one = apart["tables"]["metrics"]["final"]["runs"]["grpo-1"]
    # three seeds on the same queries do not triple the queries
    assert width > 0.8 * (one["high"] - one["low"])
    groups = (",".join(map(str, part)) for part in (folders[:3], folders[3:]))
    assert compare(*groups)["seeds"] == found["seeds"]
    assert "differ in more" in refused(f"{folders[0]},{folders[3]}", folders[1])
    two = compare(folders[0], folders[1])  # only seeds: then they are what is compared
    assert [run["name"] for run in two["runs"]] == ["grpo-0", "grpo-1"]


def test_the_unscored_are_out_of_the_figures_and_come_back_in_the_worst_case(made, told, compare):
    a, b = made("a", BEFORE), made("b", [UNSCORED] * 4 + AFTER[4:])
    found = compare(a, b)
    assert (found["queries"], found["left_out"], found["runs"][1]["unscored"]) == (36, 4, 4)
    worst = found["worst_case"]
    assert worst["queries"] == 40 and worst["final"] == {"a": 0.5, "b": pytest.approx(23 / 40)}
    bounds = [worst["differences"]["b"][name] for name in ("failed", "least", "most")]
    assert bounds == pytest.approx([3 / 40, 3 / 40, 7 / 40])
    assert "WORST CASE" in told(a, b)


def test_three_queries_prove_nothing_however_much_seeds_agree(made, compare):
    base = made("base", [False] * 3, policy={"kind": "local", "model": "other", "fingerprint": "g"})
    decoding = ({"temperature": 1.0, "seed": seed} for seed in (0, 1))
    seeds = [made(f"s{n}", [True] * 3, decoding=each) for n, each in enumerate(decoding)]
    compared = compare(base, ",".join(map(str, seeds)), "--unlike")
    found = final_of(compared)["differences"]["s0 and another seed"]
    assert found["value"] == 1.0 and found["p"] == 0.25
    assert found["low"] < 0.5 and found["high"] == pytest.approx(1.0)


def test_stages_of_a_training_are_no_seeds_of_one_another(made, compare, refused):
    """A card of `tripwright run --model RUN/model/STAGE` says the stage in the path alone."""

    def played(run: str, stage: str, seed: int) -> Path:
        policy = {"model": f"{run}/model/{stage}", "fingerprint": run}
        recipe = {"name": run, "seed": seed}
        place = f"eval/{stage}"
        return made(f"{run}-{stage}", BEFORE, recipe, place, policy=policy) / place

    base, first, other = made("base", BEFORE), played("s1", "sft", 1), played("s2", "rl", 2)
    assert [run["name"] for run in compare(base, first, other)["runs"]] == ["base", "sft", "rl"]
    assert "differ in more" in refused(f"{first},{other}", base)
    same = compare(base, first, played("s2", "sft", 2))
    assert [run["seeds"] for run in same["runs"]] == [[None], [1, 2]]


def test_intervals_over_seeds_stay_in_the_possible_range(made, compare):
    """The deviation of few seeds is stretched, and would reach past the ends."""

    def seeds(name: str, sizes: tuple[int, int]) -> str:
        runs = (
            made(f"{name}-{seed}", [i < n for i in range(40)], {"name": name, "seed": seed}, PLACE)
            for seed, n in enumerate(sizes)
        )
        return ",".join(map(str, runs))

    low, high = seeds("low", (0, 8)), seeds("high", (40, 32))
    final = compare(low, high)["tables"]["metrics"]["final"]
    (worst, best), (difference,) = final["runs"].values(), final["differences"].values()
    assert worst["low"] == 0.0 < worst["high"] < 0.5 < best["low"] < best["high"] == 1.0
    assert difference["low"] < 0.8 < difference["high"] == 1.0


def test_a_flip_rate_counts_queries_whatever_their_samples(made, compare):
    passes = [(True, False)] * 3 + [(True, True)] * 7
    uneven = [(True, False)] * 5 + [(True, True, True, True)] * 5
    for name, given, k in (("a", passes, 3), ("c", uneven, 5)):
        tables = compare(made(name, given), made(f"{name}2", given[::-1]))["tables"]
        flips = tables["samples"]["flip_rate"]["runs"][name]
        assert (flips["k"], flips["n"], flips["value"]) == (k, 10, pytest.approx(k / 10))


# ---- what people are shown, in the terminal and on the page


def test_the_table_is_metric_by_run_with_marks(made, told):
    a, b = made("a", BEFORE), made("b", [True] * 34 + [False] * 6)
    text = told(a, b, "--count", "2")
    row = next(each for each in text.splitlines() if each.startswith("  final "))
    assert "50.0% [35.2–64.8%]" in row and "85.0% [" in row and row.endswith("below")  # once
    assert text.split("final pass, every two runs")[1].splitlines()[2].split()[-3] == "0.001*"
    assert "14 queries gained" in text and "0 queries lost" in text
    listed = [" ".join(each.split()) for each in text.splitlines() if " trip " in each]
    assert listed[0] == "1 q000020 easy 7 trip 20 0 of 1 passed 1 of 1 passed"
    assert len(listed) == 2
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
    section = section_of(page, "settings")
    rows = re.findall(r"<tr><th scope=.?row.*?</tr>", section)
    (cells,) = (re.findall(r">([^<>]+)</t[hd]>", row) for row in rows)
    assert cells == ["policy.model", "m", "other"]
    alike = report_page([a, made("c", AFTER)]).html()
    assert "None: all settings of run_card.json are the same." in alike


def test_the_page_shows_the_same_comparison(made, tmp_path):
    a, b = made("a", BEFORE), made("b<i>", [True] * 34 + [False] * 6)
    page = report_page([a, b]).html()
    section = section_of(page, "comparison")
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
    dialect, asked = dialect_named("compact"), queries_entry(root / "q.jsonl")
    policies = {"official": ("rows", RowsPolicy("cheapest")), "strict": ("expert", ExpertPolicy())}
    for rules, (name, policy) in policies.items():
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
    runs, world = (played / "rows", played / "expert"), tmp_path / "other"
    error = refused(*runs, "--rejudge", "strict", "--world", world)
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
