"""`tripwright power`: how many queries it takes to see a difference."""

from __future__ import annotations

from tripwright.cli.options import Json, option
from tripwright.cli.table import print_figures
from tripwright.errors import UserError


def power(
    points: float = option(
        5.0, "The difference to be seen, in percentage points.", min=0.01, max=100
    ),
    rate: float = option(0.5, "Pass rate of the worse run, from 0 to 1.", min=0, max=1),
    discordance: float | None = option(
        None, "Share of queries that only one of the two passes, from 0 to 1.", min=0, max=1
    ),
    power: float = option(
        0.8, "Chance of seeing the difference where it is there.", min=0.01, max=0.999
    ),
    as_json: Json = False,
) -> None:
    """Say how many queries it takes to see a difference of some points between two runs.

    On the same queries it depends on the discordance: the share of queries that one run passes and
    the other does not. 'tripwright compare' says it of two runs that were played, with what their
    queries can show.

    Examples:
      tripwright power --points 5 --rate 0.45
      tripwright power --points 2 --rate 0.7 --discordance 0.12 --power 0.9
    """
    from tripwright.evals.power import paired_queries, unpaired_queries

    difference = points / 100
    better = rate + difference
    if better > 1:
        raise UserError(
            f"--rate {rate:g} and --points {points:g} make a pass rate of {better:.0%}."
            " Accepted: at most 100%."
        )
    independent = round(rate * (1 - better) + better * (1 - rate), 9)
    most = round(min(rate + better, 2 - rate - better), 9)  # none passed by both, or by neither
    if discordance is not None and not difference <= discordance <= most:
        accepted = f"accepted from {difference:g}, --points, to {most:g}"
        raise UserError(f"--discordance {discordance:g} at these rates: {accepted}.")
    words = {difference: "the least there can be", independent: "runs with nothing in common"}
    between = (d for d in (0.1, 0.2, 0.3) if difference < d < most)
    shown = {discordance} if discordance else {*words, *between}
    paired = [
        {
            "discordance": each,
            "queries": paired_queries(difference, each, power),
            "words": words.get(each, ""),
        }
        for each in sorted(shown)
    ]
    figures = {"points": points, "rate": rate, "power": power, "paired": paired}
    print_figures({**figures, "unpaired": unpaired_queries(rate, better, power)}, as_json)
