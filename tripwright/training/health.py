"""Patterns in a run's metrics that mean trouble, and what to do about each (rows D9, S11). Pure:
from logged steps to warnings.

A pattern looks at the steps of one stage up to the newest one and says what is wrong there, with
its figures, or nothing. A figure that a run does not log raises no warning. A warning is raised
when its pattern starts, once; if the pattern stays away for WINDOW steps the warning is over, and
it may be raised again. Thresholds stand in the patterns, each with its reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any

Row = dict[str, Any]
Pattern = Callable[[Sequence[Row]], str | None]

WINDOW = 10  # steps whose mean is looked at: one step of 64 to 128 episodes is noise
MEMORY = 100  # steps that "usual" and "best so far" look back
START = 5  # steps at the beginning that a run is held against
PATTERNS: dict[str, tuple[Pattern, str]] = {}  # and what to do about each


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


class HealthMonitor:
    """Looks at each new step; knows what it has raised. After a resume, give it the steps that are
    in metrics.jsonl already.

        watch = HealthMonitor(rows_so_far)       # their warnings were told before: in `raised`
        for warning in watch.look(row): ...      # row as in metrics.jsonl, with "stage" and "step"

    A new stage starts afresh. `raised` holds every warning so far, in order, those that are over
    with their last step.
    """

    def __init__(self, rows: Iterable[Row] = ()):
        self.raised = list[HealthWarning]()
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
        for name, (pattern, advice) in PATTERNS.items():
            what = pattern(self._rows)
            place, last = self._active.get(name, (-1, 0))
            if what is not None:
                if place < 0:
                    place = len(self.raised)
                    self.raised.append(HealthWarning(name, stage, step, what, advice))
                    new.append(self.raised[place])
                self._active[name] = place, step
            elif place >= 0 and step - last >= WINDOW:
                self.raised[place] = replace(self.raised[place], until_step=last)
                del self._active[name]
        return new

    def text(self) -> str:
        """All of RUN/warnings.jsonl as of now. It is small: written anew, it stays true when a
        warning ends or a resume steps back."""
        return "".join(json.dumps(warning.record()) + "\n" for warning in self.raised)


def check(rows: Iterable[Row]) -> list[HealthWarning]:
    """Every warning that these steps raise, in order. Several stages may follow each other."""
    return HealthMonitor(rows).raised


# ---- figures of a run


def _number(row: Row, key: str) -> float | None:
    """A finite number, or None."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _values(rows: Iterable[Row], key: str) -> list[float]:
    return [figure for row in rows if (figure := _number(row, key)) is not None]


def _start(rows: Sequence[Row], key: str) -> float | None:
    """Mean of the first steps; None until as many again have followed, so that a beginning is never
    held against itself."""
    values = _values(rows[:START], key)
    return fmean(values) if values and len(rows) >= 2 * START else None


def _recent(rows: Sequence[Row], key: str) -> float | None:
    """Mean of the last WINDOW steps, or of the second half of fewer. None where the newest step
    lacks the figure."""
    if not rows or _number(rows[-1], key) is None:
        return None
    return fmean(_values(rows[-min(WINDOW, max(1, len(rows) // 2)) :], key))


def _since_the_start(rows: Sequence[Row], key: str) -> tuple[float, float] | None:
    """(at the start, now), where both are known."""
    first, now = _start(rows, key), _recent(rows, key)
    return None if first is None or now is None else (first, now)


def _rising(rows: Sequence[Row]) -> bool:
    """Is the reward of the last window above that of the window before it, by more than a twentieth
    of what it gained in all?"""
    now, before = _recent(rows, "reward_mean"), _recent(rows[:-WINDOW], "reward_mean")
    first = _start(rows, "reward_mean")
    if now is None or before is None or first is None:
        return False
    return now - before > 0.05 * max(abs(now - first), 0.1)


# ---- the patterns


def _pattern(advice: str) -> Callable[[Pattern], Pattern]:
    def listed(pattern: Pattern) -> Pattern:
        PATTERNS[pattern.__name__] = pattern, advice
        return pattern

    return listed


@_pattern(
    "Weights may be lost: go back to the last checkpoint, lower the learning rate, and try fp32 if"
    " this was bf16."
)
def not_finite(rows: Sequence[Row]) -> str | None:
    figures = [(key, value) for key, value in rows[-1].items() if isinstance(value, float)]
    bad = [key for key, value in figures if not math.isfinite(value)]
    return f"{', '.join(bad)} not finite (NaN or infinite)" if bad else None


@_pattern(
    "The policy stopped exploring: lower the learning rate, raise clip.high, keep a KL term or"
    " raise the temperature."
)
def entropy_collapse(rows: Sequence[Row]) -> str | None:
    """A policy that became sure because it became right is well. A step that trained on nothing has
    no gradient and no entropy: its zeros say nothing. One that learns loses half of its entropy and
    more, so only a fall by 80% counts; below 0.01 nats per token groups of 8 are nearly copies."""
    if rows[-1].get("grad_norm") == 0:
        return None
    rows = [row for row in rows if row.get("grad_norm") != 0]
    if (both := _since_the_start(rows, "entropy")) is None:
        return None
    first, now = both
    if now < 0.01 <= first and (_recent(rows, "pass_rate") or 0) <= 0.9:
        return f"entropy is {now:.4f} nats per token (limit 0.01)"
    if now < 0.2 * first and not _rising(rows):
        return f"entropy fell from {first:.3f} to {now:.3f} nats per token, and the reward rose not"
    return None


def _agreeing(rows: Sequence[Row], which: str) -> str | None:
    """Where below a tenth of the groups have rewards that differ, nine tenths of the rollouts teach
    nothing. `which`: because all fail, all pass, or for "other" reasons."""
    kept = _recent(rows, "kept_groups")
    if kept is None or kept >= 0.1 or len(rows) < START:
        return None
    shares = [_recent(rows, f"{kind}_groups") or 0.0 for kind in ("failed", "solved")]
    why = "failed" if shares[0] > 0.9 else "solved" if shares[1] > 0.9 else "other"
    passed = _recent(rows, "pass_rate") or 0.0
    words = f"only {kept:.1%} of groups have rewards that differ, and {passed:.1%} of episodes pass"
    return words if why == which else None


@_pattern(
    "Nothing to compare: use easier trips, a denser reward (stage1), a longer cold start or a"
    " larger group."
)
def all_groups_fail(rows: Sequence[Row]) -> str | None:
    return _agreeing(rows, "failed")


@_pattern("Nothing left to learn here: use harder trips, or move the curriculum on.")
def all_groups_pass(rows: Sequence[Row]) -> str | None:
    return _agreeing(rows, "solved")


@_pattern(
    "Most groups agree: mix the difficulty, use a denser reward or a larger group, or drop such"
    " groups and refill."
)
def few_groups_kept(rows: Sequence[Row]) -> str | None:
    return _agreeing(rows, "other")


LENGTH_LIMITS = {
    "max_turns": "max_turns",
    "max_calls": "max_calls",
    "max_turn_tokens": "max_turn_tokens",
    "context_overflow": "context_tokens",
}


@_pattern(
    "Episodes are cut off before they answer: raise that limit, or shorten the tools' answers and"
    " the prompt."
)
def stopped_by_length(rows: Sequence[Row]) -> str | None:
    """Above 5%: an episode cut off earns 0 whatever it did, which teaches to be short and not to be
    right."""
    logged = [row["stop_reasons"] for row in rows[-WINDOW:] if "stop_reasons" in row]
    reasons = [each for each in logged if isinstance(each, dict)]
    shares = {
        limit: sum(_values(reasons, reason)) / len(reasons)
        for reason, limit in LENGTH_LIMITS.items()
        if reasons
    }
    if sum(shares.values()) <= 0.05:
        return None
    most_first = sorted(shares.items(), key=lambda each: -each[1])
    which = ", ".join(f"{limit} {share:.1%}" for limit, share in most_first if share > 0)
    return f"{sum(shares.values()):.1%} of episodes are stopped by length ({which})"


@_pattern(
    "Look at this step's episodes; a lower learning rate or a smaller grad_clip keeps one batch"
    " from deciding."
)
def gradient_spike(rows: Sequence[Row]) -> str | None:
    """15 times the median of the window before: clipping hides a spike's size, not its direction.
    In imitation that goes well one batch in a thousand reaches 10 to 14."""
    length = rows[-1].get("copy_length")  # doubles in the warm-up, which makes the gradient large
    alike = [row for row in rows[-WINDOW - 1 : -1] if row.get("copy_length") == length]
    now, before = _number(rows[-1], "grad_norm"), _values(alike, "grad_norm")
    # a step without a gradient has norm 0 and says nothing
    before = [norm for norm in before if norm > 0]
    if now is None or len(before) < 8 or now <= 15 * median(before):
        return None
    return f"gradient norm {now:.3g}, {now / median(before):.1f} times what is usual here"


@_pattern(
    "Partial credit is being farmed: read some episodes, then move to a sparser stage of the"
    " reward."
)
def reward_without_passes(rows: Sequence[Row]) -> str | None:
    """A rise by a tenth should show in the passes. Of one stage of a curriculum: another weighs the
    parts differently."""
    if len(rows) < 2 * WINDOW or rows[0].get("curriculum_stage") != rows[-1].get(
        "curriculum_stage"
    ):
        return None
    reward, passed = _since_the_start(rows, "reward_mean"), _since_the_start(rows, "pass_rate")
    if reward is None or passed is None or passed[1] - passed[0] >= 0.005:
        return None
    if reward[1] - reward[0] < 0.1 * max(1.0, abs(reward[0])):
        return None
    return (
        f"reward rose from {reward[0]:.2f} to {reward[1]:.2f} while passes went from"
        f" {passed[0]:.1%} to {passed[1]:.1%}"
    )


@_pattern("The holes of the official rules are being learned: make the reward of strict rules.")
def official_gap_opens(rows: Sequence[Row]) -> str | None:
    """Official pass rate minus strict, by 5 points more than at the start."""
    both = _since_the_start(rows, "strict_gap")
    if both is None or both[1] - both[0] <= 0.05:
        return None
    return f"official passes exceed strict ones by {both[1]:.1%}, at the start by {both[0]:.1%}"


@_pattern(
    "Sampler and trainer disagree: use the same dtype for both, and look at the chat template and"
    " the cache."
)
def logprob_gap(rows: Sequence[Row]) -> str | None:
    """Above 0.02 nats per token the ratio is off by 2% before anything was learned. `sampler_gap`
    is of rollouts on a server, and known also where nothing was trained on."""
    gap = max(_recent(rows, key) or 0.0 for key in ("logprob_gap", "sampler_gap"))
    return f"sampler and trainer differ by {gap:.3f} nats per token" if gap > 0.02 else None


@_pattern(
    "The policy runs away from its reference: raise kl.beta, lower the learning rate, or reset the"
    " reference on purpose."
)
def kl_grows(rows: Sequence[Row]) -> str | None:
    """Above 0.5 nats per token the policy is another one; above a tenth of that it may not triple
    within a window."""
    now, before = _recent(rows, "kl"), _recent(rows[:-WINDOW], "kl")
    if now is None or now <= 0.05:
        return None
    if now > 0.5:
        return f"KL to the reference is {now:.3f} nats per token (limit 0.5)"
    if before is None or len(rows) < 2 * WINDOW or now <= 3 * max(before, 1e-9):
        return None
    return f"KL to the reference grew from {before:.3f} to {now:.3f} within {WINDOW} steps"


@_pattern(
    "Our side failed: look at tool server, judge and disk; the rates of these steps leave episodes"
    " out."
)
def unscored(rows: Sequence[Row]) -> str | None:
    """Above 1% every rate here needs a worst case (law 4)."""
    lost, played = (sum(_values(rows[-WINDOW:], key)) for key in ("unscored", "episodes"))
    if lost <= 0.01 * played:
        return None
    return f"{lost / max(1, played):.1%} of episodes are unscored ({lost:.0f} of {played:.0f})"


@_pattern(
    "The service that judges fails: look at judgements.jsonl, its time-outs and its rate limit;"
    " such episodes leave their group."
)
def verifier_fails(rows: Sequence[Row]) -> str | None:
    success = _recent(rows, "verifier_success_rate")
    if success is None or 1 - success <= 0.01:
        return None
    return f"{1 - success:.1%} of answers got no verdict: the verifier failed"


@_pattern(
    "Short responses with few turns often mean that the reward is hacked: read episodes that it"
    " likes, and judge their turns as well as their answers."
)
def short_episodes(rows: Sequence[Row]) -> str | None:
    """Responses and turns both at half of their start or less (DeepTravel, Appendix A.4); cheaper
    episodes alone are what a policy learns."""
    tokens = _since_the_start(rows, "completion_tokens_mean")
    turns = _since_the_start(rows, "turns_mean")
    if tokens is None or turns is None or any(now > 0.5 * first for first, now in (tokens, turns)):
        return None
    return (
        f"episodes shrank from {tokens[0]:.0f} to {tokens[1]:.0f} tokens written and from"
        f" {turns[0]:.1f} to {turns[1]:.1f} turns"
    )


@_pattern(
    "Calls are malformed or ask for what is not there: a longer cold start, or error messages the"
    " model can answer."
)
def tool_errors(rows: Sequence[Row]) -> str | None:
    right = _recent(rows, "tool_call_accuracy")
    if right is None or 1 - right <= 0.2 or len(rows) < START:  # the expert's are none
        return None
    return f"{1 - right:.1%} of tool calls end in an error"


@_pattern(
    "Updates are too large for one batch: lower the learning rate, or use fewer minibatches or"
    " epochs per batch."
)
def clip_fraction(rows: Sequence[Row]) -> str | None:
    now = _recent(rows, "clip_fraction")
    return f"{now:.1%} of tokens are clipped" if now is not None and now > 0.3 else None


@_pattern(
    "The answer's format is being lost: lower the learning rate, or mix some supervised steps in."
)
def schema_falls(rows: Sequence[Row]) -> str | None:
    """By 10 points below the best so far: format is learned first and lost last."""
    now, values = _recent(rows, "schema_rate"), _values(rows[-MEMORY:], "schema_rate")
    if now is None or len(rows) < 2 * START:
        return None
    starts = range(max(1, len(values) - START + 1))
    best = max(fmean(values[i : i + START]) for i in starts)
    return f"plans that can be read fell from {best:.1%} to {now:.1%}" if best - now > 0.1 else None


@_pattern(
    "Other work on the machine, swapping, or longer episodes: look at memory and at the lengths."
)
def slow(rows: Sequence[Row]) -> str | None:
    now = _recent(rows[-3:], "tokens_per_second")
    speeds = _values(rows[-MEMORY:], "tokens_per_second")
    if now is None or len(speeds) < 2 * START or now >= 0.5 * median(speeds):
        return None
    return f"{now:,.0f} tokens per second, usually {median(speeds):,.0f}"
