"""How a run's page begins: what was asked of the agent, with one trip that passes and one that
fails; and, after the result, what a reader may do next."""

from __future__ import annotations

from tripwright.domains import fact_title
from tripwright.evals.report.browser import Browser, Example
from tripwright.evals.report.folder import Json, ReportedRun
from tripwright.evals.report.markup import (
    Estimate,
    esc,
    estimate,
    number,
    of_words,
    plural,
)
from tripwright.evals.report.results import evaluation_words, metric_of
from tripwright.evals.scoreboard import judged_by


def asked_section(run: ReportedRun, browser: Browser | None) -> str:
    """What the main evaluation asked, and two of its episodes."""
    score = run.scores.get(str(run.main_evaluation), {})
    final = metric_of(score, "final")
    examples = "".join(map(_example, browser.examples)) if browser else ""
    if final is None and not examples:
        return ""
    return (
        '<section id="asked"><h2>What was asked</h2><p'
        f' class="lede">{_asked_words(run, score, final)}</p>{examples}</section>'
    )


def _asked_words(run: ReportedRun, score: Json, final: Estimate | None) -> str:
    words = "Each request is a traveller's, in words. The agent calls tools, reads their rows and"
    words += " answers; the judge holds the answer against the world that the tools showed."
    if final is None or final.n is None:
        return words
    which = esc(evaluation_words(str(run.main_evaluation))[0])
    rules = f" ({esc(judged_by(str(score['rules'])))})" if score.get("rules") else ""
    return f"{words} {which}: {esc(of_words(final))} requests are answered by what passes{rules}."


def _example(example: Example) -> str:
    kind, sign, words = (
        ("pass", "✓", "One that passes") if example.passed else ("fail", "✗", "One that fails")
    )
    return (
        f'<div class="example" data-example="{example.place}"><h3><small'
        f' class="{kind}">{sign} {words}</small>{esc(example.request)}</h3></div>'
    )


def next_section(run: ReportedRun) -> str:
    """What the files say should be looked at or run next."""
    steps = [
        words for words in (_warned(run), _weakest(run), _examined(run), _chosen(run)) if words
    ]
    if not steps:
        return ""
    lines = "".join(f"<li>{words}</li>" for words in steps)
    return f'<section id="next"><h2>What to do next</h2><ul class="steps">{lines}</ul></section>'


def _warned(run: ReportedRun) -> str:
    if not run.warnings:
        return ""
    count = plural(len(run.warnings), "warning")
    return f'Read <a href="#warnings">{count} of the training</a>, each with its advice.'


def _weakest(run: ReportedRun) -> str:
    """The check that most answers fail, with where to read such episodes."""
    checks = run.scores.get(str(run.main_evaluation), {}).get("constraints")
    failed = {
        name: rate.n - rate.k
        for name, record in (checks if isinstance(checks, dict) else {}).items()
        if (rate := estimate(record)) and rate.k is not None and rate.n is not None
    }
    name = max(failed, key=lambda name: failed[name], default="")
    if not failed.get(name):
        return ""
    return (
        f"See what fails most: <strong>{esc(fact_title(name))}</strong>, in"
        f" {plural(failed[name], 'answer')}. The filter “Fails at” of the"
        ' <a href="#episodes">episodes</a> lists those that break it.'
    )


def _examined(run: ReportedRun) -> str:
    if run.scores or not run.recipe:
        return ""
    return f"Examine it on requests of its own: <code>tripwright examine {esc(run.path)}</code>."


def _chosen(run: ReportedRun) -> str:
    """A checkpoint that did better while it trained than the last one did."""
    best, rows = number(run.best.get("step")), run.rl or run.stage("sft")
    steps = [number(row.get("step")) or 0 for row in rows]
    if best is None or not steps or best >= max(steps):
        return ""
    return (
        f"The best evaluation while it trained was at step {best:.0f}, not at the end:"
        f" <code>tripwright examine {esc(run.path)} --step best</code>."
    )
