"""A trip as the answer of a dialect: Planner-R1's JSON or an itinerary in words, with nothing that
was not shown."""

from __future__ import annotations

import json
from typing import Any

from tripwright.domains.travelplanner.expert.parts import TripPart
from tripwright.domains.travelplanner.expert.routes import Trip
from tripwright.domains.travelplanner.plan.itinerary import render_itinerary
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import MEALS, to_official
from tripwright.domains.travelplanner.query import Query


def answer_text(query: Query, trip: Trip, plan_format: str) -> str:
    days = plan_days(query, trip)
    if plan_format == "json":
        return f"<answer>{json.dumps(days, ensure_ascii=False, separators=(',', ':'))}</answer>"
    parse = parse_days(days)
    assert parse.days is not None, parse.problem
    return f"<answer>\n{render_itinerary(query, to_official(parse.days))}</answer>"


def plan_days(query: Query, trip: Trip) -> list[dict[str, Any]]:
    """In Planner-R1's schema. Each place is in the city where its day ends."""
    days: list[dict[str, Any]] = []
    here = query.org
    for index, (city, nights) in enumerate(zip(trip.route.cities, trip.route.nights, strict=True)):
        full_days, names = nights - 1, [row["name"] for row in trip.meals[index]]
        stay = trip.stays[index]["name"]
        arrival = _day(
            len(days) + 1, {"from": here, "to": city}, _leg(trip.legs[index], here, city), stay
        )
        # one arrives before dinner
        arrival.update(zip(reversed(MEALS), names[len(MEALS) * full_days :], strict=False))
        days.append(arrival)
        for day in range(full_days):
            full = _day(len(days) + 1, city, "-", stay)
            full["attraction"] = [trip.sights[index][day]]
            full.update(zip(MEALS, names[len(MEALS) * day :], strict=False))
            days.append(full)
        here = city
    days.append(
        _day(
            len(days) + 1,
            {"from": here, "to": query.org},
            _leg(trip.legs[-1], here, query.org),
            "-",
        )
    )
    return days


def _day(number: int, city: Any, transportation: Any, accommodation: str) -> dict[str, Any]:
    places: dict[str, Any] = {
        "attraction": "-",
        "accommodation": accommodation,
        **dict.fromkeys(MEALS, "-"),
    }
    return {"days": number, "city": city, "transportation": transportation, **places}


def _leg(leg: TripPart, origin: str, destination: str) -> dict[str, Any]:
    row = leg.row
    assert row is not None
    claims: dict[str, Any] = {
        "mode": leg.mode,
        "from": origin,
        "to": destination,
        "duration": row["duration"],
    }
    if leg.mode != "flight":
        return {**claims, "distance": row["distance"], "cost": int(row["cost_usd"])}
    miles = row.get("distance_miles", "-")  # not every face shows it
    claims |= {
        "distance": miles if isinstance(miles, str) else f"{miles:g} miles",
        "cost": int(row["price_usd"]),
    }
    claims["flight_number"] = row["number"]
    return claims | {key: row[key] for key in ("departure_time", "arrival_time") if key in row}
