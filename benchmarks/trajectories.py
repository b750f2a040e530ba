"""What expert trajectories are like: do they replay, do they pass, how often do they turn back, how
long are they.

    python benchmarks/trajectories.py --world DIR --queries FILE --style careful --dialect
    planner_r1 --n 300

For each level of queries: the share that passes both sets of rules, the share whose calls give the
same answers from fresh tools, the share that met a dead end, and calls and characters (with
--tokenizer DIR tokens) of an episode. The same as JSON with --out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tripwright.agent.session import Session
from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.expert import STYLES, ExpertPolicy, ExpertStyle
from tripwright.domains.travelplanner.expert.careful import play_careful
from tripwright.domains.travelplanner.query import iter_queries
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import close_session, open_session
from tripwright.files import write_atomically
from tripwright.policies.base import Policy
from tripwright.tools.toolbox import ToolBox
from tripwright.world.store import World

COLUMNS = (
    "n",
    "passed",
    "given_up",
    "replayed",
    "turned_back",
    "calls",
    "characters",
    "tokens",
    "seconds",
)


def measured(
    tasks: Iterator[TripTask],
    style: ExpertStyle,
    dialect_name: str,
    changed: dict[str, Any],
    count_tokens: Callable[[str], int] | None,
) -> Iterator[dict[str, Any]]:
    """One record for each episode."""
    dialect = replace(dialect_named(dialect_name), **changed)
    for task in tasks:
        session, began = open_session(task, dialect), time.perf_counter()
        turned_back = _play(session, style)
        seconds = time.perf_counter() - began
        episode, calls = close_session(session), session.transcript.calls
        fresh = ToolBox(task.world, dialect.face, page_rows=dialect.page_rows)
        text = "".join(segment.text for segment in session.transcript.segments[2:])
        yield {
            "level": task.query.level or "none",
            "days": task.query.days,
            "passed": (
                episode.plan is not None
                and all(
                    judge(task.query, episode.plan, task.world, rules).final
                    for rules in ("official", "strict")
                )
            ),
            "given_up": episode.plan is None,
            "replayed": all(
                fresh.call(call.name, call.arguments).text == call.result for call in calls
            ),
            "turned_back": turned_back,
            "calls": len(calls),
            "characters": len(text),
            **({"tokens": count_tokens(text)} if count_tokens else {}),
            "seconds": seconds,
        }


def _play(session: Session, style: ExpertStyle) -> bool:
    """Whether a line of thought had to be given up."""
    if style.name != "direct":
        return bool(play_careful(session, style).dead_ends)
    policy: Policy = ExpertPolicy(style)
    list(policy.play([session]))
    return False


def summary(records: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Level, days and all → means of the records' figures."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        for name in (record["level"], f"{record['days']} days", "all"):
            groups.setdefault(name, []).append(record)
    order = sorted(groups, key=lambda name: (name == "all", name[:1].isdigit(), name))
    return {
        name: (
            {"n": len(groups[name])}
            | {
                key: sum(each[key] for each in groups[name]) / len(groups[name])
                for key in COLUMNS[1:]
                if key in groups[name][0]
            }
        )
        for name in order
    }


def table(found: dict[str, dict[str, float]]) -> str:
    shares = ("passed", "given_up", "replayed", "turned_back")
    columns = [key for key in COLUMNS if key in found["all"]]
    lines = [f"{'':<8}" + "".join(f"{key:>12}" for key in columns)]
    for name, row in found.items():
        cells = (
            (
                f"{row[key]:.1%}"
                if key in shares
                else f"{row[key]:.3f}"
                if key == "seconds"
                else f"{row[key]:.1f}"
            )
            for key in columns[1:]
        )
        lines.append(f"{name:<8}{row['n']:>12}" + "".join(f"{cell:>12}" for cell in cells))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--world", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--style", choices=list(STYLES), default="careful")
    parser.add_argument("--thoughts", choices=["none", "short", "long"])
    parser.add_argument("--extra-searches", type=int, help="instead of the style's")
    parser.add_argument("--compared-cities", type=int, help="instead of the style's")
    parser.add_argument("--dialect", default="planner_r1")
    parser.add_argument(
        "--max-calls", type=int, help="instead of the dialect's; its turns grow with them"
    )
    parser.add_argument("--n", type=int, help="the first so many queries")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tokenizer", type=Path, help="a folder that transformers can load")
    parser.add_argument("--out", type=Path, help="a JSON file")
    given = parser.parse_args()
    world = World.open(given.world)
    told = {
        "thoughts": given.thoughts,
        "max_extra_searches": given.extra_searches,
        "compared_cities": given.compared_cities,
    }
    style = replace(
        STYLES[given.style],
        seed=given.seed,
        **{name: value for name, value in told.items() if value is not None},
    )
    changed = (
        {"max_calls": given.max_calls, "max_turns": given.max_calls + 1} if given.max_calls else {}
    )
    count_tokens = None
    if given.tokenizer:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(given.tokenizer)
        count_tokens = lambda text: len(tokenizer.encode(text, add_special_tokens=False))  # noqa: E731
    queries = itertools.islice(iter_queries(given.queries), given.n)
    tasks = (TripTask(f"q{number}", query, world) for number, query in queries)
    found = summary(list(measured(tasks, style, given.dialect, changed, count_tokens)))
    print(
        f"style {style.name}, thoughts {style.thoughts}, dialect {given.dialect}, world"
        f" {world.name}"
    )
    print(table(found))
    if given.out:
        settings = {
            "style": style.name,
            "thoughts": style.thoughts,
            "extra_searches": style.max_extra_searches,
            "compared_cities": style.compared_cities,
            "seed": style.seed,
            "dialect": given.dialect,
            "world": world.name,
            **changed,
        }
        write_atomically(
            given.out, json.dumps({"settings": settings, "levels": found}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
