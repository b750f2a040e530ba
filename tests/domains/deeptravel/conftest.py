"""A closed world behind the live tools, for several files."""

import pytest

from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
from tripwright.world.store import World


@pytest.fixture(scope="module")
def provider(world: World) -> WorldProvider:
    return WorldProvider(world)
