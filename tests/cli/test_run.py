"""`run`, `query` and `solve` as a user types them, with endpoints that die, hang and talk rubbish,
and runs that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.domains import face_named
from tripwright.domains.travelplanner.expert import ExpertPolicy, expert_turns
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query, read_queries
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.errors import UserError
from tripwright.evals.run import ProgressLine
from tripwright.world.generator import build_world
from tripwright.world.store import World

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world and 12 queries."""
    folder = tmp_path_factory.mktemp("run")
    world = build_world(folder / "world", "nano", 2)
    queries = list(make_queries(world, 12, 1))
    (folder / "queries.jsonl").write_text(
        "".join(json.dumps(query.record()) + "\n" for query in queries)
    )
    return folder


@pytest.fixture(scope="module")
def world(folder: Path) -> World:
    return World.open(folder / "world")


class Expert:
    """A real endpoint that plays the expert, by native tool calls. `mood` says how it
    misbehaves."""

    def __init__(self, world: World, queries: list[Query], serve: Callable[..., str]) -> None:
        self.turns = {
            query.query: expert_turns(query, world, face_named("planner_r1")) for query in queries
        }
        self.mood, self.wait_s, self.requests = "well", 0.0, 0
        self.url = serve(self.answer)

    def answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]] | None:
        self.requests += 1
        if self.mood == "hangs":
            return None
        time.sleep(self.wait_s)
        if self.mood == "500":
            return 500, b'{"error": {"message": "out of memory"}}', {}
        if self.mood == "rubbish":
            return 200, b"<html>502 Bad Gateway</html>", {}
        if self.mood == "no key":
            return 401, b'{"error": {"message": "wrong key"}}', {}
        said = [message for message in request["messages"] if message["role"] == "assistant"]
        turn = self.turns[request["messages"][1]["content"]][len(said)]
        text, tag, call = turn.partition("<tool_call>")
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if tag:
            made = json.loads(call.removesuffix("</tool_call>"))
            function = {"name": made["name"], "arguments": json.dumps(made["arguments"])}
            message["tool_calls"] = [{"id": "abc", "type": "function", "function": function}]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if tag else "stop"}
        return (
            200,
            json.dumps(
                {"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 7}}
            ).encode(),
            {},
        )


@pytest.fixture
def expert(folder: Path, world: World, serve: Callable[..., str]) -> Expert:
    return Expert(world, read_queries(folder / "queries.jsonl"), serve)


def command(folder: Path, out: Path, *words: str) -> list[str]:
    return [
        "run",
        "--queries",
        str(folder / "queries.jsonl"),
        "--world",
        str(folder / "world"),
        "--out",
        str(out),
        *words,
    ]


def at(expert: Expert, *words: str) -> list[str]:
    # only a server that hangs should make anyone wait
    timeout = "1" if expert.mood == "hangs" else "30"
    return [
        "--policy",
        "endpoint",
        "--model",
        "m",
        "--base-url",
        expert.url,
        "--timeout",
        timeout,
        "--retries",
        "0",
        *words,
    ]


def score_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "score.json").read_text())
    return {key: value for key, value in found.items() if key != "run_card"}


def test_the_expert_by_name(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(folder, tmp_path / "a", "--policy", "expert")) == 0
    printed = capsys.readouterr()
    assert "12 episodes, strict rules" in printed.out and "12/12" in printed.out
    assert "12/12 episodes" in printed.err
    assert main(command(folder, tmp_path / "a", "--policy", "expert", "--json")) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(
        (tmp_path / "a" / "score.json").read_text()
    )


@pytest.mark.parametrize("policy", ["first-row", "cheapest-row"])
def test_the_policies_without_a_mind(folder: Path, tmp_path: Path, policy: str) -> None:
    assert (
        main(command(folder, tmp_path, "--policy", policy, "--count", "5", "--dialect", "compact"))
        == 0
    )
    assert score_of(tmp_path)["n"] == 5
    # the rest of the same run
    assert main(command(folder, tmp_path, "--policy", policy, "--dialect", "compact")) == 0
    assert score_of(tmp_path)["n"] == 12


def test_without_what_the_tools_say_nothing_passes(folder: Path, tmp_path: Path) -> None:
    assert main(command(folder, tmp_path, "--policy", "cheapest-row", "--empty-tools")) == 0
    assert score_of(tmp_path)["metrics"]["final"]["k"] == 0


def test_an_endpoint_that_plays_the_expert_passes(
    folder: Path, tmp_path: Path, expert: Expert
) -> None:
    assert main(command(folder, tmp_path, *at(expert, "--samples", "2"))) == 0
    score = score_of(tmp_path)
    assert score["metrics"]["final"]["k"] == 24 and score["metrics"]["pass^2"]["value"] == 1.0
    assert score["metrics"]["completion_tokens_mean"]["value"] == pytest.approx(
        7 * score["metrics"]["turns_mean"]["value"]
    )


@pytest.mark.parametrize("mood", ["500", "hangs", "rubbish"])
def test_a_sick_endpoint_loses_nothing_and_the_same_command_continues(
    folder: Path, tmp_path: Path, expert: Expert, mood: str, capsys: pytest.CaptureFixture[str]
) -> None:
    expert.mood = mood
    # nothing was scored: a script must not go on as if there were figures
    assert main(command(folder, tmp_path, *at(expert))) == 1
    score = score_of(tmp_path)
    assert (score["n"], score["unscored"], score["stop_reasons"]) == (0, 12, {"unscored": 12})
    assert "12 of 12 episodes are unscored" in capsys.readouterr().err
    expert.mood = "well"
    assert main(command(folder, tmp_path, *at(expert))) == 0
    score = score_of(tmp_path)
    assert (score["n"], score["unscored"]) == (12, 0) and score["metrics"]["final"]["value"] == 1.0


def test_a_wrong_key_is_one_line(
    folder: Path, tmp_path: Path, expert: Expert, capsys: pytest.CaptureFixture[str]
) -> None:
    expert.mood = "no key"
    assert main(command(folder, tmp_path, *at(expert))) == 2
    assert "OPENAI_API_KEY, which is not set" in capsys.readouterr().err
    expert.mood = "well"
    assert main(command(folder, tmp_path, *at(expert))) == 0


def test_a_killed_run_ends_with_the_score_of_an_uninterrupted_one(
    folder: Path, tmp_path: Path, expert: Expert
) -> None:
    expert.wait_s = 0.02
    words = at(expert, "--concurrency", "2")
    assert main(command(folder, tmp_path / "whole", *words)) == 0
    lines = tmp_path / "killed" / "transcripts.jsonl"
    child = subprocess.Popen(
        [sys.executable, "-m", "tripwright", *command(folder, tmp_path / "killed", *words)],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while (
        not (lines.is_file() and lines.read_bytes().count(b"\n") >= 4)
        and time.monotonic() < deadline
    ):
        time.sleep(0.005)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert 4 <= (before := lines.read_bytes().count(b"\n")) < 12
    assert not (tmp_path / "killed" / "score.json").exists()
    with lines.open("ab") as torn:
        torn.write(b'{"id": "q0000')
    asked = expert.requests
    assert main(command(folder, tmp_path / "killed", *words)) == 0
    assert score_of(tmp_path / "killed") == score_of(tmp_path / "whole")
    assert expert.requests - asked <= (12 - before) * 9  # what was there was not played again


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--policy", "oracle"],
            "Unknown policy 'oracle'. The policies are expert, expert-spender",
        ),
        (["--policy", "endpoint"], "needs --base-url URL"),
        (["--policy", "local"], "needs --model DIR"),
        (["--policy", "expert", "--model", "x"], "uses no model"),
        (["--policy", "expert", "--dialect", "latin"], "Unknown dialect 'latin'"),
        (["--policy", "expert", "--rules", "lax"], "Unknown rules 'lax'"),
        (["--policy", "expert", "--samples", "0"], "--samples"),
        (["--policy", "endpoint", "--model", "m", "--base-url", "localhost"], "is not a URL"),
    ],
)
def test_mistakes_are_one_line(
    folder: Path, tmp_path: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(folder, tmp_path / "out", *words)) == 2
    printed = capsys.readouterr()
    assert told in printed.err and printed.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_another_run_and_another_world_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(folder, tmp_path / "out", "--policy", "expert")) == 0
    assert main(command(folder, tmp_path / "out", "--policy", "first-row")) == 2
    assert 'policy kind is "expert" there and "first-row" here' in capsys.readouterr().err
    build_world(tmp_path / "other", "nano", 3)
    words = [
        "run",
        "--queries",
        str(folder / "queries.jsonl"),
        "--world",
        str(tmp_path / "other"),
        "--out",
        str(tmp_path / "b"),
    ]
    assert main([*words, "--policy", "expert"]) == 2
    assert "is it the right world?" in capsys.readouterr().err


def test_a_fast_run_is_told_in_whole_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    line = ProgressLine(300, silent=True)
    line.scored = 300
    for seconds, told in ((2.0, " 150/s"), (0.1, " 3,000/s"), (100.0, " 3/s"), (1000.0, " 0.3/s")):
        now = line._started + seconds
        monkeypatch.setattr("tripwright.evals.run.time.monotonic", lambda now=now: now)
        assert told in line.text()


def test_what_a_policy_refuses_leaves_no_card_behind(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would refuse the corrected command, as that of another run."""
    out, words = tmp_path / "out", ["--policy", "expert", "--count", "2"]

    def too_long(self: ExpertPolicy, sessions: Any) -> Any:
        raise UserError("Dialect 'planner_r1' needs 32,768 positions, this model has 2,048.")
        yield

    with monkeypatch.context() as patch:
        patch.setattr(ExpertPolicy, "play", too_long)
        assert main(command(folder, out, *words)) == 2
        assert not out.exists()
        out.mkdir()
        (out / "notes.txt").write_text("mine")
        assert main(command(folder, out, *words)) == 2
        assert [path.name for path in out.iterdir()] == ["notes.txt"]
    assert main(command(folder, out, *words, "--dialect", "compact")) == 0
    kept = sorted(path.name for path in out.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(ExpertPolicy, "play", too_long)
        words[-1] = "3"
        assert main(command(folder, out, *words, "--dialect", "compact")) == 2
    assert {*kept} - {"score.json"} <= {path.name for path in out.iterdir()}


@pytest.mark.parametrize("model", ["nowhere", "./nowhere", "runs/a/model", "{here}/model"])
def test_a_model_that_is_neither_a_folder_nor_a_hubs_name_is_refused_at_once(
    folder: Path,
    tmp_path: Path,
    model: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`from_pretrained` would ask a hub for half a minute."""
    transformers = pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    monkeypatch.setattr(transformers, "AutoModelForCausalLM", None)
    words = ["--policy", "local", "--model", model.format(here="here"), "--dialect", "compact"]
    assert main(command(folder, tmp_path / "out", *words)) == 2
    problem = capsys.readouterr().err
    assert "No model folder at" in problem and problem.count("\n") == 1


def test_a_local_model(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tripwright.training.nano import NanoShape, new_model
    from tripwright.training.tokenizer import make_tokenizer

    tokenizer = make_tokenizer(["Plan the trip. <answer>[]</answer>"] * 5, ["Plan"], superwords=4)
    new_model(
        NanoShape(hidden=16, layers=1, heads=2, kv_heads=1, head_size=8, feed_forward=16),
        tokenizer,
        0,
    ).save_pretrained(tmp_path / "m")
    tokenizer.save_pretrained(tmp_path / "m")
    words = [
        "--policy",
        "local",
        "--model",
        str(tmp_path / "m"),
        "--dialect",
        "compact",
        "--count",
        "2",
        "--rows",
        "2",
        "--decoding",
        "planner_r1_train",  # whose top-k -1 is none
    ]
    assert main(command(folder, tmp_path / "out", *words)) == 0
    score = json.loads((tmp_path / "out" / "score.json").read_text())
    assert score["n"] == 2 and score["metrics"]["completion_tokens_mean"]["value"] > 0
    assert len(score["run_card"]["policy"]["fingerprint"]) == 64


# ---- query and solve


def test_queries_are_made_and_checked(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "q.jsonl"
    words = [
        "query",
        "make",
        "--world",
        str(folder / "world"),
        "--count",
        "15",
        "--days",
        "3,5,7",
        "--levels",
        "1:1:2",
        "--out",
        str(out),
    ]
    assert main([*words, "--seed", "4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["queries"] == 15
    first = out.read_bytes()
    assert main([*words, "--seed", "5"]) == 2 and out.read_bytes() == first
    assert "is there already" in capsys.readouterr().err
    assert main([*words, "--seed", "4", "--restart"]) == 0 and out.read_bytes() == first
    assert [path.name for path in out.parent.iterdir()] == ["q.jsonl"]
    assert main(["query", "check", str(out), "--world", str(folder / "world")]) == 0
    assert "15 of 15 queries can be met" in capsys.readouterr().out


def test_a_query_that_cannot_be_met_is_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()][:4]
    records[0]["budget"] = 10
    records[1]["oracle"]["plan"][0]["accommodation"] = "Nowhere"
    records[2]["oracle"]["cheapest_cost_usd"] -= 1
    del records[3]["oracle"]
    path = tmp_path / "q.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    assert main(["query", "check", str(path), "--world", str(folder / "world")]) == 1
    told = capsys.readouterr().out.splitlines()
    assert "q.jsonl:1: cannot be met: the cheapest plan costs $" in told[0]
    assert "q.jsonl:2: its stored plan does not pass the judge: " in told[1]
    assert "q.jsonl:3: its stored cheapest cost is " in told[2]
    assert told[3] == "1 of 4 queries can be met"
    assert main(["query", "check", str(path), "--world", str(folder / "world"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {
        "kind": "summary",
        "queries": 4,
        "failed": 3,
    }


@pytest.mark.parametrize(
    "words",
    [
        ["--days", "4"],
        ["--days", "x"],
        ["--levels", "0:0:0"],
        ["--levels", "1:2"],
        ["--slack", "0.5:2"],
        ["--slack", "2:1"],
    ],
)
def test_bad_mixes_are_refused(
    folder: Path, tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            [
                "query",
                "make",
                "--world",
                str(folder / "world"),
                "--count",
                "1",
                "--out",
                str(tmp_path / "q.jsonl"),
                *words,
            ]
        )
        == 2
    )
    assert words[0] in capsys.readouterr().err


def solved(
    folder: Path, capsys: pytest.CaptureFixture[str], path: Path, *words: str
) -> list[dict[str, Any]]:
    assert main(["solve", str(path), "--world", str(folder / "world"), "--json", *words]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_plans_pass_the_judge_and_the_cheapest_is_no_dearer(
    folder: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "queries.jsonl"
    queries = read_queries(path)
    comfortable, cheapest = solved(folder, capsys, path), solved(folder, capsys, path, "--cheapest")
    for number, (query, a, b) in enumerate(
        zip(queries, comfortable, cheapest, strict=True), start=1
    ):
        assert (
            set(a) == {"line", "status", "plan", "cost_usd", "seconds", "why"}
            and a["line"] == number
        )
        assert (a["status"], b["status"], a["why"]) == ("feasible", "optimal", None)
        assert b["cost_usd"] <= a["cost_usd"] <= query.budget
        for found in (a, b):
            verdict = judge(query, found["plan"], world)
            assert verdict.final and verdict.total_cost == pytest.approx(found["cost_usd"])


def test_a_tight_budget_takes_the_cheapest_and_none_takes_none(
    folder: Path, world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query = next(q for q in make_queries(world, 200, 9, Mix(levels=(0, 1, 1))) if _gap(q))
    proof = (query.model_extra or {})["oracle"]
    tight, poor = (
        query.model_copy(update={"budget": cost})
        for cost in (proof["cheapest_cost_usd"], proof["cheapest_cost_usd"] - 1)
    )
    path = tmp_path / "q.jsonl"
    path.write_text(
        "".join(
            json.dumps(q.record()) + "\n"
            for q in (tight, poor, query.model_copy(update={"dest": "Atlantis"}))
        )
    )
    met, unmet, nowhere = solved(folder, capsys, path)
    assert (met["status"], met["cost_usd"]) == ("optimal", proof["cheapest_cost_usd"])
    assert (unmet["status"], unmet["plan"], unmet["cost_usd"]) == ("infeasible", None, None)
    assert "the cheapest plan costs $" in unmet["why"] and "'Atlantis'" in nowhere["why"]
    assert main(["solve", str(path), "--world", str(folder / "world")]) == 0
    assert "infeasible: the cheapest plan costs" in capsys.readouterr().out


def _gap(query: Query) -> bool:
    proof = (query.model_extra or {})["oracle"]
    return bool(proof["cheapest_cost_usd"] < proof["plan_cost_usd"])
