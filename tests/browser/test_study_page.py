"""The labelling page as raters use it, in a real browser."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

uvicorn = pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

from tripwright.evals.study.dimensions import paper_dimensions
from tripwright.evals.study.folder import Study
from tripwright.evals.study.labels import read
from tripwright.evals.study.sample import make_study, sources
from tripwright.server.serving import open_port, url_of
from tripwright.server.study import make_app
from tripwright.transcript import Rows, Segment, StopReason, ToolCall, Transcript

ANSWER = """To Berryton and back. <img src=x onerror="document.title='owned'"><script>document.title='owned'</script>

### Stay recommendations
#### Kendale Inn
- **Why**: near the station
- **Evidence**: [call 2, row 3], [call 2, row 70]
"""
OFFERS = tuple(
    ("Kendale Inn" if n == 3 else f"Hotel {n}", 100.0 + n, "<b>Main Street</b>")
    for n in range(1, 31)
)
HOTELS = Rows("HotelOffer", ("name", "price", "address"), OFFERS, total=30)


@dataclass
class Served:
    study: Study
    url: str
    server: Any

    def said(self, rater: str) -> dict[str, dict[str, bool]]:
        """Item → labels on disk."""
        return {item: dict(label.values) for item, label in read(self.study).get(rater, {}).items()}


def line(number: int) -> dict[str, Any]:
    calls = [
        ToolCall(
            "flight_search",
            {"depart_city_name": "Ashford"},
            json.dumps({"error": "No such city."}),
            error=True,
        ),
        ToolCall(
            "hotel_search", {"city_name": "Berryton"}, json.dumps(HOTELS.records()), rows=HOTELS
        ),
    ]
    segments = [
        segment
        for call in calls
        for segment in (Segment("assistant", "", call=call), Segment("tool", call.result))
    ]
    transcript = Transcript(segments, StopReason.ANSWER, ANSWER, usage={"seconds": 250.0})
    return {
        "id": f"id-{number}",
        "domain": "deeptravel",
        "request": {"query": f"To Berryton, trip {number}.", "destination": "Berryton"},
        "transcript": transcript.to_json(),
    }


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(line(n)) + "\n" for n in range(3)))
    make_study(sources([tmp_path / "run.jsonl"]), tmp_path / "study", paper_dimensions())
    with open_port("127.0.0.1", 0) as listener:
        server = uvicorn.Server(
            uvicorn.Config(make_app(str(tmp_path / "study")), log_level="warning")
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield Served(Study.open(tmp_path / "study"), url_of(listener) + "/", server)
        server.should_exit = True
        thread.join(30)


@pytest.fixture
def labelling(opened: Callable[..., Any], served: Served) -> Callable[..., Any]:
    """labelling(rater, …) → the browser with the page of that rater."""

    def go(rater: str, **size: Any) -> Any:
        page = opened(served.url, **size)
        page.until(
            "!document.getElementById('welcome').hidden && document.activeElement.id === 'name'"
        )
        page.js("document.getElementById('name').value = ''")
        page.type(rater)
        page.press("Enter")
        page.until("document.querySelector('.answer')")
        return page

    return go


def saved(page: Any) -> None:
    page.until("document.getElementById('saved').textContent === 'Saved'")


def test_keys_label_and_every_change_is_on_disk(labelling: Any, served: Served) -> None:
    page, first = labelling("Ann"), served.study.order("ann")[0]
    # not the hidden name field: no key is lost
    assert page.js("document.activeElement.id") == "reading"
    page.press("1", "2", "2")
    saved(page)
    assert served.said("ann") == {first: {"intention": True, "completeness": False}}
    page.press("3", "4", "5", "6", "7", "j")
    page.until("document.getElementById('place').textContent === 'Trip 2 of 3'")
    saved(page)
    assert len(served.said("ann")[first]) == 7 and page.text("#done") == "1 of 3 done"
    page.press("n")
    page.type("too dear")
    page.press("1")  # in a note a digit is a digit
    saved(page)
    second = read(served.study)["ann"][served.study.order("ann")[1]]
    assert (second.note, dict(second.values)) == ("too dear1", {})


def test_the_mouse_labels_and_a_second_click_takes_it_back(labelling: Any, served: Served) -> None:
    page, first = labelling("Ann"), served.study.order("ann")[0]
    page.click("fieldset[data-key=clarity] .no input")
    saved(page)
    assert served.said("ann") == {first: {"clarity": False}}
    page.click("fieldset[data-key=clarity] .no input")
    page.until("document.getElementById('count').textContent === '0/7'")
    saved(page)
    assert served.said("ann") == {first: {}}


def test_a_rater_goes_on_where_they_stopped_and_others_start_afresh(
    labelling: Any, served: Served
) -> None:
    page = labelling("Ann")
    page.press(*"1234567")
    saved(page)
    again = labelling("  ann ")
    again.until("document.getElementById('place').textContent === 'Trip 2 of 3'")
    again.press("k")
    again.until("document.getElementById('place').textContent === 'Trip 1 of 3'")
    assert again.js("document.querySelectorAll('#dimensions input:checked').length") == 7
    other = labelling("Bob")
    assert (
        other.text("#done") == "0 of 3 done"
        and other.js("document.querySelectorAll('#dimensions input:checked').length") == 0
    )


def test_an_old_state_that_comes_late_undoes_nothing(labelling: Any, served: Served) -> None:
    page, first = labelling("Ann"), served.study.order("ann")[0]
    page.js(
        "void (() => { const real = window.fetch; window.fetch = async (...asked) => { const answer = await real(...asked);"
        " if (String(asked[0]).startsWith('api/rater')) await new Promise((go) => { window.letGo = go; }); return answer; }; })()"
    )
    page.js("void document.dispatchEvent(new Event('visibilitychange'))")
    page.until("window.letGo")
    page.press("1")
    saved(page)
    page.js("new Promise((go) => { window.letGo(); setTimeout(go, 100); })")
    page.press("2")
    saved(page)
    assert served.said("ann") == {first: {"intention": True, "completeness": True}}


def test_a_card_opens_the_row_it_stands_on(labelling: Any) -> None:
    page = labelling("Ann")
    page.click("button.chip")
    assert page.text("tr.lit").split("\t")[:2] == ["3", "Kendale Inn"]
    assert (
        "Kendale Inn" in page.text("tr.whole")
        and page.js("document.activeElement.closest('tr').dataset.row") == "3"
    )
    place = page.js(
        "(() => { const r = document.querySelector('tr.lit').getBoundingClientRect(); return [r.top, innerHeight - r.bottom]; })()"
    )
    assert min(place) > 0, "the row is not in sight"


def test_a_card_without_a_row_says_so(labelling: Any) -> None:
    page = labelling("Ann")
    assert page.text("button.chip.missing") == "call 2, row 70 ✗ no such row"


def test_search_finds_rows_of_tool_answers(labelling: Any) -> None:
    page = labelling("Ann")
    page.press("/")
    page.type("kendale 103")
    assert page.text("#hits") == "1 in 1 call"
    assert page.js(
        "[...document.querySelectorAll('#calls tr[data-row]')].filter((r) => r.checkVisibility()).map((r) => r.dataset.row)"
    ) == ["3"]
    page.press("Escape")
    assert page.js("[...document.querySelectorAll('#calls tr[data-row]')].every((r) => !r.hidden)")


def test_what_a_model_wrote_runs_nothing_and_nothing_is_asked_of_others(
    labelling: Any, served: Served
) -> None:
    page = labelling("Ann")
    page.press("f")
    assert "<img src=x onerror=" in page.text("#reading") and "<b>Main Street</b>" in page.text(
        "#calls"
    )
    assert (
        page.js("document.title") != "owned"
        and page.js("document.querySelectorAll('#work img, #work script').length") == 0
    )
    assert page.requested and all(url.startswith((served.url, "data:,")) for url in page.requested)
    assert page.complaints == []
    assert page.text(".took") == "took 250 s, more than 200 s"


def test_a_label_waits_until_the_server_is_back(labelling: Any, served: Served) -> None:
    page, first = labelling("Ann"), served.study.order("ann")[0]
    page.ask(
        "Network.emulateNetworkConditions",
        offline=True,
        latency=0,
        downloadThroughput=-1,
        uploadThroughput=-1,
    )
    page.press("1")
    page.until("document.getElementById('saved').textContent.startsWith('Not saved')")
    page.press("2")
    assert served.said("ann") == {}
    page.ask(
        "Network.emulateNetworkConditions",
        offline=False,
        latency=0,
        downloadThroughput=-1,
        uploadThroughput=-1,
    )
    saved(page)
    assert served.said("ann") == {first: {"intention": True, "completeness": True}}


@pytest.mark.parametrize(
    ("width", "dark"), [(390, False), (390, True), (1000, False), (1440, True)]
)
def test_the_page_fits_and_can_be_read(
    width: int, dark: bool, labelling: Any, tmp_path: Path
) -> None:
    page = labelling("Ann", width=width, height=844, dark=dark)
    page.click("button.chip")
    assert page.js("document.documentElement.scrollWidth") <= width, (
        "the page is wider than the screen"
    )
    assert page.js(NAMELESS) == [], "a control has no name for those who hear the page"
    assert page.js(CONTRAST) == [], "text is too faint"
    if width == 390:
        assert page.js("document.getElementById('moves').scrollWidth") <= width
        page.click("#to-labels")
        page.until("document.getElementById('labels').getBoundingClientRect().top < 100")


NAMELESS = """[...document.querySelectorAll('#work button, #work input, #work textarea')].filter((e) =>
  !(e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && [...e.labels].some((l) => l.textContent.trim()))))
  .map((e) => e.outerHTML)"""

# WCAG 2 AA: 4.5 to 1 between the colour of a text and the background it stands on.
CONTRAST = """(() => {
  const rgb = (c) => c.match(/[\\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], under) => [r, g, b].map((c, i) => c * a + under[i] * (1 - a));
  const linear = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (c) => { const [r, g, b] = c.map(linear); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (e) => e ? over(rgb(getComputedStyle(e).backgroundColor), behind(e.parentElement)) : [255, 255, 255];
  const faint = [];
  for (const e of document.querySelectorAll('#work *')) {
    if (!e.checkVisibility() || e.closest(':disabled') || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const ground = behind(e), ink = over(rgb(getComputedStyle(e).color), ground);
    const [high, low] = [light(ink), light(ground)].sort((a, b) => b - a);
    if ((high + 0.05) / (low + 0.05) < 4.5) faint.push([e.tagName, e.className, e.textContent.slice(0, 30), (high + 0.05) / (low + 0.05)]);
  }
  return faint;
})()"""
