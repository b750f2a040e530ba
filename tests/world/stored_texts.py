"""The rows of a world's store as the source wrote them: texts, where the world gives records."""

from tripwright.world.records import Texts
from tripwright.world.store import CITY_COLUMNS, World


def flight_texts(world: World, origin: str, destination: str, date: str) -> list[Texts]:
    """The rows of one search, in the field order of `Flight`; [] where there is none."""
    search = world._search_key(origin, destination, date)
    text = world._words[0]
    return [
        (number, *map(text.__getitem__, words[:-1]), date, origin, destination, text[words[-1]])
        for number, *words in (world._flight_rows(search) if search is not None else ())
    ]


def ground_texts(world: World, origin: str, destination: str) -> list[Texts]:
    """Every row of the pair, in the field order of `Ground`."""
    o, d = world._places.get(origin), world._places.get(destination)
    rows = world._rows(
        "SELECT duration, distance FROM ground WHERE origin = ? AND destination = ? ORDER BY seq",
        *(o, d),
    )
    return [(origin, destination, *row) for row in rows]


def city_texts(world: World, table: str, city: str) -> list[Texts]:
    """The rows of "restaurant", "attraction" or "accommodation" in one city, without the city."""
    place = world._places.get(city)
    return world._rows(
        f"SELECT {CITY_COLUMNS[table]} FROM {table} WHERE place = ? ORDER BY seq", place
    )
