"""Arguments with which each tool of both domains finds something, by the core's names."""

from datetime import date as calendar_date
from datetime import timedelta
from itertools import product
from typing import Any

from tripwright.world.store import World


def sample_arguments(world: World) -> dict[str, dict[str, Any]]:
    origin, destination, date = next(
        way for way in product(world.cities, world.cities, world.dates) if world.flights(*way)
    )
    city = next(city for city in world.cities if world.restaurants(city))
    route = {"origin": origin, "destination": destination}
    ways = {"depart_city_name": origin, "arrival_city_name": destination, "depart_date": date}
    until = (calendar_date.fromisoformat(date) + timedelta(days=2)).isoformat()
    return {
        "search_flights": {**route, "date": date},
        "search_accommodations": {"city": city},
        "search_restaurants": {"city": city},
        "search_attractions": {"city": city},
        "search_ground_transportation": {**route, "mode": "self-driving"},
        "get_cities": {"state": world.cities[city]},
        "calculator": {"expression": "2 * (89 + 120)"},
        "flight_search": ways,
        "train_search": ways,
        "route_planning": {
            "origin_name": f"{destination} Central Station",
            "destination_name": f"{destination} Airport",
            "city_name": destination,
        },
        "hotel_search": {"city_name": destination, "checkin_date": date, "checkout_date": until},
        "poi_search": {"query": "museum", "city_name": destination},
        "web_search": {"query": f"what to see in {destination}"},
    }
