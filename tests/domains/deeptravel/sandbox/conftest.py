"""Both stores, empty, and a provider that cannot be relied on."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tripwright.domains.deeptravel.sandbox.store import open_store

_numbers = itertools.count()


def _module(name: str) -> ModuleType:
    """A script of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(
        f"tests_live_{name}", Path(__file__).with_name(f"{name}.py")
    )
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def unstable() -> Any:
    """unstable.py as a module: Unstable, record, question, DAY; `__file__` is its script."""
    return _module("unstable")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    pytest.importorskip("psycopg", reason="needs the extra 'postgres'")
    postgres = _module("postgres_server")
    if postgres.programs() is None:
        pytest.skip("no PostgreSQL server here: apt-get install postgresql")
    with postgres.server() as url:
        yield url


@pytest.fixture
def postgres_name(postgres_server: str) -> Iterator[str]:
    """The URL of an empty schema in a database."""
    with sys.modules["tests_live_postgres_server"].schema(
        postgres_server, f"test_{next(_numbers)}"
    ) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
def store_name(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What a user would call an empty store, of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "live.sqlite")
    name: str = request.getfixturevalue("postgres_name")
    return name


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
