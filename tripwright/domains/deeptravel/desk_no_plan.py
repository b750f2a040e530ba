"""Why an errand cannot be had, from the proof that makes requests, and the single changes after
which it can.

That there is none is said of all that the tools answer, trains with a change included. A change is
offered on the strength of direct trains, where that can be: an agent looks for others only where
there are none of these.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import date as Date
from datetime import timedelta
from typing import Any

from tripwright.domains.deeptravel.cards import amount
from tripwright.domains.deeptravel.desk_view import provider_at
from tripwright.domains.deeptravel.expert.thoughts import (
    OF_STAY,
    OF_WAY_BACK,
    OF_WAY_THERE,
    people_words,
    wish_words,
)
from tripwright.domains.deeptravel.request import TravelRequest, Wish
from tripwright.domains.deeptravel.requests.intents import (
    AnswerRow,
    Proof,
    TripSurvey,
    checkout_of,
    nights_of,
    prove,
)
from tripwright.domains.desk import NoPlan, RequestChange
from tripwright.domains.domain import Place
from tripwright.errors import counted

MOST_DAYS = 3  # that a trip is moved by
OF_WAYS: tuple[Wish, ...] = ("transport", *OF_WAY_THERE)
_LABELS: dict[str, str] = {
    "depart_after": "Leave from",
    "arrive_by": "Be there by",
    "return_after": "Head back from",
    "return_by": "Be home by",
}
Change = tuple[str, dict[str, Any]]  # in words, and as values of the form


class _DirectSurvey(TripSurvey):
    """Requests are proved by a city's cheapest hotels; who travels may ask for one by its name."""

    such = "such trip by direct trains or flights"
    is_transfer = 0

    def every_way(self, origin: str, destination: str, day: str) -> list[AnswerRow]:
        cities = {"depart_city_name": origin, "arrival_city_name": destination, "depart_date": day}
        return self.rows("flight_search", **cities, depart_poi="", arrival_poi="") + self.rows(
            "train_search", **cities, is_transfer=self.is_transfer
        )

    def stays(self, request: TravelRequest) -> list[AnswerRow]:
        if request.hotel is None:
            return super().stays(request)
        days = {"checkin_date": request.depart_date, "checkout_date": checkout_of(request)}
        city = {"city_name": request.destination, "hotel_name": request.hotel}
        return self.rows("hotel_search", **city, **days)


class _WholeSurvey(_DirectSurvey):
    such = "such trip"
    is_transfer = 1


def no_plan(request: TravelRequest, place: Place) -> NoPlan | None:
    provider = provider_at(place)
    if place.source.ask is not provider:
        return None  # services answer, too, and of what they would say nothing is proved
    direct, whole = _DirectSurvey(provider), _WholeSurvey(provider)
    if isinstance(prove(request, whole), Proof):
        return None
    why, days = tuple(_why(request, whole)), provider.world.dates
    for survey in (direct, whole):
        if changes := tuple(_changes(request, survey, days)):
            break
    return NoPlan((*why, *_dear(request, survey)), changes)


def _why(request: TravelRequest, survey: TripSurvey) -> Iterator[str]:
    for way in _ways(request):
        if isinstance(prove(way, survey), Proof):
            continue
        route = f"from {way.origin} to {way.destination} on {way.depart_date}"
        wished = wish_words(way, OF_WAYS)
        yield (
            f"Nothing that goes {route}, and arrives on that day, {wished}."
            if wished and survey.ways(*_there(way))
            else f"Nothing goes {route} that arrives on that day."
        )
    if isinstance(_stay(request, survey), str):
        wished = wish_words(request, OF_STAY)
        that = f", and {wished}" if wished else ""
        yield (
            f"No hotel in {request.destination} takes {people_words(request.party_size)}, two to a"
            f" room, from {request.depart_date} to {checkout_of(request)}{that}."
        )


def _dear(request: TravelRequest, survey: _DirectSurvey) -> Iterator[str]:
    priceless = prove(request.model_copy(update={"total_budget": None}), survey)
    if isinstance(priceless, Proof) and priceless.cheapest is not None:
        yield (
            f"The cheapest {survey.such} costs {amount(priceless.cheapest)} {request.currency} in"
            f" all; the budget is {amount(request.total_budget or 0)}."
        )


def _ways(request: TravelRequest) -> Iterator[TravelRequest]:
    """The way there, and the way back with the ends exchanged, each as a request of its own."""
    rest = ("return_date", "nights", *OF_WAY_BACK, *OF_STAY, "total_budget")
    there = request.model_copy(update={**dict.fromkeys(rest), "visit": ()})
    yield there
    if request.return_date is not None:
        back = {
            "origin": request.destination,
            "destination": request.origin,
            "depart_date": request.return_date,
            "depart_after": request.return_after,
            "arrive_by": request.return_by,
        }
        yield there.model_copy(update=back)


def _stay(request: TravelRequest, survey: TripSurvey) -> Proof | str | None:
    """The proof of the nights alone; None where there are none, or where nothing goes there with
    which the proof could begin."""
    if not nights_of(request) or not survey.ways(*_there(request)):
        return None
    rest = ("return_date", *OF_WAYS, *OF_WAY_BACK, "total_budget")
    alone = {**dict.fromkeys(rest), "nights": nights_of(request), "visit": ()}
    return prove(request.model_copy(update=alone), survey)


def _there(request: TravelRequest) -> tuple[str, str, str]:
    return request.origin, request.destination, request.depart_date


# ---- what would help


def _changes(
    request: TravelRequest, survey: TripSurvey, days: Sequence[str]
) -> Iterator[RequestChange]:
    """Those that give up least first. Of each kind the smallest that is proved."""
    kinds = (
        _budgets(request, survey),
        *_times(request, survey),
        _days(request, days),
        _nights(request, days),
    )
    for kind in (*kinds, *([change] for change in _dropped(request))):
        for said, values in kind:
            proof = prove(request.model_copy(update=values), survey)
            if isinstance(proof, Proof):
                yield RequestChange(said, values, proof.cheapest)
                break


def _budgets(request: TravelRequest, survey: TripSurvey) -> Iterator[Change]:
    """Each raised to the least that is needed, in whole dollars."""
    for name in ("total_budget", "nightly_budget"):
        if getattr(request, name) is None:
            continue
        proof = prove(request.model_copy(update={name: None}), survey)
        if not isinstance(proof, Proof):
            continue
        if name == "total_budget":
            least, what = proof.cheapest, "in all"
        else:
            room = next(each.said for each in proof.witnesses if each.part == "stay")
            least, what = room["price"]["amount"] / nights_of(request), "for a room and night"
        if least is not None:
            value = float(math.ceil(least))
            yield f"Pay up to {amount(value)} {request.currency} {what}", {name: value}


def _times(request: TravelRequest, survey: TripSurvey) -> Iterator[Iterable[Change]]:
    """Each moved to the nearest departure or arrival that there is."""
    ends = [_there(request)]
    if request.return_date is not None:
        ends.append((request.destination, request.origin, request.return_date))
    for (after, by), way in zip((OF_WAY_THERE, OF_WAY_BACK), ends, strict=False):
        offers = [row.record for row in survey.ways(*way)]
        early, late = getattr(request, after), getattr(request, by)
        clocks = {offer.departs_at[11:16] for offer in offers}
        if early is not None:
            earlier = sorted((clock for clock in clocks if clock < early), reverse=True)
            yield [(f"{_LABELS[after]} {clock}", {after: clock}) for clock in earlier]
        clocks = {offer.arrives_at[11:16] for offer in offers}
        if late is not None:
            later = sorted(clock for clock in clocks if clock > late)
            yield [(f"{_LABELS[by]} {clock}", {by: clock}) for clock in later]


def _days(request: TravelRequest, days: Sequence[str]) -> Iterator[Change]:
    """The whole trip moved, by as little as can be, later before earlier."""
    names = ["depart_date", *(["return_date"] if request.return_date else [])]
    for by in (sign * count for count in range(1, MOST_DAYS + 1) for sign in (1, -1)):
        moved = {
            name: str(Date.fromisoformat(getattr(request, name)) + timedelta(days=by))
            for name in names
        }
        if all(days[0] <= day <= days[-1] for day in moved.values()):
            back = f" and return on {moved['return_date']}" if request.return_date else ""
            yield f"Leave on {moved['depart_date']}{back}", moved


def _nights(request: TravelRequest, days: Sequence[str]) -> Iterator[Change]:
    """A longer or shorter stay: some hotels take nobody for a night or two."""
    nights = nights_of(request)
    for by in (sign * count for count in range(1, MOST_DAYS + 1) for sign in (1, -1)):
        count = nights + by
        if not nights or count < 1:
            continue
        leaves = str(Date.fromisoformat(request.depart_date) + timedelta(days=count))
        if request.return_date is None:
            yield f"Stay {counted(count, 'night')}", {"nights": count}
        elif leaves <= days[-1]:
            stay = {} if request.nights is None else {"nights": count}
            yield f"Return on {leaves}", {"return_date": leaves, **stay}


def _dropped(request: TravelRequest) -> Iterator[Change]:
    for name, said in (
        ("hotel_near", f"Take a hotel farther from {request.hotel_near}"),
        ("hotel", f"Take another hotel than {request.hotel}"),
        ("transport", "Take trains and flights alike"),
    ):
        if getattr(request, name) is not None:
            yield said, {name: None}
