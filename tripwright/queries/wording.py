"""Template wording: the text of a query, determined by its fields, so that the text alone determines the fields again."""

from __future__ import annotations

import random

from tripwright.trip.query import LocalConstraint

OPENINGS = (
    "Please plan a {days}-day trip from {org} to {where} {party}, {dates}, with a budget of ${budget:,}.",
    "Could you create a {days}-day travel plan {party} departing from {org} and visiting {where}, {dates}? The budget is ${budget:,}.",
    "We need a {days}-day itinerary {party} from {org} to {where}, {dates}. The budget is set at ${budget:,}.",
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
TRANSPORTATION = {"no flight": "We do not want to fly.", "no self-driving": "We do not want to drive ourselves."}


def word(
    rng: random.Random,
    *,
    org: str,
    dest: str,
    days: int,
    cities: int,
    date: list[str],
    party_size: int,
    budget: int,
    wishes: LocalConstraint,
) -> str:
    """One English request that states every field once."""
    party = "for one person" if party_size == 1 else f"for {party_size} people"
    where = dest if cities == 1 else f"{cities} cities in {dest}"
    sentences = [rng.choice(OPENINGS).format(days=days, org=org, where=where, party=party, dates=_dates(date), budget=budget)]
    if wishes.house_rule:
        sentences.append(HOUSE_RULE[wishes.house_rule])
    if wishes.cuisine:
        sentences.append(f"We would like to eat {_listed(wishes.cuisine)} food.")
    if wishes.room_type:
        sentences.append(ROOM_TYPE[wishes.room_type])
    if wishes.transportation:
        sentences.append(TRANSPORTATION[wishes.transportation])
    return " ".join(sentences)


def _dates(date: list[str]) -> str:
    return f"from {date[0]} to {date[-1]}" if len(date) > 1 else f"on {date[0]}"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
