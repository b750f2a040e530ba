"""The section on how the agent works, from the transcripts of every evaluation: mistakes, lengths,
which tool follows which, what fails, and names without ground (rows P14 and B1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from tripwright.evals.report.call_strips import call_strips, tool_colours
from tripwright.evals.report.checkpoints import (
    checkpoints,
    failure_figures,
    mistake_figures,
    step_of,
    sub_reward_figure,
)
from tripwright.evals.report.curves import figure
from tripwright.evals.report.folder import ReportedRun, is_validation
from tripwright.evals.report.groundless import groundless_part
from tripwright.evals.report.histograms import edges, length_histogram, shares
from tripwright.evals.report.markup import esc
from tripwright.evals.report.mistakes import mistakes_table
from tripwright.evals.report.results import evaluation_words
from tripwright.evals.report.rules_gap import gap_table
from tripwright.evals.report.transitions import transition_matrix
from tripwright.evals.report.work import Behaviour, Work, read_behaviour
from tripwright.runs import Run

MOST_SHOWN = 8  # evaluations with pictures of their own
SECTION, CHECKPOINTS = "behaviour", "checkpoints"

Behaviours = Mapping[str, Behaviour]


def behaviour_section(run: ReportedRun) -> str:
    """Nothing where no evaluation has a scored episode; `run.missing` then says so. Reads each
    transcripts.jsonl once."""
    behaviours = read_behaviours(run, [name for name in run.transcripts if not is_validation(name)])
    if not behaviours and not any(is_validation(name) for name in run.transcripts):
        run.missing.append(
            "no scored episode in a transcripts.jsonl, so calls, mistakes, lengths and names"
            " without ground are not analysed"
        )
    if not behaviours:
        return ""
    titles = evaluation_titles(behaviours, run)
    order = _in_order(behaviours, run)
    steps = checkpoints(order, run)
    failing = failure_figures(order, titles, steps) + sub_reward_figure(run, run.scores)
    _say_missing(run, order)
    return _section("From the transcripts of each evaluation.", order, titles, failing, steps)


def checkpoints_section(run: ReportedRun) -> str:
    """The same of the evaluations while it trained, on requests that no stage trains on; "" where
    there were none."""
    behaviours = read_behaviours(run, [name for name in run.transcripts if is_validation(name)])
    if not behaviours:
        return ""
    titles, steps = evaluation_titles(behaviours, run), checkpoints(behaviours, run)
    failing = mistake_figures(run, behaviours, steps)
    failing += failure_figures(behaviours, titles, steps) + sub_reward_figure(run, run.validation)
    lede = (
        "From the transcripts of the evaluations between the steps of training, on requests that no"
        " stage trains on."
    )
    heading = (CHECKPOINTS, "Behaviour over training")
    return _section(lede, behaviours, titles, failing, steps, heading)


def behaviour_together(runs: Mapping[str, ReportedRun]) -> str:
    """The same of the main evaluation of several runs; "" where none has transcripts."""
    behaviours = {}
    for name, run in runs.items():
        main = run.main_evaluation
        if main in run.transcripts and (behaviour := read_one(run, str(main))):
            behaviours[name] = behaviour
    if not behaviours:
        return ""
    titles = {name: name for name in behaviours}
    return _section(
        "From the transcripts of each run's main evaluation.",
        behaviours,
        titles,
        failure_figures(behaviours, titles, {}),
        {},
    )


def _section(
    lede: str,
    behaviours: Behaviours,
    titles: Mapping[str, str],
    failing: str,
    steps: Mapping[str, float],
    heading: tuple[str, str] = (SECTION, "Behaviour"),
) -> str:
    """`heading`: the section's id and title."""
    parts = [
        _part("Mistakes and lengths", "", mistakes_table(behaviours, titles)),
        _part("What fails, examined", "", _charts(failing)),
        _pictures("Which tool follows which", _FOLLOWS, behaviours, titles, _matrix),
        _pictures("Calls, episode by episode", _STRIPS, behaviours, titles, _strip),
        _pictures("How long episodes are", "", behaviours, titles, _length),
        groundless_part(behaviours, titles, steps),
        _part(
            "Strict and official rules on the same episodes", _GAP, gap_table(behaviours, titles)
        ),
    ]
    note = f"{lede} Episodes that were not scored are left out. Intervals: 95%, over queries."
    name, title = heading
    return (
        f'<section id="{name}"><h2>{title}</h2><p class="lede">{note}</p>{"".join(parts)}</section>'
    )


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


def read_behaviours(run: ReportedRun, names: Sequence[str]) -> dict[str, Behaviour]:
    """Evaluation → behaviour, of those with a scored episode."""
    return {name: behaviour for name in names if (behaviour := read_one(run, name))}


def read_one(run: ReportedRun, name: str) -> Behaviour | None:
    """None where no episode was scored."""
    path, score = run.transcripts[name], run.scores.get(name) or run.validation.get(name, {})
    card = score.get("run_card")
    if not isinstance(card, dict):
        card = Run.at(path.parent).card
    behaviour = read_behaviour(name, path, score, card)
    return behaviour if behaviour.scored else None


def evaluation_titles(names: Sequence[str] | Behaviours, run: ReportedRun) -> dict[str, str]:
    """How the page calls each evaluation: its usual words, else its name; checkpoints by their
    step."""
    titles = {}
    for name in names:
        words, step = evaluation_words(name)[0], step_of(name, run)
        titles[name] = (
            f"Step {step:.0f}" if step is not None and name.rpartition("step")[1] else words
        )
    often = Counter(titles.values())
    return {name: words if often[words] == 1 else name for name, words in titles.items()}


def _in_order(behaviours: Behaviours, run: ReportedRun) -> dict[str, Behaviour]:
    """Checkpoints in order of their steps, then all others."""
    steps = checkpoints(behaviours, run)
    return {
        name: behaviours[name]
        for name in (*steps, *(name for name in behaviours if name not in steps))
    }


def _part(title: str, note: str, content: str) -> str:
    words = f'<p class="lede">{note}</p>' if note else ""
    return f"<h3>{title}</h3>{words}{content}" if content else ""


def _charts(figures: str) -> str:
    return f'<div class="charts">{figures}</div>' if figures else ""


Draw = Callable[[Behaviour, Behaviours, str], str]


def _pictures(
    title: str, note: str, behaviours: Behaviours, titles: Mapping[str, str], draw: Draw
) -> str:
    """One picture for each evaluation, of many of them the first, the last and some evenly
    between."""
    names = list(behaviours)
    if len(names) > MOST_SHOWN:
        sample = dict.fromkeys(
            names[round(i * (len(names) - 1) / (MOST_SHOWN - 1))] for i in range(MOST_SHOWN)
        )
        note = f"{note} {len(sample)} of {len(names)} evaluations.".strip()
        names = list(sample)
    selection = {name: behaviours[name] for name in names}
    figures = "".join(
        figure(f"{title}: {titles[name]}", draw(each, selection, f"{title}: {titles[name]}"))
        for name, each in selection.items()
    )
    return _part(title, esc(note), _charts(figures))


def _tools(behaviours: Behaviours) -> list[str]:
    """All tools of the page, the most used first: one order, and one colour each, in every
    picture."""
    totals: Counter[str] = Counter()
    for behaviour in behaviours.values():
        totals.update(behaviour.tools)
    return [tool for tool, _ in sorted(totals.items(), key=lambda item: (-item[1], item[0]))]


def _matrix(behaviour: Behaviour, behaviours: Behaviours, title: str) -> str:
    return (
        transition_matrix(behaviour.scored, _tools(behaviours), title)
        if behaviour.has_steps
        else ""
    )


def _strip(behaviour: Behaviour, behaviours: Behaviours, title: str) -> str:
    return (
        call_strips(behaviour.scored, tool_colours(_tools(behaviours)), title)
        if behaviour.has_steps
        else ""
    )


def _length(behaviour: Behaviour, behaviours: Behaviours, title: str) -> str:
    """In tokens where every evaluation counts them, else in characters: one axis for all."""
    tokens = all(each.counts_tokens for each in behaviours.values())
    unit = "tokens written" if tokens else "characters written"
    limits = edges(max(_long(work, tokens) for each in behaviours.values() for work in each.scored))
    highest = max(
        whole + cut
        for each in behaviours.values()
        for _, _, whole, cut in shares(_lengths(each, tokens), limits)
    )
    return length_histogram(_lengths(behaviour, tokens), limits, unit, title, highest)


def _lengths(behaviour: Behaviour, tokens: bool) -> list[tuple[float, bool]]:
    return [(_long(work, tokens), work.overlong) for work in behaviour.scored]


def _long(work: Work, tokens: bool) -> float:
    return float(work.tokens or 0.0) if tokens else float(work.characters)


def _say_missing(run: ReportedRun, behaviours: Behaviours) -> None:
    """What could not be drawn, and of what file it would be."""
    if not any(work.asked for behaviour in behaviours.values() for work in behaviour.scored):
        run.missing.append(
            "no constraints in the transcripts' verdicts, so what fails in each evaluation is not"
            " shown"
        )
    if uncounted := [name for name, behaviour in behaviours.items() if not behaviour.counts_tokens]:
        run.missing.append(
            f"no counts of tokens in the transcripts of {', '.join(uncounted)}, so lengths are"
            " shown in characters"
        )
