"""Call strips (row P14, figures A.11 and A.12 of Planner-R1): one row for each episode, one
coloured cell for each call, sorted by outcome.

What goes wrong is told by shape as well as by colour: a failed call is a low cell, a repeated one a
thin one, and a cross ends an episode without an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from tripwright.evals.report.drawing import csv_text, svg
from tripwright.evals.report.markup import esc, plain, plural
from tripwright.evals.report.work import UNREADABLE, Step, Work

MOST_ROWS = 60
TOOL_COLOURS = (0, 2, 4, 3, 6, 7, 5)  # 1 is for turns that cannot be read
OTHER_TOOLS, MISTAKE_COLOUR = "other tools", 1
LEFT, WIDTH, WIDEST_CELL, ROW = 96, 520, 30.0, 6.0


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


def call_strips(works: Sequence[Work], colours: Mapping[str, int], title: str) -> str:
    """At most MOST_ROWS episodes, evenly spaced in their order, so that each outcome keeps its
    share."""
    in_order = ordered(works)
    if not in_order:
        return ""
    shown = [
        in_order[i * len(in_order) // min(len(in_order), MOST_ROWS)]
        for i in range(min(len(in_order), MOST_ROWS))
    ]
    longest = max(1, max(len(work.steps) for work in shown) + 1)
    cell = min(WIDEST_CELL, (WIDTH - LEFT - 6) / longest)
    counts = {words: len(list(each)) for words, each in groupby(in_order, outcome_words)}
    parts, y = [f'<text class="unit" x="{LEFT}" y="10">calls in their order →</text>'], 18.0
    for words, group in groupby(shown, outcome_words):
        rows = list(group)
        middle = y + max(ROW * len(rows), 12) / 2
        parts.append(
            f'<text class="tick" x="{LEFT - 8}" y="{middle:.1f}"'
            f' text-anchor="end">{esc(words)}</text>'
        )
        parts.append(
            f'<text class="tick" x="{LEFT - 8}" y="{middle + 11:.1f}"'
            f' text-anchor="end">{counts[words]:,}</text>'
        )
        for i, work in enumerate(rows):
            parts.append(_row(work, y + ROW * i, cell, colours))
        y += max(ROW * len(rows), 26) + 5
    legend, height = _legend(colours, shown, y + 12)
    of = (
        f"{len(shown)} of {plural(len(in_order), 'episode')}"
        if len(shown) < len(in_order)
        else plural(len(shown), "episode")
    )
    words = (
        f"One row for each of {of}, sorted by outcome:"
        f" {', '.join(f'{name} {count:,}' for name, count in counts.items())}."
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
            for work in shown
        ),
    )
    return svg("".join(parts) + legend, WIDTH, height, title, words, data)


def step_words(step: Step) -> str:
    return step.tool if step.kind in ("fine", "unreadable") else f"{step.tool} ({step.kind})"


def _row(work: Work, y: float, cell: float, colours: Mapping[str, int]) -> str:
    parts = [
        f"<title>{esc(f'{work.id}, {outcome_words(work)}: ' + ' → '.join([*map(step_words, work.steps), plain(work.stop)]))}</title>"  # noqa: E501
    ]
    for i, step in enumerate(work.steps):
        parts.append(
            _cell(
                step,
                LEFT + cell * i,
                y,
                cell,
                MISTAKE_COLOUR if step.kind == "unreadable" else colours.get(step.tool, 5),
            )
        )
    x, middle = LEFT + cell * len(work.steps) + 4, y + ROW / 2
    parts.append(_dot(x, middle) if work.answered else _cross(x, middle))
    return f"<g>{''.join(parts)}</g>"


def _cell(step: Step, x: float, y: float, width: float, colour: int) -> str:
    height = ROW - 1
    low = {"error": 0.45, "fault": 0.45, "repeated": 0.2}.get(step.kind, 1.0)
    box = (
        f'x="{x:.1f}" y="{y + height * (1 - low):.1f}" width="{max(width - 0.8, 0.6):.1f}"'
        f' height="{height * low:.1f}"'
    )
    return f'<rect class="bar s{colour}" {box}/>'


def _dot(x: float, y: float) -> str:
    return f'<circle class="dot s2" cx="{x:.1f}" cy="{y:.1f}" r="2.2"/>'


def _cross(x: float, y: float) -> str:
    return f'<path class="line s1" d="M{x - 2:.1f},{y - 2:.1f} l4,4 m0,-4 l-4,4"/>'


def _legend(colours: Mapping[str, int], works: Sequence[Work], y: float) -> tuple[str, float]:
    """Swatches with names in as many lines as they need, and where the picture ends."""
    there = {step.tool for work in works for step in work.steps}
    named = [(tool, colours[tool]) for tool in colours if tool in there]
    head, rest = named[: len(TOOL_COLOURS) - 1], named[len(TOOL_COLOURS) - 1 :]
    named = head + (rest if len(rest) == 1 else [(OTHER_TOOLS, TOOL_COLOURS[-1])] if rest else [])
    kinds = {step.kind for work in works for step in work.steps}
    entries = [(_cell(Step(name, "fine"), 0, 0, 10, colour), name) for name, colour in named]
    if UNREADABLE in there:
        entries.append(
            (_cell(Step(UNREADABLE, "unreadable"), 0, 0, 10, MISTAKE_COLOUR), "unreadable turn")
        )
    for kind, words in (
        ("error", "low: the call failed"),
        ("fault", "low: made to fail"),
        ("repeated", "thin: repeated call"),
    ):
        if kind in kinds and not (kind == "fault" and "error" in kinds):
            entries.append((_cell(Step("", kind), 0, 0, 10, 5), words))
    if any(work.answered for work in works):
        entries.append((_dot(4, 3), "answer"))
    if not all(work.answered for work in works):
        entries.append((_cross(4, 3), "ended without one"))
    parts, x = [], 8.0
    for mark, words in entries:
        wide = 20 + 6.2 * len(words) + 12
        if x + wide > WIDTH and x > 8:
            x, y = 8.0, y + 16
        parts.append(
            f'<g transform="translate({x:.1f} {y - 6:.1f})">{mark}<text class="tick" x="15"'
            f' y="6.5">{esc(words)}</text></g>'
        )
        x += wide
    return "".join(parts), y + 10
