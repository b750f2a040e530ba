"""Mistakes and lengths of each evaluation as a table: repeated and failing calls, unreadable turns,
episodes cut off (row P14)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tripwright.evals.report.markup import (
    Estimate,
    esc,
    estimate_cell,
    plural,
    short,
)
from tripwright.evals.report.work import Behaviour, Work
from tripwright.statistics.rates import ratio_interval

Count = Callable[[Work], tuple[int, int]]  # how many of how many


def shares(behaviour: Behaviour) -> dict[str, Estimate]:
    """Each rate with its 95% interval over queries; one that has nothing to count is absent."""
    unknown = behaviour.unknown_tools
    counts: dict[str, Count] = {
        "repeated": lambda work: (work.count("repeated"), work.calls),
        "unreadable": lambda work: (work.count("unreadable"), work.turns),
        "errors": lambda work: (work.count("error"), work.calls),
        "unknown": lambda work: (
            sum(step.tool in unknown and step.kind == "error" for step in work.steps),
            work.calls,
        ),
        "overlong": lambda work: (int(work.overlong), 1),
        "unanswered": lambda work: (int(not work.answered), 1),
    }
    ratios = {name: ratio(per_query(behaviour.scored, count)) for name, count in counts.items()}
    return {name: each for name, each in ratios.items() if each is not None}


def per_query(works: Sequence[Work], count: Count) -> list[tuple[int, int]]:
    """(how many, of how many) over the samples of each query that has any."""
    sums: dict[str, tuple[int, int]] = {}
    for work in works:
        (k, n), (k_before, n_before) = count(work), sums.get(work.query, (0, 0))
        sums[work.query] = (k + k_before, n + n_before)
    return [(k, n) for k, n in sums.values() if n]


def ratio(counts: Sequence[tuple[int, int]]) -> Estimate | None:
    """Σk / Σn over queries that hold k of n, with a 95% interval over queries: a bootstrap of ten
    thousand would take longer than all else on the page. None for no counts."""
    k_all, n_all = sum(k for k, _ in counts), sum(n for _, n in counts)
    if not n_all:
        return None
    squares = (
        sum(k * k for k, _ in counts),
        sum(k * n for k, n in counts),
        sum(n * n for _, n in counts),
    )
    return Estimate(
        k_all / n_all, *ratio_interval(len(counts), k_all, n_all, squares), k_all, n_all
    )


_WORDS = {
    "repeated": ("Repeated calls", "of calls: the tool and arguments of an earlier one"),
    "errors": ("Calls that failed", "of calls: an error of the agent's making"),
    "unknown": ("Calls of unknown tools", "of calls: the tool does not exist"),
    "unreadable": ("Unreadable turns", "of turns: neither a call nor an answer"),
    "overlong": ("Cut off by length", "of episodes: a limit of tokens"),
    "unanswered": ("No answer", "of episodes, for whatever reason"),
}
_LENGTHS: tuple[tuple[str, str, Callable[[Work], float | None]], ...] = (
    ("Calls", "per episode", lambda work: work.calls),
    ("Turns", "per episode", lambda work: work.turns),
    ("Tokens written", "by the agent, per episode", lambda work: work.tokens),
    ("Tokens in all", "of the context at its end", lambda work: work.context),
)


def mistakes_table(behaviours: Mapping[str, Behaviour], titles: Mapping[str, str]) -> str:
    """One row per figure, one column per evaluation."""
    by_evaluation = {name: shares(behaviour) for name, behaviour in behaviours.items()}
    rows = []
    for key, (title, note) in _WORDS.items():
        cells = "".join(estimate_cell(each.get(key)) for each in by_evaluation.values())
        rows.append(f'<tr><th scope="row">{title}<small>{note}</small></th>{cells}</tr>')
    for title, note, value in _LENGTHS:
        spreads = [_spread(behaviour.scored, value) for behaviour in behaviours.values()]
        if any(spreads):
            rows.append(
                "<tr><th"
                f' scope="row">{title}<small>{note}</small></th>{"".join(map(_spread_cell, spreads))}</tr>'  # noqa: E501
            )
    head = "".join(
        f'<th class="num">{esc(titles[name])}<small>{_counted(each)}</small></th>'
        for name, each in behaviours.items()
    )
    return (
        "<div"
        f' class="scroll"><table><thead><tr><th></th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'  # noqa: E501
    )


def _counted(behaviour: Behaviour) -> str:
    unscored = len(behaviour.works) - len(behaviour.scored)
    return plural(len(behaviour.scored), "episode") + (
        f", {unscored:,} unscored left out" if unscored else ""
    )


def quantile_of(ordered: Sequence[float], q: float) -> float:
    """The value that the share `q` of them does not exceed; one of them, never a mean of two."""
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def _spread(
    works: Sequence[Work], value: Callable[[Work], float | None]
) -> tuple[float, float, float] | None:
    """Median, 90% quantile and maximum of those that say."""
    ordered = sorted(figure for work in works if (figure := value(work)) is not None)
    return (quantile_of(ordered, 0.5), quantile_of(ordered, 0.9), ordered[-1]) if ordered else None


def _spread_cell(spread: tuple[float, float, float] | None) -> str:
    if spread is None:
        return '<td class="num muted">–</td>'
    median, high, most = map(short, spread)
    return f'<td class="num">{median}<small>90% ≤ {high}, most {most}</small></td>'
