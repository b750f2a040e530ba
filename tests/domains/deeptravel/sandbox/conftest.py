"""Empty stores."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tripwright.domains.deeptravel.sandbox.store import Store


@pytest.fixture
def store_name(tmp_path: Path) -> str:
    """What a user would call an empty store."""
    return str(tmp_path / "live.sqlite")


@pytest.fixture
def store(store_name: str) -> Iterator[Store]:
    with closing(Store(store_name)) as opened:
        yield opened


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Store]:
    """One more."""
    with closing(Store(tmp_path / "other.sqlite")) as opened:
        yield opened
