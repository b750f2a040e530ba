"""One plan with its verdict, arranged for a reader: what is wrong stands beside the day and the
line it concerns, what things cost beside the thing. Terminal and desk show the same view.

It shows whatever is there, however odd, and never raises. Evidence names a day and a field of the
official format; all of it is said once more with its constraint.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tripwright.domains.desk import Check, Item, PlanPart, TripView
from tripwright.domains.travelplanner.plan.plan import OFFICIAL_FIELDS
from tripwright.domains.travelplanner.query import Query, request_line
from tripwright.domains.travelplanner.rules.facts import fact_words
from tripwright.errors import counted, printable
from tripwright.verdict import Evidence, Fact, Verdict
from tripwright.world.geography import clock

FIELDS = OFFICIAL_FIELDS[1:]  # the city stands in the heading of its day
LABELS = {"transportation": "travel", "attraction": "see", "accommodation": "stay"}
KINDS = {
    "flight": "flights",
    "self-driving": "driving",
    "taxi": "taxis",
    "breakfast": "breakfasts",
    "lunch": "lunches",
    "dinner": "dinners",
    "accommodation": "stays",
}
MOST_MISSING = 30  # days that a plan lacks are shown up to this one
Remark = tuple[str | None, str]  # what was found, what is wrong


def costs_of(verdict: Verdict | None) -> Sequence[Mapping[str, Any]]:
    """Records of `rules.facts.Cost`."""
    return () if verdict is None else verdict.details.get("costs", ())


def costs_by_kind(verdict: Verdict | None) -> dict[str, float]:
    """Kind of cost → US dollars."""
    kinds = Counter[str]()
    for cost in costs_of(verdict):
        kinds[cost["kind"]] += cost["total_usd"]
    return {words: kinds[kind] for kind, words in KINDS.items() if kind in kinds}


def plan_view(
    query: Query | None,
    plan: Sequence[Any] | None,
    verdict: Verdict | None,
    notes: Sequence[str] = (),
    hours: Mapping[tuple[int, str, int], float] | None = None,
) -> TripView:
    """`plan` in the official format or whatever came instead; without a verdict, the plan alone.
    Padding (`{}` and null) is no day. Of a judged plan the days are shown that it lacks, too:
    something is wrong with them. `notes` say what keeps the view from being whole, and why. `hours`
    is a timetable of `rules.livable`."""
    days = {number: day for number, day in enumerate(plan or (), start=1) if day}
    if query and plan and verdict:
        for number in range(1, min(query.days, MOST_MISSING) + 1):
            days.setdefault(number, None)
    remarks: dict[int, dict[str, list[Remark]]] = {number: defaultdict(list) for number in days}
    for fact in verdict.failed if verdict else ():
        for each in fact.evidence:
            if each.day in remarks:
                remark = (each.found, f"{fact_words(fact)}: {_needed(each)}")
                remarks[each.day][each.field or "current_city"].append(remark)
    return TripView(
        request_line(query) if query else "A plan without its request",
        tuple(
            _day(number, days[number], query, verdict, remarks[number], hours or {})
            for number in sorted(days)
        ),
        tuple(
            Check(group.name, fact.name, fact_words(fact), fact.state.value, _details(fact))
            for group in (verdict.groups[1:] if verdict else ())
            for fact in (group.facts or {}).values()
        ),
        verdict is not None and verdict.final,
        cost=verdict.details["total_cost"] if verdict and costs_of(verdict) else None,
        budget=query.budget if query else None,
        notes=(*notes, *_notes(plan, verdict)),
    )


def _day(
    number: int,
    day: Any,
    query: Query | None,
    verdict: Verdict | None,
    remarks: dict[str, list[Remark]],
    hours: Mapping[tuple[int, str, int], float],
) -> PlanPart:
    city, fields = "nothing planned" if day is None else printable(day), dict[str, Any]()
    if isinstance(day, dict):
        city, fields = printable(day.get("current_city", day.get("city", "?"))), day
    day_costs = [cost for cost in costs_of(verdict) if cost["day"] == number]
    date = query.date[number - 1] if query and number <= len(query.date) else None
    items: list[Item] = []
    for field in [*FIELDS, *(field for field in remarks if field not in OFFICIAL_FIELDS)]:
        pieces = _pieces(field, fields.get(field)) if field in FIELDS else []
        if pieces or field in remarks:
            costs = [cost for cost in day_costs if _field_of(cost) == field]
            found = _items(field, pieces or ["-"], remarks.get(field, []), costs)
            begins = (hours.get((number, field, i)) for i in range(len(found)))
            items += [
                item if at is None else replace(item, starts=f"{date}T{clock(at)}")
                for item, at in zip(found, begins, strict=True)
            ]
    beyond = query is not None and number > query.days
    return PlanPart(
        str(number),
        f"Day {number}",
        None if date is None else printable(date),
        f"{city}  (after the last day of the trip)" if beyond else city,
        tuple(items),
        sum(cost["total_usd"] for cost in day_costs) if day_costs else None,
        tuple(_under([city], remarks.get("current_city", []))[0]),
    )


def _field_of(cost: Mapping[str, Any]) -> str:
    kind: str = cost["kind"]
    return "transportation" if kind in ("flight", "self-driving", "taxi") else kind


def _pieces(field: str, value: Any) -> list[str]:
    if value in (None, "", "-", [], {}):
        return []
    if field == "attraction" and isinstance(value, str):
        return [printable(piece) for piece in value.split(";") if piece.strip()]
    return [printable(value)]


def _items(
    field: str, pieces: list[str], remarks: list[Remark], costs: list[Mapping[str, Any]]
) -> list[Item]:
    """The first has the label of the field, and what the whole field costs."""
    total = sum(cost["total_usd"] for cost in costs) if costs else None
    counts = ((cost["count"], usd(cost["unit_usd"])) for cost in costs if cost["count"] != 1)
    count = ", ".join(f"{number} × {price}" for number, price in counts)
    first, *more = (
        Item(field, "", piece, remarks=tuple(wrong))
        for piece, wrong in zip(pieces, _under(pieces, remarks), strict=True)
    )
    return [replace(first, label=LABELS.get(field, field), cost=total, count=count), *more]


def _under(pieces: list[str], remarks: list[Remark]) -> list[list[str]]:
    """The remarks for each piece. One about a piece stands under it; any other under the last, and
    says what it is about."""
    under: list[list[str]] = [[] for _ in pieces]
    for found, remark in remarks:
        value = None if found is None else printable(found)
        if value and value in pieces:
            under[pieces.index(value)].append(remark)
        else:
            under[-1].append(remark if value is None else f"{remark} (found {value})")
    return under


def _details(fact: Fact) -> tuple[str, ...]:
    """What was found for it, or why it has none."""
    told = tuple(map(_evidence_words, fact.evidence))
    return told or ((printable(fact.message),) if fact.message else ())


def _evidence_words(evidence: Evidence) -> str:
    where = ", ".join([f"day {evidence.day}", *filter(None, [evidence.field])])
    found = f" (found {printable(evidence.found)})" if evidence.found else ""
    return f"{where + ': ' if evidence.day else ''}{_needed(evidence)}{found}"


def _needed(evidence: Evidence) -> str:
    return f"needed {printable(evidence.needed)}" if evidence.needed else "not as it must be"


def _notes(plan: Sequence[Any] | None, verdict: Verdict | None) -> list[str]:
    if not plan:
        return ["There is no plan."]
    if verdict is None:
        return []
    if verdict.error:
        return [f"These rules cannot judge the plan: {verdict.error}. It counts as failed."]
    if verdict.delivered and verdict.group("hard").facts is None:
        return [
            "The hard constraints and the costs were not evaluated: the plan is not complete, or"
            " names what this world does not have."
        ]
    return []


def verdict_words(verdict: Verdict) -> str:
    if verdict.final:
        return f"passes the {verdict.rules} rules"
    failed = len(verdict.failed)
    broken = f": {counted(failed, 'constraint')} broken" if failed else ""
    return f"fails the {verdict.rules} rules{broken}"


def usd(amount: float) -> str:
    return f"${amount:,.2f}"


def plan_page(record: Mapping[str, Any]) -> str | None:
    """The plan of an episode's record as Markdown, day by day; None where there is none."""
    plan = record.get("plan")
    if not isinstance(plan, list) or not plan:
        return None
    days = []
    for day in plan_view(None, plan, None).parts:
        lines: list[str] = []
        for item in day.items:
            if item.label:
                lines.append(f"- {item.label}: {item.text}")
            else:
                lines[-1] += f"; {item.text}"
        days.append("\n".join([f"**{day.title}: {day.where}**\n", *lines]))
    return "\n\n".join(days)
