"""Run folders in the browser (`tripwright serve --runs`): a leaderboard of what was examined alike,
each run's report with its transcripts, several runs on one page, and curves while a run trains.

Reports are those of `tripwright report`; here they are drawn anew when a run's files have changed.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tripwright.errors import UserError
from tripwright.evals.compared_runs import unlike
from tripwright.evals.report.bars import range_strip
from tripwright.evals.report.browser import Budget
from tripwright.evals.report.folder import TOP_LEVEL_RUN, Json, ReportedRun, read_run
from tripwright.evals.report.live import live_page
from tripwright.evals.report.markup import Estimate, esc, of_words, plural, shown, shown_interval
from tripwright.evals.report.page import html_page
from tripwright.evals.report.page import page as run_page
from tripwright.evals.report.results import evaluation_words, metric_of
from tripwright.evals.report.together import compared_page
from tripwright.runs import CARD, METRICS, RECIPE, SCORE
from tripwright.training.watched import LiveBody, standing, watched

MOST_DEEP = 4  # folders below the given one in which runs are looked for
LOOK_SECONDS = 3.0
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
        self._drawn: OrderedDict[tuple[str, ...], tuple[str, str]] = OrderedDict()  # mark, page
        self._bodies: OrderedDict[tuple[str, ...], LiveBody] = OrderedDict()
        self._lock = Lock()  # one page is drawn at a time
        self.router = APIRouter(include_in_schema=False)
        for path, route in (
            ("/runs/", self.leaderboard),
            ("/runs/report", self.report),
            ("/runs/live", self.live),
            ("/runs/now", self.now),
        ):
            self.router.add_api_route(path, route, methods=["GET"])
        self.router.add_api_route("/runs", lambda: RedirectResponse("/runs/"), methods=["GET"])

    def leaderboard(self) -> Response:
        runs = run_folders(self._folder)
        return _html(self._page((), runs, lambda: leaderboard_page(self._folder, runs)), NO_SCRIPTS)

    def report(self, run: Named) -> Response:
        chosen = self._chosen(run)
        folders = list(chosen.values())

        def draw() -> str:
            if len(folders) > 1:
                return compared_page(folders, allow_unlike=True)
            return run_page(read_run(folders[0]), Budget())

        return _html(self._page(tuple(chosen), chosen, draw), OWN_SCRIPTS)

    def live(self, run: Named) -> Response:
        text, script = live_page(list(self._chosen(run)), LOOK_SECONDS)
        return _html(text, f"'{script}'")

    def now(self, run: Named, seen: str = "") -> Response:
        chosen = self._chosen(run)
        with self._lock:
            body = self._bodies.pop(tuple(chosen), None) or LiveBody(
                list(chosen.values()), list(chosen)
            )
            _keep(self._bodies, tuple(chosen), body)
        mark, content = body.now()
        if seen == mark:
            return Response(status_code=204, headers={"X-Seen": mark})
        return HTMLResponse(content, headers={"X-Seen": mark})

    def _chosen(self, names: Sequence[str]) -> dict[str, Path]:
        """Each once, in the order asked for."""
        runs = run_folders(self._folder)
        for name in names:
            if name not in runs:
                raise HTTPException(404, f"No run '{name[:80]}' in {self._folder}.")
        return {name: runs[name] for name in names}

    def _page(self, names: tuple[str, ...], runs: dict[str, Path], draw: Callable[[], str]) -> str:
        with self._lock:
            mark, drawn = _mark(runs), self._drawn.pop(names, None)
            if drawn is None or drawn[0] != mark:
                drawn = mark, draw()
            _keep(self._drawn, names, drawn)
            return drawn[1]


def _keep(kept: OrderedDict[tuple[str, ...], Any], names: tuple[str, ...], what: Any) -> None:
    kept[names] = what
    if len(kept) > MOST_DRAWN:
        kept.popitem(last=False)


def _html(text: str, scripts: str) -> Response:
    policy = POLICY.format(scripts=scripts)
    return HTMLResponse(
        text.encode("utf-8", "replace"), headers={"Content-Security-Policy": policy}
    )


def _mark(runs: dict[str, Path]) -> str:
    """Changes whenever a file that is read for a page does."""
    marks = []
    for folder in runs.values():
        for path in (*folder.glob("*.json*"), *folder.glob("eval/*/*.json*")):
            with suppress(OSError):  # a file being written has another name for a moment
                stat = path.stat()
                marks.append((path, stat.st_mtime_ns, stat.st_size))
    return str(hash(tuple(marks)))


# ---- the leaderboard


def leaderboard_page(folder: Path, runs: dict[str, Path]) -> str:
    """Runs in groups that may be compared, the best first, each with its interval."""
    reported = dict[str, ReportedRun]()
    for name, path in runs.items():
        with suppress(UserError):  # it has only begun, or is none
            reported[name] = read_run(path)
    groups: list[dict[str, ReportedRun]] = []
    without = dict[str, ReportedRun]()
    for name, run in reported.items():
        card = _evaluation_card(run)
        if not card or not _final(run):
            without[name] = run
            continue
        group = next((each for each in groups if not unlike(_first_and(each, name, card))), None)
        if group is None:
            groups.append({name: run})
        else:
            group[name] = run
    tables = "".join(map(_group_section, sorted(groups, key=len, reverse=True)))
    if without:
        tables += _table("Not examined", "", without)
    words = (
        f"{plural(len(reported), 'run')} in {folder}. Each table holds runs that were examined"
        " alike (requests, world, rules, prompt, tools, decoding): only those compare."
    )
    if not reported:
        words = f"No run folder in {folder}. 'train', 'run' and 'quickstart' make such folders."
    return html_page(
        "Runs",
        "runs",
        "",
        f'<section><p class="lede">{esc(words)}</p></section><form action="report">{tables}</form>',
    )


def _evaluation_card(run: ReportedRun) -> Json:
    card = run.scores.get(str(run.main_evaluation), {}).get("run_card")
    return card if isinstance(card, dict) else {}


def _first_and(group: dict[str, ReportedRun], name: str, card: Json) -> dict[str, Json]:
    first = next(iter(group))
    return {first: _evaluation_card(group[first]), name: card}


def _final(run: ReportedRun) -> Estimate | None:
    return metric_of(run.scores.get(str(run.main_evaluation), {}), "final")


def _passes(run: ReportedRun) -> float:
    final = _final(run)
    return final.value if final else 0.0


def _group_section(group: dict[str, ReportedRun]) -> str:
    card = _evaluation_card(next(iter(group.values())))
    facts = [str(card.get("rules") or "")]
    for entry in ("world", "queries", "dialect"):
        value = card.get(entry)
        named = value.get("name") or value.get("count") if isinstance(value, dict) else value
        if named:
            facts.append(f"{named:,} requests" if isinstance(named, int) else str(named))
    best_first = sorted(group.items(), key=lambda each: _passes(each[1]), reverse=True)
    return _table("Final pass rate", " · ".join(filter(None, facts)), dict(best_first))


def _table(title: str, about: str, runs: dict[str, ReportedRun]) -> str:
    rows = "".join(_row(name, run) for name, run in runs.items())
    head = (
        "<th></th><th>Run</th><th></th><th class=num>Final pass</th><th class=num>Of</th>"
        "<th>Training</th>"
    )
    button = "<p><button>Compare the chosen</button></p>" if len(runs) > 1 else ""
    return (
        f'<section><h2>{esc(title)}</h2><p class="lede">{esc(about)}</p><div class="scroll"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{button}</section>"
    )


def _row(name: str, run: ReportedRun) -> str:
    address, final = urlencode({"run": name}), _final(run)
    which, _, colour = evaluation_words(str(run.main_evaluation)) if final else ("", "", 0)
    policy = _evaluation_card(run).get("policy")
    if run.main_evaluation == TOP_LEVEL_RUN and isinstance(policy, dict):
        which = " ".join(str(policy[key]) for key in ("kind", "model") if policy.get(key))
    strip, rate = "", "–"
    if final:
        strip = range_strip([(which, final, colour)])
        rate = f"<strong>{shown(final)}</strong><small>{esc(shown_interval(final))}</small>"
    state = ""
    if run.metrics:
        facts = standing(watched(run.path, name, run.metrics))
        words = "; ".join(" ".join(fact) for fact in facts)
        state = f'<a href="live?{esc(address)}">curves</a><small>{esc(words)}</small>'
    box = f'<input type="checkbox" name="run" value="{esc(name)}" aria-label="Compare {esc(name)}">'
    return (
        f"<tr><td>{box}</td><th scope=row><a"
        f' href="report?{esc(address)}">{esc(name)}</a><small>{esc(which)}</small></th><td'
        f' class="stripcell">{strip}</td><td class=num>{rate}</td><td'
        f" class=num>{esc(of_words(final)) if final else ''}</td><td>{state}</td></tr>"
    )
