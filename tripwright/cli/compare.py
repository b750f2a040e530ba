"""`tripwright compare`: runs against each other on the queries that all of them played."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.cli.options import Json, check_folders
from tripwright.cli.table import table_lines
from tripwright.domains import OWN_RULES, fact_title
from tripwright.errors import UserError, counted

TITLES = {
    "metrics": "metrics",
    "samples": "several samples of a query",
    "constraints": "constraints, share of the answers they apply to",
}
MARK = "*"
HEADLINE = "final"
HOLM = "p (Holm)"
NOT_ALIKE = " (of runs that are NOT ALIKE, see above)"
SMALLEST_SHOWN = 0.0001
TEXT_CHARACTERS = 70


@dataclass(frozen=True, kw_only=True)
class CompareFlags:
    """Which runs are compared, and how."""

    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...", help="Run folders; the first is what the others are compared with."
        ),
    ]
    rejudge: Annotated[
        str | None,
        typer.Option(
            metavar="RULES", help=f"Judge all plans anew: {', '.join(OWN_RULES)}. Needs --world."
        ),
    ] = None
    world: Annotated[
        Path | None, typer.Option(help="With --rejudge: the world that the runs were played in.")
    ] = None
    unlike: Annotated[
        bool,
        typer.Option(
            "--unlike", help="Compare runs that differ in more than their policy, and say so."
        ),
    ] = False
    apart: Annotated[
        bool,
        typer.Option(
            "--apart", help="Do not take runs that differ only by their seed for one group."
        ),
    ] = False
    listed: Annotated[
        int,
        typer.Option(
            "--count", metavar="N", help="Queries gained and lost that are listed.", min=0
        ),
    ] = 10


def compare(settings: CompareFlags, as_json: Json = False) -> None:
    """Compare runs query by query: figures with 95% intervals, differences with exact tests,
    queries gained and lost.

    A RUN is a folder made by 'tripwright run', an evaluation in a training's folder
    (RUN/eval/after_rl), or that folder itself for its main evaluation. The seeds of one recipe
    alone are a table of their means. Runs must be alike in world,
    queries, rules, prompt, tools, limits and decoding. Runs that differ only by a seed count as
    one: mean over seeds, and an interval that resamples seeds and queries. Where that cannot be
    seen from the folders, join them with commas. A star marks a difference that is significant (p <
    0.05) after Holm's correction over its table.

    Examples:
      tripwright compare runs/cold_start runs/grpo
      tripwright compare runs/quickstart/eval/after_sft runs/quickstart/eval/after_rl --count 50
      tripwright compare runs/s0,runs/s1,runs/s2,runs/s3,runs/s4
      tripwright compare runs/grpo-0,runs/grpo-1,runs/grpo-2 runs/dapo-0,runs/dapo-1,runs/dapo-2
      tripwright compare runs/official runs/other --rejudge strict --world worlds/nano --json
    """
    if (settings.rejudge is None) != (settings.world is None):
        raise UserError(
            "--rejudge RULES and --world DIR go together: plans are judged anew in the world that"
            " they were made for."
        )
    folders = [[Path(each) for each in run.split(",") if each] for run in settings.runs]
    check_folders([each for several in folders for each in several])
    from tripwright.domains import domains
    from tripwright.domains.folders import open_worlds
    from tripwright.evals.comparison import compare_folders

    names = dict.fromkeys(rules for domain in domains().values() for rules in domain.rules)
    if settings.rejudge is not None and settings.rejudge not in names:
        raise UserError(f"Unknown rules '{settings.rejudge}'. Available: {', '.join(names)}.")
    with open_worlds([] if settings.world is None else [settings.world]) as places:
        comparison = compare_folders(
            folders,
            settings.unlike,
            settings.rejudge,
            places[0] if places else None,
            settings.apart,
        )
    typer.echo(json.dumps(comparison) if as_json else comparison_text(comparison, settings.listed))


def comparison_text(comparison: Mapping[str, Any], listed: int) -> str:
    """`listed` queries of each kind are named."""
    names = [run["name"] for run in comparison["runs"]]
    parts = [_heading(comparison)]
    for table, rows in comparison["tables"].items():
        parts.append(
            _table(
                TITLES.get(table, f"final pass by {table}"), rows, names, bool(comparison["unlike"])
            )
        )
    if comparison["pairs"]:
        parts.append(_pairs(comparison["pairs"], bool(comparison["unlike"])))
    parts += [_seeds(name, seeds) for name, seeds in comparison.get("seeds", {}).items()]
    parts += [
        _changed(name, comparison["baseline"], changed, listed)
        for name, changed in comparison["changed"].items()
    ]
    parts += [_power(name, power, comparison) for name, power in comparison["power"].items()]
    if "worst_case" in comparison:
        parts.append(_worst(comparison["worst_case"]))
    brackets = "Brackets: 95% intervals, each for itself alone."
    if comparison["pairs"]:
        brackets = (
            f"{MARK} significant: p < 0.05 after Holm's correction over the table, against"
            f" {comparison['baseline']}. {brackets} --json has every p before the correction too."
        )
    parts.append(brackets)
    return "\n\n".join(parts)


def _heading(comparison: Mapping[str, Any]) -> str:
    from tripwright.evals.scoreboard import judged_by

    by = judged_by(comparison["rules"])
    anew = ", judged anew" if comparison["rejudged"] else ""
    lines = [f"{counted(comparison['queries'], 'query')} that all of them played, {by}{anew}"]
    for run in comparison["runs"]:
        unscored = f", {run['unscored']:,} unscored" if run["unscored"] else ""
        lines.append(
            f"  {run['name']}: {counted(run['episodes'], 'episode')}{unscored} "
            f" ({', '.join(run['folders'])})"
        )
    if comparison["left_out"]:
        queries = counted(comparison["left_out"], "query")
        lines.append(f"  left out, as not all of them have it: {queries}")
    lines += [f"  NOT ALIKE: {phrase}" for phrase in comparison["unlike"]]
    return "\n".join([*lines, *(f"  note: {note}" for note in comparison["notes"])])


def _table(title: str, rows: Mapping[str, Any], names: Sequence[str], is_unlike: bool) -> str:
    """Two runs stand in one line with their difference; of more, the differences have lines of
    their own. The headline's difference and its p stand once, in the table of every two runs."""
    filled_rows = {
        name: row
        for name, row in rows.items()
        if any(figure["value"] is not None for figure in row["runs"].values())
    }
    title_of = fact_title if title == TITLES["constraints"] else str
    base, *others = names
    two = len(others) == 1
    head = ["", *names, *(["difference", HOLM] if two else [])]
    body = []
    for name, row in filled_rows.items():
        marks = {
            other: MARK if name != HEADLINE and row["differences"][other].get("significant") else ""
            for other in others
        }
        cells = [
            title_of(name),
            _cell(row["runs"][base]),
            *(_cell(row["runs"][other], marks[other]) for other in others),
        ]
        if two and name == HEADLINE:
            cells += ["below", ""]
        elif two:
            cells += _difference(row["differences"][others[0]])
        body.append(cells)
    heading = f"{title}{NOT_ALIKE if is_unlike else ''}"
    lines = [heading, *table_lines(body, header=head)]
    if len(others) > 1:
        differing = [
            [title_of(name), *(" p ".join(_difference(row["differences"][o])) for o in others)]
            for name, row in filled_rows.items()
            if name != HEADLINE
        ]
        lines += [
            "",
            f"{heading}: difference from {base}, with {HOLM}",
            *table_lines(differing, header=["", *others]),
        ]
    return "\n".join(lines)


def _cell(figure: Mapping[str, Any], mark: str = "") -> str:
    if figure["kind"] == "mean":
        return f"{figure['value']:.4g}{mark}" + _interval(figure, "{:.4g}", 1)
    return f"{figure['value']:.1%}{mark}" + _interval(figure, "{:.1f}", 100)


def _interval(figure: Mapping[str, Any], form: str, scale: float) -> str:
    if figure["low"] is None:
        return ""
    return f" [{form.format(scale * figure['low'])}, {form.format(scale * figure['high'])}]"


def _difference(figure: Mapping[str, Any]) -> list[str]:
    """The difference in points or units, and Holm's p: "≤" where the draws were too few to give a
    smaller one."""
    form, scale = ("{:+.4g}", 1) if figure["kind"] == "mean" else ("{:+.1f}", 100)
    p = figure["p_holm"]
    shown = f"{'≤ ' if figure['p_is_bound'] and p < 1 else ''}{p:.2g}"
    if p < SMALLEST_SHOWN:
        shown = f"< {SMALLEST_SHOWN:.4f}"
    return [form.format(scale * figure["value"]) + _interval(figure, form, scale), shown]


def _pairs(pairs: Sequence[Mapping[str, Any]], is_unlike: bool) -> str:
    rows = []
    for pair in pairs:
        difference, p = _difference(pair)
        mark, counts = MARK if pair["significant"] else "", (pair["gained"], pair["lost"])
        rows.append([f"{pair['b']} - {pair['a']}", difference + mark, p, *map(str, counts)])
    heading = f"final pass, every two runs{NOT_ALIKE if is_unlike else ''}"
    header = ["", "difference", HOLM, "gained", "lost"]
    return "\n".join([heading, *table_lines(rows, "<<<>", header)])


def _seeds(name: str, seeds: Mapping[str, Any]) -> str:
    each = ", ".join(f"{run['final']:.1%} (seed {run['seed']})" for run in seeds["runs"])
    return (
        f"seeds of {name}: {each}; mean {seeds['mean']:.1%}, standard deviation"
        f" {100 * seeds['deviation']:.1f} points"
    )


def _changed(
    name: str, base: str, changed: Mapping[str, Sequence[Mapping[str, Any]]], listed: int
) -> str:
    from tripwright.evals.comparison import changed_marks

    lines = [
        f"{name} against {base}: {counted(len(changed['gained']), 'query')} gained,"
        f" {len(changed['lost'])} lost"
    ]
    for kind in ("gained", "lost"):
        rows = []
        for query in changed[kind][:listed]:
            before, after = ("/".join(map(str, query[when])) for when in ("before", "after"))
            text, about = query["text"], ", ".join(changed_marks(query)) or "-"
            text = text if len(text) <= TEXT_CHARACTERS else f"{text[:TEXT_CHARACTERS]}…"
            rows.append([kind, query["id"], f"{before} to {after}", about, text])
        lines += table_lines(rows)
        if (more := len(changed[kind]) - listed) > 0 and listed:
            lines.append(f"  and {more} more {kind} (--count {len(changed[kind])}, or --json)")
    return "\n".join(lines)


def _power(name: str, power: Mapping[str, Any], comparison: Mapping[str, Any]) -> str:
    seen, needed, points = power["detectable"], power["queries"], f"{100 * power['points']:.0f}"
    difference = "no difference that there can be"
    more = f"queries that differ so little cannot make {points} points"
    if seen is not None:
        difference = f"a difference of {100 * seen:.1f} points"
    if needed is not None:
        more = f"{points} points would take {needed:,}"
    return (
        f"power, {name} against {comparison['baseline']}: {power['discordance']:.1%} of the queries"
        f" differ; {comparison['queries']:,} queries show {difference} with power 80%; {more}"
    )


def _worst(worst: Mapping[str, Any]) -> str:
    unscored = ", ".join(f"{name} {count}" for name, count in worst["unscored"].items())
    rates = ", ".join(f"{name} {value:.1%}" for name, value in worst["final"].items())
    lines = [
        f"WORST CASE, because more than 1% of a run is unscored ({unscored}): counted as failed,"
        f" over {worst['queries']:,} queries: {rates}"
    ]
    for name, ends in worst["differences"].items():
        lines.append(
            f"  {name}: difference {100 * ends['failed']:+.1f} points; whatever the unscored would"
            f" have done, between {100 * ends['least']:+.1f} and {100 * ends['most']:+.1f}"
        )
    return "\n".join(lines)
