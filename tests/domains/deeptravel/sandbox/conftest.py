"""Both stores, empty."""

import itertools
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.domains.deeptravel.sandbox import postgres_server as postgres
from tripwright.domains.deeptravel.sandbox.store import open_store

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    pytest.importorskip("psycopg", reason="needs the extra 'postgres'")
    if postgres.programs() is None:
        pytest.skip("no PostgreSQL server here: apt-get install postgresql")
    with postgres.server() as url:
        yield url


@pytest.fixture
def postgres_name(postgres_server: str) -> Iterator[str]:
    """The URL of an empty schema in a database."""
    with postgres.schema(postgres_server, f"test_{next(_numbers)}") as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def store_name(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What a user would call an empty store, of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "live.sqlite")
    return request.getfixturevalue("postgres_name")


@pytest.fixture
def store(store_name: str) -> Iterator[Any]:
    """An empty store of either kind."""
    with closing(open_store(store_name)) as opened:
        yield opened


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Any]:
    """One more, a file."""
    with closing(open_store(str(tmp_path / "other.sqlite"))) as opened:
        yield opened
