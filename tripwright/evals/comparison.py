"""Two or more runs on the queries that all of them played: figures with intervals, differences from
the first with a test, and which queries were gained and lost.

The subtle things. Samples of a query are averaged first, so a query weighs the same however many
samples of it were scored. A difference is taken query by query; the intervals of two runs may
overlap although their difference is certain. A table with many tests is corrected by Holm's
procedure, and only what is left then is marked. Runs that differ by their seed alone are one group:
its figure is the mean over seeds, its interval resamples seeds and queries, and it shows how far
the seeds lie apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import stdev
from typing import Any

from tripwright.evals.compared_figure import ComparedFigure, compared_figure
from tripwright.evals.compared_runs import SeedGroup, common_queries, query_id
from tripwright.evals.figures import (
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
from tripwright.evals.outcome import facts_of, mark_words
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
Key = tuple[str, str]  # table, row


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
        keys = [
            key
            for key in figures[0][0]
            if all(key in figure for group in figures for figure in group)
        ]
        rows = {}
        for key in keys:
            per_query = [[figure[key] for figure in group] for group in figures]
            shared = set.intersection(*(set(figure.of) for group in per_query for figure in group))
            if shared:
                rows[key] = compared_figure(per_query, samples, tuple(sorted(shared)))
        return rows

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
            usable = [
                number for number, row in enumerate(sums) if all(row[whole] for whole in wholes)
            ]
            resampled[key] = []
            for place, group in enumerate(groups):
                rates = [
                    [sums[number][part] / sums[number][whole] for number in usable]
                    for part, whole in group
                ]
                seed_places = [draws[place][number] for number in usable]
                resampled[key].append(
                    rates[0]
                    if len(rates) == 1
                    else list(map(over_seeds, zip(*rates, strict=True), seed_places))
                )
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
        record: dict[str, Any] = {
            "value": row.value(group) - row.value(base),
            "n": len(row.queries),
            "kind": row.kind,
        }
        resampled = [
            a - b
            for a, b in zip(self.resampled[key][group], self.resampled[key][base], strict=True)
        ]
        differences = row.differences(group, base)
        p = sign_flip(differences, SEED)
        floors = {SMALLEST_P}
        if len(self.groups[group].runs) > 1 or len(self.groups[base].runs) > 1:
            # Resampled differences of a few queries that all agree have no spread; the signs of so
            # few still prove little.
            p = max(bootstrap_p(resampled), p) if resampled else p
            floors.add(bootstrap_floor(len(resampled)))
            test = "bootstrap over seeds and queries, sign flips over queries"
            return record | {
                **_ends(row, resampled),
                "p": p,
                "p_is_bound": p in floors,
                "test": test,
            }
        if row.plain[group] and row.plain[base]:
            low, high = paired_interval(
                sum(d > 0 for d in differences), sum(d < 0 for d in differences), len(differences)
            )
            return record | {
                "low": low,
                "high": high,
                "p": p,
                "p_is_bound": False,
                "test": "McNemar, exact",
            }
        return record | {
            **_ends(row, resampled),
            "p": p,
            "p_is_bound": p in floors,
            "test": "sign flips over queries",
        }

    # ---- tables

    def tables(self) -> dict[str, dict[str, Any]]:
        """{table: {row: {"runs": {name: figure}, "differences": {name: difference}}}}; the p-values
        of a table are Holm's, together."""
        tables: dict[str, dict[str, Any]] = {}
        for (table, name), _ in self.rows.items():
            key = (table, name)
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


def _ends(row: ComparedFigure, resampled: Sequence[float]) -> dict[str, float | None]:
    """Where no query differs, or all of them wholly, a bootstrap has no spread; then it is the
    interval of as many pairs."""
    if not resampled:
        return {"low": None, "high": None}
    low, high = percentiles(resampled)
    if row.kind != "mean" and max(resampled) - min(resampled) < ROUNDING:
        for gained, lost in ((0, 0), (len(row.queries), 0), (0, len(row.queries))):
            if abs(resampled[0] - (gained - lost) / len(row.queries)) < ROUNDING:
                low, high = paired_interval(gained, lost, len(row.queries))
    return (
        {"low": low, "high": high}
        if row.kind == "mean"
        else {"low": max(low, -1.0), "high": min(high, 1.0)}
    )


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
