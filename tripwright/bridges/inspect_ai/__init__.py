"""Our tasks in Inspect AI (docs/inspect.md): the same episode loop and judge, with Inspect's
models, logs and viewer.

This module is the entry point that Inspect loads for `tripwright/…` names; it needs the extra
`inspect`.
"""

from tripwright.bridges.inspect_ai.natural_plan import natural_plan
from tripwright.bridges.inspect_ai.solvers import episode, recorded
from tripwright.bridges.inspect_ai.star_search import star_search
from tripwright.bridges.inspect_ai.tasks import facts, final, played, trips

__all__ = [
    "episode",
    "facts",
    "final",
    "natural_plan",
    "played",
    "recorded",
    "star_search",
    "trips",
]
