"""Short English phrases of the planner's explanations: counts, sums of money, lists of names, stays
to look for."""

from __future__ import annotations

from collections.abc import Sequence

from tripwright.domains.wording import listed
from tripwright.errors import counted

MOST_NAMED = 6  # cities of one kind that are listed by name


def people(count: int) -> str:
    return "1 person" if count == 1 else f"{count} people"


def nights_phrase(count: int) -> str:
    return counted(count, "night")


def span(numbers: Sequence[int]) -> str:
    """ "3", "1 to 3", "1 or 3"."""
    if len(numbers) > 2 and len(numbers) == numbers[-1] - numbers[0] + 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return listed([str(number) for number in numbers], word="or")


def usd(amount: float) -> str:
    return (
        f"-{usd(-amount)}"
        if amount < 0
        else f"${amount:,.0f}"
        if amount == int(amount)
        else f"${amount:,.2f}"
    )


def stay_phrase(room: str | None, rule: str | None) -> str:
    """Without an article: "private room that allows pets"."""
    if room == "not shared room":
        return f"unshared room{f' that allows {rule}' if rule else ''}"
    return (room or "stay") + (f" that allows {rule}" if rule else "")


def some_of(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return listed(names) if more <= 1 else f"{', '.join(names[:MOST_NAMED])} and {more} more"
