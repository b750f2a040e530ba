"""Two or more runs on the queries that all of them played: figures with intervals, differences from
the first with a test, and which queries were gained and lost.

Figures are made anew from transcripts.jsonl, not taken from score.json, because a comparison needs
to know which query passed. Samples of a query are averaged first, so a query weighs the same
however many samples of it were scored. A difference is taken query by query; the intervals of two
runs may overlap although their difference is certain. A table with many tests is corrected by
Holm's procedure, and only what is left then is marked. Runs that differ by their seed alone are one
group: its figure is the mean over seeds, its interval resamples seeds and queries, and it shows how
far the seeds lie apart. Which runs are alike enough is said by their cards (`run_card`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from operator import attrgetter
from pathlib import Path
from statistics import stdev
from typing import TYPE_CHECKING, Any

import tripwright.evals.run_card as run_card
import tripwright.evals.scoreboard as scoreboard
from tripwright.domains import domain_of, domains
from tripwright.domains.place import ClosedWorld
from tripwright.errors import UserError, printable
from tripwright.evals.outcome import Outcome, facts_of
from tripwright.evals.power import detectable, paired_queries
from tripwright.evals.scoreboard import SEED, ByQuery, PerQuery, Section
from tripwright.files import check_inside, json_object
from tripwright.progress import StatusLine
from tripwright.runs import RECIPE, TRANSCRIPTS, Run, episode_lines, object_in
from tripwright.statistics.rates import SMALLEST_P, holm, paired_interval, sign_flip, wilson
from tripwright.statistics.resampling import bootstrap_p, over_seeds, percentiles
from tripwright.verdict import MOST_UNSCORED

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIGNIFICANT = 0.05
FINAL = ("metrics", "final")
POINTS = 0.05  # the difference that "how many queries would it take" is said for
MOST_PHRASES = 4
ROUNDING = 1e-12
EVALUATIONS = ("after_rl", "after_sft")  # of a training's folder, the one it is about first
Key = tuple[str, str]  # table, row
Pair = tuple[Fraction | int, Fraction | int]  # part and whole
Judge = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class UnreadableRun(UserError):
    """Of the runs to compare; without it there is nothing to compare."""


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
    one. A run that cannot be read is left out, with a note. Raises UserError for runs that cannot
    be compared, and where the first cannot be read."""
    flat = [folder for several in folders for folder in several]
    if len(flat) < 2:
        raise UserError(
            f"A comparison needs at least two runs, found {len(flat)}."
            " For one: 'tripwright examine RUN'."
        )
    runs, unreadable = list[ComparedRun](), dict[str, str]()
    for folder, name in zip(flat, names or run_names(flat), strict=True):
        try:
            runs.append(_read(folder, name, world, rules))
        except (UserError, OSError) as problem:
            unreadable[name] = printable(str(problem))
    readable = {run.folder for run in runs}
    if len(runs) < 2 or flat[0] not in readable:
        raise UnreadableRun(next(iter(unreadable.values())))
    folders = [kept for each in folders if (kept := [one for one in each if one in readable])]
    # first: without any, runs that are allowed to be unlike could not be compared either
    queries = _common_queries(runs)
    differing = run_card.unlike({run.name: run.card for run in runs})
    if differing and not allow_unlike:
        raise UserError(refusal(differing))
    groups = _groups(folders, runs, apart, allow_unlike)
    record = Comparison(groups, queries).record()
    record["notes"] += [f"{name} is left out: {why}" for name, why in unreadable.items()]
    return {**record, "unlike": differing, "rejudged": rules is not None}


def refusal(differing: Sequence[str]) -> str:
    """One line that names what differs and says what would be accepted."""
    more = f"; and {len(differing) - MOST_PHRASES} more" if len(differing) > MOST_PHRASES else ""
    judged = any(phrase.startswith("rules") for phrase in differing)
    advice = (
        "Judge them alike with --rejudge RULES --world DIR, or compare" if judged else "Compare"
    )
    return (
        f"These runs are not alike: {'; '.join(differing[:MOST_PHRASES])}{more}. {advice} them all"
        " the same with --unlike."
    )


# ---- runs


@dataclass(frozen=True)
class ComparedRun:
    """`scored` and `unscored` hold the samples of each query; a query may be in both."""

    name: str
    folder: Path
    card: Mapping[str, Any]
    seed: int | None
    alike: str  # equal for runs that differ only by their seed
    scored: dict[str, list[Outcome]]
    unscored: dict[str, list[Outcome]]
    finished: bool

    @property
    def unscored_episodes(self) -> int:
        return sum(map(len, self.unscored.values()))

    @property
    def episodes(self) -> int:
        return sum(map(len, self.scored.values())) + self.unscored_episodes


@dataclass(frozen=True)
class SeedGroup:
    """Runs that differ only by their seed, named after the first; mostly a single run."""

    runs: tuple[ComparedRun, ...]

    @property
    def name(self) -> str:
        others = len(self.runs) - 1
        more = f" and {others} more seeds" if others > 1 else " and another seed" * others
        return self.runs[0].name + more

    @property
    def unscored_episodes(self) -> int:
        return sum(run.unscored_episodes for run in self.runs)


def run_names(folders: Sequence[Path]) -> list[str]:
    """The last part of each path, with as many parts before it as tell all of them apart."""
    parts = [folder.resolve().parts for folder in folders]
    if len(set(parts)) < len(parts):
        raise UserError("The same run folder is given twice.")
    counts = range(1, max(map(len, parts)) + 1)
    named = (["/".join(part[-count:]) for part in parts] for count in counts)
    return next(names for names in named if len(set(names)) == len(names))


def _evaluation_folder(folder: Path) -> Path:
    """The folder with the transcripts: the run itself, or the main evaluation of a training."""
    for place in (folder, *(folder / "eval" / name for name in EVALUATIONS)):
        if (place / TRANSCRIPTS).is_file():
            check_inside(folder, place)
            return place
    found = ", ".join(sorted(path.parent.name for path in folder.glob(f"eval/*/{TRANSCRIPTS}")))
    if (folder / RECIPE).is_file() and not found:
        raise UserError(f"'{folder}' was not examined: 'tripwright examine {folder}' comes first.")
    raise UserError(
        f"No {TRANSCRIPTS} in '{folder}': expected a folder made by 'tripwright run', or by"
        " quickstart or examine with eval/"
        + (f"; found {found} there, name one of these." if found else ".")
    )


def _read(folder: Path, name: str, world: ClosedWorld | None, rules: str | None) -> ComparedRun:
    """Raises UserError for a folder without transcripts, and for lines that are no episodes."""
    place = _evaluation_folder(folder)
    run, status, outcomes = Run.at(place), StatusLine(), list[Outcome]()
    judged = _judged_anew(run, world, rules) if world and rules else None
    for line in episode_lines(run.transcripts):
        outcomes.append(line.read(lambda record: Outcome.of(judged(record) if judged else record)))
        status.show(f"reading {name}: {len(outcomes)} episodes")
    status.end()
    if not outcomes:
        raise UserError(f"No episode in '{run.transcripts}': there is nothing to compare yet.")
    outcomes.sort(key=attrgetter("id"))
    recipe, card = _recipe(place, run.card), dict(run.card)
    if rules is not None:
        dialect = object_in(card, "dialect").get("name")
        version = domain_of(str(dialect)).judge.versions.get(rules, 1)
        card |= {"rules": rules, "rules_version": version}
        card["judge"] = run_card.judge_version(run_card.judge_code(str(dialect)))
    return ComparedRun(
        name,
        folder,
        card,
        run_card.seed_of(run.card, recipe),
        run_card.but_for_seeds(run.card, recipe),
        scoreboard.by_query(outcome for outcome in outcomes if outcome.scored),
        scoreboard.by_query(outcome for outcome in outcomes if not outcome.scored),
        run.finished,
    )


def _recipe(place: Path, card: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of the training that made the policy: beside its eval/, or above the model that a run was
    given; {} where there was none."""
    policy = object_in(card, "policy")
    model = policy.get("model") if policy.get("kind") == "local" else None
    homes = [place.parent.parent] if place.parent.name == "eval" else []
    homes += [Path(model).parent.parent] if isinstance(model, str) else []
    return next((recipe for home in homes if (recipe := json_object(home / RECIPE))), {})


def _judged_anew(run: Run, world: ClosedWorld, rules: str) -> Judge:
    """Judges the answer of a line again. A line without one stays undelivered, an unscored one
    unscored. Raises UserError where the run was played in another version of this world."""
    content_hash = object_in(run.card, "world").get("content_hash")

    def again(record: Mapping[str, Any]) -> Mapping[str, Any]:
        domain = domains().get(record["domain"])
        if domain is None or domain.judge.again is None:
            what = domain.title if domain is not None else "another benchmark"
            raise UserError(
                "--rejudge is for answers that several sets of rules can judge; these runs are of"
                f" {what}. Leave it out."
            )
        domain.judge.rules_named(rules)
        if record["verdict"] is None:
            return record
        if record.get("world") != world.name or content_hash not in (None, world.content_hash):
            raise UserError(
                f"Episode '{record['id']}' was played in world '{record.get('world')}', content"
                f" hash {str(content_hash)[:12]}, and --world is '{world.name}',"
                f" {world.content_hash[:12]}."
            )
        return {**record, "verdict": domain.judge.again(record, world, rules).record()}

    return again


def _common_queries(runs: Sequence[ComparedRun]) -> list[str]:
    """The queries that every run has scored. Raises UserError for none."""
    queries = sorted(set.intersection(*(set(run.scored) for run in runs)))
    if not queries:
        counts = ", ".join(f"{run.name} has {len(run.scored):,}" for run in runs)
        raise UserError(
            f"The runs have no scored query in common, so there is nothing to compare: {counts}."
            " Give runs of the same queries in the same world."
        )
    return queries


def _groups(
    folders: Sequence[Sequence[Path]], runs: Sequence[ComparedRun], apart: bool, allow_unlike: bool
) -> list[SeedGroup]:
    """As given; where each run is given alone, those that are alike but for different seeds are
    together, unless that would leave nothing to compare."""
    rest = iter(runs)
    together = [[next(rest) for _ in several] for several in folders]
    if len(together) == len(runs) and not apart:
        alike = defaultdict(list)
        for run in runs:
            alike[run.alike].append(run)
        seeds = [[run.seed for run in same] for same in alike.values() if len(same) > 1]
        if len(alike) > 1 and all(None not in of and len({*of}) == len(of) for of in seeds):
            together = list(alike.values())
    for first, *others in together:
        odd = [run.name for run in others if run.alike != first.alike]
        if odd and not allow_unlike:
            raise UserError(
                f"Runs joined by commas differ only by a seed, but {first.name} and {odd[0]} differ"
                " in more. Give them as separate runs, or add --unlike."
            )
    return [SeedGroup(tuple(same)) for same in together]


# ---- figures


@dataclass(frozen=True)
class ComparedFigure:
    """One figure of every run on the same queries. `plain` of each group: is it one yes or no of
    each query and run?"""

    kind: str
    queries: list[str]
    runs: list[list[dict[str, Pair]]]  # group → run → query → mean part and whole of a sample
    plain: list[bool]

    @classmethod
    def of(cls, figures: list[list[PerQuery]]) -> ComparedFigure:
        """Parts and wholes summed over samples become those of a mean sample. Without queries where
        the runs have it of none alike."""
        kind = figures[0][0].kind
        queries = sorted(set.intersection(*(set(each.of) for group in figures for each in group)))
        plain = [
            kind == "share" and all(each.of[q][1] == 1 for each in group for q in queries)
            for group in figures
        ]
        runs = [
            [{q: _over(run.of[q], run.samples.get(q, 1)) for q in queries} for run in group]
            for group in figures
        ]
        return cls(kind, queries, runs, plain)

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

        def mean_seed(runs: list[dict[str, Pair]], query: str) -> Pair:
            part, whole = map(sum, zip(*(run[query] for run in runs), strict=True))
            return _over((part, whole), len(runs))

        pairs = [
            [mean_seed(self.runs[place], query) for place in (group, base)]
            for query in self.queries
        ]
        if all(after[1] == before[1] for after, before in pairs):
            return [after[0] - before[0] for after, before in pairs]
        return [
            Fraction(after[0]) / after[1] - Fraction(before[0]) / before[1]
            for after, before in pairs
        ]


def _over(pair: Pair, count: int) -> Pair:
    part, whole = pair
    return pair if count == 1 else (Fraction(part) / count, Fraction(whole) / count)


def _figures(queries: ByQuery) -> dict[Key, PerQuery]:
    """Of one run."""
    outcomes = [outcome for samples in queries.values() for outcome in samples]
    facts, most = facts_of(outcomes), scoreboard.most_samples(queries)
    tables: dict[str, Section] = {
        "metrics": {**scoreboard.metrics(queries, facts), **scoreboard.means(queries)}
    }
    if most > 1:
        tables["samples"] = {"flip_rate": scoreboard.flips(queries)} | {
            f"{kind.removesuffix('k')}{k}": figure
            for kind, figures in scoreboard.sample_figures(queries, most).items()
            for k, figure in figures.items()
            if k != "1"
        }
    tables["constraints"] = scoreboard.constraints(queries, facts)
    sections = scoreboard.slices(
        queries, (section for outcome in outcomes for section in outcome.slices)
    )
    # one slice alone is the whole
    tables |= {name: section for name, section in sections.items() if len(section) > 1}
    return {
        (table, name): figure
        for table, section in tables.items()
        for name, figure in section.items()
    }


class Comparison:
    """`resampled` is what each group's figure is in every resample of queries and seeds; a resample
    in which one of the groups has none is left out."""

    def __init__(self, groups: Sequence[SeedGroup], queries: Sequence[str]):
        self.groups, self.queries = groups, queries
        self.rows = self._rows()
        self.resampled = self._resampled()

    def _rows(self) -> dict[Key, ComparedFigure]:
        figures = [
            [_figures({q: run.scored[q] for q in self.queries}) for run in group.runs]
            for group in self.groups
        ]
        rows = {
            key: ComparedFigure.of([[run[key] for run in group] for group in figures])
            for key in figures[0][0]
            if all(key in run for group in figures for run in group)
        }
        return {key: row for key, row in rows.items() if row.queries}

    def _resampled(self) -> dict[Key, list[NDArray[Any]]]:
        import numpy as np  # a tenth of a second to import: only for those who resample

        pairs = {
            (key, place, number): run
            for key, row in self.rows.items()
            for place, group in enumerate(row.runs)
            for number, run in enumerate(group)
        }
        sums = scoreboard.resampled(pairs, self.queries)
        figures = {}
        for key, row in self.rows.items():
            groups = [
                np.array([sums[key, place, number] for number in range(len(group))])
                for place, group in enumerate(row.runs)
            ]  # of each group: run × (part, whole) × resample
            usable = np.all([group[:, 1].all(axis=0) for group in groups], axis=0)
            with np.errstate(invalid="ignore"):
                rates = [(group[:, 0] / group[:, 1]).T for group in groups]
            figures[key] = [
                over_seeds(each, SEED + 1 + place)[usable] for place, each in enumerate(rates)
            ]
        return figures

    def figure(self, key: Key, group: int) -> dict[str, Any]:
        """With an interval as in score.json: Wilson's for one yes or no per query, and where all
        queries agree; else from resampled queries."""
        row, rates, n = self.rows[key], self.resampled[key][group], len(self.rows[key].queries)
        value, is_plain = row.value(group), row.plain[group] and len(row.runs[group]) == 1
        low: float | None = None
        high: float | None = None
        if row.kind != "mean" and (is_plain or value in (0.0, 1.0)):
            low, high = wilson(round(value * n), n)
        elif len(rates):
            low, high = percentiles(rates)
            if row.kind != "mean":  # the spread of seeds may reach past the ends
                low, high = max(low, 0.0), min(high, 1.0)
        record = {"value": value, "low": low, "high": high, "n": n, "kind": row.kind}
        return {**record, "k": round(value * n)} if is_plain else record

    def difference(self, key: Key, group: int, base: int) -> dict[str, Any]:
        """group − base. `p_is_bound` where p is the smallest that so many random draws can give:
        the true one may be smaller."""
        row = self.rows[key]
        differences = row.differences(group, base)
        rates = self.resampled[key][group] - self.resampled[key][base]
        low, high = _ends(row, rates)
        p, floors, test = sign_flip(differences, SEED), {SMALLEST_P}, "sign flips over queries"
        if any(len(row.runs[place]) > 1 for place in (group, base)):
            # Resampled differences of a few queries that all agree have no spread; the signs of so
            # few still prove little.
            p = max(bootstrap_p(rates), p) if len(rates) else p
            floors.add(2 / (1 + len(rates)))
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

    # ---- the record

    def record(self) -> dict[str, Any]:
        """Everything that is said about these groups; the first is what the others are compared
        with."""
        runs = [run for group in self.groups for run in group.runs]
        played = set[str]().union(*(run.scored.keys() | run.unscored.keys() for run in runs))
        told = run_card.notes({run.name: run.card for run in runs})
        if unfinished := ", ".join(run.name for run in runs if not run.finished):
            told.append(f"not finished: {unfinished}; the same command finishes a run")
        others = list(enumerate(self.groups))[1:]
        powers = {group.name: self._power(place) for place, group in others}
        record: dict[str, Any] = {
            "runs": [
                {
                    "name": group.name,
                    "folders": [str(run.folder) for run in group.runs],
                    "seeds": [run.seed for run in group.runs],
                    "episodes": sum(run.episodes for run in group.runs),
                    "unscored": group.unscored_episodes,
                }
                for group in self.groups
            ],
            "baseline": self.groups[0].name,
            "rules": " and ".join(dict.fromkeys(str(run.card.get("rules")) for run in runs)),
            "queries": len(self.queries),
            "left_out": len(played) - len(self.queries),
            "notes": told,
            "tables": self._tables(),
            "pairs": self._pairs(),
            "changed": {group.name: self._changed(place, 0) for place, group in others},
            "power": {name: power for name, power in powers.items() if power is not None},
        }
        if seeds := self._seeds():
            record["seeds"] = seeds
        if any(run.unscored_episodes > MOST_UNSCORED * run.episodes for run in runs):
            record["worst_case"] = self._worst_case()
        return record

    def _tables(self) -> dict[str, dict[str, Any]]:
        """{table: {row: {"runs": {name: figure}, "differences": {name: difference}}}}; the p-values
        of a table are Holm's, together."""
        tables: dict[str, dict[str, Any]] = defaultdict(dict)
        names = [group.name for group in self.groups]
        for table, name in self.rows:
            key = (table, name)
            tables[table][name] = {
                "runs": {each: self.figure(key, place) for place, each in enumerate(names)},
                "differences": {
                    each: self.difference(key, place, 0)
                    for place, each in enumerate(names)
                    if place
                },
            }
        for rows in tables.values():
            _correct([each for row in rows.values() for each in row["differences"].values()])
        return dict(tables)

    def _pairs(self) -> list[dict[str, Any]]:
        """Every two groups, by the final pass rate: b − a."""
        records = [
            {
                "a": self.groups[a].name,
                "b": self.groups[b].name,
                **self.difference(FINAL, b, a),
                **{name: len(queries) for name, queries in self._changed(b, a).items()},
            }
            for a, b in combinations(range(len(self.groups)), 2)
        ]
        _correct(records)
        return records

    def _changed(self, group: int, base: int) -> dict[str, list[dict[str, Any]]]:
        """The queries that `group` passes more often than `base` (gained), and less often (lost),
        the largest changes first."""
        changes: list[tuple[float, dict[str, Any]]] = []
        for query in self.queries:
            after, before = (
                [outcome for run in self.groups[place].runs for outcome in run.scored[query]]
                for place in (group, base)
            )
            counts = {
                when: [sum(outcome.final for outcome in of), len(of)]
                for when, of in (("before", before), ("after", after))
            }
            change = counts["after"][0] / len(after) - counts["before"][0] / len(before)
            id = re.sub(r"-s\d+$", "", before[0].id)  # without the number of the sample
            changes.append(
                (change, {"id": id, **before[0].marks, "text": before[0].text, **counts})
            )
        changes.sort(key=lambda each: (-abs(each[0]), each[1]["id"]))
        return {
            "gained": [entry for change, entry in changes if change > 0],
            "lost": [entry for change, entry in changes if change < 0],
        }

    def _seeds(self) -> dict[str, Any]:
        """Of each group of several: every seed's pass rate, and how far they lie apart (standard
        deviation, in shares)."""
        row = self.rows[FINAL]
        return {
            group.name: {
                "runs": [
                    {"run": run.name, "seed": run.seed, "final": value}
                    for run, value in zip(group.runs, row.rates[place], strict=True)
                ],
                "mean": row.value(place),
                "deviation": stdev(row.rates[place]),
                "low": min(row.rates[place]),
                "high": max(row.rates[place]),
            }
            for place, group in enumerate(self.groups)
            if len(group.runs) > 1
        }

    def _power(self, group: int) -> dict[str, Any] | None:
        """What these queries can show, from how far single queries' differences scatter. None for
        seeds, and where nothing differs. `detectable` and `queries` are None where queries that
        differ so little cannot show any difference, or this one."""
        row = self.rows[FINAL]
        if len(row.runs[group]) > 1 or len(row.runs[0]) > 1:
            return None
        differences = list(map(float, row.differences(group, 0)))
        n = len(differences)
        mean_square = sum(d * d for d in differences) / n  # with one sample each, the discordance
        if not mean_square:
            return None
        largest = sum(map(abs, differences)) / n  # the mean difference, had all of them one sign
        reachable = largest >= POINTS - ROUNDING
        return {
            "discordance": sum(d != 0 for d in differences) / n,
            "detectable": detectable(n, mean_square, largest),
            "points": POINTS,
            "queries": paired_queries(POINTS, mean_square) if reachable else None,
        }

    def _worst_case(self) -> dict[str, Any]:
        """Final pass over all queries that every run played, with what was unscored counted as
        failed; and between which ends the differences from the first run lie, whatever the unscored
        episodes would have done."""
        runs = [run for group in self.groups for run in group.runs]
        queries = set.intersection(*({*run.scored, *run.unscored} for run in runs))
        ends = {
            group.name: [_mean_pass(group, queries, counted_as) for counted_as in (0, 1)]
            for group in self.groups
        }
        (base_low, base_high), *_ = ends.values()
        return {
            "queries": len(queries),
            "unscored": {group.name: group.unscored_episodes for group in self.groups},
            "final": {name: low for name, (low, _) in ends.items()},
            "differences": {
                name: {"failed": low - base_low, "least": low - base_high, "most": high - base_low}
                for name, (low, high) in list(ends.items())[1:]
            },
        }


def _mean_pass(group: SeedGroup, queries: set[str], unscored_as: int) -> float:
    rates = []
    for run in group.runs:
        for query in queries:
            passes = [int(outcome.final) for outcome in run.scored.get(query, [])]
            passes += [unscored_as] * len(run.unscored.get(query, []))
            rates.append(sum(passes) / len(passes))
    return sum(rates) / len(rates)


def _ends(row: ComparedFigure, differences: NDArray[Any]) -> tuple[float | None, float | None]:
    """Where no query differs, or all of them wholly, a bootstrap has no spread; then it is the
    interval of as many pairs."""
    if not len(differences):
        return None, None
    low, high = percentiles(differences)
    if row.kind == "mean":
        return low, high
    if differences.max() - differences.min() < ROUNDING:
        n = len(row.queries)
        for gained, lost in ((0, 0), (n, 0), (0, n)):
            if abs(differences[0] - (gained - lost) / n) < ROUNDING:
                low, high = paired_interval(gained, lost, n)
    return max(low, -1.0), min(high, 1.0)


def _correct(differences: Sequence[dict[str, Any]]) -> None:
    """Adds Holm's p-value to each, and whether the difference is significant."""
    for difference, p in zip(differences, holm([each["p"] for each in differences]), strict=True):
        difference |= {"p_holm": p, "significant": p < SIGNIFICANT}
