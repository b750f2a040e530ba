"""The learning section of a run's page: what went wrong, the curves of `training_charts`, what
`analyses` finds, the supervised stages."""

from __future__ import annotations

from collections.abc import Sequence

from tripwright.evals.report.analyses import failure_figures, lemma_words
from tripwright.evals.report.checkpoints import validated, validated_rows
from tripwright.evals.report.curves import (
    MAX_POINTS,
    constraint_figures,
    smoothing,
    supervised_figures,
)
from tripwright.evals.report.efficiency import efficiency_words, time_words
from tripwright.evals.report.folder import Json, ReportedRun, reinforcement
from tripwright.evals.report.markup import (
    esc,
    estimate,
    number,
    plain,
    plural,
    short,
    shown,
    shown_interval,
)
from tripwright.evals.report.training_charts import (
    HELD_OUT,
    group_sections,
)


def learning_section(run: ReportedRun) -> str:
    """All charts of one run as figures, or "" where nothing was logged."""
    supervised, rl = run.stage("copy_pretraining", "sft"), run.rl
    held_out = {key: validated(run, metric, "held out", 0) for key, metric in HELD_OUT.items()}
    groups = group_sections(rl, held_out)
    before = "".join(supervised_figures(supervised))
    if not groups and not before:
        return ""
    parts = [groups]
    if failures := failure_figures(rl):
        parts.append(f'<h3>What fails</h3><div class="charts">{failures}</div>')
    if small := constraint_figures(rl):
        parts.append(f'<h3>Each constraint during RL</h3><div class="smalls">{small}</div>')
    if before:
        heading = "Before RL" if rl else "Imitation"
        parts.append(f'<h3>{heading}</h3><div class="charts">{before}</div>')
    parts = [_lede(_note(rl, supervised)), _lede(_best_words(run)), *parts, _laboratory(run, rl)]
    return f'<section id="learning"><h2>Learning</h2>{"".join(parts)}</section>'


def _laboratory(run: ReportedRun, rl: Sequence[Json]) -> str:
    """What few readers ask for, behind a fold: arithmetic, time, the lemma, how episodes ended."""
    validation = validated_rows(run)
    findings = (
        efficiency_words(validation, "on held-out requests") or efficiency_words(rl),
        time_words(rl, reinforcement(run.recipe)[0]),
        lemma_words(rl),
    )
    words, charts = (
        "".join(map(_lede, findings)),
        group_sections(rl, laboratory=True, validated=validation),
    )
    if not words and not charts:
        return ""
    summary = "How episodes ended, speed, memory, arithmetic, variance of rewards"
    return f'<details class="fold"><summary>{summary}</summary>{words}{charts}</details>'


def _lede(words: str) -> str:
    return f'<p class="lede">{words}</p>' if words else ""


def _best_words(run: ReportedRun) -> str:
    """Which checkpoint validation kept, with its interval; its words name no difference."""
    rate, step = estimate(run.best), number(run.best.get("step"))
    if rate is None or step is None:
        return ""
    metric = esc(plain(str(run.best.get("metric"))))
    return (
        f"Best of {plural(len(run.validation), 'evaluation')} while it trained, by {metric}: step"
        f" {short(step)}, {shown(rate)} ({esc(shown_interval(rate))};"
        f" {esc(run.best.get('model'))}). The highest of several figures is flattered by chance:"
        " examine it on other requests (tripwright examine RUN --step best)."
    )


def warnings_section(warnings: Sequence[Json]) -> str:
    """What training warned of, with its advice, oldest first; "" where it warned of nothing."""
    lines = []
    for warning in warnings:
        where = f"{warning.get('stage', '')} step {warning.get('since_step', '')}"
        until = number(warning.get("until_step"))
        where += f" to {until:.0f}" if until is not None else ""
        what, advice = esc(warning.get("what", "")), esc(warning.get("advice", ""))
        lines.append(f'<p class="warning"><strong>{esc(where)}: {what}.</strong> {advice}</p>')
    if not lines:
        return ""
    return f'<section id="warnings"><h2>Warnings during training</h2>{"".join(lines)}</section>'


_WANTED = {
    "constraints": "what fails",
    "schema_rate": "parts of the reward",
    "strict_gap": "the gap of official and strict passes",
    "completion_tokens_mean": "length",
    "stopped_by_length": "episodes cut off",
    "flops_update_total": "arithmetic",
    "peak_memory_mb": "memory",
}


def _not_logged(rl: Sequence[Json]) -> str:
    """Of the figures that rows P12 to P14 ask for, those that these steps do not hold."""
    absent = [words for key, words in _WANTED.items() if not any(key in row for row in rl)]
    return f"Not in this run's metrics.jsonl, so not drawn: {', '.join(absent)}." if absent else ""


def _note(rl: Sequence[Json], supervised: Sequence[Json]) -> str:
    words = []
    if rl:
        per_point = -(-len(rl) // MAX_POINTS)
        words.append(f"{plural(len(rl), 'logged RL step')}, on training queries and with sampling.")
        if smoothing(len(rl)) > 1:
            words.append(f"Thin lines: every {'step' if per_point == 1 else f'{per_point} steps'}.")
            words.append("Thick lines, and the figures at their ends: a running mean.")
            words.append("Single steps jump: their requests are few, and often of one world.")
    if supervised:
        before = " before" if rl else ""
        words.append(f"{plural(len(supervised), 'logged step')} of supervised training{before}.")
    bad = sum(
        number(value) is None
        for row in (*rl, *supervised)
        for value in row.values()
        if isinstance(value, float)
    )
    if bad:
        words.append(
            f"<strong>{plural(bad, 'logged value')} not finite (NaN or infinite) and not"
            " drawn.</strong>"
        )
    words.append("Hover over a chart to read the values of one step.")
    if rl and (absent := _not_logged(rl)):
        words.append(absent)
    return " ".join(words)
