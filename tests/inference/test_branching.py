"""ARPO's rollouts: where it forks, what a fork shares, and that a group has exactly its number of
episodes."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tripwright.agent.turn import write_call
from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Session, Turn, open_session
from tripwright.errors import UserError
from tripwright.inference.branching import Branching, Trees
from tripwright.settings import settings_of
from tripwright.transcript import StopReason, Transcript
from tripwright.world.store import World

ALWAYS, NEVER = {"base": 1.0, "weight": 0.0}, {"base": 0.0, "weight": 0.0}
Open = Callable[..., list[list[Session]]]


TALKER = 8  # of its groups enough members fork
NANO = 21  # of `world`


@pytest.fixture(scope="module")
def grouped(world: World) -> Open:
    dialect = replace(dialect_named("compact"), max_turn_tokens=24)
    queries = list(make_queries(world, 3, 3))

    def make(size: int, chat: Any = None) -> list[list[Session]]:
        return [
            [open_session(TripTask(f"{q}/{g}", query, world), dialect, chat) for g in range(size)]
            for q, query in enumerate(queries)
        ]

    return make


# ---- the rule


def test_the_formula():
    rule, v = Branching(), 1000
    assert rule.forks_at(1.1, 1.0, v)
    assert not rule.forks_at(1.0, 1.0, v)
    assert not rule.forks_at(0.9, 1.0, v)
    wary = Branching(base=0.3, weight=0.5, threshold=0.5)  # forks above a rise of 0.4 log V
    assert wary.forks_at(0.41 * math.log(v), 0.0, v)
    assert not wary.forks_at(0.39 * math.log(v), 0.0, v)


@pytest.mark.parametrize(
    "settings",
    [{"initial": 0}, {"tokens": 0}, {"forks": 0}, {"weight": float("nan")}],
)
def test_impossible_settings_are_refused_in_one_line(settings):
    with pytest.raises(UserError) as refused:
        settings_of(Branching, settings, "grpo.branching")
    assert "\n" not in str(refused.value)
    assert str(next(iter(settings.values()))) in str(refused.value)


def test_a_turn_is_heard_once_as_far_as_wanted_and_the_first_one_never_forks(grouped):
    """Driven by hand: sessions of text, and entropies as an engine would tell them."""
    trees = Trees([grouped(3)[0]], Branching(initial=1, tokens=3), vocabulary=100)
    root = trees.next()
    assert root is not None and trees.next() is None
    for n in range(1, 5):
        trees.heard(root, [0.5] * n, n == 4)
    assert trees.next() is None and trees.forked == 0
    root.take(Turn(write_call("calculator", {"expression": "1+1"})))
    trees.heard(root, [9.0, 9.0], False)  # not enough of it yet
    assert trees.next() is None
    trees.heard(root, [0.9, 0.0, 0.7], False)  # a mean of 0.533, above the 0.5 of the first turn
    fork = trees.next()
    assert (fork.task.id, fork.transcript.parent) == ("0/1", "0/0")
    assert len(fork.transcript.calls) == 1
    trees.heard(root, [9.0] * 4, True)  # the same turn goes on
    assert trees.next() is None
    # a short turn counts with all it has; not above the parent's first turn
    trees.heard(fork, [0.5], True)
    trees.finished(fork)
    assert trees.next() is None
    trees.finished(root)
    last = trees.next()  # the budget is spent, from the root
    assert last is not None and last.transcript.parent is None and last.transcript.turns == 0
    trees.finished(last)
    assert trees.next() is None


def test_a_fork_does_not_fork_again_where_it_was_made(grouped):
    trees = Trees([grouped(4)[0]], Branching(initial=1, tokens=1, **ALWAYS), vocabulary=100)
    root = trees.next()
    root.take(Turn(write_call("calculator", {"expression": "1+1"})))
    trees.heard(root, [1.0], True)
    fork = trees.next()
    assert fork is not None and fork.transcript.parent == "0/0"
    trees.heard(fork, [1.0], True)
    assert trees.next() is None and trees.forked == 1  # one place, one fork
    fork.take(Turn(write_call("calculator", {"expression": "2+2"})))
    trees.heard(fork, [1.0], True)
    again = trees.next()
    # its own next turn is another place
    assert again is not None and again.transcript.parent == "0/1" and trees.forked == 2


# ---- with a model

Play = Callable[..., dict[str, Transcript]]


@pytest.fixture
def play(one_thread: None, talker: Any, caller: Any, grouped: Open) -> Play:
    pytest.importorskip("torch")
    from tripwright.inference.local import LocalPolicy, Sampling

    def played(size: int, branching: Branching | None, **sampling: Any) -> dict[str, Transcript]:
        policy = LocalPolicy(talker, caller, Sampling(1.0, dtype="float64", **sampling))
        done = list(policy.play_groups(grouped(size, caller), branching))
        found = {session.task.id: session.transcript for session in done}
        assert sorted(found) == sorted(f"{q}/{g}" for q in range(3) for g in range(size))
        assert len(done) == len(found)
        assert policy.figures["forks"] == sum(t.parent is not None for t in found.values())
        return found

    return played


@pytest.mark.parametrize("rows", [3, 64])
def test_a_group_is_its_number_whether_it_forks_or_not(rows, play):
    forked = play(6, Branching(initial=2, **ALWAYS), rows=rows)
    parents = [t.parent for t in forked.values()]
    assert all(forked[f"{q}/{g}"].parent is None for q in range(3) for g in range(2))
    assert sum(p is not None for p in parents) >= 6
    alone = play(6, Branching(initial=2, **NEVER), rows=rows)
    assert all(t.parent is None and t.forked_at is None for t in alone.values())
    plain = play(6, None, rows=rows)
    # its own numbers, either way
    assert alone.keys() == plain.keys()
    assert all(alone[id].token_ids == t.token_ids for id, t in plain.items())


def test_fewer_episodes_than_begin_at_the_root(play):
    assert all(t.parent is None for t in play(2, Branching(initial=4, **ALWAYS)).values())


def test_a_fork_shares_its_parents_tokens_and_then_goes_its_own_way(play):
    found = play(6, Branching(initial=2, forks=2, **ALWAYS), rows=8)
    parted = 0
    for transcript in found.values():
        if transcript.parent is None:
            continue
        parent, n = found[transcript.parent], transcript.forked_at
        assert parent.token_ids[:n] == transcript.token_ids[:n]
        assert parent.loss_mask[:n] == transcript.loss_mask[:n]
        assert parent.logprobs[:n] == transcript.logprobs[:n]
        # after a tool's answer, before a turn
        assert transcript.loss_mask[n - 1] == 0 and transcript.loss_mask[n] == 1
        assert transcript.turns > 1 or transcript.stop_reason is StopReason.CONTEXT_OVERFLOW
        parted += parent.token_ids[n:] != transcript.token_ids[n:]
        assert Transcript.from_json(json.loads(json.dumps(transcript.to_json()))) == transcript
    assert parted >= 6


def test_the_same_seed_grows_the_same_trees(play):
    branching = Branching(initial=2, tokens=6)
    first, again = (play(5, branching, rows=6) for _ in range(2))
    assert first == again and any(t.parent for t in first.values())
    other = play(5, branching, rows=6, seed=1)
    assert any(first[id].token_ids != t.token_ids for id, t in other.items())


def test_what_is_heard(play, monkeypatch):
    """Entropies, between 0 and log V, and not the log-probabilities of the tokens."""
    turns: list[tuple[Session, list[float]]] = []
    heard = Trees.heard

    def listening(self: Trees, session: Session, signal: list[float], ended: bool) -> None:
        if ended:
            turns.append((session, list(signal)))
        heard(self, session, signal, ended)

    monkeypatch.setattr(Trees, "heard", listening)
    found = play(3, Branching(initial=2, **NEVER))
    said = {
        id: [p for p, kept in zip(t.logprobs, t.loss_mask, strict=True) if kept]
        for id, t in found.items()
    }
    for id, logprobs in said.items():
        signals = [nats for session, turn in turns if session.task.id == id for nats in turn]
        assert len(signals) == len(logprobs) and all(nats >= 0 for nats in signals)
        assert max(signals) < math.log(4000)
        assert signals != pytest.approx([-p for p in logprobs])
