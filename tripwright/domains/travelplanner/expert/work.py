"""The expert's work, shown: how a choice is made row by row, as records and as words.

A model that has to choose in one forward pass learns to choose badly; one that copies what decides,
beside what is asked for, compares neighbours (docs/log.md, 2026-11-22). So what is asked for is
said once more in the words of the tables, and then each row, as far as the first thing that speaks
against it. What is asked for carries a sign, in the list and in every row that has it: to judge a
row is to copy what followed the same word before. A row is called by its letter, where it has one,
so that the next one is found by counting on.

    Private room!, 2 nights, 5 people, No smoking!: A 66 Shared room no; B 159 Private room! 3 no; C
    190 Private room! 1 6 No pets & No smoking! no; D 211 Private room! 1 6 No parties ok. Stay: D
    Ash Inn.

    Breakfast, 2 free, French!: A 17 Tea ok. Breakfast: A Fairlow Diner. Lunch, 1 free, French!: B
    26 Indian, French! ok. Lunch: B Selham Cafe. French done. Dinner, 1 free, French done: C 34
    French done ok. Dinner: C Linlow Oven.

Every word of a row is one that the tool has shown, in the row's own order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tripwright.domains.travelplanner.oracle.options import FORBIDDEN_BY_RULE, ROOM_TYPES
from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.errors import counted
from tripwright.world.records import Accommodation, Restaurant

WANTED, DONE = "!", " done"  # signs behind a word
STAY = "Stay"
# what a face has to show of a row for its walk
STAY_FIELDS = {"price_usd", "room_type", "minimum_nights", "maximum_occupancy", "house_rules"}
MEAL_FIELDS = {"average_cost_usd", "cuisines"}
Signs = Mapping[str, str]  # cuisine that is asked for → its sign at present


@dataclass(frozen=True)
class RowStep:
    """One row that was looked at: what it is called, and what it says, as far as that decides."""

    letter: str  # empty where rows have none
    said: tuple[str, ...]
    is_taken: bool

    def words(self) -> str:
        return f"{called(self.letter, ' '.join(self.said))} {'ok' if self.is_taken else 'no'}"


@dataclass(frozen=True)
class RowWalk:
    """A walk along rows, under what was still asked for when it began: it ends with the row that
    was taken, for what, and what that row has done away with."""

    asked: tuple[str, ...]
    rows: tuple[RowStep, ...]
    purpose: str
    taken: Accommodation | Restaurant
    done: tuple[str, ...] = ()

    def words(self) -> str:
        steps = (row.words() for row in self.rows)
        taken = choice(self.purpose, called(self.rows[-1].letter, self.taken.name))
        done = "".join(f" {each}{DONE}." for each in self.done)
        return f"{', '.join(self.asked)}: {'; '.join(steps)}. {taken}{done}"


def choice(purpose: str, taken: str) -> str:
    """A choice, noted: "Stay: Ash Inn."."""
    return f"{purpose}: {taken}."


def called(letter: str, words: str) -> str:
    return f"{letter} {words}" if letter else words


def stay_walk(
    query: Query, nights: int, rows: Iterable[tuple[str, Accommodation]]
) -> RowWalk | None:
    """Down to the first row, each with its letter, that fits and holds the party in one room; None
    where none does."""
    steps = []
    for letter, row in rows:
        steps.append(look_at_stay(query, nights, letter, row))
        if steps[-1].is_taken:
            return RowWalk(asked_of_stays(query, nights), tuple(steps), STAY, row)
    return None


def asked_of_stays(query: Query, nights: int) -> tuple[str, ...]:
    wishes = query.local_constraint
    party = "1 person" if query.party_size == 1 else f"{query.party_size} people"
    asked = [counted(nights, "night"), party]
    if wishes.room_type is not None:
        asked.insert(0, f"{room_asked(wishes)}{WANTED}")
    if wishes.house_rule is not None:
        asked.append(f"{FORBIDDEN_BY_RULE[wishes.house_rule]}{WANTED}")
    return tuple(asked)


def room_asked(wishes: LocalConstraint) -> str:
    """In the words of the tables: 'entire room' → 'Entire home/apt'."""
    if wishes.room_type == "not shared room":
        return "not Shared room"
    return next(iter(ROOM_TYPES[str(wishes.room_type)]))


def look_at_stay(query: Query, nights: int, letter: str, row: Accommodation) -> RowStep:
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
    return RowStep(letter, tuple(said), misfit is None)


def meal_walks(
    query: Query, rows: Iterable[tuple[str, Restaurant]], purposes: Sequence[str]
) -> list[RowWalk] | None:
    """One walk for each meal, each from where the last one ended: a row is taken that serves a
    cuisine still wanted, or any while there are more meals left than such cuisines ("free"). None
    where rows end before."""
    signs = signs_of(query)
    walks, left = [], iter(rows)
    for number, purpose in enumerate(purposes):
        steps: list[RowStep] = []
        free = free_meals(len(purposes) - number, signs)
        asked = asked_of_meals(purpose, free, signs)
        for letter, row in left:
            steps.append(look_at_meal(free, signs, letter, row))
            if steps[-1].is_taken:
                done = served_first(signs, row)
                signs |= dict.fromkeys(done, DONE)
                walks.append(RowWalk(asked, tuple(steps), purpose, row, done))
                break
        else:
            return None
    return None if WANTED in signs.values() else walks


def signs_of(query: Query) -> dict[str, str]:
    return dict.fromkeys(query.local_constraint.cuisine or (), WANTED)


def free_meals(left: int, signs: Signs) -> int:
    """How many of the meals left are not needed for a cuisine that is still wanted."""
    return left - list(signs.values()).count(WANTED)


def asked_of_meals(purpose: str, free: int, signs: Signs) -> tuple[str, ...]:
    listed = (f"{cuisine}{sign}" for cuisine, sign in signs.items())
    return (purpose, *((f"{free} free",) if free else ()), *listed)


def look_at_meal(free: int, signs: Signs, letter: str, row: Restaurant) -> RowStep:
    served = {cuisine: sign for cuisine, sign in signs.items() if cuisine in row.cuisines}
    cuisines = row.cuisines
    for cuisine, sign in served.items():
        cuisines = marked(cuisines, cuisine, sign)
    is_taken = WANTED in served.values() or free > 0
    return RowStep(letter, (f"{row.average_cost_usd:g}", cuisines), is_taken)


def served_first(signs: Signs, row: Restaurant) -> tuple[str, ...]:
    """The wanted cuisines of this row that no row before it has served."""
    return tuple(each for each, sign in signs.items() if sign == WANTED and each in row.cuisines)


def marked(text: str, asked: str, sign: str = WANTED) -> str:
    return text.replace(asked, f"{asked}{sign}")
