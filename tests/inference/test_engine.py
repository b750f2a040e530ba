"""What the batched engine computes once, and tools that are waited for while other rows decode."""

import itertools
import re
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.inference.conftest import opened
from tripwright.domains import dialect_named
from tripwright.episode import Session
from tripwright.tools.answer import ToolAnswer
from tripwright.tools.toolbox import ToolBox, ToolHostDown
from tripwright.transcript import StopReason, Transcript
from tripwright.world.store import World

torch = pytest.importorskip("torch")

from tripwright.inference import engine as inference_engine
from tripwright.inference.engine import READ_TOKENS, common
from tripwright.inference.local import LocalPolicy, Sampling
from tripwright.inference.service import TokenService

LONG_PROMPT = "Plan the trip with the tools, one call a turn, and think of the budget. " * 12
PATIENCE_SECONDS = 20.0  # after which a test fails that would else wait for ever
pytestmark = pytest.mark.usefixtures("one_thread")


TALKER = 4  # sampled from, its turns end at different lengths; greedy, it says nothing
NANO = 21  # of `world`


def engine(model: Any, chat: Any, **sampling: Any) -> LocalPolicy:
    settings = Sampling(**{"temperature": 1.0, "dtype": "float32", **sampling})
    return LocalPolicy(model, chat, settings)


def by_id(sessions: Iterable[Session]) -> dict[str, Transcript]:
    return {session.task.id: session.transcript for session in sessions}


def test_a_long_prompt_does_not_keep_short_ones_waiting(tiny_model, chat):
    """It is read in what the others leave of a pass: theirs are answered before it is."""
    service = TokenService(tiny_model("qwen3", 64, max_position_embeddings=3 * READ_TOKENS))
    release, done = threading.Event(), list[str]()
    first = service.sample("", [1], 2, (0.0, 1.0, None), -1, 0, lambda ids: release.wait(20) and 0)
    turns = [first]
    for name, size in (("long", 2 * READ_TOKENS + 9), ("short", 9)):
        turns.append(service.sample("", [3] + [5] * size, 1, (0.0, 1.0, None), -1, 0))
        turns[-1].add_done_callback(lambda _, name=name: done.append(name))
    release.set()
    for turn in turns:
        turn.result(60)
    assert done[:1] == ["short"]


def test_a_cache_takes_memory_as_it_is_written(tiny_model):
    """One long request leaves the rows that were never used without any."""
    service = TokenService(tiny_model("qwen3", 64, max_position_embeddings=2**15), rows=256)
    peaks = [resident()]
    for size in (9, 500, 5000):
        service.sample("", [1] * size, 1, (0.0, 1.0, None), -1, 0).result(60)
        peaks.append(resident())
    cache = service.memory_mb
    assert cache > 200 and peaks[-1] - peaks[0] < 0.5 * cache, (peaks, cache)


def resident() -> float:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) / 1024


# ---- read once


@pytest.mark.parametrize("rows", [1, 4, 64])
def test_what_all_prompts_begin_with_is_read_once(rows, talker, caller, queries, world):
    sessions = opened(queries, world, caller, system_prompt=LONG_PROMPT, max_turns=1)
    prompts = [session.transcript.token_ids for session in sessions]
    shared = min(common(prompts[0], prompt) for prompt in prompts)
    assert shared > 60
    policy = engine(talker, caller, rows=rows)
    list(policy.play(sessions))
    read, copied = (policy.figures[f"{how}_tokens"] for how in ("prefilled", "copied"))
    assert read + copied == sum(map(len, prompts))
    assert read <= shared + sum(len(prompt) - shared for prompt in prompts)


@pytest.mark.parametrize("rows", [3, 24])
def test_a_groups_prompt_is_read_once_even_if_its_members_enter_one_by_one(
    rows, talker, caller, queries, world
):
    members = [query for query in queries[:3] for _ in range(8)]
    sessions = opened(members, world, caller, system_prompt=LONG_PROMPT, max_turns=1)
    prompts = [session.transcript.token_ids for session in sessions[::8]]
    policy = engine(talker, caller, rows=rows)
    list(policy.play(sessions))
    shared = min(common(prompts[0], prompt) for prompt in prompts)
    once = shared + sum(len(prompt) - shared for prompt in prompts)
    assert policy.figures["prefilled_tokens"] <= once + 21  # a token per other member


def test_its_figures_count_what_was_played(talker, caller, queries, world):
    policy = engine(talker, caller, rows=4)
    done = list(policy.play(opened(queries, world, caller)))
    figures = policy.figures
    assert figures["decoded_tokens"] == sum(sum(session.transcript.loss_mask) for session in done)
    assert 1 < figures["rows_per_pass"] <= 4
    assert figures["passes"] < figures["decoded_tokens"]
    assert figures["forks"] == 0
    list(policy.play([]))
    assert policy.figures["passes"] == 0


def test_no_pass_reads_more_than_its_share(talker, caller, queries, world, monkeypatch):
    alone = by_id(engine(talker, caller, rows=10).play(opened(queries, world, caller)))
    sizes, hidden = [], inference_engine.Decoder.hidden
    monkeypatch.setattr(inference_engine, "READ_TOKENS", 40)
    noted = lambda self, ids, *more: sizes.append(ids.shape[1]) or hidden(self, ids, *more)  # noqa: E731
    monkeypatch.setattr(inference_engine.Decoder, "hidden", noted)
    for session in engine(talker, caller, rows=10).play(opened(queries, world, caller)):
        assert session.transcript.token_ids == alone[session.task.id].token_ids
    # and a token of each row that speaks, and padding
    assert max(sizes) <= 40 + 10 + 7 < READ_TOKENS


# ---- tools that are waited for


class Tools:
    """The calculator, behind a function that is called first in every call."""

    def __init__(self, world: World, before: Callable[[], None]):
        self._tools, self._before = ToolBox(world, dialect_named("compact").face), before
        self.face, self.schemas = self._tools.face, self._tools.schemas

    def call(self, name: str, arguments: Any) -> ToolAnswer:
        self._before()
        return self._tools.call(name, arguments)


class Meeting:
    """Nobody leaves before `guests` have been inside at once; later everybody may."""

    def __init__(self, guests: int):
        self._guests, self._inside = guests, 0
        self._lock, self._met = threading.Lock(), threading.Event()
        self.threads: set[str] = set()

    def __call__(self) -> None:
        with self._lock:
            self._inside += 1
            self.threads.add(threading.current_thread().name)
            if self._inside >= self._guests:
                self._met.set()
        if not self._met.wait(PATIENCE_SECONDS):
            raise AssertionError("the calls came one after the other")
        with self._lock:
            self._inside -= 1


def test_tools_are_waited_for_while_others_decode(talker, caller, queries, world):
    expected = by_id(engine(talker, caller, rows=10).play(opened(queries, world, caller)))
    meeting = Meeting(3)
    sessions = opened(queries, world, caller, Tools(world, meeting))
    found = by_id(engine(talker, caller, rows=10, tool_threads=3).play(sessions))
    assert meeting.threads == {"tools"} and found.keys() == expected.keys()
    for id, transcript in found.items():
        assert transcript.token_ids == expected[id].token_ids
        assert transcript.loss_mask == expected[id].loss_mask


def test_without_threads_tools_answer_in_place(talker, caller, queries, world):
    names: set[str] = set()
    tools = Tools(world, lambda: names.add(threading.current_thread().name))
    list(engine(talker, caller).play(opened(queries[:2], world, caller, tools)))
    assert names == {threading.current_thread().name}


@pytest.mark.parametrize("threads", [0, 2])
def test_what_a_tool_raises_leaves_its_episode_unscored(threads, talker, caller, queries, world):
    def broken() -> None:
        raise ZeroDivisionError("a bug in a tool")

    asked = opened(queries, world, caller, Tools(world, broken))
    found = by_id(engine(talker, caller, tool_threads=threads).play(asked)).values()
    assert len(found) == len(queries)
    faults = [str(t.fault) for t in found if t.stop_reason is StopReason.UNSCORED]
    assert faults and all("a bug in a tool" in fault for fault in faults)
    assert not any(segment.role == "tool" for t in found for segment in t.segments)
    assert_no_threads_left()


def test_a_dead_tool_host_leaves_the_others_alone(talker, caller, queries, world):
    calls = itertools.count()

    def first_fails() -> None:
        if next(calls) == 0:
            raise ToolHostDown("gone")

    sessions = opened(queries, world, caller, Tools(world, first_fails))
    done = list(engine(talker, caller, tool_threads=2).play(sessions))
    assert len(done) == len(queries)
    assert sum(s.transcript.stop_reason is StopReason.UNSCORED for s in done) == 1


def test_threads_end_with_the_play_even_if_it_is_left_early(talker, caller, queries, world):
    playing = engine(talker, caller, rows=4, tool_threads=3).play(opened(queries, world, caller))
    next(playing)
    playing.close()
    assert_no_threads_left()


def assert_no_threads_left() -> None:
    for thread in threading.enumerate():
        if thread.name == "tools":
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()
