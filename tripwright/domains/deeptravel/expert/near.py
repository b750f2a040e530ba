"""Guesses which hotel is near a place, before the route planner is asked, and picks the shortest of
its ways."""

from __future__ import annotations

from collections.abc import Sequence

from tripwright.domains.deeptravel.expert.observations import SeenAnswer, SeenRow
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.tools.answers import HotelOffer, PointOfInterest, RouteLeg
from tripwright.world.geography import Position, great_circle_km

WAY_PER_STRAIGHT = 1.3  # streets are longer than the crow's way


def by_promise(
    request: TravelRequest, rows: Sequence[SeenRow], place: PointOfInterest | None
) -> list[SeenRow]:
    """Hotels that meet the other wishes. Where positions are known: those within reach, the
    cheapest first, then the others by distance."""
    hotels = [row for row in rows if isinstance(row.record, HotelOffer)]
    fitting = [row for row in hotels if intents.holds(row.record, request)] or hotels
    candidates = [
        row for row in fitting if not set(intents.unmet_stay(request, row.record, 0.0))
    ] or fitting

    def rank(row: SeenRow) -> tuple[float, float]:
        price = row.record.price.amount if row.record.price else float("inf")
        km = _straight_km(row.record, place)
        if km is None or km * WAY_PER_STRAIGHT <= intents.NEAR_KM:
            return (0.0, price)
        return (km, price)

    return sorted(candidates, key=rank)


def shortest(answer: SeenAnswer | None) -> SeenRow | None:
    """The shortest way; of equally long ones the fastest."""
    ways = [row for row in answer.rows if isinstance(row.record, RouteLeg)] if answer else []
    return min(ways, key=lambda row: (row.record.distance_km, row.record.minutes), default=None)


def _straight_km(hotel: HotelOffer, place: PointOfInterest | None) -> float | None:
    if place is None or None in (hotel.latitude, hotel.longitude, place.latitude, place.longitude):
        return None
    here = Position(hotel.latitude or 0.0, hotel.longitude or 0.0)
    return great_circle_km(here, Position(place.latitude or 0.0, place.longitude or 0.0))
