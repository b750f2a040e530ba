"""The figures of the default tasks' card (docs/gateway.md): what is in them, who passes, and what
passes or earns without care. Three minutes on a core.

    .venv/bin/python benchmarks/task_set.py [--rows 1000]

Rows are of each split. A tenth of validation's is played.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable
from statistics import fmean, median
from typing import Any

import tripwright
from tripwright.bridges import OpenEpisode, task_set
from tripwright.bridges.gateway import request_of, world_of
from tripwright.domains.travelplanner.baselines import NOTHING, RowsPolicy
from tripwright.domains.travelplanner.query import Query

Days = list[dict[str, Any]]
SPLITS = ("train", "validation", "test")
TRIPS = tripwright.load_domain("travelplanner")


class TwoNights(RowsPolicy):
    """The cheapest of everything, and a bed that may be had for two nights. It reads no wish."""

    def _rows(self, session: Any, tool: str, **arguments: str) -> list[dict[str, Any]]:
        rows = super()._rows(session, tool, **arguments)
        return [row for row in rows if row.get("minimum_nights", 0) <= 2]


def played(policy: Any, row: dict[str, Any]) -> Any:
    asked, how = [request_of(row)], {"dialect": row["dialect"], "rules": row["rules"]}
    return next(iter(tripwright.play(policy, asked, world_of(row), **how)))


def answered(row: dict[str, Any], days: Days, **how: str) -> dict[str, Any]:
    episode = OpenEpisode({**row, "reward": "dense", **how})
    episode.answer(f"<answer>{json.dumps(days)}</answer>")
    return episode.outcome()


def proved(row: dict[str, Any]) -> Days:
    return json.loads(row["request"])["oracle"]["plan"]


def heedless(row: dict[str, Any]) -> bool:
    """Whether the cheapest plan passes that there is without the wishes."""
    query, world = Query.model_validate_json(row["request"]), world_of(row)
    free = query.model_copy(update={"local_constraint": type(query.local_constraint)()})
    plan = TRIPS.plans.solve(free, world, False, None, False, "strict")["plan"]
    return TRIPS.plans.judge(query, plan, world, "strict").final


def wishes(row: dict[str, Any]) -> int:
    return sum(map(bool, json.loads(row["request"])["local_constraint"].values()))


def show(what: str, *figures: Any) -> None:
    print(f"{what}:", *figures, flush=True)


def contents(splits: dict[str, list[dict[str, Any]]]) -> None:
    every = [row for rows in splits.values() for row in rows]
    asked = [json.loads(row["request"]) for row in every]
    show("requests, distinct", len(every), len({row["query"] for row in every}))
    goals = [{json.loads(row["request"])["dest"] for row in splits[name]} for name in SPLITS]
    show(
        "names of destinations of validation, those in train",
        len(goals[1]),
        len(goals[1] & goals[0]),
    )
    stays = [
        {
            (city, stay.name)
            for row in splits[name][::4]
            for city in world_of(row).cities
            for stay in world_of(row).accommodations(city)
        }
        for name in SPLITS[:2]
    ]
    show("stays of validation, those in train", len(stays[1]), len(stays[1] & stays[0]))
    show("wishes of a request", sorted(Counter(map(wishes, every)).items()))
    show("people", sorted(Counter(each["people_number"] for each in asked).items()))
    show("first days", len({each["date"][0] for each in asked}))
    slack = [each["budget"] / each["oracle"]["cheapest_cost_usd"] for each in asked]
    show("budget as a multiple of the cheapest", min(slack), median(slack), max(slack))


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rows", type=int, default=1000)
    splits = {name: task_set(name, options.parse_args().rows) for name in SPLITS}
    contents(splits)
    rows = splits["validation"][: len(splits["validation"]) // 10]
    some = [row for row in rows if wishes(row)]
    show("played, of them with wishes", len(rows), len(some))
    named = "first-row cheapest-row greedy-search fixed-plan meal-at-home expert"
    for name in (*named.split(), "two nights"):
        policy = TwoNights("cheapest") if name == "two nights" else name
        episodes = [played(policy, row) for row in rows]
        dense = fmean(TRIPS.rewards["dense"](each).total for each in episodes)
        passed = sum(each.passed for each in episodes)
        calls = fmean(len(each.transcript.calls) for each in episodes)
        show(name, f"{passed} pass, dense {dense:.2f}, {calls:.1f} calls")
    show("two nights, with wishes", sum(played(TwoNights("cheapest"), row).passed for row in some))
    show("cheapest plan without the wishes, with wishes", sum(map(heedless, some)))
    show("proved plan without a call", sum(answered(row, proved(row))["passed"] for row in rows))
    livable = sum(answered(row, proved(row), rules="livable")["passed"] for row in rows)
    show("proved plan, livable", livable)
    parts: dict[str, Callable[[Days], Days]] = {
        "nothing": lambda _: [],
        "days and cities alone": lambda days: [{**day, **NOTHING} for day in days],
    }
    for name in ("accommodation", "attraction", "transportation"):
        parts[f"no {name}"] = lambda days, name=name: [{**day, name: "-"} for day in days]
    for name, part in parts.items():
        found = fmean(answered(row, part(proved(row)))["reward"] for row in rows)
        show(f"dense of the proved plan, {name}", f"{found:.3f}")


if __name__ == "__main__":
    main()
