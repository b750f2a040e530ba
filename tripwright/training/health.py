"""Patterns in a run's metrics that mean trouble, and what to do about each (rows D9, S11). Pure:
from logged steps to warnings.

PATTERNS is the table: name, condition, advice. A condition looks at the steps of one stage up to
the newest one and says what is wrong there, with its figures, or nothing. A figure that a run does
not log raises no warning. A warning is raised when its pattern starts, once; if the pattern stays
away for WINDOW steps the warning is over, and it may be raised again. Thresholds stand in the
conditions and in the table, each with its reason.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean, median
from typing import Any

from tripwright.evals.report.markup import number

Row = dict[str, Any]
Condition = Callable[[Sequence[Row]], str | None]

WINDOW = 10  # steps whose mean is looked at: one step of 64 to 128 episodes is noise
START = 5  # steps at the beginning that a run is held against


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
        return {name: value for name, value in asdict(self).items() if value is not None}

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
        for name, (condition, advice) in PATTERNS.items():
            what = condition(self._rows)
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


# ---- figures of a run


def _values(rows: Iterable[Row], key: str) -> list[float]:
    return [figure for row in rows if (figure := number(row.get(key))) is not None]


def _recent(rows: Sequence[Row], key: str) -> float | None:
    """Mean of the last WINDOW steps, or of the second half of fewer. None where the newest step
    lacks the figure."""
    if not rows or number(rows[-1].get(key)) is None:
        return None
    return fmean(_values(rows[-min(WINDOW, max(1, len(rows) // 2)) :], key))


def _since_the_start(rows: Sequence[Row], key: str) -> tuple[float, float] | None:
    """(mean of the first steps, now); None until as many again have followed, so that a beginning
    is never held against itself."""
    first, now = _values(rows[:START], key), _recent(rows, key)
    if not first or now is None or len(rows) < 2 * START:
        return None
    return fmean(first), now


# ---- conditions


def _limit(
    key: str, words: str, above: float = math.inf, below: float = -math.inf, from_step: int = 1
) -> Condition:
    """The recent mean of one figure is beyond a limit."""

    def condition(rows: Sequence[Row]) -> str | None:
        now = _recent(rows, key)
        if now is None or below <= now <= above or len(rows) < from_step:
            return None
        return words.format(now)

    return condition


def not_finite(rows: Sequence[Row]) -> str | None:
    figures = [(key, value) for key, value in rows[-1].items() if isinstance(value, float)]
    bad = [key for key, value in figures if not math.isfinite(value)]
    return f"{', '.join(bad)} not finite (NaN or infinite)" if bad else None


def entropy_collapse(rows: Sequence[Row]) -> str | None:
    """A policy that became sure because it became right is well: nine passes in ten, or a reward
    that still rises by a twentieth of what it gained in all. A step that trained on nothing has no
    gradient and no entropy: its zeros say nothing. One that learns loses half of its entropy and
    more, so only a fall by 80% counts; below 0.01 nats per token groups of 8 are nearly copies."""
    if rows[-1].get("grad_norm") == 0:
        return None
    rows = [row for row in rows if row.get("grad_norm") != 0]
    if (both := _since_the_start(rows, "entropy")) is None:
        return None
    first, now = both
    if now < 0.01 <= first and (_recent(rows, "pass_rate") or 0) <= 0.9:
        return f"entropy is {now:.4f} nats per token (limit 0.01)"
    reward, before = _since_the_start(rows, "reward_mean"), _recent(rows[:-WINDOW], "reward_mean")
    rises = (
        reward is not None
        and before is not None
        and reward[1] - before > 0.05 * max(abs(reward[1] - reward[0]), 0.1)
    )
    if now < 0.2 * first and not rises:
        return f"entropy fell from {first:.3f} to {now:.3f} nats per token, and the reward rose not"
    return None


def groups_agree(rows: Sequence[Row]) -> str | None:
    """Below a tenth, nine tenths of the rollouts teach nothing. Where no step so far had a
    gradient, the first one says so."""
    figures = ("kept_groups", "failed_groups", "solved_groups")
    kept, failed, solved = (_recent(rows, figure) for figure in figures)
    idle = all(row.get("kept_groups") == 0 == row.get("grad_norm") for row in rows)
    if kept is None or kept >= 0.1 or (len(rows) < START and not idle):
        return None
    is_told = failed is not None and solved is not None
    why = f": none passes in {failed:.0%}, all pass in {solved:.0%}" if is_told else ""
    if idle:
        why += f" (mean reward {_recent(rows, 'reward_mean') or 0:.3g}), so nothing was trained"
    stops = rows[-1].get("stop_reasons")
    if isinstance(stops, dict) and (shares := {n: s for n, v in stops.items() if (s := number(v))}):
        most = max(shares, key=shares.__getitem__)
        why += f"; {shares[most]:.0%} of episodes end with '{most}'"
    return f"only {kept:.1%} of groups differ in reward{why}"


def stopped_by_length(rows: Sequence[Row]) -> str | None:
    """Above 5%: an episode cut off earns 0 whatever it did, which teaches to be short and not to be
    right."""
    logged = [row["stop_reasons"] for row in rows[-WINDOW:] if "stop_reasons" in row]
    reasons = [each for each in logged if isinstance(each, dict)]
    limits = ("max_turns", "max_calls", "max_turn_tokens", "context_overflow")
    shares = {name: sum(_values(reasons, name)) / len(reasons) for name in limits if reasons}
    if sum(shares.values()) <= 0.05:
        return None
    which = ", ".join(f"{name} {share:.1%}" for name, share in shares.items() if share > 0)
    return f"{sum(shares.values()):.1%} of episodes are stopped by length ({which})"


def gradient_spike(rows: Sequence[Row]) -> str | None:
    """15 times the median of the window before: clipping hides a spike's size, not its direction.
    In imitation that goes well one batch in a thousand reaches 10 to 14."""
    length = rows[-1].get("copy_length")  # doubles in the warm-up, which makes the gradient large
    alike = [row for row in rows[-WINDOW - 1 : -1] if row.get("copy_length") == length]
    # a step without a gradient has norm 0 and says nothing
    before = [norm for norm in _values(alike, "grad_norm") if norm > 0]
    now = number(rows[-1].get("grad_norm"))
    if now is None or len(before) < 8 or now <= 15 * median(before):
        return None
    return f"gradient norm {now:.3g}, {now / median(before):.1f} times what is usual here"


def reward_without_passes(rows: Sequence[Row]) -> str | None:
    """A rise by a tenth should show in the passes. Of one stage of a curriculum: another weighs the
    parts differently."""
    same_stage = rows[0].get("curriculum_stage") == rows[-1].get("curriculum_stage")
    reward, passed = _since_the_start(rows, "reward_mean"), _since_the_start(rows, "pass_rate")
    if len(rows) < 2 * WINDOW or not same_stage or reward is None or passed is None:
        return None
    if passed[1] - passed[0] >= 0.005 or reward[1] - reward[0] < 0.1 * max(1.0, abs(reward[0])):
        return None
    return (
        f"reward rose from {reward[0]:.2f} to {reward[1]:.2f} while passes went from"
        f" {passed[0]:.1%} to {passed[1]:.1%}"
    )


def official_gap_opens(rows: Sequence[Row]) -> str | None:
    """Official pass rate minus strict, by 5 points more than at the start."""
    both = _since_the_start(rows, "strict_gap")
    if both is None or both[1] - both[0] <= 0.05:
        return None
    return f"official passes exceed strict ones by {both[1]:.1%}, at the start by {both[0]:.1%}"


def unscored(rows: Sequence[Row]) -> str | None:
    """Above 1% every rate here needs a worst case (law 4)."""
    lost, played = (sum(_values(rows[-WINDOW:], key)) for key in ("unscored", "episodes"))
    if lost <= 0.01 * played:
        return None
    return f"{lost / max(1, played):.1%} of episodes are unscored ({lost:.0f} of {played:.0f})"


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


OTHER_PROGRAM = "Use the same dtype for sampler and trainer; look at chat template and cache."
PATTERNS: dict[str, tuple[Condition, str]] = {
    "not_finite": (not_finite, "No such gradient is taken. Check loss and learning rate."),
    "entropy_collapse": (
        entropy_collapse,
        "Exploration stopped: lower the learning rate, raise clip.high or keep a KL term.",
    ),
    "groups_agree": (
        groups_agree,
        "Take a cold start, easier trips or a denser reward where all fail, harder trips where all"
        " pass.",
    ),
    "stopped_by_length": (
        stopped_by_length,
        "Raise that limit, shorten the tools' answers, or imitate longer first.",
    ),
    "cut_turns": (
        _limit(
            "cut_turns",
            "{:.1%} of the expert's transcripts have a turn longer than max_turn_tokens",
            above=0.01,
        ),
        "Playing would cut it: raise dialect.max_turn_tokens, and context_tokens with it.",
    ),
    "gradient_spike": (gradient_spike, "Read this step's episodes; a smaller grad_clip helps."),
    "reward_without_passes": (
        reward_without_passes,
        "Partial credit is being farmed: read episodes, then take a sparser reward.",
    ),
    "official_gap_opens": (
        official_gap_opens,
        "The holes of the official rules are being learned: reward by strict rules.",
    ),
    # above 0.02 the ratio is off by 2% before anything was learned; `sampler_gap` is of rollouts on
    # a server, and known also where nothing was trained on; with `importance` the trainer's own
    # log-probabilities are the old ones, and the third figure alone tells
    **{
        gap: (
            _limit(gap, "sampler and trainer differ by {:.3f} nats per token", above=0.02),
            OTHER_PROGRAM,
        )
        for gap in ("logprob_gap", "sampler_gap", "importance_gap_mean")
    },
    # above 0.5 the policy is another one
    "kl_grows": (
        _limit("kl", "KL to the reference is {:.3f} nats per token", above=0.5),
        "Raise kl.beta or lower the learning rate.",
    ),
    "unscored": (unscored, "Our side failed: look at tool server, judge and disk."),
    "verifier_fails": (
        _limit("verifier_success_rate", "only {:.1%} of answers got a verdict", below=0.99),
        "The service that judges fails: look at judgements.jsonl and its rate limit.",
    ),
    "short_episodes": (
        short_episodes,
        "The reward may be hacked: read episodes that it likes, and judge turns as well.",
    ),
    "tool_errors": (
        _limit(
            "tool_call_accuracy", "only {:.1%} of tool calls end well", below=0.8, from_step=START
        ),
        "Calls are malformed or ask for what is not there: try a longer cold start.",
    ),
    "clip_fraction": (
        _limit("clip_fraction", "{:.1%} of tokens are clipped", above=0.3),
        "Lower the learning rate, or use fewer minibatches or epochs per batch.",
    ),
}
