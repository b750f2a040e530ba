"""What a step of reinforcement learning was like, in figures (rows D9, S11, P12, P14). Names and units: docs/training-metrics.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple
from typing import Any

from tripwright.episode import Episode
from tripwright.rewards.shaped import SUCCESS, SUM
from tripwright.rl.rollouts import Group
from tripwright.rl.settings import OVERLONG
from tripwright.rl.theory import variances
from tripwright.transcript import StopReason

MISTAKES = (StopReason.FORMAT_ERROR, StopReason.REPEATED_CALL)  # where a dialect ends an episode for them
PARTS = ("commonsense_micro", "hard_micro", "commonsense_macro", "hard_macro", "pass_rate")


def describe(groups: Sequence[Group]) -> dict[str, Any]:
    """Of every group that was played, dropped ones included: rewards and their parts, lengths, calls, why episodes stopped."""
    episodes = [e for group in groups for e, r in zip(group.episodes, group.rewards, strict=True) if r is not None]
    rewards = [r for group in groups for r in group.rewards if r is not None]
    played = sum(len(group.episodes) for group in groups)
    counts = {"episodes": played, "unscored": played - len(rewards)}
    if not rewards:
        return counts
    n = len(rewards)
    mean = sum(r.total for r in rewards) / n
    parts = [sum(values) / n for values in zip(*(astuple(r.parts) for r in rewards), strict=True)]
    official, strict = (sum(e.task.passes(e, rules) for e in episodes) / n for rules in ("official", "strict"))
    transcripts = [e.transcript for e in episodes]
    stops = Counter(str(t.stop_reason) for t in transcripts)
    tokens, said = sum(len(t.token_ids) for t in transcripts), sum(sum(t.loss_mask) for t in transcripts)
    return {
        **counts,
        "reward_mean": mean,
        "reward_std": (sum((r.total - mean) ** 2 for r in rewards) / n) ** 0.5,
        "schema_rate": sum(r.schema for r in rewards) / n,
        **dict(zip(PARTS, parts, strict=True)),
        "official_pass_rate": official,
        "strict_pass_rate": strict,
        "strict_gap": official - strict,
        "turns_mean": sum(t.turns for t in transcripts) / n,
        "completion_tokens_mean": said / n,
        "tokens": tokens,
        "loss_mask_ratio": said / max(1, tokens),
        "stop_reasons": {reason: count / n for reason, count in stops.items()},
        "stopped_by_length": sum(stops[reason] for reason in OVERLONG) / n,
        **_calls(episodes),
        "replayed": sum(group.replayed for group in groups),
        "replayed_solved": sum(group.replayed and group.passed for group in groups),
        **_verified(episodes),
        "kept_groups": sum(group.std() > 0 for group in groups) / len(groups),
        "failed_groups": sum(group.scored and not group.passed for group in groups) / len(groups),
        "solved_groups": sum(group.scored and all(r is not None and r.parts.final for r in group.rewards) for group in groups)
        / len(groups),
        **_spread(groups),
        "constraints": constraint_rates(episodes),
    }


def _calls(episodes: list[Episode]) -> dict[str, Any]:
    calls = [call for e in episodes for call in e.transcript.calls]
    turns = max(1, sum(e.transcript.turns for e in episodes))
    return {
        "tool_calls_mean": len(calls) / len(episodes),
        **({"tool_call_accuracy": 1 - sum(call.error and call.fault is None for call in calls) / len(calls)} if calls else {}),
        "faulty_calls": sum(call.fault is not None for call in calls),
        "malformed_turns": sum(len(e.transcript.problems) + (e.transcript.stop_reason in MISTAKES) for e in episodes) / turns,
    }


def _verified(episodes: list[Episode]) -> dict[str, Any]:
    """Of episodes that a verifier judged (rows D3 to D5): what the early stop saved. Nothing where plans were judged."""
    found = [e.more["verifier"] for e in episodes if "verifier" in e.more]
    if not found:
        return {}
    judged, saved = sum(len(each["turns"]) for each in found), sum(each["turns_saved"] for each in found)
    return {
        "trajectory_pass_rate": sum(e.verdict is not None and e.verdict.hard is not None for e in episodes) / len(found),
        "turns_judged": judged,
        "turns_saved": saved,
        "turns_saved_share": saved / max(1, judged + saved),
    }


def _spread(groups: Sequence[Group]) -> dict[str, float]:
    """Lemma 2 (row P16) measured: variances of the dense and the sparse reward within groups, and the covariance that it needs."""
    both = [zip(group.rewarded(SUM), group.rewarded(SUCCESS), strict=True) for group in groups]
    return variances([[(dense.total, sparse.total) for dense, sparse in pairs if dense and sparse] for pairs in both])


def constraint_rates(episodes: Sequence[Episode]) -> dict[str, float]:
    """Share of episodes passing each constraint, among those it applies to; undelivered and gated ones count as failed."""
    passed, asked = Counter[str](), Counter[str]()
    for episode in episodes:
        if episode.verdict is None:
            continue
        facts = {**(episode.verdict.commonsense or {}), **(episode.verdict.hard or {})}
        for name in (*episode.asked.commonsense, *episode.asked.hard):
            fact = facts.get(name)
            asked[name] += 1
            passed[name] += fact is not None and fact.passed is True
    return {name: passed[name] / asked[name] for name in asked}
