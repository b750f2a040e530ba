"""SVG text → PNG, by resvg (extra `png`): a renderer of its own, without browser, window system or
system libraries."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

ZOOM = 2.0  # pixels per SVG unit: sharp on paper and on dense screens
HOW_TO = (
    "PNG files need the extra 'png': pip install 'tripwright[png]'. SVG and CSV files were written."
)
NO_FONT = (
    "No font was found on this machine, so no PNG files were made: they would have no words. SVG"
    " and CSV files were written."
)
_FAMILIES = (
    "Liberation Sans",
    "DejaVu Sans",
    "Noto Sans",
    "Arial",
    "Helvetica",
    "Segoe UI",
    "Roboto",
    "Ubuntu",
    "Cantarell",
    "Open Sans",
)
_PROBE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><text x="2" y="15"'
    ' font-size="14">{}</text></svg>'
)


def png_maker() -> Callable[[str], bytes] | str:
    """What turns an SVG into a PNG, or one line that says why there is nothing that does."""
    try:
        svg_to_bytes = import_module("resvg_py").svg_to_bytes
    except ImportError:
        return HOW_TO

    def draw(svg: str, family: str, zoom: float = 1.0) -> bytes:
        return bytes(
            svg_to_bytes(svg_string=svg, font_family=family, sans_serif_family=family, zoom=zoom)
        )

    # the renderer leaves out words whose font it does not find, and says nothing
    for family in _FAMILIES:
        if draw(_PROBE.format("Hg"), family) != draw(_PROBE.format(""), family):
            return lambda svg: draw(svg, family, ZOOM)
    return NO_FONT
