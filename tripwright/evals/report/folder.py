"""A run folder as the report sees it: its figures, what its evaluations are called, and its
episodes, which are read once for every part of the page. Every file may be missing or cut short (a
run may be killed at any moment, or still be going): what is absent or unreadable is said in words
(`missing`) and never filled in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any, Literal, NamedTuple

from tripwright.domains import domains
from tripwright.domains.domain import Counts
from tripwright.errors import NotJson, UserError, read_json
from tripwright.evals.outcome import Outcome
from tripwright.evals.report.markup import Estimate, estimate, number, plain, plural
from tripwright.files import json_object, whole_lines
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
    episode_lines,
    logged_steps,
)
from tripwright.transcript import OVERLONG, StopReason, call_key
from tripwright.verdict import State, Verdict

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


@dataclass(frozen=True)
class ReportedRun:
    path: Path
    card: Json
    difficulty: Json
    metrics: list[Json]  # one per logged step, in order
    scores: dict[str, Json]  # evaluation name → score.json; those while it trained are apart
    comparison: Json
    transcripts: dict[str, Path]  # evaluation name → transcripts.jsonl
    warnings: list[Json] = field(default_factory=list)  # of training, oldest first
    recipe: Json = field(default_factory=dict)
    # evaluations between the steps of training, in their order, and which of them is the best
    validation: dict[str, Json] = field(default_factory=dict)
    best: Json = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    _works: dict[Path, list[Work]] = field(default_factory=dict)

    def works(self, path: Path) -> list[Work]:
        """The episodes of one of its transcripts.jsonl."""
        if path not in self._works:
            works, unreadable = self._works.setdefault(path, []), 0
            for line in episode_lines(path):
                try:
                    works.append(read_work(line.record(), line.place))
                except (ValueError, KeyError, TypeError, AttributeError):
                    unreadable += 1
            if unreadable:
                lines, name = plural(unreadable, "unreadable line"), path.relative_to(self.path)
                self.missing.append(f"{lines} of {name} left out")
        return self._works[path]

    def stage(self, *names: str) -> list[Json]:
        return [row for row in self.metrics if row.get("stage") in names]

    @property
    def supervised(self) -> list[Json]:
        return self.stage(*SUPERVISED)

    @property
    def rl(self) -> list[Json]:
        """The steps of reinforcement learning, of whatever algorithm: of the last stage that logs a
        reward."""
        stages = [row.get("stage") for row in self.metrics if "reward_mean" in row]
        return self.stage(str(stages[-1])) if stages else []

    @property
    def main_evaluation(self) -> str | None:
        """The evaluation the page is about: after RL where there is one."""
        for name in ("after_rl", "after_sft", TOP_LEVEL_RUN, *self.scores):
            if name in self.scores:
                return name
        return None

    @property
    def score(self) -> Json:
        """Of the main evaluation; {} where there is none."""
        return self.scores.get(str(self.main_evaluation), {})


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
    ungrounded: tuple[Counts | None, ...]  # in each sense of its domain's

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
    facts = (
        [fact for group in verdict.groups[1:] for fact in (group.facts or {}).values()]
        if verdict
        else []
    )
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
        failed=tuple(fact.name for fact in facts if fact.state is State.FAILED),
        cost=number(verdict.details.get("total_cost")) if verdict else None,
        ungrounded=tuple(
            each.counts(record) for each in (domain.report.ungrounded if domain else ())
        ),
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
    body = text.rpartition("<tool_call>")[2].partition("</tool_call>")[0]
    try:
        tool = str(json.loads(body)["name"])
    except (ValueError, KeyError, TypeError):
        tool = body.partition("(")[0].strip()[:60] or UNREADABLE
    return Step(intern(tool), "repeated")


# ---- evaluations


def evaluation_words(name: str) -> tuple[str, str, int]:
    return EVALUATIONS.get(name, (plain(name).capitalize(), "", 4))


def metric_of(score: Json, name: str) -> Estimate | None:
    metric = estimate(object_in(score, "metrics").get(name))
    chance = metric and name.startswith(("pass@", "pass^"))
    return metric._replace(kind="chance") if metric and chance else metric


def object_in(record: Any, key: str) -> Json:
    """The object under this key; {} where there is none."""
    value = record.get(key) if isinstance(record, dict) else None
    return value if isinstance(value, dict) else {}


def reinforcement(recipe: Json) -> tuple[str, Json]:
    """(algorithm, its settings) of a resolved recipe: the one table that has a curriculum of
    rewards; ("", {}) where there is none."""
    for name, table in recipe.items():
        if isinstance(table, dict) and "curriculum" in table:
            return name, table
    return "", {}


def read_run(path: Path) -> ReportedRun:
    if not path.is_dir():
        raise UserError(
            f"No run folder at '{path}'. Expected a folder made by 'tripwright quickstart', 'train'"
            " or 'run'."
        )
    missing = [words for name, words in _ABSENT.items() if not (path / name).is_file()]

    def read(file: Path) -> Json:
        if (record := json_object(file)) is None and file.is_file():
            missing.append(f"{file.relative_to(path)} is not a JSON object")
        return record or {}

    folders = _evaluations(path)
    found = {name: read(folder / SCORE) for name, folder in folders.items()}
    scores = {name: score for name, score in found.items() if score}
    without = [each / SCORE for each in folders.values() if not (each / SCORE).is_file()]
    missing += [f"no {file.relative_to(path)}, so there are no final metrics" for file in without]
    transcripts = {
        name: folder / TRANSCRIPTS
        for name, folder in folders.items()
        if (folder / TRANSCRIPTS).is_file()
    }
    if not transcripts:
        missing.append(f"no {TRANSCRIPTS}, so no episodes are shown")
    metrics, unreadable = logged_steps(path / METRICS)
    if unreadable:
        missing.append(f"{plural(unreadable, 'unreadable line')} of {METRICS} left out")
    run = ReportedRun(
        path=path,
        card=read(path / CARD),
        difficulty=read(path / DIFFICULTY),
        metrics=metrics,
        scores={name: score for name, score in scores.items() if not is_validation(name)},
        comparison=read(path / COMPARISON),
        transcripts=transcripts,
        warnings=read_warnings(path / WARNINGS),
        recipe=json_object(path / RECIPE) or {},
        validation={name: score for name, score in scores.items() if is_validation(name)},
        best=json_object(path / BEST) or {},
        missing=missing,
    )
    if not (metrics or run.scores or transcripts or run.card):
        raise UserError(
            f"Nothing to report in '{path}': found none of {SCORE}, eval/*/{SCORE}, {METRICS},"
            f" {TRANSCRIPTS}, {CARD}."
        )
    return run


def is_validation(name: str) -> bool:
    """Whether an evaluation was made while the run trained."""
    return name.startswith(VALIDATION_STEP)


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


def read_warnings(path: Path) -> list[Json]:
    """The lines that can be read, each once: a run that was resumed may have told one again."""
    warnings: dict[tuple[str, ...], Json] = {}
    for line in whole_lines(path) if path.is_file() else ():
        try:
            warning = read_json(line.text)
        except NotJson:
            continue
        if isinstance(warning, dict):
            key = tuple(str(warning.get(part)) for part in ("stage", "name", "since_step"))
            warnings[key] = warning
    return list(warnings.values())
