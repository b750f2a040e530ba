"""How long a search may take. It takes as long as it needs, unless whoever asks for strangers sets
an end; the long loops look at it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tripwright.errors import UserError

_UNTIL: ContextVar[float | None] = ContextVar("until", default=None)


class OutOfTime(UserError):
    """The search was not over in time."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """A search inside raises OutOfTime after so long."""
    token = _UNTIL.set(time.monotonic() + seconds)
    try:
        yield
    except OutOfTime:
        raise OutOfTime(
            f"No plan was found or ruled out within {seconds:g} s. Ask for fewer days or cities."
        ) from None
    finally:
        _UNTIL.reset(token)


def check_time() -> None:
    if (until := _UNTIL.get()) is not None and time.monotonic() > until:
        raise OutOfTime
