"""TravelPlanner's faces. A new one is a file beside these with one `Face(...)`, and its name in the
line below (docs/tools.md)."""

from __future__ import annotations

from tripwright.domains.travelplanner.tools.faces.json_faces import COMPACT, PLANNER_R1
from tripwright.domains.travelplanner.tools.faces.official import OFFICIAL
from tripwright.domains.travelplanner.tools.faces.star import STAR

__all__ = ["COMPACT", "FACES", "OFFICIAL", "PLANNER_R1", "STAR"]

FACES = (PLANNER_R1, COMPACT, STAR, OFFICIAL)
