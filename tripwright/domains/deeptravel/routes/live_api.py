"""Live tools over HTTP: what one worker runs."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

from tripwright.domains.deeptravel.routes.live_answers import LiveAnswers, LiveServerSettings
from tripwright.server.tools_api import ToolsApp


def make_app(live: dict[str, Any], face: str, metrics_folder: str) -> ToolsApp:
    """`live` are LiveSettings as JSON."""
    app = ToolsApp(LiveAnswers(LiveServerSettings(**live), face), Path(metrics_folder))
    gc.collect()
    gc.freeze()  # what is loaded now stays: the collector need not look at it again
    return app
