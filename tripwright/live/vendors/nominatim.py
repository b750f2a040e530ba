"""Nominatim: places of OpenStreetMap by name, `GET /search?format=jsonv2`.

Interface: https://nominatim.org/release-docs/latest/api/Search/ and …/api/Output/, whose example answers are in the tests.
Terms of the public server: https://operations.osmfoundation.org/policies/nominatim/, at most one request a second for the whole
application, a User-Agent that names it, attribution under the ODbL, no bulk geocoding, answers to be cached. They do not bind a server
of one's own. Never called live here.

It finds what has a name. For all places of a kind ("museums") its own manual points to Overpass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar

from tripwright.live.answers import Found, Place
from tripwright.live.provider import Terms
from tripwright.live.vendors.reading import position_at, readable, rows_at, text_at
from tripwright.live.vendors.vendor import OSM_ATTRIBUTION, HttpVendor, checked_results, said, utc_now

PUBLIC_URL = "https://nominatim.openstreetmap.org"
SETTLEMENTS = ("city", "town", "village", "municipality")  # the first that an address has is its city


class Nominatim(HttpVendor):
    name: ClassVar[str] = "nominatim"
    tools: ClassVar[frozenset[str]] = frozenset(("poi_search",))
    published_terms: ClassVar[Terms] = Terms(
        requests_per_second=1.0,
        attribution=OSM_ATTRIBUTION,
        terms_url="https://operations.osmfoundation.org/policies/nominatim/",
    )

    def __init__(
        self,
        *,
        base_url: str = PUBLIC_URL,
        language: str = "en",
        max_results: int = 10,
        contact: str = "",
        terms: Terms | None = None,
        timeout_s: float = 20.0,
        now: Callable[[], datetime] = utc_now,
    ):
        super().__init__(base_url, contact=contact, terms=terms, timeout_s=timeout_s, now=now)
        self.language, self.max_results = language, checked_results(self.name, max_results)

    def settings(self) -> dict[str, object]:
        return {"format": "jsonv2", "language": self.language, "max_results": self.max_results}

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> Found:
        query, city = said(arguments, "query"), said(arguments, "city_name")
        text = f"{query}, {city}" if query and city else query
        refusal = self.refusal_of(text)
        if refusal is not None:
            return refusal
        parameters = {"q": text, "format": "jsonv2", "addressdetails": 1, "limit": self.max_results, "accept-language": self.language}
        answer = rows_at(self.name, self._http.get("/search", parameters))
        places = readable(self.name, answer, lambda entry: _place(entry, city))
        return self.found(tuple(places[: self.max_results]), f"No place found for '{text}'.")


def _place(entry: Any, city: str) -> Place | None:
    """None for what has no name."""
    address = text_at(entry, "display_name")
    name = text_at(entry, "name") or address.partition(",")[0]  # before version 4.3 there is no 'name'
    if not name:
        return None
    settlement = next((found for part in SETTLEMENTS if (found := text_at(entry, "address", part))), city)
    latitude, longitude = position_at(entry, "lat", "lon") or (None, None)
    return Place(name, settlement, address, text_at(entry, "type").replace("_", " "), latitude, longitude)
