"""A run's score as a table in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tripwright.evals.scoreboard import judged_by


def table(score: dict[str, Any], out: Path) -> str:
    lines = [
        f"{score['n']} episodes, {judged_by(score['rules'])}"
        + (f", {score['unscored']} unscored" if score["unscored"] else "")
    ]
    lines += [_row(name.replace("_", " "), found) for name, found in score["metrics"].items()]
    lines += [
        _row(f"final, {level}", found["final"]) for level, found in score.get("levels", {}).items()
    ]
    lines += [
        _row(f"worst case {name.replace('_', ' ')}", found)
        for name, found in score.get("worst_case", {}).items()
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
    said = f"{usage['requests']:,} requests"
    if usage["prompt_tokens"] is None:
        said += f", of which the endpoint counted no tokens in {usage['uncounted_requests']:,}"
    else:
        cached = f" ({usage['cached_tokens']:,} cached)" if usage["cached_tokens"] else ""
        said += (
            f", {usage['prompt_tokens']:,} prompt{cached} and {usage['completion_tokens']:,}"
            " completion tokens"
        )
    return said + (f", ${usage['cost_usd']:,.4f}" if usage["cost_usd"] is not None else "")


def _row(name: str, found: dict[str, Any]) -> str:
    if found["value"] is None:
        return f"  {name:<24} {'-':>8}"
    if "k" in found:
        return (
            f"  {name:<24} {found['value']:>8.1%}  [{found['low']:.1%}, {found['high']:.1%}] "
            f" {found['k']}/{found['n']}"
        )
    if name.startswith("pass"):  # pass@k, pass^k: shares of queries
        return (
            f"  {name:<24} {found['value']:>8.1%}  [{found['low']:.1%}, {found['high']:.1%}] "
            f" {found['n']} queries"
        )
    return f"  {name:<24} {found['value']:>8.4g}  [{found['low']:.4g}, {found['high']:.4g}]"
