"""Flights from Duffel: https://duffel.com/docs/api/v2/offer-requests and …/docs/api/places.

DUFFEL_ACCESS_TOKEN holds a token of the test mode; live searches cost money, live offers expire.
"""

import os
from datetime import timedelta
from functools import cache
from typing import Any

import httpx2
from pydantic import TypeAdapter

URL = "https://api.duffel.com"
HEADERS = {"authorization": f"Bearer {os.environ['DUFFEL_ACCESS_TOKEN']}", "duffel-version": "v2"}
DURATION = TypeAdapter(timedelta)  # "PT02H26M"


@cache  # codes of cities do not change
def iata_code(name: str) -> str:
    """Of a city or an airport that is called so: what merely looks alike lies somewhere else."""
    url, asked = f"{URL}/places/suggestions", {"name": name}
    answer = httpx2.get(url, params=asked, headers=HEADERS, timeout=40).raise_for_status()
    for place in sorted(answer.json()["data"], key=lambda place: place["type"] != "city"):
        if name.casefold() in (place["name"].casefold(), place["iata_code"].casefold()):
            return str(place["iata_code"])
    raise ValueError(f"No city or airport named '{name}' is known.")


def search_flights(
    depart_city_name: str, arrival_city_name: str, depart_date: str
) -> list[dict[str, Any]]:
    """The cheapest fare of each flight, for one adult in economy."""
    ends = {"origin": iata_code(depart_city_name), "destination": iata_code(arrival_city_name)}
    way, who = {**ends, "departure_date": depart_date}, {"type": "adult"}
    body = {"data": {"slices": [way], "passengers": [who], "cabin_class": "economy"}}
    answer = httpx2.post(f"{URL}/air/offer_requests", json=body, headers=HEADERS, timeout=40)
    if answer.status_code == 422:  # a day in the past, for instance: the model may ask otherwise
        raise ValueError(answer.json()["errors"][0]["message"])
    rows, cheapest = map(row, answer.raise_for_status().json()["data"]["offers"]), {}
    for each in sorted(rows, key=lambda each: float(each["price"])):
        cheapest.setdefault((each["number"], each["departs_at"]), each)
    return list(cheapest.values())


def row(offer: dict[str, Any]) -> dict[str, Any]:
    journey, rides = offer["slices"][0], offer["slices"][0]["segments"]
    lines = [(ride["marketing_carrier"], ride["marketing_carrier_flight_number"]) for ride in rides]
    return {
        "number": ", ".join(f"{carrier['iata_code']} {number}" for carrier, number in lines),
        "carrier": ", ".join(dict.fromkeys(carrier["name"] for carrier, _ in lines)),
        "depart_airport": rides[0]["origin"]["name"],
        "arrive_airport": rides[-1]["destination"]["name"],
        "departs_at": rides[0]["departing_at"],
        "arrives_at": rides[-1]["arriving_at"],
        "minutes": DURATION.validate_python(journey["duration"]) // timedelta(minutes=1),
        "stops": len(rides) - 1,
        "price": float(offer["total_amount"]),
        "currency": offer["total_currency"],
    }
