"""What a file of trajectories holds, as STAR's Table 8 (row S4): entries, tool calls, length and
length of the plan, by difficulty.

A trajectory's length is that of all its messages: prompt, request, turns and tool answers. What a
chat template writes around them (role marks, schemas of the tools) is not counted. The plan is the
text of the answer. Whatever else marks the requests of a domain (days; with and without wishes, row
D12) has a table of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tripwright.data.files import StoredEpisode
from tripwright.data.tokens import CHARACTERS, Ruler

LEVELS = ("easy", "medium", "hard")
UNKNOWN = "unknown"  # the level of a request that has none
ALL = "all"
TABLE = "levels"
Group = tuple[str, str]  # a table, and the name of its row
# agent: the turns, which are what is trained on
MEANS = ("tool_calls", "turns", "length", "agent_length", "plan_length")


def level_of(episode: StoredEpisode) -> str:
    return str(episode.marks["level"] or UNKNOWN)


def in_order(levels: Iterable[str]) -> list[str]:
    """Easy, medium and hard first, others as they came, the unknown last."""
    there = list(dict.fromkeys(levels))
    others = [level for level in there if level not in (*LEVELS, UNKNOWN)]
    return [
        *(level for level in LEVELS if level in there),
        *others,
        *([UNKNOWN] if UNKNOWN in there else []),
    ]


def statistics(trajectories: Iterable[StoredEpisode], ruler: Ruler = CHARACTERS) -> dict[str, Any]:
    """{"unit", "tokenizer", "dialects", "levels": level → {"n", "share", "requests", "length_max",
    and the mean of each of MEANS}}, and a table like "levels" for each further mark."""
    measures: dict[Group, list[dict[str, int]]] = {}
    requests: dict[Group, set[str]] = {}
    dialects: Counter[str] = Counter()
    for trajectory in trajectories:
        dialects[str(trajectory.record.get("dialect", UNKNOWN))] += 1
        marks = [(name, str(mark)) for name, mark in trajectory.marks.items() if name != "level"]
        for group in ((TABLE, level_of(trajectory)), (TABLE, ALL), *marks):
            measures.setdefault(group, []).append(_measures(trajectory, ruler))
            requests.setdefault(group, set()).add(trajectory.request_key)
    total = len(measures.get((TABLE, ALL), ()))
    levels = in_order(name for table, name in measures if table == TABLE and name != ALL)
    groups = [(TABLE, level) for level in (*levels, ALL) if (TABLE, level) in measures]
    groups += sorted(group for group in measures if group[0] != TABLE)
    tables: dict[str, dict[str, Any]] = {TABLE: {}}
    for table, name in groups:
        tables.setdefault(table, {})[name] = _row(
            measures[table, name], len(requests[table, name]), total
        )
    return {
        "unit": ruler.unit,
        "tokenizer": ruler.tokenizer,
        "dialects": dict(dialects.most_common()),
        **tables,
    }


def _measures(trajectory: StoredEpisode, ruler: Ruler) -> dict[str, int]:
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
    return {
        "n": len(rows),
        "share": len(rows) / total,
        "requests": requests,
        **means,
        "length_max": max(row["length"] for row in rows),
    }


def statistics_table(statistics: dict[str, Any]) -> str:
    """For people: the columns of Table 8, and turns. The other tables follow that of the levels."""
    of = f" of '{statistics['tokenizer']}'" if statistics["tokenizer"] else ""
    lines = [
        (
            f"lengths in {statistics['unit']}{of}; dialects:"
            f" {', '.join(f'{name} {n}' for name, n in statistics['dialects'].items())}"
        ),
        (
            f"{'level':<8} {'entries':>16} {'requests':>8} {'calls':>6} {'turns':>6} {'length':>9}"
            f" {'agent':>9} {'plan':>8} {'longest':>8}"
        ),
        *_table_rows(statistics[TABLE]),
    ]
    for name in [
        name for name in statistics if name not in ("unit", "tokenizer", "dialects", TABLE)
    ]:
        lines += [name, *_table_rows(statistics[name])]
    return "\n".join(lines)


def _table_rows(rows: dict[str, Any]) -> Iterator[str]:
    for name, row in rows.items():
        entries = f"{row['n']:,} ({row['share']:.1%})"
        lengths = (
            f"{row['length']:>9,.1f} {row['agent_length']:>9,.1f} {row['plan_length']:>8,.1f}"
            f" {row['length_max']:>8,}"
        )
        yield (
            f"{name:<8} {entries:>16} {row['requests']:>8,} {row['tool_calls']:>6.1f}"
            f" {row['turns']:>6.1f} {lengths}"
        )
