"""What a run's metrics say beyond their curves: which constraints fail most (row P14), at what cost the level was reached (row P12),
and whether the dense reward varied more than the sparse one at the start, as Lemma 2 has it (row P16)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from tripwright.evals.report.charts import Frame, Line, Point, line_chart, smoothed, svg
from tripwright.evals.report.curves import at_step, figure, inner, points, smoothing, thin
from tripwright.evals.report.folder import Json
from tripwright.evals.report.markup import constraint_words, esc, number, percent, plural, short
from tripwright.evals.report.training_charts import STEP, figure_of

TOP_LINES, TOP_CELLS, MOST_COLUMNS = 5, 3, 40  # Planner-R1's figures 4 and A.2
REACHED = 0.9  # of the best level, in the efficiency of row P12
FIRST_STEPS = 10  # "at the start", for Lemma 2: the policy has hardly moved, and one step's groups are few


def failures(rows: Sequence[Json]) -> dict[str, tuple[Point, ...]]:
    """Share of episodes that break each constraint, over steps; those that failed most in all (area under the curve) first."""
    names = dict.fromkeys(name for row in rows for name in inner(row, "constraints"))
    curves = {name: tuple((x, 1 - y) for x, y in points(rows, name, inside="constraints")) for name in names}
    curves = {name: curve for name, curve in curves.items() if curve}
    return dict(sorted(curves.items(), key=lambda item: -_area(item[1])))


def _area(curve: Sequence[Point]) -> float:
    """Under the steps, each as wide as the next one is far; a single step counts as one."""
    widths = [b[0] - a[0] for a, b in zip(curve, curve[1:], strict=False)] or [1.0]
    return sum(width * y for width, (_, y) in zip([*widths, widths[-1]], curve, strict=False))


def failure_figures(rows: Sequence[Json]) -> str:
    curves = failures(rows)
    if not curves:
        return ""
    lines = [Line(constraint_words(name), thin(curve), i) for i, (name, curve) in enumerate(list(curves.items())[:TOP_LINES])]
    smooth = smoothing(len(lines[0].points))
    top = line_chart(lines, Frame("What fails most", STEP, "share of episodes that fail it", percent=True, smooth=smooth))
    note = "The five constraints with the largest area under their curve. One that a gate keeps from being judged counts as failed."
    cells = figure("The three commonest failures", _heat_map(curves), "Darker: failed more often. Blank: not among the three.")
    return figure("What fails most", top, note) + cells


def _heat_map(curves: dict[str, tuple[Point, ...]]) -> str:
    """Rows are constraints, columns are steps (several to a column in long runs); shaded where it is among the three commonest."""
    shared = {name: dict(thin(curve, MOST_COLUMNS)) for name, curve in curves.items()}
    steps = sorted({x for curve in shared.values() for x in curve})
    if len(steps) < 2:
        return ""
    cells: dict[tuple[str, float], float] = {}
    for x in steps:
        there = sorted(((curve[x], name) for name, curve in shared.items() if curve.get(x, 0.0) > 0), reverse=True)
        cells |= {(name, x): y for y, name in there[:TOP_CELLS]}
    names = [name for name in shared if any((name, x) in cells for x in steps)]
    left, right, row, top = 190, 512, 20, 6
    width = (right - left) / len(steps)
    parts = []
    for i, name in enumerate(names):
        y = top + row * i
        parts.append(f'<text class="tick" x="{left - 8}" y="{y + 14}" text-anchor="end">{esc(constraint_words(name))}</text>')
        parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y + row}" y2="{y + row}"/>')
        for j, x in enumerate(steps):
            if (found := cells.get((name, x))) is not None:
                words = f"{STEP} {short(x)}: {constraint_words(name)} {percent(found)}"
                parts.append(
                    f'<rect class="bar s1" style="opacity:{0.12 + 0.88 * found:.2f}" x="{left + j * width:.1f}" y="{y + 1}" '
                    f'width="{width:.1f}" height="{row - 1}"><title>{esc(words)}</title></rect>'
                )
    floor = top + row * len(names)
    for at, anchor, step in ((left, "start", steps[0]), (right, "end", steps[-1])):
        parts.append(f'<text class="tick" x="{at}" y="{floor + 15}" text-anchor="{anchor}">{short(step)}</text>')
    parts.append(f'<text class="unit" x="{(left + right) / 2}" y="{floor + 15}" text-anchor="middle">{STEP}</text>')
    return svg("".join(parts), 520, floor + 24, "The three commonest failures at each step")


def first_reached(rows: Sequence[Json], level: float, cost: str, key: str = "pass_rate") -> float | None:
    """`cost` (FLOPs so far) at the step where the running mean of `key` first reaches `level`; None if it never does, or is not logged."""
    curve = points(rows, key, at=figure_of(cost))
    return next((x for x, y in smoothed(curve, smoothing(len(curve))) if y >= level * (1 - 1e-12)), None)  # rounding aside


def best(rows: Sequence[Json], key: str = "pass_rate") -> float | None:
    """The largest value of the running mean."""
    curve = points(rows, key)
    return max((y for _, y in smoothed(curve, smoothing(len(curve)))), default=None)


def efficiency_words(rows: Sequence[Json]) -> str:
    top = best(rows)
    if not top:
        return ""
    costs = [(first_reached(rows, REACHED * top, key), words) for key, words in (("flops_update_total", "updates"), ("flops_total", "all"))]
    told = [f"{cost:.2e} FLOPs of {'parameter updates' if w == 'updates' else 'updates and rollouts'}" for cost, w in costs if cost]
    if not told:
        return ""
    return f"90% of this run's best pass rate during training ({percent(top)}, running mean) was first reached after {' or '.join(told)}."


def lemma_words(rows: Sequence[Json]) -> str:
    """Lemma 2's figures over the first steps, with what they say about its assumption and its conclusion."""
    keys = ("dense_variance", "sparse_variance", "covariance")
    found = [
        values for row in rows if (at_step(row) or 0) <= FIRST_STEPS and None not in (values := tuple(number(row.get(key)) for key in keys))
    ]
    if not found:
        return ""
    dense, sparse, covariance = (fmean(column) for column in zip(*found, strict=True))
    auxiliary = dense - sparse - 2 * covariance
    holds, needed = dense >= sparse, 2 * covariance >= -auxiliary
    return (
        f"Rewards at the start (mean over prompts and {plural(len(found), 'logged step')}): variance of the dense reward {dense:.3g}, of "
        f"the sparse one {sparse:.3g}, of the other parts {auxiliary:.3g}; covariance of the other parts with passing {covariance:.3g}. "
        f"Dense ≥ sparse {'holds' if holds else 'does not hold'}, which is 2·Cov ≥ −Var of the other parts "
        f"({2 * covariance:.3g} {'≥' if needed else '<'} {-auxiliary:.3g}); Lemma 2's assumption Cov ≥ 0 "
        f"{'is met' if covariance >= 0 else 'is not met'}."
    )
