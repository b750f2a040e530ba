"""How the agent worked in one evaluation, and what is counted of it: mistakes, which tool follows
which, failures, names without ground (row P14). What one line cannot say is left out of that figure
only, so that episodes of any kind of request can be looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby, pairwise
from typing import Any

from tripwright.domains import domains, faces
from tripwright.domains.domain import Grounding
from tripwright.errors import counted
from tripwright.evals.report.charts import COLOURS, Lines, Series
from tripwright.evals.report.folder import (
    UNREADABLE,
    Evaluation,
    ReportedRun,
    Step,
    Work,
    of_one_run,
    steps_of,
)
from tripwright.evals.report.learning import (
    STEP,
    failure_table,
    metric_series,
    rate_series,
    share_cell,
    sub_reward_figure,
)
from tripwright.evals.report.markup import Estimate, plain, short
from tripwright.evals.report.page import (
    Cell,
    Figure,
    PageTable,
    Part,
    Section,
    Text,
    Value,
    sentence,
    under,
)
from tripwright.runs import object_in
from tripwright.statistics.rates import ratio_interval

ANSWER, START, NO_ANSWER = "answer", "start", "no answer"
Count = Callable[[Work], tuple[int, int]]  # how many of how many


def unknown_tools(evaluation: Evaluation) -> frozenset[str]:
    """Names that were called, are not among those that the agent had (where the card names their
    face), and never got an answer without an error."""
    face = faces().get(str(object_in(evaluation.card, "dialect").get("face")))
    offered = {each["function"]["name"] for each in (face.schemas() if face else ())}
    steps = [step for work in evaluation.scored for step in work.steps]
    answered = {step.tool for step in steps if step.kind == "fine"}
    return frozenset(tools_of([evaluation])) - offered - answered


def tools_of(evaluations: Iterable[Evaluation]) -> list[str]:
    """All tools that were called, the most used first: one order, and one colour each, in every
    picture of a page."""
    works = (work for each in evaluations for work in each.scored)
    steps = (step for work in works for step in work.steps)
    totals = Counter(step.tool for step in steps if step.kind != "unreadable")
    return [tool for tool, _ in sorted(totals.items(), key=lambda item: (-item[1], item[0]))]


# ---- shares with their intervals


def ratio(works: Iterable[Work], count: Count) -> Estimate | None:
    """Σk / Σn, with a 95% interval over queries, each with all its samples: a bootstrap of ten
    thousand would take longer than all else on the page. None where there is nothing to count."""
    sums: dict[str, tuple[int, int]] = {}
    for work in works:
        (k, n), (k_before, n_before) = count(work), sums.get(work.query, (0, 0))
        sums[work.query] = (k + k_before, n + n_before)
    counts = [(k, n) for k, n in sums.values() if n]
    k_all, n_all = sum(k for k, _ in counts), sum(n for _, n in counts)
    if not n_all:
        return None
    squares = (
        sum(k * k for k, _ in counts),
        sum(k * n for k, n in counts),
        sum(n * n for _, n in counts),
    )
    ends = ratio_interval(len(counts), k_all, n_all, squares)
    return Estimate(k_all / n_all, *ends, k_all, n_all)


# name → title, of what, how many of how many; given the unknown tools and an episode
MISTAKES: dict[str, tuple[str, str, Callable[[frozenset[str], Work], tuple[int, int]]]] = {
    "repeated": (
        "Repeated calls",
        "of calls: the tool and arguments of an earlier one",
        lambda _, work: (work.count("repeated"), work.calls),
    ),
    "errors": (
        "Calls that failed",
        "of calls: an error of the agent's making",
        lambda _, work: (work.count("error"), work.calls),
    ),
    "unknown": (
        "Calls of unknown tools",
        "of calls: the tool does not exist",
        lambda unknown, work: (
            sum(step.tool in unknown and step.kind == "error" for step in work.steps),
            work.calls,
        ),
    ),
    "unreadable": (
        "Unreadable turns",
        "of turns: neither a call nor an answer",
        lambda _, work: (work.count("unreadable"), work.turns),
    ),
    "overlong": (
        "Cut off by length",
        "of episodes: a limit of tokens",
        lambda _, work: (int(work.overlong), 1),
    ),
    "unanswered": (
        "No answer",
        "of episodes, for whatever reason",
        lambda _, work: (int(not work.answered), 1),
    ),
}


def mistakes(evaluation: Evaluation) -> dict[str, Estimate]:
    """Each rate by its name; one that has nothing to count is absent."""
    unknown = unknown_tools(evaluation)
    rates = {
        name: ratio(evaluation.scored, partial(count, unknown))
        for name, (_, _, count) in MISTAKES.items()
    }
    return {name: rate for name, rate in rates.items() if rate is not None}


def groundless(sense: Grounding, works: Sequence[Work]) -> dict[str, Estimate]:
    """Kind → share of the answers that have it in which one rests on nothing."""
    looked_at = [work for work in works if sense.title in work.ungrounded]
    kinds = {kind for work in looked_at for kind in work.ungrounded[sense.title]}
    by_kind = {}
    for kind in (*filter(kinds.__contains__, sense.kinds), *sorted(kinds.difference(sense.kinds))):

        def count(work: Work, kind: str = kind) -> tuple[int, int]:
            without, of = work.ungrounded[sense.title].get(kind, (0, 0))
            return int(without > 0), int(of > 0 or sense.of_every_answer)

        if share := ratio(looked_at, count):
            by_kind[kind] = share
    return by_kind


def failing(evaluation: Evaluation) -> dict[str, tuple[float, int]]:
    """Constraint → (share of the episodes held to it that fail it, how many those are). What was
    not evaluated counts as failed."""
    held = Counter(name for work in evaluation.scored for name in work.asked)
    passed = Counter(name for work in evaluation.scored for name in work.passed)
    return {name: ((n - passed[name]) / n, n) for name, n in held.items()}


def transitions(works: Iterable[Work]) -> Counter[tuple[str, str]]:
    """How often each step follows each; an episode goes from `start` to `answer` or to `no
    answer`."""
    counts: Counter[tuple[str, str]] = Counter()
    for work in works:
        end = ANSWER if work.answered else NO_ANSWER
        counts.update(pairwise([START, *(step.tool for step in work.steps), end]))
    return counts


# ---- calls, episode by episode


MOST_ROWS = 60
TOOL_COLOURS = (0, 2, 4, 3, 6, 7, 5)  # 1 is for turns that cannot be read


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


def strips(works: Sequence[Work], tools: Sequence[str]) -> PageTable:
    """One row for each episode, one coloured cell for each call, by outcome (Planner-R1, figures
    A.11 and A.12; row P14): at most MOST_ROWS, evenly spaced in their order, so that each outcome
    keeps its share. `tools`: of the page, which have one colour each in all strips; beyond seven
    the rest shares the last one."""

    def look(step: Step) -> str:
        place = tools.index(step.tool) if step.tool in tools else COLOURS
        colour = TOOL_COLOURS[min(place, len(TOOL_COLOURS) - 1)]
        return f"s{1 if step.kind == 'unreadable' else colour} {step.kind}"

    in_order = ordered(works)
    count = min(len(in_order), MOST_ROWS)
    sample = [in_order[i * len(in_order) // count] for i in range(count)]
    counts = Counter(map(outcome_words, in_order))
    paths = {work.id: " > ".join(map(step_words, work.steps)) for work in sample}
    rows = []
    for outcome, alike in groupby(sample, outcome_words):
        drawn = [(paths[each.id], list(map(look, each.steps)), each.answered) for each in alike]
        episodes = Cell(sentence("strips_of", drawn), css="")
        rows.append([Cell(outcome, (counted(counts[outcome], "episode"),), css=""), episodes])
    return PageTable([], rows, "strips")


# ---- the sections


MOST_SHOWN = 8  # evaluations with pictures of their own
MOST_TOOLS = 12  # in a matrix
OTHER = "other tools"
_LENGTHS: tuple[tuple[str, str, Callable[[Work], float | None]], ...] = (
    ("Calls", "per episode", lambda work: work.calls),
    ("Turns", "per episode", lambda work: work.turns),
    ("Tokens written", "by the agent, per episode", lambda work: work.completion_tokens),
    ("Tokens in all", "of the context at its end", lambda work: work.context),
)


def behaviour_section(columns: Sequence[Evaluation]) -> Section:
    """Of the evaluations of the exam, or the main ones of several runs."""
    return _section("behaviour", "Behaviour", columns)


def checkpoints_section(run: ReportedRun) -> Section:
    """The same of the evaluations while it trained, on requests that no stage trains on."""
    lengths = metric_series(run.validation, "completion_tokens_mean", "tokens written")
    unit = "tokens written per episode"
    figure = Figure(Lines("Length, examined checkpoints", STEP, unit, [lengths]))
    columns = run.validation
    return _section("checkpoints", "Behaviour over training", columns, [figure])


def _section(
    id: str, title: str, columns: Sequence[Evaluation], figures: Sequence[Figure] = ()
) -> Section:
    """Reads each transcripts.jsonl once. Of checkpoints of one run there are curves over steps."""
    found = [each for each in columns if each.scored]
    steps = steps_of(found) if of_one_run(columns) else {}
    steps = steps if len(steps) > 1 else {}
    # checkpoints in order of their steps, then all others
    evaluations = list(dict.fromkeys((*steps.values(), *found)))
    if not evaluations:
        return Section(id, title, [])
    shares, tools = {each.title: failing(each) for each in evaluations}, tools_of(evaluations)
    over = [*figures, _mistakes_over(steps)]
    over += [sub_reward_figure(columns)] if steps else []
    parts = [
        under("Mistakes and lengths", mistakes_table(evaluations)),
        under("What fails, examined", failure_table(shares, "episodes"), note=sentence("fails")),
        under("Over the checkpoints", *over),
        under("Which tool follows which", *_matrices(evaluations, tools), note=sentence("follows")),
        under("Calls, episode by episode", *_strips(evaluations, tools)),
        under("Names and claims without ground", *_groundless_parts(evaluations, steps)),
    ]
    return Section(id, title, parts, sentence("behaviour", bool(figures)))


def _mistakes_over(steps: Mapping[float, Evaluation]) -> Figure:
    """How many answers of each checkpoint are cut off (Planner-R1, Appendix I), repeat themselves
    or end without an answer, with 95% intervals."""
    rates = {step: mistakes(each) for step, each in steps.items()}
    shown = {"overlong": "cut off", "unanswered": "no answer", "repeated": "repeated"}
    lines = [
        rate_series(words, [(x, each[key]) for x, each in rates.items() if key in each], colour)
        for colour, (key, words) in enumerate((shown | {"errors": "failed"}).items())
    ]
    note = "Cut off and without an answer: of episodes. Repeated and failed: of calls."
    drawn = Lines("Mistakes, examined checkpoints", STEP, "share", lines, percent=True)
    return Figure(drawn, note)


def mistakes_table(evaluations: Sequence[Evaluation]) -> PageTable:
    """Repeated and failing calls, unreadable turns, episodes cut off, lengths: one row per figure,
    one column per evaluation."""
    head = []
    for each in evaluations:
        unscored = len(each.works) - len(each.scored)
        left_out = f", {unscored:,} unscored left out" if unscored else ""
        head.append(Cell(each.title, (counted(len(each.scored), "episode") + left_out,)))
    rates = [mistakes(each) for each in evaluations]
    rows: list[tuple[str, str, Sequence[Value]]] = [
        (title, note, [each.get(key) for each in rates])
        for key, (title, note, _) in MISTAKES.items()
    ]
    for title, note, value in _LENGTHS:
        spreads = [_spread(each.scored, value) for each in evaluations]
        rows += [(title, note, spreads)] if any(spreads) else []
    return PageTable.of(head, rows)


def _spread(works: Sequence[Work], value: Callable[[Work], float | None]) -> Cell | None:
    """Median, 90% quantile and maximum of those that say."""
    values = sorted(figure for work in works if (figure := value(work)) is not None)
    if not values:
        return None
    # each is one of the values, never a mean of two
    median, high = (short(values[int(q * len(values))]) for q in (0.5, 0.9))
    return Cell(median, (f"90% ≤ {high}, most {short(values[-1])}",))


def _shown(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Those that have pictures of their own, evenly chosen where they are many. None where every
    turn is an answer: questions that are asked without tools."""
    found = [each for each in evaluations if any(work.steps for work in each.scored)]
    return found[:: -(-len(found) // MOST_SHOWN) or 1]


def _strips(evaluations: Sequence[Evaluation], tools: Sequence[str]) -> list[Part]:
    most, shown = len(TOOL_COLOURS), _shown(evaluations)
    named = tools if len(tools) <= most else [*tools[: most - 1], OTHER]
    legend = Text(sentence("strips", list(zip(TOOL_COLOURS, named, strict=False))))
    pictures = (
        under(f"Calls, episode by episode: {each.title}", strips(each.scored, tools), level=4)
        for each in shown
    )
    return [legend, *pictures] if shown else []


def _matrices(evaluations: Sequence[Evaluation], tools: Sequence[str]) -> list[Section]:
    return [
        Section("", f"Which tool follows which: {each.title}", [_matrix(each, tools)], fold=True)
        for each in _shown(evaluations)
    ]


def _matrix(evaluation: Evaluation, tools: Sequence[str]) -> PageTable:
    """Which tool follows which (Planner-R1, figures A.9 and A.10), as shares of what follows.
    Tools beyond the first twelve count together."""
    first_tools = tools if len(tools) <= MOST_TOOLS else tools[: MOST_TOOLS - 1]
    order = [START, *first_tools, OTHER, UNREADABLE, ANSWER, NO_ANSWER]
    counts: Counter[tuple[str, str]] = Counter()
    totals: Counter[str] = Counter()
    for pair, count in transitions(evaluation.scored).items():
        before, after = (name if name in order else OTHER for name in pair)
        counts[before, after] += count
        totals[before] += count
    rows = [name for name in order if totals[name]]
    columns = [name for name in order if any(counts[row, name] for row in rows)]
    table = []
    for row in rows:
        n = totals[row]
        shares = (
            (counts[row, column] / n, n) if counts[row, column] else None for column in columns
        )
        table.append((row, "", [share_cell(each, "times") for each in shares]))
    return PageTable.of(columns, table, "previous ↓ next →")


def _groundless_parts(
    evaluations: Sequence[Evaluation], steps: Mapping[float, Evaluation]
) -> list[Part]:
    """Names and claims in answers that rest on nothing, kind by kind, in each sense that a domain
    knows: tables, and curves over the `steps` of evaluations that are checkpoints."""
    names = dict.fromkeys(work.domain for each in evaluations for work in each.scored)
    parts: list[Part] = []
    for domain in (domains()[name] for name in names if name in domains()):
        for sense in domain.report.ungrounded:
            found = {}
            for each in evaluations:
                works = [work for work in each.scored if work.domain == domain.name]
                if shares := groundless(sense, works):
                    found[each.title] = shares
            kinds = list(dict.fromkeys(kind for each in found.values() for kind in each))
            lines = []
            for i, kind in enumerate(kinds):
                here = ((x, found.get(each.title, {}).get(kind)) for x, each in steps.items())
                lines.append(Series(kind, tuple((x, rate.value) for x, rate in here if rate), i))
            title = f"{sense.title}, examined checkpoints"
            over = Lines(title, STEP, "share of answers", lines, percent=True)
            rates = {
                kind.capitalize(): {name: each.get(kind) for name, each in found.items()}
                for kind in kinds
            }
            shown = PageTable.of_rates(rates), Figure(over)
            parts.append(under(sense.title, *shown, note=sense.note, level=4))
    return parts
