"""`tripwright run` end to end: what it leaves, what it costs, what a sick endpoint, a kill and a
mistake do to it. The endpoint plays the expert and counts what it is asked: no answer is paid for
twice, no episode is lost."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.files import read_lines
from tripwright.cli.main import main
from tripwright.domains.travelplanner.expert import ExpertPolicy
from tripwright.errors import UserError
from tripwright.evals.report import report_page
from tripwright.llm.client import Completion
from tripwright.llm.paid_calls import CallKey, PaidCalls
from tripwright.runs import CARD, TRANSCRIPTS, VERSION, VERSION_ENTRY

ROOT = Path(__file__).resolve().parents[2]
CONCURRENCY = 3
PRICES = "--price-in 1 --price-out 2"
Json = dict[str, Any]


@pytest.fixture
def words(nano_folder: Path, paid_expert: Any) -> Callable[..., list[str]]:
    """words(out, "more options") → the command line of a run of the 12 queries, by the endpoint
    unless another policy is named."""

    def make(out: Path, more: str = "", url: str = "") -> list[str]:
        place = f"--queries {nano_folder}/queries.jsonl --world {nano_folder}/world --out {out}"
        endpoint = f"--policy endpoint --model m --base-url {url or paid_expert.url} --retries 0"
        by = "" if "--policy" in more else endpoint
        return f"run {place} {by} {more}".split()

    return make


def score_of(out: Path) -> Json:
    return json.loads((out / "score.json").read_text())


def without_card(out: Path) -> Json:
    return {key: value for key, value in score_of(out).items() if key != "run_card"}


def finished(out: Path) -> list[str]:
    path = out / TRANSCRIPTS
    whole = path.read_bytes().rpartition(b"\n")[0] if path.exists() else b""
    return [json.loads(line)["request"]["query"] for line in whole.splitlines()]


# ---- what it says and leaves


def test_the_expert_by_name_and_again_in_json(words, tmp_path, typed):
    printed = typed(words(tmp_path / "a", "--policy expert"))
    assert "12/12" in printed.out
    assert "12/12 episodes" in printed.err and "faults" not in printed.out
    printed = typed(words(tmp_path / "a", "--policy expert --json --quiet"))
    assert json.loads(printed.out) == score_of(tmp_path / "a") and printed.err == ""
    assert not {"usage", "faults"} & (score_of(tmp_path / "a").keys())


@pytest.mark.parametrize("policy", ["first-row", "cheapest-row"])
def test_a_run_of_fewer_queries_is_the_beginning_of_one(words, tmp_path, policy):
    by = f"--policy {policy} --dialect compact"
    for count, n in (("--count 5", 5), ("", 12)):
        assert main(words(tmp_path, f"{by} {count}")) == 0
        assert score_of(tmp_path)["n"] == n
        floor = json.loads((tmp_path / "difficulty.json").read_text())["floor"]
        assert [each["metrics"]["final"]["n"] for each in floor.values()] == [n, n]
    twin = shutil.copytree(tmp_path, tmp_path / "twin")
    pages = [report_page(folders).html() for folders in ([tmp_path], [tmp_path, twin])]
    assert all("Floor: meal at home" in page for page in pages)


def test_without_what_the_tools_say_nothing_passes(words, tmp_path):
    assert main(words(tmp_path, "--policy cheapest-row --empty-tools")) == 0
    assert score_of(tmp_path)["metrics"]["final"]["k"] == 0


def test_a_local_model(words, tmp_path):
    pytest.importorskip("torch")
    from tripwright.training.nano import NanoShape, make_tokenizer, new_model

    tokenizer = make_tokenizer(["Plan the trip. <answer>[]</answer>"] * 5, ["Plan"], superwords=4)
    shape = NanoShape(hidden=16, layers=1, heads=2, kv_heads=1, head_size=8, feed_forward=16)
    new_model(shape, tokenizer, 0).save_pretrained(tmp_path / "m")
    tokenizer.save_pretrained(tmp_path / "m")
    how = "--dialect compact --count 2 --rows 2 --decoding planner_r1_train"  # its top-k -1 is none
    assert main(words(tmp_path / "out", f"--policy local --model {tmp_path}/m {how}")) == 0
    score = score_of(tmp_path / "out")
    assert score["n"] == 2 and score["metrics"]["completion_tokens_mean"]["value"] > 0
    assert len(score["run_card"]["policy"]["fingerprint"]) == 64


# ---- what it costs


def test_the_score_says_what_it_cost(words, tmp_path, paid_expert, capsys):
    assert main(words(tmp_path, f"{PRICES} --price-cached 0.5")) == 0
    n = paid_expert.requests
    tokens = {"prompt_tokens": 1000 * n, "completion_tokens": 100 * n, "cached_tokens": 400 * n}
    requests = {"requests": n, "uncounted_requests": 0, "discarded_requests": 0}
    assert score_of(tmp_path)["usage"] == {
        **tokens,
        **requests,
        "cost_usd": pytest.approx(n * (600 * 1 + 400 * 0.5 + 100 * 2) / 1e6),
        "usd_per_million_tokens": {"input": 1, "output": 2, "cached_input": 0.5},
    }
    printed = capsys.readouterr()
    assert f"requests: {n}" in printed.out
    assert "requests, " in printed.err and " out, $0." in printed.err
    # prices are no part of what a run is
    assert main(words(tmp_path)) == 0
    assert score_of(tmp_path)["usage"]["cost_usd"] is None and paid_expert.requests == n


def test_steps_that_the_last_play_never_came_to_are_paid_for_too(words, tmp_path):
    assert main(words(tmp_path / "a", f"{PRICES} --count 1")) == 0
    (line,) = (tmp_path / "a" / TRANSCRIPTS).read_text().splitlines()
    (tmp_path / "b").mkdir()
    earlier = PaidCalls(tmp_path / "b" / "calls.jsonl")
    lost = Completion("More.", (), "stop", {"prompt_tokens": 400.0, "completion_tokens": 40.0})
    earlier.keep(CallKey.of(json.loads(line)["id"], 99, []), lost)
    earlier.close(all_done=False)
    assert main(words(tmp_path / "b", f"{PRICES} --count 1")) == 0
    before, after = score_of(tmp_path / "a")["usage"], score_of(tmp_path / "b")["usage"]
    assert after["cost_usd"] == pytest.approx(before["cost_usd"] + (400 * 1 + 40 * 2) / 1e6)
    assert after["requests"] == before["requests"] and after["discarded_requests"] == 1
    assert not (tmp_path / "b" / "calls.jsonl").exists()


def test_a_limit_on_the_cost_stops_and_a_higher_one_goes_on(words, tmp_path, paid_expert, typed):
    limited = words(tmp_path, f"{PRICES} --concurrency 1 --max-cost-usd 0.024")
    assert "max_cost_usd of 0.024: this has cost $0.024" in typed(limited, code=1).err
    assert paid_expert.requests == 20 and not (tmp_path / "score.json").exists()
    assert main(limited) == 1 and paid_expert.requests == 20  # still spent
    assert main([*limited[:-1], "1"]) == 0
    usage = score_of(tmp_path)["usage"]
    assert usage["requests"] == paid_expert.requests == len(paid_expert.asked)
    assert score_of(tmp_path)["n"] == 12


def test_a_run_card_and_a_run_of_faults_hold_no_password(words, tmp_path, paid_expert):
    paid_expert.moods = [500] * 12
    main(words(tmp_path, url=paid_expert.url.replace("http://", "http://me:S3cret@")))
    written = [path.read_text() for path in tmp_path.iterdir()]
    assert len(written) >= 3 and not any("S3cret" in text for text in written)
    assert paid_expert.requests == 0 and not paid_expert.moods


# ---- what a sick endpoint does


SICK = {
    "500": (500, b'{"error": {"message": "out of memory"}}', {}),
    "hangs": None,
    "rubbish": (200, b"<html>502 Bad Gateway</html>", {}),
}


@pytest.mark.parametrize("mood", SICK)
def test_a_sick_endpoint_loses_nothing_and_the_same_command_continues(
    words, tmp_path, paid_expert, mood, capsys
):
    sick = paid_expert.serve(lambda request: SICK[mood])
    # nothing was scored: a script must not go on as if there were figures
    assert main(words(tmp_path, "--count 3 --timeout 0.3", sick)) == 1
    score = score_of(tmp_path)
    assert (score["n"], score["unscored"], score["stop_reasons"]) == (0, 3, {"unscored": 3})
    assert "3 of 3 episodes are unscored" in capsys.readouterr().err
    assert main(words(tmp_path, "--count 3")) == 0
    score = score_of(tmp_path)
    assert (score["n"], score["unscored"]) == (3, 0) and score["metrics"]["final"]["value"] == 1.0


@pytest.mark.parametrize("good", [0, 10])
def test_a_wrong_key_is_one_line_and_what_was_paid_is_kept(
    words, tmp_path, paid_expert, good, typed
):
    def answer(request: Json) -> Any:
        return paid_expert.answer(request) if paid_expert.requests < good else (401, b"{}", {})

    expired = paid_expert.serve(answer)
    assert "OPENAI_API_KEY" in typed(words(tmp_path, url=expired), code=2).err
    assert main(words(tmp_path)) == 0 and set(paid_expert.asked.values()) == {1}


@pytest.mark.parametrize(("rounds", "unscored"), [(1, 2), (2, 0)])
def test_unscored_episodes_are_tried_again_before_the_run_ends(
    words, tmp_path, paid_expert, rounds, unscored, capsys
):
    paid_expert.moods = [500, 503]
    assert main(words(tmp_path, f"--rounds {rounds}")) == 0
    score = score_of(tmp_path)
    assert (score["n"], score["unscored"]) == (12 - unscored, unscored)
    assert set(paid_expert.asked.values()) == {1}  # the turns before the fault were kept
    assert (tmp_path / "calls.jsonl").exists() == bool(unscored)
    told = capsys.readouterr().err
    assert ("2 unscored episodes tried again" in told) == (rounds == 2) and "2 faults" in told


def test_an_endpoint_that_answers_nobody_is_not_tried_in_another_round(
    words, tmp_path, paid_expert
):
    paid_expert.moods = [500] * 12 + [200] * 100
    assert main(words(tmp_path, "--rounds 5")) == 1
    assert score_of(tmp_path)["unscored"] == 12 and len(paid_expert.moods) == 100


# ---- what a kill does


def start(command: list[str]) -> subprocess.Popen[bytes]:
    """Ctrl-C reaches it even where the tests themselves run in the background of a script, which
    makes their children ignore it."""
    program = [sys.executable, "-m", "tripwright", *command, "--quiet"]
    default = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(program, cwd=ROOT, stdout=subprocess.DEVNULL, preexec_fn=default)


@pytest.mark.parametrize("most_kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_at_random_moments_nothing_is_paid_for_twice_and_nothing_is_lost(
    words, tmp_path, paid_expert, most_kills
):
    whole, killed, rng = tmp_path / "whole", tmp_path / "killed", random.Random(11)
    more = f"{PRICES} --concurrency {CONCURRENCY}"
    assert main(words(whole, more)) == 0
    distinct = paid_expert.asked.copy()
    assert set(distinct.values()) == {1}
    paid_expert.asked.clear()
    paid_expert.wait_s = 0.02
    kills, journalled = 0, 0
    for number in range(most_kills):
        over, already = finished(killed), paid_expert.asked.copy()
        child = start(words(killed, more))
        until = paid_expert.requests + rng.randint(1, 2 * distinct.total() // (most_kills + 1))
        while child.poll() is None and paid_expert.requests < until:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.03))
        child.send_signal(signal.SIGKILL)
        kills += child.wait() != 0
        # what is finished is not asked at all
        assert not {text for text, _ in paid_expert.asked - already} & set(over)
        journalled += (killed / "calls.jsonl").exists()
        if number == 1:  # what a kill may leave at the end of the journals
            with (killed / "calls.jsonl").open("ab") as journal:
                journal.write(b'{"episode": "q000001", "step": "0", "comp')
            with (killed / TRANSCRIPTS).open("ab") as journal:
                journal.write(b'{"id": "q0000')
    assert main(words(killed, more)) == 0
    assert kills >= 2 and journalled
    assert not paid_expert.repeats  # no answer that had been used
    again = sum(count - 1 for count in paid_expert.asked.values())
    assert again <= kills * CONCURRENCY  # what was in flight at a kill, at most
    assert paid_expert.asked.keys() == distinct.keys()
    # the account of tokens and the cost included
    assert without_card(killed) == without_card(whole)
    assert sorted(finished(killed)) == sorted(finished(whole))
    assert not (killed / "calls.jsonl").exists()


def test_a_polite_stop_waits_for_what_is_under_way(words, tmp_path, paid_expert):
    """Ctrl-C: then not even what was in flight is paid for twice."""
    paid_expert.wait_s = 0.2
    child = start(words(tmp_path / "run", f"--concurrency {CONCURRENCY}"))
    while paid_expert.requests < 5 and child.poll() is None:
        time.sleep(0.002)
    os.kill(child.pid, signal.SIGINT)
    assert child.wait(60) == 130
    assert len((tmp_path / "run" / "calls.jsonl").read_bytes().splitlines()) == paid_expert.requests
    paid_expert.wait_s = 0.0
    assert main(words(tmp_path / "run")) == 0
    assert set(paid_expert.asked.values()) == {1} and score_of(tmp_path / "run")["n"] == 12


# ---- faults on purpose


def calls(out: Path) -> dict[str, list[str | None]]:
    lines = read_lines(out / TRANSCRIPTS)
    return {
        line["id"]: [s["call"]["fault"] for s in line["transcript"]["segments"] if s["call"]]
        for line in lines
    }


def test_a_run_with_faults_says_so_everywhere(words, tmp_path, capsys):
    assert main(words(tmp_path, "--policy expert --faults 0.2 --faults-seed 3")) == 0
    met = [fault for faults in calls(tmp_path).values() for fault in faults]
    hit = sum(fault is not None for fault in met)
    assert hit > 5
    faults = score_of(tmp_path)["faults"]
    assert faults["settings"] == score_of(tmp_path)["run_card"]["faults"]
    assert (faults["settings"]["probability"], faults["settings"]["seed"]) == (0.2, 3)
    counts = {"calls": len(met), "hit": hit, "kinds": {"unavailable": hit}}
    assert {key: faults[key] for key in counts} == counts
    assert f"hit: {hit}" in capsys.readouterr().out


def test_a_run_in_two_parts_meets_the_faults_of_one(words, tmp_path):
    for out, more in (("whole", ""), ("parts", "--count 5"), ("parts", ""), ("other", "-seed 1")):
        faults = "--faults 0.2 --faults" if more.startswith("-seed") else "--faults 0.2 "
        assert main(words(tmp_path / out, f"--policy expert {faults}{more}")) == 0
    whole, parts, other = (tmp_path / name for name in ("whole", "parts", "other"))
    assert calls(parts) == calls(whole) != calls(other)
    assert score_of(parts)["faults"] == score_of(whole)["faults"]


# ---- mistakes


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("--policy oracle", "Unknown policy 'oracle'. The policies are expert, expert-spender"),
        ("--policy endpoint", "needs --base-url URL"),
        ("--policy local", "needs --model DIR"),
        ("--policy expert --model x", "does not know --model"),
        ("--policy expert --rules lax", "Unknown rules 'lax'"),
        ("--policy endpoint --model m --base-url localhost", "is not a URL"),
        ("--policy expert --decoding star", "samples no tokens"),
        ("--max-cost-usd 1", "--price-in is missing"),
        ("--price-in 1", "--price-out is missing"),
        ("--decoding star --temperature 1", "leave --temperature out"),
        ("--rounds 0", "--rounds"),
    ],
)
def test_mistakes_are_one_line(words, tmp_path, more, told, capsys):
    assert main(words(tmp_path / "a", more)) == 2
    printed = capsys.readouterr()
    assert told in printed.err and printed.err.count("\n") == 1 and not (tmp_path / "a").exists()


def test_what_a_policy_refuses_leaves_no_card_behind(words, tmp_path, monkeypatch):
    """It would refuse the corrected command, as that of another run."""
    out, by = tmp_path / "out", "--policy expert --count"

    def too_long(self: ExpertPolicy, sessions: Any) -> Any:
        raise UserError("Dialect 'planner_r1' needs 32,768 positions, this model has 2,048.")
        yield

    with monkeypatch.context() as patch:
        patch.setattr(ExpertPolicy, "play", too_long)
        assert main(words(out, f"{by} 2")) == 2
        assert not out.exists()
        out.mkdir()
        (out / "notes.txt").write_text("mine")
        assert main(words(out, f"{by} 2")) == 2
        assert [path.name for path in out.iterdir()] == ["notes.txt"]
    assert main(words(out, f"{by} 2 --dialect compact")) == 0
    kept = sorted(path.name for path in out.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(ExpertPolicy, "play", too_long)
        assert main(words(out, f"{by} 3 --dialect compact")) == 2
    assert {*kept} - {"score.json"} <= {path.name for path in out.iterdir()}


@pytest.mark.parametrize("model", ["nowhere", "here/model"])
def test_a_model_that_is_neither_a_folder_nor_a_hubs_name_is_refused_at_once(
    words, tmp_path, model, monkeypatch, refused
):
    """`from_pretrained` would ask a hub for half a minute."""
    transformers = pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    monkeypatch.setattr(transformers, "AutoModelForCausalLM", None)
    command = words(tmp_path / "out", f"--policy local --model {model} --dialect compact")
    problem = refused(command)
    assert "No model folder at" in problem


# ---- folders that cannot be read


def test_a_folder_of_another_version_is_refused_and_left_as_it_is(words, tmp_path, refused):
    run = tmp_path / "run"
    command = words(run, "--policy greedy-search --count 2")
    assert main(command) == 0
    card = json.loads((run / CARD).read_text())
    (run / CARD).write_text(json.dumps({**card, VERSION_ENTRY: VERSION - 1}))
    again = shutil.copytree(run, tmp_path / "again")
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    for each in (
        command,
        ["report", str(run)],
        ["compare", str(run), str(again)],
        ["data", "collect", str(run), "--out", str(tmp_path / "collected.jsonl")],
    ):
        told = refused(each)
        assert "made by another version" in told
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
