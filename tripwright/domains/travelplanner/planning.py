"""Plans as data, for the desk, the verbs and the trip server: one judged, one found by the exact
planner, and a new one that keeps what it can of an old one."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from operator import eq
from typing import Any, Literal, get_args

from tripwright.domains.desk import Replan
from tripwright.domains.domain import Solved
from tripwright.domains.place import Place
from tripwright.domains.travelplanner.expert.direct import expert_solution, expert_turns
from tripwright.domains.travelplanner.oracle.explanation import explain, repairs, why_not
from tripwright.domains.travelplanner.oracle.options import (
    FORBIDDEN_BY_RULE,
    attractions,
    flight_legs,
    restaurants,
    road_legs,
    stays,
)
from tripwright.domains.travelplanner.oracle.planner import (
    Solution,
    k_best,
    leg_record,
    plan_days,
    solve,
)
from tripwright.domains.travelplanner.plan.parse import parse_answer
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.rules.lookup import city_lookup, name_and_city
from tripwright.domains.travelplanner.scoring.lines import official_plan
from tripwright.domains.wording import capitalised, listed
from tripwright.episode import Session
from tripwright.errors import UserError, counted
from tripwright.policies.base import ScriptedPolicy
from tripwright.verdict import Verdict
from tripwright.world.store import World

PlannedRules = Literal["strict", "livable"]
Days = list[dict[str, Any]]  # in Planner-R1's schema
NAMING = ("breakfast", "lunch", "dinner", "attraction", "accommodation")
TRIED = 24  # cheapest plans that the old one is fitted into


def solve_query(
    query: Query,
    world: World,
    cheapest: bool = False,
    k: int | None = None,
    why: bool = False,
    rules: str = "strict",
) -> Solved:
    """One object of `solve --json`, less its line number. `k`: adds `plans`, the k cheapest within
    the budget or as many as exist. `why`: adds what conflicts where there is no plan, and the
    single changes after which there is one. By the livable rules the plan is always the cheapest.
    Raises UserError for other rules than `PlannedRules`."""
    if rules not in get_args(PlannedRules):
        known = " and ".join(get_args(PlannedRules))
        raise UserError(f"Plans are made by the rules {known}, and not by '{rules}'.")
    started, livable = time.monotonic(), rules == "livable"
    exactly = cheapest or k or livable
    solution = solve(query, world, livable=livable) if exactly else expert_solution(query, world)
    reason = why_not(solution, query.budget)
    plan = None if reason else _official(query, solution, world)
    solved = Solved(
        status="infeasible" if plan is None else "feasible" if solution.comfortable else "optimal",
        plan=plan,
        cost_usd=None if reason else solution.cost_usd,
        seconds=0,
        why=reason,
    )
    if k:
        solved["plans"] = [
            {"cost_usd": each.cost_usd, "plan": _official(query, each, world)}
            for each in k_best(query, world, k, livable)
            if each.cost_usd is not None and each.cost_usd <= query.budget
        ]
    solved["seconds"] = round(time.monotonic() - started, 4)
    if why:
        explanation = explain(query, world) if plan is None else None
        solved["explanation"] = explanation.record() if explanation else None
        changes = repairs(query, world) if explanation else []
        solved["changes"] = [each.record() for each in changes]
    return solved


def judge_plan(query: Query, plan: list[Any] | None, world: World, rules: str) -> Verdict:
    """The verdict of a plan in the official format or in Planner-R1's schema."""
    official, problem = official_plan(plan, city_lookup(world))
    return judge(query, official, world, rules, problem or (None if official else "no plan"))


def _official(query: Query, solution: Solution, world: World) -> list[dict[str, Any]] | None:
    return official_plan(plan_days(query, solution), city_lookup(world))[0]


# ---- a new plan for an old one


def replan(record: Mapping[str, Any], query: Query, place: Place) -> Replan | None:
    """None where there was no plan in JSON, or is none now."""
    world: World = place.source
    answer = record["transcript"].get("answer")
    if answer is None or parse_answer(answer).days is None:
        return None
    old: Days = json.loads(answer)
    # the expert's own first: at equal keeping it is taken
    livable = query.besides is not None and query.besides.comfort is not None
    solutions = [expert_solution(query, world), *k_best(query, world, TRIED, livable)]
    fitted = [
        (sum(map(eq, old, days)), -number, solution, days)
        for number, solution in enumerate(solutions)
        if solution.cost_usd is not None
        for days in [_fitted(old, plan_days(query, solution), query, world)]
        if _passes(days, query, world)
    ]
    if not fitted:
        return None
    kept, _, solution, days = max(fitted, key=lambda each: each[:2])

    def play_one(session: Session) -> None:
        turns = expert_turns(query, world, session.dialect, solution)
        for text in [*turns[:-1], f"<answer>{json.dumps(days, ensure_ascii=False)}</answer>"]:
            if not session.done:
                session.say(text)

    return Replan(ScriptedPolicy("replan", play_one), _words(old, days, kept))


# ---- something else in the place of one item


def other_records(
    record: Mapping[str, Any], query: Query, part: str, item: str, world: World
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Each row that could stand where the item of the view does (its field and number on that day),
    with the record of the episode as if it had ended with that."""
    answer, (field, count) = record["transcript"].get("answer"), item.split(" ")
    days: Days = json.loads(answer) if answer and parse_answer(answer).days else []
    day = next((day for day in days if str(day["days"]) == part), None)
    if day is None or not day.get(field) or day[field] == "-":
        return
    at = int(count)
    number, city = days.index(day), day["city"]
    numbers, news = [number], list[tuple[Any, Any]]()  # rows, and what the field then says
    if field == "transportation":
        ends = (query, world, city["from"], city["to"])
        ways = (*flight_legs(*ends, query.date[number]), *road_legs(*ends))
        news += ((leg, leg_record(leg)) for leg in ways if leg_record(leg) != day[field])
    else:
        rows, end = list[Any](), city["to"] if isinstance(city, dict) else city
        old = day[field][at] if field == "attraction" else day[field]
        name, _, named = old.rpartition(", ")
        city = named if name and named in world.cities else end
        if field == "accommodation":
            numbers = [n for n, each in enumerate(days) if each[field] == old]
            fitting = (stay for stay in stays(query, world, city) if stay.fits(len(numbers)))
            rows += (stay.accommodation for stay in fitting)
        else:
            rows += attractions(world, city) if field == "attraction" else restaurants(world, city)
        for row in rows:
            text = row.name.strip() + ("" if city == end else f", {city}")
            if f'"{row.name.strip()}' not in answer and row.name.strip() not in query.without:
                more = [*day[field][:at], text, *day[field][at + 1 :]]
                news.append((row, more if field == "attraction" else text))
    for row, new in news:
        plan = [day | {field: new} if n in numbers else day for n, day in enumerate(days)]
        judged = judge_plan(query, plan, world, record["verdict"]["rules"])
        said = {"answer": json.dumps(plan, ensure_ascii=False)}
        changed = {"plan": official_plan(plan, city_lookup(world))[0], "verdict": judged.record()}
        yield row, dict(record) | changed | {"transcript": record["transcript"] | said}


def _fitted(old: Days, new: Days, query: Query, world: World) -> Days:
    """`new` with every old day that may stand in it."""
    days = list(new)
    for number, day in enumerate(old[: len(new)]):
        tried = [*days[:number], day, *days[number + 1 :]]
        if day != days[number] and _passes(tried, query, world):
            days = tried
    return days


def _passes(days: Days, query: Query, world: World) -> bool:
    official, _ = official_plan(days, city_lookup(world))
    against = besides(query, official or [], world)
    return judge_plan(query, days, world, "strict").final and not any(against.values())


def besides(query: Query, plan: Sequence[Any], world: World) -> dict[str, list[str]]:
    """Of the wishes that no rule of the benchmark looks at: what in the plan is against them."""
    days = [day for day in plan if isinstance(day, dict)]
    texts = [str(day.get(field) or "") for day in days for field in NAMING]
    places = {name_and_city(each) for text in texts for each in text.split(";")}
    found = {name for place in places for name in place}
    kept = {}
    if query.without:
        kept[f"Without {listed(query.without)}"] = [name for name in query.without if name in found]
    for rule in query.house_rules[1:]:
        kept[f"{capitalised(rule)} allowed"] = [
            row.name
            for _, city in sorted(places)
            for row in (world.accommodations(city) if city in world.cities else ())
            if (row.name.strip(), city) in places and FORBIDDEN_BY_RULE[rule] in row.house_rules
        ]
    return kept


def _words(old: Sequence[Any], new: Sequence[Any], kept: int) -> str:
    if kept == len(new) == len(old):
        return "The plan stays as it is: it fits the new wishes too."
    if not kept:
        return "No day can stay as it was: with the new wishes each of them needs something else."
    before = enumerate(zip_longest(old, new), start=1)
    changed = [str(number) for number, (was, day) in before if number <= len(new) and day != was]
    days = f"Day {changed[0]} changes" if len(changed) == 1 else f"Days {listed(changed)} change"
    return f"{days}; {counted(kept, 'day')} {'stays' if kept == 1 else 'stay'} as planned."
