"""A training run as the server's pages of runs see it: read from its folder, whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tripwright.errors import UserError, printable
from tripwright.evals.report.folder import SUPERVISED, Json, reinforcement
from tripwright.evals.report.learning import learning_parts
from tripwright.evals.report.markup import number, percent
from tripwright.evals.report.page import Card, CardRow, Part, Text, parts_html, sentence
from tripwright.evals.report.sections import warnings_section
from tripwright.files import json_object
from tripwright.runs import METRICS, RECIPE, logged_steps
from tripwright.training.health import HealthMonitor, HealthWarning


@dataclass(frozen=True)
class Watched:
    """`share_done` and `seconds_left` are of the present stage; None where its recipe does not tell
    its end."""

    name: str
    rows: list[Json]  # in order, stages one after the other
    stage: str
    steps: int | None
    share_done: float | None
    seconds_left: float | None
    finished: bool

    @cached_property
    def warnings(self) -> list[HealthWarning]:
        return HealthMonitor(self.rows).raised

    @property
    def stage_rows(self) -> list[Json]:
        return [row for row in self.rows if row.get("stage") == self.stage]

    @property
    def last(self) -> Json:
        return self.rows[-1] if self.rows else {}


def read(folder: Path, name: str) -> Watched:
    """Whatever is there: a run that has not begun has no rows."""
    rows = logged_steps(folder / METRICS)[0]
    stage = str(rows[-1].get("stage")) if rows else ""
    recipe = json_object(folder / RECIPE) or {}
    algorithm, rl_settings = reinforcement(recipe)
    table = recipe.get(stage) if stage != "rl" else rl_settings
    settings = table if isinstance(table, dict) else {}
    steps = number(settings.get("steps", settings.get("max_steps")))
    done, left = _course(rows, stage, steps, number(settings.get("max_minutes")))
    before_rl = "sft" if recipe.get("sft") else "copy_pretraining"
    last_model = "rl" if algorithm or not recipe else before_rl
    finished = (folder / "model" / last_model).is_dir()
    return Watched(name, rows, stage, int(steps) if steps else None, done, left, finished)


def _course(
    rows: Sequence[Json], stage: str, steps: float | None, max_minutes: float | None
) -> tuple[float | None, float | None]:
    """(the share of the stage that is done, by steps or by minutes, whichever is further; the
    seconds left at its pace so far)."""
    if not rows or not (steps or max_minutes):
        return None, None
    step, now = _step_and_seconds(rows[-1])
    began = max((_step_and_seconds(r)[1] for r in rows if r.get("stage") != stage), default=0.0)
    by_steps = step / steps if steps else 0.0
    by_minutes = (now - began) / 60 / max_minutes if max_minutes else 0.0
    done = min(1.0, max(by_steps, by_minutes))
    return done, (now - began) * (1 - done) / done if done > 0 else None


def _step_and_seconds(row: Json) -> tuple[float, float]:
    return number(row.get("step")) or 0.0, number(row.get("seconds")) or 0.0


def duration(seconds: float) -> str:
    """'45 s', '12 min', '3 h 05 min'."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def standing(run: Watched) -> list[tuple[str, str]]:
    """(what, how much) in words: stage and step first, then what the last step was like."""
    if not run.rows:
        return [("metrics.jsonl is empty or not there yet", "no steps yet")]
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
    reasons = run.last.get("stop_reasons")
    if isinstance(reasons, dict):
        shares = {str(n).replace("_", " "): s for n, r in reasons.items() if (s := number(r))}
        most_first = sorted(shares.items(), key=lambda each: -each[1])
        words = ", ".join(f"{name} {percent(share, 0)}" for name, share in most_first)
        facts.append(("episodes ended by", words))
    return facts


# ---- the server's live page


def live_body(runs: Sequence[tuple[str, Path]]) -> str:
    """Of these runs, by name: where each stands, its warnings, and the charts of the report."""
    read_runs, several = list[Watched](), len(runs) > 1
    parts = list[Part]()
    for name, folder in runs:
        try:
            read_runs.append(read(folder, name))
        except (UserError, OSError) as problem:  # the others are shown
            parts.append(Text(f"{name}: {printable(str(problem))}", "warning"))
    parts.append(CardRow([_card(run, i if several else None) for i, run in enumerate(read_runs)]))
    for run in read_runs:
        warned = [each.record() | {"until_step": each.until_step} for each in run.warnings]
        parts.append(warnings_section(warned, run.name if several else ""))
    rl = {run.name: run.stage_rows if "reward_mean" in run.last else [] for run in read_runs}
    before = {
        run.name: [row for row in run.rows if row.get("stage") in SUPERVISED] for run in read_runs
    }
    return parts_html([*parts, *learning_parts(rl, before, {})])


def _card(run: Watched, colour: int | None) -> Card:
    facts = standing(run)
    for key, name in (("reward_mean", "reward"), ("pass_rate", "passes"), ("loss", "loss")):
        if (value := number(run.last.get(key))) is not None:
            facts.append((name, percent(value) if key == "pass_rate" else f"{value:.3g}"))
    (what, much), *others = facts
    lines = [("big", much), ("muted", what)]
    lines += [("", sentence("live_fact", *each)) for each in others]
    return Card(run.name, colour, lines, run.share_done)
