"""The travellers' page in a real browser: how soon it is painted, how soon the first call stands on
it after sending, and the pictures of docs/serving.md.

    python benchmarks/trip_page.py [--times 20] [--pictures docs] [--json]

Starts `tripwright serve` on a generated nano world. Needs Chromium and the `dev` extra.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.queries.wording import word_query
from tripwright.world.generator import build_world
from tripwright.world.store import World

PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
# when the first line stands there, in the page's own clock; a click begins it
WATCH = """() => { window.sent = null; window.first = null;
  document.getElementById('plan').addEventListener('click', () => { window.sent = performance.now(); });
  new MutationObserver(() => { window.first ??= performance.now(); })
    .observe(document.getElementById('calls'), {childList: true}); }"""  # noqa: E501


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--pictures", type=Path, help="folder for pictures of the page")
    parser.add_argument("--json", action="store_true")
    settings = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit("No Chromium on this machine (Debian: apt-get install chromium).")
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        build_world(Path(folder, "world"), "nano", 990)
        server, url = started(folder)
        queries = make_queries(World.open(Path(folder, "world")), settings.times, 8)
        words = [word_query(random.Random(0), query, "plain") for query in queries]
        browser = driver.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            figures = measured(browser, url, words)
            if settings.pictures:
                pictures(browser, url, words[0], settings.pictures)
                other, url = started(folder, "--domain", "deeptravel")
                picture_of_example(browser, url, settings.pictures / "trip-page-errand.png")
                other.terminate()
        finally:
            browser.close()
            server.terminate()
    if settings.json:
        print(json.dumps(figures))
    else:
        for name, row in figures.items():
            print(f"{name:<12} median {row['median_ms']:.0f} ms, worst {row['worst_ms']:.0f} ms")


def started(folder: str, *options: str) -> tuple[subprocess.Popen[str], str]:
    """A server and its address."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tripwright", "serve", "--world", f"{folder}/world"]
        + ["--state", f"{folder}/{len(options)}.sqlite", "--port", "0", *options],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    return server, server.stderr.readline().rsplit(" ", 1)[1].strip()


def measured(browser: Browser, url: str, words: list[str]) -> dict[str, dict[str, float]]:
    """Of first visits: nothing is cached."""
    paints, calls = list[float](), list[float]()
    for each in words:
        context = browser.new_context()
        page = context.new_page()
        page.goto(url)
        page.wait_for_selector("#fields .field")
        paints.append(page.evaluate(PAINT))
        page.evaluate(WATCH)
        planned(page, each)
        calls.append(page.evaluate("window.first - window.sent"))
        context.close()
    return {
        name: {"median_ms": statistics.median(all_ms), "worst_ms": max(all_ms), "n": len(all_ms)}
        for name, all_ms in (("first paint", paints), ("first call", calls))
    }


def planned(page: Any, words: str) -> None:
    page.fill("#words", words)
    page.wait_for_selector("#heard mark")
    page.click("#plan")
    page.wait_for_selector(".part")


def pictures(browser: Browser, url: str, words: str, folder: Path) -> None:
    for size, scheme, name in (((1120, 860), "light", "desk"), ((390, 844), "dark", "phone")):
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme
        )
        page = context.new_page()
        page.goto(url)
        page.wait_for_selector("#fields .field")
        page.fill("#words", f"{words} Please bring a pony.")
        page.wait_for_selector("#heard mark")
        if name == "desk":
            page.screenshot(path=folder / "trip-page-desk-asked.png")
        page.click("#plan")
        page.wait_for_selector(".map svg")
        page.screenshot(path=folder / f"trip-page-{name}-planned.png")
        context.close()


def picture_of_example(browser: Browser, url: str, file: Path) -> None:
    page = browser.new_page(viewport={"width": 1120, "height": 1180})
    page.goto(url)
    page.click(".example >> nth=0")
    page.wait_for_selector("#heard mark")
    page.click("#plan")
    page.wait_for_selector(".map svg")
    page.screenshot(path=file)
    page.close()


if __name__ == "__main__":
    main()
