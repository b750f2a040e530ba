"""Ways by road from OSRM, whose ends Nominatim finds: a question costs up to three requests.

Interface: https://github.com/Project-OSRM/osrm-backend/blob/master/docs/http.md. The public server
(FOSSGIS) allows one request a second, non-commercial, with attribution:
https://github.com/Project-OSRM/osrm-backend/wiki/Demo-server.
"""

from functools import cache
from typing import Any

import httpx2

# A server knows one mode, the one its data was prepared for: walking is routed-foot and "foot",
# cycling routed-bike and "bike".
URL, MODE = "https://routing.openstreetmap.de/routed-car/route/v1/driving", "driving"
PLACES = "https://nominatim.openstreetmap.org/search"
WHO = {"user-agent": "my-agency/1.0 (https://example.org/who-we-are)"}  # yours


@cache  # Nominatim wants to be asked once
def position(place: str) -> tuple[float, float]:
    asked = {"q": place, "format": "jsonv2", "limit": 1}
    found = httpx2.get(PLACES, params=asked, headers=WHO, timeout=20).raise_for_status().json()
    if not found:
        raise ValueError(f"No place named '{place}' is known.")
    return float(found[0]["lat"]), float(found[0]["lon"])


def plan_route(origin_name: str, destination_name: str, city_name: str) -> list[dict[str, Any]]:
    ends = [position(f"{name}, {city_name}") for name in (origin_name, destination_name)]
    way = ";".join(f"{longitude:.6f},{latitude:.6f}" for latitude, longitude in ends)
    answer = httpx2.get(f"{URL}/{way}", params={"overview": "false"}, headers=WHO, timeout=20)
    if answer.status_code == 400 and answer.json()["code"] in ("NoRoute", "NoSegment"):
        return []  # that no road leads there is an answer
    best = answer.raise_for_status().json()["routes"][0]
    minutes, kilometres = round(best["duration"] / 60, 1), round(best["distance"] / 1000, 2)
    return [{"mode": MODE, "minutes": minutes, "distance_km": kilometres}]
