"""Overpass: all places of a kind near a city from OpenStreetMap ("museums" in "Berlin"), `POST
/api/interpreter`.

Interface: https://wiki.openstreetmap.org/wiki/Overpass_API/Overpass_QL, the JSON:
https://dev.overpass-api.de/output_formats.html. Terms of the public server:
https://dev.overpass-api.de/overpass-doc/en/preface/commons.html, about 10,000 requests and 1 GB a
day; an address has few slots, and who has none free gets a 429. Half a request a second with two at
once is our reading of that; the day's sum is yours to keep. The data is under the ODbL. Never
called live here.

A query that names no kind we know (`osm_kinds`) is looked for in the names of places.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar

from tripwright.domains.deeptravel.sandbox.provider import ProviderFault, Terms
from tripwright.domains.deeptravel.tools.answers import PointOfInterest, ProviderAnswer
from tripwright.domains.deeptravel.vendors.osm_kinds import IGNORED_WORDS, KINDS
from tripwright.domains.deeptravel.vendors.positions import Positions
from tripwright.domains.deeptravel.vendors.reading import (
    at,
    position_at,
    readable,
    rows_at,
    text_at,
)
from tripwright.domains.deeptravel.vendors.vendor import (
    OSM_ATTRIBUTION,
    HttpVendor,
    checked_results,
    said,
    utc_now,
    with_attribution,
)
from tripwright.errors import UserError
from tripwright.world.geography import Position

PUBLIC_URL = "https://overpass-api.de"
# elements, of which the notable and near ones are shown: they come in the order of their numbers,
# which says nothing
FETCHED = 500
SERVER_SECONDS = 25
MAX_RADIUS_KM = 100.0
CATEGORY_KEYS = (
    "tourism",
    "historic",
    "amenity",
    "leisure",
    "shop",
    "natural",
    "railway",
    "aeroway",
    "building",
)


class Overpass(HttpVendor):
    name: ClassVar[str] = "overpass"
    tools: ClassVar[frozenset[str]] = frozenset(("poi_search",))
    published_terms: ClassVar[Terms] = Terms(
        requests_per_second=0.5,
        burst=2,
        attribution=OSM_ATTRIBUTION,
        terms_url="https://dev.overpass-api.de/overpass-doc/en/preface/commons.html",
    )

    def __init__(
        self,
        positions: Positions,
        *,
        base_url: str = PUBLIC_URL,
        radius_km: float = 10.0,
        max_results: int = 20,
        language: str = "en",
        contact: str = "",
        terms: Terms | None = None,
        timeout_s: float = 2.0 * SERVER_SECONDS,
        now: Callable[[], datetime] = utc_now,
    ):
        if not 0 < radius_km <= MAX_RADIUS_KM:
            raise UserError(
                f"radius_km of 'overpass' is above 0 and at most {MAX_RADIUS_KM:g}: found"
                f" {radius_km:g}."
            )
        super().__init__(base_url, contact=contact, terms=terms, timeout_s=timeout_s, now=now)
        self.terms = with_attribution(self.terms, positions.places.terms)
        self.radius_km, self.max_results, self.language = (
            radius_km,
            checked_results(self.name, max_results),
            language,
        )
        self._positions = positions

    def settings(self) -> dict[str, object]:
        places = f"{self._positions.places.name} {self._positions.places.version}"
        return {
            "radius_km": self.radius_km,
            "max_results": self.max_results,
            "language": self.language,
            "places": places,
        }

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        query, city = said(arguments, "query"), said(arguments, "city_name")
        for what, text in (("query", query), ("city_name", city)):
            refusal = self.refusal_of(text, what)
            if refusal is not None:
                return refusal
        centre = self._positions.of_city(city)
        if centre is None:
            return self.result((), f"No city named '{city}' is known.", refused=True)
        form = {"data": overpass_ql(query, city, centre, self.radius_km)}
        answer = self._http.request("POST", "/api/interpreter", form=form)
        if "error" in (remark := text_at(answer, "remark")):
            # A query that ran out of time or memory is a 200 with a remark and half of the
            # elements.
            raise ProviderFault(
                "server_error", f"{self._http.base_url} gave up: {self._http.shown(remark)}"
            )
        candidates = readable(
            self.name,
            rows_at(self.name, answer, "elements"),
            lambda element: self._candidate(element, city, centre),
        )
        best = sorted(candidates, key=lambda candidate: candidate[:3])[: self.max_results]
        return self.result(
            tuple(place for *_, place in best),
            f"No '{query}' found within {self.radius_km:g} km of {city}.",
        )

    def _candidate(
        self, element: Any, city: str, centre: Position
    ) -> tuple[int, float, str, PointOfInterest] | None:
        """(0 for what an encyclopedia knows, else 1; kilometres from the centre; name; place), or
        None for what has no name or position."""
        tags = at(element, "tags")
        # an area says its middle, a point where it is
        position = position_at(at(element, "center") or element, "lat", "lon")
        name = text_at(tags, f"name:{self.language}") or text_at(tags, "name")
        if position is None or not name:
            return None
        street = f"{text_at(tags, 'addr:street')} {text_at(tags, 'addr:housenumber')}".strip()
        town = f"{text_at(tags, 'addr:postcode')} {text_at(tags, 'addr:city')}".strip()
        category = next(
            (value for key in CATEGORY_KEYS if (value := text_at(tags, key))), ""
        ).replace("_", " ")
        obscurity = 0 if text_at(tags, "wikidata") or text_at(tags, "wikipedia") else 1
        place = PointOfInterest(
            name, city, ", ".join(line for line in (street, town) if line), category, *position
        )
        return obscurity, round(_kilometres(centre, position), 3), name, place


def overpass_ql(query: str, city: str, centre: Position, radius_km: float) -> str:
    """The question in Overpass QL. What a model wrote stands in it only inside of quotes,
    escaped."""
    tags = _kinds_of(query, city)
    name = re.sub(
        rf"[\s,]+(?:(?:in|near|at)\s+)?{re.escape(city)}$", "", query, flags=re.IGNORECASE
    )  # a place's name seldom has its city in it
    filters = [f"[{_quoted(key)}={_quoted(value)}]" for key, value in tags] or [
        f'["name"~{_quoted(_pattern(name))},i]'
    ]
    around = f"(around:{radius_km * 1000:.0f},{centre.latitude:.6f},{centre.longitude:.6f})"
    statements = "".join(f'nwr{where}["name"]{around};' for where in filters)
    return f"[out:json][timeout:{SERVER_SECONDS}];({statements});out body center {FETCHED};"


def _kinds_of(query: str, city: str) -> tuple[tuple[str, str], ...]:
    """Tags where the query is a kind of place and nothing else: "the best museums in Berlin" is
    one, "Pergamon Museum" is a name."""
    without_city = re.sub(rf"(?<!\w){re.escape(city.casefold())}(?!\w)", " ", query.casefold())
    words = [
        word
        for word in re.findall(r"[^\W_]+(?:[-'’][^\W_]+)*", without_city)
        if word not in IGNORED_WORDS
    ]
    text = " ".join(words)
    for ending, singular in (("", ""), ("s", ""), ("es", ""), ("ies", "y")):
        if (
            text.endswith(ending)
            and (kind := KINDS.get(text[: len(text) - len(ending)] + singular)) is not None
        ):
            return kind
    return ()


def _pattern(text: str) -> str:
    """For the regular expressions of POSIX."""
    return re.sub(r"([\\.^$*+?()\[\]{}|])", r"\\\1", text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _kilometres(one: Position, other: tuple[float, float]) -> float:
    """By the great circle."""
    north, east = (math.radians(other[0] - one.latitude), math.radians(other[1] - one.longitude))
    half = (
        math.sin(north / 2) ** 2
        + math.cos(math.radians(one.latitude))
        * math.cos(math.radians(other[0]))
        * math.sin(east / 2) ** 2
    )
    return 2 * 6371.0 * math.asin(math.sqrt(min(1.0, half)))
