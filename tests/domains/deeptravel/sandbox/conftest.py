"""An empty store."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tripwright.domains.deeptravel.sandbox.store import Store


@pytest.fixture
def store_name(tmp_path: Path) -> str:
    """What a user would call an empty store."""
    return str(tmp_path / "live.sqlite")


@pytest.fixture
def store(store_name: str) -> Iterator[Any]:
    with closing(Store(store_name)) as opened:
        yield opened


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Any]:
    """One more, a file."""
    with closing(Store(str(tmp_path / "other.sqlite"))) as opened:
        yield opened
