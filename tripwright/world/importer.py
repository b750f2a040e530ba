"""The official TravelPlanner tables (row T1) as a world.

Rows are used as the official code uses them, so a row in which any value of the
file is empty is left out (its `dropna`; counted in the manifest) while the distance table is kept
whole; every value keeps its original text. A `flights_coverage.json` beside the flights says which
searches they answer completely, and any other search is then unknown; without it the flights are
all there are. Rows are streamed: the full flights table has 3.8 million. Only filling holds the
known flights, from which it learns.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from itertools import product
from math import isfinite
from operator import itemgetter
from pathlib import Path
from typing import Any

from tripwright.errors import UserError, read_json
from tripwright.files import MOST_AT_ONCE, open_file
from tripwright.world.fill import Surroundings, fill_flights
from tripwright.world.geography import Position, middle_of
from tripwright.world.records import MISSING, WorldTables, road_distance_km
from tripwright.world.store import Report, World, check_target, reported, write_world

COVERAGE_FILE = "flights_coverage.json"


@dataclass(frozen=True)
class TableSource:
    """One table: what its file may be called, its columns in the order of the record type, which
    hold numbers or dates."""

    name: str
    files: tuple[str, ...]
    columns: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    # the official code drops a row with an empty value in any column, also in one that nobody uses
    dropna: bool = True


SOURCES = (
    TableSource(
        "cities",
        ("cities.csv", "citySet_with_states.txt"),
        ("city", "state"),
        dropna=False,
    ),
    TableSource(
        "flights",
        ("flights.csv", "clean_Flights_2022.csv"),
        (
            "Flight Number",
            "Price",
            "DepTime",
            "ArrTime",
            "ActualElapsedTime",
            "FlightDate",
            "OriginCityName",
            "DestCityName",
            "Distance",
        ),
        numbers=("Price", "Distance"),
        dates=("FlightDate",),
    ),
    TableSource(
        "grounds",
        ("distances.csv", "distance.csv"),
        ("origin", "destination", "duration", "distance"),
        dropna=False,
    ),
    TableSource(
        "restaurants",
        ("restaurants.csv", "clean_restaurant_2022.csv"),
        ("Name", "City", "Cuisines", "Average Cost", "Aggregate Rating"),
        numbers=("Average Cost", "Aggregate Rating"),
    ),
    TableSource(
        "attractions",
        ("attractions.csv",),
        ("Name", "Latitude", "Longitude", "Address", "Phone", "Website", "City"),
    ),
    TableSource(
        "accommodations",
        ("accommodations.csv", "clean_accommodations_2022.csv"),
        (
            "NAME",
            "room type",
            "price",
            "minimum nights",
            "review rate number",
            "house_rules",
            "maximum occupancy",
            "city",
        ),
        numbers=("price", "minimum nights", "review rate number", "maximum occupancy"),
    ),
)


@dataclass
class _Table:
    """An open table whose header has been checked; iterating yields the usable rows and counts the
    others."""

    source: TableSource
    path: Path
    positions: list[int]
    width: int  # columns of the file
    incomplete_rows: int = field(default=0)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        kind, width, self.incomplete_rows = self.source, self.width, 0
        checked = [
            (kind.columns.index(column), column, "a number", _is_number) for column in kind.numbers
        ]
        checked += [
            (kind.columns.index(column), column, "a date like 2022-03-16", _is_date)
            for column in kind.dates
        ]
        columns = itemgetter(*self.positions)
        lines = _lines(self.path)
        if self.path.suffix != ".txt":
            next(lines, None)  # the header
        for line, record in lines:
            full = record if len(record) >= width else [*record, *[""] * (width - len(record))]
            if kind.dropna and not MISSING.isdisjoint(full[:width]):
                self.incomplete_rows += 1
                continue
            row = columns(full)
            for index, column, description, holds in checked:
                if not holds(row[index]):
                    raise UserError(
                        f"{self.path}:{line}: column '{column}' holds {row[index]!r}; expected"
                        f" {description}."
                    )
            yield row


def import_world(
    source: Path, folder: Path, fill_seed: int | None = None, report: Report | None = None
) -> World:
    """Writes the tables found under `source` as a world to the new folder `folder`.

    With `fill_seed`, searches outside the coverage get generated flights (see `fill.py`). `report`
    is told each table's rows so far.
    """
    target = check_target(folder)
    tables = {kind.name: _open_table(source, kind) for kind in SOURCES}
    incomplete_rows: dict[str, int] = {}
    about: dict[str, Any] = {
        "name": target.name,
        "kind": "imported",
        "source": str(source),
        "incomplete_rows": incomplete_rows,
    }

    def counted(name: str) -> Iterator[tuple[str, ...]]:
        yield from tables[name]
        # read by the manifest, which is written after all rows
        incomplete_rows[name] = tables[name].incomplete_rows

    covered = _covered_searches(tables["flights"].path.parent, source)
    flights: Iterable[tuple[str, ...]] = counted("flights")
    filled_dates = None
    if fill_seed is not None:
        if covered is None:
            raise UserError(
                f"Nothing to fill: '{source}' has no {COVERAGE_FILE}, so its flights are taken to"
                " be all there are."
            )
        known_flights = list(reported("known flights", flights, report))
        # the first row of a city counts
        states = {row[0]: row[1] for row in reversed(list(tables["cities"]))}
        around = Surroundings(_road_km(tables["grounds"]), _sights(tables["attractions"]), states)
        flights, filled_dates = fill_flights(known_flights, covered, around, fill_seed)
        about["filled"] = {
            "seed": fill_seed,
            "from": filled_dates[0],
            "to": filled_dates[1],
            "known_flights": len(known_flights),
            "known_searches": "those in the table 'covered'; any other answer is generated",
        }
    return write_world(
        folder,
        WorldTables(
            cities=[(row[0], row[1]) for row in counted("cities")],
            flights=flights,
            grounds=counted("grounds"),
            restaurants=counted("restaurants"),
            attractions=counted("attractions"),
            accommodations=counted("accommodations"),
            covered_searches=covered,
            filled_dates=filled_dates,
            about=about,
        ),
        report,
    )


def _road_km(grounds: _Table) -> dict[tuple[str, str], float | None]:
    """The listed pairs in file order; the first row of a pair counts."""
    km_of_pair: dict[tuple[str, str], float | None] = {}
    for origin, destination, _, distance in grounds:
        km_of_pair.setdefault((origin, destination), road_distance_km(distance))
    return km_of_pair


def _sights(attractions: _Table) -> dict[str, Position]:
    """Where a city's sights lie: their median."""
    sights: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in attractions:
        sights[row[6]].append((row[1], row[2]))
    return {city: middle for city, each in sights.items() if (middle := middle_of(each))}


def _open_table(source: Path, kind: TableSource) -> _Table:
    path = _find(source, kind)
    header = next(_lines(path), None)
    if header is None:
        raise UserError(f"'{path}' is empty. Expected the columns {', '.join(kind.columns)}.")
    if path.suffix == ".txt":  # the list of cities has no header
        return _Table(kind, path, list(range(len(kind.columns))), len(kind.columns))
    absent = [column for column in kind.columns if column not in header[1]]
    if absent:
        names, header_text = ", ".join(map(repr, absent)), ", ".join(map(repr, header[1]))
        raise UserError(
            f"'{path}' has no column {names}. Found: {header_text}. Expected:"
            f" {', '.join(kind.columns)}."
        )
    return _Table(kind, path, [header[1].index(column) for column in kind.columns], len(header[1]))


def _find(source: Path, kind: TableSource) -> Path:
    if not source.is_dir():
        files = ", ".join(each.files[0] for each in SOURCES)
        raise UserError(
            f"No folder '{source}'. Expected the TravelPlanner database folder, with {files}."
        )
    for name, depth in product(kind.files, ("", "*/", "*/*/")):
        if found := sorted(source.glob(f"{depth}{name}")):
            return found[0]
    raise UserError(
        f"No table of {kind.name} in '{source}'. Expected one of: {', '.join(kind.files)}."
    )


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """(line number, values). Blank lines are none, as in pandas."""
    tabs: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
    try:
        with open_file(path, "r", follow=True, encoding="utf-8-sig", newline="") as text:
            reader = csv.reader(text, **(tabs if path.suffix == ".txt" else {}))
            yield from ((reader.line_num, values) for values in reader if values)
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"'{path}' is not a CSV file in UTF-8: {error}.") from None
    except OSError as error:
        raise UserError(f"'{path}' cannot be read: {error.strerror}.") from None


def _is_number(text: str) -> bool:
    """Of those that JSON has, too: neither infinite nor NaN, and no "1_000", which only Python
    reads."""
    try:
        return isfinite(float(text)) and "_" not in text and text.isascii()
    except ValueError:
        return False


@lru_cache(maxsize=4096)  # a table names few days
def _is_date(text: str) -> bool:
    """In the one of ISO's forms that the tables have."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _covered_searches(*folders: Path) -> list[tuple[str, str, str]] | None:
    path = next(
        (folder / COVERAGE_FILE for folder in folders if (folder / COVERAGE_FILE).is_file()), None
    )
    if path is None:
        return None
    try:
        with open_file(path, most=MOST_AT_ONCE, follow=True) as file:
            entries = read_json(file.read())
        searches = [(origin, destination, day) for origin, destination, day, *_ in entries]
    except (OSError, ValueError, TypeError):
        searches = [("", "", "")]
    for search in searches:
        if not all(isinstance(value, str) for value in search) or not _is_date(search[2]):
            raise UserError(
                f"'{path}' is not a coverage list. Expected a JSON array of [origin, destination,"
                f" date like 2022-03-16, row count]; found {list(search)}."
            )
    return searches
