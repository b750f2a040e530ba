"""Duffel's offers and places as records: https://duffel.com/docs/api/v2/offers and
https://duffel.com/docs/api/places."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tripwright.domains.deeptravel.tools.answers import FlightOffer
from tripwright.domains.deeptravel.vendors.fields import (
    folded,
    listed,
    moment_or_none,
    money_or_none,
    written,
    zone_or_none,
)
from tripwright.domains.deeptravel.vendors.reading import at, number_at, readable, text_at

DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:[\d.]+S)?)?")
SUGGESTED = 5  # names in a note


@dataclass(frozen=True)
class IataCode:
    """The IATA code of what was asked for, or a note that says why there is none."""

    code: str | None
    note: str = ""


def place_of(name: str, suggestions: Sequence[Any]) -> IataCode:
    """A city by its name before an airport by its code, its name or its city. Only what is called
    so counts: a suggestion that merely looks alike would be a flight from somewhere else."""
    city = folded(name.partition(",")[0])  # "Paris, France"
    cities = [entry for entry in suggestions if text_at(entry, "type") == "city"]
    airports = [entry for entry in suggestions if text_at(entry, "type") == "airport"]
    for entries, key in (
        (cities, "name"),
        (suggestions, "iata_code"),
        (airports, "city_name"),
        (airports, "name"),
    ):
        for entry in entries:
            if city and folded(text_at(entry, key)) == city:
                of_city = key == "city_name"
                code = (text_at(entry, "iata_city_code") if of_city else "") or text_at(
                    entry, "iata_code"
                )
                if code:
                    return IataCode(code)
    others = listed(
        text_at(entry, "city_name") or text_at(entry, "name") for entry in suggestions[:SUGGESTED]
    )
    return IataCode(
        None,
        f"No city or airport named '{name}' is known{f'; known are {others}' if others else ''}.",
    )


def cheapest_offers(offers: Sequence[Any], cities: tuple[str, str]) -> list[FlightOffer]:
    """Each flight once, at its cheapest fare, cheapest first. Raises ProviderFault where no offer
    can be read."""
    best: dict[tuple[str, str], FlightOffer] = {}
    for offer in readable("duffel", offers, lambda entry: _offer(entry, cities)):
        key = (offer.number, offer.departs_at)
        if key not in best or _order(offer) < _order(best[key]):
            best[key] = offer
    return sorted(best.values(), key=_order)


def at_poi(offers: list[FlightOffer], depart_poi: str, arrival_poi: str) -> list[FlightOffer]:
    """Only flights from or to the airport that was named. A name that is no airport of theirs
    narrows nothing down."""
    for poi, field in (
        (folded(depart_poi), "depart_airport"),
        (folded(arrival_poi), "arrive_airport"),
    ):
        fitting = [offer for offer in offers if poi and poi in folded(getattr(offer, field))]
        offers = fitting or offers
    return offers


def _order(offer: FlightOffer) -> tuple[float, str, str]:
    return (offer.price.amount if offer.price else float("inf"), offer.departs_at, offer.number)


def _offer(entry: Any, cities: tuple[str, str]) -> FlightOffer | None:
    """None where it has no flight number or no times."""
    segments = at(entry, "slices", 0, "segments")
    if not isinstance(segments, list) or not segments:
        return None
    first, last = segments[0], segments[-1]
    departs, arrives = (
        moment_or_none(text_at(first, "departing_at")),
        moment_or_none(text_at(last, "arriving_at")),
    )
    numbers = [_number(segment) for segment in segments]
    if departs is None or arrives is None or not all(numbers):
        return None
    minutes = _minutes(text_at(entry, "slices", 0, "duration"))
    if minutes is None:
        minutes = _elapsed(departs, at(first, "origin"), arrives, at(last, "destination"))
    if minutes is None:
        return None
    # without a change of flight
    halts = sum(
        len(stops) for segment in segments if isinstance(stops := at(segment, "stops"), list)
    )
    carriers = listed(text_at(segment, "marketing_carrier", "name") for segment in segments)
    return FlightOffer(
        number=", ".join(numbers),
        carrier=carriers or text_at(entry, "owner", "name"),
        depart_city=_city(at(first, "origin")) or cities[0],
        depart_airport=_airport(at(first, "origin")),
        arrive_city=_city(at(last, "destination")) or cities[1],
        arrive_airport=_airport(at(last, "destination")),
        departs_at=written(departs),
        arrives_at=written(arrives),
        minutes=minutes,
        stops=len(segments) - 1 + halts,
        price=money_or_none(number_at(entry, "total_amount"), text_at(entry, "total_currency")),
    )


def _number(segment: Any) -> str:
    carrier, number = (
        text_at(segment, "marketing_carrier", "iata_code"),
        text_at(segment, "marketing_carrier_flight_number"),
    )
    return f"{carrier} {number}" if carrier and number else ""


def _city(airport: Any) -> str:
    return text_at(airport, "city_name") or text_at(airport, "city", "name")


def _airport(airport: Any) -> str:
    name, code = text_at(airport, "name"), text_at(airport, "iata_code")
    return f"{name} ({code})" if name and code else name or code


def _minutes(duration: str) -> int | None:
    """ISO 8601, "PT02H26M" or "P1DT2H"."""
    parts = DURATION.fullmatch(duration)
    if parts is None or not any(parts.groups()):
        return None
    days, hours, minutes = (int(part or 0) for part in parts.groups())
    return (days * 24 + hours) * 60 + minutes


def _elapsed(
    departs: datetime,
    origin: Mapping[str, Any] | None,
    arrives: datetime,
    destination: Mapping[str, Any] | None,
) -> int | None:
    """From the local times, where both airports state their time zone."""
    zones = (
        zone_or_none(text_at(origin, "time_zone")),
        zone_or_none(text_at(destination, "time_zone")),
    )
    if zones[0] is None or zones[1] is None:
        return None
    seconds = (
        arrives.replace(tzinfo=zones[1]).timestamp() - departs.replace(tzinfo=zones[0]).timestamp()
    )
    return round(timedelta(seconds=seconds).total_seconds() / 60) if seconds >= 0 else None
