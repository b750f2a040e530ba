"""The expert's work, shown: how a choice is made row by row, as records and as words.

A model that has to choose in one forward pass learns to choose badly; one that copies what decides,
beside what is asked for, compares neighbours (docs/log.md, 2026-11-22). So what is asked for is
said once more in the words of the tables, and then each row, as far as the first thing that speaks
against it. A sign stands behind what is asked for wherever a row has it:

    Private room, 2 nights, 5 people, No smoking: 66 Shared room no; 159 Private room! 3 no; 190
    Private room! 1 6 No pets & No smoking! no; 211 Private room! 1 6 No parties ok.

    2 free, French: 17 Tea Fairlow Diner. 1 free, French: 26 Bakery Selham Cafe. French: 34 Indian
    no; 40 Italian, French! Linlow Diner.

Every word of a row is one that the tool has shown, in the row's own order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tripwright.domains.travelplanner.oracle.options import FORBIDDEN_BY_RULE, ROOM_TYPES
from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.errors import counted
from tripwright.world.records import Accommodation, Restaurant


@dataclass(frozen=True)
class RowStep:
    """One row that was looked at: what it says, as far as that decides."""

    said: tuple[str, ...]
    is_taken: bool


@dataclass(frozen=True)
class RowWalk:
    """A walk along rows, under what was still asked for when it began."""

    asked: tuple[str, ...]
    rows: tuple[RowStep, ...]

    def words(self) -> str:
        steps = "; ".join(
            f"{' '.join(row.said)}{'' if row.is_taken else ' no'}" for row in self.rows
        )
        return f"{', '.join(self.asked)}: {steps}."


def stay_walk(query: Query, nights: int, rows: Sequence[Accommodation]) -> RowWalk | None:
    """Down to the first row that fits and holds the party in one room; None where none does."""
    wishes = query.local_constraint
    asked = [counted(nights, "night"), f"{query.party_size} people"]
    if wishes.room_type is not None:
        asked.insert(0, room_asked(wishes))
    if wishes.house_rule is not None:
        asked.append(FORBIDDEN_BY_RULE[wishes.house_rule])
    steps = []
    for row in rows:
        step = _looked_at(query, nights, row)
        steps.append(step)
        if step.is_taken:
            return RowWalk(tuple(asked), tuple(steps))
    return None


def room_asked(wishes: LocalConstraint) -> str:
    """In the words of the tables: 'entire room' → 'Entire home/apt'."""
    if wishes.room_type == "not shared room":
        return "not Shared room"
    return next(iter(ROOM_TYPES[str(wishes.room_type)]))


def _looked_at(query: Query, nights: int, row: Accommodation) -> RowStep:
    wishes = query.local_constraint
    looks = [(f"{row.price_usd:g}", True)]  # what it says, and whether that fits
    if wishes.room_type is not None:
        room = marked(row.room_type, room_asked(wishes).removeprefix("not "))
        looks.append((room, row.room_type in ROOM_TYPES[wishes.room_type]))
    looks.append((f"{row.minimum_nights:g}", row.minimum_nights <= nights))
    looks.append((f"{row.maximum_occupancy}", row.maximum_occupancy >= query.party_size))
    if wishes.house_rule is not None:
        rule = FORBIDDEN_BY_RULE[wishes.house_rule]
        looks.append((marked(row.house_rules, rule), rule not in row.house_rules))
    misfit = next((number for number, (_, fits) in enumerate(looks, 1) if not fits), None)
    said = [words for words, _ in looks[:misfit]]
    return RowStep((*said, "ok"), True) if misfit is None else RowStep(tuple(said), False)


def meal_walks(query: Query, rows: Sequence[Restaurant], count: int) -> list[RowWalk] | None:
    """One walk for each of `count` meals, each from where the last one ended: a row is taken that
    serves a cuisine still wanted, or any while there are more meals left than such cuisines
    ("free"). None where rows end before."""
    wanted = list(query.local_constraint.cuisine or ())
    walks, left = [], iter(rows)
    for meals in range(count, 0, -1):
        steps: list[RowStep] = []
        free = meals - len(wanted)
        asked = (*((f"{free} free",) if free else ()), *wanted)
        for row in left:
            served = [cuisine for cuisine in wanted if cuisine in row.cuisines]
            is_taken = bool(served) or free > 0
            cuisines = row.cuisines
            for cuisine in served:
                cuisines = marked(cuisines, cuisine)
            said = (f"{row.average_cost_usd:g}", cuisines, *((row.name,) if is_taken else ()))
            steps.append(RowStep(said, is_taken))
            if is_taken:
                wanted = [cuisine for cuisine in wanted if cuisine not in served]
                walks.append(RowWalk(asked, tuple(steps)))
                break
        else:
            return None
    return None if wanted else walks


def marked(text: str, asked: str) -> str:
    """A sign behind what was asked for, where it stands: then a row is judged by its signs."""
    return text.replace(asked, f"{asked}!")


def words(walks: Sequence[RowWalk]) -> str:
    return " ".join(walk.words() for walk in walks)


def taken(walks: Sequence[RowWalk]) -> Iterator[str]:
    """The names of the rows that were taken."""
    for walk in walks:
        yield walk.rows[-1].said[-1]
