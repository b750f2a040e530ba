"""What a page about a run shows, section by section: what was asked, results with their intervals,
what to do next, learning, metrics (T4), constraints (T3), how the agent works, the run card.

A change between two evaluations is only called a change by its paired interval from
comparison.json; the reader is told so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tripwright.domains import fact_title
from tripwright.errors import UserError
from tripwright.evals.report import charts, evaluations, learning
from tripwright.evals.report.folder import (
    BASELINES,
    Json,
    ReportedRun,
    evaluation_words,
    metric_of,
    object_in,
    read_run,
    reinforcement,
)
from tripwright.evals.report.markup import (
    Estimate,
    estimate,
    number,
    of_words,
    percent,
    plain,
    plural,
    short,
    shown,
    shown_interval,
    signed,
)
from tripwright.evals.report.page import (
    SCALE,
    Card,
    CardRow,
    Cell,
    Figure,
    FigureRow,
    Fold,
    Items,
    PageTable,
    Part,
    ReportPage,
    Section,
    Text,
    estimate_cell,
    titled,
)
from tripwright.evals.report.viewer import Budget, Viewer, make_viewer
from tripwright.evals.scoreboard import judged_by, slice_order

METRICS = {
    "final": ("Final pass", "every check passes"),
    "delivery": ("Delivery", "an answer was given"),
    "schema": ("Schema", "the answer can be read"),
    "flip_rate": ("Flip rate", "queries whose samples disagree"),
    "dense_reward": ("Dense reward", "all terms of the verdict, each with weight 1"),
    "turns_mean": ("Turns", "mean per episode"),
    "completion_tokens_mean": ("Tokens written", "by the agent, mean per episode"),
}
# of a group of a verdict
GROUP_WORDS = {"_micro": "checks passed", "_macro": "answers with all checks passed"}
SAMPLE_WORDS = {
    "pass@": "one of {k} samples passes",
    "pass^": "all of {k} samples pass",
    "best_of_": "checks that hold in the best of {k} samples",
    "worst_of_": "checks that hold in the worst of {k} samples",
}
UNSCORED_WARNING = 0.01
NOT_MEASURED = "not measured"


def run_page(run: ReportedRun, budget: Budget) -> ReportPage:
    viewer = make_viewer({run.path.resolve().name: run}, budget)
    sections = [
        asked_section(run, viewer),
        result_section(run),
        next_section(run),
        warnings_section(run.warnings),
        learning_section(run),
        metrics_section(run),
        constraints_section(run),
        evaluations.behaviour_section(run),
        evaluations.checkpoints_section(run),
        *([viewer.section] if viewer else []),
        card_section(run),
    ]
    words = [Items(list(dict.fromkeys(run.missing)), "plain")]
    sections.append(Section("missing", "What this folder does not hold", words, listed=False))
    recipe = run.card.get("recipe") or run.card.get("name")
    if isinstance(recipe, dict):
        recipe = recipe.get("name")
    title = str(recipe or run.path.resolve().name)
    return ReportPage(title, "run report", _subtitle(run), sections, viewer=viewer)


def _subtitle(run: ReportedRun) -> str:
    parts = []
    if run.card.get("seed") is not None:
        parts.append(f"seed {run.card['seed']}")
    seconds = [second for row in run.metrics if (second := number(row.get("seconds"))) is not None]
    if seconds:
        parts.append(f"{max(seconds) / 60:.0f} minutes of training")
    if tokens := _training_tokens(run):
        parts.append(f"{short(tokens)} tokens")
    policy, world = object_in(run.card, "policy"), object_in(run.card, "world")
    if isinstance(run.card.get("policy"), dict):
        parts.append(" ".join(str(policy[key]) for key in ("kind", "model") if policy.get(key)))
    if world.get("name"):
        parts.append(f"world {world['name']}")
    if isinstance(run.card.get("machine"), str):
        parts.append(run.card["machine"])
    return " · ".join(parts) or str(run.path)


def _training_tokens(run: ReportedRun) -> float:
    """The supervised stages log how many tokens they have seen so far; RL logs those of each
    step."""

    def logged(stage: str) -> list[float]:
        found = (number(row.get("tokens")) for row in run.stage(stage))
        return [tokens for tokens in found if tokens is not None]

    supervised = (max(logged(stage), default=0.0) for stage in ("copy_pretraining", "sft"))
    return sum(logged("rl")) + sum(supervised)


# ---- what was asked, and what to do next


def asked_section(run: ReportedRun, viewer: Viewer | None) -> Section:
    """What the main evaluation asked, with one trip that passes and one that fails."""
    final = metric_of(run.score, "final")
    examples = viewer.examples if viewer else []
    words = (
        "Each request is a traveller's, in words. The agent calls tools, reads their rows and"
        " answers; the judge holds the answer against the world that the tools showed."
    )
    if final and final.n is not None:
        which, rules = evaluation_words(str(run.main_evaluation))[0], run.score.get("rules")
        by = f" ({judged_by(str(rules))})" if rules else ""
        words += f" {which}: {of_words(final)} requests are answered by what passes{by}."
    parts = [Text(words), *examples] if final or examples else []
    return Section("asked", "What was asked", parts)


def next_section(run: ReportedRun) -> Section:
    """What the files say should be looked at or run next."""
    steps = []
    if run.warnings:
        words = 'Read <a href="#warnings">{} of the training</a>, each with its advice.'
        steps.append(Markup(words).format(plural(len(run.warnings), "warning")))
    failed = {
        name: rate.n - rate.k
        for name, record in object_in(run.score, "constraints").items()
        if (rate := estimate(record)) and rate.k is not None and rate.n is not None
    }
    if (
        weakest := max(failed, key=lambda name: failed[name], default="")
        if any(failed.values())
        else ""
    ):
        words = (
            "See what fails most: <strong>{}</strong>, in {}. The filter “Fails at” of the"
            ' <a href="#episodes">episodes</a> lists those that break it.'
        )
        steps.append(Markup(words).format(fact_title(weakest), plural(failed[weakest], "answer")))
    if not run.scores and run.recipe:
        words = "Examine it on requests of its own: <code>tripwright examine {}</code>."
        steps.append(Markup(words).format(run.path))
    rows = run.rl or run.stage("sft")
    best, logged = number(run.best.get("step")), [number(row.get("step")) or 0 for row in rows]
    if best is not None and logged and best < max(logged):
        words = (
            "The best evaluation while it trained was at step {:.0f}, not at the end:"
            " <code>tripwright examine {} --step best</code>."
        )
        steps.append(Markup(words).format(best, run.path))
    return Section("next", "What to do next", [Items(steps)])


def warnings_section(warnings: Sequence[Json], of: str = "") -> Section:
    """What training warned of, with its advice, oldest first."""
    lines = []
    for warning in warnings:
        where = f"{warning.get('stage', '')} step {warning.get('since_step', '')}"
        until = number(warning.get("until_step"))
        where += f" to {until:.0f}" if until is not None else ""
        line = Markup("<strong>{}: {}.</strong> {}")
        told = line.format(where, warning.get("what", ""), warning.get("advice", ""))
        lines.append(Text(told, "warning"))
    title = "Warnings during training"
    return Section("warnings", f"{of}: {title[0].lower()}{title[1:]}" if of else title, lines)


# ---- results


def result_section(run: ReportedRun) -> Section:
    parts: list[Part] = [
        _unscored_warning(name, score) for name, score in {**run.scores, **run.validation}.items()
    ]
    parts.append(CardRow([card for name in run.scores if (card := _card(run, name))]))
    bars = baseline_bars(run)
    shown_at_all = any(parts) or bars
    if len(bars) > 1:
        caption = "Final pass rate on the test queries"
        parts.append(
            FigureRow(
                [Figure(charts.Bars("Final pass rate", bars), caption=caption, css="wide")], ""
            )
        )
    for section in dict.fromkeys(
        name
        for score in run.scores.values()
        for name, slices in score.items()
        if _is_slices(slices)
    ):
        parts += titled(f"Final pass by {section}", _slices_table(run, section))
    parts.append(_stops(run))
    title = "What improved" if run.comparison else "Result"
    return Section("result", title, parts if shown_at_all else [])


def baseline_bars(run: ReportedRun) -> list[charts.Bar]:
    """Scripted baselines, then the agent at each evaluation, then what the expert reaches."""
    bars = []
    for name in run.difficulty:  # by the names that a domain gives its baselines
        rate = estimate(run.difficulty.get(name)) if name not in ("levels", "expert") else None
        if rate:
            words, note = BASELINES.get(name, (plain(name).capitalize(), "script"))
            bars.append(charts.Bar(words, rate, 5, note))
    for name, score in run.scores.items():
        if rate := metric_of(score, "final"):
            words, note, colour = evaluation_words(name)
            bars.append(charts.Bar(words, rate, colour, note))
    words, note = BASELINES["expert"]
    expert = estimate(run.difficulty.get("expert"))
    return [*bars, charts.Bar(words, expert, 2, note)] if expert else bars


def _card(run: ReportedRun, name: str) -> Card | None:
    score = run.scores[name]
    final = metric_of(score, "final")
    if not final:
        return None
    words, note, colour = evaluation_words(name)
    rules = f" · {judged_by(str(score['rules']))}" if score.get("rules") else ""
    lines = [
        ("muted", note),
        ("big", shown(final)),
        ("interval", f"95% interval {shown_interval(final)}"),
        ("muted", f"{of_words(final)} pass{rules}"),
    ]
    met = object_in(score, "faults")
    hit, calls = number(met.get("hit")), number(met.get("calls"))
    if hit is not None and calls:  # made to fail, for a run that asked for it (row S9)
        counts = [(plain(kind), number(hits)) for kind, hits in object_in(met, "kinds").items()]
        kinds = ", ".join(f"{kind} {count:,.0f}" for kind, count in counts if count)
        of = f" ({kinds})" if kinds else ""
        lines.append(("muted", f"{hit:,.0f} of {calls:,.0f} tool calls were made to fail{of}"))
    failing = object_in(run.comparison, "with_faults")
    record = {"after_rl": run.comparison, "after_rl_with_faults": failing}.get(name, {}).get(
        "final"
    )
    if change := estimate(record):
        points, p = f"{signed(100 * change.value, 1)} points", _p_words(record)
        told = ", ".join(filter(None, (f"{points} against SFT", p)))
        if _is_sure(change):
            lines.append((f"change {'pass' if change.value > 0 else 'fail'}", told))
        else:  # a colour would call noise a gain
            told = ", ".join(filter(None, (points, p)))
            lines.append(("change muted", f"no sure change against SFT: {told}"))
    return Card(words, colour, lines)


def _is_sure(change: Estimate) -> bool:
    """Its paired interval leaves out zero."""
    if change.low is None or change.high is None:
        return False
    return change.low > 0 or change.high < 0


def _p_words(record: Any) -> str:
    p = number(record.get("p")) if isinstance(record, dict) else None
    if p is None:
        return ""
    return f"p\u00a0=\u00a0{p:.2g}" if p >= 0.001 else "p < 0.001"


def _unscored_warning(name: str, score: Json) -> Text:
    unscored, final = number(score.get("unscored")) or 0, metric_of(score, "final")
    title = evaluation_words(name)[0]
    told = ""
    if unscored and not final:
        reason = score.get("warning") or "Every one met a fault on our side."
        told = Markup("<strong>{}: nothing was scored.</strong> {}").format(title, reason)
    elif final and final.k is not None and final.n is not None:
        every = final.n + unscored
        if unscored > UNSCORED_WARNING * every:
            told = Markup(
                "<strong>{}: {} unscored</strong> because of faults on our side. Worst case, all of"
                " them failed: final pass {} instead of {}."
            ).format(
                title, plural(int(unscored), "episode"), percent(final.k / every), shown(final)
            )
    return Text(told, "warning")


def _is_slices(section: Any) -> bool:
    """{"easy": {"final": rate}, …}"""
    return (
        isinstance(section, dict)
        and bool(section)
        and all(isinstance(each, dict) and "final" in each for each in section.values())
    )


def _slices_table(run: ReportedRun, section: str) -> PageTable:
    """Final pass by what requests are divided by, where that has several values or the scripts'
    rates: a column for each evaluation, with the scripts at its sides as in the bars."""
    columns = {
        evaluation_words(name)[0]: (rates, "final")
        for name, score in run.scores.items()
        if (rates := object_in(score, section))
    }
    scripts = object_in(run.difficulty, section)
    values = sorted({value for rates, _ in columns.values() for value in rates}, key=slice_order)
    baselines = {
        BASELINES[name][0]: (scripts, name)
        for name in BASELINES
        if any(_level_rate(scripts, value, name) for value in values)
    }
    if len(values) < 2 and not baselines:
        return PageTable([], [])
    expert = BASELINES["expert"][0]
    above = {expert: baselines.pop(expert)} if expert in baselines else {}
    columns = baselines | columns | above
    rows = []
    for value in values:
        found = (_level_rate(levels, value, name) for levels, name in columns.values())
        rows.append([Cell(value, css=""), *(estimate_cell(rate, NOT_MEASURED) for rate in found)])
    return PageTable([Cell(css=""), *map(Cell, columns)], rows)


def _level_rate(levels: Json, level: str, name: str) -> Estimate | None:
    """{level: rate}, {level: {name: rate}} or {name: {level: rate}}: whichever way round it was
    written."""
    record = object_in(levels, level)
    if name == "final" and "value" in record:
        return estimate(record)
    return estimate(record.get(name)) or estimate(object_in(levels, name).get(level))


def _stops(run: ReportedRun) -> Fold:
    """Why the episodes of each evaluation ended."""
    lines = []
    for name, score in run.scores.items():
        reasons = object_in(score, "stop_reasons").items()
        counts = [(plain(reason), number(count)) for reason, count in reasons]
        if words := ", ".join(f"{reason} {count:,.0f}" for reason, count in counts if count):
            lines.append(f"{evaluation_words(name)[0]}: {words}")
    return Fold("How episodes ended", [Items(lines)])


# ---- metrics and constraints


def metric_words(name: str) -> tuple[str, str] | None:
    """Title and note of a metric; None for a name that is none."""
    if name in METRICS:
        return METRICS[name]
    for end, note in GROUP_WORDS.items():
        if name.endswith(end):
            return f"{plain(name.removesuffix(end)).capitalize()}, {end[1:]}", note
    for start, words in SAMPLE_WORDS.items():
        if name.startswith(start) and (k := name.removeprefix(start)).isdigit():
            return plain(name).capitalize(), words.format(k=k)
    return None


def metrics_section(run: ReportedRun) -> Section:
    """One row per metric, one column per evaluation, and the paired difference where the run
    compared two of them."""
    scores = run.scores.values()
    rows = []
    for name in dict.fromkeys(name for score in scores for name in object_in(score, "metrics")):
        metrics = [metric_of(score, name) for score in scores]
        if not any(metrics):
            continue
        title, note = metric_words(name) or (plain(name).capitalize(), "")
        cells = [estimate_cell(metric, NOT_MEASURED) for metric in metrics]
        if run.comparison:
            share = any(metric.share for metric in metrics if metric)
            cells.append(_difference_cell(run.comparison.get(name), share))
        rows.append([Cell(title, (note,), css=""), *cells])
    head = [Cell(css=""), *(Cell(evaluation_words(name)[0]) for name in run.scores)]
    lede = "Small figures: 95% intervals. "
    if run.comparison:
        head.append(Cell("RL − SFT, same queries"))
        lede += (
            "Intervals of two columns may overlap although the difference is certain: only the last"
            " column compares query by query (bold: its interval leaves out zero)."
        )
    return Section("metrics", "Metrics", [Text(lede), PageTable(head, rows)] if rows else [])


def _difference_cell(record: Any, share: bool) -> Cell:
    difference = estimate(record)
    if not difference:
        return Cell("–", css="num muted")
    scale, decimals, unit = (100, 1, " pp") if share else (1, 2, "")
    ends = [signed(scale * end, decimals) for end in difference[1:3] if end is not None]
    tag = "strong" if _is_sure(difference) else "span"
    value = f"{signed(scale * difference.value, decimals)}{unit}"
    figure = Markup(f"<{tag}>{{}}</{tag}>").format(value)
    interval = " to ".join(ends) if len(ends) == 2 else ""
    p = _p_words(record)
    return Cell(figure, (f"{interval} · {p}" if p else interval,))


def constraints_section(run: ReportedRun) -> Section:
    checks = {
        name: found
        for name, score in run.scores.items()
        if (found := object_in(score, "constraints"))
    }
    rows = []
    for name in dict.fromkeys(name for found in checks.values() for name in found):
        rates = {evaluation: estimate(found.get(name)) for evaluation, found in checks.items()}
        if any(rates.values()):
            marks = []
            for evaluation, rate in rates.items():
                words, _, colour = evaluation_words(evaluation)
                marks += [charts.Bar(words, rate, colour)] if rate else []
            cells = [estimate_cell(rate, NOT_MEASURED) for rate in rates.values()]
            rows.append(
                [Cell(fact_title(name), css=""), Cell(css="stripcell", marks=marks), *cells]
            )
    key = Markup(" ").join(
        Markup('<span class="key"><i class="s{}"></i>{}</span>').format(colour, words)
        for words, _, colour in map(evaluation_words, checks)
    )
    lede = (
        "Share of the answers that passed each check, of those it applies to. Lines: 95% intervals."
    )
    head = [Cell(css=""), Cell(SCALE, css="stripcell")]
    head += [Cell(evaluation_words(name)[0]) for name in checks]
    parts = [Text(Markup("{} {}").format(lede, key)), PageTable(head, rows)] if rows else []
    return Section("constraints", "Constraints", parts)


# ---- learning


def learning_section(run: ReportedRun) -> Section:
    """All charts of one run."""
    rl = run.rl
    held_out = {
        key: evaluations.validated(run, metric, "held out", 0)
        for key, metric in learning.HELD_OUT.items()
    }
    groups, before = (
        learning.group_parts(rl, held_out),
        FigureRow(learning.supervised_figures(run.supervised)),
    )
    if not groups and not before:
        return Section("learning", "Learning", [])
    parts = [
        Text(_learning_note(rl, run.supervised)),
        Text(_best_words(run)),
        *groups,
        *titled("What fails", FigureRow(learning.failure_figures(rl))),
        *titled("Each constraint during RL", learning.constraint_figures(rl)),
        *titled("Before RL" if rl else "Imitation", before),
        _laboratory(run, rl),
    ]
    return Section("learning", "Learning", parts)


def _laboratory(run: ReportedRun, rl: Sequence[Json]) -> Fold:
    """What few readers ask for: arithmetic, time, the lemma, how episodes ended."""
    validation = evaluations.validated_rows(run)
    findings = (
        learning.efficiency_words(validation, "on held-out requests")
        or learning.efficiency_words(rl),
        learning.time_words(rl, reinforcement(run.recipe)[0]),
        learning.lemma_words(rl),
    )
    groups = learning.group_parts(rl, laboratory=True, validated=validation)
    summary = "How episodes ended, speed, memory, arithmetic, variance of rewards"
    return Fold(summary, [*map(Text, findings), *groups])


def _best_words(run: ReportedRun) -> str:
    """Which checkpoint validation kept, with its interval; its words name no difference."""
    rate, step = estimate(run.best), number(run.best.get("step"))
    if rate is None or step is None:
        return ""
    return (
        f"Best of {plural(len(run.validation), 'evaluation')} while it trained, by"
        f" {plain(str(run.best.get('metric')))}: step {short(step)}, {shown(rate)}"
        f" ({shown_interval(rate)}; {run.best.get('model')}). The highest of several figures is"
        " flattered by chance: examine it on other requests (tripwright examine RUN --step best)."
    )


_WANTED = {  # figures that rows P12 to P14 ask for
    "constraints": "what fails",
    "schema_rate": "parts of the reward",
    "strict_gap": "the gap of official and strict passes",
    "completion_tokens_mean": "length",
    "stopped_by_length": "episodes cut off",
    "flops_update_total": "arithmetic",
    "peak_memory_mb": "memory",
}


def _learning_note(rl: Sequence[Json], supervised: Sequence[Json]) -> str:
    words = []
    if rl:
        words.append(f"{plural(len(rl), 'logged RL step')}, on training queries and with sampling.")
        if learning.smoothing(len(rl)) > 1:
            per_point = -(-len(rl) // learning.MAX_POINTS)
            words.append(f"Thin lines: every {'step' if per_point == 1 else f'{per_point} steps'}.")
            words.append("Thick lines, and the figures at their ends: a running mean.")
            words.append("Single steps jump: their requests are few, and often of one world.")
    if supervised:
        before = " before" if rl else ""
        words.append(f"{plural(len(supervised), 'logged step')} of supervised training{before}.")
    values = (value for row in (*rl, *supervised) for value in row.values())
    if bad := sum(isinstance(value, float) and number(value) is None for value in values):
        told = "<strong>{} not finite (NaN or infinite) and not drawn.</strong>"
        words.append(Markup(told).format(plural(bad, "logged value")))
    words.append("Hover over a chart to read the values of one step.")
    absent = [each for key, each in _WANTED.items() if not any(key in row for row in rl)]
    if rl and absent:
        words.append(f"Not in this run's metrics.jsonl, so not drawn: {', '.join(absent)}.")
    return Markup(" ").join(words)


# ---- the run card


def card_section(run: ReportedRun) -> Section:
    """The run card, nested fields written as a.b.c; without one, the card inside the main
    evaluation's score."""
    card = run.card or object_in(run.score, "run_card")
    rows = []
    for name, value in leaves(card) if card else ():
        words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        if isinstance(value, float) and number(value) is not None:
            words = f"{value:.4g}"
        rows.append([Cell(name, css=""), Cell(words, css="")])
    return Section("card", "Run card", [PageTable([], rows, "card-table")])


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name, value


# ---- the README's picture


def learning_curve_svg(run_folder: str | Path) -> str:
    """A run in one glance, as an SVG file that stands alone. Left, what RL learns step by step;
    right, the final pass rate before and after, with 95% intervals and baselines."""
    run = read_run(Path(run_folder))
    rows = run.rl
    parts = next(
        row for group in learning.chart_groups() for row in group.charts if row.of == "parts"
    )
    lines = [learning.curve(rows, *key) for key in learning.chart_keys(parts, rows)]
    drawn = learning.chart("Learning curves", "share", lines, "RL step", percent=True, height=270)
    panels = [
        ("During RL (training queries, sampled)", drawn),
        ("Final pass rate, 95% intervals", charts.Bars("Final pass rate", baseline_bars(run))),
    ]
    if not any(panel for _, panel in panels):
        raise UserError(
            f"No charts.picture of '{run.path}': it has neither RL steps to draw (two or more in"
            " metrics.jsonl) nor a final pass rate in eval/*/score.json."
        )
    label = "Learning curves and final pass rates"
    return charts.picture(label, [(title, panel) for title, panel in panels if panel], columns=2)
