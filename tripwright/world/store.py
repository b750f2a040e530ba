"""The closed world (row T1): tables in one SQLite file, clustered by the keys the tools and the judge ask for.

A world is a folder with `manifest.json` and `world.sqlite`, opened read-only (`immutable`), so that any number of processes and
threads share its pages. Every value is stored as the text it came with; records parse numbers on the way out. Rows of one key
keep the order of the source file, because the official rules look at "the first row".

A flight search has three outcomes: rows, no rows, or *unknown* (None): an imported world knows only the searches it lists as covered.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from tripwright.errors import UserError

SCHEMA_VERSION = 1
STORE_FILE = "world.sqlite"
MANIFEST_FILE = "manifest.json"


class Flight(NamedTuple):
    number: str
    price_usd: float  # per person
    departure_time: str
    arrival_time: str
    duration: str
    date: str
    origin: str
    destination: str
    distance_miles: float


class Ground(NamedTuple):
    """A road connection. Missing values are empty text, as in the source."""

    origin: str
    destination: str
    duration: str
    distance: str


class Restaurant(NamedTuple):
    name: str
    city: str
    cuisines: str
    average_cost_usd: float  # per person and meal
    rating: float


class Attraction(NamedTuple):
    name: str
    latitude: str
    longitude: str
    address: str
    phone: str
    website: str
    city: str


class Accommodation(NamedTuple):
    name: str
    room_type: str
    price_usd: float  # per room and night
    minimum_nights: float
    rating: float
    house_rules: str
    maximum_occupancy: int
    city: str


FLIGHT_COLUMNS = ("number", "price", "departure_time", "arrival_time", "duration", "date", "origin", "destination", "distance")


@dataclass
class WorldTables:
    """Rows to be written, as text tuples in the field order of the record types above (flights: FLIGHT_COLUMNS)."""

    cities: Sequence[tuple[str, str]]  # (city, state)
    flights: Iterable[tuple[str, ...]]
    grounds: Iterable[tuple[str, ...]]
    restaurants: Iterable[tuple[str, ...]]
    attractions: Iterable[tuple[str, ...]]
    accommodations: Iterable[tuple[str, ...]]
    covered_searches: Iterable[tuple[str, str, str]] | None = None  # None: every search is known
    about: dict[str, Any] = field(default_factory=dict)  # goes into the manifest: name, seed, source


_DDL = """
CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE city (seq INTEGER PRIMARY KEY, place INTEGER NOT NULL, state TEXT NOT NULL);
CREATE TABLE flight (origin INTEGER, destination INTEGER, date TEXT, seq INTEGER, number TEXT, price TEXT, departure_time TEXT,
  arrival_time TEXT, duration TEXT, distance TEXT, PRIMARY KEY (origin, destination, date, seq)) WITHOUT ROWID;
CREATE TABLE ground (origin INTEGER, destination INTEGER, seq INTEGER, duration TEXT, distance TEXT,
  PRIMARY KEY (origin, destination, seq)) WITHOUT ROWID;
CREATE TABLE restaurant (place INTEGER, seq INTEGER, name TEXT, cuisines TEXT, cost TEXT, rating TEXT,
  PRIMARY KEY (place, seq)) WITHOUT ROWID;
CREATE TABLE attraction (place INTEGER, seq INTEGER, name TEXT, latitude TEXT, longitude TEXT, address TEXT, phone TEXT, website TEXT,
  PRIMARY KEY (place, seq)) WITHOUT ROWID;
CREATE TABLE accommodation (place INTEGER, seq INTEGER, name TEXT, room_type TEXT, price TEXT, minimum_nights TEXT, rating TEXT,
  house_rules TEXT, maximum_occupancy TEXT, PRIMARY KEY (place, seq)) WITHOUT ROWID;
CREATE TABLE covered (origin INTEGER, destination INTEGER, date TEXT, PRIMARY KEY (origin, destination, date)) WITHOUT ROWID;
CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT);
"""
_TABLES = ("city", "flight", "ground", "restaurant", "attraction", "accommodation", "covered")


def write_tables(db: sqlite3.Connection, tables: WorldTables) -> dict[str, Any]:
    """Fills an empty database and returns its row counts."""
    db.executescript(_DDL)
    places: dict[str, int] = {}

    def place(name: str) -> int:
        return places.setdefault(name, len(places) + 1)

    db.executemany("INSERT INTO city VALUES (?,?,?)", ((i, place(c), s) for i, (c, s) in enumerate(tables.cities)))
    db.executemany(
        "INSERT INTO flight VALUES (?,?,?,?,?,?,?,?,?,?)",
        ((place(r[6]), place(r[7]), r[5], i, r[0], r[1], r[2], r[3], r[4], r[8]) for i, r in enumerate(tables.flights)),
    )
    db.executemany(
        "INSERT INTO ground VALUES (?,?,?,?,?)", ((place(r[0]), place(r[1]), i, r[2], r[3]) for i, r in enumerate(tables.grounds))
    )
    db.executemany(
        "INSERT INTO restaurant VALUES (?,?,?,?,?,?)", ((place(r[1]), i, r[0], r[2], r[3], r[4]) for i, r in enumerate(tables.restaurants))
    )
    db.executemany("INSERT INTO attraction VALUES (?,?,?,?,?,?,?,?)", ((place(r[6]), i, *r[:6]) for i, r in enumerate(tables.attractions)))
    db.executemany(
        "INSERT INTO accommodation VALUES (?,?,?,?,?,?,?,?,?)", ((place(r[7]), i, *r[:7]) for i, r in enumerate(tables.accommodations))
    )
    if tables.covered_searches is not None:
        db.executemany(
            "INSERT OR IGNORE INTO covered VALUES (?,?,?)", ((place(o), place(d), date) for o, d, date in tables.covered_searches)
        )
    db.executemany("INSERT INTO place VALUES (?,?)", ((i, name) for name, i in places.items()))
    db.execute("INSERT INTO setting VALUES ('flights', ?)", ("covered" if tables.covered_searches is not None else "complete",))
    db.execute("CREATE INDEX flight_number ON flight (number, seq)")
    db.commit()
    return {"rows": {name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in _TABLES}}


def content_hash(db: sqlite3.Connection) -> str:
    """sha256 over every row of every table in key order: equal worlds have equal hashes whatever wrote them."""
    digest = hashlib.sha256()
    for name in ("place", *_TABLES, "setting"):
        digest.update(name.encode())
        for row in db.execute(f"SELECT * FROM {name} ORDER BY 1, 2" + (", 3, 4" if name == "flight" else "")):
            digest.update(repr(row).encode())
    return digest.hexdigest()


def write_world(folder: str | Path, tables: WorldTables) -> World:
    """Writes a world folder atomically (a killed write leaves only a `.partial` folder) and opens it."""
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"'{folder}' exists and is not empty. Choose a new folder for the world, or delete this one first.")
    partial = folder.with_name(folder.name + ".partial")
    partial.mkdir(parents=True, exist_ok=True)
    for stale in partial.iterdir():
        stale.unlink()
    try:
        db = sqlite3.connect(partial / STORE_FILE)
        db.execute("PRAGMA journal_mode=OFF")
        db.execute("PRAGMA synchronous=OFF")
        manifest = {"schema_version": SCHEMA_VERSION, **tables.about, **write_tables(db, tables), "content_hash": content_hash(db)}
        db.execute("VACUUM")
        db.close()
    except sqlite3.OperationalError as error:
        raise UserError(f"'{partial}' cannot be written: {error}. Is the disk full, or the folder read-only?") from None
    (partial / MANIFEST_FILE).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    if folder.exists():
        folder.rmdir()
    os.replace(partial, folder)
    return World.open(folder)


class World:
    """Point look-ups over one world. Cheap to open, safe to share between threads and forks, picklable when it has a folder."""

    def __init__(self, folder: Path | None, manifest: dict[str, Any], memory: sqlite3.Connection | None = None):
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
        try:
            manifest = json.loads(manifest_path.read_text(encoding="utf-8"))
            version = manifest["schema_version"]
        except (ValueError, LookupError, TypeError):
            raise UserError(f"'{manifest_path}' is not a world manifest. Build or import the world again.") from None
        if version != SCHEMA_VERSION:
            raise UserError(
                f"World '{folder}' has schema version {version}; this tripwright reads version {SCHEMA_VERSION}. Build it again."
            )
        if not isinstance(manifest.get("rows"), dict) or "content_hash" not in manifest:
            raise UserError(f"'{manifest_path}' says neither the world's rows nor its content hash. Build or import the world again.")
        world = cls(folder, manifest)
        world._check_store(folder / STORE_FILE)
        return world

    @classmethod
    def in_memory(cls, tables: WorldTables) -> World:
        """A world without a folder: for the many throw-away worlds of training. Not picklable."""
        db = sqlite3.connect(":memory:", check_same_thread=False)
        return cls(None, {"schema_version": SCHEMA_VERSION, **tables.about, **write_tables(db, tables)}, memory=db)

    def __getstate__(self) -> dict[str, Any]:
        if self.folder is None:
            raise TypeError("a world in memory cannot be sent to another process; write it to a folder")
        return {"folder": self.folder, "manifest": self.manifest}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["folder"], state["manifest"])  # type: ignore[misc]

    @property
    def name(self) -> str:
        return str(self.manifest.get("name", self.folder.name if self.folder else "memory"))

    @cached_property
    def content_hash(self) -> str:
        return str(self.manifest["content_hash"]) if "content_hash" in self.manifest else content_hash(self._db())

    def _db(self) -> sqlite3.Connection:
        if self._memory is not None:
            return self._memory
        if getattr(self._local, "pid", None) != os.getpid():  # a fork must not share its parent's connection
            assert self.folder is not None
            uri = f"{(self.folder / STORE_FILE).absolute().as_uri()}?mode=ro&immutable=1"
            self._local.db = sqlite3.connect(uri, uri=True, check_same_thread=False)
            self._local.db.execute("PRAGMA mmap_size=1073741824")
            self._local.pid = os.getpid()
        db: sqlite3.Connection = self._local.db
        return db

    def _check_store(self, path: Path) -> None:
        """Cheap signs of a copy that was cut short or of another file: the header's length, and the names of the tables."""
        with path.open("rb") as store:
            header = store.read(100)
        page_bytes = int.from_bytes(header[16:18], "big")
        expected_bytes = (65536 if page_bytes == 1 else page_bytes) * int.from_bytes(header[28:32], "big")
        try:
            found = {row[0] for row in self._db().execute("SELECT name FROM sqlite_master")}
        except sqlite3.DatabaseError:
            found = set()
        if path.stat().st_size < expected_bytes or not found.issuperset((*_TABLES, "place", "setting")):
            raise UserError(f"'{path}' is damaged or not a world's store. Build or import the world again.")

    # ---- places

    @cached_property
    def _places(self) -> dict[str, int]:
        return dict(self._db().execute("SELECT name, id FROM place"))

    @cached_property
    def cities(self) -> dict[str, str]:
        """City → state, in file order."""
        rows = self._db().execute("SELECT p.name, c.state FROM city c JOIN place p ON p.id = c.place ORDER BY c.seq")
        found: dict[str, str] = {}
        for city, state in rows:
            found.setdefault(city, state)
        return found

    @cached_property
    def states(self) -> dict[str, list[str]]:
        """State → its cities, in file order."""
        rows = self._db().execute("SELECT p.name, c.state FROM city c JOIN place p ON p.id = c.place ORDER BY c.seq")
        found: dict[str, list[str]] = {}
        for city, state in rows:
            found.setdefault(state, []).append(city)
        return found

    @cached_property
    def flights_complete(self) -> bool:
        """Whether every flight search is known (a generated world), or only the covered ones (an imported one)."""
        return bool(self._db().execute("SELECT value FROM setting WHERE key = 'flights'").fetchone()[0] == "complete")

    @cached_property
    def dates(self) -> list[str]:
        """Days with at least one flight, in order."""
        return [row[0] for row in self._db().execute("SELECT DISTINCT date FROM flight ORDER BY date")]

    # ---- point look-ups

    def flights(self, origin: str, destination: str, date: str) -> list[Flight] | None:
        """Flights of one route and day in file order; [] where there is none; None where this world does not know."""
        o, d = self._places.get(origin), self._places.get(destination)
        if o is not None and d is not None:
            rows = self._db().execute(
                "SELECT number, price, departure_time, arrival_time, duration, date, ?, ?, distance FROM flight"
                " WHERE origin = ? AND destination = ? AND date = ? ORDER BY seq",
                (origin, destination, o, d, date),
            )
            found = [_flight(row) for row in rows]
            if found or self.flights_complete:
                return found
            if self._db().execute("SELECT 1 FROM covered WHERE origin = ? AND destination = ? AND date = ?", (o, d, date)).fetchone():
                return []
        return [] if self.flights_complete else None

    def flights_numbered(self, number: str) -> list[Flight]:
        """Every flight with this number on any route and day, in file order."""
        rows = self._db().execute(
            "SELECT f.number, f.price, f.departure_time, f.arrival_time, f.duration, f.date, a.name, b.name, f.distance FROM flight f"
            " JOIN place a ON a.id = f.origin JOIN place b ON b.id = f.destination WHERE f.number = ? ORDER BY f.seq",
            (number,),
        )
        return [_flight(row) for row in rows]

    def ground(self, origin: str, destination: str) -> Ground | None:
        """The road connection: the first row of the pair, as the official tool reads it; None where the table has no row."""
        o, d = self._places.get(origin), self._places.get(destination)
        if o is None or d is None:
            return None
        key = ("ground", origin, destination)
        known = self._known_rows()
        if key not in known:
            row = (
                self._db()
                .execute("SELECT duration, distance FROM ground WHERE origin = ? AND destination = ? ORDER BY seq LIMIT 1", (o, d))
                .fetchone()
            )
            known[key] = Ground(origin, destination, row[0], row[1]) if row else None
        found: Ground | None = known[key]
        return found

    def restaurants(self, city: str) -> list[Restaurant]:
        return self._of_city(
            "restaurant", city, "name, ?2, cuisines, cost, rating", lambda r: Restaurant(r[0], r[1], r[2], float(r[3]), float(r[4]))
        )

    def attractions(self, city: str) -> list[Attraction]:
        return self._of_city("attraction", city, "name, latitude, longitude, address, phone, website, ?2", lambda r: Attraction(*r))

    def accommodations(self, city: str) -> list[Accommodation]:
        return self._of_city(
            "accommodation",
            city,
            "name, room_type, price, minimum_nights, rating, house_rules, maximum_occupancy, ?2",
            lambda r: Accommodation(r[0], r[1], float(r[2]), float(r[3]), float(r[4]), r[5], int(float(r[6])), r[7]),
        )

    def _of_city(self, table: str, city: str, columns: str, record: Any) -> list[Any]:
        place = self._places.get(city)
        if place is None:  # and nothing is remembered: what is asked for may be any text that a model wrote
            return []
        key = (table, city)
        known = self._known_rows()
        if key not in known:
            rows = self._db().execute(f"SELECT {columns} FROM {table} WHERE place = ?1 ORDER BY seq", (place, city))
            known[key] = [record(row) for row in rows]
        found: list[Any] = known[key]
        return found

    def _known_rows(self) -> dict[tuple[str, ...], Any]:
        """Bounded: a long run over the full distance table must not grow for ever. Other threads may still be reading the old one."""
        if len(self._city_rows) > 20_000:
            self._city_rows = {}
        return self._city_rows


def _flight(row: Sequence[Any]) -> Flight:
    return Flight(row[0], float(row[1]), row[2], row[3], row[4], row[5], row[6], row[7], float(row[8] or 0.0))
