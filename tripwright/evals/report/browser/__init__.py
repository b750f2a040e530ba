"""The transcript browser of a report: every episode of every evaluation, to be filtered, read turn
by turn and compared.

The page holds columns about all episodes (`index.py`) and packed transcripts of as many as fit
(`packing.py`); `script/` draws them. Text of a transcript reaches the page as JSON and becomes text
nodes there: nothing that a model or a tool wrote is ever read as HTML.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from tripwright.domains import fact_title
from tripwright.evals.report.browser.index import (
    FAILED,
    NO_ANSWER,
    PASSED,
    Index,
    index_of,
    sources_of,
)
from tripwright.evals.report.browser.packing import SEED, Budget, PackedEpisodes, pack
from tripwright.evals.report.folder import ReportedRun
from tripwright.evals.report.markup import esc, plain, plural

__all__ = [
    "Browser",
    "Budget",
    "Example",
    "Index",
    "index_of",
    "make_browser",
    "page_script",
    "script_file",
    "sources_of",
]

_SCRIPTS = (
    "dom",
    "data",
    "filters",
    "listing",
    "turns",
    "outcome",
    "markdown",
    "cards",
    "compare",
    "detail",
    "examples",
    "browser",
)


@dataclass(frozen=True)
class Example:
    """An episode that the page opens with; `place` is its line of the columns."""

    place: int
    passed: bool
    request: str


@dataclass(frozen=True)
class Browser:
    """`section` goes among the page's sections, `data` and `script` to its end, `css` into its
    head."""

    section: str
    data: str
    script: str
    css: str
    examples: tuple[Example, ...] = ()


def make_browser(runs: dict[str, ReportedRun], budget: Budget) -> Browser | None:
    """None where the runs hold no episode. What could not be read is told in `missing`."""
    index = index_of(sources_of(runs))
    _tell_unreadable(runs, index)
    if not index.entries:
        return None
    packed = pack(index, budget)
    command = _command(runs)
    section = (
        '<section id="episodes"><h2>Episodes</h2><p'
        f' class="lede">{_lede(index, packed, command)}</p><div id="browser" hidden></div>'
        '<p class="note" id="no-script">Reading them needs JavaScript, which is switched off'
        ' here.</p><p class="printed">The episodes can be read in the page itself, on a'
        " screen.</p></section>"
    )
    columns = json.dumps(_columns(index, packed, command), separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    pieces = "".join(
        f'<script type="application/octet-stream" id="piece-{number}">{piece}</script>\n'
        for number, piece in enumerate(packed.pieces)
    )
    data = f'<script type="application/json" id="episode-columns">{columns}</script>\n{pieces}'
    return Browser(
        section,
        data,
        "".join(map(script_file, (f"{name}.js" for name in _SCRIPTS))),
        script_file("browser.css"),
        tuple(_examples(index, packed)),
    )


def _examples(index: Index, packed: PackedEpisodes) -> Iterator[Example]:
    """Of the main evaluation, the first episode that passes and the first that fails: with an
    answer, if one does."""
    here = [
        (place, entry)
        for place, entry in enumerate(index.entries)
        if entry.source == 0 and packed.places[place]
    ]
    for verdict in (PASSED, FAILED):
        of_kind = [each for each in here if each[1].verdict == verdict]
        if of_kind:
            place, entry = min(of_kind, key=lambda each: NO_ANSWER in each[1].failed)
            yield Example(place, verdict == PASSED, index.queries[entry.query].text)


def page_script() -> str:
    """What every report page can do: switch between light and dark."""
    return script_file("page.js")


def script_file(name: str) -> str:
    """A file of `script/`."""
    return (
        files("tripwright.evals.report.browser")
        .joinpath("script", name)
        .read_text(encoding="utf-8")
    )


def _columns(index: Index, packed: PackedEpisodes, command: str) -> dict[str, object]:
    """One list per column, in the order of the index: a fraction of the size of one object per
    episode."""
    entries = index.entries
    failed = sorted(
        {name for entry in entries for name in entry.failed},
        key=lambda name: (name != NO_ANSWER, fact_title(name)),
    )
    stops = sorted({entry.stop for entry in entries})
    failed_at, stop_at = (
        {name: i for i, name in enumerate(failed)},
        {name: i for i, name in enumerate(stops)},
    )
    return {
        "sources": [
            {"key": source.key, "run": source.run, "name": source.name} for source in index.sources
        ],
        "queries": index.queries,
        "marks": list(dict.fromkeys(field for query in index.queries for field in query.marks)),
        "failures": [fact_title(name) for name in failed],
        "stops": [plain(name) for name in stops],
        "prompts": list(packed.prompts),
        "command": command,
        "id": [entry.id for entry in entries],
        "source": [entry.source for entry in entries],
        "query": [entry.query for entry in entries],
        "verdict": [entry.verdict for entry in entries],
        "stop": [stop_at[entry.stop] for entry in entries],
        "failed": [[failed_at[name] for name in entry.failed] for entry in entries],
        "turns": [entry.turns for entry in entries],
        "calls": [entry.calls for entry in entries],
        "errors": [entry.errors for entry in entries],
        "refused": [entry.refused for entry in entries],
        "tokens": [entry.tokens for entry in entries],
        "cost": [entry.cost for entry in entries],
        "piece": [place[0] if place else -1 for place in packed.places],
        "line": [place[1] if place else 0 for place in packed.places],
    }


def _lede(index: Index, packed: PackedEpisodes, command: str) -> str:
    words = (
        f"{plural(len(index.entries), 'episode')} of {plural(len(index.sources), 'evaluation')} on"
        f" {plural(len(index.queries), 'request')}."
    )
    left = len(index.entries) - packed.included
    if left:
        words += (
            f" {packed.included:,} of them can be read here; the other {left:,} are only listed, so"
            f" that the page stays small: whole requests, in an order shuffled with seed {SEED}."
            f" <code>{esc(command)}</code> includes all."
        )
    return words


def _command(runs: dict[str, ReportedRun]) -> str:
    folders = " ".join(str(run.path) for run in runs.values())
    return (
        f"tripwright report {folders}{' --out OUT.html' if len(runs) > 1 else ''} --transcripts all"
    )


def _tell_unreadable(runs: dict[str, ReportedRun], index: Index) -> None:
    folders = {run.path: run for run in runs.values()}
    for source in index.sources:
        if lines := index.unreadable.get(source.key):
            run = folders[source.folder]
            run.missing.append(
                f"{plural(lines, 'unreadable line')} of {source.path.relative_to(run.path)}"
                " left out"
            )
