"""`tripwright compare`: runs against each other on the queries that all of them played."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from tripwright.cli.options import Json, argument, check_folders, flag, option
from tripwright.cli.table import table_lines
from tripwright.domains import fact_title, own_names
from tripwright.errors import UserError, counted

TITLES = {
    "metrics": "metrics",
    "samples": "several samples of a query",
    "constraints": "constraints, share of the answers they apply to",
}
MARK = "*"
HEADLINE = "final"
DIFFERENCE = "difference, p (Holm)"
SMALLEST_SHOWN = 0.0001
TEXT_CHARACTERS = 70
UNMARKED = ("id", "text", "before", "after")  # what a changed query has beside its marks


def compare(
    runs: list[str] = argument(
        "Run folders; the first is what the others are compared with.", metavar="RUN..."
    ),
    rejudge: str | None = option(
        None,
        f"Judge all plans anew: {own_names('judge.rules')}. Needs --world.",
        metavar="RULES",
    ),
    world: Path | None = option(None, "With --rejudge: the world that the runs were played in."),
    unlike: bool = flag(
        "--unlike", "Compare runs that differ in more than their policy, and say so."
    ),
    apart: bool = flag("--apart", "Do not take runs that differ only by their seed for one group."),
    listed: int = option(
        10, "Queries gained and lost that are listed.", "--count", metavar="N", min=0
    ),
    as_json: Json = False,
) -> None:
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
    if (rejudge is None) != (world is None):
        raise UserError(
            "--rejudge RULES and --world DIR go together: plans are judged anew in the world that"
            " they were made for."
        )
    folders = [[Path(each) for each in run.split(",") if each] for run in runs]
    check_folders([each for several in folders for each in several])
    from tripwright.domains import domains, open_worlds
    from tripwright.evals.comparison import compare_folders

    names = dict.fromkeys(rules for domain in domains().values() for rules in domain.judge.rules)
    if rejudge is not None and rejudge not in names:
        raise UserError(f"Unknown rules '{rejudge}'. Available: {', '.join(names)}.")
    with open_worlds([] if world is None else [world]) as places:
        comparison = compare_folders(folders, unlike, rejudge, places[0] if places else None, apart)
    typer.echo(json.dumps(comparison) if as_json else comparison_text(comparison, listed))


def comparison_text(comparison: Mapping[str, Any], listed: int) -> str:
    """`listed` queries of each kind are named."""
    base, unlike = comparison["baseline"], " (NOT ALIKE, see above)" if comparison["unlike"] else ""
    parts = [_heading(comparison)]
    for table, rows in comparison["tables"].items():
        title = TITLES.get(table, f"final pass by {table}")
        parts.append([title + unlike, *_table(rows, base, table)])
    if comparison["pairs"]:
        rows = [
            [
                f"{pair['b']} - {pair['a']}",
                _difference(pair),
                str(pair["gained"]),
                str(pair["lost"]),
            ]
            for pair in comparison["pairs"]
        ]
        lines = table_lines(rows, "<<>", ["", DIFFERENCE, "gained", "lost"])
        parts.append([f"final pass, every two runs{unlike}", *lines])
    for name, seeds in comparison.get("seeds", {}).items():
        each = ", ".join(f"{run['final']:.1%} (seed {run['seed']})" for run in seeds["runs"])
        deviation = f"standard deviation {100 * seeds['deviation']:.1f} points"
        parts.append([f"seeds of {name}: {each}; mean {seeds['mean']:.1%}, {deviation}"])
    for name, changed in comparison["changed"].items():
        parts.append(_changed(f"{name} against {base}", changed, listed))
    for name, power in comparison["power"].items():
        parts.append([_power(f"{name} against {base}", power, comparison["queries"])])
    if "worst_case" in comparison:
        parts.append(_worst(comparison["worst_case"]))
    closing = "Brackets: 95% intervals, each for itself alone."
    if comparison["pairs"]:
        closing += (
            f" {MARK} significant: p < 0.05 after Holm's correction over the table."
            " --json has every p before the correction too."
        )
    parts.append([closing])
    return "\n\n".join("\n".join(lines) for lines in parts)


def _heading(comparison: Mapping[str, Any]) -> list[str]:
    from tripwright.evals.scoreboard import judged_by

    by = judged_by(comparison["rules"])
    anew = ", judged anew" if comparison["rejudged"] else ""
    lines = [f"{counted(comparison['queries'], 'query')} that all of them played, {by}{anew}"]
    for run in comparison["runs"]:
        unscored = f", {run['unscored']:,} unscored" if run["unscored"] else ""
        episodes = f"{counted(run['episodes'], 'episode')}{unscored}"
        lines.append(f"  {run['name']}: {episodes}  ({', '.join(run['folders'])})")
    if comparison["left_out"]:
        queries = counted(comparison["left_out"], "query")
        lines.append(f"  left out, as not all of them have it: {queries}")
    lines += [f"  NOT ALIKE: {phrase}" for phrase in comparison["unlike"]]
    return [*lines, *(f"  note: {note}" for note in comparison["notes"])]


def _table(rows: Mapping[str, Any], base: str, table: str) -> list[str]:
    """Every run's figure, then its difference from the first. The headline's difference and its p
    stand once, in the table of every two runs."""
    body, header = [], [""]
    for name, row in rows.items():
        header = ["", *row["runs"], *(f"{other} - {base}" for other in row["differences"])]
        body.append(
            [
                fact_title(name) if table == "constraints" else name,
                *map(_figure, row["runs"].values()),
                *(
                    "below" if name == HEADLINE else _difference(d)
                    for d in row["differences"].values()
                ),
            ]
        )
    return table_lines(body, header=header)


def _figure(figure: Mapping[str, Any]) -> str:
    if figure["kind"] == "mean":
        return f"{figure['value']:.4g}{_interval(figure, '.4g', 1)}"
    return f"{figure['value']:.1%}{_interval(figure, '.1f', 100)}"


def _interval(figure: Mapping[str, Any], form: str, scale: float) -> str:
    if figure["low"] is None:
        return ""
    return f" [{scale * figure['low']:{form}}, {scale * figure['high']:{form}}]"


def _difference(figure: Mapping[str, Any]) -> str:
    """In points or units, with Holm's p: "≤" where the draws were too few to give a smaller one."""
    form, scale = ("+.4g", 1) if figure["kind"] == "mean" else ("+.1f", 100)
    p = figure["p_holm"]
    shown = f"{'≤ ' if figure['p_is_bound'] and p < 1 else ''}{p:.2g}"
    shown = f"< {SMALLEST_SHOWN:.4f}" if p < SMALLEST_SHOWN else shown
    mark = MARK if figure["significant"] else ""
    return f"{scale * figure['value']:{form}}{_interval(figure, form, scale)} p {shown}{mark}"


def _changed(
    title: str, changed: Mapping[str, Sequence[Mapping[str, Any]]], listed: int
) -> list[str]:
    from tripwright.evals.outcome import mark_words

    gained, lost = changed["gained"], changed["lost"]
    lines = [f"{title}: {counted(len(gained), 'query')} gained, {len(lost)} lost"]
    for kind, queries in changed.items():
        rows = []
        for query in queries[:listed]:
            before, after = ("/".join(map(str, query[when])) for when in ("before", "after"))
            marks = {key: value for key, value in query.items() if key not in UNMARKED}
            text, about = query["text"], ", ".join(mark_words(marks)) or "-"
            text = text if len(text) <= TEXT_CHARACTERS else f"{text[:TEXT_CHARACTERS]}…"
            rows.append([kind, query["id"], f"{before} to {after}", about, text])
        lines += table_lines(rows)
        if (more := len(queries) - listed) > 0 and listed:
            lines.append(f"  and {more} more {kind} (--count {len(queries)}, or --json)")
    return lines


def _power(title: str, power: Mapping[str, Any], queries: int) -> str:
    seen, needed, points = power["detectable"], power["queries"], f"{100 * power['points']:.0f}"
    difference = "no difference that there can be"
    more = f"queries that differ so little cannot make {points} points"
    if seen is not None:
        difference = f"a difference of {100 * seen:.1f} points"
    if needed is not None:
        more = f"{points} points would take {needed:,}"
    differ = f"power, {title}: {power['discordance']:.1%} of the queries differ"
    return f"{differ}; {queries:,} queries show {difference} with power 80%; {more}"


def _worst(worst: Mapping[str, Any]) -> list[str]:
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
    return lines
