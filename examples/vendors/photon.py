"""Places by name and address from Photon: https://github.com/komoot/photon/blob/master/docs/api-v1.md.

The public server asks for fair use and a User-Agent: https://photon.komoot.io/. The data is
OpenStreetMap's.
"""

from typing import Any

import httpx2

URL = "https://photon.komoot.io/api"
WHO = {"user-agent": "my-agency/1.0 (https://example.org/who-we-are)"}  # yours


def search_places(query: str, city_name: str) -> list[dict[str, Any]]:
    asked = {"q": f"{query}, {city_name}", "limit": 10, "lang": "en"}
    answer = httpx2.get(URL, params=asked, headers=WHO, timeout=20).raise_for_status().json()
    return [row(place) for place in answer["features"]]


def row(place: dict[str, Any]) -> dict[str, Any]:
    known = place["properties"]
    street = " ".join(known[part] for part in ("street", "housenumber") if part in known)
    town = " ".join(known[part] for part in ("postcode", "city") if part in known)
    longitude, latitude = place["geometry"]["coordinates"]
    return {
        "name": known.get("name") or street,
        "city": known.get("city"),
        "address": ", ".join(part for part in (street, town, known.get("country")) if part),
        "category": known["osm_value"].replace("_", " "),
        "latitude": latitude,
        "longitude": longitude,
    }
