"""A Python function of the user's own behind one of the six tools (docs/live-tools.md, "Your own
tools"): `function = "my_flights.py:search_flights"` in a services file.

Its parameters are the tool's, by name; it answers a list of dicts whose keys are the fields of the
tool's record. What it raises decides whose fault it was: a ValueError (itself, no subclass, since
those come out of libraries) is a refusal that the model reads, anything else a fault of our side.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from tripwright.domains.deeptravel.sandbox.provider import FunctionOptions, Terms, answer_from
from tripwright.domains.deeptravel.tools.answers import (
    MOST_ROWS,
    BadRow,
    ProviderAnswer,
    record_of_row,
)
from tripwright.domains.deeptravel.tools.live_tools import LiveTools
from tripwright.errors import UserError
from tripwright.llm.http import FaultKind, ProviderFault, Redaction, asked_wait_s, fault_of_status

CLIENT_VERSION = 1
FORM = 'function = "my_flights.py:search_flights"'


class OwnFunction:
    """Threads may share one, so the function has to bear several calls at once. Its file is part of
    the version: a change of it is another key in a snapshot. `version` is yours to raise when what
    stands behind it changes. Raises UserError."""

    def __init__(self, name: str, tool: str, options: FunctionOptions, folder: Path):
        function, path = options.function, folder / options.function.rpartition(":")[0]
        self.name, self.shown, self.tools = name, function, frozenset({tool})
        self.terms: Terms = options
        self._file = str(path)
        self._function, source = _found(name, function, path)
        self._passed = _passed(function, self._function, tool)
        digest = hashlib.sha256(source).hexdigest()[:12]
        self.version = (
            f"{CLIENT_VERSION}; function={function}; file={digest}; version={options.version}"
        )

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        """Raises ProviderFault and nothing else."""
        passed = {name: arguments[name] for name in self._passed if name in arguments}
        try:
            rows = self._function(**passed)
        except (Exception, SystemExit) as error:
            if type(error) is ValueError:
                return answer_from(self, (), str(error) or "The call was refused.", refused=True)
            kind, wait_s = _kind_of(error)
            raise ProviderFault(kind, self._told(error), wait_s) from error
        if not isinstance(rows, list | tuple) or len(rows) > MOST_ROWS:
            what = f"{len(rows):,} rows" if isinstance(rows, list | tuple) else type(rows).__name__
            raise ProviderFault(
                "bad_response",
                f"{self.shown} answered {what}: expected a list of at most {MOST_ROWS:,} dicts.",
            )
        records = []
        for number, row in enumerate(rows, start=1):
            try:
                records.append(record_of_row(tool, row, arguments))
            except BadRow as problem:
                said = f"{self.shown} answered row {number} {Redaction().shown(problem)}"
                raise ProviderFault("bad_response", said) from None
        return answer_from(self, tuple(records), "Nothing was found.")

    def _told(self, error: BaseException) -> str:
        """With the last line of the function's own file that took part."""
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == self._file
        ]
        where = f" in line {lines[-1]}" if lines else ""
        message = Redaction().shown(error)
        return (
            f"{self.shown} raised {type(error).__name__}{where}{f': {message}' if message else ''}"
        )


def _kind_of(error: BaseException) -> tuple[FaultKind, float | None]:
    """A timeout, a lost connection and a busy server may pass, and are tried again, after the
    seconds that the server asked for; a mistake in the function is not."""
    import httpx2

    if isinstance(error, httpx2.HTTPStatusError):
        status = error.response.status_code
        wait_s = asked_wait_s(error.response.headers, limited=status == 429)
        return fault_of_status(status) or "bad_response", wait_s
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return "timeout", None
    is_lost = isinstance(error, OSError | httpx2.TransportError)
    return "connection" if is_lost else "bad_response", None


def _found(vendor: str, function: str, path: Path) -> tuple[Callable[..., Any], bytes]:
    """The function, and the text of its file."""
    file, _, name = function.rpartition(":")
    if not file.endswith(".py") or not name.isidentifier():
        raise UserError(f"vendors.{vendor}.function is a file and a name in it, {FORM}.")
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UserError(
            f"vendors.{vendor}.function: '{path}' cannot be read: {error.strerror}."
        ) from None
    # a module under a name that nobody imports
    place = f"tripwright_own_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    module = sys.modules[place] = ModuleType(place)
    module.__file__ = str(path)
    try:
        exec(compile(source, path, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        message = Redaction().shown(error)
        raise UserError(
            f"{function} cannot be loaded: {type(error).__name__}: {message}"
        ) from error
    found = getattr(module, name, None)
    if not callable(found):
        raise UserError(f"vendors.{vendor}.function: '{file}' has no function '{name}'.")
    if inspect.iscoroutinefunction(found) or inspect.isgeneratorfunction(found):
        raise UserError(f"{function} is async or yields: give a plain function that returns rows.")
    return found, source


def _passed(shown: str, function: Callable[..., Any], tool: str) -> tuple[str, ...]:
    """The arguments of the tool that the function takes. It has to take those that every call has,
    and may leave out the others. Raises UserError."""
    own = dict(inspect.signature(getattr(LiveTools, tool)).parameters)
    del own["self"]
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise UserError(f"{shown} has a signature that cannot be read: {error}.") from None
    takes_all = any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values())
    takes = tuple(name for name in own if takes_all or name in signature.parameters)
    expected = f"{tool} has {', '.join(own)}"
    try:
        signature.bind(**dict.fromkeys(takes))
    except TypeError as error:
        raise UserError(f"{shown}: {error}, which no call has: {expected}.") from None
    for name, each in own.items():
        if name not in takes and each.default is each.empty:
            raise UserError(f"{shown} does not take '{name}', which every call has: {expected}.")
    return takes
