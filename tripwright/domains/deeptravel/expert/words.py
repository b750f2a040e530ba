"""Phrases for the expert's thoughts: what a wish is called, how many people."""

from __future__ import annotations

from collections.abc import Sequence

from tripwright.domains.deeptravel.cards import amount
from tripwright.domains.deeptravel.request import TravelRequest, Wish
from tripwright.domains.deeptravel.requests.intents import nights_of
from tripwright.domains.wording import NUMBERS, listed


def trip(request: TravelRequest) -> str:
    """From Suzhou to Wuhan on 2026-06-26 and back on 2026-06-28 (2 nights), for two people."""
    nights = nights_of(request)
    stay = f" ({nights} night{'s' * (nights != 1)})" if nights else ""
    back = f" and back on {request.return_date}" if request.return_date else ", one way"
    return (
        f"From {request.origin} to {request.destination} on {request.depart_date}{back}{stay}, for"
        f" {people(request.party_size)}"
    )


def people(count: int) -> str:
    number = NUMBERS[count - 1] if count <= len(NUMBERS) else str(count)
    return f"{number} {'person' if count == 1 else 'people'}"


def wish(request: TravelRequest, kind: Wish) -> str:
    """As something that a row does: 'arrives by 15:00'."""
    money = f" {request.currency}"
    words = {
        "transport": f"is a {request.transport}",
        "depart_after": f"departs not before {request.depart_after}",
        "arrive_by": f"arrives by {request.arrive_by}",
        "return_after": f"departs not before {request.return_after}",
        "return_by": f"arrives by {request.return_by}",
        "nightly_budget": f"costs at most {amount(request.nightly_budget or 0)}{money} a night",
        "hotel": f"is {request.hotel}",
        "hotel_near": f"is near {request.hotel_near}",
    }
    return words[kind]


def wishes(request: TravelRequest, kinds: Sequence[Wish]) -> str:
    return listed(
        [wish(request, kind) for kind in kinds if getattr(request, kind)], last_comma=False
    )


OF_WAY_THERE: tuple[Wish, ...] = ("depart_after", "arrive_by")
OF_WAY_BACK: tuple[Wish, ...] = ("return_after", "return_by")
OF_STAY: tuple[Wish, ...] = ("nightly_budget", "hotel", "hotel_near")


def wished(request: TravelRequest, kinds: Sequence[Wish]) -> str:
    """Those of these wishes that the request has; empty where it has none."""
    present = [kind for kind in kinds if getattr(request, kind)]
    return wishes(request, present) if present else ""
