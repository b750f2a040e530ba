"""A closed world behind the live tools, for several files."""

import pytest

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests.intents import TripSurvey
from tripwright.domains.deeptravel.requests.make import RequestScope, make_requests
from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
from tripwright.world.store import World


@pytest.fixture(scope="module")
def provider(world: World) -> WorldProvider:
    return WorldProvider(world)


@pytest.fixture(scope="module")
def requests(request: pytest.FixtureRequest, provider: WorldProvider) -> list[TravelRequest]:
    """As a module's MADE says."""
    places = RequestScope.of(provider.world)
    made, _ = make_requests(TripSurvey(provider), places, **request.module.MADE)
    return [each.request for each in made]
