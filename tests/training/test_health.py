"""Each warning fires on its pattern and stays silent on a near miss; a resume raises none twice."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from tripwright.training.health import PATTERNS, HealthMonitor, HealthWarning

HEALTHY: dict[str, Any] = {"reward_mean": 2.0, "pass_rate": 0.3, "official_pass_rate": 0.33}
HEALTHY |= {"strict_gap": 0.03, "schema_rate": 0.95, "entropy": 0.4, "kept_groups": 0.7}
HEALTHY |= {"grad_norm": 0.5, "clip_fraction": 0.02, "logprob_gap": 0.001, "kl": 0.01}
HEALTHY |= {"unscored": 0, "episodes": 64, "failed_groups": 0.2, "solved_groups": 0.1}
HEALTHY |= {"tool_call_accuracy": 0.95, "tokens_per_second": 1000.0}
HEALTHY |= {"stop_reasons": {"answer": 0.97, "max_turns": 0.03}}


def check(rows: list[dict[str, Any]]) -> list[HealthWarning]:
    return HealthMonitor(rows).raised


Figures = dict[str, Any]  # one that changes is a function of the step


def run(figures: Figures, steps: int = 40) -> list[dict[str, Any]]:
    return [
        {"stage": "rl", "step": step}
        | {name: f(step) if callable(f) else f for name, f in (HEALTHY | figures).items()}
        for step in range(1, steps + 1)
    ]


def ramp(first: float, last: float, steps: int = 30) -> Callable[[int], float]:
    return lambda step: first + (last - first) * min(1.0, step / steps)


def late(value: Any, usual: Any, since: int = 25) -> Callable[[int], Any]:
    return lambda step: value if step >= since else usual


def once(value: Any, usual: Any) -> Callable[[int], Any]:
    return lambda step: value if step == 30 else usual


SURE = {"entropy": ramp(0.4, 0.02)}
RIGHT = {"reward_mean": lambda s: 2.0 + 0.1 * s, "pass_rate": lambda s: 0.3 + 0.015 * s}
OVER = {"answer": 0.94, "max_turns": 0.04, "context_overflow": 0.02}
MALFORMED = {"answer": 0.9, "max_turns": 0.04, "format_error": 0.06}
BETTER, FEWER_WORDS = {"reward_mean": ramp(2.0, 2.6)}, {"completion_tokens_mean": ramp(400, 90)}
OTHER_WEIGHTS = {"reward_mean": late(2.6, 2.0), "curriculum_stage": late("stage1", "stage2")}
NO_LOSS = {"entropy": late(0.0, 0.4), "grad_norm": late(0.0, 0.5)}  # so nothing was measured

CASES: list[tuple[str, Figures, Figures]] = [  # name, trouble, near miss
    ("entropy_collapse", SURE, SURE | RIGHT),
    ("entropy_collapse", {"entropy": ramp(0.04, 0.009)}, {"entropy": ramp(0.04, 0.011)}),
    ("entropy_collapse", {"entropy": late(0.0, 0.4)}, NO_LOSS),
    ("groups_agree", {"kept_groups": late(0.0, 0.7)}, {"kept_groups": late(0.11, 0.7)}),
    ("stopped_by_length", {"stop_reasons": OVER}, {"stop_reasons": MALFORMED}),
    ("cut_turns", {"cut_turns": 1.0}, {"cut_turns": 0.009}),
    ("gradient_spike", {"grad_norm": once(7.6, 0.5)}, {"grad_norm": once(7.4, 0.5)}),
    ("not_finite", {"grad_norm": once(math.nan, 0.5)}, {"grad_norm": once(0.0, 0.5)}),
    ("reward_without_passes", BETTER, BETTER | {"pass_rate": ramp(0.3, 0.4)}),
    ("reward_without_passes", {"reward_mean": ramp(0.0, 0.5), "pass_rate": 0.0}, OTHER_WEIGHTS),
    ("official_gap_opens", {"strict_gap": ramp(0.03, 0.12)}, {"strict_gap": ramp(0.1, 0.12)}),
    ("logprob_gap", {"logprob_gap": late(0.05, 0.001)}, {"logprob_gap": late(0.019, 0.001)}),
    ("sampler_gap", {"sampler_gap": late(0.05, 0.001)}, {"sampler_gap": late(0.019, 0.001)}),
    ("importance_gap_mean", {"importance_gap_mean": 0.05}, {"importance_gap_mean": 0.019}),
    ("kl_grows", {"kl": ramp(0.0, 0.6)}, {"kl": ramp(0.2, 0.45)}),
    ("unscored", {"unscored": late(2, 0)}, {"unscored": once(1, 0)}),
    ("verifier_fails", {"verifier_success_rate": late(0.9, 1)}, {"verifier_success_rate": 0.995}),
    ("short_episodes", *(FEWER_WORDS | {"turns_mean": ramp(8, last)} for last in (2, 6))),
    ("tool_errors", {"tool_call_accuracy": late(0.7, 0.95)}, {"tool_call_accuracy": 0.81}),
    ("clip_fraction", {"clip_fraction": late(0.5, 0.02)}, {"clip_fraction": 0.29}),
]


@pytest.mark.parametrize(
    ("name", "trouble", "near_miss"), CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)]
)
def test_a_pattern_fires_and_its_near_miss_does_not(name, trouble, near_miss):
    raised = check(run(trouble))
    assert name in {warning.name for warning in raised}
    assert name not in {warning.name for warning in check(run(near_miss))}
    found = next(warning for warning in raised if warning.name == name)
    assert any(letter.isdigit() for letter in found.what) or name == "not_finite"
    assert "\n" not in str(found)
    assert json.loads(json.dumps(found.record()))["since_step"] == found.since_step


def test_every_pattern_has_a_case():
    assert set(PATTERNS) == {name for name, _, _ in CASES}


def test_a_healthy_run_an_empty_row_and_broken_figures_raise_nothing():
    assert check(run({})) == []
    assert check([{"stage": "sft", "step": step} for step in range(1, 50)]) == []
    odd = dict.fromkeys(HEALTHY, "many") | {"stop_reasons": {"max_turns": None}}
    assert check([{"stage": "rl", "step": step, **odd} for step in range(1, 50)]) == []


def test_a_warning_is_raised_once_ends_and_may_return():
    gap = {"logprob_gap": lambda step: 0.5 if 10 <= step < 20 or step >= 60 else 0.001}
    found = [warning for warning in check(run(gap, 80)) if warning.name == "logprob_gap"]
    assert [(w.since_step, w.until_step is None) for w in found] == [(10, False), (60, True)]
    assert found[0].until_step is not None and 20 <= found[0].until_step < 40
    watch = HealthMonitor(run(gap, 80))
    lines = [json.loads(line) for line in watch.text().splitlines()]
    assert [(line["since_step"], line.get("until_step")) for line in lines] == [
        (10, found[0].until_step),
        (60, None),
    ]
    assert HealthMonitor().text() == ""


def test_a_resumed_watch_tells_nothing_twice_and_nothing_late():
    rows = run({"entropy": ramp(0.4, 0.0), "clip_fraction": late(0.6, 0.0, 33)})
    whole = check(rows)
    first = check(rows[:30])
    resumed = HealthMonitor(rows[:30])
    told = [warning for row in rows[30:] for warning in resumed.look(row)]
    assert first and told and [*first, *told] == whole == resumed.raised


def test_stages_do_not_compare_with_each_other():
    sft = [
        {"stage": "sft", "step": step, "grad_norm": 0.01, "tokens_per_second": 9000.0}
        for step in range(1, 30)
    ]
    assert check([*sft, *run({})]) == []


def test_a_longer_string_to_copy_is_no_spike():
    def told(norm: float, longer: bool) -> list[str]:
        row = {"stage": "copy_pretraining", "grad_norm": 0.5, "copy_length": 8}
        last = row | {"step": 30, "grad_norm": norm, "copy_length": 16 if longer else 8}
        return [w.name for w in check([*({**row, "step": s} for s in range(1, 30)), last])]

    assert told(25.0, longer=True) == [] and told(25.0, longer=False) == ["gradient_spike"]


def test_groups_that_agree_are_told_with_their_cause():
    figures = {"kept_groups": 0.0, "solved_groups": 0.97, "failed_groups": 0.03}
    (told,) = check(run(figures))
    assert "97%" in told.what


def test_a_first_step_that_trains_nothing_is_told_at_once_with_its_cause():
    figures = {"kept_groups": 0.0, "grad_norm": 0.0, "reward_mean": 0.0, "failed_groups": 1.0}
    figures["stop_reasons"] = {"format_error": 0.94, "max_turn_tokens": 0.06}
    told = check(run(figures, 1))
    assert [warning.name for warning in told] == ["groups_agree", "stopped_by_length"]
    assert "94%" in told[0].what
    assert check(run({"kept_groups": 0.0}, 1)) == []  # a gradient of another term
