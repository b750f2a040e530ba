"""report.html: one self-contained page about one run folder. No request to anywhere; every figure
is read from a file.

The page's own scripts are the only ones that may run: its Content-Security-Policy names them by
their hashes and forbids every load. Without JavaScript the page still shows its summary, tables and
figures.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tripwright.evals.report.behaviour import behaviour_section, checkpoints_section
from tripwright.evals.report.browser import (
    Browser,
    Budget,
    make_browser,
    page_script,
)
from tripwright.evals.report.downloads import DOWNLOADS_CSS, DOWNLOADS_SCRIPT
from tripwright.evals.report.folder import ReportedRun, read_run
from tripwright.evals.report.learning import learning_section, warnings_section
from tripwright.evals.report.markup import esc, number, short
from tripwright.evals.report.opening import asked_section, next_section
from tripwright.evals.report.results import constraints_section, headline_section, metrics_section
from tripwright.evals.report.style import PAGE_CSS

REPORT_FILE = "report.html"
# ids, for the menu
_SECTIONS = (
    "asked",
    "result",
    "next",
    "warnings",
    "learning",
    "metrics",
    "constraints",
    "behaviour",
    "checkpoints",
    "episodes",
    "card",
)


def write_report(
    run_folder: Path, transcripts: str | None = None, target: Path | None = None
) -> Path:
    """Writes RUN/report.html, or `target`, and returns its path. An older report stays whole until
    the new one is.

    `transcripts` is how many episodes the page holds the text of: a number, "all", or None for as
    many as fit in 25 MB. Raises UserError.
    """
    budget = Budget.of(transcripts)
    run = read_run(Path(run_folder))
    target = target or run.path / REPORT_FILE
    write_page(target, page(run, budget))
    return target


def page(run: ReportedRun, budget: Budget) -> str:
    browser = make_browser({run.path.resolve().name: run}, budget)
    body = (
        asked_section(run, browser),
        headline_section(run),
        next_section(run),
        warnings_section(run.warnings),
        learning_section(run),
        metrics_section(run),
        constraints_section(run),
        behaviour_section(run),
        checkpoints_section(run),
        browser.section if browser else "",
        card_section(run),
        missing_section(run),
    )
    return report_page(_title(run), "run report", _subtitle(run), "".join(body), _SECTIONS, browser)


def report_page(
    title: str,
    kind: str,
    subtitle: str,
    main: str,
    sections: tuple[str, ...],
    browser: Browser | None = None,
) -> str:
    """A page that stands alone, with the browser's parts where they belong; `main` holds its
    section already."""
    scripts = [page_script(), DOWNLOADS_SCRIPT, *([browser.script] if browser else [])]
    wrapped = [f'(() => {{\n"use strict";\n{script}}})();\n' for script in scripts]
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in wrapped
    )
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    styles = "".join(
        f"<style>{css}</style>" for css in (DOWNLOADS_CSS, browser.css if browser else "") if css
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{esc(policy)}">{styles}'
    tail = (browser.data if browser else "") + "".join(
        f"<script>{script}</script>" for script in wrapped
    )
    return html_page(title, kind, subtitle, main, sections, tail, head)


def html_page(
    title: str,
    kind: str,
    subtitle: str,
    main: str,
    sections: tuple[str, ...] = (),
    tail: str = "",
    head: str = "",
) -> str:
    """The frame of every page: head, menu of those `sections` that it has, body; `tail` and `head`
    end the parts of these names."""
    links = "".join(
        f'<a href="#{anchor}">{anchor.capitalize()}</a>'
        for anchor in sections
        if f'<section id="{anchor}"' in main
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport"'
        ' content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light'
        f' dark"><title>{esc(title)} ·'
        f' tripwright</title><style>{PAGE_CSS}</style>{head}</head><body><a class="skip"'
        ' href="#main">Skip to the report</a><header><p class="brand">tripwright ·'
        f' {esc(kind)}</p><h1>{esc(title)}</h1><p class="muted">{esc(subtitle)}</p><nav'
        f' aria-label="Sections">{links}</nav></header><main id="main"'
        f' tabindex="-1">{main}</main><footer>Every figure on this page was read from the files of'
        f" its run folder.</footer>{tail}</body></html>\n"
    )


def write_page(target: Path, text: str) -> None:
    """An older page stays whole until the new one is; a character that UTF-8 cannot write becomes a
    question mark."""
    partial = target.with_name(f"{target.name}.partial")
    partial.write_bytes(text.encode("utf-8", "replace"))
    os.replace(partial, target)


def card_section(run: ReportedRun) -> str:
    """The run card, nested fields written as a.b.c; without one, the card inside the main
    evaluation's score."""
    card = run.card
    if not card and run.main_evaluation:
        inner = run.scores[run.main_evaluation].get("run_card")
        card = inner if isinstance(inner, dict) else {}
    rows = "".join(
        f"<tr><th scope=row>{esc(name)}</th><td>{esc(_card_value(name, value))}</td></tr>"
        for name, value in _leaves(card)
    )
    if not rows:
        return ""
    table = f'<div class="scroll"><table class="card-table"><tbody>{rows}</tbody></table></div>'
    return f'<section id="card"><h2>Run card</h2>{table}</section>'


def missing_section(run: ReportedRun) -> str:
    if not run.missing:
        return ""
    lines = "".join(f"<li>{esc(words)}</li>" for words in dict.fromkeys(run.missing))
    return (
        '<section id="missing"><h2>What this folder does not hold</h2><ul'
        f' class="plain">{lines}</ul></section>'
    )


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        yield name, ", ".join(map(str, value))
    else:
        yield name, value


def _card_value(name: str, value: Any) -> str:
    figure = number(value)
    return str(value) if figure is None or isinstance(value, int) else f"{figure:.4g}"


def _title(run: ReportedRun) -> str:
    recipe = run.card.get("recipe") or run.card.get("name")
    if isinstance(recipe, dict):
        recipe = recipe.get("name")
    return str(recipe or run.path.resolve().name)


def _training_tokens(run: ReportedRun) -> float:
    """The supervised stages log how many tokens they have seen so far; RL logs those of each
    step."""

    def logged(stage: str) -> list[float]:
        return [
            tokens for row in run.stage(stage) if (tokens := number(row.get("tokens"))) is not None
        ]

    return sum(logged("rl")) + sum(
        max(logged(stage), default=0.0) for stage in ("copy_pretraining", "sft")
    )


def _subtitle(run: ReportedRun) -> str:
    parts = []
    if run.card.get("seed") is not None:
        parts.append(f"seed {run.card['seed']}")
    seconds = [second for row in run.metrics if (second := number(row.get("seconds"))) is not None]
    if seconds:
        parts.append(f"{max(seconds) / 60:.0f} minutes of training")
    tokens = _training_tokens(run)
    if tokens:
        parts.append(f"{short(tokens)} tokens")
    policy, world = run.card.get("policy"), run.card.get("world")
    if isinstance(policy, dict):
        parts.append(" ".join(str(policy[key]) for key in ("kind", "model") if policy.get(key)))
    if isinstance(world, dict) and world.get("name"):
        parts.append(f"world {world['name']}")
    machine = run.card.get("machine")
    if isinstance(machine, str):
        parts.append(machine)
    return " · ".join(parts) or str(run.path)
