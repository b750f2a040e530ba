"""The figures of an evaluation in words: headline cards, baselines, the table of metrics (T4), and
the table of constraints (T3).

A change between two evaluations is only called a change by its paired interval from
comparison.json; the reader is told so.
"""

from __future__ import annotations

from typing import Any

from tripwright.domains import fact_title
from tripwright.evals.report.bars import Bar, range_strip, rate_bars
from tripwright.evals.report.folder import TOP_LEVEL_RUN, Json, ReportedRun
from tripwright.evals.report.markup import (
    Estimate,
    esc,
    estimate,
    estimate_cell,
    number,
    of_words,
    percent,
    plain,
    plural,
    shown,
    shown_interval,
    signed,
)
from tripwright.evals.scoreboard import judged_by, slice_order

EVALUATIONS = {
    "after_sft": ("After SFT", "imitation only", 1),
    "after_rl": ("After RL", "the trained agent", 0),
    "after_sft_with_faults": ("After SFT, tools failing", "as RL meets them", 3),
    "after_rl_with_faults": ("After RL, tools failing", "as RL meets them", 6),
    "emptied_tools": ("Tools emptied", "the trained agent, every tool answers nothing", 7),
    TOP_LEVEL_RUN: ("This run", "", 0),
}
METRICS = {
    "final": ("Final pass", "every check passes"),
    "delivery": ("Delivery", "an answer was given"),
    "schema": ("Schema", "the answer can be read"),
    "flip_rate": ("Flip rate", "queries whose samples disagree"),
    "dense_reward": ("Dense reward", "all terms of the verdict, each with weight 1"),
    "turns_mean": ("Turns", "mean per episode"),
    "completion_tokens_mean": ("Tokens written", "by the agent, mean per episode"),
}
BASELINES = {
    "first_row": ("First row", "script: takes the first row of every table"),
    "cheapest_row": ("Cheapest row", "script: takes the cheapest row"),
    "teacher": ("Its teacher", "whom the cold start imitates"),
    "expert": ("Expert", "what can be reached"),
}
UNSCORED_WARNING = 0.01
NOT_MEASURED = "not measured"
CHANCES = ("pass@", "pass^")
# of a group of a verdict
GROUP_WORDS = {"_micro": "checks passed", "_macro": "answers with all checks passed"}
SAMPLE_WORDS = {
    "pass@": "one of {k} samples passes",
    "pass^": "all of {k} samples pass",
    "best_of_": "checks that hold in the best of {k} samples",
    "worst_of_": "checks that hold in the worst of {k} samples",
}


def evaluation_words(name: str) -> tuple[str, str, int]:
    return EVALUATIONS.get(name, (plain(name).capitalize(), "", 4))


class Chance(Estimate):
    """Of passing, as pass@k: a share that is not k of n."""

    @property
    def share(self) -> bool:
        return True


def metric_of(score: Json, name: str) -> Estimate | None:
    metric = estimate(_object(score.get("metrics")).get(name))
    return Chance(*metric) if metric and name.startswith(CHANCES) else metric


def headline_section(run: ReportedRun) -> str:
    cards = [_card(run, name) for name in run.scores]
    bars = baseline_bars(run)
    warnings = "".join(
        _unscored_warning(name, score) for name, score in {**run.scores, **run.validation}.items()
    )
    if not any(cards) and not bars and not warnings:
        return ""
    picture = rate_bars(bars, "Final pass rate")
    chart = (
        '<figure class="wide"><figcaption>Final pass rate on the test'
        f" queries</figcaption>{picture}</figure>"
    )
    return (
        f'<section id="result"><h2>{"What improved" if run.comparison else "Result"}</h2>{warnings}'
        f'<div class="cards">{"".join(cards)}</div>'
        f"{chart if len(bars) > 1 else ''}{slice_tables(run)}{_stops(run)}</section>"
    )


def baseline_bars(run: ReportedRun) -> list[Bar]:
    """Scripted baselines, then the agent at each evaluation, then what the expert reaches."""
    bars = []
    for name in run.difficulty:  # by the names that a domain gives its baselines
        rate = estimate(run.difficulty.get(name)) if name not in ("levels", "expert") else None
        if rate:
            bars.append(Bar(*BASELINES.get(name, (plain(name).capitalize(), "script")), rate, 5))
    for name, score in run.scores.items():
        rate = metric_of(score, "final")
        if rate:
            words, note, colour = evaluation_words(name)
            bars.append(Bar(words, note, rate, colour))
    expert = estimate(run.difficulty.get("expert"))
    return [*bars, Bar(*BASELINES["expert"], expert, 2)] if expert else bars


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


def metrics_section(run: ReportedRun) -> str:
    """One row per metric, one column per evaluation, and the paired difference where the run
    compared two of them."""
    names = list(
        dict.fromkeys(
            name for score in run.scores.values() for name in _object(score.get("metrics"))
        )
    )
    names = [name for name in names if any(metric_of(score, name) for score in run.scores.values())]
    if not names:
        return ""
    columns = "".join(
        f'<th class="num">{esc(evaluation_words(name)[0])}</th>' for name in run.scores
    )
    compared = bool(run.comparison)
    rows = []
    for name in names:
        title, note = metric_words(name) or (plain(name).capitalize(), "")
        cells = "".join(
            estimate_cell(metric_of(score, name), NOT_MEASURED) for score in run.scores.values()
        )
        shares = any(
            metric.share for score in run.scores.values() if (metric := metric_of(score, name))
        )
        change = _difference_cell(run.comparison.get(name), shares) if compared else ""
        rows.append(
            f'<tr><th scope="row">{esc(title)}<small>{esc(note)}</small></th>{cells}{change}</tr>'
        )
    head = f"<th></th>{columns}{'<th class=num>RL − SFT, same queries</th>' if compared else ''}"
    advice = (
        "Intervals of two columns may overlap although the difference is certain: only the last"
        " column compares query by query"
    )
    advice += " (bold: its interval leaves out zero)."
    return (
        '<section id="metrics"><h2>Metrics</h2><p class="lede">Small figures: 95% intervals.'
        f" {advice if compared else ''}</p>"
        "<div"
        f' class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div></section>'  # noqa: E501
    )


def constraints_section(run: ReportedRun) -> str:
    checks = [_object(score.get("constraints")) for score in run.scores.values()]
    names = list(
        dict.fromkeys(
            name for check in checks for name, record in check.items() if estimate(record)
        )
    )
    if not names:
        return ""
    columns = [name for name in run.scores if _object(run.scores[name].get("constraints"))]
    key = " ".join(
        '<span class="key"><i'
        f' class="s{evaluation_words(name)[2]}"></i>{esc(evaluation_words(name)[0])}</span>'
        for name in columns
    )
    rows = []
    for name in names:
        estimates = [
            (column, estimate(_object(run.scores[column].get("constraints")).get(name)))
            for column in columns
        ]
        marks = [
            (evaluation_words(column)[0], value, evaluation_words(column)[2])
            for column, value in estimates
            if value
        ]
        cells = "".join(estimate_cell(value, NOT_MEASURED) for _, value in estimates)
        rows.append(
            f'<tr><th scope="row">{esc(fact_title(name))}</th><td'
            f' class="stripcell">{range_strip(marks)}</td>{cells}</tr>'
        )
    head = "".join(f'<th class="num">{esc(evaluation_words(name)[0])}</th>' for name in columns)
    return (
        '<section id="constraints"><h2>Constraints</h2><p class="lede">Share of the answers that'
        " passed each check, of those it applies "
        f'to. Lines: 95% intervals. {key}</p><div class="scroll"><table><thead><tr><th></th>'
        '<th class="stripcell"><span'
        f' class="scale"><span>0</span><span>50</span><span>100%</span></span></th>{head}</tr></thead>'  # noqa: E501
        f"<tbody>{''.join(rows)}</tbody></table></div></section>"
    )


def _card(run: ReportedRun, name: str) -> str:
    score = run.scores[name]
    final = metric_of(score, "final")
    if not final:
        return ""
    words, note, colour = evaluation_words(name)
    count_words = f"{of_words(final)} pass" + (
        f" · {judged_by(str(score['rules']))}" if score.get("rules") else ""
    )
    failing = _object(run.comparison.get("with_faults"))
    compared = {"after_rl": run.comparison, "after_rl_with_faults": failing}
    change = _change_words(compared.get(name, {}).get("final"))
    return (
        f'<div class="card"><h3><i class="s{colour}"></i>{esc(words)}</h3><p'
        f' class="muted">{esc(note)}</p><p class="big">{shown(final)}</p><p class="interval">95%'
        f" interval {esc(shown_interval(final))}</p><p"
        f' class="muted">{esc(count_words)}</p>{_faults(score)}{change}</div>'
    )


def _stops(run: ReportedRun) -> str:
    """Why the episodes of each evaluation ended, behind a fold."""
    lines = []
    for name, score in run.scores.items():
        reasons = _object(score.get("stop_reasons")).items()
        counts = [(plain(reason), number(count)) for reason, count in reasons]
        if words := ", ".join(f"{reason} {count:,.0f}" for reason, count in counts if count):
            lines.append(f"<li>{esc(evaluation_words(name)[0])}: {esc(words)}</li>")
    if not lines:
        return ""
    return (
        '<details class="fold"><summary>How episodes ended</summary><ul'
        f' class="steps">{"".join(lines)}</ul></details>'
    )


def _faults(score: Json) -> str:
    """How many calls were made to fail, for a run that asked for it (row S9)."""
    met = _object(score.get("faults"))
    hit, calls = number(met.get("hit")), number(met.get("calls"))
    if hit is None or not calls:
        return ""
    kinds = ", ".join(
        f"{plain(kind)} {count:,.0f}"
        for kind, hits in _object(met.get("kinds")).items()
        if (count := number(hits))
    )
    sentence = f"{hit:,.0f} of {calls:,.0f} tool calls were made to fail" + (
        f" ({kinds})" if kinds else ""
    )
    return f'<p class="muted">{esc(sentence)}</p>'


def _change_words(record: Any) -> str:
    change = estimate(record)
    if not change:
        return ""
    if not _is_sure(change):  # a colour would call noise a gain
        points = f"{signed(100 * change.value, 1)} points{_p_words(record, ', ')}"
        return f'<p class="change muted">no sure change against SFT: {points}</p>'
    kind = "pass" if change.value > 0 else "fail"
    return (
        f'<p class="change {kind}">{signed(100 * change.value, 1)} points against'
        f" SFT{_p_words(record, ', ')}</p>"
    )


def _is_sure(change: Estimate) -> bool:
    """Its paired interval leaves out zero."""
    return (
        change.low is not None and change.high is not None and (change.low > 0 or change.high < 0)
    )


def _p_words(record: Any, before: str) -> str:
    p = number(_object(record).get("p"))
    if p is None:
        return ""
    return before + (f"p\u00a0=\u00a0{p:.2g}" if p >= 0.001 else "p &lt; 0.001")


def _difference_cell(record: Any, share: bool) -> str:
    difference = estimate(record)
    if not difference:
        return '<td class="num muted">–</td>'
    scale, decimals, unit = (100, 1, " pp") if share else (1, 2, "")
    interval, weight = "", "span"
    if difference.low is not None and difference.high is not None:
        low, high = (signed(scale * end, decimals) for end in (difference.low, difference.high))
        interval = f"{low} to {high}"
        weight = "strong" if _is_sure(difference) else "span"
    figure = f"<{weight}>{signed(scale * difference.value, decimals)}{unit}</{weight}>"
    return f'<td class="num">{figure}<small>{interval}{_p_words(record, " · ")}</small></td>'


def slice_tables(run: ReportedRun) -> str:
    """Final pass by what requests are divided by: a table for each section of the scores that has
    several values, or the scripts' rates."""
    sections = dict.fromkeys(
        name
        for score in run.scores.values()
        for name, section in score.items()
        if _is_slices(section)
    )
    return "".join(_slices_table(run, name) for name in sections)


def _is_slices(section: Any) -> bool:
    """{"easy": {"final": rate}, …}"""
    return (
        isinstance(section, dict)
        and bool(section)
        and all(isinstance(each, dict) and "final" in each for each in section.values())
    )


def _slices_table(run: ReportedRun, section: str) -> str:
    columns = {
        evaluation_words(name)[0]: rates
        for name, score in run.scores.items()
        if (rates := _object(score.get(section)))
    }
    scripts = _object(run.difficulty.get(section))
    values = sorted({value for rates in columns.values() for value in rates}, key=slice_order)
    baselines = [
        name for name in BASELINES if any(_level_rate(scripts, value, name) for value in values)
    ]
    if len(values) < 2 and not baselines:
        return ""
    above = [name for name in baselines if name == "expert"]  # as in the bars
    below = [name for name in baselines if name not in above]
    titles = (*(BASELINES[b][0] for b in below), *columns, *(BASELINES[b][0] for b in above))
    head = "".join(f'<th class="num">{esc(words)}</th>' for words in titles)
    rows = []
    for value in values:
        agent = [_level_rate(rates, value, "final") for rates in columns.values()]
        cells = [
            *(_level_rate(scripts, value, b) for b in below),
            *agent,
            *(_level_rate(scripts, value, b) for b in above),
        ]
        row_cells = "".join(estimate_cell(cell, NOT_MEASURED) for cell in cells)
        rows.append(f'<tr><th scope="row">{esc(value)}</th>{row_cells}</tr>')
    return (
        f'<h3>Final pass by {esc(section)}</h3><div class="scroll"><table><thead><tr><th></th>'
        f"{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _level_rate(levels: Json, level: str, name: str) -> Estimate | None:
    """{level: rate}, {level: {name: rate}} or {name: {level: rate}}: whichever way round it was
    written."""
    record = _object(levels.get(level))
    if name == "final" and "value" in record:
        return estimate(record)
    return estimate(record.get(name)) or estimate(_object(levels.get(name)).get(level))


def _unscored_warning(name: str, score: Json) -> str:
    unscored, final = number(score.get("unscored")) or 0, metric_of(score, "final")
    title = esc(evaluation_words(name)[0])
    if unscored and not final:
        reason = esc(score.get("warning") or "Every one met a fault on our side.")
        return f'<p class="warning"><strong>{title}: nothing was scored.</strong> {reason}</p>'
    if (
        not final
        or final.k is None
        or final.n is None
        or unscored <= UNSCORED_WARNING * (final.n + unscored)
    ):
        return ""
    worst = final.k / (final.n + unscored)
    return (
        f'<p class="warning"><strong>{title}: {plural(int(unscored), "episode")} unscored</strong>'
        " because of faults on our side. Worst case, all of them failed: final pass"
        f" {percent(worst)} instead of {shown(final)}.</p>"
    )


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
