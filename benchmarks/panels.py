"""Several charts in one SVG file, for the pictures of the docs."""

from __future__ import annotations

from collections.abc import Sequence

from tripwright.evals.report.charts import FONT, LIGHT, Lines
from tripwright.evals.report.markup import esc


def picture(label: str, panels: Sequence[tuple[str, Lines]], columns: int) -> str:
    """A file of its own out of several titled charts, row by row."""
    parts: list[str] = []
    y = widest = 16.0
    for i in range(0, len(panels), columns):
        x = 16.0
        for title, chart in panels[i : i + columns]:
            parts.append(
                f'<text x="{x:g}" y="{y + 12:g}" fill="{LIGHT["ink"]}" font-family="{FONT}"'
                f' font-size="15" font-weight="650">{esc(title)}</text>'
                + chart.standalone.replace("<svg ", f'<svg x="{x:g}" y="{y + 28:g}" ')
            )
            x += chart.width + 14
        widest = max(widest, x + 2)
        y += 44 + max(chart.height for _, chart in panels[i : i + columns])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {widest:g} {y:g}"'
        f' width="{widest:g}" height="{y:g}" role="img" aria-label="{esc(label)}">'
        f'<rect width="100%" height="100%" rx="10" fill="{LIGHT["panel"]}"/>'
        f"{''.join(parts)}</svg>\n"
    )
