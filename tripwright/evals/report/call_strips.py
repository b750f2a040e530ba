"""Call strips (Planner-R1, figures A.11 and A.12; row P14): one row for each episode, one coloured
cell for each call, sorted by outcome.

What goes wrong is told by shape as well as by colour: a failed call is a low cell, a repeated one a
thin one, and a cross ends an episode without an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from tripwright.evals.report.drawing import (
    QUIET,
    SERIES,
    Spot,
    csv_text,
    finished,
    new_axes,
    styled,
)
from tripwright.evals.report.markup import plain, plural, printable
from tripwright.evals.report.work import Step, Work

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

MOST_ROWS = 60
TOOL_COLOURS = (0, 2, 4, 3, 6, 7, 5)  # 1 is for turns that cannot be read
OTHER_TOOLS, MISTAKE_COLOUR = "other tools", 1
LEFT, RIGHT, WIDTH, WIDEST_CELL, ROW = 96, 6, 520, 30.0, 6.0
TOP, LEGEND_ROW = 16, 16
HEIGHTS = {"error": 0.45, "fault": 0.45, "repeated": 0.2}  # of a cell, as a share of its row


def tool_colours(tools: Sequence[str]) -> dict[str, int]:
    """The same colour for a tool in every strip of a page; beyond seven tools the rest shares the
    last one."""
    return {tool: TOOL_COLOURS[min(i, len(TOOL_COLOURS) - 1)] for i, tool in enumerate(tools)}


def ordered(works: Sequence[Work]) -> list[Work]:
    """Passing first, then answers that fail, then the other ends; within each the shorter first,
    and those alike together."""
    return sorted(
        works,
        key=lambda work: (
            not work.passed,
            not work.answered,
            work.stop,
            len(work.steps),
            work.steps,
            work.id,
        ),
    )


def outcome_words(work: Work) -> str:
    return "passed" if work.passed else "failed" if work.answered else plain(work.stop)


@styled
def call_strips(works: Sequence[Work], colours: Mapping[str, int], title: str) -> str:
    """At most MOST_ROWS episodes, evenly spaced in their order, so that each outcome keeps its
    share."""
    in_order = ordered(works)
    if not in_order:
        return ""
    count = min(len(in_order), MOST_ROWS)
    sample = [in_order[i * len(in_order) // count] for i in range(count)]
    counts = {words: len(list(each)) for words, each in groupby(in_order, outcome_words)}
    bands, floor = [], 0.0  # outcome, its episodes, where its rows begin
    for words, group in groupby(sample, outcome_words):
        rows = list(group)
        bands.append((words, rows, floor))
        floor += max(ROW * len(rows), 26) + 5
    legend = _legend(colours, sample)
    legend_height = LEGEND_ROW * -(-len(legend) // 3) + 4
    # one unit of the axes is one pixel; x counts from the first call
    axes = new_axes(WIDTH, TOP + floor + legend_height, LEFT, RIGHT, TOP, legend_height)
    axes.set_xlim(0, WIDTH - LEFT - RIGHT)
    axes.set_ylim(floor, 0)
    axes.set_axis_off()
    axes.text(0, -5, "calls in their order →", **QUIET)
    cell = min(WIDEST_CELL, (WIDTH - LEFT - RIGHT) / (max(len(w.steps) for w in sample) + 1))
    spots: list[Spot] = []
    cells: list[tuple[float, float, float, str]] = []  # top, height, left, colour
    for outcome, rows, top in bands:
        middle = top + max(ROW * len(rows), 12) / 2
        axes.text(-8, middle, printable(outcome), ha="right", **QUIET)
        axes.text(-8, middle + 11, f"{counts[outcome]:,}", ha="right", **QUIET)
        for i, work in enumerate(rows):
            y = top + ROW * i
            for j, step in enumerate(work.steps):
                height = (ROW - 1) * HEIGHTS.get(step.kind, 1.0)
                cells.append((y + ROW - 1 - height, height, cell * j, _colour(step, colours)))
            _end(axes, cell * len(work.steps) + 4, y + ROW / 2, work.answered)
            path = " → ".join([*map(step_words, work.steps), plain(work.stop)])
            spots.append((0, WIDTH - LEFT - RIGHT, y, y + ROW, f"{work.id}, {outcome}: {path}"))
    if cells:
        tops, heights, lefts, inks = zip(*cells, strict=True)
        wide = max(cell - 0.8, 0.6)
        axes.barh(tops, wide, heights, lefts, align="edge", color=inks, alpha=0.85)
    axes.figure.legend(*zip(*legend, strict=True), loc="lower left", ncols=3)
    episodes = plural(len(in_order), "episode")
    words = (
        f"One row for each of {f'{count} of {episodes}' if count < len(in_order) else episodes},"
        f" sorted by outcome: {', '.join(f'{name} {n:,}' for name, n in counts.items())}."
    )
    data = csv_text(
        ["episode", "outcome", "stop reason", "turns that were no answer, in order"],
        (
            [
                work.id,
                "passed" if work.passed else "failed",
                work.stop,
                " > ".join(map(step_words, work.steps)),
            ]
            for work in sample
        ),
    )
    return finished(axes, title, words, data, spots)


def step_words(step: Step) -> str:
    return step.tool if step.kind in ("fine", "unreadable") else f"{step.tool} ({step.kind})"


def _colour(step: Step, colours: Mapping[str, int]) -> str:
    return SERIES[MISTAKE_COLOUR if step.kind == "unreadable" else colours.get(step.tool, 5)]


def _end(axes: Axes, x: float, y: float, answered: bool) -> None:
    """A dot for an answer, a cross for an end without one."""
    if answered:
        axes.plot(x, y, "o", c=SERIES[2], ms=4.4)
    else:
        axes.plot(x, y, "x", c=SERIES[MISTAKE_COLOUR], ms=4)


def _legend(colours: Mapping[str, int], works: Sequence[Work]) -> list[tuple[Artist, str]]:
    """Marks with their words, of what is there."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    steps = {step for work in works for step in work.steps}
    tools = [tool for tool in colours if any(step.tool == tool for step in steps)]
    first, rest = tools[: len(TOOL_COLOURS) - 1], tools[len(TOOL_COLOURS) - 1 :]
    entries: list[tuple[Artist, str]] = [
        (Patch(color=SERIES[colours[tool]]), printable(tool))
        for tool in (first + rest if len(rest) == 1 else first)
    ]
    if len(rest) > 1:
        entries.append((Patch(color=SERIES[TOOL_COLOURS[-1]]), OTHER_TOOLS))
    kinds = {step.kind for step in steps}
    if "unreadable" in kinds:
        entries.append((Patch(color=SERIES[MISTAKE_COLOUR]), "unreadable turn"))
    if failed := kinds & {"error", "fault"}:
        words = "low: the call failed" if "error" in failed else "low: made to fail"
        entries.append((Line2D([], [], c=SERIES[5], lw=4), words))
    if "repeated" in kinds:
        entries.append((Line2D([], [], c=SERIES[5], lw=1.5), "thin: repeated call"))
    if any(work.answered for work in works):
        entries.append((Line2D([], [], ls="", marker="o", c=SERIES[2], ms=5), "answer"))
    if not all(work.answered for work in works):
        cross = Line2D([], [], ls="", marker="x", c=SERIES[MISTAKE_COLOUR], ms=5)
        entries.append((cross, "ended without one"))
    return entries
