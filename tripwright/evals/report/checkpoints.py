"""Evaluations as points of training: at which step the model of each was, and what then changes
from one to the next (rows P12, P14). Those made while it trained and those of the exam ask other
requests, so they are never in one curve."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tripwright.domains import fact_title
from tripwright.evals.report.analyses import by_area, top_failures
from tripwright.evals.report.charts import Frame, Point, Series, line_chart
from tripwright.evals.report.curves import figure
from tripwright.evals.report.folder import Json, ReportedRun
from tripwright.evals.report.grids import Grid, shaded_grid
from tripwright.evals.report.markup import Estimate, estimate, number
from tripwright.evals.report.mistakes import shares
from tripwright.evals.report.training_charts import STEP, reward_parts
from tripwright.evals.report.work import Behaviour

BEFORE_RL, AFTER_RL = "after_sft", "after_rl"
TOP = 3  # of each column
_STEP = re.compile(r"(?:^|[^a-z])step[-_ ]?(\d+)$")
# of `mistakes.shares`
_MISTAKES = {
    "overlong": "cut off",
    "unanswered": "no answer",
    "repeated": "repeated",
    "errors": "failed",
}
# the figures of a step that score.json calls otherwise
_METRIC_OF = {"pass_rate": "final", "schema_rate": "schema"}
_FIGURE_OF = {metric: name for name, metric in _METRIC_OF.items()}


def step_of(name: str, run: ReportedRun) -> float | None:
    """`…step-N` is step N; the cold start is step 0 and the trained agent the last step that was
    logged. None for other evaluations."""
    if match := _STEP.search(name):
        return float(match[1])
    logged = [step for row in run.rl if (step := number(row.get("step"))) is not None]
    if not logged:
        return None
    return {BEFORE_RL: 0.0, AFTER_RL: max(logged)}.get(name)


def checkpoints(names: Iterable[str], run: ReportedRun) -> dict[str, float]:
    """Evaluation → step of those that have one, in order of steps; {} where there are fewer than
    two."""
    steps = {name: step for name in names if (step := step_of(name, run)) is not None}
    return (
        dict(sorted(steps.items(), key=lambda item: item[1]))
        if len(set(steps.values())) > 1
        else {}
    )


def examined_passes(run: ReportedRun) -> list[Point]:
    """(step, final pass rate) of each checkpoint with a score."""
    scores = run.validation or run.scores
    rates = ((step_of(name, run), _metric(score, "final")) for name, score in scores.items())
    return sorted((step, rate.value) for step, rate in rates if step and rate)


def validated(run: ReportedRun, metric: str, name: str, colour: int) -> Series:
    """A metric of the evaluations while it trained, with its 95% intervals."""
    rates = [
        (step, rate)
        for evaluation, score in run.validation.items()
        if (rate := _metric(score, metric)) and (step := step_of(evaluation, run)) is not None
    ]
    return Series(
        name,
        tuple((step, rate.value) for step, rate in rates),
        colour,
        band=_intervals(rates),
        dots=True,
    )


def _intervals(rates: Iterable[tuple[float, Estimate]]) -> tuple[tuple[float, float, float], ...]:
    """Of those that have one."""
    return tuple(
        (step, rate.low, rate.high)
        for step, rate in rates
        if rate.low is not None and rate.high is not None
    )


def validated_rows(run: ReportedRun) -> list[Json]:
    """The logged steps of RL after which it was evaluated, with the passes of the evaluation in
    place of the rollouts'."""
    if not run.rl:
        return []
    passes = dict(validated(run, "final", "", 0).points)
    before = {"step": 0, "flops_update_total": 0.0, "flops_total": 0.0}
    start = [{**before, "pass_rate": passes[0]}] if 0 in passes else []
    logged = (row for row in run.rl if row["step"] in passes)
    return [*start, *({**row, "pass_rate": passes[row["step"]]} for row in logged)]


def _metric(score: Json, name: str) -> Estimate | None:
    return estimate((score.get("metrics") or {}).get(name))


def failing(behaviour: Behaviour) -> dict[str, tuple[float, int]]:
    """Constraint → (share of the episodes held to it that fail it, how many those are). What was
    not evaluated counts as failed."""
    held: dict[str, int] = {}
    failed: dict[str, int] = {}
    for work in behaviour.scored:
        for name in work.asked:
            held[name] = held.get(name, 0) + 1
            failed[name] = failed.get(name, 0) + (name in work.failed)
    return {name: (failed[name] / n, n) for name, n in held.items()}


def failure_figures(
    behaviours: Mapping[str, Behaviour], titles: Mapping[str, str], steps: Mapping[str, float]
) -> str:
    """The share of episodes that fail each constraint, evaluation by evaluation, and over steps for
    those that `steps` holds."""
    failures = {name: failing(behaviour) for name, behaviour in behaviours.items()}
    names = dict.fromkeys(name for shares in failures.values() for name in shares)
    curves_figure = ""
    if steps:
        curves = {
            c: tuple((x, failures[name][c][0]) for name, x in steps.items() if c in failures[name])
            for c in names
        }
        title = "What fails most, examined checkpoints"
        curves_figure = figure(
            title,
            top_failures(by_area({c: curve for c, curve in curves.items() if curve}), title, STEP),
        )
    order = sorted(
        names, key=lambda c: -sum(shares[c][0] for shares in failures.values() if c in shares)
    )
    cells = {
        (fact_title(c), titles[name]): shares[c][0]
        for name, shares in failures.items()
        for c in order
        if c in shares
    }
    strong = {pair for name in failures for pair in _top(cells, titles[name])}
    hover = {
        (
            fact_title(c),
            titles[name],
        ): f"{titles[name]}: {fact_title(c)} fails in {share:.1%} of {n:,} episodes"
        for name, shares in failures.items()
        for c, (share, n) in shares.items()
    }
    title = "What fails, by evaluation"
    grid = Grid(title, "constraint", "evaluation", "episodes held to it", colour=1)
    table = shaded_grid(
        [fact_title(c) for c in order],
        [titles[name] for name in failures],
        cells,
        grid,
        strong,
        hover,
    )
    note = "In percent of the episodes held to it. Bold: the three commonest of each evaluation. "
    note += "What was not judged (no plan, or behind a gate) counts as failed."
    return curves_figure + figure(title, table, note)


def _top(cells: Mapping[tuple[str, str], float], column: str) -> list[tuple[str, str]]:
    """The three largest of a column, fewer where the third is no larger than the fourth."""
    there = sorted(
        ((share, pair) for pair, share in cells.items() if pair[1] == column and share > 0),
        reverse=True,
    )
    beyond = there[TOP][0] if len(there) > TOP else 0.0
    return [pair for share, pair in there[:TOP] if share > beyond]


def sub_reward_figure(run: ReportedRun, scores: Mapping[str, Json]) -> str:
    """Schema, micro and macro rates and passes of checkpoints over steps, from their score.json."""
    steps = checkpoints(scores, run)
    parts = reward_parts(
        _FIGURE_OF.get(name, name)
        for score in scores.values()
        for name in score.get("metrics") or ()
    )
    lines = [
        Series(words, _rates(scores, steps, _METRIC_OF.get(key, key)), colour)
        for key, words, colour in parts
    ]
    title = "What the reward is made of, examined checkpoints"
    return figure(
        title,
        line_chart(lines, Frame(title, STEP, "share", percent=True)),
        "On held-out requests, from score.json.",
    )


def mistake_figures(
    run: ReportedRun, behaviours: Mapping[str, Behaviour], steps: Mapping[str, float]
) -> str:
    """How long the answers of each checkpoint are and how many are cut off (Planner-R1,
    Appendix I), repeat themselves or end without an answer, with 95% intervals."""
    if not steps:
        return ""
    by_step = {step: shares(behaviours[name]) for name, step in steps.items()}
    lines = []
    for colour, (key, words) in enumerate(_MISTAKES.items()):
        rates = [(step, each[key]) for step, each in by_step.items() if key in each]
        curve = tuple((step, rate.value) for step, rate in rates)
        lines.append(Series(words, curve, colour, _intervals(rates)))
    title, length = "Mistakes, examined checkpoints", "Length, examined checkpoints"
    tokens = replace(validated(run, "completion_tokens_mean", "tokens written", 0), dots=False)
    return figure(
        length, line_chart([tokens], Frame(length, STEP, "tokens written per episode"))
    ) + figure(
        title,
        line_chart(lines, Frame(title, STEP, "share", percent=True)),
        "Cut off and without an answer: of episodes. Repeated and failed: of calls.",
    )


def _rates(
    scores: Mapping[str, Json], steps: Mapping[str, float], metric: str
) -> tuple[Point, ...]:
    rates = ((step, _metric(scores[name], metric)) for name, step in steps.items())
    return tuple((step, rate.value) for step, rate in rates if rate)
