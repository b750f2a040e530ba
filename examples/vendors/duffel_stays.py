"""Hotels from Duffel: https://duffel.com/docs/api/v2/search, around a position from Nominatim.

DUFFEL_ACCESS_TOKEN holds a token of the test mode ("duffel_test_…"), whose imaginary hotels stand
at TEST_HOTELS: https://duffel.com/docs/guides/test-hotels.
"""

import os
from functools import cache
from typing import Any

import httpx2

URL = "https://api.duffel.com/stays/search"
PLACES = "https://nominatim.openstreetmap.org/search"
WHO = {"user-agent": "my-agency/1.0 (https://example.org/who-we-are)"}  # yours
TOKEN = os.environ["DUFFEL_ACCESS_TOKEN"]
HEADERS = {**WHO, "authorization": f"Bearer {TOKEN}", "duffel-version": "v2"}
TEST_HOTELS = {"latitude": -24.38, "longitude": -128.32}


@cache  # Nominatim wants to be asked once
def position(city: str) -> dict[str, float]:
    asked = {"q": city, "format": "jsonv2", "limit": 1}
    found = httpx2.get(PLACES, params=asked, headers=WHO, timeout=20).raise_for_status().json()
    if not found:
        raise ValueError(f"No city named '{city}' is known.")
    return {"latitude": float(found[0]["lat"]), "longitude": float(found[0]["lon"])}


def search_hotels(
    city_name: str, checkin_date: str, checkout_date: str, hotel_name: str = ""
) -> list[dict[str, Any]]:
    """Each hotel at its cheapest rate: one room for the whole stay."""
    around = {"radius": 5, "geographic_coordinates": position(city_name)}  # or TEST_HOTELS
    stay = {"check_in_date": checkin_date, "check_out_date": checkout_date, "location": around}
    body = {"data": {"rooms": 1, "guests": [{"type": "adult"}], **stay}}
    answer = httpx2.post(URL, json=body, headers=HEADERS, timeout=40)
    if answer.status_code == 422:  # a day in the past, for instance: the model may ask otherwise
        raise ValueError(answer.json()["errors"][0]["message"])
    results = answer.raise_for_status().json()["data"]["results"]
    rows = [row(result) for result in results]
    fitting = [each for each in rows if hotel_name.casefold() in each["name"].casefold()]
    return sorted(fitting, key=lambda each: float(each["price"]))


def row(result: dict[str, Any]) -> dict[str, Any]:
    hotel = result["accommodation"]
    address = hotel["location"]["address"]
    return {
        "name": hotel["name"],
        "address": f"{address['line_one']}, {address['city_name']}",
        "price": float(result["cheapest_rate_total_amount"]),
        "currency": result["cheapest_rate_currency"],
        "price_per": "stay",
        "rating": hotel.get("rating"),  # stars
        **hotel["location"]["geographic_coordinates"],
    }
