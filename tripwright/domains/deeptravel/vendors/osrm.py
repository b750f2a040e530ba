"""OSRM: ways by road, `GET /route/v1/{profile}/{lon},{lat};{lon},{lat}`.

Interface: https://github.com/Project-OSRM/osrm-backend/blob/master/docs/http.md, the example
answers in the tests are from there. Terms of the public server (FOSSGIS):
https://github.com/Project-OSRM/osrm-backend/wiki/Demo-server, at most one request a second,
non-commercial, no guarantees, a User-Agent and attribution. Never called live here.

A server knows one mode, the one its data was prepared for, and ignores the profile in the URL. So
the mode decides on the server: the public one has three, and a server of one's own has to be the
right one for `mode`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tripwright.domains.deeptravel.sandbox.provider import Terms
from tripwright.domains.deeptravel.vendors.reading import at, number_at, rows_at
from tripwright.domains.deeptravel.vendors.routes import RouteVendor
from tripwright.domains.deeptravel.vendors.vendor import OSM_ATTRIBUTION
from tripwright.tools.http import RefusedCall
from tripwright.world.geography import Position

PUBLIC_URLS = {
    "driving": "https://routing.openstreetmap.de/routed-car",
    "walking": "https://routing.openstreetmap.de/routed-foot",
    "cycling": "https://routing.openstreetmap.de/routed-bike",
}
PROFILES = {"driving": "driving", "walking": "foot", "cycling": "bike"}
# an answer about the road; every other code is about the request, and that is ours
NO_WAY = ("NoRoute", "NoSegment")


class Osrm(RouteVendor):
    name: ClassVar[str] = "osrm"
    public_urls: ClassVar[Mapping[str, str]] = PUBLIC_URLS
    published_terms: ClassVar[Terms] = Terms(
        requests_per_second=1.0,
        attribution=f"Routes: OSRM, FOSSGIS e.V.; {OSM_ATTRIBUTION}",
        terms_url="https://www.fossgis.de/arbeitsgruppen/osm-server/nutzungsbedingungen/",
    )

    def way(self, origin: Position, destination: Position) -> tuple[float, float] | None:
        ends = ";".join(f"{end.longitude:.6f},{end.latitude:.6f}" for end in (origin, destination))
        try:
            answer = self._http.get(
                f"/route/v1/{PROFILES[self.mode]}/{ends}", {"overview": "false"}
            )
        except RefusedCall as refusal:
            if at(refusal.body, "code") in NO_WAY:
                return None
            raise
        if at(answer, "code") != "Ok":
            raise self.undocumented("'code' is not 'Ok'")
        best = at(rows_at(self.name, answer, "routes"), 0)
        seconds, metres = number_at(best, "duration"), number_at(best, "distance")
        if seconds is None or metres is None or seconds < 0 or metres < 0:
            raise self.undocumented("a route has no 'duration' or no 'distance'")
        return seconds, metres / 1000
