"""Arguments with which each tool can be tried, for the description of a server: of things that its
world has."""

from __future__ import annotations

from typing import Any

from tripwright.world.store import World


def sample_arguments(world: World) -> dict[str, dict[str, Any]]:
    """Arguments by the core's names, tool by tool, of things that are in the world."""
    city = next(
        (city for city in world.cities if world.restaurants(city)),
        next(iter(world.cities), "Boston"),
    )
    origin, destination = next(iter(world.routes()), (city, city))
    date = next(
        (date for date in world.dates if world.flights(origin, destination, date)), "2022-03-16"
    )
    route = {"origin": origin, "destination": destination}
    return {
        "search_flights": route | {"date": date},
        "search_accommodations": {"city": city},
        "search_restaurants": {"city": city},
        "search_attractions": {"city": city},
        "search_ground_transportation": route | {"mode": "self-driving"},
        "get_cities": {"state": world.cities.get(city, "Texas")},
        "calculator": {"expression": "2 * (89 + 120)"},
    }
