"""Which row of the tables a stay is, under the strict rules.

Several rows can share a name and a city (rooms of one host). The plan must then satisfy *one* of
them wholly: minimum nights, house rule and room type are asked of the same row, and its price is
the one charged. The row that breaks least is taken, then the cheapest for the party: so a plan
passes exactly if some row would let it pass.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.official.hard import (
    FORBIDDING_RULE,
    REQUIRED_ROOM,
    is_wanted_room,
)
from tripwright.domains.travelplanner.rules.strict.lookup import Key, PlaceMention
from tripwright.domains.travelplanner.rules.strict.reading import PlannedDay
from tripwright.world.records import Accommodation


class PlannedStay(NamedTuple):
    """One place to sleep. `nights` is its shortest run: a night elsewhere, or nowhere, ends a run.
    No row: the place is made up."""

    first_day: int
    nights: int
    place: PlaceMention
    row: Accommodation | None


def stays_of(query: Query, days: list[PlannedDay]) -> dict[Key, PlannedStay]:
    shortest: dict[Key, PlannedStay] = {}
    start = 0
    for index, day in enumerate(days):
        if day.stay is None:
            start = index + 1
            continue
        following = days[index + 1].stay if index + 1 < len(days) else None
        key = day.stay.key
        if following is None or following.key != key:
            nights = index + 1 - start
            if key not in shortest or nights < shortest[key].nights:
                shortest[key] = PlannedStay(start + 1, nights, day.stay, None)
            start = index + 1
    return {key: stay._replace(row=_row(query, stay)) for key, stay in shortest.items()}


def _row(query: Query, stay: PlannedStay) -> Accommodation | None:
    rows: list[Accommodation] = stay.place.rows
    if len(rows) < 2:
        return rows[0] if rows else None
    return min(
        rows,
        key=lambda row: (
            _broken(query, row, stay.nights),
            row.price_usd * rooms(query.people_number or 1, row),
        ),
    )


def _broken(query: Query, row: Accommodation, nights: int) -> int:
    return (
        (nights < row.minimum_nights)
        + (not allows_rule(query, row))
        + (not is_right_room(query, row))
    )


def allows_rule(query: Query, row: Accommodation) -> bool:
    """A rule or a room type that no table knows is kept by no row."""
    rule = query.local_constraint.house_rule
    return rule is None or (
        rule in FORBIDDING_RULE and FORBIDDING_RULE[rule] not in row.house_rules
    )


def is_right_room(query: Query, row: Accommodation) -> bool:
    wish = query.local_constraint.room_type
    return wish is None or (
        (wish == "not shared room" or wish in REQUIRED_ROOM) and is_wanted_room(wish, row.room_type)
    )


def rooms(party_size: int, row: Accommodation) -> int:
    return math.ceil(party_size / row.maximum_occupancy)
