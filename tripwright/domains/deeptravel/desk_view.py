"""A finished errand as the travellers' page draws it: the cards of the answer with the rows that
they rest on, what the verifier found wrong beside what it is wrong with, where the cities lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from tripwright.domains.deeptravel.cards import (
    Cards,
    Fare,
    NotCards,
    RideCard,
    RoomPrice,
    StayCard,
    VisitCard,
    amount,
    duration,
    read_cards,
    reason_words,
    risk_words,
    way_words,
)
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests.intents import nights_of
from tripwright.domains.deeptravel.tools.live_source import LiveSource
from tripwright.domains.deeptravel.worlds.city import CityMap
from tripwright.domains.deeptravel.worlds.worlds import LAST_YEAR, WorldProvider
from tripwright.domains.desk import Check, Item, PlanPart, RouteStop, State, TripView
from tripwright.domains.domain import Place
from tripwright.errors import UserError, counted
from tripwright.verdict import FORMAT, SCHEMA, Fact, Verdict
from tripwright.world.store import World

TITLES = {
    "outbound": "The way there",
    "stay": "The stay",
    "visits": "Visits",
    "return": "The way back",
}
CHECKS = {
    SCHEMA: "The answer can be read",
    "complete": "Every part of the trip is there",
    "main_requirement": "Cities, days, people and transport as asked for",
    "logic": "It fits together: times, nights and sums",
    "other_constraints": "Times and budgets are kept",
    "specific_requirements": "Hotel and places as asked for",
    "backup_plan": "There is something to fall back on",
    "flight_search": "Flights are as the search said",
    "train_search": "Trains are as the search said",
    "hotel_search": "Hotels are as the search said",
    "poi_search": "Places are as the search said",
    "route_planning": "Ways in the city are as the route planner said",
    "web_search": "Pages are as the search said",
}
Problem = Mapping[str, Any]  # `VerifierProblem` in a record


def provider_at(place: Place) -> WorldProvider:
    """Whose cities and days the form offers. Raises UserError where live services alone answer:
    they name none."""
    source: LiveSource = place.source
    provider = source.ask if isinstance(source.ask, WorldProvider) else source.closed
    if provider is None:
        raise UserError(
            "A desk offers the cities of a closed world: give --world DIR, or a services file in"
            " which vendor 'world' answers a tool."
        )
    return provider


def view(record: Mapping[str, Any], place: Place) -> TripView:
    """Of a judged episode's record."""
    request = TravelRequest.model_validate(record["request"])
    verdict = Verdict.from_record(record["verdict"])
    judged: Mapping[str, Any] = record.get("verifier") or {}
    finding: Mapping[str, Any] = judged.get("trajectory") or {}
    problems = [
        problem
        for each in (finding, *judged.get("turns", ()))
        for problem in each.get("problems") or ()
    ]
    try:
        cards = read_cards(record["transcript"]["answer"] or "")
    except NotCards:
        cards = Cards(party=request.party_size)
    parts = tuple(_parts(request, cards, problems))
    costs = [part.cost for part in parts if part.key != "visits"]
    known = [cost for cost in costs if cost is not None]
    currencies = _currencies(cards, request)
    has_sum = len(known) == len(costs) and len(currencies) == 1  # two currencies have none
    world = provider_at(place).world
    stops = [request.origin, request.destination]
    if request.return_date:
        stops.append(request.origin)
    ways = (cards.outbound, cards.back)[: len(stops) - 1]
    return TripView(
        f"{request.origin} to {request.destination}",
        parts,
        tuple(_checks(verdict, finding.get("rubrics") or {})),
        verdict.final,
        currency=currencies[0],
        cost=round(sum(known), 2) if known and has_sum else None,
        budget=request.total_budget,
        route=tuple(_stop(world, city) for city in stops),
        means=tuple(rides[0].kind if rides else "way" for rides in ways),
        notes=tuple(f"{risk_words(risk)}." for risk in cards.risks),
    )


def _parts(request: TravelRequest, cards: Cards, problems: Sequence[Problem]) -> Iterator[PlanPart]:
    """Those that were asked for, and whatever else the answer has."""
    there, home = request.destination, request.origin
    answered: dict[str, tuple[bool, Sequence[Any]]] = {
        "outbound": (True, cards.outbound),
        "stay": (nights_of(request) > 0, cards.stay),
        "visits": (bool(request.visit), cards.visits),
        "return": (request.return_date is not None, cards.back),
    }
    where = {"outbound": f"from {home} to {there}", "return": f"from {there} to {home}"}
    days = {"outbound": request.depart_date, "return": request.return_date}
    for name, (is_asked, found) in answered.items():
        if not found and not is_asked:
            continue
        wrong = {n: _about(problems, f"{name}.{n}.") for n in range(len(found))}
        items = [item for n, card in enumerate(found) for item in _items(card, cards, n, wrong[n])]
        first = found[0] if found else None
        yield PlanPart(
            name,
            TITLES[name],
            _day(first) or days.get(name),
            where.get(name, f"in {there}"),
            tuple(items),
            items[0].cost if items else None,
            _about(problems, name),
        )


def _about(problems: Sequence[Problem], path: str) -> tuple[str, ...]:
    """What is wrong with a part as a whole ("stay"), or with something of a recommendation
    ("stay.0.")."""
    told = [(each["field"], each["message"]) for each in problems]
    if path.endswith("."):
        told = [(field, message) for field, message in told if f"{field}.".startswith(path)]
    else:
        told = [(field, message) for field, message in told if field == path]
    return tuple(dict.fromkeys(_plain(message, field) for field, message in told))


def _plain(message: str, field: str) -> str:
    """Without the field of the answer, which stands before it."""
    words = message.removeprefix(f"{field}: ")
    return words[:1].upper() + words[1:]


# ---- lines


def _items(
    card: RideCard | StayCard | VisitCard, cards: Cards, number: int, remarks: tuple[str, ...]
) -> Iterator[Item]:
    match card:
        case RideCard():
            yield _ride(card, cards.party, number > 0, remarks)
        case StayCard():
            yield _stay(card, number > 0, remarks)
        case VisitCard():
            yield from _visit(card, remarks)


def _ride(card: RideCard, party: int, second: bool, remarks: tuple[str, ...]) -> Item:
    begin, end = card.depart_place or card.depart_city, card.arrive_place or card.arrive_city
    starts, ends = _moment(card.date, card.departs), _moment(card.date, card.arrives)
    if ends is not None and card.days_later:
        ends += timedelta(days=card.days_later)
    if starts is None or ends is None or ends <= starts:
        ends = None  # over a line of dates a clock may go back
    facts = {
        "Arrives": f"{card.days_later:+d} day" if card.days_later else "",
        "Takes": duration(card.minutes) if card.minutes is not None else "",
        "Why": _why(card),
    }
    cost, count = _cost(card.price, {"person": party, "party": 1})
    return Item(
        card.kind,
        card.kind.capitalize(),
        card.number + (f", {begin} to {end}" if begin and end else ""),
        starts.isoformat(timespec="minutes") if starts else None,
        ends.isoformat(timespec="minutes") if ends else None,
        cost,
        count,
        (card.call, card.row),
        _said(facts),
        remarks,
        second,
    )


def _stay(card: StayCard, second: bool, remarks: tuple[str, ...]) -> Item:
    begins, leaves = _moment(card.checkin), _moment(card.checkout)
    nights = (leaves - begins).days if begins and leaves else 1
    facts = {
        "Nights": f"{card.checkin} to {card.checkout}",
        "Address": card.address or "",
        "Rooms": f"{card.rooms} × {card.room}" if card.room else counted(card.rooms, "room"),
        "Rating": f"{amount(card.rating)} of 5" if card.rating is not None else "",
        "Why": _why(card),
    }
    times = {"room": card.rooms, "room_and_night": card.rooms * nights, "party": 1}
    cost, count = _cost(card.price, times)
    return Item(
        "stay",
        "Hotel",
        card.name,
        cost=cost,
        count=count,
        evidence=(card.call, card.row),
        facts=_said(facts),
        remarks=remarks,
        alternative=second,
    )


def _visit(card: VisitCard, remarks: tuple[str, ...]) -> Iterator[Item]:
    """The place, and the way there."""
    way, found = card.way, card.found
    address = {"Address": card.address or ""}
    at = (found.call, found.row) if found is not None else None
    yield Item("attraction", "Sight", card.name, evidence=at, facts=_said(address), remarks=remarks)
    yield Item(way.mode, "Way there", way_words(way), evidence=(way.call, way.row))


def _cost(price: Fare | RoomPrice | None, times: Mapping[str, int]) -> tuple[float | None, str]:
    """For the whole party; and how it comes about, where there is more than one."""
    if price is None:
        return None, ""
    many = times[price.per]
    single = f"{price.amount:,.2f}"
    each = f"${single}" if price.currency in (None, "USD") else f"{single} {price.currency}"
    return round(many * price.amount, 2), f"{many} × {each}" if many > 1 else ""


def _currencies(cards: Cards, request: TravelRequest) -> list[str]:
    """Of the prices, each once; of an answer without any, the request's."""
    cards_with_price: tuple[RideCard | StayCard, ...] = (*cards.outbound, *cards.stay, *cards.back)
    said = (card.price.currency for card in cards_with_price if card.price is not None)
    return list(dict.fromkeys(filter(None, said))) or [request.currency]


def _why(card: RideCard | StayCard) -> str:
    return "; ".join(map(reason_words, card.reasons))


def _said(facts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((label, text) for label, text in facts.items() if text)


def _moment(day: str, clock: str = "00:00") -> datetime | None:
    """The contract asks for digits, which may be no day and no time, or one without a next."""
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}")
    except ValueError:
        return None
    return moment if moment.year <= LAST_YEAR else None


def _day(card: RideCard | StayCard | VisitCard | None) -> str | None:
    day = card.date if isinstance(card, RideCard) else getattr(card, "checkin", "")
    return day if _moment(day) else None


# ---- checks and the route


def _checks(verdict: Verdict, rubrics: Mapping[str, bool | None]) -> Iterator[Check]:
    """A rubric that the request gives no reason for passes, and is called what it is: not asked
    for."""
    for group in verdict.groups:
        for name in group.asked:
            fact = (group.facts or {}).get(name)
            if group.name == FORMAT and (fact is None or fact.passed):
                continue
            state: State = "not_evaluated" if fact is None else fact.state.value
            if state == "passed" and group.name == "trajectory" and rubrics.get(name) is None:
                state = "not_applicable"
            title = CHECKS.get(name, name.replace("_", " "))
            yield Check(group.name, name, title, state, _details(fact))


def _details(fact: Fact | None) -> tuple[str, ...]:
    if fact is None:
        return ()
    told = tuple(_located(each.needed or "", each.field or "") for each in fact.evidence)
    return told or ((fact.message,) if fact.message else ())


def _located(message: str, field: str) -> str:
    """With the part of the trip in place of the answer's field."""
    title = TITLES.get(field.partition(".")[0])
    return f"{title}: {message.removeprefix(f'{field}: ')}" if title else _plain(message, field)


def _stop(world: World, city: str) -> RouteStop:
    middle = CityMap(world, city).middle
    if middle is None:
        return RouteStop(city, None, None)
    return RouteStop(city, round(middle.latitude, 4), round(middle.longitude, 4))
