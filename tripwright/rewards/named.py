"""Which reward a recipe means: one that its domain registers by name, one by weights, or a function of the user's own.

    stages = [["stage1", 100], ["success", 50]]                          names
    stages = [[{hard_macro = 1.0, pass = 2.0}, 100]]                     weights of the terms of a verdict (`weighted.py`)
    stages = [["my_rewards:short_and_clean", 100]]                       module:function

A function is imported when training begins, and by nobody else: whoever reads a run folder runs no code that it names.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Mapping

from tripwright.errors import UserError
from tripwright.rewards.reward import Reward
from tripwright.rewards.weighted import weighted

Named = str | dict[str, float]  # as a recipe says it
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def check_named(named: Named, known: Mapping[str, Reward]) -> None:
    """Raises UserError for what can be no reward, without importing anything."""
    if isinstance(named, str) and named not in known and not _FUNCTION.fullmatch(named):
        raise UserError(
            f"unknown reward '{named}'. Accepted: {', '.join(known)}, weights of terms, or a function of yours as module:function."
        )
    if isinstance(named, dict) and not named:
        raise UserError("a reward without weights. Give at least one, for instance {pass = 1.0}.")


def reward_named(named: Named, known: Mapping[str, Reward]) -> Reward:
    """Raises UserError where a module or its function cannot be had. Modules are looked for in the current folder, too."""
    check_named(named, known)
    if isinstance(named, dict):
        return weighted(named)
    if named in known:
        return known[named]
    module, _, function = named.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        reward = getattr(importlib.import_module(module), function)
    except ImportError as error:
        raise UserError(f"Reward '{named}': module '{module}' cannot be imported ({error}). It is looked for in '{os.getcwd()}'.") from None
    except AttributeError:
        raise UserError(f"Reward '{named}': module '{module}' has no '{function}'.") from None
    if not callable(reward):
        raise UserError(
            f"Reward '{named}' is no function. Expected one that takes an Episode and returns a RewardBreakdown (docs/rewards.md)."
        )
    checked: Reward = reward
    return checked
