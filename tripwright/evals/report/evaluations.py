"""Evaluations as columns of a page and as points of training (rows P12, P14), and how the agent
worked in each, from their transcripts (rows P14, B1). Those made while a run trained and those of
the exam ask other requests, so they are never in one curve."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tripwright.domains import domains
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
from tripwright.evals.report.charts import Lines, Series
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
from tripwright.evals.report.learning import STEP
from tripwright.evals.report.markup import Estimate, percent, plural, short, signed
from tripwright.evals.report.page import (
    Cell,
    Figure,
    PageTable,
    Part,
    Section,
    estimate_cell,
    row_of,
    sentence,
    under,
)
from tripwright.runs import Run

# ---- columns of the page


@dataclass(frozen=True, eq=False)
class EvaluationColumn:
    """An evaluation that stands beside others: those of one run, or the main ones of several."""

    title: str
    note: str
    colour: int
    run: ReportedRun
    evaluation: str

    @property
    def score(self) -> Json:
        scores = self.run.scores.get(self.evaluation)
        return scores or self.run.validation.get(self.evaluation, {})

    @property
    def behaviour(self) -> Behaviour | None:
        """None where no episode was scored."""
        if (path := self.run.transcripts.get(self.evaluation)) is None:
            return None
        card = self.score.get("run_card")
        card = card if isinstance(card, dict) else Run.at(path.parent).card
        found = Behaviour.of(self.title, self.run.works(path), self.score, card)
        return found if found.scored else None


def columns_of(runs: Mapping[str, ReportedRun]) -> list[EvaluationColumn]:
    """Of one run the evaluations of its exam, checkpoints by their step; of several the main one of
    each."""
    if len(runs) > 1:
        return [
            EvaluationColumn(
                name, evaluation_words(str(run.main_evaluation))[0], i, run, run.main_evaluation
            )
            for i, (name, run) in enumerate(runs.items())
            if run.main_evaluation
        ]
    (run,) = runs.values()
    exam = [name for name in run.transcripts if not is_validation(name)]
    return _columns(run, dict.fromkeys((*run.scores, *exam)))


def validation_columns(run: ReportedRun) -> list[EvaluationColumn]:
    """The evaluations while it trained."""
    return _columns(run, filter(is_validation, {**run.validation, **run.transcripts}))


def _columns(run: ReportedRun, evaluations: Iterable[str]) -> list[EvaluationColumn]:
    """By their usual words where those tell them apart, else by their names."""
    found = []
    for name in evaluations:
        title, note, colour = evaluation_words(name)
        step = step_of(name, run) if "step" in name else None
        title = title if step is None else f"Step {step:.0f}"
        found.append(EvaluationColumn(title, note, colour, run, name))
    often = Counter(each.title for each in found)
    return [
        each if often[each.title] == 1 else replace(each, title=each.evaluation) for each in found
    ]


def of_one_run(columns: Sequence[EvaluationColumn]) -> bool:
    return len({each.run.path for each in columns}) == 1


# ---- evaluations as points of training (rows P12, P14)


def step_of(name: str, run: ReportedRun) -> float | None:
    """`…step-N` is step N; the cold start is step 0 and the trained agent the last step that was
    logged. None for other evaluations."""
    if match := re.search(r"(?:^|[^a-z])step[-_ ]?(\d+)$", name):
        return float(match[1])
    last = learning.most(run.rl, STEP)
    return None if last is None else {"after_sft": 0.0, "after_rl": last}.get(name)


def steps_of(columns: Iterable[EvaluationColumn]) -> dict[float, EvaluationColumn]:
    """Those that are checkpoints, in order of their steps."""
    steps = {step_of(each.evaluation, each.run): each for each in columns}
    return {step: steps[step] for step in sorted(step for step in steps if step is not None)}


def rates_over(columns: Iterable[EvaluationColumn], metric: str) -> list[tuple[float, Estimate]]:
    found = ((x, metric_of(each.score, metric)) for x, each in steps_of(columns).items())
    return [(step, rate) for step, rate in found if rate]


def rate_series(
    name: str, rates: Sequence[tuple[float, Estimate]], colour: int, dots: bool = False
) -> Series:
    """With the intervals of those that have one."""
    band = tuple((x, *rate.ends) for x, rate in rates if rate.low is not None)
    return Series(name, tuple((x, rate.value) for x, rate in rates), colour, band, dots)


def validated(run: ReportedRun, metric: str, name: str, colour: int, dots: bool = True) -> Series:
    """A metric of the evaluations while it trained, with its 95% intervals."""
    return rate_series(name, rates_over(validation_columns(run), metric), colour, dots)


def validated_rows(run: ReportedRun) -> list[Json]:
    """The logged steps of RL after which it was evaluated, with the passes of the evaluation in
    place of the rollouts'."""
    passes = dict(validated(run, "final", "", 0).points)
    start: Json = {"step": 0, "flops_update_total": 0.0, "flops_total": 0.0}
    logged = [start, *run.rl] if run.rl and 0 in passes else run.rl
    return [row | {"pass_rate": passes[row["step"]]} for row in logged if row["step"] in passes]


def sub_reward_figure(columns: Sequence[EvaluationColumn]) -> Figure:
    """Schema, micro and macro rates and passes of checkpoints over steps, from their score.json."""
    metrics = (name for each in columns for name in object_in(each.score, "metrics"))
    lines = []
    for name, words, colour in learning.named_like("final|schema|.*_(micro|macro)", metrics):
        lines.append(replace(rate_series(words, rates_over(columns, name), colour), band=()))
    title = "What the reward is made of, examined checkpoints"
    drawn = Lines(title, STEP, "share", lines, percent=True)
    return Figure(drawn, "On held-out requests, from score.json.")


# ---- how the agent worked (rows P14 and B1)


MOST_SHOWN = 8  # evaluations with pictures of their own
MOST_TOOLS = 12  # in a matrix
OTHER = "other tools"
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


def behaviour_section(columns: Sequence[EvaluationColumn]) -> Section:
    """Of the evaluations of the exam, or the main ones of several runs."""
    return _section("behaviour", "Behaviour", columns)


def checkpoints_section(run: ReportedRun) -> Section:
    """The same of the evaluations while it trained, on requests that no stage trains on."""
    lengths = validated(run, "completion_tokens_mean", "tokens written", 0, dots=False)
    unit = "tokens written per episode"
    figure = Figure(Lines("Length, examined checkpoints", STEP, unit, [lengths]))
    columns = validation_columns(run)
    return _section("checkpoints", "Behaviour over training", columns, [figure])


def _section(
    id: str, title: str, columns: Sequence[EvaluationColumn], figures: Sequence[Figure] = ()
) -> Section:
    """Reads each transcripts.jsonl once. Of checkpoints of one run there are curves over steps."""
    found = {each.title: behaviour for each in columns if (behaviour := each.behaviour)}
    steps = {x: found[each.title] for x, each in steps_of(columns).items() if each.title in found}
    steps = steps if of_one_run(columns) and len(steps) > 1 else {}
    # checkpoints in order of their steps, then all others
    behaviours = {each.name: each for each in (*steps.values(), *found.values())}
    if not behaviours:
        return Section(id, title, [])
    shares = {name: failing(each) for name, each in behaviours.items()}
    over = [*figures, _mistakes_over(steps)]
    over += [sub_reward_figure(columns)] if steps else []
    parts = [
        under("Mistakes and lengths", mistakes_table(behaviours)),
        under(
            "What fails, examined",
            learning.failure_table(shares, "episodes"),
            note=sentence("fails"),
        ),
        under("Over the checkpoints", *over),
        under("Which tool follows which", *_matrices(behaviours), note=sentence("follows")),
        under("Calls, episode by episode", *_strips(behaviours), note=sentence("strips")),
        under("Names and claims without ground", *_groundless_parts(behaviours, steps)),
        under(
            "Strict and official rules on the same episodes",
            _gap_table(behaviours),
            note=sentence("gap"),
        ),
    ]
    return Section(id, title, parts, sentence("behaviour", bool(figures)))


def _mistakes_over(steps: Mapping[float, Behaviour]) -> Figure:
    """How many answers of each checkpoint are cut off (Planner-R1, Appendix I), repeat themselves
    or end without an answer, with 95% intervals."""
    rates = {step: mistakes(behaviour) for step, behaviour in steps.items()}
    shown = {"overlong": "cut off", "unanswered": "no answer", "repeated": "repeated"}
    lines = [
        rate_series(words, [(x, each[key]) for x, each in rates.items() if key in each], colour)
        for colour, (key, words) in enumerate((shown | {"errors": "failed"}).items())
    ]
    note = "Cut off and without an answer: of episodes. Repeated and failed: of calls."
    drawn = Lines("Mistakes, examined checkpoints", STEP, "share", lines, percent=True)
    return Figure(drawn, note)


def mistakes_table(behaviours: Behaviours) -> PageTable:
    """Repeated and failing calls, unreadable turns, episodes cut off, lengths: one row per figure,
    one column per evaluation."""
    head = [Cell(css="")]
    for name, each in behaviours.items():
        unscored = len(each.works) - len(each.scored)
        left_out = f", {unscored:,} unscored left out" if unscored else ""
        head.append(Cell(name, (plural(len(each.scored), "episode") + left_out,)))
    rates = [mistakes(each) for each in behaviours.values()]
    rows = [
        row_of(title, note, (estimate_cell(each.get(key)) for each in rates))
        for key, (title, note) in _MISTAKES.items()
    ]
    for title, note, value in _LENGTHS:
        cells = [_spread_cell(each.scored, value) for each in behaviours.values()]
        if any(cell.small for cell in cells):
            rows.append(row_of(title, note, cells))
    return PageTable(head, rows)


def _spread_cell(works: Sequence[Work], value: Callable[[Work], float | None]) -> Cell:
    """Median, 90% quantile and maximum of those that say."""
    ordered = sorted(figure for work in works if (figure := value(work)) is not None)
    if not ordered:
        return Cell("–", css="num muted")
    median, high = (short(quantile_of(ordered, q)) for q in (0.5, 0.9))
    return Cell(median, (f"90% ≤ {high}, most {short(ordered[-1])}",))


def _shown(behaviours: Behaviours) -> dict[str, Behaviour]:
    """Those with calls that have pictures of their own, evenly chosen where they are many."""
    names = [name for name, each in behaviours.items() if each.has_steps]
    return {name: behaviours[name] for name in names[:: -(-len(names) // MOST_SHOWN) or 1]}


def _tools(behaviours: Behaviours) -> list[str]:
    """All tools of the page, the most used first: one order, and one colour each, in every
    picture."""
    totals: Counter[str] = sum((each.tools for each in behaviours.values()), Counter())
    return [tool for tool, _ in sorted(totals.items(), key=lambda item: (-item[1], item[0]))]


def _strips(behaviours: Behaviours) -> list[Figure]:
    tools = _tools(behaviours)
    return [
        Figure(CallStrips(f"Calls, episode by episode: {name}", each.scored, tools))
        for name, each in _shown(behaviours).items()
    ]


def _matrices(behaviours: Behaviours) -> list[Section]:
    tools, shown = _tools(behaviours), _shown(behaviours)
    return [
        Section("", f"Which tool follows which: {name}", [_matrix(each, tools)], fold=True)
        for name, each in shown.items()
    ]


def _matrix(behaviour: Behaviour, tools: Sequence[str]) -> PageTable:
    """Which tool follows which (Planner-R1, figures A.9 and A.10), as shares of what follows.
    Tools beyond the first twelve count together."""
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
    table = []
    for row in rows:
        n = totals[row]
        shares = (
            (counts[row, column] / n, n) if counts[row, column] else None for column in columns
        )
        table.append(row_of(row, "", (learning.share_cell(each, "times") for each in shares)))
    return PageTable([Cell("previous ↓ next →", css=""), *map(Cell, columns)], table)


def _groundless_parts(behaviours: Behaviours, steps: Mapping[float, Behaviour]) -> list[Part]:
    """Names and claims in answers that rest on nothing, kind by kind, in each sense that a domain
    knows: tables, and curves over the `steps` of evaluations that are checkpoints."""
    names = dict.fromkeys(work.domain for each in behaviours.values() for work in each.scored)
    parts: list[Part] = []
    for domain in (domains()[name] for name in names if name in domains()):
        for place, sense in enumerate(domain.report.ungrounded):
            found = {}
            for name, each in behaviours.items():
                works = [work for work in each.scored if work.domain == domain.name]
                if shares := groundless(sense, place, works):
                    found[name] = shares
            kinds = list(dict.fromkeys(kind for each in found.values() for kind in each))
            lines = []
            for i, kind in enumerate(kinds):
                here = ((x, found.get(each.name, {}).get(kind)) for x, each in steps.items())
                lines.append(Series(kind, tuple((x, rate.value) for x, rate in here if rate), i))
            title = f"{sense.title}, examined checkpoints"
            over = Lines(title, STEP, "share of answers", lines, percent=True)
            rates = {
                kind.capitalize(): {name: each.get(kind) for name, each in found.items()}
                for kind in kinds
            }
            shown = rates_table(rates), Figure(over)
            parts.append(under(sense.title, *shown, note=sense.note, level=4))
    return parts


def rates_table(rows: Mapping[str, Mapping[str, Estimate | None]]) -> PageTable:
    """Row × evaluation."""
    columns = dict.fromkeys(name for rates in rows.values() for name in rates)
    table = [row_of(title, "", map(estimate_cell, rates.values())) for title, rates in rows.items()]
    return PageTable([Cell(css=""), *map(Cell, columns)], table)


def _gap_table(behaviours: Behaviours) -> PageTable:
    rows = []
    for gap in gaps(behaviours):
        value, low, high = (signed(100 * each, 1) for each in (gap.value, gap.low, gap.high))
        rates = Cell(percent(gap.official_rate)), Cell(percent(gap.strict_rate))
        difference = Cell(f"{value} pp", (f"{low} to {high}",))
        title = f"{gap.official} and {gap.strict}"
        rows.append(row_of(title, "", [*rates, difference, Cell(f"{gap.n:,}")]))
    head = map(Cell, ("Official", "Strict", "Official − strict", "Episodes"))
    return PageTable([Cell(css=""), *head], rows)
