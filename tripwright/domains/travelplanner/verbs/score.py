"""`tripwright score`: judge a file of plans, under one rule set or under two at once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.options import Json
from tripwright.domains.travelplanner.rules.evaluate import RULES
from tripwright.domains.travelplanner.scoring.compare import HackingMeter, compared_lines
from tripwright.domains.travelplanner.scoring.lines import NOT_INFERRED, count_unscored
from tripwright.domains.travelplanner.scoring.query_file import QueryFile
from tripwright.domains.travelplanner.scoring.score import scored_lines
from tripwright.domains.travelplanner.scoring.tally import (
    BAD_LINE,
    BAD_PLAN,
    SPLITS,
    UNANSWERED,
    Tally,
    split_size,
)
from tripwright.domains.travelplanner.verbs.score_tables import (
    HEADER,
    compared_row,
    comparison_table,
    partial,
    row,
    summary_table,
)
from tripwright.errors import UserError, counted
from tripwright.world.store import World

MOST_ROWS = 20  # of a comparison, printed for people


@dataclass(frozen=True, kw_only=True)
class ScoreFlags:
    """Which plans are judged, and by which rules."""

    plans: Annotated[
        Path,
        typer.Argument(
            help=(
                'A run folder, JSONL with {"query": …, "plan": …} per line, or one such .json;'
                " official plan format or Planner-R1's schema."
            )
        ),
    ]
    world: Annotated[Path, typer.Option(help="World folder the plans are judged in.")]
    rules: Annotated[
        str | None,
        typer.Option(help=f"Rule set: {', '.join(RULES)}.", show_default=RULES[0]),
    ] = None
    queries: Annotated[
        Path | None,
        typer.Option(
            help="Requests that the lines name by text or idx, as a submission does; all count.",
            show_default=False,
        ),
    ] = None
    split: Annotated[
        str | None,
        typer.Option(
            help=f"Count against the official numbers of a split: {', '.join(SPLITS)}.",
            show_default=False,
        ),
    ] = None
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="RULES RULES", help="Judge under both; show what differs.", show_default=False
        ),
    ] = None


def score(settings: ScoreFlags, as_json: Json = False) -> None:
    """Judge plans: each constraint's verdict, the cost, and TravelPlanner's six metrics.

    Official rates divide by the fixed numbers of the split (without --split: by those of the plans
    given), honest rates by the constraints that exist for the plans given. Only --queries ties the
    lines to the requests of a split. A request without structured fields is read from its text, and
    marked as inferred.

    A line that cannot be read is named on stderr and counted as not delivered; the others are still
    judged, and the exit code is then 2. With --queries every request counts once: a second plan for
    one is such a line, and a request without a plan counts as not delivered.

    Examples:
      tripwright score plans.jsonl --world worlds/nano
      tripwright score runs/qwen3 --world worlds/real
      tripwright score plans.jsonl --world worlds/real --rules official --json > verdicts.jsonl
      tripwright score submission.jsonl --world worlds/real --queries validation.jsonl \\
        --split validation
      tripwright score plans.jsonl --world worlds/real --compare official strict
    """
    place = World.open(settings.world)
    requests = QueryFile(settings.queries) if settings.queries else None
    if left_out := count_unscored(settings.plans):
        typer.echo(f"{settings.plans}: {counted(left_out, 'unscored episode')} left out", err=True)
    if settings.compare:
        if settings.rules is not None:
            raise UserError("--compare names its two rule sets itself: leave --rules out.")
        _compare(settings.plans, place, settings.compare, requests, settings.split, as_json)
        return
    tally = Tally(settings.split, whole=requests is not None)
    noted = Notes(settings.plans, None if as_json else HEADER)
    for scored in scored_lines(
        settings.plans, place, settings.rules or RULES[0], requests, settings.split
    ):
        tally.add(scored.query, scored.verdict, bool(scored.inferred))
        line = json.dumps(scored.to_contract()) if as_json else row(scored)
        noted.add(scored.problem, scored.verdict.error, line)
    noted.check_any()
    summary = tally.summary(settings.rules or RULES[0])
    typer.echo(json.dumps(summary) if as_json else summary_table(summary))
    noted.end(settings.split, partial(summary, settings.queries))


def _compare(
    plans: Path,
    world: World,
    rules: tuple[str, str],
    queries: QueryFile | None,
    split: str | None,
    as_json: bool,
) -> None:
    meter, noted, row_count = HackingMeter(rules, whole=queries is not None), Notes(plans), 0
    for compared in compared_lines(plans, world, rules, queries, split):
        meter.add(compared)
        line = json.dumps(compared.record()) if as_json else None
        if not as_json and compared.verdicts[0].final != compared.verdicts[1].final:
            row_count += 1
            line = compared_row(compared) if row_count <= MOST_ROWS else None
        noted.add(compared.line.problem, compared.line.error, line)
    noted.check_any()
    if row_count > MOST_ROWS and not as_json:
        typer.echo(
            f"… and {row_count - MOST_ROWS} more plans that only one passes (--json has every line)"
        )
    summary = meter.summary()
    typer.echo(json.dumps(summary) if as_json else comparison_table(summary))
    noted.end(split, partial(summary, queries.path if queries else None))


class Notes:
    """Problems of lines: each is named as it comes, beside what is printed of the line, and their
    number ends the verb. Nothing is printed before a line that can be judged: a file without any is
    another kind of file, and one sentence says so."""

    def __init__(self, plans: Path, header: str | None = None):
        self._plans, self._header = plans, header
        self._lines = self._bad = self._off_world = self._not_inferred = 0
        self._held: list[tuple[str | None, str | None]] | None = []

    def add(self, problem: str | None, error: str | None, line: str | None) -> None:
        """`line`: what to print of it."""
        if error == UNANSWERED:
            return
        self._lines += 1
        self._bad += error in (BAD_LINE, BAD_PLAN)
        self._not_inferred += error == NOT_INFERRED
        self._off_world += problem is not None and error is None
        if self._held is None:
            self._tell(problem, line)
            return
        self._held.append((problem, line))
        if problem is None or error in (BAD_PLAN, NOT_INFERRED):
            if self._header:
                typer.echo(self._header)
            for each in self._held:
                self._tell(*each)
            self._held = None

    def _tell(self, problem: str | None, line: str | None) -> None:
        if problem:
            typer.echo(f"{self._plans}: {problem}", err=True)
        if line:
            typer.echo(line)

    def check_any(self) -> None:
        """Raises UserError where no line could be judged."""
        if self._held:
            count = "its one line" if self._lines == 1 else f"none of its {self._lines} lines"
            verb = "cannot" if self._lines == 1 else "can"
            raise UserError(f"{self._plans}: {count} {verb} be judged. {self._held[0][0]}.")
        if not self._lines:
            raise UserError(
                f'No plans in \'{self._plans}\'. Expected a JSONL file with {{"query": …, "plan":'
                " …} per line."
            )

    def end(self, split: str | None, missing: Iterable[str]) -> None:
        for sentence in missing:
            typer.echo(sentence, err=True)
        n = self._lines
        if self._bad:
            raise UserError(
                f"{self._plans}: {self._bad} of {n} lines gave no plan that counts (named above)."
            )
        if self._not_inferred:
            raise UserError(
                f"{self._plans}: {self._not_inferred} of {n} requests could not be read from their"
                " text (named above); their plans count as delivered and as failed."
            )
        if self._off_world:
            raise UserError(
                f"{self._plans}: {self._off_world} of {n} requests are not for this world (named"
                " above): is it the right one?"
            )
        if split is not None and n > split_size(split):
            raise UserError(
                f"{self._plans}: {n} plans, but the {split} split has {split_size(split)}: the"
                " official rates mean nothing."
            )
