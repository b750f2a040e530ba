"""One plan with its verdict, arranged for a reader: what is wrong stands beside the day and the
line it concerns, what things cost beside the thing. Terminal and page show the same view.

Evidence names a day and a field of the official format; where it names none, or a day that the plan
does not have, it is said at the end, with the constraints whose failure came without evidence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tripwright.domains.travelplanner.plan.plan import OFFICIAL_FIELDS
from tripwright.domains.travelplanner.plan.render import (
    FIELDS,
    LABELS,
    DayRows,
    day_rows,
    day_title,
    request_line,
)
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import Cost, PlanVerdict, fact_words
from tripwright.errors import printable
from tripwright.verdict import Evidence, Fact, State

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
# (day, field) → (what was found, what is wrong)
Remarks = dict[tuple[int | None, str | None], list[tuple[str | None, str]]]
SIGNS = {State.PASSED: "✓", State.FAILED: "✗", State.NOT_APPLICABLE: "–", State.NOT_EVALUATED: "–"}


@dataclass(frozen=True)
class DayLine:
    """One piece of a day: `label` only on the first of a `field`; `remarks` are what is wrong with
    it."""

    field: str
    label: str
    text: str
    cost_usd: float | None = None
    count: str = ""  # "4 × $36.00"
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class DayView:
    number: int
    title: str
    city: str
    lines: tuple[DayLine, ...]
    remarks: tuple[str, ...]  # about the day as a whole
    cost_usd: float | None
    sign: str  # ✓ nothing is wrong with it, ✗ something is; empty where nobody judged it


@dataclass(frozen=True)
class FactView:
    sign: str
    state: State
    words: str
    details: tuple[str, ...]  # of a failure: what is not said beside a day already


@dataclass(frozen=True)
class PlanView:
    request: str
    days: tuple[DayView, ...]
    facts: dict[str, tuple[FactView, ...]]  # "commonsense", "hard"; empty where not evaluated
    verdict: PlanVerdict | None
    budget_usd: float | None
    notes: tuple[str, ...]  # what keeps the view from being whole, and why

    @property
    def by_kind(self) -> dict[str, dict[int, float]]:
        """Kind of cost → day → US dollars."""
        kinds: dict[str, dict[int, float]] = {}
        for kind, words in KINDS.items():
            for cost in self.verdict.costs if self.verdict else ():
                if cost.kind == kind:
                    days = kinds.setdefault(words, {})
                    days[cost.day] = days.get(cost.day, 0.0) + cost.total_usd
        return kinds


def plan_view(
    query: Query | None,
    plan: Sequence[Any] | None,
    verdict: PlanVerdict | None,
    notes: Sequence[str] = (),
) -> PlanView:
    """`plan` in the official format or whatever came instead; without a verdict, the plan alone."""
    rows = (
        _whole_trip(day_rows(plan or (), query), query)
        if plan and verdict
        else day_rows(plan or (), query)
    )
    numbers = {day.number for day in rows}
    remarks: Remarks = defaultdict(list)
    facts = _facts(verdict, numbers) if verdict else {}
    for fact in _failed(verdict):
        for each in fact.evidence:
            if each.day in numbers:
                remarks[each.day, each.field].append(
                    (each.found, f"{fact_words(fact)}: {_needed(each)}")
                )
    costs: dict[tuple[int, str], list[Cost]] = defaultdict(list)
    for cost in verdict.costs if verdict else ():
        costs[
            cost.day,
            "transportation" if cost.kind in ("flight", "self-driving", "taxi") else cost.kind,
        ].append(cost)
    is_judged = verdict is not None and verdict.commonsense is not None
    days = tuple(
        _day(day, query.days if query else None, is_judged, remarks, costs) for day in rows
    )
    request = request_line(query) if query else "A plan without its request"
    return PlanView(
        request,
        days,
        facts,
        verdict,
        query.budget if query else None,
        (*notes, *_notes(plan, verdict)),
    )


def _whole_trip(rows: list[DayRows], query: Query | None) -> list[DayRows]:
    """With a row for each day of the trip that the plan says nothing about: something is wrong with
    that day too."""
    there = {day.number for day in rows}
    dates = dict(enumerate(query.date, start=1)) if query else {}
    missing = (
        [number for number in range(1, min(query.days, MOST_MISSING) + 1) if number not in there]
        if query
        else []
    )
    nothing = [
        DayRows(number, printable(dates.get(number, "")), "nothing planned", {})
        for number in missing
    ]
    return sorted([*rows, *nothing], key=lambda day: day.number)


def _day(
    day: DayRows,
    trip_days: int | None,
    is_judged: bool,
    remarks: Remarks,
    costs: dict[tuple[int, str], list[Cost]],
) -> DayView:
    lines: list[DayLine] = []
    own_remarks: dict[str, list[tuple[str | None, str]]] = defaultdict(list)
    for (number, field), field_remarks in remarks.items():
        if number == day.number:
            own_remarks[field or "current_city"] += field_remarks
    for field in [*FIELDS, *(field for field in own_remarks if field not in OFFICIAL_FIELDS)]:
        pieces = day.pieces.get(field, [])
        if pieces or field in own_remarks:
            lines += _lines(
                field, pieces or ["-"], own_remarks.get(field, []), costs[day.number, field]
            )
    city = day.city if day.odd is None else day.odd
    whole = _under([city], own_remarks.get("current_city", []))[0]
    total = [
        cost.total_usd
        for (number, _), piece_costs in costs.items()
        if number == day.number
        for cost in piece_costs
    ]
    beyond = trip_days is not None and day.number > trip_days
    sign = "✗" if own_remarks else "✓" if is_judged and lines and not beyond else ""
    city += "  (after the last day of the trip)" if beyond else ""
    return DayView(
        day.number,
        day_title(day),
        city,
        tuple(lines),
        tuple(whole),
        sum(total) if total else None,
        sign,
    )


def _lines(
    field: str, pieces: list[str], remarks: list[tuple[str | None, str]], costs: list[Cost]
) -> list[DayLine]:
    under = _under(pieces, remarks)
    total = sum(cost.total_usd for cost in costs) if costs else None
    count = ", ".join(f"{cost.count} × {usd(cost.unit_usd)}" for cost in costs if cost.count != 1)
    first = DayLine(field, LABELS.get(field, field), pieces[0], total, count, tuple(under[0]))
    return [
        first,
        *(
            DayLine(field, "", piece, remarks=tuple(under[i]))
            for i, piece in enumerate(pieces[1:], start=1)
        ),
    ]


def _under(pieces: list[str], remarks: list[tuple[str | None, str]]) -> list[list[str]]:
    """The remarks for each piece. One about a piece stands under it; any other under the last, and
    says what it is about."""
    under: list[list[str]] = [[] for _ in pieces]
    for value, remark in remarks:
        at = next(
            (i for i, piece in enumerate(pieces) if value and piece == printable(value)), None
        )
        text = remark if at is not None or value is None else f"{remark} (found {printable(value)})"
        under[len(pieces) - 1 if at is None else at].append(text)
    return under


def _facts(verdict: PlanVerdict, days: set[int]) -> dict[str, tuple[FactView, ...]]:
    groups = {"commonsense": verdict.commonsense, "hard": verdict.hard}
    return {
        group: tuple(_fact(fact, days) for fact in (facts or {}).values())
        for group, facts in groups.items()
    }


def _fact(fact: Fact, days: set[int]) -> FactView:
    details: list[str] = []
    if fact.passed is False:
        beside = sorted(
            {each.day for each in fact.evidence if each.day is not None and each.day in days}
        )
        elsewhere = [each for each in fact.evidence if each.day not in days]
        whole = [_elsewhere(each) for each in elsewhere]
        details = [f"see day {', '.join(map(str, beside))}"] if beside else []
        details += whole or ([printable(fact.message)] if fact.message and not beside else [])
    aside = (
        ""
        if fact.passed is not None
        else ": not asked for"
        if fact.state is State.NOT_APPLICABLE
        else ": not evaluated"
    )
    return FactView(SIGNS[fact.state], fact.state, fact_words(fact) + aside, tuple(details))


def _failed(verdict: PlanVerdict | None) -> list[Fact]:
    groups = (verdict.commonsense, verdict.hard) if verdict else ()
    return [fact for facts in groups for fact in (facts or {}).values() if fact.passed is False]


def _elsewhere(evidence: Evidence) -> str:
    where = ", ".join(
        str(part)
        for part in (evidence.day and f"day {evidence.day}", evidence.day and evidence.field)
        if part
    )
    return f"{where + ': ' if where else ''}{_needed(evidence)}" + (
        f" (found {printable(evidence.found)})" if evidence.found else ""
    )


def _needed(evidence: Evidence) -> str:
    return f"needed {printable(evidence.needed)}" if evidence.needed else "not as it must be"


def _notes(plan: Sequence[Any] | None, verdict: PlanVerdict | None) -> list[str]:
    if not plan:
        return ["There is no plan."]
    if verdict is None:
        return []
    if verdict.error:
        return [f"These rules cannot judge the plan: {verdict.error}. It counts as failed."]
    if verdict.hard is None and verdict.delivered:
        return [
            "The hard constraints and the costs were not evaluated: the plan is not complete, or"
            " names what this world does not have."
        ]
    return []


def verdict_words(verdict: PlanVerdict) -> str:
    failed = len(_failed(verdict))
    if verdict.final:
        return f"passes the {verdict.rules} rules"
    return f"fails the {verdict.rules} rules" + (
        f": {failed} {'constraint is' if failed == 1 else 'constraints are'} broken"
        if failed
        else ""
    )


def budget_words(total_usd: float, budget_usd: float | None) -> tuple[str, str]:
    """(sign, words)"""
    if budget_usd is None:
        return "–", "the request states no budget"
    left = budget_usd - total_usd
    return (
        ("✓", f"{usd(left)} of {usd(budget_usd)} left")
        if left >= 0
        else ("✗", f"{usd(-left)} over the budget of {usd(budget_usd)}")
    )


def usd(amount: float) -> str:
    return f"${amount:,.2f}"
