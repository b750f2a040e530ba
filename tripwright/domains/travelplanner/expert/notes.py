"""An expert's choices of stays and meals, noted as the dialect asks for it and the face allows."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from tripwright.agent.dialect import ShownWork
from tripwright.domains.travelplanner.expert.ways import full_day
from tripwright.domains.travelplanner.expert.work import (
    EAT,
    MEAL_FIELDS,
    NONE,
    STAY,
    STAY_FIELDS,
    RowWalk,
    called,
    choice,
    meal_walks,
    meals_found,
    named,
    stay_for,
    stay_walk,
    stay_walks,
    to_the_last,
)
from tripwright.domains.travelplanner.oracle.options import MEALS
from tripwright.domains.travelplanner.oracle.planner import CityChoice
from tripwright.domains.travelplanner.query import Query
from tripwright.tools.face import Face, letters
from tripwright.world.records import Accommodation, Restaurant
from tripwright.world.store import World


class ChoiceNotes:
    """The choices, noted; with how they were made, unless the dialect does not ask for it, the face
    hides what decides, or the rows lead elsewhere than the oracle went."""

    def __init__(self, query: Query, world: World, face: Face, shown: ShownWork):
        self._query, self._world, self._face = query, world, face
        self._is_shown, self._is_short = shown != "none", shown == "short"
        self.letters: dict[str, str] = {}  # city → what it is called, where there are several

    def on_stay(self, stop: CityChoice) -> str:
        rows = self._called(Accommodation, self._world.accommodations(stop.city))
        stay = stop.stay.accommodation
        if self._shows(Accommodation, STAY_FIELDS):
            cheapest_first = self._is_cheapest_first(Accommodation)
            walk = stay_walk(self._query, stop.nights, rows, cheapest_first, stay)
            if walk is not None and walk.taken == stay:
                return walk.words(self._is_short)
        return choice(STAY, _row_called(stay, rows))

    def on_stays(
        self, city: str, lengths: Sequence[int]
    ) -> tuple[str, dict[int, Accommodation | None]]:
        """The note, and for each number of nights, most nights first, what would be taken of the
        city's rows."""
        rows = self._called(Accommodation, self._world.accommodations(city))
        cheapest_first = self._is_cheapest_first(Accommodation)
        walks = stay_walks(self._query, self.letters[city], lengths, rows, cheapest_first)
        taken = (cast(Accommodation | None, walk.taken) for walk in walks)
        stays = dict(zip(lengths, taken, strict=True))
        if self._shows(Accommodation, STAY_FIELDS):
            return " ".join(walk.words(self._is_short) for walk in walks), stays
        return " ".join(f"{self.stay_in(city, *each)}." for each in stays.items()), stays

    def stay_in(self, city: str, nights: int, stay: Accommodation | None) -> str:
        """Such as "V 3 nights 159 V: (B) Ash Inn"."""
        rows = self._called(Accommodation, self._world.accommodations(city))
        taken = _row_called(stay, rows) if stay else NONE
        return f"{stay_for(self.letters[city], nights, stay)}: {taken}"

    def on_meals(self, stop: CityChoice, walked: bool = True) -> str:
        """`walked`: as far as rows decide; else the meals are named."""
        if not self._is_shown:
            return choice(EAT, ", ".join(row.name for row in stop.meals))
        walks = self._meal_walks(stop.city, len(stop.meals)) if walked else []
        rows = self._called(Restaurant, self._world.restaurants(stop.city))
        if meals_found(self._query, walks, len(stop.meals)) == list(stop.meals):
            prices = (called(_letter(row, rows), f"{row.average_cost_usd:g}") for row in stop.meals)
            # several cities have costs to add up, and rows that were passed over have prices, too
            eaten = f" Eaten {', '.join(prices)}." if self.letters else ""
            return f"{self._walked(walks)}{eaten}"
        meals = zip(purposes(len(stop.meals)), stop.meals, strict=True)
        return " ".join(choice(purpose, _row_called(row, rows)) for purpose, row in meals)

    def full_days(self, stops: Iterable[CityChoice]) -> Iterator[str]:
        """What is seen and eaten on each, by names as they stand in their rows."""
        for stop in stops:
            rows = self._called(Restaurant, self._world.restaurants(stop.city))
            meals = (_row_called(row, rows) for row in stop.meals)
            for sight in stop.attractions:
                yield full_day(sight, itertools.islice(meals, len(MEALS)))

    def in_vain(self, city: str, meals: int) -> str:
        """How the walk along a city's meals ends that serves not all wanted cuisines."""
        walks = self._meal_walks(city, meals)
        is_in_vain = walks and meals_found(self._query, walks, meals) is None
        return f"{self._walked(walks)} {choice(EAT, NONE)}" if is_in_vain else choice(EAT, NONE)

    def as_found(self, stop: CityChoice) -> CityChoice:
        """Its meals in the order in which walks come upon them, where these lead to the same."""
        meals = len(stop.meals)
        found = meals_found(self._query, self._meal_walks(stop.city, meals), meals)
        if found is None or {*found} != {*stop.meals}:
            return stop
        return replace(stop, meals=tuple(found))

    def _meal_walks(self, city: str, meals: int) -> list[RowWalk]:
        """Empty where nothing is to be decided: the first rows of a list in order of price are
        taken. Among several cities a list is said to end where it does."""
        cheapest_first = self._is_cheapest_first(Restaurant)
        if not self._shows(Restaurant, MEAL_FIELDS) or (
            cheapest_first and not self._query.local_constraint.cuisine
        ):
            return []
        rows = self._called(Restaurant, self._world.restaurants(city))
        ends = to_the_last(rows) if self.letters else ()
        walks = meal_walks(self._query, rows, purposes(meals), cheapest_first)
        return [replace(walk, asked=(*walk.asked, *ends)) for walk in walks]

    def _walked(self, walks: Sequence[RowWalk]) -> str:
        return " ".join(walk.words(self._is_short) for walk in walks)

    def _is_cheapest_first(self, table: type) -> bool:
        return self._face.tables[table].cheapest_first is not None

    def _shows(self, table: type, fields: set[str]) -> bool:
        return self._is_shown and fields <= set(self._face.tables[table].fields)

    def _called(self, table: type, rows: list[Any]) -> list[tuple[str, Any]]:
        """Rows in the face's order, each with its letter if they have letters and work is shown."""
        has_letters = self._is_shown and self._face.tables[table].lettered
        in_order = enumerate(self._face.in_order(rows), start=1)
        return [(letters(number) if has_letters else "", row) for number, row in in_order]


def purposes(meals: int) -> list[str]:
    return [MEALS[number % 3].title() for number in range(meals)]


def _row_called(taken: Any, rows: list[tuple[str, Any]]) -> str:
    return named(_letter(taken, rows), taken.name)


def _letter(taken: Any, rows: list[tuple[str, Any]]) -> str:
    return next(letter for letter, row in rows if row == taken)
