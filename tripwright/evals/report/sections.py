"""What a page shows of one run or of several, section by section: what was asked, results with
their intervals, what to do next, learning, costs, metrics (T4), constraints (T3), how the agent
worked, settings. The columns of its tables are the evaluations of one run, or the main ones of
several, so that one run is the case of one.

A change between two evaluations is only called a change by a test on the same queries; the reader
is told so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from tripwright.domains import fact_title
from tripwright.errors import UserError, counted
from tripwright.evals.comparison import UnreadableRun, compare_folders, refusal, run_names
from tripwright.evals.report import learning
from tripwright.evals.report.behaviour import behaviour_section, checkpoints_section
from tripwright.evals.report.folder import (
    BASELINES,
    Evaluation,
    Json,
    ReportedRun,
    Work,
    columns_of,
    metric_of,
    of_one_run,
)
from tripwright.evals.report.markup import (
    Difference,
    estimate,
    number,
    of_words,
    plain,
    shown,
    shown_interval,
)
from tripwright.evals.report.page import (
    Card,
    CardRow,
    Cell,
    Items,
    PageTable,
    Part,
    ReportPage,
    Section,
    Text,
    cell_of,
    sentence,
    under,
)
from tripwright.evals.report.viewer import NO_ANSWER, Viewer, budget_of
from tripwright.evals.run_card import ALIKE, TOLD, unlike
from tripwright.evals.scoreboard import judged_by, slice_order
from tripwright.runs import CARD, RECIPE, object_in
from tripwright.verdict import MOST_UNSCORED

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
CARD_SETTINGS = ("policy", *ALIKE, *TOLD)
Runs = Mapping[str, ReportedRun]


def report_page(
    folders: Sequence[Path],
    transcripts: str | None = None,
    allow_unlike: bool = False,
    peak_flops: float | None = None,
) -> ReportPage:
    """The page about one run folder, or over several. `transcripts` is how many episodes it holds
    the text of: a number, "all", or None for as many as fit in 25 MB. `peak_flops`, of one GPU in
    FLOP/s: FLOPs of updates are reckoned from MFU (`ReportedRun.flops_from_mfu`). Raises UserError
    for too many or unreadable folders, and for evaluations that are not alike, unless that is
    allowed; then the page says so."""
    learning.check_count(len(folders))
    runs = dict(zip(run_names(folders), map(ReportedRun, folders), strict=True))
    if peak_flops is not None:
        for run in runs.values():
            run.flops_from_mfu(peak_flops)
    every = Viewer(runs, *budget_of(transcripts))
    viewer = every if every.entries else None
    columns, episodes = columns_of(runs), [viewer.section] if viewer else []
    drawn = [
        learning.learning_section(runs),
        learning.cost_section(runs),
        learning.variance_section({name: run.rl for name, run in runs.items()}),
    ]
    settings, behaviour = settings_section(runs), behaviour_section(columns)
    if len(runs) > 1:
        compared = compared_sections(runs, columns, allow_unlike)
        sections = [result_section(columns, {}), *compared, *drawn, behaviour, *episodes, settings]
        unreadable = [f"{name}: {words}" for name, run in runs.items() for words in run.unreadable]
        lacking = Items(unreadable, "plain")
        sections.append(Section("missing", "What cannot be read", [lacking], listed=False))
        about = f"{counted(len(runs), 'run')} together"
        return ReportPage(" · ".join(runs), about, "", sections, keys=list(runs), viewer=viewer)
    ((name, run),) = runs.items()
    sections = [
        asked_section(run, viewer),
        result_section(columns, run.difficulty, run.validation),
        next_section(run),
        warnings_section(run.warnings),
        *drawn,
        metrics_section(columns),
        constraints_section(columns),
        behaviour,
        checkpoints_section(run),
        *episodes,
        settings,
    ]
    lacking = Items(list(dict.fromkeys([*run.missing, *run.unreadable])), "plain")
    sections.append(Section("missing", "What this folder does not hold", [lacking], listed=False))
    recipe = run.card.get("recipe") or run.card.get("name")
    if isinstance(recipe, dict):
        recipe = recipe.get("name")
    return ReportPage(str(recipe or name), "run report", _subtitle(run), sections, viewer=viewer)


def _subtitle(run: ReportedRun) -> str:
    seed, seconds = run.card.get("seed"), learning.most(run.metrics, "seconds")
    policy, world = object_in(run.card, "policy"), object_in(run.card, "world").get("name")
    parts = (
        None if seed is None else f"seed {seed}",
        None if seconds is None else f"{seconds / 60:.0f} minutes of training",
        " ".join(str(policy[key]) for key in ("kind", "model") if policy.get(key)),
        world and f"world {world}",
        run.card.get("machine"),
    )
    return " · ".join(part for part in parts if part and isinstance(part, str)) or str(run.path)


# ---- what was asked, and what to do next


def asked_section(run: ReportedRun, viewer: Viewer | None) -> Section:
    """What the main evaluation asked, with one trip that passes and one that fails."""
    final, examples = metric_of(run.score, "final"), viewer.examples if viewer else []
    which, rules = run.main.title if run.main else "", str(run.score.get("rules") or "")
    of = final and final.n is not None and of_words(final)
    text = Text(sentence("asked", final, of, which, rules and judged_by(rules)))
    return Section("asked", "What was asked", [text, *examples] if final or examples else [])


def next_section(run: ReportedRun) -> Section:
    """What the files say should be looked at or run next."""
    steps = [sentence("read_warnings", len(run.warnings))] if run.warnings else []
    played = run.main.scored if run.main else ()
    causes = Counter(_cause(work) for work in played if not work.final)
    if causes:
        steps.append(sentence("see_failures", *causes.most_common(1)[0], causes.total()))
    if not run.main and run.recipe:
        steps.append(sentence("examine", run.path))
    best, last = number(run.best.get("step")), learning.most(run.rl or run.stage("sft"), "step")
    if best is not None and last is not None and best < last:
        steps.append(sentence("examine_best", best, run.path))
    return Section("next", "What to do next", [Items(steps)])


def _cause(work: Work) -> str:
    """What an episode fails at first: later facts follow from it, or were not looked at."""
    if work.delivered and work.failed:
        return fact_title(work.failed[0])
    return f"{NO_ANSWER} ({'it cannot be read' if work.answered else plain(work.stop_reason)})"


def warnings_section(warnings: Sequence[Json], of: str = "") -> Section:
    """What training warned of, with its advice, oldest first."""
    lines = (sentence("warned", each, number(each.get("until_step"))) for each in warnings)
    title = f"{of}: warnings during training" if of else "Warnings during training"
    return Section("warnings", title, [Text(each, "warning") for each in lines])


# ---- results


def result_section(
    columns: Sequence[Evaluation],
    difficulty: Json,
    validation: Sequence[Evaluation] = (),
) -> Section:
    """What was not scored comes first, then a card for each evaluation, and the final pass rates in
    one table."""
    warned = (_unscored_warning(each) for each in (*columns, *validation))
    cards = CardRow([card for each in columns if (card := _card(each))])
    return Section("result", "Result", [*warned, cards, final_table(columns, difficulty)])


def _card(column: Evaluation) -> Card | None:
    score, final = column.score, metric_of(column.score, "final")
    if not final:
        return None
    comparison = column.run.comparison
    compared = {
        "after_rl": comparison,
        "after_rl_with_faults": object_in(comparison, "with_faults"),
    }
    change = Difference.of(compared.get(column.name, {}).get("final"))
    rules = judged_by(str(score["rules"])) if score.get("rules") else ""
    lines = [
        ("muted", ", ".join(filter(None, (column.note, rules)))),
        ("big", shown(final)),
        ("", sentence("interval_bar", final.ends)),
        ("interval", f"95% interval {shown_interval(final)}"),
        ("muted", f"{of_words(final)} pass"),
        # made to fail, for a run that asked for it (row S9)
        ("muted", sentence("faults_met", object_in(score, "faults"))),
    ]
    if change:  # a colour would call noise a gain
        look = "muted" if not change.sure else "pass" if change.value > 0 else "fail"
        lines.append((f"change {look}", sentence("change", change)))
    return Card(column.title, column.colour, lines)


def _unscored_warning(column: Evaluation) -> Text:
    score, final = column.score, metric_of(column.score, "final")
    unscored = int(number(score.get("unscored")) or 0)
    share = unscored / (final.n + unscored) if final and final.n else 1.0
    words = sentence("unscored", column.title, unscored, share, final, score.get("warning"))
    return Text(words if unscored and share > MOST_UNSCORED else "", "warning")


def final_table(columns: Sequence[Evaluation], difficulty: Json) -> PageTable:
    """The final pass rate of all requests, and of those that are alike in what requests are divided
    by: what the scripts and the expert reach that measured difficulty, then each evaluation."""
    sections = (
        name for each in columns for name, slices in each.score.items() if _is_slices(slices)
    )
    scripts = [name for name, record in difficulty.items() if estimate(record)]
    rates = {name: estimate(difficulty[name]) for name in scripts}
    rates |= {each.title: metric_of(each.score, "final") for each in columns}
    rows = [("all", "", rates)]
    for section in dict.fromkeys(sections):
        found = {name: object_in(object_in(difficulty, section), name) for name in scripts}
        for each in columns:
            slices = object_in(each.score, section)
            found[each.title] = {value: object_in(slices, value).get("final") for value in slices}
        values = sorted({value for of in found.values() for value in of}, key=slice_order)
        rows += [
            (value, f"by {section}", {name: estimate(of.get(value)) for name, of in found.items()})
            for value in values
            if len(values) > 1 or section in difficulty
        ]
    # by the names that a domain gives its baselines
    named = [BASELINES.get(name, (plain(name).capitalize(), "script")) for name in scripts]
    head = [Cell(words, (note,)) for words, note in named] + [Cell(each.title) for each in columns]
    more = len(head) > 1 or len(rows) > 1
    return PageTable.of(
        head, ((name, by, each.values()) for name, by, each in rows if more), "Final pass"
    )


def _is_slices(section: Any) -> bool:
    """{"easy": {"final": rate}, …}"""
    values = list(section.values()) if isinstance(section, dict) else []
    return bool(values) and all(isinstance(each, dict) and "final" in each for each in values)


# ---- metrics and constraints


def metric_words(name: str) -> tuple[str, str] | None:
    """Title and note of a metric; None for an unknown name."""
    for pattern, title, note in METRICS:
        if match := re.fullmatch(pattern, name):
            of = [plain(group) for group in match.groups()]
            return title.format(*(each.capitalize() for each in of)), note.format(*of)
    return None


def metrics_section(columns: Sequence[Evaluation]) -> Section:
    """One row per metric, one column per evaluation and per answer without a thought, and the
    paired difference where a run compared two of its own."""
    scored = [each for each in columns if each.score]
    run = scored[0].run if of_one_run(scored) else None
    comparison, floor = (run.comparison, run.floor) if run else ({}, [])
    rows = []
    for name in dict.fromkeys(n for each in scored for n in object_in(each.score, "metrics")):
        metrics = [metric_of(each.score, name) for each in (*scored, *floor)]
        if not any(metrics):
            continue
        title, note = metric_words(name) or (plain(name).capitalize(), "")
        changes = [_change_cell(Difference.of(comparison.get(name)))] if comparison else []
        rows.append((title, note, [*metrics, *changes]))
    head = [each.title for each in (*scored, *floor)]
    head += ["RL − SFT, same queries"] * bool(comparison)
    note = sentence("metrics", bool(comparison), not of_one_run(scored))
    return Section("metrics", "Metrics", [PageTable.of(head, rows)], note)


def _change_cell(change: Difference | None, *small: str) -> Cell | None:
    if change is None:
        return None
    words = Markup("<strong>{}</strong>").format(change.words) if change.sure else change.words
    return Cell(words, (" · ".join(filter(None, (change.interval, change.p))), *small))


def constraints_section(columns: Sequence[Evaluation]) -> Section:
    checks = {each: found for each in columns if (found := object_in(each.score, "constraints"))}
    rows = {}
    for name in dict.fromkeys(name for found in checks.values() for name in found):
        rates = {each.title: estimate(found.get(name)) for each, found in checks.items()}
        if any(rates.values()):
            rows[fact_title(name)] = rates
    return Section(
        "constraints", "Constraints", [PageTable.of_rates(rows)], sentence("constraints")
    )


# ---- the queries that all runs played


def compared_sections(
    runs: Runs, columns: Sequence[Evaluation], allow_unlike: bool
) -> list[Section]:
    """Of the main evaluations, query by query, from their transcripts; without those, what their
    cards say is compared, and their metrics stand side by side."""
    cards = {each.title: card for each in columns if (card := object_in(each.score, "run_card"))}
    differing = unlike(cards) if len(cards) > 1 else []
    if differing and not allow_unlike:
        raise UserError(refusal(differing))
    played = {each.title: [each.folder] for each in columns if each.transcripts}
    without = [name for name in runs if name not in played]
    parts: list[Part] = [Text(sentence("not_played", without) if without else "", "note")]
    metrics = metrics_section(columns)
    if len(played) < 2:
        parts = [_unlike_warning(differing), *parts] if columns else []
    else:
        try:
            comparison = compare_folders(list(played.values()), allow_unlike, names=list(played))
            for each in () if comparison["unlike"] else columns[0].run.floor:
                for name, row in comparison["tables"]["metrics"].items():
                    row["runs"][each.title] = object_in(each.score, "metrics").get(name)
            parts, metrics = [*_comparison_parts(comparison), *parts], Section("", "", [])
        except UserError as problem:
            if not (allow_unlike or isinstance(problem, UnreadableRun)):
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
        parts.append(under(title, _comparison_table(rows)))
    title = sentence("table_title", "Final pass, every two runs", unlike)
    parts.append(under(title, _pairs_table(comparison["pairs"], names), note=sentence("pairs")))
    for each in comparison.get("seeds", {}).items():
        parts.append(Text(sentence("seeds", *each), "note"))
    return parts


def _comparison_table(rows: Mapping[str, Any]) -> PageTable:
    """Each run's figure and, beneath it, its difference from the first run."""
    names = dict.fromkeys(name for row in rows.values() for name in row["runs"])
    body = []
    for name, row in rows.items():
        cells = []
        for run in names:
            cell = cell_of(estimate(row["runs"][run]))
            if change := Difference.of(row["differences"].get(run)):
                text = cell.text
                if change.sure:
                    text = sentence("significant", text, change.value > 0)
                small = f"{change.words} [{change.interval}] · {change.p}"
                cell = cell._replace(text=text, small=(*cell.small, small))
            cells.append(cell)
        body.append((*(metric_words(name) or (fact_title(name), "")), cells))
    return PageTable.of(names, body)


def _pairs_table(pairs: Sequence[Json], names: Sequence[str]) -> PageTable:
    """Row − column, by the final pass rate."""
    cells = {}
    for pair in pairs:
        changed = f"{pair['gained']:,} gained, {pair['lost']:,} lost"
        if cell := _change_cell(Difference.of(pair), changed):
            cells[pair["b"], pair["a"]] = cell._replace(hint=pair["test"])
    columns = names[:-1]
    rows = [(row, "", [cells.get((row, each), "") for each in columns]) for row in names[1:]]
    return PageTable.of(columns, rows)


# ---- settings


def settings_section(runs: Runs) -> Section:
    """Of one run its card, else that of its main evaluation. Of several what differs in their
    recipes; of runs that no training made, in those entries of their evaluations' cards that say
    how episodes were made."""
    if len(runs) == 1:
        ((_, run),) = runs.items()
        card = _settings(run.card or object_in(run.score, "run_card"))
        rows = [(name, "", [Cell(value, css="")]) for name, value in card.items()]
        return Section("card", "Run card", [PageTable.of([], rows, css="card-table")])
    source = RECIPE if sum(bool(run.recipe) for run in runs.values()) > 1 else CARD
    settings = {}
    for name, run in runs.items():
        card = object_in(run.score, "run_card")
        told = {key: card[key] for key in CARD_SETTINGS if key in card}
        settings[name] = _settings(run.recipe if source == RECIPE else told)
    known = list(filter(None, settings.values()))
    keys = dict.fromkeys(key for each in known for key in each)
    differing = [key for key in keys if len({each.get(key) for each in known}) > 1]
    rows = [
        (key, "", [Cell(each.get(key, "–"), css="") for each in settings.values()])
        for key in differing
    ]
    without = ", ".join(name for name, each in settings.items() if not each)
    notes = [
        f"None: all settings of {source} are the same." if len(known) > 1 and not rows else "",
        f"No {source}: {without}." if without else "",
    ]
    head = [Cell(name, css="") for name in settings]
    table = PageTable.of(head, rows if len(known) > 1 else [], source, "card-table")
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
