"""Do the exact planner, the experts and the judge say the same of thousands of made requests?

    .venv/bin/python benchmarks/agreement.py [--requests 10000] [--seed 0] [--rounds 20]

The requests are for 3, 5 and 7 days in equal shares, of all levels in equal shares, and every
fifth is one that no plan meets. They come in rounds, each in two new worlds, one of scale nano and
one of scale small. Of each request is asked, under `strict` and, with twice the budget, under
`livable`:
- the planner finds a plan where the request is feasible, and none where it is not;
- the judge passes its plan (under strict the cheapest and the comfortable one), at the same cost;
- whatever plan passes, of planner or expert, costs no less than the planner's cheapest, and none
  does where the planner says that there is none.

The expert of style "direct" plays every feasible request and has to pass; "spender", "comparing"
and by turns "careful" or "brief" play too, but may fail: they know less. How often they passed is
printed. Exit code 1 where anything disagrees; each disagreement names world, number and what was
found.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.expert import STYLES, ExpertPolicy
from tripwright.domains.travelplanner.planning import judge_plan, solve_query
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import play
from tripwright.world.generator import build_tables
from tripwright.world.store import World

DIALECT = dialect_named("planner_r1")
SCALES, DAYS, IN_VAIN = ("nano", "small"), (3, 5, 7), 5  # every so many requests have no plan
MIXES = {
    True: Mix(levels=(1, 1, 1), days=DAYS),
    False: Mix(levels=(1, 1, 1), days=DAYS, slack=(0.6, 0.95), keep="infeasible"),
}


def disagreements(query: Query, world: World, number: int, counts: Counter[str]) -> Iterator[str]:
    """In words. `counts` counts what was asked, and of what passed."""
    feasible = (query.model_extra or {}).get("feasible", True)
    asked = {"strict": query, "livable": query.model_copy(update={"budget": 2 * query.budget})}
    least = {rules: solve_query(each, world, True, rules=rules) for rules, each in asked.items()}
    planned = [("strict", solve_query(query, world), "comfortable")]
    planned += [(rules, solved, "cheapest") for rules, solved in least.items()]
    plans = []
    for rules, solved, name in planned:
        counts[f"{rules}, {name}: asked"] += 1
        if rules == "strict" and (solved["plan"] is not None) != feasible:
            yield f"{name} plan: {solved['status']}, the request is made as feasible={feasible}"
        if solved["plan"] is None:
            continue
        counts[f"{rules}, {name}: planned"] += 1
        plans.append((f"{rules} {name}", solved["plan"]))
        verdict = judge_plan(asked[rules], solved["plan"], world, rules)
        if not verdict.final:
            yield f"{rules} {name} plan fails: {[each.message for each in verdict.failed][:2]}"
        elif verdict.details["total_cost"] != solved["cost_usd"]:
            yield f"{name}: {solved['cost_usd']} planned, {verdict.details['total_cost']} judged"
    by_turns = ("careful", "brief")[number % 2]
    for style in ("direct", "spender", "comparing", by_turns):
        (episode,) = play(ExpertPolicy(STYLES[style]), [TripTask("0", query, world)], DIALECT)
        passed = episode.verdict is not None and episode.verdict.final
        kind = "feasible" if feasible else "in vain"
        counts[f"expert {style}, {kind}: played"] += 1
        counts[f"expert {style}, {kind}: passed"] += passed
        if style == "direct" and passed != feasible:
            yield f"expert {style}: passed={passed}, the request is made as feasible={feasible}"
        if episode.more["plan"]:
            plans.append((f"expert {style}", episode.more["plan"]))
    for rules, solved in least.items():
        for name, plan in plans:
            verdict = judge_plan(asked[rules], plan, world, rules)
            counts[f"{rules}: plans judged"] += 1
            if not verdict.final:
                continue
            counts[f"{rules}: plans passed"] += 1
            cost_usd = verdict.details["total_cost"]
            if solved["cost_usd"] is None or cost_usd < solved["cost_usd"]:
                yield f"{name} passes {rules} at {cost_usd}, the least is {solved['cost_usd']}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first world and its requests")
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args()
    share, began = given.requests // (len(SCALES) * given.rounds), time.monotonic()
    counts, found = Counter[str](), 0
    for seed in range(given.seed, given.seed + given.rounds):
        for scale in SCALES:
            world = World.in_memory(build_tables(scale, seed))
            made = {kind: make_queries(world, share, seed, mix) for kind, mix in MIXES.items()}
            for number in range(share):
                query = next(made[number % IN_VAIN != IN_VAIN - 1])
                counts["requests"] += 1
                counts[f"requests of {query.days} days"] += 1
                for said in disagreements(query, world, number, counts):
                    found += 1
                    print(f"{scale}-{seed} request {number}: {said}", flush=True)
        minutes = (time.monotonic() - began) / 60
        print(f"round {seed}: {counts['requests']:,} in {minutes:.1f} min, {found} disagree")
        sys.stdout.flush()
    print(json.dumps({**counts, "disagree": found}, indent=1))
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
