"""Ways by road from Valhalla, whose ends Nominatim finds: a question costs up to three requests.

Interface: https://valhalla.github.io/valhalla/api/turn-by-turn/api-reference/. The public server
(FOSSGIS) allows one request a second and user, for development, with attribution:
https://github.com/valhalla/valhalla/discussions/3373.
"""

from functools import cache
from typing import Any

import httpx2

URL = "https://valhalla1.openstreetmap.de/route"
PLACES = "https://nominatim.openstreetmap.org/search"
WHO = {"user-agent": "my-agency/1.0 (https://example.org/who-we-are)"}  # yours
MODE, COSTING = "walking", "pedestrian"  # or "driving" and "auto", "cycling" and "bicycle"
NO_WAY = (154, 170, 171, 441, 442, 443)  # about the road, not about the request


@cache  # Nominatim wants to be asked once
def position(place: str) -> dict[str, float]:
    asked = {"q": place, "format": "jsonv2", "limit": 1}
    found = httpx2.get(PLACES, params=asked, headers=WHO, timeout=20).raise_for_status().json()
    if not found:
        raise ValueError(f"No place named '{place}' is known.")
    return {"lat": float(found[0]["lat"]), "lon": float(found[0]["lon"])}


def plan_route(origin_name: str, destination_name: str, city_name: str) -> list[dict[str, Any]]:
    ends = [position(f"{name}, {city_name}") for name in (origin_name, destination_name)]
    wanted = {"units": "kilometers", "directions_type": "none"}  # only the summary
    asked = {"locations": ends, "costing": COSTING, **wanted}
    answer = httpx2.post(URL, json=asked, headers=WHO, timeout=20)
    if answer.status_code == 400 and answer.json()["error_code"] in NO_WAY:
        return []  # that no road leads there is an answer
    whole = answer.raise_for_status().json()["trip"]["summary"]
    minutes, kilometres = round(whole["time"] / 60, 1), round(whole["length"], 2)
    return [{"mode": MODE, "minutes": minutes, "distance_km": kilometres}]
