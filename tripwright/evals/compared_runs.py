"""Run folders as a comparison sees them: outcomes query by query, the card, and which runs are
seeds of one another.

The subtle thing: the figures are made anew from transcripts.jsonl, not taken from score.json,
because a comparison needs to know which query passed. With `judge_anew` the plans in the
transcripts are judged again, so that runs judged by different rules, or by different versions of
the judge, can be compared under one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from tripwright.domains import domains
from tripwright.domains.domain import ClosedWorld
from tripwright.errors import UserError
from tripwright.evals.comparison_cards import Card, but_for_seeds, seed_of
from tripwright.evals.figures import by_query
from tripwright.evals.outcome import Outcome
from tripwright.evals.run_card import judge_code, judge_version
from tripwright.files import json_object
from tripwright.progress import StatusLine
from tripwright.runs import RECIPE, TRANSCRIPTS, Run, episode_lines

EVALUATIONS = ("after_rl", "after_sft")  # of a training's folder, the one it is about first
Judge = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class ComparedRun:
    """`scored` and `unscored` hold the samples of each query; a query may be in both."""

    name: str
    folder: Path
    card: Card
    seed: int | None
    alike: str  # equal for runs that differ only by their seed
    scored: dict[str, list[Outcome]]
    unscored: dict[str, list[Outcome]]
    finished: bool

    @property
    def rules(self) -> str:
        return str(self.card.get("rules"))

    @property
    def episodes(self) -> int:
        return sum(map(len, self.scored.values())) + self.unscored_episodes

    @property
    def unscored_episodes(self) -> int:
        return sum(map(len, self.unscored.values()))

    @property
    def unscored_share(self) -> float:
        return self.unscored_episodes / self.episodes if self.episodes else 0.0


@dataclass(frozen=True)
class SeedGroup:
    """Runs that differ only by their seed, under one name; mostly a single run."""

    name: str
    runs: tuple[ComparedRun, ...]


def run_names(folders: Sequence[Path]) -> list[str]:
    """The last part of each path, with as many parts before it as tell all of them apart."""
    parts = [folder.resolve().parts for folder in folders]
    if len(set(parts)) < len(parts):
        raise UserError("The same run folder is given twice.")
    for count in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-count:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    raise AssertionError("different paths have the same parts")


def evaluation_folder(folder: Path) -> Path:
    """The folder with the transcripts: the run itself, or the main evaluation of a training."""
    for place in (folder, *(folder / "eval" / name for name in EVALUATIONS)):
        if (place / TRANSCRIPTS).is_file():
            return place
    folders = sorted(
        path.parent.relative_to(folder).as_posix() for path in folder.glob(f"eval/*/{TRANSCRIPTS}")
    )
    raise UserError(
        f"No {TRANSCRIPTS} in '{folder}': expected a folder made by 'tripwright run', or by"
        " quickstart or examine with eval/"
        + (f"; found {', '.join(folders)}, name one of these." if folders else ".")
    )


def read_compared(
    folder: Path, name: str, judge_anew: Judge | None = None, rules: str | None = None
) -> ComparedRun:
    """Raises UserError for a folder without transcripts, and for lines that are no episodes."""
    place = evaluation_folder(folder)
    run, status, outcomes = Run.at(place), StatusLine(), list[Outcome]()
    for line in episode_lines(run.transcripts):
        outcomes.append(
            line.read(lambda record: Outcome.of(judge_anew(record) if judge_anew else record))
        )
        status.show(f"reading {name}: {len(outcomes)} episodes")
    status.end()
    if not outcomes:
        raise UserError(f"No episode in '{run.transcripts}': there is nothing to compare yet.")
    outcomes.sort(key=attrgetter("id"))
    card = dict(run.card)
    recipe = _recipe(place, card)
    alike, seed = but_for_seeds(card, recipe), seed_of(card, recipe)
    if rules is not None:
        card |= {
            "rules": rules,
            "judge": judge_version(judge_code(str((card.get("dialect") or {}).get("name")))),
        }
    scored, unscored = (
        by_query(o for o in outcomes if o.scored),
        by_query(o for o in outcomes if not o.scored),
    )
    return ComparedRun(name, folder, card, seed, alike, scored, unscored, run.finished)


def judged_by_rules(world: ClosedWorld, rules: str) -> Judge:
    """Judges the answer of a line again. A line without one stays undelivered, an unscored one
    unscored."""

    def again(record: Mapping[str, Any]) -> Mapping[str, Any]:
        domain = domains().get(record["domain"])
        if domain is None or domain.judge_again is None:
            what = domain.title if domain is not None else "another benchmark"
            raise UserError(
                "--rejudge is for answers that several sets of rules can judge; these runs are of"
                f" {what}. Leave it out."
            )
        if rules not in domain.rules:
            raise UserError(f"Unknown rules '{rules}'. Available: {', '.join(domain.rules)}.")
        if record["verdict"] is None:
            return record
        if record.get("world") != world.name:
            raise UserError(
                f"Episode '{record['id']}' was played in world '{record.get('world')}', and --world"
                f" is '{world.name}'."
            )
        return {**record, "verdict": domain.judge_again(record, world, rules).record()}

    return again


def check_world(runs: Sequence[ComparedRun], world: ClosedWorld) -> None:
    """Raises UserError where a card says that the episodes were played in another version of this
    world."""
    for run in runs:
        place = run.card.get("world")
        content_hash = place.get("content_hash") if isinstance(place, dict) else None
        if content_hash not in (None, world.content_hash):
            hashes = f"content hash {str(content_hash)[:12]} there, {world.content_hash[:12]} here"
            raise UserError(
                f"'{run.folder}' was played in another version of world '{world.name}': {hashes}."
            )


def common_queries(runs: Sequence[ComparedRun]) -> list[str]:
    """The queries that every run has scored. Raises UserError for none."""
    queries = sorted(set.intersection(*(set(run.scored) for run in runs)))
    if not queries:
        counts = ", ".join(f"{run.name} has {len(run.scored):,}" for run in runs)
        advice = "Give runs of the same queries in the same world"
        raise UserError(
            f"The runs have no scored query in common, so there is nothing to compare: {counts}."
            f" {advice}."
        )
    return queries


def query_id(outcome: Outcome) -> str:
    """The query's own id: without the number of the sample."""
    return re.sub(r"-s\d+$", "", outcome.id)


def group_seeds(runs: Sequence[ComparedRun]) -> list[SeedGroup]:
    """Runs that are alike but for different seeds, together. Where that would leave nothing to
    compare, each run stands alone."""
    together: dict[str, list[ComparedRun]] = {}
    for run in runs:
        together.setdefault(run.alike, []).append(run)
    if len(together) < 2 or any(
        len({run.seed for run in same} - {None}) < len(same)
        for same in together.values()
        if len(same) > 1
    ):
        return [SeedGroup(run.name, (run,)) for run in runs]
    return [named_group(same) for same in together.values()]


def named_group(runs: Sequence[ComparedRun]) -> SeedGroup:
    """One group of runs that differ in their seed alone, named after the first without its seed."""
    if len(runs) == 1:
        return SeedGroup(runs[0].name, tuple(runs))
    return SeedGroup(
        (
            f"{runs[0].name} and {len(runs) - 1} more seeds"
            if len(runs) > 2
            else f"{runs[0].name} and another seed"
        ),
        tuple(runs),
    )


def check_group(group: SeedGroup) -> None:
    """Raises UserError where runs given as seeds of one another differ in more than that."""
    first, *others = group.runs
    if odd := [run.name for run in others if run.alike != first.alike]:
        advice = "Give them as separate runs, or add --unlike."
        raise UserError(
            f"Runs joined by commas differ only by a seed, but {first.name} and {odd[0]} differ in"
            f" more. {advice}"
        )


def _recipe(place: Path, card: Card) -> Card | None:
    """Of the training that made the policy: beside its eval/, or above the model that a run was
    given."""
    policy = card.get("policy")
    model = (
        policy.get("model") if isinstance(policy, dict) and policy.get("kind") == "local" else None
    )
    homes = [place.parent.parent] if place.parent.name == "eval" else []
    homes += [Path(model).parent.parent] if isinstance(model, str) else []
    return next((recipe for home in homes if (recipe := json_object(home / RECIPE))), None)
