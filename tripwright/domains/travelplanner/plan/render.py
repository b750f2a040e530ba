"""An official-format plan as rows for people. It shows whatever is there, however odd: it never
judges and never raises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tripwright.domains.travelplanner.plan.plan import OFFICIAL_FIELDS
from tripwright.domains.travelplanner.query import Query
from tripwright.errors import printable

FIELDS = OFFICIAL_FIELDS[1:]  # the city stands in the heading of its day
LABELS = {"transportation": "travel", "attraction": "see", "accommodation": "stay"}


@dataclass(frozen=True)
class DayRows:
    """What one day says: printable text only. A field that says nothing has no pieces; `odd` is a
    day that is no object."""

    number: int
    date: str
    city: str
    pieces: dict[str, list[str]]
    odd: str | None = None


def render_plan(query: Query, official_plan: Sequence[Any] | None) -> str:
    """The request in one line, then every day with what is filled in."""
    lines = [request_line(query)]
    if not official_plan:
        return "\n".join([*lines, "  no plan"])
    for day in day_rows(official_plan, query):
        lines += ["", f"{day_title(day)}  {day.city if day.odd is None else day.odd}"]
        for field, pieces in day.pieces.items():
            labels = [LABELS.get(field, field)] + [""] * len(pieces)
            lines += [
                f"  {label:<10} {piece}" for label, piece in zip(labels, pieces, strict=False)
            ]
    return "\n".join(lines)


def request_line(query: Query) -> str:
    party = (
        "1 person"
        if query.party_size == 1
        else "nobody knows how many"
        if query.party_size is None
        else f"{query.party_size} people"
    )
    when = f", {query.date[0]} to {query.date[-1]}" if query.date else ""
    wishes = query.local_constraint
    clauses = [
        wishes.house_rule and f"{wishes.house_rule} allowed",
        wishes.room_type,
        wishes.transportation,
        *(wishes.cuisine or []),
    ]
    wish_text = "; ".join(str(wish) for wish in clauses if wish)
    budget = (
        "no budget"
        if query.budget is None
        else f"budget {'-' if query.budget < 0 else ''}${abs(query.budget):,}"
    )
    return printable(
        f"{query.org} to {query.dest}, {query.days} days{when}, {party}, {budget}"
        + (f"; {wish_text}" if wish_text else "")
    )


def day_title(day: DayRows) -> str:
    return f"Day {day.number} {day.date}".rstrip()


def day_rows(plan: Sequence[Any], query: Query | None) -> list[DayRows]:
    """Every day but padding (`{}` and null)."""
    dates = query.date if query else []
    rows = []
    for number, day in enumerate(plan, start=1):
        date = printable(dates[number - 1]) if number <= len(dates) else ""
        if isinstance(day, dict) and day:
            city = printable(day.get("current_city", day.get("city", "?")))
            rows.append(
                DayRows(
                    number,
                    date,
                    city,
                    {
                        field: pieces
                        for field in FIELDS
                        if (pieces := _pieces(field, day.get(field)))
                    },
                )
            )
        elif day:
            rows.append(DayRows(number, date, "", {}, printable(day)))
    return rows


def _pieces(field: str, value: Any) -> list[str]:
    if value in (None, "", "-", [], {}):
        return []
    if field == "attraction" and isinstance(value, str):
        return [printable(piece) for piece in value.split(";") if piece.strip()]
    return [printable(value)]


def plan_days(record: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The plan of an episode's record as lines to read, day by day; None where there is none."""
    plan, dates = record.get("plan"), record["request"].get("date")
    if not isinstance(plan, list) or not plan:
        return None
    days = []
    for row in day_rows(plan, None):
        date = (
            printable(dates[row.number - 1])
            if isinstance(dates, list) and row.number <= len(dates)
            else ""
        )
        lines = [[LABELS.get(field, field), *pieces] for field, pieces in row.pieces.items()]
        days.append(
            {
                "number": row.number,
                "date": date,
                "city": row.city if row.odd is None else row.odd,
                "lines": lines,
            }
        )
    return days
