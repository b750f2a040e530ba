"""DeepTravel at the travellers' desk: a form with the intents of its requests, words read by the
reader of their grammar, a finished errand as its cards with the rows that they rest on, and why an
errand cannot be had, from the proof that makes requests, with the single changes after which it
can.

That there is none is said of all that the tools answer, trains with a change included. A change is
offered on the strength of direct trains, where that can be: an agent looks for others only where
there are none of these.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import MAXYEAR, datetime, timedelta
from datetime import date as Date
from typing import Any

from tripwright.domains import travellers
from tripwright.domains.deeptravel.cards import (
    CARDS,
    REASONS,
    RISKS,
    UNITS,
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
    way_words,
    words_of,
)
from tripwright.domains.deeptravel.expert.thoughts import people_words, wish_words
from tripwright.domains.deeptravel.place import LiveSource
from tripwright.domains.deeptravel.request import LABELS, TravelRequest, Wish
from tripwright.domains.deeptravel.requests.intents import (
    OF_STAY,
    OF_WAY_BACK,
    OF_WAY_THERE,
    Proof,
    TripSurvey,
    checkout_of,
    is_called,
    nights_of,
    prove,
    stay_asked,
    unmet_way,
    way_asked,
)
from tripwright.domains.deeptravel.requests.words import (
    UnreadableRequest,
    heard_request,
    passed_over,
    word_request,
)
from tripwright.domains.deeptravel.task import Errand
from tripwright.domains.deeptravel.worlds.worlds import CityMap, Spot, WorldProvider
from tripwright.domains.desk import (
    EMPTY,
    Check,
    Desk,
    FieldProblem,
    FormField,
    FormProblems,
    Item,
    NoPlan,
    PlanPart,
    RequestChange,
    RouteStop,
    State,
    Swap,
    TripView,
    Understood,
    problems_of,
    sentence,
    unknown,
    whole,
)
from tripwright.domains.place import Place
from tripwright.domains.travellers import Takes
from tripwright.domains.wording import capitalised
from tripwright.errors import UserError, counted
from tripwright.transcript import ToolCall, Transcript
from tripwright.verdict import FORMAT, SCHEMA, Fact, Verdict
from tripwright.world.store import World

MOST_PEOPLE = 99
MOST_NIGHTS = 60
MOST_VISITS = 2  # the agent has seven look-ups, and ways to look for a near hotel cost one each
LARGEST_BUDGET = 1_000_000_000  # a trip costs millions in some currencies
MOST_WORDS = 400  # of a text; the patterns of longer ones take time
WORDINGS = 50  # that are tried before a request is given up as one that has no words
CLOCKS = {
    "depart_after": "leave after {}",
    "arrive_by": "arrive by {}",
    "return_after": "return after {}",
    "return_by": "back home by {}",
}
CITIES = ("origin", "destination")
BUDGETS: tuple[Wish, ...] = ("total_budget", "nightly_budget")


def world_at(place: Place) -> WorldProvider | None:
    """The closed world whose cities and days there are. None where services alone answer: then
    cities are what travellers type and the services know, and days are real."""
    source: LiveSource = place.source
    return source.ask if isinstance(source.ask, WorldProvider) else source.closed


def form(place: Place) -> tuple[FormField, ...]:
    """Raises UserError where nobody answers what every trip needs."""
    source, provider = place.source, world_at(place)
    tools: frozenset[str] = source.ask.tools
    if not tools & {"flight_search", "train_search"} or "hotel_search" not in tools:
        raise UserError(
            "Trips need the tool hotel_search, and flight_search or train_search: answered here"
            f" are only {', '.join(sorted(tools))}."
        )
    cities, first, last = tuple[str, ...](), *_bookable_days()
    if provider is not None:
        cities = tuple(sorted(provider.world.cities))
        first, last = provider.world.dates[0], provider.world.dates[-1]
    needed = {"required": True}
    city = {"kind": "place", "options": cities} | needed
    day = {"kind": "date", "low": first, "high": last}
    money = {"kind": "money", "low": 1, "high": LARGEST_BUDGET, "unit": source.currency}
    fields: dict[str, dict[str, Any]] = {
        "origin": city | {"says": "from {}"},
        "destination": city | {"says": "to {}"},
        "depart_date": day | needed | {"help": "" if provider else f"Today is {Date.today()}."},
        "return_date": day | {"help": "Leave it empty for one way.", "unsaid": "one way"},
        "nights": {
            "kind": "count",
            "low": 1,
            "high": MOST_NIGHTS,
            "help": "Of a trip one way. With a return it is every night until then.",
            "says": "night",
        },
        "party_size": {"kind": "count", "low": 1, "high": MOST_PEOPLE, "says": "person"} | needed,
        "transport": {"kind": "choice", "options": ("flight", "train"), "says": "by {}"},
        **{name: {"kind": "time", "says": says} for name, says in CLOCKS.items()},
        "total_budget": money | {"says": "at most {} in all"},
        "nightly_budget": money | {"says": "at most {} a night"},
        "hotel": {"kind": "text", "help": "Its name, or that of a chain.", "says": "hotel {}"},
        "hotel_near": {
            "kind": "text",
            "help": "A place in that city; near is up to 3 km.",
            "says": "hotel near {}",
        },
        "visit": {
            "kind": "texts",
            "help": f"Up to {MOST_VISITS}, or one beside a hotel near a place; by their names.",
            "says": "visit {}",
        },
    }
    if "route_planning" not in tools:
        del fields["hotel_near"], fields["visit"]
    return tuple(
        FormField(name, label, **fields[name]) for name, label in LABELS.items() if name in fields
    )


def _bookable_days() -> tuple[str, str]:
    """A year from yesterday on, which it still is somewhere: each day of it is of one year."""
    first = Date.today() - timedelta(days=1)
    return str(first), str(first + timedelta(days=364))


# ---- form → request and back


def request(values: Mapping[str, Any], place: Place) -> TravelRequest:
    """Raises FormProblems with all that is wrong of the form."""
    fields = {field.name: field for field in form(place)}
    problems = problems_of(tuple(fields.values()), values)
    if not problems:
        said = {name: value for name, value in values.items() if value not in EMPTY}
        if said.keys() & set(BUDGETS):
            said["currency"] = place.source.currency
        asked, provider = TravelRequest.model_validate(said), world_at(place)
        problems = list(_contradictions(asked))
        if provider is not None:
            named = dict(_named(asked, fields, provider.world, problems))
        else:
            typed = ((name, " ".join(getattr(asked, name).split())) for name in CITIES)
            named = {name: words[:1].upper() + words[1:] for name, words in typed}
    if problems:
        raise FormProblems(tuple(problems))
    return _worded(asked.model_copy(update=named))


def _contradictions(asked: TravelRequest) -> Iterator[FieldProblem]:
    """What is right alone and cannot be together."""
    if asked.origin == asked.destination:
        yield FieldProblem("destination", f"To: the trip starts in {asked.origin} already.")
    back, nights = asked.return_date, asked.nights
    if back is not None:
        between = (Date.fromisoformat(back) - Date.fromisoformat(asked.depart_date)).days
        if between < 1:
            # the way back of a day trip depends on the way there, which nobody here plans together
            words = f"{LABELS['return_date']}: {back} leaves no night after {asked.depart_date}."
            yield FieldProblem("return_date", words)
        elif nights not in (None, between):
            words = f"Nights: until {back} it is {counted(between, 'night')}, not {nights}."
            yield FieldProblem("nights", words, (str(between),))
    needs = (
        (OF_WAY_BACK, back is not None, "a wish for the way back needs a day of return"),
        (OF_STAY, nights_of(asked) > 0, "a wish for the hotel needs a return, or nights"),
    )
    for names, there, words in needs:
        for name in names:
            if getattr(asked, name) is not None and not there:
                yield FieldProblem(name, f"{LABELS[name]}: {words}.")
    for name in BUDGETS:
        budget = getattr(asked, name)
        if budget is not None and round(budget, 2) != budget:
            yield FieldProblem(name, f"{LABELS[name]}: expected whole cents.")
    most = 1 if asked.hotel_near else MOST_VISITS
    if len(asked.visit) > most:
        beside = f" beside a hotel near {asked.hotel_near}" if asked.hotel_near else ""
        yield FieldProblem("visit", f"{LABELS['visit']}: at most {most} can be planned{beside}.")


def _named(
    asked: TravelRequest,
    fields: Mapping[str, FormField],
    world: World,
    problems: list[FieldProblem],
) -> Iterator[tuple[str, Any]]:
    """Places as the world writes them; what it does not know becomes a problem."""
    city = CityMap(world, asked.destination)
    if asked.hotel is not None:
        hotels = tuple(stay.name for stay in world.accommodations(city.city))
        if not any(is_called(hotel, asked.hotel) for hotel in hotels):
            told = unknown(fields["hotel"], asked.hotel, hotels, f"in {city.city}")
            problems.append(FieldProblem("hotel", *told))
        yield "hotel", " ".join(asked.hotel.split())
    for name in ("hotel_near", "visit"):
        said = getattr(asked, name) or ()
        known = []
        for each in (said,) if isinstance(said, str) else said:
            spot = city.named(each)
            if spot is None:
                told = unknown(fields[name], each, tuple(city.spots), f"in {city.city}")
                problems.append(FieldProblem(name, *told))
            else:
                known.append(spot.place.name)
        if known:
            yield name, known[0] if isinstance(said, str) else tuple(dict.fromkeys(known))


def _worded(asked: TravelRequest) -> TravelRequest:
    """With words that are read again as they are meant, for those who read nothing else. Raises
    FormProblems where there are none."""
    for seed in range(WORDINGS):
        try:
            return asked.model_copy(update={"query": word_request(random.Random(seed), asked)})
        except UnreadableRequest:
            continue
    why = "These names cannot be told from the words around them."
    raise FormProblems((FieldProblem("destination", why),))


def values(request: TravelRequest) -> dict[str, Any]:
    said = request.model_dump(exclude={"id", "query", "level", "currency"})
    return {**said, "visit": list(request.visit)}


# ---- words → form


def read(text: str, place: Place) -> Understood:
    """As the requests of this domain are worded, or as travellers type."""
    fields = form(place)
    if len(text.split()) <= MOST_WORDS and (worded := _worded_request(text, fields, place)):
        return worded
    return travellers.read(text, fields, *_takes(place))


def _takes(place: Place) -> tuple[Mapping[str, str], Takes]:
    """The cities that the desk knows, and what it takes."""
    provider = world_at(place)

    def around(city: str) -> Iterator[str]:
        if provider is not None:
            yield from (stay.name for stay in provider.world.accommodations(city))
            yield from CityMap(provider.world, city).spots

    kinds = {"no flight": "train"}
    today = Date.today() if provider is None else None
    fields = {"budget": "total_budget"}
    takes = Takes(fields, {"transport": kinds}, around, ("return_date",), today)
    return provider.world.cities if provider is not None else {}, takes


def _worded_request(text: str, fields: Sequence[FormField], place: Place) -> Understood | None:
    """What the reader of the grammar finds; None where it finds no request, passes over words that
    are more than manners, or finds amounts in another currency than the desk's."""
    try:
        asked, spans = heard_request(text)
    except UnreadableRequest:
        return None
    has_money = any(getattr(asked, name) for name in BUDGETS)
    if passed_over(text, spans) or has_money and asked.currency != place.source.currency:
        return None
    found = {name: value for name, value in values(asked).items() if value not in EMPTY}
    parts = tuple(whole(spans, len(text)))
    missing = {}
    if not any(span.field == "party_size" for span in spans):
        del found["party_size"]
        missing["party_size"] = travellers.tables()["asked"]["party_size"]
    return Understood(found, parts, missing, None, sentence(fields, found))


# ---- no plan

SHIFTS = (1, -1, 2, -2, 3, -3)  # days by which a trip is moved, or made longer
Change = tuple[str, dict[str, Any]]  # in words, and as values of the form


def no_plan(request: TravelRequest, place: Place) -> NoPlan | None:
    provider = world_at(place)
    if provider is None or place.source.ask is not provider:
        return None  # services answer, too, and of what they would say nothing is proved
    direct, every = (TripSurvey(provider, changes, by_name=True) for changes in (0, 1))
    if isinstance(prove(request, every), Proof):
        return None
    days = provider.world.dates
    changes = [*_changes(request, direct, days)] or [*_changes(request, every, days)]
    return NoPlan(tuple(_why(request, every)), tuple(changes))


def _why(request: TravelRequest, survey: TripSurvey) -> Iterator[str]:
    """Each part for which nothing fits, and a budget that reaches for nothing."""
    for back in (False, True) if request.return_date else (False,):
        rows = survey.ways(request, back)
        if all(unmet_way(request, row.record, back) for row in rows):
            wishes = OF_WAY_BACK if back else OF_WAY_THERE
            begin, end, day = way_asked(request, back).values()
            that = _and(wish_words(request, ("transport", *wishes)) if rows else "")
            yield f"Nothing goes from {begin} to {end} on {day} that arrives on that day{that}."
    rooms = [row.record for row in survey.stays(request)] if nights_of(request) else []
    if nights_of(request) and not any(
        survey.takes(request, room) and not survey.unmet_stay(request, room) for room in rooms
    ):
        yield (
            f"No hotel in {request.destination} takes {people_words(request.party_size)}, two to a"
            f" room, from {request.depart_date} to {checkout_of(request)}"
            f"{_and(wish_words(request, OF_STAY))}."
        )
    cheapest = prove(request.model_copy(update={"total_budget": None}), survey)
    if isinstance(cheapest, Proof) and cheapest.cheapest is not None:
        yield (
            f"The cheapest such trip costs {amount(cheapest.cheapest)} {request.currency} in all;"
            f" the budget is {amount(request.total_budget or 0)}."
        )


def _and(wished: str) -> str:
    return f", and {wished}" if wished else ""


def _changes(
    request: TravelRequest, survey: TripSurvey, days: Sequence[str]
) -> Iterator[RequestChange]:
    """Each wish given up as far as the cheapest trip without it needs; then the smallest move of
    the days, and the smallest change of the nights."""
    for wish in WANTED:
        if getattr(request, wish) is None:
            continue
        proof = prove(request.model_copy(update={wish: None}), survey)
        if isinstance(proof, Proof) and proof.cheapest is not None:  # None: a price is not known
            words, value = WANTED[wish](request, proof)
            yield RequestChange(words, {wish: value}, proof.cheapest)
    for changes in (_moved(request, days, longer=False), _moved(request, days, longer=True)):
        for words, values in changes:
            proof = prove(request.model_copy(update=values), survey)
            if isinstance(proof, Proof):
                yield RequestChange(words, values, proof.cheapest)
                break


def _clock(words: str, part: str, at: str) -> Callable[[TravelRequest, Proof], tuple[str, Any]]:
    def change(request: TravelRequest, proof: Proof) -> tuple[str, Any]:
        clock = _row(proof, part)[at][11:16]
        return f"{words} {clock}", clock

    return change


def _row(proof: Proof, part: str) -> dict[str, Any]:
    return next(each.said for each in proof.witnesses if each.part == part)


def _total(request: TravelRequest, proof: Proof) -> tuple[str, Any]:
    least = math.ceil(proof.cheapest or 0)
    return f"Pay up to {least} {request.currency} in all", float(least)


def _nightly(request: TravelRequest, proof: Proof) -> tuple[str, Any]:
    least = math.ceil(_row(proof, "stay")["price"]["amount"] / nights_of(request))
    return f"Pay up to {least} {request.currency} for a room and night", float(least)


# wish → how it is given up, in words, and what is left of it
WANTED: dict[Wish, Callable[[TravelRequest, Proof], tuple[str, Any]]] = {
    "total_budget": _total,
    "nightly_budget": _nightly,
    "depart_after": _clock("Leave from", "outbound", "departs_at"),
    "arrive_by": _clock("Be there by", "outbound", "arrives_at"),
    "return_after": _clock("Head back from", "return", "departs_at"),
    "return_by": _clock("Be home by", "return", "arrives_at"),
    "hotel_near": lambda asked, _: (f"Take a hotel farther from {asked.hotel_near}", None),
    "hotel": lambda asked, _: (f"Take another hotel than {asked.hotel}", None),
    "transport": lambda asked, _: ("Take trains and flights alike", None),
}


def _moved(request: TravelRequest, days: Sequence[str], longer: bool) -> Iterator[Change]:
    """The whole trip moved, or the stay made longer or shorter (some hotels take nobody for a night
    or two): by as little as can be, later before earlier."""
    nights = nights_of(request)
    for by in SHIFTS if nights or not longer else ():
        start = Date.fromisoformat(request.depart_date) + timedelta(days=0 if longer else by)
        count = nights + (by if longer else 0)
        end = start + timedelta(days=count)
        words, values = f"Leave on {start}", dict[str, Any](depart_date=str(start))
        if request.return_date is not None:
            words, values["return_date"] = f"{words} and return on {end}", str(end)
        if request.nights is not None:
            words, values["nights"] = f"{words} for {counted(count, 'night')}", count
        if days[0] <= str(start) and str(end) <= days[-1] and count >= longer:
            yield words, values


# ---- a finished errand

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
    "other_constraints": "Times and budgets as asked for",
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
Card = RideCard | StayCard | VisitCard


def view(record: Mapping[str, Any], place: Place) -> TripView:
    """Of a judged episode's record: its cards, what the verifier found wrong beside what it is
    wrong with, where the cities lie."""
    request = TravelRequest.model_validate(record["request"])
    verdict = Verdict.from_record(record["verdict"])
    judged: Mapping[str, Any] = record.get("verifier") or {}
    finding: Mapping[str, Any] = judged.get("trajectory") or {}
    findings = (finding, *judged.get("turns", ()))
    problems = [problem for each in findings for problem in each.get("problems") or ()]
    try:
        cards = read_cards(record["transcript"]["answer"] or "")
    except NotCards:
        cards = Cards(party=request.party_size)
    provider = world_at(place)
    spots = CityMap(provider.world, request.destination).spots if provider is not None else {}
    calls = Transcript.from_json(record["transcript"]).calls
    parts = tuple(
        _placed(part if part.items else _explained(part, request, calls), spots)
        for part in _parts(request, cards, problems)
    )
    costs = [part.cost for part in parts if part.key != "visits"]
    known = [cost for cost in costs if cost is not None]
    booked: tuple[RideCard | StayCard, ...] = (*cards.outbound, *cards.stay, *cards.back)
    said = {card.price.currency for card in booked if card.price is not None}
    currencies = said - {None} or {request.currency}
    has_sum = known and len(known) == len(costs) and len(currencies) == 1
    notes = [f"{words_of(risk, RISKS).partition(' [call ')[0]}." for risk in cards.risks]
    budget = request.total_budget if currencies == {request.currency} else None
    if request.total_budget is not None and budget is None:
        paid = " and ".join(sorted(map(str, currencies)))
        notes.append(f"Prices are in {paid}, the budget in {request.currency}: none is converted.")
    stops = [request.origin, request.destination, *([request.origin] * bool(request.return_date))]
    ways = (cards.outbound, cards.back)[: len(stops) - 1]
    return TripView(
        f"{request.origin} to {request.destination}",
        parts,
        tuple(_checks(verdict, finding.get("rubrics") or {})),
        verdict.final,
        currency=min(map(str, currencies)),
        cost=round(sum(known), 2) if has_sum else None,  # two currencies have none
        budget=budget,
        route=tuple(_stop(provider, city) for city in stops),
        means=tuple(rides[0].kind if rides else "way" for rides in ways),
        notes=tuple(notes),
    )


def swaps(record: Mapping[str, Any], part: str, item: str, place: Place) -> list[Swap]:
    """The second recommendation before the first, judged again. What was said of the first alone
    is left out: that nothing leaves later, what there is where it is sold out, the total."""
    said = json.loads(record["transcript"]["answer"])
    said[part] = said[part][::-1]
    risks = [risk for risk in said.pop("risks", ()) if risk.get("part") != part]
    answer = Cards.model_validate({**said, "risks": risks, "total": None}).to_json()
    transcript = Transcript.from_json({**record["transcript"], "answer": answer})
    request, source = TravelRequest.model_validate(record["request"]), place.source
    judged = Errand(record["id"], request, source.ask, source.where).judged(transcript, CARDS)
    changed = json.loads(json.dumps(judged.record()))
    shown = view(changed, place)
    [first] = [each.items[0] for each in shown.parts if each.key == part]
    return [Swap(first, shown, changed)]


def _placed(part: PlanPart, spots: Mapping[str, Spot]) -> PlanPart:
    """With where its hotels and sights are."""
    items = list[Item]()
    for item in part.items:
        at = spots[item.text].place if item.text in spots else None
        if at is not None and at.latitude is not None and at.longitude is not None:
            item = replace(item, position=(at.latitude, at.longitude))
        items.append(item)
    return replace(part, items=tuple(items))


def _parts(request: TravelRequest, cards: Cards, problems: Sequence[Problem]) -> Iterator[PlanPart]:
    """Those that were asked for, and whatever else the answer has."""
    there, home = request.destination, request.origin
    back, stays = request.return_date, nights_of(request) > 0
    rows: tuple[tuple[str, bool, Sequence[Card], str | None, str], ...] = (
        ("outbound", True, cards.outbound, request.depart_date, f"from {home} to {there}"),
        ("stay", stays, cards.stay, None, f"in {there}"),
        ("visits", bool(request.visit), cards.visits, None, f"in {there}"),
        ("return", back is not None, cards.back, back, f"from {there} to {home}"),
    )
    for name, is_asked, found, day, where in rows:
        if not found and not is_asked:
            continue
        items = [
            item
            for n, card in enumerate(found)
            for item in _items(card, cards.party, n > 0, _about(problems, f"{name}.{n}."))
        ]
        if len(found) > 1 and name != "visits":
            items[0] = replace(items[0], key="first")
        of_card = [getattr(card, "date", getattr(card, "checkin", None)) for card in found[:1]]
        first = next((day for day in of_card if day and _moment(day)), day)
        cost = items[0].cost if items else None
        about = _about(problems, name)
        yield PlanPart(name, TITLES[name], first, where, tuple(items), cost, about)


def _explained(part: PlanPart, request: TravelRequest, calls: Sequence[ToolCall]) -> PlanPart:
    """A part that has nothing, with what the tools refused its searches for."""
    search = stay_asked(request) if part.key == "stay" else way_asked(request, part.key == "return")
    told = {
        f"{call.name.replace('_', ' ').capitalize()}: {call.rows.note}": None
        for call in calls
        if call.error and call.rows and call.rows.note and search.items() <= call.arguments.items()
    }
    return part if part.key == "visits" else replace(part, remarks=(*part.remarks, *told))


def _about(problems: Sequence[Problem], path: str) -> tuple[str, ...]:
    """What is wrong with a part as a whole ("stay"), or with something of a recommendation
    ("stay.0.")."""
    told = (
        _plain(each["message"], each["field"])
        for each in problems
        if each["field"] == path or (path.endswith(".") and f"{each['field']}.".startswith(path))
    )
    return tuple(dict.fromkeys(told))


def _plain(message: str, field: str) -> str:
    """Without the field of the answer, which stands before it."""
    return capitalised(message.removeprefix(f"{field}: "))


def _items(card: Card, party: int, second: bool, remarks: tuple[str, ...]) -> Iterator[Item]:
    """A recommendation; of a visit the place and the way there."""
    if isinstance(card, VisitCard):
        way, found = card.way, card.found
        at = (found.call, found.row) if found is not None else None
        facts = _said(Address=card.address)
        yield Item("attraction", "Sight", card.name, evidence=at, facts=facts, remarks=remarks)
        yield Item(way.mode, "Way there", way_words(way), evidence=(way.call, way.row))
        return
    said = (words_of(reason, REASONS) for reason in card.reasons)
    why = "; ".join(words.removesuffix(f" of call {card.call}") for words in said)
    starts = ends = None
    if isinstance(card, RideCard):
        begin, end = card.depart_place or card.depart_city, card.arrive_place or card.arrive_city
        starts, ends = _moment(card.date, card.departs), _moment(card.date, card.arrives)
        if starts and ends:
            ends += timedelta(days=card.days_later)
            ends = ends if ends > starts else None  # over a line of dates a clock may go back
        later = f"{card.days_later:+d} day" if card.days_later else None
        takes = duration(card.minutes) if card.minutes is not None else None
        facts = _said(Arrives=later, Takes=takes, Why=why)
        kind, label = str(card.kind), card.kind.capitalize()
        text = card.number + (f", {begin} to {end}" if begin and end else "")
        times = {"person": party, "party": 1}
    else:
        begins, leaves = _moment(card.checkin), _moment(card.checkout)
        nights = (leaves - begins).days if begins and leaves else 1
        facts = _said(
            Nights=f"{card.checkin} to {card.checkout}",
            Price=UNITS[card.price.per].capitalize() if card.price else "Nobody says it",
            Address=card.address,
            Rooms=f"{card.rooms} × {card.room}" if card.room else counted(card.rooms, "room"),
            Rating=f"{amount(card.rating)} of 5" if card.rating is not None else None,
            Why=why,
        )
        kind, label, text = "stay", "Hotel", card.name
        times = {"room": card.rooms, "room_and_night": card.rooms * nights, "party": 1}
    cost, count = _cost(card.price, times)
    begins_at, ends_at = (_stamp(at) for at in (starts, ends))
    at = (card.call, card.row)
    yield Item(kind, label, text, begins_at, ends_at, cost, count, at, facts, remarks, second)


def _stamp(at: datetime | None) -> str | None:
    return at.isoformat(timespec="minutes") if at is not None else None


def _cost(price: Fare | RoomPrice | None, times: Mapping[str, int]) -> tuple[float | None, str]:
    """For the whole party; and how it comes about, where there is more than one."""
    if price is None:
        return None, ""
    many, single = times[price.per], f"{price.amount:,.2f}"
    each = f"${single}" if price.currency in (None, "USD") else f"{single} {price.currency}"
    return round(many * price.amount, 2), f"{many} × {each}" if many > 1 else ""


def _said(**facts: str | None) -> tuple[tuple[str, str], ...]:
    return tuple((label, text) for label, text in facts.items() if text)


def _moment(day: str, clock: str = "00:00") -> datetime | None:
    """The contract asks for digits, which may be no day and no time, or one without a next."""
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}")
    except ValueError:
        return None
    return moment if moment.year < MAXYEAR else None


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
            yield Check(group.name, name, title, state, _details(fact) if fact else ())


def _details(fact: Fact) -> tuple[str, ...]:
    """With the part of the trip in place of the answer's field."""
    told = []
    for each in fact.evidence:
        field = each.field or ""
        message, title = _plain(each.needed or "", field), TITLES.get(field.partition(".")[0])
        told.append(f"{title}: {message}" if title else message)
    return tuple(told) or ((fact.message,) if fact.message else ())


def _stop(provider: WorldProvider | None, city: str) -> RouteStop:
    middle = CityMap(provider.world, city).middle if provider is not None else None
    if middle is None:
        return RouteStop(city, None, None)
    return RouteStop(city, round(middle.latitude, 4), round(middle.longitude, 4))


DESK = Desk(
    form=form,
    read=lambda text, place: travellers.checked(
        read(text, place), lambda values: request(values, place)
    ),
    request=request,
    change=lambda text, values, view, comfort, place: travellers.checked(
        travellers.change(text, form(place), *_takes(place), values, view, comfort),
        lambda values: request(values, place),
    ),
    view=view,
    swaps=swaps,
    no_plan=no_plan,
    planners={"errand-expert": "Careful agent, who knows only what the tools answer"},
    dialect="deeptravel_cards",
)
