"""Duffel: flights of many airlines and rooms of many hotels, meant for its test mode, which sells
nothing.

Interface, version v2: https://duffel.com/docs/api/v2/offer-requests (`POST /air/offer_requests`),
…/docs/api/places (a city's IATA code), …/docs/api/v2/search (`POST /stays/search`),
…/docs/api/v2/search-result (`fetch_all_rates`), …/docs/api/overview/errors and
…/docs/api/overview/test-mode. Never called live here.

The token is read from DUFFEL_ACCESS_TOKEN and from nowhere else. Test mode's begin with
"duffel_test_"; any other is refused unless `allow_live_token` is set, because a live account pays
for searches that lead to no booking. Live offers expire within half an hour, so they may not enter
a snapshot; those of test mode, from the sandbox airline "Duffel Airways", may. Duffel publishes no
number of requests: each answer's `ratelimit-*` headers state it, and the default of one a second is
ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, ClassVar
from urllib.parse import quote

from tripwright.domains.deeptravel.sandbox.provider import FaultKind, ProviderFault, Terms
from tripwright.domains.deeptravel.tools.answers import ProviderAnswer
from tripwright.domains.deeptravel.vendors.duffel_flights import (
    IataCode,
    at_poi,
    cheapest_offers,
    place_of,
)
from tripwright.domains.deeptravel.vendors.duffel_stays import hotels, named_like, rooms
from tripwright.domains.deeptravel.vendors.fields import day_or_none
from tripwright.domains.deeptravel.vendors.positions import Positions
from tripwright.domains.deeptravel.vendors.reading import at, rows_at, text_at
from tripwright.domains.deeptravel.vendors.vendor import HttpVendor, said, utc_now, with_attribution
from tripwright.errors import UserError
from tripwright.tools.http import RefusedCall, key_in

PUBLIC_URL = "https://api.duffel.com"
TOKEN_VARIABLE = "DUFFEL_ACCESS_TOKEN"
TEST_TOKEN = "duffel_test_"
CABINS = ("economy", "premium_economy", "business", "first")
# where test mode keeps them: https://duffel.com/docs/guides/test-hotels
TEST_HOTELS = (-24.38, -128.32)
LONGEST_STAY_NIGHTS = 99
DETAILED_HOTELS = 3  # of hotels named like the one asked for, so many are asked for all their rooms
FAULT_OF: Mapping[str, FaultKind] = {
    "airline_error": "server_error",
    "api_error": "server_error",
    "rate_limit_error": "rate_limit",
    "authentication_error": "unauthorized",
}
# fields that no caller of a tool can set
OURS = ("passengers", "guests", "rooms", "cabin_class", "location", "radius")


class Duffel(HttpVendor):
    """flight_search, and hotel_search where `positions` can say where a city is. Prices are for one
    adult, and for one room.

    `test_hotels` answers every hotel_search of test mode with its imaginary hotels. Raises
    UserError for a token that is not set, or live.
    """

    name: ClassVar[str] = "duffel"
    tools: ClassVar[frozenset[str]] = frozenset(("flight_search", "hotel_search"))
    published_terms: ClassVar[Terms] = Terms(
        requests_per_second=1.0,
        burst=3,
        attribution="Duffel",
        terms_url="https://duffel.com/docs/api/overview/test-mode",
    )

    def __init__(
        self,
        positions: Positions | None = None,
        *,
        base_url: str = PUBLIC_URL,
        allow_live_token: bool = False,
        test_hotels: bool = False,
        cabin: str = "economy",
        radius_km: int = 5,
        max_results: int = 30,
        contact: str = "",
        terms: Terms | None = None,
        timeout_s: float = 40.0,
        now: Callable[[], datetime] = utc_now,
    ):
        token = token_of_environment(allow_live_token)
        self.live = not token.startswith(TEST_TOKEN)
        if cabin not in CABINS:
            raise UserError(
                f"The cabin of 'duffel' is one of {', '.join(CABINS)}: found '{cabin}'."
            )
        if not 1 <= radius_km <= 100 or not 1 <= max_results <= 200:
            raise UserError(
                "'duffel' takes radius_km from 1 to 100 and max_results from 1 to 200: found"
                f" {radius_km} and {max_results}."
            )
        if test_hotels and self.live:
            raise UserError("test_hotels of 'duffel' needs a token of test mode: found a live one.")
        headers = {"authorization": f"Bearer {token}", "duffel-version": "v2"}
        super().__init__(
            base_url,
            contact=contact,
            terms=terms,
            timeout_s=timeout_s,
            headers=headers,
            now=now,
        )
        self.terms = replace(self.terms, may_store=self.terms.may_store and not self.live)
        self.cabin, self.radius_km, self.max_results, self.test_hotels = (
            cabin,
            radius_km,
            max_results,
            test_hotels,
        )
        # what airlines get; the rest is for the way
        self._supplier_timeout_ms = int(min(max(timeout_s * 500, 2_000), 60_000))
        self._places: dict[
            str, IataCode
        ] = {}  # codes of cities do not change: each is asked for once
        self._positions = positions
        if positions is not None:
            self.terms = with_attribution(self.terms, positions.places.terms)

    def settings(self) -> dict[str, object]:
        mode = "live" if self.live else "test"
        settings: dict[str, object] = {
            "interface": "v2",
            "mode": mode,
            "cabin": self.cabin,
            "max_results": self.max_results,
        }
        settings["radius_km"] = "test hotels" if self.test_hotels else self.radius_km
        if self._positions is not None:
            settings["places"] = f"{self._positions.places.name} {self._positions.places.version}"
        return settings

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        try:
            return self._flights(arguments) if tool == "flight_search" else self._hotels(arguments)
        except RefusedCall as refusal:
            return self._refused(refusal)

    def _flights(self, arguments: Mapping[str, Any]) -> ProviderAnswer:
        names = said(arguments, "depart_city_name"), said(arguments, "arrival_city_name")
        date = said(arguments, "depart_date")
        if day_or_none(date) is None:
            return self.result(
                (), f"depart_date is a day like 2026-06-26: found '{date}'.", refused=True
            )
        codes = []
        for name in names:
            refusal = self.refusal_of(name)
            if refusal is not None:
                return refusal
            place = self._places.get(name) or self._place_of(name)
            if place.code is None:
                return self.result((), place.note, refused=True)
            self._places[name] = place
            codes.append(place.code)
        if codes[0] == codes[1]:
            return self.result(
                (),
                f"'{names[0]}' and '{names[1]}' are the same place to airlines ({codes[0]}).",
                refused=True,
            )
        body = {
            "slices": [{"origin": codes[0], "destination": codes[1], "departure_date": date}],
            "passengers": [{"type": "adult"}],
            "cabin_class": self.cabin,
        }
        parameters = {"return_offers": "true", "supplier_timeout": self._supplier_timeout_ms}
        response = self._http.request(
            "POST", "/air/offer_requests", parameters=parameters, body={"data": body}
        )
        offers = cheapest_offers(rows_at("duffel", response, "data", "offers"), names)
        offers = at_poi(offers, said(arguments, "depart_poi"), said(arguments, "arrival_poi"))
        return self.result(
            tuple(offers[: self.max_results]),
            f"No flight from {names[0]} to {names[1]} on {date} is on offer.",
        )

    def _place_of(self, name: str) -> IataCode:
        return place_of(
            name, rows_at("duffel", self._http.get("/places/suggestions", {"name": name}), "data")
        )

    def _hotels(self, arguments: Mapping[str, Any]) -> ProviderAnswer:
        city, hotel = said(arguments, "city_name"), said(arguments, "hotel_name")
        stay = said(arguments, "checkin_date"), said(arguments, "checkout_date")
        refusal = self._stay_refusal(*stay) or self.refusal_of(city)
        if refusal is not None:
            return refusal
        position = self._position_of(city)
        if position is None:
            return self.result((), f"No city named '{city}' is known.", refused=True)
        latitude, longitude = position
        area = {
            "radius": self.radius_km,
            "geographic_coordinates": {"latitude": latitude, "longitude": longitude},
        }
        body = {
            "rooms": 1,
            "guests": [{"type": "adult"}],
            "check_in_date": stay[0],
            "check_out_date": stay[1],
            "location": area,
        }
        results = rows_at(
            "duffel", self._http.post("/stays/search", {"data": body}), "data", "results"
        )
        if not hotel:
            offers = hotels(results, city, stay)
            return self.result(
                tuple(offers[: self.max_results]),
                f"No hotel in {city} has a room from {stay[0]} to {stay[1]}.",
            )
        offers = []
        for result in named_like(results, hotel)[:DETAILED_HOTELS]:
            path = f"/stays/search_results/{quote(text_at(result, 'id'), safe='')}/actions/fetch_all_rates"  # noqa: E501
            rates = self._http.request("POST", path)
            offers += rooms(at(rates, "data"), result, city, stay)
        nothing = f"No hotel named '{hotel}' in {city} has a room from {stay[0]} to {stay[1]}."
        return self.result(tuple(offers[: self.max_results]), nothing)

    def _stay_refusal(self, checkin_date: str, checkout_date: str) -> ProviderAnswer | None:
        checkin, checkout = day_or_none(checkin_date), day_or_none(checkout_date)
        if checkin is None or checkout is None:
            note = (
                f"checkin_date and checkout_date are days like 2026-06-26: found '{checkin_date}'"
                f" and '{checkout_date}'."
            )
            return self.result((), note, refused=True)
        if not timedelta() < checkout - checkin <= timedelta(days=LONGEST_STAY_NIGHTS):
            note = (
                f"A stay has 1 to {LONGEST_STAY_NIGHTS} nights: found {checkin_date} to"
                f" {checkout_date}."
            )
            return self.result((), note, refused=True)
        return None

    def _position_of(self, city: str) -> tuple[float, float] | None:
        if self.test_hotels:
            return TEST_HOTELS
        if self._positions is None:
            raise ProviderFault(
                "bad_response",
                "duffel searches hotels around a position: it needs a provider of places to find"
                " cities.",
            )
        return self._positions.of_city(city)

    def _refused(self, refusal: RefusedCall) -> ProviderAnswer:
        """A validation error about what the caller chose is an answer; whatever else is wrong is
        our side's fault."""
        error = at(refusal.body, "errors", 0)
        kind, title, message = (
            text_at(error, "type"),
            text_at(error, "title"),
            text_at(error, "message"),
        )
        field = f"{text_at(error, 'source', 'field')} {text_at(error, 'source', 'pointer')}"
        line = self._http.shown(f"{title}: {message}" if title and message else title or message)
        if kind == "validation_error" and line and not any(name in field for name in OURS):
            return self.result((), line, refused=True)
        raise ProviderFault(
            FAULT_OF.get(kind, "bad_response"),
            f"{self._http.base_url} answered {refusal.status}: {line or refusal}",
        )


def token_of_environment(allow_live_token: bool = False) -> str:
    """Raises UserError, which never shows the token."""
    token = key_in(TOKEN_VARIABLE, "'duffel', with a token of Duffel's test mode,")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise UserError(
            f"{TOKEN_VARIABLE} holds no token: found spaces or signs outside ASCII, expected one"
            f" line like {TEST_TOKEN}…."
        )
    if not token.startswith(TEST_TOKEN) and not allow_live_token:
        raise UserError(
            f"{TOKEN_VARIABLE} holds no token of test mode: expected {TEST_TOKEN}…, or"
            " allow_live_token = true for a live one."
        )
    return token
