"""Trains from MOTIS, https://github.com/motis-project/motis/blob/master/openapi.yaml. Its public
server is for non-profit use and wants a contact: https://transitous.org/api/. It knows no fares.
"""

from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx2

URL = "https://api.transitous.org"
WHO = {"user-agent": "my-agency/1.0 (https://example.org/who-we-are)"}  # yours


def asked(path: str, query: dict[str, Any]) -> Any:
    return httpx2.get(URL + path, params=query, headers=WHO, timeout=30).raise_for_status().json()


def station(name: str) -> dict[str, Any]:
    """The most important one of this name, or in a place of this name."""
    stops = [
        match
        for match in asked("/api/v1/geocode", {"text": name, "type": "STOP"})
        if any(name.casefold() == each["name"].casefold() for each in [match, *match["areas"]])
    ]
    if not stops:
        raise ValueError(f"No station or city named '{name}' is known.")
    return max(stops, key=lambda stop: float(stop.get("importance", 0)))


def search_trains(
    depart_city_name: str, arrival_city_name: str, depart_date: str, is_transfer: int = 0
) -> list[dict[str, Any]]:
    ends = station(depart_city_name), station(arrival_city_name)
    begins = datetime.combine(date.fromisoformat(depart_date), time(), ZoneInfo(ends[0]["tz"]))
    window = {"time": begins.isoformat(), "searchWindow": 24 * 3600, "timetableView": "true"}
    query = {"fromPlace": ends[0]["id"], "toPlace": ends[1]["id"], **window, "transitModes": "RAIL"}
    found = asked("/api/v5/plan", query if is_transfer else {**query, "maxTransfers": 0})
    legs = [itinerary["legs"] for itinerary in found["itineraries"]]
    rides = [[leg for leg in each if leg["mode"] != "WALK"] for each in legs]
    rows = [row(each) for each in rides if not any(leg.get("cancelled") for leg in each)]
    return [each for each in rows if each["departs_at"].startswith(depart_date)]


def row(rides: list[dict[str, Any]]) -> dict[str, Any]:
    first, last = rides[0], rides[-1]
    departs, arrives = (
        datetime.fromisoformat(moment).astimezone(ZoneInfo(stop["tz"]))
        for moment, stop in ((first["startTime"], first["from"]), (last["endTime"], last["to"]))
    )
    return {
        "number": ", ".join(ride.get("displayName") or ride["routeShortName"] for ride in rides),
        "operator": ", ".join(dict.fromkeys(ride["agencyName"] for ride in rides)),
        "depart_station": first["from"]["name"],
        "arrive_station": last["to"]["name"],
        "departs_at": departs.isoformat(),
        "arrives_at": arrives.isoformat(),
        "minutes": (arrives - departs) // timedelta(minutes=1),
        "transfers": len(rides) - 1,
    }
