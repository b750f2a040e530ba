"""Photon: places of OpenStreetMap by name and address, `GET /api`.

Interface: https://github.com/komoot/photon/blob/master/docs/api-v1.md, whose example answer is in
the tests. Terms of the public server: https://photon.komoot.io/, fair use without a published
figure, heavy use is throttled and a User-Agent is asked for
(https://github.com/komoot/photon/issues/479 and …/883); one request a second is our reading of
that. The data is OpenStreetMap's, under the ODbL. Never called live here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tripwright.domains.deeptravel.sandbox.provider import Terms
from tripwright.domains.deeptravel.tools.answers import PointOfInterest
from tripwright.domains.deeptravel.vendors.place_search import PlaceSearch
from tripwright.domains.deeptravel.vendors.reading import at, position_at, text_at
from tripwright.domains.deeptravel.vendors.vendor import OSM_ATTRIBUTION


class Photon(PlaceSearch):
    name: ClassVar[str] = "photon"
    public_url: ClassVar[str] = "https://photon.komoot.io"
    path: ClassVar[str] = "/api"
    entries: ClassVar[tuple[str, ...]] = ("features",)
    published_terms: ClassVar[Terms] = Terms(
        requests_per_second=1.0,
        attribution=f"Photon, komoot; {OSM_ATTRIBUTION}",
        terms_url="https://photon.komoot.io/",
    )

    def settings(self) -> dict[str, object]:
        return {"api": "v1", "language": self.language, "max_results": self.max_results}

    def parameters(self, text: str) -> Mapping[str, Any]:
        return {"q": text, "limit": self.max_results, "lang": self.language}

    def place(self, entry: Any, city: str) -> PointOfInterest | None:
        """None for what has neither name nor street."""
        properties = at(entry, "properties")
        street = _joined(" ", text_at(properties, "street"), text_at(properties, "housenumber"))
        name = text_at(properties, "name") or street
        if not name:
            return None
        town = _joined(" ", text_at(properties, "postcode"), text_at(properties, "city"))
        itself = name if text_at(properties, "osm_key") == "place" else ""
        point = {
            "lon": at(entry, "geometry", "coordinates", 0),
            "lat": at(entry, "geometry", "coordinates", 1),
        }
        latitude, longitude = position_at(point, "lat", "lon") or (None, None)
        return PointOfInterest(
            name,
            text_at(properties, "city") or itself or city,
            _joined(
                ", ",
                street,
                text_at(properties, "district"),
                town,
                text_at(properties, "state"),
                text_at(properties, "country"),
            ),
            text_at(properties, "osm_value").replace("_", " "),
            latitude,
            longitude,
        )


def _joined(between: str, *parts: str) -> str:
    return between.join(dict.fromkeys(part for part in parts if part))
