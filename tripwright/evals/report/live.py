"""The body of the live page: where each run stands, its warnings, and the charts of the report, for
one run or several in each chart."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from tripwright.evals.report.curves import constraint_figures, supervised_figures
from tripwright.evals.report.folder import Json
from tripwright.evals.report.learning import warnings_section
from tripwright.evals.report.markup import esc
from tripwright.evals.report.overlay import overlay_sections
from tripwright.evals.report.page import html_page
from tripwright.evals.report.training_charts import group_sections

# The charts are drawn on the server; the page only asks for a new body when there is one. No
# library, nothing from elsewhere.
_SCRIPT = """
"use strict";
let seen = "";
const main = document.querySelector("main"), state = document.querySelector("header p.muted");
async function look() {
  try {
    const asked = new URLSearchParams(location.search);
    asked.set("seen", seen);
    const answer = await fetch("now?" + asked, {cache: "no-store"});
    if (answer.status === 200) {
      const body = await answer.text();
      main.innerHTML = body;
      seen = answer.headers.get("X-Seen") || "";
    }
    state.textContent = "Looked at " + new Date().toLocaleTimeString() + ".";
  } catch (error) {
    state.textContent = "The server has stopped. What is shown is the last it sent.";
  }
  setTimeout(look, SECONDS * 1000);
}
look();
"""


@dataclass(frozen=True)
class LiveRun:
    """`facts`: (what, how much) in words, the first one shown large. `share_done` is None where the
    end is not known."""

    name: str
    facts: tuple[tuple[str, str], ...]
    share_done: float | None
    warnings: Sequence[Json]
    rl: Sequence[Json]
    supervised: Sequence[Json]


def live_page(names: Sequence[str], seconds: float) -> tuple[str, str]:
    """The page that a browser opens once, which asks for `live_body` every so many seconds; and the
    hash of its script, as a Content-Security-Policy names the only script that may run."""
    script = _SCRIPT.replace("SECONDS", f"{seconds:g}")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        html_page(" · ".join(names), "live", "", "", tail=f"<script>{script}</script>"),
        f"sha256-{digest}",
    )


def live_body(runs: Sequence[LiveRun]) -> str:
    cards = "".join(_card(run, i, len(runs) > 1) for i, run in enumerate(runs))
    parts = [f'<div class="cards">{cards}</div>']
    for run in runs:
        if section := warnings_section(run.warnings):
            parts.append(
                section
                if len(runs) == 1
                else section.replace("<h2>Warnings", f"<h2>{esc(run.name)}: warnings", 1)
            )
    if len(runs) > 1:
        parts.append(
            overlay_sections({run.name: run.rl for run in runs})
            if any(run.rl for run in runs)
            else ""
        )
    for run in runs:
        before = "".join(supervised_figures(run.supervised))
        title = "Before RL" if len(runs) == 1 else f"{run.name}: before RL"
        if len(runs) == 1:
            parts.append(group_sections(run.rl) + group_sections(run.rl, laboratory=True))
            if small := constraint_figures(run.rl):
                parts.append(f'<h3>Each constraint</h3><div class="smalls">{small}</div>')
        parts.append(f'<h3>{esc(title)}</h3><div class="charts">{before}</div>' if before else "")
    return "".join(parts)


def _card(run: LiveRun, colour: int, keyed: bool) -> str:
    key = f'<i class="s{colour}"></i>' if keyed else ""
    first, *others = run.facts or (("", "no steps yet"),)
    bar = ""
    if run.share_done is not None:
        bar = f'<progress max="1" value="{run.share_done:.3f}" style="width:100%"></progress>'
    rows = "".join(
        f'<p><span class="muted">{esc(what)}</span> {esc(words)}</p>' for what, words in others
    )
    head = (
        f'<h3>{key}{esc(run.name)}</h3><p class="big">{esc(first[1])}</p><p'
        f' class="muted">{esc(first[0])}</p>'
    )
    return f'<div class="card">{head}{bar}{rows}</div>'
