"""How large the report of 10,000 episodes is, what writing it costs, and whether its page ever
freezes.

    python benchmarks/report_page.py RUN [--episodes 10000] [--transcripts N|all] [--keep FOLDER]

RUN is a run folder with evaluations (of `tripwright quickstart`, say). Its real episodes are
multiplied until there are enough: each copy has an id and a request of its own ("… (copy 7)") and
lies in the evaluation it came from. Requests are packed in shuffled order, so copies rarely share a
piece and hardly flatter the size of the page. Token ids, log-probabilities and tool answers stay as
they were.

The page is written by `tripwright report` in a process of its own (seconds, peak resident memory),
then opened in headless Chromium from the file. There: milliseconds to the first paint and to the
list; of each act, from the event to the frame that shows its effect, the median and the worst (a
search in all that was said first waits 150 ms); tasks over 50 ms, which a reader feels as a freeze.
No
peer: reports of other systems hold no whole transcripts.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

BROWSER = Path(__file__).parents[1] / "tests" / "browser" / "conftest.py"
TIMES = 5  # each act

# What a reader does, each a promise of the milliseconds from the event to the frame after its
# effect; n counts the times.
ACTS = """
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const until = async (seen) => { while (!seen()) await new Promise((done) => setTimeout(done, 1)); };
  const timed = async (act, seen) => {
    const began = performance.now();
    act();
    await until(seen || (() => true));
    await frame();
    return performance.now() - began;
  };
  const detail = document.querySelector('.detail'), list = document.querySelector('.listing'), deep = document.querySelector('.deep input');
  const fields = [...document.querySelectorAll('.filter')];
  const field = (label) => fields.find((f) => f.textContent.startsWith(label)).querySelector('select, input');
  const ready = () => list.getAttribute('aria-busy') === 'false';
  const set = (box, name, value, event) => timed(() => { box[name] = value; box.dispatchEvent(new Event(event)); }, ready);
  const pick = (label) => { const box = field(label); return set(box, 'selectedIndex', n % box.options.length, 'change'); };
  const key = (name) => document.body.dispatchEvent(new KeyboardEvent('keydown', {key: name, bubbles: true}));
  const next = (was) => timed(() => key('j'), () => detail.dataset.episode !== was);
"""  # noqa: E501
RESET = """timed(() => {
    deep.checked = false;
    for (const field of fields) field.querySelector('select, input').matches('select') ? field.querySelector('select').selectedIndex = 0
      : field.querySelector('input').value = '';
    deep.dispatchEvent(new Event('change'));
    document.querySelectorAll('.row')[3].click(); // so that there is a next one
  }, ready)"""  # noqa: E501
LONG_TASKS = """window.long = [];
  new PerformanceObserver((l) => long.push(...l.getEntries().map((e) => e.duration))).observe({type: 'longtask'});"""  # noqa: E501
MEASURED = {
    "filter by verdict": "pick('Verdict')",
    "filter by evaluation": "pick('Evaluation')",
    "sort by turns": "pick('Order')",
    "compare with another evaluation": "pick('Compare')",
    "search in requests": (
        "set(field('Search'), 'value', ['plan', 'budget', 'copy 3', 'zzz', ''][n], 'input')"
    ),
    "scroll the list to another place": (
        "timed(() => { list.scrollTop = list.scrollHeight * n / 5; })"
    ),
    "open the next episode": "next(detail.dataset.episode)",
    "search in all that was said (+150)": (
        """(() => {
    deep.checked = true;
    return set(field('Search'), 'value', ['flight', 'error', 'pets', 'zzz', ''][n], 'input');
  })()"""
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--transcripts")
    parser.add_argument(
        "--keep", type=Path, help="write the run folder and its page here and leave them"
    )
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = settings.keep or Path(scratch) / "run"
        bytes_there, originals = multiply(settings.run, folder, settings.episodes)
        print(
            f"at least {settings.episodes:,} episodes, copies of {originals:,} real ones:"
            f" {bytes_there / 1e6:.0f} MB of transcripts"
        )
        write(folder, settings.transcripts)
        look(folder / "report.html", Path(scratch))
    print(f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def multiply(run: Path, folder: Path, wanted: int) -> tuple[int, int]:
    """Writes the larger run folder; (bytes of its transcripts, how many real episodes there
    were)."""
    sources = sorted(run.glob("eval/**/transcripts.jsonl")) or [run / "transcripts.jsonl"]
    shutil.copytree(
        run,
        folder,
        ignore=shutil.ignore_patterns(
            "transcripts.jsonl", "checkpoints", "*.safetensors", "report.html"
        ),
    )
    originals = {path: path.read_text(encoding="utf-8").splitlines() for path in sources}
    there = sum(map(len, originals.values()))
    if not there:
        raise SystemExit(f"no episodes in {run}")
    written = 0
    for path, lines in originals.items():
        target = folder / path.relative_to(run)
        with target.open("w", encoding="utf-8") as out:
            for line in copies(lines, math.ceil(wanted * len(lines) / there)):
                written += out.write(line)
    return written, there


def copies(lines: list[str], wanted: int) -> Iterator[str]:
    for turn in count():
        for line in lines:
            if wanted <= 0:
                return
            wanted -= 1
            record = json.loads(line)
            if turn:
                asked = record.get("query") or record.get("request")
                record["id"], asked["query"] = (
                    f"{record['id']}-c{turn}",
                    f"{asked.get('query', '')} (copy {turn})",
                )
            yield json.dumps(record) + "\n"


def write(folder: Path, transcripts: str | None) -> None:
    command = [
        sys.executable,
        "-m",
        "tripwright",
        "report",
        str(folder),
        "--json",
        *(["--transcripts", transcripts] if transcripts else []),
    ]
    began = perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, used = perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    page = (folder / "report.html").read_text(encoding="utf-8")
    columns = json.loads(page.split('id="episode-columns">', 1)[1].split("</script>", 1)[0])
    held = sum(piece >= 0 for piece in columns["piece"])
    size = json.loads(done.stdout)["bytes"] / 1e6
    print(
        f"written in {seconds:.1f} s ({cpu:.1f} s of CPU), peak {peak:.0f} MB; page {size:.1f} MB"
        f" with the text of {held:,} episodes"
    )


def look(page: Path, scratch: Path) -> None:
    program = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if program is None:
        print("no Chromium here: the page was not opened")
        return
    browser = conftest().Browser(program, scratch / "profile")
    try:
        browser.open(page.resolve().as_uri())
        browser.until("document.querySelector('.detail .head')")
        paint = browser.js(
            "performance.getEntriesByName('first-contentful-paint').map((e) => e.startTime)[0] ??"
            " null"
        )
        ready = browser.js("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        print(
            f"first paint {paint:.0f} ms, page and list ready {ready:.0f} ms"
            if paint
            else f"page and list ready {ready:.0f} ms"
        )
        browser.js(LONG_TASKS)
        for name, act in MEASURED.items():
            report(name, [measured(browser, act, n) for n in range(TIMES)])
            measured(browser, RESET, 0)
        long = browser.js("long")
        heap = browser.js("performance.memory.usedJSHeapSize") / 1e6
        print(
            f"tasks over 50 ms: {len(long)}, worst {max(long, default=0):.0f} ms; JavaScript heap"
            f" {heap:.0f} MB"
        )
        print(f"complaints of the page: {browser.complaints or 'none'}")
    finally:
        browser.close()


def measured(browser: Any, act: str, n: int) -> float:
    return float(browser.js(f"(async () => {{ const n = {n}; {ACTS} return await {act}; }})()"))


def report(name: str, milliseconds: list[float]) -> None:
    print(
        f"{name:36} median {statistics.median(milliseconds):7.0f} ms   worst"
        f" {max(milliseconds):7.0f} ms"
    )


def conftest() -> ModuleType:
    spec = importlib.util.spec_from_file_location("browser_driver", BROWSER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
