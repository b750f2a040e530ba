"""Which vendor answers which tool, from one TOML file (docs/examples/live.toml):

    contact = "you@example.org"          # goes into the User-Agent
    [tools]
    route_planning = "osrm"              # a tool of row D1 = a vendor
    [vendors.osrm]                       # what differs from the defaults
    places = "nominatim"                 # who knows where a name is
    mode = "walking"

A vendor that answers several tools, or several times says where a place is, is one client with one
budget. Keys come from the environment and from nowhere else.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from tripwright.domains.deeptravel.sandbox.limits import LocalLimits, RateLimits
from tripwright.domains.deeptravel.sandbox.provider import Provider, Terms
from tripwright.domains.deeptravel.sandbox.services_keys import refuse_keys
from tripwright.domains.deeptravel.tools.answers import RECORDS
from tripwright.domains.deeptravel.vendors.positions import Positions
from tripwright.errors import UserError

# Imported only when named: some need packages of an extra.
VENDORS: Mapping[str, tuple[str, str]] = {
    "duffel": ("tripwright.domains.deeptravel.vendors.duffel", "Duffel"),
    "motis": ("tripwright.domains.deeptravel.vendors.motis", "Motis"),
    "nominatim": ("tripwright.domains.deeptravel.vendors.nominatim", "Nominatim"),
    "osrm": ("tripwright.domains.deeptravel.vendors.osrm", "Osrm"),
    "overpass": ("tripwright.domains.deeptravel.vendors.overpass", "Overpass"),
    "photon": ("tripwright.domains.deeptravel.vendors.photon", "Photon"),
    "searxng": ("tripwright.domains.deeptravel.vendors.searxng", "Searxng"),
    "tavily": ("tripwright.domains.deeptravel.vendors.tavily", "Tavily"),
    "valhalla": ("tripwright.domains.deeptravel.vendors.valhalla", "Valhalla"),
}
MCP = "mcp"  # and "mcp-NAME": there may be several servers
PYTHON = "python"  # and "python-NAME": a function answers one tool
WORLD = "world"
TERMS_OPTIONS: Mapping[str, type] = {"requests_per_second": float, "burst": int, "may_store": bool}
WEB_OPTIONS: Mapping[str, type] = {**TERMS_OPTIONS, "max_answer_mb": float}
# Answered only by who knows where places are, or else with the option that does without: vendor →
# (tool, option).
NEEDS_PLACES: Mapping[str, tuple[str, str]] = {"duffel": ("hotel_search", "test_hotels")}
PLACES = "poi_search"  # the tool that says where a name is
WORDS: Mapping[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    dict: "a table",
}


def load_services(path: str | Path, limits: RateLimits | None = None) -> dict[str, Provider]:
    """Who answers which tool. `limits`, a sandbox's store, keeps the budgets of those who are asked
    where a place is together with the sandbox's own. Raises UserError for a file that cannot be
    read, an unknown vendor, tool or option, and a key that is missing or written into the file."""
    body = _read(path)
    with _said_of(path):
        return _Services(body, limits or LocalLimits(), Path(path).parent).by_tool()


def tools_in(path: str | Path) -> tuple[str, ...]:
    """The tools that a services file names; no vendor is made and no key is needed. Raises
    UserError."""
    body = _read(path)
    with _said_of(path):
        return tuple(_table(body, "tools"))


@contextmanager
def _said_of(path: str | Path) -> Iterator[None]:
    """What is wrong is wrong in this file."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _read(path: str | Path) -> dict[str, Any]:
    name = str(path)
    try:
        body = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"Services file '{name}' cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UserError(f"Services file '{name}' is not text in UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        # Only where: the parser's own words may repeat what stands there, and that may be a key.
        place = re.search(r"\(at (.*?)\)$", str(error))
        raise UserError(
            f"Services file '{name}' is not TOML{f' at {place[1]}' if place else ''}."
        ) from None
    with _said_of(path):
        refuse_keys(body)
    return body


@dataclass
class _Services:
    """The vendors of one file, each made once."""

    body: Mapping[str, Any]
    limits: RateLimits
    folder: Path  # where the file is, and functions of one's own are looked for
    made: dict[str, Provider] = field(default_factory=dict)
    positions: dict[str, Positions] = field(default_factory=dict)
    making: list[str] = field(default_factory=list)

    def by_tool(self) -> dict[str, Provider]:
        _known("", self.body, ("contact", "tools", "vendors"))
        tools, vendors = _table(self.body, "tools"), _table(self.body, "vendors")
        for vendor in vendors:
            _check_known(vendor)
        if not tools:
            raise UserError(
                '[tools] names no tool: expected lines like poi_search = "nominatim", for'
                f" {', '.join(RECORDS)}."
            )
        return {
            tool: self.answering(tool, vendor, f"tools.{tool}") for tool, vendor in tools.items()
        }

    def answering(self, tool: str, vendor: Any, where: str) -> Provider:
        """The vendor, where it answers this tool."""
        if not isinstance(vendor, str):
            raise UserError(f"{where} should be the name of a vendor, found {_word(vendor)}.")
        _check_known(vendor)
        if tool not in RECORDS and not _is_mcp(vendor):
            raise UserError(f"There is no tool '{tool}': expected one of {', '.join(RECORDS)}.")
        # known before a key is needed
        tools: Any = RECORDS if vendor not in VENDORS else _class_of(vendor).tools
        answered = tools if tool in RECORDS and tool not in tools else self.vendor(vendor).tools
        if tool not in answered:
            raise UserError(
                f"{where}: '{vendor}' does not answer {tool}, only {', '.join(sorted(answered))}."
            )
        needing, instead = NEEDS_PLACES.get(vendor, ("", ""))
        if (
            tool == needing
            and "places" not in self.options(vendor)
            and not self.options(vendor).get(instead)
        ):
            raise UserError(
                f'vendors.{vendor} needs places for {tool}, for instance places = "nominatim", or'
                f" {instead} = true."
            )
        return self.vendor(vendor)

    def options(self, vendor: str) -> Mapping[str, Any]:
        return _table(_table(self.body, "vendors"), vendor, "vendors.")

    def vendor(self, name: str) -> Provider:
        if name in self.making:
            raise UserError(f"vendors.{name}.places: '{name}' would ask itself where a place is.")
        if name not in self.made:
            self.making.append(name)
            options = self.options(name)
            self.made[name] = (
                self.client(name, options)
                if name in VENDORS
                else _mcp(name, options)
                if _is_mcp(name)
                else self.function(name, options)
                if _is_python(name)
                else _world(options)
            )
            self.making.pop()
        return self.made[name]

    def client(self, name: str, options: Mapping[str, Any]) -> Provider:
        """Its constructor says which options there are."""
        kind = _class_of(name)
        parameters = inspect.signature(kind.__init__).parameters
        hints = get_type_hints(kind.__init__)
        own_options = {
            option: hint
            for option, hint in hints.items()
            if hint in WORDS and parameters[option].kind is inspect.Parameter.KEYWORD_ONLY
        }
        takes_places, takes_terms = "positions" in parameters, "terms" in parameters
        accepted = {
            **own_options,
            **(WEB_OPTIONS if takes_terms else {}),
            **({"places": str} if takes_places else {}),
        }
        _known(f"vendors.{name}", options, tuple(accepted))
        values = {
            option: _checked(f"vendors.{name}.{option}", value, accepted[option])
            for option, value in options.items()
        }
        settings = {option: value for option, value in values.items() if option in own_options}
        if "contact" in own_options and "contact" in self.body:
            settings.setdefault("contact", _checked("contact", self.body["contact"], str))
        absent = [
            option
            for option in own_options
            if option not in settings and parameters[option].default is inspect.Parameter.empty
        ]
        if absent:
            raise UserError(f"vendors.{name} needs {' and '.join(absent)}.")
        if takes_terms:
            settings["terms"] = _terms(kind.published_terms, values)
        if "places" in values:
            settings["positions"] = self.positions_of(values["places"], f"vendors.{name}.places")
        elif takes_places and parameters["positions"].default is inspect.Parameter.empty:
            raise UserError(
                f"vendors.{name} needs places, the vendor who knows where a name is, for instance"
                ' places = "nominatim".'
            )
        provider: Any = kind(**settings)
        if "max_answer_mb" in values:
            provider.limit_answers(values["max_answer_mb"])
        made: Provider = provider
        return made

    def function(self, name: str, options: Mapping[str, Any]) -> Provider:
        from tripwright.domains.deeptravel.vendors.own_function import OwnFunction

        accepted: Mapping[str, type] = {"function": str, "version": str, **TERMS_OPTIONS}
        _known(f"vendors.{name}", options, tuple(accepted))
        values = {
            option: _checked(f"vendors.{name}.{option}", value, accepted[option])
            for option, value in options.items()
        }
        if "function" not in values:
            raise UserError(
                f"vendors.{name} needs function, a file beside this one and a name in it, for"
                ' instance function = "my_flights.py:search_flights".'
            )
        tools = [tool for tool, vendor in _table(self.body, "tools").items() if vendor == name]
        if len(tools) != 1:
            raise UserError(
                f"'{name}' is one function, for one tool: found {', '.join(tools) or 'none'}."
                f" Another one is {PYTHON}-NAME."
            )
        terms, version = _terms(Terms(), values), values.get("version", "1")
        return OwnFunction(name, tools[0], values["function"], self.folder, version, terms)

    def positions_of(self, vendor: str, where: str) -> Positions:
        if vendor not in self.positions:
            self.positions[vendor] = Positions(self.answering(PLACES, vendor, where), self.limits)
        return self.positions[vendor]


def _is_mcp(vendor: str) -> bool:
    return vendor == MCP or vendor.startswith(f"{MCP}-")


def _is_python(vendor: str) -> bool:
    return vendor == PYTHON or vendor.startswith(f"{PYTHON}-")


def _check_known(vendor: str) -> None:
    named = vendor in VENDORS or vendor == WORLD
    if not named and not _is_mcp(vendor) and not _is_python(vendor):
        raise UserError(
            f"There is no vendor '{vendor}': expected one of"
            f" {', '.join(sorted([*VENDORS, MCP, PYTHON, WORLD]))}."
        )


def _class_of(vendor: str) -> Any:
    module, name = VENDORS[vendor]
    return getattr(import_module(module), name)


def _mcp(name: str, options: Mapping[str, Any]) -> Provider:
    """Its tables are deeper than those of the others: its own module reads them."""
    from tripwright.domains.deeptravel.vendors.mcp import mcp_of_options  # needs the extra

    return mcp_of_options(options, name)


def _world(options: Mapping[str, Any]) -> Provider:
    from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
    from tripwright.world.store import World

    _known("vendors.world", options, ("folder", "day"))
    if "folder" not in options:
        raise UserError(
            "vendors.world needs folder, the folder of a world, for instance folder ="
            ' "worlds/small".'
        )
    day = options.get("day")
    if isinstance(day, str):
        try:
            day = date.fromisoformat(day)
        except ValueError:
            raise UserError(f"vendors.world.day is a day like 2022-03-01: found '{day}'.") from None
    # TOML has days without quotes too, and a moment is also a day
    if day is not None and type(day) is not date:
        raise UserError(f"vendors.world.day is a day like 2022-03-01: found {_word(day)}.")
    folder = _checked("vendors.world.folder", options["folder"], str)
    return WorldProvider(World.open(folder), day.isoformat() if day else None)


def _terms(published: Terms, values: Mapping[str, Any]) -> Terms:
    """0 requests a second stands for no limit: a server of one's own may have none."""
    changes = {name: values[name] for name in TERMS_OPTIONS if name in values}
    if not 0 <= changes.get("requests_per_second", 1) < float("inf") or changes.get("burst", 1) < 1:
        raise UserError("requests_per_second is at least 0 (no limit), and burst at least 1.")
    if changes.get("requests_per_second") == 0:
        changes["requests_per_second"] = None
    return replace(published, **changes)


def _table(body: Mapping[str, Any], name: str, where: str = "") -> Mapping[str, Any]:
    value = body.get(name, {})
    if not isinstance(value, dict):
        raise UserError(f"{where}{name} should be a table, found {_word(value)}.")
    return value


def _known(where: str, options: Mapping[str, Any], accepted: tuple[str, ...]) -> None:
    for name in options:
        if name not in accepted:
            raise UserError(
                f"There is no option '{where}{'.' if where else ''}{name}': expected one of"
                f" {', '.join(accepted)}."
            )


def _checked(where: str, value: Any, kind: type) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise UserError(f"{where} should be {WORDS[kind]}, found {_word(value)}.")
    return value


def _word(value: Any) -> str:
    """What a value is, never the value: somebody may have put a key there."""
    return WORDS.get(type(value), "something else")
