"""Anything a model may write, thrown at the readers of plans and at all rule sets: no crash, and
none may take long.

    .venv/bin/python benchmarks/fuzz_judge.py [--n 200000] [--seed 0] [--only INDEX]
        [--files | --misread]

Input number i of a seed is always the same: a request and a plan that meets it, from generated
worlds, and then a few changes, each drawn from what has broken readers before (wrong types, half a
surrogate pair, NaN, integers of hundreds of digits, nesting, a hundred thousand blanks, the words
that the expressions look for repeated without end, days dropped, repeated and exchanged). Five
kinds take
turns: the official days, an answer's text (`parse_answer`), Planner-R1's days (`parse_days`,
`to_official`), the request, and an itinerary in natural language (`parse_itinerary`). Whatever plan
comes out is judged under every rule set, and the verdict written as JSON.

Time is the CPU time of the thread, one input at a time, the garbage collector's share included. An
input above the limit is timed three times more and the least counts: a machine with other work
slows any input once, a bad expression is slow each time. Exit code 1 where an input crashed or was
above the limit.

`--files` does the same with files of six other kinds (`fuzz_files.py`).

`--misread` asks something else: plans that pass are changed a little (`misread.py`), and each that
the strict rules still accept is read as a traveller reads it, words and hours; and each that they
refuse for its hours, sights or beds alone. Exit code 1 where that differs from what was judged.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tripwright.domains.travelplanner.plan.itinerary import parse_itinerary, render_itinerary
from tripwright.domains.travelplanner.plan.parse import ParsedAnswer, parse_answer, parse_days
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import RULES, judge
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.domains.travelplanner.scoring.lines import BadLine, read_query
from tripwright.domains.travelplanner.scoring.score import score_line
from tripwright.world.generator import build_tables
from tripwright.world.store import World

sys.path.insert(0, str(Path(__file__).parent))
from misread import differences, judged, mutant, refused_for_nothing, widen

LIMIT_MS = 50.0
LONGEST = 100_000  # characters of one text
# characters and values of one input: about twice what a context of 32,000 tokens holds
LARGEST = 250_000
WORDS = (
    "from ",
    " to ",
    "from A to B ",
    "from  ",
    " to, ",
    "(",
    ")",
    "(a",
    ",",
    ", ",
    ";",
    "; ",
    "\n",
    "\r\n",
    " ",
    "\t",
    "-",
    ": ",
    "Flight Number: ",
    "Taxi",
    "self-driving",
    "flight number",
    "Day 1: ",
    "| ",
    "**",
    "#",
    "<answer>",
    "</answer>",
    "```json",
    "[",
    "]",
    "{",
    "}",
    '"',
    "\\u0000",
    "\ud800",
    "\x00",
    "\u200b",
    "\u202e",
    "\u2028",
    "e\u0301",
    "\u0663",
    "\uff11",
    "\u0130",
    "\xdf",
    "\U0001d7d9",
    "1 hour ",
    "9" * 20 + " km",
    "$",
    "%s",
    "nan",
)
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    7,
    1.5,
    float("nan"),
    float("inf"),
    -0.0,
    10**400,
    -(10**400),
    "",
    " ",
    "-",
    " - ",
    "\ud800",
    "nan",
    "[]",
    [],
    {},
    [[]],
    [None],
    ["A, B"],
    {"from": "A", "to": "B"},
    {"from": None},
    [1, "x", {}],
    "from A",
    "from A to",
    "from A to B",
    "A,",
    ",A",
    ",",
    ";",
    "You don't need to fill in the information for this or later days.",
    "Flight Number: ",
    "flight number: F1",
    "Bus",
    "__import__('os').abort()",
)


class Case(NamedTuple):
    query: dict[str, Any]
    p3: list[Any]
    official: list[Any]
    world: World


def cases(worlds: int, per_world: int, wide: bool = False) -> list[Case]:
    """Requests with plans that can be met; `wide`: in worlds with more sights and odd flights."""
    made = []
    for seed in range(worlds):
        tables = build_tables("nano", seed)
        if wide:
            widen(tables, seed)
        # every fifth place has a twin whose name differs in signs alone
        for rows in (tables.restaurants, tables.attractions, tables.accommodations):
            twins = [(row[0].replace(" ", " - "), *row[1:]) for row in rows[::5]]
            rows += twins  # type: ignore[operator]
        world = World.in_memory(tables)
        for query in make_queries(world, per_world, seed, Mix(days=(3, 5, 7))):
            plan = (query.model_extra or {})["oracle"]["plan"]
            record = {key: value for key, value in query.record().items() if key != "oracle"}
            made.append(
                Case(
                    record,
                    plan,
                    to_official(parse_days(plan).days or [], city_lookup(world)),
                    world,
                )
            )
    return made


# ---- changes


def odd_text(rng: random.Random) -> str:
    length = int(10 ** rng.uniform(0, 5))
    words = [rng.choice(WORDS) for _ in range(rng.choice((1, 1, 2, 5)))]
    return ("".join(words) * (1 + length // max(1, len("".join(words)))))[:length]


def nested(rng: random.Random) -> Any:
    value: Any = rng.choice(ODD)
    for _ in range(rng.choice((2, 30, 300, 900))):
        value = [value] if rng.random() < 0.5 else {"from": value}
    return value


def odd_value(rng: random.Random) -> Any:
    return rng.choice((odd_text, nested, *[lambda r: copy.deepcopy(r.choice(ODD))] * 6))(rng)


def changed_text(text: str, rng: random.Random) -> str:
    start, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
    piece = rng.choice((odd_text(rng), rng.choice(WORDS), ""))
    ways = (
        text[:start] + piece + text[end:],
        text[:start] + piece + text[start:],
        text.swapcase(),
        text + piece,
        piece + text,
    )
    return rng.choice((*ways, text.replace(", ", ","), (text * 3)[:LONGEST]))[:LONGEST]


def changed(value: Any, rng: random.Random, others: list[Any]) -> Any:
    """One change somewhere inside: in place for objects and arrays."""
    if isinstance(value, dict) and value:
        key = rng.choice(list(value))
        way = rng.random()
        if way < 0.1:
            del value[key]
        elif way < 0.15:
            value[rng.choice((odd_text(rng), key.upper(), "extra"))] = odd_value(rng)
        elif way < 0.35:
            value[key] = value[rng.choice(list(value))]
        else:
            value[key] = changed(value[key], rng, others)
        return value
    if isinstance(value, list) and value:
        at = rng.randrange(len(value))
        way = rng.random()
        if way < 0.1:
            del value[at]
        elif way < 0.2:
            value.insert(at, rng.choice((*value, *others, {}, None)))
        elif way < 0.25:
            value[:] = value * rng.choice((2, 50, 2000 // len(value) + 1))
        else:
            value[at] = changed(value[at], rng, others)
        return value
    return (
        changed_text(value, rng)
        if isinstance(value, str) and rng.random() < 0.6
        else odd_value(rng)
    )


# ---- inputs: each prepares what a model wrote, and gives what is timed


def make_input(index: int, seed: int, pool: list[Case]) -> tuple[str, Any, Callable[[], None]]:
    """(kind, the input to show, what is to be timed)."""
    rng = random.Random(f"{seed}-{index}")
    kind = ("official", "answer", "days", "request", "itinerary")[index % 5]
    while True:
        case, other = rng.choice(pool), rng.choice(pool)
        value = _written_by_a_model(kind, case, other, rng)
        if not is_too_large(value):
            break
    judges: dict[str, Callable[[], None]] = {
        "official": lambda: judge_all(case.query, value, case.world),
        "request": lambda: judge_all(value, case.official, case.world),
        "days": lambda: judge_parsed(parse_days(value), case),
        "answer": lambda: judge_parsed(parse_answer(value), case),
        "itinerary": lambda: judge_itinerary(value, case),
    }
    return kind, value, judges[kind]


def _written_by_a_model(kind: str, case: Case, other: Case, rng: random.Random) -> Any:
    times = rng.choice((0, 1, 1, 1, 2, 3, 8))
    if kind == "itinerary":
        text = render_itinerary(Query.model_validate(case.query), case.official)
    else:
        plans = (case.official, other.official) if kind == "official" else (case.p3, other.p3)
        value, others = copy.deepcopy((case.query, []) if kind == "request" else plans)
        for _ in range(times):
            changed(value, rng, others)
        if kind != "answer" or is_too_large(value):
            return value
        text, times = (
            f"<think>\n</think><answer>{_written(value)}</answer>",
            rng.choice((0, 0, 1, 3)),
        )
    for _ in range(times):
        text = changed_text(text, rng)
    return text


def is_too_large(value: Any) -> bool:
    size, left = 0, [value]
    while left and size <= LARGEST:
        each = left.pop()
        size += len(each) if isinstance(each, str) else 1
        if isinstance(each, (dict, list)):
            left.extend(each)
            left.extend(each.values() if isinstance(each, dict) else ())
    return size > LARGEST


def _written(value: Any) -> str:
    try:
        return json.dumps(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or nested too deeply
        return "[" * 2000


def judge_all(record: dict[str, Any], plan: list[Any] | None, world: World) -> None:
    try:
        query = read_query(record)
    except BadLine:
        return
    for rules in RULES:
        json.dumps(score_line(1, judge(query, plan, world, rules)))


def judge_parsed(answer: ParsedAnswer, case: Case) -> None:
    if answer.days is not None:
        judge_all(case.query, to_official(answer.days, city_lookup(case.world)), case.world)


def judge_itinerary(text: str, case: Case) -> None:
    read = parse_itinerary(text)
    if read.plan is not None:
        judge_all(case.query, read.plan, case.world)


# ---- the run


def cpu_ms(run: Callable[[], None]) -> float:
    began = time.thread_time()
    run()
    return (time.thread_time() - began) * 1000


def shown(value: Any) -> str:
    try:
        text = ascii(value)
    except (ValueError, RecursionError):
        text = f"a {type(value).__name__} too deep or too long to show"
    return text if len(text) <= 600 else f"{text[:300]} … {text[-300:]} ({len(text):,} characters)"


def misread(pool: list[Case], count: int, seed: int, only: int | None) -> int:
    made, passed, refused = Counter[str](), Counter[str](), Counter[str]()
    accepted, unread = 0, list[int]()
    for index in range(count) if only is None else (only,):
        rng = random.Random(f"misread-{seed}-{index}")
        case = rng.choice(pool)
        draft, text, changes = mutant(
            rng, case.p3, case.official, case.world, read_query(case.query)
        )
        kind, query = draft.kind, draft.query
        made.update(changes)
        read = judged(text, kind, query, case.world)
        if read is None:
            continue
        if read.verdict.final:
            accepted += 1
            passed.update(changes)
            found = list(differences(text, kind, query, read))
        else:
            failed = [name for name, fact in read.verdict.facts.items() if fact.passed is False]
            refused[failed[0] if len(failed) == 1 else "several"] += 1
            nothing = refused_for_nothing(query, read)
            found = [f"refused though sound: {nothing}"] if nothing else []
        if found:
            unread.append(index)
            if len(unread) <= 40:
                print(f"input {index} ({kind}): {'; '.join(found)[:400]}")
            if only is not None:
                print(json.dumps(query.record()), text, read.verdict.facts, sep="\n")
    for name, count_made in sorted(made.items()):
        print(f"{name}: {passed[name]:,} of {count_made:,} accepted")
    print("refused for one rule alone:", dict(refused.most_common()))
    print(
        f"{count if only is None else 1:,} mutants of seed {seed}: {accepted:,} accepted,"
        f" {len(unread):,} are not what was judged"
    )
    return 1 if unread else 0


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--n", type=int, default=200_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument(
        "--only", type=int, default=None, help="run this one input, with the traceback of its crash"
    )
    options.add_argument(
        "--misread", action="store_true", help="look for accepted plans that say something else"
    )
    options.add_argument("--files", action="store_true", help="files instead: fuzz_files.py")
    given = options.parse_args()
    if given.files:
        from fuzz_files import Files

        make: Callable[[int], Any] = partial(Files(changed).make_input, seed=given.seed)
    else:
        pool = cases(6, 12, given.misread)
        make = partial(make_input, seed=given.seed, pool=pool)
    if given.misread:
        return misread(pool, given.n, given.seed, given.only)
    gc.freeze()  # the worlds are not what the collector shall go through during an input
    crashes: Counter[str] = Counter()
    slow, slowest, kinds = [], (0.0, 0, "", ""), Counter[str]()
    total_ms = 0.0
    for index in range(given.n) if given.only is None else (given.only,):
        kind, value, run = make(index)
        kinds[kind] += 1
        try:
            took_ms = cpu_ms(run)
            if took_ms > LIMIT_MS:
                took_ms = min(took_ms, *(cpu_ms(run) for _ in range(3)))
        except Exception as error:  # any exception at all is what is looked for
            if given.only is not None:
                raise
            crashes[f"{kind}: {type(error).__name__}"] += 1
            if crashes[f"{kind}: {type(error).__name__}"] <= 3:
                print(
                    f"CRASH input {index} ({kind}): {type(error).__name__}: {shown(str(error))}\n "
                    f" {shown(value)}"
                )
            continue
        total_ms += took_ms
        if took_ms > LIMIT_MS:
            slow.append(index)
            print(f"SLOW input {index} ({kind}): {took_ms:.1f} ms\n  {shown(value)}")
        if took_ms > slowest[0]:
            slowest = (took_ms, index, kind, shown(value))
    count = sum(kinds.values())
    said = ", ".join(f"{kind} {n:,}" for kind, n in sorted(kinds.items()))
    print(f"{count:,} inputs of seed {given.seed} ({said}), rules {', '.join(RULES)}")
    print(
        f"crashes {sum(crashes.values())} {dict(crashes) or ''}, above {LIMIT_MS:.0f} ms of CPU"
        f" {len(slow)} {slow[:20] or ''}"
    )
    took_ms, index, kind, input_shown = slowest
    print(
        f"mean {total_ms / max(1, count):.2f} ms, longest {took_ms:.1f} ms: input {index}"
        f" ({kind})\n  {input_shown}"
    )
    print(f"most memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")
    return 1 if crashes or slow else 0


if __name__ == "__main__":
    sys.exit(main())
