"""From a request's text to its fields, for requests that come without them (the hidden test split):
deterministic, and never a guess.

A given value always wins; only what is absent is read from the text, and is named in
`CompleteQuery.inferred`. What the text does not decide is `CouldNotInfer`, with the reason. Names
are looked for in the world's own list of cities and states, each at a place where the words before
it say "from here" or "to there". Two conventions of the benchmark are relied on where a text is
silent: trips of 3, 5 and 7 days visit 1, 2 and 3 cities, and somebody who mentions no company
travels alone. Numbers are read in `counts`, wishes in `wishes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from tripwright.domains.travelplanner.queries.counts import (
    read_budget,
    read_city_count,
    read_date,
    read_days,
    read_party,
)
from tripwright.domains.travelplanner.queries.wishes import WISHES, CouldNotInfer

LONGEST_TEXT = 5_000  # characters; the official requests have a few hundred
# a record may say null here: the official code has an answer to it
NULL_IS_GIVEN = ("budget", "people_number")

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


def complete(record: Mapping[str, Any], places: Gazetteer) -> CompleteQuery:
    """The record with the fields that it lacks. Raises CouldNotInfer naming every field that its
    text does not give."""
    fields = [
        field
        for field in (
            "days",
            "date",
            "visiting_city_number",
            "org",
            "dest",
            "people_number",
            "budget",
            "local_constraint",
        )
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
        "people_number": lambda: read_party(text, record),
        "budget": lambda: read_budget(text, record),
    }
    inferred = list[str]()
    problems = dict[str, str]()

    def note(field: str, into: dict[str, Any], reader: Callable[[], Any]) -> None:
        try:
            into[field] = reader()
            inferred.append(field)
        except CouldNotInfer as problem:
            problems[field] = str(problem)

    for field in (field for field in readers if field in fields):
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
