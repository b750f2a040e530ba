"""Draws a trip with given intents such that it can be met (DeepTravel, Appendix A.3.1; rows D8,
B3).

Rows are drawn first, from what the tools answer; the wishes are then said around them, with some
slack. The proof is made afterwards from the request alone, so nothing rests on how it was drawn.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from datetime import date as Date
from typing import Any, NamedTuple

from tripwright.domains.deeptravel.request import TravelRequest, Wish
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.requests.intents import Combination
from tripwright.domains.deeptravel.requests.intents_proof import AnswerRow, Proof, TripSurvey, prove
from tripwright.domains.deeptravel.tools.answers import FlightOffer, HotelOffer
from tripwright.domains.deeptravel.worlds.city import SIGHT

NIGHTS = (1, 1, 2, 2, 2, 3, 3, 4)
PARTIES = (1, 1, 1, 1, 2, 2, 2, 3, 4, 5, 6)
SLACK_MINUTES = (0, 0, 0, 30, 60)
SLACK_OF_BUDGET = (1.01, 1.15)  # over the price of what was drawn
EARLIEST_WISH = 5 * 60  # nobody says that they cannot leave before three in the morning
LAST_HALF_HOUR = 23 * 60 + 30


class ProvenRequest(NamedTuple):
    request: TravelRequest
    proof: Proof


class RejectedDraft(Exception):
    """This draw came to nothing; the reason is for counting."""


class RequestScope(NamedTuple):
    """What requests may be about: the cities and the days that tools know. Both sorted or in a
    fixed order."""

    cities: Sequence[str]
    days: Sequence[str]


def draw(
    rng: random.Random, places: RequestScope, survey: TripSurvey, combination: Combination
) -> ProvenRequest:
    """A request with exactly these intents, without words, and its proof. Raises Rejected where the
    dice fell badly."""
    request = TravelRequest(**_skeleton(rng, places, combination))
    wishes = set(combination.wishes)
    there = survey.ways(request.origin, request.destination, request.depart_date)
    back = (
        survey.ways(request.destination, request.origin, request.return_date)
        if request.return_date
        else []
    )
    fields: dict[str, Any] = {}
    if "transport" in wishes:
        fields["transport"] = _transport(rng, there, back, request)
        there, back = (_by(rows, fields["transport"]) for rows in (there, back))
    outbound = _any(rng, there, "no way there")
    fields |= _clocks(rng, outbound, wishes, "depart_after", "arrive_by")
    ways = [outbound]
    if request.return_date:
        ways.append(_any(rng, back, "no way back"))
        fields |= _clocks(rng, ways[1], wishes, "return_after", "return_by")
    stay = None
    if combination.shape != "one_way":
        stay = _stay(rng, survey, request, wishes, fields)
    if "visit" in wishes:
        fields["visit"] = _visits(rng, survey, request, fields.get("hotel_near"))
    if "total_budget" in wishes:
        total = intents.total_of(
            request, [way.record for way in ways], stay.record if stay else None
        )
        if total is None or not total.amount:
            raise RejectedDraft("a price is not known")
        fields |= {"total_budget": _above(rng, total.amount, 10), "currency": total.currency}
    request = TravelRequest(**{**request.record(), **fields})
    proof = prove(request, survey)
    if not isinstance(proof, Proof):
        raise RejectedDraft(f"no proof: {proof}")
    return ProvenRequest(request, proof)


def _skeleton(rng: random.Random, places: RequestScope, combination: Combination) -> dict[str, Any]:
    origin, destination = rng.sample(list(places.cities), 2)
    nights = 0 if combination.shape == "one_way" else rng.choice(NIGHTS)
    days = [day for day in places.days if _after(day, nights) <= places.days[-1]]
    if not days:
        raise RejectedDraft("too few days")
    depart = rng.choice(days)
    dates = {"return_date": _after(depart, nights)} if combination.shape == "round_trip" else {}
    stay = (
        {"nights": nights}
        if combination.shape == "one_way_stay" or (dates and rng.random() < 0.4)
        else {}
    )
    return {
        "origin": origin,
        "destination": destination,
        "depart_date": depart,
        **dates,
        **stay,
        "party_size": rng.choice(PARTIES),
    }


def _transport(
    rng: random.Random, there: list[AnswerRow], back: list[AnswerRow], request: TravelRequest
) -> str:
    able = [
        mode
        for mode in ("flight", "train")
        if _by(there, mode) and (request.return_date is None or _by(back, mode))
    ]
    if not able:
        raise RejectedDraft("no one means of transport both ways")
    return rng.choice(able)


def _by(rows: list[AnswerRow], mode: str) -> list[AnswerRow]:
    return [row for row in rows if isinstance(row.record, FlightOffer) == (mode == "flight")]


def _clocks(
    rng: random.Random, way: AnswerRow, wishes: set[Wish], after: Wish, by: Wish
) -> dict[str, str]:
    clocks: dict[str, str] = {}
    if after in wishes:
        latest = _minutes(way.record.departs_at) - rng.choice(SLACK_MINUTES)
        if latest < EARLIEST_WISH:
            raise RejectedDraft("it leaves too early for a wish")
        clocks[after] = _clock(latest // 30 * 30)
    if by in wishes:
        earliest = -(-(_minutes(way.record.arrives_at) + rng.choice(SLACK_MINUTES)) // 30) * 30
        if earliest > LAST_HALF_HOUR:
            raise RejectedDraft("it arrives too late for a wish")
        clocks[by] = _clock(earliest)
    return clocks


def _stay(
    rng: random.Random,
    survey: TripSurvey,
    request: TravelRequest,
    wishes: set[Wish],
    fields: dict[str, Any],
) -> AnswerRow:
    stays = survey.stays(request)
    if not stays:
        raise RejectedDraft("no stay")
    stays = [row for row in stays if intents.holds(row.record, request)]
    if "hotel_near" in wishes:
        place = _any(
            rng, survey.places(SIGHT, request.destination), "no place to be near"
        ).record.name
        fields["hotel_near"] = place
        stays = [
            row
            for row in stays
            if (way := survey.shortest(row.record.name, place, request.destination))
            and _is_near(way)
        ]
    stay = _any(rng, stays, "no stay that fits")
    if "nightly_budget" in wishes:
        if stay.record.price is None:
            raise RejectedDraft("a price is not known")
        price = stay.record.price
        fields |= {
            "nightly_budget": _above(rng, price.amount / intents.nights_of(request), 5),
            "currency": price.currency,
        }
    if "hotel" in wishes:
        fields["hotel"] = _chain(rng, stay.record, [row.record for row in stays])
    return stay


def _is_near(way: AnswerRow) -> bool:
    return bool(way.record.distance_km <= intents.NEAR_KM)


def _chain(rng: random.Random, stay: HotelOffer, others: Sequence[HotelOffer]) -> str:
    """The first words that the hotel shares with another one, which is what a chain looks like;
    else its own name."""
    words = stay.name.split()
    for count in range(len(words) - 1, 0, -1):
        start = " ".join(words[:count])
        if (
            any(
                other.name != stay.name and other.name.split()[:count] == words[:count]
                for other in others
            )
            and start[0].isupper()
        ):
            return start if rng.random() < 0.7 else stay.name
    return stay.name


def _visits(
    rng: random.Random, survey: TripSurvey, request: TravelRequest, near: str | None
) -> tuple[str, ...]:
    """One or two; beside a hotel that is to be near somewhere one, so that eight turns are enough
    to look everything up."""
    names = sorted({row.record.name for row in survey.places(SIGHT, request.destination)} - {near})
    if not names:
        raise RejectedDraft("no place to visit")
    return tuple(rng.sample(names, min(len(names), 1 if near else rng.choice((1, 1, 2)))))


def _any(rng: random.Random, rows: list[AnswerRow], problem: str) -> AnswerRow:
    if not rows:
        raise RejectedDraft(problem)
    return rng.choice(rows)


def _above(rng: random.Random, price: float, step: int) -> float:
    """A round amount of money over a price."""
    return float(math.ceil(price * rng.uniform(*SLACK_OF_BUDGET) / step) * step)


def _after(day: str, nights: int) -> str:
    return Date.fromordinal(Date.fromisoformat(day).toordinal() + nights).isoformat()


def _minutes(moment: str) -> int:
    return int(moment[11:13]) * 60 + int(moment[14:16])


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
