"""A finished trip as the travellers' page draws it: the plan view that `show` prints, with the row
that each line rests on, the times of flights, and where the cities lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple, cast

from tripwright.domains.desk import Check, Item, PlanPart, RouteStop, TripView
from tripwright.domains.domain import Place
from tripwright.domains.travelplanner.plan_view import DayLine, plan_view, verdict_words
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import Rules, judge
from tripwright.domains.travelplanner.rules.facts import fact_words
from tripwright.domains.travelplanner.rules.lookup import from_to, name_and_city, travel_mode
from tripwright.verdict import Evidence, Fact
from tripwright.world.store import World


class _Shown(NamedTuple):
    """A row, by its name or number (None: a way by road), with the texts that it was asked by."""

    name: str | None
    asked: frozenset[str]
    place: tuple[int, int]  # (call, row), both from 1


def view(record: Mapping[str, Any], place: Place) -> TripView:
    """Of an episode's record, judged again in this world by the rules that judged it."""
    world: World = place.source
    query = Query.model_validate(record["request"])
    plan: list[Any] = record.get("plan") or []
    rules = (record.get("verdict") or {}).get("rules", "strict")
    verdict = judge(query, plan or None, world, cast(Rules, rules))
    seen = tuple(_seen(record["transcript"]))
    shown = plan_view(query, plan, verdict)
    days = {number: day for number, day in enumerate(plan, start=1) if isinstance(day, dict)}
    parts = [
        PlanPart(
            str(day.number),
            f"Day {day.number}",
            query.date[day.number - 1] if day.number <= len(query.date) else None,
            day.city,
            tuple(_items(day.lines, query, day.number, seen, world)),
            day.cost_usd,
            day.remarks,
        )
        for day in shown.days
    ]
    stops, means = _route(query, days)
    facts = [
        (group, fact)
        for group, facts in (("commonsense", verdict.commonsense), ("hard", verdict.hard))
        for fact in (facts or {}).values()
    ]
    return TripView(
        f"{query.org} to {query.dest}",
        tuple(parts),
        tuple(_check(group, fact) for group, fact in facts),
        verdict.final,
        cost=sum(cost.total_usd for cost in verdict.costs) if verdict.costs else None,
        budget=query.budget,
        route=tuple(RouteStop(city, *_position(city, world)) for city in stops),
        means=tuple(means),
        notes=(f"The plan {verdict_words(verdict)}.", *shown.notes),
    )


def _items(
    lines: Sequence[DayLine], query: Query, day: int, seen: Sequence[_Shown], world: World
) -> Iterator[Item]:
    for line in lines:
        if line.text == "-" and not line.remarks:
            continue
        kind, starts, ends, evidence = line.field, None, None, None
        if kind == "transportation":
            kind = (travel_mode(line.text) or "way").lower()
            number = _flight_number(line.text)
            mode = () if number else (kind.removeprefix("self-"),)
            evidence = _evidence(seen, number, *from_to(line.text), *mode)
            starts, ends = _flight_times(number, query, day, line.text, world)
        else:
            evidence = _evidence(seen, *name_and_city(line.text))
        yield Item(
            kind,
            line.label,
            line.text,
            starts,
            ends,
            line.cost_usd,
            line.count,
            evidence,
            remarks=line.remarks,
        )


def _flight_number(text: str) -> str | None:
    head = text.partition(",")[0]
    label, _, number = head.partition(":")
    return number.strip() if label.strip().lower() == "flight number" else None


def _flight_times(
    number: str | None, query: Query, day: int, text: str, world: World
) -> tuple[str | None, str | None]:
    """Local ISO times; a flight that lands after midnight has no end on its own day."""
    if number is None or day > len(query.date):
        return None, None
    origin, destination = from_to(text)
    date = query.date[day - 1]
    flights = world.flights(origin, destination, date) if origin and destination else None
    for flight in flights or ():
        if flight.number == number:
            start, end = f"{date}T{flight.departure_time}", f"{date}T{flight.arrival_time}"
            return start, end if end > start else None
    return None, None


def _seen(transcript: Mapping[str, Any]) -> Iterator[_Shown]:
    calls = [segment["call"] for segment in transcript["segments"] if segment.get("call")]
    for call_number, call in enumerate(calls, start=1):
        rows = call.get("rows") or {}
        fields = rows.get("fields", ())
        at = next((fields.index(key) for key in ("number", "name") if key in fields), None)
        asked = frozenset(str(value).lower() for value in call["arguments"].values())
        for number, row in enumerate(rows.get("values", ()), start=1):
            yield _Shown(None if at is None else str(row[at]), asked, (call_number, number))


def _evidence(
    seen: Sequence[_Shown], name: str | None, *asked: str | None
) -> tuple[int, int] | None:
    """Where a row of this name was first shown to somebody who asked for these places. Names come
    twice in a world, and a flight's number is asked for by both of its cities."""
    words = [word.strip().lower() for word in asked if word]
    return next(
        (
            row.place
            for row in seen
            if row.name == name and all(any(word in each for each in row.asked) for word in words)
        ),
        None,
    )


def _route(query: Query, days: Mapping[int, Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Stops in the order of travel, home first, and the means between them."""
    stops, means = [query.org], list[str]()
    for day in days.values():
        city, way = day.get("current_city"), day.get("transportation")
        destination = from_to(city)[1] if isinstance(city, str) else None
        if destination:
            stops.append(name_and_city(f", {destination}")[1].strip() or destination)
            means.append(((travel_mode(way) if isinstance(way, str) else None) or "way").lower())
    return stops, means


def _position(city: str, world: World) -> tuple[float | None, float | None]:
    """The middle of its sights, in degrees."""
    points = []
    for sight in world.attractions(city) if city in world.cities else ():
        try:
            points.append((float(sight.latitude), float(sight.longitude)))
        except ValueError:
            continue
    if not points:
        return None, None
    return round(fmean(p[0] for p in points), 4), round(fmean(p[1] for p in points), 4)


def _check(group: str, fact: Fact) -> Check:
    details = tuple(map(_words, fact.evidence)) or ((fact.message,) if fact.message else ())
    return Check(group, fact.name, fact_words(fact), fact.state.value, details)


def _words(evidence: Evidence) -> str:
    where = f"Day {evidence.day}: " if evidence.day else ""
    return (
        where
        + (f"needed {evidence.needed}" if evidence.needed else "not as it must be")
        + (f"; found {evidence.found}" if evidence.found else "")
    )
