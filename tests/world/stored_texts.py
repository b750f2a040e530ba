"""The rows of a world's store as the source wrote them: texts, where the world gives records."""

from tripwright.world.records import Texts
from tripwright.world.store import ROW_BITS, World, search_key


def flight_texts(world: World, origin: str, destination: str, date: str) -> list[Texts]:
    """The rows of one search, in the field order of `Flight`; [] where there is none."""
    places, day = (
        [world._places.get(place) for place in (origin, destination)],
        world._days.get(date),
    )
    if None in (*places, day):
        return []
    search, text = search_key(*places, day), world._words[0]
    rows = world._rows(
        "SELECT number, price, departure_time, arrival_time, duration, distance FROM flight WHERE"
        " key >= ? AND key < ? ORDER BY key",
        *(search << ROW_BITS, (search + 1) << ROW_BITS),
    )
    return [
        (number, *map(text.__getitem__, words[:-1]), date, origin, destination, text[words[-1]])
        for number, *words in rows
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
    rows = world._rows(f"SELECT * FROM {table} WHERE place = ? ORDER BY seq", place)
    return [row[2:] for row in rows]
