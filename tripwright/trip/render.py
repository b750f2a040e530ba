"""An official-format plan as a page for people in a terminal. It shows whatever is there, however odd: it never judges and never raises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripwright.trip.query import Query

_ROWS = ("transportation", "breakfast", "attraction", "lunch", "dinner", "accommodation")
_LABELS = {"transportation": "travel", "attraction": "see", "accommodation": "stay"}


def render_plan(query: Query, official_plan: Sequence[Any] | None) -> str:
    """The request in one line, then every day with what is filled in."""
    lines = [_request(query)]
    if not official_plan:
        return "\n".join([*lines, "  no plan"])
    for number, day in enumerate(official_plan, start=1):
        if isinstance(day, dict) and day:
            lines += ["", *_day(number, day, query)]
        elif day:
            lines += ["", f"Day {number}  {_printable(day)}"]
    return "\n".join(lines)


def _request(query: Query) -> str:
    party = "1 person" if query.party_size == 1 else f"{query.party_size} people"
    when = f", {query.date[0]} to {query.date[-1]}" if query.date else ""
    wishes = query.local_constraint
    said = [wishes.house_rule and f"{wishes.house_rule} allowed", wishes.room_type, wishes.transportation, *(wishes.cuisine or [])]
    told = "; ".join(str(wish) for wish in said if wish)
    return f"{query.org} to {query.dest}, {query.days} days{when}, {party}, budget ${query.budget:,}" + (f"; {told}" if told else "")


def _day(number: int, day: dict[str, Any], query: Query) -> list[str]:
    date = f" {query.date[number - 1]}" if number <= len(query.date) else ""
    lines = [f"Day {number}{date}  {_printable(day.get('current_city', '?'))}"]
    for key in _ROWS:
        value = day.get(key)
        if value in (None, "", "-", [], {}):
            continue
        pieces = [value]
        if key == "attraction" and isinstance(value, str):
            pieces = [piece.strip() for piece in value.split(";") if piece.strip()]
        for position, piece in enumerate(pieces):
            label = _LABELS.get(key, key) if position == 0 else ""
            lines.append(f"  {label:<10} {_printable(piece)}")
    return lines


def _printable(value: Any) -> str:
    """One line, and no control characters from a model's text into somebody's terminal."""
    text = " ".join(str(value).split())
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)
