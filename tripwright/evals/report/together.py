"""One page over several runs: final figures with intervals, the same queries compared, what their
recipes differ in, what it cost to get there, curves together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tripwright.errors import UserError
from tripwright.evals.compared_runs import ALIKE, TOLD, run_names, unlike
from tripwright.evals.comparison import compare_folders, refusal
from tripwright.evals.report.analyses import theorem_section
from tripwright.evals.report.bars import Bar, rate_bars
from tripwright.evals.report.behaviour import behaviour_together
from tripwright.evals.report.browser import Browser, Budget, make_browser
from tripwright.evals.report.checkpoints import examined_passes
from tripwright.evals.report.compared import comparison_section
from tripwright.evals.report.curves import at_minutes, points
from tripwright.evals.report.efficiency import (
    REACHED,
    best,
    first_reached,
    frontier_figures,
    step_seconds,
)
from tripwright.evals.report.folder import Json, ReportedRun, read_run, reinforcement
from tripwright.evals.report.markup import (
    Estimate,
    esc,
    number,
    of_words,
    percent,
    plain,
    plural,
    short,
    shown,
    shown_interval,
)
from tripwright.evals.report.overlay import check_count, overlay_sections
from tripwright.evals.report.page import report_page, write_page
from tripwright.evals.report.results import evaluation_words, metric_of, metric_words
from tripwright.evals.scoreboard import judged_by
from tripwright.runs import CARD, RECIPE

__all__ = ["run_names", "together_page", "write_together"]

FINAL = re.compile("final|delivery|.*_macro|.*_reward|turns_mean|completion_tokens_mean")
MOST_SETTINGS = 200
SAME = {RECIPE: "the recipes", CARD: "the run cards’ settings"}
CARD_SETTINGS = ("policy", *ALIKE, *TOLD)


def write_together(
    folders: Sequence[Path],
    target: Path,
    allow_unlike: bool = False,
    transcripts: str | None = None,
) -> Path:
    """Writes one page over these run folders and returns its path. Raises UserError for fewer than
    two, too many or unreadable ones, and for evaluations that are not alike, unless that is
    allowed; then the page says so. `transcripts` as in `write_report`."""
    budget = Budget.of(transcripts)
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise UserError(f"Cannot write '{target}': expected a file in a folder that exists.")
    write_page(target, compared_page(folders, allow_unlike, budget))
    return target


def compared_page(
    folders: Sequence[Path], allow_unlike: bool = False, budget: Budget | None = None
) -> str:
    """As `write_together` has it."""
    if len(folders) < 2:
        raise UserError(
            f"A page over several runs needs at least two run folders, found {len(folders)}."
        )
    check_count(len(folders))
    runs = dict(zip(run_names(folders), map(read_run, folders), strict=True))
    browser = make_browser(runs, budget or Budget())
    return together_page(runs, _comparison(runs, allow_unlike), browser)


def together_page(
    runs: dict[str, ReportedRun], comparison: str = "", browser: Browser | None = None
) -> str:
    """`comparison` is the section of the figures on the same queries, `browser` that of the
    episodes."""
    keys = "".join(
        f'<span class="key"><i class="s{i}"></i>{esc(name)}</span>' for i, name in enumerate(runs)
    )
    main = f"<p>{keys}</p>{_final_section(runs)}{comparison}{_cost_section(runs)}"
    main += theorem_section({name: run.rl for name, run in runs.items()})
    main += f"{_settings_section(runs)}{_curves_section(runs)}"
    main += behaviour_together(runs)
    main += browser.section if browser else ""
    sections = ("final", "comparison", "cost", "theory", "settings", "curves", "behaviour")
    return report_page(
        " · ".join(runs),
        f"{plural(len(runs), 'run')} together",
        "",
        main,
        (*sections, "episodes"),
        browser,
    )


def _comparison(runs: dict[str, ReportedRun], allow_unlike: bool) -> str:
    """Of the main evaluations, query by query, from their transcripts; without those, only what
    their cards say is compared."""
    cards = {
        name: card
        for name, run in runs.items()
        if isinstance(card := _score(run).get("run_card"), dict)
    }
    differing = unlike(cards) if len(cards) > 1 else []
    if differing and not allow_unlike:
        raise UserError(refusal(differing))
    played = {
        name: run.transcripts[run.main_evaluation].parent
        for name, run in runs.items()
        if run.main_evaluation in run.transcripts
    }
    warning = (
        f'<p class="warning"><strong>Not alike:</strong> {esc("; ".join(differing))}.</p>'
        if differing
        else ""
    )
    without = [name for name in runs if name not in played]
    words = (
        f"No transcripts of an evaluation, so not compared query by query: {', '.join(without)}."
    )
    note = f'<p class="note">{esc(words)}</p>' if without else ""
    if len(played) < 2:
        return f"{warning}{note}" if any(run.scores for run in runs.values()) else ""
    try:
        return (
            comparison_section(
                compare_folders(
                    [[folder] for folder in played.values()], allow_unlike, names=list(played)
                )
            )
            + note
        )
    except UserError as problem:
        if not allow_unlike:
            raise
        return f'{warning}<p class="note">{esc(problem)}</p>{note}'


def _score(run: ReportedRun) -> Json:
    return run.scores.get(str(run.main_evaluation), {})


def _final_section(runs: dict[str, ReportedRun]) -> str:
    """The main evaluation of each run (after RL where there is one), with 95% intervals."""
    scored = {name: run for name, run in runs.items() if run.main_evaluation}
    if not scored:
        return ""
    names = dict.fromkeys(
        name for run in scored.values() for name in _score(run).get("metrics") or ()
    )
    shown_metrics = [
        m for m in names if FINAL.fullmatch(m) and any(_metric(run, m) for run in scored.values())
    ]
    head = "".join(
        f"<th class=num>{esc((metric_words(m) or (plain(m),))[0])}</th>" for m in shown_metrics
    )
    rows = []
    for name, run in scored.items():
        cells = "".join(_cell(_metric(run, m)) for m in shown_metrics)
        which = evaluation_words(str(run.main_evaluation))[0]
        rules = run.scores[str(run.main_evaluation)].get("rules")
        about = which + (f", {judged_by(rules)}" if isinstance(rules, str) else "")
        rows.append(f"<tr><th scope=row>{esc(name)}<small>{esc(about)}</small></th>{cells}</tr>")
    places = {name: i for i, name in enumerate(runs)}
    bars = [
        Bar(name, "", final, places[name])
        for name, run in scored.items()
        if (final := _metric(run, "final"))
    ]
    chart = (
        '<figure class="wide"><figcaption>Final pass'
        f" rate</figcaption>{rate_bars(bars, 'Final pass rate')}</figure>"
        if bars
        else ""
    )
    note = (
        "95% intervals over trips. Runs that were examined on different trips or rules cannot be"
        " compared by them."
    )
    return (
        f'<section id="final"><h2>Final figures</h2><p class="lede">{note}</p>'
        "<div"
        f' class="scroll"><table><thead><tr><th></th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>{chart}</section>'  # noqa: E501
    )


def _metric(run: ReportedRun, name: str) -> Estimate | None:
    return metric_of(run.scores[run.main_evaluation], name) if run.main_evaluation else None


def _cell(figure: Estimate | None) -> str:
    if figure is None:
        return "<td class=num>–</td>"
    return f"<td class=num>{shown(figure)}<small>{esc(shown_interval(figure))}</small><small>{esc(of_words(figure))}</small></td>"  # noqa: E501


def _cost_section(runs: dict[str, ReportedRun]) -> str:
    """Row P12's efficiency: what each run had spent when it first reached 90% of the best pass rate
    of all of them."""
    tops = {name: top for name, run in runs.items() if (top := best(run.rl)) is not None}
    if not tops or max(tops.values()) <= 0:
        return ""
    level = REACHED * max(tops.values())
    rows = []
    for name, top in tops.items():
        rl = runs[name].rl
        reached = [
            first_reached(rl, level, key)
            for key in ("step", "seconds", "flops_update_total", "flops_total")
        ]
        if reached[1] is not None:
            reached[1] = round(reached[1] / 60, 1)
        most = [
            max((y for _, y in points(rl, key)), default=None)
            for key in ("device_hours_total", "flops_total", "peak_memory_mb")
        ]
        seconds = [step_seconds(rl, key) for key in ("rollout_seconds", "update_seconds")]
        minutes = max((y for row in rl if (y := at_minutes(row)) is not None), default=None)
        figures = [*reached, float(len(rl)), *seconds, minutes, *most]
        cells = [percent(top), *("–" if value is None else short(value) for value in figures)]
        rows.append(
            f"<tr><th scope=row>{esc(name)}<small>"
            f"{esc(reinforcement(runs[name].recipe)[0])}</small></th>{''.join(f'<td class=num>{cell}</td>' for cell in cells)}</tr>"  # noqa: E501
        )
    frontiers = frontier_figures(
        {name: run.rl for name, run in runs.items()},
        {name: examined_passes(run) for name, run in runs.items()},
    )
    head = "".join(
        f"<th class=num>{words}</th>"
        for words in (
            *("best pass rate", "step", "minutes", "FLOPs, updates", "FLOPs, with rollouts"),
            *("RL steps in all", "rollouts, s a step", "update, s a step", "minutes in all"),
            *("device hours of RL", "FLOPs in all", "peak memory, MB"),
        )
    )
    note = (
        f"Where each run first reached {percent(level)}: 90% of the best pass rate of any run here."
        " Pass rates are the running mean during training, on its own trips, with sampling. A"
        " dash: never reached, or not logged."
    )
    return (
        f'<section id="cost"><h2>What it cost to get there</h2><p class="lede">{note}</p><div'
        f' class="scroll"><table><thead><tr><th></th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div><div'  # noqa: E501
        f' class="charts">{frontiers}</div></section>'
    )


def _settings_section(runs: dict[str, ReportedRun]) -> str:
    """By the recipes; of runs that no training made, by the run cards of their main evaluations."""
    settings, source = (
        {name: dict(_leaves(_one_rl(run.recipe))) for name, run in runs.items()},
        RECIPE,
    )
    if sum(map(bool, settings.values())) < 2:
        settings, source = (
            {name: _card_leaves(_score(run).get("run_card")) for name, run in runs.items()},
            CARD,
        )
    without = [name for name, recipe in settings.items() if not recipe]
    keys = dict.fromkeys(key for recipe in settings.values() for key in recipe)
    recipes = [recipe for recipe in settings.values() if recipe]
    differing = [key for key in keys if len({recipe.get(key) for recipe in recipes}) > 1]
    missing = f'<p class="note">No {source}: {esc(", ".join(without))}.</p>' if without else ""
    if len(recipes) < 2:
        return (
            f'<section id="settings"><h2>Settings that differ</h2>{missing}</section>'
            if without
            else ""
        )
    if not differing:
        return (
            f'<section id="settings"><h2>Settings that differ</h2><p>None: {SAME[source]} are the'
            f" same.</p>{missing}</section>"
        )
    head = "".join(f"<th>{esc(name)}</th>" for name in settings)
    body = ""
    for key in differing[:MOST_SETTINGS]:
        cells = "".join(f"<td>{esc(recipe.get(key, '–'))}</td>" for recipe in settings.values())
        body += f"<tr><th scope=row>{esc(key)}</th>{cells}</tr>"
    more = (
        f'<p class="note">{len(differing) - MOST_SETTINGS} more.</p>'
        if len(differing) > MOST_SETTINGS
        else ""
    )
    table = (
        "<table"
        f' class="card-table"><thead><tr><th>{source}</th>{head}</tr></thead><tbody>{body}</tbody></table>'  # noqa: E501
    )
    return (
        '<section id="settings"><h2>Settings that differ</h2><div'
        f' class="scroll">{table}</div>{more}{missing}</section>'
    )


def _card_leaves(card: Any) -> dict[str, str]:
    """What a run card says of how the episodes were made; when and on which machine is no
    setting."""
    return (
        dict(_leaves({entry: card[entry] for entry in CARD_SETTINGS if entry in card}))
        if isinstance(card, dict)
        else {}
    )


def _one_rl(recipe: dict[str, Any] | None) -> dict[str, Any] | None:
    """The table of reinforcement learning under one name, so that what PPO and GRPO have in common
    is compared and not listed twice."""
    algorithm, settings = reinforcement(recipe or {})
    if recipe is None or not algorithm:
        return recipe
    return {key: value for key, value in recipe.items() if key != algorithm} | {
        "rl": {"algorithm": algorithm, **settings}
    }


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Settings as a.b.c with their value as written in JSON, lists whole."""
    if isinstance(value, dict) and value:
        for key, inside in value.items():
            yield from _leaves(inside, f"{name}.{key}" if name else str(key))
    elif name:
        leaf = number(value)
        yield name, str(value) if leaf is None or isinstance(value, int) else f"{leaf:g}"


def _curves_section(runs: dict[str, ReportedRun]) -> str:
    rows: dict[str, list[Json]] = {name: run.rl for name, run in runs.items()}
    sections = overlay_sections(rows) if any(rows.values()) else ""
    if not sections:
        return ""
    note = "Thick lines: running means. Training trips, with sampling: every run on its own."
    return f'<section id="curves"><h2>Curves</h2><p class="lede">{note}</p>{sections}</section>'
