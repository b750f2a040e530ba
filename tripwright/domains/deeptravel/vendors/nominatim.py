"""Nominatim: places of OpenStreetMap by name, `GET /search?format=jsonv2`.

Interface: https://nominatim.org/release-docs/latest/api/Search/ and …/api/Output/, whose example
answers are in the tests. Terms of the public server:
https://operations.osmfoundation.org/policies/nominatim/, at most one request a second for the whole
application, a User-Agent that names it, attribution under the ODbL, no bulk geocoding, answers to
be cached. They do not bind a server of one's own. Never called live here.

It finds what has a name. For all places of a kind ("museums") its own manual points to Overpass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tripwright.domains.deeptravel.sandbox.provider import Terms
from tripwright.domains.deeptravel.tools.answers import PointOfInterest
from tripwright.domains.deeptravel.vendors.place_search import PlaceSearch
from tripwright.domains.deeptravel.vendors.reading import position_at, text_at
from tripwright.domains.deeptravel.vendors.vendor import OSM_ATTRIBUTION

# the first that an address has is its city
SETTLEMENTS = ("city", "town", "village", "municipality")


class Nominatim(PlaceSearch):
    name: ClassVar[str] = "nominatim"
    public_url: ClassVar[str] = "https://nominatim.openstreetmap.org"
    path: ClassVar[str] = "/search"
    published_terms: ClassVar[Terms] = Terms(
        requests_per_second=1.0,
        attribution=OSM_ATTRIBUTION,
        terms_url="https://operations.osmfoundation.org/policies/nominatim/",
    )

    def settings(self) -> dict[str, object]:
        return {"format": "jsonv2", "language": self.language, "max_results": self.max_results}

    def parameters(self, text: str) -> Mapping[str, Any]:
        return {
            "q": text,
            "format": "jsonv2",
            "addressdetails": 1,
            "limit": self.max_results,
            "accept-language": self.language,
        }

    def place(self, entry: Any, city: str) -> PointOfInterest | None:
        """None for what has no name."""
        address = text_at(entry, "display_name")
        # before version 4.3 there is no 'name'
        name = text_at(entry, "name") or address.partition(",")[0]
        if not name:
            return None
        settlement = next(
            (words for part in SETTLEMENTS if (words := text_at(entry, "address", part))), city
        )
        latitude, longitude = position_at(entry, "lat", "lon") or (None, None)
        return PointOfInterest(
            name, settlement, address, text_at(entry, "type").replace("_", " "), latitude, longitude
        )
