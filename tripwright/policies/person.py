"""A person in the terminal as a policy: reads the request, types calls in a short form, sees
answers of tools as tables, and answers.

The person has the model's tools and limits, and what becomes of a turn is the session's affair, as
for everybody. Two things are easier: a line that is no command is not a turn, and rows of JSON are
shown as a table. Turns are kept as paid calls are (`llm/paid_calls.py`): who leaves in
the middle of a trip finds it there the next time."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tripwright.agent.turn import write_call
from tripwright.episode import Session
from tripwright.llm.client import Completion
from tripwright.llm.paid_calls import CallKey, PaidCalls

LONGEST_CELL = 48  # characters of a value in a table
Schemas = Sequence[dict[str, Any]]


class Mistyped(ValueError):
    """A line that is no command: said to the person, who may type another. It never becomes a
    turn."""


def call_of(line: str, schemas: Schemas) -> str:
    """The tool call that a line means, as text of row P2. Raises Mistyped.

    "flights Rockford, Peoria, 2022-03-16" and 'flights {"origin": …}' mean the same: a tool by any
    part of its name that no other tool has, its arguments in their order or as JSON. Of a tool with
    one argument the whole rest is it.
    """
    word, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    tools = [schema["function"] for schema in schemas]
    near = [tool for tool in tools if word.casefold() in tool["name"].casefold()]
    if len(near) != 1:
        names = ", ".join(tool["name"] for tool in near or tools)
        raise Mistyped(f"'{word}' is not one tool: type enough of {names}.")
    (tool,) = near
    properties = tool["parameters"]["properties"]
    if rest.startswith("{"):
        try:
            return write_call(tool["name"], json.loads(rest))
        except ValueError as error:
            raise Mistyped(f"The arguments are not JSON: {error}.") from None
    values = [rest] if len(properties) == 1 else rest.split(",")
    values = [value.strip() for value in values if value.strip()]
    if len(values) > len(properties):
        raise Mistyped(f"Too many arguments. Expected: {usage(tool)}")
    kinds = [each.get("type") for each in properties.values()]
    typed = map(_typed, values, kinds)
    return write_call(tool["name"], dict(zip(properties, typed, strict=False)))


def _typed(value: str, kind: str | None) -> Any:
    """A number where the tool takes one and this is one; else the text, for the tool to refuse."""
    try:
        return {"integer": int, "number": float}.get(kind or "", str)(value)
    except ValueError:
        return value


def usage(tool: dict[str, Any]) -> str:
    """ "search_flights origin, destination, date", optional arguments in brackets."""
    required = tool["parameters"].get("required", [])
    names = [name if name in required else f"[{name}]" for name in tool["parameters"]["properties"]]
    return f"{tool['name']} {', '.join(names)}".strip()


def tool_list(schemas: Schemas) -> str:
    tools = [schema["function"] for schema in schemas]
    return "\n".join(f"  {usage(tool)}\n      {tool['description']}" for tool in tools)


def readable(session: Session) -> str:
    """The last answer of the tools: its rows as a table, anything else as the model would read
    it."""
    call, answer = session.transcript.segments[-2:]
    rows = call.call.rows if call.call else None
    if rows is None or not rows.values:
        return answer.text
    about = ", ".join(f"{name} {value}" for name, value in rows.about.items())
    pages = rows.pages or 1
    place = f"page {rows.page} of {pages}, {rows.total} rows in all" if pages > 1 else ""
    if not rows.is_whole:
        place = "The rest is cut."
    return "\n".join(filter(None, (about, table(rows.fields, rows.values), place)))


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns as wide as their widest value, which is cut at LONGEST_CELL."""
    lines = [
        [" ".join(str(value).split())[:LONGEST_CELL] for value in row] for row in (header, *rows)
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (map(str.ljust, line, widths) for line in lines)
    return "\n".join("  ".join(cells).rstrip() for cells in padded)


NAME = "person"
END = "."  # alone on a line: the end of an answer

HELP = f"""  TOOL arguments      ask a tool, for instance: flights Rockford, Peoria, 2022-03-16 (see 'tools')
  answer              give the answer: type it line by line, and '{END}' alone on the last line
  answer @FILE        give what FILE holds
  tools, request, prompt    show the tools, the request, what a model is told beside it
  quit                stop here; the same command goes on"""  # noqa: E501


class PersonPolicy:
    """`read` gives the next line that was typed and raises EOFError where there is none; `write`
    shows a text."""

    name = NAME

    def __init__(
        self, read: Callable[[str], str] | None = None, write: Callable[[str], None] | None = None
    ):
        self._read, self._write = read or _typed_line, write or _shown
        self._calls: PaidCalls | None = None

    def keep(self, calls: PaidCalls) -> None:
        self._calls = calls

    def stop(self) -> None:
        """Nobody is asked any more once `play` is given up."""

    def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
        """Raises KeyboardInterrupt where the person quits."""
        for number, session in enumerate(sessions, start=1):
            self._write(
                f"\nTrip {number}: {session.task.request.query}\n('help' lists what you can type)"
            )
            while not session.done:
                self._take_turn(session)
            self._write(f"This trip is over: {session.transcript.stop_reason}.")
            yield session

    def _take_turn(self, session: Session) -> None:
        transcript = session.transcript
        conversation = [
            {"role": segment.role, "content": segment.text} for segment in transcript.segments
        ]
        request = CallKey.of(session.task.id, transcript.turns, conversation)
        completion = self._calls.find(request) if self._calls else None
        text = completion.text if completion else self._turn(session)
        if self._calls and not completion:
            self._calls.keep(request, Completion(text, (), "stop", {}))
        session.say(text)
        if transcript.segments[-1].role != "assistant":
            self._write(readable(session))

    def _turn(self, session: Session) -> str:
        """What the person says, as the text of a turn."""
        while True:
            line = self._line(
                f"[{len(session.transcript.calls)} of {session.dialect.max_calls} calls] > "
            ).strip()
            word, _, rest = line.partition(" ")
            try:
                if word == "answer":
                    text = _content(rest) if rest else self._typed_answer()
                    return f"<answer>\n{text}\n</answer>"
                if line and not self._told(word, session):
                    return call_of(line, session.tools.schemas)
            except Mistyped as mistake:
                self._write(str(mistake))

    def _told(self, word: str, session: Session) -> bool:
        """Does what is no turn. False for anything else."""
        if word in ("quit", "exit"):
            raise KeyboardInterrupt
        schemas = session.tools.schemas
        told = {
            "help": lambda: HELP,
            "tools": lambda: tool_list(schemas),
            "request": lambda: session.task.request.query,
            "prompt": lambda: session.dialect.prompt(schemas),
        }.get(word)
        if told is not None:
            self._write(told())
        return told is not None

    def _typed_answer(self) -> str:
        self._write(f"Your answer; '{END}' alone on a line ends it.")
        lines = []
        while (line := self._line("")) != END:
            lines.append(line)
        return "\n".join(lines)

    def _line(self, prompt: str) -> str:
        try:
            return self._read(prompt)
        except EOFError:
            raise KeyboardInterrupt from None


def _content(text: str) -> str:
    """The file of "@FILE", else the text itself."""
    if not text.startswith("@"):
        return text
    path = Path(text[1:].strip()).expanduser()
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Mistyped(f"'{path}' cannot be read: {error}") from None


def _typed_line(prompt: str) -> str:
    """The prompt goes to stderr: stdout is for figures."""
    print(prompt, end="", file=sys.stderr, flush=True)
    return input()


def _shown(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
