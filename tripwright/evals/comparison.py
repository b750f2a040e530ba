"""Two or more runs on the queries that all of them played: figures with intervals, differences from
the first with a test, and which queries were gained and lost.

Samples of a query are averaged first, so a query weighs the same however many
samples of it were scored. A difference is taken query by query; the intervals of two runs may
overlap although their difference is certain. A table with many tests is corrected by Holm's
procedure, and only what is left then is marked. Runs that differ by their seed alone are one group:
its figure is the mean over seeds, its interval resamples seeds and queries, and it shows how far
the seeds lie apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from pathlib import Path
from statistics import stdev
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
    notes,
    query_id,
    read_compared,
    run_names,
    unlike,
)
from tripwright.evals.outcome import Outcome, facts_of, mark_words
from tripwright.evals.power import Scatter
from tripwright.evals.scoreboard import (
    MOST_UNSCORED,
    SCALE,
    SEED,
    ByQuery,
    Columns,
    PerQuery,
    Section,
    constraints,
    flips,
    means,
    metrics,
    most_samples,
    sample_figures,
    slices,
)
from tripwright.statistics.paired import SMALLEST_P, holm, paired_interval, sign_flip
from tripwright.statistics.rates import wilson
from tripwright.statistics.resampling import (
    bootstrap_floor,
    bootstrap_p,
    over_seeds,
    percentiles,
    resampled_sums,
    seed_draws,
)

SIGNIFICANT = 0.05
ROUNDING = 1e-12
FINAL = ("metrics", "final")
POINTS = 0.05  # the difference that "how many queries would it take" is said for
MOST_PHRASES = 4
UNLIKE = "--unlike"
Key = tuple[str, str]  # table, row
Pair = tuple[Fraction | int, Fraction | int]  # part and whole


@dataclass(frozen=True)
class ComparedFigure:
    """One figure of every run on the same queries. `plain` of each group: is it one yes or no of
    each query and run?"""

    kind: str
    queries: list[str]
    runs: list[list[dict[str, Pair]]]  # group → run → query → mean part and whole of a sample
    plain: list[bool]

    @classmethod
    def of(
        cls, figures: list[list[PerQuery]], samples: list[list[dict[str, int]]]
    ) -> ComparedFigure | None:
        """Parts and wholes summed over samples become those of a mean sample; what has one value of
        a query has it already, as a flip rate. None where the runs have it of no query alike."""
        kind = figures[0][0].kind
        queries = sorted(set.intersection(*(set(each.of) for group in figures for each in group)))
        plain = [
            kind == "share" and all(each.of[q][1] == 1 for each in group for q in queries)
            for group in figures
        ]
        is_summed = kind == "share" and not all(plain)

        def mean_sample(figure: PerQuery, counts: dict[str, int]) -> dict[str, Pair]:
            by = {q: counts[q] if is_summed else 1 for q in queries}
            return {q: _over(figure.of[q], by[q]) for q in queries}

        runs = [list(map(mean_sample, *each)) for each in zip(figures, samples, strict=True)]
        return cls(kind, queries, runs, plain) if queries else None

    @cached_property
    def rates(self) -> list[list[float]]:
        """Σ part / Σ whole of each group's runs."""
        sums = [[map(sum, zip(*run.values(), strict=True)) for run in group] for group in self.runs]
        return [[float(Fraction(part) / whole) for part, whole in group] for group in sums]

    def value(self, group: int) -> float:
        return sum(self.rates[group]) / len(self.rates[group])

    def differences(self, group: int, base: int) -> list[Fraction | int]:
        """Query by query; of several seeds, their mean. Where both were asked as much it is in
        checks, which add up to the difference."""
        after, before = (
            {
                q: _over(tuple(map(sum, zip(*(run[q] for run in runs), strict=True))), len(runs))
                for q in self.queries
            }
            for runs in (self.runs[group], self.runs[base])
        )
        if all(after[q][1] == before[q][1] for q in self.queries):
            return [after[q][0] - before[q][0] for q in self.queries]
        return [
            Fraction(after[q][0]) / after[q][1] - Fraction(before[q][0]) / before[q][1]
            for q in self.queries
        ]


def _over(pair: Any, count: int) -> Pair:
    part, whole = pair
    return (part, whole) if count == 1 else (Fraction(part) / count, Fraction(whole) / count)


class Comparison:
    """`resampled` is what each group's figure is in every resample of queries and seeds."""

    def __init__(self, groups: Sequence[SeedGroup]):
        self.groups = list(groups)
        runs = [run for group in groups for run in group.runs]
        self.queries = common_queries(runs)
        self.rows = self._rows()
        self.resampled = self._resample()

    def _rows(self) -> dict[Key, ComparedFigure]:
        figures = [
            [_figures({q: run.scored[q] for q in self.queries}) for run in group.runs]
            for group in self.groups
        ]
        samples = [
            [{q: len(run.scored[q]) for q in self.queries} for run in group.runs]
            for group in self.groups
        ]
        rows = {}
        for key in figures[0][0]:
            per_query = [[figure.get(key) for figure in group] for group in figures]
            if all(each is not None for group in per_query for each in group):
                rows[key] = ComparedFigure.of(per_query, samples)  # type: ignore[arg-type]
        return {key: row for key, row in rows.items() if row is not None}

    def _resample(self) -> dict[Key, list[list[float]]]:
        columns = Columns(self.queries)
        places = {
            key: [
                [columns.add({q: pairs[q] for q in row.queries}, SCALE) for pairs in group]
                for group in row.runs
            ]
            for key, row in self.rows.items()
        }
        sums = resampled_sums(columns.values, SEED)
        draws = [
            seed_draws(len(group.runs), SEED + 1 + place) for place, group in enumerate(self.groups)
        ]
        resampled: dict[Key, list[list[float]]] = {}
        for key, groups in places.items():
            wholes = {whole for group in groups for _, whole in group}
            usable = [n for n, row in enumerate(sums) if all(row[whole] for whole in wholes)]
            resampled[key] = [
                [
                    over_seeds([sums[n][part] / sums[n][whole] for part, whole in group], drawn[n])
                    for n in usable
                ]
                for group, drawn in zip(groups, draws, strict=True)
            ]
        return resampled

    # ---- figures

    def figure(self, key: Key, group: int) -> dict[str, Any]:
        row, value = self.rows[key], self.rows[key].value(group)
        low, high = self._interval(key, group, value)
        record: dict[str, Any] = {
            "value": value,
            "low": low,
            "high": high,
            "n": len(row.queries),
            "kind": row.kind,
        }
        if row.plain[group] and len(self.groups[group].runs) == 1:
            record["k"] = round(value * len(row.queries))
        return record

    def _interval(self, key: Key, group: int, value: float) -> tuple[float | None, float | None]:
        """As in score.json: Wilson's for one yes or no per query, and where all queries agree; else
        from resampled queries."""
        row, n = self.rows[key], len(self.rows[key].queries)
        single = len(self.groups[group].runs) == 1
        if row.kind != "mean" and ((row.plain[group] and single) or value in (0.0, 1.0)):
            return wilson(round(value * n), n)
        rates = self.resampled[key][group]
        if not rates:
            return None, None
        low, high = percentiles(rates)
        # the spread of seeds may reach past the ends
        return (low, high) if row.kind == "mean" else (max(low, 0.0), min(high, 1.0))

    def difference(self, key: Key, group: int, base: int) -> dict[str, Any]:
        """group − base. `p_is_bound` where p is the smallest that so many random draws can give:
        the true one may be smaller."""
        row = self.rows[key]
        differences, pair = row.differences(group, base), (self.groups[group], self.groups[base])
        rates = (self.resampled[key][group], self.resampled[key][base])
        resampled = [a - b for a, b in zip(*rates, strict=True)]
        low, high = _ends(row, resampled)
        p, floors, test = sign_flip(differences, SEED), {SMALLEST_P}, "sign flips over queries"
        if any(len(each.runs) > 1 for each in pair):
            # Resampled differences of a few queries that all agree have no spread; the signs of so
            # few still prove little.
            p = max(bootstrap_p(resampled), p) if resampled else p
            floors.add(bootstrap_floor(len(resampled)))
            test = "bootstrap over seeds and queries, sign flips over queries"
        elif row.plain[group] and row.plain[base]:
            gained, lost = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
            low, high = paired_interval(gained, lost, len(differences))
            floors, test = set(), "McNemar, exact"
        return {
            "value": row.value(group) - row.value(base),
            "n": len(row.queries),
            "kind": row.kind,
            "low": low,
            "high": high,
            "p": p,
            "p_is_bound": p in floors,
            "test": test,
        }

    # ---- tables

    def tables(self) -> dict[str, dict[str, Any]]:
        """{table: {row: {"runs": {name: figure}, "differences": {name: difference}}}}; the p-values
        of a table are Holm's, together."""
        tables: dict[str, dict[str, Any]] = {}
        for key in self.rows:
            table, name = key
            tables.setdefault(table, {})[name] = {
                "runs": {
                    group.name: self.figure(key, place) for place, group in enumerate(self.groups)
                },
                "differences": {
                    group.name: self.difference(key, place, 0)
                    for place, group in enumerate(self.groups)
                    if place
                },
            }
        for rows in tables.values():
            correct(
                [difference for row in rows.values() for difference in row["differences"].values()]
            )
        return tables

    def pairs(self) -> list[dict[str, Any]]:
        """Every two groups, by the final pass rate: b − a."""
        records = []
        for a, b in combinations(range(len(self.groups)), 2):
            counts = {name: len(queries) for name, queries in self.changed(b, a).items()}
            records.append(
                {
                    "a": self.groups[a].name,
                    "b": self.groups[b].name,
                    **self.difference(FINAL, b, a),
                    **counts,
                }
            )
        correct(records)
        return records

    def changed(self, group: int, base: int = 0) -> dict[str, list[dict[str, Any]]]:
        """The queries that `group` passes more often than `base` (gained), and less often (lost),
        the largest changes first."""
        changes: dict[str, list[tuple[float, dict[str, Any]]]] = {"gained": [], "lost": []}
        for query in self.queries:
            (passes, samples), (passes_before, samples_before) = (
                self._passes(place, query) for place in (group, base)
            )
            change = passes / samples - passes_before / samples_before
            if change:
                first = self.groups[base].runs[0].scored[query][0]
                about = {"id": query_id(first), **first.marks, "text": first.text}
                changes["gained" if change > 0 else "lost"].append(
                    (
                        -abs(change),
                        {
                            **about,
                            "before": [passes_before, samples_before],
                            "after": [passes, samples],
                        },
                    )
                )
        return {
            name: [each for _, each in sorted(entries, key=lambda pair: (pair[0], pair[1]["id"]))]
            for name, entries in changes.items()
        }

    def _passes(self, group: int, query: str) -> tuple[int, int]:
        outcomes = [outcome for run in self.groups[group].runs for outcome in run.scored[query]]
        return sum(outcome.final for outcome in outcomes), len(outcomes)

    def seeds(self) -> dict[str, Any]:
        """Of each group of several: every seed's pass rate, and how far they lie apart (standard
        deviation, in shares)."""
        row, records = self.rows[FINAL], {}
        for place, group in enumerate(self.groups):
            if len(group.runs) > 1:
                rates = row.rates[place]
                runs = [
                    {"run": run.name, "seed": run.seed, "final": value}
                    for run, value in zip(group.runs, rates, strict=True)
                ]
                records[group.name] = {
                    "runs": runs,
                    "mean": row.value(place),
                    "deviation": stdev(rates),
                    "low": min(rates),
                    "high": max(rates),
                }
        return records


def changed_marks(query: Mapping[str, Any]) -> list[str]:
    """Of an entry of `Comparison.changed`: what its request is counted under, in words."""
    return mark_words(
        {key: value for key, value in query.items() if key not in ("id", "text", "before", "after")}
    )


def _ends(row: ComparedFigure, resampled: Sequence[float]) -> tuple[float | None, float | None]:
    """Where no query differs, or all of them wholly, a bootstrap has no spread; then it is the
    interval of as many pairs."""
    if not resampled:
        return None, None
    low, high = percentiles(resampled)
    if row.kind == "mean":
        return low, high
    if max(resampled) - min(resampled) < ROUNDING:
        n = len(row.queries)
        for gained, lost in ((0, 0), (n, 0), (0, n)):
            if abs(resampled[0] - (gained - lost) / n) < ROUNDING:
                low, high = paired_interval(gained, lost, n)
    return max(low, -1.0), min(high, 1.0)


def correct(differences: Sequence[dict[str, Any]]) -> None:
    """Adds Holm's p-value to each, and whether the difference is significant."""
    for difference, p in zip(
        differences, holm([difference["p"] for difference in differences]), strict=True
    ):
        difference |= {"p_holm": p, "significant": p < SIGNIFICANT}


def _figures(queries: ByQuery) -> dict[Key, PerQuery]:
    outcomes = [outcome for samples in queries.values() for outcome in samples]
    facts, most = facts_of(outcomes), most_samples(queries)
    tables: dict[str, Section] = {"metrics": {**metrics(queries, facts), **means(queries)}}
    if most > 1:
        kinds = sample_figures(queries, most)
        tables["samples"] = {"flip_rate": flips(queries)}
        tables["samples"] |= {
            f"{kind.removesuffix('k')}{k}": figure
            for kind in kinds
            for k, figure in kinds[kind].items()
            if k != "1"
        }
    tables["constraints"] = constraints(queries, facts)
    sections = slices(
        queries, dict.fromkeys(section for outcome in outcomes for section in outcome.slices)
    )
    # one slice alone is the whole
    tables |= {name: section for name, section in sections.items() if len(section) > 1}
    return {
        (table, name): figure
        for table, section in tables.items()
        for name, figure in section.items()
    }


# ---- from run folders to one record


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
