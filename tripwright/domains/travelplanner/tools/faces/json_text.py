"""TravelPlanner's results as JSON text: what every domain's are, and the two that are no rows, a
list of cities and a number."""

from __future__ import annotations

import json

from tripwright.domains.travelplanner.tools.catalog import CityList, Number
from tripwright.tools import face as of_any_domain
from tripwright.tools.face import Face, Pieces, ToolResult, number


def write_objects(face: Face, result: ToolResult) -> Pieces:
    match result:
        case CityList(cities=cities):
            return Pieces('{"cities": [', [*map(_text, cities)], ", ", "]}")
        case Number(value=value):
            return Pieces(json.dumps({"result": number(value)}))
    return of_any_domain.write_objects(face, result)


def write_arrays(face: Face, result: ToolResult) -> Pieces:
    match result:
        case CityList(cities=cities):
            return Pieces('{"cities":[', [*map(_text, cities)], ",", "]}")
        case Number(value=value):
            return Pieces(json.dumps({"result": number(value)}, separators=(",", ":")))
    return of_any_domain.write_arrays(face, result)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
