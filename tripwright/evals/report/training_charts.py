"""Which charts of reinforcement learning there are, in groups: one table for a run's page, for the
live page and for several runs together.

Names and units of the figures: docs/training-metrics.md. A figure the run did not log has no line,
and a chart without lines is not drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

from tripwright.evals.report.charts import Frame, Series, line_chart, stacked_chart
from tripwright.evals.report.curves import at_step, figure, inner, points, smoothing, thin
from tripwright.evals.report.efficiency import against_flops
from tripwright.evals.report.folder import Json
from tripwright.evals.report.markup import esc, number, plain

STEP = "step"
# figure of a step → its name, its colour
RATES = {"pass_rate": ("pass", 0), "schema_rate": ("schema", 7)}
# figure of a step → the metric of score.json that is drawn beside it
HELD_OUT = {
    "pass_rate": "final",
    "turns_mean": "turns_mean",
    "completion_tokens_mean": "completion_tokens_mean",
}
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


@dataclass(frozen=True)
class Chart:
    """`keys`: (figure in a row of metrics.jsonl, its name, its colour)."""

    title: str
    unit: str
    keys: tuple[tuple[str, str, int], ...]
    note: str = ""
    share: bool = False


@dataclass(frozen=True)
class ChartGroup:
    title: str
    charts: tuple[Chart, ...]
    laboratory: bool = False  # what few readers ask for, behind a fold on the page of a run


REWARD = Chart(
    "Reward",
    "reward",
    (("reward_mean", "mean", 0),),
    "Shaded: one standard deviation over episodes.",
)
PARTS = Chart(  # its lines come from the rows
    "What the reward is made of",
    "share",
    (),
    "Micro: checks of a group passed; macro: episodes in which all of them passed.",
    share=True,
)
OWN = Chart(
    "What else the reward is made of",
    "reward",
    (),
    "Means over episodes: penalties, and whatever a function of yours names.",
)  # as PARTS
STOPS = Chart("Why episodes stop", "share of episodes", (), "Only an answer can pass.", share=True)
PASSES = Chart(
    "Passes, strict and official",
    "share of episodes",
    (("pass_rate", "rewarded", 0), ("official_pass_rate", "official", 1)),
    "Rewarded: under the rules that the reward is made of.",
    share=True,
)
GROUPS = (
    ChartGroup(
        "Reward and its parts",
        (
            REWARD,
            PARTS,
            OWN,
        ),
    ),
    ChartGroup(
        "Passes",
        (
            PASSES,
            Chart(
                "Official minus rewarded passes",
                "points of the share",
                (("strict_gap", "gap", 1),),
                "What only the official rules let through. A rising gap means that their holes are"
                " being learned.",
            ),
        ),
    ),
    ChartGroup(
        "Policy and update",
        (
            Chart(
                "Entropy",
                "nats per token",
                (("entropy", "mean", 0),),
                "A fall to zero means that the agent has stopped exploring.",
            ),
            Chart("KL to the reference", "nats per token", (("kl", "KL", 3),)),
            Chart("Clipped tokens", "share of tokens", (("clip_fraction", "clipped", 1),)),
            Chart("Gradient norm", "before clipping", (("grad_norm", "norm", 0),)),
            Chart(
                "Sampler against trainer",
                "nats per token",
                (("logprob_gap", "gap", 4),),
                "Mean difference of the two log-probabilities of the same token.",
            ),
            Chart(
                "Weights against the sampler's gap",
                "share of tokens",
                (
                    ("importance_effective_share", "effective", 2),
                    ("importance_capped_share", "truncated", 1),
                ),
                "Of the weights π trainer / π sampler. Effective: how many tokens they are worth.",
                share=True,
            ),
            Chart(
                "Value head",
                "explained variance",
                (("explained_variance", "of returns", 2),),
                "1: returns are foreseen. 0: no better than a mean.",
            ),
            Chart("Loss of imitation", "nats per token", (("loss", "loss", 0),)),
            Chart("Learning rate, RL", "per update", (("learning_rate", "rate", 0),)),
        ),
    ),
    ChartGroup(
        "Groups",
        (
            Chart(
                "Groups that teach",
                "share of groups",
                (
                    ("kept_groups", "kept", 2),
                    ("failed_groups", "all fail", 1),
                    ("solved_groups", "all pass", 0),
                    ("trained_groups", "trained on", 4),
                ),
                "Groups in which all rewards are equal have no gradient.",
                share=True,
            ),
            Chart("Stage of the curriculum", "stage", (("curriculum_stage", "stage", 4),)),
            Chart(
                "Replayed and unscored",
                "count per step",
                (
                    ("replayed", "groups replayed", 3),
                    ("replayed_solved", "of them solved", 0),
                    ("unscored", "episodes unscored", 1),
                ),
            ),
            Chart(
                "Turns not judged",
                "share of turns",
                (("turns_saved_share", "spared by the early stop", 2),),
                "Where the trajectory fails no turn is looked at (row D5).",
                share=True,
            ),
            Chart(
                "Sandbox",
                "calls since the start",
                (
                    ("sandbox_hits", "from the store", 0),
                    ("sandbox_missed", "not recorded", 1),
                    ("sandbox_live_calls", "asked live", 3),
                ),
            ),
        ),
    ),
    ChartGroup(
        "Lengths and calls",
        (
            Chart(
                "Turns per episode",
                "turns",
                (("turns_mean", "mean", 0), ("tool_calls_mean", "tool calls", 2)),
            ),
            Chart(
                "Length per episode",
                "tokens written by the agent",
                (("completion_tokens_mean", "mean", 0),),
            ),
            Chart(
                "Response length (Planner-R1, figure A.13)",
                "tokens in the context after the prompt",
                (("response_tokens_mean", "mean", 0), ("response_tokens_max", "longest", 1)),
                "Turns and tool answers together, at most as many as the context holds.",
            ),
            Chart(
                "Tokens that carry loss",
                "share of tokens",
                (("loss_mask_ratio", "share", 3),),
                share=True,
            ),
            Chart(
                "Tool calls",
                "share",
                (
                    ("tool_call_accuracy", "without error", 2),
                    ("malformed_turns", "malformed turns", 1),
                    ("verifier_success_rate", "answers judged", 4),
                ),
                "Errors made on purpose are not counted.",
                share=True,
            ),
        ),
    ),
    ChartGroup(
        "How episodes end, and how rewards spread",
        (
            STOPS,
            Chart(
                "Cut off by a limit of tokens",
                "share of episodes",
                (("stopped_by_length", "stopped", 1), ("context_cut", "context was full", 3)),
                "Where the dialect says so, the oldest exchanges leave a context that is full.",
                share=True,
            ),
            Chart(
                "Spread of rewards within groups",
                "variance, mean over prompts",
                (("dense_variance", "dense", 0), ("sparse_variance", "sparse", 1)),
                "Dense: all terms of the verdict. Sparse: the pass alone.",
            ),
        ),
        laboratory=True,
    ),
    ChartGroup(
        "Speed, memory, arithmetic",
        (
            Chart(
                "Time per step",
                "seconds",
                (("rollout_seconds", "rollouts", 0), ("update_seconds", "update", 1)),
            ),
            Chart("Speed", "tokens per second", (("tokens_per_second", "tokens/s", 0),)),
            Chart(
                "Tokens of rollouts",
                "tokens per step",
                (
                    ("prefilled_tokens", "read", 1),
                    ("decoded_tokens", "written", 0),
                    ("copied_tokens", "taken over", 2),
                ),
                "Taken over: another row had read them, and its cache was copied.",
            ),
            Chart("Memory", "MB, most so far", (("peak_memory_mb", "peak", 4),)),
            Chart(
                "Utilisation of the peak (MFU)",
                "share",
                (("mfu", "MFU", 2),),
                "Of parameter updates, as Planner-R1 counts it.",
            ),
            Chart(
                "Arithmetic so far",
                "FLOPs",
                (("flops_update_total", "updates", 1), ("flops_total", "with rollouts", 0)),
                "Since the start.",
            ),
        ),
        laboratory=True,
    ),
)


def group_sections(
    rows: Sequence[Json],
    held_out: Mapping[str, Series] | None = None,
    laboratory: bool = False,
    validated: Sequence[Json] = (),
) -> str:
    """The groups that have anything to show, each with a heading: the laboratory's, or all others.
    `held_out` stand beside the figures that they are named after; `validated`: `against_flops`."""
    sections = []
    for group in (each for each in GROUPS if each.laboratory == laboratory):
        figures = "".join(draw(chart, rows, held_out) for chart in group.charts)
        figures += against_flops(rows, validated) if group is GROUPS[-1] else ""
        if figures:
            sections.append(f'<h3>{esc(group.title)}</h3><div class="charts">{figures}</div>')
    return "".join(sections)


def keys_of(chart: Chart, rows: Iterable[Json]) -> tuple[tuple[str, str, int], ...]:
    names = dict.fromkeys(name for row in rows for name in row)
    if chart is OWN:
        itself = ("reward_mean", "reward_std", "reward_variance")
        own = [name for name in names if name.startswith("reward_") and name not in itself]
        return tuple(
            (name, name.removeprefix("reward_"), colour)
            for name, colour in zip(own, cycle(GROUP_COLOURS), strict=False)
        )
    return reward_parts(names) if chart is PARTS else chart.keys


def reward_parts(names: Iterable[str]) -> tuple[tuple[str, str, int], ...]:
    """Of these figures of steps, those that rewards are made of: passes, readable answers, and both
    rates of every group of facts."""
    unique = dict.fromkeys(names)
    groups = [name for name in unique if name.endswith(("_micro", "_macro"))]
    colours = zip(groups, cycle(GROUP_COLOURS), strict=False)
    return (
        *((name, words, colour) for name, (words, colour) in RATES.items() if name in unique),
        *((name, name.replace("_", " "), colour) for name, colour in colours),
    )


def draw(chart: Chart, rows: Sequence[Json], held_out: Mapping[str, Series] | None = None) -> str:
    """One chart of one run as a figure, or ""."""
    if chart is STOPS:
        return figure(chart.title, _stops(rows), chart.note)
    lines = [
        Series(
            name,
            thin(points(rows, key)),
            colour,
            band=_reward_band(rows) if key == "reward_mean" else (),
        )
        for key, name, colour in keys_of(chart, rows)
        if not _dull(rows, key)
    ]
    smooth = smoothing(max((len(line.points) for line in lines), default=0))
    beside = [
        held_out[key]
        for key, _, _ in (chart.keys if held_out else ())
        if held_out and key in held_out and held_out[key].points
    ]
    note = f"{chart.note} Dots: held-out requests, 95% intervals." if beside else chart.note
    return figure(
        chart.title,
        line_chart(
            [*lines, *beside],
            Frame(chart.title, STEP, chart.unit, percent=chart.share, smooth=smooth),
        ),
        note.strip(),
    )


def _dull(rows: Sequence[Json], key: str) -> bool:
    """Counts of what never happened and settings that never changed would only fill the page; the
    run card has the latter."""
    if key in ("learning_rate", "curriculum_stage"):
        return len({row.get(key) for row in rows}) == 1
    if key == "verifier_success_rate":
        return all(row.get(key, 1.0) == 1.0 for row in rows)
    return key in ("replayed", "replayed_solved", "unscored") and not any(
        number(row.get(key)) for row in rows
    )


def _stops(rows: Sequence[Json]) -> str:
    reasons = {name for row in rows for name in inner(row, "stop_reasons")}
    ordered = [name for name in STOP_COLOURS if name in reasons] + sorted(
        reasons - set(STOP_COLOURS)
    )
    logged = [row for row in rows if inner(row, "stop_reasons")]
    lines = []
    for name in ordered:
        shares = [
            (at_step(row), number(inner(row, "stop_reasons").get(name)) or 0.0) for row in logged
        ]
        lines.append(
            Series(
                plain(name),
                thin([(x, share) for x, share in shares if x is not None]),
                STOP_COLOURS.get(name, 7),
            )
        )
    return stacked_chart(lines, Frame(STOPS.title, STEP, STOPS.unit, percent=True))


def _reward_band(rows: Sequence[Json]) -> tuple[tuple[float, float, float], ...]:
    spread = dict(thin(points(rows, "reward_std")))
    return tuple(
        (x, y - spread[x], y + spread[x])
        for x, y in thin(points(rows, "reward_mean"))
        if x in spread
    )
