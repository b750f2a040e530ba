"""The seven tools of row P1 over one world: what the agent may ask, and errors it can read and act on.

Signature and docstring are the only definition of a tool: the JSON schemas shown to models and the argument check are derived from
them. Tools return the world's typed records (a face turns them into text) or raise ToolError; they never guess: cities and states are
matched exactly, as in the official tools, and a near miss is answered with the name that was probably meant.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date as calendar_date
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from tripwright.tools.calculator import ToolError, evaluate
from tripwright.world.store import Accommodation, Attraction, Flight, Restaurant, World

SELF_DRIVING_USD_PER_KM = 0.05  # per car, as the official tool prices it
TAXI_USD_PER_KM = 1.0  # per taxi
LONGEST_QUOTE = 60


class Route(NamedTuple):
    """A road connection with the price of one vehicle."""

    mode: str
    origin: str
    destination: str
    duration: str
    distance: str
    cost_usd: int  # per car or taxi


class CityList(NamedTuple):
    state: str
    cities: tuple[str, ...]


class Number(NamedTuple):
    value: int | float


Record = TypeVar("Record")
ToolResult = list[Flight] | list[Accommodation] | list[Restaurant] | list[Attraction] | Route | CityList | Number


class TravelTools:
    """The tools, bound to a world. The order of the methods is the order of row P1 and of the schemas."""

    def __init__(self, world: World):
        self._world = world

    def search_flights(self, origin: str, destination: str, date: str) -> list[Flight]:
        """Search the flights between two cities on one day. Prices are in US dollars per person.

        Args:
            origin: The city to fly from.
            destination: The city to fly to.
            date: The day of departure, YYYY-MM-DD.
        """
        self._known_city(origin)
        self._known_city(destination)
        _known_date(date)
        flights = self._world.flights(origin, destination, date)
        if flights is None:
            raise ToolError(f"Flight search {origin} → {destination} on {date} is outside this world's records: unknown, not 'no flights'.")
        if not flights:
            raise ToolError(f"No flights from {origin} to {destination} on {date}.")
        return flights

    def search_accommodations(self, city: str) -> list[Accommodation]:
        """Search the places to stay in a city. Prices are in US dollars per room and night.

        Args:
            city: The city to stay in.
        """
        self._known_city(city)
        return _some(self._world.accommodations(city), "accommodations", city)

    def search_restaurants(self, city: str) -> list[Restaurant]:
        """Search the restaurants of a city. Costs are in US dollars per person and meal.

        Args:
            city: The city to eat in.
        """
        self._known_city(city)
        return _some(self._world.restaurants(city), "restaurants", city)

    def search_attractions(self, city: str) -> list[Attraction]:
        """Search the sights of a city.

        Args:
            city: The city to visit.
        """
        self._known_city(city)
        return _some(self._world.attractions(city), "attractions", city)

    def search_ground_transportation(self, origin: str, destination: str, mode: Literal["self-driving", "taxi"]) -> Route:
        """Look up the road between two cities: duration, distance and the cost in US dollars of one car or one taxi.

        Args:
            origin: The city to start from.
            destination: The city to reach.
            mode: Drive a car oneself (up to 5 people) or take a taxi (up to 4 people).
        """
        self._known_city(origin)
        self._known_city(destination)
        ground = self._world.ground(origin, destination)
        distance_km = road_distance_km(ground.distance) if ground else None
        # A drive of a day or more, or one without data, counts as no route at all (the official rule).
        if ground is None or distance_km is None or not ground.duration or "day" in ground.duration:
            raise ToolError(f"No valid {mode} route from {origin} to {destination}.")
        usd_per_km = SELF_DRIVING_USD_PER_KM if mode == "self-driving" else TAXI_USD_PER_KM
        return Route(mode, origin, destination, ground.duration, ground.distance, int(distance_km * usd_per_km))

    def get_cities(self, state: str) -> CityList:
        """List the cities of a state.

        Args:
            state: The name of the state.
        """
        cities = self._world.states.get(state)
        if cities is None:
            raise ToolError(_unknown("state", state, self._world.states))
        return CityList(state, tuple(cities))

    def calculator(self, expression: str) -> Number:
        """Calculate an arithmetic expression.

        Args:
            expression: Numbers, brackets and + - * / // % **, for instance "2 * (89 + 120)".
        """
        return Number(evaluate(expression))

    def _known_city(self, city: str) -> None:
        if city not in self._world.cities:
            hint = " It is a state: get_cities lists its cities." if city in self._world.states else ""
            raise ToolError(_unknown("city", city, self._world.cities, hint))


def road_distance_km(text: str) -> float | None:
    """Kilometres of a source text such as "1,118 km"; None where it is no such text."""
    match = re.fullmatch(r"([0-9][0-9,]*(?:\.[0-9]+)?)\s*km", text.strip())
    return float(match.group(1).replace(",", "")) if match else None


def quoted(value: object) -> str:
    """A value of the model's, short and harmless enough to be repeated to it.

    Angle brackets go, so that an argument cannot smuggle a control token such as `<|im_end|>` into a tool's answer, and so do lone
    surrogates, which no tokenizer can encode.
    """
    text = value if isinstance(value, str) else repr(value)
    text = text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + "…"
    text = re.sub(r"[<>]", "?", text).encode("utf-8", "replace").decode()
    return f"'{text}'" if isinstance(value, str) else text


def _some(found: list[Record], what: str, city: str) -> list[Record]:
    if not found:
        raise ToolError(f"No {what} in {city}.")
    return found


def _known_date(date: str) -> None:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", date):
        raise ToolError(f"Date {quoted(date)} is not YYYY-MM-DD.")
    try:
        calendar_date.fromisoformat(date)
    except ValueError:
        raise ToolError(f"Date {quoted(date)} is not a day of the calendar.") from None


def _unknown(kind: str, name: str, known: Iterable[str], hint: str = "") -> str:
    """For instance: Unknown city 'Bostn'. Did you mean 'Boston'?"""
    if not hint and (near := _nearest(name, list(known))):
        hint = f" Did you mean '{near}'?"
    return f"Unknown {kind} {quoted(name)}.{hint}"


def _nearest(name: str, known: list[str]) -> str | None:
    if len(name) > LONGEST_QUOTE:  # nobody's spelling of a place, and difflib is quadratic
        return None
    plain = re.split(r"[(,]", name)[0].strip().casefold()  # "Rockford(Illinois)", "rockford, IL"
    folded = {place.casefold(): place for place in known}
    near = difflib.get_close_matches(plain, folded, n=1, cutoff=0.6)
    return folded[near[0]] if near else None


# ---- signatures → schemas and argument checks

_JSON_TYPES: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_PYTHON_NAMES = {**_JSON_TYPES, dict: "object", list: "array", type(None): "null"}


def tool_functions() -> dict[str, Callable[..., ToolResult]]:
    """Name → unbound method, in order of definition."""
    return {name: member for name, member in vars(TravelTools).items() if inspect.isfunction(member) and not name.startswith("_")}


def tool_schemas() -> list[dict[str, Any]]:
    """The tools in the JSON function format of OpenAI, in the order of row P1. A fresh copy each time: callers may edit it."""
    return [_schema(name, function) for name, function in tool_functions().items()]


def _schema(name: str, function: Callable[..., ToolResult]) -> dict[str, Any]:
    description, arguments = _docstring(function)
    properties: dict[str, Any] = {}
    for parameter, kind in _parameters(function).items():
        if get_origin(kind) is Literal:
            properties[parameter] = {"type": "string", "enum": list(get_args(kind)), "description": arguments[parameter]}
        else:
            properties[parameter] = {"type": _JSON_TYPES[kind], "description": arguments[parameter]}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def _parameters(function: Callable[..., ToolResult]) -> dict[str, Any]:
    hints = get_type_hints(function)
    return {name: hints[name] for name in inspect.signature(function).parameters if name != "self"}


def _docstring(function: Callable[..., ToolResult]) -> tuple[str, dict[str, str]]:
    """(description, argument → description) of a Google-style docstring whose arguments take one line each."""
    description, _, listed = (inspect.getdoc(function) or "").partition("\n\nArgs:\n")
    arguments = dict(line.strip().split(": ", 1) for line in listed.splitlines() if line.strip())
    return " ".join(description.split()), arguments


def call_tool(tools: TravelTools, name: str, arguments: Mapping[str, Any]) -> ToolResult:
    """Calls a tool by name after checking its arguments. Raises ToolError for any mistake of the caller's."""
    function = _FUNCTIONS.get(name) if isinstance(name, str) else None
    if function is None:
        raise ToolError(f"Unknown tool {quoted(name)}. The tools are {', '.join(_FUNCTIONS)}.")
    _check_arguments(name, _PARAMETERS[name], arguments)
    return function(tools, **arguments)


def _check_arguments(tool: str, parameters: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    takes = f"{tool} takes {', '.join(parameters)}."
    for given in arguments:
        if given not in parameters:
            raise ToolError(f"Unknown argument {quoted(given)}. {takes}")
    if missing := [name for name in parameters if name not in arguments]:
        raise ToolError(f"Missing argument {', '.join(quoted(name) for name in missing)}. {takes}")
    for name, kind in parameters.items():
        value = arguments[name]
        if get_origin(kind) is Literal:
            if value not in get_args(kind):
                accepted = " or ".join(f"'{choice}'" for choice in get_args(kind))
                raise ToolError(f"Argument '{name}' must be {accepted}, found {quoted(value)}.")
        elif type(value) is not kind:
            found = _PYTHON_NAMES.get(type(value), type(value).__name__)
            shown = "" if value is None else f" {quoted(value)}"
            raise ToolError(f"Argument '{name}' must be a {_JSON_TYPES[kind]}, found {found}{shown}.")


_FUNCTIONS = tool_functions()
_PARAMETERS = {name: _parameters(function) for name, function in _FUNCTIONS.items()}
