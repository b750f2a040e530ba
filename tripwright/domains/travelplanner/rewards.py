"""TravelPlanner's rewards: the weights of Planner-R1's and STAR's stages (rows P4, P5, S5). To
change the reward, change this file.

    r = r_schema · (λ1·commonsense_micro + λ2·hard_micro + λ3·commonsense_macro + λ4·hard_macro +
    λ5·pass)      Planner-R1, section 3.2

    stage 1 = SUM      λ = [1, 1, 1, 1, 1]   a passing plan is worth 5
    stage 2 = MACRO    λ = [0, 0, 1, 1, 1]   … 3
    stage 3 = SUCCESS  λ = [0, 0, 0, 0, 1]   … 1

`rewards/spec.py` says what the terms are. A reward that looks at more than facts is any
function of an episode (docs/rewards.md).
"""

from __future__ import annotations

from tripwright.rewards.reward import Reward
from tripwright.rewards.spec import weighted

TERMS = ("commonsense_micro", "hard_micro", "commonsense_macro", "hard_macro", "pass")


def stage(*weights: float) -> Reward:
    return weighted(dict(zip(TERMS, weights, strict=True)))


SUM, MACRO, SUCCESS = stage(1, 1, 1, 1, 1), stage(0, 0, 1, 1, 1), stage(0, 0, 0, 0, 1)
REWARDS = {
    "stage1": SUM,
    "stage2": MACRO,
    "stage3": SUCCESS,
    "sum": SUM,
    "macro": MACRO,
    "success": SUCCESS,
}
