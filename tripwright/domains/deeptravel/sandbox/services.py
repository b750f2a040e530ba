"""Which vendor answers which tool, from one TOML file (docs/live-tools.md):

    [tools]
    flight_search = "python"             # a tool of row D1 = a vendor
    train_search = "world"
    [vendors.python]
    function = "my_flights.py:search"    # a Python function of yours
    [vendors.world]
    folder = "worlds/small"              # a closed world

A vendor is "python" or "python-NAME" (a function, which answers one tool), "mcp" or "mcp-NAME" (an
MCP server) or "world". One that answers several tools is one client with one budget. A key that
stands in the file is refused before anything else is read: keys come from the environment.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import Field, ValidationError

from tripwright.domains.deeptravel.sandbox.provider import Options, Provider, Terms
from tripwright.domains.deeptravel.tools.answers import RECORDS
from tripwright.errors import UserError
from tripwright.tools.http import Redaction

MCP, PYTHON, WORLD = "mcp", "python", "world"
# which tripwright asked itself once: each is an example of a function now
EXAMPLES = frozenset(
    ("duffel", "motis", "nominatim", "osrm", "overpass", "photon", "searxng", "tavily", "valhalla")
)
_NAME_OF_KEY = re.compile(
    r"(^|[_-])(key|apikey|token|secret|password|passwd|credentials?|authorization|bearer)s?$",
    re.IGNORECASE,
)
# holds names of variables, and somebody may have put the key itself there
_VARIABLE_OPTION = re.compile(r"(^|_)(env|variable)$")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_VALUE_OF_KEY = re.compile(r"(tvly-|duffel_(test|live)_|sk-|Bearer |Basic )", re.IGNORECASE)


class FunctionOptions(Terms):
    function: str
    version: str = "1"


class WorldOptions(Options):
    folder: str
    day: date | None = Field(None, strict=False)  # TOML has days without quotes too


_Options = TypeVar("_Options", bound=Options)


def options_of(kind: type[_Options], table: Mapping[str, Any], where: str) -> _Options:
    """Raises UserError, which never shows a value: somebody may have put a key there."""
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        name = ".".join([where, *map(str, problem["loc"])])
        if problem["type"] == "extra_forbidden":
            known = ", ".join(kind.model_fields)
            raise UserError(f"There is no option '{name}': {where} has {known}.") from None
        raise UserError(f"{name}: {problem['msg']}.") from None


def load_services(path: str | Path) -> dict[str, Provider]:
    """Who answers which tool. Raises UserError for a file that cannot be read, an unknown vendor,
    tool or option, and a key that is missing or written into the file."""
    body = _read(path)
    with _said_of(path):
        return _Services(body, Path(path).parent).by_tool()


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
    folder: Path  # where the file is, and functions of one's own are looked for
    made: dict[str, Provider] = field(default_factory=dict)

    def by_tool(self) -> dict[str, Provider]:
        if unknown := sorted(set(self.body) - {"tools", "vendors"}):
            raise UserError(f"There is no option '{unknown[0]}': expected tools and vendors.")
        tools, vendors = _table(self.body, "tools"), _table(self.body, "vendors")
        for vendor in vendors:
            _check_known(vendor)
        if not tools:
            raise UserError(
                '[tools] names no tool: expected lines like flight_search = "python", for'
                f" {', '.join(RECORDS)}."
            )
        return {tool: self.answering(tool, vendor) for tool, vendor in tools.items()}

    def answering(self, tool: str, vendor: Any) -> Provider:
        """The vendor, where it answers this tool."""
        if not isinstance(vendor, str):
            raise UserError(f"tools.{tool} should be the name of a vendor.")
        _check_known(vendor)
        if tool not in RECORDS:
            raise UserError(f"There is no tool '{tool}': expected one of {', '.join(RECORDS)}.")
        if vendor not in self.made:
            table = _table(_table(self.body, "vendors"), vendor, "vendors.")
            self.made[vendor] = self.vendor(vendor, table)
        provider = self.made[vendor]
        if tool not in provider.tools:
            answered = ", ".join(sorted(provider.tools))
            raise UserError(f"tools.{tool}: '{vendor}' does not answer {tool}, only {answered}.")
        return provider

    def vendor(self, name: str, table: Mapping[str, Any]) -> Provider:
        where = f"vendors.{name}"
        if _is(MCP, name):
            from tripwright.domains.deeptravel.vendors.mcp import mcp_of_options

            return mcp_of_options(table, where)
        if _is(PYTHON, name):
            return self.function(name, options_of(FunctionOptions, table, where))
        return _world(options_of(WorldOptions, table, where))

    def function(self, name: str, options: FunctionOptions) -> Provider:
        from tripwright.domains.deeptravel.vendors.own_function import OwnFunction

        tools = [tool for tool, vendor in _table(self.body, "tools").items() if vendor == name]
        if len(tools) != 1:
            raise UserError(
                f"'{name}' is one function, for one tool: found {', '.join(tools)}. Another one is"
                f" {PYTHON}-NAME."
            )
        return OwnFunction(name, tools[0], options.function, self.folder, options.version, options)


def _is(kind: str, vendor: str) -> bool:
    return vendor == kind or vendor.startswith(f"{kind}-")


def _check_known(vendor: str) -> None:
    if vendor in EXAMPLES:
        raise UserError(
            f"tripwright does not ask '{vendor}' itself any more: examples/vendors/{vendor}.py in"
            " its repository is a function that does (docs/live-tools.md)."
        )
    if vendor != WORLD and not _is(MCP, vendor) and not _is(PYTHON, vendor):
        raise UserError(
            f"There is no vendor '{vendor}': expected {PYTHON}, {PYTHON}-NAME, {MCP}, {MCP}-NAME or"
            f" {WORLD}."
        )


def _world(options: WorldOptions) -> Provider:
    from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
    from tripwright.world.store import World

    day = options.day.isoformat() if options.day else None
    return WorldProvider(World.open(options.folder), day)


def _table(body: Mapping[str, Any], name: str, where: str = "") -> Mapping[str, Any]:
    value = body.get(name, {})
    if not isinstance(value, dict):
        raise UserError(f"{where}{name} should be a table.")
    return value


def refuse_keys(body: Any, where: tuple[str, ...] = ()) -> None:
    """Raises UserError for an option that is named like a key, looks like one, or has the value of
    a key in the environment. The message never repeats it."""
    if isinstance(body, Mapping):
        for name, value in body.items():
            refuse_keys(value, (*where, name))
    elif isinstance(body, list):
        for value in body:
            refuse_keys(value, where)
    elif isinstance(body, str) and where:
        if _VARIABLE_OPTION.search(where[-1]) and not _VARIABLE.fullmatch(body):
            raise UserError(
                f"{'.'.join(where)} should be the name of an environment variable, like MY_TOKEN,"
                " found something else."
            )
        if body and (_NAME_OF_KEY.search(where[-1]) or _is_key(body)):
            raise UserError(
                f"{'.'.join(where)} holds a key: keys are not read from files, set an environment"
                " variable instead."
            )


def _is_key(text: str) -> bool:
    return bool(_VALUE_OF_KEY.match(text)) or Redaction()(text) != text or _has_credentials(text)


def _has_credentials(text: str) -> bool:
    """https://user:password@example.org"""
    if "://" not in text:
        return False
    try:
        return urlsplit(text).password is not None
    except ValueError:
        return False
