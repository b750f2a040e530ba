"""Tokens and cost in the score, a limit on them, unscored episodes tried again, and what the
endpoint is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import main
from tripwright.llm.client import Completion
from tripwright.llm.paid_calls import CallKey, PaidCalls


def command(folder: Path, out: Path, url: str, *words: str) -> list[str]:
    files = [
        "--queries",
        str(folder / "queries.jsonl"),
        "--world",
        str(folder / "world"),
        "--out",
        str(out),
    ]
    return [
        "run",
        *files,
        "--policy",
        "endpoint",
        "--model",
        "m",
        "--base-url",
        url,
        "--retries",
        "0",
        *words,
    ]


def score_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "score.json").read_text())
    return found


def test_the_score_says_what_it_cost(
    nano_folder: Path, tmp_path: Path, paid_expert: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--price-in", "1", "--price-out", "2", "--price-cached", "0.5"]
    assert main(command(nano_folder, tmp_path / "a", paid_expert.url, *words)) == 0
    n = paid_expert.requests
    assert score_of(tmp_path / "a")["usage"] == {
        "requests": n,
        "prompt_tokens": 100 * n,
        "completion_tokens": 10 * n,
        "cached_tokens": 40 * n,
        "uncounted_requests": 0,
        "discarded_requests": 0,
        "cost_usd": pytest.approx(n * (60 * 1 + 40 * 0.5 + 10 * 2) / 1e6),
        "usd_per_million_tokens": {"input": 1, "output": 2, "cached_input": 0.5},
    }
    printed = capsys.readouterr()
    assert (
        f"{n} requests, {100 * n:,} prompt ({40 * n:,} cached) and {10 * n:,} completion tokens, $0.0"
        in printed.out
    )
    assert "requests, " in printed.err and " out, $0.0" in printed.err
    # prices are no part of what a run is
    assert main(command(nano_folder, tmp_path / "a", paid_expert.url)) == 0
    assert score_of(tmp_path / "a")["usage"]["cost_usd"] is None and paid_expert.requests == n


def test_the_score_counts_what_an_earlier_play_paid_for_steps_that_the_last_one_never_came_to(
    nano_folder: Path, tmp_path: Path, paid_expert: Any
) -> None:
    words = ["--price-in", "1", "--price-out", "2", "--count", "1"]
    assert main(command(nano_folder, tmp_path / "a", paid_expert.url, *words)) == 0
    (line,) = (tmp_path / "a" / "transcripts.jsonl").read_text().splitlines()
    (tmp_path / "b").mkdir()
    earlier = PaidCalls(tmp_path / "b" / "calls.jsonl")
    lost = Completion("More.", (), "stop", {"prompt_tokens": 400.0, "completion_tokens": 40.0})
    earlier.keep(CallKey.of(json.loads(line)["id"], 99, []), lost)
    earlier.close(all_done=False)
    assert main(command(nano_folder, tmp_path / "b", paid_expert.url, *words)) == 0
    before, after = score_of(tmp_path / "a")["usage"], score_of(tmp_path / "b")["usage"]
    assert after["cost_usd"] == pytest.approx(before["cost_usd"] + (400 * 1 + 40 * 2) / 1e6)
    assert after["requests"] == before["requests"] and after["discarded_requests"] == 1
    assert not (tmp_path / "b" / "calls.jsonl").exists()


def test_a_run_card_and_a_run_of_faults_hold_no_password(
    nano_folder: Path, tmp_path: Path, paid_expert: Any
) -> None:
    paid_expert.moods = [500] * 12
    url = paid_expert.url.replace("http://", "http://me:S3cret@")
    main(command(nano_folder, tmp_path / "a", url))
    written = [path.read_text() for path in (tmp_path / "a").iterdir()]
    assert len(written) >= 3 and not any("S3cret" in text for text in written)
    assert paid_expert.requests == 0 and not paid_expert.moods


def test_an_endpoint_that_does_not_count(
    nano_folder: Path, tmp_path: Path, paid_expert: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    paid_expert.counts = False
    prices = ["--price-in", "1", "--price-out", "2"]
    assert main(command(nano_folder, tmp_path / "a", paid_expert.url, *prices)) == 0
    usage = score_of(tmp_path / "a")["usage"]
    assert usage["requests"] == usage["uncounted_requests"] == paid_expert.requests
    assert (
        usage["prompt_tokens"]
        is usage["completion_tokens"]
        is usage["cached_tokens"]
        is usage["cost_usd"]
        is None
    )
    assert "the endpoint counted no tokens in" in capsys.readouterr().out
    assert (
        main(command(nano_folder, tmp_path / "b", paid_expert.url, *prices, "--max-cost-usd", "1"))
        == 1
    )
    assert "does not say how many tokens it used" in capsys.readouterr().err


def test_a_limit_on_the_cost_stops_and_a_higher_one_goes_on(
    nano_folder: Path, tmp_path: Path, paid_expert: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--price-in", "1", "--price-out", "2", "--concurrency", "1"]
    assert (
        main(
            command(
                nano_folder, tmp_path / "a", paid_expert.url, *words, "--max-cost-usd", "0.0024"
            )
        )
        == 1
    )
    told = capsys.readouterr().err
    assert (
        "Stopped by --max-cost-usd 0.0024: the run has cost $0.0024" in told
        and "with a higher limit goes on" in told
    )
    assert paid_expert.requests == 20 and not (tmp_path / "a" / "score.json").exists()
    assert (
        main(
            command(
                nano_folder, tmp_path / "a", paid_expert.url, *words, "--max-cost-usd", "0.0024"
            )
        )
        == 1
    )
    assert paid_expert.requests == 20  # still spent
    assert (
        main(command(nano_folder, tmp_path / "a", paid_expert.url, *words, "--max-cost-usd", "1"))
        == 0
    )
    usage = score_of(tmp_path / "a")["usage"]
    assert (
        usage["requests"] == paid_expert.requests == len(paid_expert.asked)
        and score_of(tmp_path / "a")["n"] == 12
    )


@pytest.mark.parametrize(("rounds", "unscored"), [("1", 2), ("2", 0)])
def test_unscored_episodes_are_tried_again_before_the_run_ends(
    nano_folder: Path,
    tmp_path: Path,
    paid_expert: Any,
    rounds: str,
    unscored: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    paid_expert.moods = [500, 503]
    assert main(command(nano_folder, tmp_path / "a", paid_expert.url, "--rounds", rounds)) == 0
    score = score_of(tmp_path / "a")
    assert (score["n"], score["unscored"]) == (12 - unscored, unscored)
    assert set(paid_expert.asked.values()) == {1}  # the turns before the fault were kept
    assert (tmp_path / "a" / "calls.jsonl").exists() == bool(unscored)
    told = capsys.readouterr().err
    assert ("2 unscored episodes tried again" in told) == (rounds == "2") and "2 faults" in told


def test_an_endpoint_that_answers_nobody_is_not_tried_in_another_round(
    nano_folder: Path, tmp_path: Path, paid_expert: Any
) -> None:
    paid_expert.moods = [500] * 12 + [200] * 100
    assert main(command(nano_folder, tmp_path / "a", paid_expert.url, "--rounds", "5")) == 1
    assert score_of(tmp_path / "a")["unscored"] == 12 and len(paid_expert.moods) == 100


def test_what_an_endpoint_asks_for_is_done(
    nano_folder: Path, tmp_path: Path, paid_expert: Any
) -> None:
    """429 with Retry-After: the request comes again, and its episode is scored."""
    paid_expert.moods, paid_expert.headers = [429, 503], {"Retry-After": "0.05"}
    assert (
        main(
            command(nano_folder, tmp_path / "a", paid_expert.url, "--retries", "2", "--rounds", "1")
        )
        == 0
    )
    assert score_of(tmp_path / "a")["unscored"] == 0


def test_the_papers_decoding_is_sent_and_said(
    nano_folder: Path, tmp_path: Path, paid_expert: Any
) -> None:
    assert (
        main(
            command(
                nano_folder,
                tmp_path / "a",
                paid_expert.url,
                "--decoding",
                "planner_r1_train",
                "--count",
                "2",
            )
        )
        == 0
    )
    card = score_of(tmp_path / "a")["run_card"]
    assert card["decoding_preset"] == "planner_r1_train"
    assert card["decoding"] == {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "max_tokens": 4096}
    sent = paid_expert.bodies[0]
    assert (sent["temperature"], sent["top_p"], sent["top_k"]) == (1.0, 1.0, -1)
    words = ["--temperature", "1", "--top-p", "1", "--top-k", "-1", "--count", "2"]
    # the same without the name
    assert main(command(nano_folder, tmp_path / "a", paid_expert.url, *words)) == 0


def test_quiet_says_nothing_on_the_way(
    nano_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        "--queries",
        str(nano_folder / "queries.jsonl"),
        "--world",
        str(nano_folder / "world"),
        "--out",
        str(tmp_path / "a"),
    ]
    assert main(["run", *files, "--policy", "greedy-search", "--quiet", "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == "" and "usage" not in json.loads(printed.out)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--max-cost-usd", "1"], "needs prices"),
        (["--price-in", "1"], "--price-out is missing"),
        (["--price-cached", "1"], "--price-in is missing"),
        (["--decoding", "star", "--temperature", "1"], "leave --temperature out"),
        (["--decoding", "latin"], "Unknown decoding 'latin'"),
        (["--requests-per-second", "0"], "--requests-per-second"),
        (["--rounds", "0"], "--rounds"),
        (["--policy", "expert", "--decoding", "star"], "samples no tokens"),
    ],
)
def test_mistakes_are_one_line(
    nano_folder: Path,
    tmp_path: Path,
    words: list[str],
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = command(nano_folder, tmp_path / "a", "http://127.0.0.1:1/v1", *words)
    assert main(given) == 2
    printed = capsys.readouterr()
    assert told in printed.err and printed.err.count("\n") == 1 and not (tmp_path / "a").exists()
