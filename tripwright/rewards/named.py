"""Which reward a recipe means: one that its domain registers by name, one by weights, or a function
of the user's own.

    stages = [["stage1", 100], ["success", 50]]                          names
    stages = [[{hard_macro = 1.0, pass = 2.0}, 100]]                     weights of the terms of a
    verdict (`weighted.py`) stages = [["my_rewards:short_and_clean", 100]]
    module:function

A function is imported when training begins, and by nobody else: whoever reads a run folder runs no
code that it names.
"""

from __future__ import annotations

import importlib
import math
import os
import re
import sys
from collections.abc import Collection, Mapping

from tripwright.episode import Episode
from tripwright.errors import UserError
from tripwright.rewards.reward import Reward, RewardBreakdown
from tripwright.rewards.weighted import PASS, weighted

Named = str | dict[str, float]  # as a recipe says it
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def check_named(named: Named, known: Mapping[str, Reward], groups: Collection[str] = ()) -> None:
    """Raises UserError for what can be no reward, without importing anything. `groups`: those of
    the verdicts, where they are known."""
    if isinstance(named, str) and named not in known and not _FUNCTION.fullmatch(named):
        raise UserError(
            f"unknown reward '{named}'. Accepted: {', '.join(known)}, weights of terms, or a"
            " function of yours as module:function."
        )
    if isinstance(named, dict) and not named:
        raise UserError("a reward without weights. Give at least one, for instance {pass = 1.0}.")
    terms = [*(f"{group}_{rate}" for rate in ("micro", "macro") for group in groups), PASS]
    if (
        isinstance(named, dict)
        and groups
        and (unknown := [term for term in named if term not in terms])
    ):
        raise UserError(
            f"a reward weighs '{unknown[0]}', which no verdict has. Accepted: {', '.join(terms)}."
        )


def reward_named(named: Named, known: Mapping[str, Reward]) -> Reward:
    """Raises UserError where a module or its function cannot be had. Modules are looked for in the
    current folder, too."""
    check_named(named, known)
    if isinstance(named, dict):
        return weighted(named)
    if named in known:
        return known[named]
    module, _, function = named.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        imported = importlib.import_module(module)
    except Exception as error:  # whatever the user's own code does
        why = f"{type(error).__name__}: {error}"
        raise UserError(
            f"Reward '{named}': module '{module}' cannot be imported ({why}). It is looked for in"
            f" '{os.getcwd()}'."
        ) from error
    if not hasattr(imported, function):
        raise UserError(f"Reward '{named}': module '{module}' has no '{function}'.")
    reward = getattr(imported, function)
    if not callable(reward):
        raise UserError(
            f"Reward '{named}' is no function. Expected one that takes an Episode and returns a"
            " RewardBreakdown (docs/rewards.md)."
        )
    return _checked(named, reward)


def _checked(named: str, reward: Reward) -> Reward:
    """The same, but what it returns is looked at: a None would count as unscored, and a nan would
    train."""

    def checked(episode: Episode) -> RewardBreakdown:
        made = reward(episode)
        if not isinstance(made, RewardBreakdown) or not all(
            map(math.isfinite, (made.total, *made.parts.values()))
        ):
            raise UserError(
                f"Reward '{named}' returned {made!r}. Expected a RewardBreakdown of finite numbers"
                " (docs/rewards.md)."
            )
        groups = [group.name for group in episode.verdict.groups] if episode.verdict else []
        if unknown := [name for name in made.groups if name not in groups]:
            raise UserError(
                f"Reward '{named}' uses a group '{unknown[0]}', which these verdicts have not."
                f" Accepted: {', '.join(groups)}."
            )
        return made

    return checked
