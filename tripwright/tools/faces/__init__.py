"""The faces that there are. A new one is a file beside these with one `Face(...)`, and its name in the lines below (docs/tools.md)."""

from __future__ import annotations

from collections.abc import Mapping

from tripwright.domains.deeptravel.tools.faces import DEEPTRAVEL, DEEPTRAVEL_COMPACT
from tripwright.domains.travelplanner.tools.faces.compact import COMPACT
from tripwright.domains.travelplanner.tools.faces.official import OFFICIAL
from tripwright.domains.travelplanner.tools.faces.planner_r1 import PLANNER_R1
from tripwright.domains.travelplanner.tools.faces.star import STAR
from tripwright.errors import UserError
from tripwright.tools.face import Face, number

__all__ = [
    "ALL_FACES",
    "COMPACT",
    "DEEPTRAVEL",
    "DEEPTRAVEL_COMPACT",
    "FACES",
    "LIVE_FACES",
    "OFFICIAL",
    "PLANNER_R1",
    "STAR",
    "Face",
    "face_named",
    "number",
]

FACES: dict[str, Face] = {face.name: face for face in (PLANNER_R1, COMPACT, STAR, OFFICIAL)}  # of the seven tools over a world
LIVE_FACES: dict[str, Face] = {face.name: face for face in (DEEPTRAVEL, DEEPTRAVEL_COMPACT)}  # of the six tools (row D1)
ALL_FACES = {**FACES, **LIVE_FACES}


def face_named(name: str, faces: Mapping[str, Face] = ALL_FACES) -> Face:
    if name not in faces:
        raise UserError(f"Unknown face '{name}'. The faces are {', '.join(faces)}.")
    return faces[name]
