"""The page of one plan: the days as cards with what is wrong in its place, the costs by day and
kind, every constraint.

It needs no network, and every text of the plan or the request is escaped: whoever is judged wrote
it."""

from __future__ import annotations

from tripwright.domains.travelplanner.plan_view import (
    DayLine,
    DayView,
    FactView,
    PlanView,
    budget_words,
    usd,
    verdict_words,
)
from tripwright.evals.report.markup import esc
from tripwright.evals.report.style import PAGE_CSS

_CLASSES = {"✓": "pass", "✗": "fail", "–": "na"}
_CSS = """
.badge{font-size:20px;font-weight:650;margin:10px 0 2px}.day.broken{border-color:var(--fail)}.day{background:var(--panel)}
.plan{grid-template-columns:repeat(auto-fit,minmax(min(100%,330px),1fr))}.day h5{display:flex;gap:10px;font-size:14px}
.day h5 .num{margin-left:auto}
.day h5 .pass{color:var(--pass)}.day h5 .fail{color:var(--fail)}.day .city{margin:0 0 8px;color:var(--muted);overflow-wrap:anywhere}
.day dd{display:flex;gap:12px}.day dd>span:first-child{min-width:0}.day dd .num{margin-left:auto}
.day dd small{color:var(--muted)}.wrong{color:var(--fail);font-size:13px;margin:0 0 6px;overflow-wrap:anywhere}
tfoot td,tfoot th{font-weight:650}.facts small{padding-left:20px}
"""  # noqa: E501


def plan_page(view: PlanView, source: str, world: str | None) -> str:
    verdict = view.verdict
    badge = ""
    if verdict:
        kind, sign = ("pass", "✓") if verdict.final else ("fail", "✗")
        badge = f'<p class="badge {kind}">{sign} {esc(verdict_words(verdict))}</p>'
    notes = "".join(f'<p class="warning">{esc(note)}</p>' for note in view.notes)
    origin = f"From <code>{esc(source)}</code>" + (
        f", judged in world {esc(world)} under the {esc(verdict.rules)} rules." if verdict else "."
    )
    days = "".join(_day(day) for day in view.days)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport"'
        ' content="width=device-width,initial-scale=1">'
        f"<title>{esc(view.request)}</title><style>{PAGE_CSS}{_CSS}</style></head><body>"
        "<header><p"
        f' class="brand">tripwright</p><h1>{esc(view.request)}</h1>{badge}{_total(view)}{notes}</header><main>'  # noqa: E501
        '<section><h2>Days</h2><div class="days'
        f' plan">{days}</div></section>{_costs(view)}{_constraints(view)}</main>'
        f"<footer><p>{origin}</p></footer></body></html>\n"
    )


def _total(view: PlanView) -> str:
    total = view.verdict.total_cost if view.verdict else None
    if total is None:
        return ""
    sign, words = budget_words(total, view.budget_usd)
    return f'<p>{usd(total)} in all, <span class="{_CLASSES[sign]}">{sign} {esc(words)}</span></p>'


def _day(day: DayView) -> str:
    mark = f'<span class="{_CLASSES[day.sign]}">{day.sign}</span>' if day.sign else ""
    broken = day.sign == "✗"
    cost = f'<span class="num">{usd(day.cost_usd)}</span>' if day.cost_usd is not None else ""
    rows = "".join(_line(line) for line in day.lines)
    return (
        f'<div class="day{" broken" if broken else ""}"><h5>{mark}{esc(day.title)}{cost}</h5>'
        f'<p class="city">{esc(day.city)}</p>{_wrong(day.remarks)}<dl>{rows}</dl></div>'
    )


def _line(line: DayLine) -> str:
    label = f"<dt>{esc(line.label)}</dt>" if line.label else ""
    count = f" <small>{esc(line.count)}</small>" if line.count else ""
    cost = f'<span class="num">{usd(line.cost_usd)}</span>' if line.cost_usd is not None else ""
    wrong = f"<dd>{_wrong(line.remarks)}</dd>" if line.remarks else ""
    return f"{label}<dd><span>{esc(line.text)}{count}</span>{cost}</dd>{wrong}"


def _wrong(remarks: tuple[str, ...]) -> str:
    return (
        f'<div class="wrong">{"<br>".join(f"✗ {esc(remark)}" for remark in remarks)}</div>'
        if remarks
        else ""
    )


def _costs(view: PlanView) -> str:
    """Days in rows, kinds in columns."""
    kinds = view.by_kind
    if not kinds:
        return ""
    days = sorted({day for amounts in kinds.values() for day in amounts})
    head = "".join(f'<th class="num">{esc(kind)}</th>' for kind in kinds)
    rows = "".join(
        _cost_row(f"Day {day}", [amounts.get(day) for amounts in kinds.values()]) for day in days
    )
    foot = _cost_row("All days", [sum(amounts.values()) for amounts in kinds.values()])
    return (
        f'<section><h2>Costs</h2><div class="scroll"><table><thead><tr><th></th>{head}<th'
        ' class="num">total</th></tr></thead>'
        f"<tbody>{rows}</tbody><tfoot>{foot}</tfoot></table></div></section>"
    )


def _cost_row(title: str, amounts: list[float | None]) -> str:
    total = sum(amount for amount in amounts if amount is not None)
    cells = "".join(
        f'<td class="num">{"" if amount is None else usd(amount)}</td>'
        for amount in [*amounts, total]
    )
    return f"<tr><th>{title}</th>{cells}</tr>"


def _constraints(view: PlanView) -> str:
    groups = "".join(
        f"<div><h3>{esc(group.capitalize())} constraints</h3><ul"
        f' class="facts">{"".join(map(_fact, facts))}</ul></div>'
        for group, facts in view.facts.items()
        if facts
    )
    return f'<section><h2>Verdict</h2><div class="two">{groups}</div></section>' if groups else ""


def _fact(fact: FactView) -> str:
    details = "".join(f"<small>{esc(detail)}</small>" for detail in fact.details)
    return f'<li class="{_CLASSES[fact.sign]}">{fact.sign} {esc(fact.words)}{details}</li>'
