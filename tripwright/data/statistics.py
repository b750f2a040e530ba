"""What a file of trajectories holds, as STAR's Table 8 (row S4): entries, tool calls, length and
length of the plan, by difficulty.

A trajectory's length is that of all its messages: prompt, request, turns and tool answers, in
tokens of a tokenizer that the user names, else in characters; the unit goes with every figure. What
a chat template writes around them (role marks, schemas of the tools) is not counted. The plan is
the text of the answer. Whatever else marks the requests of a domain (days; with and without wishes,
row D12) has a table of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripwright.agent.chat import load_tokenizer
from tripwright.data.files import StoredEpisode


@dataclass(frozen=True)
class Ruler:
    unit: str  # "tokens" or "characters"
    length: Callable[[str], int]
    tokenizer: str | None = None


CHARACTERS = Ruler("characters", len)


def ruler(tokenizer: Path | None) -> Ruler:
    """Of a tokenizer folder (what `save_pretrained` writes, a checkpoint for example); None
    measures characters."""
    if tokenizer is None:
        return CHARACTERS
    loaded = load_tokenizer(tokenizer)
    return Ruler(
        "tokens", lambda text: len(loaded.encode(text, add_special_tokens=False)), str(tokenizer)
    )


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
