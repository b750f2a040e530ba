"""How the agent worked in one evaluation, and what is counted of it: mistakes, which tool follows
which, failures, names without ground (row P14), and the gap of two sets of rules on the same
episodes (row B1). What one line cannot say is left out of that figure only, so that episodes of any
kind of request can be looked at.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, groupby, pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from tripwright.domains import faces
from tripwright.domains.domain import Grounding
from tripwright.evals.report.charts import (
    COLOURS,
    QUIET,
    SERIES,
    Chart,
    Drawn,
    csv_text,
    new_axes,
)
from tripwright.evals.report.folder import Step, Work
from tripwright.evals.report.markup import Estimate, plain, plural, printable
from tripwright.statistics.paired import paired_interval
from tripwright.statistics.rates import bootstrap_mean, ratio_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

ANSWER, START, NO_ANSWER = "answer", "start", "no answer"
SAME = ("policy", "decoding", "dialect", "queries", "world", "samples", "emptied_tools")
SEED = 0
Count = Callable[[Work], tuple[int, int]]  # how many of how many


@dataclass(frozen=True)
class Behaviour:
    """All episodes of one evaluation. `offered`: the tools that the agent had, where the run card
    says."""

    name: str
    works: Sequence[Work]
    offered: frozenset[str] = frozenset()
    rules: str | None = None
    card: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, name: str, works: Sequence[Work], score: Mapping[str, Any], card: Mapping[str, Any]
    ) -> Behaviour:
        """`card`: of the run that made the episodes; it names the tools' face."""
        rules, dialect = score.get("rules"), card.get("dialect")
        face = faces().get(str(dialect.get("face"))) if isinstance(dialect, dict) else None
        offered = frozenset(each["function"]["name"] for each in (face.schemas() if face else ()))
        return cls(name, works, offered, rules if isinstance(rules, str) else None, card)

    @cached_property
    def scored(self) -> list[Work]:
        return [work for work in self.works if work.scored]

    @cached_property
    def tools(self) -> Counter[str]:
        return Counter(
            step.tool for work in self.scored for step in work.steps if step.kind != "unreadable"
        )

    @cached_property
    def unknown_tools(self) -> frozenset[str]:
        """Names that were called, are not among those offered, and never got an answer without an
        error."""
        answered = {step.tool for work in self.scored for step in work.steps if step.kind == "fine"}
        return frozenset(self.tools) - self.offered - answered

    @property
    def has_steps(self) -> bool:
        """False where every turn is an answer: questions that are asked without tools."""
        return any(work.steps for work in self.scored)


Behaviours = Mapping[str, Behaviour]


# ---- shares with their intervals


def ratio(works: Iterable[Work], count: Count) -> Estimate | None:
    """Σk / Σn, with a 95% interval over queries, each with all its samples: a bootstrap of ten
    thousand would take longer than all else on the page. None where there is nothing to count."""
    sums: dict[str, tuple[int, int]] = {}
    for work in works:
        (k, n), (k_before, n_before) = count(work), sums.get(work.query, (0, 0))
        sums[work.query] = (k + k_before, n + n_before)
    return ratio_of([(k, n) for k, n in sums.values() if n])


def ratio_of(counts: Sequence[tuple[int, int]]) -> Estimate | None:
    """Of queries that hold k of n."""
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


def mistakes(behaviour: Behaviour) -> dict[str, Estimate]:
    """Each rate by its name; one that has nothing to count is absent."""
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
    rates = {name: ratio(behaviour.scored, count) for name, count in counts.items()}
    return {name: rate for name, rate in rates.items() if rate is not None}


def groundless(sense: Grounding, place: int, works: Sequence[Work]) -> dict[str, Estimate]:
    """Kind → share of the answers that have it in which one rests on nothing. `place`: of the sense
    among its domain's."""
    looked_at = [work for work in works if work.ungrounded[place] is not None]
    kinds = {kind for work in looked_at for kind in work.ungrounded[place] or ()}
    by_kind = {}
    for kind in (*filter(kinds.__contains__, sense.kinds), *sorted(kinds.difference(sense.kinds))):

        def count(work: Work, kind: str = kind) -> tuple[int, int]:
            without, of = (work.ungrounded[place] or {}).get(kind, (0, 0))
            return int(without > 0), int(of > 0 or sense.of_every_answer)

        if share := ratio(looked_at, count):
            by_kind[kind] = share
    return by_kind


def failing(behaviour: Behaviour) -> dict[str, tuple[float, int]]:
    """Constraint → (share of the episodes held to it that fail it, how many those are). What was
    not evaluated counts as failed."""
    held = Counter(name for work in behaviour.scored for name in work.asked)
    passed = Counter(name for work in behaviour.scored for name in work.passed)
    return {name: ((n - passed[name]) / n, n) for name, n in held.items()}


def transitions(works: Iterable[Work]) -> Counter[tuple[str, str]]:
    """How often each step follows each; an episode goes from `start` to `answer` or to `no
    answer`."""
    counts: Counter[tuple[str, str]] = Counter()
    for work in works:
        end = ANSWER if work.answered else NO_ANSWER
        counts.update(pairwise([START, *(step.tool for step in work.steps), end]))
    return counts


def quantile_of(ordered: Sequence[float], q: float) -> float:
    """The value that the share `q` of them does not exceed; one of them, never a mean of two."""
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


# ---- two sets of rules on the same episodes


class Gap(NamedTuple):
    """Passes under the official rules less passes under the strict ones, of `n` episodes that both
    judged. Rates are means over queries of the mean over their samples; paired 95% interval over
    queries."""

    official: str  # names of the two evaluations
    strict: str
    official_rate: float
    strict_rate: float
    low: float
    high: float
    n: int

    @property
    def value(self) -> float:
        return self.official_rate - self.strict_rate


def gaps(behaviours: Behaviours) -> list[Gap]:
    """Of each pair of evaluations under official and strict rules whose run cards agree in all
    else."""
    found = []
    for first, second in combinations(behaviours.values(), 2):
        pair = {first.rules: first, second.rules: second}
        alike = all(first.card.get(key) == second.card.get(key) for key in SAME)
        if set(pair) == {"official", "strict"} and alike:
            found.append(_gap(pair["official"], pair["strict"]))
    return [gap for gap in found if gap]


def _gap(official: Behaviour, strict: Behaviour) -> Gap | None:
    """The interval is Tango's where each query is one yes or no, and where all queries agree: a
    bootstrap has no spread there."""
    others = {work.id: work for work in strict.scored}
    samples: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for work in sorted(official.scored, key=lambda each: each.id):
        if other := others.get(work.id):
            samples[work.query].append((work.final, other.final))
    if not samples:
        return None
    rates = [tuple(map(fmean, zip(*each, strict=True))) for each in samples.values()]
    first, second = zip(*rates, strict=True)
    differences, n = [a - b for a, b in rates], len(rates)
    if {*first, *second} <= {0.0, 1.0} or min(differences) == max(differences):
        gained, lost = (sum(max(sign * d, 0.0) for d in differences) for sign in (1, -1))
        low, high = paired_interval(round(gained), round(lost), n)
    else:
        low, high = bootstrap_mean(differences, SEED)
    count = sum(map(len, samples.values()))
    return Gap(official.name, strict.name, fmean(first), fmean(second), low, high, count)


# ---- calls, episode by episode


MOST_ROWS = 60
TOOL_COLOURS = (0, 2, 4, 3, 6, 7, 5)  # 1 is for turns that cannot be read
MISTAKE, ANSWERED = SERIES[1], SERIES[2]
HEIGHTS = {"error": 0.45, "fault": 0.45, "repeated": 0.2}  # of a cell, as a share of its row
SIGNS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("unreadable turn", {"c": MISTAKE, "ls": "", "marker": "s", "ms": 8}),
    ("low: the call failed", {"c": SERIES[5], "lw": 4}),
    ("thin: repeated call", {"c": SERIES[5], "lw": 1.5}),
    ("answer", {"c": ANSWERED, "ls": "", "marker": "o", "ms": 4}),
    ("ended without one", {"c": MISTAKE, "ls": "", "marker": "x", "ms": 4}),
)
LEGEND_COLUMNS = 3


def ordered(works: Sequence[Work]) -> list[Work]:
    """Passing first, then answers that fail, then the other ends; within each the shorter first,
    and those alike together."""

    def key(work: Work) -> tuple[Any, ...]:
        end = (not work.final, not work.answered, work.stop_reason)
        return (*end, len(work.steps), work.steps, work.id)

    return sorted(works, key=key)


def outcome_words(work: Work) -> str:
    return "passed" if work.final else "failed" if work.answered else plain(work.stop_reason)


def step_words(step: Step) -> str:
    return step.tool if step.kind in ("fine", "unreadable") else f"{step.tool} ({step.kind})"


@dataclass(frozen=True)
class CallStrips(Chart):
    """One row for each episode, one coloured cell for each call, sorted by outcome (Planner-R1,
    figures A.11 and A.12; row P14): at most MOST_ROWS, evenly spaced in their order, so that each
    outcome keeps its share.

    What goes wrong is told by shape as well as by colour: a failed call is a low cell, a repeated
    one a thin one, and a cross ends an episode without an answer.
    """

    title: str
    works: Sequence[Work]
    tools: Sequence[str]  # of the page: the same colour for a tool in every strip
    left, right, top, width, row, band = 96, 6, 16, 520, 6.0, 26.0

    def __bool__(self) -> bool:
        return bool(self.works)

    def _ink(self, step: Step) -> str:
        """Beyond seven tools the rest shares the last colour."""
        if step.kind == "unreadable":
            return MISTAKE
        place = self.tools.index(step.tool) if step.tool in self.tools else COLOURS
        return SERIES[TOOL_COLOURS[min(place, len(TOOL_COLOURS) - 1)]]

    def draw(self) -> Drawn:
        in_order = ordered(self.works)
        count = min(len(in_order), MOST_ROWS)
        sample = [in_order[i * len(in_order) // count] for i in range(count)]
        counts = Counter(map(outcome_words, in_order))
        bands = [(outcome, list(rows)) for outcome, rows in groupby(sample, outcome_words)]
        heights = [max(self.row * len(rows), self.band) + 5 for _, rows in bands]
        legend = self._legend()
        below, inside = (
            16 * -(-len(legend) // LEGEND_COLUMNS) + 4,
            self.width - self.left - self.right,
        )
        # one unit of the axes is one pixel; x counts from the first call
        size = (self.width, self.top + sum(heights) + below)
        axes = new_axes(*size, self.left, self.right, self.top, below)
        axes.set(xlim=(0, inside), ylim=(sum(heights), 0))
        axes.set_axis_off()
        axes.text(0, -5, "calls in their order →", **QUIET)
        cell = min(30.0, inside / (max(len(work.steps) for work in sample) + 1))
        y = 0.0
        for (outcome, rows), height in zip(bands, heights, strict=True):
            words = f"{printable(outcome)}\n{counts[outcome]:,}"
            axes.text(-8, y + (height - 5) / 2, words, ha="right", va="center", **QUIET)
            for i, work in enumerate(rows):
                self._row(axes, work, y + self.row * i, cell)
            y += height
        axes.figure.legend(handles=legend, loc="lower left", ncols=LEGEND_COLUMNS)
        episodes = plural(len(in_order), "episode")
        of = f"{count} of {episodes}" if count < len(in_order) else episodes
        told = ", ".join(f"{name} {n:,}" for name, n in counts.items())
        words = f"One row for each of {of}, sorted by outcome: {told}."
        return Drawn(axes, words, self._figures(sample))

    def _row(self, axes: Axes, work: Work, y: float, cell: float) -> None:
        """Its cells, then a dot for an answer or a cross for an end without one."""
        full = self.row - 1
        heights = [full * HEIGHTS.get(step.kind, 1.0) for step in work.steps]
        tops = [y + full - height for height in heights]
        lefts = [cell * i for i in range(len(heights))]
        style: Any = {"color": list(map(self._ink, work.steps)), "alpha": 0.85}
        axes.barh(tops, max(cell - 0.8, 0.6), heights, lefts, align="edge", **style)
        sign, ink = ("o", ANSWERED) if work.answered else ("x", MISTAKE)
        axes.plot(cell * len(work.steps) + 4, y + self.row / 2, sign, c=ink, ms=4)

    def _figures(self, sample: Sequence[Work]) -> str:
        rows = []
        for work in sample:
            path = " > ".join(map(step_words, work.steps))
            rows.append([work.id, "passed" if work.final else "failed", work.stop_reason, path])
        head = ["episode", "outcome", "stop reason", "turns that were no answer, in order"]
        return csv_text(head, rows)

    def _legend(self) -> list[Line2D]:
        from matplotlib.lines import Line2D

        most = len(TOOL_COLOURS)
        named = self.tools if len(self.tools) <= most else [*self.tools[: most - 1], "other tools"]
        signs: list[tuple[str, dict[str, Any]]] = [
            (printable(tool), {"c": SERIES[colour], "ls": "", "marker": "s", "ms": 8})
            for tool, colour in zip(named, TOOL_COLOURS, strict=False)
        ]
        return [Line2D([], [], label=words, **style) for words, style in (*signs, *SIGNS)]
