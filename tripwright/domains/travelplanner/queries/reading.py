"""From a request's text to its fields, for requests that come without them (the hidden test split):
deterministic, and never a guess.

A given value always wins; only what is absent is read from the text, and is named in
`CompleteQuery.inferred`. What the text does not decide is `CouldNotInfer`, with the reason. Names
are looked for in the world's own list of cities and states, each at a place where the words before
it say "from here" or "to there". Two conventions of the benchmark are relied on where a text is
silent: trips of 3, 5 and 7 days visit 1, 2 and 3 cities, and somebody who mentions no company
travels alone.

A text has many numbers, so each is read by the words beside it, and two different answers are none.
Wishes are read in `wishes`. Whether a text says what its structured request says, `mismatches`
tells: every field is read from the text alone and compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from typing import Any

from tripwright.domains.travelplanner.queries.wishes import WISHES, CouldNotInfer
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.wording import MONTHS, NUMBERS

LONGEST_TEXT = 5_000  # characters; the official requests have a few hundred
# a record may say null here: the official code has an answer to it
NULL_IS_GIVEN = ("budget", "people_number")
# in this order: one may need another
READ = ("days", "date", "visiting_city_number", "org", "dest", "people_number", "budget")
FIELDS = ("org", "dest", "days", "date", "visiting_city_number", "people_number", "budget", *WISHES)

CITIES_BY_DAYS = {3: 1, 5: 2, 7: 3}  # row T2
LONGEST_TRIP_DAYS = 60

_N = rf"([0-9]{{1,2}}|{'|'.join(NUMBERS)})"
_DAYS = re.compile(rf"\b{_N}[\s-]+days?\b", re.I)
_WEEK = re.compile(r"\b(?:a|one|1)[\s-]week\b|\bweek-?\s?long\b", re.I)
# "for two exploring three cities" speaks of three cities, and "2 adults from Kansas City" of none
_NO_CITY_WORDS = (
    rf"(?:days?|nights?|people|persons?|individuals?|adults?|to|in|and|for|from|with|of|who|{'|'.join(NUMBERS)}"
    r"|(?:visit|explor|tour|cover|see|depart|leav|start|head|travel|go|discover)\w*)\b"
)
_CITIES = re.compile(
    rf"\b{_N}\s+(?:(?!{_NO_CITY_WORDS})[a-z-]+\s+){{0,3}}?(?-i:[cC]ities|CITIES|city|CITY)\b", re.I
)

_MONTH, _DAY, _YEAR = (
    rf"({'|'.join(MONTHS)})",
    r"([0-9]{1,2})(?:st|nd|rd|th)?(?![0-9])",
    r"(?:,?\s+(?:of\s+)?([0-9]{4})\b)?",
)
_DATE = re.compile(
    rf"\b([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})\b|\b{_MONTH}\s+(?:the\s+)?{_DAY}{_YEAR}|\b{_DAY}\s+(?:of\s+)?{_MONTH}{_YEAR}"
    rf"|(?:\b([0-9]{{1,2}})(?:st|nd|rd|th)|(?<=[0-9a-z])\s?[-\u2013]\s?([0-9]{{1,2}})\b(?!-)"
    rf"|\b(?:to|and|until|through)\s+(?:the\s+)?([0-9]{{1,2}})(?=,?\s+[0-9]{{4}}\b)){_YEAR}"
)

_SLASHED = re.compile(r"\b[0-9]{1,4}/[0-9]{1,2}/[0-9]{1,4}\b")
_NOT_ON = re.compile(r"\b(?:after|before|around|about|not|except)\s+(?:on\s+)?(?:the\s+)?$", re.I)

_PEOPLE = r"(?:people|persons?|individuals?|travell?ers?|adults?|tourists?|passengers?|of us)\b"
_WHOLE = r"\b(?<![\w$][-\u2013/.,])"  # not the end of "2-4 people" or "twenty-two people"
_PARTY = re.compile(
    r"\b(?:group|party|family|team) of"
    rf" {_N}\b|{_WHOLE}{_N}[\s-]+{_PEOPLE}|{_WHOLE}{_N}[\s-]person\b"
    r"|\bfor"
    rf" {_N}(?=[.;:?!]|,(?![0-9])|$|\s+(?:depart|start|leav|from|to|travel|head|going|who|setting|taking|visit|fly|that|with|on"  # noqa: E501
    r"|between|originat|begin|and|spanning|covering|exploring|touring|lasting|over|for)\w*\b)",
    re.I,
)
_PARTY_NAMES = {r"\b(?:pair|couple(?! of\b)|duo)\b": 2, r"\btrio\b": 3}
_ALONE = re.compile(
    r"\bsolo\b|\balone\b|\bsingle[\s-](?:person|travell?er|individual|adult)\b|\b(?:by myself|on my"
    r" own)\b",
    re.I,
)
_KIN = (
    r"friends?|famil(?:y|ies)|wife|husband|spouse|partner|fianc\w+|(?:boy|girl)friends?|sons?|daughters?|parents?|(?:grand)?(?:mother"
    r"|father)s?"
    r"|grandparents?|grand(?:ma|pa)|moms?|dads?|mum|brothers?|sisters?|siblings?|cousins?|uncles?|aunts?|nephews?|nieces?|colleagues?"
    r"|co-?workers?|companions?|budd(?:y|ies)|room-?mates?|classmates?|teammates?|neighbou?rs?|boss"
)
_CHILDREN = (
    r"kids?|child(?:ren)?|bab(?:y|ies)|newborns?|infants?|toddlers?|teen(?:ager)?s?|boys?|girls?"
)
_COMPANY = re.compile(
    rf"\b(?:[Ww]e|[Oo]ur|us|ourselves|{_KIN}|{_CHILDREN}|guests?|together|people|persons|group|team|members|adults|travell?ers|couples?"
    rf"|men|women"
    r"|man|woman|ladies|guys|students|seniors|retirees|everyone|everybody|both of)\b"
)
_COUNTED_CHILDREN = re.compile(
    rf"\b{_N}\s+(?:young\s+|small\s+|little\s+)?(?:kids|child(?:ren)?|infants?|toddlers?)\b|\b(?:bab(?:y|ies)|newborns?)\b",
    re.I,
)
# Somebody beside those who are counted: "a couple and their two friends", "2 people with our kids",
# "my wife and 2 people".
_SOME_OF = rf"(?:an?|the|my|our|their|his|her|some|several|few|young|small|little|old|best|good|{'|'.join(NUMBERS)}|[0-9]{{1,2}})"  # noqa: E501
_APART = re.compile(
    r"\b(?:and|plus|along"
    rf" with|including|counting|with|without|except|minus)\s+(?:{_SOME_OF}\s+){{0,3}}(?:{_KIN}|men|women|couples?)\b"  # noqa: E501
    rf"|\b(?:and|plus|along with|including|counting)\s+(?:{_SOME_OF}\s+){{1,3}}(?:{_CHILDREN})\b"
    rf"|\b(?:{_PEOPLE}|{'|'.join(NUMBERS)}|[0-9]{{1,2}}|couple|pair|duo|trio)\s+(?:and|plus|with|\+|&)\s+(?:{_CHILDREN})\b"
    rf"|\bwith\s+(?!young\b|small\b|little\b)(?:{_SOME_OF}\s+){{1,3}}(?:{_CHILDREN})\b"
    rf"|\b(?:{_KIN}|{_CHILDREN}|I|me|myself|{_PEOPLE})\s+(?:and|plus)\s+(?:the\s+)?(?:other\s+)?(?:{'|'.join(NUMBERS)}|[0-9]{{1,2}})\b"
    r"|\band their\b|\bplus (?:me|us|one|myself)\b|\bnot (?:counting|including)"
    r" (?:me|us|myself|our|my|the)\b"
    rf"|\bcouples\b|\bpairs\b|\bjoin(?:s|ed|ing)?\s+(?:us|me)\b|\b(?:{'|'.join(NUMBERS)}|[0-9]{{1,2}})\s+(?:more|other|additional"
    rf"|extra)\s+{_PEOPLE}",
    re.I,
)
# "half of the 8 people", "up to 4 people", "2 or 3 people": a number beside the words of a party,
# and not how many they are
_NOT_ALL = re.compile(
    rf"(?:\b(?:half|most|some|part|all but|(?:{'|'.join(NUMBERS)}) of|any of|at least|at most|up"
    r" to|(?:more|fewer|less) than|over|under"
    rf"|almost"
    rf"|nearly|about|around|roughly|approximately|maybe|perhaps|another|other|extra|not)(?:\s+(?:of|the|our|us|a|an|for))*"
    rf"|\b(?:{'|'.join(NUMBERS)}|[0-9]{{1,2}})\s*(?:or|to|-|\u2013))\s*$",
    re.I,
)
_OR_SO = re.compile(
    r"\s*(?:\+|(?:or|and)"
    rf" (?:so|more|fewer|less|thereabouts|up)\b|(?:to|or|-|\u2013)\s*(?:{'|'.join(NUMBERS)}"
    rf"|[0-9]{{1,2}})\b(?!\s+(?:\w+\s+)?cit))",
    re.I,
)
_FOR_SOME = re.compile(
    r"\b(?:for|class of|crew of|club of)"
    rf" {_N}\b(?!,[0-9]|\s*[,-]?\s*(?:days?|nights?|weeks?|hours?|dollars|(?:\w+ )?cit))",
    re.I,
)
_KIN_ANYWHERE = re.compile(rf"\b(?:{_KIN})\b", re.I)

_AMOUNT = r"([0-9][0-9,]{0,12}(?:\.[0-9]{1,2})?)(?![0-9])"
_BUDGET = re.compile(rf"(?:\$|USD)\s?{_AMOUNT}|\b{_AMOUNT}\s?(?:US\s)?(?:dollars\b|USD\b)", re.I)
_PARTIAL = re.compile(
    r"\s*(?:dollars?\s*)?(?:[.,][0-9]|(?<=\s)[0-9]{3}\b(?!-)|k\b|m\b|thousand|million|per\b|(?:for"
    r" )?each\b|apiece|/|\+|an? (?:day"
    r"|night|person|head)\b|daily|nightly"
    r"|[-\u2013\u2014~]\s*(?:\$|USD)?\s?[0-9]|(?:to|or|and)"
    r" [0-9][0-9,]{2,}(?![0-9,]*(?:\.[0-9]+)?\s?(?:dollars|USD)|-)"
    r"|(?:less|more|extra|short|over|under|off|left|below|above|aside|of"
    r" (?:it|this|that|which))\b|CAD|AUD|Canadian|Australian"
    r"|[\s,(]*(?:exclud|excl\b|not (?:includ|count|cover)|without|before|after|net"
    r" of|besides|aside|apart|plus|minus)"
    r"|(?:just |only |alone )?(?:for|on) (?:the |our |my"
    r" )?(?:hotels?|flights?|food|meals?|lodgings?|accommodations?|rooms?|dining"
    r"|airfare)\b)",
    re.I,
)
# What stands before an amount that is no budget: a part of one, a change by so much, a debt, the
# end of a range, somebody's share.
_NO_BUDGET_BEFORE = re.compile(
    r"(?:\b(?:by|at least|minimum(?: of)?|half(?: of)?|double|twice|triple)(?:\s+(?:the|a|our|my))*"
    r"|(?<!not )(?<!no )\b(?:more than|exceeding|beyond)"
    r"|\b(?:tickets?|fares?|ow(?:e|es|ed|ing)|sav(?:e|es|ed|ing|ings)|paid|spent|won|lost|earn\w*|deposit\w*|tips?|tipped"
    r"|borrow\w*|refund\w*"
    r"|discount\w*)\b[^.;?!]*"
    r"|\b(?:each|apiece|per"
    r" (?:person|head|capita|travell?er|day|night)|everyone|everybody|daily|nightly|weekly|hotel|food|flight|meal"  # noqa: E501
    r"|dining"
    r"|lodging|accommodation|room|transport\w*|per-person)\b(?!"
    r" (?:city|stop|place|state))(?:\s+[\w']+){0,4}"
    r"|[0-9]\s*(?:[-\u2013\u2014]|\b(?:to|or))|\bbetween\s+[0-9][0-9,.]*\s+and|\b(?!US\b)(?-i:[A-Z]{1,3}))\s*$",
    re.I,
)
_IN_PART_AFTER = re.compile(
    r"[^.!?;]*\b(?:each\b(?! (?:city|stop|place|state))|per"
    r" (?:person|head|day|night)|apiece|half|doubled?|times|give or take|or more"
    r"|maybe|perhaps|saved)\b",
    re.I,
)
_WHOLE_AMOUNT = re.compile(r"[0-9]+(?:\.[0-9]+)?,?|[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?,?")
_NOT_THIS = re.compile(r"\bnot\s+(?:\$|USD)", re.I)
_OTHER_MONEY = re.compile(
    r"[\u20ac\u00a3\u00a5]|\b(?:euros?|pounds"
    r" sterling|GBP|EUR|pesos?|yen|hundred|thousand|million)\b",
    re.I,
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

# ---- places

_CAPITALISED = re.compile(
    r"\s+(?!(?:January|February|March|April|May|June|July|August|September|October|November|December)\b)[A-Z][a-z]"
)
_FROM = re.compile(
    r"\b(?:from|out of)\s+$|\b(?:depart|leav|start|begin|originat|commenc|set(?:ting)?"
    r" (?:off|out)|tak(?:e|ing) off|kick(?:ing)? off"
    r"|live|living|based|resid)\w*(?:\s+(?:out|off|our|my|the|this|trip|journey|travels?|vacation|tour|adventure))*"
    r"(?:\s+(?:in|from|at|of))?\s+$"
    r"|\b(?:starting|departure) (?:point|city|place)(?:\s+(?:is|will be|being|of))?:?\s+$",
    re.I,
)
_TO = re.compile(
    r"\b(?:to|towards?|into|in|across|through(?:out)?|around|within|visit(?:ing|s)?|explor(?:e|es|ing)|tour(?:ing|s)?|of|for"
    r"|cover(?:ing|s)?|includ(?:es?|ing)|see(?:ing)?|discover(?:ing)?|reach(?:ing)?|enjoy(?:ing)?|[0-9]{1,2}|one|two|three)\s+"
    r"(?:the\s+)?(?:(?:state|city) of\s+)?$|\bdestinations?(?:\s+(?:is|are|will"
    r" be|being|of))?:?\s+$",
    re.I,
)
_UNWANTED = re.compile(
    r"\b(?:not|never|no|except|avoid\w*|exclud\w*|skip\w*|without|but|besides|other than|rather"
    r" than|instead of|apart from|aside from"
    r"|outside"
    r"|bypass\w*|n't)\s+(?:(?:to|in|for|of|via|through|visit\w*|see(?:ing)?|the|go|going|stop\w*|include|including|any|city"
    r"|state)\s+){0,4}$",
    re.I,
)
_HOME_AGAIN = re.compile(r"\b(?:return|back)\w*\s+(?:home\s+)?(?:to|from|in)\s+$", re.I)


@dataclass(frozen=True)
class CompleteQuery:
    """A query record with every field, and the names of those that were read from its text."""

    record: dict[str, Any]
    inferred: tuple[str, ...]


class Gazetteer:
    """Where a world's cities and states are named in a text."""

    def __init__(self, cities: Mapping[str, str]):
        self.cities, self.states = set(cities), set(cities.values())
        names = sorted(self.cities | self.states, key=len, reverse=True)
        self._names = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")

    def mentions(self, text: str) -> list[tuple[str, str]]:
        """(the words before, the name). 'Brighton Beach' is no mention of Brighton, 'Houston Texas'
        is one of Houston."""
        mentions = []
        for match in self._names.finditer(text):
            after = text[match.end() :]
            if not _CAPITALISED.match(after) or self._names.match(after.lstrip()):
                mentions.append((text[max(0, match.start() - 60) : match.start()], match.group()))
        return mentions


@dataclass(frozen=True)
class Mismatch:
    """One field that the text does not give. `reading` is what it gives instead, or None with a
    `problem`."""

    field: str
    value: Any
    reading: Any = None
    problem: str | None = None

    def __str__(self) -> str:
        expectation = "nothing" if self.value is None else _shown(self.value)
        reading = (
            self.problem
            or f"the text says {'nothing' if self.reading is None else _shown(self.reading)}"
        )
        return f"{self.field}: it must say {expectation}; {reading}"


def complete(record: Mapping[str, Any], places: Gazetteer) -> CompleteQuery:
    """The record with the fields that it lacks. Raises CouldNotInfer naming every field that its
    text does not give."""
    fields = [
        field
        for field in (*READ, "local_constraint")
        if field not in record or (record[field] is None and field not in NULL_IS_GIVEN)
    ]
    text = record.get("query")
    if not fields:
        return CompleteQuery(dict(record), ())
    if not isinstance(text, str) or not text.strip():
        raise CouldNotInfer(f"could not infer {', '.join(fields)}: the query has no text")
    if len(text) > LONGEST_TEXT:
        raise CouldNotInfer(
            f"could not infer {', '.join(fields)}: the text is longer than {LONGEST_TEXT:,}"
            " characters"
        )
    return _completed(
        {key: value for key, value in record.items() if key not in fields},
        fields,
        text.replace("\u2019", "'"),
        places,
    )


def _completed(
    record: dict[str, Any], fields: list[str], text: str, places: Gazetteer
) -> CompleteQuery:
    readers: dict[str, Callable[[], Any]] = {
        "days": lambda: read_days(text, record),
        "date": lambda: read_date(text, record),
        "visiting_city_number": lambda: read_city_count(text, record),
        "org": lambda: read_org(text, places),
        "dest": lambda: read_dest(text, record, places),
        "people_number": lambda: read_party(text),
        "budget": lambda: read_budget(text),
    }
    inferred = list[str]()
    problems = dict[str, str]()

    def note(field: str, into: dict[str, Any], reader: Callable[[], Any]) -> None:
        try:
            into[field] = reader()
            inferred.append(field)
        except CouldNotInfer as problem:
            problems[field] = str(problem)

    for field in (field for field in READ if field in fields):
        note(field, record, readers[field])
    if "local_constraint" in fields:
        record["local_constraint"] = {}
        for wish, read_wish in WISHES.items():
            note(wish, record["local_constraint"], partial(read_wish, text))
    if problems:
        message = "; ".join(
            f"could not infer {field}: {problem}" for field, problem in problems.items()
        )
        raise CouldNotInfer(message, problems=problems, fields=record)
    return CompleteQuery(record, tuple(inferred))


def read_org(text: str, places: Gazetteer) -> str:
    cities = {
        name
        for before, name in places.mentions(text)
        if _role(before) == "from" and name in places.cities
    }
    return _only(cities, "city of this world to start from")


def read_dest(text: str, record: Mapping[str, Any], places: Gazetteer) -> str:
    """A city where one is visited, else a state. A city that must be seen on the way, or not, has
    no field and is refused."""
    mentions = places.mentions(text)
    if unwanted := next((name for before, name in mentions if _UNWANTED.search(before)), None):
        raise CouldNotInfer(f"'{unwanted}' is mentioned together with a 'not'")
    is_city, org = record.get("visiting_city_number") == 1, str(record.get("org", ""))
    kind = places.cities if is_city else places.states
    names = {name for before, name in mentions if _role(before) == "to" and name in kind}
    if is_city:
        names.discard(org)
    others = {name for _, name in mentions} - places.states - names - {org}
    if len(names) == 1 and others and "org" in record:
        raise CouldNotInfer(f"the text also names {', '.join(sorted(others))}")
    return _only(names, f"{'city' if is_city else 'state'} of this world to travel to")


def _role(before: str) -> str | None:
    if _HOME_AGAIN.search(before):
        return None
    return "from" if _FROM.search(before) else "to" if _TO.search(before) else None


def _only(names: set[str], what: str) -> str:
    if len(names) != 1:
        problem = f"more than one {what} ({', '.join(sorted(names))})" if names else f"no {what}"
        raise CouldNotInfer(f"the text names {problem}")
    return names.pop()


# ---- numbers


def read_days(text: str, record: Mapping[str, Any]) -> int:
    """As said; else as many as the dates."""
    numbers = {_number(match) for match in _DAYS.findall(text)} | (
        {7} if _WEEK.search(text) else set()
    )
    if len(numbers) > 1:
        raise CouldNotInfer(f"the text speaks of {_listed(numbers)} days")
    if numbers:
        return numbers.pop()
    dates = record.get("date")
    return len(dates) if isinstance(dates, list) and dates else len(_range(text))


def read_date(text: str, record: Mapping[str, Any]) -> list[str]:
    """Every day from the first to the last. One date alone is the first day of a trip whose length
    is known."""
    days, dates = record.get("days"), _range(text)
    if len(dates) == 1 and isinstance(days, int) and 1 <= days <= LONGEST_TRIP_DAYS:
        dates = _days_from(dates[0], dates[0] + timedelta(days=days - 1))
    if isinstance(days, int) and days != len(dates):
        raise CouldNotInfer(
            f"the dates {dates[0]} to {dates[-1]} are {len(dates)} days, the trip takes {days}"
        )
    return [each.isoformat() for each in dates]


def read_city_count(text: str, record: Mapping[str, Any]) -> int:
    matches = list(_CITIES.finditer(text))
    if unsure := next((match for match in matches if _NOT_ALL.search(text[: match.start()])), None):
        raise CouldNotInfer(f"'{unsure.group()}' is perhaps not how many cities are visited")
    numbers = {_number(match[1]) for match in matches}
    if len(numbers) > 1:
        raise CouldNotInfer(f"the text speaks of {_listed(numbers)} cities")
    days = record.get("days")  # as given: perhaps a list
    by_days = (cities for length, cities in CITIES_BY_DAYS.items() if length == days)
    count = numbers.pop() if numbers else next(by_days, None)
    if count is None:
        raise CouldNotInfer("the text does not say how many cities")
    return count


def read_party(text: str) -> int:
    """People. A text that speaks of one traveller, or of nobody at all, is one person's."""
    numbers = {_number(next(filter(None, match))) for match in _PARTY.findall(text)}
    numbers |= {count for name, count in _PARTY_NAMES.items() if re.search(name, text, re.I)}
    numbers |= {1} if _ALONE.search(text) else set()
    if _COUNTED_CHILDREN.search(text):
        raise CouldNotInfer("the text counts children apart")
    if apart := _APART.search(text):
        raise CouldNotInfer(
            f"the text says '{apart.group()}', perhaps beside those who are counted"
        )
    if unsure := next(
        (
            match
            for match in _PARTY.finditer(text)
            if _NOT_ALL.search(text[: match.start()]) or _OR_SO.match(text, match.end())
        ),
        None,
    ):
        raise CouldNotInfer(f"'{unsure.group()}' is perhaps not how many travel")
    if some := None if numbers else _FOR_SOME.search(text):
        raise CouldNotInfer(f"the text says '{some.group()}', but not of whom")
    if len(numbers) > 1:
        raise CouldNotInfer(f"the text speaks of {_listed(numbers)} people")
    company = (
        _COMPANY.search(text)
        if not numbers
        else _KIN_ANYWHERE.search(text)
        if numbers == {1}
        else None
    )
    if company:
        raise CouldNotInfer(f"the text says '{company.group()}', but not how many travel")
    return numbers.pop() if numbers else 1


def read_budget(text: str) -> int | float:
    """US dollars for the whole party. Of several amounts, the one that is called new."""
    amounts: dict[float, bool] = {}
    said_before = 0
    if other := _OTHER_MONEY.search(text):
        raise CouldNotInfer(f"'{other.group()}' is no amount in US dollars and digits")
    for match in _BUDGET.finditer(text):
        not_it = _NO_BUDGET_BEFORE.search(
            re.split(r"[.!?;]\s", text[said_before : match.start()])[-1]
        )
        partial = _PARTIAL.match(text, match.end()) or _IN_PART_AFTER.match(text, match.end())
        if not_it or partial or not _WHOLE_AMOUNT.fullmatch(match[1] or match[2]):
            raise CouldNotInfer(
                f"'{match.group()}' is not an amount for the whole trip in plain dollars"
            )
        amount = float((match[1] or match[2]).replace(",", ""))
        before = text[max(said_before, match.start() - 60) : match.start()].rpartition(". ")[2]
        words = _NEW_OR_OLD.findall(before)
        is_new = bool(words and words[-1]) or bool(_CHANGED_FROM.search(text[: match.start()]))
        amounts[amount] = amounts.get(amount, False) or is_new
        said_before = match.end()
    if len(amounts) == 1 and _NOT_THIS.search(text):
        raise CouldNotInfer("the text says what the budget is not")
    amounts_left = (
        list(amounts)
        if len(amounts) == 1
        else [amount for amount, is_new in amounts.items() if is_new]
    )
    if len(amounts_left) != 1:
        raise CouldNotInfer(f"the text names {len(amounts) or 'no'} amounts in dollars")
    return int(amounts_left[0]) if amounts_left[0].is_integer() else amounts_left[0]


def _number(word: str) -> int:
    return int(word) if word.isdigit() else NUMBERS.index(word.lower()) + 1


def _listed(numbers: set[int]) -> str:
    return " and ".join(str(number) for number in sorted(numbers))


def _range(text: str) -> list[date]:
    """The days between the earliest and the latest date named, both included. A day without month
    or year has its neighbour's."""
    matches = list(_DATE.finditer(text))
    parts = [_parts(match) for match in matches]
    if _SLASHED.search(text) or any(_NOT_ON.search(text[: match.start()]) for match in matches):
        raise CouldNotInfer(
            "the text names a day in a form that is not read, or only one before or after it"
        )
    if not any(month for _, month, _ in parts):
        raise CouldNotInfer("the text names no date")
    years = {year for year, _, _ in parts if year}
    if len(years) != 1 and not (years and all(year and month for year, month, _ in parts)):
        raise CouldNotInfer(
            "the dates have no year"
            if not years
            else f"the dates lie in the years {_listed(years)}"
        )
    dates = set()
    for index, (own_year, month, day) in enumerate(parts):
        year = own_year or next(iter(years))
        beside = [
            parts[at][1]
            for at in (index, index - 1, index + 1)
            if 0 <= at < len(parts) and parts[at][1]
        ]
        if beside:
            try:
                dates.add(date(year, month or beside[0] or 0, day))
            except ValueError:
                raise CouldNotInfer(
                    f"there is no day {day} in {MONTHS[(month or beside[0] or 1) - 1]} {year}"
                ) from None
    if len(dates) > 2:
        raise CouldNotInfer(f"the text names {len(dates)} dates")
    return _days_from(min(dates), max(dates))


def _parts(match: re.Match[str]) -> tuple[int | None, int | None, int]:
    """(year, month, day); the first two may be unsaid."""
    (
        iso_year,
        iso_month,
        iso_day,
        month,
        day,
        year,
        day2,
        month2,
        year2,
        ordinal,
        dashed,
        bare,
        year3,
    ) = match.groups()
    if iso_year:
        return int(iso_year), int(iso_month), int(iso_day)
    said_month, said_year = month or month2, year or year2 or year3
    number = MONTHS.index(said_month) + 1 if said_month else None
    return (
        int(said_year) if said_year else None,
        number,
        int(day or day2 or ordinal or dashed or bare),
    )


def _days_from(first: date, last: date) -> list[date]:
    days = (last - first).days + 1
    if days > LONGEST_TRIP_DAYS:
        raise CouldNotInfer(f"the dates {first} and {last} are {days} days apart")
    return [first + timedelta(days=day) for day in range(days)]


# ---- what a text should say


def mismatches(query: Query, text: str, places: Gazetteer) -> list[Mismatch]:
    """Every field that the text alone does not give back exactly; [] for a text that says it all.
    The order of cuisines is free."""
    problems: Mapping[str, str] = {}
    try:
        record: Mapping[str, Any] = complete({"query": text}, places).record
    except CouldNotInfer as refused:
        record, problems = refused.fields, refused.problems
        if not problems:  # an empty or endless text
            return [Mismatch("text", "the request", problem=str(refused))]
    expectations, readings = _flat(query.record()), _flat(record)
    return [
        Mismatch(field, expectations[field], readings.get(field), problems.get(field))
        for field in FIELDS
        if field in problems or _compared(expectations[field]) != _compared(readings.get(field))
    ]


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    wishes = record.get("local_constraint") or {}
    return {
        **{field: record.get(field) for field in FIELDS if field not in WISHES},
        **{wish: wishes.get(wish) or None for wish in WISHES},
    }


def _compared(value: Any) -> Any:
    return sorted(value) if isinstance(value, list) else value


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
