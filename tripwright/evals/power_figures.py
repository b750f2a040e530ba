"""How many queries it takes to see a difference, from numbers that are given or from two runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tripwright.errors import UserError
from tripwright.evals.comparison_record import compare_folders
from tripwright.evals.power import (
    MOST_EXACT,
    Scatter,
    independent_discordance,
    most_discordance,
    paired_power,
    paired_queries_exact,
    unpaired_queries,
)

SHOWN_DISCORDANCES = (0.1, 0.2, 0.3)


def power_from_numbers(
    difference: float,
    rate: float,
    discordance: float | None,
    power: float,
    alpha: float,
    queries: int | None,
) -> dict[str, Any]:
    better = rate + difference
    if better > 1:
        raise UserError(
            f"--rate {rate:g} and --points {100 * difference:g} make a pass rate of {better:.0%}."
            " Accepted: at most 100%."
        )
    most, independent = most_discordance(rate, better), independent_discordance(rate, better)
    if discordance is not None and not difference <= discordance + 1e-12 <= most + 2e-12:
        accepted = f"accepted from {difference:g} to {most:g}"
        raise UserError(
            f"--discordance {discordance:g} cannot be at pass rates of {rate:.1%} and {better:.1%}:"
            f" {accepted}."
        )
    discordances = [
        difference,
        *(d for d in SHOWN_DISCORDANCES if difference < d < most),
        independent,
    ]
    paired = []
    for each in sorted(
        {max(difference, d) for d in (discordances if discordance is None else [discordance])}
    ):
        if queries is None:
            n, reached = paired_queries_exact(difference, each, power, alpha)
        else:
            n, reached = queries, _power_of(queries, difference, each, alpha)
        words = {
            difference: "the least there can be",
            independent: "two runs that have nothing in common",
        }.get(each, "")
        paired.append({"discordance": each, "queries": n, "power": reached, "words": words})
    unpaired = None if queries is not None else unpaired_queries(rate, better, power, alpha)
    return {
        "points": 100 * difference,
        "rate": rate,
        "power": power,
        "alpha": alpha,
        "paired": paired,
        "unpaired": unpaired,
    }


def _power_of(queries: int, difference: float, discordance: float, alpha: float) -> float:
    if queries > MOST_EXACT:
        raise UserError(
            f"--count {queries} is too many for an exact power. Accepted: up to {MOST_EXACT}."
        )
    return paired_power(queries, difference, discordance, alpha)


def power_from_runs(
    runs: list[Path], difference: float, power: float, alpha: float
) -> dict[str, Any]:
    if len(runs) != 2:
        raise UserError(
            f"The discordance is that of two runs, found {len(runs)}. Give two run folders, or none"
            " and --rate."
        )
    compared = compare_folders([[folder] for folder in runs], apart=True)
    pair = next(iter(compared["power"].values()), None)
    if pair is None:
        raise UserError(
            "The two runs pass the same queries: how far they scatter cannot be learned from them."
            " Give --rate and --discordance."
        )
    scatter = Scatter(**pair["scatter"])
    least_difference = scatter.detectable(power, alpha)
    return {
        "points": 100 * difference,
        "power": power,
        "alpha": alpha,
        "runs": [run["name"] for run in compared["runs"]],
        "queries_played": compared["queries"],
        **pair["scatter"],
        "detectable_points": None if least_difference is None else 100 * least_difference,
        "queries": scatter.needed(difference, power, alpha),
    }
