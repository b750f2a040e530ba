"""The numbers of a request from its text: days, dates, party and budget. Each is one value, or `CouldNotInfer`.

The subtle thing: a text has many numbers, so each is read by the words beside it, and two different answers are none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from tripwright.queries.wishes import CouldNotInfer

CITIES_BY_DAYS = {3: 1, 5: 2, 7: 3}  # row T2
LONGEST_TRIP_DAYS = 60

_WORDS = "one two three four five six seven eight nine ten eleven twelve".split()
_N = rf"([0-9]{{1,2}}|{'|'.join(_WORDS)})"
_DAYS = re.compile(rf"\b{_N}[\s-]+days?\b", re.I)
_WEEK = re.compile(r"\b(?:a|one|1)[\s-]week\b|\bweek-?\s?long\b", re.I)
# "for two exploring three cities" speaks of three cities, and "2 adults from Kansas City" of none
_NO_CITY_WORDS = (
    rf"(?:days?|nights?|people|persons?|individuals?|adults?|to|in|and|for|from|with|of|who|{'|'.join(_WORDS)}"
    r"|(?:visit|explor|tour|cover|see|depart|leav|start|head|travel|go|discover)\w*)\b"
)
_CITIES = re.compile(rf"\b{_N}\s+(?:(?!{_NO_CITY_WORDS})[a-z-]+\s+){{0,3}}?(?-i:[cC]ities|CITIES|city|CITY)\b", re.I)

_MONTHS = "January February March April May June July August September October November December".split()
_MONTH, _DAY, _YEAR = rf"({'|'.join(_MONTHS)})", r"([0-9]{1,2})(?:st|nd|rd|th)?(?![0-9])", r"(?:,?\s+(?:of\s+)?([0-9]{4})\b)?"
_DATE = re.compile(
    rf"\b([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})\b|\b{_MONTH}\s+(?:the\s+)?{_DAY}{_YEAR}|\b{_DAY}\s+(?:of\s+)?{_MONTH}{_YEAR}"
    rf"|(?:\b([0-9]{{1,2}})(?:st|nd|rd|th)|(?<=[0-9a-z])\s?[-\u2013]\s?([0-9]{{1,2}})\b(?!-)"
    rf"|\b(?:to|and|until|through)\s+(?:the\s+)?([0-9]{{1,2}})(?=,?\s+[0-9]{{4}}\b)){_YEAR}"
)

_PEOPLE = r"(?:people|persons?|individuals?|travell?ers?|adults?|tourists?|passengers?|of us)\b"
_PARTY = re.compile(
    rf"\b(?:group|party|family|team) of {_N}\b|\b{_N}[\s-]+{_PEOPLE}|\b{_N}[\s-]person\b"
    rf"|\bfor {_N}(?=[.;:?!]|,(?![0-9])|$|\s+(?:depart|start|leav|from|to|travel|head|going|who|setting|taking|visit|fly|that|with|on"
    r"|between|originat|begin|and|spanning|covering|exploring|touring|lasting|over|for)\w*\b)",
    re.I,
)
_PARTY_NAMES = {r"\b(?:pair|couple|duo)\b": 2, r"\btrio\b": 3}
_ALONE = re.compile(r"\bsolo\b|\balone\b|\bsingle[\s-](?:person|travell?er|individual|adult)\b|\b(?:by myself|on my own)\b", re.I)
_COMPANY = re.compile(
    r"\b(?:[Ww]e|[Oo]ur|us|ourselves|friends?|famil(?:y|ies)|wife|husband|spouse|partner|kids?|child(?:ren)?|sons?|daughters?|parents?"
    r"|colleagues?|guests?|together|people|persons|group|team|members|companions?|adults|travell?ers)\b"
)
_COUNTED_CHILDREN = re.compile(rf"\b{_N}\s+(?:young\s+|small\s+)?(?:kids|child(?:ren)?|infants?|toddlers?)\b", re.I)

_AMOUNT = r"([0-9][0-9,]{0,12}(?:\.[0-9]{1,2})?)(?![0-9])"
_BUDGET = re.compile(rf"(?:\$|USD)\s?{_AMOUNT}|\b{_AMOUNT}\s?(?:US\s)?(?:dollars\b|USD\b)", re.I)
_PARTIAL = re.compile(
    r"\s*(?:dollars?\s*)?(?:k\b|m\b|thousand|million|per\b|(?:for )?each\b|apiece|/|an? (?:day|night|person|head)\b|daily|nightly)", re.I
)
# Of several amounts one is meant: the last of these words before it says whether it is that one.
_NEW_OR_OLD = re.compile(
    r"\b(?:(new|revised|updated|now|(?:adjust|rais|increas|lower|reduc|chang)\w* to)"
    r"|from|not|instead|rather|than|replac\w*|old|original\w*|previous\w*|earlier|initial\w*|first|longer)\b",
    re.I,
)
_CHANGED_FROM = re.compile(
    r"\b(?:adjust|rais|increas|lower|reduc|chang|revis|updat|cut|extend)\w*\s+from\s+(?:\$|USD)?\s?[0-9][0-9,.]*(?:\s+dollars)?\s+to\s+$",
    re.I,
)


def read_days(text: str, known: Mapping[str, Any]) -> int:
    """As said; else as many as the dates."""
    said = {_number(match) for match in _DAYS.findall(text)} | ({7} if _WEEK.search(text) else set())
    if len(said) > 1:
        raise CouldNotInfer(f"the text speaks of {_listed(said)} days")
    if said:
        return said.pop()
    given = known.get("date")
    return len(given) if isinstance(given, list) and given else len(_range(text))


def read_date(text: str, known: Mapping[str, Any]) -> list[str]:
    """Every day from the first to the last. One date alone is the first day of a trip whose length is known."""
    days, found = known.get("days"), _range(text)
    if len(found) == 1 and isinstance(days, int) and 1 <= days <= LONGEST_TRIP_DAYS:
        found = _days_from(found[0], found[0] + timedelta(days=days - 1))
    if isinstance(days, int) and days != len(found):
        raise CouldNotInfer(f"the dates {found[0]} to {found[-1]} are {len(found)} days, the trip takes {days}")
    return [each.isoformat() for each in found]


def read_city_count(text: str, known: Mapping[str, Any]) -> int:
    said = {_number(match) for match in _CITIES.findall(text)}
    if len(said) > 1:
        raise CouldNotInfer(f"the text speaks of {_listed(said)} cities")
    count = said.pop() if said else CITIES_BY_DAYS.get(known.get("days", 0))
    if count is None:
        raise CouldNotInfer("the text does not say how many cities")
    return count


def read_party(text: str, known: Mapping[str, Any]) -> int:
    """People. A text that speaks of one traveller, or of nobody at all, is one person's."""
    said = {_number(next(filter(None, match))) for match in _PARTY.findall(text)}
    said |= {count for name, count in _PARTY_NAMES.items() if re.search(name, text, re.I)}
    said |= {1} if _ALONE.search(text) else set()
    if _COUNTED_CHILDREN.search(text):
        raise CouldNotInfer("the text counts children apart")
    if len(said) > 1:
        raise CouldNotInfer(f"the text speaks of {_listed(said)} people")
    company = _COMPANY.search(text)
    if not said and company:
        raise CouldNotInfer(f"the text says '{company.group()}', but not how many travel")
    return said.pop() if said else 1


def read_budget(text: str, known: Mapping[str, Any]) -> int | float:
    """US dollars for the whole party. Of several amounts, the one that is called new."""
    amounts: dict[float, bool] = {}
    said_before = 0
    for match in _BUDGET.finditer(text):
        if _PARTIAL.match(text, match.end()):
            raise CouldNotInfer(f"'{match.group()}' is not an amount for the whole trip in plain dollars")
        amount = float((match[1] or match[2]).replace(",", ""))
        before = text[max(said_before, match.start() - 60) : match.start()].rpartition(". ")[2]
        words = _NEW_OR_OLD.findall(before)
        is_new = bool(words and words[-1]) or bool(_CHANGED_FROM.search(text[: match.start()]))
        amounts[amount] = amounts.get(amount, False) or is_new
        said_before = match.end()
    chosen = list(amounts) if len(amounts) == 1 else [amount for amount, is_new in amounts.items() if is_new]
    if len(chosen) != 1:
        raise CouldNotInfer(f"the text names {len(amounts) or 'no'} amounts in dollars")
    return int(chosen[0]) if chosen[0].is_integer() else chosen[0]


def _number(said: str) -> int:
    return int(said) if said.isdigit() else _WORDS.index(said.lower()) + 1


def _listed(numbers: set[int]) -> str:
    return " and ".join(str(number) for number in sorted(numbers))


def _range(text: str) -> list[date]:
    """The days between the earliest and the latest date named, both included. A day without month or year has its neighbour's."""
    found = [_parts(match) for match in _DATE.finditer(text)]
    if not any(month for _, month, _ in found):
        raise CouldNotInfer("the text names no date")
    years = {year for year, _, _ in found if year}
    if len(years) != 1 and not (years and all(year and month for year, month, _ in found)):
        raise CouldNotInfer("the dates have no year" if not years else f"the dates lie in the years {_listed(years)}")
    named = set()
    for index, (own_year, month, day) in enumerate(found):
        year = own_year or next(iter(years))
        beside = [found[at][1] for at in (index, index - 1, index + 1) if 0 <= at < len(found) and found[at][1]]
        if beside:
            try:
                named.add(date(year, month or beside[0] or 0, day))
            except ValueError:
                raise CouldNotInfer(f"there is no day {day} in {_MONTHS[(month or beside[0] or 1) - 1]} {year}") from None
    if len(named) > 2:
        raise CouldNotInfer(f"the text names {len(named)} dates")
    return _days_from(min(named), max(named))


def _parts(match: re.Match[str]) -> tuple[int | None, int | None, int]:
    """(year, month, day); the first two may be unsaid."""
    iso_year, iso_month, iso_day, month, day, year, day2, month2, year2, ordinal, dashed, bare, year3 = match.groups()
    if iso_year:
        return int(iso_year), int(iso_month), int(iso_day)
    said_month, said_year = month or month2, year or year2 or year3
    number = _MONTHS.index(said_month) + 1 if said_month else None
    return int(said_year) if said_year else None, number, int(day or day2 or ordinal or dashed or bare)


def _days_from(first: date, last: date) -> list[date]:
    days = (last - first).days + 1
    if days > LONGEST_TRIP_DAYS:
        raise CouldNotInfer(f"the dates {first} and {last} are {days} days apart")
    return [first + timedelta(days=day) for day in range(days)]
