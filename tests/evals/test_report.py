"""The report of a made-up run (`synthetic_run`: test data, not a measurement): complete,
half-empty, broken and hostile folders; what it makes of a training's metrics, and of several runs
on one page."""

import html
import html.parser
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import fact_record, trip_record
from tests.files import write_lines
from tripwright.cli.main import main
from tripwright.domains import fact_title
from tripwright.domains.travelplanner.rules.facts import COMMONSENSE_NAMES, HARD_NAMES
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
from tripwright.runs import VERSION
from tripwright.statistics.rates import mean, rate

HOSTILE = "</title></script><script>alert(1)</script><img src=x onerror=alert(2)>\x00\x1b&\"'"


def write_json(path: Path, record: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record), encoding="utf-8")


def synthetic_run(folder: Path, episodes: int = 60, steps: int = 90) -> Path:
    """A training run folder as the trainer leaves it, with invented figures."""
    card = {"seed": 7, "git": {"revision": "0123abc", "clean": True}, "minutes": 24.3}
    write_json(folder / "run_card.json", card | {"worlds": {"train": ["a1b2c3", "d4e5f6"]}})
    levels = {
        "cheapest_row": {level: rate(k, 20) for level, k in LEVELS},
        "expert": {level: rate(20, 20) for level, _ in LEVELS},
    }
    scripts = {"first_row": rate(0, 60), "cheapest_row": rate(8, 60), "expert": rate(60, 60)}
    write_json(folder / "difficulty.json", {**scripts, "levels": levels})
    write_lines(folder / "metrics.jsonl", [*supervised_rows(), *rl_rows(steps)])
    for name, share in (("after_sft", 0.32), ("after_rl", 0.73), ("emptied_tools", 0.0)):
        write_json(folder / "eval" / name / "score.json", synthetic_score(share, 60))
        lines = [synthetic_episode(i, passed=(i % 10) < 10 * share) for i in range(episodes)]
        write_lines(folder / "eval" / name / "transcripts.jsonl", lines)
        write_json(folder / "eval" / name / "run_card.json", {"transcripts_version": VERSION})
    share = {"kind": "share"}
    comparison = {
        "final": {"value": 0.41, "low": 0.28, "high": 0.54, "n": 60, "p_holm": 3e-06} | share,
        "dense_reward": {"value": 1.31, "low": 0.92, "high": 1.71, "n": 60},
        "schema": {"value": 0.03, "low": -0.01, "high": 0.08, "n": 60} | share,
    }
    write_json(folder / "comparison.json", comparison)
    return folder


LEVELS = (("easy", 6), ("medium", 2), ("hard", 0))


def supervised_rows() -> list[dict[str, Any]]:
    return [
        {
            "stage": "copy_pretraining" if step <= 40 else "sft", "step": step, "seconds": 4.0 * step,
            "tokens": 9000 * step, "loss": 5.5 / step, "learning_rate": 1e-3, "tokens_per_second": 2200.0,
            **({"val_loss": 0.3} if step % 20 == 0 else {}),
        }
        for step in range(1, 121)
    ]  # fmt: skip


def rl_rows(steps: int) -> list[dict[str, Any]]:
    return [row(step) for step in range(1, steps + 1)]


def synthetic_score(share: float, n: int, unscored: int = 0) -> dict[str, Any]:
    def passed(of: int, at: float = share) -> dict[str, Any]:
        return dict(rate(round(of * at), of))

    metrics = {
        **{name: passed(n) for name in ("final", "commonsense_macro", "hard_macro")},
        **{name: passed(n, 0.9) for name in ("delivery", "schema")},
        **{name: passed(8 * n) for name in ("commonsense_micro", "hard_micro")},
        "dense_reward": dict(mean([5 * share + (i % 5) / 5 - 0.4 for i in range(n)], seed=0)),
    }
    return {
        "n": n, "unscored": unscored, "rules": "official", "metrics": metrics,
        "constraints": {name: passed(n) for name in (*COMMONSENSE_NAMES, *HARD_NAMES)},
        "levels": {level: {"final": passed(n // 3)} for level, _ in LEVELS},
        "stop_reasons": {"answer": n - 4, "max_turns": 4},
        "run_card": {"policy": "local", "temperature": 0.0},
    }  # fmt: skip


def synthetic_episode(i: int, passed: bool, **more: Any) -> dict[str, Any]:
    return trip_record(f"test-{i:04d}", passed=passed, level=LEVELS[i % 3][0], **more)


class Page(html.parser.HTMLParser):
    """Tags, attributes and text of a page; complains about tags that do not nest."""

    VOID = {"meta", "br", "img", "link", "input", "hr"}

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        assert not self._open, f"left open: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["script"]:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def report_of(folder: Path) -> tuple[str, Page]:
    page = write_report(folder).read_text(encoding="utf-8")
    return page, Page(page)


@pytest.fixture(scope="module")
def full(tmp_path_factory) -> tuple[str, Page]:
    """The page of a whole run."""
    return report_of(synthetic_run(tmp_path_factory.mktemp("full") / "run"))


def test_a_full_run_shows_every_figure_with_its_interval(full):
    _, page = full
    figures = "73.3% | 44 of 60 | 61.0–82.9% | 31.7% | 0.0–6.0% | +41.0 points against SFT, p < 0.001 | +1.31"
    names = "+0.92 to +1.71 | First row | Cheapest row | Expert | After SFT | After RL | Tools emptied | easy | hard"
    charts = "0123abc | Reward | Entropy | Turns per episode | Length per episode | Why episodes stop | Loss"
    for words in f"{figures} | {names} | {charts}".split(" | "):
        assert words in page.text, words
    assert all(fact_title(name) in page.text for name in (*COMMONSENSE_NAMES, *HARD_NAMES))
    assert "What this folder does not hold" not in page.text
    assert "comes first in 12 of 12 failures: Diverse restaurants" in page.text
    assert "nan" not in page.text.lower().split()


def test_text_from_files_is_shown_and_never_run(tmp_path):
    run = synthetic_run(tmp_path / "run")
    bad = synthetic_episode(0, passed=True, text=HOSTILE + "\ud800")
    bad["id"], bad["request"]["query"], bad["plan"][0]["dinner"] = HOSTILE, HOSTILE, HOSTILE
    call = {"name": HOSTILE, "arguments": {HOSTILE: HOSTILE}, "result": HOSTILE, "error": False}
    bad["transcript"]["segments"][2]["call"] = call
    bad["verdict"]["groups"][0]["facts"]["schema"]["message"] = HOSTILE
    bad["verdict"]["groups"][1]["facts"][HOSTILE] = fact_record(False, HOSTILE)
    write_lines(run / "eval/after_rl/transcripts.jsonl", [bad])
    score = synthetic_score(0.5, 60)
    for kind in ("metrics", "constraints", "levels"):
        score[kind][HOSTILE] = rate(1, 2)
    write_json(run / "eval/after_rl/score.json", {**score, "rules": HOSTILE})
    write_json(run / "eval" / "<b>x" / "score.json", score)
    write_json(run / "run_card.json", {"recipe": HOSTILE, HOSTILE: {HOSTILE: [HOSTILE]}})
    rows = [
        {**row, "stop_reasons": {HOSTILE: 1.0}, "constraints": {HOSTILE: 0.5}} for row in rl_rows(5)
    ]
    write_lines(run / "metrics.jsonl", rows)
    source, page = report_of(run)
    assert not {"img", "b>x"} & set(page.tags)
    assert page.tags.count("script") == source.count("</script>")
    assert not any(name.startswith("on") for name, _ in page.attributes)
    assert "alert(1)" in page.text  # shown, not dropped
    assert "\x00" not in source and "\x1b" not in source


def test_a_plain_run_folder_says_in_words_what_it_lacks(tmp_path):
    write_json(tmp_path / "score.json", synthetic_score(0.4, 60))
    write_lines(
        tmp_path / "transcripts.jsonl", [synthetic_episode(i, i % 2 == 0) for i in range(8)]
    )
    _, page = report_of(tmp_path)
    assert "This run" in page.text and "40.0%" in page.text and "temperature" in page.text
    assert "no metrics.jsonl, so there are no learning curves" in page.text
    assert "no difficulty.json" in page.text


FILES = ["run_card.json", "metrics.jsonl"]
FILES += [f"eval/after_rl/{name}" for name in ("score.json", "transcripts.jsonl")]


@pytest.mark.parametrize("kept", FILES)
def test_any_single_file_makes_a_page(tmp_path, kept):
    whole, alone = synthetic_run(tmp_path / "full", episodes=3, steps=4), tmp_path / "alone"
    (alone / kept).parent.mkdir(parents=True)
    (alone / kept).write_bytes((whole / kept).read_bytes())
    assert "What this folder does not hold" in report_of(alone)[1].text


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"final": 3, "metrics": [], "stage": null}', "\0"]
)
def test_broken_files_do_not_stop_the_page(tmp_path, content):
    run = synthetic_run(tmp_path / "run", episodes=4, steps=4)
    for name in ("difficulty.json", "comparison.json", *FILES[:3]):
        (run / name).write_text(content, encoding="utf-8")
    report_of(run)


def test_a_killed_run_is_read_up_to_its_last_whole_line(tmp_path):
    run = synthetic_run(tmp_path / "run", episodes=4)
    rows = rl_rows(10)
    with write_lines(run / "metrics.jsonl", rows[:8]).open("a", encoding="utf-8") as lines:
        lines.write('{"stage": "rl", "st')
    with (run / "eval/after_rl/transcripts.jsonl").open("a", encoding="utf-8") as lines:
        lines.write('{"id": 3}\n{"id": "cut')
    found = ReportedRun(run)
    assert [row["step"] for row in found.stage("rl")] == [1, 2, 3, 4, 5, 6, 7, 8]
    _, page = report_of(run)
    assert "1 unreadable line" in page.text


def test_values_that_are_not_finite_are_counted_not_drawn(tmp_path):
    run = synthetic_run(tmp_path / "run", episodes=4)
    rows = rl_rows(6)
    rows[3]["entropy"], rows[4]["reward_mean"] = math.nan, math.inf
    write_lines(run / "metrics.jsonl", rows)
    source, page = report_of(run)
    assert "2 logged values not finite" in page.text
    assert not re.search(r'points="[^"]*(nan|inf)', source)


def test_unscored_episodes_above_one_percent_bring_the_worst_case(tmp_path):
    write_json(tmp_path / "score.json", synthetic_score(0.5, 60, unscored=15))
    assert "15 episodes unscored" in report_of(tmp_path)[1].text
    assert "final pass 40.0% instead of 50.0%" in report_of(tmp_path)[1].text


def test_long_transcripts_stay_under_two_megabytes(tmp_path):
    run = synthetic_run(tmp_path / "run", episodes=3, steps=4)
    long = synthetic_episode(0, True)
    asked, told = long["transcript"]["segments"][2:4]
    asked["call"]["result"] = told["text"] = "<row> & " * 4000
    long["transcript"]["segments"][2:2] = [asked, told] * 30
    lines = [{**long, "id": str(i)} for i in range(12)]
    write_lines(run / "eval/after_rl/transcripts.jsonl", lines)
    assert write_report(run).stat().st_size < 2_000_000


def test_calls_that_were_made_to_fail_are_told(tmp_path):
    kinds = {"unavailable": 300, "<odd>": 1}
    counted = {"calls": 1500, "hit": 301, "kinds": kinds}
    for faults, told in ((counted, True), ({"hit": "x"}, False)):
        write_json(tmp_path / "score.json", {**synthetic_score(0.5, 60), "faults": faults})
        words = "301 of 1,500 tool calls were made to fail (unavailable 300"
        assert (words in report_of(tmp_path)[1].text) == told


def test_the_verb_prints_the_path_and_refuses_a_missing_folder(tmp_path, capsys):
    write_json(tmp_path / "run" / "score.json", synthetic_score(0.4, 60))
    run = tmp_path / "run"
    assert main(["report", str(run)]) == 0
    assert capsys.readouterr() == (f"{run / 'report.html'}\n", "")
    assert main(["report", str(run), str(tmp_path / "lost")]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1 and "lost" in printed.err


def test_a_difference_within_noise_is_not_called_a_gain(tmp_path):
    folder = synthetic_run(tmp_path / "run", episodes=3, steps=4)
    noise = {"value": 0.0033, "low": -0.027, "high": 0.033, "p_holm": 1.0, "kind": "share"}
    (folder / "comparison.json").write_text(json.dumps({"final": noise}), encoding="utf-8")
    source, page = report_of(folder)
    assert "no sure change against SFT: +0.3 points" in page.text
    assert 'class="change pass"' not in source


def test_a_run_in_which_nothing_was_scored_says_why(tmp_path):
    nothing = {"value": None, "low": 0.0, "high": 1.0, "k": 0, "n": 0}
    score = {"n": 0, "unscored": 3, "metrics": {"final": nothing}, "warning": "Fault: 500 boom."}
    score |= {"constraints": {"valid_cost": nothing}}
    (tmp_path / "score.json").write_text(json.dumps(score), encoding="utf-8")
    _, page = report_of(tmp_path)
    assert "This run: nothing was scored. Fault: 500 boom." in page.text
    assert fact_title("valid_cost") not in page.text


# ---- a training run's metrics: charts in groups, warnings, costs, Lemma 2, failures; several runs


TAGS = "</title><script>alert(1)</script><img src=x onerror=alert(2)>"


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
    write_lines(folder / "metrics.jsonl", rows)
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
    warning = {"stage": "rl", "name": "slow", "since_step": 2, "what": f"slow {TAGS}"}
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
        rates = [(step, 0.1 + rise * step) for step in range(1, 21)]
        return [{"step": s, "reward_variance": variance, "pass_rate": rate} for s, rate in rates]

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
    settings = ("grpo", 8, 0.2, 0.01, 40), ("dapo", 16, 0.28, 0.02, 60)
    for name, size, high, slope, final in settings:
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
    told = typed(f"report {two[0]} {two[1]} --out {tmp_path}/out.html --json").record
    assert told["runs"] == [str(folder) for folder in two]
    assert told["bytes"] == (tmp_path / "out.html").stat().st_size
    assert not (two[0] / "report.html").exists()


def test_rl_steps_are_found_whatever_the_stage_is_called(tmp_path):
    sft = {"stage": "sft", "step": 1, "seconds": 1.0, "loss": 1.0}
    rows = [sft, row(1, stage="rft"), row(1, stage="rl"), row(2, stage="rl")]
    found = ReportedRun(run_of(tmp_path / "a", rows)).rl
    assert [(each["stage"], each["step"]) for each in found] == [("rl", 1), ("rl", 2)]
