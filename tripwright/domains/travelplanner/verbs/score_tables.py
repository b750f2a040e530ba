"""What `tripwright score` prints for people. Every figure comes from the summary that `--json`
prints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tripwright.domains.travelplanner.rules.facts import FACT_TITLES, fact_words
from tripwright.domains.travelplanner.scoring.compare import ComparedLine
from tripwright.domains.travelplanner.scoring.score import ScoredLine
from tripwright.domains.travelplanner.scoring.tally import METRICS, split_size
from tripwright.errors import counted, printable
from tripwright.verdict import Fact, Facts

HEADER = f"{'line':>5}  {'final':<5}  {'sense':>5}  {'hard':>5}  {'cost':>10}  first problem"
SHORT = dict(
    zip(
        METRICS,
        ("delivered", "sense micro", "sense macro", "hard micro", "hard macro", "final"),
        strict=True,
    )
)


def row(scored: ScoredLine) -> str:
    verdict = scored.verdict
    cost = "-" if verdict.total_cost is None else f"${verdict.total_cost:,.2f}"
    final = "pass" if verdict.final else "fail"
    counts = f"{_passed(verdict.commonsense):>5}  {_passed(verdict.hard):>5}"
    note = "  (request inferred from its text)" if scored.inferred else ""
    return f"{scored.line:>5}  {final:<5}  {counts}  {cost:>10}  {_first_problem(scored)}{note}".rstrip()  # noqa: E501


def _passed(facts: Facts | None) -> str:
    states = [fact.passed for fact in (facts or {}).values() if fact.passed is not None]
    return f"{sum(states)}/{len(states)}" if states else "-"


def _first_problem(scored: ScoredLine) -> str:
    verdict = scored.verdict
    if verdict.error:
        problem = (scored.problem or "").partition(": ")[2]
        return one_line(problem or f"{verdict.error}: here the {verdict.rules} evaluator stops")
    if not verdict.delivered:
        return "no plan"
    for facts in (verdict.commonsense, verdict.hard):
        for fact in (facts or {}).values():
            if fact.passed is False:
                return _told(fact)
    return ""


def _told(fact: Fact) -> str:
    title = fact_words(fact)
    return f"{title}: {one_line(fact.message)}" if fact.message else title


def one_line(text: str) -> str:
    """A model's words may hold anything; a terminal gets one printable line."""
    return printable(text)


def partial(summary: dict[str, Any], queries: Path | None) -> Iterator[str]:
    """Said where a file of queries or a split is named and not all of it is answered."""
    if missing := summary.get("unanswered"):
        size = summary["n"]
        yield (
            f"{size - missing} of {size} queries of '{queries}' answered: {missing} missing count"
            " as not delivered."
        )
    if missing := summary.get("missing"):
        split, size = summary["split"], split_size(summary["split"])
        yield (
            f"{size - missing} of {size} {split} queries answered: {missing} missing count as not"
            " delivered under the official denominators."
        )


def plans_of(summary: dict[str, Any]) -> str:
    """How many plans for how many requests, where that is not the same."""
    n, missing = summary["n"], summary.get("unanswered", 0)
    asked = n if missing else summary["requests"] if summary.get("repeats") else None
    requests = f" for {counted(asked, 'request')}" if asked is not None else ""
    return f"{counted(n - missing, 'plan')}{requests}"


def summary_table(summary: dict[str, Any]) -> str:
    split = f", official numbers of the {summary['split']} split" if "split" in summary else ""
    lines = [
        "",
        f"{plans_of(summary)}, {summary['rules']} rules{split}",
        f"  {'95% intervals':<18} {'official':<36}honest",
    ]
    for name in METRICS:
        official, honest = summary[name], summary["honest"][name]
        lines.append(
            f"  {name.replace('_', ' '):<18} {_percent(official)} {_interval(official):<16}"
            f"  {_count(official):<10} {_percent(honest)} {_interval(honest):<16}  {_count(honest)}"
        )
    if summary["inferred"]:
        lines.append(
            f"  {summary['inferred']} of {summary['n']} requests have fields inferred from their"
            " text"
        )
    groups = [("all", summary)]
    groups += [(level, group) for level, group in summary["by_level"].items()]
    groups += [(_days(days), group) for days, group in summary["by_days"].items()]
    groups += [
        (f"{level}, {_days(days)}", group)
        for level, by_days in summary["cells"].items()
        for days, group in by_days.items()
    ]
    groups += [
        (f"{source} requests", group) for source, group in summary.get("by_source", {}).items()
    ]
    lines += ["", "honest counts    " + "".join(f"{SHORT[name]:>13}" for name in METRICS)]
    lines += [
        f"  {name:<15}" + "".join(f"{_count(group['honest'][metric]):>13}" for metric in METRICS)
        for name, group in groups
    ]
    lines += ["", "constraints"]
    width = max(map(len, FACT_TITLES.values()))
    lines += [
        f"  {FACT_TITLES[name]:<{width}}  {_percent(rate)} {_interval(rate):<16}  {_count(rate)}"
        for name, rate in summary["constraints"].items()
    ]
    return "\n".join(lines)


def _days(days: str) -> str:
    return f"{days} days"


def _percent(rate: dict[str, Any]) -> str:
    return f"{'-':>6}" if rate["value"] is None else f"{rate['value']:6.1%}"


def _interval(rate: dict[str, Any]) -> str:
    return "" if rate["low"] is None else f"[{rate['low']:.1%}, {rate['high']:.1%}]"


def _count(rate: dict[str, Any]) -> str:
    return f"{rate['numerator']}/{rate['denominator']}"


def compared_row(compared: ComparedLine) -> str:
    """One plan that only one rule set passes, and what the other says."""
    passed, failed = sorted(compared.verdicts, key=lambda verdict: not verdict.final)
    facts = [
        fact
        for group in (failed.commonsense, failed.hard)
        for fact in (group or {}).values()
        if fact.passed is False
    ]
    why = failed.error or (_told(facts[0]) if facts else "not delivered")
    return f"line {compared.line.number}: passes {passed.rules}, fails {failed.rules}: {why}"


def comparison_table(summary: dict[str, Any]) -> str:
    first, second = summary["rules"]
    gaps = {"final": summary["final"]}
    gaps |= {FACT_TITLES[name]: gap for name, gap in summary["constraints"].items()}
    width = max(map(len, gaps))
    only = (f"only {first}", f"only {second}")
    lines = [
        "",
        f"{plans_of(summary)} under {first} and {second} rules",
        (
            f"  {'':<{width}}  {first:>16}  {second:>16}  {'gap':>7}  {only[0]:>13}  {only[1]:>13} "
            " lines"
        ),
    ]
    for name, gap in gaps.items():
        mine, theirs = gap[f"only_{first}"], gap[f"only_{second}"]
        where = ", ".join(map(str, [*mine["lines"], *theirs["lines"]]))
        more = ", …" if mine["n"] + theirs["n"] > len(mine["lines"]) + len(theirs["lines"]) else ""
        cells = [
            f"{_percent(gap[rules])} {_interval(gap[rules]):>16} {_count(gap[rules]):>9}"
            for rules in (first, second)
        ]
        difference = f"{'-':>7}" if gap["gap"] is None else f"{gap['gap']:+7.1%}"
        counts = [f"{_split(each):>13}" for each in (mine, theirs)]
        lines.append(
            f"  {name:<{width}}  {cells[0]:>33}  {cells[1]:>33}  {difference}  {counts[0]} "
            f" {counts[1]}  {where}{more}".rstrip()
        )
    lines.append(
        "  gap: first less second; (n): of them, not failed by the other rules but never reached."
    )
    examples = {name: gap[f"only_{first}"]["example"] for name, gap in gaps.items()}
    others = {name: example for name, example in examples.items() if example and name != "final"}
    lines += [
        f"  {name}, line {example['line']}: {one_line(example['message'])}"
        for name, example in others.items()
    ]
    return "\n".join(lines)


def _split(difference: dict[str, Any]) -> str:
    return (
        f"{difference['n']} ({difference['not_reached']})"
        if difference["not_reached"]
        else str(difference["n"])
    )
