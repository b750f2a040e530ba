"""All places of a kind ("museums") around a city, from Overpass:
https://wiki.openstreetmap.org/wiki/Overpass_API/Overpass_QL. Nominatim finds the city.

The public server allows some 10,000 requests a day, two at once. The data is OpenStreetMap's.
"""

import json
from functools import cache
from typing import Any

import httpx2

URL, PLACES = (
    "https://overpass-api.de/api/interpreter",
    "https://nominatim.openstreetmap.org/search",
)
WHO = {"user-agent": "my-agency/1.0 (https://example.org/who-we-are)"}  # yours
KINDS = {  # https://wiki.openstreetmap.org/wiki/Map_features
    "attraction": ("tourism", "attraction"),
    "castle": ("historic", "castle"),
    "gallery": ("tourism", "gallery"),
    "garden": ("leisure", "garden"),
    "museum": ("tourism", "museum"),
    "park": ("leisure", "park"),
    "restaurant": ("amenity", "restaurant"),
    "theatre": ("amenity", "theatre"),
}


@cache  # Nominatim wants to be asked once
def position(city: str) -> tuple[float, float]:
    asked = {"q": city, "format": "jsonv2", "limit": 1}
    found = httpx2.get(PLACES, params=asked, headers=WHO, timeout=20).raise_for_status().json()
    if not found:
        raise ValueError(f"No city named '{city}' is known.")
    return float(found[0]["lat"]), float(found[0]["lon"])


def search_places(query: str, city_name: str) -> list[dict[str, Any]]:
    """What an encyclopedia knows comes first."""
    kind = KINDS.get(query.strip().casefold().removesuffix("s"))
    if kind is None:
        raise ValueError(f"'{query}' is no kind of place; known are {', '.join(KINDS)}.")
    latitude, longitude = position(city_name)
    tag, around = "=".join(map(json.dumps, kind)), f"around:10000,{latitude:.6f},{longitude:.6f}"
    asked = f'[out:json][timeout:25];nwr[{tag}]["name"]({around});out body center 500;'
    answer = httpx2.post(URL, data={"data": asked}, headers=WHO, timeout=50).raise_for_status()
    if "error" in (remark := answer.json().get("remark", "")):
        raise TimeoutError(remark)  # a query out of time is a 200 with half of the elements
    found = [(each.get("center", each), each["tags"]) for each in answer.json()["elements"]]
    found.sort(key=lambda each: "wikidata" not in each[1])
    return [
        {
            "name": tags.get("name:en") or tags["name"],
            "category": kind[1],
            "latitude": middle["lat"],
            "longitude": middle["lon"],
        }
        for middle, tags in found[:20]
    ]
