"""`tripwright score`: judge a file of plans."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.constraints.facts import Facts
from tripwright.errors import UserError
from tripwright.evals.score import METRICS, ScoredLine, Tally, scored_lines
from tripwright.world.store import World


def score(
    plans: Annotated[Path, typer.Argument(help='JSONL, {"query": …, "plan": …} per line; official plan format or Planner-R1\'s schema.')],
    world: Annotated[Path, typer.Option(help="World folder the plans are judged in.")],
    rules: Annotated[str, typer.Option(help="Rule set: official.")] = "official",
    json_lines: Annotated[bool, typer.Option("--json", help="One JSON object per line and a summary, instead of a table.")] = False,
) -> None:
    """Judge plans: each constraint's verdict, the cost, and TravelPlanner's six metrics.

    A line that is not a query and a plan is named on stderr and counted as not delivered; the others are still judged, and the exit
    code is then 2.

    Examples:
      tripwright score plans.jsonl --world worlds/nano
      tripwright score plans.jsonl --world worlds/real --rules official --json > verdicts.jsonl
    """
    place = World.open(world)
    tally, at_home = Tally(), 0
    for scored in scored_lines(plans, place, rules):
        if not (tally.n or json_lines):
            typer.echo(_HEADER)
        at_home += scored.query is not None and scored.query.org in place.cities
        tally.add(scored.query, scored.verdict)
        if scored.problem:
            typer.echo(f"{plans}: {scored.problem}", err=True)
        typer.echo(json.dumps(scored.to_contract()) if json_lines else _row(scored))
    summary = tally.summary(rules)
    typer.echo(json.dumps(summary) if json_lines else _summary_table(summary))
    if not tally.n:
        raise UserError(f'No plans in \'{plans}\'. Expected a JSONL file with {{"query": …, "plan": …}} per line.')
    if tally.bad_lines:
        raise UserError(f"{plans}: {tally.bad_lines} of {tally.n} lines could not be read (named above); they count as not delivered.")
    if not at_home:
        print(f"warning: no query of '{plans}' starts in a city of world '{place.name}': is it the right world?", file=sys.stderr)


_HEADER = f"{'line':>5}  {'final':<5}  {'sense':>5}  {'hard':>5}  {'cost':>10}  first problem"


def _row(scored: ScoredLine) -> str:
    verdict = scored.verdict
    cost = "-" if verdict.total_cost is None else f"${verdict.total_cost:,.2f}"
    final = "pass" if verdict.final else "fail"
    judged = f"{_passed(verdict.commonsense):>5}  {_passed(verdict.hard):>5}"
    return f"{scored.line:>5}  {final:<5}  {judged}  {cost:>10}  {_first_problem(scored)}".rstrip()


def _passed(facts: Facts | None) -> str:
    judged = [fact.passed for fact in (facts or {}).values() if fact.passed is not None]
    return f"{sum(judged)}/{len(judged)}" if judged else "-"


def _first_problem(scored: ScoredLine) -> str:
    verdict = scored.verdict
    if verdict.error:
        return verdict.error
    if not verdict.delivered:
        return "no plan"
    for facts in (verdict.commonsense, verdict.hard):
        for fact in (facts or {}).values():
            if fact.passed is False:
                return f"{fact.name}: {' '.join(ascii(fact.message)[1:-1].split())}" if fact.message else fact.name
    return ""


def _summary_table(summary: dict[str, Any]) -> str:
    lines = ["", f"{summary['n']} plans, {summary['rules']} rules"]
    for name in METRICS:
        rate = summary[name]
        value = "     -" if rate["value"] is None else f"{rate['value']:6.1%}"
        lines.append(f"  {name.replace('_', ' '):<18} {value}  {rate['numerator']}/{rate['denominator']}")
    return "\n".join(lines)
