"""Which tool follows which (row P14, figures A.9 and A.10 of Planner-R1): previous tool by next
tool, as shares of what follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from tripwright.evals.report.grids import Grid, shaded_grid
from tripwright.evals.report.markup import percent
from tripwright.evals.report.work import ANSWER, UNREADABLE, Work

START, NO_ANSWER, OTHER = "start", "no answer", "other tools"
MOST_TOOLS = 12


def transitions(works: Iterable[Work]) -> Counter[tuple[str, str]]:
    """How often each step follows each; an episode goes from `start` to `answer` or to `no
    answer`."""
    counts: Counter[tuple[str, str]] = Counter()
    for work in works:
        counts.update(
            pairwise(
                [START, *(step.tool for step in work.steps), ANSWER if work.answered else NO_ANSWER]
            )
        )
    return counts


def transition_matrix(works: Sequence[Work], tools: Sequence[str], title: str) -> str:
    """`tools` in the order of the page; those beyond the first twelve count together. "" where no
    episode is there."""
    if not works:
        return ""
    first_tools = list(tools) if len(tools) <= MOST_TOOLS else list(tools[: MOST_TOOLS - 1])
    labels = {START, *first_tools, UNREADABLE, ANSWER, NO_ANSWER}
    counts: Counter[tuple[str, str]] = Counter()
    for (before, after), count in transitions(works).items():
        counts[before if before in labels else OTHER, after if after in labels else OTHER] += count
    totals: Counter[str] = Counter()
    for (before, _), count in counts.items():
        totals[before] += count
    order = [START, *first_tools, OTHER, UNREADABLE, ANSWER, NO_ANSWER]
    rows = [name for name in order if totals[name]]
    columns = [name for name in order if any(counts[row, name] for row in rows)]
    cells = {pair: count / totals[pair[0]] for pair, count in counts.items() if count}
    hover = {
        pair: (
            f"{pair[0]} → {pair[1]}: {percent(cells[pair])}, {counts[pair]:,} of"
            f" {totals[pair[0]]:,}"
        )
        for pair in cells
    }
    return shaded_grid(
        rows, columns, cells, Grid(title, "previous", "next", "what follows"), hover=hover
    )
