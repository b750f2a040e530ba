"""`tripwright request`: make travellers' requests from intents, and measure how hard they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.options import Json, Restart, argument, option, read_levels
from tripwright.cli.table import print_figures
from tripwright.domains.deeptravel.place import live_source
from tripwright.domains.deeptravel.requests import file as request_file
from tripwright.domains.deeptravel.requests.file import proofs_beside, read_requests, write_requests
from tripwright.domains.deeptravel.requests.intents import TripSurvey, request_key
from tripwright.domains.deeptravel.requests.make import (
    LEVELS,
    Constraints,
    RequestScope,
    RequestTally,
    make_requests,
    named_places,
)
from tripwright.domains.place import PlaceOptions
from tripwright.errors import UserError
from tripwright.files import check_folder, check_new, write_json_lines
from tripwright.progress import StatusLine
from tripwright.world.store import World

Requests = Annotated[
    Path, typer.Argument(metavar="REQUESTS.jsonl", help="Requests, as 'request make' writes them.")
]


def make(  # long: most of it is help
    *,
    out: Path = option(..., "JSONL file to write. The proofs go beside it: requests.proofs.jsonl."),
    cities: str | None = option(
        None, "Live: the cities, as 'London,Paris,Berlin'.", show_default=False
    ),
    days: str | None = option(
        None, "Live: days and ranges, as 2026-06-26..2026-07-05,2026-07-11.", show_default=False
    ),
    count: int = option(100, "How many.", min=1),
    constraints: Constraints = option("with", "Personal wishes."),
    levels: str | None = option(
        None,
        "Weights of easy, medium, hard.  [default: with 156:45:299, without 222:78:200,"
        " mixed their sum]",
    ),
    seed: int = option(0, "Equal seeds give equal files.", min=0),
    not_in: list[Path] | None = option(
        None, "Request file whose trips are not repeated. May be given again."
    ),
    restart: Restart = False,
    place: PlaceOptions,
    as_json: Json = False,
) -> None:
    """Make different requests of travellers: atomic intents combined, each request proved to be
    possible, then worded.

    The intents are origin, destination, days or nights, party, means of transport, four times of
    day, two budgets, a hotel or chain, a place to be near, places to visit. The proof is the rows
    of the tools' answers that meet them. No two requests ask for the same.

    Live services are asked within their limits. With --store their answers are kept, so that the
    same command goes on where it was, and 'tripwright run --replay' plays the requests against the
    answers that prove them.

    Examples:
      tripwright request make --world worlds/nano --count 500 --constraints with --seed 1 \\
        --out with.jsonl
      tripwright request make --world worlds/nano --count 500 --constraints without \\
        --not-in with.jsonl --out without.jsonl
      tripwright request make --services live.toml --cities 'London,Paris,Ghent' \\
        --days 2026-06-26..2026-07-05 \\
        --store runs/live.sqlite --snapshot 2026-06-20 --count 40 --out live.jsonl
    """
    weights = read_levels(levels) if levels is not None else None
    check_new(out, restart, inputs=not_in or ())
    excluded = frozenset(
        request_key(request) for path in not_in or () for request in read_requests(path)
    )
    line, scope = StatusLine(log_seconds=5), _scope(cities, days, place)
    with live_source(place) as source:
        closed = source.closed if source.ask is source.closed else None
        survey = TripSurvey(source.ask)

        def report(tally: RequestTally) -> None:
            often = ", ".join(f"{why} {n}" for why, n in tally.rejected.most_common(2))
            more = f", {survey.asked} calls of tools, {tally.rejected.total()} rejected ({often})"
            line.count(tally.levels.total(), count, "requests", more)

        proven, tally = make_requests(
            survey,
            scope,
            count,
            constraints=constraints,
            weights=weights,
            seed=seed,
            excluded=excluded,
            report=report,
        )
    line.end()
    # the proofs first: where there are requests, there are proofs of them
    proofs = proofs_beside(out)
    write_json_lines(proofs, ({"id": request.id, **asdict(proof)} for request, proof in proven))
    write_requests(out, [request for request, _ in proven])
    figures = {
        "out": str(out),
        "proofs": str(proofs),
        **({"world": closed.world.content_hash} if closed else {"services": source.identity}),
        "seed": seed,
        "requests": len(proven),
        "with_wishes": sum(request.constrained for request, _ in proven),
        "levels": {level: tally.levels[level] for level in LEVELS if tally.levels[level]},
        "intents": dict(tally.intents),
        "left_to_a_habit": max(tally.left.values(), default=0),
        "rejected": dict(tally.rejected.most_common()),
        "asked": survey.asked,
        "seconds": round(line.seconds, 2),
    }
    print_figures(figures, as_json, hidden=["services"])


def _scope(cities: str | None, days: str | None, place: PlaceOptions) -> RequestScope:
    if place.world is None or place.services is not None:
        if cities is None or days is None:
            raise UserError(
                "Requests are for --world DIR, or for live services with --cities 'London,Paris,…'"
                " and --days 2026-06-26..2026-06-30."
            )
        return named_places(cities, days)
    if cities is not None or days is not None:
        raise UserError("--cities and --days are of live services; a world has its own.")
    world = World.open(place.world)
    if len(world.cities) < 2 or not world.dates:
        raise UserError(
            f"The world '{world.name}' has {len(world.cities)} cities and {len(world.dates)} days"
            " with flights; requests need 2 and 1."
        )
    return RequestScope.of(world)


# ---- difficulty, review


def difficulty(
    *,
    requests: Requests,
    runs: list[Path] = argument("Run folders, or files of transcripts.", metavar="RUN..."),
    out: Path = option(..., "Folder to write: difficulty.jsonl, sft.jsonl and rl.jsonl."),
    least: int = option(2, "Scored attempts that a request must have to be measured.", min=1),
    share: float = option(
        0.1, "Hard requests among those for SFT, and easy ones among those for RL.", min=0, max=0.5
    ),
    seed: int = option(0, "Of the dice that choose this share.", min=0),
    restart: Restart = False,
    as_json: Json = False,
) -> None:
    """Measure how hard requests are: 1 minus the share of attempts that passed. Easy ones go to
    SFT, hard ones to RL, some the other way.

    Levels become those measured: easy up to a difficulty of 0.25, hard from 0.75 on. Attempts
    without a verdict are not counted.

    Examples:
      tripwright request difficulty requests.jsonl runs/k1 runs/k2 runs/k3 --out staged
      tripwright request difficulty requests.jsonl runs/pool --least 8 --share 0.05 --out staged
    """
    pool = read_requests(requests)
    check_folder(out)
    files = {name: out / f"{name}.jsonl" for name in ("difficulty", "sft", "rl")}
    if out.is_dir():
        for path in files.values():
            check_new(path, restart, inputs=(requests,))
    tried = request_file.measured(pool, request_file.read_attempts(runs), least)
    sft, rl = request_file.staged(pool, tried, share, seed)
    measured = (
        {"id": name, "difficulty": one.difficulty, "attempts": one.attempts, "passed": one.passed}
        for name, one in tried.items()
    )
    write_json_lines(files["difficulty"], measured)
    write_requests(files["sft"], sft)
    write_requests(files["rl"], rl)
    levels = Counter(one.level for one in tried.values())
    figures = {
        "requests": len(pool),
        "measured": len(tried),
        "levels": {level: levels[level] for level in LEVELS if levels[level]},
        "sft": len(sft),
        "rl": len(rl),
        "not_measured": len(pool) - len(tried),
        "out": str(out),
    }
    print_figures(figures, as_json)
