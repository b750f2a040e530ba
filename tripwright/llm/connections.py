"""HTTP connections to one endpoint for many threads at once.

The obvious way, one client that all threads share, makes each request look at every open connection
under one lock: with a thousand of them that takes longer than the request. So each client here
holds one connection, and a request takes any client that is free.
"""

from __future__ import annotations

import resource
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tripwright.errors import UserError

if TYPE_CHECKING:
    import httpx2

# how long an idle connection may be used again: an agent's tools answer in less
KEPT_SECONDS = 30.0
SPARE_FILES = 128  # for everything that is no connection: the world's store, transcripts, libraries


class Connections:
    """As many as threads ask at once, each made when it is first needed."""

    def __init__(self, base_url: str, timeout_s: float):
        self._base_url, self._timeout_s = base_url, timeout_s
        # the last used first: it is the most likely to be still open
        self._free: deque[httpx2.Client] = deque()

    @contextmanager
    def one(self) -> Iterator[httpx2.Client]:
        """A client that no other thread uses meanwhile."""
        try:
            client = self._free.pop()
        except IndexError:
            client = self._new()
        try:
            yield client
        finally:
            self._free.append(client)

    def _new(self) -> httpx2.Client:
        import httpx2

        limits = httpx2.Limits(
            max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEPT_SECONDS
        )
        return httpx2.Client(
            timeout=self._timeout_s, limits=limits, verify=self._verify, follow_redirects=True
        )

    @cached_property
    def _verify(self) -> Any:
        """The certificates, read once for all clients, and only for those who need them."""
        import httpx2

        return httpx2.create_ssl_context() if self._base_url.startswith("https://") else False


def allow_open_files(count: int) -> None:
    """Raises this process's limit of open files so far that `count` more fit. Raises UserError
    where the system does not let it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = count + SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= limit:
        return
    if hard != resource.RLIM_INFINITY and hard < limit:
        raise UserError(
            f"So many episodes at once need some {limit} open files, and this system allows {hard}"
            " a process ('ulimit -Hn'). Raise that limit, or choose a lower --concurrency."
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
