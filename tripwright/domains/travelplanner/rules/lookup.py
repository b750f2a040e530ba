r"""How the official rules read a plan's text (row T3) and find in the world what it names: from/to,
"Name, City", parentheses, the word for the mode; places by substring, first row of the city.

Every reading function returns exactly what the official regular expressions return, quirks
included, but in linear time: those expressions backtrack cubically, and a plan is written by
whoever is being judged. A text of 5,000 blanks must not stop the judge. What is not text raises
TypeError, as `re.search` does there.

`Lookup` answers for one plan, whose texts several rules ask for: each is read and looked up once,
and forgotten with the plan. `city_lookup` is the callback with which `plan.plan` translates
Planner-R1's format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tripwright.domains.travelplanner.plan.plan import CityOf, PlaceKind, typed
from tripwright.world.records import Accommodation, Flight, Restaurant
from tripwright.world.store import World

# ---- texts


# characters; up to here the regular expression itself is fast enough even at its worst
_SHORT = 120
_FROM_TO = re.compile(r"from\s+(.+?)\s+to\s+([^,]+)(?=[,\s]|$)")
_FROM = re.compile(r"from(?=\s)")
_TO = re.compile(r"(?<!\s)\s+(to)(?=\s)")
_NOT_BLANK = re.compile(r"\S")


def filled(value: Any) -> bool:
    """Truthy and not '-': what the official checks look at. (' ' is filled; None, [] and 0 are
    not.)"""
    return bool(value) and value != "-"


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value


def from_to(text: Any) -> tuple[str, str] | tuple[None, None]:
    """'Taxi, from A to B, cost: 3' → ('A', 'B'). A ends at the first ' to ', B at the next comma;
    no match → (None, None)."""
    if "from" not in _text(text):
        return None, None
    if len(text) <= _SHORT:
        match = _FROM_TO.search(text)
        return (match[1], match[2]) if match else (None, None)
    return _from_to_linear(text)


def _from_to_linear(text: str) -> tuple[str, str] | tuple[None, None]:
    """The same search by hand, over the places where ' to B' can begin; no place is looked at
    twice."""
    tails = _tails(text)
    previous, following, line_end = None, next(tails, None), -1
    for match in _FROM.finditer(text):
        blanks = match.end()
        start = _end_of_blanks(text, blanks)
        while following is not None and following.blanks <= start:
            previous, following = following, next(tails, None)
        if following is None and (previous is None or previous.word < start):
            return None, None
        if line_end < start:
            line_end = text.find("\n", start)
            line_end = len(text) if line_end < 0 else line_end
        if following is not None and line_end >= following.blanks:  # A does not cross line ends
            return text[start : following.blanks], _up_to_comma(text, following.destination)
        # The expression then gives blanks back: in 'from   to B' one of the blanks is A.
        if previous is not None and previous.word == start:
            for blank in range(start - 2, blanks, -1):
                if text[blank] != "\n":
                    return text[blank], _up_to_comma(text, previous.destination)
    return None, None


class _Tail(NamedTuple):
    """Positions in '… to B': the first blank before 'to', 'to' itself, the start of B."""

    blanks: int
    word: int
    destination: int


def _tails(text: str) -> Iterator[_Tail]:
    """Every 'to' between blanks that some non-comma character follows."""
    for match in _TO.finditer(text):
        destination = _end_of_blanks(text, match.end())
        if destination == len(text) or text[destination] == ",":
            # nothing but blanks follows: B is the last of them, if one is left for the blank after
            # 'to'
            destination -= 1
            if destination <= match.end():
                continue
        yield _Tail(match.start(), match.start(1), destination)


def _up_to_comma(text: str, start: int) -> str:
    comma = text.find(",", start)
    return text[start:comma] if comma >= 0 else text[start:]


def _end_of_blanks(text: str, position: int) -> int:
    match = _NOT_BLANK.search(text, position)
    return match.start() if match else len(text)


def before_parenthesis(text: Any) -> str:
    """'Rockford(Illinois)' → 'Rockford'; blanks before the parenthesis stay; without a pair the
    text stays."""
    string = _text(text)
    start = string.find("(")
    return (
        string
        if start < 0 or string.find(")", start) < 0 or "\n" in string[:start]
        else string[:start]
    )


def name_and_city(text: Any) -> tuple[str, str]:
    """'Name, with commas, City(State)' → ('Name, with commas', 'City'). No comma, or nothing after
    the last one → ('-', '-')."""
    name, _, city = _text(text).rpartition(",")
    if not city or len(city) == len(text):
        return "-", "-"
    if "\n" in name:
        name = name.rpartition("\n")[2]  # the expression's '.' does not cross line ends
    city = city.strip()
    return name.strip(), before_parenthesis(city).strip() if "(" in city else city


def travel_mode(text: Any) -> str | None:
    """The mode by its word, 'taxi' first; None for any other word (which then conflicts with
    nothing)."""
    lowered = text.lower()
    if "taxi" in lowered:
        return "Taxi"
    if "self-driving" in lowered:
        return "Self-driving"
    return "Flight" if "flight" in lowered else None


def attraction_pieces(text: Any) -> list[str]:
    """What the checks see of 'A, X;B, X;': all before the last ';', so that text without one is
    never looked at."""
    pieces: list[str] = text.split(";")
    return pieces[:-1]


# ---- look-ups


class Lookup:
    """The official look-ups for one plan. What is not text raises TypeError, as there."""

    def __init__(self, world: World):
        self.world = world
        self._routes: dict[str, list[Any]] = {}
        self._restaurants: dict[str, tuple[str, Restaurant | None]] = {}
        self._stays: dict[str, list[Accommodation]] = {}
        self._flights: dict[str, list[Flight]] = {}

    def route_of_day(self, current_city: Any) -> list[str]:
        """[A, B] for 'from A to B', else [city]; states in parentheses dropped. 'from' without 'to'
        raises TypeError."""
        if current_city.__class__ is str and (route_before := self._routes.get(current_city)):
            return route_before
        if "from" in current_city:
            origin, destination = from_to(current_city)
            route = [before_parenthesis(origin), before_parenthesis(destination)]
        else:
            route = [before_parenthesis(current_city)]
        self._routes[current_city] = route
        return route

    def restaurant(self, text: Any) -> Restaurant | None:
        return self._restaurant(text)[1]

    def city_of_meal(self, text: Any) -> str:
        return self._restaurant(text)[0]

    def _restaurant(self, text: Any) -> tuple[str, Restaurant | None]:
        if text not in self._restaurants:
            name, city = name_and_city(text)
            row = next(
                (row for row in rows_of_city(self.world, "restaurant", city) if name in row.name),
                None,
            )
            self._restaurants[text] = city, row
        return self._restaurants[text]

    def stays(self, text: Any) -> list[Accommodation]:
        """Every row that matches, in file order: minimum nights count how many there are."""
        if text not in self._stays:
            name, city = name_and_city(text)
            self._stays[text] = [
                row for row in rows_of_city(self.world, "accommodation", city) if name in row.name
            ]
        return self._stays[text]

    def stay(self, text: Any) -> Accommodation | None:
        rows = self.stays(text)
        return rows[0] if rows else None

    def has_attraction(self, text: Any) -> bool:
        name, city = name_and_city(text)
        return any(name in row.name for row in rows_of_city(self.world, "attraction", city))

    def flights_numbered(self, number: str) -> list[Flight]:
        if number not in self._flights:
            self._flights[number] = flights_numbered(self.world, number)
        return self._flights[number]


def flights_numbered(world: World, number: str) -> list[Flight]:
    try:
        return world.flights_numbered(number)
    except UnicodeEncodeError:
        # half a surrogate pair: no table holds it, and SQLite refuses to be asked
        return []


def road_cost_usd(world: World, origin: str, destination: str, mode: str) -> int | None:
    """Per vehicle: 1 dollar a km by taxi, 0.05 by own car, rounded down. None: no row, no data, or
    more than a day of driving."""
    row = world.ground(before_parenthesis(origin), before_parenthesis(destination))
    if row is None or not row.duration or not row.distance or "day" in row.duration:
        return None
    km = float(row.distance.replace("km", "").replace(",", ""))
    return int(km * 0.05) if mode == "self-driving" else int(km)


def city_lookup(world: World) -> CityOf:
    """(kind, name, cities) → the first of the cities that has a place of this name, also as people
    type it; None if none has."""

    names: dict[tuple[PlaceKind, str], set[str]] = {}

    def city_of(kind: PlaceKind, name: str, cities: Sequence[str]) -> str | None:
        for city in cities:
            place = kind, before_parenthesis(city).strip()
            if place not in names:
                # some names of the tables have blanks around them, which no plan can show
                rows = [row.name.strip() for row in rows_of_city(world, *place)]
                names[place] = {*rows, *map(typed, rows)}
            if name.strip() in names[place] or typed(name) in names[place]:
                return city
        return None

    return city_of


def rows_of_city(world: World, kind: PlaceKind, city: str) -> list[Any]:
    if kind == "restaurant":
        return world.restaurants(city)
    return world.attractions(city) if kind == "attraction" else world.accommodations(city)
