"""`tripwright show`: one plan, with its verdict beside what it concerns."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import typer

from tripwright.cli.options import argument, flag, option
from tripwright.domains.travelplanner.plan_view import (
    DayView,
    PlanView,
    budget_words,
    fact_details,
    plan_view,
    usd,
    verdict_words,
)
from tripwright.domains.travelplanner.rules.evaluate import RULES, Rules
from tripwright.domains.travelplanner.rules.facts import fact_words
from tripwright.domains.travelplanner.scoring.lines import PlanLine, read_plan
from tripwright.domains.travelplanner.scoring.score import judge_line, score_line
from tripwright.errors import UserError, printable
from tripwright.runs import transcripts_in
from tripwright.verdict import State
from tripwright.world.store import World

SIGNS = {State.PASSED: "✓", State.FAILED: "✗", State.NOT_APPLICABLE: "–", State.NOT_EVALUATED: "–"}
ASIDE = {State.NOT_APPLICABLE: ": not asked for", State.NOT_EVALUATED: ": not evaluated"}
_COLOURS = {"✓": "32", "✗": "31", "–": "2"}


@dataclass(frozen=True)
class ShowFlags:
    """Which plan is shown, and how."""

    plan: Path = argument(
        'A run folder, a .json file (a plan, or {"query": …, "plan": …}) or a .jsonl file'
        " of plans or transcripts."
    )
    world: Path | None = option(None, "World folder to judge the plan in.", show_default=False)
    rules: Rules = option("strict", "Rule set.")
    line: str | None = option(
        None, ".jsonl: a line number or a transcript's id; the first line if left out."
    )


def show(
    settings: ShowFlags,
    as_json: bool = flag("--json", "Print the verdict as JSON, as 'score --json' does."),
) -> None:
    """Show one plan: each day with its prices, what is wrong beside the day and the item it
    concerns, and the cost against the budget.

    Examples:
      tripwright show plans.jsonl --line 3 --world worlds/real
      tripwright show runs/a --line q000007 --world worlds/nano --rules official
      tripwright show plan.json --world worlds/real
    """
    plan_file = transcripts_in(settings.plan)
    place = World.open(settings.world) if settings.world else None
    entry = read_plan(plan_file, settings.line, place)
    verdict = judge_line(entry, place, settings.rules) if place and entry.query else None
    if as_json:
        if verdict is None:
            needed = "--world DIR and a plan with its request"
            raise UserError(f"--json prints a verdict, which needs {needed}.")
        typer.echo(json.dumps(score_line(entry.number, verdict)))
    else:
        view = plan_view(entry.query, entry.plan, verdict, _notes(entry, place))
        typer.echo(plan_text(view, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ))
        if plan_file.suffix == ".jsonl" and settings.line is None:
            print(f"this is {plan_file}:{entry.number}; --line N shows another", file=sys.stderr)


def _notes(entry: PlanLine, world: World | None) -> list[str]:
    notes = []
    if entry.inferred:
        notes.append(f"Read from the request's text: {', '.join(entry.inferred)}.")
    if entry.problem:
        notes.append(f"The plan could not be read: {printable(entry.problem)}")
    if entry.query is None:
        notes.append(
            'Not judged: the file holds no trip request. Expected {"query": …, "plan": …}.'
        )
    elif world is None:
        notes.append(
            f"Not judged: add --world DIR, and --rules {', '.join(RULES[:-1])} or {RULES[-1]}."
        )
    elif entry.query.org not in world.cities:
        notes.append(
            f"'{printable(entry.query.org)}' is no city of world '{world.name}':"
            " is it the right world?"
        )
    return notes


# ---- text for a terminal


Sign = Callable[[str, str], str]  # (sign, words) → a piece of a line


def plan_text(view: PlanView, colour: bool = False) -> str:
    """Prices stand before the names, in a column of their own: names of wide characters or of any
    length then push nothing out of place."""

    def sign(which: str, words: str) -> str:
        text = f"{which} {words}"
        return f"\x1b[{_COLOURS[which]}m{text}\x1b[0m" if colour else text

    lines = [view.request]
    if view.verdict:
        lines.append(sign("✓" if view.verdict.final else "✗", verdict_words(view.verdict)))
    lines += view.notes
    for day in view.days:
        lines += ["", *_day(day, bool(view.by_kind), sign)]
    if view.by_kind:
        lines += ["", "Costs", *_costs(view, sign)]
    for group in view.verdict.groups[1:] if view.verdict else ():
        lines += ["", f"{group.name.capitalize()} constraints"] if group.facts else []
        for fact in (group.facts or {}).values():
            lines.append(
                f"  {sign(SIGNS[fact.state], fact_words(fact) + ASIDE.get(fact.state, ''))}"
            )
            if fact.passed is False:
                lines += [f"      {detail}" for detail in fact_details(fact)]
    return "\n".join(lines)


def _day(day: DayView, priced: bool, sign: Sign) -> list[str]:
    title = sign(day.sign, day.title) if day.sign else day.title
    cost = f"  {usd(day.cost_usd)}" if day.cost_usd is not None else ""
    lines = [f"{title}  {day.city}{cost}"]
    lines += [f"    {sign('✗', remark)}" for remark in day.remarks]
    for line in day.lines:
        price = "" if line.cost_usd is None else usd(line.cost_usd)
        count = f"  ({line.count})" if line.count else ""
        prices = f"{price:>11}  " if priced else ""
        lines.append(f"  {line.label:<9} {prices}{line.text}{count}")
        lines += [f"  {'':<9} {' ' * len(prices)}{sign('✗', remark)}" for remark in line.remarks]
    return lines


def _costs(view: PlanView, sign: Sign) -> list[str]:
    lines = [f"  {kind:<12} {usd(cost):>11}" for kind, cost in view.by_kind.items()]
    total = view.verdict.details["total_cost"] if view.verdict else None
    if total is not None:
        lines.append(
            f"  {'total':<12} {usd(total):>11}  {sign(*budget_words(total, view.budget_usd))}"
        )
    return lines
