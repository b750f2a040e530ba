"""What the report makes of a training run's metrics: charts in groups, warnings, costs, Lemma 2,
failures; and several runs on one page.

All figures are made up: test data, not measurements."""

import html
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from tripwright.errors import UserError
from tripwright.evals.report import report_page, write_report
from tripwright.evals.report.folder import ReportedRun
from tripwright.evals.report.learning import (
    COSTS,
    best,
    chart_groups,
    failures,
    first_reached,
    time_to_gain,
    variance_section,
)
from tripwright.statistics.rates import mean, rate

HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(2)>"


def row(step: int, **changed: Any) -> dict[str, Any]:
    """One step with every figure that the charts know."""
    charts = (chart for group in chart_groups().values() for chart in group)
    figures = {key: 0.5 + step / 1000 for chart in charts for key, _, _ in chart.lines}
    figures |= {"reward_mean": 1 + step / 50, "reward_std": 0.5, "reward_length": -0.1}
    figures |= {"pass_rate": step / 100, "learning_rate": 1e-4 / step, "peak_memory_mb": 900.0}
    figures |= {"flops_update_total": 1e12 * step, "flops_total": 3e12 * step}
    figures |= {"dense_variance": 1.0, "sparse_variance": 0.1, "covariance": 0.2}
    stops = {"stop_reasons": {"answer": 0.9, "max_turns": 0.1}}
    checks = {"constraints": {"is_valid_cost": 0.5, "is_not_absent": 1.0}}
    begun = {"stage": "rl", "step": step, "seconds": 60.0 * step}
    return {**begun, **figures, **stops, **checks, **changed}


def run_of(
    folder: Path,
    rows: list[dict[str, Any]],
    recipe: dict[str, Any] | None = None,
    final: int | None = None,
) -> Path:
    (folder / "eval" / "after_rl").mkdir(parents=True)
    lines = "".join(json.dumps(each) + "\n" for each in rows)
    (folder / "metrics.jsonl").write_text(lines, encoding="utf-8")
    if recipe is not None:
        (folder / "recipe.json").write_text(json.dumps(recipe), encoding="utf-8")
    if final is not None:
        metrics = {"final": rate(final, 100), "dense_reward": mean([1.0, 2.0, 3.0], seed=0)}
        score = {"n": 100, "rules": "strict", "metrics": metrics}
        (folder / "eval" / "after_rl" / "score.json").write_text(json.dumps(score))
    return folder


def words(page: str) -> str:
    """The text a reader sees, charts included."""
    body = re.sub(r"<style.*?</style>", "", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_flops_from_mfu_are_the_papers_formula(tmp_path, typed):
    """Appendix B.6 with its f_peak and 16 GPUs: an MFU of 0.3 over 100 s, in two epochs."""
    cost = {"mfu": 0.3, "gpus": 16, "update_seconds": 100.0}
    rows = [row(step, **cost) for step in (1, 2)]
    folder = run_of(tmp_path / "a", rows, {"grpo": {"epochs_per_batch": 2, "curriculum": {}}})
    run = ReportedRun(folder)
    run.flops_from_mfu(9.89e14)
    once = 0.3 * 9.89e14 * 16 * 100 / 2
    assert [each["flops_update_total"] for each in run.rl] == pytest.approx([once, 2 * once])
    typed(f"report {folder} --peak-flops 9.89e14 --out {tmp_path / 'page.html'}")
    without = run_of(tmp_path / "b", [row(1, mfu=None)])
    typed(f"report {without} --peak-flops 9.89e14 --out {tmp_path / 'b.html'}", code=2)


def test_every_chart_of_the_table_is_drawn_from_its_figures(tmp_path):
    page = write_report(run_of(tmp_path / "a", [row(step) for step in range(1, 5)])).read_text()
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", html.unescape(page))
    for title, charts in chart_groups().items():
        assert f"<h3>{title}</h3>" in page
        assert {chart.title for chart in charts} <= set(captions)
    assert {"Passes over FLOPs of updates", "What fails most"} <= set(captions)


@pytest.mark.parametrize(
    "kept",
    [("reward_mean",), ("entropy", "kl"), ("flops_total", "pass_rate"), ("constraints",), ()],
)
def test_any_figure_may_be_missing(tmp_path, kept):
    names = ("stage", "step", "seconds", *kept)
    rows = [{name: row(step)[name] for name in names} for step in range(1, 4)]
    page = write_report(run_of(tmp_path / "a", rows)).read_text(encoding="utf-8")
    assert "nan" not in words(page).lower().split() and "Lemma" not in page


def test_warnings_are_told_with_their_advice(tmp_path):
    run = run_of(tmp_path / "a", [row(1), row(2)])
    warning = {"stage": "rl", "name": "slow", "since_step": 2, "what": f"slow {HOSTILE}"}
    warning |= {"advice": "Look at memory."}
    lines = [json.dumps(warning), "[]", "{torn"]
    (run / "warnings.jsonl").write_text("\n".join(lines), encoding="utf-8")
    page = write_report(run).read_text(encoding="utf-8")
    assert words(page).count("rl step 2: slow") == 1 and "Look at memory." in page
    assert "<script>alert" not in page and "<img" not in page


# ---- row P12: what it cost


def test_the_cost_of_a_level_is_that_of_the_step_that_first_reaches_it():
    rows = [row(step, pass_rate=0.1 * step) for step in range(1, 11)]  # too few to be smoothed
    assert best(rows) == pytest.approx(1.0)
    costs = [first_reached(rows, 0.9 - 1e-9, at) for at in COSTS]
    assert costs == [9.0, 9e12, 27e12]
    assert first_reached(rows, 1.5, "minutes") is None


def test_a_single_lucky_step_does_not_reach_a_level():
    rows = [row(step, pass_rate=0.9 if step == 20 else 0.1) for step in range(1, 101)]
    assert (best(rows) or 1.0) < 0.5


# ---- row P16: Lemma 2 and Theorem 1


def variances(runs: dict[str, list[dict[str, Any]]]) -> list[list[str]]:
    (table,) = variance_section(runs).parts
    return [[cell.text for cell in line] for line in table.rows]


def test_lemma_2_has_its_figures_of_the_first_ten_steps():
    late = [row(step, dense_variance=99.0) for step in range(11, 30)]  # not the start
    rows = [row(1), row(2, dense_variance=3.0), row(3, covariance=math.nan, dense_variance=2.0)]
    assert variances({"run": [*rows, *late]})[0][1:4] == ["2", "0.1", "0.2"]


def test_theorem_1_is_laid_beside_runs():
    """The bound goes by the variance of the first step, the time by the passes; a run that never
    gains says so."""

    def run(variance: float, rise: float) -> list[dict[str, Any]]:
        return [
            {"step": step, "reward_variance": variance, "pass_rate": 0.1 + rise * step}
            for step in range(1, 21)
        ]

    dense, sparse, flat = run(2.0, 0.02), run(0.5, 0.01), run(1.0, 0.0)
    assert (time_to_gain(dense), time_to_gain(sparse), time_to_gain(flat)) == (5, 7, None)
    assert [(line[0], *line[4:]) for line in variances({"d": dense, "s": sparse, "f": flat})] == [
        ("d", "2", "0.25", "5"),
        ("s", "0.5", "1", "7"),
        ("f", "1", "0.5", "–"),
    ]
    assert variances({"d": dense, "none": []})[1:] == []


# ---- row P14: failures


def test_failures_are_ordered_by_the_area_under_their_curve():
    rows = []
    for step in range(1, 21):
        early = {"valid_cuisine": 0.0 if step < 3 else 1.0}
        checks = {"is_not_absent": 1.0, **early, "is_valid_cost": 0.5}
        rows.append(row(step, constraints=checks))
    assert list(failures(rows)) == ["is_valid_cost", "valid_cuisine", "is_not_absent"]
    assert failures(rows)["is_valid_cost"][0] == (1.0, 0.5)


def test_steps_that_are_apart_count_for_the_time_between_them():
    rows = [
        {"stage": "rl", "step": s, "constraints": {"a": a, "b": b}}
        for s, a, b in ((1, 0.0, 1.0), (2, 1.0, 0.4), (100, 1.0, 0.4))
    ]
    assert list(failures(rows)) == ["b", "a"]


# ---- several runs


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    folders = []
    for name, size, high, slope, final in (
        ("grpo", 8, 0.2, 0.01, 40),
        ("dapo", 16, 0.28, 0.02, 60),
    ):
        rl = {"curriculum": {}, "group_size": size, "clip": {"high": high}, "max_minutes": None}
        rows = [row(step, pass_rate=slope * step) for step in range(1, 11)]
        folders.append(run_of(tmp_path / name, rows, {"seed": 0, "grpo": rl}, final))
    return folders


def test_runs_are_compared_in_figures_settings_costs_and_curves(two, tmp_path):
    page = report_page(two).html()
    text = words(page)
    settings = ("grpo.group_size 8 16", "grpo.clip.high 0.2 0.28")
    for part in ("40.0%", "40 of 100", "60.0%", "After RL, strict rules", *settings):
        assert part in text, part
    assert "grpo.max_minutes" not in text and "seed 0" not in text  # what is the same is not told
    assert "first reached 18.0%" in text  # 90% of the best of both
    cost = text[text.index("peak memory") :]
    assert "grpo grpo 10.0% – – – – 10 0.505 0.505 10 – 30T 900" in cost  # by algorithm, too
    assert "dapo grpo 20.0% 9 9 9T 27T 10 0.505 0.505 10 – 30T 900" in cost
    reward = page[page.index("<figcaption>Reward: mean<") :]
    assert "stroke: var(--c0)" in reward and "stroke: var(--c1)" in reward
    assert not re.search(r"<(img|link)", page)
    assert set(re.findall(r"https?://[^\s\"'<]*", page)) == {"http://www.w3.org/2000/svg"}


def test_runs_without_recipe_score_or_figures_are_named_not_filled_in(two, tmp_path):
    bare = run_of(tmp_path / "bare", [{"stage": "rl", "step": 1, "reward_mean": 1.0}])
    text = words(report_page([*two, bare]).html())
    assert "No recipe.json: bare." in text
    alike = [run_of(tmp_path / name, [{"stage": "rl", "step": 1}], {"seed": 1}) for name in "xy"]
    same = report_page(alike).html()
    assert "None: all settings of recipe.json are the same." in words(same)


def test_what_cannot_be_put_together_is_refused_in_one_line(two, tmp_path, typed):
    for folders, found in (
        ([tmp_path / str(i) for i in range(9)], "9 runs in one chart"),
        ([two[0], two[0]], "given twice"),
        ([two[0], tmp_path / "lost"], "Nothing to report in"),
    ):
        with pytest.raises(UserError, match=found):
            report_page(folders)
    told = typed(
        ["report", str(two[0]), str(two[1]), "--out", str(tmp_path / "out.html"), "--json"]
    ).record
    assert told["runs"] == [str(folder) for folder in two]
    assert told["bytes"] == (tmp_path / "out.html").stat().st_size
    assert not (two[0] / "report.html").exists()


def test_rl_steps_are_found_whatever_the_stage_is_called(tmp_path):
    rows = [
        {"stage": "sft", "step": 1, "seconds": 1.0, "loss": 1.0},
        row(1, stage="rft"),
        row(1, stage="rl"),
        row(2, stage="rl"),
    ]
    assert [(r["stage"], r["step"]) for r in ReportedRun(run_of(tmp_path / "a", rows)).rl] == [
        ("rl", 1),
        ("rl", 2),
    ]
