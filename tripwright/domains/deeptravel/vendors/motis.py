"""MOTIS: train connections from public timetables. Transitous is its public server, run by
volunteers.

Interface: https://github.com/motis-project/motis/blob/master/openapi.yaml, `GET /api/v1/geocode`
and `GET /api/v5/plan` (v5 since MOTIS 2.5.0; since v3 `maxTransfers=0` means direct). Terms of the
public server: https://transitous.org/api/, free and non-profit use only, a User-Agent with name,
version and a way of contact, and word to its people before any heavy use; the sources and their
licences are at https://transitous.org/sources/. They do not bind a server of one's own. Never
called live here.

Timetables know no fares, so no offer has a price. Of a city, the station that MOTIS rates most
important stands for all; a station's name in place of the city's chooses another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from tripwright.domains.deeptravel.sandbox.provider import Terms
from tripwright.domains.deeptravel.tools.answers import ProviderAnswer, TrainOffer
from tripwright.domains.deeptravel.vendors.fields import (
    day_or_none,
    folded,
    listed,
    moment_or_none,
    written,
    zone_or_none,
)
from tripwright.domains.deeptravel.vendors.reading import (
    at,
    number_at,
    position_at,
    readable,
    rows_at,
    text_at,
)
from tripwright.domains.deeptravel.vendors.vendor import HttpVendor, said, utc_now
from tripwright.errors import UserError

PUBLIC_URL = "https://api.transitous.org"
TRAINS = frozenset(
    "RAIL HIGHSPEED_RAIL LONG_DISTANCE NIGHT_RAIL REGIONAL_FAST_RAIL REGIONAL_RAIL SUBURBAN METRO"
    " SUBWAY".split()
)
ON_FOOT = "WALK"
BETWEEN_WORDS = re.compile(r"[\W_]+")
# the longest way on foot to a station, where a city is a position and not a station
STREET_S = 3_600


@dataclass(frozen=True)
class Stop:
    """Where a connection begins or ends. `place` is what the interface takes: the id of a stop, or
    "latitude,longitude"."""

    place: str
    zone: ZoneInfo | None
    is_station: bool


class Motis(HttpVendor):
    """train_search. `contact` (an address or a page of yours) is required for the public server.
    Raises UserError."""

    name: ClassVar[str] = "motis"
    tools: ClassVar[frozenset[str]] = frozenset(("train_search",))
    published_terms: ClassVar[Terms] = Terms(
        requests_per_second=1.0,  # ours: Transitous publishes no number and asks to be spared
        attribution="Transitous and its sources, https://transitous.org/sources/",
        terms_url="https://transitous.org/api/",
    )

    def __init__(
        self,
        *,
        base_url: str = PUBLIC_URL,
        contact: str = "",
        language: str = "en",
        max_results: int = 30,
        terms: Terms | None = None,
        timeout_s: float = 30.0,
        now: Callable[[], datetime] = utc_now,
    ):
        if base_url.rstrip("/") == PUBLIC_URL and not contact:
            raise UserError(
                f"{PUBLIC_URL} wants a contact: found none for 'motis', expected an e-mail address"
                " or a URL of yours."
            )
        if not 1 <= max_results <= 200:
            raise UserError(f"max_results of 'motis' is from 1 to 200: found {max_results}.")
        super().__init__(base_url, contact=contact, terms=terms, timeout_s=timeout_s, now=now)
        self.language, self.max_results = language, max_results

    def settings(self) -> dict[str, object]:
        return {
            "interface": "v5",
            "server": self._http.base_url,
            "language": self.language,
            "max_results": self.max_results,
        }

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        names = said(arguments, "depart_city_name"), said(arguments, "arrival_city_name")
        on, with_transfers = (
            day_or_none(said(arguments, "depart_date")),
            bool(number_at(arguments, "is_transfer")),
        )
        if on is None:
            note = (
                f"depart_date is a day like 2026-06-26: found '{said(arguments, 'depart_date')}'."
            )
            return self.result((), note, refused=True)
        stops = []
        for name in names:
            refusal = self.refusal_of(name)
            if refusal is not None:
                return refusal
            matches = rows_at(
                "motis",
                self._http.get("/api/v1/geocode", {"text": name, "language": self.language}),
            )
            stop = stop_of(name, matches)
            if stop is None:
                return self.result((), f"No station or city named '{name}' is known.", refused=True)
            stops.append(stop)
        if stops[0].place == stops[1].place:
            return self.result(
                (), f"'{names[0]}' and '{names[1]}' are the same station.", refused=True
            )
        rows = rows_at(
            "motis",
            self._http.get("/api/v5/plan", _query(stops[0], stops[1], on, with_transfers)),
            "itineraries",
        )
        trains = readable(
            "motis",
            [row for row in rows if not _is_no_train(row)],
            lambda row: _train(row, names, stops),
        )
        fitting = [
            offer
            for offer in trains
            if offer.departs_at[:10] == on.isoformat() and (with_transfers or not offer.transfers)
        ]
        kind = "train" if with_transfers else "direct train"
        offers = tuple(
            sorted(
                dict.fromkeys(fitting),
                key=lambda offer: (offer.departs_at, offer.arrives_at, offer.number),
            )
        )
        return self.result(
            offers[: self.max_results], f"No {kind} from {names[0]} to {names[1]} leaves on {on}."
        )


def stop_of(name: str, matches: list[Any]) -> Stop | None:
    """The most important station of this name or in a place of this name, else the place itself.
    Whatever merely looks alike is none. Raises ProviderFault where no match can be read."""
    words = folded(name.partition(",")[0])
    placed = readable(
        "motis",
        matches,
        lambda match: (
            match if text_at(match, "name") and position_at(match, "lat", "lon") else None
        ),
    )
    places = [match for match in placed if _is_called(match, words)]
    stations = [
        match
        for match in places
        if text_at(match, "type") == "STOP" and text_at(match, "id") and _has_trains(match)
    ]
    if stations:
        # of equals the first: the server ranked them
        best = max(stations, key=lambda match: number_at(match, "importance") or 0.0)
        return Stop(text_at(best, "id"), zone_or_none(text_at(best, "tz")), is_station=True)
    if not places:
        return None
    latitude, longitude = position_at(places[0], "lat", "lon") or (0.0, 0.0)
    return Stop(
        f"{latitude:.6f},{longitude:.6f}", zone_or_none(text_at(places[0], "tz")), is_station=False
    )


def _is_called(match: Any, name: str) -> bool:
    areas = at(match, "areas")
    area_names = (
        [folded(text_at(area, "name")) for area in areas] if isinstance(areas, list) else []
    )
    words = [folded(word) for word in BETWEEN_WORDS.split(text_at(match, "name"))]
    # "London" begins "London Euston", "Ham" not "Hamburg"
    beginnings = ["".join(words[:count]) for count in range(1, len(words) + 1)]
    return bool(name) and (name in beginnings or name in area_names)


def _has_trains(match: Any) -> bool:
    """Older servers do not say which modes stop there."""
    modes = at(match, "modes")
    return (
        not isinstance(modes, list)
        or not modes
        or any(isinstance(mode, str) and mode in TRAINS for mode in modes)
    )


def _query(origin: Stop, destination: Stop, on: date, with_transfers: bool) -> dict[str, str | int]:
    """One search over the whole local day. Without a known zone it spans the day anywhere on earth;
    other days' trains are dropped."""
    if origin.zone is not None:
        begins, ends = (
            datetime.combine(day, time(), origin.zone).astimezone(UTC)
            for day in (on, on + timedelta(days=1))
        )
    else:
        begins = datetime.combine(on, time(), UTC) - timedelta(hours=14)
        ends = begins + timedelta(hours=50)
    query: dict[str, str | int] = {
        "fromPlace": origin.place,
        "toPlace": destination.place,
        "time": begins.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "searchWindow": round((ends - begins).total_seconds()),
        "timetableView": "true",
        "detailedTransfers": "false",
        "transitModes": "RAIL",
    }
    if not with_transfers:
        query["maxTransfers"] = 0
    if not origin.is_station:
        query["maxPreTransitTime"] = STREET_S
    if not destination.is_station:
        query["maxPostTransitTime"] = STREET_S
    return query


def _rides(itinerary: Any) -> list[Any]:
    legs = at(itinerary, "legs")
    return (
        [leg for leg in legs if text_at(leg, "mode") != ON_FOOT] if isinstance(legs, list) else []
    )


def _is_no_train(itinerary: Any) -> bool:
    """Cancelled, or in need of something else than a train."""
    rides = _rides(itinerary)
    modes = [text_at(ride, "mode") for ride in rides]
    return any(mode and mode not in TRAINS for mode in modes) or any(
        at(ride, "cancelled") is True for ride in rides
    )


def _train(itinerary: Any, names: tuple[str, str], stops: list[Stop]) -> TrainOffer | None:
    """From the first train's departure to the last one's arrival. None where times, places or
    numbers are missing."""
    rides = _rides(itinerary)
    if not rides:
        return None
    first, last = at(rides[0], "from"), at(rides[-1], "to")
    departs = _local(text_at(rides[0], "startTime"), text_at(first, "tz"), stops[0].zone)
    arrives = _local(text_at(rides[-1], "endTime"), text_at(last, "tz"), stops[1].zone)
    numbers = [
        text_at(ride, "displayName")
        or text_at(ride, "tripShortName")
        or text_at(ride, "routeShortName")
        for ride in rides
    ]
    stations = text_at(first, "name"), text_at(last, "name")
    if departs is None or arrives is None or not all((*numbers, *stations)):
        return None
    # not of wall times, which a change of the clocks would falsify
    seconds = arrives.timestamp() - departs.timestamp()
    if seconds < 0:
        return None
    return TrainOffer(
        number=", ".join(numbers),
        operator=listed(text_at(ride, "agencyName") for ride in rides),
        depart_city=names[0],
        depart_station=stations[0],
        arrive_city=names[1],
        arrive_station=stations[1],
        departs_at=written(departs),
        arrives_at=written(arrives),
        minutes=round(seconds / 60),
        transfers=len(rides) - 1,
    )


def _local(text: str, zone_name: str, zone: ZoneInfo | None) -> datetime | None:
    """MOTIS writes moments in UTC and names the stop's zone. An offset other than UTC's is local
    time already; a moment in UTC whose zone nobody knows has no local time, and one without an
    offset is no moment."""
    moment = moment_or_none(text)
    if moment is None or moment.tzinfo is None:
        return None
    zone_of_place = zone_or_none(zone_name) or zone
    if zone_of_place is not None:
        return moment.astimezone(zone_of_place)
    return moment if moment.utcoffset() else None
