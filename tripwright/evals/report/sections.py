"""What a page shows of one run or of several, section by section: what was asked, results with
their intervals, what to do next, learning, costs, metrics (T4), constraints (T3), how the agent
worked, settings. The columns of its tables are the evaluations of one run, or the main ones of
several, so that one run is the case of one.

A change between two evaluations is only called a change by a test on the same queries; the reader
is told so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tripwright.domains import fact_title
from tripwright.errors import UserError
from tripwright.evals.comparison import compare_folders, refusal, run_names
from tripwright.evals.report import charts, evaluations, learning
from tripwright.evals.report.evaluations import (
    EvaluationColumn,
    columns_of,
    of_one_run,
    rates_table,
)
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
    Difference,
    estimate,
    number,
    of_words,
    plain,
    plural,
    shown,
    shown_interval,
)
from tripwright.evals.report.page import (
    Card,
    CardRow,
    Cell,
    Figure,
    Items,
    PageTable,
    Part,
    ReportPage,
    Section,
    Text,
    estimate_cell,
    row_of,
    sentence,
    under,
)
from tripwright.evals.report.viewer import Budget, Viewer
from tripwright.evals.run_card import ALIKE, TOLD, unlike
from tripwright.evals.scoreboard import judged_by, slice_order
from tripwright.runs import CARD, RECIPE

METRICS = (  # a pattern of its name, its title, what it is
    ("final", "Final pass", "every check passes"),
    ("delivery", "Delivery", "an answer was given"),
    ("schema", "Schema", "the answer can be read"),
    ("flip_rate", "Flip rate", "queries whose samples disagree"),
    ("dense_reward", "Dense reward", "all terms of the verdict, each with weight 1"),
    ("turns_mean", "Turns", "mean per episode"),
    ("completion_tokens_mean", "Tokens written", "by the agent, mean per episode"),
    ("(.*)_micro", "{}, micro", "checks passed"),
    ("(.*)_macro", "{}, macro", "answers with all checks passed"),
    (r"pass@(\d+)", "Pass@{}", "one of {} samples passes"),
    (r"pass\^(\d+)", "Pass^{}", "all of {} samples pass"),
    (r"best_of_(\d+)", "Best of {}", "checks that hold in the best of {} samples"),
    (r"worst_of_(\d+)", "Worst of {}", "checks that hold in the worst of {} samples"),
)
TABLES = {"metrics": "Metrics", "samples": "Several samples", "constraints": "Constraints"}
UNSCORED_WARNING = 0.01
CARD_SETTINGS = ("policy", *ALIKE, *TOLD)
Runs = Mapping[str, ReportedRun]


def page_of(
    folders: Sequence[Path], allow_unlike: bool = False, budget: Budget | None = None
) -> ReportPage:
    """The page about one run folder, or over several. Raises UserError for too many or unreadable
    ones, and for evaluations that are not alike, unless that is allowed; then the page says so."""
    learning.check_count(len(folders))
    runs = dict(zip(run_names(folders), map(read_run, folders), strict=True))
    every = Viewer(runs, budget or Budget())
    viewer = every if every.entries else None
    columns, episodes = columns_of(runs), [viewer.section] if viewer else []
    drawn = [
        learning_section(runs),
        cost_section(runs),
        learning.variance_section({name: run.rl for name, run in runs.items()}),
    ]
    settings, behaviour = settings_section(runs), evaluations.behaviour_section(columns)
    if len(runs) > 1:
        compared = compared_sections(runs, columns, allow_unlike)
        sections = [result_section(columns, {}), *compared, *drawn, behaviour, *episodes, settings]
        about = f"{plural(len(runs), 'run')} together"
        return ReportPage(" · ".join(runs), about, "", sections, keys=list(runs), viewer=viewer)
    ((name, run),) = runs.items()
    sections = [
        asked_section(run, viewer),
        result_section(columns, run.difficulty, evaluations.validation_columns(run)),
        next_section(run),
        warnings_section(run.warnings),
        *drawn,
        metrics_section(columns),
        constraints_section(columns),
        behaviour,
        evaluations.checkpoints_section(run),
        *episodes,
        settings,
    ]
    lacking = Items(list(dict.fromkeys(run.missing)), "plain")
    sections.append(Section("missing", "What this folder does not hold", [lacking], listed=False))
    recipe = run.card.get("recipe") or run.card.get("name")
    if isinstance(recipe, dict):
        recipe = recipe.get("name")
    return ReportPage(str(recipe or name), "run report", _subtitle(run), sections, viewer=viewer)


def _subtitle(run: ReportedRun) -> str:
    parts = []
    if run.card.get("seed") is not None:
        parts.append(f"seed {run.card['seed']}")
    if (seconds := learning.most(run.metrics, "seconds")) is not None:
        parts.append(f"{seconds / 60:.0f} minutes of training")
    policy, world = object_in(run.card, "policy"), object_in(run.card, "world")
    parts.append(" ".join(str(policy[key]) for key in ("kind", "model") if policy.get(key)))
    if world.get("name"):
        parts.append(f"world {world['name']}")
    if isinstance(run.card.get("machine"), str):
        parts.append(run.card["machine"])
    return " · ".join(filter(None, parts)) or str(run.path)


# ---- what was asked, and what to do next


def asked_section(run: ReportedRun, viewer: Viewer | None) -> Section:
    """What the main evaluation asked, with one trip that passes and one that fails."""
    final, examples = metric_of(run.score, "final"), viewer.examples if viewer else []
    which, rules = evaluation_words(str(run.main_evaluation))[0], str(run.score.get("rules") or "")
    of = final and final.n is not None and of_words(final)
    text = Text(sentence("asked", final, of, which, rules and judged_by(rules)))
    return Section("asked", "What was asked", [text, *examples] if final or examples else [])


def next_section(run: ReportedRun) -> Section:
    """What the files say should be looked at or run next."""
    steps = [sentence("read_warnings", len(run.warnings))] if run.warnings else []
    rates = {name: estimate(each) for name, each in object_in(run.score, "constraints").items()}
    failed = {
        name: rate.n - rate.k
        for name, rate in rates.items()
        if rate and rate.k is not None and rate.n is not None
    }
    if any(failed.values()):
        weakest = max(failed, key=lambda name: failed[name])
        steps.append(sentence("see_failures", fact_title(weakest), failed[weakest]))
    if not run.scores and run.recipe:
        steps.append(sentence("examine", run.path))
    best, last = number(run.best.get("step")), learning.most(run.rl or run.stage("sft"), "step")
    if best is not None and last is not None and best < last:
        steps.append(sentence("examine_best", best, run.path))
    return Section("next", "What to do next", [Items(steps)])


def warnings_section(warnings: Sequence[Json], of: str = "") -> Section:
    """What training warned of, with its advice, oldest first."""
    lines = (sentence("warned", each, number(each.get("until_step"))) for each in warnings)
    title = f"{of}: warnings during training" if of else "Warnings during training"
    return Section("warnings", title, [Text(each, "warning") for each in lines])


# ---- results


def result_section(
    columns: Sequence[EvaluationColumn],
    difficulty: Json,
    validation: Sequence[EvaluationColumn] = (),
) -> Section:
    """A card for each evaluation, and what scripts reach; what was not scored comes first."""
    parts: list[Part] = [_unscored_warning(each) for each in (*columns, *validation)]
    parts.append(CardRow([card for each in columns if (card := _card(each))]))
    bars, notes = final_bars(columns, difficulty)
    if len(bars) > 1:
        parts.append(Figure(charts.Bars("Final pass rate", bars), notes))
    if not any(parts):
        return Section("result", "Result", [])
    sections = (
        name for each in columns for name, slices in each.score.items() if _is_slices(slices)
    )
    for section in dict.fromkeys(sections):
        parts.append(under(f"Final pass by {section}", _slices_table(columns, difficulty, section)))
    return Section("result", "Result", parts)


def final_bars(
    columns: Iterable[EvaluationColumn], difficulty: Json
) -> tuple[list[charts.Bar], str]:
    """What scripts and the expert reach, then each evaluation; and what the scripts are."""
    bars, notes = [], []
    for name, record in difficulty.items():  # by the names that a domain gives its baselines
        if name != "levels" and (rate := estimate(record)):
            words, note = _script(name)
            bars.append(charts.Bar(words, rate, 2 if name == "expert" else 5))
            notes.append(f"{words}: {note}.")
    for each in columns:
        if rate := metric_of(each.score, "final"):
            bars.append(charts.Bar(each.title, rate, each.colour))
    return bars, " ".join(notes)


def _script(name: str) -> tuple[str, str]:
    """What a script that measures difficulty is called, and what it is."""
    return BASELINES.get(name, (plain(name).capitalize(), "script"))


def _card(column: EvaluationColumn) -> Card | None:
    score, final = column.score, metric_of(column.score, "final")
    if not final:
        return None
    rules = judged_by(str(score["rules"])) if score.get("rules") else ""
    lines = [
        ("muted", ", ".join(filter(None, (column.note, rules)))),
        ("big", shown(final)),
        ("interval", f"95% interval {shown_interval(final)}"),
        ("muted", f"{of_words(final)} pass"),
    ]
    met = object_in(score, "faults")
    hit, calls = number(met.get("hit")), number(met.get("calls"))
    if hit is not None and calls:  # made to fail, for a run that asked for it (row S9)
        of = f" ({kinds})" if (kinds := _counts(object_in(met, "kinds"))) else ""
        lines.append(("muted", f"{hit:,.0f} of {calls:,.0f} tool calls were made to fail{of}"))
    comparison = column.run.comparison
    compared = {
        "after_rl": comparison,
        "after_rl_with_faults": object_in(comparison, "with_faults"),
    }
    if change := Difference.of(compared.get(column.evaluation, {}).get("final"), True):
        if change.sure:
            told = ", ".join(filter(None, (f"{change.words} against SFT", change.p)))
            lines.append((f"change {'pass' if change.value > 0 else 'fail'}", told))
        else:  # a colour would call noise a gain
            told = ", ".join(filter(None, (change.words, change.p)))
            lines.append(("change muted", f"no sure change against SFT: {told}"))
    return Card(column.title, column.colour, lines)


def _counts(record: Json) -> str:
    """'max turns 4, answer 56'"""
    counts = [(plain(name), number(count)) for name, count in record.items()]
    return ", ".join(f"{name} {count:,.0f}" for name, count in counts if count)


def _unscored_warning(column: EvaluationColumn) -> Text:
    score, title, words = column.score, column.title, ""
    unscored, final = number(score.get("unscored")) or 0, metric_of(score, "final")
    if unscored and not final:
        words = sentence("nothing_scored", title, score.get("warning"))
    elif final and final.k is not None and final.n is not None:
        every = final.n + unscored
        if unscored > UNSCORED_WARNING * every:
            words = sentence("unscored", title, int(unscored), final.k / every, final)
    return Text(words, "warning")


def _is_slices(section: Any) -> bool:
    """{"easy": {"final": rate}, …}"""
    values = list(section.values()) if isinstance(section, dict) else []
    return bool(values) and all(isinstance(each, dict) and "final" in each for each in values)


def _slices_table(columns: Sequence[EvaluationColumn], difficulty: Json, section: str) -> PageTable:
    """Final pass by what requests are divided by, where that has several values or the scripts'
    rates: the scripts that measured difficulty, then each evaluation."""
    scripts = object_in(difficulty, section)
    found = {_script(name)[0]: object_in(scripts, name) for name in scripts}
    for each in columns:
        slices = object_in(each.score, section)
        found[each.title] = {value: object_in(slices, value).get("final") for value in slices}
    values = sorted({value for rates in found.values() for value in rates}, key=slice_order)
    rows = {
        value: {name: estimate(rates.get(value)) for name, rates in found.items()}
        for value in values
    }
    return rates_table(rows if len(values) > 1 or scripts else {})


# ---- metrics and constraints


def metric_words(name: str) -> tuple[str, str] | None:
    """Title and note of a metric; None for a name that is none."""
    for pattern, title, note in METRICS:
        if match := re.fullmatch(pattern, name):
            of = [plain(group) for group in match.groups()]
            return title.format(*(each.capitalize() for each in of)), note.format(*of)
    return None


def metrics_section(columns: Sequence[EvaluationColumn]) -> Section:
    """One row per metric, one column per evaluation, and the paired difference where a run compared
    two of its own."""
    scored = [each for each in columns if each.score]
    comparison = scored[0].run.comparison if of_one_run(scored) else {}
    rows = []
    for name in dict.fromkeys(n for each in scored for n in object_in(each.score, "metrics")):
        metrics = [metric_of(each.score, name) for each in scored]
        if not any(metrics):
            continue
        title, note = metric_words(name) or (plain(name).capitalize(), "")
        cells = [estimate_cell(metric) for metric in metrics]
        if comparison:
            share = any(metric.share for metric in metrics if metric)
            cells.append(_change_cell(Difference.of(comparison.get(name), share)))
        rows.append(row_of(title, note, cells))
    head = [Cell(css=""), *(Cell(each.title) for each in scored)]
    if comparison:
        head.append(Cell("RL − SFT, same queries"))
    note = sentence("metrics", bool(comparison), not of_one_run(scored))
    return Section("metrics", "Metrics", [PageTable(head, rows)], note)


def _change_cell(change: Difference | None, *small: str) -> Cell:
    if change is None:
        return Cell("–", css="num muted")
    words = Markup("<strong>{}</strong>").format(change.words) if change.sure else change.words
    return Cell(words, (" · ".join(filter(None, (change.interval, change.p))), *small))


def constraints_section(columns: Sequence[EvaluationColumn]) -> Section:
    checks = {each: found for each in columns if (found := object_in(each.score, "constraints"))}
    rows = {}
    for name in dict.fromkeys(name for found in checks.values() for name in found):
        rates = {each.title: estimate(found.get(name)) for each, found in checks.items()}
        if any(rates.values()):
            rows[fact_title(name)] = rates
    return Section("constraints", "Constraints", [rates_table(rows)], sentence("constraints"))


# ---- the queries that all runs played


def compared_sections(
    runs: Runs, columns: Sequence[EvaluationColumn], allow_unlike: bool
) -> list[Section]:
    """Of the main evaluations, query by query, from their transcripts; without those, what their
    cards say is compared, and their metrics stand side by side."""
    cards = {each.title: card for each in columns if (card := object_in(each.score, "run_card"))}
    differing = unlike(cards) if len(cards) > 1 else []
    if differing and not allow_unlike:
        raise UserError(refusal(differing))
    played = {
        each.title: [path.parent]
        for each in columns
        if (path := each.run.transcripts.get(each.evaluation))
    }
    without = [name for name in runs if name not in played]
    parts: list[Part] = [Text(sentence("not_played", without) if without else "", "note")]
    metrics = metrics_section(columns)
    if len(played) < 2:
        parts = [_unlike_warning(differing), *parts] if columns else []
    else:
        try:
            comparison = compare_folders(list(played.values()), allow_unlike, names=list(played))
            parts, metrics = [*_comparison_parts(comparison), *parts], Section("", "", [])
        except UserError as problem:
            if not allow_unlike:
                raise
            parts = [_unlike_warning(differing), Text(str(problem), "note"), *parts]
    return [Section("comparison", "Compared on the same queries", parts), metrics]


def _unlike_warning(differing: Sequence[str]) -> Text:
    return Text(sentence("unlike", differing) if differing else "", "warning")


def _comparison_parts(comparison: Json) -> list[Part]:
    """Metric × run with intervals and marks (T4's layout), every two runs tested, and which queries
    were gained and lost. The same record as `tripwright compare --json` prints."""
    names = [run["name"] for run in comparison["runs"]]
    lede, unlike = (
        sentence("compared", comparison, judged_by(comparison["rules"])),
        comparison["unlike"],
    )
    parts: list[Part] = [Text(lede), _unlike_warning(unlike)]
    parts += [Text(note, "note") for note in comparison["notes"]]
    if worst := comparison.get("worst_case"):
        parts.append(Text(sentence("worst_case", worst), "warning"))
    for table, rows in comparison["tables"].items():
        title = sentence("table_title", TABLES.get(table, f"Final pass by {table}"), unlike)
        parts.append(under(title, _comparison_table(rows, names)))
    title = sentence("table_title", "Final pass, every two runs", unlike)
    parts.append(under(title, _pairs_table(comparison["pairs"], names), note=sentence("pairs")))
    for each in comparison.get("seeds", {}).items():
        parts.append(Text(sentence("seeds", *each), "note"))
    return parts


def _comparison_table(rows: Mapping[str, Any], names: Sequence[str]) -> PageTable:
    """Each run's figure and, beneath it, its difference from the first run."""
    body = []
    for name, row in rows.items():
        cells = []
        for run in names:
            cell = estimate_cell(estimate(row["runs"][run]))
            if change := Difference.of(row["differences"].get(run)):
                text = cell.text
                if change.sure:
                    text = sentence("significant", text, change.value > 0)
                small = f"{change.words} [{change.interval}] · {change.p}"
                cell = cell._replace(text=text, small=(*cell.small, small))
            cells.append(cell)
        body.append(row_of(*(metric_words(name) or (fact_title(name), "")), cells))
    return PageTable([Cell(css=""), *map(Cell, names)], body)


def _pairs_table(pairs: Sequence[Json], names: Sequence[str]) -> PageTable:
    """Row − column, by the final pass rate."""
    cells = {}
    for pair in pairs:
        changed = f"{pair['gained']:,} gained, {pair['lost']:,} lost"
        cell = _change_cell(Difference.of(pair), changed)
        cells[pair["b"], pair["a"]] = cell._replace(hint=pair["test"])
    rows = [
        row_of(row, "", (cells.get((row, column), Cell()) for column in names[:-1]))
        for row in names[1:]
    ]
    return PageTable([Cell(css=""), *map(Cell, names[:-1])], rows)


# ---- learning, and what it cost


def learning_section(runs: Runs) -> Section:
    """All charts of the metrics. Beside those of one run stand what its evaluations found."""
    rl = {name: run.rl for name, run in runs.items()}
    supervised = {name: run.supervised for name, run in runs.items()}
    held_out = {}
    values = [value for run in runs.values() for row in run.metrics for value in row.values()]
    bad = sum(isinstance(value, float) and number(value) is None for value in values)
    notes: list[str] = [sentence("learning", bad)]
    if len(runs) == 1:
        (run,) = runs.values()
        notes.append(_best_words(run))
        held_out = {
            key: evaluations.validated(run, metric, "held out", 0)
            for key, metric in learning.HELD_OUT.items()
        }
    parts = learning_parts(rl, supervised, held_out)
    lede = [Text(note) for note in notes] if any(parts) else []
    return Section("learning", "Learning", [*lede, *parts])


def learning_parts(
    rl: Mapping[str, learning.Rows],
    supervised: Mapping[str, learning.Rows],
    held_out: Mapping[str, charts.Series],
) -> list[Part]:
    """The charts of steps, of one run or of several in each; what few readers ask for is folded."""
    parts: list[Part] = [*learning.training_parts(rl, held_out, laboratory=False)]
    if len(rl) == 1:
        parts += map(learning.failure_section, rl.values())
    before = [learning.supervised_figure(rows) for rows in supervised.values()]
    titles = [f"{name}: before RL" if len(rl) > 1 else "Before RL" for name in supervised]
    parts += [under(*each) for each in zip(titles, before, strict=True)]
    summary = "How episodes ended, speed, memory, arithmetic, variance of rewards"
    laboratory = learning.training_parts(rl, held_out, laboratory=True)
    return [*parts, Section("", summary, laboratory, fold=True)]


def _best_words(run: ReportedRun) -> str:
    """Which checkpoint validation kept, with its interval; its words name no difference."""
    rate, step = estimate(run.best), number(run.best.get("step"))
    if rate is None or step is None:
        return ""
    metric, model = plain(str(run.best.get("metric"))), run.best.get("model")
    return sentence("best", len(run.validation), metric, step, rate, model)


def cost_section(runs: Runs) -> Section:
    """Row P12's efficiency: what each run had spent when it first reached 90% of the best pass rate
    of all of them, on held-out requests where every run has those; and time a step (row S11)."""
    rl = {name: run.rl for name, run in runs.items()}
    held_out = {name: evaluations.validated_rows(run) for name, run in runs.items()}
    evaluated = all(held_out.values())
    counted = held_out if evaluated else rl
    level = learning.REACHED * max(
        (learning.best(rows) or 0.0 for rows in counted.values()), default=0.0
    )
    algorithms = {name: reinforcement(run.recipe)[0] for name, run in runs.items()}
    table = learning.cost_table(rl, counted, level, algorithms)
    parts = [table, *learning.cost_figures(counted, level)]
    note = sentence("cost", level, evaluated)
    return Section("cost", "What it cost to get there", parts if level else [], note)


# ---- settings


def settings_section(runs: Runs) -> Section:
    """Of one run its card, else that of its main evaluation. Of several what differs in their
    recipes; of runs that no training made, in those entries of their evaluations' cards that say
    how episodes were made."""
    if len(runs) == 1:
        ((_, run),) = runs.items()
        card = _settings(run.card or object_in(run.score, "run_card"))
        rows = [row_of(name, "", [Cell(value, css="")]) for name, value in card.items()]
        return Section("card", "Run card", [PageTable([], rows, "card-table")])
    source, settings = RECIPE, {name: _settings(run.recipe) for name, run in runs.items()}
    if sum(map(bool, settings.values())) < 2:
        source = CARD
        for name, run in runs.items():
            card = object_in(run.score, "run_card")
            settings[name] = _settings({key: card[key] for key in CARD_SETTINGS if key in card})
    known = list(filter(None, settings.values()))
    keys = dict.fromkeys(key for each in known for key in each)
    differing = [key for key in keys if len({each.get(key) for each in known}) > 1]
    rows = [
        row_of(key, "", (Cell(each.get(key, "–"), css="") for each in settings.values()))
        for key in differing
    ]
    without = ", ".join(name for name, each in settings.items() if not each)
    notes = [
        f"None: all settings of {source} are the same." if len(known) > 1 and not rows else "",
        f"No {source}: {without}." if without else "",
    ]
    head = [Cell(source, css=""), *(Cell(name, css="") for name in settings)]
    table = PageTable(head, rows if len(known) > 1 else [], "card-table")
    return Section("settings", "Settings that differ", [table, *(Text(n, "note") for n in notes)])


def _settings(value: Any, name: str = "") -> dict[str, str]:
    """Settings as a.b.c with their values in words."""
    if isinstance(value, dict) and value:
        within = (_settings(each, f"{name}.{key}".lstrip(".")) for key, each in value.items())
        return {key: words for each in within for key, words in each.items()}
    if isinstance(value, list):
        return {name: ", ".join(map(str, value))}
    words = f"{value:g}" if isinstance(value, float) else str(value)
    return {name: words} if name else {}
