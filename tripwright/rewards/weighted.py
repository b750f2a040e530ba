"""Rewards that weigh the facts of a verdict (Planner-R1's shaped reward, and any domain's like it).

    r = r_schema · Σ λ_term · term        terms: for each group of facts its micro and its macro
    rate, and whether the episode passed

For TravelPlanner these are Planner-R1's five: commonsense_micro, hard_micro, commonsense_macro,
hard_macro and pass. An answer that cannot be read, or none, is worth 0 whatever the weights, and so
is one that makes the rules crash. Facts behind a gate that was shut count as failed; facts that
nobody asked for count not at all.
"""

from __future__ import annotations

from collections.abc import Mapping

from tripwright.episode import Episode
from tripwright.errors import UserError
from tripwright.rewards.reward import Reward, RewardBreakdown
from tripwright.verdict import FORMAT, Group, Verdict

PASS = "pass"
Weights = Mapping[str, float]  # term → λ


def terms(verdict: Verdict) -> dict[str, float]:
    """Every term of one verdict, each in [0, 1]: "<group>_micro" of each group, then
    "<group>_macro", then "pass"."""
    groups = [group for group in verdict.groups if group.name != FORMAT]
    counts = verdict.readable and verdict.delivered and verdict.error is None
    return {
        **{f"{group.name}_micro": _micro(group) if counts else 0.0 for group in groups},
        **{f"{group.name}_macro": float(counts and group.passed) for group in groups},
        PASS: float(counts and verdict.final),
    }


def _micro(group: Group) -> float:
    return group.passed_count / len(group.asked) if group.asked else float(group.passed)


def weighted(weights: Weights) -> Reward:
    """The reward with these weights. It uses the groups that it has a weight for; "pass" uses all
    of them."""

    def reward(episode: Episode) -> RewardBreakdown:
        assert episode.verdict is not None
        parts = terms(episode.verdict)
        if unknown := [term for term in weights if term not in parts]:
            raise UserError(
                f"A reward weighs '{unknown[0]}', which these verdicts have not. Accepted:"
                f" {', '.join(parts)}."
            )
        used = dict.fromkeys(
            term.rpartition("_")[0] for term, weight in weights.items() if weight and term != PASS
        )
        groups = () if weights.get(PASS) else (FORMAT, *used)
        return RewardBreakdown(
            sum(weight * parts[term] for term, weight in weights.items()), parts, groups
        )

    return reward


def dense(episode: Episode) -> RewardBreakdown:
    """Every term with weight 1: what an examination reports beside the pass rate, whatever a run
    was trained by."""
    assert episode.verdict is not None
    parts = terms(episode.verdict)
    return RewardBreakdown(sum(parts.values()), parts)


success = weighted({PASS: 1.0})
