"""Both stores, empty, and a vendor that cannot be relied on."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

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
    """tests/live/unstable.py as a module: Vendor, Client, question, DAY; `__file__` is its
    script."""
    return _module("unstable")


@pytest.fixture
def vendor(unstable: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """vendor(per_second, faults=…, …) → a started Vendor, which ends with the test."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    started: list[Any] = []

    def start(*settings: Any, **more: Any) -> Any:
        started.append(unstable.Vendor(*settings, **more).start())
        return started[-1]

    yield start
    for one in started:
        one.stop()


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
