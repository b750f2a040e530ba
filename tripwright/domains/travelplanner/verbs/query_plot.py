"""What a file of requests holds, as one SVG picture that stands alone: levels, budgets by level,
and the budget over the cheapest cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripwright.domains.travelplanner.queries.make_item import LEVELS
from tripwright.evals.report.charts import picture, ticks
from tripwright.evals.report.markup import esc, short

WIDTH, HEIGHT, PANEL = 1080, 300, 360
LEFT, RIGHT, TOP, BOTTOM = 44, 16, 52, 44  # inside a panel
BINS = 24
GAP = 0.06  # between two bars, as a share of a bar's room


def requests_svg(records: Sequence[dict[str, Any]]) -> str:
    """Records of `query make`. Budgets in US dollars for the whole party; a request without any
    plan has no slack."""
    by_level = [[record for record in records if record["level"] == level] for level in LEVELS]
    panels = [
        _level_bars([len(found) for found in by_level]),
        _histogram(
            [[float(r["budget"]) for r in found] for found in by_level],
            "Budgets by level",
            "US dollars for the party",
        ),
        _histogram(
            [
                [float(r["oracle"]["slack"]) for r in found if r["oracle"]["slack"] is not None]
                for found in by_level
            ],
            "Slack by level",
            "budget / proved cheapest cost",
        ),
    ]
    drawn = "".join(
        f'<g transform="translate({PANEL * i},0)">{panel}</g>' for i, panel in enumerate(panels)
    )
    return picture(WIDTH, HEIGHT, f"Levels, budgets and slack of {len(records)} requests", drawn)


def _level_bars(counts: list[int]) -> str:
    room = (PANEL - LEFT - RIGHT) / len(LEVELS)
    most = max(max(counts), 1)
    parts = [_frame("Levels", "", most)]
    for i, (level, count) in enumerate(zip(LEVELS, counts, strict=True)):
        x = LEFT + room * i
        parts.append(_bar(x + room * 0.15, room * 0.7, 0, count, most, i, f"{level}: {count}"))
        parts.append(_text("label", x + room / 2, _y(count, most) - 6, str(count)))
        parts.append(_text("barname", x + room / 2, HEIGHT - BOTTOM + 16, level))
    return "".join(parts)


def _histogram(values: list[list[float]], title: str, unit: str) -> str:
    """One stacked bar a bin, the first level at the bottom."""
    together = [value for found in values for value in found]
    if not together:
        return _frame(title, "none has any", 1)
    low, high = min(together), max(together)
    high = high if high > low else low + 1.0
    counts = [[0] * BINS for _ in values]
    for found, bins in zip(values, counts, strict=True):
        for value in found:
            bins[min(BINS - 1, int((value - low) / (high - low) * BINS))] += 1
    most = max(map(sum, zip(*counts, strict=True)))
    room = (PANEL - LEFT - RIGHT) / BINS
    parts = [_frame(title, unit, most)]
    for b in range(BINS):
        below = 0
        for level, bins in enumerate(counts):
            if bins[b]:
                edges = [low + (high - low) * edge / BINS for edge in (b, b + 1)]
                hover = f"{LEVELS[level]}, {edges[0]:.4g} to {edges[1]:.4g}: {bins[b]}"
                parts.append(
                    _bar(
                        LEFT + room * (b + GAP),
                        room * (1 - 2 * GAP),
                        below,
                        below + bins[b],
                        most,
                        level,
                        hover,
                    )
                )
            below += bins[b]
    for tick in ticks(low, high, 4):
        x = LEFT + (tick - low) / (high - low) * (PANEL - LEFT - RIGHT)
        parts.append(_text("tick", x, HEIGHT - BOTTOM + 15, short(round(tick, 9))))
    return "".join(parts)


def _frame(title: str, unit: str, most: int) -> str:
    parts = [f'<text class="title" x="{LEFT}" y="28">{esc(title)}</text>']
    for level in ticks(0, most, 4):
        if level == int(level):
            y = _y(level, most)
            parts.append(
                f'<line class="grid" x1="{LEFT}" x2="{PANEL - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            )
            parts.append(
                f'<text class="tick" x="{LEFT - 6}" y="{y + 3.5:.1f}"'
                f' text-anchor="end">{short(int(level))}</text>'
            )
    parts.append(_text("unit", (LEFT + PANEL - RIGHT) / 2, HEIGHT - 10, unit))
    return "".join(parts)


def _bar(x: float, width: float, low: float, high: float, most: int, level: int, hover: str) -> str:
    top = _y(high, most)
    return (
        f'<rect class="bar s{level}" x="{x:.1f}" y="{top:.1f}" width="{width:.1f}"'
        f' height="{_y(low, most) - top:.1f}"><title>{esc(hover)}</title></rect>'
    )


def _text(css: str, x: float, y: float, words: str) -> str:
    return f'<text class="{css}" x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{esc(words)}</text>'


def _y(value: float, most: int) -> float:
    return HEIGHT - BOTTOM - value / most * (HEIGHT - BOTTOM - TOP)
