"""Which reward a recipe means: one that its domain registers by name, one by weights, or a function
of the user's own.

    stages = [["stage1", 100], ["success", 50]]                          names
    stages = [[{hard_macro = 1.0, pass = 2.0}, 100]]                     weights
    stages = [["my_rewards:short_and_clean", 100]]                       module:function

A function is imported when training begins, and by nobody else: whoever reads a run folder runs no
code that it names.

Weights are those of Planner-R1's shaped reward, and of any domain's like it:

    r = r_schema · Σ λ_term · term        terms: for each group of facts its micro and its macro
    rate, and whether the episode passed

For TravelPlanner these are commonsense_micro, hard_micro, commonsense_macro, hard_macro and pass.
An answer that cannot be read, or none, is worth 0 whatever the weights, and so is one that makes
the rules crash. Facts behind a gate that was shut count as failed; facts that nobody asked for
count not at all."""

from __future__ import annotations

import math
import os
import pkgutil
import re
import sys
from collections.abc import Collection, Mapping
from typing import Any

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


RewardSpec = str | dict[str, float]  # as a recipe says it
OWN_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")  # of the user's own code


def check_reward_spec(
    spec: RewardSpec, rewards: Mapping[str, Reward], groups: Collection[str] = ()
) -> None:
    """Raises UserError for what can be no reward, without importing anything. `groups`: those of
    the verdicts, where they are known."""
    if isinstance(spec, str) and spec not in rewards and not OWN_NAME.fullmatch(spec):
        raise UserError(
            f"unknown reward '{spec}'. Accepted: {', '.join(rewards)}, weights of terms, or a"
            " function of yours as module:function."
        )
    if isinstance(spec, dict) and not spec:
        raise UserError("a reward without weights. Give at least one, for instance {pass = 1.0}.")
    terms = [*(f"{group}_{rate}" for rate in ("micro", "macro") for group in groups), PASS]
    if (
        isinstance(spec, dict)
        and groups
        and (unknown := [term for term in spec if term not in terms])
    ):
        raise UserError(
            f"a reward weighs '{unknown[0]}', which no verdict has. Accepted: {', '.join(terms)}."
        )


def resolve_reward(spec: RewardSpec, rewards: Mapping[str, Reward]) -> Reward:
    """Raises UserError where a module or its function cannot be had."""
    check_reward_spec(spec, rewards)
    if isinstance(spec, dict):
        return weighted(spec)
    if spec in rewards:
        return rewards[spec]
    reward = imported(spec, "Reward")
    if not callable(reward):
        raise UserError(
            f"Reward '{spec}' is no function. Expected one that takes an Episode and returns a"
            " RewardBreakdown (docs/rewards.md)."
        )
    return _checked(spec, reward)


def imported(name: str, what: str) -> Any:
    """The user's own `what`, by "module:name". Raises UserError where it cannot be had."""
    here = from_here()
    try:
        return pkgutil.resolve_name(name)
    except Exception as error:  # whatever the user's own code does
        why = f"{type(error).__name__}: {error}"
        raise UserError(
            f"{what} '{name}' cannot be imported ({why}). It is looked for in '{here}'."
        ) from error


def from_here() -> str:
    """The current folder, where from now on modules are looked for, too."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    return os.getcwd()


def _checked(spec: str, reward: Reward) -> Reward:
    """The same, but what it returns is looked at: a None would count as unscored, and a nan would
    train."""

    def checked(episode: Episode) -> RewardBreakdown:
        breakdown = reward(episode)
        if not isinstance(breakdown, RewardBreakdown) or not all(
            map(math.isfinite, (breakdown.total, *breakdown.parts.values()))
        ):
            raise UserError(
                f"Reward '{spec}' returned {breakdown!r}. Expected a RewardBreakdown of finite"
                " numbers (docs/rewards.md)."
            )
        groups = [group.name for group in episode.verdict.groups] if episode.verdict else []
        if unknown := [name for name in breakdown.groups if name not in groups]:
            raise UserError(
                f"Reward '{spec}' uses a group '{unknown[0]}', which these verdicts have not."
                f" Accepted: {', '.join(groups)}."
            )
        return breakdown

    return checked
