"""What a file of trajectories holds, as STAR's Table 8 (row S4): entries, tool calls, length and length of the plan, by difficulty.

A trajectory's length is that of all its messages: prompt, request, turns and tool answers. What a chat template writes around them
(role marks, schemas of the tools) is not counted. The plan is the text of the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tripwright.evals.tally import LEVELS, UNKNOWN
from tripwright.trajectories.files import Episode
from tripwright.trajectories.tokens import CHARACTERS, Ruler

ALL = "all"
MEANS = ("tool_calls", "turns", "length", "agent_length", "plan_length")  # agent: the turns, which are what is trained on


def statistics(trajectories: Iterable[Episode], ruler: Ruler = CHARACTERS) -> dict[str, Any]:
    """{"unit", "tokenizer", "dialects", "levels": level → {"n", "share", "requests", "length_max", and the mean of each of MEANS}}."""
    measured: dict[str, list[dict[str, int]]] = {}
    requests: dict[str, set[str]] = {}
    dialects: Counter[str] = Counter()
    for trajectory in trajectories:
        level = trajectory.query.level if trajectory.query.level in LEVELS else UNKNOWN
        dialects[str(trajectory.record.get("dialect", UNKNOWN))] += 1
        for group in (str(level), ALL):
            measured.setdefault(group, []).append(_measures(trajectory, ruler))
            requests.setdefault(group, set()).add(trajectory.request)
    total = len(measured.get(ALL, ()))
    groups = [group for group in (*LEVELS, UNKNOWN, ALL) if group in measured]
    return {
        "unit": ruler.unit,
        "tokenizer": ruler.tokenizer,
        "dialects": dict(dialects.most_common()),
        "levels": {group: _row(measured[group], len(requests[group]), total) for group in groups},
    }


def _measures(trajectory: Episode, ruler: Ruler) -> dict[str, int]:
    transcript = trajectory.transcript
    lengths = [(segment.role, ruler.length(segment.text)) for segment in transcript.segments]
    return {
        "tool_calls": len(transcript.calls),
        "turns": transcript.turns,
        "length": sum(length for _, length in lengths),
        "agent_length": sum(length for role, length in lengths if role == "assistant"),
        "plan_length": ruler.length(transcript.answer or ""),
    }


def _row(rows: list[dict[str, int]], requests: int, total: int) -> dict[str, Any]:
    means = {name: sum(row[name] for row in rows) / len(rows) for name in MEANS}
    return {"n": len(rows), "share": len(rows) / total, "requests": requests, **means, "length_max": max(row["length"] for row in rows)}


def statistics_table(found: dict[str, Any]) -> str:
    """For people: the columns of Table 8, and turns."""
    of = f" of '{found['tokenizer']}'" if found["tokenizer"] else ""
    lines = [
        f"lengths in {found['unit']}{of}; dialects: {', '.join(f'{name} {n}' for name, n in found['dialects'].items())}",
        f"{'level':<8} {'entries':>16} {'requests':>8} {'calls':>6} {'turns':>6} {'length':>9} {'agent':>9} {'plan':>8} {'longest':>8}",
    ]
    for level, row in found["levels"].items():
        entries = f"{row['n']:,} ({row['share']:.1%})"
        lengths = f"{row['length']:>9,.1f} {row['agent_length']:>9,.1f} {row['plan_length']:>8,.1f} {row['length_max']:>8,}"
        lines.append(f"{level:<8} {entries:>16} {row['requests']:>8,} {row['tool_calls']:>6.1f} {row['turns']:>6.1f} {lengths}")
    return "\n".join(lines)
