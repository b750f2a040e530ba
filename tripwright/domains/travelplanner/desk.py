"""TravelPlanner at the travellers' desk: a form with the fields of the benchmark's requests, words
read by the reader of official wordings, and why a trip cannot be had from the exact planner."""

from __future__ import annotations

import datetime
import random
from collections.abc import Mapping
from typing import Any

from tripwright.domains.desk import (
    Desk,
    FieldProblem,
    FormField,
    FormProblems,
    NoPlan,
    RequestChange,
    Span,
    Understood,
    problems_of,
    whole,
    words_in,
)
from tripwright.domains.domain import Place
from tripwright.domains.travelplanner.desk_view import view
from tripwright.domains.travelplanner.oracle.explanation import explain, malformed
from tripwright.domains.travelplanner.oracle.options import (
    FORBIDDEN_BY_RULE,
    ROOM_TYPES,
    TRANSPORTATION,
)
from tripwright.domains.travelplanner.oracle.repairs import repairs
from tripwright.domains.travelplanner.queries.counts import CITIES_BY_DAYS
from tripwright.domains.travelplanner.queries.reading import Gazetteer, complete
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.queries.wishes import CouldNotInfer
from tripwright.domains.travelplanner.queries.wording import LARGEST_BUDGET_USD, word_query
from tripwright.domains.travelplanner.query import MOST_PEOPLE, Query
from tripwright.domains.travelplanner.replan import replan
from tripwright.world.scales import CUISINES
from tripwright.world.store import World

LONGEST_TRIP_DAYS = max(CITIES_BY_DAYS)
MOST_WORDS = 400  # of a text whose words are told apart; reading it once more for each takes time
ASKED = {
    "origin": "Where does the trip start?",
    "destination": "Where shall it go?",
    "depart_date": "When does it start?",
    "return_date": "When does it end?",
    "budget_usd": "What may the whole trip cost, in US dollars?",
}


def form(place: Place) -> tuple[FormField, ...]:
    world: World = place.source
    cities, first, last = sorted(world.cities), world.dates[0], world.dates[-1]
    where = (*cities, *sorted(world.states))
    return (
        FormField("origin", "From", "place", True, tuple(cities)),
        FormField(
            "destination",
            "To",
            "place",
            True,
            where,
            help="A city for trips of up to 3 days, a state for longer ones.",
        ),
        FormField("depart_date", "Leave on", "date", True, low=first, high=last),
        FormField("return_date", "Return on", "date", True, low=first, high=last),
        FormField(
            "cities",
            "Cities to visit",
            "count",
            low=1,
            high=max(CITIES_BY_DAYS.values()),
            help="In a state: 2 in five days and 3 in seven where nothing is said.",
        ),
        FormField("party_size", "People", "count", True, low=1, high=MOST_PEOPLE, default=1),
        FormField(
            "budget_usd",
            "Budget for all",
            "money",
            True,
            low=1,
            high=LARGEST_BUDGET_USD,
            unit="USD",
        ),
        FormField("room_type", "Room", "choice", options=tuple(ROOM_TYPES)),
        FormField("house_rule", "The house must allow", "choice", options=tuple(FORBIDDEN_BY_RULE)),
        FormField("cuisines", "Cuisines", "choices", options=tuple(CUISINES)),
        FormField("transportation", "Transport", "choice", options=TRANSPORTATION),
    )


# ---- form → request and back


def request(values: Mapping[str, Any], place: Place) -> Query:
    """Raises FormProblems with all that is wrong of the form."""
    if problems := problems_of(form(place), values):
        raise FormProblems(tuple(problems))
    first = datetime.date.fromisoformat(values["depart_date"])
    days = (datetime.date.fromisoformat(values["return_date"]) - first).days + 1
    if not 2 <= days <= LONGEST_TRIP_DAYS:
        raise FormProblems(
            (
                FieldProblem(
                    "return_date",
                    f"A trip takes 2 to {LONGEST_TRIP_DAYS} days; from {values['depart_date']} to"
                    f" {values['return_date']} there are {days}.",
                ),
            )
        )
    query = _query(values, first, days)
    if (wrong := malformed(query, place.source)) is not None:
        kind = wrong.conflict[0].kind
        name = {"dates": "depart_date"}.get(kind, kind)
        raise FormProblems((FieldProblem(name, wrong.words[:1].upper() + wrong.words[1:]),))
    try:
        return query.model_copy(update={"query": word_query(random.Random(0), query, "plain")})
    except ValueError as problem:
        raise FormProblems((FieldProblem("destination", str(problem)),)) from None


def _query(values: Mapping[str, Any], first: datetime.date, days: int) -> Query:
    cities = values.get("cities") or next(
        count for longest, count in sorted(CITIES_BY_DAYS.items()) if days <= longest
    )
    return Query.model_validate(
        {
            "org": values["origin"],
            "dest": values["destination"],
            "days": days,
            "visiting_city_number": cities,
            "date": [str(first + datetime.timedelta(days=day)) for day in range(days)],
            "people_number": values["party_size"],
            "budget": values["budget_usd"],
            "local_constraint": {
                "house rule": values.get("house_rule") or None,
                "cuisine": values.get("cuisines") or None,
                "room type": values.get("room_type") or None,
                "transportation": values.get("transportation") or None,
            },
            "query": "",
        }
    )


def values(query: Query) -> dict[str, Any]:
    wishes = query.local_constraint
    return {
        "origin": query.org,
        "destination": query.dest,
        "depart_date": query.date[0],
        "return_date": query.date[-1],
        "cities": query.visiting_city_number,
        "party_size": query.people_number,
        "budget_usd": query.budget,
        "room_type": wishes.room_type,
        "house_rule": wishes.house_rule,
        "cuisines": list(wishes.cuisine or ()),
        "transportation": wishes.transportation,
    }


# ---- words → form


def read(text: str, place: Place) -> Understood:
    """What the reader of official wordings finds. A word is marked with the first field that reads
    otherwise without it; so a word that only repeats another stays unmarked, and nothing that was
    used is ever called unread by mistake of a second reader."""
    places = Gazetteer(place.source.cities)
    found = _form_values(text, places)
    words = list(words_in(text))
    read_spans: list[Span] = []
    for start, end in words if found and len(words) <= MOST_WORDS else ():
        without = _form_values(text[:start] + text[end:], places)
        field = next((name for name in found if without.get(name) != found[name]), None)
        if field is None:
            continue
        last = read_spans[-1] if read_spans else None
        if last and last.field == field and not text[last.end : start].strip():
            read_spans[-1] = Span(last.start, end, field)
        else:
            read_spans.append(Span(start, end, field))
    missing = {name: question for name, question in ASKED.items() if found.get(name) is None}
    return Understood(found, tuple(whole(read_spans, len(text))), missing)


def _form_values(text: str, places: Gazetteer) -> dict[str, Any]:
    """Fields of the form that the text gives."""
    try:
        record: Mapping[str, Any] = complete({"query": text}, places).record
    except CouldNotInfer as problem:
        record = problem.fields
    wishes = {name: wish for name, wish in record.get("local_constraint", {}).items() if wish}
    dates = record.get("date") or [None]
    said = {
        "origin": record.get("org"),
        "destination": record.get("dest"),
        "depart_date": dates[0],
        "return_date": dates[-1],
        "cities": record.get("visiting_city_number"),
        # who mentions no company travels alone for the reader; here the form's own default says so
        "party_size": people if (people := record.get("people_number")) != 1 else None,
        "budget_usd": record.get("budget"),
        "room_type": wishes.get("room type"),
        "house_rule": wishes.get("house rule"),
        "cuisines": wishes.get("cuisine"),
        "transportation": wishes.get("transportation"),
    }
    return {name: value for name, value in said.items() if value is not None}


# ---- why there is no plan


def no_plan(query: Query, place: Place) -> NoPlan | None:
    explanation = explain(query, place.source)
    if explanation is None:
        return None
    before = values(query)
    changes = []
    for change in repairs(query, place.source):
        after = values(change.query)
        differ = {name: value for name, value in after.items() if value != before[name]}
        words = change.words[:1].upper() + change.words[1:]
        changes.append(RequestChange(words, differ, change.cost_usd))
    why = [explanation, *explanation.also]
    return NoPlan(tuple(each.words[:1].upper() + each.words[1:] for each in why), tuple(changes))


DESK = Desk(
    form=form,
    wishes=lambda place: make_queries(place.source, 4, 1),
    read=read,
    request=request,
    values=values,
    view=view,
    no_plan=no_plan,
    replan=replan,
    planners={
        "expert": "Exact planner",
        "expert-careful": "Careful agent, who knows only what the tools answer",
        "greedy-search": "Greedy search",
    },
    dialect="planner_r1",
)
