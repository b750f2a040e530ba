"""From Python methods to a tool's JSON schema and the checks of its arguments: signature and
docstring are the only definition of a tool, and the names of a face are laid over them. A parameter
with a default is an optional argument.

`page` is no argument of a tool: it chooses among the rows that a search found, so it is offered
here, where answers are given in pages.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import date as calendar_date
from typing import Any, Literal, NamedTuple, Self, get_args, get_origin, get_type_hints

from tripwright.errors import UserError
from tripwright.tools.answer import ToolError, quoted

PAGE = "page"
_PAGE_SCHEMA = {
    "type": "integer",
    "minimum": 1,
    "description": "Which page of a long answer to show, from 1.",
}
_JSON_TYPES: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_TYPES = ", ".join([*(kind.__name__ for kind in _JSON_TYPES), "Literal[...]"])
_PYTHON_NAMES = {**_JSON_TYPES, dict: "object", list: "array", type(None): "null"}


class Core:
    """A class of tools, which are its methods: those that do not begin with "_"."""

    def __init__(self, world: Any, name_of: Callable[[str], str] = str):
        """`name_of` tells what a tool is called by whoever reads its errors."""
        self._world, self._name_of = world, name_of

    @classmethod
    def of_world(cls, world: Any, name_of: Callable[[str], str] = str) -> Self:
        """The tools over a closed world."""
        return cls(world, name_of)


def tool_functions(tools: type) -> dict[str, Callable[..., Any]]:
    """Name → unbound method, in order of definition, those that a subclass adds last. Class methods
    are no tools."""
    members = {
        name: member for kind in reversed(tools.__mro__) for name, member in vars(kind).items()
    }
    return {
        name: member
        for name, member in members.items()
        if inspect.isfunction(member) and not name.startswith("_")
    }


@dataclass(frozen=True)
class ToolName:
    """What a face calls one tool, and those of its arguments that it names otherwise than the core
    does. What it describes otherwise than the docstring is in `descriptions`: by the core's name of
    the argument, and "" is the tool itself."""

    name: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)


class CheckedCall(NamedTuple):
    """A call that was read and may be made: the core's names, arguments and words."""

    tool: str
    arguments: dict[str, Any]
    page: int = 1


@dataclass(frozen=True)
class _Tool:
    """One tool as a face offers it; arguments go by the face's names."""

    core: str
    function: Mapping[str, Any]  # its schema, for answers that come whole
    arguments: Mapping[str, str]  # → the core's name
    choices: Mapping[str, Mapping[str, str]]  # of an argument: the face's word → the core's
    has_rows: bool

    @property
    def properties(self) -> Mapping[str, Any]:
        return self.function["parameters"]["properties"]  # type: ignore[no-any-return]


class Offer:
    """The tools of a face: their schemas, and how a call is read.

    `words` says, argument by argument of the core, which word a face has for a value (`{"mode":
    {"self-driving": "driving"}}`).
    """

    def __init__(
        self,
        functions: Mapping[str, Callable[..., Any]],
        names: Mapping[str, ToolName],
        words: Mapping[str, Mapping[str, str]] | None = None,
    ):
        self._tools = {
            name.name: _offered(core, functions[core], name, words or {})
            for core, name in names.items()
        }
        self._names = {tool.core: name for name, tool in self._tools.items()}

    def core_name(self, name: object) -> str | None:
        """The core's name of the tool that the face calls so."""
        tool = self._tools.get(name) if isinstance(name, str) else None
        return tool.core if tool else None

    def name_of(self, core: str) -> str:
        """What the face calls a tool of the core; a tool that it does not offer keeps its name."""
        return self._names.get(core, core)

    def call_of(self, core: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """(tool, arguments) of a call as the face's models write it."""
        name = self._names[core]
        tool, labelled = self._tools[name], dict(arguments)
        for label, argument in tool.arguments.items():
            if argument in arguments:
                value = labelled.pop(argument)
                words = tool.choices.get(label, {}).items()
                labelled[label] = next((word for word, core in words if core == value), value)
        return name, labelled

    def schemas(self, paged: bool = False) -> list[dict[str, Any]]:
        """The tools in the JSON function format of OpenAI. A fresh copy each time: callers may edit
        it."""
        schemas = []
        for tool in self._tools.values():
            function = deepcopy(dict(tool.function))
            if paged and tool.has_rows:
                function["parameters"]["properties"][PAGE] = dict(_PAGE_SCHEMA)
            schemas.append({"type": "function", "function": function})
        return schemas

    def read(self, name: object, arguments: Mapping[str, Any], paged: bool = False) -> CheckedCall:
        """Raises ToolError for any mistake of the caller's."""
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise ToolError(
                f"Unknown tool {quoted(name)}. The tools are {', '.join(self._tools)}.",
                "unknown_tool",
            )
        paged = paged and tool.has_rows
        if arguments.keys() != tool.arguments.keys():
            _check_names(name, tool, arguments, paged)
        values = {
            argument: _checked(label, tool, arguments[label])
            if label in arguments
            else tool.properties[label]["default"]
            for label, argument in tool.arguments.items()
        }
        return CheckedCall(
            tool.core, values, _page(arguments[PAGE]) if paged and PAGE in arguments else 1
        )


def _check_names(name: object, tool: _Tool, arguments: Mapping[str, Any], paged: bool) -> None:
    takes = f"{name} takes {', '.join([*tool.arguments, *([PAGE] if paged else [])])}."
    for label in arguments:
        if label not in tool.arguments and not (paged and label == PAGE):
            raise ToolError(f"Unknown argument {quoted(label)}. {takes}", "unknown_argument")
    required = tool.function["parameters"]["required"]
    if lacking := [label for label in required if label not in arguments]:
        argument = "argument" if len(lacking) == 1 else "arguments"
        raise ToolError(
            f"Missing {argument} {', '.join(quoted(label) for label in lacking)}. {takes}",
            "missing_argument",
        )


def _offered(
    core: str, function: Callable[..., Any], name: ToolName, words: Mapping[str, Mapping[str, str]]
) -> _Tool:
    descriptions = {**_docstring(function), **name.descriptions}
    hints = get_type_hints(function)
    properties, arguments, choices, required = dict[str, Any](), {}, {}, []
    # without self
    for parameter, declaration in list(inspect.signature(function).parameters.items())[1:]:
        label, kind = name.arguments.get(parameter, parameter), hints.get(parameter, object)
        known = kind in _JSON_TYPES or get_origin(kind) is Literal
        if parameter not in descriptions or not known:
            raise UserError(
                f"Tool '{core}': its argument '{parameter}' needs a type ({_TYPES}) and a line"
                " under 'Args:' in the docstring."
            )
        arguments[label] = parameter
        if get_origin(kind) is Literal:
            face_words = words.get(parameter, {})
            choices[label] = {face_words.get(choice, choice): choice for choice in get_args(kind)}
            schema: dict[str, Any] = {"type": "string", "enum": list(choices[label])}
        else:
            schema = {"type": _JSON_TYPES[kind]}
        properties[label] = {**schema, "description": descriptions[parameter]}
        if declaration.default is inspect.Parameter.empty:
            required.append(label)
        else:
            properties[label]["default"] = declaration.default
    parameters = {"type": "object", "properties": properties, "required": required}
    schema = {"name": name.name, "description": descriptions[""], "parameters": parameters}
    return _Tool(core, schema, arguments, choices, get_origin(hints.get("return")) is list)


def _docstring(function: Callable[..., Any]) -> dict[str, str]:
    """Argument → description of a Google-style docstring, and "" → that of the function; the
    further lines of an argument are indented deeper than its first."""
    description, _, lines = (inspect.getdoc(function) or "").partition("\n\nArgs:\n")
    unfolded = re.sub(r"\n {5,}", " ", lines)
    arguments = dict(line.strip().split(": ", 1) for line in unfolded.splitlines() if line.strip())
    return {"": " ".join(description.split()), **arguments}


def _checked(label: str, tool: _Tool, value: Any) -> Any:
    if (choices := tool.choices.get(label)) is not None:
        if not isinstance(value, str) or value not in choices:
            accepted = " or ".join(f"'{choice}'" for choice in choices)
            raise ToolError(
                f"Argument '{label}' must be {accepted}, found {quoted(value)}.", "wrong_type"
            )
        return choices[value]
    accepted = tool.properties[label]["type"]
    if accepted == "number" and type(value) is int:
        return float(value)
    if _JSON_TYPES.get(type(value)) != accepted:
        raise _wrong_type(label, accepted, value)
    return value


def _page(value: Any) -> int:
    if type(value) is not int:
        raise _wrong_type(PAGE, "integer", value)
    if value < 1:
        raise ToolError(f"Page {quoted(value)} does not exist: pages are counted from 1.", "page")
    return value


def _wrong_type(label: str, accepted: str, value: Any) -> ToolError:
    actual = _PYTHON_NAMES.get(type(value), type(value).__name__)
    text = "" if value is None else f" {quoted(value)}"
    article = "an" if accepted[0] in "aeiou" else "a"
    return ToolError(
        f"Argument '{label}' must be {article} {accepted}, found {actual}{text}.", "wrong_type"
    )


def known_date(date: str) -> calendar_date:
    """Raises ToolError for what is no day, as YYYY-MM-DD."""
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", date):
        raise ToolError(f"Date {quoted(date)} is not YYYY-MM-DD.", "bad_date")
    try:
        return calendar_date.fromisoformat(date)
    except ValueError:
        raise ToolError(
            f"Date {quoted(date)} is not a day of the calendar.", "no_such_day"
        ) from None
