"""Are synthetic queries as hard as real ones? Compares the pass rates of one policy on both (STAR
measures 21.9% of 200 against 21.1% of 180; row S3).

The two sets hold different requests, so the difference is unpaired: its interval is Newcombe's,
made of the two rates' own intervals (Wilson's, or whole requests resampled where a run has several
samples of each). Sets with another mix of levels differ for that reason alone, so the difference is
also given with each level at its share among the given queries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tripwright.data.files import SourceRun
from tripwright.data.statistics import in_order, level_of
from tripwright.errors import UserError
from tripwright.statistics.rates import Rate, clustered_rate, rate

SEED = 0
ONE_POLICY = ("policy", "decoding", "rules", "dialect", "emptied_tools", "faults")


RateDifference = dict[str, float]  # value, low, high of a difference of two rates, as shares


def newcombe(first: Rate, second: Rate) -> RateDifference:
    """first − second of two independent rates (Newcombe 1998, method 10): the distances from each
    rate to its limits, added as squares."""
    return weighted([(1.0, first, second)])


def weighted(strata: Sequence[tuple[float, Rate, Rate]]) -> RateDifference:
    """Σ weight · (first − second) over independent strata."""
    value = below = above = 0.0
    for weight, first, second in strata:
        p, q = first["value"], second["value"]
        if p is None or q is None:
            raise ValueError("a difference needs two rates that were measured")
        value += weight * (p - q)
        below += weight**2 * ((p - first["low"]) ** 2 + (second["high"] - q) ** 2)
        above += weight**2 * ((first["high"] - p) ** 2 + (q - second["low"]) ** 2)
    return {"value": value, "low": value - math.sqrt(below), "high": value + math.sqrt(above)}


Outcomes = dict[str, list[bool]]  # request → whether each of its samples passed


@dataclass(frozen=True)
class Side:
    levels: dict[str, Outcomes]
    unscored: int

    @property
    def all(self) -> Outcomes:
        return {
            request: passes
            for outcomes in self.levels.values()
            for request, passes in outcomes.items()
        }


def read_side(run: SourceRun) -> Side:
    """Unscored episodes are faults on our side: counted, and out of the rates (law 4)."""
    levels: dict[str, Outcomes] = {}
    unscored = 0
    for episode in run.episodes():
        if episode.verdict is None:
            unscored += 1
            continue
        outcomes = levels.setdefault(level_of(episode), {})
        outcomes.setdefault(f"{run.world_hash} {episode.request_key}", []).append(
            episode.verdict.final
        )
    if not levels:
        raise UserError(f"No scored episode in '{run.folder}': there is no pass rate to compare.")
    return Side(levels, unscored)


def reliability(synthetic: SourceRun, real: SourceRun) -> dict[str, Any]:
    """{"synthetic", "given", "difference", "levels", "at_given_mix", "unscored", "verdict"};
    differences are synthetic − given."""
    _check_one_policy(synthetic, real)
    first, second = read_side(synthetic), read_side(real)
    if shared := first.all.keys() & second.all.keys():
        raise UserError(
            f"{len(shared)} requests are in both runs, '{synthetic.folder}' and '{real.folder}':"
            " compare runs on different ones."
        )
    one, other = pass_rate(first.all), pass_rate(second.all)
    result: dict[str, Any] = {
        "synthetic": one,
        "given": other,
        "difference": newcombe(one, other),
        "levels": {},
    }
    strata = []
    for level in in_order([*first.levels, *second.levels]):
        here, there = (pass_rate(side.levels.get(level, {})) for side in (first, second))
        difference = newcombe(here, there) if here["n"] and there["n"] else None
        result["levels"][level] = {"synthetic": here, "given": there, "difference": difference}
        strata.append((there["n"] / other["n"], here, there))
    comparable = all(here["n"] and there["n"] for weight, here, there in strata if weight)
    result["at_given_mix"] = (
        weighted([stratum for stratum in strata if stratum[0]]) if comparable else None
    )
    result["unscored"] = {"synthetic": first.unscored, "given": second.unscored}
    result["verdict"] = verdict_in_words(result["difference"])
    return result


def pass_rate(outcomes: Outcomes) -> Rate:
    """Wilson's interval for one sample of each request; with several, whole requests are
    resampled."""
    groups = list(outcomes.values())
    if any(len(passes) > 1 for passes in groups):
        return clustered_rate([(sum(passes), len(passes)) for passes in groups], SEED)
    return rate(sum(map(sum, groups)), len(groups))


def verdict_in_words(difference: RateDifference) -> str:
    """One line. That a difference is not sure does not prove that there is none: its interval says
    how large it may be."""
    size = (
        f"the difference {100 * difference['value']:+.1f} points [{100 * difference['low']:+.1f},"
        f" {100 * difference['high']:+.1f}]"
    )
    if difference["low"] > 0:
        return f"{size} is sure: the synthetic queries are easier for this policy"
    if difference["high"] < 0:
        return f"{size} is sure: the synthetic queries are harder for this policy"
    return f"{size} is not sure"


def _check_one_policy(synthetic: SourceRun, real: SourceRun) -> None:
    for entry in ONE_POLICY:
        there, here = (_what_matters(run.card.get(entry)) for run in (synthetic, real))
        if there != here:
            raise UserError(
                f"The runs '{synthetic.folder}' and '{real.folder}' differ in their {entry}: "
                "compare one policy, in one dialect, judged by one set of rules."
            )


def _what_matters(entry: Any) -> Any:
    return (
        {key: value for key, value in entry.items() if key != "base_url"}
        if isinstance(entry, dict)
        else entry
    )
