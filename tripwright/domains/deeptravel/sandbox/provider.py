"""Who answers the live tools: what a vendor has to offer to stand behind one (a name, a version,
terms, and one blocking call), how fast it may be asked, and which vendor a services file names for
which tool.

A provider does one attempt and waits for nothing. Retries, rate limits, single flight and memory
belong to the sandbox, so that every vendor gets them alike. What a vendor cannot do today (a
timeout, a 503, a limit) is a `ProviderFault` and our side's fault; what does not exist or cannot be
asked so is an answer (`ProviderAnswer` with a note).

Of each vendor is remembered when it may be asked again. Nobody reserves a turn: who comes too early
sleeps until then and looks again, so that neither a killed process nor a pause that begins
meanwhile has to be reckoned with.

A services file is TOML (docs/live-tools.md):

    [tools]
    flight_search = "python"             # a tool of row D1 = a vendor
    train_search = "world"
    [vendors.python]
    function = "my_flights.py:search"    # a Python function of yours
    [vendors.world]
    folder = "worlds/small"              # a closed world

A vendor is "http" or "http-NAME" (HTTP services), "python" or "python-NAME" (a function, which
answers one tool) or "world". `currency` is the one in which
travellers are asked for their budgets. A vendor that answers several
tools is one client with one budget. A key that stands in the file is refused before anything else
is read: keys come from the environment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, NonNegativeFloat, ValidationError

from tripwright.domains.deeptravel.tools.answers import (
    CURRENCIES,
    RECORDS,
    Provenance,
    ProviderAnswer,
    Record,
)
from tripwright.errors import UserError
from tripwright.files import toml_table
from tripwright.llm.http import NAME_OF_KEY, PLACE_OF_KEY, FaultKind, Redaction

# worth another attempt
PASSING: frozenset[FaultKind] = frozenset(("timeout", "connection", "server_error", "rate_limit"))


class Options(BaseModel):
    """A vendor's table in a services file."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Terms(Options):
    """How a vendor wants to be treated. `requests_per_second` is one budget for everything that is
    asked of this vendor; 0 stands for no limit."""

    requests_per_second: NonNegativeFloat = 0.0
    may_store: bool = True
    attribution: str = ""

    @property
    def between_s(self) -> float:
        return 1 / self.requests_per_second if self.requests_per_second else 0.0


class AnswerSource(Protocol):
    """A provider, or a sandbox, which asks providers and remembers. `tools` are those of row D1
    that it answers. Threads may share one."""

    @property
    def tools(self) -> frozenset[str]: ...

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        """Raises ProviderFault, and a sandbox NotRecorded where only recorded answers count."""
        ...


class Provider(AnswerSource, Protocol):
    """`ask` is one attempt, with arguments that are complete and of the right types. It raises
    ProviderFault and nothing else."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def terms(self) -> Terms: ...


def answer_from(
    provider: Provider, records: tuple[Record, ...], note: str, *, refused: bool = False
) -> ProviderAnswer:
    """What a provider has just answered; `note` is for an answer without records."""
    at, terms = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), provider.terms
    source = Provenance(provider.name, provider.version, at, terms.attribution, terms.may_store)
    return ProviderAnswer(records, source, "" if records else note, refused)


# ---- which vendor answers which tool

_VALUE_OF_KEY = re.compile(
    r"^(tvly-|duffel_(test|live)_|sk-|Bearer |Basic )|://[^/]*:[^/]*@", re.IGNORECASE
)


def _tool(name: str) -> str:
    if name not in RECORDS:
        raise UserError(f"There is no tool '{name}': expected one of {', '.join(RECORDS)}.")
    return name


def _vendor(name: str) -> str:
    if name != "world" and name.partition("-")[0] not in ("http", "python"):
        raise UserError(
            f"There is no vendor '{name}': expected http, http-NAME (tables), python, python-NAME"
            " (a function: web services that many ask are in examples/vendors) or world."
        )
    return name


def _currency(code: str) -> str:
    if code not in CURRENCIES:
        raise UserError(f"There is no currency '{code}': expected a code of ISO 4217 like EUR.")
    return code


ToolName = Annotated[str, AfterValidator(_tool)]
VendorName = Annotated[str, AfterValidator(_vendor)]
CurrencyCode = Annotated[str, AfterValidator(_currency)]


class ServicesFile(Options):
    tools: dict[ToolName, VendorName] = Field(min_length=1)
    vendors: dict[VendorName, dict[str, Any]] = {}
    currency: CurrencyCode = "USD"


class FunctionOptions(Terms):
    function: str
    version: str = "1"


class WorldOptions(Options):
    folder: str
    day: date | None = Field(None, strict=False)  # TOML has days without quotes too


_Options = TypeVar("_Options", bound=Options)


def options_of(kind: type[_Options], table: Mapping[str, Any], where: str = "") -> _Options:
    """Raises UserError, which never shows a value: somebody may have put a key there."""
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        name = ".".join(map(str, filter(None, (where, *problem["loc"]))))
        if problem["type"] == "extra_forbidden":
            known = ", ".join(kind.model_fields)
            raise UserError(f"There is no option '{name}': expected {known}.") from None
        said = problem["msg"].removeprefix("Value error, ").removesuffix(".")
        raise UserError(f"{name}: {said}.") from None


def load_services(path: str | Path) -> dict[str, Provider]:
    """Who answers which tool; a vendor is made once. Raises UserError for a file that cannot be
    read, an unknown vendor, tool or option, and a key that is missing or written into the file."""
    file, made, services = services_in(path), dict[str, Provider](), dict[str, Provider]()
    with _said_of(path):
        for tool, vendor in file.tools.items():
            if vendor not in made:
                made[vendor] = _made(vendor, file, Path(path).parent)
            provider = services[tool] = made[vendor]
            if tool not in provider.tools:
                answered = ", ".join(sorted(provider.tools))
                raise UserError(
                    f"tools.{tool}: '{vendor}' does not answer {tool}, only {answered}."
                )
    return services


def services_in(path: str | Path) -> ServicesFile:
    """What a services file says; no vendor is made and no key is needed. Raises UserError."""
    body = toml_table(Path(path))
    with _said_of(path):
        refuse_keys(body)
        return options_of(ServicesFile, body)


@contextmanager
def _said_of(path: str | Path) -> Iterator[None]:
    """What is wrong is wrong in this file."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _made(name: str, file: ServicesFile, folder: Path) -> Provider:
    """A vendor; what only it needs is imported here. Functions of one's own are looked for in
    `folder`."""
    table, where = file.vendors.get(name, {}), f"vendors.{name}"
    if name == "world":
        from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
        from tripwright.world.store import World

        world = options_of(WorldOptions, table, where)
        return WorldProvider(World.open(world.folder), str(world.day) if world.day else None)
    if name.startswith("http"):
        from tripwright.domains.deeptravel.vendors.http import HttpOptions, HttpProvider

        return HttpProvider(name, options_of(HttpOptions, table, where))
    from tripwright.domains.deeptravel.vendors.own_function import OwnFunction

    options = options_of(FunctionOptions, table, where)
    tools = [tool for tool, vendor in file.tools.items() if vendor == name]
    if len(tools) != 1:
        raise UserError(
            f"'{name}' is one function, for one tool: found {', '.join(tools)}. Another one is"
            " python-NAME."
        )
    return OwnFunction(name, tools[0], options, folder)


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
        if PLACE_OF_KEY.sub("", body).strip() in ("", "Bearer", "Basic", "Token"):
            return  # names of variables alone
        looks_like_one = bool(_VALUE_OF_KEY.search(body)) or Redaction()(body) != body
        if NAME_OF_KEY.search(where[-1]) or looks_like_one:
            raise UserError(
                f"{'.'.join(where)} holds a key: keys are not read from files, set an environment"
                " variable instead."
            )
