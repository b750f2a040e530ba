"""The authors' data: looked for in TRIPWRIGHT_TRAVELPLANNER, else in ../shared/travelplanner beside the repository."""

import os
from pathlib import Path

import pytest

from tripwright.world.importer import import_world
from tripwright.world.store import World


@pytest.fixture(scope="session")
def travelplanner() -> Path:
    folder = Path(os.environ.get("TRIPWRIGHT_TRAVELPLANNER") or Path(__file__).parents[3] / "shared" / "travelplanner")
    if not (folder / "database").is_dir():
        pytest.skip(f"no TravelPlanner data at {folder}; set TRIPWRIGHT_TRAVELPLANNER to a folder with database/ and queries/")
    return folder


@pytest.fixture(scope="session")
def real_world(travelplanner: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    return import_world(travelplanner / "database", tmp_path_factory.mktemp("real") / "world")
