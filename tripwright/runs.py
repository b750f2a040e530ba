"""A run folder: what its files are called, and the one way in which its episodes are read and
written.

`transcripts.jsonl` is a journal (`files.Journal`), an episode a line. Three rules hold wherever it
is read. A torn last line is no line yet. An id that comes again is the same episode, tried again:
its latest line counts. An unscored episode (our side failed) stays among the others, with a verdict
of null: the next start of the run tries it again, and whoever computes a rate leaves it out.

Token ids make the files large, so a first look keeps of each line only its id and its place, and
episodes are then read one at a time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tripwright.errors import NotJson, UserError, object_or_none, printable, read_json
from tripwright.files import MOST_AT_ONCE, Journal, json_object, keep_lines, open_file, whole_lines

# of every run
JUDGEMENTS = "judgements.jsonl"
TRANSCRIPTS, SCORE, CARD, CALLS = "transcripts.jsonl", "score.json", "run_card.json", "calls.jsonl"
RECIPE, METRICS, WARNINGS = "recipe.json", "metrics.jsonl", "warnings.jsonl"  # of a training
STAGES: tuple[str, ...] = ("start", "copy_pretraining", "sft", "rl")  # of its models, in order
DIFFICULTY, COMPARISON = "difficulty.json", "comparison.json"  # what baselines reach; of stages
BEST = "best.json"  # of a training that was evaluated while it went on, in eval/<VALIDATION_STEP>N
VALIDATION_STEP = "validation-step-"

STEP = "-step-"  # between stage and number, in the name of a model folder
VERL_MODELS = "verl/global_step_{}/actor/huggingface"  # in a training's folder, by the step

VERSION_ENTRY = "transcripts_version"  # of the run card: how the lines of its episodes are read
VERSION = 2

Record = dict[str, Any]
Made = TypeVar("Made")

_LEADING_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)\s*[,}]')


@dataclass(frozen=True)
class Run:
    """A run folder and its card, which is empty where none can be read."""

    folder: Path
    card: Mapping[str, Any]

    @classmethod
    def at(cls, folder: Path) -> Run:
        return cls(folder, json_object(folder / CARD) or {})

    @property
    def transcripts(self) -> Path:
        return self.folder / TRANSCRIPTS

    @property
    def score(self) -> Mapping[str, Any]:
        """Its figures; empty where none can be read."""
        return json_object(self.folder / SCORE) or {}

    @property
    def finished(self) -> bool:
        """Whether its figures are there: a start that plays more takes them away first."""
        return (self.folder / SCORE).is_file()

    def check_version(self) -> None:
        """Raises UserError for a folder whose episodes another version of tripwright wrote."""
        if self.card and (version := self.card.get(VERSION_ENTRY)) != VERSION:
            raise UserError(
                f"'{self.folder}' was made by another version of tripwright: its {CARD} has"
                f" {VERSION_ENTRY} {printable(version)}, expected {VERSION}."
            )


class LinePlace(NamedTuple):
    """Where an episode's line begins: its number from 1, and the byte. `id` is None where the line
    does not say one."""

    id: str | None
    number: int
    offset: int


@dataclass(frozen=True, slots=True)
class EpisodeLine:
    """The line of one episode, read when it is asked for."""

    path: Path
    place: LinePlace
    text: bytes

    @property
    def where(self) -> str:
        return f"{self.path}:{self.place.number}"

    def record(self) -> Record:
        """Raises UserError for a line that is no JSON object."""
        try:
            record = read_json(self.text)
        except NotJson as problem:
            raise self.problem(f"not JSON ({problem})") from None
        if not isinstance(record, dict):
            raise self.problem(f"expected an object, found {type(record).__name__}")
        return record

    def read(self, make: Callable[[Record], Made]) -> Made:
        """What `make` makes of the record. What it does not find there is a UserError that names
        the line."""
        try:
            return make(self.record())
        except KeyError as missing:
            raise self.problem(f"it has no {missing}") from None
        except UserError:
            raise
        except (TypeError, AttributeError, ValueError, RecursionError):
            raise self.problem("expected a line as 'tripwright run' writes it") from None

    def problem(self, why: str) -> UserError:
        return UserError(f"{self.where}: not an episode of a run: {why}.")


def kept_models(folder: Path) -> dict[int, Path]:
    """Those of a training that validation kept, by their step."""
    models = ((m.name.rpartition("-")[2], m) for m in (folder / "model").glob(f"*{STEP}*"))
    return {int(step): model for step, model in models if step.isdecimal()}


def checkpoint_models(folder: Path) -> dict[int, Path]:
    """The same, and those in verl's checkpoints."""
    weights = folder.glob(VERL_MODELS.format("*") + "/*.safetensors")
    places = {file.parents[2].name.rpartition("_")[2]: file.parent for file in weights}
    return {int(step): place for step, place in places.items()} | kept_models(folder)


def model_in(source: str | Path, step: str | None = None) -> Path:
    """A model's folder, or its name on a hub: `source` itself; where that is a training's folder,
    of its last finished stage, or after so many steps, or the "best" of validation. Raises
    UserError for a step that it has not."""
    folder = Path(source)
    if step is None:
        stages = (folder / "model" / stage for stage in reversed(STAGES))
        return next((stage for stage in stages if stage.is_dir()), folder)
    models = checkpoint_models(folder)
    if step == "best" and (best := json_object(folder / BEST)) is not None:
        inside = folder / best["model"]
        return inside if inside.is_dir() else Path(best["model"])
    if step.isdecimal() and int(step) in models:
        return models[int(step)]
    kept = f"of steps {', '.join(map(str, sorted(models)))}" if models else "none"
    raise UserError(
        f"--step: '{folder}' has no checkpoint '{step}'. Expected 'best', which [validation] says,"
        f" or one that it or verl kept (here: {kept})."
    )


def stage_of(folder: Path, model: Path) -> str:
    """What a model of `model_in` is called in its training."""
    if model.parent == folder / "model":
        return model.name
    step = "".join(model.parts[-3:-2]).rpartition("_")[2]
    return f"rl{STEP}{step}" if model == folder / VERL_MODELS.format(step) else "start"


def transcripts_in(path: Path) -> Path:
    """The transcripts of a run folder; any other path is a file of them, or none at all, which may
    be named by a link."""
    if path.is_dir():
        return path / TRANSCRIPTS
    return path.resolve() if path.is_symlink() and path.is_file() else path


def transcripts_at(path: Path, what: str = "transcripts") -> Path:
    """The file that a user named, by itself or by its run folder. Raises UserError where there is
    none; `what` was asked for."""
    file = transcripts_in(path)
    if not file.is_file():
        expected = f"Expected a run folder with its {TRANSCRIPTS}, or a file of such lines."
        if path.is_dir():
            raise UserError(f"'{path}' holds no {TRANSCRIPTS} ({found_in(path)}). {expected}")
        raise UserError(f"No {what} at '{path}'. {expected}")
    return file


def found_in(folder: Path) -> str:
    """What is there, for a message about what is not."""
    names = sorted(each.name for each in folder.iterdir())
    return f"found {', '.join(names[:5]) or 'nothing'}{', …' if len(names) > 5 else ''}"


def places(path: Path, tries_again: bool = True) -> list[LinePlace]:
    """Where the latest line of each episode is, in the order of the file. A line without an id is
    an episode of its own, and so is every line of a file where no id means another try
    (`tries_again`), as where people put training data together. Raises UserError for a run folder
    of another version."""
    Run.at(path.parent).check_version()
    latest: dict[str | int, LinePlace] = {}
    for number, offset, text in whole_lines(path):
        id = _id_of(text)
        key = id if id is not None and tries_again else number
        latest.pop(key, None)  # so that it comes where its latest line is
        latest[key] = LinePlace(id, number, offset)
    return list(latest.values())


def episode_lines(path: Path, at: Iterable[LinePlace] | None = None) -> Iterator[EpisodeLine]:
    """The latest line of each episode, in the order of the file; with `at`, the lines in these
    places and this order."""
    at = places(path) if at is None else at
    with open_file(path, buffering=1 << 16) as lines:
        for place in at:
            lines.seek(place.offset)
            yield EpisodeLine(path, place, lines.readline())


def episodes(path: Path) -> Iterator[Record]:
    """The latest record of each episode, one at a time, in the order of the file. Raises UserError
    for a line that is no JSON object."""
    for line in episode_lines(path):
        yield line.record()


def record_at(path: Path, place: LinePlace) -> Record:
    """For readers that come back to an episode."""
    (line,) = episode_lines(path, [place])
    return line.record()


# in the record of an unscored episode whose request nobody can judge, however often it is played
UNJUDGED = "unjudged"


class ScoredEpisode(NamedTuple):
    """What is remembered of an episode that has its verdict, or will never have one (`passed` is
    None); `usage` as in its transcript."""

    passed: bool | None
    usage: Mapping[str, float]


class TranscriptJournal(Journal):
    """A run's transcripts.jsonl, opened by one process to append episodes. `scored`: those that
    need not be played again, by id."""

    def __init__(self, path: Path):
        self.scored: dict[str, ScoredEpisode] = {}
        super().__init__(
            path,
            self._take,
            "not an episode of a run. Remove this line, or choose a new folder for --out.",
            in_use=(
                f"Another run is writing '{path}'. Wait for it, or choose a new folder for --out."
            ),
        )

    def _take(self, record: Any) -> None:
        id, verdict = id_in(record), record["verdict"]
        self.scored.pop(id, None)
        if verdict is not None or record.get(UNJUDGED):
            passed = None if verdict is None else bool(verdict["final"])
            usage = (record.get("transcript") or {}).get("usage") or {}
            self.scored[id] = ScoredEpisode(passed, usage)


def logged_steps(metrics: Path) -> tuple[list[Record], int]:
    """What a training has logged, a row for each step, and how many lines cannot be read. A resumed
    stage's steps are not there twice: `rewind_metrics` took those out that led nowhere."""
    found = list(readable_lines(metrics))
    rows = [row for row in found if "stage" in row and isinstance(row.get("step"), int | float)]
    return rows, len(found) - len(rows)


def readable_lines(path: Path) -> Iterator[Record]:
    """The objects of a file of lines that a training writes; {} for a line that holds none."""
    for line in whole_lines(path, MOST_AT_ONCE) if os.path.lexists(path) else ():
        yield object_or_none(line.text) or {}


def rewind_metrics(metrics: Path, stage: str, step: int) -> float:
    """Takes out what this stage had logged beyond `step`, where it goes on. Returns the seconds of
    work behind the last line that stays."""
    seconds = 0.0

    def led_here(row: Any) -> bool:
        nonlocal seconds
        stays = bool(row["stage"] != stage or row["step"] <= step)
        seconds = float(row.get("seconds", 0.0)) if stays else seconds
        return stays

    keep_lines(metrics, led_here, "not a logged step of a training. Remove this line.")
    return seconds


def object_in(record: Any, key: str) -> Record:
    """The object under this key of a file that others may have written; {} where there is none."""
    value = record.get(key) if isinstance(record, Mapping) else None
    return value if isinstance(value, dict) else {}


def id_in(record: Mapping[str, Any]) -> str:
    """Of an episode's record. Raises KeyError where it has none."""
    if record["id"] is None:
        raise KeyError("id")
    return str(record["id"])


def _id_of(text: bytes) -> str | None:
    """Without reading the whole line where it begins with its id, as those of a run do."""
    if leading := _LEADING_ID.match(text):
        text = b'{"id": %s}' % leading[1]
    id = (object_or_none(text) or {}).get("id")  # a line that holds no object is told when read
    return None if id is None else str(id)
