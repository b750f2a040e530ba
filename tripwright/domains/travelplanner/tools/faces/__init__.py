"""TravelPlanner's faces. A new one is a file beside these with one `Face(...)`, and its name in the
line below (docs/tools.md)."""

from __future__ import annotations

from tripwright.domains.travelplanner.tools.faces.compact import COMPACT
from tripwright.domains.travelplanner.tools.faces.official import OFFICIAL
from tripwright.domains.travelplanner.tools.faces.planner_r1 import PLANNER_R1
from tripwright.domains.travelplanner.tools.faces.star import STAR

__all__ = ["COMPACT", "FACES", "OFFICIAL", "PLANNER_R1", "STAR"]

FACES = (PLANNER_R1, COMPACT, STAR, OFFICIAL)
