"""Numbers, dates and amounts, each said in one of several ways."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date as Date
from typing import NamedTuple

from tripwright.domains.wording import MONTHS, NUMBERS, ordinal


class Range(NamedTuple):
    """The trip's dates: as a range, and its two ends for sentences of their own. `first` has a year
    where `last` is not said."""

    range: str
    first: str
    last: str


def number(rng: random.Random, count: int, words: float = 0.3) -> str:
    """In digits, or with chance `words` as a word where there is one."""
    return NUMBERS[count - 1] if count <= len(NUMBERS) and rng.random() < words else str(count)


def amount(rng: random.Random, usd: int | float) -> str:
    """US dollars, cents only where there are some."""
    text = f"{usd:,}" if isinstance(usd, int) or usd.is_integer() else f"{usd:,.2f}"
    text = text.removesuffix(".0")
    style = rng.random()
    if style < 0.8:
        return f"${text}"
    return f"${text.replace(',', '')}" if style < 0.9 else f"{text} dollars"


def article(noun: str) -> str:
    """'a 3-day trip', 'an 8-day trip'."""
    first = noun.split("-")[0]
    vowel = first.startswith(("8", "a", "e", "i", "o")) or first in ("11", "18")
    return f"{'an' if vowel and not first.startswith('one') else 'a'} {noun}"


def dates(rng: random.Random, days: Sequence[str]) -> Range:
    """In one of the ways of the training requests. Within one year the year is said once, at the
    end."""
    first, last = Date.fromisoformat(days[0]), Date.fromisoformat(days[-1])
    if first.year != last.year:
        return _joined(
            rng,
            *(
                (days[0], days[-1])
                if rng.random() < 0.5
                else (_said(first, True), _said(last, True))
            ),
        )
    style = rng.random()
    if style < 0.12:
        return _joined(rng, days[0], days[-1])
    if style < 0.22:
        return _joined(rng, _of_month(first), f"{_of_month(last)}, {last.year}")
    if first.month == last.month and style < 0.4:
        month, one, two = MONTHS[first.month - 1], first.day, last.day
        compact = (
            f"between {month} {ordinal(one)} and {ordinal(two)}, {last.year}",
            f"from {month} {ordinal(one)} to {ordinal(two)}, {last.year}",
            f"from the {ordinal(one)} to the {ordinal(two)} of {month}, {last.year}",
            f"from {month} {one} to {two}, {last.year}",
        )
        return _joined(rng, _said(first, False), _said(last, True))._replace(
            range=rng.choice(compact)
        )
    if style < 0.5:
        return _joined(
            rng,
            f"{MONTHS[first.month - 1]} {first.day}",
            f"{MONTHS[last.month - 1]} {last.day}, {last.year}",
        )
    return _joined(rng, _said(first, False), _said(last, True))


def day(rng: random.Random, only: str) -> str:
    """One date with its year."""
    return only if rng.random() < 0.3 else _said(Date.fromisoformat(only), True)


def _joined(rng: random.Random, first: str, last: str) -> Range:
    between, to = rng.random() < 0.2, rng.choice(("to", "to", "to", "through"))
    return Range(
        f"between {first} and {last}" if between else f"from {first} {to} {last}", first, last
    )


def _said(date: Date, year: bool) -> str:
    return f"{MONTHS[date.month - 1]} {ordinal(date.day)}" + (f", {date.year}" if year else "")


def _of_month(date: Date) -> str:
    return f"the {ordinal(date.day)} of {MONTHS[date.month - 1]}"
