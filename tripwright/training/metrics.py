"""What a step of reinforcement learning was like, in figures (rows D9, S11, P14, P16); what it cost
is `flops`' to say. Names and units: docs/training-metrics.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tripwright.domains import domain_named
from tripwright.episode import Episode
from tripwright.rewards.reward import RewardBreakdown
from tripwright.rewards.spec import PASS, dense, success, terms
from tripwright.training.rollouts import RolloutGroup
from tripwright.transcript import OVERLONG, StopReason

# where a dialect ends an episode for them
MISTAKES = (StopReason.FORMAT_ERROR, StopReason.REPEATED_CALL)


def describe(groups: Sequence[RolloutGroup]) -> dict[str, Any]:
    """Of every group that was played, dropped ones included: rewards and their parts, lengths,
    calls, why episodes stopped."""
    episodes = [
        e
        for group in groups
        for e, r in zip(group.episodes, group.rewards, strict=True)
        if r is not None
    ]
    rewards = [r for group in groups for r in group.rewards if r is not None]
    episode_count = sum(len(group.episodes) for group in groups)
    counts = {
        "episodes": episode_count,
        "unscored": episode_count - len(rewards),
        **_verifier([episode for group in groups for episode in group.episodes]),
    }
    if not rewards:
        return counts
    n = len(rewards)
    mean = sum(r.total for r in rewards) / n
    transcripts = [e.transcript for e in episodes]
    responses = [t.response_tokens for t in transcripts]
    stops = Counter(str(t.stop_reason) for t in transcripts)
    tokens = sum(len(t.token_ids) for t in transcripts)
    agent_tokens = sum(sum(t.loss_mask) for t in transcripts)
    passed = [[e.passed for e in group.episodes] for group in groups if group.scored]
    return {
        **counts,
        "reward_mean": mean,
        "reward_std": (sum((r.total - mean) ** 2 for r in rewards) / n) ** 0.5,
        "schema_rate": sum(e.verdict is not None and e.verdict.readable for e in episodes) / n,
        **_terms(episodes, rewards),
        "turns_mean": sum(t.turns for t in transcripts) / n,
        "completion_tokens_mean": agent_tokens / n,
        "tokens": tokens,
        "loss_mask_ratio": agent_tokens / max(1, tokens),
        "stop_reasons": {reason: count / n for reason, count in stops.items()},
        "response_tokens_mean": sum(responses) / n,
        "response_tokens_max": max(responses),
        "context_cut": sum(t.context_was_cut for t in transcripts) / n,
        "stopped_by_length": sum(stops[reason] for reason in OVERLONG) / n,
        **_calls(episodes),
        "replayed": sum(group.replayed for group in groups),
        "replayed_solved": sum(group.replayed and group.solved for group in groups),
        **domain_named(episodes[0].task.domain).figures(episodes),
        "kept_groups": sum(group.std() > 0 for group in groups) / len(groups),
        "failed_groups": sum(not any(members) for members in passed) / len(groups),
        "solved_groups": sum(all(members) for members in passed) / len(groups),
        **_spread(groups),
        "constraints": constraint_rates(episodes),
    }


def _terms(episodes: Sequence[Episode], rewards: Sequence[RewardBreakdown]) -> dict[str, float]:
    """Means of the verdicts' terms, and of the reward's own parts that are none of them (a penalty,
    say)."""
    n = len(episodes)
    sums = dict[str, float]()
    for episode in episodes:
        if episode.verdict is not None:
            for name, value in terms(episode.verdict).items():
                sums[name] = sums.get(name, 0.0) + value
    own = dict.fromkeys(name for r in rewards for name in r.parts if name not in sums)
    rates = {"pass_rate" if name == PASS else name: total / n for name, total in sums.items()}
    return rates | {
        f"reward_{name}": sum(r.parts.get(name, 0.0) for r in rewards) / n for name in own
    }


def _verifier(episodes: list[Episode]) -> dict[str, float]:
    """Of the answers that were to be judged, the share that got a verdict (row D9). An unscored
    episode with an answer is one that its judge failed; where a tool or the model failed there is
    none."""
    judged = [e.scored for e in episodes if e.scored or e.transcript.answer is not None]
    return {"verifier_success_rate": sum(judged) / len(judged)} if judged else {}


def _calls(episodes: list[Episode]) -> dict[str, Any]:
    calls = [call for e in episodes for call in e.transcript.calls]
    turns = max(1, sum(e.transcript.turns for e in episodes))
    wrong = sum(call.error and call.fault is None for call in calls)
    malformed = sum(
        len(e.transcript.problems) + (e.transcript.stop_reason in MISTAKES) for e in episodes
    )
    return {
        "tool_calls_mean": len(calls) / len(episodes),
        **({"tool_call_accuracy": 1 - wrong / len(calls)} if calls else {}),
        "faulty_calls": sum(call.fault is not None for call in calls),
        "malformed_turns": malformed / turns,
    }


def _spread(groups: Sequence[RolloutGroup]) -> dict[str, float]:
    """Lemma 2 (row P16) measured: variances of the dense and the sparse reward within groups, and
    the covariance that it needs. And that of the reward in force, which Theorem 1 is about."""
    own = variances([(r.total, 0.0) for r in g.rewards if r is not None] for g in groups)
    spread = variances(
        [(dense(e).total, success(e).total) for e in g.episodes if e.scored] for g in groups
    )
    return spread | ({"reward_variance": own["dense_variance"]} if own else {})


def constraint_rates(episodes: Sequence[Episode]) -> dict[str, float]:
    """Share of episodes passing each constraint, among those it applies to; undelivered and gated
    ones count as failed."""
    passes, totals = Counter[str](), Counter[str]()
    for episode in episodes:
        if episode.verdict is None:
            continue
        for group in episode.verdict.groups[1:]:
            for name in group.asked:
                fact = group.facts.get(name) if group.facts is not None else None
                totals[name] += 1
                passes[name] += fact is not None and fact.passed is True
    return {name: passes[name] / totals[name] for name in totals}


# ---- row P16: the variance of the dense and of the sparse reward at the start of a run


def variances(groups: Iterable[Sequence[tuple[float, float]]]) -> dict[str, float]:
    """From (dense, sparse) reward of each prompt's rollouts, unscored ones left out: means over
    prompts, in squared reward, of the unbiased (n - 1) estimates within each prompt's group.

        dense_variance      Var[X + Z]
        sparse_variance     Var[X]
        covariance          Cov[X, Z]; Var[Z] is dense_variance - sparse_variance - 2 · covariance

    A group of one says nothing about a variance and is left out; with no group left the answer is
    empty.
    """
    estimates = [_within(group) for group in groups if len(group) > 1]
    columns = [sum(column) / len(estimates) for column in zip(*estimates, strict=True)]
    # no columns of no estimate
    return dict(zip(("dense_variance", "sparse_variance", "covariance"), columns, strict=False))


def _within(group: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    dense, sparse = [d for d, _ in group], [s for _, s in group]
    auxiliary = [d - s for d, s in group]
    return _covariance(dense, dense), _covariance(sparse, sparse), _covariance(sparse, auxiliary)


def _covariance(a: Sequence[float], b: Sequence[float]) -> float:
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    return sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True)) / (len(a) - 1)
