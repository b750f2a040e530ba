"""Places by name from Nominatim: https://nominatim.org/release-docs/latest/api/Search/.

The public server allows one request a second and wants a User-Agent that names you, attribution to
OpenStreetMap and answers to be kept: https://operations.osmfoundation.org/policies/nominatim/.
"""

from typing import Any

import httpx2

URL = "https://nominatim.openstreetmap.org/search"
WHO = {"user-agent": "my-agency/1.0 (https://example.org/who-we-are)"}  # yours
SETTLEMENTS = ("city", "town", "village", "municipality")


def search_places(query: str, city_name: str) -> list[dict[str, Any]]:
    """What has a name; for all places of a kind ask Overpass."""
    text = {"q": f"{query}, {city_name}", "accept-language": "en"}
    asked = {**text, "format": "jsonv2", "addressdetails": 1, "limit": 10}
    found = httpx2.get(URL, params=asked, headers=WHO, timeout=20).raise_for_status().json()
    return [row(place, city_name) for place in found]


def row(place: dict[str, Any], city: str) -> dict[str, Any]:
    address = place["address"]
    return {
        "name": place.get("name") or place["display_name"].partition(",")[0],
        "city": next((address[kind] for kind in SETTLEMENTS if kind in address), city),
        "address": place["display_name"],
        "category": place["type"].replace("_", " "),
        "latitude": float(place["lat"]),
        "longitude": float(place["lon"]),
    }
