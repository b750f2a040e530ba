"""DeepTravel at the travellers' desk: a form with the intents of its requests, and words read by
the reader of their grammar."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from datetime import date as Date
from functools import partial
from typing import Any, NamedTuple

from tripwright.domains.deeptravel.desk_no_plan import no_plan
from tripwright.domains.deeptravel.desk_view import provider_at, view
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests.intents import is_called, nights_of
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
_OF_RETURN = ("return_after", "return_by")
_OF_STAY = ("nightly_budget", "hotel", "hotel_near")
_BUDGETS = ("total_budget", "nightly_budget")


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
        (_OF_RETURN, back is not None, "a wish for the way back needs a day of return"),
        (_OF_STAY, nights_of(asked) > 0, "a wish for the hotel needs a return, or nights"),
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
        said = {
            each.field: {other.value for other in heard if other.field == each.field}
            for each in heard
        }
        heard = [each for each in heard if len(said[each.field]) == 1]
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
