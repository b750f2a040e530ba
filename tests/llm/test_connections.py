"""Connections for many threads: one each, used again, and room for them among the open files."""

import resource
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tripwright.errors import UserError
from tripwright.llm.client import ChatEndpoint, Completion, Fault
from tripwright.llm.endpoint import SPARE_FILES, allow_open_files

MESSAGES = [{"role": "user", "content": "Plan a trip."}]
BODY = b'{"choices": [{"message": {"content": "Hello."}}]}'


class Kept:
    """Keeps connections, and the ports of the clients that it saw."""

    def __init__(self, serve: Callable[..., str]) -> None:
        self.ports: list[int] = []
        self.together = threading.Barrier(1)
        url = serve(self.answer, keep=True)
        self.client = ChatEndpoint(url, "tiny", timeout_s=60.0, max_retries=0)

    def answer(self, request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        self.ports.append(request["port"])
        self.together.wait(10)
        return 200, BODY, {}


@pytest.fixture
def kept(serve: Callable[..., str]) -> Kept:
    return Kept(serve)


def test_one_after_the_other_share_a_connection(kept):
    client = kept.client
    for _ in range(5):
        assert isinstance(client.complete(MESSAGES), Completion)
    assert len(kept.ports) == 5 and len(set(kept.ports)) == 1


def test_threads_that_ask_at_once_have_one_each_and_no_more_are_made(kept):
    client = kept.client
    kept.together = threading.Barrier(8)  # answers nobody before eight ask
    for _ in range(3):
        with ThreadPoolExecutor(8) as pool:
            found = pool.map(lambda _: client.complete(MESSAGES), range(8))
            assert all(isinstance(each, Completion) for each in found)
    assert len(kept.ports) == 24 and len(set(kept.ports)) == 8


def test_nothing_is_sent_after_a_stop(kept):
    client = kept.client
    client.stop()
    fault = client.complete(MESSAGES)
    assert isinstance(fault, Fault) and fault.kind == "stopped" and not kept.ports


@pytest.mark.parametrize(
    ("soft", "hard", "count", "raised"),
    [
        (1024, 4096, 16, None),
        (1024, 4096, 2000, 2000 + SPARE_FILES),
        (256, resource.RLIM_INFINITY, 50_000, 50_000 + SPARE_FILES),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 50_000, None),
    ],
)
def test_open_files_are_allowed_as_far_as_the_system_lets_us(
    monkeypatch, soft, hard, count, raised
):
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    allow_open_files(count)
    assert asked == ([] if raised is None else [(raised, hard)])


def test_more_than_the_system_allows_is_one_line(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    with pytest.raises(UserError, match="need some 10128 open files, and this system allows 4096"):
        allow_open_files(10_000)
