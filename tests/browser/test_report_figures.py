"""Figures of a report in a real browser: taken away as SVG and CSV, not on paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tripwright.evals.report import write_report

CATCH = "window.caught = []; URL.createObjectURL = (blob) => { blob.text().then((text) => caught.push(text)); return '#'; };"
BUTTONS = "[...document.querySelectorAll('figure .take button')]"


@pytest.fixture
def figures(
    opened: Callable[..., Any], tmp_path: Path, lines_to: Callable[[Path, Iterable[Any]], Path]
) -> Callable[..., Any]:
    """figures(dark=…) → the browser with the page of a run of four steps."""

    def go(**size: Any) -> Any:
        rows = [
            {"stage": "rl", "step": step, "seconds": step, "reward_mean": step / 4, "entropy": 0.5}
            for step in range(1, 5)
        ]
        lines_to(tmp_path / "run" / "metrics.jsonl", rows)
        return opened(write_report(tmp_path / "run").as_uri(), **size)

    return go


def caught(page: Any, button: int) -> str:
    """What pressing this button saves."""
    page.js(CATCH)
    page.js(f"{BUTTONS}[{button}].click()")
    page.until("caught.length")
    return str(page.js("caught[0]"))


def test_a_figure_is_saved_as_it_is_seen_with_its_figures_beside(
    figures: Callable[..., Any],
) -> None:
    page = figures()
    names = page.js(f"{BUTTONS}.map((b) => b.getAttribute('aria-label'))")
    assert names == [
        f"Save {title} as {kind}" for title in ("Reward", "Entropy") for kind in ("SVG", "CSV")
    ]
    drawn = ElementTree.fromstring(caught(page, 0))
    assert drawn.get("width") == "520" and "var(" not in ElementTree.tostring(drawn, "unicode")
    assert [each for each in drawn.iter() if "stroke: rgb(0, 114, 178)" in str(each.get("style"))]
    assert not [each for each in drawn.iter() if each.get("class") == "strips"]
    assert caught(page, 1).splitlines() == [
        "step,mean [reward]",
        *(f"{step},{step / 4:g}" for step in range(1, 5)),
    ]
    assert (
        page.complaints == []
        and [url for url in page.requested if not url.startswith("file:")] == []
    )


def test_a_dark_page_saves_a_dark_figure(figures: Callable[..., Any]) -> None:
    drawn = ElementTree.fromstring(caught(figures(dark=True), 0))
    assert "fill: rgb(27, 31, 38)" in str(drawn[0].get("style"))


def test_paper_has_no_buttons(figures: Callable[..., Any]) -> None:
    page = figures()
    page.ask("Emulation.setEmulatedMedia", media="print")
    assert (
        page.js("[...document.querySelectorAll('.take')].filter((e) => e.checkVisibility()).length")
        == 0
    )
    assert page.js("document.querySelectorAll('figure svg').length") == 2


def test_a_saved_name_is_plain(figures: Callable[..., Any]) -> None:
    page = figures()
    page.js(
        CATCH
        + "window.names = []; HTMLAnchorElement.prototype.click = function () { names.push(this.download); };"
    )
    page.js(f"{BUTTONS}.forEach((b) => b.click())")
    assert page.js("names") == ["reward.svg", "reward.csv", "entropy.svg", "entropy.csv"]
