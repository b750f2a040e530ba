"""What training data holds: STAR's Table 8 (row S4), and its check that synthetic queries are as
hard as real ones (row S3).

A trajectory's length is that of all its messages: prompt, request, turns and tool answers, in
tokens of a tokenizer that the user names, else in characters; the unit goes with every figure. What
a chat template writes around them (role marks, schemas of the tools) is not counted. The plan is
the text of the answer. Whatever else marks the requests of a domain (days; with and without wishes,
row D12) has a table of its own.

The check compares the pass rates of one policy on both sets (STAR: 21.9% of 200, and 21.1% of 180).
They hold different requests, so the difference is unpaired: its interval is Newcombe's, made of the
two rates' own intervals (Wilson's, or whole requests resampled where a run has several samples of
each). Sets with another mix of levels differ for that reason alone, so each level is compared too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tripwright.agent.chat import load_tokenizer
from tripwright.data.trajectories import StoredEpisode
from tripwright.domains.wording import LEVELS
from tripwright.errors import UserError
from tripwright.evals.run_card import differences_in
from tripwright.runs import Run
from tripwright.statistics.rates import Rate, rate

UNKNOWN = "unknown"  # the level of a request that has none
ALL = "all"
# agent: the turns, which are what is trained on
MEANS = ("tool_calls", "turns", "length", "agent_length", "plan_length")


def level_of(episode: StoredEpisode) -> str:
    return str(episode.marks["level"] or UNKNOWN)


def in_order(levels: Iterable[str]) -> list[str]:
    """Easy, medium and hard first, then others, the unknown and all last."""
    order = [*LEVELS, *sorted({*levels} - {*LEVELS, UNKNOWN, ALL}), UNKNOWN, ALL]
    return [level for level in order if level in levels]


def token_counter(tokenizer: Path) -> Callable[[str], int]:
    """Of a tokenizer folder (what `save_pretrained` writes, a checkpoint for example)."""
    loaded = load_tokenizer(tokenizer)
    return lambda text: len(loaded.encode(text, add_special_tokens=False))


def statistics(
    trajectories: Iterable[StoredEpisode], tokenizer: Path | None = None
) -> dict[str, Any]:
    """{"unit", "tokenizer", "dialects", "levels": level → {"n", "share", "requests", "length_max",
    and the mean of each of MEANS}}, and a table like "levels" for each further mark."""
    length = len if tokenizer is None else token_counter(tokenizer)
    tables: dict[str, dict[str, list[dict[str, Any]]]] = {"levels": {}}
    dialects = Counter[str]()
    for trajectory in trajectories:
        dialects[str(trajectory.record.get("dialect", UNKNOWN))] += 1
        measures = _measures(trajectory, length)
        marks = [(name, str(mark)) for name, mark in trajectory.marks.items() if name != "level"]
        for table, name in (("levels", level_of(trajectory)), ("levels", ALL), *marks):
            tables.setdefault(table, {}).setdefault(name, []).append(measures)
    return {
        "unit": "characters" if tokenizer is None else "tokens",
        "tokenizer": None if tokenizer is None else str(tokenizer),
        "dialects": dict(dialects.most_common()),
        **{
            table: {name: _row(rows[name], dialects.total()) for name in in_order(rows)}
            for table, rows in tables.items()
        },
    }


def _measures(trajectory: StoredEpisode, length: Callable[[str], int]) -> dict[str, Any]:
    transcript = trajectory.transcript
    lengths = [(segment.role, length(segment.text)) for segment in transcript.segments]
    return {
        "request": trajectory.request_key,
        "tool_calls": len(transcript.calls),
        "turns": transcript.turns,
        "length": sum(length for _, length in lengths),
        "agent_length": sum(length for role, length in lengths if role == "assistant"),
        "plan_length": length(transcript.answer or ""),
    }


def _row(rows: list[dict[str, Any]], total: int) -> dict[str, Any]:
    return {
        "n": len(rows),
        "share": len(rows) / total,
        "requests": len({row["request"] for row in rows}),
        **{name: sum(row[name] for row in rows) / len(rows) for name in MEANS},
        "length_max": max(row["length"] for row in rows),
    }


ONE_POLICY = ("policy", "decoding", "rules", "dialect", "emptied_tools", "faults")


def reliability(synthetic: Run, given: Run) -> dict[str, Any]:
    """{"synthetic", "given", "difference", "levels", "unscored"} of two finished runs; a difference
    is synthetic − given, with its interval. Unscored episodes are faults on our side: counted, and
    out of the rates (law 4)."""
    if differing := differences_in(synthetic.card, given.card, ONE_POLICY):
        raise UserError(
            f"The runs '{synthetic.folder}' and '{given.folder}' are not of one policy:"
            f" {'; '.join(differing)}."
        )
    if not differences_in(synthetic.card, given.card, ["queries", "world"]):
        raise UserError(
            f"The same requests are in both runs, '{synthetic.folder}' and '{given.folder}':"
            " compare runs on different ones."
        )
    for run in (synthetic, given):
        if not _passes(run, ALL)["n"]:
            raise UserError(f"No scored episode in '{run.folder}': there is no pass rate.")
    levels = {level for run in (synthetic, given) for level in run.score.get("levels", {})}
    return {
        **_compared(synthetic, given, ALL),
        "levels": {level: _compared(synthetic, given, level) for level in in_order(levels)},
        "unscored": {"synthetic": synthetic.score["unscored"], "given": given.score["unscored"]},
    }


def _compared(synthetic: Run, given: Run, level: str) -> dict[str, Any]:
    here, there = _passes(synthetic, level), _passes(given, level)
    difference = newcombe(here, there) if here["n"] and there["n"] else None
    return {"synthetic": here, "given": there, "difference": difference}


def _passes(run: Run, level: str) -> Rate:
    """As the run's score has it, with its interval."""
    score = run.score
    section = score.get("metrics", {}) if level == ALL else score.get("levels", {}).get(level, {})
    found: Rate = section.get("final") or rate(0, 0)
    return found


def newcombe(first: Rate, second: Rate) -> dict[str, float]:
    """first − second of two independent rates (Newcombe 1998, method 10): the distances from each
    rate to its limits, added as squares."""
    p, q = first["value"], second["value"]
    if p is None or q is None:
        raise ValueError("a difference needs two rates that were measured")
    return {
        "value": p - q,
        "low": p - q - math.hypot(p - first["low"], second["high"] - q),
        "high": p - q + math.hypot(first["high"] - p, q - second["low"]),
    }
