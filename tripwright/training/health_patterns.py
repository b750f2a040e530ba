"""The patterns of `health`: each looks at the steps of one stage up to the newest and says what is
wrong there, with figures, or None."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """Where a figure starts to mean trouble. Shares are from 0 to 1."""

    window: int = 10  # steps whose mean is looked at: one step of 64 to 128 episodes is noise
    memory: int = 100  # steps that "usual" and "best so far" look back
    start: int = 5  # steps at the beginning that a run is held against
    # of its start; a policy that learns loses half and more of it, so only a fall by 80% counts
    entropy_share: float = 0.2
    # nats per token: below, groups of 8 are nearly copies of each other
    entropy_floor: float = 0.01
    keep_rate: float = 0.1  # of groups; below, nine tenths of the rollouts teach nothing
    # of episodes: an episode cut off earns 0 whatever it did, which teaches to be short, not to be
    # right
    length_stops: float = 0.05
    # × the median of the window before: clipping hides a spike's size, not its direction. In
    # imitation that goes well one batch in a thousand reaches 10 to 14
    spike: float = 15.0
    spike_history: int = 8  # steps needed before a median means anything
    # of the first mean (or of one point): a rise this large should show in the passes
    reward_gain: float = 0.1
    pass_gain: float = 0.005  # of episodes: less is flat
    # official pass rate minus strict, against its start: holes in the rules are being learned
    gap_growth: float = 0.05
    # nats per token, mean |trainer − sampler|: the ratio is off by 2% before anything was learned
    logprob_gap: float = 0.02
    kl: float = 0.5  # nats per token against the reference: the policy is another one
    kl_growth: float = 3.0  # × within one window, once above a tenth of `kl`
    # of the start, tokens and turns both: cheaper episodes alone are what a policy learns
    short_share: float = 0.5
    unscored: float = 0.01  # of episodes: above it every rate here needs a worst case (law 4)
    tool_errors: float = 0.2  # of calls: the expert's are none
    clip_fraction: float = 0.3  # of tokens: the update is mostly cut off
    schema_fall: float = 0.1  # in points of the share: format is learned first and lost last
    slow: float = 0.5  # × the median tokens per second


Pattern = Callable[[Sequence[Row], Limits], str | None]
_LENGTH_LIMITS = {
    "max_turns": "max_turns",
    "max_calls": "max_calls",
    "max_turn_tokens": "max_turn_tokens",
    "context_overflow": "context_tokens",
}


# ---- figures of a run


def number(row: Row, key: str) -> float | None:
    """A finite number, or None."""
    value = row.get(key)
    figure = (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    )
    return figure if math.isfinite(figure) else None


def _values(rows: Iterable[Row], key: str) -> list[float]:
    return [figure for row in rows if (figure := number(row, key)) is not None]


def _start(rows: Sequence[Row], key: str, limits: Limits) -> float | None:
    """Mean of the first steps; None until as many again have followed, so that a beginning is never
    held against itself."""
    values = _values(rows[: limits.start], key)
    return fmean(values) if values and len(rows) >= 2 * limits.start else None


def _recent(rows: Sequence[Row], key: str, limits: Limits) -> float | None:
    """Mean of the last `window` steps, or of the second half of fewer. None where the newest step
    lacks the figure."""
    if not rows or number(rows[-1], key) is None:
        return None
    return fmean(_values(rows[-min(limits.window, max(1, len(rows) // 2)) :], key))


def _percent(value: float) -> str:
    return f"{100 * value:.1f}%"


# ---- the patterns


def entropy_collapse(rows: Sequence[Row], limits: Limits) -> str | None:
    """Entropy at a fraction of its start while the reward does not rise (a policy that became sure
    because it became right is well). A step that trained on nothing has no gradient and no entropy:
    its zeros say nothing."""
    if rows[-1].get("grad_norm") == 0:
        return None
    rows = [row for row in rows if row.get("grad_norm") != 0]
    now, first = _recent(rows, "entropy", limits), _start(rows, "entropy", limits)
    if now is None or first is None:
        return None
    if (
        now < limits.entropy_floor
        and first >= limits.entropy_floor
        and not _mostly_right(rows, limits)
    ):
        return f"entropy is {now:.4f} nats per token (limit {limits.entropy_floor})"
    if now >= limits.entropy_share * first or _rising(rows, limits):
        return None
    return (
        f"entropy fell from {first:.3f} to {now:.3f} nats per token while the reward did not rise"
    )


def _mostly_right(rows: Sequence[Row], limits: Limits) -> bool:
    rate = _recent(rows, "pass_rate", limits)
    return rate is not None and rate > 0.9


def _rising(rows: Sequence[Row], limits: Limits) -> bool:
    """Is the reward of the last window above that of the window before it, by more than a twentieth
    of what it gained in all?"""
    now, before = (
        _recent(rows, "reward_mean", limits),
        _recent(rows[: -limits.window], "reward_mean", limits),
    )
    first = _start(rows, "reward_mean", limits)
    if now is None or before is None or first is None:
        return False
    return now - before > 0.05 * max(abs(now - first), 0.1)


def _keep_rate(rows: Sequence[Row], limits: Limits) -> str | None:
    """Why hardly a group is kept: "fail", "pass" or "other"; None where enough are. Groups that
    fail or pass as one are logged by newer runs; without them the pass rate tells."""
    kept_rate = _recent(rows, "kept_groups", limits)
    if kept_rate is None or kept_rate >= limits.keep_rate or len(rows) < limits.start:
        return None
    passed = _recent(rows, "pass_rate", limits) or 0.0
    failed, solved = _recent(rows, "failed_groups", limits), _recent(rows, "solved_groups", limits)
    all_fail, all_pass = (
        1 - passed if failed is None else failed,
        passed if solved is None else solved,
    )
    return "fail" if all_fail > 0.9 else "pass" if all_pass > 0.9 else "other"


def _kept_words(rows: Sequence[Row], limits: Limits) -> str:
    share, passed = (
        _recent(rows, "kept_groups", limits) or 0.0,
        _recent(rows, "pass_rate", limits) or 0.0,
    )
    return (
        f"only {_percent(share)} of groups have rewards that differ, and {_percent(passed)} of"
        " episodes pass"
    )


def all_groups_fail(rows: Sequence[Row], limits: Limits) -> str | None:
    return _kept_words(rows, limits) if _keep_rate(rows, limits) == "fail" else None


def all_groups_pass(rows: Sequence[Row], limits: Limits) -> str | None:
    return _kept_words(rows, limits) if _keep_rate(rows, limits) == "pass" else None


def few_groups_kept(rows: Sequence[Row], limits: Limits) -> str | None:
    return _kept_words(rows, limits) if _keep_rate(rows, limits) == "other" else None


def stopped_by_length(rows: Sequence[Row], limits: Limits) -> str | None:
    shares = dict.fromkeys(_LENGTH_LIMITS, 0.0)
    recent = rows[-min(limits.window, len(rows)) :]
    logged = [reasons for row in recent if isinstance(reasons := row.get("stop_reasons"), dict)]
    if not logged:
        stop_share = _recent(rows, "stopped_by_length", limits)
        return (
            f"{_percent(stop_share)} of episodes are stopped by length"
            if stop_share is not None and stop_share > limits.length_stops
            else None
        )
    for reasons in logged:
        for name in shares:
            shares[name] += (number(reasons, name) or 0.0) / len(logged)
    total = sum(shares.values())
    if total <= limits.length_stops:
        return None
    which = ", ".join(
        f"{_LENGTH_LIMITS[name]} {_percent(share)}"
        for name, share in sorted(shares.items(), key=_by_share)
        if share > 0
    )
    return f"{_percent(total)} of episodes are stopped by length ({which})"


def _by_share(item: tuple[str, float]) -> float:
    return -item[1]


def gradient_spike(rows: Sequence[Row], limits: Limits) -> str | None:
    length = rows[-1].get("copy_length")  # doubles in the warm-up, which makes the gradient large
    alike = [row for row in rows[-limits.window - 1 : -1] if row.get("copy_length") == length]
    now, before = number(rows[-1], "grad_norm"), _values(alike, "grad_norm")
    # a step without a gradient has norm 0 and says nothing
    before = [norm for norm in before if norm > 0]
    if now is None or len(before) < limits.spike_history:
        return None
    usual = median(before)
    return (
        f"gradient norm {now:.3g}, {now / usual:.1f} times the {usual:.3g} usual here"
        if now > limits.spike * usual
        else None
    )


def not_finite(rows: Sequence[Row], limits: Limits) -> str | None:
    bad = [
        key
        for key, value in rows[-1].items()
        if isinstance(value, float) and not math.isfinite(value)
    ]
    return f"{', '.join(bad)} not finite (NaN or infinite)" if bad else None


def reward_without_passes(rows: Sequence[Row], limits: Limits) -> str | None:
    if len(rows) < 2 * limits.window or not _same_weights(rows):
        return None
    reward, first_reward = _recent(rows, "reward_mean", limits), _start(rows, "reward_mean", limits)
    passed, first_passed = _recent(rows, "pass_rate", limits), _start(rows, "pass_rate", limits)
    if reward is None or first_reward is None or passed is None or first_passed is None:
        return None
    if (
        reward - first_reward < limits.reward_gain * max(1.0, abs(first_reward))
        or passed - first_passed >= limits.pass_gain
    ):
        return None
    return (
        f"reward rose from {first_reward:.2f} to {reward:.2f} while passes went from"
        f" {_percent(first_passed)} to {_percent(passed)}"
    )


def _same_weights(rows: Sequence[Row]) -> bool:
    """A curriculum's stages weigh the parts differently: rewards of two of them cannot be
    compared."""
    return rows[0].get("curriculum_stage") == rows[-1].get("curriculum_stage")


def official_gap_opens(rows: Sequence[Row], limits: Limits) -> str | None:
    now, first = _recent(rows, "strict_gap", limits), _start(rows, "strict_gap", limits)
    if now is None or first is None or now - first <= limits.gap_growth:
        return None
    return (
        f"official passes exceed strict ones by {_percent(now)}, at the start by {_percent(first)}"
    )


def logprob_gap(rows: Sequence[Row], limits: Limits) -> str | None:
    """`sampler_gap` is of rollouts on a server, and known also where nothing was trained on."""
    keys = ("logprob_gap", "sampler_gap")
    now = max(
        (gap for key in keys if (gap := _recent(rows, key, limits)) is not None), default=None
    )
    return (
        f"sampler and trainer differ by {now:.3f} nats per token"
        if now is not None and now > limits.logprob_gap
        else None
    )


def kl_grows(rows: Sequence[Row], limits: Limits) -> str | None:
    now, before = _recent(rows, "kl", limits), _recent(rows[: -limits.window], "kl", limits)
    if now is None:
        return None
    if now > limits.kl:
        return f"KL to the reference is {now:.3f} nats per token (limit {limits.kl})"
    if (
        before is not None
        and len(rows) >= 2 * limits.window
        and now > limits.kl / 10
        and now > limits.kl_growth * max(before, 1e-9)
    ):
        return (
            f"KL to the reference grew from {before:.3f} to {now:.3f} nats per token within"
            f" {limits.window} steps"
        )
    return None


def unscored(rows: Sequence[Row], limits: Limits) -> str | None:
    """`unscored` is a count, `episodes` how many were rolled out; a row without the latter is taken
    at one in a hundred or more."""
    recent = rows[-min(limits.window, len(rows)) :]
    lost, episodes = sum(_values(recent, "unscored")), sum(_values(recent, "episodes"))
    if episodes:
        share = lost / episodes
        return (
            f"{_percent(share)} of episodes are unscored ({lost:.0f} of {episodes:.0f})"
            if share > limits.unscored
            else None
        )
    return (
        f"{lost:.0f} episodes of the last {len(recent)} steps are unscored"
        if lost > len(recent)
        else None
    )


def verifier_fails(rows: Sequence[Row], limits: Limits) -> str | None:
    success = _recent(rows, "verifier_success_rate", limits)
    if success is None or 1 - success <= limits.unscored:
        return None
    return f"{_percent(1 - success)} of answers got no verdict: the verifier failed"


def short_episodes(rows: Sequence[Row], limits: Limits) -> str | None:
    """Responses and turns both at half of their start or less (DeepTravel, Appendix A.4)."""
    figures = []
    for key in ("completion_tokens_mean", "turns_mean"):
        now, first = _recent(rows, key, limits), _start(rows, key, limits)
        if now is None or first is None or now > limits.short_share * first:
            return None
        figures.append((first, now))
    (tokens, tokens_now), (turns, turns_now) = figures
    return (
        f"episodes shrank from {tokens:.0f} to {tokens_now:.0f} tokens written and from"
        f" {turns:.1f} to {turns_now:.1f} turns"
    )


def tool_errors(rows: Sequence[Row], limits: Limits) -> str | None:
    right = _recent(rows, "tool_call_accuracy", limits)
    if right is None or 1 - right <= limits.tool_errors or len(rows) < limits.start:
        return None
    return f"{_percent(1 - right)} of tool calls end in an error"


def clip_fraction(rows: Sequence[Row], limits: Limits) -> str | None:
    now = _recent(rows, "clip_fraction", limits)
    return (
        f"{_percent(now)} of tokens are clipped"
        if now is not None and now > limits.clip_fraction
        else None
    )


def schema_falls(rows: Sequence[Row], limits: Limits) -> str | None:
    now, best = _recent(rows, "schema_rate", limits), None
    if now is not None and len(rows) >= 2 * limits.start:
        values = _values(rows[-limits.memory :], "schema_rate")
        best = max(
            fmean(values[i : i + limits.start])
            for i in range(max(1, len(values) - limits.start + 1))
        )
    if now is None or best is None or best - now <= limits.schema_fall:
        return None
    return f"plans that can be read fell from {_percent(best)} to {_percent(now)}"


def slow(rows: Sequence[Row], limits: Limits) -> str | None:
    now, speeds = (
        _recent(rows[-3:], "tokens_per_second", limits),
        _values(rows[-limits.memory :], "tokens_per_second"),
    )
    if now is None or len(speeds) < 2 * limits.start:
        return None
    usual = median(speeds)
    return (
        f"{now:,.0f} tokens per second, usually {usual:,.0f}" if now < limits.slow * usual else None
    )


PATTERNS: dict[str, Pattern] = {
    "not_finite": not_finite,
    "entropy_collapse": entropy_collapse,
    "all_groups_fail": all_groups_fail,
    "all_groups_pass": all_groups_pass,
    "few_groups_kept": few_groups_kept,
    "stopped_by_length": stopped_by_length,
    "gradient_spike": gradient_spike,
    "reward_without_passes": reward_without_passes,
    "official_gap_opens": official_gap_opens,
    "logprob_gap": logprob_gap,
    "kl_grows": kl_grows,
    "unscored": unscored,
    "verifier_fails": verifier_fails,
    "short_episodes": short_episodes,
    "tool_errors": tool_errors,
    "clip_fraction": clip_fraction,
    "schema_falls": schema_falls,
    "slow": slow,
}
