"""Photon: places of OpenStreetMap by name and address, `GET /api`.

Interface: https://github.com/komoot/photon/blob/master/docs/api-v1.md, whose example answer is in the tests.
Terms of the public server: https://photon.komoot.io/, fair use without a published figure, heavy use is throttled and a User-Agent is
asked for (https://github.com/komoot/photon/issues/479 and …/883); one request a second is our reading of that. The data is
OpenStreetMap's, under the ODbL. Never called live here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar

from tripwright.live.answers import Found, Place
from tripwright.live.provider import Terms
from tripwright.live.vendors.reading import at, position_at, readable, rows_at, text_at
from tripwright.live.vendors.vendor import OSM_ATTRIBUTION, HttpVendor, checked_results, said, utc_now

PUBLIC_URL = "https://photon.komoot.io"


class Photon(HttpVendor):
    name: ClassVar[str] = "photon"
    tools: ClassVar[frozenset[str]] = frozenset(("poi_search",))
    published_terms: ClassVar[Terms] = Terms(
        requests_per_second=1.0, attribution=f"Photon, komoot; {OSM_ATTRIBUTION}", terms_url="https://photon.komoot.io/"
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
        return {"api": "v1", "language": self.language, "max_results": self.max_results}

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> Found:
        query, city = said(arguments, "query"), said(arguments, "city_name")
        text = f"{query}, {city}" if query and city else query
        refusal = self.refusal_of(text)
        if refusal is not None:
            return refusal
        answer = self._http.get("/api", {"q": text, "limit": self.max_results, "lang": self.language})
        places = readable(self.name, rows_at(self.name, answer, "features"), lambda feature: _place(feature, city))
        return self.found(tuple(places[: self.max_results]), f"No place found for '{text}'.")


def _place(feature: Any, city: str) -> Place | None:
    """None for what has neither name nor street."""
    stated = at(feature, "properties")
    street = _joined(" ", text_at(stated, "street"), text_at(stated, "housenumber"))
    name = text_at(stated, "name") or street
    if not name:
        return None
    town = _joined(" ", text_at(stated, "postcode"), text_at(stated, "city"))
    itself = name if text_at(stated, "osm_key") == "place" else ""
    point = {"lon": at(feature, "geometry", "coordinates", 0), "lat": at(feature, "geometry", "coordinates", 1)}
    latitude, longitude = position_at(point, "lat", "lon") or (None, None)
    return Place(
        name,
        text_at(stated, "city") or itself or city,
        _joined(", ", street, text_at(stated, "district"), town, text_at(stated, "state"), text_at(stated, "country")),
        text_at(stated, "osm_value").replace("_", " "),
        latitude,
        longitude,
    )


def _joined(between: str, *parts: str) -> str:
    return between.join(dict.fromkeys(part for part in parts if part))
