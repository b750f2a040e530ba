"""TravelPlanner at the travellers' desk: a form with the fields of the benchmark's requests, words
read by the reader of official wordings, a finished trip as the page draws it (the plan view that
`show` prints, with the row that each line rests on, the times of flights, and where the cities
lie), and why a trip cannot be had from the exact planner."""

from __future__ import annotations

import bisect
import datetime
import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any, NamedTuple

from tripwright.domains import travellers
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
    Span,
    Swap,
    TripView,
    Understood,
    problems_of,
    sentence,
    unknown,
    whole,
)
from tripwright.domains.grammar import Gazetteer
from tripwright.domains.place import Place
from tripwright.domains.travellers import Takes
from tripwright.domains.travelplanner.oracle.explanation import explain, malformed, repairs, usd
from tripwright.domains.travelplanner.oracle.options import (
    FORBIDDEN_BY_RULE,
    ROOM_TYPES,
    TRANSPORTATION,
    restaurants,
    stays,
)
from tripwright.domains.travelplanner.oracle.planner import solve
from tripwright.domains.travelplanner.plan_view import plan_view, verdict_words
from tripwright.domains.travelplanner.planning import besides, other_records, replan
from tripwright.domains.travelplanner.queries.reading import CITIES_BY_DAYS, CouldNotInfer, complete
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.queries.wording import LARGEST_BUDGET_USD, word_query
from tripwright.domains.travelplanner.query import MOST_PEOPLE, Besides, Query
from tripwright.domains.travelplanner.rules.clock import DayHours, hours_of
from tripwright.domains.travelplanner.rules.evaluate import BY_ROWS, judge
from tripwright.domains.travelplanner.rules.livable import timetable
from tripwright.domains.travelplanner.rules.lookup import from_to, name_and_city, travel_mode
from tripwright.domains.travelplanner.rules.strict_reading import (
    KM_PER_MILE,
    StrictPlan,
    clock_minutes,
    minutes,
    read_plan,
)
from tripwright.domains.wording import capitalised, listed
from tripwright.verdict import Verdict
from tripwright.world.records import Accommodation, Attraction, Restaurant
from tripwright.world.scales import CUISINES
from tripwright.world.store import World

# ---- a finished trip


class _Shown(NamedTuple):
    """A row, by its name or number (None: a way by road), with the texts that it was asked by."""

    name: str | None
    asked: tuple[str, ...]  # in the tool's order: a way from one city, then to the other
    place: tuple[int, int]  # (call, row), both from 1


def view(record: Mapping[str, Any], place: Place) -> TripView:
    """Of an episode's record, judged again in this world by the rules that judged it."""
    world: World = place.source
    query = Query.model_validate(record["request"])
    plan: list[Any] = record.get("plan") or []
    rules = (record.get("verdict") or {}).get("rules", "strict")
    verdict = judge(query, plan or None, world, rules)
    seen = tuple(_seen(record["transcript"]))
    strict = read_plan(query, plan, world)
    hours = timetable(strict) if verdict.final and rules in BY_ROWS else None
    notes = [] if verdict.final else [f"The plan {verdict_words(verdict)}."]
    notes += _hard_days(query, plan, verdict, world)
    shown = plan_view(query, plan, verdict, notes, hours)
    legs = {each.day.number: each for each in hours_of(strict)}
    parts = [
        replace(part, items=tuple(_items(part, query, strict, legs, seen))) for part in shown.parts
    ]
    stops, means = _route(query, [day for day in plan if isinstance(day, dict)])
    wishes = besides(query, plan, world) if verdict.final else {}
    more = tuple(
        Check("besides", words, words, "failed" if against else "passed", tuple(against))
        for words, against in wishes.items()
    )
    return replace(
        shown,
        title=f"{query.org} to {query.dest}",
        checks=(*shown.checks, *more),
        passed=shown.passed and not any(wishes.values()),
        parts=tuple(parts),
        route=tuple(RouteStop(city, *_position(city, world)) for city in stops),
        means=tuple(means),
    )


MOST_SWAPS = 2


def swaps(record: Mapping[str, Any], part: str, item: str, place: Place) -> list[Swap]:
    """What passes before what does not; of it the cheapest, and the best rated of the others."""
    found = list[tuple[float, Swap]]()
    query = Query.model_validate(record["request"])
    for row, changed in other_records(record, query, part, item, place.source):
        shown = view(changed, place)
        of_part = next(each for each in shown.parts if each.key == part)
        new = next(each for each in of_part.items if each.key == item)
        found.append((getattr(row, "rating", 0.0), Swap(new, shown, changed)))
    found.sort(key=lambda each: (not each[1].view.passed, each[1].view.cost or math.inf))
    rest = sorted(found[1:], key=lambda each: (not each[1].view.passed, -each[0]))
    return [swap for _, swap in [*found[:1], *rest][:MOST_SWAPS]]


def _hard_days(query: Query, plan: list[Any], verdict: Verdict, world: World) -> Iterator[str]:
    """What of a plan that passes somebody would rather not live."""
    if verdict.final and query.besides is not None and query.besides.comfort is not None:
        better = dict[tuple[int | None, str | None], list[str]]()
        for fact in judge(query, plan, world, "livable").failed:
            for each in fact.evidence:
                better.setdefault((each.day, each.found), []).append(each.needed or "")
        for (day, found), needed in better.items():
            yield f"Day {day}: {found}; better would be {listed(needed)}."


LABELS = {"flight": "Flight", "self-driving": "Drive", "taxi": "Taxi", "attraction": "Sight"}
LABELS |= {"accommodation": "Stay"}
ROOMS_IN_WORDS = {"Entire home/apt": "a whole home", "Private room": "a private room"}
ROOMS_IN_WORDS |= {"Shared room": "a shared room"}
BY = {"flight": "plane", "self-driving": "car", "taxi": "taxi"}


def _items(
    part: PlanPart,
    query: Query,
    plan: StrictPlan,
    legs: Mapping[int, DayHours],
    seen: Sequence[_Shown],
) -> Iterator[Item]:
    """In the order of their hours, each in words, with the row that it rests on."""
    day = next((day for day in plan.days if str(day.number) == part.key), None)
    count, items = Counter[str](), list[Item]()
    for item in part.items:
        at, field = count[item.kind], item.kind
        count[field] += 1
        item = replace(item, key=f"{field} {at}")
        if field == "transportation":
            kind, number = (travel_mode(item.text) or "").lower(), flight_number(item.text)
            asked = *from_to(item.text), *(() if number else (kind.removeprefix("self-"),))
            item = replace(item, evidence=_evidence(seen, number, *asked))
            leg = legs.get(day.number) if day else None
            items.append(_way(item, number, part.date, leg, plan.world))
            continue
        places = [place for place in (day.places() if day else ()) if place.field == field]
        rows = places[at].rows if at < len(places) else []
        nights = sum(each.stay is not None and each.stay.text == item.text for each in plan.days)
        items.append(
            replace(
                item,
                label=LABELS.get(field, capitalised(field)),
                evidence=_evidence(seen, *name_and_city(item.text)),
                facts=tuple(_facts(rows[0], query, plan.world, nights)) if rows else (),
                position=_degrees(rows[0]) if rows and isinstance(rows[0], Attraction) else None,
            )
        )
    yield from sorted(items, key=lambda item: item.starts or "9" * (item.kind == "accommodation"))


def flight_number(text: str) -> str | None:
    flown = re.match(r"flight number\s*:([^,]*)", text.strip(), re.IGNORECASE)
    return flown and flown[1].strip()


def _way(
    item: Item, number: str | None, date: str | None, hours: DayHours | None, world: World
) -> Item:
    """In words, with its hours and one unit of distance for planes and roads."""
    (home, there), number = from_to(item.text), f"{number}, " if number else ""
    item = replace(item, kind=(travel_mode(item.text) or "way").lower())
    label = LABELS.get(item.kind, "Way")
    if home is None or there is None or hours is None or hours.day.leg is None or date is None:
        text = f"{number}{home} to {there}" if there else item.text
        return replace(item, label=label, text=text)
    leg, taken, leaves, facts = hours.day.leg, hours.taken, hours.departure, dict[str, str]()
    facts["Takes"] = leg.duration
    if leg.flight is not None:
        facts["Distance"] = f"{leg.flight.distance_miles * KM_PER_MILE:,.0f} km"
        if ahead := round((taken - (minutes(leg.duration) or 0)) / 30) / 2:
            side = "ahead of" if ahead > 0 else "behind"
            facts["Clocks"] = f"{there} is {abs(ahead):g} h {side} {home}; times are of each city"
        fares = sorted(flight.price_usd for flight in world.flights(home, there, date) or ())
        facts["Why"] = _ranked(fares, leg.flight.price_usd, "flights of this day")
    elif ground := world.ground(home, there):
        facts["Distance"] = ground.distance or ""
    if leaves is None and item.starts is not None:
        leaves = clock_minutes(item.starts[11:])
    if leaves is not None:
        starts = datetime.datetime.fromisoformat(date) + datetime.timedelta(minutes=leaves)
        ends = (starts + datetime.timedelta(minutes=taken)).isoformat(timespec="minutes")
        item = replace(item, starts=starts.isoformat(timespec="minutes"), ends=ends)
    text = f"{number}{home} to {there}"
    return replace(item, label=label, text=text, facts=tuple(facts.items()))


def _facts(
    row: Accommodation | Restaurant | Attraction, query: Query, world: World, nights: int
) -> Iterator[tuple[str, str]]:
    if isinstance(row, Attraction):
        yield "Address", row.address
        return
    if isinstance(row, Accommodation):
        yield "Room", ROOMS_IN_WORDS.get(row.room_type, row.room_type)
        fitting = (stay for stay in stays(query, world, row.city) if stay.fits(nights))
        prices = [stay.night_cost_usd for stay in fitting]
        price = row.price_usd * math.ceil(query.party_size / row.maximum_occupancy)
        what = "stays here that keep your wishes"
    else:
        yield "Kitchen", row.cuisines
        prices = sorted(each.average_cost_usd for each in restaurants(world, row.city))
        price, what = row.average_cost_usd, "places to eat here"
    yield "Why", f"{_ranked(prices, price, what)}, rated {row.rating:g} of 5"


def _ranked(prices: Sequence[float], price: float, what: str) -> str:
    """`prices` are in order."""
    cheaper = bisect.bisect_left(prices, price)
    if len(prices) == 1:
        return "There is no other"
    if cheaper == 0:
        return f"The cheapest of {len(prices)} {what}"
    return f"{cheaper} of {len(prices)} {what} {'is' if cheaper == 1 else 'are'} cheaper"


def _degrees(sight: Attraction) -> tuple[float, float] | None:
    try:
        return float(sight.latitude), float(sight.longitude)
    except ValueError:
        return None


def _seen(transcript: Mapping[str, Any]) -> Iterator[_Shown]:
    calls = [segment["call"] for segment in transcript["segments"] if segment.get("call")]
    for call_number, call in enumerate(calls, start=1):
        rows = call.get("rows") or {}
        fields = rows.get("fields", ())
        at = next((fields.index(key) for key in ("number", "name") if key in fields), None)
        asked = tuple(str(value).lower() for value in call["arguments"].values())
        for number, row in enumerate(rows.get("values", ()), start=1):
            yield _Shown(None if at is None else str(row[at]), asked, (call_number, number))


def _evidence(
    seen: Sequence[_Shown], name: str | None, *asked: str | None
) -> tuple[int, int] | None:
    """Where a row of this name was first shown to somebody who asked for these places. Names come
    twice in a world, and a flight's number is asked for by both of its cities."""
    words = [word.strip().lower() for word in asked if word]
    for row in seen:
        each = iter(row.asked)
        if row.name == name and all(any(word in asked for asked in each) for word in words):
            return row.place
    return None


def _route(query: Query, days: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Stops in the order of travel, home first, and the means between them."""
    stops, means = [query.org], list[str]()
    for day in days:
        city, way = day.get("current_city"), day.get("transportation")
        destination = from_to(city)[1] if isinstance(city, str) else None
        if destination:
            stops.append(name_and_city(f", {destination}")[1].strip() or destination)
            mode = (travel_mode(way) if isinstance(way, str) else None) or ""
            means.append(BY.get(mode.lower(), "way"))
    return stops, means


def _position(city: str, world: World) -> tuple[float | None, float | None]:
    """The middle of its sights, in degrees."""
    sights = world.attractions(city) if city in world.cities else ()
    points = list(filter(None, map(_degrees, sights)))
    if not points:
        return None, None
    return round(fmean(p[0] for p in points), 4), round(fmean(p[1] for p in points), 4)


# ---- the form


LONGEST_TRIP_DAYS = max(CITIES_BY_DAYS)
# fields of the form → of a query's record, and of its wishes
FIELDS = {
    "origin": "org",
    "destination": "dest",
    "cities": "visiting_city_number",
    "party_size": "people_number",
    "budget_usd": "budget",
}
WISHES = {
    "room_type": "room type",
    "house_rules": "house rule",
    "cuisines": "cuisine",
    "transportation": "transportation",
}
ORDER = ("origin", "destination", "depart_date", "return_date", *list(FIELDS)[2:], *WISHES)


def form(place: Place) -> tuple[FormField, ...]:
    world: World = place.source
    cities, first, last = sorted(world.cities), world.dates[0], world.dates[-1]
    where = (*cities, *sorted(world.states))
    to_state = "A city for trips of up to 3 days, a state for longer ones."
    in_state = "In a state: 2 in five days and 3 in seven where nothing is said."
    most, most_usd = max(CITIES_BY_DAYS.values()), LARGEST_BUDGET_USD
    days: dict[str, Any] = {"required": True, "low": first, "high": last}
    of_children = "Each counts as one more person; ages and fares are not known here."
    many: dict[str, Any] = {"low": 1, "high": MOST_PEOPLE}
    usd: dict[str, Any] = {"low": 1, "high": most_usd, "unit": "USD"}
    return (
        FormField("origin", "From", "place", True, tuple(cities), says="from {}"),
        FormField("destination", "To", "place", True, where, help=to_state, says="to {}"),
        FormField("depart_date", "Leave on", "date", **days, says="leaving {}"),
        FormField("return_date", "Return on", "date", **days, says="back {}"),
        FormField(
            "cities", "Cities to visit", "count", low=1, high=most, help=in_state, says="city"
        ),
        FormField("party_size", "People", "count", True, **many, says="person"),
        FormField(
            "children", "Children among them", "count", **many, help=of_children, says="child"
        ),
        FormField("budget_usd", "Budget for all", "money", True, **usd, says="at most {}"),
        FormField("room_type", "Room", "choice", options=tuple(ROOM_TYPES)),
        FormField(
            "house_rules",
            "The house must allow",
            "choices",
            options=tuple(FORBIDDEN_BY_RULE),
            says="{} allowed",
        ),
        FormField("cuisines", "Cuisines", "choices", options=tuple(CUISINES), says="{} food"),
        FormField("transportation", "Transport", "choice", options=TRANSPORTATION),
        FormField(
            "without",
            "Without",
            "texts",
            help="Names of places, or of cities of a state.",
            says="without {}",
        ),
    )


# ---- form → request and back


def request(values: Mapping[str, Any], place: Place) -> Query:
    """Raises FormProblems with all that is wrong of the form."""
    if problems := problems_of(form(place), values):
        raise FormProblems(tuple(problems))
    first = datetime.date.fromisoformat(values["depart_date"])
    days = (datetime.date.fromisoformat(values["return_date"]) - first).days + 1
    if not 2 <= days <= LONGEST_TRIP_DAYS:
        given = f"from {values['depart_date']} to {values['return_date']} there are {days}"
        words = f"A trip takes 2 to {LONGEST_TRIP_DAYS} days; {given}."
        raise FormProblems((FieldProblem("return_date", words),))
    query = _query(values, first, days)
    if unknown_names := tuple(_unknown_names(query, place)):
        raise FormProblems(unknown_names)
    if (wrong := malformed(query, place.source)) is not None:
        kind = wrong.conflict[0].kind
        name = {"dates": "depart_date"}.get(kind, kind)
        raise FormProblems((FieldProblem(name, capitalised(wrong.words)),))
    try:
        words = word_query(random.Random(0), query, "plain")
        words += "".join(
            f" The accommodation must allow {each} too." for each in query.house_rules[1:]
        )
        words += f" Leave out {listed(query.without)}." if query.without else ""
        return query.model_copy(update={"query": words})
    except ValueError as problem:
        raise FormProblems((FieldProblem("destination", str(problem)),)) from None


def _unknown_names(query: Query, place: Place) -> Iterator[FieldProblem]:
    """What is to be left out, and is not there anyway."""
    names = _names(place.source, query.dest) if query.without else []
    field = next(field for field in form(place) if field.name == "without")
    for name in query.without:
        if name not in names:
            yield FieldProblem("without", *unknown(field, name, names, f"in {query.dest}"))


def _names(world: World, place: str) -> list[str]:
    """Cities of a state, and what can be booked, eaten in and seen there or in the city."""
    tables = (world.accommodations, world.restaurants, world.attractions)
    cities = world.states.get(place, [place] if place in world.cities else [])
    return [
        *cities,
        *(row.name.strip() for city in cities for table in tables for row in table(city)),
    ]


def _query(values: Mapping[str, Any], first: datetime.date, days: int) -> Query:
    dates = [str(first + datetime.timedelta(days=day)) for day in range(days)]
    record: dict[str, Any] = {key: values.get(name) for name, key in FIELDS.items()}
    record["visiting_city_number"] = values.get("cities") or next(
        count for longest, count in sorted(CITIES_BY_DAYS.items()) if days <= longest
    )
    wishes = {kind: values.get(name) or None for name, kind in WISHES.items()}
    first_rule, *rules = values.get("house_rules") or [None]
    wishes["house rule"] = first_rule
    record |= {"days": days, "date": dates, "query": "", "local_constraint": wishes}
    besides = Besides(house_rules=rules, without=values.get("without") or [])
    return Query.model_validate(record | ({"besides": besides} if besides != Besides() else {}))


def at_comfort(query: Query, share: float) -> Query:
    besides = query.besides or Besides()
    return query.model_copy(update={"besides": besides.model_copy(update={"comfort": share})})


def values(query: Query) -> dict[str, Any]:
    fields = _values(query.record())
    besides = {"house_rules": query.house_rules, "without": query.without, "children": None}
    return fields | besides | {"cuisines": fields["cuisines"] or []}


def _values(record: Mapping[str, Any]) -> dict[str, Any]:
    """Of a query's record, whole or in part, in the form's order: None for what it does not say."""
    dates, wishes = record.get("date") or [None], record.get("local_constraint", {})
    values = {name: record.get(key) for name, key in FIELDS.items()}
    values |= {"depart_date": dates[0], "return_date": dates[-1]}
    values |= {name: wishes.get(kind) for name, kind in WISHES.items()}
    values["house_rules"] = [wishes["house rule"]] if wishes.get("house rule") else []
    return {name: values[name] for name in ORDER}


# ---- words → form


def _takes(place: Place) -> Takes:
    fields = {"budget": "budget_usd", "room": "room_type", "rule": "house_rules"}
    fields |= {"cuisine": "cuisines", "transport": "transportation"}
    return Takes(fields, around=partial(_names, place.source))


def read(text: str, place: Place) -> Understood:
    """As travellers type, or as official requests are worded: what leaves fewer words unread."""
    fields, cities = form(place), place.source.cities
    typed = travellers.read(text, fields, cities, _takes(place))
    is_whole = not typed.unread and not typed.missing
    if is_whole or len(text) > travellers.LONGEST_TEXT or not text.strip():
        return typed
    try:
        completed = complete({"query": text}, Gazetteer(cities))
    except CouldNotInfer:
        return typed
    found = {name: value for name, value in _values(completed.record).items() if value not in EMPTY}
    names = {key: name for name, key in (*FIELDS.items(), *WISHES.items())}
    names |= {"date": "depart_date", "days": "return_date"}
    spans = [
        Span(each.words[0].start, each.words[-1].end, names[each.field])
        for each in completed.said
        if names.get(each.field) in found
    ]
    if not any(span.field == "party_size" for span in spans):
        del found["party_size"]  # who is not mentioned is asked for
    by_name = {field.name: field for field in fields}
    missing = travellers.unsaid(by_name, _takes(place), found)
    parts = tuple(whole(spans, len(text)))
    return Understood(found, parts, missing, None, sentence(fields, found, missing))


# ---- why there is no plan


def no_plan(query: Query, place: Place) -> NoPlan | None:
    asked, world, plain = query.besides, place.source, query.model_copy(update={"besides": None})
    explanation = explain(plain, world)
    if explanation is None:
        cost = solve(query, world).cost_usd if asked else 0
        if asked is None or (cost is not None and cost <= query.budget):
            return None  # else there are plans until these wishes come on top
        wishes = [f"{rule} allowed" for rule in asked.house_rules]
        wishes += [f"without {name}" for name in asked.without]
        least = "nothing is left" if cost is None else f"the cheapest plan costs {usd(cost)}"
        with_all, without = values(query), values(plain)
        fewer = {name: without[name] for name in without if without[name] != with_all[name]}
        give_up = RequestChange("Give these up", fewer, solve(plain, world).cost_usd)
        return NoPlan((f"With {listed(wishes)} {least}.",), (give_up,))
    query = plain
    before, changes = values(query), []
    for change in repairs(query, place.source):
        after = values(change.query).items()
        differ = {name: value for name, value in after if value != before[name]}
        changes.append(RequestChange(capitalised(change.words), differ, change.cost_usd))
    why = [explanation, *explanation.also]
    return NoPlan(tuple(capitalised(each.words) for each in why), tuple(changes))


DESK = Desk(
    form=form,
    wishes=lambda place: make_queries(place.source, 4, 1),
    read=lambda text, place: travellers.checked(
        read(text, place), lambda values: request(values, place)
    ),
    request=request,
    change=lambda text, values, view, comfort, place: travellers.checked(
        travellers.change(
            *(text, form(place), place.source.cities, _takes(place)), values, view, comfort
        ),
        lambda values: request(values, place),
    ),
    view=view,
    no_plan=no_plan,
    at_comfort=at_comfort,
    swaps=swaps,
    replan=replan,
    planners={
        "expert": "Exact planner",
        "expert-careful": "Careful agent, who knows only what the tools answer",
        "greedy-search": "Greedy search",
    },
    dialect="planner_r1",
    routes="tripwright.domains.travelplanner.routes.plan_routes",
)
