"""What a run's metrics and its evaluations show over training: the charts of
`training_charts.toml`, of one run or of several in each chart; which constraints fail most (row
P14); at what cost a level was reached (row P12); whether the dense reward varied more than the
sparse one at the start, as Lemma 2 has it, and Theorem 1 beside runs (row P16).

Long runs are thinned to a few hundred points by averaging neighbours, never by dropping them, so a
collapse of ten steps stays visible. Evaluations made while a run trained and those of the exam ask
other requests, so they are never in one curve.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import cycle, pairwise
from statistics import fmean
from typing import Any

from tripwright.domains import fact_title
from tripwright.errors import UserError
from tripwright.evals.report.charts import COLOURS, Grid, Lines, Point, Series, smoothed
from tripwright.evals.report.folder import Json, object_in
from tripwright.evals.report.markup import number, percent, plain, plural, short
from tripwright.evals.report.page import Cell, Figure, FigureRow, Part, titled

MAX_POINTS = 160
SMOOTH_FROM = 24  # with fewer points every step is shown as it is
STEP, MINUTES = "step", "minutes since the start"
# figure of a step → its name, its colour
RATES = {"pass_rate": ("pass", 0), "schema_rate": ("schema", 7)}
# figure of a step → the metric of score.json that is drawn beside it
HELD_OUT = {
    "pass_rate": "final",
    "turns_mean": "turns_mean",
    "completion_tokens_mean": "completion_tokens_mean",
}
# the figures of a step that score.json calls otherwise
METRIC_OF = {"pass_rate": "final", "schema_rate": "schema"}
GROUP_COLOURS = (1, 2, 3, 4, 5, 6)
STOP_COLOURS = {
    "answer": 2,
    "format_error": 1,
    "repeated_call": 3,
    "max_turns": 0,
    "max_calls": 5,
    "max_turn_tokens": 4,
    "context_overflow": 6,
    "unscored": 7,
}
TOP_LINES, TOP_CELLS, MOST_COLUMNS = 5, 3, 40  # Planner-R1's figures 4 and A.2
FIRST_STEPS = 10  # "at the start", for Lemma 2: the policy has hardly moved, and groups are few
GAIN, GAIN_START = 0.05, 3  # of the share that passes, above the mean of so many first steps
REACHED = 0.9  # of the best level, in the efficiency of row P12
ROUNDING = 1e-12
COSTS = (("flops_update_total", "updates alone", 1), ("flops_total", "with rollouts", 0))
SINCE = "FLOPs since the start of RL"
FAR_APART = 20  # largest cost over smallest, from which a logarithmic axis shows more
FRONTIER_COLOUR = 5

Rows = Sequence[Json]
Column = Callable[[Json], float | None]
Key = tuple[str, str, int]  # figure in a row of metrics.jsonl, its name, its colour


# ---- columns of the metrics


def figure_of(key: str, scale: float = 1.0) -> Column:
    """A column of the metrics as an x axis."""

    def at(row: Json) -> float | None:
        value = number(row.get(key))
        return None if value is None else value * scale

    return at


at_step, at_minutes = figure_of("step"), figure_of("seconds", 1 / 60)


def points(rows: Rows, key: str, inside: str = "", at: Column = at_step) -> tuple[Point, ...]:
    """(x, y) of the rows that hold a finite number; of `inside`, the table of a row that has it."""
    pairs = (
        (at(row), number((object_in(row, inside) if inside else row).get(key))) for row in rows
    )
    return tuple((x, y) for x, y in pairs if x is not None and y is not None)


def thin(all_points: Sequence[Point], most: int = MAX_POINTS) -> tuple[Point, ...]:
    """At most `most` points; each stands for equally many neighbours, at the last one's x, with
    their mean as its y."""
    if len(all_points) <= most:
        return tuple(all_points)
    size = -(-len(all_points) // most)
    groups = [all_points[i : i + size] for i in range(0, len(all_points), size)]
    return tuple((group[-1][0], sum(y for _, y in group) / len(group)) for group in groups)


def smoothing(count: int) -> int:
    """Width of the running mean, in points, of a line of `count` points."""
    return 1 if count < SMOOTH_FROM else max(3, count // 14) | 1


def curve(rows: Rows, key: str, name: str, colour: int, at: Column = at_step) -> Series:
    return Series(name, thin(points(rows, key, at=at)), colour)


def chart(title: str, unit: str, lines: Sequence[Series], x: str = STEP, **options: Any) -> Lines:
    """As long as its longest curve, it has a running mean."""
    longest = max((len(line.points) for line in lines if not line.dots), default=0)
    options.setdefault("smooth", smoothing(longest))
    return Lines(title, x, unit, lines, **options)


def by_area(curves: dict[str, tuple[Point, ...]]) -> dict[str, tuple[Point, ...]]:
    """The largest area under its curve first."""

    def area(curve: Sequence[Point]) -> float:
        """Under the steps, each as wide as the next one is far; a single step counts as one."""
        widths = [b[0] - a[0] for a, b in pairwise(curve)] or [1.0]
        return sum(width * y for width, (_, y) in zip([*widths, widths[-1]], curve, strict=False))

    return dict(sorted(curves.items(), key=lambda item: -area(item[1])))


# ---- the charts of the table, for one run and for several


@dataclass(frozen=True)
class ChartRow:
    """A chart of training_charts.toml."""

    title: str
    unit: str
    lines: Sequence[Key] = ()
    of: str = ""  # what decides its lines in their place: the parts of the reward, how episodes end
    note: str = ""
    share: bool = False


@dataclass(frozen=True)
class ChartGroup:
    title: str
    charts: Sequence[ChartRow]
    laboratory: bool


@cache
def chart_groups() -> tuple[ChartGroup, ...]:
    text = files("tripwright.evals.report").joinpath("training_charts.toml").read_text("utf-8")
    return tuple(
        ChartGroup(
            group["title"],
            [ChartRow(**chart) for chart in group["chart"]],
            group.get("laboratory", False),
        )
        for group in tomllib.loads(text)["group"]
    )


def chart_keys(chart: ChartRow, rows: Iterable[Json]) -> Sequence[Key]:
    if not chart.of:
        return chart.lines
    names = dict.fromkeys(name for row in rows for name in row)
    if chart.of == "parts":
        return reward_parts(names)
    itself = ("reward_mean", "reward_std", "reward_variance")
    own = [name for name in names if name.startswith("reward_") and name not in itself]
    return _coloured(own, lambda name: name.removeprefix("reward_")) if chart.of == "own" else ()


def reward_parts(names: Iterable[str]) -> list[Key]:
    """Of these figures of steps, those that rewards are made of: passes, readable answers, and both
    rates of every group of facts."""
    unique = dict.fromkeys(names)
    rates = [(name, *words) for name, words in RATES.items() if name in unique]
    groups = [name for name in unique if name.endswith(("_micro", "_macro"))]
    return [*rates, *_coloured(groups, lambda name: name.replace("_", " "))]


def _coloured(names: Sequence[str], words: Callable[[str], str]) -> list[Key]:
    colours = zip(names, cycle(GROUP_COLOURS), strict=False)
    return [(name, words(name), colour) for name, colour in colours]


def group_parts(
    rows: Rows,
    held_out: Mapping[str, Series] | None = None,
    laboratory: bool = False,
    validated: Rows = (),
) -> list[Part]:
    """The groups that have anything to show: the laboratory's, or all others. `held_out` stand
    beside the figures that they are named after; `validated`: `against_flops`."""
    parts: list[Part] = []
    for group in (each for each in chart_groups() if each.laboratory == laboratory):
        figures = [_figure(each, rows, held_out or {}) for each in group.charts]
        figures += against_flops(rows, validated) if group is chart_groups()[-1] else []
        parts += titled(group.title, FigureRow(figures))
    return parts


def _figure(row: ChartRow, rows: Rows, held_out: Mapping[str, Series]) -> Figure:
    """One chart of one run."""
    if row.of == "stops":
        return Figure(_stops(row, rows), row.note)
    lines = [curve(rows, *key) for key in chart_keys(row, rows) if not _dull(rows, key[0])]
    if row.lines and row.lines[0][0] == "reward_mean":
        spread = dict(thin(points(rows, "reward_std")))
        band = ((x, y, spread[x]) for line in lines for x, y in line.points if x in spread)
        lines = [replace(lines[0], band=tuple((x, y - by, y + by) for x, y, by in band))]
    beside = [held_out[key] for key, _, _ in row.lines if key in held_out and held_out[key].points]
    note = f"{row.note} Dots: held-out requests, 95% intervals." if beside else row.note
    drawn = chart(row.title, row.unit, [*lines, *beside], percent=row.share)
    return Figure(drawn, note.strip())


def _dull(rows: Rows, key: str) -> bool:
    """Counts of what never happened and settings that never changed would only fill the page; the
    run card has the latter."""
    if key in ("learning_rate", "curriculum_stage"):
        return len({row.get(key) for row in rows}) == 1
    if key == "verifier_success_rate":
        return all(row.get(key, 1.0) == 1.0 for row in rows)
    return key in ("replayed", "replayed_solved", "unscored") and not any(
        number(row.get(key)) for row in rows
    )


def _stops(row: ChartRow, rows: Rows) -> Lines:
    logged = [
        (at_step(each), reasons) for each in rows if (reasons := object_in(each, "stop_reasons"))
    ]
    found = {name for _, reasons in logged for name in reasons}
    names = [name for name in STOP_COLOURS if name in found] + sorted(found - set(STOP_COLOURS))
    lines = []
    for name in names:
        shares = [(x, number(each.get(name)) or 0.0) for x, each in logged if x is not None]
        lines.append(Series(plain(name), thin(shares), STOP_COLOURS.get(name, 7)))
    return Lines(row.title, STEP, row.unit, lines, percent=True, stacked=True)


def check_count(count: int) -> None:
    if count > COLOURS:
        raise UserError(
            f"{count} runs in one chart cannot be told apart. Accepted: at most {COLOURS}."
        )


def overlay_parts(runs: Mapping[str, Rows]) -> list[Part]:
    """Every chart of the table, figure by figure, of several runs in their colours; then reward and
    passes against time and arithmetic."""
    axes = (
        ("minutes since the run's start", at_minutes),
        ("FLOPs of parameter updates", figure_of("flops_update_total")),
        ("FLOPs of updates and rollouts", figure_of("flops_total")),
    )
    groups: list[list[Part]] = []
    for group in chart_groups():
        figures = []
        for row in group.charts:
            keys = chart_keys(row, (each for rows in runs.values() for each in rows))
            for key, name, _ in keys:
                title = row.title if len(keys) == 1 else f"{row.title}: {name}"
                figures += _overlay(runs, key, title, row.unit, row.share)
        groups += [titled(group.title, FigureRow(figures))] if figures else []
    against = [
        figure
        for key, title, unit, share in (
            ("reward_mean", "Reward", "reward", False),
            ("pass_rate", "Passes", "share", True),
        )
        for x, at in axes
        for figure in _overlay(runs, key, f"{title} against {x}", unit, share, x, at)
    ]
    groups.insert(1, titled("Against time and arithmetic", FigureRow(against)))
    return [part for group in groups for part in group]


def _overlay(
    runs: Mapping[str, Rows],
    key: str,
    title: str,
    unit: str,
    share: bool,
    x: str = STEP,
    at: Column = at_step,
) -> list[Figure]:
    """Nothing where nothing was logged, or nothing but zero."""
    if not any(number(row.get(key)) for rows in runs.values() for row in rows):
        return []
    lines = [curve(rows, key, name, i, at) for i, (name, rows) in enumerate(runs.items())]
    return list(filter(None, [Figure(chart(title, unit, lines, x, percent=share))]))


def supervised_figures(rows: Rows) -> list[Figure]:
    """The stages follow each other, so their common axis is time since the run's start."""
    stages = [
        ([row for row in rows if row.get("stage") == stage], words, colour)
        for stage, words, colour in (("copy_pretraining", "warm-up", 0), ("sft", "SFT", 1))
    ]
    losses = [curve(of, "loss", words, colour, at_minutes) for of, words, colour in stages]
    speeds = [curve(of, "tokens_per_second", name, c, at_minutes) for of, name, c in stages]
    held_out = Series("held out", points(rows, "val_loss", at=at_minutes), 2, dots=True)
    values = [y for line in losses for _, y in line.points if y > 0]
    log = bool(values) and max(values) > 20 * min(values)
    unit = "nats per token" + (", log scale" if log else "")
    note = "Dots: queries kept out of training." if held_out.points else ""
    loss = chart("Loss", unit, [*losses, held_out], MINUTES, log=log)
    speed = chart("Speed", "tokens per second", speeds, MINUTES, smooth=loss.smooth)
    return [Figure(loss, note), Figure(speed)]


def constraint_figures(rows: Rows) -> FigureRow:
    """A small chart for each constraint."""
    figures = []
    for name in dict.fromkeys(name for row in rows for name in object_in(row, "constraints")):
        line = Series("passed", thin(points(rows, name, "constraints"), 80), 0)
        small = {"percent": True, "width": 232, "height": 112, "small": True}
        drawn = chart(fact_title(name), "", [line], "", **small)
        if drawn:
            last = smoothed(line.points, drawn.smooth)[-1][1]
            figures.append(Figure(drawn, aside=percent(last)))
    return FigureRow(figures, "smalls")


# ---- what fails (row P14)


def failures(rows: Rows) -> dict[str, tuple[Point, ...]]:
    """Share of episodes that break each constraint, over steps; those that failed most in all (area
    under the curve) first."""
    names = dict.fromkeys(name for row in rows for name in object_in(row, "constraints"))
    curves = {
        name: tuple((x, 1 - y) for x, y in points(rows, name, "constraints")) for name in names
    }
    return by_area({name: curve for name, curve in curves.items() if curve})


def failure_figures(rows: Rows) -> list[Figure]:
    """From the steps of RL: the top five over steps, and the top three of each step."""
    curves = failures(rows)
    if not curves:
        return []
    smooth = smoothing(min(len(next(iter(curves.values()))), MAX_POINTS))
    note = (
        "The five constraints with the largest area under their curve. One that a gate keeps from"
        " being judged counts as failed."
    )
    return [
        Figure(top_failures(curves, "What fails most", smooth), note),
        Figure(_commonest(curves), "Darker: failed more often. Blank: not among the three."),
    ]


def top_failures(curves: dict[str, tuple[Point, ...]], title: str, smooth: int = 1) -> Lines:
    """The five lines with the largest area, as `by_area` orders them."""
    lines = [
        Series(fact_title(name), thin(curve), i)
        for i, (name, curve) in enumerate(list(curves.items())[:TOP_LINES])
    ]
    unit = "share of episodes that fail it"
    return Lines(title, STEP, unit, lines, percent=True, smooth=smooth)


def _commonest(curves: dict[str, tuple[Point, ...]]) -> Grid:
    """Rows are constraints, columns are steps (several to a column in long runs); shaded where it
    is among the three commonest."""
    shared = {name: dict(thin(curve, MOST_COLUMNS)) for name, curve in curves.items()}
    steps = sorted({x for curve in shared.values() for x in curve})
    cells: dict[tuple[str, str], float] = {}
    for x in steps:
        shares = ((curve[x], name) for name, curve in shared.items() if curve.get(x, 0.0) > 0)
        top = sorted(shares, reverse=True)[:TOP_CELLS]
        cells |= {(fact_title(name), short(x)): y for y, name in top}
    titles = [fact_title(name) for name in shared]
    return Grid(
        "The three commonest failures",
        "constraint",
        STEP,
        "episodes",
        [title for title in titles if any(row == title for row, _ in cells)],
        [short(x) for x in steps] if len(steps) > 1 else [],
        cells,
        colour=1,
    )


# ---- what it cost (row P12)


def running_mean(rows: Rows, cost: str, key: str = "pass_rate") -> tuple[Point, ...]:
    """(cost so far, running mean of `key`) of each step that logs both."""
    found = points(rows, key, at=figure_of(cost))
    return smoothed(found, smoothing(len(found)))


def first_reached(rows: Rows, level: float, cost: str, key: str = "pass_rate") -> float | None:
    """`cost` (FLOPs so far) at the step where the running mean of `key` first reaches `level`; None
    if it never does, or is not logged."""
    return next((x for x, y in running_mean(rows, cost, key) if y >= level * (1 - ROUNDING)), None)


def best(rows: Rows, key: str = "pass_rate") -> float | None:
    """The largest value of the running mean."""
    return max((y for _, y in running_mean(rows, "step", key)), default=None)


def efficiency_words(rows: Rows, where: str = "during training") -> str:
    top = best(rows)
    if not top:
        return ""
    ways = [
        f"{cost:.2e} FLOPs of {words}"
        for key, words in (
            ("flops_update_total", "parameter updates"),
            ("flops_total", "updates and rollouts"),
        )
        if (cost := first_reached(rows, REACHED * top, key)) is not None
    ]
    if not ways:
        return ""
    mean = ", running mean" if smoothing(len(rows)) > 1 else ""
    return (
        f"90% of this run's best pass rate {where} ({percent(top)}{mean}) was first reached after"
        f" {' or '.join(ways)}."
    )


def time_words(rows: Rows, algorithm: str) -> str:
    """How long a step takes, and the hours of the device in all (Agent-STAR; row S11)."""
    rollouts, update = step_seconds(rows, "rollout_seconds"), step_seconds(rows, "update_seconds")
    if rollouts is None or update is None:
        return ""
    hours = most(rows, "device_hours_total")
    of = f"; {hours:.3g} hours of the device in all" if hours is not None else ""
    return (
        f"{algorithm.upper() or 'RL'}: {rollouts + update:.3g} s a step (rollouts {rollouts:.3g},"
        f" update {update:.3g}, means over {plural(len(rows), 'step')}){of}."
    )


def step_seconds(rows: Rows, key: str) -> float | None:
    seconds = [y for _, y in points(rows, key)]
    return fmean(seconds) if seconds else None


def most(rows: Rows, key: str) -> float | None:
    return max((y for _, y in points(rows, key)), default=None)


def against_flops(rows: Rows, validated: Rows = ()) -> list[Figure]:
    """Reward and passes of one run over the arithmetic spent; `validated`: the steps after which it
    was evaluated, with the passes found there."""
    rewards = [curve(rows, "reward_mean", name, c, figure_of(x)) for x, name, c in COSTS]
    level = REACHED * (best(rows) or 0.0)
    passes = [
        replace(curve(rows, "pass_rate", name, c, figure_of(x)), ring=_ring(rows, level, x))
        for x, name, c in COSTS
    ]
    held = points(validated, "pass_rate", at=figure_of("flops_total"))
    passes.append(Series("held out", held, 2, dots=True))
    note = "Dashed: 90% of the best running mean; circles: where it is first reached."
    options = {"percent": True, "levels": _level(level)}
    return [
        Figure(chart("Reward against arithmetic", "reward", rewards, SINCE)),
        Figure(
            chart("Passes against arithmetic", "share of episodes", passes, SINCE, **options),
            note if level else "",
        ),
    ]


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


def frontier_figures(
    runs: Mapping[str, Rows], examined: Mapping[str, Sequence[Point]] | None = None
) -> list[Figure]:
    """Pass rate over FLOPs for several runs with their frontier and the line of 90% of the best;
    checkpoints that were `examined` (step, final pass rate) are dots. Nothing where no run logs
    both passes and FLOPs."""
    level = REACHED * max((best(rows) or 0.0 for rows in runs.values()), default=0.0)
    figures = []
    for cost, words, _ in COSTS:
        curves = {
            name: [p for p in running_mean(rows, cost) if p[0] > 0] for name, rows in runs.items()
        }
        xs = [x for curve in curves.values() for x, _ in curve]
        if not level or not xs:
            continue
        lines = [
            Series(name, thin(curve), i, ring=_ring(runs[name], level, cost))
            for i, (name, curve) in enumerate(curves.items())
        ]
        several = len(list(filter(None, curves.values()))) > 1
        if several:
            lines.insert(0, Series("frontier", frontier(curves.values()), FRONTIER_COLOUR))
        dots = []
        for i, (name, rows) in enumerate(runs.items()):
            at = {step: x for x, step in points(rows, "step", at=figure_of(cost))}
            passed = (examined or {}).get(name, ())
            here = tuple((at[step], rate) for step, rate in passed if step in at)
            dots.append(Series(f"{name}, examined", here, i, dots=True))
        log_x = max(xs) > FAR_APART * min(xs)
        options = {"percent": True, "smooth": 1, "log_x": log_x, "levels": _level(level)}
        title, unit = f"Passes for arithmetic ({words})", "share of episodes, running mean"
        note = "Dashed: 90% of the best of all runs; circles: where a run first reaches it."
        note += " Grey: the most that any run reached for so much." if several else ""
        if any(line.points for line in dots):
            note += " Dots: checkpoints on the trips of their examination."
        figures.append(Figure(chart(title, unit, [*lines, *dots], SINCE, **options), note))
    return figures


def _level(level: float) -> dict[str, float]:
    return {f"90% of the best: {percent(level)}": level} if level else {}


def _ring(rows: Rows, level: float, cost: str) -> Point | None:
    reached = first_reached(rows, level, cost) if level else None
    return None if reached is None else (reached, level)


# ---- the variance of rewards (row P16)


def lemma_words(rows: Rows) -> str:
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


def time_to_gain(rows: Rows) -> float | None:
    """Steps until the running mean of passes is GAIN above that of the first steps; None where it
    never is."""
    passes = points(rows, "pass_rate")
    if not passes:
        return None
    start = fmean(y for _, y in passes[:GAIN_START])
    means = smoothed(passes, smoothing(len(passes)))
    return next((x for x, y in means if y >= start + GAIN), None)


def theorem_rows(runs: Mapping[str, Rows]) -> tuple[str, list[list[Cell]]]:
    """Theorem 1 and Corollary 1 of Planner-R1 (Appendix G) beside runs: the variance of each one's
    own reward under the policy as RL found it, and how soon its passes rose. The theorem bounds
    that time from below by a constant over the variance, so of two runs the one with the larger
    variance *may* be faster; whether it was, the last column says. Returns the run whose variance
    is the smallest, and the rows; none where fewer than two log a variance."""
    first = {name: number(rows[0].get("reward_variance")) for name, rows in runs.items() if rows}
    variances = {name: value for name, value in first.items() if value is not None}
    if len(variances) < 2:
        return "", []
    base = min(variances, key=lambda name: variances[name])
    times = {name: time_to_gain(runs[name]) for name in variances}
    rows = []
    for name, variance in sorted(variances.items(), key=lambda item: -item[1]):
        bound = variances[base] / variance if variance else None
        time, of = times[name], times[base]
        ratio = time / of if time is not None and of else None
        shares = ["–" if share is None else f"{share:.2f}" for share in (bound, ratio)]
        took = "never" if time is None else short(time)
        rows.append(
            [Cell(name, css=""), *map(Cell, (f"{variance:.3g}", shares[0], took, shares[1]))]
        )
    return base, rows
