"""Writes the tables of a world into a database. Streams: a table is never held in memory, however
long it is.

The subtle thing is the key of a flight. It packs origin, destination, day and the row's place in
the source file into one integer, so that the rows of one search lie side by side in file order and
are found by one range scan; the columns of a flight are numbers of texts (a few thousand different
ones serve millions of rows), so that a search costs no parsing and the file stays small.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from tripwright.errors import UserError
from tripwright.world.records import WorldTables

# 8,191 places, 2,047 days, 67 million flights: 63 bits in all
PLACE_BITS, DAY_BITS, ROW_BITS = 13, 11, 26
_DAY_MASK = (1 << DAY_BITS) - 1
REPORT_EVERY = 100_000

Report = Callable[[str, int], None]  # table, rows so far
Row = TypeVar("Row")

_DDL = """
CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE day (id INTEGER PRIMARY KEY, date TEXT NOT NULL UNIQUE, flights INTEGER NOT NULL);
CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE city (seq INTEGER PRIMARY KEY, place INTEGER NOT NULL, state TEXT NOT NULL);
CREATE TABLE flight (key INTEGER PRIMARY KEY, number TEXT, price INTEGER, departure_time INTEGER, arrival_time INTEGER,
  duration INTEGER, distance INTEGER);
CREATE TABLE ground (origin INTEGER, destination INTEGER, seq INTEGER, duration TEXT, distance TEXT,
  PRIMARY KEY (origin, destination, seq)) WITHOUT ROWID;
CREATE TABLE restaurant (place INTEGER, seq INTEGER, name TEXT, cuisines TEXT, cost TEXT, rating TEXT,
  PRIMARY KEY (place, seq)) WITHOUT ROWID;
CREATE TABLE attraction (place INTEGER, seq INTEGER, name TEXT, latitude TEXT, longitude TEXT, address TEXT, phone TEXT, website TEXT,
  PRIMARY KEY (place, seq)) WITHOUT ROWID;
CREATE TABLE accommodation (place INTEGER, seq INTEGER, name TEXT, room_type TEXT, price TEXT, minimum_nights TEXT, rating TEXT,
  house_rules TEXT, maximum_occupancy TEXT, PRIMARY KEY (place, seq)) WITHOUT ROWID;
CREATE TABLE covered (search INTEGER PRIMARY KEY);
CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT);
"""  # noqa: E501
COUNTED = ("city", "flight", "ground", "restaurant", "attraction", "accommodation", "covered")
ALL_TABLES = ("place", "day", "word", *COUNTED, "setting")
_INSERT_FLIGHT = "INSERT INTO {} VALUES (?,?,?,?,?,?,?)"


def search_key(origin: int, destination: int, day: int) -> int:
    """The upper bits of a flight's key, which all flights of one search share."""
    return (origin << PLACE_BITS | destination) << DAY_BITS | day


def write_tables(
    db: sqlite3.Connection,
    tables: WorldTables,
    report: Report | None = None,
    staging: Path | None = None,
) -> dict[str, Any]:
    """Fills an empty database and returns `rows`, counts by table. Unsorted flights are sorted by
    way of the file `staging`, if given."""
    db.executescript(_DDL)
    places, days, words = (
        _Numbers("places", PLACE_BITS),
        _Numbers("days", DAY_BITS),
        _Numbers("texts", 60),
    )
    flights_on_day: Counter[int] = Counter()
    place = places.__getitem__

    def flight_rows() -> Iterator[tuple[Any, ...]]:
        searches = _Searches(places, days)
        for seq, row in enumerate(reported("flights", tables.flights, report)):
            number, price, departure, arrived, duration, date, origin, destination, miles = row
            if seq >> ROW_BITS:
                raise UserError(
                    f"The table of flights has more than {seq:,} rows, which is the most that a"
                    " world can hold."
                )
            search = searches[origin, destination, date]
            flights_on_day[search & _DAY_MASK] += 1
            yield (
                search << ROW_BITS | seq,
                number,
                words[price],
                words[departure],
                words[arrived],
                words[duration],
                words[miles],
            )

    db.executemany(
        "INSERT INTO city VALUES (?,?,?)",
        ((i, place(c), s) for i, (c, s) in enumerate(tables.cities)),
    )
    _insert_flights(db, flight_rows(), None if tables.flights_sorted else staging)
    _insert_roads_and_places(db, tables, place, report)
    if tables.covered_searches is not None:
        searches = (
            (search_key(place(o), place(d), days[date]),) for o, d, date in tables.covered_searches
        )
        db.executemany("INSERT OR IGNORE INTO covered VALUES (?)", searches)
    db.executemany("INSERT INTO place VALUES (?,?)", ((i, name) for name, i in places.items()))
    db.executemany(
        "INSERT INTO day VALUES (?,?,?)", ((i, date, flights_on_day[i]) for date, i in days.items())
    )
    db.executemany("INSERT INTO word VALUES (?,?)", ((i, text) for text, i in words.items()))
    db.executemany("INSERT INTO setting VALUES (?,?)", _settings(tables))
    db.execute("CREATE INDEX flight_number ON flight (number)")
    db.commit()
    return {
        "rows": {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in COUNTED}
    }


def _settings(tables: WorldTables) -> list[tuple[str, str]]:
    """Which flight searches are known: all of them, or those in `covered`, and then perhaps every
    listed pair within some dates, too."""
    filled = list(zip(("filled_from", "filled_to"), tables.filled_dates or (), strict=False))
    return [("flights", "complete" if tables.covered_searches is None else "covered"), *filled]


def _insert_roads_and_places(
    db: sqlite3.Connection, tables: WorldTables, place: Callable[[str], int], report: Report | None
) -> None:
    for name, rows, columns, of_city in (
        ("ground", tables.grounds, 5, None),
        ("restaurant", tables.restaurants, 6, 1),
        ("attraction", tables.attractions, 8, 6),
        ("accommodation", tables.accommodations, 9, 7),
    ):
        marks = ",".join("?" * columns)
        numbered = enumerate(reported(f"{name}s", rows, report))
        values: Iterator[tuple[Any, ...]] = (
            ((place(r[0]), place(r[1]), i, *r[2:]) for i, r in numbered)
            if of_city is None
            else ((place(r[of_city]), i, *r[:of_city], *r[of_city + 1 :]) for i, r in numbered)
        )
        db.executemany(f"INSERT INTO {name} VALUES ({marks})", values)


def _insert_flights(
    db: sqlite3.Connection, rows: Iterator[tuple[Any, ...]], staging: Path | None
) -> None:
    """Rows out of order would be spread over the whole file one by one; SQLite's sorter does it in
    bounded memory instead."""
    if staging is None:
        db.executemany(_INSERT_FLIGHT.format("flight"), rows)
        return
    db.commit()
    db.execute("ATTACH ? AS staging", (str(staging),))
    db.execute("PRAGMA staging.journal_mode=OFF")
    db.execute("PRAGMA staging.synchronous=OFF")
    db.execute(
        "CREATE TABLE staging.arriving (key, number, price, departure_time, arrival_time, duration,"
        " distance)"
    )
    db.executemany(_INSERT_FLIGHT.format("staging.arriving"), rows)
    db.execute("INSERT INTO flight SELECT * FROM staging.arriving ORDER BY key")
    db.commit()
    db.execute("DETACH staging")
    staging.unlink()


class _Numbers(dict[str, int]):
    """Text → its number, counted from 1 in order of appearance."""

    def __init__(self, what: str, bits: int):
        super().__init__()
        self._what, self._most = what, (1 << bits) - 1

    def __missing__(self, text: str) -> int:
        if len(self) >= self._most:
            raise UserError(
                f"The tables name more than {self._most:,} {self._what}, which is the most that a"
                " world can hold."
            )
        self[text] = number = len(self) + 1
        return number


class _Searches(dict[tuple[str, str, str], int]):
    """(origin, destination, date) → search key, for the latest ones: rows of one search mostly come
    together."""

    def __init__(self, places: _Numbers, days: _Numbers):
        super().__init__()
        self._places, self._days = places, days

    def __missing__(self, search: tuple[str, str, str]) -> int:
        if len(self) >= 10_000:
            self.clear()
        origin, destination, date = search
        self[search] = key = search_key(
            self._places[origin], self._places[destination], self._days[date]
        )
        return key


def reported(table: str, rows: Iterable[Row], report: Report | None) -> Iterator[Row]:
    """The rows, with their number told now and then, and at the end."""
    return _told(table, rows, report) if report else iter(rows)


def _told(table: str, rows: Iterable[Row], report: Report) -> Iterator[Row]:
    count = 0
    for count, row in enumerate(rows, start=1):
        if count % REPORT_EVERY == 0:
            report(table, count)
        yield row
    report(table, count)


def content_hash(db: sqlite3.Connection) -> str:
    """sha256 over every row of every table in key order: equal worlds have equal hashes whatever
    wrote them."""
    digest = hashlib.sha256()
    for name in ALL_TABLES:
        digest.update(name.encode())
        columns = len(db.execute(f"SELECT * FROM {name} LIMIT 0").description)
        rows = db.execute(
            f"SELECT * FROM {name} ORDER BY {', '.join(map(str, range(1, min(columns, 3) + 1)))}"
        )
        while some := rows.fetchmany(2000):
            digest.update("\n".join(map(repr, some)).encode() + b"\n")
    return digest.hexdigest()
