"""The closed world on disk (row T1): tables in one SQLite file, clustered by the keys the tools and
the judge ask for.

A world is a folder with `manifest.json` and `world.sqlite`, opened read-only (`immutable`), so that
any number of processes and threads share its pages; each thread gets its own connection without
asking. Every value is stored as the text it came with; records parse numbers on the way out. Rows
of one key keep the order of the source file, because the official rules look at "the first row".

Writing streams: a table is never held in memory, however long it is. The key of a flight packs
origin, destination, day and the row's place in the source file into one integer, so that the rows
of one search lie side by side in file order and are found by one range scan; the columns of a
flight are numbers of texts (a few thousand different ones serve millions of rows), so that a search
costs no parsing and the file stays small.

A flight search has three outcomes: rows, no rows, or *unknown* (None): an imported world knows only
the searches it lists as covered, and, if it was filled, those of the pairs in its road table on the
days it was filled for."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from tripwright.errors import UserError
from tripwright.files import json_object, make_parent, open_file, whole_folder
from tripwright.world.records import (
    MISSING,
    Accommodation,
    Attraction,
    Flight,
    Ground,
    Restaurant,
    Texts,
    WorldTables,
)

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


def search_key(origin: int, destination: int, day: int) -> int:
    """The upper bits of a flight's key, which all flights of one search share."""
    return (origin << PLACE_BITS | destination) << DAY_BITS | day


def write_tables(
    db: sqlite3.Connection, tables: WorldTables, report: Report | None = None
) -> dict[str, Any]:
    """Fills an empty database and returns `rows`, counts by table."""
    db.executescript(_DDL)
    places = _Numbers("places", PLACE_BITS)
    days = _Numbers("days", DAY_BITS)
    words = _Numbers("texts", 60)
    flights_on_day: Counter[int] = Counter()
    place = places.__getitem__

    @lru_cache(10_000)  # rows of one search mostly come together
    def search_of(origin: str, destination: str, date: str) -> int:
        return search_key(places[origin], places[destination], days[date])

    def flight_rows() -> Iterator[tuple[Any, ...]]:
        for seq, row in enumerate(reported("flights", tables.flights, report)):
            number, price, departure, arrived, duration, date, origin, destination, miles = row
            if seq >> ROW_BITS:
                raise UserError(
                    f"The table of flights has more than {seq:,} rows, which is the most that a"
                    " world can hold."
                )
            search = search_of(origin, destination, date)
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
    _insert_flights(db, flight_rows(), tables.flights_sorted)
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
    db: sqlite3.Connection, rows: Iterator[tuple[Any, ...]], in_order: bool
) -> None:
    """Rows out of order would be spread over the whole file one by one; SQLite's sorter does it in
    bounded memory instead."""
    if in_order:
        db.executemany("INSERT INTO flight VALUES (?,?,?,?,?,?,?)", rows)
        return
    db.execute("CREATE TEMP TABLE arriving AS SELECT * FROM flight")
    db.executemany("INSERT INTO arriving VALUES (?,?,?,?,?,?,?)", rows)
    db.execute("INSERT INTO flight SELECT * FROM arriving ORDER BY key")
    db.execute("DROP TABLE arriving")


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


def reported(table: str, rows: Iterable[Row], report: Report | None) -> Iterator[Row]:
    """The rows, with their number told now and then, and at the end."""
    count = 0
    for count, row in enumerate(rows, start=1):
        if report and count % REPORT_EVERY == 0:
            report(table, count)
        yield row
    if report:
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


SCHEMA_VERSION = 2
STORE_FILE = "world.sqlite"
MANIFEST_FILE = "manifest.json"


class World:
    """Point look-ups over one world. Cheap to open, safe to share between threads and forks,
    picklable when it has a folder."""

    def __init__(
        self,
        folder: Path | None,
        manifest: dict[str, Any],
        memory: sqlite3.Connection | None = None,
    ):
        self.folder, self.manifest = folder, manifest
        self._memory = memory
        self._local = threading.local()
        self._city_rows: dict[tuple[str, ...], Any] = {}

    @classmethod
    def open(cls, folder: str | Path) -> World:
        folder = Path(folder)
        manifest_path = folder / MANIFEST_FILE
        if not manifest_path.is_file() or not (folder / STORE_FILE).is_file():
            raise UserError(
                f"No world at '{folder}': expected a folder with {MANIFEST_FILE} and {STORE_FILE}, "
                "as made by 'tripwright world build' or 'world import'."
            )
        for path in (manifest_path, folder / STORE_FILE):  # which SQLite opens by its name
            open_file(path).close()
        manifest = json_object(manifest_path) or {}
        if (
            manifest.get("schema_version") != SCHEMA_VERSION
            or not isinstance(manifest.get("rows"), dict)
            or "content_hash" not in manifest
        ):
            raise UserError(
                f"'{manifest_path}' is not the manifest of a world of schema version"
                f" {SCHEMA_VERSION}. Build or import the world again."
            )
        world = cls(folder, manifest)
        world._check_store(folder / STORE_FILE)
        return world

    @classmethod
    def in_memory(cls, tables: WorldTables) -> World:
        """A world without a folder: for the many throw-away worlds of training. Not picklable."""
        # From Python 3.12 on, threads that use one kept statement at once read each other's rows.
        db = sqlite3.connect(":memory:", check_same_thread=False, cached_statements=0)
        manifest = {"schema_version": SCHEMA_VERSION, **tables.about, **write_tables(db, tables)}
        return cls(None, manifest, memory=db)

    def __reduce__(self) -> Any:
        if self.folder is None:
            raise TypeError(
                "a world in memory cannot be sent to another process; write it to a folder"
            )
        return World, (self.folder, self.manifest)

    @property
    def name(self) -> str:
        return str(self.manifest.get("name", self.folder.name if self.folder else "memory"))

    @cached_property
    def content_hash(self) -> str:
        return str(self.manifest.get("content_hash") or content_hash(self._db()))

    def _db(self) -> sqlite3.Connection:
        if self._memory is not None:
            return self._memory
        # a fork must not share its parent's connection
        if getattr(self._local, "pid", None) != os.getpid():
            assert self.folder is not None
            self._local.db = connect(self.folder)
            self._local.db.execute("PRAGMA mmap_size=1073741824")
            self._local.pid = os.getpid()
        db: sqlite3.Connection = self._local.db
        return db

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        return self._db().execute(sql, values).fetchall()

    def _check_store(self, path: Path) -> None:
        """Cheap signs of a copy that was cut short, which SQLite finds, or of another file."""
        try:
            tables = {name for (name,) in self._rows("SELECT name FROM sqlite_master")}
        except sqlite3.DatabaseError:
            tables = set()
        if path.stat().st_size % 512 or not tables.issuperset(ALL_TABLES):  # pages are of 512 bytes
            raise UserError(
                f"'{path}' is damaged or not a world's store. Build or import the world again."
            )

    # ---- places and days

    @cached_property
    def _places(self) -> dict[str, int]:
        return dict(self._rows("SELECT name, id FROM place"))

    @cached_property
    def _days(self) -> dict[str, int]:
        return dict(self._rows("SELECT date, id FROM day"))

    @cached_property
    def _words(self) -> tuple[list[str], list[float]]:
        """The texts of the flights' columns by number, and what they say as numbers (0.0 where they
        are none)."""
        rows = [("", ""), *self._rows("SELECT id, text FROM word ORDER BY id")]
        return [text for _, text in rows], [_number(text) for _, text in rows]

    @cached_property
    def _city_states(self) -> list[tuple[str, str]]:
        return self._rows(
            "SELECT p.name, c.state FROM city c JOIN place p ON p.id = c.place ORDER BY c.seq"
        )

    @cached_property
    def cities(self) -> dict[str, str]:
        """City → state, in file order."""
        state_of: dict[str, str] = {}
        for city, state in self._city_states:
            state_of.setdefault(city, state)
        return state_of

    @cached_property
    def states(self) -> dict[str, list[str]]:
        """State → its cities, in file order."""
        cities_of: dict[str, list[str]] = {}
        for city, state in self._city_states:
            cities_of.setdefault(state, []).append(city)
        return cities_of

    @cached_property
    def _settings(self) -> dict[str, str]:
        return dict(self._rows("SELECT key, value FROM setting"))

    @cached_property
    def flights_complete(self) -> bool:
        """Whether every flight search is known (a generated world), or only the covered and filled
        ones (an imported one)."""
        return self._settings["flights"] == "complete"

    @property
    def filled_dates(self) -> tuple[str, str] | None:
        """First and last day for which flights were generated beside the known ones; None in a
        world that was not filled."""
        first, last = map(self._settings.get, ("filled_from", "filled_to"))
        return None if first is None or last is None else (first, last)

    @cached_property
    def flights_by_day(self) -> dict[str, int]:
        """Day → number of flights, for the days that have any, in order."""
        return dict(self._rows("SELECT date, flights FROM day WHERE flights > 0 ORDER BY date"))

    @cached_property
    def dates(self) -> list[str]:
        """Days with at least one flight, in order."""
        return list(self.flights_by_day)

    # ---- point look-ups

    def flights(self, origin: str, destination: str, date: str) -> list[Flight] | None:
        """Flights of one route and day in file order; [] where there is none; None where this world
        does not know."""
        search = self._search_key(origin, destination, date)
        if search is not None:
            text, value = self._words
            new, record = tuple.__new__, Flight  # half the cost of calling the record's constructor
            flights = [
                new(
                    record,
                    (
                        number,
                        value[price],
                        text[departure],
                        text[there],
                        text[long],
                        date,
                        origin,
                        destination,
                        value[miles],
                    ),
                )
                for number, price, departure, there, long, miles in self._flight_rows(search)
            ]
            if flights or self.flights_complete:
                return flights
            if self._rows("SELECT 1 FROM covered WHERE search = ?", search):
                return []
        return [] if self.flights_complete or self._filled(origin, destination, date) else None

    def _search_key(self, origin: str, destination: str, date: str) -> int | None:
        """None where the world has never heard of a place or the day."""
        o, d, day = self._places.get(origin), self._places.get(destination), self._days.get(date)
        return None if o is None or d is None or day is None else search_key(o, d, day)

    def _flight_rows(self, search: int) -> sqlite3.Cursor:
        return self._db().execute(
            "SELECT number, price, departure_time, arrival_time, duration, distance FROM flight"
            " WHERE key >= ? AND key < ? ORDER BY key",
            (search << ROW_BITS, (search + 1) << ROW_BITS),
        )

    def _filled(self, origin: str, destination: str, date: str) -> bool:
        dates = self.filled_dates
        return (
            dates is not None
            and dates[0] <= date <= dates[1]
            and self.ground(origin, destination) is not None
        )

    def flights_numbered(self, number: str) -> list[Flight]:
        """Every flight with this number on any route and day, in file order."""
        rows = self._rows(
            "SELECT key, price, departure_time, arrival_time, duration, distance FROM flight WHERE"
            " number = ?",
            number,
        )
        rows.sort(key=lambda row: row[0] & ((1 << ROW_BITS) - 1))
        text, value = self._words
        return [
            Flight(
                number,
                value[price],
                *(text[departure], text[there], text[long]),
                *self._search(key >> ROW_BITS),
                value[miles],
            )
            for key, price, departure, there, long, miles in rows
        ]

    @cached_property
    def _names(self) -> tuple[dict[int, str], dict[int, str]]:
        """Places and days by number."""
        return {i: name for name, i in self._places.items()}, {
            i: date for date, i in self._days.items()
        }

    def _search(self, search: int) -> tuple[str, str, str]:
        """(date, origin, destination)."""
        places, days = self._names
        route, day = divmod(search, 1 << DAY_BITS)
        return days[day], places[route >> PLACE_BITS], places[route & ((1 << PLACE_BITS) - 1)]

    def ground(self, origin: str, destination: str) -> Ground | None:
        """The road connection: the first row of the pair, as the official tool reads it; None where
        the table has no row."""
        o, d = self._places.get(origin), self._places.get(destination)
        if o is None or d is None:
            return None
        key = ("ground", origin, destination)
        memory = self._known_rows()
        if key not in memory:
            rows = self._rows(
                "SELECT duration, distance FROM ground WHERE origin = ? AND destination = ? ORDER"
                " BY seq LIMIT 1",
                *(o, d),
            )
            memory[key] = (
                Ground(origin, destination, *("" if text in MISSING else text for text in rows[0]))
                if rows
                else None
            )
        connection: Ground | None = memory[key]
        return connection

    def restaurants(self, city: str) -> list[Restaurant]:
        return self._of_city(
            "restaurant", city, lambda r: Restaurant(r[0], city, r[1], float(r[2]), float(r[3]))
        )

    def attractions(self, city: str) -> list[Attraction]:
        return self._of_city("attraction", city, lambda r: Attraction._make((*r, city)))

    def accommodations(self, city: str) -> list[Accommodation]:
        return self._of_city(
            "accommodation",
            city,
            lambda r: Accommodation(
                r[0], r[1], float(r[2]), float(r[3]), float(r[4]), r[5], int(float(r[6])), city
            ),
        )

    def _of_city(self, table: str, city: str, record: Callable[[Texts], Any]) -> list[Any]:
        # and nothing is remembered: what is asked for may be any text that a model wrote
        if city not in self._places:
            return []
        key = (table, city)
        memory = self._known_rows()
        if key not in memory:
            sql = f"SELECT {CITY_COLUMNS[table]} FROM {table} WHERE place = ? ORDER BY seq"
            memory[key] = [record(row) for row in self._rows(sql, self._places[city])]
        # a copy: what is remembered must outlive what callers do with theirs
        return list(memory[key])

    def _known_rows(self) -> dict[tuple[str, ...], Any]:
        """Bounded: a long run over the full distance table must not grow for ever. Other threads
        may still be reading the old one."""
        if len(self._city_rows) > 20_000:
            self._city_rows = {}
        return self._city_rows


CITY_COLUMNS = {
    "restaurant": "name, cuisines, cost, rating",
    "attraction": "name, latitude, longitude, address, phone, website",
    "accommodation": (
        "name, room_type, price, minimum_nights, rating, house_rules, maximum_occupancy"
    ),
}


def connect(folder: Path) -> sqlite3.Connection:
    """To the store of a world, for any thread, without locks: nobody writes to it."""
    uri = f"{(folder / STORE_FILE).absolute().as_uri()}?mode=ro&immutable=1"
    return sqlite3.connect(uri, uri=True, check_same_thread=False)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


# ---- a world as a folder


def write_world(folder: str | Path, tables: WorldTables, report: Report | None = None) -> World:
    """Writes a new world folder, whole or not at all, and opens it. Raises UserError where the
    folder is taken, is being written by another process, or the disk is full."""
    target = check_target(Path(folder))
    with whole_folder(target) as partial:
        try:
            db = sqlite3.connect(partial / STORE_FILE)
            # whatever interrupts the writing, this file is thrown away
            db.execute("PRAGMA journal_mode=OFF")
            db.execute("PRAGMA synchronous=OFF")
            counts = write_tables(db, tables, report)
            if report:
                report("content hash", 0)
            manifest = {
                "schema_version": SCHEMA_VERSION,
                **tables.about,
                **counts,
                "content_hash": content_hash(db),
            }
            db.close()
            (partial / MANIFEST_FILE).write_text(
                json.dumps(manifest, indent=2) + "\n", encoding="utf-8"
            )
            for path in (partial / STORE_FILE, partial / MANIFEST_FILE):
                with path.open("rb") as file:
                    os.fsync(file.fileno())
        except (sqlite3.OperationalError, OSError) as error:
            raise UserError(
                f"'{partial}' cannot be written: {error}. Is the disk full, or the folder"
                " read-only?"
            ) from None
        check_target(target)  # another process may have written it meanwhile
    return World.open(folder)


def check_target(folder: Path) -> Path:
    """`folder` in full. Raises UserError unless a world can be written there: long work should not
    begin in vain."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise UserError(
            f"'{folder}' exists and is not empty. Choose a new folder for the world, or delete this"
            " one first."
        )
    make_parent(folder)
    return folder.resolve()


def verify(world: World) -> tuple[str, str]:
    """(the hash that the manifest gives, the hash of the rows that are there): equal unless the
    file was changed or damaged."""
    assert world.folder is not None
    db = connect(world.folder)
    try:
        actual_hash = content_hash(db)
    except sqlite3.DatabaseError as error:
        actual_hash = f"unreadable: {error}"
    finally:
        db.close()
    return world.content_hash, actual_hash
