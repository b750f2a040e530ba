"""Files that a killed process leaves whole: they are written beside their place and moved into it. Every room may import this."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Whoever reads `path` sees the old text or the new one, however this process ends."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
