"""The strict look-up: what "Name, City" means is the rows of exactly this name in exactly this
city, or nothing.

Tables have names with blanks around them, which no plan can show, so blanks around a name do not
count; and rows named '-', which no plan can mean. Two rows of a city whose names differ in signs,
case or blanks alone are one place to a traveller: to eat at both is to go there twice. Stays are
the exception, for one night in each of two is not two nights in either. What is kept from one plan
to the next is rows of the world, never a verdict.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

from tripwright.world.store import World

Table = Literal["restaurant", "attraction", "accommodation"]
Key = tuple[str, str | None]


class NameRows(NamedTuple):
    """The rows of one name in one city, in file order. `folded` is the same for every spelling of
    one place."""

    folded: str
    rows: list[Any]


class PlaceMention(NamedTuple):
    """One named place of a plan. `rows` is empty for a place that is made up, `city` None for a
    city that is none."""

    field: str
    text: str
    city: str | None
    rows: list[Any]
    key: Key  # of one place, however it is spelt; a branch in another city is another place


_KNOWN: WeakKeyDictionary[World, dict[tuple[Table, str], dict[str, NameRows]]] = WeakKeyDictionary()


class PlaceLookup:
    """The look-ups of one plan."""

    def __init__(self, world: World):
        self._world = world
        self._known = _KNOWN.setdefault(world, {})

    def place(self, table: Table, field: str, text: str) -> PlaceMention:
        """The city follows the last comma; before a state in parentheses a blank is allowed here,
        as in the official rules. Without a comma there is a name, and no city."""
        name, comma, place = text.rpartition(",")
        if not comma:
            return PlaceMention(field, text, None, [], (_folded(text), None))
        name, place = name.strip(), place.strip()
        city = city_named(place, self._world)
        if city is None and " (" in place:
            city = city_named(place.replace(" (", "(", 1), self._world)
        rows_of_name = self._of_city(table, city).get(name) if city is not None else None
        if rows_of_name is None:
            return PlaceMention(field, text, city, [], (_folded(name), city))
        return PlaceMention(field, text, city, rows_of_name.rows, (rows_of_name.folded, city))

    def _of_city(self, table: Table, city: str) -> dict[str, NameRows]:
        rows_by_name = self._known.get((table, city))
        if rows_by_name is None:
            rows_of: dict[Table, Callable[[str], list[Any]]] = {
                "restaurant": self._world.restaurants,
                "attraction": self._world.attractions,
                "accommodation": self._world.accommodations,
            }
            rows_by_name = {}
            for row in rows_of[table](city):
                name = row.name.strip()
                if name not in ("", "-"):
                    rows_by_name.setdefault(name, NameRows(_folded(name), [])).rows.append(row)
            if table == "accommodation":
                rows_by_name = _apart(rows_by_name)
            self._known[table, city] = rows_by_name
        return rows_by_name


def _apart(rows_by_name: dict[str, NameRows]) -> dict[str, NameRows]:
    """Stays whose names differ in signs, case or blanks alone are known by their exact names."""
    shared = Counter(each.folded for each in rows_by_name.values())
    return {
        name: each if shared[each.folded] == 1 else NameRows(name, each.rows)
        for name, each in rows_by_name.items()
    }


def city_named(text: str, world: World) -> str | None:
    """'A' or 'A(its state)' → 'A'."""
    if text in world.cities:
        return text
    city, _, state = text.partition("(")
    return city if state.endswith(")") and world.cities.get(city) == state[:-1] else None


def _folded(name: str) -> str:
    """Letters and digits alone, without accents; a name that has none stays itself."""
    letters = unicodedata.normalize("NFKD", name).casefold()
    return "".join(filter(str.isalnum, letters)) or name
