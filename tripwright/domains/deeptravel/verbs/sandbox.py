"""`tripwright sandbox`: what a store of live answers holds, a new day asked anew, and a day as a
file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.options import Json, option
from tripwright.cli.table import print_figures
from tripwright.domains.deeptravel.sandbox import sandbox as snapshots
from tripwright.domains.deeptravel.sandbox.provider import load_services
from tripwright.domains.deeptravel.sandbox.sandbox import (
    Sandbox,
    check_recorded,
    checked_day,
)
from tripwright.domains.deeptravel.sandbox.store import opened_store
from tripwright.progress import StatusLine

StoreName = Annotated[str, typer.Option("--store", help="A SQLite file.")]
Day = Annotated[
    str, typer.Option("--snapshot", metavar="DAY", help="The day, for instance 2026-06-20.")
]


def info(
    store: StoreName,
    snapshot: str | None = option(None, "Only this day.", metavar="DAY", show_default=False),
    as_json: Json = False,
) -> None:
    """Say what a store holds: days, answers by tool and vendor, and each day's content hash.

    Equal hashes are equal answers, byte for byte, whichever store they are in.

    Examples:
      tripwright sandbox info --store runs/live.sqlite
      tripwright sandbox info --store runs/live.sqlite --snapshot 2026-06-20 --json
    """
    with opened_store(store, create=False) as answer_store:
        days = [snapshot] if snapshot else answer_store.days()
        found = [asdict(snapshots.describe(answer_store, day)) for day in days]
    print_figures({"store": answer_store.name, "snapshots": found}, as_json)


DAILY = ", ".join(snapshots.DAILY)


def refresh_day(
    store: StoreName,
    from_day: str = option(
        ..., "The day whose questions are asked again.", "--from", metavar="DAY"
    ),
    to_day: str = option(..., "The new day.", "--to", metavar="DAY"),
    services: Path = option(..., "The TOML file that says which vendor answers which tool."),
    tool: list[str] | None = option(
        None, f"Ask these again; the others are copied. Default: {DAILY}."
    ),
    threads: int = option(
        8, "Questions under way at once; each vendor's limit holds for all.", min=1, max=64
    ),
    as_json: Json = False,
) -> None:
    """Ask every flight, train and hotel question of one day again and keep the answers as a new
    day.

    Answers of other tools are copied, so that the new day is whole. Stopped at any moment, the same
    command goes on where it was. Exit code 1 if a vendor left questions unanswered: run it again
    later.

    Examples:
      tripwright sandbox refresh --store runs/live.sqlite --from 2026-06-20 --to 2026-06-21 \\
        --services live.toml
      tripwright sandbox refresh --store runs/live.sqlite --from 2026-06-20 --to 2026-06-21 \\
        --services live.toml --tool flight_search
    """
    with opened_store(store, create=False) as answer_store:
        sandbox = Sandbox(load_services(services), answer_store, to_day)
        line = StatusLine()

        def show(counts: snapshots.RefreshCounts) -> None:
            unanswered = f", {counts.unanswered.total():,} unanswered"
            line.count(counts.done, counts.questions, "questions", unanswered)

        try:
            counts = snapshots.refresh(sandbox, from_day, tool or snapshots.DAILY, threads, show)
        finally:
            line.end()
    figures = {
        "store": answer_store.name,
        "from": from_day,
        "to": to_day,
        **asdict(counts),
        "calls": sandbox.counts.as_dict(),
    }
    print_figures(figures, as_json, hidden=["calls"])
    if counts.unanswered:
        raise typer.Exit(1)


def export_day(
    store: StoreName,
    snapshot: Day,
    out: str = option(..., "The file, for instance 2026-06-20.sqlite."),
    as_json: Json = False,
) -> None:
    """Copy one day into a file, which is a store to replay from, or into a store that is there: all
    of the day or nothing, after checking every answer.

    Examples:
      tripwright sandbox export --store runs/live.sqlite --snapshot 2026-06-20 \\
        --out 2026-06-20.sqlite
      tripwright sandbox export --store 2026-06-20.sqlite --snapshot 2026-06-20 \\
        --out runs/other.sqlite
    """
    with opened_store(store, create=False) as source:
        check_recorded(source, checked_day(snapshot))  # before a file is made
        with opened_store(out, create=True) as target:
            print_figures(asdict(snapshots.copy_day(source, snapshot, target)), as_json)
