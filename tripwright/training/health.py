"""Patterns in a run's metrics that mean trouble, and what to do about each (rows D9, S11). Pure:
from logged steps to warnings.

A pattern looks at the steps of one stage up to the newest one and says what is wrong there, with
its figures, or nothing. A figure that a run does not log raises no warning. A warning is raised
when its pattern starts, once; if the pattern stays away for `window` steps the warning is over, and
it may be raised again. Thresholds are in `Limits`, each with its reason; advice is in `ADVICE`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tripwright.training.health_patterns import PATTERNS, Limits, Row


@dataclass(frozen=True)
class HealthWarning:
    """`since_step` is the first step of the pattern, `until_step` the last one, None while it goes
    on."""

    name: str
    stage: str
    since_step: int
    what: str
    advice: str
    until_step: int | None = None

    def record(self) -> dict[str, Any]:
        """One line of RUN/warnings.jsonl."""
        ended = {} if self.until_step is None else {"until_step": self.until_step}
        record = {"stage": self.stage, "name": self.name, "since_step": self.since_step, **ended}
        return record | {"what": self.what, "advice": self.advice}

    def __str__(self) -> str:
        return f"warning: {self.stage} step {self.since_step}: {self.what}. {self.advice}"


ADVICE = {
    "entropy_collapse": (
        "The policy stopped exploring: lower the learning rate, raise clip.high, keep a KL term or"
        " raise the temperature."
    ),
    "all_groups_fail": (
        "Nothing to compare: use easier trips, a denser reward (stage1), a longer cold start or a"
        " larger group."
    ),
    "all_groups_pass": "Nothing left to learn here: use harder trips, or move the curriculum on.",
    "few_groups_kept": (
        "Most groups agree: mix the difficulty, use a denser reward or a larger group, or drop such"
        " groups and refill."
    ),
    "stopped_by_length": (
        "Episodes are cut off before they answer: raise that limit, or shorten the tools' answers"
        " and the prompt."
    ),
    "gradient_spike": (
        "Look at this step's episodes; a lower learning rate or a smaller grad_clip keeps one batch"
        " from deciding."
    ),
    "not_finite": (
        "Weights may be lost: go back to the last checkpoint, lower the learning rate, and try fp32"
        " if this was bf16."
    ),
    "reward_without_passes": (
        "Partial credit is being farmed: read some episodes, then move to a sparser stage of the"
        " reward."
    ),
    "official_gap_opens": (
        "The holes of the official rules are being learned: make the reward of strict rules."
    ),
    "logprob_gap": (
        "Sampler and trainer disagree: use the same dtype for both, and look at the chat template"
        " and the cache."
    ),
    "kl_grows": (
        "The policy runs away from its reference: raise kl.beta, lower the learning rate, or reset"
        " the reference on purpose."
    ),
    "unscored": (
        "Our side failed: look at tool server, judge and disk; the rates of these steps leave"
        " episodes out."
    ),
    "verifier_fails": (
        "The service that judges fails: look at judgements.jsonl, its time-outs and its rate limit;"
        " such episodes leave their group."
    ),
    "short_episodes": (
        "Short responses with few turns often mean that the reward is hacked: read episodes that"
        " it likes, and judge their turns as well as their answers."
    ),
    "tool_errors": (
        "Calls are malformed or ask for what is not there: a longer cold start, or error messages"
        " the model can answer."
    ),
    "clip_fraction": (
        "Updates are too large for one batch: lower the learning rate, or use fewer minibatches or"
        " epochs per batch."
    ),
    "schema_falls": (
        "The answer's format is being lost: lower the learning rate, or mix some supervised"
        " steps in."
    ),
    "slow": (
        "Other work on the machine, swapping, or longer episodes: look at memory and at the"
        " lengths."
    ),
}


class HealthMonitor:
    """Looks at each new step; knows what it has raised. After a resume, give it the steps that are
    in metrics.jsonl already.

        watch = HealthMonitor(rows_so_far)       # their warnings were told before: in `raised`
        for warning in watch.look(row): ...      # row as in metrics.jsonl, with "stage" and "step"

    A new stage starts afresh. `raised` holds every warning so far, in order, those that are over
    with their last step.
    """

    def __init__(self, rows: Iterable[Row] = (), limits: Limits | None = None):
        self.limits, self.raised = limits or Limits(), list[HealthWarning]()
        self._stage, self._rows = "", list[Row]()
        # name → (place in `raised`, the last step that showed the pattern)
        self._active = dict[str, tuple[int, int]]()
        for row in rows:
            self.look(row)

    def look(self, row: Row) -> list[HealthWarning]:
        """The warnings that this step raises."""
        stage, step = str(row.get("stage", "")), int(row["step"])
        if stage != self._stage:
            self._stage, self._rows, self._active = stage, [], {}
        self._rows.append(row)
        new = []
        for name, pattern in PATTERNS.items():
            what = pattern(self._rows, self.limits)
            place, last = self._active.get(name, (-1, 0))
            if what is not None:
                if place < 0:
                    place = len(self.raised)
                    self.raised.append(HealthWarning(name, stage, step, what, ADVICE[name]))
                    new.append(self.raised[place])
                self._active[name] = place, step
            elif place >= 0 and step - last >= self.limits.window:
                self.raised[place] = replace(self.raised[place], until_step=last)
                del self._active[name]
        return new

    def text(self) -> str:
        """All of RUN/warnings.jsonl as of now. It is small: written anew, it stays true when a
        warning ends or a resume steps back."""
        return "".join(json.dumps(warning.record()) + "\n" for warning in self.raised)

    @property
    def current(self) -> list[HealthWarning]:
        """Those of the present stage that are not over."""
        return [self.raised[place] for place, _ in sorted(self._active.values())]


def check(rows: Iterable[Row], limits: Limits | None = None) -> list[HealthWarning]:
    """Every warning that these steps raise, in order. Several stages may follow each other."""
    return HealthMonitor(rows, limits).raised
