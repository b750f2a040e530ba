"""`tripwright show`: one plan, with its verdict beside what it concerns."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import typer

from tripwright.cli.options import argument, option
from tripwright.domains.desk import PlanPart, TripView
from tripwright.domains.travelplanner.plan.plan import PlaceKind
from tripwright.domains.travelplanner.plan_view import costs_by_kind, plan_view, usd, verdict_words
from tripwright.domains.travelplanner.query import why_elsewhere
from tripwright.domains.travelplanner.rules.evaluate import BY_ROWS, RULES, Rules
from tripwright.domains.travelplanner.rules.livable import timetable
from tripwright.domains.travelplanner.rules.lookup import rows_of_city
from tripwright.domains.travelplanner.rules.strict_reading import StrictPlan
from tripwright.domains.travelplanner.rules.strict_reading import read_plan as read_strictly
from tripwright.domains.travelplanner.scoring.lines import PlanLine, read_plan
from tripwright.domains.travelplanner.scoring.score import judge_line
from tripwright.errors import printable
from tripwright.runs import transcripts_in
from tripwright.verdict import State, Verdict
from tripwright.world.records import did_you_mean
from tripwright.world.store import World

SIGNS = {State.PASSED: "✓", State.FAILED: "✗", State.NOT_APPLICABLE: "–", State.NOT_EVALUATED: "–"}
KIND_OF: dict[str, PlaceKind] = {"attraction": "attraction", "accommodation": "accommodation"}
ASIDE = {State.NOT_APPLICABLE: ": not asked for", State.NOT_EVALUATED: ": not evaluated"}


def show(  # long: most of it is help
    plan: Path = argument(
        'A run folder, a .json file (a plan, or {"query": …, "plan": …}) or a .jsonl file'
        " of plans or transcripts."
    ),
    world: Path | None = option(None, "World folder to judge the plan in.", show_default=False),
    rules: Rules = option("strict", "Rule set."),
    line: str | None = option(
        None,
        ".jsonl: a line number (of a run: its request's in the queries) or a transcript's id; the"
        " first line if left out.",
    ),
) -> None:
    """Show one plan: each day with its prices, what is wrong beside the day and the item it
    concerns, and the cost against the budget.

    Examples:
      tripwright show plans.jsonl --line 3 --world worlds/real
      tripwright show runs/a --line q000007 --world worlds/nano --rules official
      tripwright show plan.json --world worlds/real
    """
    plan_file = transcripts_in(plan)
    place = World.open(world) if world else None
    entry = read_plan(plan_file, line, place)
    verdict = judge_line(entry, place, rules) if place and entry.query else None
    hours, notes = None, _notes(entry, place)
    if place and entry.query and verdict and rules in BY_ROWS:
        read = read_strictly(entry.query, entry.plan, place)
        hours = timetable(read) if verdict.final else None
        notes += dict.fromkeys(_meant(read))
    view = plan_view(entry.query, entry.plan, verdict, notes, hours)
    typer.echo(plan_text(view, verdict))
    if plan_file.suffix == ".jsonl" and line is None:
        print(f"this is {plan_file}:{entry.number}; --line N shows another", file=sys.stderr)


def _notes(entry: PlanLine, world: World | None) -> list[str]:
    notes = []
    if entry.inferred:
        notes.append(f"Read from the request's text: {', '.join(entry.inferred)}.")
    if entry.problem:
        notes.append(f"The plan could not be read: {printable(entry.problem)}")
    if entry.query is None:
        notes.append('Not judged: it holds no trip request. Expected {"query": …, "plan": …}.')
    elif world is None:
        notes.append(
            f"Not judged: add --world DIR, and --rules {', '.join(RULES[:-1])} or {RULES[-1]}."
        )
    elif wrong := why_elsewhere(entry.query, world):
        notes.append(printable(wrong))
    return notes


def _meant(plan: StrictPlan) -> Iterator[str]:
    """Of each place that its city does not have, the name that was probably meant."""
    for place in (each for day in plan.days for each in day.places()):
        if place.city is not None and not place.rows:
            kind = KIND_OF.get(place.field, "restaurant")
            names = (row.name for row in rows_of_city(plan.world, kind, place.city))
            if near := did_you_mean(place.text, names):
                yield f"{printable(place.text)}: no such place.{near}"


# ---- text for a terminal


def plan_text(view: TripView, verdict: Verdict | None = None) -> str:
    """Prices stand before the names, in a column of their own: names of wide characters or of any
    length then push nothing out of place."""
    lines = [view.title]
    if verdict:
        lines.append(f"{'✓' if view.passed else '✗'} {verdict_words(verdict)}")
    lines += view.notes
    is_judged = any(check.group == "commonsense" for check in view.checks)
    for part in view.parts:
        lines += ["", *_day(part, is_judged, view.cost is not None)]
    if view.cost is not None:
        by_kind = costs_by_kind(verdict).items()
        lines += ["", "Costs", *(f"  {kind:<12} {usd(cost):>11}" for kind, cost in by_kind)]
        lines.append(_total(view.cost, view.budget))
    for group, checks in groupby(view.checks, key=attrgetter("group")):
        lines += ["", f"{group.capitalize()} constraints"]
        for check in checks:
            state = State(check.state)
            lines.append(f"  {SIGNS[state]} {check.title}{ASIDE.get(state, '')}")
            if state is State.FAILED:
                lines += [f"      {detail}" for detail in check.details]
    return "\n".join(lines)


def _day(part: PlanPart, is_judged: bool, priced: bool) -> list[str]:
    title = f"{part.title} {part.date or ''}".rstrip()
    if part.remarks or any(item.remarks for item in part.items):
        title = f"✗ {title}"
    elif is_judged and part.items and part.date:
        title = f"✓ {title}"
    cost = f"  {usd(part.cost)}" if part.cost is not None else ""
    lines = [f"{title}  {part.where}{cost}"]
    lines += [f"    ✗ {remark}" for remark in part.remarks]
    timed = any(item.starts for item in part.items)
    for item in part.items:
        price = "" if item.cost is None else usd(item.cost)
        count = f"  ({item.count})" if item.count else ""
        prices = f"{price:>11}  " if priced else ""
        hour = f"{(item.starts or '')[11:]:<6}" if timed else ""
        lines.append(f"  {item.label:<9} {prices}{hour}{item.text}{count}")
        lines += [f"  {'':<9} {' ' * len(prices)}✗ {remark}" for remark in item.remarks]
    return lines


def _total(cost_usd: float, budget_usd: float | None) -> str:
    within = "– the request states no budget"
    if budget_usd is not None:
        left, budget = budget_usd - cost_usd, usd(budget_usd)
        within = f"✓ {usd(left)} of {budget} left"
        if left < 0:
            within = f"✗ {usd(-left)} over the budget of {budget}"
    return f"  {'total':<12} {usd(cost_usd):>11}  {within}"
