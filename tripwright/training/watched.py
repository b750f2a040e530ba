"""A training run as `tripwright watch` and the pages of runs see it: read from its folder, whole,
whenever a file there has changed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripwright.evals.report.folder import Json, reinforcement
from tripwright.evals.report.live import LiveRun, live_body
from tripwright.evals.report.markup import number, percent, short
from tripwright.files import json_object
from tripwright.runs import (
    CARD,
    METRICS,
    RECIPE,
    SCORE,
    TRANSCRIPTS,
    VALIDATION_STEP,
    logged_steps,
    places,
)
from tripwright.training.health import HealthWarning, check

RECENT = 20  # steps whose pace tells the time left


@dataclass(frozen=True)
class Watched:
    """`share_done` and `seconds_left` are of the present stage; None where its recipe does not tell
    its end."""

    name: str
    rows: list[Json]  # in order, stages one after the other
    warnings: list[HealthWarning]
    stage: str
    steps: int | None
    share_done: float | None
    seconds_left: float | None
    finished: bool
    evaluation: str | None = None  # the one under way, and how far it is

    @property
    def stage_rows(self) -> list[Json]:
        return [row for row in self.rows if row.get("stage") == self.stage]

    def record(self) -> Json:
        return {
            "run": self.name,
            "stage": self.stage,
            "steps": self.steps,
            "share_done": self.share_done,
            "seconds_left": self.seconds_left,
            "finished": self.finished,
            "evaluation": self.evaluation,
            "warnings": [warning.record() for warning in self.warnings],
            "last": self.last,
        }

    @property
    def last(self) -> Json:
        return self.rows[-1] if self.rows else {}


def signature(folder: Path) -> tuple[tuple[int, int, int], ...]:
    """Changes whenever a file that is read here does: grown, cut by a resume, or replaced."""
    marks = []
    files = [folder / name for name in (METRICS, RECIPE, "model")]
    if (under_way := _under_way(folder)) is not None:
        files.append(under_way / TRANSCRIPTS)
    for place in files:
        try:
            stat = place.stat()
            marks.append((stat.st_mtime_ns, stat.st_size, stat.st_ino))
        except OSError:
            marks.append((0, 0, 0))
    return tuple(marks)


def _under_way(folder: Path) -> Path | None:
    """The evaluation that has begun and has no score."""
    begun = (path.parent for path in folder.glob(f"eval/*/{CARD}"))
    return next((place for place in begun if not (place / SCORE).is_file()), None)


def _evaluation(folder: Path) -> str | None:
    """'after step 20: 13 of 64 requests'"""
    if (place := _under_way(folder)) is None:
        return None
    journal = place / TRANSCRIPTS
    count_done = len(places(journal)) if journal.is_file() else 0
    queries = (json_object(place / CARD) or {}).get("queries")
    count = number(queries.get("count")) if isinstance(queries, dict) else None
    of = f" of {count:,.0f}" if count else ""
    step = place.name.removeprefix(VALIDATION_STEP)
    name = f"after step {step}" if step != place.name else place.name.replace("_", " ")
    return f"{name}: {count_done}{of} requests"


def read(folder: Path, name: str) -> Watched:
    """Whatever is there: a run that has not begun has no rows."""
    rows, _ = logged_steps(folder / METRICS)
    return watched(folder, name, rows)


def watched(folder: Path, name: str, rows: list[Json]) -> Watched:
    """Where the steps that were logged are at hand already."""
    stage = str(rows[-1].get("stage")) if rows else ""
    recipe = json_object(folder / RECIPE) or {}
    settings = _settings(recipe, stage)
    steps = number(settings.get("steps", settings.get("max_steps")))
    present = [row for row in rows if row.get("stage") == stage]
    done = _share_done(
        present, _seconds_before(rows, stage), steps, number(settings.get("max_minutes"))
    )
    return Watched(
        name=name,
        rows=rows,
        warnings=check(row for row in rows if number(row.get("step")) is not None),
        stage=stage,
        steps=int(steps) if steps else None,
        share_done=done,
        seconds_left=_seconds_left(present, steps, number(settings.get("max_minutes")), done),
        finished=(folder / "model" / _last_model(recipe)).is_dir(),
        evaluation=_evaluation(folder),
    )


def _settings(recipe: dict[str, Any], stage: str) -> dict[str, Any]:
    table = recipe.get(stage) if stage != "rl" else reinforcement(recipe)[1]
    return table if isinstance(table, dict) else {}


def _last_model(recipe: dict[str, Any]) -> str:
    return (
        "rl"
        if reinforcement(recipe)[0] or not recipe
        else "sft"
        if recipe.get("sft")
        else "copy_pretraining"
    )


def _seconds_before(rows: Sequence[Json], stage: str) -> float:
    return max(
        (number(row.get("seconds")) or 0.0 for row in rows if row.get("stage") != stage),
        default=0.0,
    )


def _share_done(
    rows: Sequence[Json], before: float, steps: float | None, max_minutes: float | None
) -> float | None:
    """By steps or by minutes, whichever is further."""
    if not rows or not (steps or max_minutes):
        return None
    step, seconds = (
        number(rows[-1].get("step")) or 0.0,
        (number(rows[-1].get("seconds")) or 0.0) - before,
    )
    shares = [step / steps] if steps else []
    shares += [seconds / 60 / max_minutes] if max_minutes else []
    return min(1.0, max(0.0, *shares))


def _seconds_left(
    rows: Sequence[Json], steps: float | None, max_minutes: float | None, done: float | None
) -> float | None:
    """At the pace of the last steps; where minutes end the stage sooner, until then."""
    if done is None or len(rows) < 2:
        return None
    recent = [
        (s, t)
        for row in rows[-RECENT:]
        if None not in (s := number(row.get("step")), t := number(row.get("seconds")))
    ]
    left = []
    if steps and len(recent) > 1 and (gone := (recent[-1][0] or 0) - (recent[0][0] or 0)) > 0:
        left.append(
            ((recent[-1][1] or 0) - (recent[0][1] or 0))
            / gone
            * max(0.0, steps - (recent[-1][0] or 0))
        )
    if max_minutes:
        left.append(max_minutes * 60 * (1 - done))
    return min(left, default=None)


# ---- in words, for the terminal and for the page


def duration(seconds: float) -> str:
    """'45 s', '12 min', '3 h 05 min'."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def standing(run: Watched) -> list[tuple[str, str]]:
    """(what, how much): stage and step first."""
    evaluation = [("under way", f"evaluation {run.evaluation}")] if run.evaluation else []
    if not run.rows:
        return evaluation or [("metrics.jsonl is empty or not there yet", "no steps yet")]
    step, seconds = number(run.last.get("step")) or 0, number(run.last.get("seconds")) or 0
    of = f" of {run.steps:,}" if run.steps else ""
    share = f" ({percent(run.share_done, 0)})" if run.share_done is not None else ""
    facts = [
        (f"stage {run.stage}", f"step {step:,.0f}{of}{share}"),
        ("since the start", duration(seconds)),
    ]
    if run.finished:
        facts.append(("training", "finished"))
    elif run.seconds_left is not None:
        facts.append(("left in this stage, about", duration(run.seconds_left)))
    return [*facts, *evaluation]


def episode_shape(row: Json) -> str:
    """What an episode of the newest step was like."""
    words = [
        f"{short(value)} {unit}"
        for key, unit in (
            ("turns_mean", "turns"),
            ("tool_calls_mean", "calls"),
            ("completion_tokens_mean", "tokens written"),
        )
        if (value := number(row.get(key))) is not None
    ]
    reasons = row.get("stop_reasons")
    if isinstance(reasons, dict):
        shares = sorted(
            ((number(share) or 0.0, str(name)) for name, share in reasons.items()), reverse=True
        )
        words.append(
            "ended by "
            + ", ".join(
                f"{name.replace('_', ' ')} {percent(share, 0)}"
                for share, name in shares
                if share > 0
            )
        )
    return "; ".join(words)


def live_run(run: Watched) -> LiveRun:
    facts = standing(run)
    for key, name, share in (
        ("reward_mean", "reward", False),
        ("pass_rate", "passes", True),
        ("loss", "loss", False),
    ):
        if (value := number(run.last.get(key))) is not None:
            facts.append((name, percent(value) if share else f"{value:.3g}"))
    if shape := episode_shape(run.last):
        facts.append(("episodes of this step", shape))
    rl = (
        [row for row in run.rows if row.get("stage") == run.stage]
        if "reward_mean" in run.last
        else []
    )
    warnings = [warning.record() | {"until_step": warning.until_step} for warning in run.warnings]
    supervised = [row for row in run.rows if row.get("stage") in ("copy_pretraining", "sft")]
    return LiveRun(run.name, tuple(facts), run.share_done, warnings, rl, supervised)


class LiveBody:
    """The body of the live page and what it was drawn from; drawn once per change, however many
    browsers look."""

    def __init__(self, folders: Sequence[Path], names: Sequence[str]):
        self._runs, self._lock = list(zip(folders, names, strict=True)), threading.Lock()
        self._drawn: tuple[str, bytes] = ("", b"")

    def now(self) -> tuple[str, bytes]:
        """(a mark of the state, the body)"""
        mark = format(
            hash(tuple(signature(folder) for folder, _ in self._runs)) & 0xFFFFFFFFFFFFFFFF, "x"
        )
        with self._lock:
            if mark != self._drawn[0]:
                body = live_body([live_run(read(folder, name)) for folder, name in self._runs])
                self._drawn = mark, body.encode("utf-8", "replace")
            return self._drawn
