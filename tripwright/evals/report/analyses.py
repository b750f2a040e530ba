"""What a run's metrics say beyond their curves: which constraints fail most (row P14), and whether
the dense reward varied more than the sparse one at the start, as Lemma 2 has it (row P16). At what
cost a level was reached (row P12) is in `efficiency`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from tripwright.domains import fact_title
from tripwright.evals.report.charts import Frame, Point, Series, line_chart, smoothed
from tripwright.evals.report.curves import (
    MAX_POINTS,
    at_step,
    figure,
    inner,
    points,
    smoothing,
    thin,
)
from tripwright.evals.report.folder import Json
from tripwright.evals.report.grids import Grid, shaded_grid
from tripwright.evals.report.markup import esc, number, plural, short
from tripwright.evals.report.training_charts import STEP

TOP_LINES, TOP_CELLS, MOST_COLUMNS = 5, 3, 40  # Planner-R1's figures 4 and A.2
# "at the start", for Lemma 2: the policy has hardly moved, and one step's groups are few
FIRST_STEPS = 10
GAIN, GAIN_START = 0.05, 3  # of the share that passes, above the mean of so many first steps


def failures(rows: Sequence[Json]) -> dict[str, tuple[Point, ...]]:
    """Share of episodes that break each constraint, over steps; those that failed most in all (area
    under the curve) first."""
    names = dict.fromkeys(name for row in rows for name in inner(row, "constraints"))
    curves = {
        name: tuple((x, 1 - y) for x, y in points(rows, name, inside="constraints"))
        for name in names
    }
    return by_area({name: curve for name, curve in curves.items() if curve})


def by_area(curves: dict[str, tuple[Point, ...]]) -> dict[str, tuple[Point, ...]]:
    """The largest area under its curve first."""
    return dict(sorted(curves.items(), key=lambda item: -_area(item[1])))


def _area(curve: Sequence[Point]) -> float:
    """Under the steps, each as wide as the next one is far; a single step counts as one."""
    widths = [b[0] - a[0] for a, b in zip(curve, curve[1:], strict=False)] or [1.0]
    return sum(width * y for width, (_, y) in zip([*widths, widths[-1]], curve, strict=False))


def failure_figures(rows: Sequence[Json]) -> str:
    """From the steps of RL: the top five over steps, and the top three of each step."""
    curves = failures(rows)
    if not curves:
        return ""
    smooth = smoothing(min(len(next(iter(curves.values()))), MAX_POINTS))
    note = (
        "The five constraints with the largest area under their curve. One that a gate keeps from"
        " being judged counts as failed."
    )
    cells = figure(
        "The three commonest failures",
        _heat_map(curves),
        "Darker: failed more often. Blank: not among the three.",
    )
    return (
        figure("What fails most", top_failures(curves, "What fails most", STEP, smooth), note)
        + cells
    )


def top_failures(
    curves: dict[str, tuple[Point, ...]], title: str, x_label: str, smooth: int = 1
) -> str:
    """The five lines with the largest area, as `failures` orders them."""
    lines = [
        Series(fact_title(name), thin(curve), i)
        for i, (name, curve) in enumerate(list(curves.items())[:TOP_LINES])
    ]
    return line_chart(
        lines, Frame(title, x_label, "share of episodes that fail it", percent=True, smooth=smooth)
    )


def _heat_map(curves: dict[str, tuple[Point, ...]]) -> str:
    """Rows are constraints, columns are steps (several to a column in long runs); shaded where it
    is among the three commonest."""
    shared = {name: dict(thin(curve, MOST_COLUMNS)) for name, curve in curves.items()}
    steps = sorted({x for curve in shared.values() for x in curve})
    if len(steps) < 2:
        return ""
    cells: dict[tuple[str, float], float] = {}
    for x in steps:
        there = sorted(
            ((curve[x], name) for name, curve in shared.items() if curve.get(x, 0.0) > 0),
            reverse=True,
        )
        cells |= {(name, x): y for y, name in there[:TOP_CELLS]}
    return shaded_grid(
        [fact_title(name) for name in shared if any((name, x) in cells for x in steps)],
        [short(x) for x in steps],
        {(fact_title(name), short(x)): share for (name, x), share in cells.items()},
        Grid("The three commonest failures", "constraint", STEP, "episodes", colour=1),
    )


def lemma_words(rows: Sequence[Json]) -> str:
    """Lemma 2's figures over the first steps, with what they say about its assumption and its
    conclusion."""
    keys = ("dense_variance", "sparse_variance", "covariance")
    variances: list[tuple[Any, ...]] = [
        values
        for row in rows
        if (at_step(row) or 0) <= FIRST_STEPS
        and None not in (values := tuple(number(row.get(key)) for key in keys))
    ]
    if not variances:
        return ""
    dense, sparse, covariance = (fmean(column) for column in zip(*variances, strict=True))
    auxiliary = dense - sparse - 2 * covariance
    holds, needed = dense >= sparse, 2 * covariance >= -auxiliary
    words = (
        f"Rewards at the start (mean over prompts and {plural(len(variances), 'logged step')}):"
        f" variance of the dense reward {dense:.3g}, of the sparse one {sparse:.3g}, of the other"
        f" parts {auxiliary:.3g}; covariance of the other parts with passing {covariance:.3g}."
        f" Dense ≥ sparse {'holds' if holds else 'does not hold'}, which is 2·Cov ≥ −Var of the"
        f" other parts ({2 * covariance:.3g} {'≥' if needed else '<'} {-auxiliary:.3g}); Lemma 2's"
        f" assumption Cov ≥ 0 {'is met' if covariance >= 0 else 'is not met'}."
    )
    if at_step(rows[0]) != 1 or number(rows[0].get("covariance")) is None:
        return words
    dense, sparse, covariance = variances[0]  # what the lemma is about: nothing was learned yet
    return (
        f"{words} In the first step, played by the policy as it began: dense {dense:.3g}, sparse"
        f" {sparse:.3g}, covariance {covariance:.3g}."
    )


def time_to_gain(rows: Sequence[Json]) -> float | None:
    """Steps until the running mean of passes is GAIN above that of the first steps; None where it
    never is."""
    curve = points(rows, "pass_rate")
    means = smoothed(curve, max(smoothing(len(curve)), 1))
    if not means:
        return None
    start = fmean(y for _, y in curve[:GAIN_START])
    return next((x for x, y in means if y >= start + GAIN), None)


def theorem_section(runs: Mapping[str, Sequence[Json]]) -> str:
    """Theorem 1 and Corollary 1 of Planner-R1 (Appendix G) beside runs: the variance of each one's
    own reward under the policy as RL found it, and how soon its passes rose. The theorem bounds
    that time from below by a constant over the variance, so of two runs the one with the larger
    variance *may* be faster; whether it was, the last column says. "" where fewer than two log a
    variance."""
    first = {name: number(rows[0].get("reward_variance")) for name, rows in runs.items() if rows}
    variances = {name: value for name, value in first.items() if value is not None}
    if len(variances) < 2:
        return ""
    base = min(variances, key=lambda name: variances[name])
    times = {name: time_to_gain(runs[name]) for name in variances}
    body = ""
    for name, variance in sorted(variances.items(), key=lambda item: -item[1]):
        bound = variances[base] / variance if variance else None
        time, of = times[name], times[base]
        ratio = time / of if time is not None and of else None
        cells = (
            f"{variance:.3g}",
            "–" if bound is None else f"{bound:.2f}",
            "never" if time is None else short(time),
            "–" if ratio is None else f"{ratio:.2f}",
        )
        body += f"<tr><th scope=row>{esc(name)}</th>"
        body += "".join(f"<td class=num>{cell}</td>" for cell in cells) + "</tr>"
    head = "".join(
        f"<th class=num>{words}</th>"
        for words in (
            "variance of its reward, first step",
            "bound on its time, by variance",
            f"steps to {GAIN:.0%} more passes",
            "time",
        )
    )
    note = (
        "Theorem 1: the time to a gain is at least a constant over the variance of the reward under"
        f" the policy as RL found it. Bound and time are shares of those of {esc(base)}, whose"
        " variance is the smallest. Corollary 1 says that a smaller bound leaves room for a faster"
        " start, not that there is one. One run each says little: compare several seeds."
    )
    return (
        f'<section id="theory"><h2>Variance and the start</h2><p class="lede">{note}</p><div'
        f' class="scroll"><table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody>'
        "</table></div></section>"
    )
