"""`tripwright score`: judge a file of plans, under one rule set or under two at once. Every figure
that people see comes from the summary that `--json` prints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from tripwright.cli.options import Json, argument, option
from tripwright.cli.table import print_figures, problem_lines, rate_cells, table_lines
from tripwright.domains.travelplanner.rules.evaluate import RULES, Rules
from tripwright.domains.travelplanner.rules.facts import FACT_TITLES
from tripwright.domains.travelplanner.scoring.lines import (
    BAD_LINE,
    BAD_PLAN,
    CONTRADICTED,
    NOT_INFERRED,
    UNSCORED,
    QueryFile,
    Split,
    split_size,
)
from tripwright.domains.travelplanner.scoring.score import METRICS, compare_file, score_file
from tripwright.errors import UserError, printable
from tripwright.world.store import World

EXPECTED = 'Expected a JSONL file with {"query": …, "plan": …} per line.'
HEADER = ("line", "final", "sense", "hard", "cost", "first problem")
FEW = 5  # of fewer plans the interval of a rate says nothing
PLACES = "is_valid_information_in_sandbox"  # of a place without a row other rules say less


def score(  # long: most of it is help
    plans: Path = argument(
        'A run folder, JSONL with {"query": …, "plan": …} per line, or one such .json;'
        " official plan format or Planner-R1's schema."
    ),
    world: Path = option(..., "World folder the plans are judged in."),
    rules: Rules | None = option(None, "Rule set.", show_default=RULES[0]),
    queries: Path | None = option(
        None,
        "Requests that the lines name by text or idx, as a submission does; all count.",
        show_default=False,
    ),
    split: Split | None = option(
        None, "Count against the official numbers of a split.", show_default=False
    ),
    compare: tuple[str, str] | None = option(
        None, "Judge under both; show what differs.", metavar="RULES RULES", show_default=False
    ),
    as_json: Json = False,
) -> None:
    """Judge plans: each constraint's verdict, the cost, and TravelPlanner's six metrics.

    Official rates divide by the fixed numbers of the split (without --split: by those of the plans
    given), honest rates by the constraints that exist for the plans given; fewer than five plans
    are shown without rates. Only --queries ties the lines to the requests of a split. A request
    without structured fields is read from its text, and marked as inferred.

    A line that cannot be read is named on stderr and counted as not delivered; the others are still
    judged, and the exit code is then 2. With --queries every request counts once: a second plan for
    one is such a line, and a request without a plan counts as not delivered.

    Plans for a request whose text is not understood are unscored, as are episodes in which our side
    failed: the words are named, the rates leave them out, and above 1% there is a warning and the
    worst case. The exit code is 1 if nothing is scored.

    Examples:
      tripwright score plans.jsonl --world worlds/nano
      tripwright score runs/qwen3 --world worlds/real
      tripwright score plans.jsonl --world worlds/real --rules official --json > verdicts.jsonl
      tripwright score submission.jsonl --world worlds/real --queries validation.jsonl \\
        --split validation
      tripwright score plans.jsonl --world worlds/real --compare official strict
    """
    place = World.open(world)
    requests = QueryFile(queries) if queries else None
    if compare and rules is not None:
        raise UserError("--compare names its two rule sets itself: leave --rules out.")
    if compare:
        *records, summary = compare_file(plans, place, compare, requests, split)
    else:
        *records, summary = score_file(plans, place, rules or RULES[0], requests, split)
    _check_any(plans, records)
    problems = [each["problem"].partition(": ") for each in records if "problem" in each]
    for told in problem_lines(f"{plans}: ", ((line, problem) for line, _, problem in problems)):
        typer.echo(told, err=True)
    if as_json:
        typer.echo("\n".join(map(json.dumps, [*records, summary])))
    elif compare:
        print_figures(_comparison_shown(summary), as_json)
    else:
        typer.echo("\n".join([*table_lines(map(_row, records), "><>>><", HEADER, indent=0), ""]))
        is_few = summary["n"] < FEW and not (requests or split)
        print_figures(_counts(summary) if is_few else _summary_shown(summary), as_json)
        if any(map(_problems, records)):
            which = plans if plans.suffix == ".json" else f"{plans} --line N"
            typer.echo(f"\nMore of a line: tripwright show {which} --world {world}")
    for sentence in _partial(summary, queries):
        typer.echo(sentence, err=True)
    if "warning" in summary:
        typer.echo(f"warning: {summary['warning']}", err=True)
    if problem := _problem(records, split):
        raise UserError(f"{plans}: {problem}")
    if "unscored" in summary and not summary["n"]:
        raise typer.Exit(1)


def _error(record: dict[str, Any]) -> str | None:
    """Under two rule sets, what is wrong with a line is so under each."""
    error: Any = record["error"]
    if isinstance(error, dict):
        error = next(iter(error.values()))
    return str(error) if error is not None else None


def _check_any(plans: Path, records: list[dict[str, Any]]) -> None:
    """A file without a line that can be judged is another kind of file: one sentence says so."""
    if not records:
        raise UserError(f"No plans in '{plans}'. {EXPECTED}")
    if all(
        each.get("problem") and _error(each) not in (BAD_PLAN, NOT_INFERRED, UNSCORED, CONTRADICTED)
        for each in records
    ):
        expected = "" if _error(records[0]) is None else f". {EXPECTED}"  # of another world
        raise UserError(f"{plans}: no line of it can be judged. {records[0]['problem']}{expected}")


def _problem(records: list[dict[str, Any]], split: str | None) -> str | None:
    """Why the figures are not those of the file that was meant."""
    n, errors = len(records), [_error(each) for each in records]
    if bad := sum(error in (BAD_LINE, BAD_PLAN) for error in errors):
        return f"{bad} of {n} lines gave no plan that counts (named above)."
    if off := sum(e is None and "problem" in r for e, r in zip(errors, records, strict=True)):
        return f"{off} of {n} requests are not for this world (named above)."
    if split is not None and n > split_size(split):
        has = f"{n} plans, but the {split} split has {split_size(split)}"
        return f"{has}: the official rates mean nothing."
    return None


# ---- one line of the file


def _row(record: dict[str, Any]) -> list[str]:
    cost = "-" if record["total_cost"] is None else f"${record['total_cost']:,.2f}"
    passed = (_passed(record[group]) for group in ("commonsense", "hard"))
    note = "  (request inferred from its text)" if "inferred" in record else ""
    final = {None: "unscored", True: "pass", False: "fail"}[record["final"]]
    return [str(record["line"]), final, *passed, cost, f"{_first_problem(record)}{note}"]


def _passed(facts: dict[str, Any] | None) -> str:
    states = [each["passed"] for each in (facts or {}).values() if each["passed"] is not None]
    return f"{sum(states)}/{len(states)}" if states else "-"


def _first_problem(record: dict[str, Any]) -> str:
    """A model's words may hold anything; a terminal gets one printable line."""
    if error := record["error"]:
        problem = record.get("problem", "").partition(": ")[2].partition("; the request: ")[0]
        return printable(problem or f"{error}: here the evaluator stops")
    if not record["delivered"]:
        return "no plan"
    if not (failed := _problems(record)):
        return ""
    name = PLACES if PLACES in failed else next(iter(failed))
    message = f": {printable(failed[name])}" if failed[name] else ""
    more = f" (+{len(failed) - 1} more)" if len(failed) > 1 else ""
    return f"{FACT_TITLES[name]}{message}{more}"


def _problems(record: dict[str, Any]) -> dict[str, str]:
    """What failed, with its message."""
    groups = (record.get(name) or {} for name in ("commonsense", "hard", "livable"))
    facts = ((name, fact) for group in groups for name, fact in group.items())
    return {name: fact["message"] for name, fact in facts if fact["passed"] is False}


# ---- summaries


def _partial(summary: dict[str, Any], queries: Path | None) -> Iterator[str]:
    """Said where a file of queries or a split is named and not all of it is answered."""
    if missing := summary.get("unanswered"):
        size = summary["n"] + summary.get("unscored", 0)
        answered = f"{size - missing} of {size} queries of '{queries}' answered"
        yield f"{answered}: {missing} missing count as not delivered."
    if missing := summary.get("missing"):
        split, size = summary["split"], split_size(summary["split"])
        answered = f"{size - missing} of {size} {split} queries answered: {missing} missing count"
        yield f"{answered} as not delivered under the official denominators."


def _counts(summary: dict[str, Any]) -> dict[str, Any]:
    """How many plans and requests, and how they were judged."""
    names = ("n", "unscored", "requests", "unanswered", "rules", "split", "inferred")
    return {name: summary[name] for name in names if summary.get(name)}


def _summary_shown(summary: dict[str, Any]) -> dict[str, Any]:
    """For people: both rates of each metric, and the honest counts of each kind of request."""
    groups = {"all": summary, **summary["by_level"]}
    groups |= {f"{days} days": group for days, group in summary["by_days"].items()}
    groups |= {f"{each} requests": group for each, group in summary.get("by_source", {}).items()}
    tables = {"rates, with 95% intervals": summary}
    tables |= {"worst case": summary["worst_case"]} if "worst_case" in summary else {}
    livable = summary.get("livable_pass_rate")
    return {
        **_counts(summary),
        **({"passes the livable rules": livable} if livable else {}),
        **{
            title: {
                name: {"official": rates[name], "honest": rates["honest"][name]} for name in METRICS
            }
            for title, rates in tables.items()
        },
        "honest counts": {
            name: {metric: rate_cells(group["honest"][metric])[2] for metric in METRICS}
            for name, group in groups.items()
        },
        "constraints": {FACT_TITLES[name]: rate for name, rate in summary["constraints"].items()},
    }


def _comparison_shown(summary: dict[str, Any]) -> dict[str, Any]:
    """For people: what passes under one set of rules alone, in which lines, and an example. What
    was not reached did not fail under the other: its rules stopped before."""
    first, second = summary["rules"]
    gaps = {"final": summary["final"]}
    gaps |= {FACT_TITLES[name]: gap for name, gap in summary["constraints"].items()}
    table, examples = {}, {}
    for name, gap in gaps.items():
        mine, theirs = gap[f"only_{first}"], gap[f"only_{second}"]
        table[name] = {
            first: gap[first],
            second: gap[second],
            "gap": None if gap["gap"] is None else f"{gap['gap']:+.1%}",
            f"only_{first}": mine["n"],
            f"only_{second}": theirs["n"],
            "not_reached": mine["not_reached"] + theirs["not_reached"],
            "lines": [*mine["lines"], *theirs["lines"]],
        }
        if name != "final" and mine["example"]:
            examples[name] = mine["example"]
    shown = {**_counts(summary), f"{first} less {second}": table, "examples": examples}
    return shown | ({"worst case": summary["worst_case"]} if "worst_case" in summary else {})
