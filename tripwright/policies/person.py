"""A person in the terminal as a policy: reads the request, types calls in a short form, and
answers.

The person has the model's tools and limits, and what becomes of a turn is the session's affair, as
for everybody. Two things are easier: a line that is no command is not a turn, and rows of JSON are
shown as a table. Turns are kept as paid calls are (`llm/paid_calls.py`): who leaves in
the middle of a trip finds it there the next time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol, runtime_checkable

from tripwright.agent.session import Session
from tripwright.llm.client import Completion
from tripwright.llm.paid_calls import CallKey, PaidCalls
from tripwright.policies.base import say
from tripwright.policies.person_words import Mistyped, call_of, readable, tool_list

NAME = "person"
END = "."  # alone on a line: the end of an answer

HELP = f"""  TOOL arguments      ask a tool, for instance: flights Rockford, Peoria, 2022-03-16 (see 'tools')
  answer              give the answer: type it line by line, and '{END}' alone on the last line
  answer @FILE        give what FILE holds
  plan FILE           write an empty plan of this trip to FILE, to fill in
  tools, request, prompt    show the tools, the request, what a model is told beside it
  quit                stop here; the same command goes on"""  # noqa: E501


@runtime_checkable
class Fillable(Protocol):
    """A task that helps a person to write its answer down."""

    def empty_answer(self, plan_format: str) -> str: ...
    def answer_problem(self, text: str, plan_format: str) -> str | None: ...


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
            self._write(f"\nTrip {number}: {session.query.query}\n('help' lists what you can type)")
            while not session.done:
                self._take_turn(session)
            self._write(f"This trip is over: {session.transcript.stop_reason}.")
            yield session

    def _take_turn(self, session: Session) -> None:
        transcript = session.transcript
        conversation = [
            {"role": segment.role, "content": segment.text} for segment in transcript.segments
        ]
        request = CallKey.of(session.id or "", transcript.turns, conversation)
        completion = self._calls.find(request) if self._calls else None
        text = completion.text if completion else self._turn(session)
        if self._calls and not completion:
            self._calls.keep(request, Completion(text, (), "stop", {}))
        say(session, text)
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
                    text = _content(rest) if rest else self._typed_answer(session)
                    if self._is_sent(text, session):
                        return f"<answer>\n{text}\n</answer>"
                elif line and not self._told(word, rest.strip(), session):
                    return call_of(line, session.tools.schemas)
            except Mistyped as mistake:
                self._write(str(mistake))

    def _told(self, word: str, rest: str, session: Session) -> bool:
        """Does what is no turn. False for anything else."""
        if word in ("help", "?"):
            self._write(HELP)
        elif word == "tools":
            self._write(tool_list(session.tools.schemas))
        elif word == "request":
            self._write(session.query.query)
        elif word == "prompt":
            self._write(session.dialect.prompt(session.tools.schemas))
        elif word == "plan":
            self._write(_new_plan(rest, session))
        elif word in ("quit", "exit"):
            raise KeyboardInterrupt
        else:
            return False
        return True

    def _typed_answer(self, session: Session) -> str:
        self._write(f"Your answer; '{END}' alone on a line ends it.")
        lines = []
        while (line := self._line("")) != END:
            lines.append(line)
        return "\n".join(lines)

    def _is_sent(self, text: str, session: Session) -> bool:
        task = session.key
        problem = (
            task.answer_problem(text, session.dialect.plan_format)
            if isinstance(task, Fillable)
            else None
        )
        if problem is None:
            return True
        self._write(f"This is no plan in the dialect's format: {problem}")
        return self._line("Send it all the same (y/n)? ").strip().casefold() in ("y", "yes")

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


def _new_plan(file_name: str, session: Session) -> str:
    if not isinstance(session.key, Fillable):
        raise Mistyped("There is no empty plan for this kind of request.")
    if not file_name:
        raise Mistyped("Which file? Type: plan FILE")
    path = Path(file_name).expanduser()
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(session.key.empty_answer(session.dialect.plan_format))
    except OSError as error:
        raise Mistyped(f"'{path}' cannot be written: {error.strerror}.") from None
    return f"'{path}' holds an empty plan. Fill it in, then type: answer @{path}"


def _typed_line(prompt: str) -> str:
    """The prompt goes to stderr: stdout is for figures."""
    print(prompt, end="", file=sys.stderr, flush=True)
    return input()


def _shown(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
