"""What the page shows of evaluations, as points of training and by their transcripts: at which step
the model of each was, and what changes from one to the next (rows P12, P14); how the agent worked
in each (rows P14, B1). Those made while it trained and those of the exam ask other requests, so
they are never in one curve."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from tripwright.domains import domains, fact_title
from tripwright.evals.report import learning
from tripwright.evals.report.behaviour import (
    ANSWER,
    NO_ANSWER,
    START,
    Behaviour,
    Behaviours,
    CallStrips,
    failing,
    gaps,
    groundless,
    mistakes,
    quantile_of,
    transitions,
)
from tripwright.evals.report.charts import (
    Bar,
    Chart,
    Grid,
    Histogram,
    Lines,
    Point,
    Series,
    binned,
    edges,
)
from tripwright.evals.report.folder import (
    UNREADABLE,
    Json,
    ReportedRun,
    Work,
    evaluation_words,
    is_validation,
    metric_of,
    object_in,
)
from tripwright.evals.report.learning import STEP, TOP_CELLS, at_step
from tripwright.evals.report.markup import Estimate, percent, plural, short, signed
from tripwright.evals.report.page import (
    SCALE,
    Cell,
    Figure,
    FigureRow,
    PageTable,
    Part,
    Section,
    Text,
    estimate_cell,
    titled,
)
from tripwright.runs import Run

# ---- evaluations as points of training (rows P12, P14)


def step_of(name: str, run: ReportedRun) -> float | None:
    """`…step-N` is step N; the cold start is step 0 and the trained agent the last step that was
    logged. None for other evaluations."""
    if match := re.search(r"(?:^|[^a-z])step[-_ ]?(\d+)$", name):
        return float(match[1])
    logged = [step for row in run.rl if (step := at_step(row)) is not None]
    return {"after_sft": 0.0, "after_rl": max(logged)}.get(name) if logged else None


def checkpoints(names: Iterable[str], run: ReportedRun) -> dict[str, float]:
    """Evaluation → step of those that have one, in order of steps; {} where there are fewer than
    two."""
    steps = {name: step for name in names if (step := step_of(name, run)) is not None}
    if len(set(steps.values())) < 2:
        return {}
    return dict(sorted(steps.items(), key=lambda item: item[1]))


def rates_over(
    scores: Mapping[str, Json], steps: Mapping[str, float], metric: str
) -> list[tuple[float, Estimate]]:
    found = ((step, metric_of(scores[name], metric)) for name, step in steps.items())
    return [(step, rate) for step, rate in found if rate]


def rate_series(name: str, rates: Sequence[tuple[float, Estimate]], colour: int) -> Series:
    """With the intervals of those that have one."""
    band = tuple(
        (step, rate.low, rate.high)
        for step, rate in rates
        if rate.low is not None and rate.high is not None
    )
    return Series(name, tuple((step, rate.value) for step, rate in rates), colour, band=band)


def _steps_of(scores: Mapping[str, Json], run: ReportedRun) -> dict[str, float]:
    return {name: step for name in scores if (step := step_of(name, run)) is not None}


def examined_passes(run: ReportedRun) -> list[Point]:
    """(step, final pass rate) of each checkpoint with a score."""
    scores = run.validation or run.scores
    rates = rates_over(scores, _steps_of(scores, run), "final")
    return sorted((step, rate.value) for step, rate in rates)


def validated(run: ReportedRun, metric: str, name: str, colour: int) -> Series:
    """A metric of the evaluations while it trained, with its 95% intervals."""
    rates = rates_over(run.validation, _steps_of(run.validation, run), metric)
    return replace(rate_series(name, rates, colour), dots=True)


def validated_rows(run: ReportedRun) -> list[Json]:
    """The logged steps of RL after which it was evaluated, with the passes of the evaluation in
    place of the rollouts'."""
    if not run.rl:
        return []
    passes = dict(validated(run, "final", "", 0).points)
    start: Json = {"step": 0, "flops_update_total": 0.0, "flops_total": 0.0}
    logged = [start, *run.rl] if 0 in passes else run.rl
    return [row | {"pass_rate": passes[row["step"]]} for row in logged if row["step"] in passes]


def evaluation_failures(
    behaviours: Behaviours, titles: Mapping[str, str], steps: Mapping[str, float]
) -> list[Figure]:
    """The share of episodes that fail each constraint, evaluation by evaluation, and over steps for
    those that `steps` holds."""
    shares = {name: failing(behaviour) for name, behaviour in behaviours.items()}
    names = dict.fromkeys(constraint for each in shares.values() for constraint in each)
    figures = []
    if steps:
        curves = {
            c: tuple((x, shares[name][c][0]) for name, x in steps.items() if c in shares[name])
            for c in names
        }
        found = learning.by_area({c: curve for c, curve in curves.items() if curve})
        figures.append(
            Figure(learning.top_failures(found, "What fails most, examined checkpoints"))
        )
    order = sorted(names, key=lambda c: -sum(each[c][0] for each in shares.values() if c in each))
    cells: dict[tuple[str, str], float] = {}
    hover: dict[tuple[str, str], str] = {}
    for name, each in shares.items():
        for c in filter(each.__contains__, order):
            pair, (share, n) = (fact_title(c), titles[name]), each[c]
            cells[pair] = share
            hover[pair] = f"{titles[name]}: {pair[0]} fails in {share:.1%} of {n:,} episodes"
    grid = Grid(
        "What fails, by evaluation",
        "constraint",
        "evaluation",
        "episodes held to it",
        list(map(fact_title, order)),
        [titles[name] for name in shares],
        cells,
        colour=1,
        strong={pair for name in shares for pair in _top(cells, titles[name])},
        hover=hover,
    )
    note = "In percent of the episodes held to it. Bold: the three commonest of each evaluation. "
    note += "What was not judged (no plan, or behind a gate) counts as failed."
    return [*figures, Figure(grid, note)]


def _top(cells: Mapping[tuple[str, str], float], column: str) -> list[tuple[str, str]]:
    """The three largest of a column, fewer where the third is no larger than the fourth."""
    there = sorted(
        ((share, pair) for pair, share in cells.items() if pair[1] == column and share > 0),
        reverse=True,
    )
    beyond = there[TOP_CELLS][0] if len(there) > TOP_CELLS else 0.0
    return [pair for share, pair in there[:TOP_CELLS] if share > beyond]


def sub_reward_figure(run: ReportedRun, scores: Mapping[str, Json]) -> Figure:
    """Schema, micro and macro rates and passes of checkpoints over steps, from their score.json."""
    steps = checkpoints(scores, run)
    figures = {metric: name for name, metric in learning.METRIC_OF.items()}
    metrics = (name for score in scores.values() for name in object_in(score, "metrics"))
    lines = []
    for key, words, colour in learning.reward_parts(figures.get(name, name) for name in metrics):
        rates = rates_over(scores, steps, learning.METRIC_OF.get(key, key))
        lines.append(Series(words, tuple((step, rate.value) for step, rate in rates), colour))
    title = "What the reward is made of, examined checkpoints"
    drawn = Lines(title, STEP, "share", lines, percent=True)
    return Figure(drawn, "On held-out requests, from score.json.")


def mistake_figures(
    run: ReportedRun, behaviours: Mapping[str, Behaviour], steps: Mapping[str, float]
) -> list[Figure]:
    """How long the answers of each checkpoint are and how many are cut off (Planner-R1,
    Appendix I), repeat themselves or end without an answer, with 95% intervals."""
    if not steps:
        return []
    by_step = {step: mistakes(behaviours[name]) for name, step in steps.items()}
    shown = (("overlong", "cut off"), ("unanswered", "no answer"), ("repeated", "repeated"))
    lines = [
        rate_series(words, [(x, each[key]) for x, each in by_step.items() if key in each], colour)
        for colour, (key, words) in enumerate((*shown, ("errors", "failed")))
    ]
    tokens = replace(validated(run, "completion_tokens_mean", "tokens written", 0), dots=False)
    length, title = "Length, examined checkpoints", "Mistakes, examined checkpoints"
    note = "Cut off and without an answer: of episodes. Repeated and failed: of calls."
    return [
        Figure(Lines(length, STEP, "tokens written per episode", [tokens])),
        Figure(Lines(title, STEP, "share", lines, percent=True), note),
    ]


# ---- how the agent worked, from the transcripts of every evaluation (rows P14 and B1)


MOST_SHOWN = 8  # evaluations with pictures of their own
MOST_TOOLS = 12  # in a matrix
MOST_MARKS = 4  # in one strip
OTHER = "other tools"
_FOLLOWS = (
    "Each row: of all times this came before, how often which came next, in percent. Errors are"
    " counted like answers."
)
_STRIPS = (
    "One row per episode, one cell per call, sorted by outcome. Hover over a row to read its calls."
)
_GAP = (
    "Evaluations whose run cards differ in nothing but the rules, paired by episode. Where decoding"
    " samples, plans differ too."
)
_MISTAKES = {
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
    ("Tokens written", "by the agent, per episode", lambda work: work.completion_tokens),
    ("Tokens in all", "of the context at its end", lambda work: work.context),
)


def behaviour_section(run: ReportedRun) -> Section:
    """Of the evaluations of the exam. Reads each transcripts.jsonl once; what they do not say is
    told in `missing`."""
    names = [name for name in run.transcripts if not is_validation(name)]
    found = read_behaviours(run, names)
    if not found and len(names) == len(run.transcripts):
        run.missing.append(
            "no scored episode in a transcripts.jsonl, so calls, mistakes, lengths and names"
            " without ground are not analysed"
        )
    steps = checkpoints(found, run)
    # checkpoints in order of their steps, then all others
    behaviours = {name: found[name] for name in (*steps, *found)}
    if behaviours and not any(w.asked for each in behaviours.values() for w in each.scored):
        run.missing.append(
            "no constraints in the transcripts' verdicts, so what fails in each evaluation is not"
            " shown"
        )
    if uncounted := [name for name, each in behaviours.items() if not each.counts_tokens]:
        run.missing.append(
            f"no counts of tokens in the transcripts of {', '.join(uncounted)}, so lengths are"
            " shown in characters"
        )
    titles, lede = evaluation_titles(behaviours, run), "From the transcripts of each evaluation."
    rewards = [sub_reward_figure(run, run.scores)]
    parts = behaviour_parts(lede, behaviours, titles, steps, after=rewards)
    return Section("behaviour", "Behaviour", parts)


def checkpoints_section(run: ReportedRun) -> Section:
    """The same of the evaluations while it trained, on requests that no stage trains on."""
    behaviours = read_behaviours(run, [name for name in run.transcripts if is_validation(name)])
    titles, steps = evaluation_titles(behaviours, run), checkpoints(behaviours, run)
    lengths, rewards = (
        mistake_figures(run, behaviours, steps),
        sub_reward_figure(run, run.validation),
    )
    lede = (
        "From the transcripts of the evaluations between the steps of training, on requests that no"
        " stage trains on."
    )
    parts = behaviour_parts(lede, behaviours, titles, steps, lengths, [rewards])
    return Section("checkpoints", "Behaviour over training", parts)


def behaviour_parts(
    lede: str,
    behaviours: Behaviours,
    titles: Mapping[str, str],
    steps: Mapping[str, float],
    before: Sequence[Figure] = (),
    after: Sequence[Figure] = (),
) -> list[Part]:
    """`before` and `after` stand around the figures of what fails."""
    if not behaviours:
        return []
    failing = [*before, *evaluation_failures(behaviours, titles, steps), *after]
    return [
        Text(f"{lede} Episodes that were not scored are left out. Intervals: 95%, over queries."),
        *titled("Mistakes and lengths", mistakes_table(behaviours, titles)),
        *titled("What fails, examined", FigureRow(failing)),
        *_pictures("Which tool follows which", _FOLLOWS, behaviours, titles, _matrix),
        *_pictures("Calls, episode by episode", _STRIPS, behaviours, titles, _calls),
        *_pictures("How long episodes are", "", behaviours, titles, _length),
        *titled("Names and claims without ground", _groundless_parts(behaviours, titles, steps)),
        *titled(
            "Strict and official rules on the same episodes", _gap_table(behaviours, titles), _GAP
        ),
    ]


def read_behaviours(run: ReportedRun, names: Sequence[str]) -> dict[str, Behaviour]:
    """Evaluation → behaviour, of those with a scored episode."""
    found = {}
    for name in names:
        path = run.transcripts[name]
        score = run.scores.get(name) or run.validation.get(name, {})
        card = score.get("run_card")
        card = card if isinstance(card, dict) else Run.at(path.parent).card
        behaviour = Behaviour.of(name, run.works(path), score, card)
        if behaviour.scored:
            found[name] = behaviour
    return found


def evaluation_titles(names: Sequence[str] | Behaviours, run: ReportedRun) -> dict[str, str]:
    """How the page calls each evaluation: its usual words, else its name; checkpoints by their
    step."""
    titles = {}
    for name in names:
        step = step_of(name, run) if "step" in name else None
        titles[name] = evaluation_words(name)[0] if step is None else f"Step {step:.0f}"
    often = Counter(titles.values())
    return {name: words if often[words] == 1 else name for name, words in titles.items()}


def mistakes_table(behaviours: Behaviours, titles: Mapping[str, str]) -> PageTable:
    """Repeated and failing calls, unreadable turns, episodes cut off, lengths: one row per figure,
    one column per evaluation."""
    head = [Cell(css="")]
    for name, each in behaviours.items():
        unscored = len(each.works) - len(each.scored)
        left_out = f", {unscored:,} unscored left out" if unscored else ""
        head.append(Cell(titles[name], (plural(len(each.scored), "episode") + left_out,)))
    rates = [mistakes(each) for each in behaviours.values()]
    rows = [
        [Cell(title, (note,), css=""), *(estimate_cell(each.get(key)) for each in rates)]
        for key, (title, note) in _MISTAKES.items()
    ]
    for title, note, value in _LENGTHS:
        cells = [_spread_cell(each.scored, value) for each in behaviours.values()]
        if any(cell.small for cell in cells):
            rows.append([Cell(title, (note,), css=""), *cells])
    return PageTable(head, rows)


def _spread_cell(works: Sequence[Work], value: Callable[[Work], float | None]) -> Cell:
    """Median, 90% quantile and maximum of those that say."""
    ordered = sorted(figure for work in works if (figure := value(work)) is not None)
    if not ordered:
        return Cell("–", css="num muted")
    median, high = (short(quantile_of(ordered, q)) for q in (0.5, 0.9))
    return Cell(median, (f"90% ≤ {high}, most {short(ordered[-1])}",))


Draw = Callable[[Behaviour, Behaviours, str], Chart | None]


def _pictures(
    title: str, note: str, behaviours: Behaviours, titles: Mapping[str, str], draw: Draw
) -> list[Part]:
    """One picture for each evaluation, of many of them the first, the last and some evenly
    between."""
    names = list(behaviours)
    if len(names) > MOST_SHOWN:
        apart = (len(names) - 1) / (MOST_SHOWN - 1)
        sample = list(dict.fromkeys(names[round(i * apart)] for i in range(MOST_SHOWN)))
        note = f"{note} {len(sample)} of {len(names)} evaluations.".strip()
        names = sample
    selection = {name: behaviours[name] for name in names}
    drawn = (draw(each, selection, f"{title}: {titles[name]}") for name, each in selection.items())
    return titled(title, FigureRow([Figure(each) for each in drawn if each]), note)


def _tools(behaviours: Behaviours) -> list[str]:
    """All tools of the page, the most used first: one order, and one colour each, in every
    picture."""
    totals: Counter[str] = sum((each.tools for each in behaviours.values()), Counter())
    return [tool for tool, _ in sorted(totals.items(), key=lambda item: (-item[1], item[0]))]


def _calls(behaviour: Behaviour, behaviours: Behaviours, title: str) -> Chart | None:
    return CallStrips(title, behaviour.scored, _tools(behaviours)) if behaviour.has_steps else None


def _matrix(behaviour: Behaviour, behaviours: Behaviours, title: str) -> Chart | None:
    """Which tool follows which (Planner-R1, figures A.9 and A.10), as shares of what follows.
    Tools beyond the first twelve count together."""
    if not behaviour.has_steps:
        return None
    tools = _tools(behaviours)
    first_tools = tools if len(tools) <= MOST_TOOLS else tools[: MOST_TOOLS - 1]
    order = [START, *first_tools, OTHER, UNREADABLE, ANSWER, NO_ANSWER]
    counts: Counter[tuple[str, str]] = Counter()
    totals: Counter[str] = Counter()
    for pair, count in transitions(behaviour.scored).items():
        before, after = (name if name in order else OTHER for name in pair)
        counts[before, after] += count
        totals[before] += count
    rows = [name for name in order if totals[name]]
    columns = [name for name in order if any(counts[row, name] for row in rows)]
    cells = {pair: count / totals[pair[0]] for pair, count in counts.items() if count}
    hover = {
        (a, b): f"{a} → {b}: {percent(share)}, {counts[a, b]:,} of {totals[a]:,}"
        for (a, b), share in cells.items()
    }
    return Grid(title, "previous", "next", "what follows", rows, columns, cells, hover=hover)


def _length(behaviour: Behaviour, behaviours: Behaviours, title: str) -> Chart:
    """In tokens where every evaluation counts them, else in characters: one axis for all."""
    tokens = all(each.counts_tokens for each in behaviours.values())
    unit = "tokens written" if tokens else "characters written"

    def lengths(of: Behaviour) -> list[tuple[float, bool]]:
        return [
            (float((work.completion_tokens or 0.0) if tokens else work.characters), work.overlong)
            for work in of.scored
        ]

    every = [lengths(each) for each in behaviours.values()]
    limits = edges(max(length for each in every for length, _ in each))
    highest = max(whole + cut for each in every for _, _, whole, cut in binned(each, limits))
    return Histogram(title, unit, lengths(behaviour), limits, highest)


def _groundless_parts(
    behaviours: Behaviours, titles: Mapping[str, str], steps: Mapping[str, float]
) -> list[Part]:
    """Names and claims in answers that rest on nothing, kind by kind, in each sense that a domain
    knows: tables, and curves over the `steps` of evaluations that are checkpoints."""
    names = dict.fromkeys(work.domain for each in behaviours.values() for work in each.scored)
    parts: list[Part] = []
    for domain in (domains()[name] for name in names if name in domains()):
        for place, sense in enumerate(domain.ungrounded):
            found = {}
            for name, each in behaviours.items():
                works = [work for work in each.scored if work.domain == domain.name]
                if shares := groundless(sense, place, works):
                    found[name] = shares
            parts += _sense_parts(sense.title, sense.note, found, titles, steps)
    return parts


def _sense_parts(
    title: str,
    note: str,
    found: Mapping[str, dict[str, Estimate]],
    titles: Mapping[str, str],
    steps: Mapping[str, float],
) -> list[Part]:
    keyed = len(found) <= MOST_MARKS
    head = [Cell(css=""), Cell(SCALE, css="stripcell")]
    head += [Cell(titles[name], key=i if keyed else None) for i, name in enumerate(found)]
    rows, lines = [], []
    for i, kind in enumerate(dict.fromkeys(kind for each in found.values() for kind in each)):
        marks = [
            Bar(titles[name], each[kind], j)
            for j, (name, each) in enumerate(found.items())
            if kind in each
        ]
        cells = [estimate_cell(each.get(kind)) for each in found.values()]
        strip = Cell(css="stripcell", marks=marks if len(marks) <= MOST_MARKS else [])
        rows.append([Cell(kind.capitalize(), css=""), strip, *cells])
        here = [(x, found[n][kind].value) for n, x in steps.items() if kind in found.get(n, {})]
        lines += [Series(kind, tuple(here), i)] if len(here) > 1 else []
    over = Lines(
        f"{title}, examined checkpoints",
        STEP,
        "share of answers",
        lines,
        percent=True,
    )
    return (
        titled(title, [PageTable(head, rows), FigureRow([Figure(over)])], note, 4) if rows else []
    )


def _gap_table(behaviours: Behaviours, titles: Mapping[str, str]) -> PageTable:
    rows = []
    for gap in gaps(behaviours):
        value, low, high = (signed(100 * each, 1) for each in (gap.value, gap.low, gap.high))
        rows.append(
            [
                Cell(f"{titles[gap.official]} and {titles[gap.strict]}", css=""),
                Cell(percent(gap.official_rate)),
                Cell(percent(gap.strict_rate)),
                Cell(f"{value} pp", (f"{low} to {high}",)),
                Cell(f"{gap.n:,}"),
            ]
        )
    head = map(Cell, ("Official", "Strict", "Official − strict", "Episodes"))
    return PageTable([Cell(css=""), *head], rows)
