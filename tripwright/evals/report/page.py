"""report.html: one self-contained page about one run folder. No script, no request to anywhere; every figure is read from a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tripwright.evals.report.folder import RunFolder, read_run
from tripwright.evals.report.learning import learning_section, warnings_section
from tripwright.evals.report.markup import esc, number, short
from tripwright.evals.report.results import constraints_section, headline_section, metrics_section
from tripwright.evals.report.style import PAGE_CSS
from tripwright.evals.report.transcripts import transcripts_section

REPORT_FILE = "report.html"
_SECTIONS = ("result", "warnings", "learning", "metrics", "constraints", "episodes", "card")  # ids; the menu shows those the page has


def write_report(run_folder: Path) -> Path:
    """Writes RUN/report.html and returns its path. An older report stays whole until the new one is."""
    run = read_run(Path(run_folder))
    target = run.path / REPORT_FILE
    write_page(target, page(run))
    return target


def page(run: RunFolder) -> str:
    body = (
        headline_section(run),
        warnings_section(run.warnings),
        learning_section(run),
        metrics_section(run),
        constraints_section(run),
        transcripts_section(run),
        card_section(run),
        missing_section(run),
    )
    main = "".join(body)
    return html_page(_title(run), "run report", _subtitle(run), main, _SECTIONS)


def html_page(title: str, kind: str, subtitle: str, main: str, sections: tuple[str, ...] = (), script: str = "") -> str:
    """The frame of every page: head, menu of those `sections` that it has, body. Only the live page has a script."""
    links = "".join(f'<a href="#{anchor}">{anchor.capitalize()}</a>' for anchor in sections if f'<section id="{anchor}"' in main)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{esc(title)} · tripwright</title><style>{PAGE_CSS}</style></head><body>'
        f'<header><p class="brand">tripwright · {esc(kind)}</p><h1>{esc(title)}</h1>'
        f'<p class="muted">{esc(subtitle)}</p><nav>{links}</nav></header>'
        f"<main>{main}</main><footer>Every figure on this page was read from the files of its run folder.</footer>{script}</body></html>\n"
    )


def write_page(target: Path, text: str) -> None:
    """An older page stays whole until the new one is; a character that UTF-8 cannot write becomes a question mark."""
    partial = target.with_name(f"{target.name}.partial")
    partial.write_bytes(text.encode("utf-8", "replace"))
    os.replace(partial, target)


def card_section(run: RunFolder) -> str:
    """The run card, nested fields written as a.b.c; without one, the card inside the main evaluation's score."""
    card = run.card
    if not card and run.main_evaluation:
        inner = run.scores[run.main_evaluation].get("run_card")
        card = inner if isinstance(inner, dict) else {}
    rows = "".join(f"<tr><th scope=row>{esc(name)}</th><td>{esc(_card_value(name, value))}</td></tr>" for name, value in _leaves(card))
    if not rows:
        return ""
    table = f'<div class="scroll"><table class="card-table"><tbody>{rows}</tbody></table></div>'
    return f'<section id="card"><h2>Run card</h2>{table}</section>'


def missing_section(run: RunFolder) -> str:
    if not run.missing:
        return ""
    lines = "".join(f"<li>{esc(words)}</li>" for words in dict.fromkeys(run.missing))
    return f'<section id="missing"><h2>What this folder does not hold</h2><ul class="plain">{lines}</ul></section>'


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        yield name, ", ".join(map(str, value))
    else:
        yield name, value


def _card_value(name: str, value: Any) -> str:
    found = number(value)
    return str(value) if found is None or isinstance(value, int) else f"{found:.4g}"


def _title(run: RunFolder) -> str:
    recipe = run.card.get("recipe") or run.card.get("name")
    if isinstance(recipe, dict):
        recipe = recipe.get("name")
    return str(recipe or run.path.resolve().name)


def _training_tokens(run: RunFolder) -> float:
    """The supervised stages log how many tokens they have seen so far; RL logs those of each step."""

    def logged(stage: str) -> list[float]:
        return [found for row in run.stage(stage) if (found := number(row.get("tokens"))) is not None]

    return sum(logged("rl")) + sum(max(logged(stage), default=0.0) for stage in ("warmup", "sft"))


def _subtitle(run: RunFolder) -> str:
    parts = []
    if run.card.get("seed") is not None:
        parts.append(f"seed {run.card['seed']}")
    seconds = [found for row in run.metrics if (found := number(row.get("seconds"))) is not None]
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
