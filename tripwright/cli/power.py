"""`tripwright power`: how many queries it takes to see a difference."""

from __future__ import annotations

from pathlib import Path

from tripwright.cli.options import Json, argument, check_folders, option
from tripwright.cli.table import print_figures
from tripwright.errors import UserError


def power(
    runs: list[Path] | None = argument(
        "Two runs to learn the discordance from.", metavar="[RUN_A RUN_B]", default=None
    ),
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
    alpha: float = option(0.05, "Chance of seeing one where there is none.", min=0.0001, max=0.5),
    count: int | None = option(None, "Say the power of so many queries instead.", min=1, max=4000),
    as_json: Json = False,
) -> None:
    """Say how many queries it takes to see a difference of some points between two runs.

    On the same queries it depends on the discordance: the share of queries that one run passes and
    the other does not. Before a run, give numbers, for one sample per query. After a first one,
    give two run folders: then it is theirs, with as many samples as they have. Where their queries
    differ too little to make such a difference, no number of queries is said.

    Examples:
      tripwright power --points 5 --rate 0.45
      tripwright power --points 2 --rate 0.7 --discordance 0.12 --power 0.9
      tripwright power --points 5 --rate 0.45 --discordance 0.2 --count 300
      tripwright power runs/cold_start runs/grpo --points 3
    """
    check_folders(runs or [])
    from tripwright.evals.comparison import compare_folders
    from tripwright.evals.power import power_from_numbers, power_from_runs

    if runs and len(runs) != 2:
        raise UserError(
            f"The discordance is that of two runs, found {len(runs)}. Give two run folders, or none"
            " and --rate."
        )
    difference = points / 100
    if runs:
        compared = compare_folders([[folder] for folder in runs], apart=True)
        figures = power_from_runs(compared, difference, power, alpha)
    else:
        figures = power_from_numbers(difference, rate, discordance, power, alpha, count)
    print_figures(figures, as_json)
