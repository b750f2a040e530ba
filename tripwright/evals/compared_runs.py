"""Run folders as a comparison sees them: outcomes query by query, the card, which runs are seeds of
one another, and whether they may be compared at all.

The figures are made anew from transcripts.jsonl, not taken from score.json, because a comparison
needs to know which query passed. With `judge_anew` the plans in the transcripts are judged again,
so that runs judged by different rules, or by different versions of the judge, can be compared under
one.

A policy is what is compared, so it may differ; so may seeds. World, queries, rules, prompt, tools,
limits, decoding and what was done to the tools must be alike, or the difference of two figures is
theirs and not the agents'. The judge's version, tripwright's and the number of samples are only
told. Where a card does not say something, that is told too: nothing is taken for alike on no
evidence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from tripwright.domains import domains
from tripwright.domains.domain import ClosedWorld
from tripwright.errors import UserError
from tripwright.evals.outcome import Outcome
from tripwright.evals.run_card import (
    HASHES,
    differences_in,
    judge_code,
    judge_version,
    what_matters,
)
from tripwright.evals.scoreboard import by_query
from tripwright.files import json_object
from tripwright.progress import StatusLine
from tripwright.runs import RECIPE, TRANSCRIPTS, Run, episode_lines

Card = Mapping[str, Any]

ALIKE = ("rules", "world", "queries", "dialect", "decoding", "emptied_tools", "faults")
# what a card that says nothing about cannot be compared by
KNOWN = ("rules", "world", "queries", "dialect")
TOLD = ("judge", "tripwright", "samples")
DIALECT = frozenset(
    "name system_prompt_sha256 face limits tools_sha256 tools_in_prompt plan_format".split()
)
SAMPLED = ("endpoint", "local")  # policies that decode; a script has no temperature
NEUTRAL: dict[str, Any] = {"top_p": 1.0}  # what a decoding setting is where it is not given
SEEDS = ("seed",)

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
    policy = _table(card, "policy")
    model = policy.get("model") if policy.get("kind") == "local" else None
    homes = [place.parent.parent] if place.parent.name == "eval" else []
    homes += [Path(model).parent.parent] if isinstance(model, str) else []
    return next((recipe for home in homes if (recipe := json_object(home / RECIPE))), None)


# ---- cards


def _table(card: Card, entry: str) -> Card:
    """An entry that is an object, {} where a card that others wrote has something else there."""
    found = card.get(entry)
    return found if isinstance(found, dict) else {}


def unlike(cards: Mapping[str, Card], but: Sequence[str] = ()) -> list[str]:
    """One phrase for each thing that must be alike and differs from the first run's; `but` names
    entries that may differ."""
    (first_name, first), *others = cards.items()
    entries = [entry for entry in ALIKE if entry not in but]
    phrases: list[str] = []
    for name, card in others:
        here, there = _comparable(first, card), _comparable(card, first)
        phrases += differences_in(here, there, entries, f"in {first_name}", f"in {name}")
    return phrases


def notes(cards: Mapping[str, Card]) -> list[str]:
    """What a reader should know although it forbids nothing."""
    phrases = []
    for entry in TOLD:
        values = {name: card[entry] for name, card in cards.items() if card.get(entry) is not None}
        if len({json.dumps(value) for value in values.values()}) > 1:
            words = {
                "judge": "the judge's code",
                "tripwright": "tripwright",
                "samples": "samples per query",
            }[entry]
            phrases.append(
                f"{words} differs: "
                + ", ".join(f"{value} in {name}" for name, value in values.items())
            )
    first = next(iter(cards.values()))
    for entry in KNOWN:
        if silent := [
            name
            for name, card in cards.items()
            if not _says_the_same_things(card.get(entry), first.get(entry))
        ]:
            phrases.append(
                f"not known to be alike: the run card of {', '.join(silent)} does not say its"
                f" {entry}, or says it otherwise"
            )
    return phrases


def _says_the_same_things(entry: Any, first: Any) -> bool:
    if isinstance(entry, dict) and isinstance(first, dict):
        return bool(entry.keys() & first.keys())
    return bool(entry)


def seed_of(card: Card, recipe: Card | None) -> int | None:
    """The training's seed where there was one, else the sampling's."""
    seed = (recipe or {}).get("seed", _table(card, "decoding").get("seed"))
    return seed if isinstance(seed, int) else None


def but_for_seeds(card: Card, recipe: Card | None) -> str:
    """Equal for runs that differ only by a seed: of the sampling, or of the training that made the
    weights."""
    policy = _table(card, "policy") or card.get("policy") or {}
    # the recipe and the stage say what the weights are; their fingerprint and place differ with the
    # seed
    if recipe is not None and isinstance(policy, dict):
        policy = {key: value for key, value in policy.items() if key not in HASHES}
        if isinstance(model := policy.get("model"), str):
            policy["model"] = Path(model).name  # RUN/model/STAGE
    settings = {key: value for key, value in (recipe or {}).items() if key not in (*SEEDS, "name")}
    decoding = {key: value for key, value in _table(card, "decoding").items() if key not in SEEDS}
    rest = [what_matters(card.get(entry)) for entry in (*ALIKE, "samples") if entry != "decoding"]
    return json.dumps([policy, settings, decoding, rest], sort_keys=True, default=str)


def _comparable(card: Card, other: Card) -> dict[str, Any]:
    """The entries of a card in one form, whichever verb wrote it, cut to what the other one says as
    well."""
    entries = {entry: card.get(entry) for entry in ALIKE}
    entries["decoding"] = _decoding(card, other)
    entries["emptied_tools"] = bool(card.get("emptied_tools"))
    for entry in KNOWN:
        mine, theirs = entries[entry], other.get(entry)
        if not mine or not theirs:
            entries[entry] = None
        elif isinstance(mine, dict) and isinstance(theirs, dict):
            keys = theirs.keys() & DIALECT if entry == "dialect" else theirs.keys()
            entries[entry] = {key: value for key, value in mine.items() if key in keys}
    return entries


def _decoding(card: Card, other: Card) -> dict[str, Any] | None:
    """None where one of the two policies decodes nothing. Policies of one kind know the same
    settings; of two, what both say counts."""
    kinds = [_table(each, "policy").get("kind") for each in (card, other)]
    mine, theirs = (each.get("decoding") for each in (card, other))
    if (
        not isinstance(mine, dict)
        or not isinstance(theirs, dict)
        or not all(kind in SAMPLED for kind in kinds)
    ):
        return None
    keys = mine.keys() | theirs.keys() if kinds[0] == kinds[1] else mine.keys() & theirs.keys()
    settings = {key: mine.get(key) for key in keys if key not in SEEDS}
    filled = {key: NEUTRAL.get(key) if value is None else value for key, value in settings.items()}
    return {
        key: value
        for key, value in filled.items()
        if value is not None and not (key in NEUTRAL and not mine.get("temperature"))
    }
