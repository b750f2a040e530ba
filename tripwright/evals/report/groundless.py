"""Names and claims in answers that rest on nothing, kind by kind, in each sense that a domain knows
(`Domain.ungrounded`, row P14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tripwright.domains import domains
from tripwright.domains.domain import Grounding
from tripwright.evals.report.bars import range_strip
from tripwright.evals.report.charts import Frame, Series, line_chart
from tripwright.evals.report.curves import figure
from tripwright.evals.report.markup import (
    Estimate,
    esc,
    estimate_cell,
)
from tripwright.evals.report.mistakes import per_query, ratio
from tripwright.evals.report.training_charts import STEP
from tripwright.evals.report.work import Behaviour, Work

Behaviours = Mapping[str, Behaviour]
Found = dict[str, Estimate]  # kind → share
MOST_MARKS = 4  # in one strip


def groundless_part(
    behaviours: Behaviours, titles: Mapping[str, str], steps: Mapping[str, float]
) -> str:
    """Tables, and curves over the `steps` of evaluations that are checkpoints; "" where no answer
    names anything."""
    works = {name: behaviour.scored for name, behaviour in behaviours.items()}
    names = dict.fromkeys(work.domain for each in works.values() for work in each)
    blocks = ""
    for domain in (domains()[name] for name in names if name in domains()):
        for place, sense in enumerate(domain.ungrounded):
            by_evaluation = {
                name: shares(sense, place, [work for work in each if work.domain == domain.name])
                for name, each in works.items()
            }
            blocks += _block(sense.title, sense.note, by_evaluation, titles, steps)
    return f"<h3>Names and claims without ground</h3>{blocks}" if blocks else ""


def shares(sense: Grounding, place: int, works: Sequence[Work]) -> Found:
    """Kind → share of the answers that have it in which one rests on nothing, with its 95% interval
    over queries. `place`: of the sense among its domain's."""
    looked_at = [work for work in works if work.ungrounded[place] is not None]
    kinds = {kind for work in looked_at for kind in work.ungrounded[place] or ()}
    by_kind = {}
    for kind in (
        *(kind for kind in sense.kinds if kind in kinds),
        *sorted(kinds.difference(sense.kinds)),
    ):

        def count(work: Work, kind: str = kind) -> tuple[int, int]:
            without, of = (work.ungrounded[place] or {}).get(kind, (0, 0))
            return int(without > 0), int(of > 0 or sense.of_every_answer)

        if share := ratio(per_query(looked_at, count)):
            by_kind[kind] = share
    return by_kind


def _block(
    title: str,
    note: str,
    by_evaluation: Mapping[str, Found],
    titles: Mapping[str, str],
    steps: Mapping[str, float],
) -> str:
    fields = list(dict.fromkeys(field for each in by_evaluation.values() for field in each))
    if not fields:
        return ""
    there = {name: each for name, each in by_evaluation.items() if each}
    keyed = len(there) <= MOST_MARKS
    head = "".join(
        f'<th class="num">{_key(i) if keyed else ""}{esc(titles[name])}</th>'
        for i, name in enumerate(there)
    )
    rows = "".join(_row(field, there, titles) for field in fields)
    scale = (
        '<th class="stripcell"><span'
        ' class="scale"><span>0</span><span>50</span><span>100%</span></span></th>'
    )
    table = (
        "<div"
        f' class="scroll"><table><thead><tr><th></th>{scale}{head}</tr></thead><tbody>{rows}</tbody></table></div>'  # noqa: E501
    )
    return (
        f"<h4>{title}</h4><p"
        f' class="lede">{note}</p>{table}{_over_steps(title, fields, there, steps)}'
    )


def _key(colour: int) -> str:
    return f'<span class="key"><i class="s{colour}"></i></span>'


def _row(field: str, by_evaluation: Mapping[str, Found], titles: Mapping[str, str]) -> str:
    marks = [
        (titles[name], each[field], i)
        for i, (name, each) in enumerate(by_evaluation.items())
        if field in each
    ]
    strip = range_strip(marks) if len(marks) <= MOST_MARKS else ""
    cells = "".join(estimate_cell(each.get(field)) for each in by_evaluation.values())
    return (
        f'<tr><th scope="row">{esc(field.capitalize())}</th><td'
        f' class="stripcell">{strip}</td>{cells}</tr>'
    )


def _over_steps(
    title: str, fields: list[str], by_evaluation: Mapping[str, Found], steps: Mapping[str, float]
) -> str:
    """One line for each kind, where evaluations are checkpoints."""
    curves = {
        field: tuple(
            (x, by_evaluation[name][field].value)
            for name, x in steps.items()
            if field in by_evaluation.get(name, {})
        )
        for field in fields
    }
    lines = [
        Series(field, curve, i) for i, (field, curve) in enumerate(curves.items()) if len(curve) > 1
    ]
    title = f"{title}, examined checkpoints"
    chart = figure(title, line_chart(lines, Frame(title, STEP, "share of answers", percent=True)))
    return f'<div class="charts">{chart}</div>' if chart else ""
