"""The faces that there are. A new one is a file beside these with one `Face(...)`, and its name in the line below (docs/tools.md)."""

from __future__ import annotations

from tripwright.errors import UserError
from tripwright.tools.faces.base import Face, number
from tripwright.tools.faces.compact import COMPACT
from tripwright.tools.faces.official import OFFICIAL
from tripwright.tools.faces.planner_r1 import PLANNER_R1
from tripwright.tools.faces.star import STAR

__all__ = ["COMPACT", "FACES", "OFFICIAL", "PLANNER_R1", "STAR", "Face", "face_named", "number"]

FACES: dict[str, Face] = {face.name: face for face in (PLANNER_R1, COMPACT, STAR, OFFICIAL)}


def face_named(name: str) -> Face:
    if name not in FACES:
        raise UserError(f"Unknown face '{name}'. The faces are {', '.join(FACES)}.")
    return FACES[name]
