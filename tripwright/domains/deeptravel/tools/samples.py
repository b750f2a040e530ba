"""Arguments with which each of the six live tools can be tried, for the description of a server."""

from __future__ import annotations

from datetime import date as calendar_date
from datetime import timedelta
from typing import Any

from tripwright.world.store import World

Json = dict[str, Any]


def sample_arguments(world: World) -> dict[str, Json]:
    """Of things that are in the world."""
    city = next(iter(world.cities), "Boston")
    origin, destination = next(iter(world.routes()), (city, city))
    date = next(
        (date for date in world.dates if world.flights(origin, destination, date)), "2022-03-16"
    )
    return live_samples(origin, destination, date)


def live_samples(origin: str, destination: str, date: str) -> dict[str, Json]:
    """Of the six live tools (row D1), for a trip from `date`, an ISO day."""
    ways = {"depart_city_name": origin, "arrival_city_name": destination, "depart_date": date}
    stay = {
        "checkin_date": date,
        "checkout_date": (calendar_date.fromisoformat(date) + timedelta(days=2)).isoformat(),
    }
    return {
        "flight_search": ways,
        "train_search": ways,
        "route_planning": {
            "origin_name": f"{destination} Central Station",
            "destination_name": f"{destination} Airport",
            "city_name": destination,
        },
        "hotel_search": {"city_name": destination, **stay},
        "poi_search": {"query": "museum", "city_name": destination},
        "web_search": {"query": f"what to see in {destination}"},
    }
