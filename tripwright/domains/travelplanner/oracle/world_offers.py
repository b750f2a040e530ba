"""What a world offers under some of a request's requirements, in words with places and counts: the
half of an explanation one can check.

Three questions, and those that bear on the conflict are answered: which cities have a fitting stay
and enough to eat and see for the nights there are, which wanted cuisines they serve, and how one
gets there, about and back. What is not explained by the cities or by their cuisines is a lack of
transport: there is nothing else that a trip needs.
"""

from __future__ import annotations

from collections.abc import Collection

from tripwright.domains.travelplanner.oracle.city_offers import CityOffers
from tripwright.domains.travelplanner.oracle.phrases import stay_phrase
from tripwright.domains.travelplanner.oracle.requirements import Requirement
from tripwright.domains.travelplanner.oracle.transport_offers import TransportOffers
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.wording import listed
from tripwright.world.store import World

STAYS = {"room type", "house rule"}


def world_offers(query: Query, world: World, requirements: Collection[Requirement]) -> str:
    """One line for a conflict without the budget: what is asked for, then what the world offers.
    Without `requirements` it is of the trip itself."""
    cities = CityOffers(query, world, requirements)
    parts = []
    if cities.kinds & STAYS or not cities.enough:
        parts.append(cities.about_stays())
    if "cuisine" in cities.kinds:
        parts.append(cities.about_cuisines())
    if cities.enough and cities.served:
        parts.append(TransportOffers(cities).describe())
    head = asked_for(query, requirements)
    return f"{head or f'{query.org} to {query.dest}, whatever is asked'}: {'; '.join(parts)}."


def asked_for(query: Query, requirements: Collection[Requirement]) -> str:
    """The requirements as a phrase: "private room that allows parties, French food, 2 cities in
    Michigan"."""
    values: dict[str, list[str]] = {}
    for each in requirements:
        values.setdefault(each.kind, []).append(each.value)
    phrases = []
    if STAYS & set(values):
        phrases.append(
            stay_phrase(*(values.get(kind, [None])[0] for kind in ("room type", "house rule")))
        )
    if "cuisine" in values:
        phrases.append(f"{listed(values['cuisine'])} food")
    phrases += values.get("transportation", [])
    if "cities" in values:
        phrases.append(f"{query.visiting_city_number} cities in {query.dest}")
    if "dates" in values:
        phrases.append(f"{query.date[0]} to {query.date[-1]}")
    return ", ".join(phrases)
