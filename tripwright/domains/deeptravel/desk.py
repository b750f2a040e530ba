"""DeepTravel at the travellers' desk: a form with the intents of its requests, words read by the
reader of their grammar, and why an errand cannot be had, from the proof that makes requests, with
the single changes after which it can.

That there is none is said of all that the tools answer, trains with a change included. A change is
offered on the strength of direct trains, where that can be: an agent looks for others only where
there are none of these.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date as Date
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from tripwright.domains.deeptravel.cards import amount
from tripwright.domains.deeptravel.desk_view import provider_at, view
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
    Asker,
    Proof,
    TripSurvey,
    checkout_of,
    is_called,
    nights_of,
    prove,
)
from tripwright.domains.deeptravel.requests.words import (
    CLOSINGS,
    GREETINGS,
    UnreadableRequest,
    read_request,
    read_where,
    unwordable,
    word_request,
)
from tripwright.domains.deeptravel.worlds.city import CityMap
from tripwright.domains.desk import (
    EMPTY,
    Desk,
    FieldProblem,
    FormField,
    FormProblems,
    NoPlan,
    RequestChange,
    Span,
    Understood,
    problems_of,
    unknown,
    whole,
    words_in,
)
from tripwright.domains.domain import Place
from tripwright.errors import counted
from tripwright.world.store import World

MOST_PEOPLE = 99
MOST_NIGHTS = 60
MOST_VISITS = 2  # the agent has seven look-ups, and ways to look for a near hotel cost one each
LARGEST_BUDGET_USD = 1_000_000
MOST_WORDS = 400  # of a text; the patterns of longer ones take time
SHOWN = 3  # names of a city, to somebody who knows none
WORDINGS = 50  # that are tried before a request is given up as one that has no words
ASKED = {
    "origin": "Where does the trip start?",
    "destination": "Where shall it go?",
    "depart_date": "When does it start?",
}
_BUDGETS: tuple[Wish, ...] = ("total_budget", "nightly_budget")


def form(place: Place) -> tuple[FormField, ...]:
    world = provider_at(place).world
    cities = tuple(sorted(world.cities))
    day = partial(FormField, kind="date", low=world.dates[0], high=world.dates[-1])
    money = partial(FormField, kind="money", low=1, high=LARGEST_BUDGET_USD, unit="USD")
    return (
        FormField("origin", "From", "place", True, cities),
        FormField("destination", "To", "place", True, cities),
        day("depart_date", "Leave on", required=True),
        day("return_date", "Return on", help="Leave it empty for one way."),
        FormField(
            "nights",
            "Nights in a hotel",
            "count",
            low=1,
            high=MOST_NIGHTS,
            help="Of a trip one way. With a return it is every night until then.",
        ),
        FormField("party_size", "People", "count", True, low=1, high=MOST_PEOPLE, default=1),
        FormField("transport", "Transport", "choice", options=("flight", "train")),
        FormField("depart_after", "Leave no earlier than", "time"),
        FormField("arrive_by", "Be there by", "time"),
        FormField("return_after", "Head back no earlier than", "time"),
        FormField("return_by", "Be home by", "time"),
        money("total_budget", "Budget for all"),
        money("nightly_budget", "Budget for a room and night"),
        FormField("hotel", "Hotel", "text", help="Its name, or that of a chain."),
        FormField(
            "hotel_near", "Hotel near", "text", help="A place in that city; near is up to 3 km."
        ),
        FormField(
            "visit",
            "Places to see",
            "texts",
            help=f"Up to {MOST_VISITS}, or one beside a hotel near a place; by their names.",
        ),
    )


# ---- form → request and back


def request(values: Mapping[str, Any], place: Place) -> TravelRequest:
    """Raises FormProblems with all that is wrong of the form."""
    fields = {field.name: field for field in form(place)}
    problems = problems_of(tuple(fields.values()), values)
    if not problems:
        said = {name: value for name, value in values.items() if value not in EMPTY}
        asked = TravelRequest.model_validate(said)
        problems = list(_contradictions(asked, fields))
        named = dict(_named(asked, fields, provider_at(place).world, problems))
    if problems:
        raise FormProblems(tuple(problems))
    return _worded(asked.model_copy(update=named))


def _contradictions(
    asked: TravelRequest, fields: Mapping[str, FormField]
) -> Iterator[FieldProblem]:
    """What is right alone and cannot be together."""
    if asked.origin == asked.destination:
        yield FieldProblem("destination", f"To: the trip starts in {asked.origin} already.")
    back, nights = asked.return_date, asked.nights
    if back is not None:
        between = (Date.fromisoformat(back) - Date.fromisoformat(asked.depart_date)).days
        if between < 1:
            # the way back of a day trip depends on the way there, which nobody here plans together
            words = f"Return on: {back} leaves no night after {asked.depart_date}."
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
                yield FieldProblem(name, f"{fields[name].label}: {words}.")
    for name in _BUDGETS:
        budget = getattr(asked, name)
        if budget is not None and round(budget, 2) != budget:
            yield FieldProblem(name, f"{fields[name].label}: expected whole cents.")
    most = 1 if asked.hotel_near else MOST_VISITS
    if len(asked.visit) > most:
        beside = f" beside a hotel near {asked.hotel_near}" if asked.hotel_near else ""
        yield FieldProblem("visit", f"Places to see: at most {most} can be planned{beside}.")


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
            problems.append(_unknown_there(fields["hotel"], asked.hotel, hotels, city.city))
        yield "hotel", " ".join(asked.hotel.split())
    for name in ("hotel_near", "visit"):
        said = getattr(asked, name) or ()
        known = []
        for each in (said,) if isinstance(said, str) else said:
            spot = city.named(each)
            if spot is None:
                spots = tuple(city.spots)
                problems.append(_unknown_there(fields[name], each, spots, city.city))
            else:
                known.append(spot.place.name)
        if known:
            yield name, known[0] if isinstance(said, str) else tuple(dict.fromkeys(known))


def _unknown_there(
    field: FormField, name: str, options: tuple[str, ...], city: str
) -> FieldProblem:
    """With the nearest names; without any, a few of those that there are, since no list on the page
    has them."""
    message, near = unknown(field, name, options, f"in {city}")
    if not near and options:
        near = options[:SHOWN]
        message += f" Known are, among others, {', '.join(near)}."
    return FieldProblem(field.name, message, near)


def _worded(asked: TravelRequest) -> TravelRequest:
    """With words that are read again as they are meant, for those who read nothing else. Raises
    FormProblems where there are none."""
    for seed in range(0 if unwordable(asked) else WORDINGS):
        text = word_request(random.Random(seed), asked)
        if text.startswith(GREETINGS) or text.endswith(CLOSINGS):
            continue
        try:
            if read_request(text).model_copy(update={"query": ""}) == asked:
                return asked.model_copy(update={"query": text})
        except UnreadableRequest:
            continue
    why = unwordable(asked) or "these names cannot be told from the words around them"
    raise FormProblems((FieldProblem("destination", f"{why[:1].upper()}{why[1:]}."),))


def values(request: TravelRequest) -> dict[str, Any]:
    said = request.model_dump(exclude={"id", "query", "level", "currency"})
    return {**said, "visit": list(request.visit)}


# ---- words → form


class _Heard(NamedTuple):
    """A stretch of a text and what was understood there."""

    start: int
    end: int
    field: str
    value: Any


def read(text: str, place: Place) -> Understood:
    """What the reader of the grammar finds. Of a text that says less than a whole trip, or says it
    in other words, cities and days after the few words of two tables, and nothing else."""
    try:
        if len(text.split()) > MOST_WORDS:
            return Understood({}, (Span(0, len(text), None),), ASKED)
        found = values(read_request(text))
        heard = [_Heard(*where, found[where[2]]) for where in read_where(text)]
        # who is not said to come along is nobody for the reader; here the form's default says so
        if not any(each.field == "party_size" for each in heard):
            del found["party_size"]
    except UnreadableRequest:
        heard = list(_looked_up(text, provider_at(place).world))
        said = Counter(field for field, _ in {(each.field, each.value) for each in heard})
        heard = [each for each in heard if said[each.field] == 1]
        found = {each.field: each.value for each in heard}
    found = {name: value for name, value in found.items() if value not in EMPTY}
    missing = {name: question for name, question in ASKED.items() if name not in found}
    spans = (Span(each.start, each.end, each.field) for each in heard)
    return Understood(found, tuple(whole(spans, len(text))), missing)


_BEFORE_CITY = {"from": "origin", "to": "destination"}
_BEFORE_DAY = {
    **dict.fromkeys(("from", "leave", "leaving", "departing", "starting"), "depart_date"),
    **dict.fromkeys(("to", "until", "return", "returning", "back"), "return_date"),
}


def _looked_up(text: str, world: World) -> Iterator[_Heard]:
    """Cities of the world after "from" and "to", ISO days after such words (an "on" between them
    says nothing) or right after a city."""
    # with the marks that may follow them taken off
    words = [(start, end, text[start:end].rstrip(",.;:!?")) for start, end in words_in(text)]
    longest = max(len(city.split()) for city in world.cities)
    after_city = -1
    for at, (start, _, word) in enumerate(words):
        before = words[at - 1][2].casefold() if at else ""
        for count in range(min(longest, len(words) - at), 0, -1):
            last, _, word_without = words[at + count - 1]
            city = " ".join([text[s:e] for s, e, _ in words[at : at + count - 1]] + [word_without])
            if city in world.cities and before in _BEFORE_CITY:
                yield _Heard(start, last + len(word_without), _BEFORE_CITY[before], city)
                after_city = at + count
                break
        if _is_day(word):
            on = before == "on"
            before = words[at - 2][2].casefold() if on and at > 1 else before
            field = "depart_date" if after_city == at - on else _BEFORE_DAY.get(before)
            if field is not None:
                yield _Heard(start, start + len(word), field, word)


def _is_day(word: str) -> bool:
    try:
        return str(Date.fromisoformat(word)) == word
    except ValueError:
        return False


# ---- no plan

SHIFTS = (1, -1, 2, -2, 3, -3)  # days by which a trip is moved, or made longer
OF_WAYS: tuple[Wish, ...] = ("transport", *OF_WAY_THERE)
_LABELS: dict[str, str] = {
    "depart_after": "Leave from",
    "arrive_by": "Be there by",
    "return_after": "Head back from",
    "return_by": "Be home by",
}
Change = tuple[str, dict[str, Any]]  # in words, and as values of the form


class _Survey(TripSurvey):
    """Requests are proved by a city's cheapest hotels; who travels may ask for one by its name."""

    def __init__(self, asker: Asker, transfers: int):
        super().__init__(asker)
        self.transfers = transfers
        self.such = "such trip" if transfers else "such trip by direct trains or flights"

    def stays(self, request: TravelRequest) -> list[AnswerRow]:
        return self.hotels(request, request.hotel or "")


def no_plan(request: TravelRequest, place: Place) -> NoPlan | None:
    provider = provider_at(place)
    if place.source.ask is not provider:
        return None  # services answer, too, and of what they would say nothing is proved
    direct, whole = _Survey(provider, transfers=0), _Survey(provider, transfers=1)
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
        if wished and survey.ways(*_there(way)):
            yield f"Nothing that goes {route}, and arrives on that day, {wished}."
        else:
            yield f"Nothing goes {route} that arrives on that day."
    if isinstance(_stay(request, survey), str):
        wished = wish_words(request, OF_STAY)
        that = f", and {wished}" if wished else ""
        yield (
            f"No hotel in {request.destination} takes {people_words(request.party_size)}, two to a"
            f" room, from {request.depart_date} to {checkout_of(request)}{that}."
        )


def _dear(request: TravelRequest, survey: _Survey) -> Iterator[str]:
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
    for by in SHIFTS:
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
    for by in SHIFTS:
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


DESK = Desk(
    form=form,
    read=read,
    request=request,
    values=values,
    view=view,
    no_plan=no_plan,
    planners={"errand-expert": "Careful agent, who knows only what the tools answer"},
    dialect="deeptravel_cards",
)
