"""What quality cost (row P12): passes over the arithmetic spent, the level of 90% of the best, and
where each run first reached it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from tripwright.evals.report.charts import Frame, Point, ReferenceLine, Series, line_chart, smoothed
from tripwright.evals.report.curves import figure, figure_of, points, smoothing, thin
from tripwright.evals.report.folder import Json
from tripwright.evals.report.markup import percent, plural

REACHED = 0.9  # of the best level, in the efficiency of row P12
ROUNDING = 1e-12
COSTS = (("flops_update_total", "updates alone", 1), ("flops_total", "with rollouts", 0))
FAR_APART = 20  # largest cost over smallest, from which a logarithmic axis shows more
FRONTIER_COLOUR = 5

# run → (RL step, final pass rate) of each checkpoint that was examined
Examined = Mapping[str, Sequence[tuple[float, float]]]


def running_mean(rows: Sequence[Json], cost: str, key: str = "pass_rate") -> tuple[Point, ...]:
    """(cost so far, running mean of `key`) of each step that logs both."""
    curve = points(rows, key, at=figure_of(cost))
    return smoothed(curve, smoothing(len(curve)))


def first_reached(
    rows: Sequence[Json], level: float, cost: str, key: str = "pass_rate"
) -> float | None:
    """`cost` (FLOPs so far) at the step where the running mean of `key` first reaches `level`; None
    if it never does, or is not logged."""
    return next((x for x, y in running_mean(rows, cost, key) if y >= level * (1 - ROUNDING)), None)


def best(rows: Sequence[Json], key: str = "pass_rate") -> float | None:
    """The largest value of the running mean."""
    return max((y for _, y in running_mean(rows, "step", key)), default=None)


def efficiency_words(rows: Sequence[Json], where: str = "during training") -> str:
    top = best(rows)
    if not top:
        return ""
    costs = [
        (first_reached(rows, REACHED * top, key), words)
        for key, words in (("flops_update_total", "updates"), ("flops_total", "all"))
    ]
    ways = [
        f"{cost:.2e} FLOPs of {'parameter updates' if w == 'updates' else 'updates and rollouts'}"
        for cost, w in costs
        if cost is not None
    ]
    if not ways:
        return ""
    mean = ", running mean" if smoothing(len(rows)) > 1 else ""
    return (
        f"90% of this run's best pass rate {where} ({percent(top)}{mean}) was first reached after"
        f" {' or '.join(ways)}."
    )


def time_words(rows: Sequence[Json], algorithm: str) -> str:
    """How long a step takes, and the hours of the device in all (Agent-STAR; row S11)."""
    means = [step_seconds(rows, key) for key in ("rollout_seconds", "update_seconds")]
    if means[0] is None or means[1] is None:
        return ""
    hours = max((y for _, y in points(rows, "device_hours_total")), default=None)
    of = f"; {hours:.3g} hours of the device in all" if hours is not None else ""
    return (
        f"{algorithm.upper() or 'RL'}: {means[0] + means[1]:.3g} s a step (rollouts {means[0]:.3g},"
        f" update {means[1]:.3g}, means over {plural(len(rows), 'step')}){of}."
    )


def step_seconds(rows: Sequence[Json], key: str) -> float | None:
    seconds = [y for _, y in points(rows, key)]
    return fmean(seconds) if seconds else None


def against_flops(rows: Sequence[Json], validated: Sequence[Json] = ()) -> str:
    """Reward and passes of one run over the arithmetic spent; `validated`: the steps after which it
    was evaluated, with the passes found there."""
    figures = []
    for key, title, share in (
        ("reward_mean", "Reward against arithmetic", False),
        ("pass_rate", "Passes against arithmetic", True),
    ):
        level = REACHED * (best(rows, key) or 0.0) if share else 0.0
        lines = [
            Series(name, thin(points(rows, key, at=figure_of(x))), c, ring=_ring(rows, level, x))
            for x, name, c in COSTS
        ]
        smooth = smoothing(max((len(line.points) for line in lines), default=0))
        if share:
            held = points(validated, key, at=figure_of("flops_total"))
            lines.append(Series("held out", held, 2, dots=True))
        frame = Frame(
            title,
            "FLOPs since the start of RL",
            "share of episodes" if share else "reward",
            percent=share,
            smooth=smooth,
        )
        levels = [_level(level)] if level else []
        note = (
            "Dashed: 90% of the best running mean; circles: where it is first reached."
            if level
            else ""
        )
        figures.append(figure(title, line_chart(lines, frame, levels), note))
    return "".join(figures)


def frontier(curves: Iterable[Sequence[Point]]) -> tuple[Point, ...]:
    """The most that any of the curves reached for at most so much: rises only, each at its cost,
    and the last one at the largest cost."""
    best_so_far, last = 0.0, 0.0
    steps: list[Point] = []
    for x, y in sorted(point for curve in curves for point in curve):
        last = x
        if y > best_so_far:
            steps += [(x, best_so_far)] if steps else []
            best_so_far = y
            steps.append((x, y))
    return (*steps, (last, best_so_far)) if steps else ()


def frontier_figures(runs: Mapping[str, Sequence[Json]], examined: Examined | None = None) -> str:
    """Pass rate over FLOPs for several runs with their frontier and the line of 90% of the best;
    checkpoints that were examined are dots.

    `runs`: name → RL steps. "" where no run logs both passes and FLOPs.
    """
    tops = [top for rows in runs.values() if (top := best(rows)) is not None]
    level = REACHED * max(tops, default=0.0)
    if not level:
        return ""
    return "".join(
        _frontier_figure(runs, examined or {}, cost, words, level) for cost, words, _ in COSTS
    )


def _frontier_figure(
    runs: Mapping[str, Sequence[Json]], examined: Examined, cost: str, words: str, level: float
) -> str:
    curves = {
        name: tuple(p for p in running_mean(rows, cost) if p[0] > 0) for name, rows in runs.items()
    }
    if not any(curves.values()):
        return ""
    lines = [
        Series(name, thin(curve), i, ring=_ring(runs[name], level, cost))
        for i, (name, curve) in enumerate(curves.items())
    ]
    several = len([curve for curve in curves.values() if curve]) > 1
    if several:
        lines.insert(0, Series("frontier", frontier(curves.values()), FRONTIER_COLOUR))
    for i, (name, rows) in enumerate(runs.items()):
        at = {step: x for x, step in points(rows, "step", at=figure_of(cost))}
        dots = tuple((at[step], rate) for step, rate in examined.get(name, ()) if step in at)
        lines.append(Series(f"{name}, examined", dots, i, dots=True))
    xs = [x for curve in curves.values() for x, _ in curve]
    title = f"Passes for arithmetic ({words})"
    frame = Frame(
        title,
        "FLOPs since the start of RL",
        "share of episodes, running mean",
        percent=True,
        log_x=max(xs) > FAR_APART * min(xs),
    )
    note = "Dashed: 90% of the best of all runs; circles: where a run first reaches it."
    note += " Grey: the most that any run reached for so much." if several else ""
    note += (
        " Dots: checkpoints on the trips of their examination."
        if any(line.dots and line.points for line in lines)
        else ""
    )
    return figure(title, line_chart(lines, frame, [_level(level)]), note)


def _level(level: float) -> ReferenceLine:
    return ReferenceLine(level, f"90% of the best: {percent(level)}")


def _ring(rows: Sequence[Json], level: float, cost: str) -> Point | None:
    reached = first_reached(rows, level, cost) if level else None
    return None if reached is None else (reached, level)
