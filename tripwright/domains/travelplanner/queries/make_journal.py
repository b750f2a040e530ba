"""Finished requests of a file that is still being made: `OUT.journal`, settings in the first line, then one request a line.

Killed at any moment, it holds whole lines and at most one torn one, which is cut off when the work goes on.
"""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from tripwright.errors import NotJson, UserError, read_json


class Journal:
    """Opened by one process at a time. `entries` are those of the work before."""

    def __init__(self, out: Path, settings: dict[str, Any], restart: bool):
        self.path = out.with_name(out.name + ".journal")
        self.entries: list[dict[str, Any]] = []
        out.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = self.path.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise UserError(
                f"'{self.path}' is in use: another process is making '{out}' now. Wait for it, or choose another --out."
            ) from None
        try:
            self._go_on(settings, restart)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def append(self, entry: dict[str, Any]) -> None:
        self._write(entry)
        self.entries.append(entry)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)

    def _write(self, record: dict[str, Any]) -> None:
        self._file.write((json.dumps(record, ensure_ascii=False) + "\n").encode())
        self._file.flush()

    def _go_on(self, settings: dict[str, Any], restart: bool) -> None:
        self._file.seek(0)
        lines = [] if restart else self._file.readlines()
        whole = [line for line in lines if line.endswith(b"\n")]
        if not whole:
            self._file.truncate(0)
            self._write(settings)
            return
        try:
            found, *self.entries = [read_json(line) for line in whole]
        except NotJson:
            found = None
        if not isinstance(found, dict) or not all(isinstance(entry, dict) and "record" in entry for entry in self.entries):
            raise UserError(f"'{self.path}' is damaged. Start over with --restart.")
        if found != json.loads(json.dumps(settings)):
            raise UserError(
                f"'{self.path}' holds {_differing(found, settings)}. Run with the same settings again, or start over with --restart."
            )
        self._file.truncate(sum(map(len, whole)))


def _differing(found: dict[str, Any], settings: dict[str, Any]) -> str:
    wanted = json.loads(json.dumps(settings))
    name = next(name for name in [*wanted, *found] if wanted.get(name) != found.get(name))
    return f"requests made with other settings ({name} was {found.get(name)!r}, now {wanted.get(name)!r})"
