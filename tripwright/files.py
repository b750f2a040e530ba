"""Files that a killed process leaves whole: written beside their place and moved into it, or line by line and taken up again. Every room
may import this."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tripwright.errors import UserError


def write_atomically(path: Path, text: str) -> None:
    """Whoever reads `path` sees the old text or the new one, however this process ends."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def json_object(path: Path) -> dict[str, Any] | None:
    """What `path` holds, or None where that is no JSON object."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def finished_lines(path: Path, number_of: Callable[[Any], int | None], foreign: str) -> dict[int, str]:
    """The lines of JSON that an earlier start of the same work left in `path`, by number; a torn last line is cut off.

    `number_of` says what a record answers, None or a KeyError or TypeError that it is not of this work: then the file is not ours to
    touch, and UserError says so (`foreign`).
    """
    if not path.exists():
        return {}
    finished: dict[int, str] = {}
    text = path.read_bytes().decode("utf-8", "replace")
    whole = text[: text.rfind("\n") + 1]
    for place, line in enumerate(whole.split("\n")[:-1], start=1):
        try:
            number = number_of(json.loads(line))
        except (ValueError, KeyError, TypeError):
            number = None
        if number is None:
            raise UserError(f"{path}:{place}: {foreign}. Choose another file for --out.")
        finished[number] = f"{line}\n"
    if whole != text:
        write_atomically(path, whole)
    return finished
