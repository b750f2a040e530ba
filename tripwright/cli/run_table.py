"""A run's score as a table in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tripwright.errors import counted
from tripwright.evals.scoreboard import judged_by


def table(score: dict[str, Any], out: Path) -> str:
    lines = [
        f"{counted(score['n'], 'episode')}, {judged_by(score['rules'])}"
        + (f", {score['unscored']} unscored" if score["unscored"] else "")
    ]
    lines += [_row(name.replace("_", " "), rate) for name, rate in score["metrics"].items()]
    lines += [
        _row(f"final, {level}", rates["final"]) for level, rates in score.get("levels", {}).items()
    ]
    lines += [
        _row(f"worst case {name.replace('_', ' ')}", rate)
        for name, rate in score.get("worst_case", {}).items()
        if name == "final"
    ]
    if "faults" in score:
        lines.append(
            f"  faults: {score['faults']['hit']} of {score['faults']['calls']} tool calls were made"
            " to fail"
        )
    if "usage" in score:
        lines.append(f"  {_usage(score['usage'])}")
    stops = ", ".join(f"{reason} {count}" for reason, count in score["stop_reasons"].items())
    return "\n".join(
        [*lines, f"  stopped by: {stops}", f"{out / 'score.json'}  {out / 'transcripts.jsonl'}"]
    )


def _usage(usage: dict[str, Any]) -> str:
    text = counted(usage["requests"], "request")
    if usage["prompt_tokens"] is None:
        text += f", of which the endpoint counted no tokens in {usage['uncounted_requests']:,}"
    else:
        cached = f" ({usage['cached_tokens']:,} cached)" if usage["cached_tokens"] else ""
        text += (
            f", {usage['prompt_tokens']:,} prompt{cached} and {usage['completion_tokens']:,}"
            " completion tokens"
        )
    return text + (f", ${usage['cost_usd']:,.4f}" if usage["cost_usd"] is not None else "")


def _row(name: str, rate: dict[str, Any]) -> str:
    if rate["value"] is None:
        return f"  {name:<24} {'-':>8}"
    if "k" in rate:
        return (
            f"  {name:<24} {rate['value']:>8.1%}  [{rate['low']:.1%}, {rate['high']:.1%}] "
            f" {rate['k']}/{rate['n']}"
        )
    if name.startswith("pass"):  # pass@k, pass^k: shares of queries
        return (
            f"  {name:<24} {rate['value']:>8.1%}  [{rate['low']:.1%}, {rate['high']:.1%}] "
            f" {counted(rate['n'], 'query')}"
        )
    return f"  {name:<24} {rate['value']:>8.4g}  [{rate['low']:.4g}, {rate['high']:.4g}]"
