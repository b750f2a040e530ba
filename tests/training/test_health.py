"""Each warning fires on its pattern and stays silent on a near miss; a resume raises none twice."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from tripwright.training.health import PATTERNS, HealthMonitor, check

HEALTHY = {
    "reward_mean": 2.0,
    "pass_rate": 0.3,
    "official_pass_rate": 0.33,
    "strict_gap": 0.03,
    "schema_rate": 0.95,
    "entropy": 0.4,
    "kept_groups": 0.7,
    "grad_norm": 0.5,
    "clip_fraction": 0.02,
    "logprob_gap": 0.001,
    "kl": 0.01,
    "unscored": 0,
    "episodes": 64,
    "failed_groups": 0.2,
    "solved_groups": 0.1,
    "tool_call_accuracy": 0.95,
    "tokens_per_second": 1000.0,
    "stop_reasons": {"answer": 0.97, "max_turns": 0.03},
}


def run(change: Callable[[int], dict[str, Any]], steps: int = 40) -> list[dict[str, Any]]:
    return [
        {"stage": "rl", "step": step, **HEALTHY, **change(step)} for step in range(1, steps + 1)
    ]


def ramp(step: int, first: float, last: float, steps: int = 30) -> float:
    return first + (last - first) * min(1.0, step / steps)


def late(step: int, value: Any, usual: Any, since: int = 25) -> Any:
    return value if step >= since else usual


CASES: list[tuple[str, Callable[[int], dict[str, Any]], Callable[[int], dict[str, Any]]]] = [
    (
        "entropy_collapse",
        lambda s: {"entropy": ramp(s, 0.4, 0.02)},
        # sure, because right
        lambda s: {
            "entropy": ramp(s, 0.4, 0.02),
            "reward_mean": 2.0 + 0.1 * s,
            "pass_rate": 0.3 + 0.015 * s,
        },
    ),
    (
        "entropy_collapse",
        lambda s: {"entropy": ramp(s, 0.04, 0.009)},
        lambda s: {"entropy": ramp(s, 0.04, 0.011)},
    ),
    (
        "entropy_collapse",
        lambda s: {"entropy": late(s, 0.0, 0.4)},
        # nothing was trained on, so nothing was measured
        lambda s: {"entropy": late(s, 0.0, 0.4), "grad_norm": late(s, 0.0, 0.5)},
    ),
    (
        "groups_agree",
        lambda s: {"kept_groups": late(s, 0.0, 0.7)},
        lambda s: {"kept_groups": late(s, 0.11, 0.7)},
    ),
    (
        "stopped_by_length",
        lambda s: {"stop_reasons": {"answer": 0.94, "max_turns": 0.04, "context_overflow": 0.02}},
        lambda s: {"stop_reasons": {"answer": 0.9, "max_turns": 0.04, "format_error": 0.06}},
    ),
    (
        "gradient_spike",
        lambda s: {"grad_norm": 7.6 if s == 30 else 0.5},
        lambda s: {"grad_norm": 7.4 if s == 30 else 0.5},
    ),
    (
        "not_finite",
        lambda s: {"grad_norm": math.nan if s == 30 else 0.5},
        lambda s: {"grad_norm": 0.0 if s == 30 else 0.5},
    ),
    (
        "reward_without_passes",
        lambda s: {"reward_mean": ramp(s, 2.0, 2.6)},
        lambda s: {"reward_mean": ramp(s, 2.0, 2.6), "pass_rate": ramp(s, 0.3, 0.4)},
    ),
    (
        "reward_without_passes",
        lambda s: {"reward_mean": ramp(s, 0.0, 0.5), "pass_rate": 0.0},
        # other weights, not other plans
        lambda s: {
            "reward_mean": late(s, 2.6, 2.0),
            "curriculum_stage": late(s, "stage1", "stage2"),
        },
    ),
    (
        "official_gap_opens",
        lambda s: {"strict_gap": ramp(s, 0.03, 0.12)},
        lambda s: {"strict_gap": ramp(s, 0.1, 0.12)},
    ),
    *(
        (
            gap,
            lambda s, gap=gap: {gap: late(s, 0.05, 0.001)},
            lambda s, gap=gap: {gap: late(s, 0.019, 0.001)},
        )
        for gap in ("logprob_gap", "sampler_gap")
    ),
    ("kl_grows", lambda s: {"kl": ramp(s, 0.0, 0.6)}, lambda s: {"kl": ramp(s, 0.2, 0.45)}),
    (
        "unscored",
        lambda s: {"unscored": late(s, 2, 0), "episodes": 64},
        lambda s: {"unscored": 1 if s == 30 else 0, "episodes": 64},
    ),
    (
        "verifier_fails",
        lambda s: {"verifier_success_rate": late(s, 0.9, 1.0)},
        lambda s: {"verifier_success_rate": 0.995},
    ),
    (
        "short_episodes",
        lambda s: {"completion_tokens_mean": ramp(s, 400, 90), "turns_mean": ramp(s, 8, 2)},
        # as many turns in fewer words
        lambda s: {"completion_tokens_mean": ramp(s, 400, 90), "turns_mean": ramp(s, 8, 6)},
    ),
    (
        "tool_errors",
        lambda s: {"tool_call_accuracy": late(s, 0.7, 0.95)},
        lambda s: {"tool_call_accuracy": 0.81},
    ),
    (
        "clip_fraction",
        lambda s: {"clip_fraction": late(s, 0.5, 0.02)},
        lambda s: {"clip_fraction": 0.29},
    ),
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
    assert check(run(lambda s: {})) == []
    assert check([{"stage": "sft", "step": step} for step in range(1, 50)]) == []
    odd = dict.fromkeys(HEALTHY, "many") | {"stop_reasons": {"max_turns": None}}
    assert check([{"stage": "rl", "step": step, **odd} for step in range(1, 50)]) == []


def test_a_warning_is_raised_once_ends_and_may_return():
    def spells(step: int) -> dict[str, Any]:
        return {"logprob_gap": 0.5 if 10 <= step < 20 or step >= 60 else 0.001}

    found = [warning for warning in check(run(spells, 80)) if warning.name == "logprob_gap"]
    assert [(w.since_step, w.until_step is None) for w in found] == [(10, False), (60, True)]
    assert found[0].until_step is not None and 20 <= found[0].until_step < 40
    watch = HealthMonitor(run(spells, 80))
    lines = [json.loads(line) for line in watch.text().splitlines()]
    assert [(line["since_step"], line.get("until_step")) for line in lines] == [
        (10, found[0].until_step),
        (60, None),
    ]
    assert HealthMonitor().text() == ""


def test_a_resumed_watch_tells_nothing_twice_and_nothing_late():
    rows = run(lambda s: {"entropy": ramp(s, 0.4, 0.0), "clip_fraction": late(s, 0.6, 0.0, 33)})
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
    assert check([*sft, *run(lambda s: {})]) == []


def test_a_longer_string_to_copy_is_no_spike():
    def told(norm: float, longer: bool) -> list[str]:
        rows = [
            {"stage": "copy_pretraining", "step": s, "grad_norm": 0.5, "copy_length": 8}
            for s in range(1, 30)
        ]
        return [
            w.name
            for w in check(
                [
                    *rows,
                    {**rows[-1], "step": 30, "grad_norm": norm, "copy_length": 16 if longer else 8},
                ]
            )
        ]

    assert told(25.0, longer=True) == [] and told(25.0, longer=False) == ["gradient_spike"]
