"""The report of a made-up run (`synthetic_run`: test data, not a measurement): complete,
half-empty, broken and hostile folders."""

import html.parser
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import fact_record, trip_record
from tests.evals.test_report_training import row
from tests.files import write_lines
from tripwright.cli.main import main
from tripwright.domains import fact_title
from tripwright.evals.report import write_report
from tripwright.evals.report.folder import ReportedRun
from tripwright.runs import VERSION
from tripwright.statistics.rates import mean, rate

COMMONSENSE = (
    "is_reasonable_visiting_city is_valid_restaurants is_valid_attractions is_valid_accommodation is_valid_transportation "
    "is_valid_information_in_current_city is_valid_information_in_sandbox is_not_absent"
).split()
HARD = "valid_cuisine valid_room_rule valid_transportation valid_room_type valid_cost".split()
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
        "constraints": {name: passed(n) for name in COMMONSENSE + HARD},
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
    assert all(fact_title(name) in page.text for name in COMMONSENSE + HARD)
    assert "What this folder does not hold" not in page.text
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
    score["metrics"][HOSTILE] = score["constraints"][HOSTILE] = score["levels"][HOSTILE] = rate(
        1, 2
    )
    write_json(run / "eval/after_rl/score.json", {**score, "rules": HOSTILE})
    write_json(run / "eval" / "<b>x" / "score.json", score)
    write_json(run / "run_card.json", {"recipe": HOSTILE, HOSTILE: {HOSTILE: [HOSTILE]}})
    rows = [
        {**row, "stop_reasons": {HOSTILE: 1.0}, "constraints": {HOSTILE: 0.5}} for row in rl_rows(5)
    ]
    write_lines(run / "metrics.jsonl", rows)
    source, page = report_of(run)
    assert not {"img", "b>x"} & set(page.tags) and page.tags.count("script") == len(
        re.findall("</script>", source)
    )
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
    whole = "".join(json.dumps(row) + "\n" for row in rows[:8])
    (run / "metrics.jsonl").write_text(whole + '{"stage": "rl", "st', encoding="utf-8")
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
    for faults, told in (
        ({"calls": 1500, "hit": 301, "kinds": kinds}, True),
        ({"hit": "x"}, False),
    ):
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
