"""The strict look-up: what "Name, City" means is the rows of exactly this name in exactly this
city, or nothing.

Tables have names with blanks around them, which no plan can show, so blanks around a name do not
count; and rows named '-', which no plan can mean. What is kept from one plan to the next is rows of
the world, never a verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

from tripwright.world.store import World

Table = Literal["restaurant", "attraction", "accommodation"]
Key = tuple[str, str | None]


class Named(NamedTuple):
    """The rows of one name in one city, in file order."""

    folded: str
    rows: list[Any]


class Place(NamedTuple):
    """One named place of a plan. `rows` is empty for a place that is made up, `city` None for a
    city that is none."""

    field: str
    said: str
    city: str | None
    rows: list[Any]
    key: Key  # the same for every spelling of one place; a branch in another city is another place


_KNOWN: WeakKeyDictionary[World, dict[tuple[Table, str], dict[str, Named]]] = WeakKeyDictionary()


class Places:
    """The look-ups of one plan."""

    def __init__(self, world: World):
        self._world = world
        self._known = _KNOWN.setdefault(world, {})

    def place(self, table: Table, field: str, said: str) -> Place:
        """The city follows the last comma; before a state in parentheses a blank is allowed here,
        as in the official rules."""
        name, _, place = said.rpartition(",")
        name, place = name.strip(), place.strip()
        city = city_named(place, self._world)
        if city is None and " (" in place:
            city = city_named(place.replace(" (", "(", 1), self._world)
        named = self._of_city(table, city).get(name) if city is not None else None
        if named is None:
            return Place(field, said, city, [], (_folded(name), city))
        return Place(field, said, city, named.rows, (named.folded, city))

    def _of_city(self, table: Table, city: str) -> dict[str, Named]:
        named = self._known.get((table, city))
        if named is None:
            rows_of: dict[Table, Callable[[str], list[Any]]] = {
                "restaurant": self._world.restaurants,
                "attraction": self._world.attractions,
                "accommodation": self._world.accommodations,
            }
            named = {}
            for row in rows_of[table](city):
                name = row.name.strip()
                if name not in ("", "-"):
                    named.setdefault(name, Named(_folded(name), [])).rows.append(row)
            self._known[table, city] = named = _apart(named)
        return named


def _apart(named: dict[str, Named]) -> dict[str, Named]:
    """Places of one city whose names differ in case or blanks alone are different places: each is
    then known by its exact name."""
    shared = Counter(each.folded for each in named.values())
    return {
        name: each if shared[each.folded] == 1 else Named(name, each.rows)
        for name, each in named.items()
    }


def city_named(said: str, world: World) -> str | None:
    """'A' or 'A(its state)' → 'A'."""
    if said in world.cities:
        return said
    city, _, state = said.partition("(")
    return city if state.endswith(")") and world.cities.get(city) == state[:-1] else None


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()
