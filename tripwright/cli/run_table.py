"""A run's score as a table in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tripwright.cli.table import rate_cells, table_lines
from tripwright.errors import counted
from tripwright.evals.scoreboard import judged_by


def table(score: dict[str, Any], out: Path) -> str:
    lines = [
        f"{counted(score['n'], 'episode')}, {judged_by(score['rules'])}"
        + (f", {score['unscored']} unscored" if score["unscored"] else "")
    ]
    rows = [_row(name.replace("_", " "), rate) for name, rate in score["metrics"].items()]
    rows += [
        _row(f"final, {level}", rates["final"]) for level, rates in score.get("levels", {}).items()
    ]
    if "worst_case" in score:
        rows.append(_row("worst case final", score["worst_case"]["final"]))
    lines += table_lines(rows, "<><>")
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


def _row(name: str, rate: dict[str, Any]) -> list[str]:
    if "k" in rate or rate["value"] is None:
        return [name, *rate_cells(rate)]
    if name.startswith("pass"):  # pass@k, pass^k: shares of queries
        return [name, *rate_cells(rate)[:2], counted(rate["n"], "query")]
    return [name, f"{rate['value']:.4g}", f"[{rate['low']:.4g}, {rate['high']:.4g}]"]
