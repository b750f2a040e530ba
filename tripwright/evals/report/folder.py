"""A run folder as the report sees it: its figures, what its evaluations are called, and its
episodes, which are read once for every part of the page. Every file may be missing or cut short (a
run may be killed at any moment, or still be going): what is absent or unreadable is said in words
(`missing`) and never filled in."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from sys import intern
from typing import Any, Literal, NamedTuple

from tripwright.domains import domains
from tripwright.domains.domain import Counts
from tripwright.errors import UserError, counted, printable
from tripwright.evals.outcome import Outcome
from tripwright.evals.report.markup import Estimate, estimate, number, plain
from tripwright.files import check_inside, read_object
from tripwright.runs import (
    BEST,
    CARD,
    COMPARISON,
    DIFFICULTY,
    METRICS,
    RECIPE,
    SCORE,
    TRANSCRIPTS,
    VALIDATION_STEP,
    WARNINGS,
    LinePlace,
    Run,
    episode_lines,
    logged_steps,
    object_in,
    readable_lines,
)
from tripwright.transcript import OVERLONG, StopReason, call_key
from tripwright.verdict import SCHEMA, Verdict

Json = dict[str, Any]

SUPERVISED = ("copy_pretraining", "sft")  # stages before RL
TOP_LEVEL_RUN = "run"  # the name we give the score of a plain `tripwright run` folder
# those of a training come first, in this order; title, note, colour
EVALUATIONS = {
    "after_sft": ("After SFT", "imitation only", 1),
    "after_rl": ("After RL", "the trained agent", 0),
    "after_sft_with_faults": ("After SFT, tools failing", "as RL meets them", 3),
    "after_rl_with_faults": ("After RL, tools failing", "as RL meets them", 6),
    "emptied_tools": ("Tools emptied", "the trained agent, every tool answers nothing", 7),
    TOP_LEVEL_RUN: ("This run", "", 0),
}
BASELINES = {
    "first_row": ("First row", "script: takes the first row of every table"),
    "cheapest_row": ("Cheapest row", "script: takes the cheapest row"),
    "teacher": ("Its teacher", "whom the cold start imitates"),
    "expert": ("Expert", "what can be reached"),
}
_ABSENT = {
    CARD: "no run_card.json, so neither the recipe nor the machine is known",
    DIFFICULTY: "no difficulty.json, so the scripted baselines are not shown",
    COMPARISON: "no comparison.json, so there is no paired test between two evaluations",
    METRICS: "no metrics.jsonl, so there are no learning curves",
}


class ReportedRun:
    """`evaluations` by their names, in order; `best` says which of those between the steps of
    training is the best. `missing`: what is absent, `unreadable`: what is there and cannot be read,
    in words."""

    def __init__(self, path: Path):
        """Raises UserError for what is no run folder, or holds nothing to report."""
        self.path = path
        self.missing = [w for name, w in _ABSENT.items() if not os.path.lexists(path / name)]
        self.unreadable: list[str] = []
        self._works: dict[Path, list[Work]] = {}
        self.evaluations = dict[str, Evaluation]()
        for name, folder in _evaluations(path).items():
            if not os.path.lexists(file := folder / SCORE):
                self.missing.append(f"no {file.relative_to(path)}, so there are no final metrics")
            words = EVALUATIONS.get(name, (plain(name).capitalize(), "", 4))
            with self._told():
                check_inside(path, folder)
                found = Evaluation(self, name, folder, self._read(file), *words)
                if found.score or found.transcripts:
                    self.evaluations[name] = found
        if not any(each.transcripts for each in self.evaluations.values()):
            self.missing.append(f"no {TRANSCRIPTS}, so no episodes are shown")
        self.metrics, bad_lines = list[Json](), 0  # a row for each step, in order
        with self._told():
            self.metrics, bad_lines = logged_steps(path / METRICS)
        if bad_lines:
            self.unreadable.append(f"{counted(bad_lines, 'unreadable line')} of {METRICS} left out")
        self.card, self.difficulty = self._read(path / CARD), self._read(path / DIFFICULTY)
        self.comparison = self._read(path / COMPARISON)
        self.warnings = list[Json]()  # oldest first
        with self._told():
            self.warnings.extend(filter(None, readable_lines(path / WARNINGS)))
        self.recipe, self.best = self._read(path / RECIPE), self._read(path / BEST)
        if not (self.metrics or self.evaluations or self.card or self.unreadable):
            raise UserError(
                f"Nothing to report in '{path}': found none of {SCORE}, eval/*/{SCORE}, {METRICS},"
                f" {TRANSCRIPTS}, {CARD}."
            )

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What cannot be read is said, and the rest is read."""
        try:
            yield
        except FileNotFoundError:
            pass
        except (UserError, OSError) as problem:
            self.unreadable.append(printable(str(problem)))

    def _read(self, file: Path) -> Json:
        with self._told():
            return read_object(file)
        return {}

    def works(self, path: Path) -> list[Work]:
        """The episodes of one of its transcripts.jsonl."""
        if path not in self._works:
            works, bad_lines = self._works.setdefault(path, []), 0
            Run.at(path.parent).check_version()
            with self._told():
                check_inside(self.path, path)
                for line in episode_lines(path):
                    try:
                        works.append(read_work(line.record(), line.place))
                    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                        bad_lines += 1
            if bad_lines:
                lines, name = counted(bad_lines, "unreadable line"), path.relative_to(self.path)
                self.unreadable.append(f"{lines} of {name} left out")
        return self._works[path]

    def stage(self, *names: str) -> list[Json]:
        return [row for row in self.metrics if row.get("stage") in names]

    def flops_from_mfu(self, peak_flops: float) -> None:
        """Puts in the place of the counted FLOPs of updates those of Planner-R1's Appendix B.6: MFU
        × `peak_flops` of a GPU (FLOP/s) × GPUs × seconds of the update / epochs over the batch.
        Raises UserError where no step has them."""
        epochs, total = number(reinforcement(self.recipe)[1].get("epochs_per_batch")) or 1.0, 0.0
        rows = [row for row in self.metrics if number(row.get("mfu")) is not None]
        if not rows:
            raise UserError(
                f"'{self.path}': no step has an 'mfu', which --peak-flops reckons with."
            )
        for row in rows:
            gpus, seconds = number(row.get("gpus")) or 1.0, number(row.get("update_seconds")) or 0.0
            row["flops_update"] = float(row["mfu"]) * peak_flops * gpus * seconds / epochs
            total += row["flops_update"]
            row["flops_update_total"] = total

    @property
    def rl(self) -> list[Json]:
        """The steps of reinforcement learning, of whatever algorithm: of the last stage that logs a
        reward; with the floor of the reward in force, where it is known: not of weights or of a
        function of the user's own, nor under other rules than the examination's."""
        stages = [row.get("stage") for row in self.metrics if "reward_mean" in row]
        rows, floors = self.stage(str(stages[-1])) if stages else [], dict[Any, Json]()
        _, settings = reinforcement(self.recipe)
        if settings.get("rules") == object_in(self.recipe, "evaluation").get("rules"):
            of_stages = object_in(settings, "curriculum").get("stages", ())
            for stage, (reward, _) in enumerate(of_stages, start=1):
                earned = (metric_of(each.score, f"{reward}_reward") for each in self.floor)
                if known := [each.value for each in earned if each]:
                    floors[stage] = {"reward_floor": max(known)}
        return [row | floors.get(row.get("curriculum_stage"), {}) for row in rows]

    @property
    def floor(self) -> list[Evaluation]:
        """Of each baseline without a thought what it reaches."""
        return [
            Evaluation(self, name, self.path, score, f"Floor: {plain(name)}", "", 5)
            for name, score in object_in(self.difficulty, "floor").items()
        ]

    @property
    def exam(self) -> list[Evaluation]:
        """The evaluations that were not made while it trained."""
        return [each for each in self.evaluations.values() if not each.is_validation]

    @property
    def validation(self) -> list[Evaluation]:
        """Those that were."""
        return _told_apart(each for each in self.evaluations.values() if each.is_validation)

    @property
    def main(self) -> Evaluation | None:
        """The evaluation the page is about: after RL where there is one."""
        scored = {each.name: each for each in self.exam if each.score}
        known = ("after_rl", "after_sft", TOP_LEVEL_RUN)
        return next((scored[name] for name in (*known, *scored) if name in scored), None)

    @property
    def score(self) -> Json:
        """Of the main evaluation; {} where there is none."""
        return self.main.score if self.main else {}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One evaluation of a run, and how a page calls it."""

    run: ReportedRun
    name: str
    folder: Path
    score: Json  # {} where none can be read
    title: str
    note: str
    colour: int

    @property
    def transcripts(self) -> Path | None:
        file = self.folder / TRANSCRIPTS
        return file if os.path.lexists(file) else None

    @property
    def card(self) -> Mapping[str, Any]:
        """Of the run that made its episodes."""
        return object_in(self.score, "run_card") or Run.at(self.folder).card

    @property
    def works(self) -> Sequence[Work]:
        return self.run.works(self.transcripts) if self.transcripts else ()

    @cached_property
    def scored(self) -> list[Work]:
        return [work for work in self.works if work.scored]

    @property
    def is_validation(self) -> bool:
        """Whether it was made while the run trained."""
        return self.name.startswith(VALIDATION_STEP)

    @property
    def step(self) -> float | None:
        """`…step-N` is of step N; the cold start is step 0 and the trained agent the last step that
        was logged. None for other evaluations."""
        if match := re.search(r"(?:^|[^a-z])step[-_ ]?(\d+)$", self.name):
            return float(match[1])
        last = max((number(row["step"]) or 0.0 for row in self.run.rl), default=None)
        return None if last is None else {"after_sft": 0.0, "after_rl": last}.get(self.name)


# ---- episodes

UNREADABLE = "(unreadable turn)"
MOST_REQUEST = 1_000  # characters
Kind = Literal["fine", "error", "fault", "repeated", "unreadable"]


class Step(NamedTuple):
    """One turn that was no answer: the tool it called, and what came of it."""

    tool: str
    kind: Kind


@dataclass(frozen=True)
class Work(Outcome):
    """An episode: its outcome, and how the agent worked. Its `text` is what the user said first
    where the request has no words of its own."""

    place: LinePlace
    steps: tuple[Step, ...]
    refused: int  # turns that got an error message
    context: int | None  # all of its tokens; None where the transcript does not say
    failed: tuple[str, ...]  # facts that were looked at
    cost: float | None  # of the plan, in US dollars
    # sense of its domain's, by its title → what the answer names; those that can be told
    ungrounded: Mapping[str, Counts]

    @property
    def answered(self) -> bool:
        return self.stop_reason == StopReason.ANSWER

    @property
    def overlong(self) -> bool:
        return self.stop_reason in OVERLONG

    @property
    def calls(self) -> int:
        return sum(step.kind != "unreadable" for step in self.steps)

    def count(self, *kinds: Kind) -> int:
        return sum(step.kind in kinds for step in self.steps)


def read_work(record: Json, place: LinePlace) -> Work:
    """Raises ValueError, KeyError, TypeError or AttributeError for what is no episode of a run."""
    outcome, segments = Outcome.of(record), record["transcript"]["segments"]
    verdict = Verdict.from_record(record["verdict"]) if outcome.scored else None
    failed = [fact.name for fact in (verdict.failed if verdict else ())]
    domain = domains().get(outcome.domain) if outcome.scored else None
    said = (str(segment["text"]) for segment in segments if segment["role"] == "user")
    text, question = outcome.text or next(said, ""), record["request"].get("question")
    fields = vars(outcome) | {
        "text": f"{question}: {text}"[:MOST_REQUEST] if question else text[:MOST_REQUEST]
    }
    return Work(
        **fields,
        place=place,
        steps=tuple(_steps(segments, outcome.stop_reason)),
        refused=sum(bool(segment.get("problem")) for segment in segments),
        context=sum(len(each.get("token_ids") or ()) for each in segments) or None,
        failed=tuple(name for name in failed if name != SCHEMA),
        cost=number(verdict.details.get("total_cost")) if verdict else None,
        ungrounded={
            sense.title: counts
            for sense in (domain.report.ungrounded if domain else ())
            if (counts := sense.counts(record)) is not None
        },
    )


def _steps(segments: list[Json], stop: str) -> Iterator[Step]:
    """In order. A turn that ended the episode as a mistake is its last step."""
    earlier: set[str] = set()
    last = ""
    for segment in segments:
        if segment["role"] == "assistant":
            last = segment["text"]
        if call := segment.get("call"):
            key = call_key(call["name"], call["arguments"])
            kind: Kind = "fine"
            if key in earlier:
                kind = "repeated"
            elif call.get("fault"):
                kind = "fault"
            elif call.get("error"):
                kind = "error"
            if kind != "fault":  # what got no answer may be asked again
                earlier.add(key)
            yield Step(intern(str(call["name"])), kind)
        elif problem := segment.get("problem"):
            yield _mistake(problem, segment["text"])
    if stop in (StopReason.REPEATED_CALL, StopReason.FORMAT_ERROR):
        yield _mistake(stop, last)


def _mistake(problem: str, text: str) -> Step:
    """The tool of a call that was refused stands in the turn's text alone."""
    if problem != StopReason.REPEATED_CALL:
        return Step(UNREADABLE, "unreadable")
    named = re.search(r'"name": *"([^"]+)"|<tool_call>\s*(\w+)\(', text)
    return Step(intern(named[1] or named[2]) if named else UNREADABLE, "repeated")


# ---- evaluations


def metric_of(score: Json, name: str) -> Estimate | None:
    metric = estimate(object_in(score, "metrics").get(name))
    chance = metric and name.startswith(("pass@", "pass^"))
    return metric._replace(kind="chance") if metric and chance else metric


def reinforcement(recipe: Json) -> tuple[str, Json]:
    """(algorithm, its settings) of a resolved recipe: the one table that has a curriculum of
    rewards; ("", {}) where there is none."""
    for name, table in recipe.items():
        if isinstance(table, dict) and "curriculum" in table:
            return name, table
    return "", {}


def _order(folder: Path) -> tuple[int, str, int]:
    """Those of a training first; step 20 before step 100."""
    known = list(EVALUATIONS)
    if folder.name in known:
        return known.index(folder.name), "", 0
    before, _, step = folder.name.rpartition("-")
    return len(known), *((before, int(step)) if step.isdigit() else (folder.name, 0))


def _evaluations(path: Path) -> dict[str, Path]:
    """Name → folder."""
    held = {file.parent for name in (SCORE, TRANSCRIPTS) for file in path.glob(f"eval/*/{name}")}
    return {each.name: each for each in sorted(held, key=_order)} or {TOP_LEVEL_RUN: path}


# ---- evaluations as columns of a page, and as points of training (rows P12, P14)


def columns_of(runs: Mapping[str, ReportedRun]) -> list[Evaluation]:
    """Of one run the evaluations of its exam, checkpoints by their step; of several the main one of
    each, under the run's name."""
    if len(runs) > 1:
        return [
            replace(run.main, title=name, note=run.main.title, colour=i)
            for i, (name, run) in enumerate(runs.items())
            if run.main
        ]
    (run,) = runs.values()
    return _told_apart(run.exam)


def _told_apart(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """By their usual words where those tell them apart, else by their names."""
    found = [
        each
        if "step" not in each.name or each.step is None
        else replace(each, title=f"Step {each.step:.0f}")
        for each in evaluations
    ]
    often = Counter(each.title for each in found)
    return [each if often[each.title] == 1 else replace(each, title=each.name) for each in found]


def of_one_run(columns: Sequence[Evaluation]) -> bool:
    return len({each.run.path for each in columns}) == 1


def steps_of(columns: Iterable[Evaluation]) -> dict[float, Evaluation]:
    """Those that are checkpoints, in order of their steps."""
    steps = {each.step: each for each in columns}
    return {step: steps[step] for step in sorted(step for step in steps if step is not None)}
