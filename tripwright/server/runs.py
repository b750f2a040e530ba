"""Run folders in the browser (`tripwright serve --runs`): a leaderboard of what was examined alike,
each run's report with its transcripts, several runs on one page, and curves while a run trains.

Reports are those of `tripwright report`; here they are drawn anew when a run's files have changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache, partial, wraps
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Query
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tripwright.errors import UserError, counted, first_line, printable
from tripwright.evals.report import report_page
from tripwright.evals.report.folder import TOP_LEVEL_RUN, Json, ReportedRun, metric_of
from tripwright.evals.report.markup import Estimate, of_words
from tripwright.evals.report.page import Cell, PageTable, Part, ReportPage, Section, Text, Value
from tripwright.evals.run_card import unlike
from tripwright.runs import CARD, METRICS, RECIPE, SCORE, object_in
from tripwright.training.watched import live_body, read, standing

MOST_DEEP = 4  # folders below the given one in which runs are looked for
DRAWN_AT_ONCE = 4  # pages of a kind
MOST_DRAWN = 8  # pages that are kept as they were drawn, each up to some 25 MB
POLICY = (
    "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; connect-src 'self';"
    " img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
NO_SCRIPTS = "'none'"
OWN_SCRIPTS = "'unsafe-inline'"  # of pages that name theirs by hash in their own head
Named = Annotated[list[str], Query(alias="run")]


def run_folders(folder: Path) -> dict[str, Path]:
    """Name → run folder, of all below `folder`; what lies inside a run is part of it."""
    found = {}
    for place, inside, files in os.walk(folder):
        path = Path(place)
        name = path.relative_to(folder).as_posix()
        if {CARD, METRICS, RECIPE, SCORE} & set(files):
            found[path.name if name == "." else name] = path
            inside.clear()
        elif len(path.relative_to(folder).parts) >= MOST_DEEP:
            inside.clear()
        inside.sort()
    return found


class RunPages:
    def __init__(self, folder: Path):
        self._folder = folder
        self._board = lru_cache(1)(_leaderboard)
        self._report = lru_cache(MOST_DRAWN)(_report)
        self._body = lru_cache(MOST_DRAWN)(_live_body)
        self.router = APIRouter(include_in_schema=False)
        for path, route in (
            ("/runs/", self.leaderboard),
            ("/runs/report", self.report),
            ("/runs/live", self.live),
            ("/runs/now", self.now),
        ):
            self.router.add_api_route(path, _few(route), methods=["GET"])
        self.router.add_api_route("/runs", lambda: RedirectResponse("/runs/"), methods=["GET"])

    def leaderboard(self) -> Response:
        runs = run_folders(self._folder)
        page = self._board(self._folder, tuple(runs.items()), _mark(runs.values()))
        return _html(page, NO_SCRIPTS)

    def report(self, run: Named) -> Response:
        folders = tuple(self._chosen(run).values())
        return _html(self._report(folders, _mark(folders)), OWN_SCRIPTS)

    def live(self, run: Named) -> Response:
        """Opened once; it asks for `now` every few seconds."""
        names = " · ".join(self._chosen(run))
        page = ReportPage(names, "live", scripts=["live.js"], sealed=False)
        return _html(page.html(), page.script_hashes)

    def now(self, run: Named, seen: str = "") -> Response:
        chosen = self._chosen(run)
        mark = _mark(chosen.values())
        if seen == mark:
            return Response(status_code=204, headers={"X-Seen": mark})
        content = self._body(tuple(chosen.items()), mark)
        return HTMLResponse(content, headers={"X-Seen": mark})

    def _chosen(self, names: Sequence[str]) -> dict[str, Path]:
        """Each once, in the order asked for."""
        runs = run_folders(self._folder)
        for name in names:
            if name not in runs:
                raise HTTPException(404, f"No run '{name[:80]}' in {self._folder}.")
        return {name: runs[name] for name in names}


def _few(route: Callable[..., Response]) -> Callable[..., Any]:
    """Few pages of a kind are drawn at a time, and what waits for its turn holds no thread: a large
    run keeps nobody from the others."""
    turns = CapacityLimiter(DRAWN_AT_ONCE)

    @wraps(route)
    async def drawn(**asked: Any) -> Response:
        return await to_thread.run_sync(partial(route, **asked), limiter=turns)

    return drawn


def _html(text: str, scripts: str) -> Response:
    policy = POLICY.format(scripts=scripts)
    return HTMLResponse(
        text.encode("utf-8", "replace"), headers={"Content-Security-Policy": policy}
    )


def _mark(folders: Iterable[Path]) -> str:
    """Changes whenever a file that is read for a page does."""
    marks = []
    for folder in folders:
        files = *folder.glob("*.json*"), *folder.glob("eval/*/*.json*")
        for path in (*files, folder / "model"):
            with suppress(OSError):  # a file being written has another name for a moment
                stat = path.stat()
                marks.append((path, stat.st_mtime_ns, stat.st_size))
    return str(hash(tuple(marks)))


def _report(folders: tuple[Path, ...], mark: str) -> str:
    """`mark` says in which state the files are: a drawn page is kept as long as it is the same."""
    return report_page(list(folders), allow_unlike=True).html()


def _live_body(runs: tuple[tuple[str, Path], ...], mark: str) -> bytes:
    return live_body(runs).encode("utf-8", "replace")


# ---- the leaderboard


class Entry(NamedTuple):
    """A run on the leaderboard. `facts`: what it was examined by; `row` as in a PageTable."""

    card: Json
    final: Estimate | None
    facts: str
    row: tuple[str, str, list[Value]]


def _leaderboard(folder: Path, runs: tuple[tuple[str, Path], ...], mark: str) -> str:
    """Runs in groups that may be compared, the best first, each with its interval; what cannot be
    shown of a run is said in its row."""
    groups, without = list[list[Entry]](), list[Entry]()
    unreadable = list[tuple[str, str, list[Value]]]()
    for name, path in runs:
        try:
            entry = _entry(name, path, _mark([path]))
            alike = (each for each in groups if not unlike({"": each[0].card, name: entry.card}))
            group = next(alike, None) if entry.card and entry.final else without
        except Exception as problem:  # whatever lies in one folder, the others are shown
            unreadable.append((printable(name), "", [Cell(printable(first_line(problem)), css="")]))
            continue
        if group is None:
            groups.append(group := [])
        group.append(entry)
    tables = [
        _section("Final pass rate", group[0].facts, sorted(group, key=_value, reverse=True))
        for group in sorted(groups, key=len, reverse=True)
    ]
    if without:
        tables.append(_section("Not examined", "", without))
    if unreadable:
        table = PageTable.of([Cell("Why", css="")], unreadable, "Run")
        tables.append(Section("", "Cannot be shown", [table], listed=False))
    words = (
        f"{counted(len(runs), 'run')} in {folder}. Each table holds runs that were examined"
        " alike (requests, world, rules, prompt, tools, decoding): only those compare."
    )
    if not runs:
        words = f"No run folder in {folder}. 'train', 'run' and 'quickstart' make such folders."
    lede = Section("", "", [Text(words)], listed=False)
    return ReportPage(
        "Runs", "runs", "", [lede, *tables], form="report", scripts=(), sealed=False
    ).html()


def _value(entry: Entry) -> float:
    return entry.final.value if entry.final else 0.0


@lru_cache(1_000)
def _entry(name: str, path: Path, mark: str) -> Entry:
    """Raises UserError for what is no run, or has only begun."""
    if not name.isprintable():  # no address leads there
        raise UserError("Its name holds characters that cannot be shown: rename it.")
    run = ReportedRun(path)
    card, final = object_in(run.score, "run_card"), metric_of(run.score, "final")
    facts = [str(card.get("rules") or "")]
    for entry in ("world", "queries", "dialect"):
        value = card.get(entry)
        named = value.get("name") or value.get("count") if isinstance(value, dict) else value
        if named:
            facts.append(f"{named:,} requests" if isinstance(named, int) else str(named))
    return Entry(card, final, " · ".join(filter(None, facts)), _row(name, run, card, final))


def _section(title: str, about: str, entries: Sequence[Entry]) -> Section:
    head: list[str | Cell] = ["Final pass", "Of", Cell("Training", css="")]
    parts: list[Part] = [Text(about), PageTable.of(head, [each.row for each in entries], "Run")]
    if len(entries) > 1:
        parts.append(Text(Markup("<button>Compare the chosen</button>"), ""))
    return Section("", title, parts, listed=False)


def _row(
    name: str, run: ReportedRun, card: Json, final: Estimate | None
) -> tuple[str, str, list[Value]]:
    address, policy = urlencode({"run": name}), card.get("policy")
    which = run.main.title if run.main and final else ""
    if run.main and run.main.name == TOP_LEVEL_RUN and isinstance(policy, dict):
        which = " ".join(str(policy[key]) for key in ("kind", "model") if policy.get(key))
    named = Markup(
        '<input type="checkbox" name="run" value="{}" aria-label="Compare {}">'
        ' <a href="report?{}">{}</a>'
    ).format(name, name, address, name)
    state = Cell(css="")
    if run.metrics:
        facts = standing(read(run.path, name))
        words = "; ".join(" ".join(fact) for fact in facts)
        state = Cell(Markup('<a href="live?{}">curves</a>').format(address), (words,), css="")
    which = "; ".join(filter(None, [which, *run.unreadable]))
    return named, which, [final, of_words(final) if final else "", state]
