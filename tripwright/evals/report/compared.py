"""Several runs on the queries that all of them played: metric × run with intervals and marks (T4's
layout), every two runs tested, and which queries were gained and lost. The same record as
`tripwright compare --json` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tripwright.domains import fact_title
from tripwright.evals.comparison import changed_marks
from tripwright.evals.report.folder import Json
from tripwright.evals.report.markup import esc, signed
from tripwright.evals.report.results import metric_words
from tripwright.evals.scoreboard import judged_by

TABLES = {
    "metrics": "Metrics",
    "samples": "Several samples of a query",
    "constraints": "Constraints",
}
UP, DOWN = "▲", "▼"
LISTED = 100  # queries gained, and as many lost, that the page names for each run


def comparison_section(comparison: Json) -> str:
    names = [run["name"] for run in comparison["runs"]]
    base, others = names[0], names[1:]
    parts = [_lede(comparison), _warnings(comparison)]
    for table, rows in comparison["tables"].items():
        parts.append(
            _table(TABLES.get(table, f"Final pass by {table}"), rows, base, others, comparison)
        )
    parts.append(_matrix(comparison["pairs"], names, bool(comparison["unlike"])))
    parts += [_seeds(name, seeds) for name, seeds in comparison.get("seeds", {}).items()]
    parts += [_changed(name, base, changed) for name, changed in comparison["changed"].items()]
    return (
        f'<section id="comparison"><h2>Compared on the same queries</h2>{"".join(parts)}</section>'
    )


def _lede(comparison: Json) -> str:
    left_out = (
        f" {comparison['left_out']:,} that not all of them have are left out."
        if comparison["left_out"]
        else ""
    )
    rejudged = " All plans were judged anew." if comparison["rejudged"] else ""
    return (
        f'<p class="lede">{comparison["queries"]:,} queries that all of them played,'
        f" {esc(judged_by(comparison['rules']))}.{left_out}"
        f"{rejudged} Small figures: 95% intervals, each for itself alone, and p after Holm’s"
        " correction over the table. "
        f"{UP} and {DOWN} mark a significant difference from {esc(comparison['baseline'])}:"
        " p &lt; 0.05"
        " on the same "
        "queries, after that correction. Intervals of two runs may overlap although their"
        " difference is certain.</p>"
    )


def _warnings(comparison: Json) -> str:
    paragraphs = (
        [
            '<p class="warning"><strong>Not alike:</strong>'
            f" {esc('; '.join(comparison['unlike']))}.</p>"
        ]
        if comparison["unlike"]
        else []
    )
    paragraphs += [f'<p class="note">{esc(note)}</p>' for note in comparison["notes"]]
    if worst := comparison.get("worst_case"):
        rates = ", ".join(f"{name} {100 * value:.1f}%" for name, value in worst["final"].items())
        ends = "; ".join(
            f"{name} {signed(100 * each['failed'], 1)} points, from"
            f" {signed(100 * each['least'], 1)} to {signed(100 * each['most'], 1)} whatever the"
            " unscored would have done"
            for name, each in worst["differences"].items()
        )
        paragraphs.append(
            '<p class="warning"><strong>More than 1% of a run is unscored</strong> because of'
            f" faults on our side. Worst case, all of them failed: final pass {esc(rates)}."
            f" Differences: {esc(ends)}.</p>"
        )
    return "".join(paragraphs)


def _table(
    title: str, rows: Mapping[str, Any], base: str, others: Sequence[str], comparison: Json
) -> str:
    mark = ' <span class="fail">(not alike)</span>' if comparison["unlike"] else ""
    head = "".join(f'<th class="num">{esc(name)}</th>' for name in (base, *others))
    body = []
    for name, row in rows.items():
        words, note = metric_words(name) or (fact_title(name), "")
        cells = [_figure_cell(row["runs"][base])]
        cells += [_figure_cell(row["runs"][other], row["differences"][other]) for other in others]
        body.append(
            f'<tr><th scope="row">{esc(words)}<small>{esc(note)}</small></th>{"".join(cells)}</tr>'
        )
    return (
        f"<h3>{esc(title)}{mark}</h3><div"
        f' class="scroll"><table><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _figure_cell(figure: Json, difference: Json | None = None) -> str:
    """A run's figure and, beneath it, its difference from the first run."""
    if difference is None:
        return f'<td class="num">{_value(figure)}<small>{_interval(figure)}</small></td>'
    mark = (
        (
            f' <span class="pass" title="significantly higher">{UP}</span>'
            if difference["value"] > 0
            else f' <span class="fail" title="significantly lower">{DOWN}</span>'
        )
        if difference.get("significant")
        else ""
    )
    return (
        f'<td class="num">{_value(figure)}{mark}<small>{_interval(figure)}</small><small>{_value(difference, True)}'  # noqa: E501
        f" [{_interval(difference, True)}]{_p(difference)}</small></td>"
    )


def _value(difference: Json, is_difference: bool = False) -> str:
    if difference["kind"] == "mean":
        return signed(difference["value"], 2) if is_difference else f"{difference['value']:,.2f}"
    return (
        signed(100 * difference["value"], 1)
        if is_difference
        else f"{100 * difference['value']:.1f}%"
    )


def _interval(difference: Json, is_difference: bool = False) -> str:
    if difference["low"] is None:
        return ""
    ends = (
        _value({**difference, "value": difference[end]}, is_difference) for end in ("low", "high")
    )
    return (
        " to ".join(ends)
        if is_difference or difference["kind"] == "mean"
        else "–".join(ends).replace("%", "", 1)
    )


def _p(difference: Json) -> str:
    """Holm's p; '≤' where the draws were too few to give a smaller one."""
    p = difference["p_holm"]
    if p < 0.001:
        return " · p\u00a0&lt;\u00a00.001"
    return f" · p\u00a0{'≤' if difference['p_is_bound'] and p < 1 else '='}\u00a0{p:.2g}"


def _matrix(pairs: Sequence[Json], names: Sequence[str], is_unlike: bool) -> str:
    """Row − column, by the final pass rate."""
    by_pair = {(pair["b"], pair["a"]): pair for pair in pairs}
    head = "".join(f'<th class="num">{esc(name)}</th>' for name in names[:-1])
    rows = []
    for row in names[1:]:
        cells = "".join(_pair_cell(by_pair.get((row, column))) for column in names[:-1])
        rows.append(f'<tr><th scope="row">{esc(row)}</th>{cells}</tr>')
    mark = ' <span class="fail">(not alike)</span>' if is_unlike else ""
    return (
        f'<h3>Final pass, every two runs{mark}</h3><p class="note">Row minus column in points,'
        " Holm’s p over this table, queries gained "
        'and lost. Bold: significant.</p><div class="scroll"><table><thead><tr><th></th>'
        f"{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _pair_cell(pair: Json | None) -> str:
    if pair is None:
        return "<td></td>"
    weight = "strong" if pair.get("significant") else "span"
    changed = f"{pair['gained']:,} gained, {pair['lost']:,} lost"
    return (
        f'<td class="num" title="{esc(pair["test"])}"><{weight}>{_value(pair, True)}</{weight}>'
        f"<small>[{_interval(pair, True)}]{_p(pair)}</small><small>{changed}</small></td>"
    )


def _seeds(name: str, seeds: Json) -> str:
    each = ", ".join(f"{100 * run['final']:.1f}% (seed {run['seed']})" for run in seeds["runs"])
    words = (
        f"{name}: {each}; mean {100 * seeds['mean']:.1f}%, standard deviation between seeds"
        f" {100 * seeds['deviation']:.1f} points."
    )
    return f'<p class="note">{esc(words)} Intervals resample seeds and queries.</p>'


def _changed(name: str, base: str, changed: Mapping[str, Sequence[Json]]) -> str:
    parts = []
    for kind in ("gained", "lost"):
        rows = "".join(_query_row(query) for query in changed[kind][:LISTED])
        more = (
            f'<p class="note">{len(changed[kind]) - LISTED:,} more; tripwright compare --json lists'
            " all.</p>"
            if len(changed[kind]) > LISTED
            else ""
        )
        head = "<thead><tr><th>query</th><th>before</th><th>after</th><th>kind</th><th>request</th></tr></thead>"  # noqa: E501
        table = (
            f'<div class="scroll"><table>{head}<tbody>{rows}</tbody></table></div>{more}'
            if rows
            else ""
        )
        parts.append(
            f'<details class="changed"><summary>{len(changed[kind]):,}'
            f" {kind}</summary>{table}</details>"
        )
    return f"<h3>{esc(name)} against {esc(base)}: queries gained and lost</h3>{''.join(parts)}"


def _query_row(query: Json) -> str:
    before, after = ("/".join(map(str, query[side])) for side in ("before", "after"))
    cells = (query["id"], before, after, ", ".join(changed_marks(query)) or "–", query["text"])
    return f"<tr>{''.join(f'<td>{esc(cell)}</td>' for cell in cells)}</tr>"
