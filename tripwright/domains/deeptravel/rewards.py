"""DeepTravel's rewards. SUCCESS is row D5's joint reward: 1 where the trajectory and every turn
pass, else 0.

"trajectory" and "turns" are one half of it each, for the ablations of row D7; "turns" needs
verdicts in which a trajectory that failed spares no turn. The denser stages are TravelPlanner's,
tried on these verdicts.
"""

from __future__ import annotations

from tripwright.rewards.spec import weighted

SUCCESS = weighted({"pass": 1})
MACRO = weighted({"trajectory_macro": 1, "turns_macro": 1, "pass": 1})
SUM = weighted(
    {"trajectory_micro": 1, "turns_micro": 1, "trajectory_macro": 1, "turns_macro": 1, "pass": 1}
)
REWARDS = {
    "stage1": SUM,
    "stage2": MACRO,
    "stage3": SUCCESS,
    "sum": SUM,
    "macro": MACRO,
    "success": SUCCESS,
    "trajectory": weighted({"trajectory_macro": 1}),
    "turns": weighted({"turns_macro": 1}),
}
