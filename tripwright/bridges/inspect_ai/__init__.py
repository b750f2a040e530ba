"""Our tasks in Inspect AI (docs/inspect.md): the same episode loop and judge, with Inspect's
models, logs and viewer.

This module is the entry point that Inspect loads for `tripwright/…` names; it needs the extra
`inspect`.
"""

from tripwright.bridges.inspect_ai.trips import trips

__all__ = ["trips"]
