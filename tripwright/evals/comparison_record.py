"""A comparison from run folders to one record: what `tripwright compare --json` prints and what the
page over several runs shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tripwright.domains.domain import ClosedWorld
from tripwright.errors import UserError
from tripwright.evals.compared_runs import (
    ComparedRun,
    SeedGroup,
    check_group,
    check_world,
    common_queries,
    group_seeds,
    judged_by_rules,
    named_group,
    read_compared,
    run_names,
)
from tripwright.evals.comparison import FINAL, Comparison
from tripwright.evals.comparison_cards import notes, unlike
from tripwright.evals.outcome import Outcome
from tripwright.evals.power import Scatter
from tripwright.evals.scoreboard import MOST_UNSCORED

POINTS = 0.05  # the difference that "how many queries would it take" is said for
MOST_PHRASES = 4
UNLIKE = "--unlike"


def compare_folders(
    folders: Sequence[Sequence[Path]],
    allow_unlike: bool = False,
    rules: str | None = None,
    world: ClosedWorld | None = None,
    apart: bool = False,
    names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """`folders` holds runs, or several that are seeds of one another. With `rules`, all plans are
    judged anew in `world`. `apart`: no run is taken for a seed of another unless it was given as
    one. Raises UserError for runs that cannot be compared."""
    flat = [folder for several in folders for folder in several]
    if len(flat) < 2:
        raise UserError(f"A comparison needs at least two runs, found {len(flat)}.")
    names = names or run_names(flat)
    judge = judged_by_rules(world, rules) if rules is not None and world is not None else None
    runs = [
        read_compared(folder, name, judge, rules) for folder, name in zip(flat, names, strict=True)
    ]
    if world is not None:
        check_world(runs, world)
    # first: without any, runs that are allowed to be unlike could not be compared either
    common_queries(runs)
    differing = unlike({run.name: run.card for run in runs})
    if differing and not allow_unlike:
        raise UserError(refusal(differing, rules))
    groups = _groups(folders, runs, apart, allow_unlike)
    return {**compared(groups), "unlike": differing, "rejudged": rules is not None}


def refusal(differing: Sequence[str], rules: str | None = None) -> str:
    """One line that names what differs and says what would be accepted."""
    more = f"; and {len(differing) - MOST_PHRASES} more" if len(differing) > MOST_PHRASES else ""
    kinds = {phrase.partition(" ")[0] for phrase in differing}
    advice = "Compare"
    # plans of two worlds cannot be judged in one
    if "rules" in kinds and "world" not in kinds and rules is None:
        also = "or" if kinds == {"rules"} else "and"
        advice = f"Judge them alike with --rejudge RULES --world DIR, {also} compare"
    return (
        f"These runs are not alike: {'; '.join(differing[:MOST_PHRASES])}{more}. {advice} them all"
        f" the same with {UNLIKE}."
    )


def _groups(
    folders: Sequence[Sequence[Path]], runs: Sequence[ComparedRun], apart: bool, allow_unlike: bool
) -> list[SeedGroup]:
    if all(len(several) == 1 for several in folders):
        return [SeedGroup(run.name, (run,)) for run in runs] if apart else group_seeds(runs)
    rest, groups = iter(runs), []
    for several in folders:
        groups.append(named_group([next(rest) for _ in several]))
        if not allow_unlike:
            check_group(groups[-1])
    return groups


def compared(groups: Sequence[SeedGroup]) -> dict[str, Any]:
    """Everything that is said about these groups; the first is what the others are compared
    with."""
    runs = [run for group in groups for run in group.runs]
    comparison = Comparison(groups)
    queries_of = [run.scored.keys() | run.unscored.keys() for run in runs]
    record: dict[str, Any] = {
        "runs": [_about(group) for group in groups],
        "baseline": groups[0].name,
        "rules": " and ".join(dict.fromkeys(run.rules for run in runs)),
        "queries": len(comparison.queries),
        "left_out": len(set.union(*map(set, queries_of))) - len(comparison.queries),
        "notes": [
            *notes({run.name: run.card for run in runs}),
            *_unfinished(runs),
        ],
        "tables": comparison.tables(),
        "pairs": comparison.pairs(),
        "changed": {
            group.name: comparison.changed(place) for place, group in enumerate(groups) if place
        },
        "power": {
            group.name: power
            for place, group in enumerate(groups)
            if place and (power := _power(comparison, place))
        },
    }
    if seeds := comparison.seeds():
        record["seeds"] = seeds
    if any(run.unscored_share > MOST_UNSCORED for run in runs):
        record["worst_case"] = worst_case(groups)
    return record


def _about(group: SeedGroup) -> dict[str, Any]:
    return {
        "name": group.name,
        "folders": [str(run.folder) for run in group.runs],
        "seeds": [run.seed for run in group.runs],
        "episodes": sum(run.episodes for run in group.runs),
        "unscored": sum(run.unscored_episodes for run in group.runs),
    }


def _unfinished(runs: Sequence[ComparedRun]) -> list[str]:
    open_runs = [run.name for run in runs if not run.finished]
    return (
        [f"not finished: {', '.join(open_runs)}; the same command finishes a run"]
        if open_runs
        else []
    )


def _power(comparison: Comparison, group: int) -> dict[str, Any] | None:
    """What these queries can show, from how far single queries' differences scatter. None for
    seeds, and where nothing differs. `detectable` and `queries` are None where queries that differ
    so little cannot show any difference, or this one."""
    row = comparison.rows[FINAL]
    if len(row.runs[group]) > 1 or len(row.runs[0]) > 1:
        return None
    scatter = Scatter.of(
        [float(d) for d in row.differences(group, 0)], row.plain[group] and row.plain[0]
    )
    if not scatter.discordance:
        return None
    return {
        "discordance": scatter.discordance,
        "scatter": asdict(scatter),
        "detectable": scatter.detectable(),
        "points": POINTS,
        "queries": scatter.needed(POINTS),
    }


def worst_case(groups: Sequence[SeedGroup]) -> dict[str, Any]:
    """Final pass over all queries that every run played, with what was unscored counted as failed;
    and between which ends the differences from the first run lie, whatever the unscored
    episodes would have done."""
    runs = [run for group in groups for run in group.runs]
    queries = set.intersection(*(set(run.scored) | set(run.unscored) for run in runs))
    ends = {
        group.name: (_mean_pass(group, queries, False), _mean_pass(group, queries, True))
        for group in groups
    }
    base_low, base_high = next(iter(ends.values()))
    return {
        "queries": len(queries),
        "unscored": {
            group.name: sum(run.unscored_episodes for run in group.runs) for group in groups
        },
        "final": {name: low for name, (low, _) in ends.items()},
        "differences": {
            name: {"failed": low - base_low, "least": low - base_high, "most": high - base_low}
            for name, (low, high) in list(ends.items())[1:]
        },
    }


def _mean_pass(group: SeedGroup, queries: set[str], unscored_passes: bool) -> float:
    rates = []
    for run in group.runs:
        for query in queries:
            scored: list[Outcome] = run.scored.get(query, [])
            unscored = len(run.unscored.get(query, []))
            passes = sum(outcome.final for outcome in scored) + (unscored if unscored_passes else 0)
            rates.append(passes / (len(scored) + unscored))
    return sum(rates) / len(rates)
