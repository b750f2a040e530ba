"""The learning section of a run's page: the charts of `training_charts`, what `analyses` finds,
each constraint, the supervised stages.

Long runs are thinned to a few hundred points by averaging neighbours, never by dropping them, so a
collapse of ten steps stays visible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tripwright.domains import fact_title
from tripwright.evals.report.charts import Frame, Point, Series, line_chart, smoothed
from tripwright.evals.report.folder import Json
from tripwright.evals.report.markup import esc, number, percent

MAX_POINTS = 160
SMOOTH_FROM = 24  # with fewer points every step is shown as it is


def at_step(row: Json) -> float | None:
    return number(row.get("step"))


def at_minutes(row: Json) -> float | None:
    seconds = number(row.get("seconds"))
    return None if seconds is None else seconds / 60


def figure_of(key: str) -> Callable[[Json], float | None]:
    """A column of the metrics as an x axis."""
    return lambda row: number(row.get(key))


def points(
    rows: Sequence[Json],
    key: str,
    inside: str | None = None,
    at: Callable[[Json], float | None] = at_step,
) -> tuple[Point, ...]:
    """(x, y) of the rows that hold a finite number."""
    pairs = []
    for row in rows:
        x = at(row)
        y = number((inner(row, inside) if inside else row).get(key))
        if x is not None and y is not None:
            pairs.append((x, y))
    return tuple(pairs)


def inner(row: Json, key: str) -> Json:
    value: Any = row.get(key)
    return value if isinstance(value, dict) else {}


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


def figure(title: str, picture: str, note: str = "") -> str:
    if not picture:
        return ""
    words = f'<p class="note">{esc(note)}</p>' if note else ""
    return f"<figure><figcaption>{esc(title)}</figcaption>{picture}{words}</figure>"


def supervised_figures(rows: Sequence[Json]) -> list[str]:
    """The stages follow each other, so their common axis is time since the run's start."""
    if not rows:
        return []
    x = "minutes since the start"

    def lines(key: str) -> list[Series]:
        stages = (("copy_pretraining", "warm-up", 0), ("sft", "SFT", 1))
        return [
            Series(
                words,
                thin(
                    points([row for row in rows if row.get("stage") == stage], key, at=at_minutes)
                ),
                colour,
            )
            for stage, words, colour in stages
        ]

    losses, held_out = (
        lines("loss"),
        Series("held out", points(rows, "val_loss", at=at_minutes), 2, dots=True),
    )
    values = [y for line in losses for _, y in line.points if y > 0]
    log = bool(values) and max(values) > 20 * min(values)
    smooth = smoothing(max((len(line.points) for line in losses), default=0))
    unit = "nats per token" + (", log scale" if log else "")
    loss = line_chart([*losses, held_out], Frame("Loss", x, unit, log=log, smooth=smooth))
    speed = line_chart(
        lines("tokens_per_second"), Frame("Speed", x, "tokens per second", smooth=smooth)
    )
    note = "Dots: queries kept out of training." if held_out.points else ""
    return [figure("Loss", loss, note), figure("Speed", speed)]


def constraint_figures(rows: Sequence[Json]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in inner(row, "constraints")))
    figures = []
    for name in names:
        passed = thin(points(rows, name, inside="constraints"), 80)
        smooth = smoothing(len(passed))
        small = Frame(
            fact_title(name),
            "",
            "",
            percent=True,
            smooth=smooth,
            width=232,
            height=112,
            small=True,
        )
        chart = line_chart([Series("passed", passed, 0)], small)
        if chart:
            caption = (
                f"{esc(fact_title(name))} <span"
                f' class="muted">{percent(smoothed(passed, smooth)[-1][1])}</span>'
            )
            figures.append(f"<figure><figcaption>{caption}</figcaption>{chart}</figure>")
    return "".join(figures)
