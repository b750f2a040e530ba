"""One page over several runs: final figures with intervals, the same queries compared, what their
recipes differ in, what it cost to get there, curves together. And the body of the live page: where
each run stands, and the same charts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tripwright.domains import fact_title
from tripwright.errors import UserError
from tripwright.evals.comparison import changed_marks, compare_folders, refusal, run_names
from tripwright.evals.report import evaluations, learning, sections
from tripwright.evals.report.behaviour import Behaviour
from tripwright.evals.report.charts import Bar, Bars
from tripwright.evals.report.folder import (
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
    Card,
    CardRow,
    Cell,
    Figure,
    FigureRow,
    Fold,
    PageTable,
    Part,
    ReportPage,
    Section,
    Text,
    parts_html,
    titled,
)
from tripwright.evals.report.viewer import Budget, make_viewer
from tripwright.evals.run_card import ALIKE, TOLD, unlike
from tripwright.evals.scoreboard import judged_by
from tripwright.runs import CARD, RECIPE

FINAL = re.compile("final|delivery|.*_macro|.*_reward|turns_mean|completion_tokens_mean")
MOST_SETTINGS = 200
SAME = {RECIPE: "the recipes", CARD: "the run cards’ settings"}
CARD_SETTINGS = ("policy", *ALIKE, *TOLD)
TABLES = {
    "metrics": "Metrics",
    "samples": "Several samples of a query",
    "constraints": "Constraints",
}
UP, DOWN = "▲", "▼"
LISTED = 100  # queries gained, and as many lost, that the page names for each run


def compared_page(
    folders: Sequence[Path], allow_unlike: bool = False, budget: Budget | None = None
) -> ReportPage:
    """Raises UserError for fewer than two run folders, too many or unreadable ones, and for
    evaluations that are not alike, unless that is allowed; then the page says so."""
    if len(folders) < 2:
        raise UserError(
            f"A page over several runs needs at least two run folders, found {len(folders)}."
        )
    learning.check_count(len(folders))
    runs = dict(zip(run_names(folders), map(read_run, folders), strict=True))
    viewer = make_viewer(runs, budget or Budget())
    parts = [
        final_section(runs),
        compared_section(runs, allow_unlike),
        cost_section(runs),
        theorem_section(runs),
        settings_section(runs),
        curves_section(runs),
        behaviour_section(runs),
        *([viewer.section] if viewer else []),
    ]
    about = f"{plural(len(runs), 'run')} together"
    return ReportPage(" · ".join(runs), about, "", parts, keys=list(runs), viewer=viewer)


def final_section(runs: Mapping[str, ReportedRun]) -> Section:
    """The main evaluation of each run (after RL where there is one), with 95% intervals."""
    scored = {name: run for name, run in runs.items() if run.main_evaluation}
    names = [
        metric
        for metric in dict.fromkeys(
            name for run in scored.values() for name in object_in(run.score, "metrics")
        )
        if FINAL.fullmatch(metric) and any(metric_of(run.score, metric) for run in scored.values())
    ]
    rows = []
    for name, run in scored.items():
        about = evaluation_words(str(run.main_evaluation))[0]
        if isinstance(rules := run.score.get("rules"), str):
            about += f", {judged_by(rules)}"
        cells = (_final_cell(metric_of(run.score, metric)) for metric in names)
        rows.append([Cell(name, (about,), css=""), *cells])
    head = [Cell(css=""), *(Cell((sections.metric_words(m) or (plain(m),))[0]) for m in names)]
    bars = [
        Bar(name, final, place)
        for place, (name, run) in enumerate(runs.items())
        if (final := metric_of(run.score, "final"))
    ]
    note = (
        "95% intervals over trips. Runs that were examined on different trips or rules cannot be"
        " compared by them."
    )
    figures = FigureRow([Figure(Bars("Final pass rate", bars), css="wide")], "")
    parts = [Text(note), PageTable(head, rows), figures] if scored else []
    return Section("final", "Final figures", parts)


def _final_cell(figure: Estimate | None) -> Cell:
    if figure is None:
        return Cell("–")
    return Cell(shown(figure), (shown_interval(figure), of_words(figure)))


# ---- the queries that all of them played


def compared_section(runs: Mapping[str, ReportedRun], allow_unlike: bool) -> Section:
    """Of the main evaluations, query by query, from their transcripts; without those, only what
    their cards say is compared."""
    cards = {name: card for name, run in runs.items() if (card := object_in(run.score, "run_card"))}
    differing = unlike(cards) if len(cards) > 1 else []
    if differing and not allow_unlike:
        raise UserError(refusal(differing))
    played = {
        name: run.transcripts[run.main_evaluation].parent
        for name, run in runs.items()
        if run.main_evaluation in run.transcripts
    }
    title = "Compared on the same queries"
    without = ", ".join(name for name in runs if name not in played)
    words = f"No transcripts of an evaluation, so not compared query by query: {without}."
    note, warning = Text(words if without else "", "note"), _unlike_warning(differing)
    if len(played) < 2:
        parts = [warning, note] if any(run.scores for run in runs.values()) else []
        return Section("comparison", title, parts)
    try:
        folders = [[folder] for folder in played.values()]
        comparison = compare_folders(folders, allow_unlike, names=list(played))
    except UserError as problem:
        if not allow_unlike:
            raise
        parts = [warning, Text(str(problem), "note"), note]
        return Section("comparison", title, parts)
    return Section("comparison", title, [*comparison_parts(comparison), note])


def _unlike_warning(differing: Sequence[str]) -> Text:
    words = Markup("<strong>Not alike:</strong> {}.").format("; ".join(differing))
    return Text(words if differing else "", "warning")


def comparison_parts(comparison: Json) -> list[Part]:
    """Metric × run with intervals and marks (T4's layout), every two runs tested, and which queries
    were gained and lost. The same record as `tripwright compare --json` prints."""
    names = [run["name"] for run in comparison["runs"]]
    parts: list[Part] = [Text(_lede(comparison)), _unlike_warning(comparison["unlike"])]
    parts += [Text(note, "note") for note in comparison["notes"]]
    parts.append(_worst_case(comparison.get("worst_case")))
    mark = Markup(' <span class="fail">(not alike)</span>') if comparison["unlike"] else ""
    for table, rows in comparison["tables"].items():
        title = TABLES.get(table, f"Final pass by {table}")
        parts += titled(Markup("{}{}").format(title, mark), _comparison_table(rows, names))
    note = (
        "Row minus column in points, Holm’s p over this table, queries gained and lost. Bold:"
        " significant."
    )
    pairs = _pairs_table(comparison["pairs"], names)
    parts += titled(
        Markup("Final pass, every two runs{}").format(mark), [Text(note, "note"), pairs]
    )
    for name, seeds in comparison.get("seeds", {}).items():
        each = ", ".join(f"{100 * run['final']:.1f}% (seed {run['seed']})" for run in seeds["runs"])
        words = (
            f"{name}: {each}; mean {100 * seeds['mean']:.1f}%, standard deviation between seeds"
            f" {100 * seeds['deviation']:.1f} points. Intervals resample seeds and queries."
        )
        parts.append(Text(words, "note"))
    for name, changed in comparison["changed"].items():
        folds = [_changed_fold(kind, changed[kind]) for kind in ("gained", "lost")]
        parts += titled(f"{name} against {names[0]}: queries gained and lost", folds)
    return parts


def _lede(comparison: Json) -> str:
    left = f" {comparison['left_out']:,} that not all of them have are left out."
    return (
        f"{comparison['queries']:,} queries that all of them played,"
        f" {judged_by(comparison['rules'])}.{left if comparison['left_out'] else ''}"
        f"{' All plans were judged anew.' if comparison['rejudged'] else ''} Small figures: 95%"
        " intervals, each for itself alone, and p after Holm’s correction over the table."
        f" {UP} and {DOWN} mark a significant difference from {comparison['baseline']}: p < 0.05 on"
        " the same queries, after that correction. Intervals of two runs may overlap although their"
        " difference is certain."
    )


def _worst_case(worst: Json | None) -> Text:
    if not worst:
        return Text("")
    rates = ", ".join(f"{name} {100 * value:.1f}%" for name, value in worst["final"].items())
    ends = "; ".join(
        f"{name} {signed(100 * each['failed'], 1)} points, from {signed(100 * each['least'], 1)} to"
        f" {signed(100 * each['most'], 1)} whatever the unscored would have done"
        for name, each in worst["differences"].items()
    )
    words = (
        "<strong>More than 1% of a run is unscored</strong> because of faults on our side. Worst"
        " case, all of them failed: final pass {}. Differences: {}."
    )
    return Text(Markup(words).format(rates, ends), "warning")


def _comparison_table(rows: Mapping[str, Any], names: Sequence[str]) -> PageTable:
    """Each run's figure and, beneath it, its difference from the first run."""
    base, *others = names
    body = []
    for name, row in rows.items():
        words, note = sections.metric_words(name) or (fact_title(name), "")
        figure = row["runs"][base]
        cells = [Cell(_value(figure), (_interval(figure),))]
        for other in others:
            figure, difference = row["runs"][other], row["differences"][other]
            value: str = _value(figure)
            if difference.get("significant"):
                css, kind, sign = ("fail", "lower", DOWN)
                if difference["value"] > 0:
                    css, kind, sign = ("pass", "higher", UP)
                marked = '{} <span class="{}" title="significantly {}">{}</span>'
                value = Markup(marked).format(value, css, kind, sign)
            change = f"{_value(difference, True)} [{_interval(difference, True)}]{_p(difference)}"
            cells.append(Cell(value, (_interval(figure), change)))
        body.append([Cell(words, (note,), css=""), *cells])
    return PageTable([Cell(css=""), *map(Cell, names)], body)


def _value(figure: Json, is_difference: bool = False) -> str:
    if figure["kind"] == "mean":
        return signed(figure["value"], 2) if is_difference else f"{figure['value']:,.2f}"
    return signed(100 * figure["value"], 1) if is_difference else f"{100 * figure['value']:.1f}%"


def _interval(figure: Json, is_difference: bool = False) -> str:
    if figure["low"] is None:
        return ""
    low, high = (_value({**figure, "value": figure[end]}, is_difference) for end in ("low", "high"))
    if is_difference or figure["kind"] == "mean":
        return f"{low} to {high}"
    return f"{low.removesuffix('%')}–{high}"


def _p(difference: Json) -> str:
    """Holm's p; '≤' where the draws were too few to give a smaller one."""
    p = difference["p_holm"]
    if p < 0.001:
        return " · p\u00a0<\u00a00.001"
    return f" · p\u00a0{'≤' if difference['p_is_bound'] and p < 1 else '='}\u00a0{p:.2g}"


def _pairs_table(pairs: Sequence[Json], names: Sequence[str]) -> PageTable:
    """Row − column, by the final pass rate."""
    by_pair = {(pair["b"], pair["a"]): pair for pair in pairs}
    rows = [
        [Cell(row, css=""), *(_pair_cell(by_pair.get((row, column))) for column in names[:-1])]
        for row in names[1:]
    ]
    return PageTable([Cell(css=""), *map(Cell, names[:-1])], rows)


def _pair_cell(pair: Json | None) -> Cell:
    if pair is None:
        return Cell(css="")
    tag = "strong" if pair.get("significant") else "span"
    value = Markup(f"<{tag}>{{}}</{tag}>").format(_value(pair, True))
    changed = f"{pair['gained']:,} gained, {pair['lost']:,} lost"
    return Cell(value, (f"[{_interval(pair, True)}]{_p(pair)}", changed), hint=pair["test"])


def _changed_fold(kind: str, queries: Sequence[Json]) -> Fold:
    rows = []
    for query in queries[:LISTED]:
        before, after = ("/".join(map(str, query[side])) for side in ("before", "after"))
        kinds = ", ".join(changed_marks(query)) or "–"
        texts = (query["id"], before, after, kinds, query["text"])
        rows.append([Cell(str(text), css="") for text in texts])
    head = [Cell(name, css="") for name in ("query", "before", "after", "kind", "request")]
    left = len(queries) - LISTED
    more = f"{left:,} more; tripwright compare --json lists all." if left > 0 else ""
    more = more if queries else "None."
    return Fold(f"{len(queries):,} {kind}", [PageTable(head, rows), Text(more, "note")], "changed")


# ---- costs and settings


def cost_section(runs: Mapping[str, ReportedRun]) -> Section:
    """Row P12's efficiency: what each run had spent when it first reached 90% of the best pass rate
    of all of them."""
    rl = {name: run.rl for name, run in runs.items()}
    tops = {name: top for name, rows in rl.items() if (top := learning.best(rows)) is not None}
    level = learning.REACHED * max(tops.values(), default=0.0)
    table = []
    for name, top in tops.items():
        rows = rl[name]
        step, seconds, *flops = (
            learning.first_reached(rows, level, key)
            for key in ("step", "seconds", "flops_update_total", "flops_total")
        )
        figures = (
            step,
            None if seconds is None else round(seconds / 60, 1),
            *flops,
            float(len(rows)),
            *(learning.step_seconds(rows, key) for key in ("rollout_seconds", "update_seconds")),
            max((y for row in rows if (y := learning.at_minutes(row)) is not None), default=None),
            *(learning.most(rows, key) for key in ("device_hours_total", "flops_total")),
            learning.most(rows, "peak_memory_mb"),
        )
        cells = [percent(top), *("–" if value is None else short(value) for value in figures)]
        algorithm = reinforcement(runs[name].recipe)[0]
        table.append([Cell(name, (algorithm,), css=""), *map(Cell, cells)])
    head = (
        *("best pass rate", "step", "minutes", "FLOPs, updates", "FLOPs, with rollouts"),
        *("RL steps in all", "rollouts, s a step", "update, s a step", "minutes in all"),
        *("device hours of RL", "FLOPs in all", "peak memory, MB"),
    )
    note = (
        f"Where each run first reached {percent(level)}: 90% of the best pass rate of any run here."
        " Pass rates are the running mean during training, on its own trips, with sampling. A"
        " dash: never reached, or not logged."
    )
    examined = {name: evaluations.examined_passes(run) for name, run in runs.items()}
    figures_ = FigureRow(learning.frontier_figures(rl, examined))
    parts = [Text(note), PageTable([Cell(css=""), *map(Cell, head)], table), figures_]
    return Section("cost", "What it cost to get there", parts if level else [])


def theorem_section(runs: Mapping[str, ReportedRun]) -> Section:
    base, rows = learning.theorem_rows({name: run.rl for name, run in runs.items()})
    head = (
        "variance of its reward, first step",
        "bound on its time, by variance",
        f"steps to {learning.GAIN:.0%} more passes",
        "time",
    )
    note = (
        "Theorem 1: the time to a gain is at least a constant over the variance of the reward under"
        f" the policy as RL found it. Bound and time are shares of those of {base}, whose"
        " variance is the smallest. Corollary 1 says that a smaller bound leaves room for a faster"
        " start, not that there is one. One run each says little: compare several seeds."
    )
    parts = [Text(note), PageTable([Cell(css=""), *map(Cell, head)], rows)] if rows else []
    return Section("theory", "Variance and the start", parts)


def settings_section(runs: Mapping[str, ReportedRun]) -> Section:
    """By the recipes; of runs that no training made, by the run cards of their main evaluations:
    what says how the episodes were made, as when and on which machine is no setting."""
    source = RECIPE
    settings = {name: _settings(_one_rl(run.recipe)) for name, run in runs.items()}
    if sum(map(bool, settings.values())) < 2:
        source = CARD
        for name, run in runs.items():
            card = object_in(run.score, "run_card")
            settings[name] = _settings({key: card[key] for key in CARD_SETTINGS if key in card})
    recipes = list(filter(None, settings.values()))
    keys = dict.fromkeys(key for recipe in recipes for key in recipe)
    differing = [key for key in keys if len({recipe.get(key) for recipe in recipes}) > 1]
    without = ", ".join(name for name, recipe in settings.items() if not recipe)
    parts: list[Part] = []
    if len(recipes) > 1:
        rows = [
            [Cell(key, css=""), *(Cell(each.get(key, "–"), css="") for each in settings.values())]
            for key in differing[:MOST_SETTINGS]
        ]
        head = [Cell(source, css=""), *(Cell(name, css="") for name in settings)]
        more = len(differing) - MOST_SETTINGS
        parts = [
            Text("" if differing else f"None: {SAME[source]} are the same.", ""),
            PageTable(head, rows, "card-table"),
            Text(f"{more} more." if more > 0 else "", "note"),
        ]
    parts.append(Text(f"No {source}: {without}." if without else "", "note"))
    return Section("settings", "Settings that differ", parts)


def _one_rl(recipe: Json) -> Json:
    """The table of reinforcement learning under one name, so that what PPO and GRPO have in common
    is compared and not listed twice."""
    algorithm, settings = reinforcement(recipe)
    if not algorithm:
        return recipe
    others = {key: value for key, value in recipe.items() if key != algorithm}
    return others | {"rl": {"algorithm": algorithm, **settings}}


def _settings(value: Json) -> dict[str, str]:
    """Settings as a.b.c with their value as written in JSON."""
    return {name: _setting(each) for name, each in sections.leaves(value) if name}


def _setting(value: Any) -> str:
    leaf = number(value)
    return str(value) if leaf is None or isinstance(value, int) else f"{leaf:g}"


def curves_section(runs: Mapping[str, ReportedRun]) -> Section:
    curves = learning.overlay_parts({name: run.rl for name, run in runs.items()})
    note = "Thick lines: running means. Training trips, with sampling: every run on its own."
    return Section("curves", "Curves", [Text(note), *curves] if curves else [])


def behaviour_section(runs: Mapping[str, ReportedRun]) -> Section:
    """How the agent worked in the main evaluation of each run."""
    behaviours: dict[str, Behaviour] = {}
    for name, run in runs.items():
        main = run.main_evaluation
        if main in run.transcripts:
            found = evaluations.read_behaviours(run, [str(main)])
            behaviours |= dict(zip([name], found.values(), strict=False))
    titles = {name: name for name in behaviours}
    lede = "From the transcripts of each run's main evaluation."
    parts = evaluations.behaviour_parts(lede, behaviours, titles, {})
    return Section("behaviour", "Behaviour", parts)


# ---- the live page


@dataclass(frozen=True)
class LiveRun:
    """`facts`: (what, how much) in words, the first one shown large. `share_done` is None where the
    end is not known."""

    name: str
    facts: tuple[tuple[str, str], ...]
    share_done: float | None
    warnings: Sequence[Json]
    rl: Sequence[Json]
    supervised: Sequence[Json]


def live_page(names: Sequence[str]) -> ReportPage:
    """The page that a browser opens once; it asks for `live_body` every few seconds."""
    return ReportPage(" · ".join(names), "live", scripts=["live.js"], sealed=False)


def live_body(runs: Sequence[LiveRun]) -> str:
    """Where each run stands, its warnings, and the charts of the report, for one run or several in
    each chart."""
    several = len(runs) > 1
    parts: list[Part | Section] = [
        CardRow([_live_card(run, i, several) for i, run in enumerate(runs)])
    ]
    for run in runs:
        parts.append(sections.warnings_section(run.warnings, run.name if several else ""))
    if several:
        parts += learning.overlay_parts({run.name: run.rl for run in runs})
    for run in runs:
        if not several:
            parts += learning.group_parts(run.rl)
            parts += learning.group_parts(run.rl, laboratory=True)
            parts += titled("Each constraint", learning.constraint_figures(run.rl))
        before = FigureRow(learning.supervised_figures(run.supervised))
        parts += titled(f"{run.name}: before RL" if several else "Before RL", before)
    return parts_html(parts)


def _live_card(run: LiveRun, colour: int, keyed: bool) -> Card:
    (what, much), *others = run.facts or (("", "no steps yet"),)
    fact = Markup('<span class="muted">{}</span> {}')
    lines = [("big", much), ("muted", what), *(("", fact.format(*other)) for other in others)]
    return Card(run.name, colour if keyed else None, lines, run.share_done)
