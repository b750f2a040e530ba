"""A training run as `tripwright watch` and the server's pages of runs see it: read from its folder,
whole, whenever a file there has changed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tripwright.evals.report.folder import Json, reinforcement
from tripwright.evals.report.markup import number, percent
from tripwright.evals.report.together import LiveRun, live_body
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

    @property
    def last(self) -> Json:
        return self.rows[-1] if self.rows else {}

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


def read(folder: Path, name: str) -> Watched:
    """Whatever is there: a run that has not begun has no rows."""
    return watched(folder, name, logged_steps(folder / METRICS)[0])


def watched(folder: Path, name: str, rows: list[Json]) -> Watched:
    """Where the steps that were logged are at hand already."""
    stage = str(rows[-1].get("stage")) if rows else ""
    recipe = json_object(folder / RECIPE) or {}
    algorithm, rl_settings = reinforcement(recipe)
    table = recipe.get(stage) if stage != "rl" else rl_settings
    settings = table if isinstance(table, dict) else {}
    steps = number(settings.get("steps", settings.get("max_steps")))
    done, left = _course(rows, stage, steps, number(settings.get("max_minutes")))
    before_rl = "sft" if recipe.get("sft") else "copy_pretraining"
    last_model = "rl" if algorithm or not recipe else before_rl
    return Watched(
        name=name,
        rows=rows,
        warnings=check(rows),
        stage=stage,
        steps=int(steps) if steps else None,
        share_done=done,
        seconds_left=left,
        finished=(folder / "model" / last_model).is_dir(),
        evaluation=_evaluation(folder),
    )


def _course(
    rows: Sequence[Json], stage: str, steps: float | None, max_minutes: float | None
) -> tuple[float | None, float | None]:
    """(the share of the stage that is done, by steps or by minutes, whichever is further; the
    seconds left, at the pace of the last steps or until the minutes are over)."""
    present = [_step_and_seconds(row) for row in rows if row.get("stage") == stage]
    if not present or not (steps or max_minutes):
        return None, None
    before = max(
        (_step_and_seconds(row)[1] for row in rows if row.get("stage") != stage), default=0
    )
    (first_step, began), (step, now) = present[-RECENT:][0], present[-1]
    shares, left = [], []
    if steps:
        shares.append(step / steps)
        if step > first_step:
            left.append((now - began) / (step - first_step) * max(0.0, steps - step))
    if max_minutes:
        shares.append((now - before) / 60 / max_minutes)
    done = min(1.0, max(0.0, *shares))
    if max_minutes:
        left.append(max_minutes * 60 * (1 - done))
    return done, min(left, default=None) if len(present) > 1 else None


def _step_and_seconds(row: Json) -> tuple[float, float]:
    return number(row.get("step")) or 0.0, number(row.get("seconds")) or 0.0


# ---- the files


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


# ---- in words


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
    step, seconds = _step_and_seconds(run.last)
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


def endings(row: Json) -> str:
    """Why the episodes of a step ended, the most frequent reason first."""
    reasons = row.get("stop_reasons")
    shares = {n: number(s) or 0.0 for n, s in reasons.items()} if isinstance(reasons, dict) else {}
    return ", ".join(
        f"{str(name).replace('_', ' ')} {percent(share, 0)}"
        for name, share in sorted(shares.items(), key=lambda each: -each[1])
        if share > 0
    )


# ---- the server's live page


class LiveBody:
    """The body of the live page and what it was drawn from; drawn once per change, however many
    browsers look."""

    def __init__(self, folders: Sequence[Path], names: Sequence[str]):
        self._runs, self._lock = list(zip(folders, names, strict=True)), threading.Lock()
        self._drawn: tuple[str, bytes] = ("", b"")

    def now(self) -> tuple[str, bytes]:
        """(a mark of the state, the body)"""
        state = hash(tuple(signature(folder) for folder, _ in self._runs))
        mark = format(state & 0xFFFFFFFFFFFFFFFF, "x")
        with self._lock:
            if mark != self._drawn[0]:
                body = live_body([_live_run(read(folder, name)) for folder, name in self._runs])
                self._drawn = mark, body.encode("utf-8", "replace")
            return self._drawn


def _live_run(run: Watched) -> LiveRun:
    facts = standing(run)
    for key, name in (("reward_mean", "reward"), ("pass_rate", "passes"), ("loss", "loss")):
        if (value := number(run.last.get(key))) is not None:
            facts.append((name, percent(value) if key == "pass_rate" else f"{value:.3g}"))
    if ended := endings(run.last):
        facts.append(("episodes ended by", ended))
    rl = run.stage_rows if "reward_mean" in run.last else []
    warnings = [warning.record() | {"until_step": warning.until_step} for warning in run.warnings]
    supervised = [row for row in run.rows if row.get("stage") in ("copy_pretraining", "sft")]
    return LiveRun(run.name, tuple(facts), run.share_done, warnings, rl, supervised)
