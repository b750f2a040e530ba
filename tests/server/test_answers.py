"""The cache of answers: bounded in bytes, the least recently used out first, and never another
call's answer."""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest

pytest.importorskip("starlette")

from prometheus_client import REGISTRY

from tripwright.domains import domain_named, face_named
from tripwright.domains.domain import Place
from tripwright.server.tools_api import (
    ENTRY_BYTES,
    LONGEST_BODY_BYTES,
    AnswerCache,
    Answers,
    EncodedAnswer,
)
from tripwright.tools.toolbox import ToolBox
from tripwright.world.store import World

SIZE = ENTRY_BYTES + 100 + 2


def hits() -> float:
    return REGISTRY.get_sample_value("tripwright_answer_cache_hits_total") or 0.0


def filled(*names: str) -> AnswerCache:
    cache = AnswerCache(3 * SIZE)
    for name in names:
        cache.put((name, b"", b"{"), EncodedAnswer(b"x" * 100, "calculator", False))
    return cache


def served(world: World, face: str, cache_bytes: int) -> Answers:
    place = Place(world, world.name, {"content_hash": world.content_hash})
    return Answers(domain_named("travelplanner"), place, face, cache_bytes, ExitStack())


def test_the_least_recently_used_goes_first() -> None:
    cache = filled("a", "b", "c")
    assert cache.bytes == 3 * SIZE
    assert cache.get(("a", b"", b"{")) is not None
    cache.put(("d", b"", b"{"), EncodedAnswer(b"x" * 100, "calculator", False))
    assert [cache.get((name, b"", b"{")) is not None for name in "abcd"] == [
        True,
        False,
        True,
        True,
    ]
    assert cache.bytes == 3 * SIZE


def test_what_is_too_large_or_too_long_is_not_kept() -> None:
    cache = filled("a", "b")
    cache.put(("c", b"", b"{"), EncodedAnswer(b"x" * 3 * SIZE, "calculator", False))
    cache.put(("c", b"", b"x" * (LONGEST_BODY_BYTES + 1)), EncodedAnswer(b"", "calculator", False))
    assert cache.get(("a", b"", b"{")) is not None and cache.bytes == 2 * SIZE


def test_without_room_nothing_is_kept(world: World) -> None:
    answers = served(world, "compact", cache_bytes=0)
    assert answers.call("calculator", b'{"expression": "1"}') == answers.call(
        "calculator", b'{"expression": "1"}'
    )
    assert answers.cache.bytes == 0


def test_calls_that_look_alike_keep_their_own_answers(world: World) -> None:
    """Equal when written one after the other, or when told apart by a line break."""
    answers = served(world, "compact", cache_bytes=1_000_000)
    box = ToolBox(world, face_named("compact"))
    alike = [
        ("calculator", b"", b'{"expression": "1"}'),
        ("calculato", b"", b'r{"expression": "1"}'),
        ("", b"", b"{}"),
        ("\n", b"", b"{}"),
    ]
    before = hits()
    for _ in range(2):
        for tool, query, body in alike:
            expected = box.call(tool, body.decode())
            assert answers.call(tool, body, query).error == expected.error
        named = answers.call_named(b'{"name": "calculator", "arguments": {"expression": "2"}}')
        rows = {"kind": "Number", "fields": ["value"], "values": [[2]], "total": 1}
        assert json.loads(named.body) == {
            "text": '{"result":2}',
            "error": False,
            "rows": rows,
            "row_ends": [],
        }
        assert answers.call("", b'{"name": "calculator", "arguments": {"expression": "2"}}').error
    assert hits() == before + len(alike) + 2
