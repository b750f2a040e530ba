"""How fast an endpoint is asked: turns, pauses, and an end of both."""

import threading
import time

import pytest

from tripwright.llm.endpoint import SPREAD, Pace


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that only sleeping moves: sleeps are noted, not slept."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def slept(pace: Pace, clock: list[float], monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waits: list[float] = []

    def sleep(seconds: float) -> bool:
        waits.append(seconds)
        clock[0] += seconds
        return True

    monkeypatch.setattr(pace, "sleep", sleep)
    return waits


def test_turns_are_evenly_spaced(clock, monkeypatch):
    pace = Pace(4.0)
    waits = slept(pace, clock, monkeypatch)
    sent = []
    for _ in range(5):
        assert pace.wait()
        sent.append(clock[0])
    assert sent == pytest.approx([100.0, 100.25, 100.5, 100.75, 101.0])
    assert waits == pytest.approx([0.25] * 4)
    clock[0] += 10  # nothing is saved up while nobody asks
    assert pace.wait() and clock[0] == pytest.approx(111.0)
    assert pace.wait() and clock[0] == pytest.approx(111.25)


def test_without_a_rate_nobody_waits(clock, monkeypatch):
    pace = Pace()
    waits = slept(pace, clock, monkeypatch)
    assert all(pace.wait() for _ in range(100)) and not waits


@pytest.mark.parametrize("rate", [None, 100.0])
def test_a_pause_holds_everybody_and_they_come_back_apart(rate, monkeypatch, clock):
    pace = Pace(rate)
    slept(pace, clock, monkeypatch)
    back = []
    for _ in range(20):
        clock[0] = 100.0
        pace.hold(8.0)
        assert pace.wait()
        back.append(clock[0])
    assert min(back) >= 108.0 and max(back) <= 108.0 + 8.0 * SPREAD + 0.3 and len(set(back)) > 10


def test_a_stop_ends_every_wait():
    pace = Pace(0.001)
    assert pace.wait()
    found: list[bool] = []
    threads = [threading.Thread(target=lambda: found.append(pace.wait())) for _ in range(5)]
    for thread in threads:
        thread.start()
    pace.stop()
    for thread in threads:
        thread.join(10)
    assert found == [False] * 5 and not pace.wait() and not pace.sleep(60)
