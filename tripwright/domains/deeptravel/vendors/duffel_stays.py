"""Duffel's hotels, rooms and rates as records: https://duffel.com/docs/api/v2/search and
https://duffel.com/docs/api/v2/search-result.

A price is the rate's `total_amount`: the whole stay with taxes and fees that are paid at booking.
What Duffel lists as due at the accommodation comes on top and is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripwright.domains.deeptravel.tools.answers import HotelOffer, Money
from tripwright.domains.deeptravel.vendors.fields import folded, listed, money_or_none
from tripwright.domains.deeptravel.vendors.reading import (
    at,
    number_at,
    position_at,
    readable,
    rows_at,
    text_at,
)

Stay = tuple[str, str]  # checkin_date, checkout_date


def hotels(results: Sequence[Any], city: str, stay: Stay) -> list[HotelOffer]:
    """One record a hotel, at its cheapest rate, cheapest first. Raises ProviderFault where no
    result can be read."""
    offers = readable(
        "duffel",
        results,
        lambda result: _hotel(result, city, stay, _cheapest(result), _cheapest_room(result)),
    )
    return sorted(offers, key=_order)


def named_like(results: Sequence[Any], name: str) -> list[Any]:
    """Results whose hotel has this name, else those whose name holds it; only such as can be asked
    for their rates."""
    words = folded(name)
    hotels = [
        (folded(text_at(result, "accommodation", "name")), result)
        for result in results
        if text_at(result, "id")
    ]
    same = [result for hotel, result in hotels if hotel == words]
    return same or [result for hotel, result in hotels if words and words in hotel]


def rooms(detailed: Any, result: Any, city: str, stay: Stay) -> list[HotelOffer]:
    """One record a room, at its cheapest rate. Where no room has a price, the hotel as the search
    found it. Raises ProviderFault."""
    offers: dict[str, HotelOffer] = {}
    for room in rows_at("duffel", detailed, "accommodation", "rooms"):
        rates = at(room, "rates")
        prices = [
            price
            for rate in (rates if isinstance(rates, list) else [])
            if (price := _rate(rate)) is not None
        ]
        offer = _hotel(detailed, city, stay, min(prices, default=None), text_at(room, "name"))
        if (
            offer is not None
            and offer.price is not None
            and _order(offer) < _order(offers.get(offer.room))
        ):
            offers[offer.room] = offer
    whole = _hotel(result, city, stay, _cheapest(result), _cheapest_room(result))
    return sorted(offers.values(), key=_order) or ([whole] if whole is not None else [])


def _order(offer: HotelOffer | None) -> tuple[float, str, str]:
    if offer is None or offer.price is None:
        return (float("inf"), offer.name if offer else "", "")
    return (offer.price.amount, offer.name, offer.room)


def _rate(rate: Any) -> Money | None:
    return money_or_none(number_at(rate, "total_amount"), text_at(rate, "total_currency"))


def _cheapest(result: Any) -> Money | None:
    return money_or_none(
        number_at(result, "cheapest_rate_total_amount"), text_at(result, "cheapest_rate_currency")
    )


def _cheapest_room(result: Any) -> str:
    """The room that costs what the search calls the cheapest, where the search lists rooms at
    all."""
    price, listing = _cheapest(result), at(result, "accommodation", "rooms")
    for room in listing if isinstance(listing, list) else []:
        rates = at(room, "rates")
        if (
            price is not None
            and isinstance(rates, list)
            and any(_rate(rate) == price for rate in rates)
        ):
            return text_at(room, "name")
    return ""


def _hotel(result: Any, city: str, stay: Stay, price: Money | None, room: str) -> HotelOffer | None:
    """None where it has no name. `rating` is the hotel's stars; guests' scores are another scale
    and left out."""
    hotel = at(result, "accommodation")
    name = text_at(hotel, "name")
    if not name:
        return None
    address = at(hotel, "location", "address")
    position = position_at(at(hotel, "location", "geographic_coordinates"), "latitude", "longitude")
    latitude, longitude = position or (None, None)
    stars = number_at(hotel, "rating")
    return HotelOffer(
        name=name,
        city=text_at(address, "city_name") or city,
        checkin_date=text_at(result, "check_in_date") or stay[0],
        checkout_date=text_at(result, "check_out_date") or stay[1],
        room=room,
        address=listed(
            text_at(address, part)
            for part in ("line_one", "postal_code", "city_name", "region", "country_code")
        ),
        price=price,
        rating=stars if stars is not None and 0 <= stars <= 5 else None,
        latitude=latitude,
        longitude=longitude,
    )
