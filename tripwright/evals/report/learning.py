"""What a run's metrics show over training, of one run or of several in each chart: the charts of
`training_charts.toml`; which constraints fail most (row P14); at what cost a level was reached
(rows P12, S11); whether the dense reward varied more than the sparse one at the start, as Lemma 2
has it, and Theorem 1 beside runs (row P16).

Long runs are thinned to a few hundred points by averaging neighbours, never by dropping them, so a
collapse of ten steps stays visible.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import pairwise
from statistics import fmean
from typing import Any

from markupsafe import Markup

from tripwright.domains import fact_title
from tripwright.errors import UserError
from tripwright.evals.report.charts import COLOURS, Lines, Point, Series, smoothed
from tripwright.evals.report.folder import (
    SUPERVISED,
    Evaluation,
    Json,
    ReportedRun,
    metric_of,
    reinforcement,
    steps_of,
)
from tripwright.evals.report.markup import Estimate, estimate, number, percent, plain, short
from tripwright.evals.report.page import (
    Cell,
    Figure,
    PageTable,
    Part,
    Section,
    Text,
    sentence,
    under,
)
from tripwright.runs import object_in

MAX_POINTS = 160
SMOOTH_FROM = 24  # with fewer points every step is shown as it is
STEP, MINUTES = "step", "minutes since the start"
# figure of a step → the metric of score.json that is drawn beside it
HELD_OUT = {
    "pass_rate": "final",
    "turns_mean": "turns_mean",
    "completion_tokens_mean": "completion_tokens_mean",
}
# of what never happened and of settings that never changed there is no line
VARYING = (
    "learning_rate",
    "curriculum_stage",
    "verifier_success_rate",
    "replayed",
    "replayed_solved",
    "unscored",
)
TOP_LINES, TOP_CELLS, MOST_COLUMNS = 5, 3, 12  # Planner-R1's figures 4 and A.2
FIRST_STEPS = 10  # "at the start", for Lemma 2: the policy has hardly moved, and groups are few
GAIN, GAIN_START = 0.05, 3  # of the share that passes, above the mean of so many first steps
TOTALS = ("minutes", "device_hours_total", "flops_total", "peak_memory_mb")
REACHED = 0.9  # of the best level, in the efficiency of row P12
ROUNDING = 1e-12
LEVEL_COLOUR = 5
STOPS = "stop_reasons"
# groups of charts that few readers ask for
LABORATORY = ("How episodes end, and how rewards spread", "Speed, memory, arithmetic")

Rows = Sequence[Json]
Key = tuple[str, str, int]  # figure in a row of metrics.jsonl, its name, its colour
Share = tuple[float, int]  # of how many


# ---- columns of the metrics


COSTS = {  # what passes are laid over, and its name
    "minutes": "minutes",
    "flops_update_total": "FLOPs of updates",
    "flops_total": "FLOPs with rollouts",
}


def figure_of(row: Json, key: str) -> float | None:
    """A finite number of a step; minutes are reckoned from its seconds."""
    value = number(row.get("seconds" if key == "minutes" else key))
    return value / 60 if value is not None and key == "minutes" else value


def points(rows: Rows, key: str, inside: str = "", x: str = STEP) -> tuple[Point, ...]:
    """(x, y) of the rows that hold a finite number; of `inside`, the table of a row that has it."""
    found = []
    for row in rows:
        table = object_in(row, inside) if inside else row
        at, y = figure_of(row, x), figure_of(table, key)
        if inside == STOPS and table and key not in table:
            y = 0.0  # no episode ended so
        if at is not None and y is not None:
            found.append((at, y))
    return tuple(found)


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


def curve(rows: Rows, key: str, name: str, colour: int, inside: str = "", x: str = STEP) -> Series:
    return Series(name, thin(points(rows, key, inside, x)), colour)


def chart(title: str, unit: str, lines: Sequence[Series], x: str = STEP, **options: Any) -> Lines:
    """As long as its longest curve, it has a running mean."""
    longest = max((len(line.points) for line in lines if not line.dots), default=0)
    return Lines(title, x, unit, lines, **{"smooth": smoothing(longest), **options})


def most(rows: Rows, key: str) -> float | None:
    return max((y for row in rows if (y := figure_of(row, key)) is not None), default=None)


# ---- the charts of the table


@dataclass(frozen=True)
class ChartRow:
    """A chart of training_charts.toml."""

    title: str
    unit: str
    lines: Sequence[Key] = ()
    like: str = ""  # a pattern of the names of its lines, where those are not listed
    inside: str = ""  # the table of each step that holds them
    note: str = ""
    share: bool = False

    def keys(self, rows: Iterable[Json]) -> Sequence[Key]:
        found = (object_in(row, self.inside) if self.inside else row for row in rows)
        names = dict.fromkeys(name for row in found for name in row)
        return self.lines or named_like(self.like, names)


def named_like(pattern: str, names: Iterable[str]) -> list[Key]:
    """Those of these figures whose names are so, in colours of their own."""
    found = [name for name in dict.fromkeys(names) if re.fullmatch(pattern, name)]
    return [(name, plain(name), i) for i, name in enumerate(found)]


@cache
def chart_groups() -> dict[str, list[ChartRow]]:
    """By their titles."""
    text = files("tripwright.evals.report").joinpath("training_charts.toml").read_text("utf-8")
    return {
        group["title"]: [ChartRow(**chart) for chart in group["chart"]]
        for group in tomllib.loads(text)["group"]
    }


def training_parts(
    runs: Mapping[str, Rows], held_out: Mapping[str, Series], laboratory: bool
) -> list[Section]:
    """The groups of charts: the laboratory's, or all others. `held_out` stand beside the figures of
    one run that they are named after."""
    return [
        under(title, *(f for row in rows for f in _figures(row, runs, held_out)))
        for title, rows in chart_groups().items()
        if (title in LABORATORY) == laboratory
    ]


def _figures(
    row: ChartRow, runs: Mapping[str, Rows], held_out: Mapping[str, Series]
) -> list[Figure]:
    """Of one run one chart with all lines; of several a chart for each line, with a line for each
    run."""
    every = [each for rows in runs.values() for each in rows]
    keys = [
        key
        for key in row.keys(every)
        if key[0] not in VARYING or len({each.get(key[0]) for each in every}) > 1
    ]

    def figure(title: str, lines: Sequence[Series], note: str = "") -> Figure:
        return Figure(chart(title, row.unit, lines, percent=row.share), note.strip())

    if len(runs) > 1:
        return [
            figure(
                row.title if len(keys) == 1 else f"{row.title}: {name}",
                [curve(of, key, run, i, row.inside) for i, (run, of) in enumerate(runs.items())],
            )
            for key, name, _ in keys
        ]
    lines = [curve(every, *key, row.inside) for key in keys]
    if keys and keys[0][0] == "reward_mean":
        spread = dict(thin(points(every, "reward_std")))
        band = ((x, y, spread[x]) for x, y in lines[0].points if x in spread)
        lines[0] = replace(lines[0], band=tuple((x, y - by, y + by) for x, y, by in band))
    beside = [each for key, _, _ in row.lines if (each := held_out.get(key)) and each.points]
    note = f"{row.note} Dots: held-out requests, 95% intervals." if beside else row.note
    return [figure(row.title, [*lines, *beside], note)]


def check_count(count: int) -> None:
    if count > COLOURS:
        raise UserError(
            f"{count} runs in one chart cannot be told apart. Accepted: at most {COLOURS}."
        )


def supervised_figure(rows: Rows) -> Figure:
    """The stages follow each other, so their common axis is time since the run's start."""
    losses = [
        curve([row for row in rows if row.get("stage") == stage], "loss", words, i, x="minutes")
        for i, (stage, words) in enumerate((("copy_pretraining", "warm-up"), ("sft", "SFT")))
    ]
    held_out = Series("held out", points(rows, "val_loss", x="minutes"), 2, dots=True)
    values = [y for line in losses for _, y in line.points if y > 0]
    log = bool(values) and max(values) > 20 * min(values)
    unit = "nats per token" + (", log scale" if log else "")
    note = "Dots: queries kept out of training." if held_out.points else ""
    return Figure(chart("Loss", unit, [*losses, held_out], MINUTES, log=log), note)


# ---- what fails (row P14)


def failures(rows: Rows) -> dict[str, tuple[Point, ...]]:
    """Share of episodes that break each constraint, over steps; those that failed most in all (area
    under the curve) first."""
    names = dict.fromkeys(name for row in rows for name in object_in(row, "constraints"))
    curves = {
        name: tuple((x, 1 - y) for x, y in points(rows, name, "constraints")) for name in names
    }

    def area(name: str) -> float:
        """Under the steps, each as wide as the next one is far; a single step counts as one."""
        widths = [b[0] - a[0] for a, b in pairwise(curves[name])] or [1.0]
        steps = zip([*widths, widths[-1]], curves[name], strict=False)
        return sum(width * y for width, (_, y) in steps)

    most_first = sorted((name for name in curves if curves[name]), key=area, reverse=True)
    return {name: curves[name] for name in most_first}


def failure_section(rows: Rows) -> Section:
    """The five that fail most over the steps of RL, and what fails in a dozen stretches of them."""
    curves = failures(rows)
    longest = max(map(len, curves.values()), default=0)
    lines = [
        Series(fact_title(name), thin(curve), i)
        for i, (name, curve) in enumerate(list(curves.items())[:TOP_LINES])
    ]
    drawn = chart("What fails most", "share of episodes that fail it", lines, percent=True)
    top = Figure(drawn, sentence("fails_most"))
    stretches: dict[float, dict[str, Share]] = {}
    for name, curve in curves.items():
        size = -(-len(curve) // MOST_COLUMNS)
        for x, share in thin(curve, MOST_COLUMNS):
            stretches.setdefault(x, {})[name] = share, size
    columns = {f"to {short(x)}": stretches[x] for x in sorted(stretches)}
    table = failure_table(columns, "steps") if longest > 1 else PageTable([], [])
    by_steps = "By steps, in percent of the episodes; bold: the three commonest."
    return under("What fails", top, under("", table, note=by_steps))


def failure_table(columns: Mapping[str, Mapping[str, Share]], of: str) -> PageTable:
    """Constraint × column, the one that fails most first, darker where it fails more; what never
    fails has no row. `of`: what the shares are of how many of."""
    sums = Counter[str]()
    for shares in columns.values():
        sums.update({name: share for name, (share, _) in shares.items() if share})
    rows = []
    for name, _ in sums.most_common():
        cells = [share_cell(each.get(name), of, commonest(each)) for each in columns.values()]
        rows.append((fact_title(name), "", cells))
    return PageTable.of(columns, rows)


def share_cell(figure: Share | None, of: str, bold: Sequence[Share | None] = ()) -> Cell:
    """In percent, shaded; blank where there is none."""
    if figure is None:
        return Cell()
    share, n = figure
    words = f"{100 * share:.0f}" if share >= 0.005 or not share else "<1"
    text = Markup("<strong>{}</strong>").format(words) if figure in bold else words
    return Cell(text, hint=f"{percent(share)} of {n:,} {of}", shade=share)


def commonest(shares: Mapping[str, Share]) -> list[Share]:
    """The three largest."""
    return sorted((each for each in shares.values() if each[0]), reverse=True)[:TOP_CELLS]


# ---- what it cost (rows P12, S11)


def running_mean(rows: Rows, cost: str) -> tuple[Point, ...]:
    """(cost so far, running mean of passes) of each step that logs both."""
    found = points(rows, "pass_rate", x=cost)
    return smoothed(found, smoothing(len(found)))


def first_reached(rows: Rows, level: float, cost: str) -> float | None:
    """The cost so far at the step where the running mean of passes first reaches `level`; None if
    it never does, or is not logged."""
    return next((x for x, y in running_mean(rows, cost) if y >= level * (1 - ROUNDING)), None)


def best(rows: Rows) -> float | None:
    """The largest value of the running mean of passes."""
    return max((y for _, y in running_mean(rows, STEP)), default=None)


def cost_table(
    runs: Mapping[str, Rows], counted: Mapping[str, Rows], level: float, notes: Mapping[str, str]
) -> PageTable:
    """What each run had spent when its passes first reached the level, and in all. `counted`: the
    rows that hold the passes to go by."""
    table = []
    for name, rows in runs.items():
        if (top := best(counted[name])) is None:
            continue
        step, *spent = (first_reached(counted[name], level, cost) for cost in (STEP, *COSTS))
        seconds = (points(rows, key) for key in ("rollout_seconds", "update_seconds"))
        figures = (
            step,
            *spent,
            float(len(rows)),
            *(fmean(y for _, y in each) if each else None for each in seconds),
            *(most(rows, key) for key in TOTALS),
        )
        cells = [percent(top), *(value if value is None else short(value) for value in figures)]
        table.append((name, notes.get(name, ""), cells))
    head = (
        *("best pass rate", "step", *COSTS.values(), "RL steps in all", "rollouts, s a step"),
        *("update, s a step", "minutes in all", "device hours of RL", "FLOPs in all"),
        "peak memory, MB",
    )
    return PageTable.of(head, table)


def cost_figures(runs: Mapping[str, Rows], level: float) -> list[Figure]:
    """Passes over each cost, and the line of 90% of the best."""
    figures = []
    for key, words in COSTS.items():
        curves = [
            Series(name, thin(running_mean(rows, key)), i)
            for i, (name, rows) in enumerate(runs.items())
        ]
        xs = [x for curve in curves for x, _ in curve.points]
        if not xs or not level:
            continue
        ends = ((min(xs), level), (max(xs), level))
        goal = Series("90% of the best", ends, LEVEL_COLOUR)
        title, unit = f"Passes over {words}", "share of episodes, running mean"
        drawn = Lines(title, f"{words} since the start", unit, [*curves, goal], percent=True)
        figures.append(Figure(drawn))
    return figures


# ---- evaluations over steps (rows P12, P14)


def rate_series(
    name: str, rates: Sequence[tuple[float, Estimate]], colour: int, dots: bool = False
) -> Series:
    """With the intervals of those that have one."""
    band = tuple((x, *rate.ends) for x, rate in rates if rate.low is not None)
    return Series(name, tuple((x, rate.value) for x, rate in rates), colour, band, dots)


def metric_series(
    columns: Iterable[Evaluation], metric: str, name: str, colour: int = 0, dots: bool = False
) -> Series:
    """A metric of checkpoints over steps, with its 95% intervals."""
    found = ((x, metric_of(each.score, metric)) for x, each in steps_of(columns).items())
    return rate_series(name, [(x, rate) for x, rate in found if rate], colour, dots)


def validated_rows(run: ReportedRun) -> list[Json]:
    """The logged steps of RL after which it was evaluated, with the passes of the evaluation in
    place of the rollouts'."""
    passes = dict(metric_series(run.validation, "final", "").points)
    start: Json = {"step": 0, "flops_update_total": 0.0, "flops_total": 0.0}
    logged = [start, *run.rl] if run.rl and 0 in passes else run.rl
    return [row | {"pass_rate": passes[row["step"]]} for row in logged if row["step"] in passes]


def sub_reward_figure(columns: Sequence[Evaluation]) -> Figure:
    """Schema, micro and macro rates and passes of checkpoints over steps, from their score.json."""
    metrics = (name for each in columns for name in object_in(each.score, "metrics"))
    lines = []
    for name, words, colour in named_like("final|schema|.*_(micro|macro)", metrics):
        lines.append(replace(metric_series(columns, name, words, colour), band=()))
    title = "What the reward is made of, examined checkpoints"
    drawn = Lines(title, STEP, "share", lines, percent=True)
    return Figure(drawn, "On held-out requests, from score.json.")


# ---- the sections


def learning_section(runs: Mapping[str, ReportedRun]) -> Section:
    """All charts of the metrics. Beside those of one run stand what its evaluations found."""
    rl = {name: run.rl for name, run in runs.items()}
    supervised = {name: run.stage(*SUPERVISED) for name, run in runs.items()}
    held_out = {}
    values = [value for run in runs.values() for row in run.metrics for value in row.values()]
    bad = sum(isinstance(value, float) and number(value) is None for value in values)
    notes: list[str] = [sentence("learning", bad)]
    if len(runs) == 1:
        (run,) = runs.values()
        notes.append(_best_words(run))
        held_out = {
            key: metric_series(run.validation, metric, "held out", dots=True)
            for key, metric in HELD_OUT.items()
        }
    parts = learning_parts(rl, supervised, held_out)
    lede = [Text(note) for note in notes] if any(parts) else []
    return Section("learning", "Learning", [*lede, *parts])


def learning_parts(
    rl: Mapping[str, Rows],
    supervised: Mapping[str, Rows],
    held_out: Mapping[str, Series],
) -> list[Part]:
    """The charts of steps, of one run or of several in each; what few readers ask for is folded."""
    parts: list[Part] = [*training_parts(rl, held_out, laboratory=False)]
    if len(rl) == 1:
        parts += map(failure_section, rl.values())
    before = [supervised_figure(rows) for rows in supervised.values()]
    titles = [f"{name}: before RL" if len(rl) > 1 else "Before RL" for name in supervised]
    parts += [under(*each) for each in zip(titles, before, strict=True)]
    summary = "How episodes ended, speed, memory, arithmetic, variance of rewards"
    laboratory = training_parts(rl, held_out, laboratory=True)
    return [*parts, Section("", summary, laboratory, fold=True)]


def _best_words(run: ReportedRun) -> str:
    """Which checkpoint validation kept, with its interval; its words name no difference."""
    rate, step = estimate(run.best), number(run.best.get("step"))
    if rate is None or step is None:
        return ""
    metric, model = plain(str(run.best.get("metric"))), run.best.get("model")
    return sentence("best", len(run.validation), metric, step, rate, model)


def cost_section(runs: Mapping[str, ReportedRun]) -> Section:
    """Row P12's efficiency: what each run had spent when it first reached 90% of the best pass rate
    of all of them, on held-out requests where every run has those; and time a step (row S11)."""
    rl = {name: run.rl for name, run in runs.items()}
    held_out = {name: validated_rows(run) for name, run in runs.items()}
    evaluated = all(held_out.values())
    counted = held_out if evaluated else rl
    level = REACHED * max((best(rows) or 0.0 for rows in counted.values()), default=0.0)
    algorithms = {name: reinforcement(run.recipe)[0] for name, run in runs.items()}
    table = cost_table(rl, counted, level, algorithms)
    parts = [table, *cost_figures(counted, level)]
    note = sentence("cost", level, evaluated)
    return Section("cost", "What it cost to get there", parts if level else [], note)


# ---- the variance of rewards (row P16)

VARIANCES = ("dense_variance", "sparse_variance", "covariance")


def time_to_gain(rows: Rows) -> float | None:
    """Steps until the running mean of passes is GAIN above that of the first steps; None where it
    never is."""
    passes = points(rows, "pass_rate")
    if not passes:
        return None
    start = fmean(y for _, y in passes[:GAIN_START])
    return next((x for x, y in running_mean(rows, STEP) if y >= start + GAIN), None)


def variance_section(runs: Mapping[str, Rows]) -> Section:
    """Lemma 2, Theorem 1 and Corollary 1 of Planner-R1 (Appendix G) beside runs. Theorem 1 bounds
    the time to a gain from below by a constant over the variance, so of two runs the one with the
    larger variance *may* be faster; whether it was, the last column says."""
    first = {name: number(rows[0].get("reward_variance")) for name, rows in runs.items() if rows}
    least = min(filter(None, first.values()), default=None)
    table = []
    for name, rows in runs.items():
        start = [row for row in rows if (figure_of(row, STEP) or 0) <= FIRST_STEPS]
        of_keys = ([y for _, y in points(start, key)] for key in VARIANCES)
        dense, sparse, covariance = (fmean(found) if found else None for found in of_keys)
        own, gain = first.get(name), time_to_gain(rows)
        bound = least / own if least and own else None
        figures = (dense, sparse, covariance, own, bound, gain)
        if own is not None or dense is not None:
            cells = [each if each is None else f"{each:.3g}" for each in figures]
            table.append((name, "", cells))
    head = (
        *("variance of the dense reward", "of the sparse one"),
        "covariance of the dense reward’s other parts with passing",
        "variance of its own reward, first step",
        "bound on its time",
        f"steps to {GAIN:.0%} more passes",
    )
    parts, note = [PageTable.of(head, table)], sentence("variance", FIRST_STEPS)
    return Section("variance", "Variance and the start", parts, note)
