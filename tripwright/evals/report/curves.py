"""Which learning curves are drawn from metrics.jsonl, and how their numbers are thinned. A figure the run did not log has no chart.

Long runs are thinned to a few hundred points by averaging neighbours, never by dropping them, so a collapse of ten steps stays visible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tripwright.evals.report.charts import Frame, Line, Point, line_chart, smoothed, stacked_chart
from tripwright.evals.report.folder import Json, RunFolder
from tripwright.evals.report.markup import constraint_words, esc, number, percent, plain, plural

MAX_POINTS = 160
SMOOTH_FROM = 24  # with fewer points every step is shown as it is

SUB_REWARDS = (
    ("pass_rate", "pass", 0),
    ("schema_rate", "schema", 7),
    ("commonsense_micro", "cs micro", 1),
    ("commonsense_macro", "cs macro", 2),
    ("hard_micro", "hard micro", 3),
    ("hard_macro", "hard macro", 4),
)
SUB_REWARDS_NOTE = "cs: commonsense. Micro: checks passed; macro: episodes in which all of them passed."
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


def learning_section(run: RunFolder) -> str:
    """All charts of one run as figures, or "" where nothing was logged."""
    supervised, rl = run.stage("warmup", "sft"), run.stage("rl")
    figures = [*rl_figures(rl), *supervised_figures(supervised)]
    drawn = "".join(figures)
    if not drawn:
        return ""
    small = constraint_figures(rl)
    note = _note(rl, supervised)
    constraints = f'<h3>Each constraint during RL</h3><div class="smalls">{small}</div>' if small else ""
    return f'<section id="learning"><h2>Learning</h2><p class="lede">{note}</p><div class="charts">{drawn}</div>{constraints}</section>'


def rl_figures(rows: Sequence[Json]) -> list[str]:
    x = "RL step"
    smooth = smoothing(len(thin(_points(rows, "reward_mean"))))

    def chart(title: str, unit: str, *keys: tuple[str, str, int], note: str = "", share: bool = False) -> str:
        lines = [Line(name, thin(_points(rows, key)), colour) for key, name, colour in keys]
        return figure(title, line_chart(lines, Frame(title, x, unit, percent=share, smooth=smooth)), note)

    reward = Line("mean", thin(_points(rows, "reward_mean")), 0, band=_reward_band(rows))
    constant_rate = len({row.get("learning_rate") for row in rows}) == 1
    reward_chart = line_chart([reward], Frame("Reward", x, "reward", smooth=smooth))
    return [
        figure("Reward", reward_chart, "Shaded: one standard deviation over episodes."),
        chart("What the reward is made of", "share", *SUB_REWARDS, note=SUB_REWARDS_NOTE, share=True),
        figure("Why episodes stop", _stop_chart(rows, x), "Only an answer can pass."),
        chart("Turns per episode", "turns", ("turns_mean", "mean", 0)),
        chart("Length per episode", "tokens written by the agent", ("completion_tokens_mean", "mean", 0)),
        chart("Entropy", "nats per token", ("entropy", "mean", 0), note="A fall to zero means that the agent has stopped exploring."),
        chart("Clipped tokens", "share of tokens", ("clip_fraction", "clipped", 1)),
        chart("Gradient norm", "before clipping", ("grad_norm", "norm", 0)),
        chart(
            "Groups that teach",
            "share of groups",
            ("kept_groups", "kept", 2),
            share=True,
            note="Groups in which all rewards are equal have no gradient.",
        ),
        "" if constant_rate else chart("Learning rate, RL", "per update", ("learning_rate", "rate", 0)),  # the run card has it
        chart("Time per step", "seconds", ("rollout_seconds", "rollouts", 0), ("update_seconds", "update", 1)),
    ]


def supervised_figures(rows: Sequence[Json]) -> list[str]:
    """The stages follow each other, so their common axis is time since the run's start."""
    if not rows:
        return []
    x = "minutes since the start"

    def lines(key: str) -> list[Line]:
        stages = (("warmup", "warm-up", 0), ("sft", "SFT", 1))
        return [
            Line(words, thin(_points([row for row in rows if row.get("stage") == stage], key, at=_minutes)), colour)
            for stage, words, colour in stages
        ]

    losses, held_out = lines("loss"), Line("held out", _points(rows, "val_loss", at=_minutes), 2, dots=True)
    values = [y for line in losses for _, y in line.points if y > 0]
    log = bool(values) and max(values) > 20 * min(values)
    smooth = smoothing(max((len(line.points) for line in losses), default=0))
    unit = "nats per token" + (", log scale" if log else "")
    loss = line_chart([*losses, held_out], Frame("Loss", x, unit, log=log, smooth=smooth))
    speed = line_chart(lines("tokens_per_second"), Frame("Speed", x, "tokens per second", smooth=smooth))
    note = "Dots: queries kept out of training." if held_out.points else ""
    return [figure("Loss before RL", loss, note), figure("Speed before RL", speed)]


def constraint_figures(rows: Sequence[Json]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in _object(row, "constraints")))
    figures = []
    for name in names:
        points = thin(_points(rows, name, inside="constraints"), 80)
        smooth = smoothing(len(points))
        small = Frame(
            constraint_words(name), "", "", percent=True, smooth=smooth, width=232, height=112, right=8, left=36, top=6, bottom=20
        )
        drawn = line_chart([Line("passed", points, 0)], small)
        if drawn:
            caption = f'{esc(constraint_words(name))} <span class="muted">{percent(smoothed(points, smooth)[-1][1])}</span>'
            figures.append(f"<figure><figcaption>{caption}</figcaption>{drawn}</figure>")
    return "".join(figures)


def figure(title: str, drawn: str, note: str = "") -> str:
    if not drawn:
        return ""
    words = f'<p class="note">{esc(note)}</p>' if note else ""
    return f"<figure><figcaption>{esc(title)}</figcaption>{drawn}{words}</figure>"


def thin(points: Sequence[Point], most: int = MAX_POINTS) -> tuple[Point, ...]:
    """At most `most` points; each stands for equally many neighbours, at the last one's x, with their mean as its y."""
    if len(points) <= most:
        return tuple(points)
    size = -(-len(points) // most)
    groups = [points[i : i + size] for i in range(0, len(points), size)]
    return tuple((group[-1][0], sum(y for _, y in group) / len(group)) for group in groups)


def smoothing(points: int) -> int:
    return 1 if points < SMOOTH_FROM else max(3, points // 14) | 1


def rl_points(rows: Sequence[Json], key: str) -> tuple[Point, ...]:
    return thin(_points(rows, key))


def _stop_chart(rows: Sequence[Json], x_label: str) -> str:
    reasons = {name for row in rows for name in _object(row, "stop_reasons")}
    ordered = [name for name in STOP_COLOURS if name in reasons] + sorted(reasons - set(STOP_COLOURS))
    logged = [row for row in rows if _object(row, "stop_reasons")]
    lines = []
    for name in ordered:
        shares = [(number(row.get("step")), number(_object(row, "stop_reasons").get(name)) or 0.0) for row in logged]
        points = [(x, share) for x, share in shares if x is not None]
        lines.append(Line(plain(name), thin(points), STOP_COLOURS.get(name, 7)))
    return stacked_chart(lines, Frame("Why episodes stop", x_label, "share of episodes", percent=True))


def _reward_band(rows: Sequence[Json]) -> tuple[tuple[float, float, float], ...]:
    spread = dict(thin(_points(rows, "reward_std")))
    return tuple((x, y - spread[x], y + spread[x]) for x, y in thin(_points(rows, "reward_mean")) if x in spread)


def _step(row: Json) -> float | None:
    return number(row.get("step"))


def _points(rows: Sequence[Json], key: str, inside: str | None = None, at: Callable[[Json], float | None] = _step) -> tuple[Point, ...]:
    """(x, y) of the rows that hold a finite number."""
    found = []
    for row in rows:
        x = at(row)
        y = number((_object(row, inside) if inside else row).get(key))
        if x is not None and y is not None:
            found.append((x, y))
    return tuple(found)


def _minutes(row: Json) -> float | None:
    seconds = number(row.get("seconds"))
    return None if seconds is None else seconds / 60


def _object(row: Json, key: str) -> Json:
    value: Any = row.get(key)
    return value if isinstance(value, dict) else {}


def _note(rl: Sequence[Json], supervised: Sequence[Json]) -> str:
    words = []
    if rl:
        per_point = -(-len(rl) // MAX_POINTS)
        words.append(f"{plural(len(rl), 'logged RL step')}, on training queries and with sampling.")
        if smoothing(len(rl)) > 1:
            words.append(f"Thin lines: every {'step' if per_point == 1 else f'{per_point} steps'}.")
            words.append("Thick lines, and the figures at their ends: a running mean.")
    if supervised:
        words.append(f"{plural(len(supervised), 'logged step')} of supervised training before.")
    bad = sum(number(value) is None for row in (*rl, *supervised) for value in row.values() if isinstance(value, float))
    if bad:
        words.append(f"<strong>{plural(bad, 'logged value')} not finite (NaN or infinite) and not drawn.</strong>")
    words.append("Hover over a chart to read the values of one step.")
    return " ".join(words)
