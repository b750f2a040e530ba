"""`tripwright verify` as a user types it: by rules and by an LLM judge that dies, comes back, and
is held against labels."""

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import completion
from tests.files import read_lines, write_lines
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verbs import verify
from tripwright.domains.deeptravel.verifiers.findings import (
    RUBRICS,
    TrajectoryFinding,
    TurnFinding,
    VerifierProblem,
)
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
from tripwright.transcript import Rows, Segment, StopReason, ToolCall, Transcript

GOOD, BAD = "very_satisfied", "dissatisfied_logic"
Record = dict[str, Any]


def episode(number: int, answer: str, stop: StopReason = StopReason.ANSWER) -> Record:
    way = {"origin": "Oldport", "destination": "Millbrook", "depart_date": "2026-06-26"}
    request = TravelRequest(id=f"r{number}", query="To Millbrook.", **way)
    answer = f"{{{answer}}}" if answer else answer  # as cards begin
    segments = []
    for turn in (1, 2):
        shown = json.dumps({"rows": [], "note": f"turn {turn}"})
        rows = Rows(note=f"turn {turn}")
        call = ToolCall("web_search", {"query": f"{number}.{turn}"}, shown, rows=rows)
        segments += [
            Segment("assistant", "a call", [1, 2], [1, 1], [0.0, 0.0], call=call),
            Segment("tool", shown),
        ]
    fault = "tool host down" if stop == "unscored" else None
    transcript = Transcript([*segments, Segment("assistant", answer)], stop, answer, fault)
    return {"id": f"e{number}", "request": request.record(), "transcript": transcript.to_json()}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Ten transcripts of two calls: e0 to e5 are good, e6 and e7 badly grounded in turn 2, e8 and
    e9 not feasible."""
    answers = [*["good"] * 6, *["ungrounded"] * 2, *["infeasible"] * 2]
    episodes = [episode(n, f"{answer} answer {n}") for n, answer in enumerate(answers)]
    return write_lines(tmp_path / "transcripts.jsonl", episodes)


class Rules:
    """A rule form that knows the answers above."""

    name = "rules"

    def trajectory(self, request: TravelRequest, transcript: Transcript) -> TrajectoryFinding:
        bad = "infeasible" in (transcript.answer or "")
        problems = (VerifierProblem("logic", "arrives before it departs"),) if bad else ()
        rubrics: dict[str, bool | None] = {**dict.fromkeys(RUBRICS, True), "logic": not bad}
        return TrajectoryFinding(BAD if bad else GOOD, rubrics, problems)

    def turn(self, request: TravelRequest, transcript: Transcript, call: int) -> TurnFinding:
        bad = call == 2 and "ungrounded" in (transcript.answer or "")
        return TurnFinding(call, "inconsistent_with_response" if bad else "satisfied")


@pytest.fixture(autouse=True)
def known_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "RuleVerifier", Rules)


class Judge:
    """An endpoint that says what the rules say, but for what `mood` does to it."""

    def __init__(self, serve: Callable[..., str], file: Path) -> None:
        self.mood, self.requests, self.file = "well", 0, file
        self._lock = threading.Lock()
        self.url = serve(self.answer)

    def answer(self, request: Record) -> tuple[int, bytes, dict[str, str]]:
        with self._lock:
            self.requests += 1
        user = request["messages"][1]["content"]
        number = int(re.findall(r"answer (\d)", user)[0])
        if self.mood == "dead" or (self.mood == "dies at 5" and number >= 5):
            return 503, b"{}", {}
        if "[Tool call" not in user:
            rubrics, unmet = RUBRICS, "logic"
            wrong = "infeasible" in user if self.mood != "lenient" else number == 9
            conclusion = BAD if wrong else GOOD
        else:
            rubrics, unmet = ("parameters", "reflects"), "reflects"
            wrong = "ungrounded" in user and "turn 2" in user
            conclusion = "inconsistent_with_response" if wrong else "satisfied"
        met = {**dict.fromkeys(rubrics, "met"), unmet: "not_met" if wrong else "met"}
        said = {"reason": "so", "rubrics": met, "problems": [], "conclusion": conclusion}
        usage = {"prompt_tokens": 500, "completion_tokens": 50}
        return completion(json.dumps(said), usage=usage)


@pytest.fixture
def judge(serve: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Judge:
    return Judge(serve, tmp_path_factory.mktemp("judge") / "judge.toml")


def by(judge: Judge, *words: str, **settings: Any) -> list[str]:
    settings = {"model": "m", "base_url": judge.url, "retries": 0, "concurrency": 4, **settings}
    lines = (f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    judge.file.write_text("".join(lines))
    return ["--judging", str(judge.file), *words]


@pytest.fixture
def verified(typed: Callable[..., Any]) -> Callable[..., tuple[list[Record], Record, str]]:
    """verified(path, *words) → the verdicts, the summary and stderr of a command that succeeds."""

    def run(path: Path, *words: str) -> tuple[list[Record], Record, str]:
        printed = typed("verify --json", [path, *words])
        *lines, summary = printed.records
        return lines, summary, printed.err

    return run


def test_by_rules_in_words_and_as_json(run, tmp_path, verified, typed):
    out = tmp_path / "sub" / "verdicts.jsonl"
    lines, summary, _ = verified(run, "--out", str(out))
    assert read_lines(out) == lines
    assert [line["reward"] for line in lines] == [1.0] * 6 + [0.0] * 4
    assert lines[9]["turns_saved"] == 2 and lines[9]["turns"] == [] and lines[9]["passes"] is False
    assert summary["trajectory"] == {GOOD: 8, BAD: 2}
    assert summary["turn"] == {"satisfied": 14, "inconsistent_with_response": 2}
    assert (summary["turns"], summary["turns_saved"]) == (20, 4)
    assert not (tmp_path / "judgements.jsonl").exists(), "the rules keep no votes"
    shown = typed(f"verify {run}").out
    rows = [line.split() for line in shown.splitlines()]
    assert ["reward", "60.0%", "[31.3%,", "83.2%]", "6/10"] in rows, "Wilson's interval"
    assert ["logic", "2", "e8:", "arrives", "before", "it", "departs"] in rows
    assert ["inconsistent_with_response", "2", "e6"] in rows and "e0: " not in shown


def test_the_real_rules_and_an_episode_without_answer(tmp_path, monkeypatch, verified, typed):
    monkeypatch.setattr(verify, "RuleVerifier", RuleVerifier)
    episodes = [episode(0, "invented"), episode(1, "", StopReason.MAX_TURNS)]
    path = write_lines(tmp_path / "transcripts.jsonl", episodes)
    (invented, missing), summary, _ = verified(path)
    assert invented["reward"] == 0 and invented["trajectory"]["problems"][0]["kind"] == "format"
    assert missing["reward"] == 0 and missing["trajectory"] is None
    assert summary["trajectory"] == {"dissatisfied_incomplete": 1, "no_answer": 1}
    typed(f"verify {path}")


def test_answers_in_free_words_are_refused_by_the_rules_alone(run, judge, verified, refused):
    run.write_text(run.read_text().replace('"answer": "{', '"answer": "So: {'))
    assert "prose" in refused("verify", [run])
    assert "prose" in refused("verify", [run, *by(judge), "--against-rules"])
    verified(run, *by(judge))


def test_answers_without_typed_rows_are_refused_by_the_rules_alone(
    tmp_path, judge, verified, refused
):
    old = episode(0, "good answer 0")
    for segment in old["transcript"]["segments"]:
        if segment["call"]:
            del segment["call"]["rows"]
    path = write_lines(tmp_path / "transcripts.jsonl", [old])
    assert "typed rows" in refused("verify", [path])
    verified(path, *by(judge))


def test_a_run_folder_is_its_transcripts(run, judge, tmp_path, verified, refused):
    """The votes of a judge are kept in the folder, so that folder and file are one run."""
    assert verified(run) == verified(tmp_path)
    verified(tmp_path, *by(judge))
    asked = judge.requests
    assert (tmp_path / "judgements.jsonl").is_file() and asked > 0
    verified(run, *by(judge))
    assert judge.requests == asked, "asked once, whether the folder or the file is named"
    (tmp_path / "none").mkdir()
    refused("verify", [tmp_path / "none"])


def test_a_judge_with_votes_and_its_cost(run, judge, verified):
    _, summary, _ = verified(run, *by(judge, votes=2, price_in=1.0, price_out=2.0))
    items, account = 10 + 2 * 8, summary["judge"]  # the turns of two failed trajectories are saved
    assert account["votes_asked"] == judge.requests == 2 * items and summary["turns_saved"] == 4
    assert account["items"] == account["unanimous"] == items and account["agreement"] == 1
    assert account["usd"] == pytest.approx(2 * items * (500 * 1 + 50 * 2) / 1e6)
    assert summary["reward"]["k"] == 6
    _, summary, _ = verified(run, *by(judge, votes=2))
    assert judge.requests == 2 * items, "the same command asks for nothing again"
    assert (summary["judge"]["votes_asked"], summary["judge"]["votes_reused"]) == (0, 2 * items)


def test_an_endpoint_that_dies_leaves_unscored_and_the_same_command_goes_on(run, judge, verified):
    judge.mood = "dies at 5"
    lines, summary, error = verified(run, *by(judge))
    assert "5 of 10 unscored" in error and "server_error" in lines[5]["unscored"]
    assert lines[5]["reward"] is None and "trajectory" not in lines[5], "never a 0"
    assert (summary["reward"]["k"], summary["reward"]["n"]) == (5, 5)
    assert (summary["worst_case"]["k"], summary["worst_case"]["n"]) == (5, 10)
    paid, judge.mood, judge.requests = 5 * 3, "well", 0
    _, summary, _ = verified(run, *by(judge))
    assert judge.requests == 26 - paid and summary["unscored"] == 0 and "worst_case" not in summary


def test_after_twenty_faults_in_a_row_nobody_is_asked(tmp_path, judge, verified):
    """Unscored episodes of the run itself are no faults of the judge."""
    judge.mood = "dead"
    dead = [episode(n, "", StopReason.UNSCORED) for n in range(25)]
    asked = [episode(n, "good answer 1") for n in range(25, 65)]
    path = write_lines(tmp_path / "transcripts.jsonl", [*dead, *asked])
    lines, summary, _ = verified(path, *by(judge))
    assert summary["unscored"] == 65 and 20 <= judge.requests < 2 * 30
    assert "tool host down" in lines[0]["unscored"] and "not asked" in lines[-1]["unscored"]


def test_calibration_against_rules_and_labels(run, judge, tmp_path, verified, typed):
    label = lambda n: {"trajectory": n < 8, "rubrics": {"logic": n < 8}}  # noqa: E731
    labels = [{"id": f"e{n}", "turns": [True, n not in (6, 7)], **label(n)} for n in range(1, 10)]
    file = write_lines(tmp_path / "labels.jsonl", labels)
    judge.mood = "lenient"  # it lets e8 pass
    words = by(judge, "--labels", str(file), "--against-rules", "--every-turn")
    lines, summary, _ = verified(run, *words)
    rules, people = summary["calibration"]["rules"], summary["calibration"]["labels"]
    assert rules["trajectory"]["confusion"] == [[8, 0], [1, 1]] and rules["compared"] == 10
    # p_o = 0.9, p_e = 0.8 · 0.9 + 0.2 · 0.1 = 0.74
    assert rules["trajectory"]["kappa"] == pytest.approx((0.9 - 0.74) / 0.26)
    assert rules["turns"]["n"] == 20 and rules["turns"]["kappa"] == 1
    assert rules["rubrics"]["logic"]["confusion"] == [[8, 0, 0], [1, 1, 0], [0, 0, 0]]
    assert (people["compared"], people["without_label"], people["turns"]["n"]) == (9, 1, 18)
    assert list(people["rubrics"]) == ["logic"]
    assert len(lines[9]["turns"]) == 2 and lines[9]["reward"] == 0
    assert "8 pass→pass, 1 fail→pass, 1 fail→fail" in typed(f"verify {run}", words).out


def test_labels_that_cannot_be_used_cost_nothing(run, judge, tmp_path, refused):
    other = write_lines(tmp_path / "labels.jsonl", [{"id": "x1", "trajectory": True}])
    assert "'x1'" in refused("verify", [run, *by(judge, "--labels", str(other))])
    nameless = [{**episode(n, "good"), "id": None} for n in (0, 0, 1)]
    twice = refused("verify", [write_lines(run, nameless), *by(judge, "--against-rules")])
    assert "'r0'" in twice and judge.requests == 0


def test_an_episode_played_again_counts_once(run, tmp_path, verified):
    """Of a run folder they are one episode, tried again; a torn last line is none."""
    again, dead = episode(3, "infeasible answer 3"), episode(3, "", StopReason.UNSCORED)
    write_lines(run, [dead, episode(4, "", StopReason.UNSCORED), again])
    run.write_text(run.read_text() + '{"id": "e4", "requ')
    lines, summary, error = verified(run)
    assert {line["id"]: line["reward"] for line in lines} == {"e3": 0.0, "e4": None}
    assert summary["n"] == 2 and "1 of 3 lines" in error
    assert "lines in" not in verified(tmp_path)[2]


# ---- what a user gets wrong is one line that names it


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--against-rules"], "--judging"),
        (["--judging", "none.toml"], "none.toml"),
        (["--judging", "{run}"], "not TOML"),
        (["--labels", "none.jsonl"], "none.jsonl"),
        (["--out", "{run}"], "transcripts.jsonl"),
    ],
)
def test_wrong_options(run, words, names, refused):
    assert names in refused("verify", [run, *(word.format(run=run) for word in words)])


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"votes": 0}, "'votes'"),
        ({"vote": 3}, "'vote'"),
        ({"rubrics": "none.toml"}, "none.toml"),
        ({"max_cost_usd": 1.0}, "price_in"),
        ({"base_url": "http://u:secret@x/v1"}, "base_url"),
    ],
)
def test_wrong_settings_of_a_judge(run, judge, settings, names, refused):
    error = refused("verify", [run, *by(judge, **settings)])
    assert names in error and "secret" not in error


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("{", ":1: not an episode"),
        ('{"query": {}, "transcript": {}}', "'request'"),
        ('{"request": {"origin": "A"}, "transcript": {}}', "destination"),
        (
            json.dumps({**episode(1, "x"), "transcript": {"segments": [{"role": "tool"}]}}),
            ":1: not an episode",
        ),
        ("", "No transcript in"),
    ],
)
def test_wrong_transcripts(tmp_path, line, names, refused):
    (tmp_path / "transcripts.jsonl").write_text(line + "\n")
    assert names in refused("verify", [tmp_path / "transcripts.jsonl"])


@pytest.mark.parametrize(
    ("label", "names"),
    [
        ("{", ":1: not JSON"),
        ("[]", "expected an object"),
        ('{"trajectory": true}', ":1: field 'id'"),
        ('{"id": "e1"}', ":1: field 'trajectory'"),
        ('{"id": "e1", "trajectory": 1}', ":1: field 'trajectory'"),
        ('{"id": "e1", "trajectory": true, "turns": [1]}', ":1: field 'turns.1'"),
        ('{"id": "e1", "trajectory": true, "turns": {"0": true}}', ":1: field 'turns.0"),
        ('{"id": "e1", "trajectory": true, "rubrics": ["logic"]}', ":1: field 'rubrics"),
        ('{"id": "e1", "trajectory": true}\n{"id": "e1", "trajectory": true}', ":2:"),
        ("", "No label in"),
    ],
)
def test_wrong_labels(run, tmp_path, label, names, refused):
    (tmp_path / "labels.jsonl").write_text(label + "\n")
    assert names in refused("verify", [run, "--labels", str(tmp_path / "labels.jsonl")])
