"""From facts to a number: the shaped rewards of the papers (rows P4, P5, S5). To change the reward, change this file.

    r = r_schema · (λ1·commonsense_micro + λ2·hard_micro + λ3·commonsense_macro + λ4·hard_macro + λ5·pass)      Planner-R1, eq. for P4

    stage 1 = SUM      λ = [1, 1, 1, 1, 1]   a passing plan is worth 5
    stage 2 = MACRO    λ = [0, 0, 1, 1, 1]   … 3
    stage 3 = SUCCESS  λ = [0, 0, 0, 0, 1]   … 1

Of errands (`domains/deeptravel/task.py`) SUCCESS is row D5's joint reward. Two stages have one half of it, for the ablations of
row D7: "trajectory" reads the trajectory's rubrics alone, "turns" the turns alone, and needs verdicts in which a failed trajectory spares
no turn.

An answer that breaks the plan schema, or no answer, is worth 0, and so is a plan that makes the official code crash, at whatever stage.
Constraints that were gated (not evaluated) count as failed; constraints nobody asked for count not at all.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

from tripwright.domains.travelplanner.rules.facts import COMMONSENSE_NAMES, Verdict

Weights = tuple[float, float, float, float, float]

SUM: Weights = (1, 1, 1, 1, 1)
MACRO: Weights = (0, 0, 1, 1, 1)
SUCCESS: Weights = (0, 0, 0, 0, 1)
TRAJECTORY: Weights = (0, 0, 1, 0, 0)
TURNS: Weights = (0, 0, 0, 1, 0)
STAGES: dict[str, Weights] = {
    "stage1": SUM,
    "stage2": MACRO,
    "stage3": SUCCESS,
    "sum": SUM,
    "macro": MACRO,
    "success": SUCCESS,
    "trajectory": TRAJECTORY,
    "turns": TURNS,
}
HALVES = ("trajectory", "turns")  # of the joint reward: stages of errands alone


@dataclass(frozen=True)
class Parts:
    """The five terms, each in [0, 1], in the order of the weights."""

    commonsense_micro: float
    hard_micro: float
    commonsense_macro: float
    hard_macro: float
    final: float


@dataclass(frozen=True)
class Reward:
    """`total` is what is learned from; the rest is what it is made of, for curves and reports."""

    total: float
    schema: float
    parts: Parts


NOTHING = Parts(0.0, 0.0, 0.0, 0.0, 0.0)


def parts(verdict: Verdict, asked_hard: int, asked_commonsense: int = len(COMMONSENSE_NAMES)) -> Parts:
    """The five terms of one verdict. `asked_hard` is how many hard constraints the request carries (its wishes, plus the budget)."""
    if not verdict.delivered or verdict.commonsense is None or verdict.error is not None:
        return NOTHING
    commonsense = sum(fact.passed is True for fact in verdict.commonsense.values())
    hard = sum(fact.passed is True for fact in verdict.hard.values()) if verdict.hard is not None else 0
    return Parts(
        commonsense_micro=commonsense / asked_commonsense,
        hard_micro=hard / asked_hard,
        commonsense_macro=float(commonsense == asked_commonsense),
        hard_macro=float(hard == asked_hard),
        final=float(verdict.final),
    )


def reward(
    verdict: Verdict, asked_hard: int, schema_valid: bool, weights: Weights = SUM, asked_commonsense: int = len(COMMONSENSE_NAMES)
) -> Reward:
    """P4's reward of one finished episode."""
    if not schema_valid:
        return Reward(0.0, 0.0, NOTHING)
    terms = parts(verdict, asked_hard, asked_commonsense)
    return Reward(sum(w * term for w, term in zip(weights, astuple(terms), strict=True)), 1.0, terms)
