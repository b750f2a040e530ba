"""An empty plan for a person to fill in."""

from __future__ import annotations

import json

from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.query import Query


def empty_plan(query: Query, plan_format: str) -> str:
    """Something to fill in: Planner-R1's JSON with one object a day, or the lines of an
    itinerary."""
    last = query.days
    ends: dict[int, dict[str, str]] = {
        1: {"from": query.org, "to": "…"},
        last: {"from": "…", "to": query.org},
    }
    if plan_format == "json":
        blank = dict.fromkeys(("transportation", "attraction", "accommodation", *MEALS), "-")
        days = [
            {"days": number, "city": ends.get(number, "…"), **blank}
            for number in range(1, last + 1)
        ]
        return "[\n" + ",\n".join(json.dumps(day, ensure_ascii=False) for day in days) + "\n]\n"
    lines = []
    for number in range(1, last + 1):
        end = ends.get(number)
        lines.append(f"Day {number}: {'from {from} to {to}'.format(**end) if end else '…'}")
        lines += [
            f"- {label}: -" for label in ("Travel", "Breakfast", "See", "Lunch", "Dinner", "Stay")
        ]
    return "\n".join(lines) + "\n"
