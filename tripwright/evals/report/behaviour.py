"""How the agent worked, read from one transcripts.jsonl, and what is counted of it: mistakes, which
tool follows which, failures, names without ground (row P14), and the gap of two sets of rules on
the same episodes (row B1).

Of each episode only what the figures need is kept. What one line cannot say is left out of that
figure only, so that episodes of any kind of request can be looked at.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, groupby, pairwise
from pathlib import Path
from statistics import fmean
from sys import intern
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tripwright.domains import domains, faces
from tripwright.domains.domain import Counts, Grounding
from tripwright.evals.outcome import Outcome
from tripwright.evals.report.charts import (
    COLOURS,
    QUIET,
    SERIES,
    Chart,
    Drawn,
    Spot,
    csv_text,
    new_axes,
)
from tripwright.evals.report.markup import Estimate, plain, plural, printable
from tripwright.runs import episode_lines
from tripwright.statistics.paired import paired_interval
from tripwright.statistics.rates import paired_bootstrap, ratio_interval
from tripwright.statistics.resampling import Interval
from tripwright.transcript import OVERLONG, StopReason, call_key

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

ANSWER, UNREADABLE = "answer", "(unreadable turn)"
START, NO_ANSWER = "start", "no answer"
SAME = ("policy", "decoding", "dialect", "queries", "world", "samples", "emptied_tools")
SEED = 0
Kind = Literal["fine", "error", "fault", "repeated", "unreadable"]
Count = Callable[["Work"], tuple[int, int]]  # how many of how many


class Step(NamedTuple):
    """One turn that was no answer: the tool it called, and what came of it."""

    tool: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Work:
    """One episode. `tokens` were written by the agent and `context` is all of its tokens; None
    where the transcript does not say."""

    id: str
    domain: str
    query: str
    scored: bool
    passed: bool
    stop: str
    steps: tuple[Step, ...]
    turns: int
    tokens: float | None
    characters: int
    context: int | None
    asked: tuple[str, ...]  # constraints that it is held to
    failed: frozenset[str]  # of them
    ungrounded: tuple[Counts | None, ...]  # in each sense of its domain's

    @property
    def answered(self) -> bool:
        return self.stop == StopReason.ANSWER

    @property
    def overlong(self) -> bool:
        return self.stop in OVERLONG

    @property
    def calls(self) -> int:
        return sum(step.kind != "unreadable" for step in self.steps)

    def count(self, *kinds: Kind) -> int:
        return sum(step.kind in kinds for step in self.steps)


@dataclass(frozen=True)
class Behaviour:
    """All episodes of one evaluation. `offered`: the tools that the agent had, where the run card
    says."""

    name: str
    works: list[Work]
    unreadable: int = 0  # lines
    offered: frozenset[str] = frozenset()
    rules: str | None = None
    card: Mapping[str, Any] = field(default_factory=dict)

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

    @property
    def counts_tokens(self) -> bool:
        return bool(self.scored) and all(work.tokens is not None for work in self.scored)


Behaviours = Mapping[str, Behaviour]


def read_behaviour(
    name: str, path: Path, score: Mapping[str, Any], card: Mapping[str, Any]
) -> Behaviour:
    """`card`: of the run that made the episodes; it names the tools' face."""
    works: list[Work] = []
    unreadable = 0
    for line in episode_lines(path):
        try:
            works.append(read_work(line.record()))
        except (ValueError, KeyError, TypeError, AttributeError):
            unreadable += 1
    rules, dialect = score.get("rules"), card.get("dialect")
    face = faces().get(str(dialect.get("face"))) if isinstance(dialect, dict) else None
    offered = (schema["function"]["name"] for schema in face.schemas()) if face else ()
    return Behaviour(
        name, works, unreadable, frozenset(offered), rules if isinstance(rules, str) else None, card
    )


def read_work(record: Mapping[str, Any]) -> Work:
    """Raises ValueError, KeyError, TypeError or AttributeError for what is no episode of a run."""
    transcript, outcome = record["transcript"], Outcome.of(record)
    segments = transcript["segments"]
    ids = sum(len(segment.get("token_ids") or ()) for segment in segments)
    domain = domains().get(outcome.domain)
    senses = domain.ungrounded if outcome.scored and domain is not None else ()
    return Work(
        id=outcome.id,
        domain=intern(outcome.domain),
        query=outcome.query,
        scored=outcome.scored,
        passed=outcome.final,
        stop=intern(outcome.stop_reason),
        steps=tuple(_steps(segments, outcome.stop_reason)),
        turns=outcome.turns,
        tokens=outcome.completion_tokens,
        characters=sum(len(each["text"]) for each in segments if each["role"] == "assistant"),
        context=ids or None,
        asked=outcome.asked,
        failed=frozenset(outcome.asked if outcome.scored else ()).difference(outcome.passed),
        ungrounded=tuple(each.counts(record) for each in senses),
    )


def _steps(segments: list[dict[str, Any]], stop: str | None) -> Iterator[Step]:
    """In order. A turn that ended the episode as a mistake is its last step."""
    earlier: set[str] = set()
    last = ""
    for segment in segments:
        if segment["role"] == "assistant":
            last = segment["text"]
        if call := segment.get("call"):
            key = call_key(call["name"], call["arguments"])
            kind: Kind = "fine"
            if key in earlier:
                kind = "repeated"
            elif call.get("fault"):
                kind = "fault"
            elif call.get("error"):
                kind = "error"
            if kind != "fault":  # what got no answer may be asked again
                earlier.add(key)
            yield Step(intern(str(call["name"])), kind)
        elif problem := segment.get("problem"):
            yield _mistake(problem, segment["text"])
    if stop in (StopReason.REPEATED_CALL, StopReason.FORMAT_ERROR):
        yield _mistake(stop, last)


def _mistake(problem: str, text: str) -> Step:
    """The tool of a call that was refused stands in the turn's text alone."""
    if problem != StopReason.REPEATED_CALL:
        return Step(UNREADABLE, "unreadable")
    body = text.rpartition("<tool_call>")[2].partition("</tool_call>")[0]
    try:
        tool = str(json.loads(body)["name"])
    except (ValueError, KeyError, TypeError):
        tool = body.partition("(")[0].strip()[:60] or UNREADABLE
    return Step(intern(tool), "repeated")


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
    failed = Counter(
        name for work in behaviour.scored for name in work.asked if name in work.failed
    )
    return {name: (failed[name] / n, n) for name, n in held.items()}


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
    first, second = ({work.id: work for work in each.scored} for each in (official, strict))
    samples: dict[str, list[tuple[Work, Work]]] = {}
    both = sorted(first.keys() & second.keys())
    for id in both:
        samples.setdefault(first[id].query, []).append((first[id], second[id]))
    if not both:
        return None
    queries = [
        (fmean(a.passed for a, _ in each), fmean(b.passed for _, b in each))
        for each in samples.values()
    ]
    rates = fmean(passed for passed, _ in queries), fmean(passed for _, passed in queries)
    return Gap(official.name, strict.name, *rates, *_interval(queries), len(both))


def _interval(queries: Sequence[tuple[float, float]]) -> Interval:
    """Tango's where each query is one yes or no, and where all queries agree: a bootstrap has no
    spread there."""
    differences, n = [official - strict for official, strict in queries], len(queries)
    if all(rate in (0.0, 1.0) for pair in queries for rate in pair):
        return paired_interval(sum(d > 0 for d in differences), sum(d < 0 for d in differences), n)
    if min(differences) == max(differences):
        change = round(differences[0] * n)
        return paired_interval(max(change, 0), max(-change, 0), n)
    official, strict = zip(*queries, strict=True)
    _, low, high = paired_bootstrap(strict, official, SEED)
    return Interval(low, high)


# ---- calls, episode by episode


MOST_ROWS = 60
TOOL_COLOURS = (0, 2, 4, 3, 6, 7, 5)  # 1 is for turns that cannot be read
MISTAKE = SERIES[1]
HEIGHTS = {"error": 0.45, "fault": 0.45, "repeated": 0.2}  # of a cell, as a share of its row


def ordered(works: Sequence[Work]) -> list[Work]:
    """Passing first, then answers that fail, then the other ends; within each the shorter first,
    and those alike together."""

    def key(work: Work) -> tuple[Any, ...]:
        end = (not work.passed, not work.answered, work.stop)
        return (*end, len(work.steps), work.steps, work.id)

    return sorted(works, key=key)


def outcome_words(work: Work) -> str:
    return "passed" if work.passed else "failed" if work.answered else plain(work.stop)


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
    left, right, top, width, row = 96, 6, 16, 520, 6.0

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
        bands, floor = [], 0.0  # outcome, its episodes, where its rows begin
        for outcome, group in groupby(sample, outcome_words):
            rows = list(group)
            bands.append((outcome, rows, floor))
            floor += max(self.row * len(rows), 26) + 5
        legend = self._legend(sample)
        below, inside = 16 * -(-len(legend) // 3) + 4, self.width - self.left - self.right
        # one unit of the axes is one pixel; x counts from the first call
        size = (self.width, self.top + floor + below)
        axes = new_axes(*size, self.left, self.right, self.top, below)
        axes.set_xlim(0, inside)
        axes.set_ylim(floor, 0)
        axes.set_axis_off()
        axes.text(0, -5, "calls in their order →", **QUIET)
        cell = min(30.0, inside / (max(len(work.steps) for work in sample) + 1))
        spots: list[Spot] = []
        for outcome, rows, top in bands:
            middle = top + max(self.row * len(rows), 12) / 2
            axes.text(-8, middle, printable(outcome), ha="right", **QUIET)
            axes.text(-8, middle + 11, f"{counts[outcome]:,}", ha="right", **QUIET)
            for i, work in enumerate(rows):
                y = top + self.row * i
                self._row(axes, work, y, cell)
                path = " → ".join([*map(step_words, work.steps), plain(work.stop)])
                spots.append((0, inside, y, y + self.row, f"{work.id}, {outcome}: {path}"))
        axes.figure.legend(*zip(*legend, strict=True), loc="lower left", ncols=3)
        episodes = plural(len(in_order), "episode")
        of = f"{count} of {episodes}" if count < len(in_order) else episodes
        told = ", ".join(f"{name} {n:,}" for name, n in counts.items())
        words = f"One row for each of {of}, sorted by outcome: {told}."
        return Drawn(axes, words, self._figures(sample), spots)

    def _row(self, axes: Axes, work: Work, y: float, cell: float) -> None:
        """Its cells, then a dot for an answer or a cross for an end without one."""
        if work.steps:
            full = self.row - 1
            heights = [full * HEIGHTS.get(step.kind, 1.0) for step in work.steps]
            tops = [y + full - height for height in heights]
            lefts = [cell * i for i in range(len(heights))]
            style: Any = {"color": list(map(self._ink, work.steps)), "alpha": 0.85}
            axes.barh(tops, max(cell - 0.8, 0.6), heights, lefts, align="edge", **style)
        place = cell * len(work.steps) + 4, y + self.row / 2
        if work.answered:
            axes.plot(*place, "o", c=SERIES[2], ms=4.4)
        else:
            axes.plot(*place, "x", c=MISTAKE, ms=4)

    def _figures(self, sample: Sequence[Work]) -> str:
        rows = []
        for work in sample:
            path = " > ".join(map(step_words, work.steps))
            rows.append([work.id, "passed" if work.passed else "failed", work.stop, path])
        head = ["episode", "outcome", "stop reason", "turns that were no answer, in order"]
        return csv_text(head, rows)

    def _legend(self, works: Sequence[Work]) -> list[tuple[Artist, str]]:
        """Marks with their words, of what is there."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        steps = {step for work in works for step in work.steps}
        tools = [tool for tool in self.tools if any(step.tool == tool for step in steps)]
        apart = len(TOOL_COLOURS) if len(tools) == len(TOOL_COLOURS) else len(TOOL_COLOURS) - 1
        entries: list[tuple[Artist, str]] = [
            (Patch(color=self._ink(Step(tool, "fine"))), printable(tool)) for tool in tools[:apart]
        ]
        if len(tools) > apart:
            entries.append((Patch(color=SERIES[TOOL_COLOURS[-1]]), "other tools"))
        kinds = {step.kind for step in steps}

        def mark(words: str, **style: Any) -> None:
            entries.append((Line2D([], [], **style), words))

        if "unreadable" in kinds:
            entries.append((Patch(color=MISTAKE), "unreadable turn"))
        if "error" in kinds:
            mark("low: the call failed", c=SERIES[5], lw=4)
        elif "fault" in kinds:
            mark("low: made to fail", c=SERIES[5], lw=4)
        if "repeated" in kinds:
            mark("thin: repeated call", c=SERIES[5], lw=1.5)
        if any(work.answered for work in works):
            mark("answer", ls="", marker="o", c=SERIES[2], ms=5)
        if not all(work.answered for work in works):
            mark("ended without one", ls="", marker="x", c=MISTAKE, ms=5)
        return entries
