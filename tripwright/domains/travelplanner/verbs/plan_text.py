"""A plan with its verdict for a terminal. Prices stand before the names, in a column of their own:
names of wide characters or of any length then push nothing out of place."""

from __future__ import annotations

from collections.abc import Callable

from tripwright.domains.travelplanner.plan_view import (
    DayView,
    PlanView,
    budget_words,
    usd,
    verdict_words,
)

Sign = Callable[[str, str], str]  # (sign, words) → a piece of a line

_COLOURS = {"✓": "32", "✗": "31", "–": "2"}


def plan_text(view: PlanView, colour: bool = False) -> str:
    sign = _coloured if colour else _plain
    lines = [view.request]
    if view.verdict:
        lines.append(sign("✓" if view.verdict.final else "✗", verdict_words(view.verdict)))
    lines += view.notes
    for day in view.days:
        lines += ["", *_day(day, bool(view.by_kind), sign)]
    if view.by_kind:
        lines += ["", "Costs", *_costs(view, sign)]
    for group, facts in view.facts.items():
        if facts:
            lines += ["", f"{group.capitalize()} constraints"]
        for fact in facts:
            lines.append(f"  {sign(fact.sign, fact.words)}")
            lines += [f"      {detail}" for detail in fact.details]
    return "\n".join(lines)


def _plain(which: str, words: str) -> str:
    return f"{which} {words}"


def _coloured(which: str, words: str) -> str:
    return f"\x1b[{_COLOURS[which]}m{which} {words}\x1b[0m"


def _day(day: DayView, priced: bool, sign: Sign) -> list[str]:
    title = sign(day.sign, day.title) if day.sign else day.title
    cost = f"  {usd(day.cost_usd)}" if day.cost_usd is not None else ""
    lines = [f"{title}  {day.city}{cost}"]
    lines += [f"    {sign('✗', remark)}" for remark in day.remarks]
    for line in day.lines:
        price = "" if line.cost_usd is None else usd(line.cost_usd)
        count = f"  ({line.count})" if line.count else ""
        prices = f"{price:>11}  " if priced else ""
        lines.append(f"  {line.label:<9} {prices}{line.text}{count}")
        lines += [f"  {'':<9} {' ' * len(prices)}{sign('✗', remark)}" for remark in line.remarks]
    return lines


def _costs(view: PlanView, sign: Sign) -> list[str]:
    lines = [f"  {kind:<12} {usd(sum(days.values())):>11}" for kind, days in view.by_kind.items()]
    total = view.verdict.total_cost if view.verdict else None
    if total is not None:
        lines.append(
            f"  {'total':<12} {usd(total):>11}  {sign(*budget_words(total, view.budget_usd))}"
        )
    return lines
