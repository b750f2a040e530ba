"""`tripwright show`: one plan, with its verdict beside what it concerns."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

import typer

from tripwright.cli.options import Restart
from tripwright.domains.travelplanner.plan_view import plan_view
from tripwright.domains.travelplanner.rules.evaluate import RULES, Rules, check_rules, judge
from tripwright.domains.travelplanner.rules.facts import PlanVerdict
from tripwright.domains.travelplanner.scoring.plan_file import PlanEntry, read_plan
from tripwright.domains.travelplanner.scoring.tally import BAD_PLAN
from tripwright.domains.travelplanner.verbs.plan_text import plan_text
from tripwright.errors import UserError, printable
from tripwright.files import check_new, make_parent, write_atomically
from tripwright.runs import transcripts_in
from tripwright.world.store import World


@dataclass(frozen=True, kw_only=True)
class ShowFlags:
    """Which plan is shown, and how."""

    plan: Annotated[
        Path,
        typer.Argument(
            help=(
                'A run folder, a .json file (a plan, or {"query": …, "plan": …}) or a .jsonl file'
                " of plans or transcripts."
            )
        ),
    ]
    world: Annotated[
        Path | None, typer.Option(help="World folder to judge the plan in.", show_default=False)
    ] = None
    rules: Annotated[str, typer.Option(help=f"Rule set: {', '.join(RULES)}.")] = RULES[0]
    line: Annotated[
        str | None,
        typer.Option(
            help=".jsonl: a line number or a transcript's id; the first line if left out."
        ),
    ] = None
    html: Annotated[
        Path | None, typer.Option(help="Also write one self-contained page.", show_default=False)
    ] = None
    restart: Restart = False


def show(
    settings: ShowFlags,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the verdict as JSON, as 'score --json' does.")
    ] = False,
) -> None:
    """Show one plan: each day with its prices, what is wrong beside the day and the item it
    concerns, and the cost against the budget.

    Examples:
      tripwright show plans.jsonl --line 3 --world worlds/real
      tripwright show runs/a --line q000007 --world worlds/nano --rules official
      tripwright show plan.json --world worlds/real --html plan.html
    """
    check_rules(settings.rules)
    plan_file = transcripts_in(settings.plan)
    if settings.html:
        check_new(settings.html, settings.restart, "--html", (plan_file,))
    place = World.open(settings.world) if settings.world else None
    entry = read_plan(plan_file, settings.line, place)
    verdict = _verdict(entry, place, cast(Rules, settings.rules))
    if as_json:
        if verdict is None:
            raise UserError(
                "--json prints a verdict, which needs --world DIR and a plan with its request."
            )
        typer.echo(
            json.dumps(
                verdict.to_contract(
                    int(entry.where.rpartition(":")[2]) if ":" in entry.where else 1
                )
            )
        )
    view = plan_view(entry.query, entry.plan, verdict, _notes(entry, place))
    if settings.html:
        from tripwright.domains.travelplanner.verbs.plan_page import plan_page

        make_parent(settings.html)
        write_atomically(settings.html, plan_page(view, entry.where, place.name if place else None))
        print(f"page: {settings.html}", file=sys.stderr)
    if not as_json:
        typer.echo(plan_text(view, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ))
        if plan_file.suffix == ".jsonl" and settings.line is None:
            print(f"this is {entry.where}; --line N shows another", file=sys.stderr)


def _verdict(entry: PlanEntry, world: World | None, rules: Rules) -> PlanVerdict | None:
    if world is None or entry.query is None:
        return None
    if entry.unreadable:
        return PlanVerdict.undelivered(rules, BAD_PLAN if entry.plan else None)
    return judge(entry.query, entry.plan, world, rules)


def _notes(entry: PlanEntry, world: World | None) -> list[str]:
    notes = list(entry.notes)
    if entry.unreadable:
        notes.append(f"The plan could not be read: {' '.join(entry.unreadable.split())}")
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
