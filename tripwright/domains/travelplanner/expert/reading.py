"""Reads a tool's answer back into rows, whatever the face: one reader for each way in which faces write.

What cannot be read is not there: a row that is cut off or has a value of the wrong type is left out, and an answer that speaks of another
city, day or route than was asked has no rows at all. Either way the answer is then not `whole`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from string import Formatter
from typing import Any, NamedTuple, get_type_hints

from tripwright.domains.travelplanner.tools.catalog import Route
from tripwright.domains.travelplanner.tools.faces.json_text import write_arrays, write_objects
from tripwright.domains.travelplanner.tools.faces.star import write_numbered
from tripwright.errors import UserError
from tripwright.tools.face import Face, Table
from tripwright.tools.signatures import PAGE
from tripwright.world.records import Accommodation, Attraction, Flight, Restaurant

Row = Mapping[str, Any]  # by the names of the records' fields; only those that the face shows

RECORDS: dict[str, type] = {
    "search_flights": Flight,
    "search_ground_transportation": Route,
    "search_accommodations": Accommodation,
    "search_restaurants": Restaurant,
    "search_attractions": Attraction,
}
CITY = "city"  # the field of the rows of get_cities


class Answer(NamedTuple):
    """`pages` is how many pages the search has, None where the answer does not say because it is cut. `known` is False where the tool says
    that it cannot tell: then "no rows" does not mean that there is nothing."""

    rows: list[Row]
    whole: bool = True
    pages: int | None = 1
    known: bool = True


NOTHING = Answer([])
BROKEN = Answer([], whole=False, pages=None)


class Pieces(NamedTuple):
    """An answer taken apart: rows as values by the face's labels (or in their order), and what it says that it is about."""

    rows: list[Any]
    about: Mapping[str, str | int]
    whole: bool = True
    pages: int | None = 1
    known: bool = True


def check_readable(face: Face) -> None:
    """Raises UserError for a face whose answers no reader knows."""
    if face.write not in _READERS:
        raise UserError(f"The expert cannot read the answers of face '{face.name}': choose another dialect, or policy 'expert'.")


def read_answer(face: Face, tool: str, asked: Mapping[str, str], text: str, page: int = 1) -> Answer:
    """`tool`, `asked` and `page` are what was asked, by the core's names. An answer that says there is nothing has no rows and is whole."""
    parts = _READERS[face.write](face, tool, text)
    if parts is None:
        return BROKEN
    if not _is_about({**asked, PAGE: page}, parts.about):
        return BROKEN
    if tool == "get_cities":
        return Answer([{CITY: name} for name in parts.rows if isinstance(name, str)], parts.whole, parts.pages, parts.known)
    read = [_row(face, RECORDS[tool], values) for values in parts.rows]
    if any(row is not None and not _is_about(asked, row) for row in read):
        return BROKEN
    rows = [row for row in read if row is not None]
    return Answer(rows, parts.whole and len(rows) == len(read), parts.pages, parts.known)


def _is_about(asked: Mapping[str, str | int], said: Mapping[str, Any]) -> bool:
    return all(said.get(key, value) == value for key, value in asked.items())


def _row(face: Face, record: type, values: Any) -> Row | None:
    """By the core's names of fields, each of its type; None for what is no row of this table."""
    columns = face.tables[record].columns
    if isinstance(values, list) and len(values) == len(columns):
        values = {column.label: value for column, value in zip(columns, values, strict=True)}
    if not isinstance(values, dict) or any(column.label not in values for column in columns):
        return None
    kinds = _kinds(record)
    row = {column.field: _typed(kinds[column.field], values[column.label]) for column in columns}
    if "mode" in row:
        row["mode"] = next((core for core, word in face.words.get("mode", {}).items() if word == row["mode"]), row["mode"])
    return None if None in row.values() else row


@cache
def _kinds(record: type) -> dict[str, type]:
    return get_type_hints(record)


def _typed(kind: type, value: Any) -> Any:
    """None for a value of another type. A distance with its unit ("190 miles") stays a text."""
    if kind is str:
        return value if isinstance(value, str) else None
    if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value):  # from a sentence
        value = float(value) if kind is float or "." in value else int(value)
    if isinstance(value, str):
        return value if re.fullmatch(r"\d+(\.\d+)? miles", value) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or (kind is int and value != int(value)):
        return None
    return int(value) if kind is int else value


def _read_json(face: Face, tool: str, text: str) -> Pieces | None:
    """Both kinds of JSON: rows as objects with labels or as arrays. An error has no rows; only "No …" says that there is nothing."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return _read_beginning(text)
    if isinstance(found, list):
        return Pieces(found, {})
    if not isinstance(found, dict):
        return None
    if "error" in found:
        return Pieces([], {}, known=str(found["error"]).startswith("No "))
    rows, pages = found.get("rows", found.get("cities", [found])), found.get("pages", 1)
    about = {PAGE: found[PAGE]} if type(found.get(PAGE)) is int else {}
    return Pieces(rows, about, pages=pages) if isinstance(rows, list) and type(pages) is int else None


_BEGINNING = re.compile(r'(\{"(rows|cities)":\s*)?\[')


def _read_beginning(text: str) -> Pieces | None:
    """The whole rows of a list that is cut off."""
    opened = _BEGINNING.match(text)
    if opened is None:
        return None
    rows, position, decoder = [], opened.end(), json.JSONDecoder()
    while position < len(text):
        try:
            row, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        rows.append(row)
        separator = re.compile(r",\s*").match(text, position)
        if separator is None:
            break
        position = separator.end()
    return Pieces(rows, {}, whole=False, pages=None)


_PLACE = re.compile(r"\nRows (\d+)-(\d+) of \d+, page (\d+) of (\d+)\.[^\n]*$")
_CITIES = re.compile(r"A SearchCity for state (?P<state>.+) found the following (\d+) cities: (.*)", re.DOTALL)
_ROAD = re.compile(
    r"A GoogleDistanceMatrix found the following information: (?P<mode>[^,]+), from (?P<origin>.+) to (?P<destination>.+), "
    r"duration: (?P<duration>.+), distance: (?P<distance>.+), cost: \$(?P<cost_usd>\d+)"
)


def _read_numbered(face: Face, tool: str, text: str) -> Pieces | None:
    if tool == "get_cities":
        return _numbered_cities(text)
    if tool == "search_ground_transportation":
        road = _ROAD.fullmatch(text)
        return Pieces([road.groupdict()], {}) if road else _sentence(text)
    table = face.tables[RECORDS[tool]]
    head, _, rest = text.partition("\n")
    heading = _pattern(table.heading).fullmatch(head)
    if heading is None:
        return _sentence(text)
    about: dict[str, str | int] = {key: value for key, value in heading.groupdict().items() if key != "count"}
    place = _PLACE.search(f"\n{rest}")
    if place:
        about[PAGE] = int(place[3])
    first, last = (int(place[1]), int(place[2])) if place else (1, int(heading["count"]))
    rows = _numbered_rows(table, rest[: place.start() - 1] if place else rest, first)
    is_whole = len(rows) == last - first + 1
    return Pieces(rows, about, is_whole, int(place[4]) if place else 1 if is_whole else None)


def _numbered_rows(table: Table, lines: str, first: int) -> list[dict[str, str]]:
    """Up to the first that is not the next row."""
    rows = []
    for n, line in enumerate(re.split(r"\n(?=\d+\. \[)", lines), start=first):
        found = _pattern(table.row).fullmatch(line)
        if found is None or found["n"] != str(n):
            break
        rows.append({key: value for key, value in found.groupdict().items() if key != "n"})
    return rows


def _numbered_cities(text: str) -> Pieces | None:
    found = _CITIES.fullmatch(text)
    if found is None:
        return _sentence(text)
    cities = found[3].split(", ")
    is_whole = len(cities) == int(found[2])
    return Pieces(cities if is_whole else cities[:-1], {"state": found["state"]}, is_whole)


_CANNOT_TELL = re.compile(r"outside this world's records|^Tool calling error|^Invalid parameters")


def _sentence(text: str) -> Pieces | None:
    """A whole sentence that is no list says that there is nothing, or that the tool cannot tell."""
    if not text.endswith((".", "?")) or text.startswith("A "):
        return None
    return Pieces([], {}, known=not _CANNOT_TELL.search(text))


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """What a template of `str.format` has written."""
    pieces = (f"{re.escape(text)}{f'(?P<{name}>.*?)' if name else ''}" for text, name, _, _ in Formatter().parse(template))
    return re.compile("".join(pieces), re.DOTALL)


_READERS: dict[Callable[..., str], Callable[[Face, str, str], Pieces | None]] = {
    write_objects: _read_json,
    write_arrays: _read_json,
    write_numbered: _read_numbered,
}
