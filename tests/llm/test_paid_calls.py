"""The journal of paid completions: nothing is asked twice, nothing torn is used, and the account
adds up."""

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tripwright.errors import UserError
from tripwright.llm.client import Completion, Fault, RequestedCall
from tripwright.llm.paid_calls import CallKey, CostLimitReached, PaidCalls, Prices, prices_of

MESSAGES = [{"role": "user", "content": "Plan a trip."}]


def limited(max_usd: float) -> Prices:
    return Prices(1.0, 2.0, max_usd=max_usd)


def says(
    text: str = "Hello.", prompt: int = 100, completion: int = 10, **more: float
) -> Completion:
    call = RequestedCall("c1", "get_cities", '{"state": "Texas"')
    usage = {"prompt_tokens": float(prompt), "completion_tokens": float(completion), **more}
    return Completion(text, (call,), "stop", usage)


def request(episode: str = "q1", step: int = 2, messages: Any = MESSAGES) -> CallKey:
    return CallKey.of(episode, step, messages)


def calls_at(
    path: Path,
    finished: tuple[str, ...] = (),
    usage: dict[str, float] | None = None,
    **settings: Any,
) -> PaidCalls:
    calls = PaidCalls(path / "calls.jsonl", **settings)
    calls.take_up(finished, usage or {})
    return calls


def never() -> Completion | Fault:
    raise AssertionError("asked again")


@pytest.mark.parametrize(
    "other", [request("q2"), request(step=3), request(messages=[*MESSAGES, *MESSAGES])]
)
def test_another_request_is_not_answered_by_it(tmp_path, other):
    calls = calls_at(tmp_path)
    calls.keep(request(), says())
    assert calls.find(other) is None


def test_tools_are_part_of_a_request():
    assert CallKey.of("q1", 0, MESSAGES, [{"type": "function"}]) != CallKey.of("q1", 0, MESSAGES)


def test_a_line_is_there_before_the_completion_is_used(tmp_path):
    calls = calls_at(tmp_path)
    for step in range(3):
        calls.ask(request(step=step), says)
        assert len((tmp_path / "calls.jsonl").read_bytes().splitlines()) == step + 1


def test_a_fault_is_counted_and_not_kept(tmp_path):
    calls = calls_at(tmp_path)
    calls.ask(request(), lambda: Fault("timeout", "slow", 3))
    calls.ask(request(), lambda: Fault("context_overflow", "too long"))  # an outcome of the episode
    assert calls.faults == 1
    assert calls.find(request()) is None
    assert not (tmp_path / "calls.jsonl").exists()


def test_any_other_bad_line_is_the_users_to_see(tmp_path):
    calls_at(tmp_path).keep(request(), says())
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b'{"episode": "q1"}\n' + path.read_bytes())
    with pytest.raises(UserError, match=r"calls\.jsonl:1: not a kept completion"):
        calls_at(tmp_path)


def test_lines_of_finished_episodes_go_and_the_file_with_the_last(tmp_path):
    calls = calls_at(tmp_path)
    for episode in ("q1", "q2"):
        calls.keep(request(episode), says(episode))
    calls.close(all_done=False)
    path = tmp_path / "calls.jsonl"
    usage = {"requests": 1, "prompt_tokens": 100, "completion_tokens": 10}
    calls = calls_at(tmp_path, finished=("q1",), usage=usage)
    assert [json.loads(line)["episode"] for line in path.read_text().splitlines()] == ["q2"]
    assert calls.usage["requests"] == 2 and calls.find(request("q1")) is None
    calls.close(all_done=True)
    assert path.exists()  # q2 is of another part of the run, and still needs it
    calls = calls_at(tmp_path, finished=("q1",))
    calls.finish("q2")
    calls.close(all_done=True)
    assert not path.exists()


def test_nothing_is_sent_once_the_money_is_spent(tmp_path):
    calls = calls_at(tmp_path, prices=limited(0.0002))  # a completion costs 0.00012
    calls.ask(request(step=0), says)
    calls.ask(request(step=1), says)
    with pytest.raises(CostLimitReached, match=r"cost \$0\.00024"):
        calls.ask(request(step=2), never)
    later = calls_at(tmp_path, prices=limited(0.0002))
    assert later.find(request(step=0)) == says()  # what is paid for is still played
    with pytest.raises(CostLimitReached):
        later.ask(request(step=2), never)
    richer = calls_at(tmp_path, prices=limited(0.001))
    assert isinstance(richer.ask(request(step=2), says), Completion)


def test_earlier_episodes_count_towards_the_limit(tmp_path):
    calls = calls_at(tmp_path, usage={"requests": 3, "prompt_tokens": 300}, prices=limited(0.0003))
    with pytest.raises(CostLimitReached):
        calls.ask(request(), never)


def test_a_limit_needs_prices():
    with pytest.raises(UserError, match="--price-in is missing"):
        prices_of(None, None, max_usd=1.0)


def test_a_run_that_stops_waits_for_what_is_under_way(tmp_path):
    calls, gate, sent = calls_at(tmp_path), threading.Event(), threading.Event()

    def slow() -> Completion:
        sent.set()
        gate.wait(10)
        return says()

    thread = threading.Thread(target=calls.ask, args=(request(), slow))
    thread.start()
    sent.wait(10)
    assert calls.drain(0) == 1
    gate.set()
    assert calls.drain(10) == 0
    thread.join()
    assert calls_at(tmp_path).find(request()) == says()


def test_what_comes_after_the_end_is_remembered_by_nobody(tmp_path):
    calls = calls_at(tmp_path)
    calls.close(all_done=True)
    calls.keep(request(), says())
    assert not (tmp_path / "calls.jsonl").exists()


def test_many_threads_write_whole_lines(tmp_path):
    calls = calls_at(tmp_path)
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda i: calls.keep(request(f"q{i}"), says("x" * 5000)), range(20)))
    later = calls_at(tmp_path)
    assert all(later.find(request(f"q{i}")) == says("x" * 5000) for i in range(20))


def test_what_another_play_had_no_use_for_is_still_paid(tmp_path):
    """An episode is played again, a live tool answers otherwise, and it ends earlier than before:
    the account stays what was paid."""
    calls, other = calls_at(tmp_path), [{"role": "user", "content": "Another answer of the tool."}]
    for step, prompt in ((0, 100), (1, 200), (2, 400)):
        calls.keep(request(step=step), says(prompt=prompt, completion=0, cached_tokens=50))
    prices = Prices(1.0, 2.0, cached_input=0.1)
    calls = calls_at(tmp_path, prices=prices)
    found = calls.find(request(step=0))
    asked = calls.ask(request(step=1, messages=other), lambda: says(prompt=300, completion=0))
    assert isinstance(found, Completion) and isinstance(asked, Completion)
    unused = calls.unused("q1")
    assert unused == {
        "discarded_requests": 2,
        "discarded_prompt_tokens": 600,
        "discarded_cached_tokens": 100,
    }
    transcript = Counter(found.usage) + Counter(asked.usage) + Counter(unused)
    paid = pytest.approx((850 * 1 + 150 * 0.1) / 1e6)
    assert prices.usd(transcript) == paid == calls.cost_usd
    assert calls_at(tmp_path, finished=("q1",), usage=transcript, prices=prices).cost_usd == paid


def test_each_play_says_anew_what_it_had_no_use_for(tmp_path):
    """An unscored episode is played again in the same start; only its last line counts."""
    calls = calls_at(tmp_path)
    calls.ask(request(step=0), says)
    assert calls.unused("q1") == {}
    assert calls.unused("q1")["discarded_prompt_tokens"] == 100  # a play that asked nothing
    calls.find(request(step=0))
    assert calls.unused("q1") == {} == calls.unused("q2")


def test_tokens_cost_their_price():
    usage = {"prompt_tokens": 2e6, "completion_tokens": 1e6, "cached_tokens": 5e5}
    # no price for cached ones: they cost what others do
    assert Prices(1.0, 8.0).usd(usage) == pytest.approx(2 + 8)
    assert Prices(1.0, 8.0, 0.1).usd(usage) == pytest.approx(1.5 + 0.05 + 8)
    assert Prices(1.0, 8.0).usd({}) == 0
    assert Prices(1.0, 8.0).usd(
        {**usage, "discarded_prompt_tokens": 1e6, "discarded_completion_tokens": 1e6}
    ) == pytest.approx(3 + 16)
