"""Finished requests of a file that is still being made: `OUT.journal`, settings in the first line,
then one request a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tripwright.errors import UserError
from tripwright.files import Journal


class MakingJournal(Journal):
    """`entries` are those of the work before."""

    def __init__(self, out: Path, settings: dict[str, Any], restart: bool):
        self.entries: list[dict[str, Any]] = []
        self._settings: dict[str, Any] = json.loads(json.dumps(settings))
        self._begun = False
        path = out.with_name(out.name + ".journal")
        in_use = (
            f"'{path}' is in use: another process is making '{out}' now. Wait for it, or choose"
            " another --out."
        )
        super().__init__(
            path,
            self._take,
            "the journal is damaged. Start over with --restart.",
            in_use,
            restart=restart,
        )
        if not self._begun:
            self.append(self._settings)

    def add(self, entry: dict[str, Any]) -> None:
        self.append(entry)
        self.entries.append(entry)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)

    def _take(self, record: Any) -> None:
        if self._begun:
            record["record"]
            self.entries.append(record)
        elif dict(record) != self._settings:
            raise UserError(
                f"'{self.path}' holds {_differing(record, self._settings)}. Run with the same"
                " settings again, or start over with --restart."
            )
        self._begun = True


def _differing(earlier: dict[str, Any], settings: dict[str, Any]) -> str:
    name = next(name for name in [*settings, *earlier] if settings.get(name) != earlier.get(name))
    return (
        f"requests made with other settings ({name} was {earlier.get(name)!r}, now"
        f" {settings.get(name)!r})"
    )
