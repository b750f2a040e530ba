"""Valhalla: ways by road, `POST /route`.

Interface: https://valhalla.github.io/valhalla/api/turn-by-turn/api-reference/, its error codes are
at the end of that page. Terms of the public server (FOSSGIS):
https://github.com/valhalla/valhalla/discussions/3373, one request a second and user, for trying out
and for development, a User-Agent and attribution. Never called live here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tripwright.domains.deeptravel.sandbox.provider import Terms
from tripwright.domains.deeptravel.vendors.reading import at, number_at
from tripwright.domains.deeptravel.vendors.routes import MODES, RouteVendor
from tripwright.domains.deeptravel.vendors.vendor import OSM_ATTRIBUTION
from tripwright.tools.http import RefusedCall
from tripwright.world.geography import Position

PUBLIC_URL = "https://valhalla1.openstreetmap.de"
COSTINGS = {"driving": "auto", "walking": "pedestrian", "cycling": "bicycle"}
KILOMETRES = {"kilometers": 1.0, "miles": 1.609344}
# Too far for this mode, regions without connection, no road near a place, unreachable, no path:
# about the road, not about the request.
NO_WAY = (154, 170, 171, 441, 442, 443)


class Valhalla(RouteVendor):
    name: ClassVar[str] = "valhalla"
    public_urls: ClassVar[Mapping[str, str]] = dict.fromkeys(MODES, PUBLIC_URL)
    published_terms: ClassVar[Terms] = Terms(
        requests_per_second=1.0,
        attribution=f"Routes: Valhalla, FOSSGIS e.V.; {OSM_ATTRIBUTION}",
        terms_url="https://github.com/valhalla/valhalla/discussions/3373",
    )

    def way(self, origin: Position, destination: Position) -> tuple[float, float] | None:
        body = {
            "locations": [
                {"lat": end.latitude, "lon": end.longitude} for end in (origin, destination)
            ],
            "costing": COSTINGS[self.mode],
            "units": "kilometers",
            "directions_type": "none",  # no manoeuvres: only the summary is read
        }
        try:
            trip = at(self._http.post("/route", body), "trip")
        except RefusedCall as refusal:
            if at(refusal.body, "error_code") in NO_WAY:
                return None
            raise
        kilometres = next(
            (factor for units, factor in KILOMETRES.items() if units == at(trip, "units")), None
        )
        seconds, length = number_at(trip, "summary", "time"), number_at(trip, "summary", "length")
        if kilometres is None or seconds is None or length is None or seconds < 0 or length < 0:
            raise self.undocumented(
                "'trip' has no 'units', or its 'summary' no 'time' or no 'length'"
            )
        return seconds, length * kilometres
