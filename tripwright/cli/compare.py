"""`tripwright compare`: runs against each other on the queries that all of them played."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any

from tripwright.cli.options import Json, argument, check_folders, flag, option
from tripwright.cli.table import print_figures
from tripwright.domains import fact_title, own_names
from tripwright.errors import UserError, counted

MARK = "*"
HEADLINE = "final"
TEXT_CHARACTERS = 70


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
    print_figures(comparison if as_json else _shown(comparison, listed), as_json)


def _shown(comparison: Mapping[str, Any], listed: int) -> dict[str, Any]:
    """For people: figures and differences as texts, `listed` queries of each kind."""
    from tripwright.evals.report.sections import TABLES

    base, unlike = comparison["baseline"], " (NOT ALIKE)" if comparison["unlike"] else ""
    facts = ("queries", "rules", "rejudged", "left_out", "unlike", "notes")
    shown = {name: comparison[name] for name in facts if comparison[name]}
    shown["runs"] = {
        run["name"]: {name: run[name] for name in ("episodes", "unscored", "folders")}
        for run in comparison["runs"]
    }
    for table, rows in comparison["tables"].items():
        shown[TABLES.get(table, f"Final pass by {table}") + unlike] = {
            fact_title(name) if table == "constraints" else name: _row(row, base, name)
            for name, row in rows.items()
        }
    if pairs := comparison["pairs"]:
        shown[f"final pass, every two runs{unlike}"] = {
            f"{pair['b']} - {pair['a']}": {
                "difference, p (Holm)": _difference(pair),
                "gained": pair["gained"],
                "lost": pair["lost"],
            }
            for pair in pairs
        }
    for name, seeds in comparison.get("seeds", {}).items():
        shown[f"seeds of {name}"] = seeds
    for name, changed in comparison["changed"].items():
        for kind, queries in changed.items():
            title = f"{name} against {base}: {counted(len(queries), 'query')} {kind}"
            shown[title] = [
                {
                    **query,
                    "text": shorten(query["text"], TEXT_CHARACTERS, placeholder="…"),
                    "before": f"{query['before'][0]} of {query['before'][1]} passed",
                    "after": f"{query['after'][0]} of {query['after'][1]} passed",
                }
                for query in queries[:listed]
            ] or ("not listed" if queries else "none")
    powers = comparison["power"].items()
    shown["power, in points"] = {
        f"{name} against {base}": {
            k: 100 * v if isinstance(v, float) else v for k, v in row.items()
        }
        for name, row in powers
    }
    shown |= {"WORST CASE": comparison["worst_case"]} if "worst_case" in comparison else {}
    return shown


def _row(row: Mapping[str, Any], base: str, name: str) -> dict[str, str]:
    """Every run's figure, then its difference from the first. The headline's difference and its p
    stand once, in the table of every two runs."""
    return {
        **{run: _figure(figure) for run, figure in row["runs"].items()},
        **{
            f"{run} - {base}": "below" if name == HEADLINE else _difference(figure)
            for run, figure in row["differences"].items()
        },
    }


def _figure(record: Mapping[str, Any]) -> str:
    from tripwright.evals.report.markup import estimate, shown, shown_interval

    figure = estimate(record)
    return "-" if figure is None else f"{shown(figure)} [{shown_interval(figure)}]"


def _difference(record: Mapping[str, Any]) -> str:
    """With Holm's p."""
    from tripwright.evals.report.markup import Difference

    change = Difference.of(record)
    if change is None:
        return "-"
    return f"{change.words} [{change.interval}] {change.p}{MARK if change.sure else ''}"
