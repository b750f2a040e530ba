"""A file of plans → one verdict per line, then TravelPlanner's six metrics (row T4): as the
official evaluation counts, and honestly; in all, by level, by days and by both; each with its 95%
interval over plans. Or every plan under two rule sets at once: what the one passes that the other
does not.

Every line is judged alone, and a line that cannot be read keeps its place in every honest
denominator as a plan that was not delivered. What is unscored is in no rate but the official ones
of a split, whose denominators are fixed; above 1% the summary has a warning and the worst case.

*Official*: the denominators are the split's fixed numbers where a split is named (so what is
missing counts as not delivered), else those of the plans given; only the thirteen official
constraints count. *Honest*: the denominators are the constraints that exist for the plans given,
those of further rules too, and whatever was not evaluated, not delivered or crashed failed them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import BY_ROWS, VERSIONS, check_rules, judge
from tripwright.domains.travelplanner.rules.facts import (
    COMMONSENSE_NAMES,
    HARD_NAMES,
    applicable_hard,
    plan_verdict,
)
from tripwright.domains.travelplanner.scoring.lines import (
    BAD_LINE,
    BAD_PLAN,
    CONTRADICTED,
    NOT_INFERRED,
    SPLITS,
    UNANSWERED,
    LineReader,
    PlanLine,
    QueryFile,
    is_unscored,
    plain,
    split_size,
)
from tripwright.domains.wording import LEVELS
from tripwright.errors import UserError
from tripwright.statistics.rates import ratio_interval, wilson
from tripwright.verdict import ALSO_PASSES, MOST_UNSCORED, Fact, Group, State, Verdict
from tripwright.world.store import World

METRICS = (
    "delivery_rate",
    "commonsense_micro",
    "commonsense_macro",
    "hard_micro",
    "hard_macro",
    "final_pass_rate",
)
UNKNOWN = "unknown"  # the level or the days of a line that does not say
# as many queries of 3 as of 5 and 7 days; how the test split divides is not published
EVEN_SPLITS = ("train", "validation")

Denominators = tuple[int, int]  # queries, hard constraints
Rate = dict[str, Any]  # value, low, high, numerator, denominator


# ---- a file, line by line


def score_file(
    path: str | Path,
    world: World,
    rules: str,
    queries: QueryFile | None = None,
    split: str | None = None,
) -> Iterator[dict[str, Any]]:
    """The objects that `score --json` prints: one per line, then the summary."""
    check_rules(rules)
    tally = Tally(split, whole=queries is not None)
    for line in LineReader(world, queries, split).read(path):
        verdict = judge_line(line, world, rules)
        tally.add(line.query, verdict, bool(line.inferred))
        if line.number:
            yield line_record(line, verdict)
    yield tally.summary(rules)


def line_record(line: PlanLine, verdict: Verdict) -> dict[str, Any]:
    return (
        score_line(line.number, verdict)
        | ({"final": None} if is_unscored(line.query, line.error) else {})
        | ({"inferred": list(line.inferred)} if line.inferred else {})
        | ({"problem": f"line {line.number}: {line.problem}"} if line.problem else {})
    )


def score_line(line: int, verdict: Verdict) -> dict[str, Any]:
    """One object of `score --json`."""
    records = (group.record() for group in verdict.groups[1:])
    return {
        "line": line,
        "final": verdict.final,
        "delivered": verdict.delivered,
        **{record["name"]: record["facts"] for record in records},
        "total_cost": None,
        "error": verdict.error,
        **verdict.details,
    }


def judge_line(line: PlanLine, world: World, rules: str) -> Verdict:
    if line.query is None or line.error:
        asked = ("valid_cost",) if line.query is None else applicable_hard(line.query)
        delivered = line.error == NOT_INFERRED and bool(line.plan)
        return plan_verdict(rules, asked, error=line.error, delivered=delivered)
    is_compared = rules in BY_ROWS and not line.problem
    if is_compared and (problem := line.contradiction()) is not None:
        asked, delivered = applicable_hard(line.query), bool(line.plan)
        verdict = plan_verdict(rules, asked, error=CONTRADICTED, delivered=delivered)
        found = f"line {line.number}: {problem}"
        return replace(verdict, details={**verdict.details, "problem": found})
    return judge(line.query, line.plan, world, rules)


# ---- metrics


@dataclass
class Tally:
    """Everything that a summary says, from one verdict after the other. Lines are kept as sums, one
    per level, days and source."""

    split: str | None = None
    # Every request of a file of queries is among the verdicts: a line that answers none of them is
    # none to be counted besides.
    whole: bool = False
    n: int = 0
    unscored: int = 0
    inferred: int = 0
    _errors: Counter[str | None] = field(default_factory=Counter)
    _requests: Counter[str] = field(default_factory=Counter)  # answered, by their texts
    # by level, days, source
    _sums: dict[tuple[str, str, str], Counter[Any]] = field(default_factory=dict)
    _unscored: Counter[Any] = field(default_factory=Counter)  # the sums as if they had failed
    # constraint → plans
    _passed: Counter[str] = field(default_factory=Counter)
    _asked: Counter[str] = field(default_factory=Counter)

    def add(self, query: Query | None, verdict: Verdict, inferred: bool = False) -> None:
        self._errors[verdict.error] += 1
        if self.whole and verdict.error == BAD_LINE:
            return
        if is_unscored(query, verdict.error):
            self.unscored += 1
            self._unscored.update(_counts(query, verdict))
            return
        self.n += 1
        if query is not None and verdict.error != UNANSWERED:
            self._requests[plain(query.query or str(self.n))] += 1
        self.inferred += inferred
        level = query.level if query is not None and query.level in LEVELS else UNKNOWN
        days = str(query.days) if query is not None else UNKNOWN
        group = (level, days, "inferred" if inferred else "given")
        self._sums.setdefault(group, Counter()).update(_counts(query, verdict))
        asked = asked_of(*verdict.groups[1:])
        self._asked.update(asked.keys())
        self._passed.update(name for name, passed in asked.items() if passed)

    def summary(self, rules: str) -> dict[str, Any]:
        """The last object of `score --json`."""
        bad_lines, unanswered = self._errors[BAD_LINE], self._errors[UNANSWERED]
        summary: dict[str, Any] = {"kind": "summary", "rules": rules}
        summary["rules_version"] = VERSIONS.get(rules, 1)
        if self.split is not None:
            answered = self.n + self.unscored - unanswered - (0 if self.whole else bad_lines)
            summary["split"] = self.split
            summary["missing"] = max(0, split_size(self.split) - answered)
        summary["requests"] = len(self._requests)
        summary["repeats"] = self._requests.total() - len(self._requests)
        summary |= {"unanswered": unanswered} if self.whole else {}
        summary |= {"bad_lines": bad_lines, "bad_plans": self._errors[BAD_PLAN]}
        summary["inferred"] = self.inferred
        scored = self._by().get((), Counter())
        worst = self._record(scored + self._unscored)
        summary |= self._record(scored)
        summary |= {name: worst[name] for name in METRICS if self.split is not None}
        summary |= _left_out(self.unscored, self.n, worst)
        summary["by_level"] = {
            level: self._record(sums, level) for (level,), sums in self._by(0).items()
        }
        summary["by_days"] = {
            days: self._record(sums, None, days) for (days,), sums in self._by(1).items()
        }
        summary["cells"] = dict[str, dict[str, Any]]()
        for (level, days), sums in self._by(0, 1).items():
            summary["cells"].setdefault(level, {})[days] = self._record(sums, level, days)
        if self.inferred:
            summary["by_source"] = {
                source: self._record(sums, UNKNOWN) for (source,), sums in self._by(2).items()
            }
        summary["constraints"] = {
            name: rate_of(self._passed[name], self._asked[name])
            for name in sorted(self._asked, key=constraint_place)
        }
        return summary

    def _by(self, *keys: int) -> dict[tuple[str, ...], Counter[Any]]:
        """The sums, added up over all but these parts of their keys."""
        groups: dict[tuple[str, ...], Counter[Any]] = {}
        for group, sums in self._sums.items():
            groups.setdefault(tuple(group[key] for key in keys), Counter()).update(sums)
        return dict(sorted(groups.items(), key=lambda item: [_place(name) for name in item[0]]))

    def _record(
        self, sums: Counter[Any], level: str | None = None, days: str | None = None
    ) -> dict[str, Any]:
        """Official and honest rates. A split whose fixed numbers are not published here has no
        official ones."""
        given = sums["n"], sums["official", "hard", "asked"]
        plans, hard = (
            given if self.split is None else split_denominators(self.split, level, days)
        ) or (None, None)
        checks = None if plans is None else plans * len(COMMONSENSE_NAMES)
        asked = (sums["honest", group, "asked"] for group in ("commonsense", "hard"))
        return {
            "n": sums["n"],
            **_rates(sums, "official", plans, checks, hard),
            "honest": _rates(sums, "honest", sums["n"], *asked),
            **(
                {"livable_pass_rate": rate_of(sums["livable"], sums["n"])}
                if sums["livable asked"]
                else {}
            ),
        }


def _left_out(unscored: int, n: int, worst: dict[str, Any]) -> dict[str, Any]:
    """What a summary says of how many are unscored beside `n`. `worst` counts them as failed."""
    if unscored <= MOST_UNSCORED * (n + unscored):
        return {"unscored": unscored} if unscored else {}
    warning = (
        f"{unscored} of {n + unscored} plans are unscored because of limits or faults on our side;"
        " the rates leave them out (but the official ones of a split, whose denominators are"
        " fixed), and worst_case counts them as failed."
    )
    return {"unscored": unscored, "warning": warning, "worst_case": worst}


def is_livable(verdict: Verdict) -> bool:
    """Of a strict or livable verdict."""
    if verdict.rules == "livable":
        return verdict.final
    return bool(verdict.details.get(ALSO_PASSES, {}).get("livable"))


def _counts(query: Query | None, verdict: Verdict) -> Counter[Any]:
    """One line: how many of the checks of each group it passes, whether all of them, and the
    products of which a micro rate's interval is made. Under official counting a hard constraint
    that was not asked for does not spoil the macro rate (row T4)."""
    commonsense, hard = (asked_of(verdict.group(name)) for name in ("commonsense", "hard"))
    sense = [commonsense.get(name, False) for name in COMMONSENSE_NAMES]
    wishes, asked = verdict.group("hard").facts, len(verdict.group("hard").asked)
    passed = [fact.passed for fact in (wishes or {}).values() if fact.name in HARD_NAMES]
    counts = Counter[Any](
        {"n": 1, "delivered": int(verdict.delivered), "final": int(verdict.final)}
    )
    if verdict.rules in BY_ROWS:
        counts["livable asked"], counts["livable"] = 1, int(is_livable(verdict))
    none_broken = wishes is not None and False not in passed
    honest_sense, honest_hard = list(commonsense.values()), list(hard.values())
    for side, group, k, n, macro in (
        ("official", "commonsense", sum(sense), len(sense), all(sense)),
        ("official", "hard", passed.count(True), asked, none_broken),
        ("honest", "commonsense", sum(honest_sense), len(honest_sense), all(honest_sense)),
        ("honest", "hard", sum(honest_hard), len(honest_hard), all(honest_hard)),
    ):
        sums = {"passed": k, "asked": n, "macro": int(macro), "kk": k * k, "kn": k * n, "nn": n * n}
        counts.update({(side, group, name): count for name, count in sums.items()})
    return counts


def _rates(
    sums: Counter[Any], side: str, plans: int | None, checks: int | None, wishes: int | None
) -> dict[str, Rate]:
    """The six metrics over so many plans, with their checks and wishes; None: no such number is
    published."""

    def micro(group: str, asked: int | None) -> Rate:
        """Where more is asked than these plans were, a split has fixed numbers: what is missing
        passed nothing, and every plan has an equal share of them."""
        passed = sums[side, group, "passed"]
        kk, kn, nn = (float(sums[side, group, product]) for product in ("kk", "kn", "nn"))
        if asked and plans and asked != sums[side, group, "asked"]:
            kn, nn = asked / plans * passed, asked**2 / plans
        return rate_of(passed, asked, plans, (kk, kn, nn))

    rates = (
        rate_of(sums["delivered"], plans),
        micro("commonsense", checks),
        rate_of(sums[side, "commonsense", "macro"], plans),
        micro("hard", wishes),
        rate_of(sums[side, "hard", "macro"], plans),
        rate_of(sums["final"], plans),
    )
    return dict(zip(METRICS, rates, strict=True))


def split_denominators(
    split: str, level: str | None = None, days: str | None = None
) -> Denominators | None:
    """Official denominators of a whole split (no level, no days), of a level, of a number of days
    or of a cell; None: not published."""
    levels = SPLITS[split]
    if days is not None and (split not in EVEN_SPLITS or days not in ("3", "5", "7")):
        return None
    if level is not None and level not in levels:
        return None
    parts = [levels[level]] if level is not None else list(levels.values())
    share = 1 if days is None else 3
    return sum(queries for queries, _ in parts) // share, sum(hard for _, hard in parts) // share


def asked_of(*groups: Group) -> dict[str, bool]:
    """Every constraint of the groups that exists for this plan → whether it passed: where the rules
    spoke, what they spoke of; else what they would have spoken of. Not evaluated is not passed."""
    asked = dict[str, bool]()
    for group in groups:
        if group.facts is None:
            asked |= dict.fromkeys(group.asked, False)
        else:
            asked |= {
                name: fact.state is State.PASSED
                for name, fact in group.facts.items()
                if fact.state is not State.NOT_APPLICABLE
            }
    return asked


def rate_of(
    passed: int,
    of: int | None,
    plans: int | None = None,
    squares: tuple[float, float, float] | None = None,
) -> Rate:
    """With its 95% interval: Wilson's, or that of a micro rate over so many `plans`. No interval
    where nothing is divided by, or where more passed than there are."""
    low = high = None
    if of and plans and squares is not None and passed <= of:
        low, high = ratio_interval(plans, passed, of, squares)
    elif of and squares is None and passed <= of:
        low, high = wilson(passed, of)
    value = passed / of if of else None
    return {"value": value, "low": low, "high": high, "numerator": passed, "denominator": of}


def _place(name: str) -> tuple[int, int, str]:
    """easy, medium, hard; numbers by size; the unknown last."""
    if name in LEVELS:
        return 0, LEVELS.index(name), ""
    return (1, int(name), "") if name.isdigit() and len(name) < 10 else (2, 0, name)


def constraint_place(name: str) -> tuple[int, str]:
    """The official thirteen in their order, further ones by name."""
    official = (*COMMONSENSE_NAMES, *HARD_NAMES)
    return (official.index(name), "") if name in official else (len(official), name)


# ---- the hacking meter: two rule sets at once


EXAMPLES = 5  # line numbers kept for each difference
FINAL = "final"


class Held(NamedTuple):
    """One constraint, or the final verdict, of one line under both rule sets. `passed` is None
    where the constraint does not exist for this plan."""

    line: int
    passed: Sequence[bool | None]
    facts: Sequence[Fact | None]


def compare_file(
    path: str | Path,
    world: World,
    rules: tuple[str, str],
    queries: QueryFile | None = None,
    split: str | None = None,
) -> Iterator[dict[str, Any]]:
    """The objects that `score --compare --json` prints: one per line, then the summary."""
    for each in rules:
        check_rules(each)
    if rules[0] == rules[1]:
        raise UserError(f"Nothing to compare: both rule sets are '{rules[0]}'.")
    errors, held, unscored = Counter[str | None](), defaultdict[str, list[Held]](list), 0
    for line in LineReader(world, queries, split).read(path):
        errors[line.error] += 1
        verdicts = [judge_line(line, world, each) for each in rules]
        if line.number:
            yield _compared(line, verdicts)
        if is_unscored(line.query, line.error):
            unscored += 1
            continue
        if queries is not None and line.error == BAD_LINE:
            continue
        firsts = [next(iter(verdict.failed), None) for verdict in verdicts]
        held[FINAL].append(Held(line.number, [verdict.final for verdict in verdicts], firsts))
        asked = [asked_of(*verdict.groups[1:]) for verdict in verdicts]
        for name in asked[0] | asked[1]:
            facts = [verdict.facts.get(name) for verdict in verdicts]
            held[name].append(Held(line.number, [each.get(name) for each in asked], facts))
    names = sorted(held.keys() - {FINAL}, key=constraint_place)
    final, n = _gap(held[FINAL], rules), len(held[FINAL])
    worst = {each: rate_of(final[each]["numerator"], n + unscored) for each in rules}
    yield {
        "kind": "comparison",
        "rules": list(rules),
        "n": n,
        "bad_lines": errors[BAD_LINE],
        **({"unanswered": errors[UNANSWERED]} if queries is not None else {}),
        **_left_out(unscored, n, {FINAL: worst}),
        FINAL: final,
        "constraints": {name: _gap(held[name], rules) for name in names},
    }


def _compared(line: PlanLine, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The final verdicts and the constraints whose states differ."""
    states = [
        {name: str(fact.state) for name, fact in verdict.facts.items()} for verdict in verdicts
    ]
    unscored = is_unscored(line.query, line.error)
    return {
        "line": line.number,
        "final": {verdict.rules: None if unscored else verdict.final for verdict in verdicts},
        "error": {verdict.rules: verdict.error for verdict in verdicts},
        "differ": {
            name: {
                each.rules: state.get(name) for each, state in zip(verdicts, states, strict=True)
            }
            for name in sorted({*states[0], *states[1]}, key=constraint_place)
            if states[0].get(name) != states[1].get(name)
        },
        **({"problem": f"line {line.number}: {line.problem}"} if line.problem else {}),
    }


def _gap(held: Sequence[Held], rules: tuple[str, str]) -> dict[str, Any]:
    """Both rates and, for each rule set, the lines that pass under it alone. What one rule set does
    not ask for is no difference."""
    sides = [[each.passed[side] for each in held] for side in (0, 1)]
    rates = [rate_of(side.count(True), len(side) - side.count(None)) for side in sides]
    values = [rate["value"] for rate in rates]
    gap: dict[str, Any] = dict(zip(rules, rates, strict=True))
    gap["gap"] = None if None in values else values[0] - values[1]
    for name, passing, other in zip(rules, (0, 1), (1, 0), strict=True):
        alone = [each for each in held if each.passed[passing] and each.passed[other] is False]
        gap[f"only_{name}"] = _difference([(each.line, each.facts[other]) for each in alone])
    return gap


def _difference(found: Sequence[tuple[int, Fact | None]]) -> dict[str, Any]:
    """A constraint may not be failed by the other rules but never reached by them, as an earlier
    one shut the gate. The two are told apart, so that one hole is not shown as five."""
    failed = sum(fact is not None and fact.passed is False for _, fact in found)
    examples = (
        {"line": line, "constraint": fact.name, "message": fact.message}
        for line, fact in found
        if fact is not None and fact.message
    )
    return {
        "n": len(found),
        "failed": failed,
        "not_reached": len(found) - failed,
        "lines": [line for line, _ in found[:EXAMPLES]],
        "example": next(examples, None),
    }
