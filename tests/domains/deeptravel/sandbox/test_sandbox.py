"""One sandbox in one process: what is the same question, what each mode does, what is kept, and
what a fault costs."""

import itertools
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tripwright.domains.deeptravel.sandbox.provider import PASSING, Terms
from tripwright.domains.deeptravel.sandbox.sandbox import (
    NotRecorded,
    Retries,
    Sandbox,
    canonical_arguments,
)
from tripwright.domains.deeptravel.sandbox.store import Store
from tripwright.domains.deeptravel.tools.answers import PointOfInterest, Provenance, ProviderAnswer
from tripwright.errors import UserError
from tripwright.llm.http import ProviderFault

DAY = "2026-06-20"
AT_ONCE = Retries(most=3, first_wait_s=0.0)


class Maps:
    """Numbers its answers, so that no two are alike. `act` may raise a fault or make another
    answer."""

    name, tools = "maps", frozenset(("poi_search",))

    def __init__(
        self,
        act: Callable[[int], ProviderAnswer | None] = lambda call: None,
        terms: Terms | None = None,
        version: str = "1",
    ):
        self.act, self.terms, self.version = act, terms or Terms(), version
        self.calls: list[dict[str, Any]] = []
        self._numbers = itertools.count(1)

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        self.calls.append(dict(arguments))
        number = next(self._numbers)
        return self.act(number) or answer(f"Museum {number}")


def answer(name: str, may_store: bool = True) -> ProviderAnswer:
    return ProviderAnswer(
        (PointOfInterest(name, "Wuhan"),),
        Provenance("maps", "1", "2026-06-20T09:30:00Z", may_store=may_store),
    )


def faults(*kinds: Any, retry_after_s: float | None = None) -> Callable[[int], None]:
    """Fails with these at the first calls, then answers."""

    def act(call: int) -> None:
        if call <= len(kinds):
            raise ProviderFault(kinds[call - 1], f"fault {call}", retry_after_s)

    return act


def recording(maps: Maps, store: Store) -> Sandbox:
    return Sandbox({"poi_search": maps}, store, DAY, retries=AT_ONCE)


def museums(sandbox: Sandbox, query: str = "museum") -> ProviderAnswer:
    return sandbox.ask("poi_search", {"query": query, "city_name": "Wuhan"})


# ---- the same question


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"city": " Wuhan "}, {"city": "Wuhan"}),
        ({"city": "Shi\u0301jiazhuang"}, {"city": "Shíjiazhuang"}),
        ({"a": 1, "b": "x"}, {"b": "x", "a": 1.0}),
        ({"a": "x", "depart_poi": " "}, {"a": "x"}),
        ({"a": "x", "arrival_poi": None}, {"a": "x"}),
    ],
)
def test_written_otherwise_it_is_the_same_question(one, other):
    assert canonical_arguments("flight_search", one) == canonical_arguments("flight_search", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"city": "Wuhan"}, {"city": "wuhan"}),
        ({"a": 1}, {"a": True}),
        ({"a": 0}, {"a": False}),
        ({"a": 1}, {"a": "1"}),
        ({"is_transfer": 1}, {}),
        ({"is_transfer": False}, {}),  # is no default: 0 is
        ({"a": "x"}, {"b": "x"}),
    ],
)
def test_another_question(one, other):
    assert canonical_arguments("train_search", one) != canonical_arguments("train_search", other)


def test_tool_provider_version_arguments_and_day_make_the_key(sqlite):
    def key(**changed: str) -> str:
        usual = {"tool": "poi_search", "version": "1", "query": "museum"}
        usual |= {"day": DAY, "name": "maps"}
        tool, version, query, day, name = (usual | changed).values()
        maps = Maps(version=version)
        maps.name = name
        return Sandbox({tool: maps}, sqlite, day).question(tool, {"query": query}).key

    others = {"tool": "web_search", "version": "2", "query": "bridge"}
    others |= {"day": "2026-06-21", "name": "atlas"}
    assert len({key(), *(key(**{name: value}) for name, value in others.items())}) == 6
    # as in every store that was ever written
    assert key() == key() == "a344b6c62e1b71305e6b46dfb0e4d6a83823bf100d1dbffe9ee2e407221e1fa2"


def test_the_provider_is_asked_in_the_canonical_form_with_all_defaults(sqlite):
    maps = Maps()
    sandbox = Sandbox({"hotel_search": maps}, sqlite, DAY)
    sandbox.ask("hotel_search", {"hotel_name": "  ", "city_name": " Wuhan"})
    assert maps.calls == [{"city_name": "Wuhan", "hotel_name": ""}]


# ---- the modes


def test_live_asks_every_time_and_remembers_nothing():
    maps = Maps()
    sandbox = Sandbox({"poi_search": maps})
    assert museums(sandbox).to_json() != museums(sandbox).to_json()
    assert len(maps.calls) == 2


def test_a_miss_in_replay_is_an_answer_and_counted(store):
    maps = Maps()
    museums(recording(maps, store))
    replay = Sandbox({"poi_search": maps}, store, DAY, replay=True)
    newer = Sandbox({"poi_search": Maps(version="2")}, store, DAY, replay=True)
    for sandbox, query in ((replay, "bridge"), (replay, "bridge"), (newer, "museum")):
        with pytest.raises(NotRecorded):
            museums(sandbox, query)
    assert len(maps.calls) == 1
    total = replay.counts.as_dict()["total"]
    assert (total["asked"], total["missed"], total["hits"], total["live_calls"]) == (2, 2, 0, 0)


@pytest.mark.parametrize(
    ("day", "message"),
    [
        ("20 June", "A snapshot is named by its day: found '20 June'"),
        ("2026-02-30", "found '2026-02-30'"),
        ("", "A snapshot is named by its day"),
        (DAY, "has no snapshot of 2026-06-20: it is empty"),
    ],
)
def test_a_sandbox_that_cannot_be(day, message, sqlite):
    with pytest.raises(UserError, match=message):
        Sandbox({"poi_search": Maps()}, sqlite, day, replay=True)


# ---- what is kept


@pytest.mark.parametrize(
    "kept",
    [
        ProviderAnswer((), answer("x").source, "no museum there"),
        ProviderAnswer((), answer("x").source, "no city", refused=True),
    ],
)
def test_empty_answers_and_refusals_are_answers(kept, sqlite):
    maps = Maps(lambda call: kept)
    sandbox = recording(maps, sqlite)
    assert museums(sandbox) == museums(sandbox) == kept
    assert len(maps.calls) == 1


@pytest.mark.parametrize(
    "maps",
    [
        Maps(terms=Terms(may_store=False)),
        Maps(lambda call: answer(f"Secret {call}", may_store=False)),
    ],
)
def test_what_may_not_be_kept_is_answered_and_not_kept(maps, sqlite):
    sandbox = recording(maps, sqlite)
    assert museums(sandbox).to_json() != museums(sandbox).to_json()
    assert not list(sqlite.recorded(DAY))
    total = sandbox.counts.as_dict()["total"]
    assert (total["not_stored"], total["answered_live"], total["live_calls"]) == (2, 2, 2)


def test_half_a_character_reads_back_as_it_was_answered(store):
    """JSON can hold half a surrogate pair, and models and vendors write it; UTF-8 cannot."""
    sandbox = recording(Maps(lambda call: answer("odd \ud83d \0 name")), store)
    first, second = museums(sandbox, "\ud83d\0"), museums(sandbox, "\ud83d\0")
    assert first == second == answer("odd ? \0 name")


# ---- faults


@pytest.mark.parametrize("kind", sorted(PASSING))
def test_what_may_pass_is_tried_again(kind, sqlite):
    maps = Maps(faults(kind, kind))
    sandbox = recording(maps, sqlite)
    assert museums(sandbox) == answer("Museum 3")
    total = sandbox.counts.as_dict()["tools"]["poi_search"]["maps"]
    counts = {"live_calls": 3, "retries": 2, "faults": {kind: 2}, "unanswered": 0}
    assert total.items() >= counts.items()


@pytest.mark.parametrize("kind", ["unauthorized", "bad_response"])
def test_what_will_not_pass_is_raised_at_once(kind, sqlite):
    maps = Maps(faults(kind))
    sandbox = recording(maps, sqlite)
    with pytest.raises(ProviderFault, match="^fault 1$") as error:
        museums(sandbox)
    assert error.value.kind == kind and len(maps.calls) == 1
    assert museums(sandbox) == answer("Museum 2")  # a fault is not remembered


def test_what_stays_is_raised_and_leaves_the_key_free(store):
    maps = Maps(faults(*["timeout"] * 4))
    sandbox = recording(maps, store)
    with pytest.raises(ProviderFault, match=r"^fault 4 \(4 attempts\)$"):
        museums(sandbox)
    other = recording(Maps(), store)
    assert museums(other) == answer("Museum 1")
    assert sandbox.counts.as_dict()["total"]["unanswered"] == 1


def test_retry_after_holds_for_everything_that_is_asked_of_the_vendor(store):
    times: list[float] = []

    def act(call: int) -> None:
        times.append(time.monotonic())
        if call == 1:
            raise ProviderFault("rate_limit", "slow down", 0.3)

    maps = Maps(act)
    sandbox = recording(maps, store)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(museums, sandbox, "museum")
        while not maps.calls:
            time.sleep(0.001)
        time.sleep(0.1)
        second = pool.submit(museums, sandbox, "bridge")
        assert first.result() and second.result()
    assert len(times) == 3 and times[1] - times[0] >= 0.29
    assert sandbox.counts.as_dict()["total"]["wait_s"] >= 0.2


def test_what_a_vendor_asks_for_is_capped(sqlite):
    slow = {"poi_search": Maps(faults("rate_limit", "server_error", retry_after_s=3600))}
    retries = Retries(most=3, first_wait_s=0.0, longest_wait_s=0.05)
    sandbox = Sandbox(slow, sqlite, DAY, retries=retries)
    assert museums(sandbox) == answer("Museum 3")
    assert sqlite.take("maps", 0.0) <= 0.05


def test_the_vendors_limit_is_kept(store):
    """Nine questions of a vendor that allows 40 a second take at least 0.2 s, in whichever
    sandboxes they are asked."""
    terms = Terms(requests_per_second=40)
    sandboxes = [recording(Maps(terms=terms), store) for _ in range(2)]
    started = time.monotonic()
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(lambda number: museums(sandboxes[number % 2], str(number)), range(9)))
    assert time.monotonic() - started >= 0.19
    started, live = time.monotonic(), Sandbox({"poi_search": Maps(terms=terms)})
    for number in range(9):
        museums(live, str(number))
    assert time.monotonic() - started >= 0.19


# ---- at once


def test_threads_share_a_fault(sqlite):
    go_on = threading.Event()

    def act(call: int) -> None:
        go_on.wait(20)
        raise ProviderFault("bad_response", "nonsense")

    maps = Maps(act)
    sandbox = recording(maps, sqlite)
    with ThreadPoolExecutor(8) as pool:
        asking = [pool.submit(museums, sandbox) for _ in range(8)]
        _until(lambda: sandbox.counts.as_dict()["total"]["asked"] == 8)
        # a thread that has not come as far by then asks for itself, and fails as well
        time.sleep(0.1)
        go_on.set()
        assert {str(future.exception()) for future in asking} == {"nonsense"}
    assert len(maps.calls) < 8
    assert sandbox.counts.as_dict()["total"]["unanswered"] == 8


def _until(done: Callable[[], bool]) -> None:
    while not done():
        time.sleep(0.001)


def test_a_process_that_holds_a_key_and_does_not_move_is_not_waited_for_for_ever(
    store, monkeypatch
):
    monkeypatch.setattr("tripwright.domains.deeptravel.sandbox.store.PATIENCE_S", 0.2)
    sandbox = recording(Maps(), store)
    monkeypatch.setattr(store, "_lock", lambda number: False)
    assert museums(sandbox) == answer("Museum 1")


def test_a_bug_in_a_client_leaves_the_key_free(store):
    def act(call: int) -> None:
        if call == 1:
            raise ZeroDivisionError

    sandbox = recording(Maps(act), store)
    with pytest.raises(ZeroDivisionError):
        museums(sandbox)
    assert museums(sandbox) == answer("Museum 2")


def test_a_fork_in_the_middle_of_a_call(sqlite):
    """The child asks what a thread of its parent is asking: it waits for the answer in the store,
    not for a thread it does not have."""
    started, go_on = threading.Event(), threading.Event()

    def act(call: int) -> None:
        started.set()
        go_on.wait(20)

    sandbox = recording(Maps(act), sqlite)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(museums, sandbox)
        assert started.wait(20)
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if museums(sandbox) == answer("Museum 1") else 1)
            except BaseException:
                os._exit(2)
        go_on.set()
        assert asking.result() == answer("Museum 1")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
