"""Template wording: the text of a query, determined by its fields, so that the text alone
determines the fields again."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import date as Date
from itertools import pairwise
from typing import Literal

from tripwright.domains.travelplanner.queries.counts import CITIES_BY_DAYS, LONGEST_TRIP_DAYS
from tripwright.domains.travelplanner.queries.phrases import ONE_CITY_CLAUSE
from tripwright.domains.travelplanner.queries.wording_rich import Facts, rich
from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.domains.wording import capitalised, listed
from tripwright.world.scales import CUISINES

Style = Literal["plain", "rich"]
LARGEST_NUMBER = 99  # of people or cities; larger ones are not read, nor are larger budgets
LARGEST_BUDGET_USD = 999_999_999

OPENINGS = (
    (
        "Please plan a {days}-day trip from {org} to {where} {party}, {dates}, with a budget of"
        " ${budget:,}."
    ),
    (
        "Could you create a {days}-day travel plan {party} departing from {org} and visiting"
        " {where}, {dates}? The budget is ${budget:,}."
    ),
    (
        "We need a {days}-day itinerary {party} from {org} to {where}, {dates}. The budget is set"
        " at ${budget:,}."
    ),
)
HOUSE_RULE = {
    "smoking": "The accommodation must allow smoking.",
    "parties": "The accommodation must allow parties.",
    "children under 10": "The accommodation must allow children under 10.",
    "visitors": "The accommodation must allow visitors.",
    "pets": "The accommodation must allow pets.",
}
ROOM_TYPE = {
    "shared room": "We would like a shared room.",
    "not shared room": "We would rather not have a shared room.",
    "private room": "We would like a private room.",
    "entire room": "We would like an entire room.",
}
TRANSPORTATION = {
    "no flight": "We do not want to fly.",
    "no self-driving": "We do not want to drive ourselves.",
}


def word(
    rng: random.Random,
    *,
    org: str,
    dest: str,
    days: int,
    cities: int,
    date: list[str],
    party_size: int,
    budget: int | float,
    wishes: LocalConstraint,
    style: Style = "plain",
) -> str:
    """One English request that states every field once (row T2). `budget` is in US dollars for the
    whole party.

    "plain" has few frames and few words: small models are trained on it. "rich" has thousands of
    frames, those of the official training requests among them. Equal states of `rng` give equal
    texts. What `unwordable` names raises KeyError or ValueError here.
    """
    if style == "rich":
        return rich(rng, Facts(org, dest, days, cities, date, party_size, budget, wishes))
    party = "for one person" if party_size == 1 else f"for {party_size} people"
    where = dest if cities == 1 else f"{cities} cities in {dest}"
    sentences = [
        rng.choice(OPENINGS).format(
            days=days, org=org, where=where, party=party, dates=_dates(date), budget=budget
        )
    ]
    if wishes.house_rule:
        sentences.append(HOUSE_RULE[wishes.house_rule])
    if wishes.cuisine:
        sentences.append(f"We would like to eat {listed(wishes.cuisine, last_comma=False)} food.")
    if wishes.room_type:
        sentences.append(ROOM_TYPE[wishes.room_type])
    if wishes.transportation:
        sentences.append(TRANSPORTATION[wishes.transportation])
    if cities == 1 and CITIES_BY_DAYS.get(days) != 1:
        sentences.append(f"{capitalised(ONE_CITY_CLAUSE)}.")
    return " ".join(sentences)


def word_query(rng: random.Random, query: Query, style: Style = "rich") -> str:
    """The text of a structured request, of which the text that it has is not looked at."""
    return word(
        rng,
        org=query.org,
        dest=query.dest,
        days=query.days,
        cities=query.visiting_city_number,
        date=query.date,
        party_size=query.party_size,
        budget=query.budget,
        wishes=query.local_constraint,
        style=style,
    )


def unwordable(query: Query) -> str | None:
    """Why no text can say this request, in words; None where one can."""
    wishes = query.local_constraint
    wishes_by_kind: tuple[tuple[str, list[str], Mapping[str, str] | tuple[str, ...]], ...] = (
        ("house rule", [wishes.house_rule] if wishes.house_rule else [], HOUSE_RULE),
        ("cuisine", wishes.cuisine or [], tuple(CUISINES)),
        ("room type", [wishes.room_type] if wishes.room_type else [], ROOM_TYPE),
        (
            "transportation",
            [wishes.transportation] if wishes.transportation else [],
            TRANSPORTATION,
        ),
    )
    for kind, values, vocabulary in wishes_by_kind:
        for wish in values:
            if wish not in vocabulary:
                return f"{kind} '{wish}' has no wording (known: {', '.join(vocabulary)})"
    if not 0 < query.budget <= LARGEST_BUDGET_USD or round(query.budget, 2) != query.budget:
        return f"a budget of {query.budget} is no amount in dollars and cents"
    if max(query.party_size, query.visiting_city_number) > LARGEST_NUMBER:
        return f"more than {LARGEST_NUMBER} people or cities"
    return _unwordable_dates(query)


def _unwordable_dates(query: Query) -> str | None:
    try:
        dates = [Date.fromisoformat(day) for day in query.date]
    except ValueError:
        return f"the dates {', '.join(query.date)[:80]} are not all of the form 2022-03-16"
    if len(dates) != query.days or any(
        (after - before).days != 1 for before, after in pairwise(dates)
    ):
        return f"the dates are not {query.days} days one after the other"
    return (
        f"a trip of {query.days} days is longer than {LONGEST_TRIP_DAYS}"
        if query.days > LONGEST_TRIP_DAYS
        else None
    )


def _dates(date: list[str]) -> str:
    return f"from {date[0]} to {date[-1]}" if len(date) > 1 else f"on {date[0]}"
