"""`tripwright verify` as a user types it: by rules and by an LLM judge that dies, comes back, and
is held against labels."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.cli.verbs import Verb
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verbs import verify
from tripwright.domains.deeptravel.verifiers import judge as judge_module
from tripwright.domains.deeptravel.verifiers.findings import (
    RUBRICS,
    TrajectoryFinding,
    TurnFinding,
    VerifierProblem,
)
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier
from tripwright.transcript import Rows, Segment, StopReason, ToolCall, Transcript

VERBS = (
    Verb(
        "verify",
        "tripwright.domains.deeptravel.verbs.verify",
        "verify",
        "Verify the answers of a run, by rules or by an LLM judge.",
    ),
)
GOOD, BAD = "very_satisfied", "dissatisfied_logic"


def episode(number: int, answer: str, stop: StopReason = StopReason.ANSWER) -> dict[str, Any]:
    request = TravelRequest(
        id=f"r{number}",
        query="To Millbrook.",
        origin="Oldport",
        destination="Millbrook",
        depart_date="2026-06-26",
    )
    answer = f"{{{answer}}}" if answer else answer  # as cards begin
    notes = {f"{number}.{turn}": f"turn {turn}" for turn in (1, 2)}
    calls = [
        ToolCall(
            "web_search",
            {"query": of},
            json.dumps({"rows": [], "note": note}),
            rows=Rows(note=note),
        )
        for of, note in notes.items()
    ]
    turns = [
        (
            Segment("assistant", "a call", [1, 2], [1, 1], [0.0, 0.0], call=call),
            Segment("tool", call.result),
        )
        for call in calls
    ]
    transcript = Transcript(
        [*(segment for turn in turns for segment in turn), Segment("assistant", answer)],
        stop,
        answer,
        "tool host down" if stop == "unscored" else None,
    )
    return {"id": f"e{number}", "request": request.record(), "transcript": transcript.to_json()}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Ten transcripts of two calls: e0 to e5 are good, e6 and e7 badly grounded in turn 2, e8 and
    e9 not feasible."""
    answers = [*["good"] * 6, *["ungrounded"] * 2, *["infeasible"] * 2]
    lines = [
        json.dumps(episode(number, f"{answer} answer {number}"))
        for number, answer in enumerate(answers)
    ]
    path = tmp_path / "transcripts.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


class Rules:
    """A rule form that knows the answers above."""

    name = "rules"

    def trajectory(self, request: TravelRequest, transcript: Transcript) -> TrajectoryFinding:
        bad = "infeasible" in (transcript.answer or "")
        problems = (VerifierProblem("logic", "arrives before it departs"),) if bad else ()
        return TrajectoryFinding(
            BAD if bad else GOOD, {**dict.fromkeys(RUBRICS, True), "logic": not bad}, problems
        )

    def turn(self, request: TravelRequest, transcript: Transcript, call: int) -> TurnFinding:
        bad = call == 2 and "ungrounded" in (transcript.answer or "")
        return TurnFinding(call, "inconsistent_with_response" if bad else "satisfied")


@pytest.fixture(autouse=True)
def known_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "RuleVerifier", Rules)
    monkeypatch.setattr(judge_module, "RuleVerifier", Rules)


class Judge:
    """An endpoint that says what the rules say, but for what `mood` does to it."""

    def __init__(self, serve: Callable[..., str], file: Path) -> None:
        self.mood, self.requests, self.file = "well", 0, file
        self._lock = threading.Lock()
        self.url = serve(self.answer)

    def answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        with self._lock:
            self.requests += 1
        user = request["messages"][1]["content"]
        number = int(re.findall(r"answer (\d)", user)[0])
        if self.mood == "dead" or (self.mood == "dies at 5" and number >= 5):
            return 503, b"{}", {}
        level = RUBRICS if "[Tool call" not in user else ("parameters", "reflects")
        met = dict.fromkeys(level, "met")
        if level == RUBRICS:
            wrong = "infeasible" in user if self.mood != "lenient" else number == 9
            conclusion = BAD if wrong else GOOD
            met["logic"] = "not_met" if wrong else "met"
        else:
            wrong = "ungrounded" in user and "turn 2" in user
            conclusion = "inconsistent_with_response" if wrong else "satisfied"
            met["reflects"] = "not_met" if wrong else "met"
        said = json.dumps(
            {"reason": "so", "rubrics": met, "problems": [], "conclusion": conclusion}
        )
        body = {
            "choices": [{"message": {"content": said}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 500, "completion_tokens": 50},
        }
        return 200, json.dumps(body).encode(), {}


@pytest.fixture
def judge(serve: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Judge:
    return Judge(serve, tmp_path_factory.mktemp("judge") / "judge.toml")


def by(judge: Judge, *words: str, **settings: Any) -> list[str]:
    settings = {"model": "m", "base_url": judge.url, "retries": 0, "concurrency": 4, **settings}
    lines = (f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    judge.file.write_text("".join(lines))
    return ["--judging", str(judge.file), *words]


def told(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_by_rules_in_words_and_as_json(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(run)], VERBS) == 0
    shown = capsys.readouterr().out
    assert "reward 60.0% (31.3% to 83.2%), 6 of 10" in shown, "Wilson's interval"
    assert "turns: 20, of which 4 were not judged" in shown
    rows = [line.split() for line in shown.splitlines()]
    assert ["very_satisfied", "8"] in rows and ["dissatisfied_logic", "2"] in rows
    assert ["what", "fails", "first", "4", "for", "instance"] in rows
    assert ["logic", "2", "e8:", "arrives", "before", "it", "departs"] in rows and [
        "inconsistent_with_response",
        "2",
        "e6",
    ] in rows
    assert "e0: " not in shown
    assert main(["verify", str(run), "--verbose"], VERBS) == 0
    in_full = capsys.readouterr().out
    assert in_full.endswith(f"\n\n{shown}")
    assert "e0: reward 1, very_satisfied, 2 of 2 turns pass\n" in in_full
    assert "e6: reward 0, very_satisfied, 1 of 2 turns pass\n" in in_full
    assert "e9: reward 0, dissatisfied_logic: arrives before it departs\n" in in_full
    out = tmp_path / "sub" / "verdicts.jsonl"
    assert main(["verify", str(run), "--json", "--out", str(out)], VERBS) == 0
    *lines, summary = told(capsys)
    assert [json.loads(line) for line in out.read_text().splitlines()] == lines
    assert [line["reward"] for line in lines] == [1.0] * 6 + [0.0] * 4
    assert lines[9]["turns_saved"] == 2 and lines[9]["turns"] == [] and lines[9]["passes"] is False
    assert summary["trajectory"] == {GOOD: 8, BAD: 2} and summary["turn"] == {
        "satisfied": 14,
        "inconsistent_with_response": 2,
    }
    assert not (tmp_path / "judgements.jsonl").exists(), "the rules keep no votes"


def test_the_real_rules_and_an_episode_without_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verify, "RuleVerifier", RuleVerifier)
    invented = (
        "### Outbound recommendations (2026-06-26)\n#### TW 999 flight (Oldport → Millbrook)\n-"
        " **Price**: 80 USD"
    )
    path = tmp_path / "transcripts.jsonl"
    path.write_text(
        "".join(
            json.dumps(each) + "\n"
            for each in (episode(0, invented), episode(1, "", StopReason.MAX_TURNS))
        )
    )
    assert main(["verify", str(path), "--verbose"], VERBS) == 0
    shown = capsys.readouterr().out
    assert (
        "e0: reward 0, " in shown
        and "e1: reward 0, no_answer: There is no answer." in shown
        and "0 of 2" in shown
    )


def test_answers_in_free_words_are_refused_in_one_line_by_the_rules_alone(
    run: Path, judge: Judge, capsys: pytest.CaptureFixture[str]
) -> None:
    run.write_text(run.read_text().replace('"answer": "{', '"answer": "So: {'))
    assert main(["verify", str(run)], VERBS) == 2
    assert main(["verify", str(run), *by(judge), "--against-rules"], VERBS) == 2
    assert capsys.readouterr().err.count("rules read no prose: verify it with --judging") == 2
    assert main(["verify", str(run), *by(judge)], VERBS) == 0


def test_answers_without_typed_rows_are_refused_in_one_line_by_the_rules_alone(
    tmp_path: Path, judge: Judge, capsys: pytest.CaptureFixture[str]
) -> None:
    old, path = episode(0, "good"), tmp_path / "transcripts.jsonl"
    for segment in old["transcript"]["segments"]:
        if segment["call"]:
            del segment["call"]["rows"]
    path.write_text(json.dumps(old) + "\n")
    assert (
        main(["verify", str(path)], VERBS)
        == main(["verify", str(path), *by(judge), "--against-rules"], VERBS)
        == 2
    )
    assert capsys.readouterr().err.count("without typed rows") == 2
    assert main(["verify", str(path), *by(judge)], VERBS) == 0


def test_a_run_folder_is_its_transcripts(
    run: Path, judge: Judge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The votes of a judge are kept in the folder, so that folder and file are one run."""
    assert main(["verify", str(run), "--json"], VERBS) == 0
    of_file = capsys.readouterr().out
    assert main(["verify", str(tmp_path), "--json"], VERBS) == 0
    assert capsys.readouterr().out == of_file and len(of_file.splitlines()) == 11
    assert main(["verify", str(tmp_path), *by(judge)], VERBS) == 0
    asked = judge.requests
    assert (tmp_path / "judgements.jsonl").is_file() and asked > 0
    assert main(["verify", str(run), *by(judge)], VERBS) == 0
    assert judge.requests == asked, "asked once, whether the folder or the file is named"
    (tmp_path / "none").mkdir()
    assert main(["verify", str(tmp_path / "none")], VERBS) == 2
    assert f"'{tmp_path / 'none'}' holds no transcripts.jsonl" in capsys.readouterr().err


def test_what_passes_is_a_setting(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(run), "--json", "--passing", GOOD, "--passing", BAD], VERBS) == 0
    assert told(capsys)[-1]["reward"]["k"] == 8


def test_a_judge_with_votes_and_its_cost(
    run: Path, judge: Judge, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            [
                "verify",
                str(run),
                *by(judge, "--json", votes=2, price_in=1.0, price_out=2.0),
            ],
            VERBS,
        )
        == 0
    )
    *_, summary = told(capsys)
    items = 10 + 2 * 8  # the turns of two failed trajectories are saved
    assert (
        summary["judge"]["votes_asked"] == judge.requests == 2 * items
        and summary["turns_saved"] == 4
    )
    assert (
        summary["judge"]["items"] == summary["judge"]["unanimous"] == items
        and summary["judge"]["agreement"] == 1
    )
    assert summary["judge"]["usd"] == pytest.approx(2 * items * (500 * 1 + 50 * 2) / 1e6)
    assert summary["reward"]["k"] == 6 and summary["judge"]["forms"] == {"schema": 2 * items}
    assert main(["verify", str(run), *by(judge, votes=2)], VERBS) == 0
    assert judge.requests == 2 * items, "the same command asks for nothing again"
    assert f"0 votes asked for, {2 * items} kept from before" in capsys.readouterr().out


def test_an_endpoint_that_dies_leaves_unscored_and_the_same_command_goes_on(
    run: Path, judge: Judge, capsys: pytest.CaptureFixture[str]
) -> None:
    judge.mood = "dies at 5"
    assert main(["verify", str(run), *by(judge, "--json")], VERBS) == 0
    captured = capsys.readouterr()
    *lines, summary = [json.loads(line) for line in captured.out.splitlines()]
    assert "5 of 10 unscored" in captured.err and "server_error" in lines[5]["unscored"]
    assert lines[5]["reward"] is None and "trajectory" not in lines[5], "never a 0"
    assert (summary["reward"]["k"], summary["reward"]["n"]) == (5, 5)
    assert (summary["worst_case"]["k"], summary["worst_case"]["n"]) == (5, 10)
    paid, judge.mood, judge.requests = 5 * 3, "well", 0
    assert main(["verify", str(run), *by(judge, "--json")], VERBS) == 0
    *_, summary = told(capsys)
    assert judge.requests == 26 - paid and summary["unscored"] == 0 and "worst_case" not in summary


def test_after_twenty_faults_in_a_row_nobody_is_asked(
    tmp_path: Path, judge: Judge, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "transcripts.jsonl"
    path.write_text(
        "".join(json.dumps(episode(number, "good answer 1")) + "\n" for number in range(40))
    )
    judge.mood = "dead"
    assert main(["verify", str(path), *by(judge, "--json")], VERBS) == 0
    *lines, summary = told(capsys)
    assert (
        summary["unscored"] == 40
        and "not asked" in lines[-1]["unscored"]
        and judge.requests < 2 * 30
    )


def test_calibration_against_rules_and_labels(
    run: Path, judge: Judge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tmp_path / "labels.jsonl"
    said = [
        {
            "id": f"e{n}",
            "trajectory": n < 8,
            "turns": [True, n not in (6, 7)],
            "rubrics": {"logic": n < 8},
        }
        for n in range(10)
    ]
    labels.write_text("".join(json.dumps(each) + "\n" for each in said[1:]))
    judge.mood = "lenient"  # it lets e8 pass
    words = by(judge, "--labels", str(labels), "--against-rules", "--every-turn")
    assert main(["verify", str(run), *words, "--json"], VERBS) == 0
    *lines, summary = told(capsys)
    found = summary["calibration"]
    assert (
        found["rules"]["trajectory"]["confusion"] == [[8, 0], [1, 1]]
        and found["rules"]["compared"] == 10
    )
    # p_o = 0.9, p_e = 0.8 · 0.9 + 0.2 · 0.1 = 0.74
    assert found["rules"]["trajectory"]["kappa"] == pytest.approx((0.9 - 0.74) / 0.26)
    assert found["rules"]["turns"]["n"] == 20 and found["rules"]["turns"]["kappa"] == 1
    assert found["rules"]["rubrics"]["logic"]["confusion"] == [[8, 0, 0], [1, 1, 0], [0, 0, 0]]
    assert (
        found["labels"]["compared"],
        found["labels"]["without_label"],
        found["labels"]["turns"]["n"],
    ) == (9, 1, 18)
    assert (
        list(found["labels"]["rubrics"]) == ["logic"]
        and len(lines[9]["turns"]) == 2
        and lines[9]["reward"] == 0
    )
    assert main(["verify", str(run), *words], VERBS) == 0
    shown = capsys.readouterr().out
    assert "against rules: 10 transcripts compared" in shown and "trajectory: kappa 0.62" in shown
    assert "8 pass→pass, 1 fail→pass, 1 fail→fail" in shown


def test_labels_that_cannot_be_used_cost_nothing(
    run: Path, judge: Judge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "labels.jsonl").write_text('{"id": "x1", "trajectory": true}\n')
    assert (
        main(["verify", str(run), *by(judge, "--labels", str(tmp_path / "labels.jsonl"))], VERBS)
        == 2
    )
    lines = [
        {key: value for key, value in episode(number, "good").items() if key != "id"}
        for number in (0, 0, 1)
    ]
    run.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["verify", str(run), *by(judge, "--against-rules")], VERBS) == 2
    assert (
        "The id 'r0' stands on more than one transcript" in capsys.readouterr().err
        and judge.requests == 0
    )


def test_an_episode_played_again_counts_once(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = episode(3, "infeasible answer 3")
    dead = episode(3, "", StopReason.UNSCORED)
    run.write_text(
        "".join(
            json.dumps(each) + "\n" for each in (dead, episode(4, "", StopReason.UNSCORED), again)
        )
    )
    assert main(["verify", str(run), "--json"], VERBS) == 0
    *lines, summary = told(capsys)
    assert {line["id"]: line["reward"] for line in lines} == {"e3": 0.0, "e4": None} and summary[
        "n"
    ] == 2
    assert (
        lines[0]["id"] == "e4" and lines[0]["unscored"] == "the episode is unscored: tool host down"
    )


def test_unscored_episodes_of_the_run_stop_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "transcripts.jsonl"
    lines = [
        *(episode(number, "", StopReason.UNSCORED) for number in range(25)),
        episode(25, "good answer"),
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    assert main(["verify", str(path), "--json"], VERBS) == 0
    assert told(capsys)[-1]["reward"]["k"] == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--against-rules"], "--against-rules holds a judge's verdicts against rules"),
        (["--judging", "none.toml"], "--judging 'none.toml' cannot be read"),
        (["--judging", "{run}"], "not TOML"),
        (["--passing", "fine"], "--passing 'fine' is not one of very_satisfied"),
        (["--labels", "none.jsonl"], "No labels at 'none.jsonl'"),
        (["--out", "{run}"], "is what the command reads"),
    ],
)
def test_wrong_options_are_one_line(
    run: Path, words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(run), *(word.format(run=run) for word in words)], VERBS) == 2
    captured = capsys.readouterr()
    assert complaint in captured.err and captured.err.count("\n") == 1 and captured.out == ""


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"by": "oracle"}, "judge.toml: setting 'by': Input should be 'judge' or 'both'"),
        ({"vote": 3}, "judge.toml: unknown setting 'vote'. Accepted: "),
        ({"rubrics": "none.toml"}, "No rubrics at 'none.toml'"),
        ({"max_cost_usd": 1.0}, "max_cost_usd needs price_in and price_out."),
        ({"base_url": "http://u:secret@x/v1"}, "base_url holds a password"),
    ],
)
def test_wrong_settings_of_a_judge_are_one_line(
    run: Path,
    judge: Judge,
    settings: dict[str, Any],
    complaint: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["verify", str(run), *by(judge, **settings)], VERBS) == 2
    captured = capsys.readouterr()
    assert complaint in captured.err and captured.err.count("\n") == 1
    assert "secret" not in captured.err


def test_rules_come_first_and_the_judge_is_asked_about_what_they_pass(
    run: Path, judge: Judge, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of ten fail by the rules; the judge would have let one of these pass."""
    judge.mood = "lenient"
    assert main(["verify", str(run), *by(judge, "--json", by="both")], VERBS) == 0
    *lines, summary = told(capsys)
    assert [line["reward"] for line in lines] == [1.0] * 6 + [0.0] * 4
    assert summary["verifier"].startswith("rules, then judge:m:")
    assert judge.requests == 8 + 2 * 6 + 2  # trajectories, and turns up to the first that fails


def test_nobody_is_asked_once_judging_has_cost_enough(
    run: Path, judge: Judge, capsys: pytest.CaptureFixture[str]
) -> None:
    """500 prompt tokens a request at 1,000 USD a million are half a dollar."""
    limits = {"price_in": 1000.0, "price_out": 0.0, "concurrency": 1}
    assert main(["verify", str(run), *by(judge, max_cost_usd=2.0, **limits)], VERBS) == 2
    assert "Judging has cost $2.00 of the $2.00 allowed" in capsys.readouterr().err
    assert judge.requests == 4
    assert main(["verify", str(run), *by(judge, max_cost_usd=20.0, **limits)], VERBS) == 0
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "transcripts.jsonl:1: not an episode of a run: not JSON"),
        ('{"query": {}, "transcript": {}}', 'expected an object with "request"'),
        ('{"request": {"origin": "A"}, "transcript": {}}', "request: destination: Field required"),
        (
            json.dumps({**episode(1, "x"), "transcript": {"segments": [{"role": "tool"}]}}),
            "'transcript' is not one of a run",
        ),
        ("", "No transcripts in"),
    ],
)
def test_wrong_transcripts_are_one_line(
    tmp_path: Path, line: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "transcripts.jsonl"
    path.write_text(line + "\n")
    assert main(["verify", str(path)], VERBS) == 2
    error = capsys.readouterr().err
    assert complaint in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("label", "complaint"),
    [
        ('{"id": "e1"}', 'expected an object with "id" and "trajectory"'),
        (
            '{"id": "e1", "trajectory": true, "turns": [1]}',
            "'turns' must be a list of true and false",
        ),
        ('{"id": "e1", "trajectory": true, "turns": {"0": true}}', "'turns' must be"),
        ('{"id": "e1", "trajectory": true, "rubrics": ["logic"]}', "'rubrics' must be an object"),
        (
            '{"id": "e1", "trajectory": true}\n{"id": "e1", "trajectory": true}',
            "labels.jsonl:2: a second label of 'e1'",
        ),
        (
            '{"id": "x1", "trajectory": true}',
            (
                "No label is of these transcripts: labels are of 'x1', transcripts are 'e0', 'e1',"
                " 'e2', …"
            ),
        ),
    ],
)
def test_wrong_labels_are_one_line(
    run: Path, tmp_path: Path, label: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "labels.jsonl").write_text(label + "\n")
    assert main(["verify", str(run), "--labels", str(tmp_path / "labels.jsonl")], VERBS) == 2
    assert complaint in capsys.readouterr().err


def test_lines_of_one_id_are_told_of(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a run folder they are one episode, tried again; a torn last line is none."""
    lines = run.read_text().splitlines()
    run.write_text("\n".join([*lines, *lines[:3], '{"id": "e4", "requ']))
    assert main(["verify", str(run), "--json"], VERBS) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out.splitlines()[-1])["n"] == 10
    assert f"3 of 13 lines in '{run}' have the id of a later line" in captured.err
    assert main(["verify", str(tmp_path), "--json"], VERBS) == 0
    assert "later line" not in capsys.readouterr().err
